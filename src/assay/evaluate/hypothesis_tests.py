"""Tests of two learners: on the scores of resampled splits, and on the predictions for one test set.

Which of them is valid is settled by how the scores were made; `assay.evaluate.compare` chooses. Every function
returns a `TestResult`. Differences are scores_a - scores_b.

**No variation.** If all differences are zero the statistic is 0 and p is 1. If all are the same and not zero, the
statistic is infinite and p is 0, the limit of the formula; as a spread of zero is a sign of too few or too coarse
scores rather than of certainty, the result is marked: its assumption "the differences vary" does not hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import DataError, DesignError, ParameterError
from .distributions import (
    ALTERNATIVES,
    binomial_interval,
    binomial_p_value,
    chi2_p_value,
    detectable_shift,
    detectable_t,
    f_p_value,
    f_quantile,
    mid_p_value,
    normal_p_value,
    normal_quantile,
    t_p_value,
    t_quantile,
)
from .intervals import ROUNDING, check_alpha, honest_df, spread
from .result import (
    Assumption,
    Interval,
    Outcome,
    TestResult,
    df_words,
    number,
)

POWER = 0.8
Names = tuple[str, str]
A_AND_B: Names = ("A", "B")
Exact = bool | str | None
_UNSEEN_ROWS: Assumption = ("the test rows are independent and were not used for training", None)


# -- scores of resampled splits -----------------------------------------------------------------------------
def paired_t(
    scores_a: Any, scores_b: Any, *, alternative: str = "two-sided", alpha: float = 0.05, names: Names = A_AND_B
) -> TestResult:
    """The paired t test: t = mean / (sd / sqrt(J)) with J - 1 degrees of freedom.

    For independent pairs, such as scores on different data sets; `scores_b` may be one number (one-sample t test).
    On the folds of one cross-validation the training sets overlap and it rejects too often: use
    `corrected_resampled_t` there.

    >>> result = paired_t([3.0, 5.0, 4.0, 8.0], [2.0, 3.0, 4.0, 5.0])
    >>> round(result.statistic, 3), result.df
    (2.324, 3)
    """
    a, b = paired_scores("paired_t", scores_a, scores_b)
    assumed = (("the pairs are independent of each other", None), ("the differences are roughly normal", None))
    return _t_test("paired t test", a, b, 1 / a.size, assumed, alternative, alpha, names)


def one_sample_t(
    scores: Any,
    value: float,
    *,
    alternative: str = "two-sided",
    alpha: float = 0.05,
    names: Names = ("The learner", "the claim"),
) -> TestResult:
    """The one-sample t test: is the mean of independent scores a given value? K - 1 degrees of freedom.

    For scores of one learner on different data sets, or error rates on K test sets, against a claimed mean.

    >>> result = one_sample_t([0.12, 0.14, 0.11, 0.15], 0.1, alternative="greater")
    >>> round(result.statistic, 3), result.reject
    (3.286, True)
    """
    if np.ndim(value) != 0 or not np.isfinite(float(value)):
        raise ParameterError("one_sample_t", "parameter 'value'", "must be one finite number", f"got {value!r}")
    a, b = paired_scores("one_sample_t", scores, float(value))
    assumed = (("the scores are independent of each other", None), ("the scores are roughly normal", None))
    return _t_test("one-sample t test", a, b, 1 / a.size, assumed, alternative, alpha, names)


def resampled_t(
    scores_a: Any, scores_b: Any, *, alternative: str = "two-sided", alpha: float = 0.05, names: Names = A_AND_B
) -> TestResult:
    """The resampled paired t test on random splits of the same rows, as it is often taught: **not valid**.

    The splits share rows, so the differences are not independent and a true null is rejected far more often than
    alpha, the more so the more splits there are. It is here to be shown beside `corrected_resampled_t`; its result
    has `valid` False.

    >>> resampled_t([0.8, 0.9, 0.7], [0.7, 0.6, 0.7]).valid
    False
    """
    a, b = paired_scores("resampled_t", scores_a, scores_b)
    assumed = (("the splits are independent of each other", False), ("the differences are roughly normal", None))
    return _t_test("resampled t test", a, b, 1 / a.size, assumed, alternative, alpha, names)


def corrected_resampled_t(
    scores_a: Any,
    scores_b: Any,
    *,
    n_train: Any,
    n_test: Any,
    alternative: str = "two-sided",
    alpha: float = 0.05,
    names: Names = A_AND_B,
    df: int | None = None,
) -> TestResult:
    """Nadeau and Bengio's corrected resampled t test: t = mean / sqrt((1 / J + n_test / n_train) s^2).

    For J splits of the same rows: random splits, k-fold, and repeated k-fold cross-validation. `n_train` and
    `n_test` are rows per split (numbers, or one per split, of which the mean ratio counts).

    The correction takes the correlation between two splits' differences to be n_test / (n_train + n_test)
    (Nadeau and Bengio, Machine Learning 52, 2003; for repeated folds Bouckaert and Frank, PAKDD 2004). Random splits
    have the published J - 1 degrees of freedom. Arrays (repetitions, folds) have folds - 1: repeating the folds shows
    no new rows, and with J - 1 degrees a true null of learners with little to learn from is rejected too often
    (docs/design/calibration.md); `df` says otherwise.

    >>> corrected_resampled_t([0.8, 0.9, 0.7], [0.7, 0.6, 0.7], n_train=90, n_test=10).df
    2
    """
    a, b = paired_scores("corrected_resampled_t", scores_a, scores_b)
    ratio = size_ratio("corrected_resampled_t", n_train, n_test)
    return _t_test(
        "corrected resampled t test",
        a,
        b,
        1 / a.size + ratio,
        (
            ("two splits' differences correlate by n_test / (n_train + n_test)", None),
            ("the differences are roughly normal", None),
        ),
        alternative,
        alpha,
        names,
        df=_split_df(scores_a, a.size) if df is None else df,
    )


def _split_df(scores: Any, count: int) -> int:
    """folds - 1 for repeated folds (five for halves), else count - 1."""
    shape = np.shape(scores)
    repeated = len(shape) == 2 and shape[0] > 1 and shape[1] > 1
    return honest_df(count, 1 / (shape[1] - 1)) if repeated else count - 1


def size_ratio(who: str, n_train: Any, n_test: Any) -> float:
    """The mean of n_test / n_train over splits."""
    train, test = np.asarray(n_train, dtype=np.float64), np.asarray(n_test, dtype=np.float64)
    if not ((train > 0).all() and (test > 0).all()):
        raise ParameterError(
            who, "n_train and n_test", "must be positive numbers of rows", f"got {n_train} and {n_test}"
        )
    return float(np.mean(test / train))


def five_by_two_t(
    scores_a: Any, scores_b: Any, *, alternative: str = "two-sided", alpha: float = 0.05, names: Names = A_AND_B
) -> TestResult:
    """Dietterich's 5x2cv paired t test: the first difference over sqrt(mean of the s_i^2), 5 degrees of freedom.

    Scores are arrays (5, 2): five repetitions of two folds. s_i^2 = (p_i1 - m_i)^2 + (p_i2 - m_i)^2 is the
    variance of repetition i. Effect and interval belong to the first difference p_11, the one the statistic uses,
    so that the interval excludes 0 exactly when the test rejects; `details` holds the mean of all ten, which
    `five_by_two_f` uses and which does not depend on the order of the folds
    (Dietterich, Neural Computation 10, 1998).

    >>> a = [[0.9, 0.8], [0.7, 0.8], [0.9, 0.9], [0.8, 0.8], [0.9, 0.7]]
    >>> five_by_two_t(a, [[0.7, 0.7]] * 5).df
    5
    """
    a, b = _five_by_two("five_by_two_t", scores_a, scores_b)
    check_options("five_by_two_t", alternative, alpha)
    differences = a - b
    variance, scale = _halves_variance(differences, a, b)
    first, mean = float(differences[0, 0]), float(differences.mean())
    error = float(np.sqrt(variance))
    statistic = _quotient(first, error, scale)
    p_value = 1.0 if statistic == 0 and error == 0 else t_p_value(statistic, 5, alternative)
    interval = _t_interval(first, error, 5, alpha, alternative)
    found = Outcome(
        "5x2cv paired t test", statistic, p_value, alpha, first, "difference on the first fold", interval, df=5
    )
    return found.result(
        details={
            "mean_difference": mean,
            "variance": variance,
            "standard_error": error,
            "smallest_detectable_difference": detectable_t(5, alpha, POWER) * error,
        },
        assumptions=(("the differences vary", variance > 0), ("the differences are roughly normal", None)),
        sentence=(
            f"{higher_words(names, mean)} on average over ten folds; judged by the first fold (difference "
            f"{number(first)}, {found.interval_words}) the difference is {found.decision} (t = {number(statistic)}, df "
            f"= 5, {found.p_words})."
        ),
    )


def five_by_two_f(scores_a: Any, scores_b: Any, *, alpha: float = 0.05, names: Names = A_AND_B) -> TestResult:
    """Alpaydin's combined 5x2cv F test: F = sum of the ten squared differences / (2 sum of the s_i^2), 10 and 5 df.

    Scores are arrays (5, 2): five repetitions of two folds (Alpaydin, Neural Computation 11, 1999). The test does
    not depend on the order of folds and repetitions, unlike Dietterich's t.

    **Interval.** The differences d that the same test would not reject: shifting all ten differences by d leaves
    the s_i^2 alone and turns the sum of squares into Q + 10 (m - d)^2, where m is their mean and Q their sum of
    squares around it. So the interval is m +- sqrt((2 F_crit S - Q) / 10) with S the sum of the s_i^2, and it
    excludes 0 exactly when the test rejects. If the repetitions disagree so much more than their halves that
    Q > 2 F_crit S, the test rejects every d; then the interval is the corrected resampled t interval of the ten
    differences (n_test = n_train), which is wide in that case, and an assumption is marked as not holding.

    **What to expect.** If both learners settle on half of the rows, the mean c of a repetition hardly changes from
    one repetition to the next (it is the difference over all rows) and its halves are c + e_i and c - e_i. With
    normal e_i of variance v / 2 and c of the same, F exceeds F_crit exactly when |t| > sqrt(2 F_crit - 1) for
    t = c / sqrt(S / 10), a t variable with 5 degrees of freedom: a true null is rejected in 3.3 % of cases at alpha
    0.05. A true difference d makes it non-central with d sqrt(2 / v), from which `details` has the d that is found
    with 80 % power. If half of the rows are too few to learn from, so that a learner's two halves fare well or
    badly together, the s_i^2 are too small and the test rejects too often.

    >>> a = [[0.9, 0.8], [0.7, 0.8], [0.9, 0.9], [0.8, 0.8], [0.9, 0.7]]
    >>> result = five_by_two_f(a, [[0.7, 0.7]] * 5)
    >>> round(result.statistic, 2), result.df
    (3.33, (10, 5))
    """
    a, b = _five_by_two("five_by_two_f", scores_a, scores_b)
    check_alpha("five_by_two_f", alpha)
    differences = a - b
    variance, scale = _halves_variance(differences, a, b)
    mean = float(differences.mean())
    between_halves = 5 * variance
    squares = float((differences**2).sum())
    no_difference = bool(np.abs(differences).max() <= ROUNDING * scale)
    if between_halves > 0:
        statistic = squares / (2 * between_halves)
    else:
        statistic = 0.0 if no_difference else np.inf
    p_value = 1.0 if no_difference else f_p_value(statistic, 10, 5)
    around_mean = float(((differences - mean) ** 2).sum())
    room = 2 * f_quantile(1 - alpha, 10, 5) * between_halves - around_mean
    constant = spread(differences.ravel(), scale) == 0
    repetitions_agree = room >= 0 or constant
    if repetitions_agree:
        half = float(np.sqrt(max(room, 0.0) / 10)) if not constant else 0.0
    else:
        half = t_quantile(1 - alpha / 2, 5) * float(np.sqrt(1.1 * around_mean / 9))
    interval = (mean - half, mean + half)
    doubt = "" if repetitions_agree else "; the repetitions disagree more than their halves, so look at the ten scores"
    found = Outcome("combined 5x2cv F test", statistic, p_value, alpha, mean, "mean difference", interval, df=(10, 5))
    return found.result(
        details={
            "variance": variance,
            "smallest_detectable_difference": five_by_two_detectable(variance, alpha),
        },
        assumptions=(
            ("the differences vary", variance > 0),
            ("the repetitions agree as well as their halves do", repetitions_agree),
            ("half of the rows are enough for both learners to settle", None),
            ("the differences are roughly normal", None),
        ),
        sentence=_sentence(found, names, "F", doubt),
    )


def five_by_two_detectable(variance: float, alpha: float, power: float = POWER) -> float:
    """The true difference that the combined F test finds with `power`, from the mean of the s_i^2."""
    critical = float(np.sqrt(2 * f_quantile(1 - alpha, 10, 5) - 1))
    return detectable_shift(critical, 5, power) * float(np.sqrt(variance / 2))


# -- predictions on one test set ----------------------------------------------------------------------------
def mcnemar(
    y_true: Any, predicted_a: Any, predicted_b: Any, *, exact: Exact = None, alpha: float = 0.05, names: Names = A_AND_B
) -> TestResult:
    """McNemar's test: of the rows that only one of two classifiers gets wrong, are both equally often the one?

    For two classifiers and one test set. `exact` True uses the binomial distribution, "mid-p" its mid-p value (half of
    the probability of what was seen counts), which keeps the level about as well and sees more (Fagerland, Lydersen and
    Laake, BMC Medical Research Methodology 13, 2013); False compares (|e01 - e10| - 1)^2 / (e01 + e10) with chi-square
    (1 df). By default exact below 25 such rows. Effect is the difference in accuracy, with Bonett and Price's adjusted
    interval (2012).

    >>> y = [1] * 20
    >>> result = mcnemar(y, y, [1] * 12 + [0] * 8)
    >>> round(result.p_value, 4), result.effect
    (0.0078, 0.4)
    >>> round(mcnemar(y, y, [1] * 12 + [0] * 8, exact="mid-p").p_value, 4)
    0.0039
    """
    truth, a, b = np.asarray(y_true), np.asarray(predicted_a), np.asarray(predicted_b)
    if not truth.shape == a.shape == b.shape or truth.ndim != 1:
        raise DataError(
            "mcnemar",
            "true and predicted labels",
            "must be one-dimensional and of one length",
            f"got shapes {truth.shape}, {a.shape} and {b.shape}",
        )
    a_wrong, b_wrong = a != truth, b != truth
    return mcnemar_from_counts(
        int((a_wrong & ~b_wrong).sum()),
        int((b_wrong & ~a_wrong).sum()),
        truth.size,
        exact=exact,
        alpha=alpha,
        names=names,
    )


def mcnemar_from_counts(
    only_a_wrong: int,
    only_b_wrong: int,
    n_rows: int,
    *,
    exact: Exact = None,
    alpha: float = 0.05,
    names: Names = A_AND_B,
) -> TestResult:
    """McNemar's test from the counts of rows that only A, and only B, gets wrong."""
    check_alpha("mcnemar", alpha)
    if not (exact is None or isinstance(exact, bool) or exact == "mid-p"):
        raise ParameterError("mcnemar", "parameter 'exact'", "must be True, False, None or 'mid-p'", f"got {exact!r}")
    discordant = only_a_wrong + only_b_wrong
    if min(only_a_wrong, only_b_wrong) < 0 or n_rows < max(1, discordant):
        raise DataError(
            "mcnemar",
            "counts",
            "must not be negative nor exceed the rows",
            f"got {only_a_wrong}, {only_b_wrong}, {n_rows}",
        )
    use_exact = discordant < 25 if exact is None else bool(exact)
    gap = max(0, abs(only_a_wrong - only_b_wrong) - 1)
    statistic = float(min(only_a_wrong, only_b_wrong)) if use_exact else (gap**2 / discordant if discordant else 0.0)
    if use_exact:
        p_value = binomial_p_value(only_a_wrong, discordant, 0.5)
        if exact == "mid-p" and discordant:
            p_value = mid_p_value(only_a_wrong, discordant)
    else:
        p_value = chi2_p_value(statistic, 1)
    effect = (only_b_wrong - only_a_wrong) / n_rows
    in_favour, against = (only_b_wrong + 1) / (n_rows + 2), (only_a_wrong + 1) / (n_rows + 2)
    error = np.sqrt((in_favour + against - (in_favour - against) ** 2) / (n_rows + 2))
    half = normal_quantile(1 - alpha / 2) * float(error)
    interval = (max(-1.0, in_favour - against - half), min(1.0, in_favour - against + half))
    kind = "mid-p" if exact == "mid-p" else "exact" if use_exact else "corrected"
    how, df = (kind, None) if use_exact else (f"chi-square = {number(statistic)}, df = 1", 1)
    name = f"McNemar test ({kind})"
    found = Outcome(name, statistic, p_value, alpha, effect, "difference in accuracy", interval, df)
    return found.result(
        details={"only_a_wrong": only_a_wrong, "only_b_wrong": only_b_wrong, "n_rows": n_rows},
        assumptions=(_UNSEEN_ROWS,) if use_exact else (_UNSEEN_ROWS, _enough(discordant)),
        sentence=(
            f"Only {names[0]} is wrong on {only_a_wrong} rows and only {names[1]} on {only_b_wrong} of {n_rows}: a "
            f"difference in accuracy of {number(effect)} ({found.interval_words}), {found.decision} ({how}, "
            f"{found.p_words})."
        ),
    )


