"""One damped Newton iteration for every smooth or penalised objective that a Newton step descends.

A search brings the objective (`at`), its step for a given damping, the slope along a step, and a verdict on where it
stands; the driver halves steps until the objective falls by its share (Armijo 1966), damps the matrix where halving
does not help, and says how it ended. A search that knows where along a step its objective is least brings `line`
instead. A converged search still takes its last step: its error is of the order of the
square of the one before.

>>> class Root:
...     def at(self, x):
...         return Point(x, float(np.cosh(x[0] - 3)))
...     def step(self, point, damping):
...         gap = point.coefficients - 3
...         return -np.sinh(gap) / (np.cosh(gap) + damping)
...     def slope(self, point, step):
...         return float(np.sinh(point.coefficients - 3) @ step)
...     def verdict(self, point, step, slope, damping):
...         return "converged" if abs(step[0]) < 1e-6 else None
...     def moved(self, length, damping):
...         pass
...     def stuck(self, point):
...         return "stalled"
>>> end = damped_newton(Root(), Root().at(np.zeros(1)), 100)
>>> end.status, (end.point.coefficients + end.last_step).round(9)
('converged', array([3.]))
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from ..base.threads import one_blas_thread

_LEAST_DAMPING = 1e-8
# Up to so many unknowns a system is solved on one thread: those of BLAS, which spin between two steps, cost more there
# than they save, and on a busy machine a hundred times as much.
_SMALL = 512


@dataclass
class Point:
    """Coefficients and the objective there; a search adds what its steps need."""

    coefficients: np.ndarray
    value: float


SomePoint = TypeVar("SomePoint", bound=Point)


class Search(Protocol[SomePoint]):
    """What the driver asks of a method."""

    def at(self, coefficients: np.ndarray) -> SomePoint:
        """The objective at some coefficients; an infinite value where they are out of range."""

    def step(self, point: SomePoint, damping: float) -> np.ndarray:
        """The step to the minimum of the quadratic model, its matrix damped."""

    def slope(self, point: SomePoint, step: np.ndarray) -> float:
        """The change of the objective along the step, to first order."""

    def verdict(self, point: SomePoint, step: np.ndarray, slope: float, damping: float) -> str | None:
        """'converged' (the step is the last), another word to stop where it stands, or None to go on."""

    def moved(self, length: float, damping: float) -> None:
        """Told that a step of this length was taken."""

    def stuck(self, point: SomePoint) -> str:
        """The word for a point from which no step leads down in double precision."""


@dataclass(frozen=True)
class End(Generic[SomePoint]):
    """Where the iteration ended; `last_step` is still to be taken where it has converged."""

    point: SomePoint
    last_step: np.ndarray | None
    status: str
    n_iter: int


def damped_newton(
    search: Search[SomePoint],
    point: SomePoint,
    max_iter: int,
    *,
    line: Callable[[SomePoint, np.ndarray, float], tuple[float, SomePoint]] | None = None,
    halvings: int = 30,
    negligible: float = 1e-9,
    most_damping: float = 1e8,
) -> End[SomePoint]:
    """Steps from `point` until the verdict, the limit, or a slope that is `negligible` beside the objective.

    `line` gives the length of a step from a point with its slope, and the point there; without it steps are halved.
    """
    damping = 0.0
    with one_blas_thread() if point.coefficients.size <= _SMALL else contextlib.nullcontext():
        for n_iter in range(1, max_iter + 1):
            step = search.step(point, damping)
            slope = search.slope(point, step)
            verdict = search.verdict(point, step, slope, damping)
            if verdict is not None:
                return End(point, step if verdict == "converged" else None, verdict, n_iter)
            if line is not None:
                length, point = line(point, step, slope)
                search.moved(length, damping)
                continue
            for halved in range(halvings if np.isfinite(slope) else 0):
                length = 0.5**halved
                reached = search.at(point.coefficients + length * step)
                if reached.value <= point.value + 1e-4 * length * slope:
                    search.moved(length, damping)
                    point, damping = reached, 0.01 * damping if damping > _LEAST_DAMPING else 0.0
                    break
            else:
                if -slope <= negligible * abs(point.value) or damping > most_damping:
                    return End(point, None, search.stuck(point), n_iter)
                damping = max(_LEAST_DAMPING, 100.0 * damping)
        return End(point, None, "max_iter", max_iter)
