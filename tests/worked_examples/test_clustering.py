"""Worked examples of the course on clusters, mixtures and graphs."""

from __future__ import annotations

import numpy as np
import pytest

from assay.evaluate import adjusted_rand, choose_k
from assay.models.clustering import KMeans


@pytest.fixture(scope="module")
def five_blobs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(10)
    centres = np.array([[0.0, 0.0], [6.0, 1.0], [1.0, 7.0], [7.0, 7.0], [3.5, 3.5]])
    owner = np.repeat(np.arange(5), 60)
    return centres[owner] + 0.6 * rng.normal(size=(300, 2)), owner


def test_five_blobs_have_five_clusters_by_distortion_silhouette_and_rand(five_blobs):
    """000 ch. 10."""
    X, owner = five_blobs
    assert choose_k(X, range(1, 10), criteria=["elbow", "silhouette"], random_state=0).best == {
        "elbow": 5,
        "silhouette": 5,
    }
    agreement = [adjusted_rand(owner, KMeans(k, n_init=5, random_state=0).fit(X).labels_) for k in range(2, 9)]
    assert int(np.argmax(agreement)) + 2 == 5 and agreement[3] > 0.95
