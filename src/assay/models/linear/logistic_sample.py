"""Logistic regression on many rows, from the fit to a sample: two passes over all rows where Newton takes six.

With f the objective on all rows, s that on a sample (scaled to the same weight), and b the optimum of s, one pass over
the rows gives the gradient and the Hessian of f at b. The surrogate

    s(c) + (grad f(b) - grad s(b)) (c - b) + (c - b)' (Hess f(b) - Hess s(b)) (c - b) / 2

agrees with f at b in both, and has the sample's higher derivatives (Jordan, Lee & Yang 2019, with the Hessian). Its
minimum, found in memory, is nearer to that of f than a Newton step by the relative error of the sample's third
derivative; a second pass over all rows there is a Newton step of its own, and says how near. Whatever the sample is,
the iteration goes on until all rows agree: a bad one costs passes, never the optimum.

Two classes in files need no second pass over these: of the gradient at c, all that the first pass does not give is

    grad f(c) - grad f(b) - Hess f(b) (c - b) = sum_i w_i rho_i x_i,    rho_i of the order of ((c - b) x_i)^2,

which knows no labels and is small, so that rows kept as 16-bit codes give it. The error is bounded by sums of the same
pass (`_kernels.coded_remainder`); where gradient and bound together are above `tol`, the second pass is made.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ... import _kernels
from ...base import Trace
from ...base.batches import Along, BatchedTable, CodedLabels, Sample
from ...base.coded_rows import MOST_CODE, CodedBlock, Coding
from ...numeric.newton import damped_newton
from .batch_rows import logistic_block
from .logistic_solver import AbsoluteProblem, Point, Problem, Solution, Start, Task, solve, way_to_solve
from .standardised import NO_ROWS, NO_WEIGHTS, LogisticTerms, Some, centre_and_spread, or_empty
from .tables import table_of

STRIDED_ROWS = 2**16
"""Rows of a sample from a table that was read before."""
STRETCHED_ROWS = 2**18
"""Rows of a sample from files, in stretches, which are less alike than single rows."""

FEW_ROWS, FEWEST_ROWS = 2**14, 2**12
"""Rows of a sample of a table in memory: a twelfth of all, within these."""
LEAST_WORK = 2**24
"""Products in the Hessian of all rows from which such a sample is worth its own steps."""
FEW_OF_A_CLASS = 200
"""Rows that each class must have in such a sample: with fewer its optimum lies far from that of all rows."""
LOOSE_TOL = 1e-5
"""Accuracy of the fit to such a sample, whose optimum is not that of all rows."""

MOST_BESIDE = 64**2
"""Products of a row in the Hessian up to which one thread sums while the others decode."""

CODED_BYTES = 2**30
"""Bytes of codes up to which the rows of files are kept so, two of them a cell."""
HELD_BYTES = 2**27
"""Bytes of codes up to which they are kept in memory, not in a scratch file."""
ROOM = 3.0
"""How many times the largest cell of the sample a cell may be to have a code."""
SURE = 8.0
"""Standard deviations that the error of codes is taken to be: beyond them it is once in 3e13."""

MOST_APART = 4.0
"""How many times a column's spread may be that of the sample, or the other way round, and its mean lie away."""


@dataclass(frozen=True, eq=False)
class SampleFit:
    """A sample of the rows, how near its fit goes to the optimum, and that optimum, once it is found; if the first pass
    over all rows was made there, how it measured columns and the sums that it gave."""

    task: Task
    tol: float
    of: int = 0
    start: Any = None
    centre: Any = None
    spread: Any = None
    inverse: Any = None
    sums: tuple[Any, ...] | None = None
    coding: Coding | None = None

    def search(self, max_iter: int) -> tuple[Task, float, int, Trace, None]:
        """What `solve` takes to find the optimum."""
        return self.task, self.tol, max_iter, Trace(False), None


def _with_optimum(sample: SampleFit, found: Solution) -> SampleFit | None:
    """A sample with what was found for it; None where that is no optimum."""
    if found.status != "converged" or found.dependent.size:
        return None
    return replace(sample, start=(found.coef, found.intercept))


