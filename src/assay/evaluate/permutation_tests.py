"""Permutation tests: what the score or the difference would be if the null hypothesis were true, by rearranging.

All arrangements are counted where that is feasible, and then p is exact; otherwise they are drawn at random and the
observed one is counted with them, p = (1 + as extreme) / (1 + drawn), which keeps the level.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np

from ..base.errors import DataError, ParameterError
from ..base.randomness import Stream
from .hypothesis_tests import A_AND_B, Names, check_options, higher_words, paired_scores
from .metrics import get_metric
from .result import Interval, Outcome, TestResult, number

# 2^20 sums of signs and 7! orders of labels are counted in full.
_MOST_PAIRS, _MOST_LABELS = 20, 7
_CHUNK = 2_000_000


def permutation_test(
    a: Any,
    b: Any,
    *,
    kind: str = "paired",
    metric: str | Callable[[Any, Any], float] = "accuracy",
    n_permutations: int = 9999,
    alternative: str | None = None,
    random_state: Any = 0,
    alpha: float = 0.05,
    names: Names = A_AND_B,
) -> TestResult:
    """The permutation test of paired scores, or of one model's score.

    `kind` "paired": `a` and `b` are scores of two learners on the same data sets (or other independent pairs). If
    neither is better, the sign of every difference is as likely as its opposite; all sign patterns are counted up to
    20 pairs. Effect is the mean difference; its interval holds the shifts that the test would not reject, whose ends
    are means of subsets of the differences (Hartigan 1969). On the folds of one data set the differences are not
    independent: use `corrected_resampled_t` there.

    `kind` "labels": `a` are true labels (or values) of a test set and `b` a model's predictions for it. If the model
    knows nothing about the labels, every order of the labels is as likely. `metric` is a name or a function
    (y, predictions) -> score; the alternative is by default that the score is better than by chance. Effect is the
    score less its mean over the orders. The model is not fitted again, so it must not have seen these rows.

    >>> result = permutation_test([0.9, 0.8, 0.7, 0.9, 0.8], [0.8, 0.7, 0.6, 0.7, 0.7])
    >>> result.p_value, result.details["exact"]  # 2 of 32 sign patterns are as extreme
    (0.0625, True)
    >>> permutation_test([0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1], kind="labels").p_value
    0.05
    """
    who = "permutation_test"
    if kind not in ("paired", "labels"):
        raise ParameterError(who, "parameter 'kind'", "must be 'paired' or 'labels'", f"got {kind!r}")
    if alternative is None:
        alternative = "two-sided" if kind == "paired" else "greater"
    check_options(who, alternative, alpha)
    if n_permutations < 1:
        raise ParameterError(who, "parameter 'n_permutations'", "must be at least 1", f"got {n_permutations!r}")
    generator = Stream.of(random_state).generator()
    if kind == "labels":
        return _labels(a, b, metric, n_permutations, alternative, generator, alpha)
    return _paired(a, b, n_permutations, alternative, generator, alpha, names)


def _paired(
    scores_a: Any,
    scores_b: Any,
    n_permutations: int,
    alternative: str,
    generator: np.random.Generator,
    alpha: float,
    names: Names,
) -> TestResult:
    a, b = paired_scores("permutation_test", scores_a, scores_b, least=1)
    differences = a - b
    n = differences.size
    exact = n <= _MOST_PAIRS
    sums, sizes = _subset_sums(differences) if exact else _drawn_subsets(differences, n_permutations, generator)
    # Turning the signs of a subset leaves the total as large or larger exactly if the subset's own sum is not positive.
    tolerance = 1e-12 * max(float(np.abs(a).max()), float(np.abs(b).max())) * n
    at_least = (int((sums <= tolerance).sum()) + 1) / (sums.size + 1)
    at_most = (int((sums >= -tolerance).sum()) + 1) / (sums.size + 1)
    p_value = {"greater": at_least, "less": at_most, "two-sided": min(1.0, 2 * min(at_least, at_most))}[alternative]
    means = np.sort(sums[sizes > 0] / sizes[sizes > 0])
    interval = _subset_interval(means, alpha, alternative)
    effect = float(differences.mean())
    counted = f"all {sums.size + 1:,}" if exact else f"{sums.size:,} random"
    found = Outcome("paired permutation test", effect, p_value, alpha, effect, "mean difference", interval)
    return found.result(
        details={"exact": exact, "arrangements": sums.size + 1},
        assumptions=(
            ("the pairs are independent of each other", None),
            ("without a difference between the learners each sign is as likely as its opposite", None),
        ),
        sentence=(
            f"{higher_words(names, effect)} on average ({found.interval_words}); the difference is {found.decision} "
            f"({counted} sign patterns of {n} pairs, {found.p_words})."
        ),
    )


def _subset_sums(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum and size of every subset that is not empty, by doubling."""
    sums, sizes = np.zeros(1), np.zeros(1, dtype=np.int64)
    for value in values:
        sums, sizes = np.concatenate([sums, sums + value]), np.concatenate([sizes, sizes + 1])
    return sums[1:], sizes[1:]


