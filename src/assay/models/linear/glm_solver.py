"""Newton's method for generalised linear models, on standardised columns with the penalty of the original scale.

Minimises f(b) = sum_i w_i d(y_i, mu_i) / 2 + W alpha [(1 - l1_ratio) ||b||^2 / 2 + l1_ratio ||b||_1] with W the sum
of the weights and the intercept free: W times the objective of scikit-learn's generalised linear models. Each step is
the minimum of the quadratic model (by Cholesky, or by coordinate descent where there is an L1 part), halved until the
objective falls by its share; a step that leaves the range of the family has an infinite objective and is halved too.
Where halving does not help, the matrix is damped by a multiple of its diagonal. The matrix is the Hessian with
Fisher's term for rows of negative curvature; after a few steps the Hessian itself wherever it is definite.

Progress is measured by numbers without a unit: the cosine between the residuals and each column (the gradient divided
by the root of its Fisher information times the Pearson sum), and the same for the step's decrement. The iteration
stops when every cosine is at most `tol` and the step is small, or when the quadratic convergence seen so far says
that the step about to be taken leaves them below `tol`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import lapack

from ... import _kernels
from ...base import Trace
from ...numeric.newton import End, Point, damped_newton
from ...numeric.solves import lifted_solve, mapped_covariance
from .glm_families import FAMILIES, LINKS
from .proximal import MOST_SWEEPS, violations, worst_outside
from .sparse import MOST_SQUARE, SparseTable
from .standardised import NO_WEIGHTS, GlmTerms, or_empty
from .tables import only, table_of

_EPSILON = np.finfo(np.float64).eps
_IDLE_LIMIT = 5
_PATIENCE = 3
_DEPENDENT = 1e-11
NO_LEVELS = np.zeros(1, dtype=np.int32)
# Levels from which the diagonal block of a nominal column is eliminated before the rest is factored.
_ELIMINATE = 32
# Unknowns from which the matrix of one point is let go of before that of the next is made.
_LARGE = 512
NO_MATRIX, NEWTON, FISHER, OBSERVED = 0, 1, 2, 3
# Unknowns of a sparse table up to which the matrix of a penalised fit is formed; beyond, steps come from its products.
SPARSE_SQUARE = 1000
# Rows of the sample whose optimum a long table in blocks begins at.
SAMPLED_ROWS = 2**16


@dataclass(frozen=True)
class Task:
    """What to fit. Codes number the levels of all nominal columns in a row; `starts[c]` is the first of column c.

    X is an array or a sparse table; of a sparse one all rows are fitted.
    """

    X: np.ndarray | SparseTable
    codes: np.ndarray
    starts: np.ndarray
    rows: np.ndarray | None
    y: np.ndarray
    weights: np.ndarray | None
    offset: np.ndarray | None
    family: str
    link: str
    parameter: float
    alpha: float
    l1_ratio: float
    fit_intercept: bool
    threads: int
    penalty_weights: np.ndarray | None = None
    """Factors on the penalty: of the columns of X, then of the nominal columns."""

    @property
    def used(self) -> np.ndarray | slice:
        """Which rows of the arrays take part."""
        return slice(None) if self.rows is None else self.rows

    def only(self, rows: np.ndarray) -> Task:
        """The task on some of the rows."""
        X, chosen, codes, y, weights, offset = only(self.X, rows, self.codes, self.y, self.weights, self.offset)
        return replace(self, X=X, rows=chosen, codes=codes, y=y, weights=weights, offset=offset)

    def constant(self) -> Task:
        """The task without columns and penalty."""
        nothing = np.empty((self.y.shape[0], 0))
        return replace(
            self,
            X=nothing,
            codes=nothing.astype(np.int32),
            starts=NO_LEVELS,
            alpha=0.0,
            fit_intercept=True,
            penalty_weights=None,
        )

    def total(self) -> float:
        """Sum of the weights of the rows that take part."""
        if self.weights is None:
            return float(self.y.shape[0] if self.rows is None else self.rows.shape[0])
        return float(self.weights[self.used].sum())


@dataclass
class Solution:
    """Coefficients in the units of the columns, how the iteration ended, and the sums at the solution."""

    coef: np.ndarray
    intercept: float
    n_iter: int
    status: str
    dependent: np.ndarray
    loss: float
    """Half the deviance."""
    pearson: float
    rank: int
    covariance: np.ndarray | None = None
    """Inverse Fisher information over [intercept, coefficients]; zero for coefficients held at 0."""
    spread: np.ndarray | None = None
    """The roots of its diagonal: standard errors at a dispersion of 1."""
    kept: np.ndarray = field(default_factory=lambda: NO_WEIGHTS)


@dataclass
class _Point(Point):
    loss: float
    gradient: np.ndarray
    hessian: Any
    information: np.ndarray
    """The diagonal of the Hessian."""
    pearson: float
    worst: float
    exact: bool


class OutOfRange(ValueError):
    """No starting coefficients keep every mean within the range of the family."""


class Problem:
    """The objective over [standardised columns, intercept, levels] and Newton's steps on it, for `damped_newton`.

    Its matrix is formed up to `most_square` columns of a sparse table; progress is measured by numbers without a unit.
    """

    standards: tuple[np.ndarray, np.ndarray, float]
    """Centre and spread of the columns, and the total weight."""

    def __init__(
        self, task: Task, tol: float, trace: Trace, most_square: int | None = None, alike: Problem | None = None
    ) -> None:
        """`alike` is a problem on the same rows, columns and weights, whose measures of the columns are taken over."""
        self.task, self.tol, self.trace = task, tol, trace
        self.free = LINKS[task.link].free
        self.penalised, self.absolute = task.alpha > 0.0, task.alpha * task.l1_ratio > 0.0
        self.floor = self.first = self.pearson = 0.0
        self.steepest = self.decrement = self.before = np.inf
        self.idle, self.count = 0, 0
        self.dependent = np.empty(0, dtype=np.int64)
        self.null: float | None = None
        self.n_columns = task.X.shape[1]
        self.n_levels = int(task.starts[-1])
        self.dense = self.n_columns + int(task.fit_intercept)
        self.size = self.dense + self.n_levels
        self.table = table_of(task.X, task.rows)
        if alike is None:
            self.standards = self.table.standardise(task.weights, task.fit_intercept, task.threads)
        else:
            self.standards = alike.standards
        self.centre: np.ndarray
        self.total: float
        self.centre, spread, self.total = self.standards
        varies = (spread > 1e-290) & np.isfinite(spread)
        self.scale = np.where(varies, spread, 1.0)  # any scale is right; a good one is near the spread
        self.active = np.ones(self.size, dtype=bool)
        self.active[: self.n_columns] = varies
        with np.errstate(over="ignore", divide="ignore"):
            units = np.concatenate([1.0 / self.scale, np.zeros(int(task.fit_intercept)), np.ones(self.n_levels)])
            factors = self._penalty_factors()
            strength = self.total * task.alpha * (1.0 - task.l1_ratio)
            self.ridge = strength * units**2 * factors if strength > 0.0 else np.zeros(self.size)
            self.l1 = self.total * task.alpha * task.l1_ratio * units * factors
        self._choose_levels()
        self.active &= (self.ridge < 1e200) & (self.l1 < 1e200)  # beyond that the coefficient is 0 in double precision
        self.ridge[~self.active] = 0.0
        self.l1[~self.active] = 0.0
        most = most_square or (SPARSE_SQUARE if self.penalised else MOST_SQUARE + 1)
        self.square = self.table.forms_square(self.dense, most)
        terms = GlmTerms(
            task.y,
            or_empty(task.weights),
            or_empty(task.offset),
            self.centre,
            np.where(varies, 1.0 / self.scale, 0.0),
            task.fit_intercept,
            FAMILIES[task.family].code,
            LINKS[task.link].code,
            task.parameter,
        )
        self.passes = self.table.glm_passes((task.codes, task.starts), terms, self.square)

    def _penalty_factors(self) -> np.ndarray:
        """Over [columns, intercept, levels]."""
        factors, given = np.ones(self.size), self.task.penalty_weights
        if given is not None:
            factors[: self.n_columns] = given[: self.n_columns]
            factors[self.dense :] = np.repeat(given[self.n_columns :], np.diff(self.task.starts))
        return factors

    def _choose_levels(self) -> None:
        """Levels without rows have coefficient 0; without a penalty so has the first level of each column."""
        if self.n_levels == 0:
            return
        present = np.zeros(self.n_levels + 1, dtype=bool)
        present[self.task.codes[self.task.used].ravel()] = True
        self.active[self.dense :] = present[:-1]
        free = np.full(self.task.starts.shape[0] - 1, self.task.alpha == 0.0)
        if self.task.penalty_weights is not None:
            free |= self.task.penalty_weights[self.n_columns :] == 0.0
        for c, (low, high) in enumerate(zip(self.task.starts[:-1], self.task.starts[1:])):
            if free[c] and (self.task.fit_intercept or free[:c].any()) and present[low:high].any():
                self.active[self.dense + low + int(np.argmax(present[low:high]))] = False

    def at(self, coefficients: np.ndarray, curvature: int = NEWTON) -> _Point:
        loss, pearson, worst, replaced, gradient, hessian = self.passes.sums(
            coefficients=coefficients, curvature=curvature, threads=self.task.threads
        )
        value = loss + 0.5 * float(self.ridge @ coefficients**2) + float(self.l1 @ np.abs(coefficients))
        gradient = np.where(self.active, gradient + self.ridge * coefficients, 0.0)
        information = np.array(hessian.diagonal())  # a copy: a view would hold the matrix
        return _Point(coefficients, value, loss, gradient, hessian, information, pearson, worst, replaced == 0.0)

    def _drop_dependent(self, hessian: np.ndarray) -> None:
        """Hold columns that are linear combinations of others at 0; the earlier column stays."""
        order = np.flatnonzero(self.active)
        if self.task.fit_intercept:  # the intercept stays whatever happens
            order = np.concatenate([[self.n_columns], order[order != self.n_columns]])
        scaled = hessian[np.ix_(order, order)]
        size = np.sqrt(np.diag(scaled))
        empty = ~(size > 0.0)
        size[empty] = 1.0
        scaled = scaled / size[:, None] / size
        rank = 0
        if not empty.any():
            rank = lapack.dpstrf(scaled, lower=1, tol=_DEPENDENT)[2]
        if rank < order.shape[0]:
            self.dependent = order[_sequential_dependence(scaled)]
            self.active[self.dependent] = False

    def step(self, point: _Point, damping: float) -> np.ndarray:
        """The step to the minimum of the quadratic model, over the active coefficients."""
        if self.square and self.count >= _PATIENCE and not point.exact:
            sums = self.passes.sums(coefficients=point.coefficients, curvature=OBSERVED, threads=self.task.threads)
            self._sharpen(point, sums[-1])
        self.count += 1
        cosines, self.pearson = self.cosines(point)
        self.steepest = float(cosines.max(initial=0.0))
        if not self.square:
            ridge = self.ridge + damping * point.information
            shrunk = float(np.abs(point.gradient).max(initial=0.0)) / self.total
            return -point.hessian.solve(point.gradient, ridge, self.active, min(0.01, np.sqrt(shrunk)))
        if point.hessian is None:  # no step of any length led down: another one, damped
            curvature = OBSERVED if point.exact else NEWTON
            sums = self.passes.sums(coefficients=point.coefficients, curvature=curvature, threads=self.task.threads)
            point.hessian = sums[-1]
        chosen = np.flatnonzero(self.active)
        step = np.zeros(self.size)
        whole = chosen.shape[0] == self.size
        hessian = point.hessian if whole else point.hessian[np.ix_(chosen, chosen)]
        added = damping * hessian.diagonal() + self.ridge[chosen]
        gradient = point.gradient[chosen]
        with np.errstate(over="ignore", invalid="ignore"):
            if self.absolute:
                accuracy = 1e-3 * self.tol * self.steepest * np.sqrt(self.total * self.pearson)
                before = point.coefficients[chosen]
                hessian = with_diagonal(hessian, added)
                found = _kernels.penalised_quadratic(hessian, gradient, self.l1[chosen], before, accuracy, MOST_SWEEPS)
                step[chosen] = found[0] - before
            else:
                step[chosen] = -solve_definite(hessian, gradient, self._largest_block(chosen), added)
        if self.size >= _LARGE:
            point.hessian = None  # not held beside that of the next point
        return step

    def _sharpen(self, point: _Point, observed: Any) -> None:
        """Put the true Hessian in place of the positive one where it is definite: quadratic convergence at the end."""
        chosen = np.flatnonzero(self.active)
        matrix = observed[np.ix_(chosen, chosen)]
        diagonal = np.einsum("ii->i", matrix)
        diagonal += self.ridge[chosen]
        if not (diagonal > 0.0).all():
            return
        size = 1.0 / np.sqrt(diagonal)
        if lapack.dpotrf(matrix * size[:, None] * size, lower=1)[1] == 0:
            point.hessian, point.information, point.exact = observed, np.array(observed.diagonal()), True

    def _largest_block(self, chosen: np.ndarray) -> slice | None:
        """Where the active levels of the largest nominal column lie among the chosen unknowns."""
        if self.n_levels < _ELIMINATE:
            return None
        bounds = np.searchsorted(chosen, self.dense + self.task.starts)
        widest = int(np.argmax(np.diff(bounds)))
        block = slice(int(bounds[widest]), int(bounds[widest + 1]))
        return block if block.stop - block.start >= _ELIMINATE else None

    def slope(self, point: _Point, step: np.ndarray) -> float:
        """The change of the objective along the step, to first order."""
        change = self.l1 @ (np.abs(point.coefficients + step) - np.abs(point.coefficients))
        return float(point.gradient @ step) + float(change)

    def verdict(self, point: _Point, step: np.ndarray, slope: float, damping: float) -> str | None:
        """Whether the step is the last, by its size and that of the gradient, or no maximum exists."""
        longest = float(np.abs(step).max(initial=0.0))
        self.trace.record("newton", objective=point.value / self.total, gradient=self.steepest, newton_step=longest)
        self.decrement = float(np.sqrt(max(-slope, 0.0) / self.pearson)) if self.pearson > 0 else 0.0
        if damping > 0.0:
            return None
        small = np.sqrt(self.tol) * max(float(self.free), float(np.abs(point.coefficients).max(initial=0.0)))
        hopeless = -slope <= 8 * _EPSILON * max(abs(point.value), 1e-14 * self.first)
        quadratic = point.exact and self.decrement < 1e-3 and self.decrement**3 <= 0.1 * self.tol * self.before**2
        if (self.steepest <= self.tol and longest <= small) or hopeless or (quadratic and longest <= 10.0 * small):
            return "converged"
        if not self.penalised and self.free and _is_separated(self.task, point, self.first):
            return "separated"
        if self.steepest <= self.tol and not self.penalised:
            self.idle += 1
            if self.idle >= _IDLE_LIMIT:
                return "separated" if self.free else "converged"
        return None

    def moved(self, length: float, damping: float) -> None:
        """Convergence is quadratic only between full steps."""
        self.before = self.decrement if length == 1.0 and damping == 0.0 else np.inf

    def stuck(self, point: _Point) -> str:
        """What it is called when no step leads down."""
        return "converged" if self.steepest <= np.sqrt(self.tol) else "stalled"

    def cosines(self, point: _Point) -> tuple[np.ndarray, float]:
        """The gradient (or violation of optimality) without a unit, and the Pearson sum that it was divided by."""
        information = point.information + self.ridge
        pearson = point.pearson + self.floor
        wrong = violations(point.gradient, point.coefficients, self.l1)
        size = np.sqrt(np.maximum(information * pearson, np.finfo(float).tiny))
        return np.where(self.active & (information > 0.0), wrong / size, 0.0), pearson

    def start(self, given: tuple[np.ndarray, float] | None) -> _Point:
        """The constant model, or the coefficients given; if a mean is out of range, a least-squares fit to the link.

        Without a penalty, columns that are combinations of others are held at 0 from there on.
        """
        point = None if given is None else self.at(self.standard(*given))
        if point is None or not np.isfinite(point.value):
            point = self.at(self._constant())
            # The constant mean of every family is that of the target; with an offset it has to be found.
            if self.task.fit_intercept and self.task.offset is None:
                self.null = point.loss
        if not np.isfinite(point.value):
            near = Problem(self._near_targets(), self.tol, Trace(on=False), alike=self)
            point = self.at(near.step(near.at(np.zeros(self.size)), 0.0))
        if not np.isfinite(point.value):
            raise OutOfRange
        if not self.penalised:
            self._drop_dependent(point.hessian)
            if self.dependent.size and point.coefficients[self.dependent].any():
                point = self.at(np.where(self.active, point.coefficients, 0.0))
            point.gradient[~self.active] = 0.0
        self.floor, self.first = 1e-12 * point.pearson, point.value
        return point

    def _mean(self) -> float:
        """Of the target."""
        task = self.task
        return float(np.average(task.y[task.used], weights=None if task.weights is None else task.weights[task.used]))

    def _constant(self) -> np.ndarray:
        """The coefficients of the constant model."""
        task = self.task
        coefficients = np.zeros(self.size)
        if task.fit_intercept:
            coefficients[self.n_columns] = float(LINKS[task.link].forward(np.array(self._mean())))
            if task.offset is not None:
                coefficients[self.n_columns] -= float(np.mean(task.offset[task.used]))
        return coefficients

    def _near_targets(self) -> Task:
        """Gaussian fit of the linear predictor to the link of targets drawn half-way to their mean."""
        predictor = LINKS[self.task.link].forward(0.5 * (self.task.y[self.task.used] + self._mean()))
        full = np.zeros(self.task.y.shape[0])
        full[self.task.used] = predictor
        if self.task.offset is not None:
            full -= self.task.offset
        kind: dict[str, Any] = {"family": "gaussian", "link": "identity", "alpha": 1e-8 / self.total, "l1_ratio": 0.0}
        return replace(self.task, y=full, offset=None, penalty_weights=None, **kind)

    def standard(self, coef: np.ndarray, intercept: float) -> np.ndarray:
        """Coefficients of the raw columns in standardised coordinates."""
        p = self.n_columns
        out = np.zeros(self.size)
        out[:p] = coef[:p] * self.scale
        out[self.dense :] = coef[p:]
        out[~self.active] = 0.0
        if self.task.fit_intercept:
            out[p] = intercept + float(coef[:p] @ self.centre)
        return out

    def raw(self, coefficients: np.ndarray) -> tuple[np.ndarray, float]:
        """Coefficients of columns and levels in their own units, and the intercept."""
        p = self.n_columns
        slopes = np.where(self.active[:p], coefficients[:p] / self.scale, 0.0)
        intercept = float(coefficients[p] - slopes @ self.centre) if self.task.fit_intercept else 0.0
        return np.concatenate([slopes, coefficients[self.dense :]]), intercept

    def covariance(self, hessian: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Inverse information over [intercept, columns, levels] in the units of the columns, and the roots of its
        diagonal."""
        chosen = np.flatnonzero(self.active)
        inverse = solve_definite(hessian[np.ix_(chosen, chosen)], np.eye(chosen.shape[0]), None)
        # Raw coefficients are a linear map of the standardised ones: row 0 is the intercept.
        change = np.zeros((1 + self.n_columns + self.n_levels, self.size))
        p = self.n_columns
        change[1 + np.arange(p), np.arange(p)] = 1.0 / self.scale
        change[1 + p + np.arange(self.n_levels), self.dense + np.arange(self.n_levels)] = 1.0
        if self.task.fit_intercept:
            change[0, p] = 1.0
            change[0, :p] = -self.centre / self.scale
        return mapped_covariance(change[:, chosen], inverse)

    def kept(self) -> np.ndarray:
        """Which coefficients of columns and levels were fitted."""
        return np.concatenate([self.active[: self.n_columns], self.active[self.dense :]])

    def solution(self, end: End[_Point], *, inference: bool = False) -> Solution:
        """What was found where the iteration ended, with the information if there is to be `inference`."""
        point, last, curvature = end.point, end.last_step, FISHER if inference else NO_MATRIX
        final = self.at(point.coefficients if last is None else point.coefficients + last, curvature)
        if last is not None and not final.value <= point.value * (1.0 + 1e-12) + 1e-300:
            # The last step, too small to matter, was not downhill in double precision.
            final = self.at(point.coefficients, curvature)
        coef, intercept = self.raw(final.coefficients)
        covariance, spread = self.covariance(final.hessian) if inference else (None, None)
        return Solution(
            coef,
            intercept,
            end.n_iter,
            end.status,
            np.where(self.dependent >= self.dense, self.dependent - int(self.task.fit_intercept), self.dependent),
            final.loss,
            final.pearson,
            int(self.active.sum()),
            covariance,
            spread,
            self.kept(),
        )