def sample_of_batches(batches: Any, settings: Task, tol: float) -> tuple[SampleFit, np.ndarray] | None:
    """A sample of some batches, to be fitted before their first pass, and the labels in it; None where that is not
    possible, or not worth it. `settings` is a task without rows."""
    sample: Sample | None = batches.sample(STRETCHED_ROWS) if hasattr(batches, "sample") else None
    if sample is None or not np.isfinite(sample.rows).all():
        return None
    if isinstance(sample.target, CodedLabels):
        labels, codes = sample.target.labels, sample.target.codes
    else:
        labels, codes = np.unique(sample.target, return_inverse=True)
    outputs = 1 if labels.shape[0] == 2 else labels.shape[0]
    n, p = sample.rows.shape
    if labels.shape[0] < 2 or n <= 10 * outputs * p:
        return None
    # Per row the penalty weighs as it does on all rows.
    share = max(1.0, sample.of / n)
    task = replace(
        settings,
        X=sample.rows,
        codes=codes.astype(np.int32),
        weights=sample.weights,
        n_classes=labels.shape[0],
        C=settings.C * share,
    )
    return SampleFit(task, tol, sample.of), labels


def look_first(batches: Any, sample: SampleFit, labels: np.ndarray, found: Solution) -> BatchedTable | None:
    """The table of some batches, with the sums of its first pass taken where the sample has its optimum, if it has."""
    fit = _with_optimum(sample, found)
    if fit is None:
        return None
    task, problem = fit.task, Problem(fit.task, fit.tol, Trace(False))
    spread = np.where(problem.active, problem.scale, 0.0)
    fit = replace(fit, centre=problem.centre, spread=spread, inverse=problem.inverse)
    terms = LogisticTerms(NO_ROWS, NO_WEIGHTS, problem.centre, problem.inverse, task.fit_intercept, task.n_classes)
    at = np.ascontiguousarray(problem.standard(found.coef, found.intercept))
    # Where decoding takes longer than the sums, these leave the other threads to it: waiting for each other costs both.
    products = (task.outputs * problem.columns) ** 2
    asked: dict[str, Any] = {"hessian": True, "probabilities": False}
    asked["threads"] = 1 if products <= MOST_BESIDE else task.threads
    work = functools.partial(logistic_block, terms=terms, coefficients=at, **asked)
    fit = replace(fit, coding=_coding(fit, problem))
    table: BatchedTable = batches.decoded(Along(work, labels, fit.coding))
    if table.along is not None and _measures(fit, table) and all(np.isfinite(part).all() for part in table.along[:4]):
        table.first = replace(fit, sums=table.along)
    return table


def _coding(fit: SampleFit, problem: Problem) -> Coding | None:
    """How all rows are kept as codes while they are read; None where they would be too many, or are read again anyway:
    for a third class, or for the likelihood of a fit without penalty."""
    X: Any = fit.task.X
    size = 2 * fit.of * X.shape[1]
    if fit.task.n_classes != 2 or not problem.penalised or size > CODED_BYTES:
        return None
    farthest = np.maximum(X.max(axis=0) - problem.centre, problem.centre - X.min(axis=0))
    most = ROOM * farthest * problem.inverse
    return Coding.within(problem.centre, problem.inverse, most, fit.task.threads, on_disk=size > HELD_BYTES)


def _measures(fit: SampleFit, table: BatchedTable) -> bool:
    """Whether the sample's centre and spread of each column suit all rows: a cell far out may lie beyond it."""
    mean, variance, _ = table.moments(None, 1)
    centre, spread, _ = centre_and_spread(mean, variance, fit.task.fit_intercept)
    constant = table.facts.low == table.facts.high
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.abs(centre - fit.centre) <= MOST_APART * fit.spread
        alike = (spread <= MOST_APART * fit.spread) & (fit.spread <= MOST_APART * spread)
    return bool(np.where(fit.spread == 0.0, constant, near & alike).all())


