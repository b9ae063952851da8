"""`compare` on predictions of one test set, row by row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.base import DataError
from assay.evaluate import (
    cochran_q,
    compare,
    compare_predictions,
    hotelling_t2,
    mcnemar,
    mcnemar_from_counts,
    paired_t,
)

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 240)
SHARES = {"forest": 0.9, "tree": 0.88, "bayes": 0.75, "zero-r": 0.4}
GUESSES = {name: np.where(RNG.random(240) < share, Y, (Y + 1) % 3) for name, share in SHARES.items()}
VALUES = RNG.normal(size=150)
REGRESSED = {name: VALUES + RNG.normal(0, s, 150) for name, s in (("a", 0.5), ("b", 0.55), ("c", 1.2))}


def test_labels_are_compared_by_mcnemar_with_cochrans_q_over_all():
    found = compare_predictions(Y, GUESSES, pairs="all")
    assert found.procedure == "McNemar test" and found.metric == "accuracy" and len(found.pairs) == 6
    for pair in found.pairs:
        test = mcnemar(Y, GUESSES[pair["a"]], GUESSES[pair["b"]], exact="mid-p")
        assert (pair["p_value"], pair["difference"], pair["interval"]) == (test.p_value, test.effect, test.interval)
    q = cochran_q(Y, GUESSES)
    assert found.omnibus["p_value"] == q.p_value and "Cochran Q" in found.sentence
    assert [set(group) for group in found.groups] == [{"forest", "tree"}, {"bayes"}, {"zero-r"}]
    assert found.summary["forest"]["mean"] == np.mean(GUESSES["forest"] == Y)
    low, high = found.summary["forest"]["interval"]
    exact = stats.binomtest(int((GUESSES["forest"] == Y).sum()), 240).proportion_ci()
    assert (low, high) == pytest.approx((exact.low, exact.high))


def test_compare_with_true_labels_is_the_same():
    assert compare(GUESSES, "holdout", y=Y).to_dict() == compare_predictions(Y, GUESSES).to_dict()
    assert compare(GUESSES, "predictions", y=Y).pairs == compare_predictions(Y, GUESSES).pairs
    assert compare(GUESSES, "leave-one-out", y=Y).design == "leave-one-out"


def test_two_classifiers_need_no_omnibus_test():
    two = compare_predictions(Y, {k: GUESSES[k] for k in ("forest", "bayes")})
    assert two.omnibus is None and two.correction == "none needed: one pair" and two.groups == [["forest"], ["bayes"]]


def test_the_detectable_difference_of_mcnemar_is_found_four_times_in_five():
    rng = np.random.default_rng(1)
    n, differ = 400, 0.2
    a = np.zeros(n, dtype=int)
    b = np.where(np.arange(n) < differ * n / 2, 1, 0)
    c = np.where((np.arange(n) >= 100) & (np.arange(n) < 100 + differ * n / 2), 1, 0)
    size = compare_predictions(a, {"b": b, "c": c}).smallest_detectable_difference
    won, lost = (differ + size) / 2, (differ - size) / 2
    counts = rng.multinomial(n, [won, lost, 1 - won - lost], 1500)
    assert np.mean([mcnemar_from_counts(int(x), int(y), n).reject for x, y, _ in counts]) == pytest.approx(
        0.8, abs=0.06
    )


def test_values_are_compared_by_their_losses():
    found = compare_predictions(VALUES, REGRESSED)
    assert (found.metric, found.greater_is_better, found.best) == ("mse", False, "a")
    losses = {name: (VALUES - guess) ** 2 for name, guess in REGRESSED.items()}
    for pair in found.pairs:
        assert pair["p_value"] == paired_t(losses[pair["a"]], losses[pair["b"]]).p_value and pair["difference"] <= 0
    others = np.column_stack([losses["b"], losses["c"]])
    assert found.omnibus["p_value"] == pytest.approx(hotelling_t2(others, np.column_stack([losses["a"]] * 2)).p_value)
    absolute = compare_predictions(VALUES, REGRESSED, loss="absolute")
    assert absolute.metric == "mae" and absolute.summary["a"]["mean"] == pytest.approx(
        np.abs(VALUES - REGRESSED["a"]).mean()
    )
    assert compare(REGRESSED, "holdout", y=VALUES, metric="mae").pairs == absolute.pairs


def test_any_loss_will_do_and_whole_numbers_are_labels_unless_said_otherwise():
    def pinball(y, p):
        return np.maximum(0.9 * (y - p), 0.1 * (p - y))

    assert compare_predictions(VALUES, REGRESSED, loss=pinball).metric == "pinball"
    counts = {"a": Y, "b": Y + (Y == 2)}
    assert compare_predictions(Y, counts).metric == "accuracy"
    assert compare_predictions(Y, counts, task="regress").metric == "mse"


def test_models_with_missing_predictions_are_left_out_and_named():
    broken = REGRESSED["b"].copy()
    broken[:3] = np.nan
    found = compare_predictions(VALUES, {**REGRESSED, "b": broken})
    assert found.left_out == [{"id": "b", "reason": "3 of 150 predictions are missing"}] and "b" not in found.summary


def test_the_spread_of_hits_is_that_of_one_row():
    summary = compare_predictions(Y, GUESSES).summary
    for name, guess in GUESSES.items():
        assert summary[name]["sd"] == pytest.approx(np.std(guess == Y))


def test_mean_losses_stay_above_0_and_scores_of_seeds_have_students_interval():
    rows = compare_predictions(VALUES, REGRESSED).summary["a"]
    losses = (VALUES - REGRESSED["a"]) ** 2
    assert rows["sd"] == pytest.approx(losses.std(ddof=1)) and rows["interval"][0] > 0
    # On the scale of the logarithm: the error of the mean over the mean.
    half = stats.t.ppf(0.975, 149) * stats.sem(losses) / losses.mean()
    assert rows["interval"] == pytest.approx((losses.mean() * np.exp(-half), losses.mean() * np.exp(half)))
    scores = {"a": [3.0, 5.0, 4.0, 9.0], "b": [1.0, 2.0, 2.5, 2.0]}
    seeds = compare(scores, "seeds", metric="reward").summary["a"]
    assert seeds["interval"] == pytest.approx(stats.t.interval(0.95, 3, 5.25, stats.sem(scores["a"])))
    assert seeds["sd"] == pytest.approx(np.std(scores["a"], ddof=1)) and seeds["mean"] == 5.25


@pytest.mark.parametrize("scores", [{"a": [1.0], "b": [2.0]}, {"a": [1.0, 2.0], "b": [1.0, 2.0, 3.0]}])
def test_seeds_that_do_not_pair_or_are_too_few_are_refused(scores):
    with pytest.raises(DataError, match="at least 2 seeds"):
        compare(scores, "seeds", metric="reward")


def test_the_omnibus_test_of_losses_needs_more_rows_than_learners():
    def few(rows):
        return compare_predictions(VALUES[:rows], {name: guess[:rows] for name, guess in REGRESSED.items()}).omnibus

    assert few(3) is None and few(4) is not None


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_the_detectable_difference_of_accuracies_solves_its_equation(alpha):
    """n d^2 = (z_alpha sqrt(s) + z_power sqrt(s - d^2))^2 for the share s of rows that only one gets right."""
    two = {name: GUESSES[name] for name in ("forest", "tree")}
    found = compare_predictions(Y, two, alpha=alpha)
    s = np.mean((two["forest"] == Y) != (two["tree"] == Y))
    d = found.smallest_detectable_difference
    sides = stats.norm.isf(alpha / 2) * np.sqrt(s), stats.norm.ppf(0.8) * np.sqrt(s - d**2)
    assert 240 * d**2 == pytest.approx(sum(sides) ** 2) and found.pairs[0]["smallest_detectable_difference"] == d
    assert compare_predictions(Y, dict.fromkeys("ab", Y)).smallest_detectable_difference is None
    # No more than all the rows on which they differ.
    one = np.where(np.arange(240) == 0, (Y + 1) % 3, Y)
    assert compare_predictions(Y, {"a": Y, "b": one}).pairs[0]["smallest_detectable_difference"] == 1 / 240


def test_two_seeds_are_enough_and_three_learners_have_an_omnibus_test_from_three_seeds():
    two = compare({"a": [3.0, 5.0], "b": [1.0, 2.5]}, "seeds", metric="reward")
    assert two.pairs[0]["p_value"] == pytest.approx(stats.ttest_rel([3.0, 5.0], [1.0, 2.5]).pvalue)
    assert compare({"a": [3.0, 5.0], "b": [1.0, 2.5]}, "seeds", metric="cost", greater_is_better=False).best == "b"
    assert compare_predictions(Y, {"a": Y, "b": Y, "c": (Y + 1) % 3}).omnibus is not None


def test_a_difference_as_wide_as_the_metric_is_not_said_to_be_detectable():
    """Of two rows no difference below 1 would be found in four of five cases; of many one is."""
    for rows, seen in ((2, False), (40, True)):
        y = np.arange(rows) % 2
        found = compare_predictions(y, {"a": y, "b": 1 - y})
        for size in (found.smallest_detectable_difference, found.pairs[0]["smallest_detectable_difference"]):
            assert (size is not None) == seen and (not seen or 0 < size < 1)
