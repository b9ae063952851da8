"""Sums that keep their digits. The NIST sets are in tests/reference/nist_strd."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.base import DataError, ParameterError
from assay.evaluate import autocorrelation, mean, standard_deviation
from assay.evaluate.numerics import one_way_squares

NUMBERS = st.lists(st.floats(-1e9, 1e9, allow_nan=False), min_size=2, max_size=30)


@given(NUMBERS)
def test_mean_and_deviation_equal_rational_arithmetic(values):
    exact = sum(map(Fraction, values)) / len(values)
    assert mean(values) == pytest.approx(float(exact), rel=1e-15, abs=1e-300)
    assert standard_deviation(values) == pytest.approx(statistics.stdev(map(Fraction, values)), rel=1e-12, abs=1e-150)


@given(NUMBERS, st.randoms())
def test_the_order_of_the_values_does_not_matter(values, random):
    turned = random.sample(values, len(values))
    assert mean(turned) == mean(values) and standard_deviation(turned) == standard_deviation(values)


def test_numbers_near_the_largest_float_do_not_overflow():
    assert mean([1.7e308, 1.7e308]) == 1.7e308
    assert standard_deviation([1e308, -1e308], ddof=0) == pytest.approx(1e308)
    assert autocorrelation([1e308, -1e308, 1e308]) == pytest.approx(autocorrelation([1.0, -1.0, 1.0]))


def test_ddof_and_lag_matter():
    assert standard_deviation([1.0, 3.0], ddof=0) == 1.0 and standard_deviation([1.0, 3.0]) == math.sqrt(2)
    values = np.array([1.0, 4.0, 2.0, 8.0, 5.0])
    centred = values - values.mean()
    for lag in range(5):
        wanted = (centred[: 5 - lag] * centred[lag:]).sum() / (centred**2).sum()
        assert autocorrelation(values, lag=lag) == pytest.approx(wanted)


def test_constant_values_have_no_deviation_and_no_autocorrelation():
    assert standard_deviation([0.1] * 7) == 0.0 and math.isnan(autocorrelation([0.1] * 7))


def test_squares_between_and_within_add_up():
    groups = [np.array([1.0, 2.0, 4.0]), np.array([3.0, 5.0])]
    between, within = one_way_squares(groups)
    assert between + within == pytest.approx(5 * np.concatenate(groups).var())


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: mean([]), DataError),
        (lambda: mean([np.nan]), DataError),
        (lambda: standard_deviation([1.0]), DataError),
        (lambda: standard_deviation([1.0, 2.0], ddof=2), ParameterError),
        (lambda: autocorrelation([1.0, np.inf]), DataError),
        (lambda: autocorrelation([1.0, 2.0], lag=2), ParameterError),
    ],
)
def test_mistakes_get_one_sentence(call, error):
    with pytest.raises(error):
        call()


def test_squares_between_over_within_are_the_f_of_scipy():
    groups = [np.array([1.0, 2.0, 9.0]), np.array([3.0, 5.0]), np.array([7.0, 8.0, 8.5, 30.0])]
    for shift in (0.0, -40.0, 1e6):
        moved = [group + shift for group in groups]
        between, within = one_way_squares(moved)
        assert (between / 2) / (within / 6) == pytest.approx(stats.f_oneway(*groups).statistic, rel=1e-9)
        assert between == pytest.approx(9 * np.concatenate(groups).var() - sum(g.size * g.var() for g in groups))


@pytest.mark.parametrize("offset", [0.0, 1e15, -3e15, 2.0**52])
def test_squares_of_values_that_share_their_leading_digits_are_exact(offset):
    groups = [offset + np.array(part) for part in ([0.0, 3.0, 7.0], [11.0, 12.0], [5.0, 5.0, 6.0, 1.0])]
    exact = [[Fraction(value) for value in group.tolist()] for group in groups]
    means = [sum(group) / len(group) for group in exact]
    grand = sum(map(sum, exact)) / 9
    between = sum(len(group) * (mean - grand) ** 2 for group, mean in zip(exact, means))
    within = sum((value - mean) ** 2 for group, mean in zip(exact, means) for value in group)
    assert one_way_squares(groups) == pytest.approx((float(between), float(within)), rel=1e-14)


def test_the_least_and_the_largest_of_numbers_keep_their_last_bit():
    least = 5e-324
    assert mean([least, least]) == least and mean([3 * least]) == 3 * least
    assert mean([1e150, 3e150]) == 2e150 and mean([1e308, 1.5e308]) == 1.25e308
