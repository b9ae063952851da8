"""What support vector machines for classes and numbers have in common: parameters, three routes, fold sharing."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.cost import Cost, check_cost
from ...base.estimator import Fold, check_weights
from ...base.folds import Transforms
from ...base.parameters import Integer, Nothing, param
from ...base.threads import one_blas_thread, thread_count
from ...base.usual_parameters import n_jobs_param, random_state_param
from ...numeric.kernels import Kernel, Linear
from ...numeric.newton import damped_newton
from ..linear.sparse import SparseInput, SparseTable
from .fast_form import fast_form
from .kernel_choice import SMALL, KernelMethod
from .linear_machine import LEVEL_STEPS, LinearMachine, LinearProblem, LinearSolution
from .smo import TINY, Dual, DualSolution, cache_param, max_iter_param, shrinking_param, svm_cost, tol_param
from .training import KernelSource, Training

# To which violation the primal of a small linear machine is solved, before steps on pairs of rows.
_NEAR = 1e-6
# Variables times steps on pairs of rows that a small linear machine takes, at most, before its primal is asked.
_TRIED = 4e6


@dataclass(frozen=True)
class Columns:
    """Columns in which the machine is linear: those of the table, or of its kernel with some landmarks."""

    X: Any
    landmarks: np.ndarray | None = None
    back: np.ndarray | None = None
    """Takes coefficients of the columns to those of the landmarks."""


class SupportVectors(SparseInput, KernelMethod):
    """Base of support vector machines: by the dual, by the primal where the kernel is linear, or with landmarks."""

    _way_out = (
        "use kernel='linear', which needs no kernel matrix, n_landmarks=500, the Nystroem approximation of the kernel, "
        "or take a sample of the rows"
    )
    _sides = 1
    """Variables of the dual for each row."""

    n_landmarks: int | None = param(
        None,
        Integer(1) | Nothing(),
        "Rows, drawn to lie apart, that stand for all others in the kernel (the Nystroem approximation), for tables "
        "too large for the kernel itself; None takes the kernel as it is.",
    )
    tol: float = tol_param()
    max_iter: int | None = max_iter_param()
    cache_bytes: float = cache_param()
    shrinking: bool = shrinking_param()
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()

    def _draws(self) -> bool:
        return self.n_landmarks is not None

    @property
    def _is_linear(self) -> bool:
        return isinstance(self.kernel, Linear) or (isinstance(self.kernel, str) and self.kernel == "linear")

    @property
    def _hard(self) -> bool:
        return isinstance(self.C, numbers.Real) and math.isinf(self.C)

    @property
    def _share_of_rows(self) -> float:
        """Of the rows, how many one machine is about."""
        return 1.0

    def _by_primal(self, n_rows: int, n_columns: int) -> bool:
        share = self._sides * self._share_of_rows
        many = n_rows > SMALL or (share * n_rows > TINY and n_rows > 2 * n_columns)
        return self._is_linear and many and not self._hard and self.n_landmarks is None

    def _written(self, rows: Any) -> Any:
        """Rows with every cell written out, unless they are sparse and the machine is linear."""
        if not isinstance(rows, SparseTable) or self._by_primal(*rows.shape):
            return rows
        bytes_ = 16.0 * rows.shape[0] * rows.shape[1]
        check_cost(type(self).__name__, Cost(1e-9 * bytes_, bytes_), "use kernel='linear', which takes sparse rows")
        return rows.toarray()

    def _training(
        self, rows: Any, target: np.ndarray, weights: np.ndarray | None, place: np.ndarray, apart: bool
    ) -> Training:
        """The rows to fit to, equal ones as one unless they must stay `apart`; a Gram matrix without the columns of
        rows that do not count."""
        if self._precomputed and place.shape[0] < rows.shape[1] and rows.shape[0] == place.shape[0]:
            rows = np.ascontiguousarray(rows[:, place])
        dual = not self._precomputed and not self._by_primal(*rows.shape) and self.n_landmarks is None
        return Training.of(self._written(rows), target, weights, place, merge=dual and not apart)

    def _columns(self, table: Training, kernel: Kernel) -> Columns | None:
        """The columns in which the machine is linear; None for the dual."""
        if self.n_landmarks is None:
            return Columns(table.rows) if self._by_primal(*table.rows.shape) else None
        threads = thread_count(self.n_jobs)
        if self._precomputed:
            chosen = np.sort(self._stream().generator().permutation(table.n)[: int(self.n_landmarks)])
        else:
            count, key = min(int(self.n_landmarks), table.n), self._stream().key
            chosen = np.unique(_kernels.plus_plus_starts(table.rows, table.weights, count, 1, key, 0, threads))
        with one_blas_thread():
            if self._precomputed:
                beside = np.ascontiguousarray(table.rows[:, chosen])
            else:
                beside = kernel.gram(table.rows, table.rows[chosen])
            values, axes = np.linalg.eigh(beside[chosen])
            kept = values > 1e-10 * max(float(values[-1]), 0.0)
            back = axes[:, kept] / np.sqrt(values[kept])
            return Columns(np.ascontiguousarray(beside @ back), chosen, back)

    def _about_zero(self, rows: np.ndarray) -> np.ndarray:
        # The constant of the machine takes up where zero is: products of columns far from it would cancel.
        if not self._is_linear:
            return rows
        with np.errstate(over="ignore", invalid="ignore"):
            return rows - rows.mean(axis=0)

    def _by_dual(
        self,
        source: KernelSource,
        chosen: np.ndarray | None,
        target: np.ndarray,
        price: np.ndarray,
        epsilon: float | None,
        scale: float = 1.0,
    ) -> DualSolution:
        """The dual by steps on pairs of rows; that of a linear machine of more rows than columns, on which such steps
        may be slow, after a few of them from the solution of the primal, which stands where rounding hides what the
        steps would add."""
        tol, threads = float(self.tol), thread_count(self.n_jobs)
        dual = self._dual(*source.of(chosen), target, price)
        if not self._is_linear:
            return dual.solve(tol, self.max_iter, threads, None, scale)
        rows = source.rows if chosen is None else source.rows[chosen]
        start = None
        if rows.shape[0] > rows.shape[1]:
            few = int(_TRIED / (dual.row.shape[0] + 200))
            if self.max_iter is None or self.max_iter > few:
                near = tol if dual.row.shape[0] <= TINY else min(tol, _NEAR)
                found = dual.solve(near, few, threads, None, scale)
                if found.status == "converged" and dual.rounding(found.beta) <= 0.1 * _NEAR * scale:
                    return in_columns(found, rows, dual.row[: rows.shape[0]])
            machine = LinearMachine(LinearProblem(rows, target, price, epsilon, 1), min(tol, _NEAR) * scale)
            for level in machine.levels():
                level.end = damped_newton(level, level.point, LEVEL_STEPS, line=level.line)
            first = machine.found
            parts = [first.beta] if epsilon is None else [np.maximum(first.beta, 0.0), np.minimum(first.beta, 0.0)]
            lost = dual.rounding(first.beta) / scale
            if lost > tol or (lost > 0.1 * _NEAR and first.converged):
                return as_dual(first, np.concatenate(parts))
            start = self._linear_start(dual, np.concatenate(parts), threads) if first.converged else None
        return in_columns(dual.solve(tol, self.max_iter, threads, start, scale), rows, dual.row[: rows.shape[0]])

    def _dual(self, kernel: Any, row: np.ndarray, target: np.ndarray, price: np.ndarray) -> Dual:
        """The dual of one machine; `row` are the numbers of its rows in the kernel."""
        raise NotImplementedError  # pragma: no cover

    def _linear_start(self, dual: Dual, beta: np.ndarray, threads: int) -> tuple[np.ndarray, np.ndarray] | None:
        """(beta, K beta) between the bounds, with a sum of zero; None if there is no room for it."""
        beta = np.clip(beta, dual.low, dual.high)
        # What rounding left of the sum goes to the variable with most room.
        room = np.minimum(dual.high - beta, beta - dual.low)
        beta[np.argmax(room)] -= beta.sum()
        if ((beta < dual.low) | (beta > dual.high)).any():
            return None
        return beta, dual.times(beta, threads)

    def _decisions(self, X: Any) -> np.ndarray:
        """w'phi(x) + b of each row and machine, (n_rows, n_machines): from `coef_`, or by sums of kernels."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        if hasattr(self, "coef_"):
            coef = np.atleast_2d(self.coef_)
            if isinstance(rows, SparseTable):
                return rows @ coef.T + self.intercept_
            return np.einsum("ij,kj->ik", rows, coef) + self.intercept_
        if isinstance(rows, SparseTable):
            rows = rows.toarray()
        centres = self.support_ if self._precomputed else self.support_vectors_
        coef = np.atleast_2d(self.dual_coef_).T
        return self._kernel_sums(rows, centres, coef, self._single_, thread_count(self.n_jobs)) + self.intercept_

    def _keep_vectors(self, table: Training, used: np.ndarray) -> None:
        self.support_ = table.place[used]
        plain = isinstance(table.rows, np.ndarray) and not self._precomputed
        self.support_vectors_ = table.rows[used].copy() if plain else np.empty((0, 0))

    # -- folds -------------------------------------------------------------------------------------------------------
    def _shared_kernel(self, rows: np.ndarray, n_train: int) -> Any:
        """What folds of these rows have in common: the matrix of the kernel, or of the distances it is made of; None
        if nothing, or if it is too large."""
        if self.n_landmarks is not None or self._by_primal(n_train, rows.shape[1]) or not isinstance(rows, np.ndarray):
            return None
        n = rows.shape[0]
        small = n_train <= SMALL
        if (8.0 if small else 4.0) * n * n > max(float(self.cache_bytes), 1e8):
            return None
        kind = self._in_common()
        if kind != "gram" and not (kind and small):
            return None
        form = None
        if kind == "gram" and not (small or self._hard or self._precomputed):
            form = fast_form(clone(self)._learn_kernel(rows, None), rows)
        if form is not None:
            return "gram", form.rows(rows).gram(thread_count(self.n_jobs))
        if kind == "gram":
            return kind, self._source(clone(self)._learn_kernel(rows, None), rows, exact=True).gram
        return self._common_matrix(rows)

    def _fold_matrix(self, kernel: Kernel, table: Training, known: Any) -> np.ndarray | None:
        """The matrix of a fold's own kernel for all rows, its training rows and others; None if that is too large."""
        if known is not None:
            kind, matrix = known
            if self._is_linear and not self._hard:
                most = np.full(table.n, np.max(self.C))
                if Dual(matrix, most, most, -most, most).rounding(most) > 0.1 * _NEAR:
                    return None  # steps on pairs of rows would be slow
            return matrix if kind == "gram" else np.exp(-self.gamma_ * matrix)
        if self.n_landmarks is not None or self._by_primal(*table.rows.shape) or self._hard:
            return None
        form = fast_form(kernel, table.rows)
        if form is None or 4.0 * table.n**2 > max(float(self.cache_bytes), 1e8):
            return None
        threads = thread_count(self.n_jobs)
        return form.rows(table.rows).gram(threads)

    def _from_folds(self, table: Training) -> tuple[Any, np.ndarray]:
        """What folds share, if this is one of them, and the numbers of the training rows in it."""
        shared, place = (None, np.arange(table.n)) if self._of_folds is None else self._of_folds
        return shared, place if shared is None else place[table.place]

    def _shared_source(self, table: Training, shared: Any, among: np.ndarray) -> KernelSource:
        """The kernel of the training rows from what the folds share."""
        kind, matrix = shared
        if kind == "gram" and not self._hard:
            return KernelSource(table.rows, matrix, among, single=matrix.dtype == np.float32)
        own = np.ascontiguousarray(matrix[np.ix_(among, among)], dtype=np.float64)
        return KernelSource(table.rows, own if kind == "gram" else np.exp(-self.gamma_ * own))

    def fit_folds(
        self, X: Any, y: Any, folds: Iterable[Fold], sample_weight: Any = None, transforms: Transforms = None
    ) -> Iterator[Any]:
        """One fitted clone per fold; the matrix of the kernel, or of distances, is made once where all folds have it in
        common and it is not too large."""
        chosen = list(folds)
        largest = max((train.shape[0] for train, _ in chosen), default=0)
        template = clone(self)
        if transforms is not None or largest == 0:
            yield from super().fit_folds(X, y, chosen, sample_weight, transforms)
            return
        template._check_parameters()
        rows = template._written(template._read(X, reset=True))
        shared = template._shared_kernel(rows, largest)
        if shared is None:
            yield from super().fit_folds(X, y, chosen, sample_weight, None)
            return
        weights = check_weights(type(self).__name__, sample_weight, rows.shape[0])
        yield from self._each_fold(template, rows, y, chosen, weights, shared)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Kernel rows of the support vectors, made more than once where the cache cannot hold them; a linear machine
        reads the rows some hundred times."""
        if self._by_primal(n_rows, n_features) or self.n_landmarks is not None:
            width = float(n_features if self.n_landmarks is None else int(self.n_landmarks))
            cells = n_rows * (width + 2.0)
            made = 0.0 if self.n_landmarks is None else 2e-10 * n_rows * width * (n_features + width + 30.0)
            return Cost(seconds=1e-3 + 1e-7 * cells + made, bytes=24.0 * cells)
        return svm_cost(n_rows, n_features, float(self.cache_bytes))

    def estimate_predict_cost(self, n_rows: int, n_features: int, n_queries: int) -> Cost:
        """A kernel value for each support vector, a third of the rows at a guess."""
        centres = n_rows / 3 if self.n_landmarks is None else min(n_rows, int(self.n_landmarks))
        pairs = n_queries * (1.0 if self._is_linear else float(centres))
        return Cost(seconds=1e-10 * pairs * (n_features + 20.0), bytes=16.0 * n_queries * n_features + 1e7)


def in_columns(found: DualSolution, rows: np.ndarray, place: np.ndarray) -> DualSolution:
    """The solution of a linear machine with the coefficients of the columns, and the constant that goes with them;
    `place` are the numbers of the rows in the Gram matrix, which is that of rows about some centre."""
    beta = found.beta.reshape(-1, rows.shape[0]).sum(axis=0)
    used = np.flatnonzero(beta)
    coef = np.zeros(rows.shape[1])
    if used.size:  # beta sums to zero, so any centre gives the same
        coef = np.einsum("j,jk->k", beta[used], rows[used] - rows[used].mean(axis=0))
    moved = float(np.mean(np.einsum("ij,j->i", rows, coef) - found.f[place]))
    return replace(found, offset=found.offset - moved, coef=coef)


def as_dual(found: LinearSolution, beta: np.ndarray) -> DualSolution:
    """The solution of a linear machine as the dual has it, with these beta."""
    status = "converged" if found.converged else "max_iter"
    made = (found.intercept, -found.dual, found.violation, found.n_iter, status)
    return DualSolution(beta, np.empty(0), *made, coef=found.coef)
