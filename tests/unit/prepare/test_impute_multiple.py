"""Chained equations: observed cells stay, draws are reproducible and proper, new rows teach nothing."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import optimize, stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.linear_model import BayesianRidge, LinearRegression

from assay.base import AssayError, AssayWarning
from assay.models.linear import LeastSquares
from assay.models.trees import CartClassifier, CartRegressor
from assay.prepare import ImputeMultiple, fit_multiple, pool


def correlated(n=400, d=6, share=0.15, seed=0):
    """Normal columns that share a factor, the truth and the table with holes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + 0.5 * rng.normal(size=(n, d)) + np.arange(d)
    holed = X.copy()
    holed[rng.random(X.shape) < share] = np.nan
    return X, holed


def mixed(n=400, seed=0):
    """Numbers, a binary and a three-valued label, a boolean and a date, all related."""
    rng = np.random.default_rng(seed)
    age = rng.normal(40, 10, n)
    plan = np.where(age + rng.normal(0, 5, n) > 45, "gold", np.where(age + rng.normal(0, 5, n) > 35, "silver", "basic"))
    active = age + rng.normal(0, 8, n) > 40
    frame = pl.DataFrame({"age": age, "plan": plan, "active": active, "visits": rng.poisson(age / 10)}).with_columns(
        pl.datetime(2024, 1, 1).alias("since")
    )
    for name in ("age", "plan", "active", "visits"):
        gone = pl.Series(rng.random(n) < 0.2)
        frame = frame.with_columns(pl.when(gone).then(None).otherwise(pl.col(name)).alias(name))
    return frame


METHODS = ["auto", "norm", "pmm", "logistic", "tree"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("make", [lambda f: f, lambda f: f.to_pandas()], ids=["polars", "pandas"])
def test_observed_cells_never_change_and_nothing_stays_missing(method, make):
    frame = mixed(150)
    imputer = ImputeMultiple(method=method, n_imputations=2, max_iter=3, random_state=0)
    X = make(frame)
    tables = [*imputer.fit_transform_all(X), *imputer.transform_all(X), imputer.transform(X)]
    for table in tables:
        assert type(table) is type(X)
        done = pl.DataFrame(table) if isinstance(table, pd.DataFrame) else table
        for name in frame.columns:
            kept = frame[name].is_not_null()
            assert done[name].null_count() == 0
            before, after = frame[name].filter(kept).to_list(), done[name].filter(kept).to_list()
            assert [str(float(v)) if isinstance(v, int) and not isinstance(v, bool) else str(v) for v in before] == [
                str(v) for v in after
            ]
        assert set(done["plan"]) <= {"basic", "silver", "gold"} and set(done["active"]) <= {True, False}


def test_same_seed_same_bits_whatever_the_threads_and_other_seeds_differ():
    frame = mixed(200)
    for method in ("auto", "tree"):
        first, second, third = (
            ImputeMultiple(method=method, max_iter=3, random_state=seed, n_jobs=jobs).fit(frame)
            for seed, jobs in ((0, 1), (0, 2), (1, 1))
        )
        np.testing.assert_array_equal(first.imputed_, second.imputed_)
        assert not np.array_equal(first.imputed_, third.imputed_)
        for a, b in zip(first.transform_all(frame), second.transform_all(frame), strict=True):
            assert a.equals(b)
        assert not first.transform_all(frame)[0].equals(first.transform_all(frame)[1])


@pytest.mark.parametrize("method", ["pmm", "tree"])
def test_donor_methods_give_only_observed_values(method):
    _, holed = correlated()
    holed = np.round(holed, 1)
    imputer = ImputeMultiple(method=method, max_iter=3, random_state=0).fit(holed)
    new = np.full((30, 6), np.nan)
    new[:, 0] = np.linspace(-3, 3, 30)
    for j in range(6):
        seen = set(holed[~np.isnan(holed[:, j]), j])
        assert set(imputer.imputed_[:, imputer.missing_cells_[:, 1] == j].ravel()) <= seen
        assert all(set(table[1:, j]) <= seen for table in imputer.transform_all(new) if j > 0)


@pytest.mark.parametrize("method", ["norm", "pmm", "tree"])
def test_the_distribution_is_kept_where_means_would_shrink_it(method):
    X, holed = correlated(n=2000, share=0.3)
    tables = ImputeMultiple(method=method, random_state=0).fit_transform_all(holed)
    for table in tables:
        np.testing.assert_allclose(table.std(axis=0), X.std(axis=0), rtol=0.06)
        np.testing.assert_allclose(np.corrcoef(table.T), np.corrcoef(X.T), atol=0.08)
    shrunk = SimpleImputer().fit_transform(holed)
    assert (shrunk.std(axis=0) < 0.9 * X.std(axis=0)).all()


@pytest.mark.parametrize("peer", [BayesianRidge(), LinearRegression()], ids=["ridge", "least squares"])
def test_without_draws_it_is_as_near_to_the_truth_as_scikit_learn(peer):
    """scikit-learn IterativeImputer (BayesianRidge is its default), same sweeps and same order.

    With least squares the chains are the same, cell by cell, but for our ridge of 1e-5.
    """
    X, holed = correlated(n=1500, d=8)
    missing = np.isnan(holed)
    with pytest.warns(ConvergenceWarning, match="Early stopping"):
        theirs = IterativeImputer(peer, max_iter=10, tol=1e-12, random_state=0).fit_transform(holed)
    settings = {"ridge": 1e-5} if isinstance(peer, LinearRegression) else {}
    imputer = ImputeMultiple(sample_posterior=False, initial="mean", max_iter=10, **settings).fit(holed)
    ours = imputer.transform(holed)
    assert imputer.imputed_.shape[0] == 1 and set(imputer.methods_.values()) == {"norm"}
    errors = [float(np.sqrt(np.mean((table - X)[missing] ** 2))) for table in (ours, theirs)]
    assert abs(errors[0] / errors[1] - 1) < 0.002
    if isinstance(peer, LinearRegression):
        np.testing.assert_allclose(imputer.imputed_[0], theirs[missing], atol=2e-3)


def test_pooled_coefficients_agree_with_statsmodels():
    """statsmodels MICE (predictive mean matching, five donors), to Monte Carlo error: less than a standard error."""
    from statsmodels.imputation import mice
    from statsmodels.regression.linear_model import OLS

    rng = np.random.default_rng(2)
    X = rng.normal(size=(500, 2))
    X[:, 1] += 0.7 * X[:, 0]
    y = X @ [1.0, -2.0] + rng.normal(size=500)
    X[rng.random(500) < 0.6 / (1 + np.exp(-X[:, 0])), 1] = np.nan
    np.random.seed(0)  # noqa: NPY002
    data = mice.MICEData(pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}), k_pmm=5)
    theirs = mice.MICE("y ~ a + b", OLS, data).fit(n_burnin=5, n_imputations=15)
    ours = fit_multiple(ImputeMultiple(n_imputations=15, method="pmm", random_state=0), LeastSquares(), X, y)
    np.testing.assert_allclose(ours.coefficients.estimate, theirs.params, atol=0.05)
    np.testing.assert_allclose(ours.coefficients.standard_error, theirs.bse, rtol=0.25)


