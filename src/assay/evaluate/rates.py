"""Intervals for rates and means, and how many test rows a wanted width takes.

>>> low, high = wilson_interval(18, 20)
>>> round(low, 3), round(high, 3)
(0.699, 0.972)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.errors import DataError, ParameterError
from .distributions import ALTERNATIVES, normal_quantile, t_quantile
from .result import Interval

_MOST_ROWS = 2**40


def wilson_interval(successes: float, n: float, confidence: float = 0.95, alternative: str = "two-sided") -> Interval:
    """Wilson's score interval for a rate: the rates that a score test of `successes` out of `n` does not reject.

    It never leaves [0, 1] and has a width even when every row is right. `alternative` "greater" gives a lower limit
    only, "less" an upper one.

    >>> wilson_interval(10, 10, alternative="greater")[0].__round__(3)
    0.787
    """
    who = "wilson_interval"
    z = _quantile(who, confidence, alternative)
    if not (math.isfinite(n) and n > 0):
        raise DataError(who, "n", "must be positive", f"got {n!r}")
    if not 0 <= successes <= n:
        raise DataError(who, "successes", f"must be between 0 and {n}", f"got {successes!r}")
    rate = successes / n
    centre = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2))
    low = 0.0 if alternative == "less" or successes == 0 else centre - half
    high = 1.0 if alternative == "greater" or successes == n else centre + half
    return max(0.0, low), min(1.0, high)


def t_interval(values: Any, confidence: float = 0.95, alternative: str = "two-sided") -> Interval:
    """The t interval for the mean of independent values: mean +- t(n - 1) sd / sqrt(n).

    >>> low, high = t_interval([1.0, 2.0, 3.0, 4.0])
    >>> round(low, 3), round(high, 3)
    (0.446, 4.554)
    """
    numbers = _numbers("t_interval", values)
    level = _level("t_interval", confidence, alternative)
    return _mean_interval(numbers, t_quantile(level, numbers.size - 1), alternative)


def normal_interval(
    values: Any, confidence: float = 0.95, alternative: str = "two-sided", sd: float | None = None
) -> Interval:
    """The normal interval for a mean, with the known standard deviation `sd` or that of many values.

    >>> low, high = normal_interval([1.0, 2.0, 3.0, 4.0], sd=1.0)
    >>> round(low, 3), round(high, 3)
    (1.52, 3.48)
    """
    numbers = _numbers("normal_interval", values, least=2 if sd is None else 1)
    if sd is not None and not sd >= 0:
        raise ParameterError("normal_interval", "parameter 'sd'", "must not be negative", f"got {sd!r}")
    return _mean_interval(numbers, _quantile("normal_interval", confidence, alternative), alternative, sd)


def sample_size_for_width(
    width: float,
    of: str = "rate",
    *,
    expected: float | None = None,
    positives: float = 0.5,
    sd: float | None = None,
    confidence: float = 0.95,
    alternative: str = "two-sided",
) -> int:
    """The least number of test rows whose interval is expected to be no wider than `width`.

    `of` is "rate" (Wilson's interval at the `expected` rate, 0.5 if not given, which is the worst), "auc" (Hanley and
    McNeil's variance at the `expected` area, 0.8 if not given, with a share of `positives`; Radiology 143, 1982) or
    "mean" (t interval with standard deviation `sd`). For one-sided intervals `width` is from the estimate to the limit.

    >>> sample_size_for_width(0.1), sample_size_for_width(0.02, expected=0.9)
    (381, 3461)
    >>> sample_size_for_width(0.05, of="auc", expected=0.85, positives=0.05)
    7310
    """
    who = "sample_size_for_width"
    if not width > 0:
        raise ParameterError(who, "parameter 'width'", "must be positive", f"got {width!r}")
    level = _level(who, confidence, alternative)
    sides = 2 if alternative == "two-sided" else 1
    if of == "rate":
        rate = _share(who, "expected", 0.5 if expected is None else expected)

        def width_at(n: int) -> float:
            low, high = wilson_interval(rate * n, n, confidence, alternative)
            return high - low if sides == 2 else max(high - rate if alternative == "less" else rate - low, 0.0)

        return _least(width_at, width, 1)
    if of == "auc":
        area = _share(who, "expected", 0.8 if expected is None else expected)
        share = _share(who, "positives", positives)
        if share in (0, 1):
            raise ParameterError(who, "parameter 'positives'", "must lie between 0 and 1", f"got {positives!r}")
        z = normal_quantile(level)
        return _least(lambda n: sides * z * hanley_mcneil_error(area, n * share, n * (1 - share)), width, 2)
    if of == "mean":
        if sd is None or not sd > 0:
            raise ParameterError(who, "parameter 'sd'", "must be positive for a mean", f"got {sd!r}")
        spread = float(sd)
        return _least(lambda n: sides * t_quantile(level, n - 1) * spread / math.sqrt(n), width, 2)
    raise ParameterError(who, "parameter 'of'", "must be 'rate', 'auc' or 'mean'", f"got {of!r}")


def hanley_mcneil_error(area: float, n_positive: float, n_negative: float) -> float:
    """The standard error that Hanley and McNeil expect of an area under ROC.

    >>> round(hanley_mcneil_error(0.8, 50, 50), 4)
    0.0445
    """
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    variance = area * (1 - area) + (n_positive - 1) * (q1 - area**2) + (n_negative - 1) * (q2 - area**2)
    return math.sqrt(max(variance, 0.0) / (n_positive * n_negative))


def _least(width_at: Callable[[int], float], width: float, start: int) -> int:
    """The least n >= start from which on the width is small enough, by doubling and bisection."""
    high = start
    while width_at(high) > width:
        high *= 2
        if high > _MOST_ROWS:
            raise ParameterError(
                "sample_size_for_width", "parameter 'width'", "is too small to reach", f"got {width!r}"
            )
    low = max(start, high // 2)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if width_at(middle) > width else (low, middle)
    return high


def _level(who: str, confidence: float, alternative: str) -> float:
    if not 0 < confidence < 1:
        raise ParameterError(who, "parameter 'confidence'", "must be between 0 and 1", f"got {confidence!r}")
    if alternative not in ALTERNATIVES:
        raise ParameterError(
            who, "parameter 'alternative'", f"must be one of {', '.join(ALTERNATIVES)}", f"got {alternative!r}"
        )
    return (1 + confidence) / 2 if alternative == "two-sided" else confidence


def _quantile(who: str, confidence: float, alternative: str) -> float:
    return normal_quantile(_level(who, confidence, alternative))


def _share(who: str, name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise ParameterError(who, f"parameter '{name}'", "must be between 0 and 1", f"got {value!r}")
    return float(value)


def _numbers(who: str, values: Any, least: int = 2) -> np.ndarray:
    numbers = np.asarray(values, dtype=np.float64).ravel()
    if numbers.size < least:
        raise DataError(who, "values", f"must hold at least {least}", f"got {numbers.size}")
    if not np.isfinite(numbers).all():
        raise DataError(who, "values", "must be finite numbers", "got NaN or infinite values", "drop those rows first")
    return numbers


def _mean_interval(numbers: np.ndarray, factor: float, alternative: str, sd: float | None = None) -> Interval:
    mean = float(numbers.mean())
    half = factor * (float(numbers.std(ddof=1)) if sd is None else sd) / math.sqrt(numbers.size)
    return (
        -math.inf if alternative == "less" else mean - half,
        math.inf if alternative == "greater" else mean + half,
    )
