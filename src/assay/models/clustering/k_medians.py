"""k-medians: every row belongs to the nearest of k coordinate-wise medians, by Manhattan distance."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base import ArrayLike, Choice, Cost, Integer, n_jobs_param, param, random_state_param, thread_count, trace_param
from .k_means import CentreClusterer


class KMedians(CentreClusterer):
    """k-medians: centres and labels that lower the sum of Manhattan distances at every step.

    The centre of a cluster is the (weighted) median of each column, the lower one of two, so outliers pull little. A
    cluster that loses every row takes the row farthest from its centre. Labels are those of float64 distances, the
    smaller number among equals; bounds settle most rows, and medians are selected, not sorted. Where `max_iter` ends
    the steps before the labels settle, warning W201 says so.

    {parameters}

    Attributes
    ----------
    cluster_centers_, labels_, inertia_ (sum of distances), n_iter_, converged_

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.clustering import KMedians
    >>> model = KMedians(2, random_state=0).fit([[0.0], [1.0], [2.0], [50.0], [51.0], [99.0]])
    >>> np.sort(model.cluster_centers_.ravel()), model.inertia_
    (array([ 1., 51.]), 51.0)
    """

    init: Any = param(
        "k-means++", Choice("k-means++") | ArrayLike(), "Start: rows far apart (greedy k-means++), or given centres."
    )
    n_init: int = param(3, Integer(1), "Restarts, of which the best is kept; one from given centres.")
    max_iter: int = param(300, Integer(1), "Most steps of each restart.")
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Some thirty steps of n k d differences, and medians."""
        work = float(n_rows) * n_features * (1e-10 * self.n_clusters + 3e-9)
        return Cost(seconds=30 * self.n_init * work, bytes=n_rows * (16.0 * n_features + 24.0 + 12.0 * self.n_init))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMedians:
        """Find centres and labels; `y` is not used."""
        rows, weights = self._begin(X, sample_weight)
        self._require_rows(rows.shape[0] if weights is None else int(np.count_nonzero(weights)))
        threads, trace, stream = thread_count(self.n_jobs), self._new_trace(), self._stream()
        if isinstance(self.init, str):
            keys = [stream.child(r).key for r in range(self.n_init)]
            starts = rows[self._far_rows(rows, weights, keys, threads)]
        else:
            starts = self._given_centres(self.init, rows.shape[1])[None]
        centres, labels, ends = _kernels.k_medians(rows, weights, starts, self.max_iter, trace.on, threads)
        best = self._best_restart(ends, trace, "k-medians")
        self.cluster_centers_ = centres.reshape(starts.shape)[best].copy()
        self.labels_ = labels[best].copy()
        self._keep_trace(trace)
        self._warn_of_few_rows()
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The number of the nearest centre of each row; the smaller one among equals."""
        check_is_fitted(self)
        return _kernels.nearest_medians(self._read(X, reset=False), self.cluster_centers_, thread_count(self.n_jobs))[0]
