"""Kernel k-means: k-means in the space of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base import (
    Choice,
    Clusterer,
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
from .k_medians import fill_empty
from .views import Clusters, clusters_view


class KernelKMeans(Clusterer):
    """k-means with distances in the space of a kernel: |phi(x) - m|^2 needs the kernel matrix alone.

    With the linear kernel it is k-means; with others clusters need not be convex. `kernel` may be any kernel of
    `assay.numeric.kernels`, sums and products of them too.

    {parameters}

    Attributes
    ----------
    labels_, inertia_ (in the space of the kernel), n_iter_

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.clustering import KernelKMeans
    >>> X = np.array([[0.0], [0.2], [0.1], [5.0], [5.3], [5.1]])
    >>> labels = KernelKMeans(2, gamma=1.0, random_state=0).fit(X).labels_
    >>> len(set(labels[:3])), len(set(labels[3:]))
    (1, 1)
    """

    _first = "n_clusters"
    _squares = True
    _way_out = "use k-means or dbscan, which need no kernel matrix, or take a sample of the rows"

    n_clusters: int = param(8, Integer(1), "How many clusters.")
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
    max_iter: int = param(100, Integer(1), "Most steps of each restart.")
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """All pairs of rows in memory, and k products with that matrix for each step."""
        pairs = float(n_rows) ** 2
        work = pairs * (1e-9 * n_features + 20 * self.n_init * 2e-10 * self.n_clusters)
        return Cost(seconds=work, bytes=16.0 * pairs)

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
        if np.count_nonzero(share) < self.n_clusters:
            raise DataError(
                type(self).__name__,
                "X",
                f"must have at least n_clusters={self.n_clusters} rows with weight",
                f"got n_samples={np.count_nonzero(share)}",
                "ask for fewer clusters",
            )
        trace, stream, best, threads = self._new_trace(), self._stream(), np.inf, thread_count(self.n_jobs)
        with one_blas_thread():
            gram = self._kernel(rows, weights)(rows)
            own = np.diag(gram).copy()
            for restart in range(self.n_init):
                trials = 2 + int(np.log(self.n_clusters))
                key = stream.child(restart).key
                start = _kernels.plus_plus_starts(rows, weights, self.n_clusters, trials, key, 0, threads)
                away = own[:, None] - 2 * gram[:, start] + own[start]
                labels, step = np.argmin(away, axis=1), 0
                for _ in range(self.max_iter):
                    step += 1
                    labels = fill_empty(labels, away[np.arange(len(labels)), labels], share, self.n_clusters)
                    away = _distances(gram, own, labels, share, self.n_clusters)
                    following = np.argmin(away, axis=1)
                    total = float(share @ away[np.arange(len(labels)), following])
                    trace.record("kernel k-means", restart=restart, inertia=total)
                    if (following == labels).all():
                        break
                    labels = following
                if total < best:
                    best = total
                    self.labels_, self.inertia_, self.n_iter_ = labels, total, step
        self._rows_, self._share_ = rows.copy(), share.copy()
        self._keep_trace(trace)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The nearest cluster of each row, in the space of the kernel."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        train, weights = self._rows_, self._share_
        with one_blas_thread():
            kernel = self._kernel(train, weights)
            groups, mass = _groups(self.labels_, weights, self.n_clusters)
            centre = np.einsum("ic,ic->c", groups, kernel(train) @ groups)
            away = centre - 2 * kernel(rows, train) @ groups
        return np.argmin(np.where(mass > 0, away, np.inf), axis=1)

    def view(self) -> Clusters:
        """Sizes of the clusters."""
        check_is_fitted(self)
        return clusters_view(self)


def _groups(labels: np.ndarray, share: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Each row's part in the mean of its cluster, and the weight of each cluster."""
    mass = np.bincount(labels, share, minlength=k)
    groups = np.zeros((labels.shape[0], k))
    groups[np.arange(labels.shape[0]), labels] = share / np.where(mass > 0, mass, 1.0)[labels]
    return groups, mass


def _distances(gram: np.ndarray, own: np.ndarray, labels: np.ndarray, share: np.ndarray, k: int) -> np.ndarray:
    """Squared distances of rows to the means of clusters in the space of the kernel; infinite to empty ones."""
    groups, mass = _groups(labels, share, k)
    products = gram @ groups
    centres = np.einsum("ic,ic->c", groups, products)
    return np.where(mass > 0, np.maximum(own[:, None] - 2 * products + centres, 0.0), np.inf)
