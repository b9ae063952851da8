"""The support of a distribution: one-class support vector machines."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base.cost import Cost
from ...base.parameters import Real, param
from ...base.threads import thread_count
from ...base.unsupervised import Detector
from ...base.usual_parameters import n_jobs_param
from .kernel_choice import KernelMethod
from .smo import Dual, cache_param, max_iter_param, shrinking_param, svm_cost, tol_param, warn_unless_converged
from .training import Training, kept_places


class OneClassSVM(KernelMethod, Detector):
    """The smallest region of the kernel's space that holds all but a share `nu` of the rows.

    Separates the rows from the origin: minimise 1/2 |w|^2 - rho + sum of weight times max(0, rho - w'phi(x)) over nu
    times the total weight. At most a share nu of the weight lies outside, and at least that share are support vectors.
    Equal rows count as one row with the sum of their weights.

    Attributes
    ----------
    support_ : array, the training rows that are support vectors, in order
    support_vectors_ : array (n_support, n_features), these rows
    dual_coef_ : array (n_support,), alpha, up to the weight of the row
    offset_ : float, rho less `violation_`, so that rows on the edge are inside: scores below it are outside
    outside_ : float, share of the weight of the training rows that is outside
    violation_ : float, by how much the conditions of optimality are violated at most
    n_iter_ : int, steps made

    Examples
    --------
    >>> from assay.models.kernel_machines import OneClassSVM
    >>> X = [[0.0], [0.1], [0.2], [0.15], [0.05], [9.0]]
    >>> OneClassSVM(nu=0.2, gamma=1.0).fit(X).predict([[0.1], [5.0]])
    array([ 1, -1])
    """

    _way_out = "take a sample of the rows, or a density such as ParzenDensity"

    nu: float = param(
        0.5, Real(0, 1, "right"), "Largest share of the rows outside, and least share of support vectors."
    )
    tol: float = tol_param()
    max_iter: int | None = max_iter_param()
    cache_bytes: float = cache_param()
    shrinking: bool = shrinking_param()
    n_jobs: int | None = n_jobs_param()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVM:
        """Solve the dual; `y` is not used."""
        rows, weights = self._begin_weighted(X, sample_weight)
        place, threads = kept_places(sample_weight, rows.shape[0]), thread_count(self.n_jobs)
        if self._precomputed and place.shape[0] < rows.shape[1] and rows.shape[0] == place.shape[0]:
            rows = np.ascontiguousarray(rows[:, place])
        table = Training.of(rows, np.zeros(rows.shape[0]), weights, place, merge=not self._precomputed)
        # A common factor of the weights changes nothing but the size of alpha.
        share = table.weights / table.weights.mean()
        source = self._source(self._learn_kernel(table.rows, table.weights), table.rows)
        kernel, row = source.of(None)
        nothing = np.zeros(table.n)
        dual = Dual(kernel, row, nothing, nothing, share, float(self.cache_bytes), bool(self.shrinking))
        start = self._start(share)
        found = dual.solve(float(self.tol), self.max_iter, threads, (start, dual.times(start, threads)))
        warn_unless_converged(type(self).__name__, [found])
        used = np.flatnonzero(found.beta)
        self.support_ = table.place[used]
        self.support_vectors_ = np.empty((0, 0)) if self._precomputed else table.rows[used].copy()
        edge = max(found.violation, 1e-10 * float(share.sum()))
        self.dual_coef_, self.offset_ = found.beta[used], -float(found.offset) - edge
        self.outside_ = float(share[found.f < self.offset_].sum() / share.sum())
        self.violation_, self.n_iter_, self._single_ = found.violation, found.n_iter, source.single
        return self

    def _start(self, share: np.ndarray) -> np.ndarray:
        """The first rows at their bounds, up to the sum that alpha must have."""
        before = np.concatenate([[0.0], np.cumsum(share)[:-1]])
        return np.clip(float(self.nu) * share.sum() - before, 0.0, share)

    def score_samples(self, X: Any) -> np.ndarray:
        """w'phi(x) of each row: high inside, low outside."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        centres = self.support_ if self._precomputed else self.support_vectors_
        coef, threads = self.dual_coef_[:, None], thread_count(self.n_jobs)
        return self._kernel_sums(rows, centres, coef, self._single_, threads)[:, 0]

    def decision_function(self, X: Any) -> np.ndarray:
        """The score less `offset_`: negative outside."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """1 for rows inside, -1 for rows outside."""
        return np.where(self.score_samples(X) >= self.offset_, 1, -1)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Kernel rows of the support vectors, made more than once where the cache cannot hold them."""
        return svm_cost(n_rows, n_features, float(self.cache_bytes))