@pytest.mark.parametrize("holes", [1, 8], ids=["few missing", "most missing"])
def test_a_missing_number_is_drawn_from_the_t_distribution_of_its_prediction(holes):
    """Six rows, intercept and two slopes: (draw - prediction) / (s sqrt(1 + h)) is t with three degrees of freedom."""
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.normal(size=(6 + holes, 2)) * [1.0, 3.0], np.zeros(6 + holes)])
    X[:, 2] = 10 + X[:, 0] - 0.5 * X[:, 1] + 2 * rng.normal(size=6 + holes)
    design = np.column_stack([np.ones(6 + holes), X[:, :2]])
    beta, (squares,), _, _ = np.linalg.lstsq(design[:6], X[:6, 2], rcond=None)
    inverse = np.linalg.inv(design[:6].T @ design[:6])
    X[6:, 2] = np.nan
    draws = ImputeMultiple(n_imputations=4000, max_iter=1, method="norm", random_state=0).fit(X).imputed_
    assert draws.shape == (4000, holes)
    for k in range(holes):
        row = design[6 + k]
        scale = np.sqrt(squares / 3 * (1 + row @ inverse @ row))
        assert stats.kstest((draws[:, k] - row @ beta) / scale, stats.t(3).cdf).statistic < 1.63 / np.sqrt(4000)


