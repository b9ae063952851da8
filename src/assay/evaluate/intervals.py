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
    """The interval for the mean of J resampled scores: mean +- t sqrt((1 / J + n_test / n_train) s^2).

    Scores of resampled splits share training rows, so their spread understates the spread of their mean; the term
    n_test / n_train is Nadeau and Bengio's correction (Machine Learning 52, 2003). The degrees of freedom are those of
    `honest_df`: folds - 1. With the `bounds` of the metric the interval is that of `score_interval`.

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
    df = honest_df(values.size, n_test / n_train)
    return score_interval(mean, error, t_quantile(1 - alpha / 2, df), bounds)


def honest_df(count: int, ratio: float) -> int:
    """Degrees of freedom of `count` resampled scores: folds - 1, however often the folds were drawn anew.

    Repeating a cross-validation shows the same rows again; what varies independently are about
    1 + n_train / n_test = `folds` disjoint test parts. Halves have the five of the 5x2 tests.

    >>> honest_df(30, 1 / 9), honest_df(10, 1 / 9), honest_df(10, 1.0)
    (9, 9, 5)
    """
    if not ratio > 0:
        return count - 1
    return max(1, min(count - 1, max(5 if ratio > 0.4 else 1, round(1 / ratio))))


class ScoreScale:
    """The scale on which scores with these bounds are nearly normal.

    Scores between two bounds are taken on the scale of ln((s - low) / (high - s)), those with one bound on the scale of
    the logarithm of their distance from it, others as they are. An interval made there never leaves the bounds, and is
    longer on the side that is farther from them.
    """

    def __init__(self, bounds: Interval | None):
        self.low, self.high = bounds if bounds is not None else (-np.inf, np.inf)

    def inside(self, score: float) -> bool:
        """Whether the score lies strictly between the bounds, where the scale is defined."""
        return self.low < score < self.high

    def to(self, score: float) -> float:
        """The score on this scale."""
        below, above = score - self.low, self.high - score
        if np.isinf(below) and np.isinf(above):
            return score
        return float((0.0 if np.isinf(below) else np.log(below)) - (0.0 if np.isinf(above) else np.log(above)))

    def slope(self, score: float) -> float:
        """The derivative of `to`, by which an error is carried over."""
        below, above = score - self.low, self.high - score
        return 1.0 if np.isinf(below) and np.isinf(above) else 1 / below + 1 / above

    def back(self, value: float) -> float:
        """The score at a point of this scale."""
        if np.isinf(self.low) and np.isinf(self.high):
            return value
        with np.errstate(over="ignore"):  # an end beyond all numbers is infinite, or at its bound
            if np.isinf(self.high):
                return float(self.low + np.exp(value))
            if np.isinf(self.low):
                return float(self.high - np.exp(-value))
            return float(self.low + (self.high - self.low) / (1 + np.exp(-value)))


def score_interval(mean: float, error: float, critical: float, bounds: Interval | None) -> Interval:
    """The interval of a score: mean +- critical x error, on the scale of `ScoreScale`.

    >>> low, high = score_interval(0.95, 0.02, 2.0, (0.0, 1.0))
    >>> round(low, 3), round(high, 3)
    (0.891, 0.978)
    >>> score_interval(2.0, 0.5, 2.0, None)
    (1.0, 3.0)
    """
    scale = ScoreScale(bounds)
    if not error > 0 or not scale.inside(mean):
        return max(scale.low, mean - critical * error), min(scale.high, mean + critical * error)
    centre, half = scale.to(mean), critical * error * scale.slope(mean)
    return scale.back(centre - half), scale.back(centre + half)


def spread(values: np.ndarray, scale: float) -> float:
    """The sample standard deviation, 0 where it is only rounding of numbers of size `scale`."""
    sd = float(values.std(ddof=1))
    return 0.0 if sd <= ROUNDING * max(scale, np.finfo(float).tiny) else sd


def check_alpha(who: str, alpha: float) -> None:
    """Raise the error sentence if `alpha` is not a level."""
    if not 0 < alpha < 1:
        raise ParameterError(who, "parameter 'alpha'", "must be between 0 and 1", f"got {alpha!r}")
