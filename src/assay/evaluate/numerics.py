"""Mean, standard deviation, autocorrelation and sums of squares to the digits that float64 input can hold.

Sums are exact (`math.fsum` keeps every bit and rounds once); deviations are taken from the correctly rounded mean, and
what that rounding leaves is put right by the second moment. So the error is a few units in the last place whatever
the order of the values and however many leading digits they share.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.errors import DataError, ParameterError

# Above this a sum or a square of deviations may overflow; the values are halved often enough first.
_LARGE = 1e150


def mean(values: Any) -> float:
    """The arithmetic mean: the exact sum, rounded once, over the count.

    >>> mean([1e16, 1.0, -1e16])
    0.3333333333333333
    """
    data, exponent = _scaled("mean", values, least=1)
    return math.ldexp(math.fsum(data) / len(data), exponent)


def standard_deviation(values: Any, *, ddof: int = 1) -> float:
    """The standard deviation with divisor n - `ddof`.

    The certified value is 0.1; the rest is the rounding of the values themselves.

    >>> round(standard_deviation([10000000.2] + [10000000.1, 10000000.3] * 500), 8)
    0.1
    """
    if ddof not in (0, 1):
        raise ParameterError("standard_deviation", "parameter 'ddof'", "must be 0 or 1", f"got {ddof!r}")
    data, exponent = _scaled("standard_deviation", values, least=1 + ddof)
    deviations, _ = centred(np.array(data))
    return math.ldexp(math.sqrt(math.fsum((deviations**2).tolist()) / (len(data) - ddof)), exponent)


def autocorrelation(values: Any, *, lag: int = 1) -> float:
    """The autocorrelation: sum of d_i d_(i + lag) over sum of d_i^2, d the deviations from the mean.

    Values that do not vary have none: the answer is NaN.

    >>> round(autocorrelation([1.0, 3.0, 2.0]), 12)
    -0.5
    """
    data, _ = _scaled("autocorrelation", values, least=2)
    if not 0 <= lag < len(data):
        raise ParameterError(
            "autocorrelation", "parameter 'lag'", "must be 0 or more and below the number of values", f"got {lag!r}"
        )
    deviations, _ = centred(np.array(data))
    squares = math.fsum((deviations**2).tolist())
    if squares == 0:
        return math.nan
    return math.fsum((deviations[: len(data) - lag] * deviations[lag:]).tolist()) / squares


def centred(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Deviations from the mean, and the mean.

    The first pass subtracts the rounded mean, which is exact for values that share their leading digits; the second
    subtracts the mean of what is left, a number of the size of the rounding.
    """
    middle = math.fsum(values.tolist()) / values.size
    deviations = values - middle
    return deviations - math.fsum(deviations.tolist()) / values.size, middle


def one_way_squares(groups: list[np.ndarray]) -> tuple[float, float]:
    """Sums of squares between and within groups, all values first shifted by one of them.

    The shift is exact for values that share their leading digits; then nothing of their common size is left to
    cancel.
    """
    shift = float(np.median(np.concatenate(groups)))
    shifted = [group - shift for group in groups]
    total = math.fsum(value for group in shifted for value in group.tolist())
    grand = total / sum(group.size for group in shifted)
    between, within = [], []
    for group in shifted:
        deviations, middle = centred(group)
        between.append(group.size * (middle - grand) ** 2)
        within += (deviations**2).tolist()
    return math.fsum(between), math.fsum(within)


def _scaled(who: str, values: Any, least: int) -> tuple[list[float], int]:
    """The values as floats, divided by a power of two where their squares could overflow, and that power."""
    data = np.asarray(values, dtype=np.float64).ravel()
    if data.size < least:
        raise DataError(who, "values", f"must hold at least {least}", f"got {data.size}")
    if not np.isfinite(data).all():
        raise DataError(who, "values", "must be finite", "got NaN or infinity")
    largest = float(np.abs(data).max())
    exponent = 600 if largest > _LARGE else 0
    return np.ldexp(data, -exponent).tolist(), exponent