@pytest.mark.parametrize("donors", [5, 9])
def test_expected_values_of_trees_are_those_of_a_tree_on_the_complete_rows(donors):
    """One number and one label with holes: leaf means of a regression tree, and labels of a Gini tree."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(260, 2)).round(1)
    number = np.where(x[:, 0] > 0, x[:, 1], -x[:, 1]) + 0.2 * rng.normal(size=260)
    label = np.where(x.sum(axis=1) + 0.4 * rng.normal(size=260) > 0, "up", "down")
    gone = np.arange(260) % 4 == 1
    settings = {"sample_posterior": False, "method": "tree", "max_iter": 1, "initial": "mean", "n_donors": donors}
    grown = {"min_samples_leaf": donors, "min_samples_split": 2 * donors}
    frame = pl.DataFrame({"a": x[:, 0], "b": x[:, 1]})
    for values, tree in ((number, CartRegressor(**grown)), (label, CartClassifier(**grown))):
        column = pl.Series("c", values)
        holed = frame.with_columns(pl.when(pl.Series(gone)).then(None).otherwise(column).alias("c"))
        imputer = ImputeMultiple(**settings).fit(holed)
        expected = tree.fit(x[~gone], values[~gone]).predict(x[gone])
        for table in (imputer.fit_transform(holed), imputer.transform(holed)):
            found = table["c"].to_numpy()[gone]
            if values is number:
                np.testing.assert_allclose(found, expected, rtol=1e-9)
            else:
                assert found.tolist() == expected.tolist()


def test_expected_values_of_later_rows_are_least_squares_predictions():
    """A column complete in training, and two holes in one row, whose values solve both regressions at once."""
    X, _ = correlated(n=300, d=4)
    imputer = ImputeMultiple(sample_posterior=False, ridge=0, max_iter=60).fit(X)
    lines = {j: LeastSquares().fit(np.delete(X, j, axis=1), X[:, j]) for j in range(4)}
    later = X[:20].copy()
    later[:10, 2] = np.nan
    later[10:, [0, 3]] = np.nan
    done = imputer.transform(later)
    np.testing.assert_allclose(done[:10, 2], lines[2].predict(np.delete(X[:10], 2, axis=1)), rtol=1e-3, atol=1e-3)
    for j in (0, 3):
        expected = lines[j].predict(np.delete(done[10:], j, axis=1))
        np.testing.assert_allclose(done[10:, j], expected, rtol=1e-3, atol=1e-3)


def test_later_rows_are_matched_to_the_donor_of_the_nearest_prediction():
    """Without noise the prediction is the value, so that the nearest donor is the nearest value."""
    rng = np.random.default_rng(9)
    x = rng.uniform(size=300)
    X = np.column_stack([x, 3 * x + 1, rng.normal(size=300)])
    later = X.copy()
    later[::3, 1] = np.nan
    for table in ImputeMultiple(method="pmm", n_donors=1, n_imputations=2, random_state=0).fit(X).transform_all(later):
        np.testing.assert_allclose(table[:, 1], X[:, 1], atol=0.02)


def test_each_label_is_drawn_as_often_as_its_model_says():
    """A binary column that depends on another by a known logistic law, missing at random."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=6000)
    label = rng.random(6000) < 1 / (1 + np.exp(-(0.5 + 1.5 * x)))
    gone = rng.random(6000) < 1 / (1 + np.exp(-x))
    frame = pl.DataFrame({"x": x, "label": [None if g else str(v) for g, v in zip(gone, label, strict=True)]})
    tables = ImputeMultiple(random_state=0, max_iter=2).fit_transform_all(frame)
    high = (x > 0) & gone
    shares = [np.mean((table["label"] == "True").to_numpy()[high]) for table in tables]
    assert abs(np.mean(shares) - label[high].mean()) < 0.03


def test_labels_of_separated_classes_are_drawn_by_the_prior_of_the_coefficients():
    """Normal around the posterior mode, whose priors have deviations of 2.5 and, for the intercept, of 10."""
    x = np.array([-1.5, -1.2, -0.9, -0.6, 0.5, 0.8, 1.1, 1.4, 0.3])
    frame = pl.DataFrame({"x": x, "label": [*["no"] * 4, *["yes"] * 4, None]})
    draws = ImputeMultiple(random_state=0, n_imputations=3000, max_iter=1).fit_transform_all(frame)
    share = np.mean([table["label"][8] == "yes" for table in draws])
    z = np.column_stack([np.ones(9), (x - x.mean()) / x.std()])
    target, precision = np.repeat([0.0, 1.0], 4), np.array([0.01, 0.16])
    mode = optimize.minimize(
        lambda b: np.logaddexp(0.0, z[:8] @ b).sum() - target @ z[:8] @ b + 0.5 * precision @ b**2, [0.0, 0.0]
    ).x
    p = 1.0 / (1.0 + np.exp(-z[:8] @ mode))
    covariance = np.linalg.inv((z[:8].T * p * (1.0 - p)) @ z[:8] + np.diag(precision))
    scores = stats.norm.ppf((np.arange(2000) + 0.5) / 2000, z[8] @ mode, np.sqrt(z[8] @ covariance @ z[8]))
    assert share == pytest.approx(np.mean(1.0 / (1.0 + np.exp(-scores))), abs=0.03)


def test_new_rows_are_completed_by_the_training_rows_alone():
    _, holed = correlated(n=300)
    imputer = ImputeMultiple(max_iter=3, random_state=0).fit(holed)
    whole = imputer.transform_all(holed[:50])
    changed = holed[:50].copy()
    changed[1:] += 100.0
    np.testing.assert_array_equal(imputer.transform_all(changed)[0][0], whole[0][0])
    np.testing.assert_array_equal(imputer.transform(changed)[0], imputer.transform(holed)[0])


def test_columns_complete_in_training_may_have_holes_later():
    X, _ = correlated(n=500)
    imputer = ImputeMultiple(random_state=0).fit(X)
    assert imputer.imputed_.shape == (5, 0)
    later = X[:100].copy()
    later[:, 2] = np.nan
    error = np.sqrt(np.mean((imputer.transform(later)[:, 2] - X[:100, 2]) ** 2))
    assert error < 0.8 * X[:, 2].std()
    frame = mixed(200).drop_nulls()
    step = ImputeMultiple(random_state=0, method="tree").fit(frame)
    empty = frame.head(3).with_columns(pl.lit(None, dtype=pl.String).alias("plan"), pl.lit(None).alias("active"))
    assert step.transform(empty)["plan"].null_count() == 0 and step.transform(empty)["active"].dtype == pl.Boolean


