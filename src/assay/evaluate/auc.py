"""DeLong's interval for the area under ROC, and his test for two of them on the same rows, in O(n log n).

>>> y = [0, 0, 1, 1, 0, 1, 0, 1]
>>> round(delong(y, [0.1, 0.4, 0.35, 0.8, 0.2, 0.7, 0.6, 0.9]).effect, 4)
0.875
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from .. import _kernels
from ..base.errors import DataError, ParameterError
from .distributions import ALTERNATIVES, t_p_value, t_quantile
from .intervals import check_alpha
from .replicates import sorted_scores
from .result import Assumption, Interval, TestResult, decision_words, df_words, number, p_words, percent

_INDEPENDENT: Assumption = ("the rows are independent and were not used for training", None)
# Fewer rows than this in a class, and the normal limit is not to be trusted (coverage: docs/design).
_ENOUGH = 10


def delong(
    y: Any,
    scores: Any,
    scores_b: Any = None,
    *,
    alternative: str = "two-sided",
    alpha: float = 0.05,
    transform: str = "logit",
    positive: Any = None,
    names: tuple[str, str] = ("A", "B"),
) -> TestResult:
    """DeLong's interval for the area under ROC, or with `scores_b` his test of two correlated areas.

    `scores` rise with the chance of the `positive` class (by default the second of two in sorted order). For one
    learner the effect is the area, tested against 0.5; its interval is made on the scale of ln(A / (1 - A)), or with
    `transform="none"` on the scale of A, cut to [0, 1]. For two learners the effect is the difference of the areas on
    the same rows, tested against 0. The variance is the sum of one from the positive and one from the negative rows;
    limits and p-values use Student's t with Satterthwaite's degrees of freedom for that sum, which matters where one
    class has few rows: with five positives the normal limit covers 85 %.

    If the classes are separated without error, DeLong's variance is 0. The limit then comes from pairing each row of
    the smaller class with another of the larger: m right pairs of m have probability at most A^m, so areas below
    tail^(1 / m) are ruled out.

    References: DeLong, DeLong and Clarke-Pearson, Biometrics 44 (1988); Sun and Xu, IEEE Signal Processing Letters 21
    (2014) for the sort.

    >>> y = [0, 0, 1, 1, 0, 1, 0, 1]
    >>> a, b = [0.1, 0.4, 0.35, 0.8, 0.2, 0.7, 0.6, 0.9], [0.3, 0.4, 0.35, 0.6, 0.7, 0.2, 0.1, 0.9]
    >>> result = delong(y, a, b)
    >>> round(result.effect, 4), round(result.p_value, 3)
    (0.25, 0.391)
    """
    check_alpha("delong", alpha)
    if alternative not in ALTERNATIVES:
        raise ParameterError(
            "delong", "parameter 'alternative'", f"must be one of {', '.join(ALTERNATIVES)}", f"got {alternative!r}"
        )
    if transform not in ("logit", "none"):
        raise ParameterError("delong", "parameter 'transform'", "must be 'logit' or 'none'", f"got {transform!r}")
    is_positive = _positive_rows(y, positive)
    areas, by_positive, by_negative = _areas_and_parts(
        is_positive, [scores] if scores_b is None else [scores, scores_b]
    )
    covariance = by_positive + by_negative
    smaller = int(min(is_positive.sum(), (~is_positive).sum()))
    assumptions: tuple[Assumption, ...] = (
        _INDEPENDENT,
        (f"each class has at least {_ENOUGH} rows", smaller >= _ENOUGH),
    )
    tail = alpha / 2 if alternative == "two-sided" else alpha
    n_positive = int(is_positive.sum())
    df = _satterthwaite(by_positive, by_negative, n_positive, is_positive.size - n_positive)
    z = t_quantile(1 - tail, df)
    if scores_b is None:
        error = math.sqrt(covariance[0, 0])
        effect, effect_name = float(areas[0]), "area under ROC"
        low, high = _area_interval(effect, error, z, tail, smaller, transform)
        ends: Interval = (0.0, 1.0)
        statistic = (effect - 0.5) / error if error > 0 else math.copysign(math.inf, effect - 0.5)
        words = f"The area under ROC is {number(effect)}"
        relation = {"two-sided": "different from", "greater": "above", "less": "below"}[alternative]
        against = f"significantly {relation} 0.5"
    else:
        error = math.sqrt(max(0.0, covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]))
        effect, effect_name = float(areas[0] - areas[1]), "difference of areas under ROC"
        low, high = effect - z * error, effect + z * error
        ends = (-1.0, 1.0)
        statistic = effect / error if error > 0 else (0.0 if effect == 0 else math.copysign(math.inf, effect))
        ahead = f"{number(abs(effect))} {'higher' if effect > 0 else 'lower'} than" if effect else "the same as"
        words = f"The area under ROC of {names[0]} is {ahead} that of {names[1]}"
        against = ""
        assumptions = (*assumptions, ("the areas vary", error > 0 or effect == 0))
    if alternative == "two-sided":
        interval = (max(low, ends[0]), min(high, ends[1]))
    else:
        interval = (max(low, ends[0]), ends[1]) if alternative == "greater" else (ends[0], min(high, ends[1]))
    p_value = t_p_value(statistic, df, alternative)
    if scores_b is None and error == 0:
        # Separated without error: m pairs of rows are all right (or all wrong) with probability 0.5^m at even odds.
        p_value = _separated_p_value(effect, smaller, alternative)
    reject = p_value <= alpha
    shown = f"{percent(1 - alpha)} interval {number(interval[0])} to {number(interval[1])}"
    if alternative != "two-sided":
        end = f"at least {number(interval[0])}" if alternative == "greater" else f"at most {number(interval[1])}"
        shown = f"{end} with {percent(1 - alpha)} confidence"
    decided = f"{'' if reject else 'not '}{against} at {number(alpha)}" if against else decision_words(reject, alpha)
    return TestResult(
        name="DeLong's interval" if scores_b is None else "DeLong's test",
        statistic=float(statistic),
        df=df,
        p_value=p_value,
        effect=effect,
        effect_name=effect_name,
        interval=interval,
        alpha=alpha,
        reject=reject,
        sentence=f"{words} ({shown}); {decided} (t = {number(statistic)}, {df_words(df)}, {p_words(p_value)}).",
        assumptions=assumptions,
        details={
            "areas": [float(a) for a in areas],
            "standard_error": error,
            "covariance": covariance.tolist(),
            "n_positive": int(is_positive.sum()),
            "n_negative": int((~is_positive).sum()),
        },
    )


def areas_and_covariance(is_positive: np.ndarray, all_scores: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """The area of each array of scores and DeLong's covariance of the areas, from placements.

    >>> areas, covariance = areas_and_covariance(np.array([True, False, True, False]), [[3.0, 1.0, 2.0, 2.5]])
    >>> areas.tolist(), covariance.round(4).tolist()
    ([0.75], [[0.125]])
    """
    areas, from_positive, from_negative = _areas_and_parts(is_positive, all_scores)
    return areas, from_positive + from_negative


def _areas_and_parts(is_positive: np.ndarray, all_scores: list[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The areas, and the parts of their covariance that come from the positive and from the negative rows."""
    n_positive, n_negative = int(is_positive.sum()), int((~is_positive).sum())
    by_positive = np.empty((len(all_scores), n_positive))
    by_negative = np.empty((len(all_scores), n_negative))
    for each, scores in enumerate(all_scores):
        score = np.asarray(scores, dtype=np.float64)
        if score.shape != is_positive.shape:
            raise DataError(
                "delong",
                "scores",
                f"must be one number for each of {is_positive.size} rows",
                f"got shape {score.shape}",
            )
        if np.isnan(score).any():
            raise DataError("delong", "scores", "must not hold NaN", way_out="drop those rows first")
        placed = _kernels.placements(*sorted_scores(score, is_positive))
        by_positive[each] = placed[is_positive] / n_negative
        by_negative[each] = placed[~is_positive] / n_positive
    from_positive = np.atleast_2d(np.cov(by_positive)) / n_positive
    return by_positive.mean(axis=1), from_positive, np.atleast_2d(np.cov(by_negative)) / n_negative


