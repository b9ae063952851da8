"""Worked examples of evaluation with answers known from the course texts."""

from __future__ import annotations

import numpy as np
import pytest

from assay.evaluate import five_by_two_t, get_metric, mcnemar_from_counts, resampled_t
from assay.evaluate.distributions import chi2_quantile, f_quantile, t_p_value, t_quantile


@pytest.mark.parametrize(
    ("tail", "df", "table"), [(0.025, 9, 2.26), (0.025, 29, 2.05), (0.05, 9, 1.83), (0.05, 29, 1.70)]
)
def test_001_chapter_8_critical_values_of_t(tail, df, table):
    assert round(t_quantile(1 - tail, df), 2) == table


def test_001_chapter_8_critical_values_of_f_and_chi_square():
    assert round(f_quantile(0.95, 4, 45), 2) == 2.58
    assert round(chi2_quantile(0.95, 1), 2) == 3.84


def test_001_chapter_8_mcnemar_rejects_beyond_3_84():
    """(|e01 - e10| - 1)^2 / (e01 + e10): 30 against 15 is 4.36, 28 against 15 is 3.35."""
    above, below = mcnemar_from_counts(30, 15, 200, exact=False), mcnemar_from_counts(28, 15, 200, exact=False)
    assert round(above.statistic, 2) == 4.36 and above.reject
    assert round(below.statistic, 2) == 3.35 and not below.reject


def test_001_chapter_8_a_bootstrap_sample_leaves_out_368_of_1000_rows():
    rng = np.random.default_rng(0)
    left_out = [1 - np.unique(rng.integers(0, 1000, 1000)).size / 1000 for _ in range(300)]
    assert np.mean(left_out) == pytest.approx(0.368, abs=2e-3)
    assert round((1 - 1 / 1000) ** 1000, 3) == 0.368


def test_000_section_7_4_p_values():
    assert round(t_p_value(1.930, 29), 3) == 0.063
    assert round(t_p_value(2.073, 5), 3) == 0.093


def test_000_section_7_4_through_the_tests_themselves():
    """Differences made to have the text's statistics: 30 splits with t = 1.930, and 5x2 folds with t = 2.073."""
    pattern = np.resize([1.0, -1.0], 30)
    pattern *= 1 / pattern.std(ddof=1)
    result = resampled_t(pattern + 1.930 / np.sqrt(30), np.zeros(30))
    assert result.statistic == pytest.approx(1.930) and result.df == 29
    assert round(result.p_value, 3) == 0.063 and not result.reject
    # Every repetition has halves that differ by sqrt(2), so that each s_i^2 is 1.
    halves = np.array([[2.073, 2.073 - np.sqrt(2)]] * 5)
    result = five_by_two_t(halves, np.zeros((5, 2)))
    assert result.statistic == pytest.approx(2.073) and round(result.p_value, 3) == 0.093 and not result.reject


@pytest.mark.parametrize(
    ("metric", "answer"),
    [
        ("precision_macro", 0.11),
        ("precision_micro", 0.2),
        ("precision_weighted", 0.133),
        ("recall_macro", 0.17),
        ("recall_micro", 0.2),
        ("recall_weighted", 0.2),
    ],
)
def test_003_averages_of_precision_and_recall(metric, answer):
    actual = ["Red", "Blue", "Red", "Blue", "Gold"]
    predicted = ["Red", "Red", "Blue", "Red", "Blue"]
    digits = len(str(answer)) - 2
    assert round(get_metric(metric).score(actual, predicted), digits) == answer
