"""Support vector machines for classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base.class_weight import class_weight_param, with_class_weights
from ...base.cost import Cost
from ...base.errors import DataError
from ...base.estimator import LabelClassifier
from ...base.parameters import Choice, Real, param
from ...base.threads import thread_count
from ...base.usual_parameters import n_jobs_param
from ...numeric.kernels import Kernel, Linear
from ..linear.multiclass import class_pairs, duel_scores
from .kernel_choice import KernelMethod
from .smo import (
    Dual,
    DualSolution,
    cache_param,
    hard_margin,
    max_iter_param,
    svm_cost,
    tol_param,
    warn_unless_converged,
)
from .training import KernelSource, Training, kept_places


class SVMClassifier(KernelMethod, LabelClassifier):
    """The hyperplane of widest margin in the space of a kernel, with slack for rows on its wrong side.

    Two classes: minimise 1/2 |w|^2 + C sum of weight times slack, with y (w'phi(x) + b) >= 1 - slack; C = inf is the
    hard margin, and classes that no hyperplane separates are then refused. The dual is solved by steps on blocks of
    rows; its alphas are positive for the support vectors alone. More classes: one machine for each pair, whose votes
    count (`multi_class='ovo'`), or for each class against the rest ('ovr'). Equal rows of one class count as one row
    with the sum of their weights.

    Attributes
    ----------
    support_ : array, the training rows that are support vectors of some machine, in order
    support_vectors_ : array (n_support, n_features), these rows
    dual_coef_ : array (n_machines, n_support), alpha with the sign of the side: positive for the second class of a
        pair, or for the class against the rest
    intercept_ : array (n_machines,), b
    coef_ : array (n_machines, n_features), w of the linear kernel
    margin_ : array (n_machines,), width of the margin, 2 / |w|
    objective_ : array (n_machines,), the dual objective: sum of alpha less half of |w|^2
    violation_ : array (n_machines,), by how much the conditions of optimality are violated at most
    error_bound_ : float, share of the training rows that are support vectors: bounds the leave-one-out error of a
        machine of two classes
    n_iter_ : array (n_machines,), steps made

    Examples
    --------
    >>> from assay.models.kernel_machines import SVMClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["same", "other", "other", "same"]
    >>> model = SVMClassifier(kernel="polynomial", degree=2, gamma=1.0, C=10.0).fit(X, y)
    >>> model.predict(X).tolist()
    ['same', 'other', 'other', 'same']
    >>> line = SVMClassifier(kernel="linear", C=float("inf")).fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> line.support_vectors_.ravel(), line.margin_
    (array([1., 3.]), array([2.]))
    """

    _way_out = "use kernel='linear', which needs no kernel matrix, or take a sample of the rows"

    C: float = param(
        1.0, Real(0, closed="neither", infinite=True), "Price of slack; inf allows none (the hard margin)."
    )
    class_weight: Any = class_weight_param()
    multi_class: str = param(
        "ovo",
        Choice("ovo", "ovr"),
        "Three or more classes: a machine for each pair, or for each class against the rest.",
    )
    tol: float = tol_param()
    max_iter: int | None = max_iter_param()
    cache_bytes: float = cache_param()
    n_jobs: int | None = n_jobs_param()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVMClassifier:
        """Solve the dual of each machine."""
        rows, codes, weights = self._begin(X, y, sample_weight)
        self._require_classes()
        return self._fit_rows(rows, codes, weights, kept_places(sample_weight, rows.shape[0]))

    def _fit_rows(
        self, rows: np.ndarray, codes: np.ndarray, weights: np.ndarray | None, place: np.ndarray, gram: Any = None
    ) -> SVMClassifier:
        """Fit to rows that were read; `place` is the number of each in the table that was given."""
        who, threads = type(self).__name__, thread_count(self.n_jobs)
        if self._precomputed and place.shape[0] < rows.shape[1]:
            rows = np.ascontiguousarray(rows[:, place])
        table = Training.of(rows, codes, weights, place, merge=not self._precomputed)
        prices = with_class_weights(who, self.class_weight, self.classes_, table.target, table.weights)
        assert prices is not None
        kernel = self._learn_kernel(table.rows, table.weights)
        source = self._source(kernel, table.rows, threads, exact=bool(np.isinf(self.C)))
        solutions, betas = [], []
        for chosen, sign in self._machines(table.target):
            found = self._solve(source, chosen, sign, prices if chosen is None else prices[chosen], threads)
            solutions.append(found)
            beta = found.beta
            if chosen is not None:
                beta = np.zeros(table.n)
                beta[chosen] = found.beta
            betas.append(beta)
        warn_unless_converged(who, solutions)
        self._keep(table, kernel, np.array(betas), solutions, source.single)
        return self

    def _machines(self, codes: np.ndarray) -> Iterator[tuple[np.ndarray | None, np.ndarray]]:
        """The rows (None for all) and sides of each machine."""
        n_classes = self.classes_.shape[0]
        if n_classes == 2:
            yield None, np.where(codes == 1, 1.0, -1.0)
        elif self.multi_class == "ovr":
            for k in range(n_classes):
                yield None, np.where(codes == k, 1.0, -1.0)
        else:
            for first, second in class_pairs(n_classes):
                chosen = np.flatnonzero((codes == first) | (codes == second))
                yield chosen, np.where(codes[chosen] == second, 1.0, -1.0)

    def _solve(
        self, source: KernelSource, chosen: np.ndarray | None, sign: np.ndarray, prices: np.ndarray, threads: int
    ) -> DualSolution:
        kernel = source.of(chosen)
        if np.isinf(self.C):
            return hard_margin(type(self).__name__, kernel, sign, float(self.tol), self.max_iter, threads)
        bound = sign * float(self.C) * prices
        row = np.arange(sign.shape[0])
        dual = Dual(kernel, row, sign, np.minimum(bound, 0.0), np.maximum(bound, 0.0), float(self.cache_bytes))
        return dual.solve(float(self.tol), self.max_iter, threads)

    def _keep(
        self, table: Training, kernel: Kernel, betas: np.ndarray, solutions: list[DualSolution], single: bool
    ) -> None:
        used = np.flatnonzero(betas.any(axis=0))
        self.support_ = table.place[used]
        self.support_vectors_ = table.rows[used].copy() if not self._precomputed else np.empty((0, 0))
        self.dual_coef_ = np.ascontiguousarray(betas[:, used])
        self.intercept_ = np.array([found.offset for found in solutions])
        if isinstance(kernel, Linear):
            self.coef_ = np.einsum("ij,jk->ik", self.dual_coef_, self.support_vectors_)
        elif hasattr(self, "coef_"):
            del self.coef_
        # beta'K beta = |w|^2 = 2 (objective + sum of |beta|), since the targets are the signs of beta.
        total = np.abs(betas).sum(axis=1)
        self.objective_ = np.array([-found.objective for found in solutions])
        lengths = np.sqrt(np.maximum(2.0 * (total - self.objective_), np.finfo(float).tiny))
        self.margin_ = 2.0 / lengths
        self.violation_ = np.array([found.violation for found in solutions])
        self.n_iter_ = np.array([found.n_iter for found in solutions])
        self.error_bound_ = float(table.weights[used].sum() / table.weights.sum())
        self._single_ = single

    def machine_decisions(self, X: Any) -> np.ndarray:
        """The decision value of each machine, (n_rows, n_machines)."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        if hasattr(self, "coef_"):
            return np.einsum("ij,kj->ik", rows, self.coef_) + self.intercept_
        centres = self.support_ if self._precomputed else self.support_vectors_
        sums = self._kernel_sums(rows, centres, self.dual_coef_.T, self._single_, thread_count(self.n_jobs))
        return sums + self.intercept_

    def decision_function(self, X: Any) -> np.ndarray:
        """Two classes: w'phi(x) + b, positive for `classes_[1]`. More: a column for each class, its decision value
        against the rest, or the duels it wins plus its decision values squeezed so that they never outweigh one."""
        values = self.machine_decisions(X)
        n_classes = self.classes_.shape[0]
        if n_classes == 2:
            return values[:, 0]
        return values if self.multi_class == "ovr" else duel_scores(values, n_classes)

    def predict(self, X: Any) -> np.ndarray:
        """The class on whose side each row lies, or with the highest score; the first in `classes_` wins a tie."""
        decision = self.decision_function(X)
        codes = (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_[codes]

    def slacks(self, X: Any, y: Any) -> np.ndarray:
        """How far rows are from the right side of the margin of each machine, (n_rows, n_machines): 0 outside it, above
        1 for errors; NaN where a machine knows nothing of the row's class."""
        values = self.machine_decisions(X)
        codes = np.searchsorted(self.classes_, np.asarray(y))
        codes = np.minimum(codes, self.classes_.shape[0] - 1)
        if values.shape[0] != codes.shape[0] or (self.classes_[codes] != np.asarray(y)).any():
            raise DataError(type(self).__name__, "y", "must hold one label of `classes_` for each row of X")
        out = np.full(values.shape, np.nan)
        for k, (chosen, sign) in enumerate(self._machines(codes)):
            places = slice(None) if chosen is None else chosen
            out[places, k] = np.maximum(0.0, 1.0 - sign * values[places, k])
        return out

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Kernel rows of the support vectors, made more than once where the cache cannot hold them."""
        return svm_cost(n_rows, n_features, float(self.cache_bytes))

    def estimate_predict_cost(self, n_rows: int, n_features: int, n_queries: int) -> Cost:
        """A kernel value for each support vector, a third of the rows at a guess."""
        pairs = float(n_queries) * n_rows / 3
        return Cost(seconds=1e-10 * pairs * (n_features + 20.0), bytes=16.0 * n_queries * n_features + 1e7)
