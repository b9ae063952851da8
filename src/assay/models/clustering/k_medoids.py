"""k-medoids: k of the rows themselves are the centres, by any distance."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base import Choice, Cost, DataError, Integer, n_jobs_param, param, thread_count, trace_param
from ...base.threads import one_blas_thread
from ...numeric.distances import get
from ...numeric.neighbours import NeighbourIndex
from .k_means import CentreClusterer


class KMedoids(CentreClusterer):
    """k-medoids (PAM): rows as centres, swapped as long as the sum of distances falls.

    Starts with the greedy choice (BUILD); then every swap of a medoid with another row is weighed at once (FastPAM) and
    the best one made, until none helps. Deterministic: of equals the row with the smaller number wins.

    {parameters}

    Attributes
    ----------
    cluster_centers_, medoid_indices_, labels_, inertia_ (sum of distances), n_iter_ (swaps)

    Examples
    --------
    >>> from assay.models.clustering import KMedoids
    >>> model = KMedoids(2).fit([[0.0], [1.0], [2.0], [50.0], [51.0], [99.0]])
    >>> model.medoid_indices_, model.inertia_
    (array([1, 4]), 51.0)
    """

    _way_out = "use k-medians or k-means, which need no distance matrix, or take a sample of the rows"

    metric: str = param("euclidean", Choice("euclidean", "manhattan", "chebyshev", "cosine"), "Distance between rows.")
    max_iter: int = param(300, Integer(1), "Most swaps.")
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """All pairs of rows, in time and memory."""
        pairs = float(n_rows) ** 2
        return Cost(seconds=pairs * (2e-10 * n_features + 2e-8 * self.n_clusters), bytes=32.0 * pairs)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMedoids:
        """Find medoids and labels; `y` is not used."""
        rows, weights = self._begin(X, sample_weight)
        share = np.ones(rows.shape[0]) if weights is None else weights
        self._require_rows(int(np.count_nonzero(share)))
        threads, trace, distance = thread_count(self.n_jobs), self._new_trace(), get(self.metric)
        placed = np.ascontiguousarray(distance.place(rows, distance.learn(rows, np.zeros(rows.shape[1], dtype=bool))))
        square = _kernels.distance_square(placed, distance.code, 2.0, False, threads)
        with one_blas_thread():
            medoids = _build(square, share, self.n_clusters)
            if medoids.shape[0] < self.n_clusters:
                raise DataError(
                    type(self).__name__,
                    "X",
                    f"must have {self.n_clusters} different rows",
                    way_out="ask for fewer clusters",
                )
            self.n_iter_ = 0
            while self.n_iter_ < self.max_iter:
                gain, out, row = _best_swap(square, share, medoids)
                trace.record("k-medoids", inertia=float(share @ square[:, medoids].min(axis=1)))
                if not gain < -1e-12 * float(share @ square[:, medoids].min(axis=1)):
                    break
                medoids[out] = row
                self.n_iter_ += 1
        # Numbered in the order of their cells, so that the order of rows changes no label.
        self.medoid_indices_ = medoids[np.lexsort(rows[medoids].T[::-1])]
        self.cluster_centers_ = rows[self.medoid_indices_].copy()
        self.labels_ = np.argmin(square[:, self.medoid_indices_], axis=1)
        self.inertia_ = float(share @ square[:, self.medoid_indices_].min(axis=1))
        self._keep_trace(trace)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The number of the nearest medoid of each row; the smaller one among equals."""
        check_is_fitted(self)
        index = NeighbourIndex(self.cluster_centers_, get(self.metric), algorithm="brute")
        return index.nearest(self._read(X, reset=False), 1, thread_count(self.n_jobs))[0][:, 0]


def _build(square: np.ndarray, share: np.ndarray, k: int) -> np.ndarray:
    """PAM's greedy start: each next medoid lowers the sum of distances most."""
    allowed = share > 0
    costs = np.where(allowed, square @ share, np.inf)
    chosen = [int(np.argmin(costs))]
    near = square[chosen[0]].copy()
    while len(chosen) < k:
        gains = np.minimum(square, near) @ share
        gains[~allowed] = np.inf
        gains[chosen] = np.inf
        row = int(np.argmin(gains))
        if not np.isfinite(gains[row]):
            break
        chosen.append(row)
        near = np.minimum(near, square[row])
    return np.array(chosen)


def _best_swap(square: np.ndarray, share: np.ndarray, medoids: np.ndarray) -> tuple[float, int, int]:
    """The change of the sum of distances by the best swap, the place of the medoid that goes, and the row that
    comes."""
    k = medoids.shape[0]
    away = square[:, medoids]
    owner = np.argmin(away, axis=1)
    nearest = away[np.arange(away.shape[0]), owner]
    second = np.partition(away, 1, axis=1)[:, 1] if k > 1 else np.full(away.shape[0], np.inf)
    gained = np.minimum(square - nearest, 0.0)
    lost = np.minimum(square, second) - nearest - gained
    of_owner = np.zeros((away.shape[0], k))
    of_owner[np.arange(away.shape[0]), owner] = share
    change = (gained @ share)[:, None] + lost @ of_owner
    change[medoids] = np.inf
    change[share == 0] = np.inf
    row, out = np.unravel_index(int(np.argmin(change)), change.shape)
    return float(change[row, out]), int(out), int(row)
