"""Logistic regression on many rows, from the fit to a sample: two passes over all rows where Newton takes six.

With f the objective on all rows, s that on a sample (scaled to the same weight), and b the optimum of s, one pass over
the rows gives the gradient and the Hessian of f at b. The surrogate

    s(c) + (grad f(b) - grad s(b)) (c - b) + (c - b)' (Hess f(b) - Hess s(b)) (c - b) / 2

agrees with f at b in both, and has the sample's higher derivatives (Jordan, Lee & Yang 2019, with the Hessian). Its
minimum, found in memory, is nearer to that of f than a Newton step by the relative error of the sample's third
derivative; a second pass over all rows there is a Newton step of its own, and says how near. Whatever the sample is,
the iteration goes on until all rows agree: a bad one costs passes, never the optimum.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...base import Trace
from ...base.batches import Along, BatchedTable, CodedLabels, Sample
from ...numeric.newton import damped_newton
from .batch_rows import logistic_block
from .logistic_solver import AbsoluteProblem, Point, Problem, Solution, Start, Task, solve, way_to_solve
from .standardised import NO_ROWS, NO_WEIGHTS, LogisticTerms, centre_and_spread
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

MOST_APART = 4.0
"""How many times a column's spread may be that of the sample, or the other way round, and its mean lie away."""


@dataclass(frozen=True, eq=False)
class SampleFit:
    """A sample of the rows, how near its fit goes to the optimum, and that optimum, once it is found; if the first pass
    over all rows was made there, how it measured columns and the sums that it gave."""

    task: Task
    tol: float
    start: Any = None
    centre: Any = None
    spread: Any = None
    inverse: Any = None
    sums: tuple[Any, ...] | None = None

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
    return SampleFit(task, tol), labels


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
    work = functools.partial(logistic_block, terms=terms, asked=(at, True, False, task.threads))
    table: BatchedTable = batches.decoded(Along(work, labels))
    if table.along is not None and _measures(fit, table) and all(np.isfinite(part).all() for part in table.along[:4]):
        table.first = replace(fit, sums=table.along)
    return table


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
    rows, of_a_class = STRIDED_ROWS, 1
    if not isinstance(task.X, BatchedTable):
        rows, of_a_class, tol = _sample_size(task), FEW_OF_A_CLASS, max(tol, LOOSE_TOL)
    elif task.X.first is not None:
        return task.X.first
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
        own = super().point(self.there, self.passes.sums(self.there, True, False, sample.threads))
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


def begins_at_sample(task: Task) -> bool:
    """Whether a fit to a sample comes first: of a table in blocks, or of so many rows of an array that it is worth its
    passes. Without a penalty, the first pass over an array is at 0, to tell which columns depend on others."""
    if isinstance(task.X, BatchedTable):
        return True
    if not isinstance(task.X, np.ndarray) or task.rows is not None or not np.isfinite(task.C):
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
        reached = problem.at(np.ascontiguousarray(nearer))
        if reached.value <= point.value:
            point, steps = reached, 1
    found = problem.solution(damped_newton(problem, point, max_iter, **problem.limits))
    found.n_iter += steps
    return found
