"""Every claim of every clustering: labels, their number, row order, weights, scale; and faults that are caught."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import is_clusterer

from assay.evaluate import adjusted_rand

from .small_methods import SmallKMeans, entry_of
from .tables import claiming, named, quick

every_clustering = pytest.mark.parametrize(**named([e for e in claiming("cluster") if "numeric" in e.native]))


def blobs(seed: int = 0, each: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Three clusters far apart for their width, in two columns, with their numbers."""
    rng = np.random.default_rng(seed)
    owner = rng.permutation(np.repeat(np.arange(3), each))
    centres = np.array([[0.0, 0.0], [6.0, 0.1], [0.1, 6.0]])
    return centres[owner] + 0.25 * rng.normal(size=(3 * each, 2)), owner


def clustering(entry, k: int = 3):
    """An instance that looks for k clusters, where it can be told how many."""
    declared = entry.load().__parameters__
    return quick(entry, **{name: k for name in ("n_clusters", "n_components") if name in declared})


def same_partition(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two labellings put the same rows together; noise must be noise in both."""
    return bool(adjusted_rand(a, b) > 1 - 1e-12) and np.array_equal(a < 0, b < 0)


@every_clustering
def test_labels_are_whole_numbers_from_zero_one_for_each_row(entry):
    X, _ = blobs()
    model = clustering(entry)
    assert is_clusterer(model)
    labels = model.fit_predict(X)
    assert labels.shape == (len(X),) and labels.dtype.kind == "i"
    np.testing.assert_array_equal(labels, model.labels_)
    found = np.unique(labels)
    np.testing.assert_array_equal(found[found >= 0], np.arange((found >= 0).sum()))
    assert found.min() >= -1


@every_clustering
def test_clusters_that_lie_far_apart_are_found(entry):
    X, owner = blobs()
    labels = clustering(entry).fit(X).labels_
    assert adjusted_rand(labels[labels >= 0], owner[labels >= 0]) > 1 - 1e-12
    assert (labels >= 0).mean() > 0.9


@every_clustering
def test_the_number_of_clusters_is_respected(entry):
    if not {"n_clusters", "n_components"} & set(entry.load().__parameters__):
        pytest.skip("finds the number itself")
    X = np.random.default_rng(1).normal(size=(80, 3))
    for k in (1, 2, 5):
        labels = clustering(entry, k).fit(X).labels_
        assert labels.max() < k and len(np.unique(labels)) == k


@every_clustering
def test_the_order_of_rows_does_not_matter(entry):
    X, _ = blobs(seed=2)
    order = np.random.default_rng(3).permutation(len(X))
    assert same_partition(clustering(entry).fit(X[order]).labels_, clustering(entry).fit(X).labels_[order])


@every_clustering
def test_new_rows_go_where_training_rows_like_them_went(entry):
    X, _ = blobs()
    model = clustering(entry).fit(X)
    if hasattr(model, "predict"):
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        near = model.predict(X + 1e-9)
        np.testing.assert_array_equal(near, model.labels_)


@every_clustering
def test_weights_equal_repetition_if_claimed(entry):
    if not entry.weights:
        pytest.skip("takes no weights")
    X, _ = blobs(seed=4)
    weights = np.random.default_rng(5).integers(1, 4, size=len(X))
    owner = np.repeat(np.arange(len(X)), weights)
    weighted = clustering(entry).fit(X, sample_weight=weights)
    repeated = clustering(entry).fit(X[owner])
    assert same_partition(weighted.labels_[owner], repeated.labels_)
    if hasattr(weighted, "cluster_centers_"):
        order = [np.lexsort(model.cluster_centers_.T) for model in (weighted, repeated)]
        np.testing.assert_allclose(
            weighted.cluster_centers_[order[0]], repeated.cluster_centers_[order[1]], rtol=1e-7, atol=1e-9
        )


@every_clustering
def test_scale_of_a_column_matters_exactly_if_claimed(entry):
    X, owner = blobs(seed=6)
    # Without its second column two of the clusters lie on each other.
    labels = clustering(entry).fit(X * np.array([1.0, 1e-5])).labels_
    assert same_partition(labels, owner) != entry.scales


class LabelsFromOne(SmallKMeans):
    """Counts clusters from 1."""

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.labels_ = self.labels_ + 1
        return self


class FirstRowsFirst(SmallKMeans):
    """Puts the first third of the rows together."""

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.labels_ = np.arange(len(X)) * 3 // len(X)
        return self


class DeafToWeights(SmallKMeans):
    """Takes weights and forgets them."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X, y, None)


class OneTooMany(SmallKMeans):
    """Makes a cluster more than it was asked for."""

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.labels_[0] = self.n_clusters
        return self


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        (LabelsFromOne, test_labels_are_whole_numbers_from_zero_one_for_each_row),
        (LabelsFromOne, test_new_rows_go_where_training_rows_like_them_went),
        (FirstRowsFirst, test_clusters_that_lie_far_apart_are_found),
        (FirstRowsFirst, test_the_order_of_rows_does_not_matter),
        (OneTooMany, test_the_number_of_clusters_is_respected),
        (DeafToWeights, test_weights_equal_repetition_if_claimed),
    ],
)
def test_a_planted_fault_is_caught(fault, check):
    with pytest.raises(AssertionError):
        check(entry_of(fault, "cluster", weights=True, scales=True))


def test_a_false_claim_about_scale_is_caught():
    with pytest.raises(AssertionError):
        test_scale_of_a_column_matters_exactly_if_claimed(entry_of(SmallKMeans, "cluster", scales=False))
