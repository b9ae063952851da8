"""Support vector machines for numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base.cost import Cost
from ...base.estimator import Regressor
from ...base.parameters import Real, param
from ...base.threads import thread_count
from ...base.usual_parameters import n_jobs_param
from ...numeric.kernels import Linear
from .kernel_choice import KernelMethod
from .smo import Dual, cache_param, max_iter_param, svm_cost, tol_param, warn_unless_converged
from .training import Training, kept_places


class SVMRegressor(KernelMethod, Regressor):
    """The flattest function in the space of a kernel that is within epsilon of the target, with slack for other rows.

    Minimises 1/2 |w|^2 + C sum of weight times max(0, |y - w'phi(x) - b| - epsilon). Rows within the tube of width
    epsilon do not count; the others, and those on its edge, are the support vectors. Equal rows with equal targets
    count as one row with the sum of their weights. `tol` is in units of the standard deviation of y.

    Attributes
    ----------
    support_ : array, the training rows that are support vectors, in order
    support_vectors_ : array (n_support, n_features), these rows
    dual_coef_ : array (n_support,), alpha above the tube less alpha below it
    intercept_ : float, b
    coef_ : array (n_features,), w of the linear kernel
    objective_ : float, the dual objective
    violation_ : float, by how much the conditions of optimality are violated at most
    n_iter_ : int, steps made

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.kernel_machines import SVMRegressor
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> model = SVMRegressor(C=100.0, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 0.06)
    True
    """

    _way_out = "use kernel='linear', which needs no kernel matrix, or take a sample of the rows"

    C: float = param(1.0, Real(0, closed="neither"), "Price of slack.")
    epsilon: float = param(0.1, Real(0), "Half the width of the tube in which errors do not count.")
    tol: float = tol_param()
    max_iter: int | None = max_iter_param()
    cache_bytes: float = cache_param()
    n_jobs: int | None = n_jobs_param()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVMRegressor:
        """Solve the dual."""
        rows, target, weights = self._begin(X, y, sample_weight)
        return self._fit_rows(rows, target, weights, kept_places(sample_weight, rows.shape[0]))

    def _fit_rows(
        self, rows: np.ndarray, target: np.ndarray, weights: np.ndarray | None, place: np.ndarray
    ) -> SVMRegressor:
        threads = thread_count(self.n_jobs)
        if self._precomputed and place.shape[0] < rows.shape[1]:
            rows = np.ascontiguousarray(rows[:, place])
        table = Training.of(rows, target, weights, place, merge=not self._precomputed)
        kernel = self._learn_kernel(table.rows, table.weights)
        source = self._source(kernel, table.rows, threads)
        n, price, y = table.n, float(self.C) * table.weights, table.target
        # The constant is b's alone: targets about their middle keep their digits.
        middle = float(np.average(y, weights=table.weights))
        spread = float(np.sqrt(np.average((y - middle) ** 2, weights=table.weights)))
        dual = Dual(
            source.of(None),
            np.concatenate([np.arange(n), np.arange(n)]),
            np.concatenate([y - middle - self.epsilon, y - middle + self.epsilon]),
            np.concatenate([np.zeros(n), -price]),
            np.concatenate([price, np.zeros(n)]),
            float(self.cache_bytes),
        )
        found = dual.solve(float(self.tol), self.max_iter, threads, scale=spread or 1.0)
        warn_unless_converged(type(self).__name__, [found])
        beta = found.beta[:n] + found.beta[n:]
        used = np.flatnonzero(beta)
        self.support_ = table.place[used]
        self.support_vectors_ = np.empty((0, 0)) if self._precomputed else table.rows[used].copy()
        self.dual_coef_ = beta[used]
        self.intercept_ = float(found.offset + middle)
        if isinstance(kernel, Linear):
            self.coef_ = np.einsum("j,jk->k", self.dual_coef_, self.support_vectors_)
        elif hasattr(self, "coef_"):
            del self.coef_
        self.objective_, self.violation_, self.n_iter_ = -found.objective, found.violation, found.n_iter
        self._single_ = source.single
        return self

    def predict(self, X: Any) -> np.ndarray:
        """w'phi(x) + b of each row."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        if hasattr(self, "coef_"):
            return np.einsum("ij,j->i", rows, self.coef_) + self.intercept_
        centres = self.support_ if self._precomputed else self.support_vectors_
        sums = self._kernel_sums(rows, centres, self.dual_coef_[:, None], self._single_, thread_count(self.n_jobs))
        return sums[:, 0] + self.intercept_

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Kernel rows of the support vectors, made more than once where the cache cannot hold them."""
        return svm_cost(n_rows, n_features, float(self.cache_bytes))

    def estimate_predict_cost(self, n_rows: int, n_features: int, n_queries: int) -> Cost:
        """A kernel value for each support vector, half of the rows at a guess."""
        pairs = float(n_queries) * n_rows / 2
        return Cost(seconds=1e-10 * pairs * (n_features + 20.0), bytes=16.0 * n_queries * n_features + 1e7)