def _satterthwaite(by_positive: np.ndarray, by_negative: np.ndarray, n_positive: int, n_negative: int) -> float:
    """Degrees of freedom of the sum of the two parts of the variance (of the area, or of the difference of two)."""
    contrast = np.array([1.0, -1.0])[: by_positive.shape[0]]
    first, second = (max(0.0, float(contrast @ part @ contrast)) for part in (by_positive, by_negative))
    total = first + second
    if not total > 0:
        return float(min(n_positive, n_negative) - 1)
    return total**2 / (first**2 / (n_positive - 1) + second**2 / (n_negative - 1))


def _positive_rows(y: Any, positive: Any) -> np.ndarray:
    truth = np.asarray(y)
    if truth.ndim != 1 or truth.size == 0:
        raise DataError("delong", "y", "must be one class per row", f"got an array of shape {truth.shape}")
    if truth.dtype.kind == "f" and np.isnan(truth).any():
        raise DataError("delong", "y", "must not hold NaN", way_out="drop those rows first")
    classes = np.unique(truth)
    if classes.size != 2 and positive is None:
        raise DataError("delong", "y", "must hold two classes", f"got {classes.size}", "or name the positive one")
    rows = truth == (classes[1] if positive is None else positive)
    if min(rows.sum(), (~rows).sum()) < 2:
        raise DataError(
            "delong",
            "y",
            "must hold at least 2 rows of each class",
            f"got {int(rows.sum())} positive and {int((~rows).sum())} negative",
            "use bootstrap_interval or collect more rows",
        )
    return rows


def _area_interval(area: float, error: float, z: float, tail: float, smaller: int, transform: str) -> Interval:
    if error == 0:
        limit = tail ** (1 / smaller)
        if area == 1:
            return limit, 1.0
        if area == 0:
            return 0.0, 1 - limit
        # Every placement is the same although the classes overlap (all scores equal): nothing is known of the spread.
        return 0.0, 1.0
    if transform == "none" or not 0 < area < 1:
        return area - z * error, area + z * error
    centre, half = special.logit(area), z * error / (area * (1 - area))
    return float(special.expit(centre - half)), float(special.expit(centre + half))


def _separated_p_value(area: float, smaller: int, alternative: str) -> float:
    if area == 0.5:
        return 1.0
    one_sided = 0.5**smaller
    if alternative == "two-sided":
        return min(1.0, 2 * one_sided)
    return one_sided if (area == 1) == (alternative == "greater") else 1.0