def _enough(discordant: int) -> Assumption:
    return ("at least 25 rows are wrong in one classifier only", discordant >= 25)


def binomial_test(
    n_errors: int,
    n_rows: int,
    error_rate: float,
    *,
    method: str = "exact",
    alternative: str = "greater",
    alpha: float = 0.05,
) -> TestResult:
    """Is a classifier's error rate as claimed? By default the alternative is that it is greater.

    `method` "exact" uses the binomial distribution and Clopper and Pearson's interval; "normal" the approximation
    z = (rate - rate0) / sqrt(rate0 (1 - rate0) / n), good if n rate0 and n (1 - rate0) are at least 5.

    >>> round(binomial_test(15, 100, 0.1).p_value, 4)
    0.0726
    """
    check_options("binomial_test", alternative, alpha)
    if not 0 <= n_errors <= n_rows or n_rows < 1:
        raise DataError("binomial_test", "n_errors", "must be between 0 and n_rows", f"got {n_errors} of {n_rows}")
    if not 0 < error_rate < 1:
        raise ParameterError(
            "binomial_test", "parameter 'error_rate'", "must be between 0 and 1", f"got {error_rate!r}"
        )
    if method not in ("exact", "normal"):
        raise ParameterError("binomial_test", "parameter 'method'", "must be 'exact' or 'normal'", f"got {method!r}")
    observed = n_errors / n_rows
    if method == "exact":
        statistic, p_value = float(n_errors), binomial_p_value(n_errors, n_rows, error_rate, alternative)
        interval = binomial_interval(n_errors, n_rows, alpha, alternative)
        assumptions: tuple[Assumption, ...] = (_UNSEEN_ROWS,)
    else:
        statistic = (observed - error_rate) / float(np.sqrt(error_rate * (1 - error_rate) / n_rows))
        p_value = normal_p_value(statistic, alternative)
        error = float(np.sqrt(observed * (1 - observed) / n_rows))
        tail = alpha / 2 if alternative == "two-sided" else alpha
        half = normal_quantile(1 - tail) * error
        interval = (
            0.0 if alternative == "less" else max(0.0, observed - half),
            1.0 if alternative == "greater" else min(1.0, observed + half),
        )
        assumptions = (
            _UNSEEN_ROWS,
            ("at least 5 errors and 5 correct rows are expected", n_rows * min(error_rate, 1 - error_rate) >= 5),
        )
    direction = {"greater": "above", "less": "below", "two-sided": "different from"}[alternative]
    name = "binomial test" if method == "exact" else "approximate normal test"
    found = Outcome(name, statistic, p_value, alpha, observed, "error rate", interval)
    return found.result(
        assumptions=assumptions,
        sentence=(
            f"{n_errors} errors in {n_rows} rows are a rate of {number(observed)} ({found.interval_words}); that it is "
            f"{direction} {number(error_rate)} is {found.decision} ({found.p_words})."
        ),
    )


