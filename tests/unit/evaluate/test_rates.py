"""Intervals of rates and means against statsmodels and SciPy, and sample sizes against their own intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from assay.base import DataError, ParameterError
from assay.evaluate import normal_interval, sample_size_for_width, t_interval, wilson_interval
from assay.evaluate.rates import _least, hanley_mcneil_error


@pytest.mark.parametrize(("successes", "n"), [(0, 5), (5, 5), (1, 20), (37, 50), (999, 1000)])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_wilson_equals_statsmodels(successes, n, confidence):
    """statsmodels.stats.proportion.proportion_confint(method="wilson")."""
    expected = proportion_confint(successes, n, alpha=1 - confidence, method="wilson")
    assert wilson_interval(successes, n, confidence) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_one_sided_wilson_equals_scipy(alternative):
    expected = stats.binomtest(37, 50, alternative=alternative).proportion_ci(method="wilson")
    assert wilson_interval(37, 50, alternative=alternative) == pytest.approx(tuple(expected))


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_t_interval_equals_scipy(alternative):
    values = np.random.default_rng(0).normal(size=12)
    expected = stats.ttest_1samp(values, 0, alternative=alternative).confidence_interval(0.9)
    assert t_interval(values, 0.9, alternative) == pytest.approx(tuple(expected))


def test_normal_interval_is_the_limit_of_the_t_interval():
    values = np.random.default_rng(0).normal(size=20000)
    assert normal_interval(values) == pytest.approx(t_interval(values), abs=1e-5)
    assert normal_interval([1.0], sd=2.0) == pytest.approx((1 - 3.919928, 1 + 3.919928))


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.01])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_sample_size_is_the_least_that_reaches_the_width(rate, alternative):
    n = sample_size_for_width(0.08, expected=rate, alternative=alternative)

    def width(rows: int) -> float:
        low, high = wilson_interval(rate * rows, rows, alternative=alternative)
        return {"two-sided": high - low, "greater": rate - low, "less": high - rate}[alternative]

    assert width(n) <= 0.08 and (n == 1 or width(n - 1) > 0.08)


def test_sample_size_of_a_mean_uses_its_t_interval():
    n = sample_size_for_width(1.0, of="mean", sd=2.0)
    assert 2 * stats.t.ppf(0.975, n - 1) * 2 / np.sqrt(n) <= 1 < 2 * stats.t.ppf(0.975, n - 2) * 2 / np.sqrt(n - 1)


def test_area_needs_more_rows_when_positives_are_rare():
    sizes = [sample_size_for_width(0.05, of="auc", expected=0.85, positives=share) for share in (0.5, 0.2, 0.05)]
    assert sizes == sorted(sizes) and sizes[2] > 3 * sizes[0]


def test_hanley_and_mcneil_foresee_the_spread_of_areas():
    """Published example (Radiology 143, 1982, table II): area .893, 51 ill and 58 well, standard error .032."""
    assert hanley_mcneil_error(0.893, 51, 58) == pytest.approx(0.032, abs=0.0011)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: wilson_interval(6, 5), DataError, "between 0 and 5"),
        (lambda: wilson_interval(0, 0), DataError, "positive"),
        (lambda: wilson_interval(1, 5, confidence=1), ParameterError, "between 0 and 1"),
        (lambda: wilson_interval(1, 5, alternative="up"), ParameterError, "two-sided"),
        (lambda: t_interval([1.0]), DataError, "at least 2"),
        (lambda: t_interval([1.0, np.nan]), DataError, "finite"),
        (lambda: normal_interval([1.0, 2.0], sd=-1), ParameterError, "negative"),
        (lambda: sample_size_for_width(0), ParameterError, "positive"),
        (lambda: sample_size_for_width(1e-9), ParameterError, "too small"),
        (lambda: sample_size_for_width(0.1, of="mean"), ParameterError, "'sd'"),
        (lambda: sample_size_for_width(0.1, of="mean", sd=0.0), ParameterError, "must be positive"),
        (lambda: sample_size_for_width(0.1, of="median"), ParameterError, "'rate', 'auc' or 'mean'"),
        (lambda: sample_size_for_width(0.1, of="auc", positives=0), ParameterError, "'positives'"),
        (lambda: sample_size_for_width(0.1, expected=7), ParameterError, "'expected'"),
    ],
)
def test_mistakes_get_one_sentence(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize(("m", "n"), [(7, 40), (40, 7), (1, 9)])
@pytest.mark.parametrize("area", [0.55, 0.8, 0.95])
def test_hanley_and_mcneils_error_is_their_formula(area, m, n):
    """Hanley and McNeil (1982), equation 1, with positive and negative counts that differ."""
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    variance = (area * (1 - area) + (m - 1) * (q1 - area**2) + (n - 1) * (q2 - area**2)) / (m * n)
    assert hanley_mcneil_error(area, m, n) == pytest.approx(math.sqrt(variance))


@pytest.mark.parametrize("positives", [0.1, 0.5, 0.8])
def test_rows_for_an_area_are_the_fewest_that_reach_the_width(positives):
    count = sample_size_for_width(0.1, of="auc", expected=0.75, positives=positives)

    def width(n):
        return 2 * 1.959963985 * hanley_mcneil_error(0.75, n * positives, n * (1 - positives))

    assert width(count) <= 0.1 < width(count - 1)


@pytest.mark.parametrize("start", [1, 2])
@pytest.mark.parametrize("least", [1, 2, 3, 4, 5, 16, 17, 1000, 1025])
def test_the_least_number_of_rows_is_found(start, least):
    """A width of exactly the wanted one is small enough."""
    assert _least(lambda n: 1 / n, 1 / least, start) == max(start, least)


def test_shares_from_none_to_all_may_be_expected():
    for expected in (0.0, 1.0):
        rows = sample_size_for_width(0.1, expected=expected)
        ends = [np.diff(wilson_interval(round(n * expected), n)).item() for n in (rows - 1, rows)]
        assert ends[1] <= 0.1 < ends[0]
    for wrong in (-0.01, 1.01, np.nan):
        with pytest.raises(ParameterError, match="between 0 and 1"):
            sample_size_for_width(0.1, expected=wrong)


def test_values_without_spread_have_an_interval_without_width():
    assert normal_interval([1.5, 2.5], sd=0.0) == normal_interval([2.0, 2.0]) == t_interval([2.0, 2.0]) == (2.0, 2.0)
    assert normal_interval([2.0], sd=0.0, alternative="greater") == (2.0, np.inf)
