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
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...base import Trace
from ...base.batches import Along, BatchedTable, CodedLabels, Sample
from ...numeric.newton import damped_newton
from .batch_rows import logistic_block
from .logistic_solver import AbsoluteProblem, Point, Problem, Solution, Start, Task, solve, way_to_solve
from .standardised import NO_ROWS, NO_WEIGHTS, LogisticTerms, centre_and_spread

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
    """A sample of the rows, its optimum, and, if the first pass over all rows was made there, how it measured columns
    and the sums that it gave."""

    task: Task
    start: tuple[np.ndarray, np.ndarray]
    centre: np.ndarray
    spread: np.ndarray
    inverse: np.ndarray
    sums: tuple[Any, ...] | None = None


def look_first(batches: Any, settings: Task, tol: float, max_iter: int) -> BatchedTable | None:
    """The table of some batches, with the sums of its first pass taken where a sample has its optimum; None where
    that is not possible, or not worth it. `settings` is a task without rows."""
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
    fit = sample_fit(task, tol, max_iter)
    if fit is None:
        return None
    terms = LogisticTerms(NO_ROWS, NO_WEIGHTS, fit.centre, fit.inverse, task.fit_intercept, task.n_classes)
    problem = Problem(task, tol, Trace(False))
    at = np.ascontiguousarray(problem.standard(*fit.start))
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


def sample_of(task: Task, tol: float, max_iter: int, rows: int = STRIDED_ROWS, of_a_class: int = 1) -> SampleFit | None:
    """The fit to a sample of so many rows or a few more; None where it would be all, or lacks rows of some class."""
    n = task.codes.shape[0]
    chosen = np.arange(0, n, max(1, n // rows))
    codes = task.codes[chosen]
    if chosen.shape[0] == n or np.bincount(codes, minlength=task.n_classes).min() < of_a_class:
        return None
    weights = None if task.weights is None else task.weights[chosen]
    # Per row the penalty weighs as it does on all rows.
    share = n / chosen.shape[0]
    part = replace(task, X=task.X[chosen], codes=codes, weights=weights, C=task.C * share)
    return sample_fit(part, tol, max_iter)


def sample_fit(task: Task, tol: float, max_iter: int) -> SampleFit | None:
    """The optimum of a sample; None where it has none."""
    found = solve(task, tol, max_iter, Trace(False), None)
    if found.status != "converged" or found.dependent.size:
        return None
    measured = Problem(task, tol, Trace(False))
    spread = np.where(measured.active, measured.scale, 0.0)
    return SampleFit(task, (found.coef, found.intercept), measured.centre, spread, measured.inverse)


class Surrogate(Problem):
    """The objective on a sample, with the gradient and the Hessian that all rows have at one point."""

    def __init__(self, whole: Problem, there: Point, fit: SampleFit) -> None:
        weights = np.ones(fit.task.codes.shape[0]) if fit.task.weights is None else fit.task.weights
        scaled = weights * (whole.total / float(weights.sum()))
        super().__init__(replace(fit.task, weights=scaled, C=whole.task.C), whole.tol, Trace(False))
        for name in ("centre", "scale", "penalty", "l1", "inverse", "active", "total"):
            setattr(self, name, getattr(whole, name))
        self.terms = self.terms._replace(centre=self.centre, inverse=self.inverse)
        self.passes = self.table.logistic_passes(self.terms)
        self.there = there.coefficients
        own = super().at(self.there)
        self.shift, self.curvature = there.gradient - own.gradient, there.hessian - own.hessian
        self.begin = replace(own, gradient=there.gradient, hessian=there.hessian)

    def at(self, coefficients: np.ndarray) -> Point:
        """The surrogate and its derivatives."""
        point = super().at(coefficients)
        way = (coefficients - self.there).ravel()
        curved = self.curvature @ way
        point.value += float(self.shift.ravel() @ way + 0.5 * (way @ curved))
        point.gradient += self.shift + curved.reshape(self.shift.shape)
        if self.kept is None:
            point.hessian = point.hessian + self.curvature
        return point


class AbsoluteSurrogate(Surrogate, AbsoluteProblem):
    """The same with an absolute penalty."""


def informed_start(problem: Problem, fit: SampleFit) -> tuple[Point, int]:
    """Where the iteration over all rows begins, and how many steps led there from the optimum of the sample."""
    point = None
    if fit.sums is not None and np.array_equal(fit.inverse, problem.inverse):
        point = problem.point(np.ascontiguousarray(problem.standard(*fit.start)), fit.sums)
        if not problem.penalised and problem.nearly_dependent(point):
            point = None
    if point is None:
        point = problem.start(fit.start)
    if problem.dependent.size:
        return point, 0
    surrogate = (AbsoluteSurrogate if problem.absolute else Surrogate)(problem, point, fit)
    end = damped_newton(surrogate, surrogate.begin, 20, **problem.limits)
    nearer = end.point.coefficients if end.last_step is None else end.point.coefficients + end.last_step
    reached = problem.at(np.ascontiguousarray(nearer))
    return (reached, 1) if reached.value <= point.value else (point, 0)


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


def solve_from_sample(task: Task, tol: float, max_iter: int, trace: Trace, start: Start) -> Solution:
    """The optimum of a table in blocks, or of many rows in memory; from `start` where the sample has no optimum."""
    fit: SampleFit | None = None
    if isinstance(task.X, BatchedTable):
        fit = task.X.first or sample_of(task, tol, max_iter)
    else:
        fit = sample_of(task, max(tol, LOOSE_TOL), max_iter, _sample_size(task), FEW_OF_A_CLASS)
    kind, way = way_to_solve(task)
    if fit is None or way != "newton" or not kind.dense:
        return solve(task, tol, max_iter, trace, start if fit is None else fit.start)
    problem = kind(task, tol, trace)
    begin, steps = informed_start(problem, fit)
    found = problem.solution(damped_newton(problem, begin, max_iter, **problem.limits))
    found.n_iter += steps
    return found
