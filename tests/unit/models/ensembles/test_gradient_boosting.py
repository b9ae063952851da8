"""First-order boosting against what it must equal or approach."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss

from assay.models.ensembles import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
)

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


@pytest.mark.parametrize("power", [-200, -64, 64, 200])
def test_a_common_factor_of_the_weights_changes_nothing(power):
    X, y = numbers()
    weights = np.random.default_rng(0).uniform(0.5, 1.9, size=len(y))
    one = GradientBoostingRegressor(n_estimators=10).fit(X, y, sample_weight=weights)
    far = GradientBoostingRegressor(n_estimators=10).fit(X, y, sample_weight=np.ldexp(weights, power))
    np.testing.assert_array_equal(far.predict(X), one.predict(X))
    assert one.predict(X).std() > 0.1


def test_equal_weights_beyond_all_rows_are_weights_and_penalties_are_in_their_unit():
    X, y = numbers()
    free = NewtonBoostingRegressor(n_estimators=10, l2_regularization=0.0, min_child_weight=0.0).fit(X, y)
    heavy = NewtonBoostingRegressor(n_estimators=10).fit(X, y, sample_weight=np.full(len(y), 2.0**64))
    np.testing.assert_allclose(heavy.predict(X), free.predict(X), rtol=1e-12)
    light = NewtonBoostingRegressor(n_estimators=10).fit(X, y, sample_weight=np.full(len(y), 2.0**-64))
    np.testing.assert_allclose(light.predict(X), y.mean(), atol=1e-9)


def test_targets_at_the_end_of_the_range_do_not_hang():
    X, y = numbers()
    model = GradientBoostingRegressor(n_estimators=2).fit(X, 1e-300 * y, sample_weight=np.full(len(y), 1e-308))
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("method", [GradientBoostingClassifier, NewtonBoostingClassifier])
def test_few_rows_of_a_rare_class_do_no_harm(method):
    # Three rows of 150: two folds hold out none, gain by every round, and must not decide alone. Where they did, losses
    # of first-order steps were three to eight times that of the share of the class.
    ratios = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, odds = rng.normal(size=(1650, 8)), rng.random(1650)
        y = (odds < np.where(X[:, 0] > 0, 0.035, 0.005)).astype(int)
        y[:150] = 0
        y[:3], X[:3, 0] = 1, np.abs(X[:3, 0])
        said = method(random_state=0).fit(X[:150], y[:150]).predict_proba(X[150:])
        ratios.append(log_loss(y[150:], said) / log_loss(y[150:], np.full(1500, 0.02)))
    assert max(ratios) < 1.5
    assert np.mean(ratios) < 1.25


def test_pure_noise_is_hardly_fitted():
    ratios = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(1150, 8)), rng.normal(size=1150)
        said = NewtonBoostingRegressor(random_state=0).fit(X[:150], y[:150]).predict(X[150:])
        ratios.append(((said - y[150:]) ** 2).mean() / ((y[:150].mean() - y[150:]) ** 2).mean())
    assert np.mean(ratios) < 1.04
