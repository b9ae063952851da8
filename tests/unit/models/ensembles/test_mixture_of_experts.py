"""Mixtures of experts: EM climbs, pieces are found, one expert is the linear model."""

from __future__ import annotations

import numpy as np
import pytest

from assay.base.errors import DataError
from assay.models.ensembles import MixtureOfExpertsClassifier, MixtureOfExpertsRegressor
from assay.models.linear import LeastSquares, LogisticRegression

from .test_newton_boosting import labels, numbers


@pytest.mark.parametrize("seed", range(3))
def test_the_likelihood_never_falls(seed):
    X, y = labels(n=200, classes=3)
    classes = MixtureOfExpertsClassifier(n_experts=3, tol=0, max_iter=25, random_state=seed, trace=True).fit(X, y)
    X, y = numbers(200)
    values = MixtureOfExpertsRegressor(n_experts=3, tol=0, max_iter=40, random_state=seed, trace=True).fit(X, y)
    for model in (classes, values):
        assert len(model.log_likelihood_) > 20
        for restart in range(2):
            steps = [r["values"]["log_likelihood"] for r in model.trace_ if r["values"]["restart"] == restart]
            assert (np.diff(steps) >= -1e-9 * np.abs(steps[-1])).all()


def test_a_piecewise_linear_truth_is_recovered():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (1500, 2))
    left = X[:, 0] < 0.5
    truth = np.where(left, 1 + 2 * X[:, 0] - X[:, 1], 4 - 3 * X[:, 0] + 0.5 * X[:, 1])
    model = MixtureOfExpertsRegressor(n_init=4, random_state=0).fit(X, truth + 0.1 * rng.normal(size=1500))
    order = np.argsort(model.coef_[:, 0])
    np.testing.assert_allclose(model.coef_[order], [[-3, 0.5], [2, -1]], atol=0.06)
    np.testing.assert_allclose(model.intercept_[order], [4, 1], atol=0.08)
    np.testing.assert_allclose(model.sigma_, 0.1, atol=0.02)
    gate = model.gate(X)[:, order[1]]
    assert np.mean((gate > 0.5) == left) > 0.98
    far = np.abs(X[:, 0] - 0.5) > 0.2  # the truth jumps at 0.5, where a gate hands over smoothly
    assert np.sqrt(np.mean((model.predict(X) - truth)[far] ** 2)) < 0.05
    assert 0.08 < np.median(model.predict_deviation(X)) < 0.13


def test_one_expert_is_least_squares_and_logistic_regression():
    X, y = numbers(300)
    one = MixtureOfExpertsRegressor(n_experts=1, alpha=1e-9, random_state=0).fit(X, y)
    line = LeastSquares().fit(X, y)
    np.testing.assert_allclose(one.coef_[0], line.coef_, atol=1e-6)
    np.testing.assert_allclose(one.predict(X), line.predict(X), atol=1e-6)
    X, y = labels(n=300, classes=3)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    one = MixtureOfExpertsClassifier(n_experts=1, alpha=1.0, tol=1e-12, random_state=0).fit(X, y)
    peer = LogisticRegression(C=1.0).fit(Z, y)
    np.testing.assert_allclose(one.predict_proba(X), peer.predict_proba(Z), atol=1e-6)


def test_borders_bend_where_one_linear_model_cannot():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (900, 2))
    y = np.where(X[:, 1] > np.abs(X[:, 0]) - 0.3, "above", "below")
    model = MixtureOfExpertsClassifier(random_state=0).fit(X[:600], y[:600])
    line = LogisticRegression().fit(X[:600], y[:600])
    assert model.score(X[600:], y[600:]) > max(0.95, line.score(X[600:], y[600:]) + 0.02)
    np.testing.assert_allclose(model.gate(X).sum(axis=1), 1.0)


def test_coefficients_in_units_give_the_predictions():
    X, y = labels(n=200, classes=3)
    X = X * [1000.0] + 500
    model = MixtureOfExpertsClassifier(random_state=0).fit(X, y)
    gate = np.exp(X @ model.gate_coef_.T + model.gate_intercept_)
    gate /= gate.sum(axis=1, keepdims=True)
    scores = np.exp(np.einsum("kcd,nd->knc", model.coef_, X) + model.intercept_[:, None])
    scores /= scores.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(np.einsum("nk,knc->nc", gate, scores), model.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("cls", [MixtureOfExpertsClassifier, MixtureOfExpertsRegressor])
def test_more_experts_than_rows_are_refused(cls):
    with pytest.raises(DataError, match="must have at least n_experts=50 rows with weight"):
        cls(n_experts=50).fit(np.arange(40.0)[:, None], np.arange(40) % 2)


def test_targets_without_squares_are_refused():
    with pytest.raises(DataError, match="float64"):
        MixtureOfExpertsRegressor().fit(np.arange(40.0)[:, None], np.where(np.arange(40) % 2, 1.7e308, -1.7e308))
