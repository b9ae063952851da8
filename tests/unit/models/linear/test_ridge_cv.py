"""Ridge regression with a chosen penalty.

Reference: scikit-learn's `RidgeCV` (leave-one-out and folds) and leave-one-out by brute force.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import linear_model as reference
from sklearn.model_selection import KFold

from assay.base import ParameterError
from assay.models.linear import Ridge, RidgeCV, loo_path

ALPHAS = np.geomspace(1e-3, 1e3, 13)


def table(n=50, p=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 3
    return X, X @ rng.normal(size=p) + 2 * rng.normal(size=n)


@pytest.mark.parametrize("shape", [(50, 6), (20, 40)])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_leave_one_out_is_that_of_scikit_learn(shape, fit_intercept):
    X, y = table(*shape)
    ours = RidgeCV(alphas=ALPHAS, fit_intercept=fit_intercept).fit(X, y)
    theirs = reference.RidgeCV(alphas=ALPHAS, fit_intercept=fit_intercept, store_cv_results=True).fit(X, y)
    assert ours.alpha_ == theirs.alpha_
    np.testing.assert_allclose(ours.mse_path_, theirs.cv_results_.reshape(len(y), -1).mean(axis=0), rtol=1e-7)
    np.testing.assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-7)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)


def test_weights_leave_one_copy_out():
    X, y = table()
    weights = np.random.default_rng(1).integers(0, 4, size=len(y))
    weighted = RidgeCV(alphas=ALPHAS).fit(X, y, weights)
    rows, target = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    repeated = RidgeCV(alphas=ALPHAS).fit(rows, target)
    np.testing.assert_allclose(weighted.mse_path_, repeated.mse_path_, rtol=1e-9)
    left_out = [
        target[i] - Ridge(alpha=1.0).fit(np.delete(rows, i, 0), np.delete(target, i)).predict(rows[[i]])[0]
        for i in range(len(target))
    ]
    assert weighted.mse_path_[6] == pytest.approx(np.mean(np.square(left_out)), rel=1e-9)


def test_generalised_score_is_that_of_the_path():
    X, y = table()
    weights = np.random.default_rng(2).uniform(0.5, 2, size=len(y))
    model = RidgeCV(alphas=ALPHAS, criterion="gcv").fit(X, y, weights)
    np.testing.assert_allclose(model.mse_path_, loo_path(X, y, ALPHAS, sample_weight=weights).gcv, rtol=1e-9)


@pytest.mark.parametrize("shape", [(50, 6), (20, 40)])
def test_folds_score_like_separate_fits(shape):
    X, y = table(*shape)
    weights = np.random.default_rng(4).integers(0, 3, size=len(y)).astype(float)
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    for given in (np.ones(len(y)), weights):
        model = RidgeCV(alphas=ALPHAS, cv=folds).fit(X, y, given)
        total = 0.0
        for train, test in folds:
            alone = Ridge(alpha=ALPHAS[4]).fit(X[train], y[train], given[train])
            total += given[test] @ (y[test] - alone.predict(X[test])) ** 2
        assert model.mse_path_[4] == pytest.approx(total / given.sum(), rel=1e-8)
    theirs = reference.RidgeCV(alphas=ALPHAS, cv=folds, scoring="neg_mean_squared_error").fit(X, y)
    assert RidgeCV(alphas=ALPHAS, cv=folds).fit(X, y).alpha_ == theirs.alpha_


def test_small_penalties_and_dependent_columns_are_solved_from_the_rows():
    X, y = table()
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.full(50, 3.0)])
    model = RidgeCV(alphas=[1e-9, 1.0], cv=5).fit(X, y)
    assert np.isfinite(model.mse_path_).all() and np.isfinite(model.coef_).all()
    assert model.mse_path_[0] == pytest.approx(RidgeCV(alphas=[1e-9], cv=5).fit(X[:, :6], y).mse_path_[0], rel=1e-4)


def test_a_penalty_must_be_positive():
    X, y = table()
    for bad in ([0.0], [-1.0], [], ["a"]):
        with pytest.raises(ParameterError, match="alphas"):
            RidgeCV(alphas=bad).fit(X, y)


def test_cost_grows_with_penalties():
    few, many = RidgeCV(alphas=[1.0]), RidgeCV(alphas=ALPHAS)
    assert few.estimate_cost(10_000, 10).seconds < many.estimate_cost(10_000, 10).seconds
