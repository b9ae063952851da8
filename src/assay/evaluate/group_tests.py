"""Tests of several learners at once: analysis of variance, Kruskal-Wallis, Friedman with Nemenyi, Cochran's Q.

Scores come as a mapping from name to values, as an array with one column per learner, or (`anova`, `kruskal_wallis`) as
one argument per learner. Every function returns a `TestResult`; comparisons of pairs are in its `details`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from ..base.errors import DataError, plain
from .distributions import chi2_p_value, f_p_value, noncentrality_interval, t_p_value, t_quantile
from .intervals import check_alpha
from .multiplicity import bonferroni, holm
from .numerics import mean, one_way_squares
from .rank_tests import midranks
from .result import Outcome, TestResult, number, percent

_SAME_BLOCKS = ("the rows (data sets) are independent of each other", None)


def anova(*scores: Any, alpha: float = 0.05) -> TestResult:
    """One-way analysis of variance of L learners with K scores each: F with L - 1 and N - L degrees of freedom.

    Effect is eta squared, the share of the variance that lies between learners; its interval comes from the
    non-central F distribution: eta squared = nc / (nc + N). `details["pairs"]` holds Fisher's least significant
    difference test of every pair, to be read only if the F test rejects, with p-values adjusted by Holm and by
    Bonferroni as well.

    Sums of squares are taken around a common value and added exactly, so F keeps all the digits that the scores have.

    >>> result = anova([1.0, 2.0, 3.0], [2.0, 3.0, 4.0], [5.0, 6.0, 7.0])
    >>> round(result.statistic, 6), result.df
    (13.0, (2, 6))
    """
    check_alpha("anova", alpha)
    groups = _groups("anova", scores[0] if len(scores) == 1 else scores)
    sizes = np.array([g.size for g in groups.values()])
    means = np.array([mean(g) for g in groups.values()])
    n, count = int(sizes.sum()), len(groups)
    if n <= count:
        raise DataError("anova", "scores", "must hold more values than learners", f"got {n} for {count}")
    between, within = one_way_squares(list(groups.values()))
    df = (count - 1, n - count)
    # Squares of this size are the last bit of the scores and no variation.
    largest = max(float(np.abs(g).max()) for g in groups.values())
    floor = (4 * float(np.finfo(float).eps) * largest) ** 2 * n
    if within > floor:
        statistic = (between / df[0]) / (within / df[1])
    else:
        statistic = np.inf if between > floor else 0.0
    p_value = 1.0 if statistic == 0 else f_p_value(statistic, *df)
    effect = between / (between + within) if between + within > 0 else 0.0
    low, high = noncentrality_interval(statistic, *df, alpha)
    interval = tuple(1.0 if np.isinf(nc) else nc / (nc + n) for nc in (low, high))
    found = Outcome(
        "analysis of variance", statistic, p_value, alpha, effect, "eta squared", (interval[0], interval[1]), df=df
    )
    return found.result(
        details={
            "means": dict(zip(groups, means.tolist())),
            "pairs": _least_significant(groups, means, sizes, within / df[1], df[1], alpha),
        },
        assumptions=(
            ("the scores are independent of each other", None),
            ("the scores of each learner are roughly normal with one variance", None),
            ("the scores of each learner vary", within > floor),
        ),
        sentence=(
            f"Learners account for {percent(effect)} of the variance of {n} scores; that the means of {count} learners "
            f"differ is {found.decision} (F = {number(statistic)}, df = {df[0]} and {df[1]}, {found.p_words})."
        ),
    )


def _least_significant(
    groups: dict[str, np.ndarray], means: np.ndarray, sizes: np.ndarray, variance: float, df: int, alpha: float
) -> list[dict[str, Any]]:
    pairs: list[dict[str, Any]] = []
    names = list(groups)
    for i, j in combinations(range(len(names)), 2):
        difference = float(means[i] - means[j])
        error = float(np.sqrt(variance * (1 / sizes[i] + 1 / sizes[j])))
        t = difference / error if error > 0 else (0.0 if difference == 0 else float(np.copysign(np.inf, difference)))
        half = t_quantile(1 - alpha / 2, df) * error
        pairs.append(
            {
                "a": names[i],
                "b": names[j],
                "difference": difference,
                "interval": (difference - half, difference + half),
                "statistic": t,
                "p_value": t_p_value(t, df) if t != 0 else 1.0,
            }
        )
    p_values = [pair["p_value"] for pair in pairs]
    for pair, p_holm, p_bonferroni in zip(pairs, holm(p_values), bonferroni(p_values)):
        pair.update(p_holm=float(p_holm), p_bonferroni=float(p_bonferroni))
    return pairs


def kruskal_wallis(*scores: Any, alpha: float = 0.05) -> TestResult:
    """Kruskal and Wallis' rank analysis of variance, with the correction for ties; chi-square with L - 1 df.

    Effect is epsilon squared, H / (N - 1): 0 if the ranks say nothing about the learner, 1 if everything.

    >>> round(kruskal_wallis({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}).statistic, 3)
    3.857
    """
    check_alpha("kruskal_wallis", alpha)
    groups = _groups("kruskal_wallis", scores[0] if len(scores) == 1 else scores)
    pooled = np.concatenate(list(groups.values()))
    n, count = pooled.size, len(groups)
    ranks = midranks(pooled)
    ends = np.cumsum([g.size for g in groups.values()])
    parts = np.split(ranks, ends[:-1])
    between = sum(part.size * (part.mean() - (n + 1) / 2) ** 2 for part in parts)
    total = float(((ranks - (n + 1) / 2) ** 2).sum())
    statistic = float((n - 1) * between / total) if total > 0 else 0.0
    p_value = chi2_p_value(statistic, count - 1)
    effect = statistic / (n - 1) if n > 1 else 0.0
    found = Outcome("Kruskal-Wallis test", statistic, p_value, alpha, effect, "epsilon squared", df=count - 1)
    return found.result(
        details={"mean_ranks": {name: float(part.mean()) for name, part in zip(groups, parts)}},
        assumptions=(
            ("the scores are independent of each other", None),
            ("every learner has at least 5 scores, for chi-square to be close", min(p.size for p in parts) >= 5),
        ),
        sentence=(
            f"That the {count} learners' scores differ in rank is {found.decision} (H = {number(statistic)}, df = "
            f"{count - 1}, {found.p_words})."
        ),
    )


def friedman(scores: Any, *, greater_is_better: bool = True, alpha: float = 0.05) -> TestResult:
    """Friedman's test: do average ranks over N data sets (rows) differ between k learners (columns)?

    Chi-square with k - 1 degrees of freedom, corrected for ties. Effect is Kendall's W, the agreement of the rows
    on the order. `details` holds the average ranks (1 is best) and Iman and Davenport's F with k - 1 and
    (k - 1)(N - 1) degrees of freedom, which is less conservative.

    >>> result = friedman({"a": [0.9, 0.8, 0.7, 0.9], "b": [0.8, 0.7, 0.6, 0.8], "c": [0.7, 0.6, 0.5, 0.7]})
    >>> round(result.statistic, 6), round(result.effect, 6)
    (8.0, 1.0)
    """
    check_alpha("friedman", alpha)
    names, blocks = _blocks("friedman", scores)
    n, k = blocks.shape
    ranks = _block_ranks(blocks, greater_is_better)
    sums = ranks.sum(axis=0)
    scatter = float(((ranks - (k + 1) / 2) ** 2).sum())
    statistic = float((k - 1) * ((sums - n * (k + 1) / 2) ** 2).sum() / scatter) if scatter > 0 else 0.0
    p_value = chi2_p_value(statistic, k - 1)
    room = n * (k - 1) - statistic
    f = (n - 1) * statistic / room if room > 1e-9 else np.inf
    f_df = (k - 1, (k - 1) * (n - 1))
    average = dict(zip(names, (sums / n).tolist()))
    first = min(average, key=lambda name: average[name])
    found = Outcome("Friedman test", statistic, p_value, alpha, statistic / (n * (k - 1)), "Kendall's W", df=k - 1)
    return found.result(
        details={
            "average_ranks": average,
            "iman_davenport": {"statistic": f, "df": f_df, "p_value": f_p_value(f, *f_df)},
        },
        assumptions=(
            _SAME_BLOCKS,
            ("more than 10 rows or more than 5 learners, for chi-square to be close", n > 10 or k > 5),
        ),
        sentence=(
            f"Over {n} rows {first} has the best average rank of {k} learners ({number(average[first])}); that the "
            f"ranks differ is {found.decision} (chi-square = {number(statistic)}, df = {k - 1}, {found.p_words})."
        ),
    )


def nemenyi(scores: Any, *, greater_is_better: bool = True, alpha: float = 0.05) -> TestResult:
    """Nemenyi's comparison of all pairs after Friedman: average ranks differ if more than the critical difference.

    The critical difference is q sqrt(k (k + 1) / (6 N)), q the studentised range quantile over sqrt(2) with
    infinite degrees of freedom (Demsar, JMLR 7, 2006). The result is that of the pair furthest apart;
    `details["pairs"]` holds all, already corrected for their number.

    >>> result = nemenyi({"a": [0.9, 0.8, 0.7, 0.9], "b": [0.8, 0.7, 0.6, 0.8], "c": [0.7, 0.6, 0.5, 0.7]})
    >>> round(result.details["critical_difference"], 3)
    1.657
    """
    check_alpha("nemenyi", alpha)
    # The studentised range is in scipy.stats alone, which is slow to import.
    from scipy.stats import studentized_range

    names, blocks = _blocks("nemenyi", scores)
    n, k = blocks.shape
    average = _block_ranks(blocks, greater_is_better).mean(axis=0)
    unit = float(np.sqrt(k * (k + 1) / (12 * n)))
    critical = float(studentized_range.ppf(1 - alpha, k, np.inf)) * unit
    pairs: list[dict[str, Any]] = []
    for i, j in combinations(range(k), 2):
        gap = float(average[i] - average[j])
        p = float(studentized_range.sf(abs(gap) / unit, k, np.inf))
        pairs.append(
            {
                "a": names[i],
                "b": names[j],
                "difference": gap,
                "interval": (gap - critical, gap + critical),
                "p_value": min(1.0, p),
                "reject": p < alpha,
            }
        )
    widest = max(pairs, key=lambda pair: abs(pair["difference"]))
    apart = sum(pair["reject"] for pair in pairs)
    gap, which = widest["difference"], f"difference in average rank, {widest['a']} - {widest['b']}"
    found = Outcome("Nemenyi test", abs(gap) / unit, widest["p_value"], alpha, gap, which, widest["interval"])
    return found.result(
        details={"critical_difference": critical, "average_ranks": dict(zip(names, average.tolist())), "pairs": pairs},
        assumptions=(_SAME_BLOCKS,),
        sentence=(
            f"Average ranks over {n} rows have to differ by {number(critical)}; {apart} of {len(pairs)} pairs do. The "
            f"furthest apart are {widest['a']} and {widest['b']} (difference {number(gap)}, "
            f"{found.interval_words}, {found.p_words})."
        ),
    )


def cochran_q(y_true: Any, predictions: Mapping[str, Any], *, alpha: float = 0.05) -> TestResult:
    """Cochran's Q: do k classifiers get the same share of one test set right? Chi-square with k - 1 df.

    Rows that all get right or all get wrong do not count. For two classifiers Q is McNemar's statistic without
    the continuity correction. Effect is Q / (n (k - 1)) over the n rows that count: 0 none, 1 the largest possible.

    >>> y = [1, 1, 1, 1, 1, 1]
    >>> cochran_q(y, {"a": y, "b": [1, 1, 1, 0, 0, 0], "c": [1, 0, 0, 0, 0, 0]}).statistic
    7.6
    """
    check_alpha("cochran_q", alpha)
    truth = np.asarray(y_true)
    names = [str(name) for name in predictions]
    if len(names) < 2:
        raise DataError("cochran_q", "predictions", "must be of at least 2 classifiers", f"got {len(names)}")
    for name, labels in predictions.items():
        if np.shape(labels) != truth.shape or truth.ndim != 1:
            raise DataError(
                "cochran_q", f"predictions of '{name}'", f"must have shape {truth.shape}", f"got {np.shape(labels)}"
            )
    if truth.size == 0:
        raise DataError("cochran_q", "y_true", "must hold at least one row", "got none")
    right = np.column_stack([np.asarray(labels) == truth for labels in predictions.values()]).astype(float)
    k = len(names)
    per_row, per_column = right.sum(axis=1), right.sum(axis=0)
    below = float(k * per_row.sum() - (per_row**2).sum())
    statistic = float((k - 1) * (k * (per_column**2).sum() - per_column.sum() ** 2) / below) if below > 0 else 0.0
    counted = int(((per_row > 0) & (per_row < k)).sum())
    p_value = chi2_p_value(statistic, k - 1)
    accuracy = dict(zip(names, right.mean(axis=0).tolist()))
    best = max(accuracy, key=lambda name: accuracy[name])
    effect = statistic / (counted * (k - 1)) if counted else 0.0
    found = Outcome("Cochran Q test", statistic, p_value, alpha, effect, "share of the largest possible Q", df=k - 1)
    return found.result(
        details={"accuracy": accuracy, "rows_that_differ": counted},
        assumptions=(
            ("the test rows are independent and were not used for training", None),
            ("at least 24 scores come from rows on which the classifiers differ", counted * k >= 24),
        ),
        sentence=(
            f"The classifiers disagree on {counted} of {truth.size} rows and {best} is right most often "
            f"({percent(accuracy[best])}); that their accuracies differ is {found.decision} (Q = {number(statistic)}, "
            f"df = {k - 1}, {found.p_words})."
        ),
    )


def _groups(who: str, scores: Any) -> dict[str, np.ndarray]:
    """Scores per learner as flat arrays."""
    if isinstance(scores, Mapping):
        named = {str(name): values for name, values in scores.items()}
    elif isinstance(scores, np.ndarray) and scores.ndim == 2:
        named = {f"learner {j + 1}": scores[:, j] for j in range(scores.shape[1])}
    elif not hasattr(scores, "__iter__") or isinstance(scores, str):
        raise DataError(who, "scores", "must be of at least 2 learners", "got one number")
    else:
        named = {f"learner {j + 1}": values for j, values in enumerate(scores)}
    groups = {name: _numbers(who, name, values) for name, values in named.items()}
    if len(groups) < 2:
        raise DataError(who, "scores", "must be of at least 2 learners", f"got {len(groups)}")
    for name, values in groups.items():
        if values.size == 0 or not np.isfinite(values).all():
            came = "got none" if values.size == 0 else "got NaN or infinity"
            raise DataError(who, f"scores of '{name}'", "must be finite numbers", came)
    return groups


def _numbers(who: str, name: str, values: Any) -> np.ndarray:
    try:
        return np.asarray(values, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise DataError(who, f"scores of '{plain(name)}'", "must be numbers", f"got {plain(values)}") from None


def _blocks(who: str, scores: Any) -> tuple[list[str], np.ndarray]:
    """Scores as a matrix with one row per data set and one column per learner."""
    if not isinstance(scores, Mapping):
        matrix = np.asarray(scores, dtype=np.float64)
        if matrix.ndim != 2:
            raise DataError(who, "scores", "must be an array (data sets, learners)", f"got shape {matrix.shape}")
        scores = {f"learner {j + 1}": matrix[:, j] for j in range(matrix.shape[1])}
    groups = _groups(who, scores)
    lengths = {values.size for values in groups.values()}
    if len(lengths) > 1 or max(lengths) < 2:
        raise DataError(
            who,
            "scores",
            "must have one value per learner in each of at least 2 rows",
            f"got lengths {sorted(lengths)}",
        )
    return list(groups), np.column_stack(list(groups.values()))


def _block_ranks(blocks: np.ndarray, greater_is_better: bool) -> np.ndarray:
    """Ranks within each row, 1 for the best, ties shared."""
    return np.array([midranks(-row if greater_is_better else row) for row in blocks])