def approximate_normal_test(
    n_errors: int, n_rows: int, error_rate: float, *, alternative: str = "greater", alpha: float = 0.05
) -> TestResult:
    """The approximate normal test of an error rate: `binomial_test` with method "normal".

    >>> round(approximate_normal_test(15, 100, 0.1).statistic, 4)
    1.6667
    """
    return binomial_test(n_errors, n_rows, error_rate, method="normal", alternative=alternative, alpha=alpha)


# -- shared steps -------------------------------------------------------------------------------------------
def _t_test(
    name: str,
    a: np.ndarray,
    b: np.ndarray,
    factor: float,
    assumptions: tuple[Assumption, ...],
    alternative: str,
    alpha: float,
    names: Names,
    df: int | None = None,
) -> TestResult:
    """A t test of the mean difference whose standard error is sqrt(factor) times the standard deviation."""
    check_options(name.replace(" ", "_"), alternative, alpha)
    differences = a - b
    scale = max(float(np.abs(a).max()), float(np.abs(b).max()))
    sd = spread(differences, scale)
    mean, df = float(differences.mean()), differences.size - 1 if df is None else df
    error = float(np.sqrt(factor)) * sd
    result = t_of_error(
        name,
        mean,
        error,
        df,
        (_varies(differences, scale), *assumptions),
        alternative=alternative,
        alpha=alpha,
        names=names,
        scale=scale,
    )
    result.details.update(standard_deviation=sd, standardised_difference=_quotient(mean, sd, scale))
    return result


