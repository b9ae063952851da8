"""Support vector regression: libsvm, optimality, the tube, units, errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.svm import SVR

from assay.models.kernel_machines import SVMRegressor, kernel_choice, support_vectors


def waves(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=n)


def objective(model, X, y, C):
    """The primal objective."""
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_
    gram = model._kernel()(X)
    excess = np.maximum(0.0, np.abs(y - gram @ beta - model.intercept_) - model.epsilon)
    return 0.5 * beta @ gram @ beta + C * excess.sum()


@pytest.mark.parametrize("kernel", ["gaussian", "linear", "polynomial"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_predictions_and_objective_are_those_of_libsvm(kernel, epsilon):
    X, y = waves()
    C = 3.0
    other = {
        "gaussian": {"kernel": "rbf"},
        "linear": {"kernel": "linear"},
        "polynomial": {"kernel": "poly", "coef0": 1},
    }
    peer = SVR(C=C, epsilon=epsilon, tol=1e-6, **other[kernel]).fit(X, y)
    model = SVMRegressor(kernel=kernel, C=C, epsilon=epsilon).fit(X, y)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), atol=5e-4)
    primal = objective(model, X, y, C)
    assert 0.0 <= primal - model.objective_ <= 1e-7 * primal


def test_the_conditions_of_optimality_hold():
    X, y = waves()
    C = 2.0
    model = SVMRegressor(C=C, epsilon=0.2).fit(X, y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_
    gap = y - model.predict(X)
    assert abs(beta.sum()) < 1e-10 and (np.abs(beta) <= C).all()
    assert (np.abs(gap[beta == 0]) <= 0.2 + 1e-7).all()
    assert (np.sign(beta) * gap >= 0.2 - 1e-7)[beta != 0].all()
    inside = (beta != 0) & (np.abs(beta) < C)
    np.testing.assert_allclose(np.abs(gap[inside]), 0.2, atol=1e-7)


def test_float32_rows_have_the_same_objective(monkeypatch):
    X, y = waves(400)
    exact = SVMRegressor(C=5.0, tol=1e-6).fit(X, y)
    monkeypatch.setattr(kernel_choice, "SMALL", 0)
    single = SVMRegressor(C=5.0, tol=1e-6).fit(X, y)
    assert single.objective_ == pytest.approx(exact.objective_, rel=1e-6)
    np.testing.assert_allclose(single.predict(X), exact.predict(X), atol=1e-3)


def test_units_of_the_target_do_not_change_how_well_it_is_solved():
    X, y = waves()
    model = SVMRegressor(C=1.0, epsilon=0.1).fit(X, y)
    large = SVMRegressor(C=1e9, epsilon=1e8).fit(X, 1e9 * y + 1e12)
    np.testing.assert_allclose((large.predict(X) - 1e12) / 1e9, model.predict(X), atol=1e-6)


def test_a_tube_that_holds_all_rows_needs_no_support_vector():
    X, y = waves(30)
    model = SVMRegressor(epsilon=100.0).fit(X, y)
    assert model.support_.size == 0
    assert np.abs(model.predict(X) - y).max() <= 100.0


def test_weights_and_a_given_matrix():
    X, y = waves(80)
    weights = np.random.default_rng(1).random(80) * (np.arange(80) % 4 > 0)
    model = SVMRegressor(gamma=0.3).fit(X, y, weights)
    peer = SVR(gamma=0.3, tol=1e-6).fit(X, y, weights)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), atol=1e-4)
    gram = model._kernel()(X)
    given = SVMRegressor(kernel="precomputed").fit(gram, y, weights)
    np.testing.assert_allclose(given.predict(gram), model.predict(X), atol=1e-7)


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_the_linear_route_ends_where_the_dual_ends(epsilon, monkeypatch):
    X, y = waves(300)
    dual = SVMRegressor(kernel="linear", C=2.0, epsilon=epsilon).fit(X, 50 * y + 1000)
    monkeypatch.setattr(support_vectors, "TINY", 0)
    for rows in (X, csr_matrix(X)):
        primal = SVMRegressor(kernel="linear", C=2.0, epsilon=epsilon, tol=1e-7).fit(rows, 50 * y + 1000)
        assert primal.objective_ == pytest.approx(dual.objective_, rel=1e-7)
        np.testing.assert_allclose(primal.predict(rows), dual.predict(X), atol=1e-3)


def test_as_many_landmarks_as_rows_are_the_kernel_itself():
    X, y = waves(120)
    wanted = SVMRegressor(C=3.0).fit(X, y)
    found = SVMRegressor(C=3.0, n_landmarks=120, random_state=0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(found.predict(X), wanted.predict(X), atol=1e-4)


@pytest.mark.parametrize("small", [0, 2048])
def test_a_list_of_prices_is_searched_as_by_separate_fits(small, monkeypatch):
    monkeypatch.setattr(kernel_choice, "SMALL", small)
    monkeypatch.setattr(support_vectors, "SMALL", small)
    X, y = waves(150)
    folds = [(np.flatnonzero(np.arange(150) % 3 != k), np.flatnonzero(np.arange(150) % 3 == k)) for k in range(3)]
    model = SVMRegressor(C=[0.1, 10.0], cv=folds).fit(X, y)
    fits = [[SVMRegressor(C=C).fit(X[a], y[a]).predict(X[b]) for C in (0.1, 10.0)] for a, b in folds]
    wanted = [[-np.mean((y[b] - said) ** 2) for said in row] for (_, b), row in zip(folds, fits, strict=True)]
    np.testing.assert_allclose(model.scores_, wanted, rtol=1e-2 if small == 0 else 1e-7)
    assert model.C_ == 10.0
