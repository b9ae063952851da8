"""k-medians: every row belongs to the nearest of k coordinate-wise medians, by Manhattan distance."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base import Cost, Integer, n_jobs_param, param, random_state_param, thread_count, trace_param
from ...numeric.distances import get
from ...numeric.neighbours import NeighbourIndex
from .k_means import CentreClusterer


class KMedians(CentreClusterer):
    """k-medians: centres and labels that lower the sum of Manhattan distances at every step.

    The centre of a cluster is the (weighted) median of each column, the lower one of two, so outliers pull little. A
    cluster
    that loses every row takes the row farthest from its centre.

    {parameters}

    Attributes
    ----------
    cluster_centers_, labels_, inertia_ (sum of distances), n_iter_

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.clustering import KMedians
    >>> model = KMedians(2, random_state=0).fit([[0.0], [1.0], [2.0], [50.0], [51.0], [99.0]])
    >>> np.sort(model.cluster_centers_.ravel()), model.inertia_
    (array([ 1., 51.]), 51.0)
    """

    n_init: int = param(3, Integer(1), "Restarts, of which the one with the least sum of distances is kept.")
    max_iter: int = param(100, Integer(1), "Most steps of each restart.")
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Some thirty steps of n k d differences, and medians."""
        work = float(n_rows) * n_features * (2e-10 * self.n_clusters + 1e-8)
        return Cost(seconds=30 * self.n_init * work, bytes=n_rows * (24.0 * n_features + 60.0))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMedians:
        """Find centres and labels; `y` is not used."""
        rows, weights = self._begin(X, sample_weight)
        share = np.ones(rows.shape[0]) if weights is None else weights
        self._require_rows(int(np.count_nonzero(share)))
        threads, trace, stream = thread_count(self.n_jobs), self._new_trace(), self._stream()
        best = np.inf
        for restart in range(self.n_init):
            trials = 2 + int(np.log(self.n_clusters))
            start = _kernels.plus_plus_starts(
                rows, weights, self.n_clusters, trials, stream.child(restart).key, 0, threads
            )
            centres, labels, step = rows[start].copy(), np.full(rows.shape[0], -1), 0
            for _ in range(self.max_iter):
                step += 1
                before = labels
                labels, away = _nearest(rows, centres, threads)
                labels = fill_empty(labels, away, share, self.n_clusters)
                trace.record("k-medians", restart=restart, inertia=float(share @ away))
                changed = np.unique(np.r_[labels[labels != before], before[(labels != before) & (before >= 0)]])
                if not changed.size:
                    break
                for c in changed:
                    own = (labels == c) & (share > 0)
                    if own.any():
                        centres[c] = weighted_medians(rows[own], share[own])
            labels, away = _nearest(rows, centres, threads)
            total = float(share @ away)
            if total < best:
                best = total
                self.cluster_centers_, self.labels_ = centres, labels
                self.inertia_, self.n_iter_ = total, step
        self._keep_trace(trace)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The number of the nearest centre of each row; the smaller one among equals."""
        check_is_fitted(self)
        return _nearest(self._read(X, reset=False), self.cluster_centers_, thread_count(self.n_jobs))[0]


def weighted_medians(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The least value of each column up to which half of the weight lies.

    >>> weighted_medians(np.array([[1.0], [2.0], [9.0]]), np.array([1.0, 1.0, 3.0]))
    array([9.])
    """
    if (weights == weights[0]).all():
        middle = (rows.shape[0] - 1) // 2
        return np.partition(rows, middle, axis=0)[middle]
    order = np.argsort(rows, axis=0, kind="stable")
    reached = np.cumsum(weights[order], axis=0)
    place = np.argmax(reached >= 0.5 * reached[-1] * (1 - 1e-12), axis=0)
    columns = np.arange(rows.shape[1])
    return rows[order[place, columns], columns]


def _nearest(rows: np.ndarray, centres: np.ndarray, threads: int) -> tuple[np.ndarray, np.ndarray]:
    found, away = NeighbourIndex(centres, get("manhattan"), algorithm="brute").nearest(rows, 1, threads)
    return found[:, 0], away[:, 0]


def fill_empty(labels: np.ndarray, away: np.ndarray, share: np.ndarray, k: int) -> np.ndarray:
    """Each empty cluster takes the row farthest from its centre of a cluster with more than one row.

    >>> fill_empty(np.array([0, 0, 0]), np.array([0.0, 5.0, 1.0]), np.ones(3), 2)
    array([0, 1, 0])
    """
    counts = np.bincount(labels[share > 0], minlength=k)
    if counts.all():
        return labels
    labels, left = labels.copy(), np.where(share > 0, away, 0.0)
    for empty in np.flatnonzero(counts == 0):
        left[counts[labels] <= 1] = 0.0
        row = int(np.argmax(left))
        if left[row] <= 0.0:
            break
        counts[labels[row]] -= 1
        labels[row], left[row] = empty, 0.0
        counts[empty] = 1
    return labels
