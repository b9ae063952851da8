"""Intervals for a learner's mean score over resampled splits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import DataError, ParameterError
from .distributions import t_quantile
from .result import Interval

# Spread below this share of the scores' size is rounding, not variation.
ROUNDING = 1e-12


def corrected_interval(
    scores: Any, *, n_train: float, n_test: float, alpha: float = 0.05, bounds: Interval | None = None
) -> Interval:
    """The interval for the mean of J resampled scores: mean +- t(J - 1) sqrt((1 / J + n_test / n_train) s^2).

    Scores of resampled splits share training rows, so their spread understates the spread of their mean; the term
    n_test / n_train is Nadeau and Bengio's correction (Machine Learning 52, 2003). `bounds` of the metric, where
    given, cut the interval.

    >>> low, high = corrected_interval([0.80, 0.82, 0.84], n_train=20, n_test=10)
    >>> round(low, 3), round(high, 3)
    (0.741, 0.899)
    """
    values = np.asarray(scores, dtype=np.float64).ravel()
    if values.size < 2:
        raise DataError("corrected_interval", "scores", "must hold at least 2 values", f"got {values.size}")
    check_alpha("corrected_interval", alpha)
    mean = float(values.mean())
    error = float(np.sqrt(1 / values.size + n_test / n_train) * spread(values, float(np.abs(values).max())))
    half = t_quantile(1 - alpha / 2, values.size - 1) * error
    low, high = mean - half, mean + half
    if bounds is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return low, high


def spread(values: np.ndarray, scale: float) -> float:
    """The sample standard deviation, 0 where it is only rounding of numbers of size `scale`."""
    sd = float(values.std(ddof=1))
    return 0.0 if sd <= ROUNDING * max(scale, np.finfo(float).tiny) else sd


def check_alpha(who: str, alpha: float) -> None:
    """Raise the error sentence if `alpha` is not a level."""
    if not 0 < alpha < 1:
        raise ParameterError(who, "parameter 'alpha'", "must be between 0 and 1", f"got {alpha!r}")