def t_of_error(
    name: str,
    mean: float,
    error: float,
    df: float,
    assumptions: tuple[Assumption, ...],
    *,
    alternative: str = "two-sided",
    alpha: float = 0.05,
    names: Names = A_AND_B,
    scale: float = 1.0,
) -> TestResult:
    """The t test of a mean difference with this standard error; `scale` is the size of the scores."""
    statistic = _quotient(mean, error, scale)
    p_value = 1.0 if statistic == 0 and error == 0 else t_p_value(statistic, df, alternative)
    interval = _t_interval(mean, error, df, alpha, alternative)
    found = Outcome(name, statistic, p_value, alpha, mean, "mean difference", interval, df=df)
    return found.result(
        details={
            "standard_error": error,
            "smallest_detectable_difference": detectable_t(df, alpha, POWER) * error,
        },
        assumptions=assumptions,
        sentence=_sentence(found, names, "t"),
    )


def paired_scores(who: str, scores_a: Any, scores_b: Any, least: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Two flat arrays of paired, finite scores."""
    try:
        a, b = np.asarray(scores_a, dtype=np.float64), np.asarray(scores_b, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(who, "scores", "must be arrays of numbers") from None
    if b.ndim == 0:
        b = np.full(a.shape, float(b))
    if a.shape != b.shape:
        raise DataError(who, "scores of the two learners", "must have one shape", f"got {a.shape} and {b.shape}")
    if a.size < least:
        raise DataError(who, "scores", f"must hold at least {least} pairs", f"got {a.size}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise DataError(who, "scores", "must be finite", "got NaN or infinity", "leave out the learner that failed")
    return a.ravel(), b.ravel()


def _five_by_two(who: str, scores_a: Any, scores_b: Any) -> tuple[np.ndarray, np.ndarray]:
    shapes = np.shape(scores_a), np.shape(scores_b)
    if shapes != ((5, 2), (5, 2)):
        raise DesignError(
            who,
            "scores",
            "must be arrays (5, 2): five repetitions of two folds",
            f"got shapes {shapes[0]} and {shapes[1]}",
            "use corrected_resampled_t for other designs",
        )
    a, b = paired_scores(who, scores_a, scores_b)
    return a.reshape(5, 2), b.reshape(5, 2)


def _halves_variance(differences: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """The mean of the five s_i^2 (0 where it is only rounding), and the size of the scores."""
    scale = max(float(np.abs(a).max()), float(np.abs(b).max()))
    halves = (differences[:, 0] - differences[:, 1]) ** 2 / 2
    variance = float(halves.mean())
    return (0.0 if variance <= (ROUNDING * scale) ** 2 else variance), scale


def check_options(who: str, alternative: str, alpha: float) -> None:
    """Raise the error sentence if the alternative or the level is not one."""
    check_alpha(who, alpha)
    if alternative not in ALTERNATIVES:
        raise ParameterError(
            who, "parameter 'alternative'", f"must be one of {', '.join(ALTERNATIVES)}", f"got {alternative!r}"
        )


def _quotient(value: float, error: float, scale: float) -> float:
    """value / error, with 0 / 0 = 0 and otherwise infinite where there is no variation."""
    if error > 0:
        return value / error
    return 0.0 if abs(value) <= ROUNDING * scale else float(np.copysign(np.inf, value))


def _t_interval(centre: float, error: float, df: float, alpha: float, alternative: str) -> Interval:
    if alternative == "two-sided":
        half = t_quantile(1 - alpha / 2, df) * error
        return (centre - half, centre + half)
    half = t_quantile(1 - alpha, df) * error
    return (centre - half, np.inf) if alternative == "greater" else (-np.inf, centre + half)


def _varies(differences: np.ndarray, scale: float) -> Assumption:
    return ("the differences vary", spread(differences.ravel(), scale) > 0)


def higher_words(names: Names, difference: float) -> str:
    """Which of two scored higher, and by how much."""
    if abs(difference) < 1e-15:
        return f"{names[0]} and {names[1]} scored the same"
    return f"{names[0]} scored {number(abs(difference))} {'higher' if difference > 0 else 'lower'} than {names[1]}"


def _sentence(found: Outcome, names: Names, letter: str, doubt: str = "") -> str:
    return (
        f"{higher_words(names, found.effect)} on average ({found.interval_words}); the difference is {found.decision} "
        f"({letter} = {number(found.statistic)}, {df_words(found.df)}, {found.p_words}){doubt}."
    )
