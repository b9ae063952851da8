"""Weights in a common unit: a power of two changes no digit of them."""

from __future__ import annotations

import numpy as np


def in_units(weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights with the largest in [1, 2), and the power of two that brought it there.

    A row of positive weight keeps one, however far below the largest it is. Penalties that stand beside sums of
    weights take the same factor.

    >>> weights, factor = in_units(np.array([2.0**64, 2.0**63]))
    >>> weights.tolist(), factor == 2.0**-64
    ([1.0, 0.5], True)
    """
    exponent = 1 - int(np.frexp(weights.max(initial=0.0))[1]) if weights.any() else 0
    scaled = np.ldexp(weights, exponent)
    kept = np.where(weights > 0, np.maximum(scaled, np.finfo(np.float64).smallest_subnormal), 0.0)
    return kept, float(np.ldexp(1.0, exponent))


def count_rows(weights: np.ndarray, most: float) -> bool:
    """Whether weights are whole numbers that stand for so many rows, `most` in all.

    >>> count_rows(np.array([1.0, 3.0]), 1e9), count_rows(np.array([1.5]), 1e9), count_rows(np.array([1e12]), 1e9)
    (True, False, False)
    """
    return bool((weights == np.floor(weights)).all()) and float(weights.sum()) <= most
