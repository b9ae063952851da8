"""First-order boosting against what it must equal or approach."""

from __future__ import annotations

import numpy as np
import pytest

from assay.models.ensembles import GradientBoostingClassifier, GradientBoostingRegressor, NewtonBoostingRegressor

from .test_newton_boosting import labels, numbers


def test_for_squared_error_first_and_second_order_are_one():
    X, y = numbers()
    first = GradientBoostingRegressor(n_estimators=20).fit(X, y)
    second = NewtonBoostingRegressor(n_estimators=20, l2_regularization=0.0, min_child_weight=0.0).fit(X, y)
    np.testing.assert_array_equal(first.predict(X), second.predict(X))


def test_leaves_of_absolute_error_are_medians_of_residuals():
    X = np.repeat([[0.0], [1.0]], [30, 40], axis=0)
    y = np.concatenate([np.arange(30.0), 100 + np.arange(40.0)])
    model = GradientBoostingRegressor(loss="absolute_error", n_estimators=1, learning_rate=1.0).fit(X, y)
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), [np.median(y[:30]), np.median(y[30:])])


def test_leaves_of_the_log_loss_are_newton_steps():
    X = np.repeat([[0.0], [1.0]], 100, axis=0)
    y = np.repeat([0, 1, 0, 1], [80, 20, 30, 70])
    model = GradientBoostingClassifier(n_estimators=1, learning_rate=1.0).fit(X, y)
    share = 90 / 200
    base = np.log(share / (1 - share))
    steps = np.array([20 - 100 * share, 70 - 100 * share]) / (100 * share * (1 - share))
    np.testing.assert_allclose(model.decision_function([[0.0], [1.0]]), base + steps, rtol=1e-9)


def test_it_learns_what_a_product_of_columns_says():
    X, y = labels(n=900)
    model = GradientBoostingClassifier(n_estimators=80, learning_rate=0.2).fit(X[:600], y[:600])
    assert model.score(X[600:], y[600:]) > 0.8
    assert model.feature_importances_.sum() == pytest.approx(1.0)
