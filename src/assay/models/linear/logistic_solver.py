"""Newton's method for logistic regression, on standardised columns with the penalty of the original scale.

Minimises  f(b) = sum_i w_i loss_i + sum_j b_j^2 / (2 C)  (intercepts free). With z = (x - centre) / scale and
g = b scale the same f has the penalty g_j^2 / (2 C scale_j^2): the solution is that of the raw columns, while the
linear systems stay well conditioned whatever the units. Each step comes from a Cholesky factor of the Hessian, or from
conjugate gradients when the Hessian is too large to form, and is halved until the objective does not rise. Where the
Hessian says nothing (far from the data's boundary all curvature vanishes) it is damped by a multiple of the identity.

An absolute penalty l1_ratio |b_j| / C (with (1 - l1_ratio) of the squared one) makes the step the minimum of the
quadratic model plus that penalty, by coordinate descent; where the Hessian would be too large, a working set of columns
is solved to the end and grows by those that violate their optimality condition. Two classes on a sparse table have a
kernel of their own, which descends on the columns without a Hessian.

Stops when the largest gradient component per unit of weight is at most `tol` and the Newton step at most sqrt(tol), or
when a step from the factored Hessian is at most sqrt(tol) / 10. That last step is still taken: the gradient it leaves
is of the order of its square, so below `tol` in either case. With a penalty, steps below `near` keep the Hessian of
the point before, so that a pass need not sum it: each then leaves a small share of the gradient, and the last one must
be shorter by as much as the Hessian's point is away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lapack

from ... import _kernels
from ...base import DataError, Trace
from ...numeric.newton import End, damped_newton
from ...numeric.newton import Point as SearchPoint
from ...numeric.solves import lifted_solve, mapped_covariance
from .proximal import MOST_SWEEPS, violations, worst_outside
from .sparse import MOST_LOGISTIC, SparseTable
from .standardised import LogisticTerms, or_empty
from .tables import table_of

_EPSILON = np.finfo(np.float64).eps
_IDLE_LIMIT = 5
_HALVINGS = 12
_PRODUCTS = 250
_DEPENDENT = 1e-11
_CLEAR = 1e-7


DENSE_LIMIT = 600
"""Unknowns up to which the Hessian is formed and factored."""
LEAST_TO_CHOOSE = 48
"""Columns from which a working set of them is cheaper than the Hessian of all."""
NEARLY = 0.8
"""The share of its penalty from which a column joins a working set that must grow."""
ROUGH = 1e-2
"""The share of the violation that the first working set is solved to."""


@dataclass(frozen=True)
class Task:
    """What to fit: rows (None for all), class codes and weights (None for 1) of every row of X, and the penalty.

    X is an array or a sparse table; of a sparse one all rows are fitted.
    """

    X: np.ndarray | SparseTable
    rows: np.ndarray | None
    codes: np.ndarray
    weights: np.ndarray | None
    n_classes: int
    C: float
    fit_intercept: bool
    reference: int | None
    threads: int
    l1_ratio: float = 0.0

    @property
    def outputs(self) -> int:
        """Rows of coefficients: one for two classes, else one per class."""
        return 1 if self.n_classes == 2 else self.n_classes


Start = tuple[np.ndarray, np.ndarray] | None
"""Coefficients and intercepts from which an iteration begins; None for zero."""


@dataclass
class Solution:
    """Coefficients in the units of the columns, and how the iteration ended: converged, max_iter, separated."""

    coef: np.ndarray
    intercept: np.ndarray
    n_iter: int
    status: str
    completely_separated: bool
    dependent: np.ndarray
    likelihood: Likelihood | None = None


@dataclass(frozen=True)
class Likelihood:
    """Of a fit without penalty: the log likelihood, and the covariance of [intercept, coefficients] of each class.

    The covariance is over the rows of `coef` one after the other; it is zero for coefficients that are held at 0.
    """

    log_likelihood: float
    n_parameters: int
    total: float
    covariance: np.ndarray
    spread: np.ndarray
    kept: np.ndarray


@dataclass
class Point(SearchPoint):
    """The objective and its derivatives at some coefficients."""

    gradient: np.ndarray
    hessian: np.ndarray
    probabilities: np.ndarray
    separated: bool
    hessian_at: np.ndarray
    """Where the Hessian was summed: here, or at a point before that is near."""

    @property
    def gone(self) -> float:
        """How far the Hessian's point is away."""
        here = self.hessian_at is self.coefficients
        return 0.0 if here else float(np.abs(self.coefficients - self.hessian_at).max())


