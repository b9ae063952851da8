"""Paths and cross-validated choice for logistic regression, against scikit-learn 1.6+ and separate fits."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.linear_model import LogisticRegressionCV as PeerCV
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import StratifiedKFold

from assay.base import DataError, ParameterError
from assay.models.linear import LogisticCV, LogisticRegression, logistic_path


def make(n=400, p=4, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + rng.normal(size=p)
    score = X @ rng.normal(size=(p, classes)) + rng.gumbel(size=(n, classes))
    return X, np.where(np.arange(n) < classes, np.arange(n), score.argmax(axis=1))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet"])
def test_path_equals_separate_fits(classes, penalty):
    X, y = make(classes=classes)
    share = 0.3 if penalty == "elasticnet" else 0.0
    path = logistic_path(X, y, [10.0, 0.01, 1.0], penalty=penalty, l1_ratio=share, tol=1e-10)
    assert path.Cs.tolist() == [0.01, 1.0, 10.0] and path.classes.tolist() == list(range(classes))
    for C, coef, intercept in zip(path.Cs, path.coefs, path.intercepts, strict=True):
        alone = LogisticRegression(C=C, penalty=penalty, l1_ratio=share, tol=1e-10).fit(X, y)
        np.testing.assert_allclose(coef, alone.coef_, atol=1e-7)
        np.testing.assert_allclose(intercept, alone.intercept_, atol=1e-7)


def test_integer_Cs_is_a_logarithmic_grid_and_bad_grids_get_a_sentence():
    X, y = make(100)
    assert np.allclose(logistic_path(X, y, 5).Cs, np.logspace(-4, 4, 5))
    for bad in ([], [0.0, 1.0], [np.inf]):
        with pytest.raises(ParameterError, match="'Cs' must be"):
            logistic_path(X, y, bad)


def test_warm_starts_save_steps():
    X, y = make(2000, 8, 3)
    grid = np.logspace(-1, 1, 8)
    path = logistic_path(X, y, grid)
    alone = [LogisticRegression(C=C).fit(X, y).n_iter_ for C in grid]
    assert path.n_iter.sum() < sum(alone)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scoring", ["neg_log_loss", "accuracy"])
def test_scores_and_choice_are_those_of_scikit_learn_on_the_same_folds(classes, scoring):
    X, y = make(300, classes=classes)
    grid = [0.001, 0.01, 0.1, 1.0, 10.0]
    folds = list(StratifiedKFold(4).split(X, y))
    ours = LogisticCV(Cs=grid, cv=folds, scoring=scoring).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = PeerCV(Cs=grid, cv=folds, scoring=scoring, tol=1e-10, max_iter=10_000).fit(X, y)
    scores = theirs.scores_
    scores = next(iter(scores.values())) if isinstance(scores, dict) else scores
    np.testing.assert_allclose(ours.scores_[:, 0], np.reshape(scores, (4, -1)), atol=1e-6)
    assert float(np.ravel(theirs.C_)[0]) == ours.C_
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


def test_refit_is_the_fit_to_all_rows():
    X, y = make(300)
    model = LogisticCV(Cs=4, cv=3).fit(X, y)
    alone = LogisticRegression(C=model.C_).fit(X, y)
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    averaged = LogisticCV(Cs=4, cv=3, refit=False).fit(X, y)
    assert averaged.C_ == model.C_ and 0 < np.abs(averaged.coef_ - model.coef_).max() < 0.5


def test_elastic_net_chooses_its_share_too():
    X, y = make(200, 6)
    model = LogisticCV(penalty="elasticnet", l1_ratios=[0.1, 0.9], Cs=[0.05, 0.5], cv=3).fit(X, y)
    assert model.scores_.shape == (3, 2, 2) and model.l1_ratio_ in (0.1, 0.9)
    share, best = np.unravel_index(model.scores_.mean(axis=0).argmax(), (2, 2))
    assert (model.l1_ratio_, model.C_) == ([0.1, 0.9][share], [0.05, 0.5][best])
    with pytest.raises(ParameterError, match="'l1_ratios' must hold"):
        LogisticCV(penalty="elasticnet", l1_ratios=[2.0]).fit(X, y)


def test_sparse_penalty_finds_the_columns_that_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 30))
    y = (X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=300) > 0).astype(int)
    model = LogisticCV(penalty="l1", cv=4).fit(X, y)
    assert np.argsort(-np.abs(model.coef_[0]))[:2].tolist() in ([0, 1], [1, 0])


def test_a_number_of_folds_means_scikit_learns_and_repeated_rows_count_as_weights():
    X, y = make(150, classes=3)
    one, other = LogisticCV(Cs=4, cv=5).fit(X, y), LogisticCV(Cs=4, cv=StratifiedKFold(5)).fit(X, y)
    np.testing.assert_array_equal(other.scores_, one.scores_)
    weights = np.random.default_rng(2).integers(1, 4, size=150)
    weighted = LogisticCV(Cs=4).fit(X, y, sample_weight=weights)
    repeated = LogisticCV(Cs=4).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, atol=1e-8)


def test_given_folds_count_rows_of_weight_zero():
    X, y = make(120)
    weights = np.ones(120)
    weights[::4] = 0
    folds = list(StratifiedKFold(3).split(X, y))
    ours = LogisticCV(cv=folds, Cs=3).fit(X, y, sample_weight=weights)
    kept = np.flatnonzero(weights)
    place = {int(row): k for k, row in enumerate(kept)}
    smaller = [tuple(np.array([place[r] for r in part.tolist() if r in place]) for part in fold) for fold in folds]
    alone = LogisticCV(cv=smaller, Cs=3).fit(X[kept], y[kept])
    np.testing.assert_allclose(ours.scores_, alone.scores_, atol=1e-9)


def test_scoring_may_be_a_function_and_a_splitter_makes_the_folds():
    X, y = make(150)
    splitter = StratifiedKFold(3)
    named = LogisticCV(Cs=3, cv=splitter, scoring="accuracy").fit(X, y)
    function = LogisticCV(Cs=3, cv=splitter, scoring=make_scorer(accuracy_score)).fit(X, y)
    np.testing.assert_allclose(named.scores_, function.scores_)
    balanced = LogisticCV(Cs=3, cv=splitter, scoring="balanced_accuracy").fit(X, y)
    assert balanced.scores_.shape == (3, 1, 3)
    with pytest.raises(ParameterError, match="'cv' must be an integer >= 2 or a list of"):
        LogisticCV(cv="abc").fit(X, y)


def test_class_of_one_row_stays_in_training_and_a_fold_of_one_class_is_said():
    X, y = make(60)
    y = y.copy()
    y[0] = 7
    assert 7 in LogisticCV(Cs=2).fit(X, y).classes_
    with pytest.raises(DataError, match="one class only"):
        LogisticCV(Cs=2, cv=[(np.flatnonzero(y == 0), np.flatnonzero(y == 1))]).fit(X, y)


@pytest.mark.parametrize(("penalty", "share"), [("l1", 1.0), ("elasticnet", 0.3)])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_absolute_penalties_equal_those_of_saga(penalty, share, classes, fit_intercept):
    X, y = make(300, 6, classes)
    ours = LogisticRegression(penalty=penalty, l1_ratio=share, C=0.1, fit_intercept=fit_intercept, tol=1e-10).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = Peer(
            penalty="elasticnet",
            l1_ratio=share,
            C=0.1,
            fit_intercept=fit_intercept,
            solver="saga",
            tol=1e-10,
            max_iter=100_000,
        ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    assert ((ours.coef_ == 0) == (theirs.coef_ == 0)).all()


@pytest.mark.parametrize("reference", [None, 1])
def test_absolute_penalty_meets_its_optimality_conditions(reference):
    X, y = make(200, 8, 3)
    model = LogisticRegression(penalty="l1", C=0.2, reference_class=reference, trace=True).fit(X, y)
    slope = (model.predict_proba(X) - np.eye(3)[y]).T @ X
    free = [k for k in range(3) if k != reference]
    for k in free:
        zero = model.coef_[k] == 0
        assert (np.abs(slope[k][zero]) <= 5.0 + 1e-4).all()
        np.testing.assert_allclose(slope[k][~zero], -5.0 * np.sign(model.coef_[k][~zero]), atol=1e-4)
    assert reference is None or not model.coef_[reference].any()
    values = [record["values"]["objective"] for record in model.trace_]
    assert all(after <= before for before, after in itertools.pairwise(values))


def test_working_sets_solve_wide_tables():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 1500))
    y = (X[:, :4].sum(axis=1) + rng.normal(size=120) > 0).astype(int)
    model = LogisticRegression(penalty="l1", C=0.3, tol=1e-9).fit(X, y)
    slope = 0.3 * (model.predict_proba(X)[:, 1] - y) @ X
    zero = model.coef_[0] == 0
    assert 1400 < zero.sum() < 1500
    assert (np.abs(slope[zero]) <= 1 + 1e-5).all()
    np.testing.assert_allclose(slope[~zero], -np.sign(model.coef_[0][~zero]), atol=1e-5)


def test_l1_ratio_one_is_l1_and_zero_is_l2():
    X, y = make(200)
    for share, name in ((1.0, "l1"), (0.0, "l2")):
        mixed = LogisticRegression(penalty="elasticnet", l1_ratio=share).fit(X, y)
        np.testing.assert_array_equal(mixed.coef_, LogisticRegression(penalty=name).fit(X, y).coef_)


def test_weights_equal_repetition_under_an_absolute_penalty():
    X, y = make(150, classes=3)
    weights = np.random.default_rng(4).integers(0, 3, size=150)
    weighted = LogisticRegression(penalty="l1", tol=1e-10).fit(X, y, sample_weight=weights)
    repeated = LogisticRegression(penalty="l1", tol=1e-10).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)


def test_shares_are_not_asked_for_twice():
    X, y = make(60, 3, 2)
    for options in ({"penalty": "l1"}, {"l1_ratio": 0.5}):
        with pytest.raises(ParameterError, match="'l1_ratios' must be None where penalty or l1_ratio says the share"):
            LogisticCV(l1_ratios=[0.1, 0.9], cv=3, **options).fit(X, y)


def test_a_penalty_chosen_on_a_sample_is_fitted_to_all_rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1200, 4))
    y = (X @ [1.0, -1.0, 0.5, 0.0] + rng.logistic(size=1200) > 3.5).astype(int)  # a rare class, which the sample keeps
    Cs = [1e-4, 1e-2, 1.0]
    whole, part = LogisticCV(Cs=Cs).fit(X, y), LogisticCV(Cs=Cs, choose_on=300).fit(X, y)
    assert part.C_ == whole.C_ and whole.n_chosen_on_ is None
    np.testing.assert_allclose(part.coef_, whole.coef_, rtol=1e-5)
    assert part.chosen() == {f"C (by {part.n_chosen_on_} drawn rows)": part.C_} and part.n_chosen_on_ >= 300
    np.testing.assert_array_equal(LogisticCV(Cs=Cs, choose_on=300).fit(X, y).scores_, part.scores_)
    assert not np.array_equal(part.scores_, whole.scores_)
    folds = [(np.arange(400, 1200), np.arange(400)), (np.arange(800), np.arange(800, 1200))]
    for model, (train, _) in zip(part.fit_folds(X, y, folds), folds):
        apart = clone(part).fit(X[train], y[train])
        np.testing.assert_allclose(model.scores_, apart.scores_, rtol=1e-6)
        np.testing.assert_allclose(model.coef_, apart.coef_, rtol=1e-5)
