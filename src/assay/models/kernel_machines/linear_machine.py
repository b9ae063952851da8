"""Linear support vector machines without a kernel matrix: Newton steps on a hinge with a rounded corner.

The loss of a row is H(1 - y f) (classes) or H(y - f - epsilon) + H(f - y - epsilon) (numbers), with f = x'w + b and
H(u) = max(0, u). With its corner rounded over |u| < h,

    H_h(u) = (u + h)^2 / (4 h) for |u| < h,

the objective 1/2 |w|^2 + sum of price times loss is smooth, and a Newton step needs the products of the rows in the
rounded part alone. At its minimum beta = -d loss / d f is feasible for the dual, sums to zero, and violates the
conditions of optimality by h at most, as alpha lies strictly between 0 and C only where |u| < h. So h falls to half of
`tol`, each level from where the last one ended. Rows far from the corner add a fixed gradient and are looked at again
when the others are solved; many rows begin where a sixteenth of them ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, lapack, qr, solve_triangular

from ...base.threads import one_blas_thread
from ...numeric.newton import End, Point
from ..linear.tables import table_of

# Rows from which a problem starts at the solution for a part of them, and how many rows make one of the part.
_MANY, _PART = 20_000, 16
# Unknowns up to which the Hessian is formed.
_SQUARE = 2000
_FIRST, _FALL = 2.0, 4.0
LEVEL_STEPS, _SEARCHES, _PRODUCTS, _ROUNDS = 60, 60, 200, 30
# A pivot of the Hessian scaled to a diagonal of 1 below this leaves too few digits to a step.
_LEAST_PIVOT = 1e-6
# Columns whose values lie this many times their range from zero are moved to it.
_FAR = 10.0
# Bits between the losses and the penalty up to which a problem is solved as it is.
_MOST_BITS = 60.0
# The share of the rows that stays in a round, at least, beside those in the rounded part.
_KEPT = 0.1


@dataclass(frozen=True)
class LinearProblem:
    """Rows (an array or a sparse table), target, price of slack of each row; `epsilon` None means classes (+1, -1)."""

    X: Any
    y: np.ndarray
    price: np.ndarray
    epsilon: float | None
    threads: int

    def part(self, rows: np.ndarray, factor: float = 1.0) -> LinearProblem:
        """The problem of some rows, with their prices times a factor."""
        return replace(self, X=self.X[rows], y=self.y[rows], price=factor * self.price[rows])

    def corners(self, f: np.ndarray) -> np.ndarray:
        """The distance of each row to the nearest corner of its loss."""
        if self.epsilon is None:
            return np.abs(1.0 - self.y * f)
        return np.abs(np.abs(self.y - f) - self.epsilon)

    def loss(self, f: np.ndarray, h: float) -> tuple[float, np.ndarray, np.ndarray]:
        """Sum of price times loss, and its first and second derivative by f."""
        if self.epsilon is None:
            value, slope, curve = _rounded(1.0 - self.y * f, h)
            return float(self.price @ value), -self.price * self.y * slope, self.price * curve
        above, up, curve = _rounded(self.y - f - self.epsilon, h)
        below, down, other = _rounded(f - self.y - self.epsilon, h)
        return float(self.price @ (above + below)), self.price * (down - up), self.price * (curve + other)

    def along(self, f: np.ndarray, moved: np.ndarray, h: float) -> Callable[[float], float]:
        """The derivative of the losses at f + t moved by t."""
        # In parts of the rounded corners, where a row's slope is 0 up to 0 and 1 from 1 on.
        if self.epsilon is None:
            way, begin, price = self.y * moved, 1.0 + h - self.y * f, self.price
        else:
            way, away = np.concatenate([moved, -moved]), self.y - f
            begin, price = np.concatenate([away, -away]) + (h - self.epsilon), np.concatenate([self.price, self.price])
        begin, way, cost = begin / (2.0 * h), way / (2.0 * h), price * way
        return lambda t: -float(cost @ np.minimum(np.maximum(begin - t * way, 0.0), 1.0))


@dataclass(frozen=True)
class LinearSolution:
    """Coefficients, constant, beta of each row, the objective with its lower bound by the dual, and the steps made."""

    coef: np.ndarray
    intercept: float
    beta: np.ndarray
    primal: float
    dual: float
    violation: float
    n_iter: int
    converged: bool


def _rounded(u: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if h == 0.0:
        return np.maximum(u, 0.0), (u > 0).astype(np.float64), np.zeros_like(u)
    inside = np.abs(u) < h
    slope = np.minimum(np.maximum((u + h) / (2.0 * h), 0.0), 1.0)
    # (u + h)^2 / (4 h) inside, where it is above u
    return np.maximum(u, h * slope * slope), slope, np.where(inside, 1.0 / (2.0 * h), 0.0)


@dataclass
class _Place(Point):
    """Coefficients of the columns about their centre with the constant, and f of each row; what the objective is there
    is worked out when a step is asked for."""

    f: np.ndarray
    gradient: np.ndarray = field(default_factory=lambda: np.empty(0))


@dataclass
class Level:
    """The objective for one h, for the Newton driver: some rows, of which the others add the gradient `fixed` (by the
    columns about their centre, and the constant). As it is a quadratic in pieces, the length of a step is sought where
    the rising derivative along it is zero (`line`)."""

    problem: LinearProblem
    centre: np.ndarray
    fixed: np.ndarray
    h: float = 0.0
    accuracy: float = 0.0
    steps: int = 0
    end: End[_Place] | None = None
    times: Callable[..., np.ndarray] = field(init=False)
    times_transposed: Callable[..., np.ndarray] = field(init=False)

    def __post_init__(self) -> None:
        self.times, self.times_transposed = table_of(self.problem.X).products(self.problem.threads)
        # Without a row in the rounded part the constant has no curvature.
        self.least = 1e-8 * float(self.problem.price.sum()) + 1e-300

    def begun(self, theta: np.ndarray, f: np.ndarray, h: float, accuracy: float) -> Level:
        """This level at another h, from some coefficients and the f that belong to them."""
        self.h, self.accuracy, self.end = h, accuracy, None
        self.point = _Place(theta, np.inf, f)
        return self

    def reached(self) -> tuple[np.ndarray, np.ndarray]:
        """The coefficients where the driver ended, and the f that belong to them."""
        assert self.end is not None
        return self.end.point.coefficients, self.end.point.f

    @property
    def settled(self) -> bool:
        """Whether the driver ended at the minimum."""
        return self.end is not None and self.end.status == "converged"

    def product(self, theta: np.ndarray) -> np.ndarray:
        """x'w + b of every row, for coefficients of columns about their centre."""
        return self.times(theta[:-1]) + (theta[-1] - self.centre @ theta[:-1])

    def sums(self, g: np.ndarray) -> np.ndarray:
        """The gradient of sum of g f."""
        total = g.sum()
        return np.append(self.times_transposed(g) - self.centre * total, total)

    def at(self, theta: np.ndarray) -> _Place:
        """The objective at some coefficients."""
        f = self.product(theta)
        return _Place(theta, self.problem.loss(f, self.h)[0] + 0.5 * float(theta[:-1] @ theta[:-1]), f)

    def step(self, point: _Place, damping: float) -> np.ndarray:
        """The Newton step, which the products of the rows in the rounded part decide."""
        theta, size = point.coefficients, point.coefficients.shape[0]
        value, g, curve = self.problem.loss(point.f, self.h)
        point.gradient = self.sums(g) + self.fixed
        point.gradient[:-1] += theta[:-1]
        point.value = value + 0.5 * float(theta[:-1] @ theta[:-1])
        used = np.flatnonzero(curve)
        if size > _SQUARE:
            return self._by_products(point.gradient, used, curve, self.least)
        hessian = np.zeros((size, size))
        if used.size:
            gram = table_of(self.problem.X).gram_sums(np.empty((g.shape[0], 0)), curve, used)
            hessian = gram(shift=self.centre, threads=self.problem.threads)
        return self._step(hessian, point.gradient, used, curve, self.least)

    def slope(self, point: _Place, step: np.ndarray) -> float:
        """The derivative along the step."""
        return float(point.gradient @ step)

    def verdict(self, point: _Place, step: np.ndarray, slope: float, damping: float) -> str | None:
        """Converged where a step would gain next to nothing."""
        return None if -slope > self.accuracy * (abs(point.value) + 1e-300) else "converged"

    def line(self, point: _Place, step: np.ndarray, slope: float) -> tuple[float, _Place]:
        """Where along the step the objective has its minimum."""
        moved = self.product(step)
        length = self._search(point.coefficients, point.f, step, moved, self.h, slope)
        return length, _Place(point.coefficients + length * step, np.inf, point.f + length * moved)

    def moved(self, length: float, damping: float) -> None:
        """Count the steps."""
        self.steps += 1

    def stuck(self, point: _Place) -> str:
        """The word for where no step leads down."""
        return "stalled"

    def towards(
        self, theta: np.ndarray, f: np.ndarray, to: np.ndarray, there: np.ndarray, h: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The best point on the way from one point to another, for all rows."""
        step, moved = to - theta, there - f
        slope = float(self.problem.loss(f, h)[1] @ moved) + float(theta[:-1] @ step[:-1])
        if slope >= 0.0:
            return theta, f
        length = self._search(theta, f, step, moved, h, slope)
        return theta + length * step, f + length * moved

    def _search(
        self, theta: np.ndarray, f: np.ndarray, step: np.ndarray, moved: np.ndarray, h: float, slope: float
    ) -> float:
        """Where along the step the objective has its minimum, roughly: the derivative is a rising function."""
        linear = float(self.fixed @ step) + float(theta[:-1] @ step[:-1])
        length = float(step[:-1] @ step[:-1])
        derivative = self.problem.along(f, moved, h)
        low, at_low, high, at_high, t = 0.0, slope, np.inf, np.inf, 1.0
        for _ in range(_SEARCHES):
            now = derivative(t) + linear + t * length
            if abs(now) <= 0.1 * abs(slope):
                return t
            if now < 0.0:
                low, at_low = t, now
            else:
                high, at_high = t, now
            if high == np.inf or low == 0.0:
                t *= 4.0 if high == np.inf else 0.1
                continue
            guess = low - at_low * (high - low) / (at_high - at_low)
            t = min(max(guess, low + 0.1 * (high - low)), high - 0.1 * (high - low))
        return low if low > 0.0 else t

    def _step(
        self, hessian: np.ndarray, gradient: np.ndarray, used: np.ndarray, curve: np.ndarray, least: float
    ) -> np.ndarray:
        """The step by the products of the rows, `hessian`, to which the penalty is added."""
        np.einsum("ii->i", hessian)[:-1] += 1.0
        hessian[-1, -1] += least
        if not np.isfinite(hessian).all():
            raise LinAlgError("the products of the cells are beyond the range of float64")
        # Scaled to a diagonal of 1, which nothing but near dependence of the columns in these rows makes singular.
        scale = 1.0 / np.sqrt(hessian.diagonal())
        factor, refused = lapack.dpotrf(scale[:, None] * hessian * scale, lower=1, clean=0)
        if refused == 0 and factor.diagonal().min() > _LEAST_PIVOT:
            return -scale * lapack.dpotrs(factor, scale * gradient, lower=1)[0]
        return self._by_rows(gradient, used, curve, least)

    def _by_rows(self, gradient: np.ndarray, used: np.ndarray, curve: np.ndarray, least: float) -> np.ndarray:
        """The step from the rows themselves, not their products, where the penalty is lost beside those: a QR
        factorisation with pivoting, the large rows above the small ones, is stable row by row (Cox & Higham, 1998)."""
        rows = table_of(self.problem.X).written(used) - self.centre
        rows = np.column_stack([rows, np.ones(used.shape[0])]) * np.sqrt(curve[used])[:, None]
        ridge = np.append(np.ones(gradient.shape[0] - 1), np.sqrt(least))
        rows = rows[np.argsort(-np.abs(rows).max(axis=1), kind="stable")]
        factor, order = qr(np.vstack([rows, np.diag(ridge)]), mode="r", pivoting=True, check_finite=False)
        factor = factor[: gradient.shape[0]]
        half = solve_triangular(factor, gradient[order], trans="T", check_finite=False)
        step = np.empty_like(gradient)
        step[order] = -solve_triangular(factor, half, check_finite=False)
        return step

    def _by_products(self, gradient: np.ndarray, used: np.ndarray, curve: np.ndarray, least: float) -> np.ndarray:
        """Conjugate gradients on the products of the Hessian."""
        times, times_transposed = table_of(self.problem.X[used]).products(self.problem.threads)
        weights, ridge = curve[used], np.append(np.ones(gradient.shape[0] - 1), least)
        scale = np.append(np.ones(gradient.shape[0] - 1), 1.0 / np.sqrt(weights.sum() + least))
        step, residual = np.zeros_like(gradient), -scale * gradient
        direction, power = residual.copy(), float(residual @ residual)
        goal = 1e-6 * power
        for _ in range(_PRODUCTS):
            if power <= goal:
                break
            given = scale * direction
            moved = weights * (times(given[:-1]) + (given[-1] - self.centre @ given[:-1]))
            total = moved.sum()
            product = scale * (np.append(times_transposed(moved) - self.centre * total, total) + ridge * given)
            length = power / float(direction @ product)
            step += length * direction
            residual -= length * product
            before, power = power, float(residual @ residual)
            direction = residual + (power / before) * direction
        return scale * step


@dataclass(frozen=True)
class _Placed:
    """A problem brought within range: columns far from zero are moved by `shift`; where the penalty |w|^2 / 2 is so far
    below the losses that a sum of the two would not hold it, cells are divided by `reach` and prices by `factor`: there
    the price decides nothing but the size of beta."""

    problem: LinearProblem
    shift: np.ndarray
    reach: float = 1.0
    factor: float | None = None

    @classmethod
    def of(cls, problem: LinearProblem) -> _Placed:
        X = problem.X
        shift = table_of(X).centring(np.empty((X.shape[0], 0)))()
        if isinstance(X, np.ndarray):
            shift[np.abs(shift) <= _FAR * np.ptp(X, axis=0)] = 0.0
        if shift.any():
            X = X - shift if isinstance(X, np.ndarray) else X.shifted(shift)
        reach = float(np.abs(table_of(X).cells).max(initial=0.0))
        unit = 1.0 if problem.epsilon is None else float(np.std(problem.y)) or 1.0
        most = float(problem.price.max())
        if reach <= 1.0 or not np.log2(most) + 2.0 * np.log2(reach) - np.log2(unit) > _MOST_BITS:
            return cls(replace(problem, X=X), shift)
        reach, factor = 2.0 ** np.floor(np.log2(reach)), most / (2.0**_MOST_BITS * unit)
        nearer = X * np.full(X.shape[1], 1.0 / reach)
        return cls(replace(problem, X=nearer, price=problem.price / factor), shift, reach, factor)

    def back(self, found: LinearSolution) -> LinearSolution:
        """The solution in the columns and prices that were given."""
        if self.factor is not None:
            coef, of_penalty = found.coef / self.reach, 0.5 * float(found.coef @ found.coef)
            found = replace(
                found,
                coef=coef,
                beta=found.beta * self.factor,
                primal=self.factor * (found.primal - of_penalty) + 0.5 * float(coef @ coef),
                dual=self.factor * (found.dual - of_penalty),
            )
        return replace(found, intercept=found.intercept - float(self.shift @ found.coef))


class LinearMachine:
    """The linear machine to a violation of `tol`, from coefficients or from zero; the Newton driver ends its levels.

    >>> from assay.numeric.newton import damped_newton
    >>> rows = LinearProblem(np.array([[0.0], [1.0], [3.0]]), np.array([-1.0, -1.0, 1.0]), np.full(3, 10.0), None, 1)
    >>> machine = LinearMachine(rows, 1e-6)
    >>> for level in machine.levels():
    ...     level.end = damped_newton(level, level.point, LEVEL_STEPS, line=level.line)
    >>> machine.found.coef.round(4), round(machine.found.intercept, 4)
    (array([1.]), -2.0)

    The driver is called by the learner, so that no function stands between it and the steps of the level.
    """

    found: LinearSolution

    def __init__(self, problem: LinearProblem, tol: float, start: tuple[np.ndarray, float] | None = None):
        self.placed, self.last, self.start = _Placed.of(problem), 0.5 * tol, start

    def levels(self) -> Iterator[Level]:
        """One level after the other, each to be ended before the next is asked for; `found` is there after the last."""
        with one_blas_thread():
            placed, last, start, steps = self.placed, self.last, self.start, 0
            if start is not None:
                start = start[0] * placed.reach, start[1] + float(placed.shift @ start[0])
            stages = [placed.problem]
            while start is None and stages[-1].y.shape[0] >= _MANY:
                problem, some = stages[-1], np.arange(0, stages[-1].y.shape[0], _PART)
                stages.append(problem.part(some, float(problem.price.sum() / problem.price[some].sum())))
            for problem in reversed(stages):
                n, d = problem.X.shape
                centre = table_of(problem.X).centring(np.empty((n, 0)))()
                theta = np.zeros(d + 1) if start is None else np.append(start[0], start[1] + centre @ start[0])
                whole = Level(problem, centre, np.zeros(d + 1))
                f = whole.product(theta)
                if start is None:
                    h = _FIRST if problem.epsilon is None else max(_FIRST * float(np.std(problem.y)), 2.0 * last)
                    while h > 2.0 * last:
                        yield whole.begun(theta, f, h, 1e-5)
                        theta, f = whole.reached()
                        h = max(h / _FALL, last)
                converged, active = False, np.zeros(n, dtype=bool)
                for _ in range(_ROUNDS):
                    distance = problem.corners(f)
                    reach = max(float(np.partition(distance, int(_KEPT * (n - 1)))[int(_KEPT * (n - 1))]), 4.0 * last)
                    active |= distance <= reach
                    if active.sum() > 0.6 * n:
                        active[:] = True
                    rows = np.flatnonzero(active)
                    fixed = np.zeros(d + 1)
                    if rows.shape[0] < n:
                        slopes = problem.loss(f, 0.0)[1]
                        slopes[active] = 0.0
                        fixed = whole.sums(slopes)
                    begin = theta
                    part = whole if rows.shape[0] == n else Level(problem.part(rows), centre, fixed)
                    of_part, h = f[rows], min(max(reach / _FALL, last), 64.0 * last)
                    while True:
                        yield part.begun(theta, of_part, h, 1e-12 if h == last else 1e-6)
                        theta, of_part = part.reached()
                        if h == last:
                            break
                        h = max(h / _FALL, last)
                    steps += part.steps if part is not whole else 0
                    there = whole.product(theta)
                    # A row that was left out must not have come to the corner, nor crossed it.
                    moved = problem.corners(there) < last
                    moved |= problem.loss(there, 0.0)[1] != problem.loss(f, 0.0)[1]
                    if part is whole or not (moved & ~active).any():
                        converged, f = part.settled, there
                        break
                    active |= moved
                    theta, f = whole.towards(begin, f, theta, there, last)
                steps += whole.steps
                start = theta[:-1], float(theta[-1] - centre @ theta[:-1])
            self.found = placed.back(_solution(problem, whole, theta, f, last, steps, converged))


def _solution(
    problem: LinearProblem, whole: Level, theta: np.ndarray, f: np.ndarray, h: float, steps: int, converged: bool
) -> LinearSolution:
    beta = -problem.loss(f, h)[1]
    primal = 0.5 * float(theta[:-1] @ theta[:-1]) + problem.loss(f, 0.0)[0]
    of_beta = whole.sums(beta)[:-1]
    gain = float(problem.y @ beta) - (0.0 if problem.epsilon is None else problem.epsilon * float(np.abs(beta).sum()))
    dual = gain - 0.5 * float(of_beta @ of_beta)
    if converged:
        # A rounded corner adds h / 4 at most: a bound without X'beta, whose terms cancel where cells are large.
        smooth = 0.5 * float(theta[:-1] @ theta[:-1]) + problem.loss(f, h)[0]
        corners = 1.0 if problem.epsilon is None or problem.epsilon > h else 2.0
        dual = max(dual, (1.0 - 1e-11) * smooth - 0.25 * corners * h * float(problem.price.sum()))
    # Rounding may take the bound above what it bounds.
    dual = min(dual, primal)
    violation = 2.0 * h
    if not converged:
        violation += float(np.ptp(whole.product(np.append(theta[:-1] - of_beta, 0.0))))
    return LinearSolution(
        coef=theta[:-1].copy(),
        intercept=float(theta[-1] - whole.centre @ theta[:-1]),
        beta=beta,
        primal=primal,
        dual=dual,
        violation=violation,
        n_iter=steps,
        converged=converged,
    )
