"""Worked examples of the course texts for resampling and clusterings."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from assay import _kernels
from assay.evaluate import adjusted_rand, elbow, silhouette, wilson_interval


def test_001_the_bootstrap_leaves_out_368_of_1000():
    counts = _kernels.resample_rows(5000, 1, 0, 40, 1)
    assert (counts == 0).mean() == pytest.approx(0.368, abs=0.002)


def test_000_chapter_10_five_blobs_are_found_by_every_measure():
    rng = np.random.default_rng(1)
    centres = np.array([[0, 0], [8, 0], [0, 8], [8, 8], [4, 16]])
    truth = np.repeat(np.arange(5), 30)
    X = centres[truth] + rng.normal(size=(150, 2))

    def cluster(points, k):
        return KMeans(k, n_init=4, random_state=0).fit_predict(points)

    labellings = {k: cluster(X, k) for k in range(2, 9)}
    assert elbow(X, cluster, range(1, 9)).best == 5
    assert max(labellings, key=lambda k: silhouette(X, labellings[k])) == 5
    assert max(labellings, key=lambda k: adjusted_rand(truth, labellings[k])) == 5


def test_wilson_one_right_of_ten():
    """Wilson's 1927 interval at 95 % for 1 of 10, as the usual tables print it: .018 to .404."""
    assert wilson_interval(1, 10) == pytest.approx((0.018, 0.404), abs=0.0005)
