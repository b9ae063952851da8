"""Tests of two learners against SciPy, statsmodels and the published formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar

from assay.base import DataError, DesignError, ParameterError
from assay.evaluate import (
    binomial_test,
    corrected_resampled_t,
    five_by_two_f,
    five_by_two_t,
    mcnemar,
    mcnemar_from_counts,
    one_sample_t,
    paired_t,
    resampled_t,
)
from assay.evaluate.hypothesis_tests import five_by_two_detectable, size_ratio

RNG = np.random.default_rng(0)
A, B = RNG.normal(0.8, 0.05, 12), RNG.normal(0.76, 0.05, 12)
HALVES_A, HALVES_B = RNG.normal(0.8, 0.02, (5, 2)), RNG.normal(0.77, 0.02, (5, 2))
FOLD_TESTS = {
    "paired_t": (paired_t, A, B),
    "resampled_t": (resampled_t, A, B),
    "corrected_resampled_t": (
        lambda a, b, **k: corrected_resampled_t(a, b, n_train=90, n_test=10, **k),
        A,
        B,
    ),
    "five_by_two_t": (five_by_two_t, HALVES_A, HALVES_B),
    "five_by_two_f": (five_by_two_f, HALVES_A, HALVES_B),
}
each_fold_test = pytest.mark.parametrize(("test", "a", "b"), FOLD_TESTS.values(), ids=list(FOLD_TESTS))


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_paired_t_equals_scipy(alternative):
    ours, theirs = paired_t(A, B, alternative=alternative), stats.ttest_rel(A, B, alternative=alternative)
    assert (ours.statistic, ours.df, ours.p_value) == pytest.approx((theirs.statistic, theirs.df, theirs.pvalue))
    assert ours.interval == pytest.approx(tuple(theirs.confidence_interval(0.95)))
    assert ours.effect == pytest.approx((A - B).mean())


def test_one_number_makes_a_one_sample_t_test():
    ours, theirs = paired_t(A, 0.75), stats.ttest_1samp(A, 0.75)
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_corrected_t_is_nadeau_and_bengios_formula():
    difference = A - B
    t = difference.mean() / np.sqrt((1 / 12 + 10 / 90) * difference.var(ddof=1))
    result = corrected_resampled_t(A, B, n_train=90, n_test=10)
    assert (result.statistic, result.df) == pytest.approx((t, 11))
    assert result.p_value == pytest.approx(2 * stats.t.sf(abs(t), 11))


def test_corrected_t_takes_folds_of_different_size_and_any_shape():
    flat = corrected_resampled_t(A, B, n_train=90, n_test=10)
    shaped = corrected_resampled_t(A.reshape(3, 4), B.reshape(3, 4), n_train=[90] * 12, n_test=[8, 12] * 6, df=11)
    assert shaped.p_value == pytest.approx(flat.p_value)
    folds = corrected_resampled_t(A.reshape(3, 4), B.reshape(3, 4), n_train=90, n_test=30)
    assert folds.df == 3  # folds - 1, however often they were drawn


def test_naive_and_corrected_t_differ_only_by_the_factor():
    naive, corrected = resampled_t(A, B), corrected_resampled_t(A, B, n_train=90, n_test=10)
    assert naive.statistic / corrected.statistic == pytest.approx(np.sqrt(12 * (1 / 12 + 1 / 9)))
    assert not naive.valid and corrected.valid


def test_five_by_two_tests_are_the_published_formulas():
    """Dietterich (1998), section 2.5, and Alpaydin (1999), equation 3, written out."""
    p = HALVES_A - HALVES_B
    means = p.mean(axis=1)
    s2 = (p[:, 0] - means) ** 2 + (p[:, 1] - means) ** 2
    t, f = p[0, 0] / np.sqrt(s2.sum() / 5), (p**2).sum() / (2 * s2.sum())
    ours_t, ours_f = five_by_two_t(HALVES_A, HALVES_B), five_by_two_f(HALVES_A, HALVES_B)
    assert (ours_t.statistic, ours_t.p_value) == pytest.approx((t, 2 * stats.t.sf(abs(t), 5)))
    assert (ours_f.statistic, ours_f.p_value) == pytest.approx((f, stats.f.sf(f, 10, 5)))
    assert ours_f.effect == pytest.approx(p.mean()) and ours_t.effect == p[0, 0]


def test_combined_f_does_not_depend_on_the_order_of_folds_and_repetitions_but_dietterichs_t_does():
    order = [3, 1, 4, 0, 2]
    f = five_by_two_f(HALVES_A[order][:, ::-1], HALVES_B[order][:, ::-1]).statistic
    assert f == pytest.approx(five_by_two_f(HALVES_A, HALVES_B).statistic)
    t = five_by_two_t(HALVES_A[order], HALVES_B[order]).statistic
    assert t != pytest.approx(five_by_two_t(HALVES_A, HALVES_B).statistic)


@each_fold_test
def test_the_interval_excludes_zero_exactly_when_the_test_rejects(test, a, b):
    for shift in np.linspace(-0.2, 0.2, 81):
        result = test(a + shift, b)
        assert result.reject == (not result.interval[0] <= 0 <= result.interval[1])
        assert result.reject == (result.p_value < 0.05)


@each_fold_test
def test_the_ends_of_the_interval_are_where_p_is_alpha(test, a, b):
    for end in test(a, b, alpha=0.1).interval:
        assert test(a - end, b).p_value == pytest.approx(0.1, abs=1e-9)


@each_fold_test
def test_swapping_the_learners_turns_the_signs(test, a, b):
    forth, back = test(a, b), test(b, a)
    assert back.p_value == pytest.approx(forth.p_value) and back.effect == pytest.approx(-forth.effect)
    assert back.interval == pytest.approx((-forth.interval[1], -forth.interval[0]))


@each_fold_test
def test_the_scale_of_the_scores_does_not_matter(test, a, b):
    small, large = test(a, b), test(1e6 * a, 1e6 * b)
    assert large.p_value == pytest.approx(small.p_value) and large.effect == pytest.approx(1e6 * small.effect)


@each_fold_test
def test_identical_scores_give_p_one_and_a_constant_difference_p_zero_with_a_mark(test, a, b):
    same = test(a, a)
    assert (same.statistic, same.p_value, same.reject, same.interval) == (0.0, 1.0, False, (0.0, 0.0))
    constant = test(np.full_like(a, 0.9), np.full_like(a, 0.6))
    assert (constant.statistic, constant.p_value, constant.reject) == (np.inf, 0.0, True)
    assert constant.interval == pytest.approx((0.3, 0.3))
    for result in (same, constant):
        assert ("the differences vary", False) in result.assumptions and not result.valid


def test_one_sided_tests_of_no_difference():
    """Identical scores say nothing for either side; a mean of zero with variation stands in the middle of its law."""
    for alternative in ("greater", "less"):
        assert paired_t([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], alternative=alternative).p_value == 1.0
        assert paired_t([1.0, 3.0, 2.0], [2.0, 2.0, 2.0], alternative=alternative).p_value == pytest.approx(0.5)


@each_fold_test
def test_rounding_does_not_count_as_variation(test, a, b):
    noisy = a + 1e-17 + (0.1 + 0.2 - 0.3)
    assert test(noisy, a).p_value in (0.0, 1.0)


def test_repetitions_that_disagree_more_than_their_halves_are_marked():
    p = np.array([[0.1, 0.101], [-0.1, -0.101], [0.1, 0.1], [-0.1, -0.1], [0.05, 0.05]])
    result = five_by_two_f(0.8 + p, np.full((5, 2), 0.8))
    assert result.reject and not result.valid and "repetitions disagree" in result.sentence
    expected = corrected_resampled_t(0.8 + p, np.full((5, 2), 0.8), n_train=1, n_test=1).interval
    assert result.interval == pytest.approx(expected)


def test_level_and_power_of_the_combined_f_are_as_derived():
    """For p_ij = c +- e_i, both normal with variance v / 2: level 3.3 %, power 80 % at the detectable difference."""
    rng = np.random.default_rng(3)

    def rejections(difference, draws=3000):
        c = difference + rng.normal(0, np.sqrt(0.5), (draws, 1))
        e = rng.normal(0, np.sqrt(0.5), (draws, 5))
        p = np.stack([c + e, c - e], axis=2)
        return np.mean([five_by_two_f(draw, np.zeros((5, 2))).reject for draw in p])

    exact = 2 * stats.t.sf(np.sqrt(2 * stats.f.ppf(0.95, 10, 5) - 1), 5)
    assert exact == pytest.approx(0.0333, abs=1e-3)
    assert rejections(0.0) == pytest.approx(exact, abs=0.013)
    assert rejections(five_by_two_detectable(1.0, 0.05)) == pytest.approx(0.8, abs=0.03)


def test_sentences_say_who_by_how_much_and_how_sure():
    text = five_by_two_f(HALVES_A, HALVES_B, names=("tree", "kNN")).sentence
    assert text.startswith("tree scored 0.0") and "higher than kNN" in text and "95 % interval" in text
    assert "F = " in text and "df = 10 and 5" in text and "p = " in text and text.endswith(".")
    assert "lower than" in paired_t(B, A).sentence
    assert "scored the same" in paired_t(A, A).sentence


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: paired_t([1, 2], [1, 2, 3]), DataError, r"\(2,\) and \(3,\)"),
        (lambda: paired_t([1], [2]), DataError, "at least 2 pairs"),
        (lambda: paired_t([1, np.nan], [1, 2]), DataError, "finite"),
        (lambda: five_by_two_f(A, B), DesignError, "corrected_resampled_t"),
        (lambda: five_by_two_t(HALVES_A.T, HALVES_B.T), DesignError, r"\(2, 5\)"),
        (lambda: paired_t(A, B, alpha=1), ParameterError, "alpha"),
        (lambda: paired_t(A, B, alternative="both"), ParameterError, "alternative"),
        (lambda: corrected_resampled_t(A, B, n_train=0, n_test=1), ParameterError, "positive"),
        (lambda: mcnemar([1, 0], [1, 0], [1]), DataError, "one length"),
        (lambda: mcnemar_from_counts(3, 4, 5), DataError, "exceed"),
        (lambda: binomial_test(5, 4, 0.1), DataError, "between 0 and n_rows"),
        (lambda: binomial_test(1, 4, 0.0), ParameterError, "error_rate"),
        (lambda: binomial_test(1, 4, 0.1, method="guess"), ParameterError, "method"),
    ],
)
def test_mistakes_get_one_sentence(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(("b", "c"), [(0, 0), (3, 9), (40, 60), (12, 12), (0, 30)])
def test_mcnemar_equals_statsmodels(b, c, exact):
    ours = mcnemar_from_counts(b, c, 200, exact=exact)
    if b + c == 0:
        assert (ours.statistic, ours.p_value, ours.reject) == (0.0, 1.0, False)
        return
    theirs = reference_mcnemar([[100, b], [c, 0]], exact=exact, correction=True)
    if b == c and not exact:
        # statsmodels squares |0| - 1; with no difference there is nothing to correct.
        assert ours.p_value == 1.0
    else:
        assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_mcnemar_counts_the_rows_that_only_one_gets_wrong():
    truth = np.array(list("aabbccaabb"))
    first, second = truth.copy(), truth.copy()
    first[:2], second[1:6] = "x", "y"
    result = mcnemar(truth, first, second)
    assert (result.details["only_a_wrong"], result.details["only_b_wrong"]) == (1, 4)
    assert result.effect == pytest.approx((first == truth).mean() - (second == truth).mean())
    assert result.interval[0] < result.effect < result.interval[1]


def test_mcnemar_is_exact_below_25_rows_and_marks_a_forced_approximation():
    assert mcnemar_from_counts(10, 14, 100).df is None and mcnemar_from_counts(10, 15, 100).df == 1
    assert not mcnemar_from_counts(2, 3, 100, exact=False).valid


def test_mcnemar_interval_covers_the_true_difference():
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(2000):
        only_a, only_b, _ = rng.multinomial(80, [0.08, 0.15, 0.77])
        low, high = mcnemar_from_counts(int(only_a), int(only_b), 80).interval
        covered += low <= 0.07 <= high
    assert covered / 2000 == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_binomial_test_equals_scipy(alternative):
    ours, theirs = binomial_test(15, 100, 0.1, alternative=alternative), stats.binomtest(15, 100, 0.1, alternative)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert ours.interval == pytest.approx(tuple(theirs.proportion_ci()))


def test_the_normal_approximation_is_close_where_it_says_so_and_marked_where_not():
    exact, normal = binomial_test(230, 2000, 0.1), binomial_test(230, 2000, 0.1, method="normal")
    assert normal.p_value == pytest.approx(exact.p_value, abs=0.003) and normal.valid
    assert normal.statistic == pytest.approx((0.115 - 0.1) / np.sqrt(0.09 / 2000))
    assert not binomial_test(3, 20, 0.1, method="normal").valid


def test_unequal_splits_count_by_the_mean_of_their_own_ratios():
    assert size_ratio("test", [90, 60], [10, 40]) == pytest.approx((10 / 90 + 40 / 60) / 2)
    many = corrected_resampled_t(A[:4], B[:4], n_train=[90, 60, 90, 60], n_test=[10, 40, 10, 40])
    one = corrected_resampled_t(A[:4], B[:4], n_train=1.0, n_test=(10 / 90 + 40 / 60) / 2)
    assert many.statistic == pytest.approx(one.statistic)


def test_the_normal_interval_is_walds():
    half = {"two-sided": 1.959964, "less": 1.644854, "greater": 1.644854}
    error = np.sqrt(0.15 * 0.85 / 100)
    for alternative, z in half.items():
        low, high = binomial_test(15, 100, 0.1, method="normal", alternative=alternative).interval
        assert low == pytest.approx(0.0 if alternative == "less" else 0.15 - z * error, abs=1e-6)
        assert high == pytest.approx(1.0 if alternative == "greater" else 0.15 + z * error, abs=1e-6)
    assert binomial_test(1, 50, 0.1, method="normal", alternative="greater").interval[0] == 0.0
    assert binomial_test(49, 50, 0.9, method="normal", alternative="less").interval[1] == 1.0


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_one_sample_t_equals_scipy(alternative):
    ours, theirs = one_sample_t(A, 0.79, alternative=alternative), stats.ttest_1samp(A, 0.79, alternative=alternative)
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert ours.df == theirs.df == 11
    if alternative == "two-sided":
        assert ours.interval == pytest.approx(np.subtract(theirs.confidence_interval(0.95), 0.79))


def test_detectable_difference_of_the_combined_f_test_has_its_power():
    # The test rejects where F of 10 and 5 degrees of freedom is beyond its quantile: (t^2 + 1) / 2 of one mean of ten.
    found = five_by_two_detectable(0.02, 0.1, 0.7)
    critical = np.sqrt(2 * stats.f.ppf(0.9, 10, 5) - 1)
    assert stats.nct.sf(critical, 5, found / np.sqrt(0.02 / 2)) == pytest.approx(0.7)


def test_mcnemar_interval_adds_one_row_to_each_side():
    # Wald's interval after half a success and failure in each cell of the table (Agresti & Min 2005).
    low, high = mcnemar_from_counts(5, 12, 100).interval
    b, c, n = 13 / 102, 6 / 102, 102
    half = stats.norm.ppf(0.975) * np.sqrt((b + c - (b - c) ** 2) / n)
    assert (low, high) == pytest.approx((b - c - half, b - c + half))


def test_mcnemar_says_which_of_its_forms_it_is():
    forms = {"mid-p": "mid-p", True: "exact", False: "corrected"}
    for exact, word in forms.items():
        assert mcnemar_from_counts(5, 12, 100, exact=exact).name == f"McNemar test ({word})"


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_t_tests_say_what_they_would_have_found_in_four_of_five_cases(alpha):
    halves = HALVES_A - HALVES_B
    variance = (np.diff(halves, axis=1) ** 2 / 2).mean()
    for result, error, df in (
        (paired_t(A, B, alpha=alpha), stats.sem(A - B), 11),
        (one_sample_t(A, 0.79, alpha=alpha), stats.sem(A), 11),
        (corrected_resampled_t(A, B, n_train=3, n_test=1, alpha=alpha), stats.sem(A - B) * np.sqrt(1 + 12 / 3), 11),
        (five_by_two_t(HALVES_A, HALVES_B, alpha=alpha), np.sqrt(variance), 5),
    ):
        shift = result.details["smallest_detectable_difference"] / error
        assert stats.nct.sf(stats.t.isf(alpha / 2, df), df, shift) == pytest.approx(0.8, abs=1e-6)


@pytest.mark.parametrize("shape", [(3, 4), (1, 12), (12, 1), (12,), (6, 2)])
def test_only_scores_of_repeated_folds_have_fewer_degrees_of_freedom(shape):
    folds = shape[1] if len(shape) == 2 and min(shape) > 1 else 0
    found = corrected_resampled_t(A.reshape(shape), B.reshape(shape), n_train=90, n_test=10)
    assert found.df == (11 if not folds else max(folds - 1, 5 if folds == 2 else 0))


@pytest.mark.parametrize(
    ("shape", "df"),
    [
        ((2, 5), 4),
        ((3, 4), 3),
        ((2, 4), 3),
        ((5, 2), 5),
        ((2, 2), 3),
        ((1, 10), 9),
        ((10, 1), 9),
        ((10,), 9),
        ((1, 2), 1),
    ],
)
def test_folds_of_several_repetitions_have_the_degrees_of_freedom_of_one(shape, df):
    """Folds - 1, five for halves, and never more than scores - 1; one repetition has scores - 1."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=shape), rng.normal(size=shape)
    found = corrected_resampled_t(a, b, n_train=9, n_test=1)
    assert found.df == df and found.p_value == pytest.approx(2 * stats.t.sf(abs(found.statistic), df))


def test_a_first_difference_of_nothing_or_without_variation_decides_as_its_limit():
    level = np.full((5, 2), 0.75)
    moving = level + np.array([[0.0, 0.25], [0.125, 0.0], [0.25, 0.0], [0.0, 0.125], [0.125, 0.25]])
    for alternative, of_zero, of_more in (("two-sided", 1.0, 0.0), ("greater", 0.5, 0.0), ("less", 0.5, 1.0)):
        assert five_by_two_t(moving, level, alternative=alternative).p_value == pytest.approx(of_zero)
        assert five_by_two_t(level + 0.125, level, alternative=alternative).p_value == of_more
        same = five_by_two_t(level, level, alternative=alternative)
        assert (same.p_value, same.statistic, same.valid) == (1.0, 0.0, False)
