"""Sign and signed rank tests against SciPy and by enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from assay.base import ParameterError
from assay.evaluate import sign_test, wilcoxon
from assay.evaluate.rank_tests import midranks

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("n", [5, 20, 50])
def test_exact_wilcoxon_equals_scipy(n, alternative):
    a, b = RNG.normal(0.3, 1, n), RNG.normal(0, 1, n)
    ours, theirs = (
        wilcoxon(a, b, alternative=alternative),
        stats.wilcoxon(a, b, alternative=alternative, method="exact"),
    )
    assert ours.p_value == pytest.approx(theirs.pvalue) and ours.details["exact"]


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_wilcoxon_with_ties_and_zeros_equals_scipys_normal_form(alternative):
    a, b = RNG.integers(0, 6, 90).astype(float), RNG.integers(0, 5, 90).astype(float)
    ours = wilcoxon(a, b, alternative=alternative)
    theirs = stats.wilcoxon(a, b, alternative=alternative, method="approx", correction=False)
    assert ours.p_value == pytest.approx(theirs.pvalue) and not ours.details["exact"]
    assert ours.details["zero_differences"] == (a == b).sum()


@pytest.mark.parametrize("differences", [[0.1, -0.2, 0.4, 0.3, 0.7], [1, -1, 2, 2, -2], [1, 1, 1, -3, 3]])
def test_the_exact_distribution_is_that_of_all_signs_with_and_without_ties(differences):
    differences = np.array(differences, dtype=float)
    ranks = midranks(np.abs(differences))
    sums = [sum(r for r, s in zip(ranks, signs) if s) for signs in product([0, 1], repeat=5)]
    seen = ranks[differences > 0].sum()
    assert wilcoxon(differences, np.zeros(5), alternative="greater").p_value == np.mean([s >= seen for s in sums])


def test_wilcoxon_interval_excludes_zero_exactly_when_the_test_rejects():
    a, b = RNG.normal(0, 1, 15), RNG.normal(0, 1, 15)
    for shift in np.linspace(-2, 2, 101):
        result = wilcoxon(a + shift, b)
        assert result.reject == (not result.interval[0] <= 0 <= result.interval[1])
        assert result.interval[0] <= result.effect <= result.interval[1]


def test_too_few_pairs_have_an_interval_without_ends():
    assert wilcoxon([1.0, 2.0], [0.5, 0.1]).interval == (-np.inf, np.inf)
    nothing = wilcoxon([1.0, 2.0], [1.0, 2.0])
    assert (nothing.p_value, nothing.effect, nothing.reject) == (1.0, 0.0, False)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_sign_test_is_the_binomial_test_of_wins(alternative):
    a, b = RNG.normal(0.4, 1, 25), RNG.normal(0, 1, 25)
    expected = stats.binomtest(int((a > b).sum()), 25, 0.5, alternative)
    result = sign_test(a, b, alternative=alternative)
    assert result.p_value == pytest.approx(expected.pvalue)
    assert result.interval == pytest.approx(tuple(expected.proportion_ci()))


def test_ties_are_split_evenly_or_dropped():
    a, b = np.array([2, 2, 2, 1, 1, 1, 1, 0.0]), np.ones(8)
    split, dropped = sign_test(a, b), sign_test(a, b, ties="drop")
    assert (split.statistic, split.details["trials"]) == (5, 8) and (dropped.statistic, dropped.details["trials"]) == (
        3,
        4,
    )
    odd = sign_test(np.append(a, 1.0), np.ones(9))
    assert odd.details == {"wins": 3, "losses": 1, "ties": 5, "trials": 8}
    assert sign_test(b, b, ties="drop").p_value == 1.0
    with pytest.raises(ParameterError, match="ties"):
        sign_test(a, b, ties="half")


def test_midranks_equal_scipys():
    values = RNG.integers(0, 10, 50).astype(float)
    assert midranks(values) == pytest.approx(stats.rankdata(values))
    assert midranks(np.array([])).shape == (0,)
    assert midranks(np.array([0.3, 0.1 + 0.2]), tolerance=1e-12).tolist() == [1.5, 1.5]


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize(
    "differences", [[0.1, -0.2, 0.4, -0.9, -0.7, 0.35], [1, 1, -2, -2, 3, -1], [1, 1, 1, -1, -1, -1]]
)
def test_the_lower_tail_too_is_that_of_all_signs(alternative, differences):
    differences = np.array(differences, dtype=float)
    ranks = midranks(np.abs(differences))
    sums = np.array([sum(r for r, s in zip(ranks, signs) if s) for signs in product([0, 1], repeat=6)])
    seen = ranks[differences > 0].sum()
    tails = {"greater": np.mean(sums >= seen), "less": np.mean(sums <= seen)}
    tails["two-sided"] = min(1.0, 2 * min(tails.values()))
    assert wilcoxon(differences, np.zeros(6), alternative=alternative).p_value == pytest.approx(tails[alternative])


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_the_interval_of_many_pairs_counts_averages_as_in_the_textbook(alternative, alpha):
    """Hollander & Wolfe, Nonparametric Statistical Methods, 3.3: C = n(n+1)/4 - z sqrt(n(n+1)(2n+1)/24)."""
    n = 60
    a = np.random.default_rng(5).normal(0.2, 1, n)
    averages = np.sort([(a[i] + a[j]) / 2 for i in range(n) for j in range(i, n)])
    z = stats.norm.ppf(1 - (alpha / 2 if alternative == "two-sided" else alpha))
    c = int(60 * 61 / 4 - z * np.sqrt(60 * 61 * 121 / 24))
    low, high = wilcoxon(a, np.zeros(n), alternative=alternative, alpha=alpha).interval
    assert low == (-np.inf if alternative == "less" else averages[c - 1])
    assert high == (np.inf if alternative == "greater" else averages[averages.size - c])


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_the_unit_of_the_scores_does_not_matter(scale):
    rng = np.random.default_rng(7)
    a, b = rng.normal(0.4, 1, 12), rng.normal(0, 1, 12)
    b[:2] = a[:2] + 1e-15
    one, other = wilcoxon(a, b), wilcoxon(scale * a, scale * b)
    assert other.p_value == one.p_value and other.details["zero_differences"] == 2
    assert other.effect == pytest.approx(scale * one.effect)


def test_the_effect_of_the_sign_test_is_the_share_of_wins():
    assert sign_test([2.0, 2, 2, 0, 1, 1], np.ones(6)).effect == pytest.approx(4 / 6)
    assert sign_test([2.0, 2, 2, 0], np.ones(4)).effect == 0.75
    assert sign_test([1.0, 1.0], np.ones(2), ties="drop").effect == 0.5


def test_one_pair_says_little_and_no_pair_nothing():
    """One sign of two: a half in its own tail, and one in both."""
    assert wilcoxon([2.0], [1.0], alternative="greater").p_value == 0.5
    assert wilcoxon([2.0], [1.0], alternative="less").p_value == 1.0
    assert wilcoxon([1.0], [1.0], alternative="greater").p_value == 1.0


def test_six_pairs_reach_from_their_least_to_their_largest_difference():
    """Only the outermost of the 64 sign patterns are beyond 2.5 % on a side; of five pairs none is."""
    d = np.array([0.3, -0.1, 0.25, 0.4, 0.15, 0.05])
    assert wilcoxon(d, np.zeros(6)).interval == (-0.1, 0.4)
    assert wilcoxon(d, np.zeros(6), alpha=0.1).interval == pytest.approx((0.025, 0.325))
    assert wilcoxon(d[:5], np.zeros(5)).interval == (-np.inf, np.inf)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_scores_of_nothing_differ_in_no_pair(alternative):
    nothing = wilcoxon(np.zeros(3), np.zeros(3), alternative=alternative)
    assert nothing.p_value == 1.0 and nothing.interval == (-np.inf, np.inf)
    assert nothing.details == {"pairs": 0, "zero_differences": 3, "exact": True}