def _drawn_subsets(
    values: np.ndarray, n_permutations: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    sums, sizes = np.empty(n_permutations), np.empty(n_permutations, dtype=np.int64)
    step = max(1, _CHUNK // values.size)
    for start in range(0, n_permutations, step):
        member = generator.integers(0, 2, (min(step, n_permutations - start), values.size), dtype=np.int8)
        sums[start : start + step] = member @ values
        sizes[start : start + step] = member.sum(axis=1)
    return sums, sizes


def _subset_interval(means: np.ndarray, alpha: float, alternative: str) -> Interval:
    """The shifts not rejected: from the k-th smallest to the k-th largest mean of a subset, k = alpha (m + 1)."""
    tail = alpha / 2 if alternative == "two-sided" else alpha
    k = math.ceil(tail * (means.size + 1) - 1e-9)
    # A shift between the (k-1)-th and the k-th mean has p = k / (m + 1), and p >= alpha is kept.
    low = float(means[k - 2]) if k >= 2 else -np.inf
    high = float(means[-(k - 1)]) if k >= 2 else np.inf
    return (-np.inf if alternative == "less" else low, np.inf if alternative == "greater" else high)


def _labels(
    y_true: Any,
    predicted: Any,
    metric: str | Callable[[Any, Any], float],
    n_permutations: int,
    alternative: str,
    generator: np.random.Generator,
    alpha: float,
) -> TestResult:
    who = "permutation_test"
    truth, guess = np.asarray(y_true), np.asarray(predicted)
    if truth.ndim != 1 or guess.shape[:1] != truth.shape:
        raise DataError(
            who, "true labels and predictions", "must be of one length", f"got shapes {truth.shape} and {guess.shape}"
        )
    if truth.size < 2:
        raise DataError(who, "true labels", "must hold at least 2 rows", f"got {truth.size}")
    for name, values in (("true labels", truth), ("predictions", guess)):
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise DataError(who, name, "must be finite", "got NaN or infinity")
    title = metric if isinstance(metric, str) else getattr(metric, "__name__", "score")
    sign = 1.0 if callable(metric) or get_metric(metric).greater_is_better else -1.0
    score = _scorer(metric, truth, guess)
    observed = float(score(truth[None, :])[0])
    exact = truth.size <= _MOST_LABELS
    if exact:
        orders = np.array(list(permutations(range(truth.size))))
        null = score(truth[orders])
        counted, added = len(orders), 0
    else:
        step = max(1, _CHUNK // truth.size)
        parts = []
        for start in range(0, n_permutations, step):
            block = np.tile(truth, (min(step, n_permutations - start), 1))
            parts.append(score(generator.permuted(block, axis=1)))
        null, counted, added = np.concatenate(parts), n_permutations, 1
    if not (np.isfinite(observed) and np.isfinite(null).all()):
        raise DataError(
            who, f"metric '{title}'", "must be defined for every order of the labels", "got NaN or infinity"
        )
    tolerance = 1e-12 * max(1.0, abs(observed))
    better = (int((sign * null >= sign * observed - tolerance).sum()) + added) / (counted + added)
    worse = (int((sign * null <= sign * observed + tolerance).sum()) + added) / (counted + added)
    p_value = {"greater": better, "less": worse, "two-sided": min(1.0, 2 * min(better, worse))}[alternative]
    chance = float(null.mean())
    direction = {"greater": "better than", "less": "worse than", "two-sided": "different from"}[alternative]
    found = Outcome(
        "label permutation test", observed, p_value, alpha, observed - chance, f"{title} less its mean by chance"
    )
    return found.result(
        details={
            "exact": exact,
            "arrangements": counted,
            "chance": chance,
            "chance_interval": tuple(np.quantile(null, [alpha / 2, 1 - alpha / 2]).tolist()),
        },
        assumptions=(
            ("the rows are independent of each other and were not used for training", None),
            ("the labels vary", bool((truth != truth[0]).any())),
        ),
        sentence=(
            f"The {title} is {number(observed)} on {truth.size} rows and {number(chance)} on average by chance; that "
            f"it is {direction} chance is {found.decision} ({'all' if exact else 'random'} {counted:,} orders of the "
            f"labels, {found.p_words})."
        ),
    )


def _scorer(
    metric: str | Callable[[Any, Any], float], truth: np.ndarray, guess: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """A function from rows of rearranged labels to scores; the common metrics take all rows at once."""
    if callable(metric):
        return lambda rows: np.array([float(metric(row, guess)) for row in rows])
    if guess.ndim == 1 and metric in ("accuracy", "error_rate"):
        share = lambda rows: (rows == guess).mean(axis=1)  # noqa: E731
        return share if metric == "accuracy" else lambda rows: 1 - share(rows)
    if guess.ndim == 1 and metric in ("mse", "rmse", "mae") and truth.dtype.kind in "fiu":
        power = 1 if metric == "mae" else 2
        loss = lambda rows: (np.abs(rows - guess) ** power).mean(axis=1)  # noqa: E731
        return (lambda rows: np.sqrt(loss(rows))) if metric == "rmse" else loss
    chosen = get_metric(metric)
    return lambda rows: np.array([float(chosen.score(row, guess)) for row in rows])
