"""Kernel k-means: k-means in the space of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base import (
    Choice,
    Cost,
    DataError,
    Instance,
    Integer,
    Nothing,
    Real,
    n_jobs_param,
    param,
    random_state_param,
    thread_count,
    trace_param,
)
from ...base.threads import one_blas_thread
from ...numeric.kernels import Gaussian, Kernel, Linear, Polynomial
from .k_means import CentreClusterer

_FEWEST_DIGITS = 1e-10  # of the largest value of the kernel, that distances must amount to
_BLOCK = 1024  # rows that are labelled at once, so that predict needs no matrix of all pairs


class KernelKMeans(CentreClusterer):
    """k-means with distances in the space of a kernel: |phi(x) - m|^2 needs the kernel matrix alone.

    With the linear kernel it is k-means; with others clusters need not be convex. `kernel` may be any kernel of
    `assay.numeric.kernels`, sums and products of them too. The matrix is made once, in float64; a step reads the
    lines of the rows that changed their cluster. Where `max_iter` ends the steps before the labels settle, warning
    W201 says so.

    {parameters}

    Attributes
    ----------
    labels_, inertia_ (in the space of the kernel), n_iter_, converged_

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.clustering import KernelKMeans
    >>> X = np.array([[0.0], [0.2], [0.1], [5.0], [5.3], [5.1]])
    >>> labels = KernelKMeans(2, gamma=1.0, random_state=0).fit(X).labels_
    >>> len(set(labels[:3])), len(set(labels[3:]))
    (1, 1)
    """

    _way_out = "use k-means or dbscan, which need no kernel matrix, or take a sample of the rows"

    kernel: Any = param(
        "gaussian",
        Choice("gaussian", "linear", "polynomial") | Instance(Kernel),
        "The kernel, by name or as an object.",
    )
    gamma: float | None = param(
        None, Real(0, None, "neither") | Nothing(), "Width of the Gaussian kernel; None for one over all variance."
    )
    degree: int = param(2, Integer(1), "Degree of the polynomial kernel.")
    n_init: int = param(5, Integer(1), "Restarts, of which the one with the least inertia is kept.")
    max_iter: int = param(300, Integer(1), "Most steps of each restart.")
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """All pairs of rows in memory; each restart reads that matrix about three times."""
        pairs = float(n_rows) ** 2
        work = pairs * (1e-9 * n_features + 3 * self.n_init * 5e-10)
        return Cost(seconds=work, bytes=8.0 * pairs + 16.0 * n_rows * self.n_clusters * self.n_init)

    def _kernel(self, rows: np.ndarray, weights: np.ndarray | None) -> Kernel:
        if isinstance(self.kernel, Kernel):
            return self.kernel
        if self.kernel == "linear":
            return Linear()
        if self.kernel == "polynomial":
            return Polynomial(degree=self.degree)
        spread = float(
            np.average((rows - np.average(rows, axis=0, weights=weights)) ** 2, axis=0, weights=weights).sum()
        )
        return Gaussian(gamma=self.gamma if self.gamma is not None else 1.0 / (spread or 1.0))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelKMeans:
        """Find labels; `y` is not used."""
        rows, weights = self._begin(X, sample_weight)
        share = np.ones(rows.shape[0]) if weights is None else weights
        self._require_rows(int(np.count_nonzero(share)))
        trace, stream, threads = self._new_trace(), self._stream(), thread_count(self.n_jobs)
        keys = [stream.child(r).key for r in range(self.n_init)]
        starts = self._far_rows(rows, weights, keys, threads)
        kernel = self._kernel(rows, weights)
        # Distances under the linear kernel do not change with the origin, but their digits do.
        self._origin_ = np.average(rows, axis=0, weights=weights) if isinstance(kernel, Linear) else np.zeros(1)
        rows = rows - self._origin_
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            gram = kernel(rows)
        self._require_digits(gram, share, rows)
        if isinstance(self.kernel, Kernel) and not np.array_equal(gram, gram.T):
            gram = (gram + gram.T) / 2  # a user's function may round k(x, y) and k(y, x) differently
        labels, norms, ends = _kernels.kernel_k_means(
            np.ascontiguousarray(gram), weights, starts, self.max_iter, trace.on, threads
        )
        best = self._best_restart(ends, trace, "kernel k-means")
        self.labels_ = labels[best].copy()
        self._rows_, self._share_, self._norms_ = rows.copy(), share.copy(), norms[best].copy()
        self._keep_trace(trace)
        self._warn_of_few_rows()
        return self

    def _require_digits(self, gram: np.ndarray, share: np.ndarray, rows: np.ndarray) -> None:
        """Refuse kernel values that overflowed, or whose differences are those of rounding."""
        largest = float(np.abs(np.diag(gram)).max())
        told = "overflow" if not np.isfinite(gram.sum()) else ""
        if not told and np.ptp(rows, axis=0).any():
            spread = float(share @ np.diag(gram) / share.sum() - share @ gram @ share / share.sum() ** 2)
            told = "agree in all but their last digits" if spread <= _FEWEST_DIGITS * largest else ""
        if told:
            raise DataError(
                "KernelKMeans",
                "X",
                "must be such that distances follow from the values of the kernel",
                f"these {told}",
                "standardise the columns first",
            )

    def predict(self, X: Any) -> np.ndarray:
        """The nearest cluster of each row, in the space of the kernel."""
        check_is_fitted(self)
        rows, train = self._read(X, reset=False) - self._origin_, self._rows_
        mass = np.bincount(self.labels_, self._share_, minlength=self.n_clusters)
        groups = np.zeros((train.shape[0], self.n_clusters))
        groups[np.arange(train.shape[0]), self.labels_] = self._share_ / np.where(mass > 0, mass, 1.0)[self.labels_]
        found = np.empty(rows.shape[0], dtype=self.labels_.dtype)
        with one_blas_thread():
            kernel = self._kernel(train, self._share_)
            for first in range(0, rows.shape[0], _BLOCK):
                away = self._norms_ - 2 * kernel(rows[first : first + _BLOCK], train) @ groups
                found[first : first + _BLOCK] = np.argmin(away, axis=1)
        return found