def _sequential_dependence(matrix: np.ndarray) -> np.ndarray:
    """Columns of a Gram matrix with unit diagonal that are combinations of the columns before them, or zero."""
    rest = matrix.copy()
    dependent = np.zeros(matrix.shape[0], dtype=bool)
    for j in range(matrix.shape[0]):
        if not rest[j, j] > _DEPENDENT * matrix.shape[0]:
            dependent[j] = True
            continue
        row = rest[j, j + 1 :].copy()
        rest[j + 1 :, j + 1 :] -= np.outer(row, row / rest[j, j])
    return dependent


def with_diagonal(matrix: np.ndarray, added: np.ndarray | float) -> np.ndarray:
    """A copy of a matrix with something added to its diagonal."""
    copied = np.array(matrix)
    np.einsum("ii->i", copied)[...] += added
    return copied


def solve_definite(
    matrix: np.ndarray, right: np.ndarray, diagonal_block: slice | None, added: np.ndarray | float = 0.0
) -> np.ndarray:
    """The solution of a positive (semi)definite system, scaled to unit diagonal; lifted slightly where it is singular.

    A block known to be diagonal is eliminated first: what is left to factor has the size of the others, and the matrix
    is not copied. `added` belongs to its diagonal.
    """
    if diagonal_block is not None:
        inside = np.zeros(matrix.shape[0], dtype=bool)
        inside[diagonal_block] = True
        added = np.broadcast_to(added, inside.shape)
        pivots = np.diag(matrix)[inside] + added[inside]
        if (pivots > 0.0).all():
            coupling = matrix[np.ix_(~inside, inside)]
            share = coupling / pivots
            solution = np.empty_like(right)
            rest = with_diagonal(matrix[np.ix_(~inside, ~inside)], added[~inside])
            solution[~inside] = solve_definite(rest - share @ coupling.T, right[~inside] - share @ right[inside], None)
            solution[inside] = (right[inside] - coupling.T @ solution[~inside]) / pivots
            return solution
    if not right.size:
        return np.zeros_like(right)
    return lifted_solve(with_diagonal(matrix, added), right)


