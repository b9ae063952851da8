"""Stability: what is chosen again and again stands out from what is chosen by chance."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import ExtraTreeRegressor

from assay.base import AssayError
from assay.prepare import ForwardSelector, SelectFilter


def test_signal_is_stable_and_noise_is_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 30))
    y = 3 * X[:, 4] + rng.normal(size=120)
    for selector in (SelectFilter(measure="pearson", k=3), ForwardSelector(n_features_to_select=3)):
        stable = selector.stability(X, y, n_resamples=30)
        assert stable.frequency[4] == 1 and np.delete(stable.frequency, 4).max() < 0.9
        assert stable.agreement < 0.9 and (stable.sizes == 3).all()


def test_the_same_seed_gives_the_same_halves():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 5)), rng.normal(size=60)
    first = SelectFilter(k=2).stability(X, y, n_resamples=5, random_state=3)
    again = SelectFilter(k=2).stability(X, y, n_resamples=5, random_state=3)
    np.testing.assert_array_equal(first.frequency, again.frequency)
    with pytest.raises(AssayError, match="n_resamples"):
        SelectFilter().stability(X, y, n_resamples=1)


def test_the_same_seed_gives_the_same_stability_of_a_selector_whose_model_draws():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 8)), rng.normal(size=40)
    selector = ForwardSelector(estimator=ExtraTreeRegressor(max_depth=2), n_features_to_select=2)
    first, again = (selector.stability(X, y, n_resamples=8, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.frequency, again.frequency)
