"""k-medians: medians by hand, outliers, the sum never rises, weights."""

from __future__ import annotations

import numpy as np
import pytest

from assay import _kernels
from assay.base import AssayWarning, ParameterError
from assay.models.clustering import KMeans, KMedians


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


def plain_k_medians(X: np.ndarray, start: np.ndarray, steps: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """The definition: nearest centre by Manhattan distance, then the lower median of each column."""
    centres, labels = start.copy(), np.full(len(X), -1)
    for _ in range(steps):
        following = np.abs(X[:, None, :] - centres).sum(axis=2).argmin(axis=1)
        if (following == labels).all():
            break
        labels = following
        for c in range(len(centres)):
            own = np.sort(X[labels == c], axis=0)
            centres[c] = own[(len(own) - 1) // 2]
    return labels, centres


@pytest.mark.parametrize(("n", "d", "k"), [(700, 2, 7), (9000, 11, 3)])
def test_the_kernel_is_the_definition_step_by_step(n, d, k):
    """Long columns take the median from a sample's brackets, short ones do not. Cells in 64ths make ties exact."""
    X = (64 * np.random.default_rng(3).normal(size=(n, d))).round() / 64
    labels, centres = plain_k_medians(X, X[:k])
    found, ours, ends = _kernels.k_medians(X, None, X[:k][None], 100, False, 1)
    np.testing.assert_array_equal(found, centres)
    np.testing.assert_array_equal(ours[0], labels)
    assert ends[0][2] and ends[0][0] == pytest.approx(np.abs(X - centres[labels]).sum())


def test_given_centres_are_the_start():
    X = np.random.default_rng(3).normal(size=(300, 2))
    labels, centres = plain_k_medians(X, X[:4])
    model = KMedians(4, init=X[:4]).fit(X)
    np.testing.assert_array_equal(model.cluster_centers_, centres)
    np.testing.assert_array_equal(model.labels_, labels)
    with pytest.raises(ParameterError, match=r"'init' must be a name or finite centres of shape \(4, 2\)"):
        KMedians(4, init=X[:3]).fit(X)


def test_threads_change_no_bit():
    X = np.random.default_rng(5).normal(size=(9000, 9))
    share = np.random.default_rng(6).random(9000)
    for weights in (None, share):
        one, two = (KMedians(6, n_init=2, random_state=0, n_jobs=jobs).fit(X, sample_weight=weights) for jobs in (1, 2))
        np.testing.assert_array_equal(one.cluster_centers_, two.cluster_centers_)
        np.testing.assert_array_equal(one.labels_, two.labels_)
        assert one.inertia_ == two.inertia_


def test_weights_equal_repetition():
    rng = np.random.default_rng(0)
    X, counts = rng.normal(size=(400, 2)), rng.integers(0, 5, size=400)
    start = X[counts > 0][:4][None]
    weighted, labels, _ = _kernels.k_medians(X, counts.astype(float), start, 100, False, 1)
    repeated, others, _ = _kernels.k_medians(np.repeat(X, counts, axis=0), None, start, 100, False, 1)
    np.testing.assert_array_equal(weighted, repeated)
    np.testing.assert_array_equal(np.repeat(labels[0], counts), others[0])


def test_a_cluster_that_loses_every_row_takes_the_farthest_one():
    X = np.array([[0.0], [1.0], [2.0], [30.0]])
    centres, labels, ends = _kernels.k_medians(X, None, np.array([[[0.0], [0.0]]]), 100, False, 1)
    assert sorted(centres.ravel()) == [1.0, 30.0] and labels[0].tolist().count(labels[0][3]) == 1
    assert ends[0][0] == 2.0
    same = KMedians(3, random_state=0).fit(np.ones((5, 2)))  # nothing to take
    assert same.inertia_ == 0.0


def test_steps_that_run_out_are_told():
    X = np.random.default_rng(1).normal(size=(400, 2))
    with pytest.warns(AssayWarning, match="W201.*KMedians: not converged after 2 steps"):
        model = KMedians(6, max_iter=2, n_init=1, random_state=0).fit(X)
    assert not model.converged_
    np.testing.assert_array_equal(model.labels_, model.predict(X))