def needs_working_sets(task: Task) -> bool:
    """Whether few columns of a wide sparse table will matter: with an absolute penalty."""
    narrow = table_of(task.X).forms_square(task.X.shape[1], SPARSE_SQUARE // 2)
    return task.alpha * task.l1_ratio > 0.0 and not narrow


class WorkingSet:
    """The columns of a wide table that matter: solved for, then joined by the worst violators of the others, until
    there are none."""

    def __init__(self, objective: Problem) -> None:
        self.objective, self.found, self.n_iter = objective, None, 0  # type: Problem, Solution | None, int
        self.chosen = np.zeros(objective.n_columns, dtype=bool)

    def grown(self, point: _Point) -> tuple[Task, tuple[np.ndarray, float]] | None:
        """The task of the columns that matter and where it begins; None if they were solved for."""
        objective, task, p = self.objective, self.objective.task, self.objective.n_columns
        cosines = np.where(objective.active, objective.cosines(point)[0], 0.0)[:p]
        self.chosen |= point.coefficients[:p] != 0.0
        fresh = worst_outside(self.chosen, cosines, objective.tol, 50)
        if self.found is not None and (not fresh.size or self.found.status != "converged"):
            return None
        self.chosen[fresh] = True
        columns = np.flatnonzero(self.chosen)
        coef, intercept = objective.raw(point.coefficients)
        factors = None if task.penalty_weights is None else task.penalty_weights[columns]
        return replace(task, X=objective.table.columns(columns), penalty_weights=factors), (coef[columns], intercept)

    def take(self, found: Solution) -> np.ndarray:
        """The coefficients of all columns, standardised, from those of the columns that matter."""
        self.found, self.n_iter = found, self.n_iter + max(found.n_iter, 1)
        coef = np.zeros(self.objective.n_columns)
        coef[self.chosen] = found.coef
        return self.objective.standard(coef, found.intercept)

    def solution(self, point: _Point) -> Solution:
        """What was found, for all columns."""
        assert self.found is not None
        coef, intercept = self.objective.raw(point.coefficients)
        rank, kept = int(self.objective.active.sum()), self.objective.kept()
        return replace(self.found, coef=coef, intercept=intercept, n_iter=self.n_iter, rank=rank, kept=kept)


def _is_separated(task: Task, point: _Point, first: float) -> bool:
    """Whether every row of a yes/no target is fitted almost exactly, as happens on the way to infinity."""
    return task.family == "bernoulli" and point.worst < 1e-6 and point.value < 1e-5 * first


def sample_start(task: Task, tol: float, max_iter: int) -> tuple[np.ndarray, float] | None:
    """The optimum of some rows in equal steps, from which the passes over a long table in blocks begin: each pass that
    is saved is a read of the files. None for other tables, and where the sample has no optimum."""
    step = task.y.shape[0] // SAMPLED_ROWS
    if not table_of(task.X).streamed or step < 8 or 20 * task.X.shape[1] > SAMPLED_ROWS:
        return None
    rows = np.arange(0, task.y.shape[0], step)
    weights, offset = (None if part is None else part[rows] for part in (task.weights, task.offset))
    part = replace(task, X=task.X[rows], codes=task.codes[rows], y=task.y[rows], weights=weights, offset=offset)
    try:
        with np.errstate(all="ignore"):  # the target may stand on the edge of its range in the sample
            problem = Problem(part, tol, Trace(on=False))
            found = problem.solution(damped_newton(problem, problem.start(None), max_iter))
    except OutOfRange:
        return None
    return (found.coef, found.intercept) if found.status == "converged" and np.isfinite(found.coef).all() else None
