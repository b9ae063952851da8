"""Discriminants: against closed forms, scikit-learn, each other at the corners, and refits for leave-one-out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.covariance import ledoit_wolf_shrinkage, oas
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.neighbors import NearestCentroid

from assay.base import DataError, ParameterError
from assay.base.folds import FoldTransform, FoldTransforms, predict_folds
from assay.models.bayes import LDA, QDA, RDA, NaiveBayes, NearestMean

X, y = load_wine(return_X_y=True)
SHARED = np.array([[2.0, 0.8, 0.0], [0.8, 1.0, -0.3], [0.0, -0.3, 0.5]])
MEANS = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 0.5]])


def two_classes(n, covariances=(SHARED, SHARED), seed=0):
    rng = np.random.default_rng(seed)
    rows = [rng.multivariate_normal(m, s, size=n) for m, s in zip(MEANS, covariances)]
    return np.vstack(rows), np.repeat([0, 1], n)


def test_lda_reaches_the_bayes_error_of_normal_classes_within_monte_carlo_error():
    train, test = two_classes(20_000), two_classes(20_000, seed=1)
    apart = MEANS[1] - MEANS[0]
    bayes = norm.cdf(-0.5 * np.sqrt(apart @ np.linalg.solve(SHARED, apart)))
    error = np.mean(LDA().fit(*train).predict(test[0]) != test[1])
    assert abs(error - bayes) < 4 * np.sqrt(bayes * (1 - bayes) / 40_000)


def test_qda_probabilities_come_near_the_closed_form_of_known_classes():
    covariances = (SHARED, np.diag([0.5, 3.0, 1.0]))
    rows, labels = two_classes(50_000, covariances)
    test = two_classes(200, covariances, seed=1)[0]
    densities = np.column_stack([multivariate_normal.pdf(test, m, s) for m, s in zip(MEANS, covariances)])
    expected = densities / densities.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(QDA().fit(rows, labels).predict_proba(test), expected, atol=0.02)


def test_the_slope_between_two_classes_is_the_inverse_covariance_times_the_difference_of_means():
    rows, labels = two_classes(300)
    model = LDA().fit(rows, labels)
    means = np.array([rows[labels == k].mean(axis=0) for k in (0, 1)])
    within = sum((labels == k).sum() * np.cov(rows[labels == k].T, ddof=0) for k in (0, 1)) / (600 - 2)
    np.testing.assert_allclose(model.coef_[0], np.linalg.solve(within, means[1] - means[0]), rtol=1e-9)
    odds = np.log(model.predict_proba(rows)[:, 1] / model.predict_proba(rows)[:, 0])
    np.testing.assert_allclose(model.decision_function(rows), odds, rtol=1e-7, atol=1e-9)
    boundary = model.boundary(1, 0)
    np.testing.assert_allclose(boundary.at(rows), odds, rtol=1e-7, atol=1e-8)
    assert not boundary.quadratic.any()


@pytest.mark.parametrize("model", [QDA(), RDA(alpha=0.1, beta=0.3), QDA(covariance="diagonal"), LDA()])
def test_the_boundary_is_where_log_odds_vanish(model):
    model.fit(X, y)
    logs = model.predict_log_proba(X)
    np.testing.assert_allclose(model.boundary(2, 0).at(X), logs[:, 2] - logs[:, 0], rtol=1e-6, atol=1e-6)
    with pytest.raises(ParameterError, match="needs labels of classes_"):
        model.boundary(2, "none")


def test_qda_with_the_same_covariance_in_each_class_equals_lda():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(40, 3))
    rows, labels = np.vstack([base, base + 1.0]), np.repeat([0, 1], 40)
    pair = [cls(unbiased=False).fit(rows, labels).predict_proba(rows) for cls in (QDA, LDA)]
    np.testing.assert_allclose(*pair, rtol=1e-9, atol=1e-12)


def test_lda_and_qda_equal_scikit_learn_with_its_divisor():
    for solver in ("svd", "lsqr", "eigen"):
        peer = LinearDiscriminantAnalysis(solver=solver).fit(X, y)
        np.testing.assert_allclose(LDA(unbiased=False).fit(X, y).predict_proba(X), peer.predict_proba(X), atol=1e-9)
    peer = QuadraticDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(QDA(unbiased=False).fit(X, y).predict_proba(X), peer.predict_proba(X), atol=1e-9)
    peer = QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(X, y)
    ours = QDA(unbiased=False, shrinkage="ledoit-wolf").fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-9)


def test_estimated_shrinkage_equals_scikit_learn_on_standardised_rows():
    rows, labels = X[:100], y[:100]
    means = np.array([rows[labels == k].mean(axis=0) for k in range(2)])
    centred = rows - means[labels]
    standard = centred / centred.std(axis=0)
    assert LDA(shrinkage="ledoit-wolf").fit(rows, labels).shrinkage_[0] == pytest.approx(
        ledoit_wolf_shrinkage(standard, assume_centered=True), rel=1e-10
    )
    assert LDA(shrinkage="oas").fit(rows, labels).shrinkage_[0] == pytest.approx(
        oas(standard, assume_centered=True)[1], rel=1e-10
    )


def test_full_shrinkage_leaves_the_diagonal():
    np.testing.assert_allclose(
        QDA(shrinkage=1.0).fit(X, y).predict_proba(X), QDA(covariance="diagonal").fit(X, y).predict_proba(X), rtol=1e-9
    )
    naive = NaiveBayes(var_smoothing=0.0).fit(X, y)
    diagonal = QDA(covariance="diagonal", unbiased=False).fit(X, y)
    np.testing.assert_allclose(diagonal.predict_proba(X), naive.predict_proba(X), rtol=1e-7, atol=1e-12)
    with pytest.raises(ParameterError, match="must be None with covariance='diagonal'"):
        LDA(covariance="diagonal", shrinkage=0.5).fit(X, y)


def test_shrinkage_helps_where_columns_outnumber_rows():
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 2
    rows = rng.normal(size=(400, 80)) + 0.35 * labels[:, None]
    plain = LDA().fit(rows[:60], labels[:60]).score(rows[60:], labels[60:])
    for shrinkage in ("ledoit-wolf", "oas", 0.5):
        assert LDA(shrinkage=shrinkage).fit(rows[:60], labels[:60]).score(rows[60:], labels[60:]) > plain + 0.05


def test_nearest_mean_agrees_with_scikit_learn():
    np.testing.assert_array_equal(NearestMean().fit(X, y).predict(X), NearestCentroid().fit(X, y).predict(X))


def test_costs_move_the_decision_and_doubt_follows_expected_cost():
    rows, labels = two_classes(500)
    plain, careful = LDA().fit(rows, labels), LDA(costs=[[0, 1], [9, 0]]).fit(rows, labels)
    p = plain.predict_proba(rows)[:, 1]
    np.testing.assert_array_equal(careful.predict(rows), (9 * p >= 1 - p).astype(int))
    _, rejected = plain.predict_with_reject(rows, threshold=0.8)
    np.testing.assert_array_equal(rejected, np.maximum(p, 1 - p) < 0.8)
    decided, rejected = careful.predict_with_reject(rows, reject_cost=0.4)
    np.testing.assert_array_equal(rejected, np.minimum(9 * p, 1 - p) > 0.4)
    np.testing.assert_array_equal(decided, careful.predict(rows))
    with pytest.raises(ParameterError, match="'costs' must be 2 x 2 finite numbers"):
        LDA(costs=[[0, 1]]).fit(rows, labels)
    with pytest.raises(ParameterError, match="or 'reject_cost' must be given"):
        plain.predict_with_reject(rows)


def test_priors_shift_the_log_odds_and_bad_ones_are_refused():
    equal, given = LDA(priors="equal").fit(X, y), LDA(priors=[0.2, 0.3, 0.5]).fit(X, y)
    shift = given.decision_function(X) - equal.decision_function(X)
    np.testing.assert_allclose(shift, np.tile(np.log([0.6, 0.9, 1.5]), (len(y), 1)), atol=1e-8)
    for bad in ([0.5, 0.5], [0.5, 0.6, 0.1], ["a", "b", "c"]):
        with pytest.raises(ParameterError, match="'priors' must be 3 numbers >= 0 that sum to 1"):
            LDA(priors=bad).fit(X, y)


@pytest.mark.parametrize("model", [LDA(), QDA(), NearestMean(), RDA(alpha=0.1, beta=0.3)])
def test_a_huge_offset_changes_nothing(model):
    rows, labels = load_iris(return_X_y=True)
    moved = rows + 2.0**30
    rows = moved - 2.0**30  # the cells as they were rounded; a mean is rounded to 1e-7 there
    np.testing.assert_allclose(
        type(model)(**model.get_params()).fit(moved, labels).predict_proba(moved),
        model.fit(rows, labels).predict_proba(rows),
        rtol=1e-5,
        atol=1e-7,
    )


def test_a_class_of_one_row_and_singular_classes_get_an_answer_and_zero_smoothing_a_sentence():
    rows = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [9.0, 9.5]])
    model = QDA().fit(rows, ["a", "a", "a", "b"])
    assert model.predict(rows).tolist() == ["a", "a", "a", "b"]
    np.testing.assert_allclose(model.covariance_[0], [[1.0, 1.0], [1.0, 1.0]], rtol=1e-3)
    with pytest.raises(DataError, match="covariance of class 'a' must not be singular"):
        QDA(var_smoothing=0.0).fit(rows[[0, 1, 2, 3, 3]] + np.eye(5, 2), ["a", "a", "b", "b", "b"])


def test_log_density_is_that_of_the_mixture_of_classes():
    model = QDA().fit(X, y)
    expected = np.logaddexp.reduce(
        [
            np.log(p) + multivariate_normal.logpdf(X, m, s, allow_singular=True)
            for p, m, s in zip(model.priors_, model.means_, model.covariance_)
        ]
    )
    np.testing.assert_allclose(model.log_density(X), expected, rtol=1e-8)
    assert (model.log_density(X + 100) < model.log_density(X)).all()


@pytest.mark.parametrize("method", [LDA, QDA, NearestMean])
def test_a_class_of_prior_zero_is_never_chosen(method):
    X = np.concatenate([np.random.default_rng(k).normal(3 * k, 1, (20, 2)) for k in range(3)])
    y = np.repeat(["a", "b", "c"], 20)
    model = method(priors=[0.5, 0.5, 0.0]).fit(X, y)
    assert set(model.predict(X)) == {"a", "b"} and np.isfinite(model.decision_function(X)).all()
    np.testing.assert_array_equal(model.predict_proba(X)[:, 2], 0.0)


def test_standardised_folds_of_columns_far_from_zero_keep_their_digits():
    """Class means go through the scaling of a fold as points: scale and constant apart would cancel at 1e9."""
    rng = np.random.default_rng(5)
    y = np.arange(120) % 3
    X = 1e9 + 1e-3 * (rng.normal(size=(120, 3)) + y[:, None])
    folds = [(np.flatnonzero(np.arange(120) % 4 != k), np.flatnonzero(np.arange(120) % 4 == k)) for k in range(4)]

    def scaling(rows):
        return FoldTransform(np.arange(3), np.empty(0, dtype=np.int64), rows.mean(axis=0), 1.0 / rows.std(axis=0))

    transforms = FoldTransforms(tuple(scaling(X[train]) for train, _ in folds), scaling(X))
    for cls in (NearestMean, LDA, QDA):
        said = predict_folds(cls(), X, y, folds, transforms)
        models = cls().fit_folds(X, y, folds, transforms=transforms)
        for (train, test), through, model, probabilities in zip(folds, transforms.folds, models, said, strict=True):
            wanted = cls().fit(through.apply(X, train), y[train]).predict_proba(through.apply(X, test))
            np.testing.assert_allclose(probabilities, wanted, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(model.predict_proba(through.apply(X, test)), wanted, rtol=1e-8, atol=1e-10)
