"""k-medoids: the least sum over all choices of small tables, swaps that help, metrics, the square announced."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from assay.base import CostError, config
from assay.models.clustering import KMedoids


@pytest.mark.parametrize("seed", range(6))
def test_no_single_swap_helps_and_small_tables_are_near_their_best(seed):
    X = np.random.default_rng(seed).normal(size=(14, 2))
    D = cdist(X, X)
    model = KMedoids(3).fit(X)
    total = D[:, model.medoid_indices_].min(axis=1).sum()
    assert model.inertia_ == pytest.approx(total)
    for out in range(3):
        for row in set(range(14)) - set(model.medoid_indices_):
            other = model.medoid_indices_.copy()
            other[out] = row
            assert D[:, other].min(axis=1).sum() >= total - 1e-12
    best = min(D[:, list(some)].min(axis=1).sum() for some in combinations(range(14), 3))
    assert total <= 1.1 * best


def test_the_sum_falls_with_every_swap():
    X = np.random.default_rng(0).normal(size=(150, 3))
    model = KMedoids(8, trace=True).fit(X)
    values = [r["values"]["inertia"] for r in model.trace_]
    assert model.n_iter_ > 0 and (np.diff(values) < 0).all()


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "cosine"])
def test_metrics_and_new_rows(metric):
    X = np.random.default_rng(1).normal(size=(80, 3))
    model = KMedoids(4, metric=metric).fit(X)
    D = cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric))
    np.testing.assert_array_equal(model.labels_, D[:, model.medoid_indices_].argmin(axis=1))
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_weights_move_medoids_and_the_square_is_announced():
    X = np.arange(10.0)[:, None]
    assert KMedoids(1).fit(X, sample_weight=np.r_[np.ones(9), 50.0]).medoid_indices_.tolist() == [9]
    with config.use(max_bytes=1e6), pytest.raises(CostError, match="use k-medians or k-means"):
        KMedoids(2).fit(np.arange(1000.0)[:, None])
