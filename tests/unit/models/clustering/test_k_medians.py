"""k-medians: medians by hand, outliers, the sum never rises, weights."""

from __future__ import annotations

import numpy as np
import pytest

from assay.models.clustering import KMeans, KMedians
from assay.models.clustering.k_medians import weighted_medians


def test_centres_are_medians_and_labels_the_nearest_by_manhattan_distance():
    X = np.random.default_rng(0).normal(size=(300, 3)) + 4 * np.eye(3)[np.arange(300) % 3]
    model = KMedians(3, random_state=0).fit(X)
    away = np.abs(X[:, None, :] - model.cluster_centers_).sum(axis=2)
    np.testing.assert_array_equal(model.labels_, away.argmin(axis=1))
    assert model.inertia_ == pytest.approx(away.min(axis=1).sum())
    for c in range(3):
        own = X[model.labels_ == c]
        np.testing.assert_array_equal(model.cluster_centers_[c], np.sort(own, axis=0)[(len(own) - 1) // 2])


def test_the_sum_of_distances_never_rises():
    X = np.random.default_rng(1).normal(size=(400, 2))
    model = KMedians(6, n_init=2, random_state=0, trace=True).fit(X)
    for restart in range(2):
        values = [r["values"]["inertia"] for r in model.trace_ if r["values"]["restart"] == restart]
        assert len(values) > 2 and (np.diff(values) <= 1e-9).all()


def test_an_outlier_pulls_the_mean_and_not_the_median():
    X = np.r_[np.zeros(20), np.full(20, 10.0), [12.0] * 5, [60.0]][:, None] + np.arange(46)[:, None] * 1e-3
    medians = np.sort(KMedians(2, random_state=0).fit(X).cluster_centers_.ravel())
    assert abs(medians[0]) < 0.1 and abs(medians[1] - 10.0) < 0.1
    assert KMeans(2, random_state=0).fit(X).cluster_centers_.max() > 12.0


def test_weights_equal_repetition_in_medians():
    rng = np.random.default_rng(0)
    X, counts = rng.normal(size=(31, 2)), rng.integers(1, 5, size=31)
    np.testing.assert_array_equal(
        weighted_medians(X, counts.astype(float)), weighted_medians(np.repeat(X, counts, axis=0), np.ones(counts.sum()))
    )