def test_unknown_labels_stay_and_the_rest_of_their_row_is_completed():
    frame = mixed(200)
    imputer = ImputeMultiple(random_state=0).fit(frame)
    row = frame.head(1).with_columns(pl.lit("platinum").alias("plan"), pl.lit(None, dtype=pl.Float64).alias("age"))
    out = imputer.transform(row)
    assert out["plan"].to_list() == ["platinum"] and out["age"].is_finite().all()


def test_a_column_without_values_is_named_and_stays_missing():
    frame = mixed(60).with_columns(pl.lit(None, dtype=pl.Float64).alias("nothing"))
    with pytest.warns(AssayWarning, match="nothing has no value in the training rows"):
        imputer = ImputeMultiple(random_state=0, max_iter=2).fit(frame)
    assert imputer.empty_ == ["nothing"] and imputer.transform(frame)["nothing"].null_count() == 60
    assert "nothing: had no value in the training rows and stays as it is." in imputer.explain()


def test_columns_of_many_labels_are_drawn_alone():
    frame = pl.DataFrame({"name": [*(f"n{i}" for i in range(60)), None, None], "x": np.arange(62.0)})
    imputer = ImputeMultiple(random_state=0, max_iter=2).fit(frame)
    assert list(imputer.sampled_) == ["name"] and imputer.columns_ == ["x"]
    assert all(table["name"].null_count() == 0 for table in imputer.fit_transform_all(frame))
    assert imputer.transform(frame)["name"][61] == "n0"
    assert list(ImputeMultiple(max_categories=100, random_state=0, max_iter=1).fit(frame).methods_) == ["name", "x"]


def test_methods_by_column_and_refusals():
    frame = mixed(100)
    step = ImputeMultiple(method={"age": "norm", 1: "tree"}, max_iter=1, random_state=0).fit(frame)
    assert step.methods_ == {"age": "norm", "plan": "tree", "active": "logistic", "visits": "pmm"}
    assert len(step.explain()) == 4
    with pytest.raises(AssayError, match="must be auto, logistic or tree for column 'plan', which holds labels"):
        ImputeMultiple(method={"plan": "pmm"}).fit(frame)
    with pytest.raises(AssayError, match="must name columns of X"):
        ImputeMultiple(method={"plans": "tree"}).fit(frame)
    with pytest.raises(AssayError, match="must hold numbers or labels"):
        ImputeMultiple(columns=["since"]).fit(frame)


@pytest.mark.parametrize(
    ("changed", "differs"),
    [
        ({"max_iter": 1}, True),
        ({"n_donors": 1}, True),
        ({"initial": "mean"}, True),
        ({"imputation_order": "descending"}, True),
        ({"imputation_order": "roman"}, True),
        ({"imputation_order": "arabic"}, True),
        ({"imputation_order": "random"}, True),
        ({"method": "norm"}, True),
        ({"columns": [0, 1, 2]}, True),
        ({"n_imputations": 3}, True),
        ({"sample_posterior": False}, True),
        ({"ridge": 0.5}, True),
        ({"n_jobs": 2}, False),
        ({"trace": True}, False),
    ],
    ids=lambda v: str(v),
)
def test_every_parameter_matters(changed, differs):
    _, holed = correlated(n=80)
    plain_fit = ImputeMultiple(random_state=0, max_iter=4).fit(holed)
    other = ImputeMultiple(**{"random_state": 0, "max_iter": 4, **changed}).fit(holed)
    assert np.array_equal(plain_fit.imputed_, other.imputed_) != differs


def test_chains_have_paths_and_the_figure_shows_them():
    frame = mixed(150)
    imputer = ImputeMultiple(n_imputations=3, max_iter=6, random_state=0, trace=True).fit(frame)
    assert imputer.chains_["mean"].shape == (3, 6, 4)
    last = [table["age"].to_numpy()[frame["age"].is_null().to_numpy()] for table in imputer.fit_transform_all(frame)]
    np.testing.assert_allclose(imputer.chains_["mean"][:, -1, 0], [values.mean() for values in last])
    np.testing.assert_allclose(imputer.chains_["deviation"][:, -1, 0], [values.std() for values in last])
    assert [record["what"] for record in imputer.trace_] == ["start", *["sweep"] * 6]
    picture = imputer.convergence_plot(["age"])
    assert picture.startswith("<svg") and picture.count("s-c2") == 2 * 5 and "age" in picture