class Problem:
    """The objective in standardised coordinates and Newton's steps on it: the log loss with a squared penalty or none.

    Coefficients are an (outputs, columns + intercept) matrix; steps come from a Cholesky factor of the Hessian.
    """

    dense = True
    """Whether the Hessian is formed."""
    negligible = 1e-9
    near = 1e-3
    """How far from the last Hessian it is kept: its relative change is of that order."""

    def __init__(self, task: Task, tol: float, trace: Trace) -> None:
        self.task, self.tol, self.trace = task, tol, trace
        self.table = table_of(task.X, task.rows)
        self.weights = or_empty(task.weights)
        self.outputs = task.outputs
        self.columns = task.X.shape[1] + int(task.fit_intercept)
        self.free = [k for k in range(self.outputs) if self.outputs == 1 or k != task.reference]
        self.symmetric = len(self.free) == self.outputs and self.outputs > 1
        self.absolute = is_absolute(task)
        self.penalised = bool(np.isfinite(task.C))
        self.steepest, self.idle = np.inf, 0
        self.kept: Point | None = None
        self.dependent = np.empty(0, dtype=np.int64)
        if self.absolute and self.outputs > 1:  # two classes have a kernel that gathers what it needs
            self.table.expect_columns()
        self.centre, spread, self.total = self.table.standardise(task.weights, task.fit_intercept, task.threads)
        _require_range(spread)
        self.active = spread > 1e-290
        self.scale = np.where(self.active, spread, 1.0)  # any scale is right; a good one is near the spread
        with np.errstate(over="ignore", divide="ignore"):
            strength = (1.0 - task.l1_ratio) / task.C
            penalty = (1.0 / self.scale) ** 2 * strength if strength > 0.0 else np.zeros_like(self.scale)
            l1 = task.l1_ratio / task.C / self.scale
        self.active &= (penalty < 1e200) & (l1 < 1e200)  # beyond that the coefficient is 0 to double precision
        l1 = np.where(self.active, l1, 0.0)
        self.l1 = np.append(l1, 0.0) if task.fit_intercept else l1
        penalty = np.where(self.active, penalty, 1.0)  # 1 for columns that are held at 0
        self.penalty = np.append(penalty, 0.0) if task.fit_intercept else penalty
        self.inverse = np.where(self.active, 1.0 / self.scale, 0.0)
        self.terms = LogisticTerms(
            task.codes, self.weights, self.centre, self.inverse, task.fit_intercept, task.n_classes
        )
        self.passes = self.table.logistic_passes(self.terms)

    def start(self, given: tuple[np.ndarray, np.ndarray] | None) -> Point:
        """At 0, or at some coefficients and intercepts; without a penalty, dependent columns are held at 0."""
        self._prepare()
        coefficients = np.zeros((self.outputs, self.columns))
        if not self.penalised and self.dense and (given is None or self.table.streamed):
            point = self.at(coefficients)
            if not self._drop_dependent(point) and given is None:
                return point
        return self.at(coefficients if given is None else self.standard(*given))

    def _prepare(self) -> None:
        """What the steps need beside the derivatives: nothing."""

    @property
    def limits(self) -> dict[str, Any]:
        """Where the Newton iteration gives up."""
        return {"halvings": _HALVINGS, "negligible": self.negligible, "most_damping": self.columns}

    def at(self, coefficients: np.ndarray) -> Point:
        """The objective and its derivatives; near the optimum with the Hessian of a point before."""
        wanted = self.dense and self.kept is None
        sums = self.passes.sums(
            coefficients=np.ascontiguousarray(coefficients),
            hessian=wanted,
            probabilities=not self.dense,
            threads=self.task.threads,
        )
        point = self.point(coefficients, sums)
        if self.kept is not None:
            point.hessian, point.hessian_at = self.kept.hessian, self.kept.hessian_at
        return point

    def _keep_hessian(self, point: Point, step: np.ndarray, damping: float) -> None:
        """Of a point that the step leaves by little."""
        gone = float(np.abs(point.coefficients + step - point.hessian_at).max())
        self.kept = point if self.penalised and damping == 0.0 and gone <= self.near else None

    def point(self, coefficients: np.ndarray, sums: tuple[Any, ...]) -> Point:
        """The objective and its derivatives from sums over the rows."""
        loss, not_right, gradient, hessian, probabilities = sums
        value = loss + 0.5 * float((self.penalty * coefficients**2).sum())
        if self.absolute:
            value += float((self.l1 * np.abs(coefficients)).sum())
        gradient = gradient + self.penalty * coefficients
        return Point(coefficients, value, gradient, hessian, probabilities, not_right == 0.0, coefficients)

    def nearly_dependent(self, point: Point) -> bool:
        """Whether columns may be linear combinations of others, by the curvature at any point: the Gram matrix says."""
        blocks = point.hessian.reshape(self.outputs, self.columns, self.outputs, self.columns)
        used = np.append(self.active, True)[: self.columns]
        gram = blocks[self.free[0], :, self.free[0], :][np.ix_(used, used)]
        size = np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
        return bool(lapack.dpstrf(gram / np.outer(size, size), lower=1, tol=_CLEAR)[2] < gram.shape[0])

    def _drop_dependent(self, point: Point) -> bool:
        """Hold columns that are linear combinations of others at 0, if any; needs the point at coefficients 0.

        There all rows have the same curvature, so that a diagonal block of the Hessian is the Gram matrix of the
        standardised columns, up to a factor; its pivoted Cholesky factor names the dependent ones.
        """
        count = self.columns
        gram = point.hessian[:count, :count]
        size = np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
        _, pivots, rank, _ = lapack.dpstrf(gram / np.outer(size, size), lower=1, tol=_DEPENDENT)
        dependent = np.zeros(count, dtype=bool)
        dependent[pivots[rank:] - 1] = True
        self.dependent = np.flatnonzero(dependent[: self.task.X.shape[1]] & self.active)
        if self.dependent.size:
            self.active[self.dependent] = False
            self.penalty[self.dependent], self.inverse[self.dependent] = 1.0, 0.0
            self.passes = self.table.logistic_passes(self.terms)
        return bool(self.dependent.size)

    def step(self, point: Point, damping: float) -> np.ndarray:
        """Solve (Hessian + damping * weight * identity) * step = -gradient over the free classes."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._solve(point.hessian, point.gradient[self.free], self.penalty + damping * self.total)
        step = self._over_all(-found)
        self._keep_hessian(point, step, damping)
        return step

    def _over_all(self, found: np.ndarray) -> np.ndarray:
        """A step of the free classes as one of all."""
        step = np.zeros((self.outputs, self.columns))
        step[self.free] = found
        return step - step.mean(axis=0) if self.symmetric else step

    def _free_blocks(self, hessian: np.ndarray, count: int) -> np.ndarray:
        """A copy of the Hessian over the classes that are not the reference."""
        classes = len(self.free)
        if classes < self.outputs:
            blocks = hessian.reshape(self.outputs, count, self.outputs, count)
            hessian = blocks[np.ix_(self.free, range(count), self.free, range(count))]
        return np.array(hessian).reshape(classes * count, classes * count)

    def covariance(self, hessian: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Inverse information over [intercept, coefficients] of each class in the units of the columns, the roots of
        its diagonal, and what is fitted. Classes are compared with one of them (the reference, else the first); the
        symmetric form follows."""
        columns, used = self.task.X.shape[1], np.append(self.active, True)[: self.columns]
        kept = np.flatnonzero(used)
        base = self.task.reference if self.task.reference is not None else 0
        others = [0] if self.outputs == 1 else [k for k in range(self.outputs) if k != base]
        index = (np.array(others)[:, None] * self.columns + kept).ravel()
        scaled = hessian[np.ix_(index, index)]
        size = 1.0 / np.sqrt(np.maximum(np.diag(scaled), np.finfo(float).tiny))
        try:
            factor = cho_factor(scaled * size[:, None] * size, lower=True, check_finite=False)
            inverse = cho_solve(factor, np.diag(size), check_finite=False) * size[:, None]
        except LinAlgError:  # separated classes: no curvature is left
            inverse = np.full_like(scaled, np.inf)
        change = np.zeros((1 + columns, self.columns))
        change[1 + np.arange(columns), np.arange(columns)] = 1.0 / self.scale
        if self.task.fit_intercept:
            change[0, -1] = 1.0
            change[0, :-1] = -self.centre / self.scale
        one = change[:, kept]
        between = np.eye(1) if self.outputs == 1 else np.eye(self.outputs)[:, others]
        if self.symmetric:
            between = between - between.mean(axis=0)
        full, spread = mapped_covariance(np.kron(between, one), inverse)
        return np.nan_to_num(full, nan=np.inf, posinf=np.inf), np.nan_to_num(spread, nan=np.inf, posinf=np.inf), used

    def _solve(self, hessian: np.ndarray, gradient: np.ndarray, ridge: np.ndarray) -> np.ndarray:
        classes, count = gradient.shape
        hessian = self._free_blocks(hessian, count)
        diagonal = np.einsum("ii->i", hessian)
        diagonal += np.tile(ridge, classes)
        if self.symmetric:
            # Adding the same vector to every class changes no probability; at zero class sums the gradient has no
            # part along it, so that curvature put there leaves the step alone and makes the system definite.
            lift = diagonal.reshape(classes, count).mean(axis=0)
            same_column = np.einsum("kjlj->klj", hessian.reshape(classes, count, classes, count))
            same_column += lift
        return lifted_solve(hessian, gradient.ravel()).reshape(classes, count)

    def standard(self, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Coefficients of the raw columns in standardised coordinates."""
        scaled = np.where(self.active, coef * self.scale, 0.0)
        if not self.task.fit_intercept:
            return scaled
        return np.column_stack([scaled, intercept + np.einsum("kj,j->k", coef, self.centre)])

    def raw(self, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and intercepts in the units of the columns."""
        coef = np.where(self.active, coefficients[:, : self.scale.shape[0]] / self.scale, 0.0)
        if not self.task.fit_intercept:
            return coef, np.zeros(coef.shape[0])
        # Not by BLAS: it would wake its threads for a single row, and they spin for a while.
        return coef, coefficients[:, -1] - np.einsum("kj,j->k", coef, self.centre)

    def slope(self, point: Point, step: np.ndarray) -> float:
        """The change of the objective along the step, to first order."""
        return float((point.gradient * step).sum())

    def verdict(self, point: Point, step: np.ndarray, slope: float, damping: float) -> str | None:
        """Whether the step is the last, by its size and that of the gradient, or the classes are separated."""
        self.steepest = float(np.abs(point.gradient[self.free]).max()) / self.total
        longest = float(np.abs(step).max())
        self.trace.record("newton", objective=point.value, gradient=self.steepest, newton_step=longest, damping=damping)
        if damping > 0.0:
            return None
        small = np.sqrt(self.tol) * max(1.0, float(np.abs(point.coefficients).max()))
        gone = point.gone
        shortest = 0.1 * small if gone == 0.0 else min(0.1 * small, 0.01 * self.tol / gone)
        settled = (self.steepest <= self.tol and longest <= small) or (self.dense and longest <= shortest)
        if settled or -slope <= 8 * _EPSILON * abs(point.value):
            return "converged"
        if self.steepest <= self.tol and not self.penalised:
            self.idle += 1
            if point.separated or self.idle >= _IDLE_LIMIT:
                return "separated"
        return None

    def moved(self, length: float, damping: float) -> None:
        """Nothing is kept of a step."""

    def stuck(self, point: Point) -> str:
        """What it is called when no step leads down."""
        return "converged" if self.steepest <= np.sqrt(self.tol) else "stalled"

    def solution(self, end: End[Point]) -> Solution:
        """What was found where the iteration ended; without a penalty, with the likelihood."""
        point, final = end.point, end.point.coefficients
        if end.last_step is not None:
            final = final + end.last_step
        coef, intercept = self.raw(final)
        likelihood = None
        if not self.penalised and self.dense:
            last = self.at(final)
            covariance, spread, kept = self.covariance(last.hessian)
            n_parameters = max(1, self.outputs - 1) * int(kept.sum())
            kept_columns = kept[: self.task.X.shape[1]]
            likelihood = Likelihood(-last.value, n_parameters, self.total, covariance, spread, kept_columns)
        return Solution(coef, intercept, end.n_iter, end.status, point.separated, self.dependent, likelihood)


class WideProblem(Problem):
    """Too many unknowns for a Hessian: steps by conjugate gradients on its products."""

    dense = False
    gram: np.ndarray | None = None

    def _prepare(self) -> None:
        """The Gram matrix of the standardised columns, by which the products are conditioned, if it is not too large:
        four times the Hessian of two classes at 0."""
        if self.columns <= MOST_LOGISTIC:
            one_class = np.zeros(self.task.X.shape[0], dtype=np.int32)
            passes = self.table.logistic_passes(self.terms._replace(codes=one_class, classes=2))
            zeros = np.zeros((1, self.columns))
            sums = passes.sums(coefficients=zeros, hessian=True, probabilities=False, threads=self.task.threads)
            self.gram = 4.0 * sums[3]

    def step(self, point: Point, damping: float) -> np.ndarray:
        """Preconditioned conjugate gradients; the forcing term shrinks with the gradient: superlinear convergence."""
        gradient, ridge = point.gradient[self.free], self.penalty + damping * self.total
        curvature = float((point.probabilities * (1.0 - point.probabilities)).mean())
        condition = self._conditioner(max(curvature, 1e-12), ridge)
        target = min(0.1, float(np.sqrt(np.abs(gradient).max() / self.total)))
        solution, residual = np.zeros_like(gradient), gradient.copy()
        conditioned = condition(residual)
        direction = conditioned.copy()
        power = float((residual * conditioned).sum())
        first = power
        full = np.zeros((self.outputs, self.columns))
        for _ in range(_PRODUCTS):
            if power <= target**2 * first or power <= 0.0:
                break
            full[self.free] = direction
            product = self.passes.hessian_product(point.probabilities, direction=full, threads=self.task.threads)
            product = product[self.free]
            product += ridge * direction
            curvature_along = float((direction * product).sum())
            if curvature_along <= 0.0:
                break
            length = power / curvature_along
            solution += length * direction
            residual -= length * product
            conditioned = condition(residual)
            before, power = power, float((residual * conditioned).sum())
            direction = conditioned + (power / before) * direction
        return self._over_all(-(solution if solution.any() else condition(gradient)))

    def _conditioner(self, curvature: float, ridge: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The inverse of the Hessian as it would be if all rows and classes had the same curvature."""
        if self.gram is None:
            scale = 1.0 / (self.total * curvature + ridge)
            return lambda gradient: scale * gradient
        matrix = curvature * self.gram
        diagonal = np.einsum("ii->i", matrix)
        diagonal += ridge
        diagonal *= 1.0 + 1e-10
        factor = cho_factor(matrix, lower=True, check_finite=False)
        return lambda gradient: cho_solve(factor, gradient.T, check_finite=False).T


class AbsoluteProblem(Problem):
    """Proximal Newton: steps of the quadratic model with the absolute penalty."""

    negligible = 1e-12
    near = 1e-2

    def step(self, point: Point, damping: float) -> np.ndarray:
        """The step to the minimum of the quadratic model with the absolute penalty."""
        classes, before = len(self.free), point.coefficients[self.free].ravel()
        gradient = point.gradient[self.free]
        wrong = violations(gradient, point.coefficients[self.free], self.l1)
        self.steepest = float(wrong.max()) / self.total
        hessian = self._free_blocks(point.hessian, self.columns)
        diagonal = np.einsum("ii->i", hessian)
        diagonal += np.tile(self.penalty, classes) + damping * diagonal
        accuracy = 1e-2 * min(self.tol, self.steepest) * self.total
        found, _ = _kernels.penalised_quadratic(
            hessian, gradient.ravel(), np.tile(self.l1, classes), before, accuracy, MOST_SWEEPS
        )
        step = np.zeros_like(point.gradient)
        step[self.free] = (found - before).reshape(classes, self.columns)
        self._keep_hessian(point, step, damping)
        return step

    def slope(self, point: Point, step: np.ndarray) -> float:
        """The change of the objective along the step, to first order."""
        gain = self.l1 * (np.abs(point.coefficients + step) - np.abs(point.coefficients))
        return super().slope(point, step) + float(gain.sum())

    def verdict(self, point: Point, step: np.ndarray, slope: float, damping: float) -> str | None:
        """Whether no coefficient violates its condition of optimality by more than `tol`."""
        longest = float(np.abs(step).max())
        self.trace.record("newton", objective=point.value, gradient=self.steepest, newton_step=longest, damping=damping)
        return "converged" if self.steepest <= self.tol else None

    def solution(self, end: End[Point]) -> Solution:
        """What was found, with the last step if it leads down."""
        point = end.point
        if end.last_step is not None:
            last = self.at(point.coefficients + end.last_step)
            point = last if last.value <= point.value else point
        coef, intercept = self.raw(point.coefficients)
        if self.symmetric:  # the likelihood leaves the common level of the intercepts open
            intercept = intercept - intercept.mean()
        return Solution(coef, intercept, end.n_iter, end.status, point.separated, self.dependent)


def _require_range(spread: np.ndarray) -> None:
    """Refuse columns that cannot be standardised."""
    if not np.isfinite(spread).all():
        first = int(np.flatnonzero(~np.isfinite(spread))[0])
        raise DataError(
            "LogisticRegression", f"column {first}", "spans more than a double can hold", way_out="rescale the column"
        )


def is_absolute(task: Task) -> bool:
    """Whether the penalty has an absolute part."""
    return task.l1_ratio > 0.0 and bool(np.isfinite(task.C))


def narrow(task: Task) -> bool:
    """Whether the Hessian of all columns is formed."""
    return task.outputs * (task.X.shape[1] + int(task.fit_intercept or is_absolute(task))) <= DENSE_LIMIT


def chooses(task: Task, start: Start) -> bool:
    """Whether a working set is tried first on a narrow table too: its columns are copied, and few passes follow from a
    start that is near."""
    table = table_of(task.X)
    few = task.X.shape[1] < LEAST_TO_CHOOSE or table.by_column or table.streamed
    return start is None and is_absolute(task) and not few


def way_to_solve(task: Task) -> tuple[type[Problem], str]:
    """The problem, and how it is solved: by Newton steps, column by column in the kernel, or by working sets."""
    if is_absolute(task):
        if task.outputs == 1 and table_of(task.X).by_column:
            return Problem, "columns"
        return (AbsoluteProblem, "newton") if narrow(task) else (WideProblem, "working sets")
    return (Problem if narrow(task) else WideProblem), "newton"


def solve(task: Task, tol: float, max_iter: int, trace: Trace, start: Start) -> Solution:
    """The optimum, in the way that suits the task. Working sets: solve on the columns that matter, then add the worst
    violators of the others, until there are none."""
    kind, way = way_to_solve(task)
    if way == "newton" and chooses(task, start):
        kind, way = WideProblem, "working sets"
    problem = kind(task, tol, trace)
    if way == "columns":
        return solve_by_columns(problem, max_iter, start)
    if way == "newton":
        return problem.solution(damped_newton(problem, problem.start(start), max_iter, **problem.limits))
    coefficients = np.zeros((problem.outputs, problem.columns)) if start is None else problem.standard(*start)
    p, chosen, found, n_iter = task.X.shape[1], np.zeros(task.X.shape[1], dtype=bool), None, 0
    while True:
        gradient = problem.at(coefficients).gradient[problem.free]
        wrong, near = (
            np.where(problem.active, violations(gradient, coefficients[problem.free], l1)[:, :p].max(axis=0), 0.0)
            for l1 in (problem.l1, NEARLY * problem.l1)
        )
        chosen |= (coefficients[:, :p] != 0.0).any(axis=0)
        least = tol * problem.total
        # Columns that come near to mattering are taken along with those that do.
        fresh = worst_outside(chosen, near, least, 20) if ((wrong > least) & ~chosen).any() else chosen[:0]
        coef, intercept = problem.raw(coefficients)
        if found is not None and (not fresh.size or found.status != "converged"):
            return replace(found, coef=coef, intercept=intercept, n_iter=n_iter)
        rough = found is None and fresh.size > 0  # columns will be added: this round only leads the way
        accuracy = max(tol, ROUGH * float(wrong.max()) / problem.total) if rough else tol
        chosen[fresh] = True
        if 2 * int((chosen | (wrong > least)).sum()) > p and narrow(task):  # all columns, from the table as it is
            whole = AbsoluteProblem(task, tol, trace)
            found = whole.solution(damped_newton(whole, whole.start((coef, intercept)), max_iter, **whole.limits))
            return replace(found, n_iter=n_iter + max(found.n_iter, 1))
        columns = np.flatnonzero(chosen)
        part = AbsoluteProblem(replace(task, X=problem.table.columns(columns)), accuracy, trace)
        found = part.solution(damped_newton(part, part.start((coef[:, columns], intercept)), max_iter, **part.limits))
        n_iter += max(found.n_iter, 1)
        coef = np.zeros_like(coef)
        coef[:, columns] = found.coef
        coefficients = problem.standard(coef, found.intercept)


def solve_by_columns(objective: Problem, max_iter: int, start: Start) -> Solution:
    """Two classes on a sparse table: proximal Newton with coordinate descent on the columns, in the kernel."""
    task, p = objective.task, objective.task.X.shape[1]
    table, centre = objective.table.near(objective.centre, objective.inverse)
    centred = centre * objective.inverse
    begin = np.zeros(p + 1)
    if start is not None:
        scaled = objective.standard(*start)[0]
        begin[:p] = scaled[:p]
        begin[p] = scaled[-1] - np.einsum("j,j->", begin[:p], centred) if task.fit_intercept else 0.0
    status, separated, found, steps = _kernels.l1_logistic(
        table.by_row,
        task.codes,
        objective.weights,
        objective.inverse,
        objective.l1[:p],
        objective.penalty[:p],
        task.fit_intercept,
        begin,
        objective.tol,
        max_iter,
        task.threads,
    )
    for value, steepest, longest in steps.tolist():
        objective.trace.record("newton", objective=value, gradient=steepest, newton_step=longest, damping=0.0)
    coefficients = found[None, :p] if not task.fit_intercept else found[None, :].copy()
    if task.fit_intercept:
        coefficients[0, p] += np.einsum("j,j->", found[:p], centred)
    coef, intercept = objective.raw(coefficients)
    name = ("max_iter", "converged", "stalled")[status]
    return Solution(coef, intercept, len(steps) - 1, name, separated, np.empty(0, dtype=np.int64))


def probabilities_of(decision: Any) -> np.ndarray:
    """Class probabilities from decisions: rows of log odds (two classes) or of one value per class.

    >>> probabilities_of(np.array([[1.0, 2.0, 3.0], [101.0, 102.0, 103.0]])).round(3)
    array([[0.09 , 0.245, 0.665],
           [0.09 , 0.245, 0.665]])
    """
    return np.exp(log_probabilities_of(decision))


def log_probabilities_of(decision: Any) -> np.ndarray:
    """Logarithms of the class probabilities, exact where the probabilities themselves underflow.

    >>> log_probabilities_of(np.array([1000.0]))
    array([[-1000.,    -0.]])
    """
    values = np.asarray(decision, dtype=np.float64)
    if values.ndim == 1:
        return -np.logaddexp(0.0, np.column_stack([values, -values]))
    shifted = values - values.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
