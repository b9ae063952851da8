"""Tests of several learners against SciPy and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import cochrans_q

from assay.base import DataError
from assay.evaluate import anova, cochran_q, friedman, kruskal_wallis, mcnemar_from_counts, nemenyi, paired_t

RNG = np.random.default_rng(0)
SCORES = {name: RNG.normal(0.8 + 0.02 * j, 0.03, 14) for j, name in enumerate("abcd")}
MATRIX = np.column_stack(list(SCORES.values()))


def test_anova_equals_scipy_also_for_groups_of_different_size():
    uneven = {name: values[: 6 + 2 * j] for j, (name, values) in enumerate(SCORES.items())}
    for scores in (SCORES, uneven):
        ours, theirs = anova(scores), stats.f_oneway(*scores.values())
        assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
        assert ours.interval[0] <= ours.effect <= ours.interval[1]
    assert anova(MATRIX).statistic == pytest.approx(anova(SCORES).statistic)


def test_anova_of_two_groups_is_the_squared_t_and_so_are_its_pairs():
    pair = {"a": SCORES["a"], "b": SCORES["b"]}
    t = stats.ttest_ind(*pair.values())
    result = anova(pair)
    assert result.statistic == pytest.approx(t.statistic**2)
    assert result.details["pairs"][0]["p_value"] == pytest.approx(t.pvalue)
    assert result.details["pairs"][0]["interval"] == pytest.approx(tuple(t.confidence_interval()))


def test_anova_pairs_use_the_common_variance_and_are_corrected():
    result = anova(SCORES)
    within = np.mean([v.var(ddof=1) for v in SCORES.values()])
    first = result.details["pairs"][0]
    t = (SCORES["a"].mean() - SCORES["b"].mean()) / np.sqrt(2 * within / 14)
    assert first["statistic"] == pytest.approx(t) and first["p_value"] == pytest.approx(2 * stats.t.sf(abs(t), 52))
    assert all(p["p_value"] <= p["p_holm"] <= p["p_bonferroni"] for p in result.details["pairs"])


def test_pairs_without_variation_are_the_same_or_apart_for_sure():
    pairs = anova({"a": [1.0, 1.0], "b": [1.0, 1.0], "c": [2.0, 2.0]}).details["pairs"]
    assert [p["statistic"] for p in pairs] == [0.0, -np.inf, -np.inf]


def test_effects_are_shares_of_the_largest_statistic():
    """Kendall's W and Q reach 1 where all rows agree; statistics themselves are those of SciPy and statsmodels."""
    result = friedman(SCORES)
    assert result.effect == pytest.approx(result.statistic / (14 * 3)) and result.df == 3
    truth = np.ones(9)
    apart = {"a": truth, "b": np.zeros(9), "c": np.zeros(9)}
    assert cochran_q(truth, apart).statistic == pytest.approx(18) and cochran_q(truth, apart).effect == 1.0
    mixed = {"a": truth, "b": np.arange(9) % 2, "c": np.arange(9) % 3 == 0}
    found = cochran_q(truth, mixed)
    assert found.details["rows_that_differ"] == 8 and found.effect == pytest.approx(found.statistic / (8 * 2))


@pytest.mark.parametrize(("rows", "learners", "close"), [(10, 5, False), (11, 5, True), (10, 6, True)])
def test_friedman_says_when_chi_square_is_close(rows, learners, close):
    assert friedman(np.random.default_rng(3).normal(size=(rows, learners))).valid is close


def test_eta_squared_interval_covers_the_truth():
    rng, covered = np.random.default_rng(2), 0
    means = np.array([0.0, 0.5, 1.0])
    truth = means.var() / (means.var() + 1)
    for _ in range(500):
        low, high = anova(rng.normal(means, 1, (12, 3))).interval
        covered += low <= truth <= high
    assert covered / 500 == pytest.approx(0.95, abs=0.03)


def test_scores_without_variation():
    assert anova({"a": [1.0, 1.0], "b": [1.0, 1.0]}).p_value == 1.0
    apart = anova({"a": [1.0, 1.0], "b": [2.0, 2.0]})
    assert (apart.p_value, apart.effect, apart.valid) == (0.0, 1.0, False)
    assert kruskal_wallis({"a": [1.0, 1.0], "b": [1.0, 1.0]}).p_value == 1.0
    assert friedman(np.ones((4, 3))).p_value == 1.0


def test_kruskal_wallis_equals_scipy_with_ties():
    groups = {name: RNG.integers(0, 8, 9 + j).astype(float) for j, name in enumerate("abc")}
    ours, theirs = kruskal_wallis(groups), stats.kruskal(*groups.values())
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))


@pytest.mark.parametrize("digits", [8, 1], ids=["plain", "ties"])
def test_friedman_equals_scipy(digits):
    matrix = MATRIX.round(digits)
    ours, theirs = friedman(matrix), stats.friedmanchisquare(*matrix.T)
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert ours.p_value == pytest.approx(friedman(-matrix, greater_is_better=False).p_value)


def test_iman_and_davenports_f_and_perfect_agreement():
    result = friedman(SCORES)
    chi2 = result.statistic
    f = result.details["iman_davenport"]
    assert f["statistic"] == pytest.approx(13 * chi2 / (14 * 3 - chi2)) and f["df"] == (3, 39)
    perfect = friedman(np.arange(12.0).reshape(4, 3))
    assert perfect.effect == pytest.approx(1.0) and perfect.details["iman_davenport"]["p_value"] == 0.0
    assert perfect.details["average_ranks"]["learner 3"] == 1.0