def test_rows_that_repeat_get_their_own_draws():
    frame = pl.DataFrame({"a": ["x", "y"] * 50 + [None] * 100, "b": ["u", "v"] * 100})
    table = ImputeMultiple(n_imputations=1, random_state=0).fit(frame.head(100)).transform_all(frame)[0]
    noisy = pl.DataFrame({"a": ["x", "y"] * 50 + [None] * 100, "b": ["u"] * 200})
    drawn = ImputeMultiple(n_imputations=1, random_state=0).fit(noisy).transform_all(noisy)[0]["a"][100:]
    assert 25 < (drawn == "x").sum() < 75 and table["a"].null_count() == 0


def _coverage(replicates, n, seed):
    """How often 95 % intervals for a slope hold the truth: multiple imputation, and filling in means.

    The second column is missing at random: more often where y, which is always seen, is large.
    """
    rng = np.random.default_rng(seed)
    truth = np.array([1.0, 1.0])
    hits = np.zeros(2)
    for replicate in range(replicates):
        X = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=n)
        y = X @ truth + rng.normal(size=n)
        X[rng.random(n) < 1 / (1 + np.exp(-y)), 1] = np.nan
        imputer = ImputeMultiple(n_imputations=10, max_iter=5, method="norm", random_state=replicate, n_jobs=1)
        multiple = fit_multiple(imputer, LeastSquares(), X, y).coefficients
        model = LeastSquares().fit(SimpleImputer().fit_transform(X), y)
        simple = pool([model.coef_[1]], [model.coef_se_[1] ** 2], n - 3)
        hits += [multiple.low[2] < truth[1] < multiple.high[2], simple.low < truth[1] < simple.high]
    return hits / replicates


def test_pooled_intervals_cover_and_mean_imputation_does_not():
    multiple, simple = _coverage(40, 200, 1)
    assert multiple >= 0.85 and simple < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 400])
def test_pooled_intervals_cover_at_the_nominal_rate(n):
    """With 1000 replicates the standard error of a coverage of 0.95 is 0.007."""
    multiple, simple = _coverage(1000, n, 2)
    assert 0.93 <= multiple <= 0.97
    assert simple < 0.85


@pytest.mark.parametrize("donors", [1, 2, 3, 7, 400])
def test_expected_values_by_matching_are_means_of_the_nearest_donors(donors):
    """One predictor: the nearest prediction is the nearest x; donors of one x count as their mean, one by one."""
    rng = np.random.default_rng(11)
    x = rng.integers(0, 12, 80).astype(float)
    y = 3.0 * x + rng.normal(size=80)
    at = np.array([-2.0, 0.0, 0.3, 2.25, 5.0, 6.8, 10.6, 11.0, 40.0])
    X = np.column_stack([np.append(x, at), np.append(y, np.full(at.size, np.nan))])
    settings = {"sample_posterior": False, "method": "pmm", "max_iter": 1, "n_donors": donors}
    means = {level: y[x == level].mean() for level in np.unique(x)}
    nearest = [x[np.argsort(np.abs(x - place), kind="stable")[:donors]] for place in at]
    expected = [np.mean([means[level] for level in chosen]) for chosen in nearest]
    imputer = ImputeMultiple(**settings).fit(X)
    np.testing.assert_allclose(imputer.imputed_[0], expected, rtol=1e-9)
    np.testing.assert_allclose(imputer.transform(X)[80:, 1], expected, rtol=1e-9)


def test_donors_whose_predictions_agree_in_seven_digits_are_still_told_apart():
    rng = np.random.default_rng(12)
    x = np.repeat([0.0, 1.0], 30) + 1e-9 * np.tile(np.arange(30), 2)
    X = np.column_stack([x, x])[rng.permutation(60)]
    holed = np.vstack([X, X])
    holed[60:, 1] = np.nan
    done = ImputeMultiple(sample_posterior=False, method="pmm", n_donors=1, max_iter=1).fit(holed).transform(holed)
    np.testing.assert_allclose(done[60:, 1], X[:, 1], rtol=0, atol=1e-11)


def test_a_column_that_does_not_vary_where_another_is_seen_says_nothing_about_it():
    """Nor does one that is the sum of two others add anything to them."""
    rng = np.random.default_rng(13)
    a, b = rng.normal(size=(2, 60))
    y = 2.0 + a - 3.0 * b + 0.1 * rng.normal(size=60)
    silent = np.where(np.arange(60) < 40, 5.0, rng.normal(size=60))
    for place in range(4):
        for beside in ([silent], [silent, a + b]):
            columns = [a, b, *beside]
            columns.insert(place, np.where(np.arange(60) < 40, y, np.nan))
            found = ImputeMultiple(sample_posterior=False, method="norm", ridge=1e-5, max_iter=1).fit(
                np.column_stack(columns)
            )
            line = LeastSquares().fit(np.column_stack([a, b])[:40], y[:40])
            expected = line.predict(np.column_stack([a, b])[40:])
            np.testing.assert_allclose(found.imputed_[0], expected, atol=1e-3)


