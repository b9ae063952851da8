"""Gradient descent on any function: the path of points, for small problems and for teaching."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base import DataError, ParameterError, plain


@dataclass(frozen=True)
class DescentPath:
    """Where a descent went: `points` (n_steps + 1, n_parameters), and how it ended."""

    points: np.ndarray
    converged: bool
    diverged: bool

    @property
    def minimum(self) -> np.ndarray:
        """The last point."""
        return self.points[-1]

    @property
    def n_iter(self) -> int:
        """Steps taken."""
        return int(self.points.shape[0]) - 1


def stable_step(curvature: float, momentum: float = 0.0, nesterov: bool = False) -> float:
    """The step below which descent is stable on a quadratic of largest curvature L.

    2 / L without momentum, 2 (1 + m) / L with a heavy ball m, and 2 (1 + m) / ((1 + 2 m) L) with Nesterov's momentum:
    where the larger root of the recursion along the steepest direction leaves the unit circle (Polyak, 1964).

    >>> round(stable_step(3.0), 4)
    0.6667
    """
    if not curvature > 0:
        return float("inf")
    return 2.0 * (1.0 + momentum) / (curvature * (1.0 + 2.0 * momentum if nesterov else 1.0))


def descend(
    gradient: Callable[[np.ndarray], Any],
    start: Any,
    step: float,
    *,
    momentum: float = 0.0,
    nesterov: bool = False,
    tol: float = 1e-8,
    max_iter: int = 10_000,
) -> DescentPath:
    """Follow the negative gradient from `start`: b <- b - step * gradient(b), with momentum if asked for.

    Stops when no component of the gradient exceeds `tol` (converged), when a value is not finite or 10^12 times as far
    from the start as the first step was (diverged), or after `max_iter` steps.

    >>> path = descend(lambda b: 2 * (b - 3.0), [0.0], 0.25)
    >>> path.converged, path.minimum.round(6)
    (True, array([3.]))
    >>> descend(lambda b: 2 * (b - 3.0), [0.0], 1.1).diverged
    True
    """
    who = "descend"
    if not (np.isfinite(step) and step > 0):
        raise ParameterError(who, "parameter 'step'", "must be a number > 0", f"got {plain(repr(step))}")
    if not 0 <= momentum < 1:
        raise ParameterError(who, "parameter 'momentum'", "must be in [0, 1)", f"got {plain(repr(momentum))}")
    point = np.atleast_1d(np.asarray(start, dtype=np.float64))
    if point.ndim != 1 or not np.isfinite(point).all():
        raise DataError(who, "start", "must be a list of finite numbers", f"got {plain(repr(start))}")
    points, move, limit = [point], np.zeros_like(point), np.inf
    for _ in range(max_iter):
        at = point + momentum * move if nesterov else point
        with np.errstate(over="ignore", invalid="ignore"):
            slope = np.atleast_1d(np.asarray(gradient(at), dtype=np.float64))
        if slope.shape != point.shape:
            raise DataError(who, "gradient", f"must return {point.shape[0]} numbers", f"got shape {slope.shape}")
        if np.abs(slope).max(initial=0.0) <= tol:
            return DescentPath(np.array(points), converged=True, diverged=False)
        following = point + momentum * move - step * slope
        if not np.isfinite(following).all() or np.abs(following - points[0]).max() > limit:
            return DescentPath(np.array(points), converged=False, diverged=True)
        move, point = following - point, following
        points.append(point)
        if len(points) == 2:
            limit = 1e12 * max(float(np.abs(move).max()), np.finfo(float).tiny)
    return DescentPath(np.array(points), converged=False, diverged=False)
