"""The distributions against scipy.stats, in the body and far out in the tails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.evaluate import distributions as d


@pytest.mark.parametrize("df", [1, 5, 9, 29, 99.5])
@pytest.mark.parametrize("t", [-3.2, 0.0, 1.93, 8.0, 40.0])
def test_t_p_values(df, t):
    assert d.t_p_value(t, df) == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-9)
    assert d.t_p_value(t, df, "greater") == pytest.approx(stats.t.sf(t, df), rel=1e-9)
    assert d.t_p_value(t, df, "less") == pytest.approx(stats.t.cdf(t, df), rel=1e-9)


def test_infinite_statistics_have_the_limit_of_the_p_value():
    assert d.t_p_value(np.inf, 5) == d.t_p_value(-np.inf, 5) == d.f_p_value(np.inf, 10, 5) == 0.0
    assert (d.t_p_value(np.inf, 5, "greater"), d.t_p_value(np.inf, 5, "less")) == (0.0, 1.0)
    assert (d.t_p_value(-np.inf, 5, "greater"), d.t_p_value(-np.inf, 5, "less")) == (1.0, 0.0)


@pytest.mark.parametrize("p", [0.5, 0.9, 0.975, 0.9999])
def test_quantiles(p):
    assert d.t_quantile(p, 7) == pytest.approx(stats.t.ppf(p, 7))
    assert d.f_quantile(p, 10, 5) == pytest.approx(stats.f.ppf(p, 10, 5))
    assert d.chi2_quantile(p, 3) == pytest.approx(stats.chi2.ppf(p, 3))
    assert d.normal_quantile(p) == pytest.approx(stats.norm.ppf(p))


@pytest.mark.parametrize("alternative", d.ALTERNATIVES)
@pytest.mark.parametrize(
    ("k", "n", "rate"), [(0, 5, 0.5), (3, 10, 0.5), (15, 100, 0.1), (100, 100, 0.3), (7, 900, 0.02)]
)
def test_binomial_p_values_and_intervals(k, n, rate, alternative):
    expected = stats.binomtest(k, n, rate, alternative)
    assert d.binomial_p_value(k, n, rate, alternative) == pytest.approx(expected.pvalue, rel=1e-9)
    assert d.binomial_interval(k, n, 0.05, alternative) == pytest.approx(tuple(expected.proportion_ci(0.95)))


@pytest.mark.parametrize(("df", "alpha"), [(9, 0.05), (99, 0.001), (5, 0.0007), (1, 0.05)])
def test_the_detectable_difference_is_found_with_the_power_asked_for(df, alpha):
    shift = d.detectable_t(df, alpha, 0.8)
    assert stats.nct.sf(stats.t.ppf(1 - alpha / 2, df), df, shift) == pytest.approx(0.8, abs=1e-6)


def test_noncentrality_interval_puts_the_statistic_into_both_tails():
    low, high = d.noncentrality_interval(13.0, 2, 6, 0.1)
    assert stats.ncf.sf(13.0, 2, 6, low) == pytest.approx(0.05, abs=1e-6)
    assert stats.ncf.cdf(13.0, 2, 6, high) == pytest.approx(0.05, abs=1e-6)
    assert d.noncentrality_interval(0.01, 2, 6, 0.1)[0] == 0.0


@pytest.mark.parametrize(("k", "n"), [(4, 8), (3, 8), (0, 1), (1, 1), (0, 0), (0, 3)])
@pytest.mark.parametrize("rate", [0.5, 0.3])
@pytest.mark.parametrize("alternative", d.ALTERNATIVES)
def test_p_values_in_the_middle_and_of_almost_nothing(k, n, rate, alternative):
    """No p-value is above 1, none or one trial included."""
    expected = stats.binomtest(k, n, rate, alternative).pvalue if n else 1.0
    assert d.binomial_p_value(k, n, rate, alternative) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("k", "n"), [(4, 8), (3, 8), (5, 8), (4, 9), (5, 9), (0, 8), (1, 2), (0, 1)])
def test_mid_p_is_the_tails_with_half_of_what_was_seen(k, n):
    fewer = min(k, n - k)
    tails = 2 * (stats.binom.cdf(fewer, n, 0.5) - 0.5 * stats.binom.pmf(fewer, n, 0.5))
    assert d.mid_p_value(k, n) == pytest.approx(min(1.0, tails))


def test_no_p_value_is_above_one_by_rounding():
    """Of an outcome in the middle every other one is as rare: the sum of all masses, which may round above 1."""
    for n in range(1, 16):
        for rate in (0.1, 0.2, 1 / 3, 0.5):
            assert max(d.binomial_p_value(k, n, rate) for k in range(n + 1)) <= 1.0


@pytest.mark.parametrize("z", [-40.0, -1.3, 0.0, 0.4, 2.5, 12.0])
def test_normal_and_chi_square_p_values(z):
    assert d.normal_p_value(z) == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-9)
    assert d.normal_p_value(z, "greater") == pytest.approx(stats.norm.sf(z), rel=1e-9)
    assert d.normal_p_value(z, "less") == pytest.approx(stats.norm.cdf(z), rel=1e-9)
    assert d.chi2_p_value(abs(z), 3) == pytest.approx(stats.chi2.sf(abs(z), 3), rel=1e-9)
    assert d.f_p_value(abs(z), 3, 8) == pytest.approx(stats.f.sf(abs(z), 3, 8), rel=1e-9)


def test_power_and_shift_are_those_of_the_noncentral_t():
    """A critical value for many pairs needs a larger shift for the same power."""
    for critical, df in ((2.0, 9), (3.5, 9), (2.8, 99)):
        assert stats.nct.sf(critical, df, d.detectable_shift(critical, df, 0.8)) == pytest.approx(0.8, abs=1e-6)
        assert stats.nct.sf(critical, df, d.detectable_shift(critical, df, 0.5)) == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("alternative", d.ALTERNATIVES)
def test_no_trials_leave_the_whole_interval(alternative):
    assert d.binomial_interval(0, 0, 0.05, alternative) == (0.0, 1.0)


@pytest.mark.parametrize(("critical", "power"), [(0.05, 0.5), (1.0, 0.175), (0.0, 0.5001)])
def test_small_shifts_are_found_too(critical, power):
    shift = d.detectable_shift(critical, 9, power)
    assert 0 < shift < 0.1 and stats.nct.sf(critical, 9, shift) == pytest.approx(power, abs=1e-6)
