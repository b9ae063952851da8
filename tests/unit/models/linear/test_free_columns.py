"""Columns without a penalty: exact, by either route, in single fits, paths and cross-validation.

Reference: least squares on the free columns' residuals by NumPy, and scikit-learn's Lasso on residualised columns.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import linear_model as reference

from assay.base import ParameterError
from assay.models.linear import GLM, ElasticNet, Lasso, LassoCV, LeastSquares, LogisticRegression, enet_path
from assay.models.linear import elastic_net_solver as solver


@pytest.fixture(params=["moments", "columns"])
def route(request, monkeypatch):
    if request.param == "columns":
        monkeypatch.setattr(solver, "ALWAYS_MOMENTS", 0)
        monkeypatch.setattr(solver, "MOST_MOMENTS", 0)
    return request.param


def table(n=60, p=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + rng.normal(size=(n, 1)) + 3
    return X, X[:, :3] @ [1.0, -2.0, 0.5] + 0.5 * rng.normal(size=n) + 4, rng.integers(1, 4, size=n).astype(float)


FREE = np.array([0.0, 1, 1, 0.0, 1, 2, 1, 1])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_optimality_holds_with_free_columns(route, intercept, l1_ratio, weighted):
    X, y, weights = table()
    if not weighted:
        weights = np.ones(60)
    model = ElasticNet(alpha=0.3, l1_ratio=l1_ratio, penalty_weights=FREE, fit_intercept=intercept)
    model.fit(X, y, weights if weighted else None)
    residual = y - model.predict(X)
    slope = X.T @ (weights * residual) / weights.sum() - 0.3 * (1 - l1_ratio) * FREE * model.coef_
    np.testing.assert_allclose(slope[FREE == 0], 0, atol=1e-9)
    active = model.coef_ != 0
    np.testing.assert_allclose(slope[active], (0.3 * l1_ratio * FREE * np.sign(model.coef_))[active], atol=1e-8)
    assert (np.abs(slope) <= 0.3 * l1_ratio * FREE + 1e-8).all()
    if intercept:
        assert abs(weights @ residual) < 1e-8
    np.testing.assert_array_equal(model.penalty_weights_, FREE)


def test_it_is_the_lasso_of_scikit_learn_on_what_the_free_columns_leave(route):
    X, y, _ = table()
    free = FREE == 0
    design = np.column_stack([np.ones(60), X[:, free]])
    rest, left = (Z - design @ np.linalg.lstsq(design, Z, rcond=None)[0] for Z in (X[:, FREE == 1], y))
    theirs = reference.Lasso(alpha=0.1, fit_intercept=False, tol=1e-14, max_iter=100_000).fit(rest, left)
    ours = Lasso(alpha=0.1, penalty_weights=np.where(FREE == 2, np.inf, FREE)).fit(X, y)
    np.testing.assert_allclose(ours.coef_[FREE == 1], theirs.coef_, atol=1e-9)


def test_the_path_starts_at_least_squares_on_the_free_columns(route):
    X, y, _ = table()
    path = enet_path(X, y, l1_ratio=1.0, alphas=20, penalty_weights=FREE, tol=1e-9)
    alone = LeastSquares().fit(X[:, FREE == 0], y)
    np.testing.assert_allclose(path.coef[0][FREE == 0], alone.coef_, rtol=1e-8)
    np.testing.assert_allclose(path.intercept[0], alone.intercept_, rtol=1e-8)
    # The first penalty is the largest gradient, to rounding.
    np.testing.assert_allclose(path.coef[0][FREE > 0], 0, atol=1e-12)
    assert np.abs(path.coef[1][FREE > 0]).max() > 1e-3


def test_no_penalty_at_all_is_least_squares(route):
    X, y, _ = table()
    for model in (Lasso(alpha=5.0, penalty_weights=np.zeros(8)), ElasticNet(alpha=5.0, penalty_weights=np.zeros(8))):
        np.testing.assert_allclose(model.fit(X, y).coef_, LeastSquares().fit(X, y).coef_, rtol=1e-8)
    np.testing.assert_allclose(
        Lasso(alpha=0.0, penalty_weights=FREE).fit(X, y).coef_, LeastSquares().fit(X, y).coef_, rtol=1e-8
    )


def test_dependent_and_constant_free_columns_are_no_obstacle(route):
    X, y, _ = table()
    X[:, 3], X[:, 4], X[:, 7] = 7.0, 2 * X[:, 0] - 1, X[:, 0]
    factors = np.array([0.0, 1, 1, 0, 1, 1, 1, 0])
    model = Lasso(alpha=0.1, penalty_weights=factors).fit(X, y)
    assert np.isfinite(model.coef_).all() and model.coef_[3] == model.coef_[4] == 0
    one = Lasso(alpha=0.1, penalty_weights=[0, 1, 1, np.inf, np.inf, 1, 1, np.inf]).fit(X, y)
    np.testing.assert_allclose(model.predict(X), one.predict(X), atol=1e-8)


def test_cross_validation_scores_what_separate_fits_score(route):
    X, y, _ = table()
    model = LassoCV(penalty_weights=FREE, alphas=8, cv=3, tol=1e-10).fit(X, y)
    folds = np.array_split(np.arange(60), 3)
    for k, alpha in ((0, model.alphas_[2]), (2, model.alphas_[5])):
        train = np.setdiff1d(np.arange(60), folds[k])
        alone = Lasso(alpha=alpha, penalty_weights=FREE, tol=1e-10).fit(X[train], y[train])
        error = ((y[folds[k]] - alone.predict(X[folds[k]])) ** 2).mean()
        assert model.mse_path_[list(model.alphas_).index(alpha), k] == pytest.approx(error, rel=1e-5)
    final = Lasso(alpha=model.alpha_, penalty_weights=FREE, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.coef_, final.coef_, atol=1e-7)


def test_shared_folds_equal_separate_fits(route):
    X, y, weights = table()
    folds = [(np.arange(20, 60), np.arange(20)), (np.arange(40), np.arange(40, 60))]
    for model in (Lasso(alpha=0.1, penalty_weights=FREE), LassoCV(penalty_weights=FREE, alphas=5, cv=2, tol=1e-9)):
        for (train, _), shared in zip(folds, model.fit_folds(X, y, folds, weights), strict=True):
            separate = type(model)(**model.get_params()).fit(X[train], y[train], weights[train])
            np.testing.assert_allclose(shared.coef_, separate.coef_, atol=1e-7)


def test_free_columns_cannot_be_positive():
    X, y, _ = table()
    with pytest.raises(ParameterError, match="'penalty_weights' must be > 0 with positive=True"):
        Lasso(penalty_weights=FREE, positive=True).fit(X, y)


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
def test_glm_leaves_columns_of_weight_zero_free(l1_ratio):
    X, y, _ = table()
    counts = np.random.default_rng(1).poisson(np.exp(0.3 * (X[:, 0] - X[:, 1])))
    model = GLM(family="poisson", alpha=0.2, l1_ratio=l1_ratio, penalty_weights=FREE, tol=1e-10).fit(X, counts)
    slope = X.T @ (counts - model.predict(X)) / 60 - 0.2 * (1 - l1_ratio) * FREE * model.coef_
    np.testing.assert_allclose(slope[FREE == 0], 0, atol=1e-7)
    assert (np.abs(slope) <= 0.2 * l1_ratio * FREE + 1e-7).all()
    net = ElasticNet(alpha=0.2, l1_ratio=l1_ratio, penalty_weights=FREE).fit(X, y)
    gaussian = GLM(alpha=0.2, l1_ratio=l1_ratio, penalty_weights=FREE, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(gaussian.coef_, net.coef_, atol=1e-6)
    free = GLM(family="bernoulli", alpha=0.2, penalty_weights=np.zeros(8)).fit(X, (y > np.median(y)).astype(float))
    plain = LogisticRegression(penalty=None).fit(X, y > np.median(y))
    np.testing.assert_allclose(free.coef_, plain.coef_[0], rtol=1e-4)


def test_a_free_nominal_column_of_a_glm_has_a_reference_level():
    rng = np.random.default_rng(2)
    levels, x = rng.integers(0, 3, size=90), rng.normal(size=90)
    y = np.array([0.0, 1.0, 3.0])[levels] + 0.2 * x + 0.1 * rng.normal(size=90)
    X = np.column_stack([levels, x])
    model = GLM(alpha=10.0, penalty_weights=[0.0, 1.0], categorical_features=[0]).fit(X, y)
    assert abs(model.coef_[0]) < 0.1 and model.coef_[1] == 0.0
    np.testing.assert_allclose(model.coef_[2:], [1.0, 3.0], atol=0.2)


@pytest.mark.parametrize("bad", [[1.0], [-1.0] * 8, [np.inf] * 8, "wide"])
def test_bad_penalty_weights_of_a_glm_get_one_sentence(bad):
    X, y, _ = table()
    with pytest.raises(ParameterError, match="penalty_weights"):
        GLM(penalty_weights=bad).fit(X, y)
