"""Support vector regression: libsvm, optimality, the tube, units, errors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVR

from assay.models.kernel_machines import SVMRegressor, kernel_choice


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
    exact = SVMRegressor(C=5.0).fit(X, y)
    monkeypatch.setattr(kernel_choice, "SMALL", 0)
    single = SVMRegressor(C=5.0, tol=1e-4).fit(X, y)
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
