"""Divisive clustering: both ways to split, the order of splits, DIANA's first splinter by hand."""

from __future__ import annotations

import numpy as np
import pytest

from assay.base import CostError, config
from assay.evaluate import adjusted_rand
from assay.models.clustering import Divisive


@pytest.mark.parametrize("method", ["2-means", "diana"])
def test_clusters_apart_are_found(method):
    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(4), 30)
    X = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 12.0]])[owner] + rng.normal(size=(120, 2))
    model = Divisive(4, method=method, random_state=0).fit(X)
    assert adjusted_rand(owner, model.labels_) == 1.0 and len(model.splits_) == 3
    np.testing.assert_allclose(model.cluster_centers_[0], X[model.labels_ == 0].mean(axis=0))


def test_diana_by_hand():
    """Of 0, 1, 2, 10, 12 the row 12 is farthest from the others on average; 10 follows it, the others stay."""
    X = np.array([[0.0], [1.0], [2.0], [10.0], [12.0]])
    assert Divisive(2, method="diana").fit(X).labels_.tolist() == [0, 0, 0, 1, 1]
    # Widths are now 2 and 2: the first cluster is split, and row 0 leaves (1.5 on average, as row 2; the first wins).
    assert Divisive(3, method="diana").fit(X).splits_ == [0, 0]


def test_the_widest_cluster_is_split_first():
    X = np.concatenate([np.linspace(0, 1, 20), np.linspace(10, 14, 20)])[:, None]
    model = Divisive(3, random_state=0).fit(X)
    assert len(np.unique(model.labels_[:20])) == 1 and len(np.unique(model.labels_[20:])) == 2


def test_equal_rows_are_not_split():
    assert Divisive(3, random_state=0).fit(np.array([[1.0], [1.0], [2.0], [2.0]])).labels_.max() == 1


def test_diana_announces_its_distances():
    with config.use(max_bytes=1e6), pytest.raises(CostError, match="use method='2-means'"):
        Divisive(2, method="diana").fit(np.arange(2000.0)[:, None])
