"""DBSCAN: scikit-learn's labels, weights, metrics, the k-distance curve, shapes that k-means cannot find."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import DBSCAN as ScikitDBSCAN

from assay.data import generators
from assay.evaluate import adjusted_rand
from assay.models.clustering import DBSCAN, KMeans, k_distances


@pytest.mark.parametrize(("d", "eps"), [(1, 0.02), (2, 0.2), (3, 0.45), (6, 1.4), (12, 3.2)])
@pytest.mark.parametrize("min_samples", [1, 5, 20])
def test_labels_and_core_rows_are_those_of_scikit_learn(d, eps, min_samples):
    X = np.random.default_rng(d).normal(size=(900, d))
    ours = DBSCAN(eps=eps, min_samples=min_samples).fit(X)
    theirs = ScikitDBSCAN(eps=eps, min_samples=min_samples).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_array_equal(ours.core_sample_indices_, theirs.core_sample_indices_)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("share", [0.0005, 0.002, 0.01, 0.1])
def test_many_columns_where_boxes_rule_out_little(share, whole):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1100, 16)) + 1.5 * rng.normal(size=(5, 16))[rng.integers(5, size=1100)]
    if whole:  # distances equal to eps
        X = np.round(X)
    apart = cdist(X, X)
    eps = float(np.quantile(apart[apart > 0], share, method="higher"))
    theirs = ScikitDBSCAN(eps=eps, metric="precomputed").fit(apart)
    weighted = DBSCAN(eps=eps).fit(X, sample_weight=np.full(1100, 2.0))  # on boxes alone
    doubled = ScikitDBSCAN(eps=eps, metric="precomputed").fit(apart, sample_weight=np.full(1100, 2.0))
    np.testing.assert_array_equal(weighted.labels_, doubled.labels_)
    for n_jobs in (1, 3):
        ours = DBSCAN(eps=eps, n_jobs=n_jobs).fit(X)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_array_equal(ours.core_sample_indices_, theirs.core_sample_indices_)
    assert len(theirs.core_sample_indices_) > 0


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev"])
def test_other_metrics(metric):
    X = np.random.default_rng(0).normal(size=(800, 3))
    theirs = ScikitDBSCAN(eps=0.5, metric=metric).fit(X)
    np.testing.assert_array_equal(DBSCAN(eps=0.5, metric=metric).fit(X).labels_, theirs.labels_)


def test_distances_equal_to_eps_count_and_duplicates_are_neighbours():
    X = np.repeat(np.arange(6.0), 3)[:, None]
    for eps in (1.0, 0.5):
        theirs = ScikitDBSCAN(eps=eps, min_samples=4).fit(X)
        np.testing.assert_array_equal(DBSCAN(eps=eps, min_samples=4).fit(X).labels_, theirs.labels_)


def test_weights_make_rows_core():
    X = np.random.default_rng(1).normal(size=(400, 2))
    weights = np.random.default_rng(2).uniform(0, 3, size=400)
    theirs = ScikitDBSCAN(eps=0.25, min_samples=6).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(DBSCAN(eps=0.25, min_samples=6).fit(X, sample_weight=weights).labels_, theirs.labels_)


@pytest.mark.parametrize("shape", ["moons", "circles"])
def test_shapes_where_k_means_fails(shape):
    table = getattr(generators, shape)(400, noise=0.04, random_state=0)
    X, owner = table.frame[:, :2].to_numpy(), table.frame[:, 2].to_numpy()
    assert adjusted_rand(owner, DBSCAN(eps=0.2).fit(X).labels_) > 0.95
    assert adjusted_rand(owner, KMeans(2, random_state=0).fit(X).labels_) < 0.6


def test_the_radius_is_read_off_the_k_distance_curve():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 0.2, (150, 2)), rng.normal(4, 0.2, (150, 2)), rng.uniform(-3, 7, (12, 2))])
    model = DBSCAN(eps="auto", min_samples=5).fit(X)
    assert model.chosen() == {"eps": model.eps_} and not DBSCAN().fit(X).chosen()
    assert model.labels_.max() == 1 and (model.labels_[:300] >= 0).mean() > 0.9 and (model.labels_[300:] < 0).any()
    curve = k_distances(X, 5)
    assert curve.eps == model.eps_ and (np.diff(curve.distances) <= 0).all()
    assert "eps" in curve.chart().to_svg() and "turns up at eps" in str(curve)
