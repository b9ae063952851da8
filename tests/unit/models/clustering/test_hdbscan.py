"""HDBSCAN: scikit-learn's clusters, spanning trees by two routes, noise, probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist
from sklearn.cluster import HDBSCAN as ScikitHDBSCAN

from assay import _kernels
from assay.evaluate import adjusted_rand
from assay.models.clustering import DBSCAN, HDBSCAN


def clusters(d: int = 3, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    parts = [rng.normal(size=(300, d)), rng.normal(size=(200, d)) * 0.3 + 5, rng.uniform(-7, 7, size=(60, d))]
    return np.concatenate(parts)


@pytest.mark.parametrize("d", [1, 2, 5, 8, 12])
def test_spanning_trees_have_the_least_weight(d):
    X = np.random.default_rng(d).normal(size=(400, d))
    core = np.sort(cdist(X, X), axis=1)[:, 5].copy()
    for cores in (None, core):
        weights = cdist(X, X) if cores is None else np.maximum(cdist(X, X), np.maximum(core[:, None], core))
        least = minimum_spanning_tree(weights).sum()
        for boxes in (True, False):
            assert _kernels.spanning_hierarchy(X, cores, 0, 2.0, boxes, 1)[:, 2].sum() == pytest.approx(
                least, rel=1e-12
            )


def test_the_tree_does_not_depend_on_threads():
    X = np.random.default_rng(0).integers(0, 30, size=(6000, 2)).astype(float)
    trees = [_kernels.spanning_hierarchy(X, None, 0, 2.0, True, threads) for threads in (1, 2, 4)]
    np.testing.assert_array_equal(trees[0], trees[1])
    np.testing.assert_array_equal(trees[0], trees[2])


@pytest.mark.parametrize("method", ["eom", "leaf"])
@pytest.mark.parametrize("size", [10, 25, 60])
def test_clusters_are_those_of_scikit_learn_up_to_ties(method, size):
    """Mutual reachability has ties, which every program breaks in its own way: a few rows may differ."""
    X = clusters()
    ours = HDBSCAN(size, cluster_selection_method=method).fit(X)
    theirs = ScikitHDBSCAN(min_cluster_size=size, cluster_selection_method=method, copy=True).fit(X)
    assert ours.labels_.max() == theirs.labels_.max()
    assert adjusted_rand(theirs.labels_, ours.labels_) > 0.98
    both = (ours.labels_ >= 0) & (theirs.labels_ >= 0)
    assert np.corrcoef(ours.probabilities_[both], theirs.probabilities_[both])[0, 1] > 0.95


def test_clusters_of_different_density_are_found_where_one_radius_fails():
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(0, 0.1, (100, 2)), rng.normal(0.7, 0.1, (100, 2)), rng.normal(12, 4.0, (100, 2))])
    owner = np.repeat([0, 1, 2], 100)
    found = HDBSCAN(15).fit(X).labels_
    assert found.max() == 2 and adjusted_rand(owner[found >= 0], found[found >= 0]) > 0.99
    for eps in (0.1, 0.2, 0.4, 0.7, 1.0, 2.0, 3.0):
        labels = DBSCAN(eps=eps).fit(X).labels_
        assert labels.max() != 2 or (labels >= 0).mean() < 0.8


def test_probabilities_and_one_cluster():
    X = np.random.default_rng(0).normal(size=(200, 2))
    single = HDBSCAN(20, allow_single_cluster=True).fit(X)
    assert single.labels_.max() == 0 and single.stabilities_.shape == (1,)
    assert ((single.probabilities_ >= 0) & (single.probabilities_ <= 1)).all()
    assert (single.probabilities_[single.labels_ < 0] == 0).all() and single.probabilities_.max() == 1.0


def test_equal_rows_and_other_metrics():
    X = np.repeat(clusters(2)[:40], 6, axis=0)
    assert np.isfinite(HDBSCAN(5).fit(X).probabilities_).all()
    for metric in ("manhattan", "chebyshev"):
        ours = HDBSCAN(20, metric=metric).fit(clusters())
        theirs = ScikitHDBSCAN(min_cluster_size=20, metric=metric, copy=True).fit(clusters())
        assert adjusted_rand(theirs.labels_, ours.labels_) > 0.98


@pytest.mark.parametrize("method", ["eom", "leaf"])
@pytest.mark.parametrize("seed", range(6))
def test_equal_distances_give_one_answer_for_any_order_of_the_rows_and_any_tree(method, seed):
    rng = np.random.default_rng(seed)
    X, order = rng.integers(0, 12, size=(80, 2)).astype(float), rng.permutation(80)
    settings = {"min_cluster_size": 4, "cluster_selection_method": method}
    one, other = HDBSCAN(**settings).fit(X), HDBSCAN(**settings).fit(X[order])
    assert adjusted_rand(one.labels_[order], other.labels_) == 1.0
    np.testing.assert_array_equal(one.labels_[order] < 0, other.labels_ < 0)
    np.testing.assert_allclose(one.probabilities_[order], other.probabilities_, rtol=1e-12)
    np.testing.assert_allclose(np.sort(one.stabilities_), np.sort(other.stabilities_), rtol=1e-9)
    core = np.sort(cdist(X, X), axis=1)[:, 3].copy()
    by_rows = _kernels.spanning_hierarchy(X, core, 0, 2.0, False, 1)
    labels, probabilities, _ = _kernels.hdbscan_labels(by_rows, 4, method == "leaf", False)
    np.testing.assert_array_equal(labels, one.labels_)
    np.testing.assert_allclose(probabilities, one.probabilities_, rtol=1e-12)
    assert (one.stabilities_ > 0).all()


def test_merges_of_one_distance_are_one_split():
    """Three pairs at distance 1 within and 3 between: three clusters at once, none of which lasts no time."""
    X = np.array([[0.0], [1.0], [4.0], [5.0], [8.0], [9.0]])
    model = HDBSCAN(min_cluster_size=2, min_samples=2).fit(X)
    assert model.labels_.tolist() == [0, 0, 1, 1, 2, 2]
    np.testing.assert_allclose(model.stabilities_, 2 * (1 - 1 / 3))
    ties = [[1, 0], [1, 2], [2, 2], [4, 6], [6, 3], [6, 5], [4, 2], [3, 4], [0, 3], [2, 6]]
    assert (HDBSCAN(min_cluster_size=3, min_samples=3).fit(ties).stabilities_ > 0).all()
