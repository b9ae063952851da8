"""Hotelling's T2 and MANOVA: against other routes, statsmodels, and what entries bound by sums ask for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.multivariate.manova import MANOVA

from assay.base import DataError
from assay.evaluate import anova, hotelling_t2, manova, paired_t

RNG = np.random.default_rng(0)
A = RNG.normal([20.0, 5.0, 3.0], 2.0, (12, 3))
B = A + RNG.normal([0.8, -0.8, 0.1], 1.0, (12, 3))
GROUPS = [RNG.normal(shift, 1.0, (n, 3)) for shift, n in ((0.0, 9), (0.3, 11), (0.8, 10), (0.2, 8))]


def test_t2_is_the_mahalanobis_distance_of_the_mean_difference():
    d = A - B
    m, S = d.mean(axis=0), np.cov(d.T)
    result = hotelling_t2(A, B)
    t2 = 12 * m @ np.linalg.solve(S, m)
    assert result.statistic == pytest.approx(t2) and result.df == (3, 9)
    assert result.p_value == pytest.approx(stats.f.sf(9 / (3 * 11) * t2, 3, 9))
    assert list(result.details["direction"].values()) == pytest.approx(np.linalg.solve(S, m))
    assert result.interval[0] <= result.effect <= result.interval[1]


def test_one_entry_is_the_paired_t_test():
    one, t = hotelling_t2(A[:, :1], B[:, :1]), paired_t(A[:, 0], B[:, 0])
    assert one.statistic == pytest.approx(t.statistic**2) and one.p_value == pytest.approx(t.p_value)


def test_t2_equals_statsmodels_manova_on_the_differences():
    """statsmodels tests the intercept of the differences: T2 = (K - 1) (1 - lambda) / lambda."""
    table = MANOVA(A - B, np.ones((12, 1))).mv_test().results["x0"]["stat"]
    ours = hotelling_t2(A, B)
    assert ours.p_value == pytest.approx(float(table.loc["Wilks' lambda", "Pr > F"]))
    wilks = float(table.loc["Wilks' lambda", "Value"])
    assert ours.statistic == pytest.approx(11 * (1 - wilks) / wilks)


@pytest.mark.parametrize("map_entries", [np.diag([2.0, 0.5, 100.0]), RNG.normal(size=(3, 3))])
def test_t2_and_lambda_do_not_change_under_linear_maps(map_entries):
    assert hotelling_t2(A @ map_entries, B @ map_entries).p_value == pytest.approx(hotelling_t2(A, B).p_value)
    turned = [group @ map_entries for group in GROUPS]
    assert manova(*turned).statistic == pytest.approx(manova(*GROUPS).statistic)


def test_confusion_matrices_with_fixed_class_sizes_have_two_free_entries():
    """15 positives and 15 negatives on every fold: four entries, two of them free."""
    counts = [np.array([[[tp, 15 - tp], [fp, 15 - fp]] for tp, fp in zip(*draw)]) for draw in (
        (RNG.binomial(15, 0.9, 10), RNG.binomial(15, 0.2, 10)),
        (RNG.binomial(15, 0.7, 10), RNG.binomial(15, 0.2, 10)),
    )]  # fmt: skip
    full = hotelling_t2(*counts)
    free = hotelling_t2(*(c[:, :, 0] for c in counts))
    assert full.details["rank"] == 2 and full.df == free.df == (2, 8)
    assert full.p_value == pytest.approx(free.p_value)
    both, some = manova(*counts), manova(*(c[:, :, 0] for c in counts))
    assert both.statistic == pytest.approx(some.statistic) and both.df == some.df


def test_the_level_of_t2_is_kept():
    rng = np.random.default_rng(1)
    shares = [hotelling_t2(rng.normal(size=(8, 3)), rng.normal(size=(8, 3))).reject for _ in range(800)]
    assert np.mean(shares) == pytest.approx(0.05, abs=0.024)


def test_a_difference_only_together_is_found_though_no_entry_differs():
    rng = np.random.default_rng(2)
    shared = rng.normal(0, 3, 15)
    a = np.column_stack([shared + 0.5, shared - 0.5]) + rng.normal(0, 0.2, (15, 2))
    result = hotelling_t2(a, np.zeros((15, 2)), entries=["fp", "fn"])
    assert result.reject and all(entry["p_holm"] > 0.05 for entry in result.details["entries"])
    assert "No entry differs on its own" in result.sentence


def test_equal_and_constant_differences_have_defined_answers():
    assert hotelling_t2(A, A).p_value == 1.0
    shifted = hotelling_t2(A, A + 1.0)
    assert shifted.p_value == 0.0 and not shifted.valid and shifted.interval == (np.inf, np.inf)


def test_manova_equals_statsmodels():
    frame = pd.DataFrame(np.concatenate(GROUPS), columns=["x", "y", "z"])
    frame["learner"] = np.repeat(list("abcd"), [len(g) for g in GROUPS])
    table = MANOVA.from_formula("x + y + z ~ learner", frame).mv_test().results["learner"]["stat"]
    theirs = table.loc["Wilks' lambda"]
    ours = manova(*GROUPS)
    assert ours.statistic == pytest.approx(float(theirs["Value"]))
    assert (ours.details["f"], ours.p_value) == pytest.approx((float(theirs["F Value"]), float(theirs["Pr > F"])))
    assert ours.df == pytest.approx((float(theirs["Num DF"]), float(theirs["Den DF"])))


def test_manova_of_one_entry_is_anova_and_of_two_groups_is_hotelling():
    columns = [group[:, :1] for group in GROUPS]
    one, f = manova(*columns), anova(*(c.ravel() for c in columns))
    assert one.p_value == pytest.approx(f.p_value) and one.effect == pytest.approx(f.effect)
    assert one.details["f"] == pytest.approx(f.statistic) and one.details["entries"][0]["p_value"] == f.p_value
    # Two groups: Rao's F is the exact F of the two-sample T2.
    a, b = GROUPS[0], GROUPS[1]
    pooled = ((len(a) - 1) * np.cov(a.T) + (len(b) - 1) * np.cov(b.T)) / (len(a) + len(b) - 2)
    m = a.mean(axis=0) - b.mean(axis=0)
    t2 = len(a) * len(b) / (len(a) + len(b)) * m @ np.linalg.solve(pooled, m)
    n, p = len(a) + len(b), 3
    assert manova(a, b).details["f"] == pytest.approx((n - p - 1) / (p * (n - 2)) * t2)


def test_small_lambda_rejects():
    """The course text has the inequality turned (see docs/design/errata.md)."""
    apart = manova(*(group + 5 * j for j, group in enumerate(GROUPS)))
    assert apart.statistic < 0.05 and apart.reject and manova(*GROUPS).statistic > apart.statistic


def test_manova_without_variation():
    assert manova(np.ones((4, 2)), np.ones((4, 2))).p_value == 1.0
    apart = manova(np.ones((4, 2)), np.zeros((4, 2)))
    assert (apart.statistic, apart.p_value, apart.valid) == (0.0, 0.0, False)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hotelling_t2(A, B[:6]), "one shape"),
        (lambda: hotelling_t2(A[:2], B[:2]), "at least 3 folds"),
        (lambda: hotelling_t2(A[:3], B[:3]), "more folds"),
        (lambda: hotelling_t2(A, B, entries=["tp"]), "a name for each of 3"),
        (lambda: hotelling_t2(A, np.where(B > 0, np.nan, B)), "finite"),
        (lambda: manova(A), "one learner|at least 2"),
        (lambda: manova({"a": A}), "at least 2 learners"),
        (lambda: manova(A, B[:, :2]), "as many for every learner"),
        (lambda: manova(A[:2], B[:2]), "directions"),
        (lambda: manova(A[:1], B[:1]), "more folds than learners"),
    ],
)
def test_mistakes_get_one_sentence(call, words):
    with pytest.raises(DataError, match=words):
        call()


@pytest.mark.parametrize("count", [2, 3, 4])
def test_manova_of_one_entry_is_anova_of_any_number_of_learners(count):
    columns = [group[:, 1] for group in GROUPS[:count]]
    ours, theirs = manova(*(column[:, None] for column in columns)), stats.f_oneway(*columns)
    assert ours.details["f"] == pytest.approx(theirs.statistic) and ours.p_value == pytest.approx(theirs.pvalue)
    assert ours.df == (count - 1, sum(map(len, columns)) - count)


def test_no_difference_has_no_distance():
    same = hotelling_t2(A, A)
    assert (same.statistic, same.effect, same.interval) == (0.0, 0.0, (0.0, 0.0))
    counts = A.copy()
    counts[:, 2] = 0.0  # an entry that nobody ever has
    none = hotelling_t2(counts, np.column_stack([B[:, :2], counts[:, 2]]))
    assert none.statistic == pytest.approx(hotelling_t2(A[:, :2], B[:, :2]).statistic) and none.df == (2, 10)


@pytest.mark.parametrize(("count", "root"), [(2, 1.0), (3, 2.0), (4, np.sqrt(77 / 13))])
def test_the_effect_is_one_less_the_root_of_lambda(count, root):
    """Rao's t = sqrt((p^2 q^2 - 4) / (p^2 + q^2 - 5)) for p = 3 entries and q = 1, 2 and 3 degrees of freedom."""
    found = manova(*GROUPS[:count])
    assert found.effect == pytest.approx(1 - found.statistic ** (1 / root)) and 0 < found.effect < 1


def test_a_distance_below_one_has_its_p_value_and_interval_too():
    near = A - (A - B).mean(axis=0) + np.array([0.15, -0.15, 0.06])
    found = hotelling_t2(near, B)
    assert 0 < found.statistic < 1
    assert found.p_value == pytest.approx(stats.f.sf(9 / (3 * 11) * found.statistic, 3, 9)) and found.p_value < 1
    assert found.interval[0] == 0 < found.effect < found.interval[1]
    upper = stats.ncf.cdf(9 / (3 * 11) * found.statistic, 3, 9, 12 * found.interval[1])
    assert upper == pytest.approx(0.025, abs=1e-6)
