"""Extra trees: random tests, all rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier as Peer

from assay.models.ensembles import ExtraTreesClassifier, ExtraTreesRegressor

from .test_newton_boosting import labels, mixed, numbers


def test_trees_fit_the_training_rows_where_every_value_has_a_bin():
    X, y = numbers(200)
    model = ExtraTreesRegressor(n_estimators=3, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-10)


def test_thresholds_are_spread_between_the_extremes():
    X = np.linspace(0, 1, 250)[:, None]
    model = ExtraTreesRegressor(n_estimators=400, max_depth=1, random_state=0).fit(X, X[:, 0])
    roots = model.forest_.threshold[model.forest_.offsets[:-1]]
    assert np.mean(roots) == pytest.approx(0.5, abs=0.05)
    assert np.std(roots) == pytest.approx(np.sqrt(1 / 12), abs=0.03)


def test_rows_in_any_order_give_the_same_bits():
    X, y = mixed(300)
    shuffled = np.random.default_rng(2).permutation(len(y))
    one = ExtraTreesRegressor(n_estimators=6, random_state=1).fit(X, y)
    two = ExtraTreesRegressor(n_estimators=6, random_state=1, n_jobs=2).fit(X[shuffled], y[shuffled])
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@pytest.mark.parametrize("unit", [5e-324, 1e-310, 4e307])
def test_values_as_near_or_as_far_as_numbers_go_are_parted(unit):
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]] * 10) * unit
    model = ExtraTreesClassifier(n_estimators=50, random_state=0).fit(X, X[:, 0] > 0)
    assert model.score(X, X[:, 0] > 0) == 1.0


def test_as_good_as_the_peer():
    X, y = labels(n=4000, classes=3)
    ours = ExtraTreesClassifier(n_estimators=60, random_state=0).fit(X[:2000], y[:2000])
    peer = Peer(n_estimators=60, random_state=0).fit(X[:2000], y[:2000])
    assert ours.score(X[2000:], y[2000:]) > peer.score(X[2000:], y[2000:]) - 0.012