def test_three_labels_are_drawn_by_the_normal_posterior_of_all_their_coefficients():
    """As of two: the mode, and around it the inverse of the Hessian with the blocks between the labels."""
    x = np.array([-1.6, -1.1, -0.7, -0.2, 0.1, 0.4, -0.4, 0.6, 0.9, 1.3, 1.7, 0.2])
    codes, at = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]), np.array([-0.9, 0.3, 1.2])
    labels = [*np.array(["a", "b", "c"])[codes], None, None, None]
    frame = pl.DataFrame({"x": np.append(x, at), "label": labels})
    whole = np.append(x, at)
    z = np.column_stack([(whole - whole.mean()) / whole.std(), np.ones(15)])
    precision = np.tile([0.16, 0.01], 2)

    def shares(b, rows):
        scores = np.column_stack([np.zeros(len(rows)), rows @ np.reshape(b, (2, 2)).T])
        return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)

    def cost(b):
        return -np.log(shares(b, z[:12])[np.arange(12), codes]).sum() + 0.5 * precision @ b**2

    mode = optimize.minimize(cost, np.zeros(4), tol=1e-10).x
    p = shares(mode, z[:12])[:, 1:]
    blocks = [[z[:12].T @ (z[:12] * (p[:, i] * ((i == j) - p[:, j]))[:, None]) for j in (0, 1)] for i in (0, 1)]
    covariance = np.linalg.inv(np.block(blocks) + np.diag(precision))
    drawn = np.random.default_rng(0).multivariate_normal(mode, covariance, 4000)
    expected = np.mean([shares(b, z[12:]) for b in drawn], axis=0)
    found = ImputeMultiple(random_state=0, n_imputations=2500, max_iter=1).fit(frame).imputed_
    for k in range(3):
        np.testing.assert_allclose((found == k).mean(axis=0), expected[:, k], atol=0.03)
    likeliest = ImputeMultiple(sample_posterior=False, max_iter=1).fit(frame).transform(frame)["label"].to_list()[12:]
    assert likeliest == [str("abc"[k]) for k in shares(mode, z[12:]).argmax(axis=1)]


def _expected_chain(X, method, sweeps, donors, ridge):
    """Chained equations of numbers without draws, as their definition has them; also the means of each sweep."""
    shares = {}
    gone, done, means = np.isnan(X), np.where(np.isnan(X), np.nanmean(X, axis=0), X), []
    centre, scale = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    order = [j for j in np.argsort(gone.sum(axis=0), kind="stable") if gone[:, j].any()]
    for _ in range(sweeps):
        for j in order:
            seen, others = ~gone[:, j], np.arange(X.shape[1]) != j
            if method == "tree":
                tree = CartRegressor(min_samples_leaf=donors, min_samples_split=2 * donors)
                done[~seen, j] = tree.fit(done[seen][:, others], X[seen, j]).predict(done[~seen][:, others])
                continue
            z = (done - centre) / scale
            a, b = z[seen][:, others], z[seen, j]
            middle, level = a.mean(axis=0), b.mean()
            gram = (a - middle).T @ (a - middle)
            # By the singular values of the columns scaled to length one, where the code takes a Cholesky factor.
            lengths = np.sqrt(np.diag(gram))
            left, root, right = np.linalg.svd((a - middle) / lengths, full_matrices=False)
            share = shares.get(j, len(lengths) / len(b)) if ridge == "auto" else ridge
            scaled = right.T @ (root / (root**2 + share) * (left.T @ (b - level)))
            slope = scaled / lengths
            learned = (root**2 / (root**2 + share)).sum()
            rest = ((b - level - (a - middle) @ slope) ** 2).sum()
            shares[j] = max(learned * rest / (len(b) - learned - 1) / (scaled @ scaled), 1e-5)
            said = level + (z[:, others] - middle) @ slope
            if method == "norm":
                done[~seen, j] = centre[j] + scale[j] * said[~seen]
            else:
                near = np.argsort(np.abs(said[~seen][:, None] - said[seen]), axis=1, kind="stable")[:, :donors]
                done[~seen, j] = X[seen, j][near].mean(axis=1)
        means.append([done[gone[:, j], j].mean() if gone[:, j].any() else np.nan for j in range(X.shape[1])])
    return done, np.array(means)


