"""Standardised columns: what the passes of a loss read beside their rows, and the scale that a solver starts from.

A column enters a loss as z = (x - centre) * inverse, and a constant 1 stands behind the columns where there is an
intercept. `LogisticTerms` and `GlmTerms` list what a loss needs in the order in which the kernels take it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

Some = np.ndarray | None
NO_ROWS = np.empty(0, dtype=np.int64)
NO_WEIGHTS = np.empty(0)


class LogisticTerms(NamedTuple):
    """What the log loss needs beside the rows: their codes and weights (empty for none), columns, number of classes."""

    codes: np.ndarray
    weights: np.ndarray
    centre: np.ndarray
    inverse: np.ndarray
    intercept: bool
    classes: int


class GlmTerms(NamedTuple):
    """What a deviance needs beside the rows: target, weights and offset (empty for none), columns, family and link."""

    y: np.ndarray
    weights: np.ndarray
    offset: np.ndarray
    centre: np.ndarray
    inverse: np.ndarray
    intercept: bool
    family: int
    link: int
    parameter: float


def or_empty(values: Some) -> np.ndarray:
    """As the kernels take weights and offsets: empty for none."""
    return NO_WEIGHTS if values is None else values


def centre_and_spread(
    mean: np.ndarray, variance: np.ndarray, fit_intercept: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and standard deviation, or 0 and the root mean square without intercept; and which columns are constant or
    have squares out of range, so that their spread must come from their cells.

    >>> centre_and_spread(np.array([3.0]), np.array([16.0]), False)
    (array([0.]), array([5.]), array([False]))
    """
    if fit_intercept:
        centre, spread = mean, np.sqrt(variance)
    else:
        centre, spread = np.zeros_like(mean), np.hypot(mean, np.sqrt(variance))
    return centre, spread, ~np.isfinite(spread) | (spread == 0.0)
