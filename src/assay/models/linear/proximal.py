"""An objective with a weighted L1 norm: how far a point is from its optimum, and which columns are furthest."""

from __future__ import annotations

import numpy as np

MOST_SWEEPS = 20_000


def violations(gradient: np.ndarray, coefficients: np.ndarray, l1: np.ndarray) -> np.ndarray:
    """Distance of 0 from the subdifferential of loss + sum l1 |b|, for each coefficient.

    >>> violations(np.array([0.5, -3.0, -1.0]), np.array([0.0, 0.0, 2.0]), np.ones(3)).tolist()
    [0.0, 2.0, 0.0]
    """
    at_zero = np.maximum(np.abs(gradient) - l1, 0.0)
    return np.where(coefficients == 0.0, at_zero, np.abs(gradient + l1 * np.sign(coefficients)))


def worst_outside(chosen: np.ndarray, violation: np.ndarray, least: float, room: int) -> np.ndarray:
    """The columns outside a working set that violate their condition of optimality by more than `least`, the worst
    first: as many as are chosen, or `room` if that is more.

    >>> worst_outside(np.array([True, False, False, False]), np.array([9.0, 1.0, 0.0, 2.0]), 0.5, 20).tolist()
    [3, 1]
    """
    fresh = np.flatnonzero((violation > least) & ~chosen)
    return fresh[np.argsort(-violation[fresh], kind="stable")[: max(room, int(chosen.sum()))]]
