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
_FEW_COLUMNS = 16  # up to here a line of the Gaussian kernel is made anew as fast as it is read from memory,
_KEPT_ROWS = 2048  # beyond so many rows, whose matrix caches hold
_BLOCK = 1024  # rows that are labelled at once, so that predict needs no matrix of all pairs


class KernelKMeans(CentreClusterer):
    """k-means with distances in the space of a kernel: |phi(x) - m|^2 needs the kernel matrix alone.

    With the linear kernel it is k-means; with others clusters need not be convex. `kernel` may be any kernel of
    `assay.numeric.kernels`, sums and products of them too. A step reads the lines of the rows that changed their
    cluster, of a matrix that is made once, in float64. With the Gaussian kernel, more than 2,048 rows and at most 16
    columns they are made anew instead, which is faster, gives the same bits and needs no matrix. Where `max_iter` ends
    the steps before the labels settle, warning W201 says so.

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
        """Each restart reads all pairs of rows about three times, from memory or made anew."""
        pairs, sums = float(n_rows) ** 2, 16.0 * n_rows * self.n_clusters * self.n_init
        if self._is_gaussian() and self._makes_lines(n_rows, n_features):
            work = pairs * (1e-9 + 5e-11 * n_features) * self.n_init
            return Cost(seconds=work, bytes=8.0 * n_rows * n_features + sums)
        work = pairs * (1e-9 * n_features + 3 * self.n_init * 5e-10)
        return Cost(seconds=work, bytes=8.0 * pairs + sums)

    def _is_gaussian(self) -> bool:
        return isinstance(self.kernel, Gaussian) or self.kernel == "gaussian"

    @staticmethod
    def _makes_lines(n_rows: int, n_features: int) -> bool:
        return n_rows > _KEPT_ROWS and n_features <= _FEW_COLUMNS

    def _kernel(self, rows: np.ndarray, weights: np.ndarray | None) -> Kernel:
        if isinstance(self.kernel, Kernel):
            return self.kernel
        if self.kernel == "linear":
            return Linear()
        if self.kernel == "polynomial":
            return Polynomial(degree=self.degree)
        return Gaussian(gamma=self.gamma if self.gamma is not None else 1.0 / (_spread(rows, weights) or 1.0))

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
        if isinstance(kernel, Gaussian) and self._makes_lines(*rows.shape):
            # No mean of the kernel's values lies farther from 1 than the value at the mean distance does (Jensen).
            self._require_digits(1.0, -float(np.expm1(-2.0 * kernel.gamma * _spread(rows, weights))), rows)
            labels, norms, ends = _kernels.gaussian_k_means(
                np.ascontiguousarray(rows), kernel.gamma, weights, starts, self.max_iter, trace.on, threads
            )
        else:
            gram = self._gram(kernel, rows)
            own = np.diag(gram)
            with np.errstate(invalid="ignore"):
                spread = float(share @ own / share.sum() - share @ gram @ share / share.sum() ** 2)
            self._require_digits(float(np.abs(own).max()), spread, rows)
            labels, norms, ends = _kernels.kernel_k_means(gram, weights, starts, self.max_iter, trace.on, threads)
        best = self._best_restart(ends, trace, "kernel k-means")
        self.labels_ = labels[best].copy()
        self._rows_, self._share_, self._norms_ = rows.copy(), share.copy(), norms[best].copy()
        self._keep_trace(trace)
        self._warn_of_few_rows()
        return self

    def _gram(self, kernel: Kernel, rows: np.ndarray) -> np.ndarray:
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            gram = kernel(rows)
        if isinstance(self.kernel, Kernel) and not np.array_equal(gram, gram.T):
            gram = (gram + gram.T) / 2  # a user's function may round k(x, y) and k(y, x) differently
        return np.ascontiguousarray(gram)

    @staticmethod
    def _require_digits(largest: float, spread: float, rows: np.ndarray) -> None:
        """Refuse kernel values that overflowed, as their `spread` then does, or whose differences are rounding."""
        told = "" if np.isfinite(spread) else "overflow"
        if not told and spread <= _FEWEST_DIGITS * largest and np.ptp(rows, axis=0).any():
            told = "agree in all but their last digits"
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


def _spread(rows: np.ndarray, weights: np.ndarray | None) -> float:
    """Variance of all columns together: half the mean squared distance of two rows."""
    return float(np.average((rows - np.average(rows, axis=0, weights=weights)) ** 2, axis=0, weights=weights).sum())
