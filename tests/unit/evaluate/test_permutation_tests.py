"""Permutation tests: exact counts, SciPy, intervals by inversion, levels."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as theirs

from assay.base import DataError, ParameterError, UsageError
from assay.evaluate import permutation_test

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_all_sign_patterns_equal_enumeration_and_scipy(alternative):
    d = RNG.normal(0.4, 1, 9)
    totals = np.array([np.dot(signs, d) for signs in product((1, -1), repeat=9)])
    extreme = {"greater": totals >= d.sum() - 1e-9, "less": totals <= d.sum() + 1e-9,
               "two-sided": np.abs(totals) >= abs(d.sum()) - 1e-9}[alternative]  # fmt: skip
    ours = permutation_test(d, np.zeros(9), alternative=alternative)
    assert ours.p_value == pytest.approx(extreme.mean()) and ours.details == {"exact": True, "arrangements": 512}
    theirs = stats.permutation_test(
        (d, np.zeros(9)), lambda a, b, axis: np.mean(a - b, axis=axis), permutation_type="samples",
        vectorized=True, n_resamples=np.inf, alternative=alternative,
    )  # fmt: skip
    assert ours.p_value == pytest.approx(theirs.pvalue)


def test_drawn_patterns_come_close_to_all_and_depend_on_the_seed():
    d = RNG.normal(0.5, 1, 25)
    drawn = permutation_test(d, np.zeros(25), n_permutations=20_000)
    normal = 2 * stats.norm.sf(abs(d.sum()) / np.sqrt((d**2).sum()))
    assert not drawn.details["exact"] and drawn.p_value == pytest.approx(normal, abs=0.01)
    assert permutation_test(d, np.zeros(25), n_permutations=20_000, random_state=1).p_value != drawn.p_value
    assert permutation_test(d, np.zeros(25), n_permutations=99).details["arrangements"] == 100


@pytest.mark.parametrize("n", [8, 30])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_the_interval_holds_the_shifts_that_are_not_rejected(n, alternative):
    d = np.random.default_rng(n).normal(0.3, 1, n)
    low, high = permutation_test(d, np.zeros(n), alternative=alternative).interval
    for bound in (low, high):
        if np.isfinite(bound):
            inward = 1e-6 if bound == low else -1e-6
            assert not permutation_test(d, np.full(n, bound + inward), alternative=alternative).reject
            assert permutation_test(d, np.full(n, bound - inward), alternative=alternative).reject


def test_interval_covers_and_level_is_kept():
    rng = np.random.default_rng(3)
    results = [permutation_test(rng.normal(0, 1, 10), np.zeros(10)) for _ in range(1500)]
    assert np.mean([r.reject for r in results]) == pytest.approx(0.05, abs=0.018)
    assert all(r.reject != (r.interval[0] <= 0 <= r.interval[1]) for r in results)


def test_orders_of_labels_are_hypergeometric_for_two_classes():
    """Hits of a classifier under random orders: 2 x the overlap of positives, a hypergeometric count."""
    y, guess = np.repeat([1, 0], [30, 30]), np.repeat([1, 0, 1, 0], [20, 10, 10, 20])
    result = permutation_test(y, guess, kind="labels", n_permutations=20_000)
    assert result.p_value == pytest.approx(stats.hypergeom.sf(19, 60, 30, 30), abs=0.004)
    assert result.statistic == pytest.approx(40 / 60) and result.effect == pytest.approx(40 / 60 - 0.5, abs=0.003)


def test_few_rows_are_counted_in_full():
    result = permutation_test([1, 0, 1, 0], [1, 0, 1, 0], kind="labels")
    assert result.details["exact"] and result.p_value == pytest.approx(4 / 24)


@pytest.mark.parametrize("metric", ["mse", "mae", "rmse", "r2"])
def test_values_that_follow_the_truth_are_better_than_chance(metric):
    y = RNG.normal(size=40)
    good, bad = y + RNG.normal(0, 0.5, 40), RNG.permutation(y)
    assert permutation_test(y, good, kind="labels", metric=metric, n_permutations=499).reject
    assert not permutation_test(y, bad, kind="labels", metric=metric, n_permutations=499).reject


def test_any_metric_or_function_can_be_asked_and_common_ones_agree_with_it():
    y, guess = RNG.integers(0, 3, 50), RNG.integers(0, 3, 50)
    slow = permutation_test(y, guess, kind="labels", metric=lambda t, p: np.mean(t == p), n_permutations=300)
    fast = permutation_test(y, guess, kind="labels", metric="accuracy", n_permutations=300)
    assert slow.p_value == fast.p_value
    error = permutation_test(y, guess, kind="labels", metric="error_rate", n_permutations=300)
    assert error.p_value == fast.p_value
    assert 0 < permutation_test(y, guess, kind="labels", metric="kappa", n_permutations=99).p_value <= 1


def test_the_level_of_the_label_test_is_kept():
    rng = np.random.default_rng(4)
    rejected = [
        permutation_test(rng.integers(0, 2, 40), rng.integers(0, 2, 40), kind="labels", n_permutations=199).reject
        for _ in range(600)
    ]
    assert np.mean(rejected) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 600)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: permutation_test([1.0], [1.0, 2.0]), DataError),
        (lambda: permutation_test([1.0], [2.0], kind="other"), ParameterError),
        (lambda: permutation_test([1.0], [2.0], n_permutations=0), ParameterError),
        (lambda: permutation_test([1.0], [2.0], alternative="up"), ParameterError),
        (lambda: permutation_test([1, 0], [1], kind="labels"), DataError),
        (lambda: permutation_test([1], [1], kind="labels"), DataError),
        (lambda: permutation_test([1, 0], [1, 0], kind="labels", metric="no such"), UsageError),
        (lambda: permutation_test([1.0, np.nan], [1.0, 2.0], kind="labels", metric="mse"), DataError),
    ],
)
def test_mistakes_get_one_sentence(call, error):
    with pytest.raises(error):
        call()


def test_many_draws_are_as_many_as_asked_and_the_observed_one_is_counted_with_them():
    """More cells than are drawn at once: the draws of both kinds of test still have the normal limit."""
    d = np.random.default_rng(4).normal(0.2, 1, 40)
    found = permutation_test(d, np.zeros(40), n_permutations=110_001)
    normal = 2 * stats.norm.sf(abs(d.sum()) / np.sqrt((d**2).sum()))
    assert found.details["arrangements"] == 110_002 and found.p_value == pytest.approx(normal, abs=0.01)
    y = np.repeat([0, 1], 20)
    guess = np.where(np.arange(40) % 3 == 0, 1 - y, y)
    labels = permutation_test(y, guess, kind="labels", n_permutations=60_001)
    right = int((guess == y)[y == 1].sum())
    exact = stats.hypergeom.sf(right - 1, 40, 20, int(guess.sum()))
    assert labels.p_value == pytest.approx(exact, abs=0.005) and labels.details["arrangements"] == 60_001


def test_one_drawn_order_gives_a_half_or_one():
    d = np.full(30, 0.3)
    assert permutation_test(d, np.zeros(30), n_permutations=1, alternative="greater").p_value in (0.5, 1.0)
    y = np.repeat([0, 1], 10)
    assert permutation_test(y, y, kind="labels", n_permutations=1).p_value in (0.5, 1.0)


def test_up_to_seven_rows_and_twenty_pairs_are_counted_in_full():
    y = np.arange(8) % 2
    for n, exact in ((7, True), (8, False)):
        details = permutation_test(y[:n], y[:n], kind="labels", n_permutations=99).details
        assert details["exact"] == exact and details["arrangements"] == (5040 if exact else 99)
    d = np.random.default_rng(6).normal(0.3, 1.0, 21)
    for n, exact in ((20, True), (21, False)):
        details = permutation_test(d[:n], np.zeros(n), n_permutations=99).details
        assert details == {"exact": exact, "arrangements": 2**20 if exact else 100}


@pytest.mark.parametrize(
    ("metric", "score"),
    [
        ("mse", theirs.mean_squared_error),
        ("mae", theirs.mean_absolute_error),
        ("rmse", lambda y, p: np.sqrt(theirs.mean_squared_error(y, p))),
        ("r2", theirs.r2_score),
    ],
)
def test_scores_of_all_orders_are_those_of_the_metric(metric, score):
    y, guess = np.array([1.0, 2.0, 4.0, 4.5, 7.0]), np.array([1.5, 2.0, 5.0, 2.0, 6.0])
    null = np.array([score(y[list(order)], guess) for order in permutations(range(5))])
    sign = 1 if metric == "r2" else -1
    for alternative, p in (
        ("greater", np.mean(sign * null >= sign * null[0] - 1e-9)),
        ("less", np.mean(sign * null <= sign * null[0] + 1e-9)),
    ):
        found = permutation_test(y, guess, kind="labels", metric=metric, alternative=alternative, alpha=0.2)
        assert found.statistic == pytest.approx(null[0]) and found.p_value == pytest.approx(p)
        assert found.details["chance"] == pytest.approx(null.mean())
        assert found.effect == pytest.approx(null[0] - null.mean())
        assert found.details["chance_interval"] == pytest.approx(np.quantile(null, [0.1, 0.9])) and found.valid
    two = permutation_test(y, guess, kind="labels", metric=metric, alternative="two-sided")
    assert two.p_value == pytest.approx(2 * min(np.mean(sign * null >= sign * null[0] - 1e-9), 0.5))
    assert not permutation_test([2, 2, 2], [2, 1, 2], kind="labels").valid


def test_the_interval_of_all_subsets_is_hartigans():
    """With alpha = 2 k / 2^n the ends are the (k - 1)-th means of subsets from either end."""
    d = np.random.default_rng(7).normal(0.3, 1.0, 5)
    subsets = [[x for x, used in zip(d, signs) if used] for signs in product((0, 1), repeat=5) if any(signs)]
    means = np.sort([np.mean(subset) for subset in subsets])
    for k in (2, 3, 5):
        found = permutation_test(d, np.zeros(5), alpha=2 * k / 32)
        assert found.interval == pytest.approx((means[k - 2], means[-(k - 1)]))
        one_sided = permutation_test(d, np.zeros(5), alpha=k / 32, alternative="greater")
        assert one_sided.interval == pytest.approx((means[k - 2], np.inf))
    assert permutation_test(d, np.zeros(5), alpha=2 / 32).interval == (-np.inf, np.inf)


@pytest.mark.parametrize("metric", ["mse", "mae", "rmse"])
def test_predictions_in_a_column_are_those_in_a_row(metric):
    y, guess = np.array([1.0, 2.0, 4.0, 4.5, 7.0]), np.array([1.5, 2.0, 5.0, 2.0, 6.0])
    row, column = (permutation_test(y, given, kind="labels", metric=metric) for given in (guess, guess[:, None]))
    assert (column.statistic, column.p_value) == pytest.approx((row.statistic, row.p_value))
    assert column.details["chance"] == pytest.approx(row.details["chance"])
    with pytest.raises(DataError, match="one label per row"):
        permutation_test([0, 1, 1], np.eye(2)[[0, 1, 1]], kind="labels")
