"""Naive Bayes: against scikit-learn's four, mixed and missing columns, increments, folds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB

from assay import _kernels
from assay.base import DataError, ParameterError
from assay.base.views import view_of
from assay.models.bayes import NaiveBayes


def gaussian(n=300, p=5, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(n, p)) * (1 + y[:, None]) + y[:, None], np.array(["a", "b", "c", "d"])[y]


def mixed(n=240, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=n)
    columns = {
        "size": (rng.normal(size=n) + y).tolist(),
        "colour": rng.choice(["red", "green", "blue"], size=n).tolist(),
        "flag": (rng.random(n) < 0.3 + 0.4 * y).astype(float).tolist(),
        "shape": np.where(rng.random(n) < 0.7, np.where(y, "round", "square"), "odd").tolist(),
    }
    columns["colour"][3] = columns["shape"][5] = columns["size"][8] = columns["flag"][9] = None
    return columns, y


@pytest.mark.parametrize("weighted", [False, True])
def test_gaussian_columns_equal_scikit_learn(weighted):
    X, y = gaussian()
    weights = np.random.default_rng(1).uniform(0.1, 2, size=len(y)) if weighted else None
    model, peer = NaiveBayes().fit(X, y, sample_weight=weights), GaussianNB().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.theta_, peer.theta_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.var_, peer.var_, rtol=1e-6)
    np.testing.assert_allclose(model.class_prior_, peer.class_prior_)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), peer.predict_joint_log_proba(X), rtol=1e-6)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))


@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0])
def test_bernoulli_columns_equal_scikit_learn(alpha):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(200, 6)), rng.integers(0, 3, size=200)
    model, peer = NaiveBayes(distributions="bernoulli", alpha=alpha).fit(X, y), BernoulliNB(alpha=alpha).fit(X, y)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), peer.predict_joint_log_proba(X), rtol=1e-9)
    automatic = NaiveBayes(alpha=alpha).fit((X > 0).astype(float), y)
    assert automatic.distributions_ == ["bernoulli"] * 6
    np.testing.assert_allclose(automatic.predict_log_proba(X), peer.predict_log_proba(X), rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_multinomial_columns_equal_scikit_learn(alpha):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, size=200)
    X = rng.poisson(1 + y[:, None] * np.array([0.0, 1.0, 2.0, 0.5])).astype(float)
    model, peer = NaiveBayes(distributions="multinomial", alpha=alpha).fit(X, y), MultinomialNB(alpha=alpha).fit(X, y)
    np.testing.assert_allclose(model.multinomial_log_prob_, peer.feature_log_prob_, rtol=1e-10)
    np.testing.assert_allclose(model.predict_log_proba(X), peer.predict_log_proba(X), rtol=1e-8, atol=1e-10)
    with pytest.raises(DataError, match="must not be negative"):
        NaiveBayes(distributions="multinomial").fit(-X, y)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_categorical_columns_equal_scikit_learn(alpha):
    rng = np.random.default_rng(4)
    X, y = rng.integers(0, 4, size=(150, 3)).astype(float), rng.integers(0, 2, size=150)
    peer = CategoricalNB(alpha=alpha).fit(X, y)
    for model in (
        NaiveBayes(distributions="categorical", alpha=alpha).fit(X, y),
        NaiveBayes(categorical_features=[0, 1, 2], alpha=alpha).fit(X, y),
        NaiveBayes(distributions={0: "categorical", 1: "categorical", 2: "categorical"}, alpha=alpha).fit(X, y),
    ):
        for ours, theirs in zip(model.category_log_prob_, peer.feature_log_prob_, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10)
        np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_mixed_columns_multiply_the_parts_of_each_kind(frame):
    columns, y = mixed()
    X = frame(columns)
    model = NaiveBayes().fit(X, y)
    assert model.distributions_ == ["gaussian", "categorical", "bernoulli", "categorical"]
    total = np.log(model.class_prior_)[None, :]
    for name in columns:
        alone = NaiveBayes().fit(frame({name: columns[name]}), y)
        total = total + alone.predict_joint_log_proba(frame({name: columns[name]})) - np.log(model.class_prior_)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), total, rtol=1e-10, atol=1e-12)


def test_missing_cells_are_skipped_in_fit_and_in_prediction():
    X, y = gaussian()
    holes = np.random.default_rng(5).random(X.shape) < 0.2
    X[holes] = np.nan
    model = NaiveBayes().fit(X, y)
    for k, label in enumerate(model.classes_):
        part = X[y == label]
        np.testing.assert_allclose(model.theta_[k], np.nanmean(part, axis=0), rtol=1e-10)
        np.testing.assert_allclose(model.var_[k], np.nanvar(part, axis=0), rtol=1e-6)
    row = X[:1].copy()
    row[0, 1:] = np.nan
    log_density = -0.5 * np.log(2 * np.pi * model.var_[:, 0]) - (row[0, 0] - model.theta_[:, 0]) ** 2 / (
        2 * model.var_[:, 0]
    )
    np.testing.assert_allclose(model.predict_joint_log_proba(row)[0], np.log(model.class_prior_) + log_density)
    np.testing.assert_allclose(model.predict_proba(np.full((1, 5), np.nan))[0], model.class_prior_)


@pytest.mark.parametrize("p", [7, 8, 9, 16, 29])
def test_scores_along_rows_are_the_normal_densities(p):
    X, y = gaussian(n=70, p=p)
    nominal = np.column_stack([X[:, :3], np.arange(70) % 2, X[:, 3:]])  # the Gaussian columns stand apart
    for table in (X, nominal):
        model = NaiveBayes().fit(table, y)
        table = table.copy()
        table[5, 0] = table[6, p - 1] = np.nan
        said = model.contributions(table).sum(axis=2) + np.log(model.class_prior_)
        np.testing.assert_allclose(model.predict_joint_log_proba(table), said, rtol=1e-12)
        assert (model.predict(table) == model.classes_[said.argmax(axis=1)]).all()
        table[3, 1] = np.inf
        with pytest.raises(DataError, match="infinity"):
            model.predict(table)


def test_a_column_missing_in_one_class_or_everywhere_is_no_evidence_of_its_own():
    X, y = gaussian(p=2)
    X[y == "a", 0] = np.nan
    X[:, 1] = np.nan
    model = NaiveBayes().fit(X, y)
    assert np.isfinite(model.theta_).all() and (model.var_ > 0).all()
    np.testing.assert_allclose(model.theta_[0, 0], np.nanmean(X[:, 0]))
    np.testing.assert_allclose(model.predict_proba([[np.nan, 3.0]])[0], model.class_prior_)


def test_an_unseen_category_says_nothing():
    columns, y = mixed()
    X = pl.DataFrame({"shape": columns["shape"]})
    model = NaiveBayes().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(pl.DataFrame({"shape": ["never"]}))[0], model.class_prior_)


def test_scale_of_the_columns_does_not_matter_even_at_1e12():
    X, y = gaussian()
    X[y == "a", 2] = 0.25  # no variance in one class
    scale = np.array([1e12, 1e-12, 1.0, 1e6, 1.0])
    np.testing.assert_allclose(
        NaiveBayes().fit(X * scale, y).predict_proba(X * scale), NaiveBayes().fit(X, y).predict_proba(X), atol=1e-7
    )


def test_a_constant_column_changes_nothing():
    X, y = gaussian()
    wide = np.column_stack([X, np.full(len(y), 0.1)])
    odd = wide[:5].copy()
    odd[:, 5] = 1e6
    np.testing.assert_allclose(
        NaiveBayes().fit(wide, y).predict_proba(odd), NaiveBayes().fit(X, y).predict_proba(odd[:, :5]), rtol=1e-6
    )


def test_every_parameter_matters():
    X, y = gaussian()
    columns, target = mixed()
    frame = pl.DataFrame(columns)

    def differs(a, b, X, y):
        return not np.allclose(a.fit(X, y).predict_log_proba(X), b.fit(X, y).predict_log_proba(X), rtol=1e-4)

    assert differs(NaiveBayes(alpha=50.0), NaiveBayes(), frame, target)
    assert differs(NaiveBayes(var_smoothing=0.5), NaiveBayes(), X, y)
    assert differs(NaiveBayes(class_prior=[0.8, 0.1, 0.1]), NaiveBayes(), X, y)
    assert differs(NaiveBayes(fit_prior=False), NaiveBayes(), X[:220], np.sort(y)[:220])
    assert differs(NaiveBayes(distributions={"flag": "gaussian"}), NaiveBayes(), frame, target)
    assert differs(NaiveBayes(epsilon=0.4), NaiveBayes(), frame, target)
    assert differs(NaiveBayes(categorical_features=["flag"], alpha=9.0), NaiveBayes(), frame, target)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"distributions": {"nowhere": "gaussian"}}, "names the column 'nowhere', which X does not have"),
        ({"distributions": {0: "poisson"}}, "must map to one of gaussian, bernoulli"),
        ({"distributions": {"colour": "gaussian"}}, "'gaussian' in column 'colour', which is nominal"),
        ({"class_prior": [0.5, 0.6]}, "'class_prior' must be 2 numbers >= 0 that sum to 1"),
        ({"class_prior": [1.0]}, "'class_prior' must be 2 numbers"),
    ],
)
def test_bad_wishes_get_one_sentence(parameters, sentence):
    columns, y = mixed()
    with pytest.raises(ParameterError, match=sentence):
        NaiveBayes(**parameters).fit(pl.DataFrame(columns), y)


def test_rejected_rows_are_those_of_low_probability():
    X, y = gaussian()
    model = NaiveBayes().fit(X, y)
    labels, rejected = model.predict_with_reject(X, 0.9)
    np.testing.assert_array_equal(rejected, model.predict_proba(X).max(axis=1) < 0.9)
    np.testing.assert_array_equal(labels, model.predict(X))
    assert 0 < rejected.sum() < len(y)
    assert (labels == y)[~rejected].mean() > (labels == y).mean()
    with pytest.raises(ParameterError, match="'threshold' must be between 0 and 1"):
        model.predict_with_reject(X, 1.5)


def test_increments_equal_one_fit_with_categories_and_distributions_that_appear_later():
    columns, y = mixed()
    columns["colour"] = ["red" if i < 100 else colour for i, colour in enumerate(columns["colour"])]
    columns["flag"] = [value if i < 200 else 0.5 for i, value in enumerate(columns["flag"])]
    X = pl.DataFrame(columns)
    weights = np.random.default_rng(6).integers(1, 4, size=len(y)).astype(float)
    model = NaiveBayes()
    for part in np.array_split(np.arange(len(y)), 4):
        model.partial_fit(X[part], y[part], classes=[0, 1], sample_weight=weights[part])
    whole = NaiveBayes().fit(X, y, sample_weight=weights)
    assert model.distributions_ == whole.distributions_ and whole.distributions_[2] == "gaussian"
    np.testing.assert_allclose(model.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-7, atol=1e-9)


def test_first_increment_must_name_the_classes_and_later_ones_keep_to_them():
    X, y = gaussian()
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        NaiveBayes().partial_fit(X, y)
    model = NaiveBayes().partial_fit(X, y, classes=["a", "b", "c"])
    with pytest.raises(DataError, match="'z'"):
        model.partial_fit(X[:2], ["a", "z"])


def test_shared_folds_equal_separate_fits_on_mixed_tables():
    columns, y = mixed()
    columns["colour"][0], columns["shape"][1] = "seen once", "also once"
    X = pl.DataFrame(columns)
    labels = np.where(np.arange(len(y)) < 3, 2, y)  # a class that one training part does not have
    weights = np.random.default_rng(7).integers(0, 3, size=len(y)).astype(float)
    rows = np.arange(len(y))
    folds = [(rows[60:], rows[:60]), (rows[:180], rows[180:]), (rows[::2], rows[1::4])]
    for given in (None, weights):
        for (train, test), model in zip(folds, NaiveBayes().fit_folds(X, labels, folds, given), strict=True):
            separate = NaiveBayes().fit(X[train], labels[train], None if given is None else given[train])
            np.testing.assert_array_equal(model.classes_, separate.classes_)
            for ours, theirs in zip(model.schema_.categories, separate.schema_.categories, strict=True):
                np.testing.assert_array_equal(ours, theirs)
            np.testing.assert_allclose(
                model.predict_log_proba(X[test]), separate.predict_log_proba(X[test]), rtol=1e-8, atol=1e-10
            )


def test_threads_and_instruction_sets_do_not_change_labels():
    X, y = gaussian(n=20_000)
    one, four = NaiveBayes(n_jobs=1).fit(X, y), NaiveBayes(n_jobs=4).fit(X, y)
    np.testing.assert_array_equal(one.var_, four.var_)
    best = _kernels.simd_level()
    try:
        _kernels.set_simd_level("baseline")
        np.testing.assert_allclose(one.predict_proba(X), four.predict_proba(X), rtol=1e-12)
    finally:
        _kernels.set_simd_level(best)


def test_view_says_how_much_each_column_speaks_for_each_class():
    X, y = gaussian()
    constant = np.column_stack([X, np.zeros(len(X))])
    view = NaiveBayes().fit(constant, y).view()
    assert view.kind == "contributions" and view.classes == ["a", "b", "c"] and sum(view.prior) == pytest.approx(1)
    values = np.array(view.values)
    assert values.shape == (3, constant.shape[1]) and (values >= 0).all() and (values[:, -1] == 0).all()
    labels = pd.DataFrame({"says": list(y), "nothing": ["u", "v"] * (len(y) // 2) + ["u"] * (len(y) % 2)})
    said = np.array(NaiveBayes(alpha=1e-9).fit(labels, y).view().values)
    # A label that gives the class away says the log of one over its share.
    shares = np.array([np.mean(np.asarray(y) == name) for name in "abc"])
    np.testing.assert_allclose(said[:, 0], -np.log(shares), rtol=1e-6)
    assert (said[:, 1] < 0.05).all()


# -- sparse counts, priors, costs, what each column says -------------------------------------------------------------
def counts(n=150, width=40, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size=n)
    rates = rng.gamma(0.3, size=(3, width))
    return rng.poisson(rates[y]).astype(float), y


@pytest.mark.parametrize(
    "distributions", ["auto", "multinomial", "bernoulli", "gaussian", {0: "gaussian", 1: "multinomial"}]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_counts_give_the_model_of_the_dense_table(distributions, weighted):
    X, y = counts()
    weights = 0.5 + np.arange(len(y)) % 3 if weighted else None
    dense = NaiveBayes(distributions=distributions).fit(X, y, weights)
    sparse = NaiveBayes(distributions=distributions).fit(csr_matrix(X), y, weights)
    assert sparse.distributions_ == dense.distributions_
    np.testing.assert_allclose(
        sparse.predict_joint_log_proba(csr_matrix(X)), dense.predict_joint_log_proba(X), rtol=1e-5, atol=1e-5
    )
    np.testing.assert_array_equal(sparse.predict(csr_matrix(X)), sparse.predict(X))
    parts = NaiveBayes(distributions=distributions)
    for begin in (0, 70):
        part = slice(begin, begin + 70) if begin == 0 else slice(70, None)
        parts.partial_fit(
            csr_matrix(X[part]), y[part], classes=[0, 1, 2], sample_weight=None if weights is None else weights[part]
        )
    np.testing.assert_allclose(parts.predict_proba(X), sparse.predict_proba(X), rtol=1e-6, atol=1e-9)


def test_sparse_multinomial_equals_scikit_learn():
    X, y = counts()
    ours = NaiveBayes(distributions="multinomial").fit(csr_matrix(X), y)
    peer = MultinomialNB().fit(csr_matrix(X), y)
    np.testing.assert_allclose(
        ours.predict_joint_log_proba(csr_matrix(X)), peer.predict_joint_log_proba(csr_matrix(X)), rtol=1e-9
    )


def test_sparse_tables_have_no_nominal_columns():
    X, y = counts()
    with pytest.raises(DataError, match="must not be sparse with nominal columns"):
        NaiveBayes(distributions="categorical").fit(csr_matrix(X), y)
    with pytest.raises(DataError, match="must not be negative in a multinomial"):
        NaiveBayes(distributions="multinomial").fit(csr_matrix(-X), y)


def test_priors_are_smoothed_by_counts_added_to_each_class():
    X, y = gaussian(n=90, classes=2)
    kept = np.r_[0:90:2, 1:30:2]
    model = NaiveBayes(prior_smoothing=5.0).fit(X[kept], y[kept])
    np.testing.assert_allclose(model.class_prior_, [(45 + 5) / 70, (15 + 5) / 70])
    np.testing.assert_array_equal(NaiveBayes(prior_smoothing=1e308).fit(X, y).class_prior_, [0.5, 0.5])


def test_costs_decide_and_rows_in_doubt_are_marked():
    X, y = gaussian(classes=2)
    p = NaiveBayes().fit(X, y).predict_proba(X)
    model = NaiveBayes(costs=[[0, 1], [4, 0]]).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), np.where(4 * p[:, 1] < p[:, 0], "a", "b"))
    _, rejected = model.predict_with_reject(X, reject_cost=0.3)
    np.testing.assert_array_equal(rejected, np.minimum(4 * p[:, 1], p[:, 0]) > 0.3)


def test_contributions_of_the_columns_sum_to_the_joint_log_probability():
    columns, y = mixed()
    X = pl.DataFrame(columns)
    model = NaiveBayes(distributions={"size": "gaussian"}).fit(X, y)
    said = model.contributions(X)
    joint = said.sum(axis=2) + np.log(model.class_prior_)
    np.testing.assert_allclose(joint, model.predict_joint_log_proba(X), rtol=1e-9)
    assert not said[3, :, 1].any()  # a missing cell says nothing
    counted, labels = counts()
    model = NaiveBayes(distributions="multinomial").fit(counted, labels)
    np.testing.assert_allclose(
        model.contributions(counted).sum(axis=2) + np.log(model.class_prior_),
        model.predict_joint_log_proba(counted),
        rtol=1e-9,
    )


def test_a_row_is_explained_by_parts_that_sum_to_its_log_odds():
    columns, y = mixed()
    X = pl.DataFrame(columns)
    model = NaiveBayes().fit(X, y)
    view = model.explain_row(X[:1])
    values, prior = np.array(view.values), np.array(view.prior)
    odds = (values[1] - values[0]).sum() + prior[1] - prior[0]
    assert odds == pytest.approx(np.log(view.probabilities[1] / view.probabilities[0]), rel=1e-9)
    assert view_of(view.to_dict()) == view and "<svg" in view.to_svg() and "has probability" in view.how_to_read
    assert view.grid().rows[0][0] == "prior"
    with pytest.raises(DataError, match="must be a table of one row"):
        model.explain_row(X[:2])


@pytest.mark.parametrize("n_rows", [5, 16, 37])
def test_counts_of_a_multinomial_are_scored_among_other_columns(n_rows):
    """More columns than are gathered at a time, rows that fill no block, missing cells, tables behind them."""
    rng = np.random.default_rng(n_rows)
    X = np.column_stack([rng.poisson(2.0, (60, 70)), rng.normal(size=60), rng.integers(0, 3, 60)]).astype(float)
    kinds = {**dict.fromkeys(range(70), "multinomial"), 71: "categorical"}
    model = NaiveBayes(distributions=kinds).fit(X, rng.integers(0, 3, 60))
    new = X[:n_rows].copy()
    new[1, 3] = new[4, [0, 69, 70, 71]] = np.nan
    joint = np.log(model.class_prior_) + model.contributions(new).sum(axis=2)
    np.testing.assert_allclose(model.predict_joint_log_proba(new), joint, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(new), joint.argmax(axis=1))


def test_a_sparse_row_goes_to_the_likelier_class_where_probabilities_round_to_one():
    """As a dense row does: by the joint probabilities, not by their shares."""
    X = csr_matrix(np.array([[3.0, 1.0], [1.0, 3.0]]))
    model = NaiveBayes(distributions="multinomial").fit(X, ["a", "b"])
    rows = np.array([[1e5, 0.0], [0.0, 1e5], [2.0, 2.0]])
    np.testing.assert_array_equal(model.predict(csr_matrix(rows)), model.predict(rows))
    for wanted in ("predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        sparse, dense = getattr(model, wanted)(csr_matrix(rows)), getattr(model, wanted)(rows)
        np.testing.assert_allclose(sparse, dense, rtol=1e-9, atol=1e-12)