def test_nemenyi_uses_the_published_critical_values():
    """Demsar (2006), table 5a: q(.05) is 1.960, 2.343, 2.569, 2.728 for 2 to 5 learners."""
    for k, q in ((2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728)):
        result = nemenyi(RNG.normal(size=(14, k)))
        assert result.details["critical_difference"] == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * 14)), rel=5e-4)


def test_nemenyi_rejects_exactly_the_pairs_beyond_the_critical_difference():
    result = nemenyi(SCORES)
    assert any(p["reject"] for p in result.details["pairs"]) and not all(p["reject"] for p in result.details["pairs"])
    for pair in result.details["pairs"]:
        assert pair["reject"] == (abs(pair["difference"]) > result.details["critical_difference"])
        assert pair["reject"] == (not pair["interval"][0] <= 0 <= pair["interval"][1])


def test_cochran_q_equals_statsmodels():
    truth = RNG.integers(0, 3, 60)
    guesses = {n: np.where(RNG.random(60) < s, truth, 9) for n, s in (("a", 0.9), ("b", 0.7), ("c", 0.6))}
    table = np.column_stack([g == truth for g in guesses.values()]).astype(int)
    theirs = cochrans_q(table)
    ours = cochran_q(truth, guesses)
    assert (ours.statistic, ours.p_value, ours.df) == pytest.approx((theirs.statistic, theirs.pvalue, theirs.df))


def test_cochran_q_of_two_is_mcnemar_without_correction():
    truth = np.ones(40)
    a, b = truth.copy(), truth.copy()
    a[:4], b[10:22] = 0, 0
    assert cochran_q(truth, {"a": a, "b": b}).statistic == pytest.approx((4 - 12) ** 2 / 16)
    assert mcnemar_from_counts(4, 12, 40, exact=False).statistic < 4.0
    assert cochran_q(truth, {"a": truth, "b": truth}).p_value == 1.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: anova({"a": [1.0, 2.0]}), "at least 2 learners"),
        (lambda: anova({"a": [1.0], "b": [2.0]}), "more values than learners"),
        (lambda: anova({"a": [1.0, np.nan], "b": [2.0, 1.0]}), "scores of 'a'"),
        (lambda: friedman({"a": [1.0, 2.0], "b": [1.0]}), "lengths"),
        (lambda: friedman([1.0, 2.0]), "data sets, learners"),
        (lambda: cochran_q([1, 0], {"a": [1, 0]}), "at least 2 classifiers"),
        (lambda: cochran_q([1, 0], {"a": [1, 0], "b": [1]}), "predictions of 'b'"),
    ],
)
def test_mistakes_get_one_sentence(call, words):
    with pytest.raises(DataError, match=words):
        call()


@pytest.mark.parametrize("test", [anova, kruskal_wallis, friedman, nemenyi])
def test_every_result_speaks_and_serialises(test):
    record = test(SCORES).to_dict()
    assert record["sentence"].endswith(".") and 0 <= record["p_value"] <= 1
    assert paired_t(SCORES["a"], SCORES["b"]).to_dict().keys() == record.keys()


def test_one_row_on_which_classifiers_differ_is_a_test_though_a_weak_one():
    found = cochran_q([1], {"a": [1], "b": [0]})
    assert found.statistic == 1.0 and found.p_value == pytest.approx(stats.chi2.sf(1.0, 1)) and not found.valid
    assert cochran_q([1], {"a": [1], "b": [1]}).p_value == 1.0
    with pytest.raises(DataError):
        cochran_q([], {"a": [], "b": []})
    # 24 scores of two classifiers are those of 12 rows.
    for rows, enough in ((11, False), (12, True)):
        y = np.zeros(rows, dtype=int)
        assert cochran_q(y, {"a": y, "b": y + 1}).valid == enough


@pytest.mark.parametrize("size", [0.0, 1.0, 1e100])
def test_scores_that_do_not_vary_at_all_leave_the_test_invalid(size):
    found = anova({"a": [size, size], "b": [size, size]})
    assert (found.statistic, found.p_value, found.effect, found.valid) == (0.0, 1.0, 0.0, False)


def test_scores_may_come_as_a_list_an_array_or_one_by_one():
    """A list and an array of any other shape hold one learner after the other; an array of two axes, in columns."""
    wanted = anova(SCORES)
    lists = [values.tolist() for values in SCORES.values()]
    for found in (anova(lists), anova(*lists), anova(tuple(lists)), anova(MATRIX), anova(MATRIX.T.reshape(4, 7, 2))):
        assert found.statistic == wanted.statistic and found.df == wanted.df == (3, 52)
        assert list(found.details["means"]) == [f"learner {j}" for j in (1, 2, 3, 4)]
    for wrong in (1.0, "ab", np.array([1.0, 2.0, 3.0])):
        with pytest.raises(DataError, match="learners"):
            anova(wrong)


def test_nemenyis_statistic_is_the_studentised_range_of_the_widest_pair():
    found = nemenyi(SCORES)
    ranks = found.details["average_ranks"]
    widest = max(ranks.values()) - min(ranks.values())
    assert abs(found.effect) == pytest.approx(widest)
    assert found.statistic == pytest.approx(widest / np.sqrt(4 * 5 / (12 * 14)))
    assert found.p_value == pytest.approx(stats.studentized_range.sf(found.statistic, 4, np.inf), rel=1e-6)