def sample_of(task: Task, tol: float) -> SampleFit | None:
    """The sample whose fit comes first, or what is known of it; None where there is none, it would be all rows, or it
    lacks rows of some class."""
    if not begins_at_sample(task):
        return None
    rows, of_a_class, table = STRIDED_ROWS, 1, table_of(task.X)
    if not table.streamed:
        rows, of_a_class, tol = _sample_size(task), FEW_OF_A_CLASS, max(tol, LOOSE_TOL)
    elif table.X.first is not None:
        return table.X.first
    n = task.codes.shape[0]
    chosen = np.arange(0, n, max(1, n // rows))
    codes = task.codes[chosen]
    if chosen.shape[0] == n or np.bincount(codes, minlength=task.n_classes).min() < of_a_class:
        return None
    weights = None if task.weights is None else task.weights[chosen]
    # Per row the penalty weighs as it does on all rows.
    share = n / chosen.shape[0]
    return SampleFit(replace(task, X=task.X[chosen], codes=codes, weights=weights, C=task.C * share), tol)


class Surrogate(Problem):
    """The objective on a sample, with the gradient and the Hessian that all rows have at one point."""

    def __init__(self, whole: Problem, there: Point, sample: Task) -> None:
        # Columns are measured, and penalised, as on all rows.
        vars(self).update(vars(whole))
        weights = np.ones(sample.codes.shape[0]) if sample.weights is None else sample.weights
        self.weights = weights * (whole.total / float(weights.sum()))
        self.task, self.trace = replace(sample, weights=self.weights, C=whole.task.C), Trace(False)
        self.table = table_of(sample.X, None)
        self.terms = self.terms._replace(codes=sample.codes, weights=self.weights)
        self.passes = self.table.logistic_passes(self.terms)
        self.there = there.coefficients
        sums = self.passes.sums(coefficients=self.there, hessian=True, probabilities=False, threads=sample.threads)
        own = super().point(self.there, sums)
        self.shift, self.curvature = there.gradient - own.gradient, there.hessian - own.hessian
        self.begin = replace(own, gradient=there.gradient, hessian=there.hessian)

    def point(self, coefficients: np.ndarray, sums: tuple[Any, ...]) -> Point:
        """The surrogate and its derivatives."""
        point = super().point(coefficients, sums)
        way = (coefficients - self.there).ravel()
        curved = self.curvature @ way
        point.value += float(self.shift.ravel() @ way + 0.5 * (way @ curved))
        point.gradient += self.shift + curved.reshape(self.shift.shape)
        if self.kept is None:
            point.hessian = point.hessian + self.curvature
        return point


class AbsoluteSurrogate(Surrogate, AbsoluteProblem):
    """The same with an absolute penalty."""


@dataclass
class CodedPoint(Point):
    """With how far the gradient may be off, because rows are codes."""

    error: float


class CodedProblem(Problem):
    """The objective on all rows by its second-order model at one point and what their codes add to it. Steps take the
    Hessian that the sample's surrogate has near the optimum: whatever it is, the gradient says when they end."""

    dense = False

    def __init__(self, whole: Problem, there: Point, rows: BatchedTable, coding: Coding, near: Point) -> None:
        vars(self).update(vars(whole))
        # One half is left for the error of the codes.
        self.tol, self.there, self.near_optimum = 0.5 * whole.tol, there, near
        self.rows, self.coding = rows, coding

    def at(self, coefficients: np.ndarray) -> Point:
        """The objective and its gradient, with the Hessian of the surrogate."""
        there, way = self.there, coefficients[0] - self.there.coefficients[0]
        between = there.coefficients[0].copy(), way
        work = functools.partial(coded_block, coding=self.coding, intercept=self.task.fit_intercept, between=between)
        sums = self.rows.total(work, self.task.weights)
        error = error_of_codes(self.coding, between, sums, self.total, self.rows.shape[0])
        curved = there.hessian @ way + self.penalty * way
        near = self.near_optimum
        return CodedPoint(
            coefficients,
            there.value + float(there.gradient[0] @ way + 0.5 * (way @ curved)) + sums[0],
            there.gradient + (curved + sums[3])[None],
            near.hessian,
            there.probabilities,
            there.separated,
            near.hessian_at,
            float(error.max()) / self.total,
        )

    def verdict(self, point: Point, step: np.ndarray, slope: float, damping: float) -> str | None:
        """As with all rows; 'coarse' where codes do not tell the gradient well enough."""
        if isinstance(point, CodedPoint) and not point.error <= self.tol:
            return "coarse"
        return super().verdict(point, step, slope, damping)


def coded_block(
    block: CodedBlock, weights: Some, coding: Coding, intercept: bool, between: tuple[np.ndarray, np.ndarray]
) -> tuple[Any, ...]:
    """What codes of one block add to the second-order model."""
    return _kernels.coded_remainder(
        block.codes, coding.unit, or_empty(weights), intercept, block.key, block.first, *between, coding.threads
    )


def error_of_codes(
    coding: Coding, between: tuple[np.ndarray, np.ndarray], sums: tuple[Any, ...], total: float, rows: int
) -> np.ndarray:
    """How far the gradient of the remainder may be off, because rows are codes."""
    _, slack, slack_square, gradient, spread = sums
    unit = np.append(coding.unit, 0.0)[: gradient.shape[0]]
    most = np.append(MOST_CODE * coding.unit, 1.0)[: gradient.shape[0]]
    shifted, moved = (0.5 * float(unit @ np.abs(b)) for b in between)
    by_chance = SURE * np.sqrt(2.0 * (0.25 * unit**2 * slack_square + spread))
    of_second_order = 0.5 * unit * slack + 0.0482 * moved**2 * total * most + 1.4 * shifted * np.sqrt(rows * spread)
    return by_chance + of_second_order


def begins_at_sample(task: Task) -> bool:
    """Whether a fit to a sample comes first: of a table in blocks, or of so many rows of an array that it is worth its
    passes. Without a penalty, the first pass over an array is at 0, to tell which columns depend on others."""
    table = table_of(task.X)
    if table.streamed:
        return True
    if table.by_column or task.rows is not None or not np.isfinite(task.C):
        return False
    narrow = way_to_solve(task)[1] == "newton" and 40 * task.outputs * task.X.shape[1] <= _sample_size(task)
    work = task.X.shape[0] * (task.outputs * (task.X.shape[1] + 1)) ** 2
    return narrow and task.X.shape[0] >= 8 * FEWEST_ROWS and work >= LEAST_WORK


def _sample_size(task: Task) -> int:
    return min(FEW_ROWS, max(FEWEST_ROWS, task.X.shape[0] // 12))


def way_from(sample: SampleFit | None, found: Solution | None, task: Task, start: Start) -> tuple[Callable, Any]:
    """How the optimum is found after that of a sample, if there is one, and from what: by its surrogate, or beginning
    where it lies; else from `start`."""
    if sample is not None and found is not None:
        sample = _with_optimum(sample, found)
    if sample is None:
        return solve, start
    kind, way = way_to_solve(task)
    return (solve_from_sample, sample) if way == "newton" and kind.dense else (solve, sample.start)


def solve_from_sample(task: Task, tol: float, max_iter: int, trace: Trace, fit: SampleFit) -> Solution:
    """The optimum of a table in blocks, or of many rows in memory, from that of a sample."""
    problem, steps, point = way_to_solve(task)[0](task, tol, trace), 0, None
    if fit.sums is not None and np.array_equal(fit.inverse, problem.inverse):
        point = problem.point(np.ascontiguousarray(problem.standard(*fit.start)), fit.sums)
        if not problem.penalised and problem.nearly_dependent(point):
            point = None
    if point is None:
        point = problem.start(fit.start)
    if not problem.dependent.size:
        surrogate = (AbsoluteSurrogate if problem.absolute else Surrogate)(problem, point, fit.task)
        end = damped_newton(surrogate, surrogate.begin, 20, **problem.limits)
        nearer = end.point.coefficients if end.last_step is None else end.point.coefficients + end.last_step
        rows = task.X.coded if isinstance(task.X, BatchedTable) else None
        if fit.coding is not None and rows is not None:
            coded = CodedProblem(problem, point, rows, fit.coding, end.point)
            last = damped_newton(coded, coded.at(nearer), max_iter, **problem.limits)
            if last.status == "converged":
                return coded.solution(last)
        reached = problem.at(np.ascontiguousarray(nearer))
        if reached.value <= point.value:
            point, steps = reached, 1
    found = problem.solution(damped_newton(problem, point, max_iter, **problem.limits))
    found.n_iter += steps
    return found
