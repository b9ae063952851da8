"""The objective of ranking by pairs, and its minimum to rounding.

Of the hinge, the few pairs that sit on its corner are listed and solved for.

At the minimum w of mean hinge + alpha |w|^2 / 2 pairs with margin d . w below 1 pull with their full share, those above
not at all, and those on the corner (d . w = 1) with something between:

    alpha w = sum_{open} share d + sum_{corner} mu d,   0 <= mu <= share,   d . w = 1 on the corner.

A parabola of width h in the corner makes the objective smooth; its minimum, by Newton's method, lies near the sharp
one. With the pairs whose margin is near 1 listed, and all others held as open or not, the dual is a small quadratic
problem in the bounded mu, solved by active sets. Any mu within its bounds gives the dual value

    sum_{open} share + sum mu - |sum_{open} share d + sum mu d|^2 / (2 alpha),

a lower bound on the objective: the difference is the duality gap that certifies the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from scipy.sparse.linalg import LinearOperator, cg

from ...base.threads import thread_count
from ...numeric.newton import Point
from .rank_pairs import Pairs
from .tables import table_of

MOST_COLUMNS, MOST_CELLS, MOST_PAIRS = 150, 500_000, 1000
NEWTON_STEPS, HALVINGS, ROUNDS = 30, 20, 10
EXACT, NARROWEST, FEW_ROWS = 1e-13, 1e-5, 500


@dataclass
class RankPoint(Point):
    """Coefficients with the objective there, the scores of the rows, and the gradient."""

    scores: np.ndarray
    gradient: np.ndarray


class RankProblem:
    """The mean loss of the pairs plus alpha |w|^2 / 2; `scale` are the units of the coefficients."""

    def __init__(self, rows: Any, pairs: Pairs, alpha: float, scale: np.ndarray):
        self.rows, self.pairs, self.alpha, self.scale = rows, pairs, alpha, scale
        self.times, self.back = table_of(rows).products(thread_count(None))
        self.limit = MOST_CELLS // (rows.shape[1] + 1)

    def at(self, weights: np.ndarray, width: float | None) -> RankPoint:
        """The objective with half the squared hinge (None), or with the hinge and a parabola of this width in its
        corner, and the gradient.

        The parabola is the difference of two squared hinges with margins 1 and 1 - width, over the width; a squared
        hinge with another margin is the one with margin 1 at stretched scores.
        """
        scores, total = self.times(weights), self.pairs.total
        value, slope = self.pairs.loss(scores, squared=True)
        value, slope = value / total, slope / total
        if width is not None:
            margin = 1.0 - width
            inner_value, inner_slope = self.pairs.loss(scores / margin, squared=True)
            value = (value - margin**2 * (inner_value / total)) / width
            slope = (slope - margin * (inner_slope / total)) / width
        value += 0.5 * self.alpha * float(weights @ weights)
        return RankPoint(weights, value, scores, self.back(slope) + self.alpha * weights)

    def sharp(self, weights: np.ndarray, squared: bool) -> float:
        """The objective itself."""
        value = self.pairs.loss(self.times(weights), squared=squared)[0] / self.pairs.total
        return value + 0.5 * self.alpha * float(weights @ weights)

    def last_steps(self, weights: np.ndarray, bound: float) -> tuple[np.ndarray, float]:
        """Full Newton steps for the squared hinge, a quadratic in pieces: within the right piece one step is exact.

        They are taken while they halve the gradient, and none is damped: they only polish a minimum found before."""
        scale, alpha, total, size = self.scale, self.alpha, self.pairs.total, self.rows.shape[1]
        point = self.at(weights, None)
        for _ in range(20):
            scores, gradient = point.scores, point.gradient
            system = LinearOperator(
                (size, size),
                matvec=lambda v, scores=scores: (
                    scale
                    * (self.back(self.pairs.curve(scores, direction=self.times(scale * v)) / total) + alpha * scale * v)
                ),
                dtype=np.float64,
            )
            step, _ = cg(system, -scale * gradient, rtol=1e-12, maxiter=min(2 * size, 2000))
            following = self.at(point.coefficients + scale * step, None)
            left = scale * following.gradient
            if not left @ left < 0.25 * (scale * gradient @ (scale * gradient)):
                break
            point = following
        gradient = point.gradient
        return point.coefficients, max(bound, point.value - float(gradient @ gradient) / (2.0 * alpha))

    # -- the corner of the hinge ------------------------------------------------------------------------------------
    def is_near(self, weights: np.ndarray, width: float) -> bool:
        """Whether few enough pairs are near a corner of this width to be listed."""
        if self.rows.shape[1] > MOST_COLUMNS or width >= 0.25:
            return False
        reach = 4.0 * width
        return self.pairs.between(self.times(weights), 1.0 - reach, 1.0 + reach, MOST_PAIRS) is not None

    def is_crowded(self, weights: np.ndarray, width: float) -> bool:
        """Whether a corner of this width holds more than twice as many pairs as there are columns, and steps of
        Newton's method in a narrower one cost less than active sets: of few rows."""
        if self.rows.shape[0] > FEW_ROWS or width <= NARROWEST:
            return False
        return self.pairs.between(self.times(weights), 1.0 - width, 1.0, 2 * self.rows.shape[1]) is None

    def finish(self, weights: np.ndarray, width: float, corner: float) -> tuple[np.ndarray, float, float] | None:
        """(weights, objective, gap) of the minimum from that with a rounded corner; None if the corner is too full.

        The pairs near one of this `width` are listed; `corner` is that of the minimum.
        """
        best, reach = None, 4.0 * width
        for _ in range(ROUNDS):
            found = self._exact(weights, reach, corner)
            if found is None or (best is not None and found[2] >= best[2]):
                break
            best, weights, corner = found, found[0], 1e-9
            if found[2] <= EXACT * found[1]:
                break
        return best

    def differences(self, scores: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Differences of the rows of the pairs with margins from low to high, and their shares."""
        listed = self.pairs.between(scores, low, high, self.limit)
        if listed is None:
            return None
        first, second, share = listed
        table = table_of(self.rows)
        return table.written(first) - table.written(second), share

    def _exact(self, weights: np.ndarray, reach: float, corner: float) -> tuple[np.ndarray, float, float] | None:
        """(weights, objective, gap) with the pairs of margin within `reach` of 1 solved for and the others held."""
        scores, total = self.times(weights), self.pairs.total
        listed = self.differences(scores, 1.0 - reach, 1.0 + reach)
        if listed is None or listed[0].shape[0] > MOST_PAIRS:
            return None
        differences, where = np.unique(listed[0], axis=0, return_inverse=True)
        share = np.bincount(where.ravel(), listed[1], minlength=differences.shape[0])
        value, slope = self.pairs.loss(scores / (1.0 - reach), squared=False)
        pull = -self.back(slope / total)
        open_share = value / total + float(pull @ weights) / (1.0 - reach)
        start = share * np.clip((1.0 - differences @ weights) / corner, 0.0, 1.0)
        on_corner = _bounded(differences, share, pull, self.alpha, start)
        solved = (pull + differences.T @ on_corner) / self.alpha
        bound = open_share + float(on_corner.sum()) - 0.5 * self.alpha * float(solved @ solved)
        pinned = differences[(on_corner > 0) & (on_corner < share)]
        if pinned.size:  # rounding of large columns moves them off the corner
            solved = solved + np.linalg.lstsq(pinned, 1.0 - pinned @ solved, rcond=1e-13)[0]
        value = self.pairs.loss(self.times(solved), squared=False)[0]
        objective = value / total + 0.5 * self.alpha * float(solved @ solved)
        gap = objective - bound
        return (solved, objective, max(gap, 0.0)) if gap > -1e-9 * objective else None


class RoundedCorner:
    """The objective with the hinge's corner rounded to one width, for the Newton driver.

    `at` is bound to the problem's own, so that nothing stands between the driver and it.
    """

    def __init__(self, problem: RankProblem, width: float):
        self.problem, self.width = problem, width
        self.at = partial(problem.at, width=width)

    def step(self, point: RankPoint, damping: float) -> np.ndarray:
        """Newton's step; none where too many pairs are in the corner to be listed, or their sums are singular."""
        problem, width = self.problem, self.width
        listed = problem.differences(point.scores, 1.0 - width, 1.0)
        if listed is None:
            return np.zeros_like(point.coefficients)
        scale, differences = problem.scale, listed[0] * problem.scale
        hessian = (differences * (listed[1] / width)[:, None]).T @ differences + np.diag(problem.alpha * scale**2)
        hessian += (1e-12 + damping) * hessian.trace() / hessian.shape[0] * np.eye(hessian.shape[0])
        try:
            return -scale * cho_solve(cho_factor(hessian), scale * point.gradient)
        except LinAlgError:
            return np.zeros_like(point.coefficients)

    def slope(self, point: RankPoint, step: np.ndarray) -> float:
        return float(point.gradient @ step)

    def verdict(self, point: RankPoint, step: np.ndarray, slope: float, damping: float) -> str | None:
        return None if -slope > 1e-15 * point.value / self.width else "settled"

    def moved(self, length: float, damping: float) -> None:
        pass

    def stuck(self, point: RankPoint) -> str:
        return "stalled"


def _bounded(differences: np.ndarray, share: np.ndarray, pull: np.ndarray, alpha: float, mu: np.ndarray) -> np.ndarray:
    """The mu, 0 <= mu <= share, of least |pull + differences.T mu|^2 / (2 alpha) - sum mu, by active sets."""
    mu, free = mu.copy(), (mu > 0) & (mu < share)

    def slopes() -> np.ndarray:
        return differences @ ((pull + differences.T @ mu) / alpha) - 1.0

    for _ in range(min(5 * mu.shape[0] + 50, 500)):
        inside = np.flatnonzero(free)
        if inside.size:
            longest, step = _free_step(differences[inside], slopes()[inside], alpha)
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(step > 0, (share[inside] - mu[inside]) / step, -mu[inside] / step)
            room = np.where(step == 0, np.inf, room)
            nearest = int(np.argmin(room))
            mu[inside] = np.clip(mu[inside] + min(longest, room[nearest]) * step, 0.0, share[inside])
            if room[nearest] <= longest:
                mu[inside[nearest]] = share[inside[nearest]] if step[nearest] > 0 else 0.0
                free[inside[nearest]] = False
                continue
        slope = slopes()
        wrong = np.where(~free & (((mu <= 0) & (slope < 0)) | ((mu >= share) & (slope > 0))), np.abs(slope), 0.0)
        if wrong.max(initial=0.0) <= 1e-12:
            break
        free[int(np.argmax(wrong))] = True
    return mu


def _free_step(differences: np.ndarray, slope: np.ndarray, alpha: float) -> tuple[float, np.ndarray]:
    """How far to go at most, and where: to the minimum over these mu, or down a direction without curvature."""
    if differences.shape[0] <= differences.shape[1]:
        factor = np.linalg.qr(differences.T, mode="r")
        size = np.abs(np.diag(factor))
        if size.min() > 1e-10 * size.max():
            return 1.0, -alpha * solve_triangular(factor, solve_triangular(factor, slope, trans="T"))
    left, sizes, _ = np.linalg.svd(differences, full_matrices=False)
    known = sizes > 1e-11 * sizes[0]
    left, sizes = left[:, known], sizes[known]
    explained = left.T @ slope
    flat = left @ explained - slope
    if np.abs(flat).max() > 1e-10:
        return np.inf, flat
    return 1.0, -alpha * (left @ (explained / sizes**2))