@pytest.mark.parametrize("ridge", [1e-5, "auto"])
@pytest.mark.parametrize("share", [0.15, 0.6])
@pytest.mark.parametrize(("method", "donors"), [("norm", 5), ("pmm", 4), ("tree", 6)])
def test_chains_without_draws_follow_their_definition_sweep_by_sweep(method, donors, share, ridge):
    X, holed = correlated(n=150, d=4, share=share, seed=5)
    holed[:, 1] = X[:, 1]
    settings = {"sample_posterior": False, "method": method, "initial": "mean", "n_donors": donors, "max_iter": 4}
    imputer = ImputeMultiple(**settings, ridge=ridge, trace=True).fit(holed)
    expected, means = _expected_chain(holed, method, 4, donors, ridge)
    np.testing.assert_allclose(imputer.imputed_[0], expected[np.isnan(holed)], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(imputer.chains_["mean"][0], means, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("rows", [3, 4, 12, 60])
def test_the_deviation_of_a_number_is_that_of_the_residuals_of_its_ridge(rows):
    """Per degree of freedom, of which there is at least one; on columns as they are scaled."""
    rng = np.random.default_rng(rows)
    X = rng.normal(size=(rows + 3, 3)) @ [[1.0, 0.9, 0.0], [0.0, 0.1, 1.0], [0.0, 0.0, 1.0]]
    X[rows:, 1] = np.nan
    found = ImputeMultiple(sample_posterior=False, ridge=1e-5, method="norm", max_iter=1).fit(X).conditionals_
    z = (X[:rows] - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    a, b = z[:, [0, 2]] - z[:, [0, 2]].mean(axis=0), z[:, 1] - z[:, 1].mean()
    slope = np.linalg.solve(a.T @ a + 1e-5 * np.diag(np.diag(a.T @ a)), a.T @ b)
    squares = ((b - a @ slope) ** 2).sum()
    assert found["deviation"][1] == pytest.approx(np.sqrt(squares / max(rows - 3, 1)), rel=1e-6)
    coefficients = np.reshape(found["coefficient"], (3, 4))[1]
    np.testing.assert_allclose(coefficients[[0, 2]], slope, rtol=1e-8)
    assert coefficients[1] == 0 and coefficients[3] == pytest.approx(z[:, 1].mean() - z[:, [0, 2]].mean(axis=0) @ slope)


@pytest.mark.parametrize("freedom", [1, 2, 3, 8])
def test_deviations_are_drawn_from_the_chi_squared_distribution_of_the_residuals(freedom):
    rng = np.random.default_rng(freedom)
    X = rng.normal(size=(freedom + 3, 2))
    X[-1, 1] = np.nan
    settings = {"method": "norm", "max_iter": 1, "ridge": 1e-5}
    spread = ImputeMultiple(sample_posterior=False, **settings).fit(X).conditionals_["deviation"][1]
    drawn = ImputeMultiple(n_imputations=12_000, random_state=0, **settings).fit(X).conditionals_["deviation"]
    ratios = freedom * (spread / np.reshape(drawn, (12_000, 2))[:, 1]) ** 2
    assert stats.kstest(ratios, stats.chi2(freedom).cdf).statistic < 1.63 / np.sqrt(12_000)


@pytest.mark.parametrize("count", [1499, 1500, 1501, 1502, 1999, 4000])
def test_the_donors_that_are_kept_are_all_at_the_ends_and_spread_between(count):
    x = np.random.default_rng(0).permutation(count).astype(float)
    model = ImputeMultiple(sample_posterior=False, ridge=1e-5, method="pmm", max_iter=1).fit(
        np.column_stack([x, 2 * x + 5])
    )
    kept, end = min(count, 1500), 250
    between = [end + k * (count - 2 * end - 1) // (kept - 2 * end - 1) for k in range(kept - 2 * end)]
    ranks = [*range(end), *between, *range(count - end, count)]
    found = np.reshape(model.conditionals_["donor_values"], (2, kept))
    np.testing.assert_array_equal(found[0], ranks)
    np.testing.assert_array_equal(found[1], 2.0 * np.array(ranks) + 5)
    predictions = np.reshape(model.conditionals_["donor_predictions"], (2, kept))
    np.testing.assert_allclose(predictions[0], (np.array(ranks) - x.mean()) / x.std(), atol=1e-4)


@pytest.mark.parametrize("count", [60, 64, 65, 200])
def test_donors_of_a_leaf_are_kept_evenly(count):
    cells = np.column_stack([np.zeros(count), np.arange(count) * 1.0])
    found = ImputeMultiple(sample_posterior=False, method="tree", max_iter=1, n_donors=count).fit(cells).conditionals_
    kept = min(count, 64)
    np.testing.assert_array_equal(found["leaf_values"][kept:], np.arange(kept) * count // kept)
    np.testing.assert_array_equal(found["leaf_offsets"], [0, kept, 2 * kept])


@pytest.mark.parametrize("donors", [1, 2, 3, 5])
def test_donors_in_pairs_of_one_prediction_count_as_their_mean_at_either_end(donors):
    x = np.array([0.0, 0, 1, 2, 2, 3, 4, 4])
    y = 3 * x + np.array([0.1, -0.3, 0.2, 0.4, -0.1, 0.0, -0.5, 0.3])
    at = np.array([-1.0, 0.1, 1.2, 2.3, 3.9, 4.7])
    X = np.column_stack([np.append(x, at), np.append(y, np.full(at.size, np.nan))])
    imputer = ImputeMultiple(sample_posterior=False, ridge=1e-5, method="pmm", max_iter=1, n_donors=donors).fit(X)
    means = np.array([y[x == level].mean() for level in x])
    expected = [means[np.argsort(np.abs(x - place), kind="stable")[:donors]].mean() for place in at]
    np.testing.assert_allclose(imputer.imputed_[0], expected, rtol=1e-9)
    np.testing.assert_allclose(imputer.transform(X)[8:, 1], expected, rtol=1e-9)


def test_the_lower_of_two_donors_as_near_is_taken_and_one_of_those_that_tie_is_drawn():
    X = np.array([[-1.0, -1.0], [1.0, 1.0], [0.0, np.nan]])
    settings = {"method": "pmm", "max_iter": 1, "n_donors": 1, "ridge": 1e-5}
    assert ImputeMultiple(sample_posterior=False, **settings).fit(X).imputed_.tolist() == [[-1.0]]
    line = np.column_stack([np.arange(20.0, 60.0), 5.5 * np.arange(20.0, 60.0) + 1.5])
    pairs = np.array([[0.0, 1.0], [0.0, 2.0], [9.0, 51.0], [9.0, 52.0], [0.0, np.nan], [9.0, np.nan]])
    drawn = ImputeMultiple(n_imputations=600, random_state=0, **settings).fit(np.vstack([line, pairs])).imputed_
    for column, values in zip(drawn.T, ([1.0, 2.0], [51.0, 52.0]), strict=True):
        assert set(column) <= set(values) and 240 < (column == values[0]).sum() < 360


def test_two_holes_of_a_later_row_are_filled_one_after_the_other():
    """After one sweep: the first by the start of the second, the second by what the first has become."""
    X, _ = correlated(n=300, d=3)
    X[:, 1] += 0.7 * X[:, 0]
    imputer = ImputeMultiple(sample_posterior=False, ridge=1e-5, method="norm", max_iter=1).fit(X)
    lines = {j: LeastSquares().fit(np.delete(X, j, axis=1), X[:, j]) for j in range(2)}
    later = X[:10].copy()
    later[:, :2] = np.nan
    first = lines[0].predict(np.column_stack([np.full(10, X[:, 1].mean()), X[:10, 2]]))
    second = lines[1].predict(np.column_stack([first, X[:10, 2]]))
    np.testing.assert_allclose(imputer.transform(later)[:, :2], np.column_stack([first, second]), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("method", ["logistic", "tree"])
@pytest.mark.parametrize("drawn", [True, False])
def test_holes_in_a_column_of_one_label_hold_it(method, drawn):
    frame = pl.DataFrame({"x": [1.0, 2.0, 4.0, 3.0], "label": ["a", None, "a", None]})
    imputer = ImputeMultiple(method=method, sample_posterior=drawn, random_state=0, max_iter=2)
    assert imputer.fit_transform(frame)["label"].to_list() == ["a"] * 4
    assert imputer.transform(frame)["label"].to_list() == ["a"] * 4


def _factors(seed: int, rows: int, columns: int, factors: int) -> np.ndarray:
    """Columns that share a few factors, and noise of variance 1."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, factors)) @ rng.normal(size=(factors, columns)) + rng.normal(size=(rows, columns))


def _error(X: np.ndarray, holed: np.ndarray, imputer) -> float:
    gone = np.isnan(holed)
    return float(np.sqrt(np.mean((imputer.fit_transform(holed) - X)[gone] ** 2)))


@pytest.mark.parametrize(("rows", "columns"), [(60, 50), (100, 30), (300, 20)])
def test_a_ridge_from_the_data_errs_less_than_least_squares_and_no_more_than_bayesian_ridge(rows, columns):
    errors = []
    for seed in range(3):
        X = _factors(seed, rows, columns, 5)
        holed = np.where(np.random.default_rng(10 + seed).random(X.shape) < 0.1, np.nan, X)
        settings = {"sample_posterior": False, "initial": "mean"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs = _error(X, holed, IterativeImputer(max_iter=10, random_state=0))
        ours = [_error(X, holed, ImputeMultiple(**settings, ridge=ridge)) for ridge in ("auto", 1e-5)]
        errors.append([*ours, theirs])
    chosen, least_squares, bayesian = np.mean(errors, axis=0)
    assert chosen < least_squares and chosen < 1.02 * bayesian


def test_a_ridge_from_the_data_settles_in_columns_without_holes_too():
    """Later rows: the expected value of a column that was complete is that of scikit-learn's BayesianRidge."""
    X = _factors(0, 120, 12, 3)
    later = X[:30].copy()
    later[:, 4] = np.nan
    ours = ImputeMultiple(sample_posterior=False).fit(X).transform(later)[:, 4]
    others = np.delete((X - X.mean(axis=0)) / X.std(axis=0), 4, axis=1)
    theirs = BayesianRidge(max_iter=1000, tol=1e-8).fit(others, X[:, 4]).predict(others[:30])
    np.testing.assert_allclose(ours, theirs, atol=0.02 * X[:, 4].std())
