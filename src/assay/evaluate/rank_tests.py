"""Tests of two learners on paired scores that use only signs and ranks.

For independent pairs, such as scores on different data sets; the folds of one cross-validation are not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import ParameterError
from .distributions import binomial_interval, binomial_p_value, normal_p_value, normal_quantile
from .hypothesis_tests import A_AND_B, Names, check_options, higher_words, paired_scores
from .intervals import ROUNDING
from .result import Interval, Outcome, TestResult, number


def sign_test(
    scores_a: Any,
    scores_b: Any,
    *,
    ties: str = "split",
    alternative: str = "two-sided",
    alpha: float = 0.05,
    names: Names = A_AND_B,
) -> TestResult:
    """The sign test: are wins of A over B and of B over A equally likely? Exact binomial.

    For independent pairs (data sets). Ties are split evenly, an odd one left out ("split", as Demsar advises), or
    all left out ("drop"). Effect is A's share of the wins, with Clopper and Pearson's interval.

    >>> round(sign_test([3, 4, 5, 6, 7, 1], [1, 1, 1, 1, 1, 2]).p_value, 5)
    0.21875
    """
    a, b = paired_scores("sign_test", scores_a, scores_b, least=1)
    check_options("sign_test", alternative, alpha)
    if ties not in ("split", "drop"):
        raise ParameterError("sign_test", "parameter 'ties'", "must be 'split' or 'drop'", f"got {ties!r}")
    wins, losses = int((a > b).sum()), int((a < b).sum())
    tied = a.size - wins - losses
    shared = tied // 2 if ties == "split" else 0
    counted_wins, trials = wins + shared, wins + losses + 2 * shared
    p_value = binomial_p_value(counted_wins, trials, 0.5, alternative)
    share = counted_wins / trials if trials else 0.5
    interval = binomial_interval(counted_wins, trials, alpha, alternative)
    tie_words = f" with {tied} ties" if tied else ""
    found = Outcome("sign test", float(counted_wins), p_value, alpha, share, "share of wins", interval)
    return found.result(
        details={"wins": wins, "losses": losses, "ties": tied, "trials": trials},
        assumptions=(("the pairs are independent of each other", None),),
        sentence=(
            f"{names[0]} scored higher than {names[1]} {wins} times and lower {losses} times{tie_words}; its share of "
            f"wins is {number(share)} ({found.interval_words}), and its distance from a half is {found.decision} "
            f"({found.p_words})."
        ),
    )


def wilcoxon(
    scores_a: Any, scores_b: Any, *, alternative: str = "two-sided", alpha: float = 0.05, names: Names = A_AND_B
) -> TestResult:
    """Wilcoxon's signed rank test; the statistic is the rank sum of the differences in favour of A.

    For independent pairs (data sets). Zero differences are left out. With at most 50 pairs the distribution is exact,
    ties or not (every rank joins the sum with probability a half, midranks counted in halves); with more it is normal
    with the variance corrected for ties. Effect is the Hodges-Lehmann
    estimate (the median of all pairwise averages of the differences) with the interval of the same test.

    >>> result = wilcoxon([1.1, 2.3, 3.7, 4.2, 5.9], [1.0, 2.0, 3.0, 3.0, 4.0])
    >>> result.statistic, result.p_value
    (15.0, 0.0625)
    """
    a, b = paired_scores("wilcoxon", scores_a, scores_b, least=1)
    check_options("wilcoxon", alternative, alpha)
    scale = max(float(np.abs(a).max()), float(np.abs(b).max()))
    differences = a - b
    kept = differences[np.abs(differences) > ROUNDING * scale]
    n = kept.size
    ranks = midranks(np.abs(kept), tolerance=ROUNDING * scale)
    statistic = float(ranks[kept > 0].sum())
    exact = n <= 50
    middle, deviation = n * (n + 1) / 4, np.sqrt(float((ranks**2).sum()) / 4)
    if n == 0:
        p_value = 1.0
    elif exact:
        p_value = _signed_rank_p(statistic, ranks, alternative)
    else:
        p_value = normal_p_value((statistic - middle) / deviation, alternative)
    averages = np.sort(((kept[:, None] + kept) / 2)[np.triu_indices(n)])
    effect = float(np.median(averages)) if n else 0.0
    interval = _walsh_interval(averages, n, alpha, alternative)
    found = Outcome(
        "Wilcoxon signed rank test", statistic, p_value, alpha, effect, "median difference (Hodges-Lehmann)", interval
    )
    return found.result(
        details={"pairs": n, "zero_differences": int(a.size - n), "exact": exact},
        assumptions=(
            ("the pairs are independent of each other", None),
            ("the differences are symmetric around their median", None),
        ),
        sentence=(
            f"{higher_words(names, effect)} in the median ({found.interval_words}); the difference is {found.decision} "
            f"(signed rank sum {number(statistic)} of {n} pairs, {found.p_words})."
        ),
    )


def midranks(values: np.ndarray, tolerance: float = 0.0) -> np.ndarray:
    """Ranks from 1, ties sharing the mean of theirs; values closer than `tolerance` to the next are tied.

    >>> midranks(np.array([10.0, 20.0, 10.0])).tolist()
    [1.5, 3.0, 1.5]
    """
    order = np.argsort(values, kind="stable")
    starts = np.concatenate([[True], np.diff(values[order]) > tolerance]) if values.size else np.zeros(0, bool)
    run = np.cumsum(starts)
    lengths = np.bincount(run)
    last = np.cumsum(lengths)
    ranks = np.empty(values.size)
    ranks[order] = (last - (lengths - 1) / 2)[run]
    return ranks


def _signed_rank_distribution(ranks: np.ndarray) -> np.ndarray:
    """P(rank sum = s / 2) for s = 0, 1, ...: each rank, doubled to be whole, joins the sum with probability a half."""
    mass = np.ones(1)
    for rank in np.round(2 * ranks).astype(int):
        longer = np.zeros(mass.size + rank)
        longer[: mass.size] += mass / 2
        longer[rank:] += mass / 2
        mass = longer
    return mass


def _signed_rank_p(statistic: float, ranks: np.ndarray, alternative: str) -> float:
    mass = _signed_rank_distribution(ranks)
    position = round(2 * statistic)
    at_most, at_least = float(mass[: position + 1].sum()), float(mass[position:].sum())
    if alternative == "greater":
        return at_least
    if alternative == "less":
        return at_most
    return min(1.0, 2 * min(at_most, at_least))


def _walsh_interval(averages: np.ndarray, n: int, alpha: float, alternative: str) -> Interval:
    """The interval from the k-th smallest to the k-th largest pairwise average, k from the signed rank distribution."""
    tail = alpha / 2 if alternative == "two-sided" else alpha
    if n <= 50:
        mass = _signed_rank_distribution(np.arange(1.0, n + 1))[::2]
        k = int(np.searchsorted(np.cumsum(mass), tail, side="right"))
    else:
        deviation = np.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        k = max(0, int(np.floor(n * (n + 1) / 4 - normal_quantile(1 - tail) * deviation)))
    low = float(averages[k - 1]) if k > 0 else -np.inf
    high = float(averages[-k]) if k > 0 else np.inf
    return (-np.inf if alternative == "less" else low, np.inf if alternative == "greater" else high)
