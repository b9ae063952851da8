"""An objective with a weighted L1 norm: how far a point is from its optimum."""

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
