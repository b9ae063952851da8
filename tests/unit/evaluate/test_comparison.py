"""The comparison of learners: which test, which groups, which recommendation, and in which words."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest

from assay.base import DataError, DesignError, ParameterError, UsageError
from assay.evaluate import compare, corrected_interval, corrected_resampled_t, five_by_two_f, holm, make_design
from assay.evaluate.comparison import _letters

RNG = np.random.default_rng(0)
# Made once and shared: two close learners on top, one in the middle, one far below.
MEANS = {"forest": 0.91, "tree": 0.905, "bayes": 0.80, "zero-r": 0.50}
SPLIT_EFFECT = RNG.normal(0, 0.01, (5, 2))
HALVES = {name: mean + SPLIT_EFFECT + RNG.normal(0, 0.008, (5, 2)) for name, mean in MEANS.items()}
FOLDS = {name: mean + RNG.normal(0, 0.01, (3, 10)) for name, mean in MEANS.items()}
RANKS = {"zero-r": 1, "bayes": 2, "tree": 3, "forest": 4}


@pytest.mark.parametrize(
    ("design", "scores", "procedure"),
    [
        ("5x2", HALVES, "combined 5x2cv F test"),
        ("3x10", FOLDS, "corrected resampled t test"),
        ("10-fold", {k: v[0] for k, v in FOLDS.items()}, "corrected resampled t test"),
    ],
)
def test_the_design_chooses_the_test(design, scores, procedure):
    assert compare(scores, design).procedure == compare(scores, make_design(design)).procedure == procedure


def test_pairs_hold_the_test_of_the_design():
    for record in compare(HALVES, "5x2").pairs:
        test = five_by_two_f(HALVES[record["a"]], HALVES[record["b"]])
        assert (record["p_value"], record["interval"], record["df"]) == (test.p_value, test.interval, (10, 5))
    for record in compare(FOLDS, "3x10", n_train=90, n_test=10).pairs:
        test = corrected_resampled_t(FOLDS[record["a"]], FOLDS[record["b"]], n_train=90, n_test=10)
        assert (record["p_value"], record["difference"]) == pytest.approx((test.p_value, test.effect))


def test_all_pairs_are_there_and_corrected_by_holm():
    pairs = compare(HALVES, "5x2", pairs="all").pairs
    assert {frozenset((p["a"], p["b"])) for p in pairs} == {frozenset(c) for c in combinations(MEANS, 2)}
    assert [p["p_adjusted"] for p in pairs] == pytest.approx(holm([p["p_value"] for p in pairs]))
    assert all(p["reject"] == (p["p_adjusted"] < 0.05) for p in pairs)


def test_simultaneous_intervals_hold_at_alpha_over_the_number_of_pairs():
    for record in compare(HALVES, "5x2", pairs="all").pairs:
        strict = five_by_two_f(HALVES[record["a"]], HALVES[record["b"]], alpha=0.05 / 6)
        assert record["simultaneous_interval"] == strict.interval
        assert record["simultaneous_interval"][0] <= record["interval"][0]
        if not record["simultaneous_interval"][0] <= 0 <= record["simultaneous_interval"][1]:
            assert record["reject"]


def test_the_ratio_of_test_to_training_rows_matters_and_follows_from_the_design():
    by_design = compare(FOLDS, "3x10").pairs[0]["p_value"]
    assert compare(FOLDS, "3x10", n_train=900, n_test=100).pairs[0]["p_value"] == pytest.approx(by_design)
    assert compare(FOLDS, "3x10", n_train=500, n_test=500).pairs[0]["p_value"] > by_design
    with pytest.raises(UsageError, match="together"):
        compare(FOLDS, "3x10", n_train=90)


def test_summary_is_best_first_with_corrected_intervals():
    comparison = compare(FOLDS, "3x10")
    assert list(comparison.summary) == ["forest", "tree", "bayes", "zero-r"]
    for name, row in comparison.summary.items():
        assert row["mean"] == pytest.approx(FOLDS[name].mean()) and row["sd"] == pytest.approx(FOLDS[name].std(ddof=1))
        assert row["interval"] == pytest.approx(corrected_interval(FOLDS[name], n_train=9, n_test=1, bounds=(0, 1)))


def test_the_recommendation_is_the_simplest_that_is_not_worse():
    for scores, design in ((HALVES, "5x2"), (FOLDS, "3x10")):
        comparison = compare(scores, design, simplicity=RANKS, pairs="all")
        assert comparison.best == "forest" and comparison.not_worse == ["forest", "tree"]
        assert comparison.recommendation["id"] == "tree"
        assert "simplest learner that has a mean within 0.01 of the best" in comparison.recommendation["reason"]
        assert comparison.groups == [["forest", "tree"], ["bayes"], ["zero-r"]]
        assert [row["group"] for row in comparison.summary.values()] == ["a", "a", "b", "c"]


def test_equal_simplicity_is_settled_by_the_better_mean():
    equal = dict.fromkeys(MEANS, 1)
    assert compare(HALVES, "5x2", simplicity=equal).recommendation["id"] == "forest"
    assert compare(HALVES, "5x2").recommendation["id"] == "forest"
    assert compare(HALVES, "5x2", simplicity={"tree": 9}).recommendation["id"] == "tree"
    assert "no simplicity was given" in compare(HALVES, "5x2").recommendation["reason"]


def test_lower_may_be_better():
    losses = {name: 1 - scores for name, scores in HALVES.items()}
    comparison = compare(losses, "5x2", metric="log_loss", greater_is_better=False, simplicity=RANKS)
    assert (comparison.best, comparison.recommendation["id"]) == ("forest", "tree")
    first = comparison.pairs[0]
    assert first["difference"] < 0 and "forest scored 0.00138 better than tree" in first["sentence"]


def test_the_order_of_the_learners_does_not_matter():
    turned = dict(reversed(HALVES.items()))
    assert compare(turned, "5x2", simplicity=RANKS).to_dict() == compare(HALVES, "5x2", simplicity=RANKS).to_dict()


@pytest.mark.parametrize("design", ["5x2", "3x10"])
def test_a_difference_of_the_detectable_size_is_found_four_times_in_five(design):
    """Simulated with independent splits' worth of noise: the spread enters as each test estimates it."""
    rng = np.random.default_rng(1)
    shape = (5, 2) if design == "5x2" else (3, 10)
    ratio = 1.0 if design == "5x2" else 1 / 9
    found, draws = 0, 600
    typical = []
    for _ in range(100):
        noise = _correlated(rng, shape, ratio)
        typical.append(compare({"a": noise, "b": np.zeros(shape)}, design, metric="r2").smallest_detectable_difference)
    size = float(np.sqrt(np.mean(np.square(typical))))
    for _ in range(draws):
        scores = {"a": size + _correlated(rng, shape, ratio), "b": np.zeros(shape)}
        found += compare(scores, design, metric="r2").pairs[0]["reject"]
    assert found / draws == pytest.approx(0.8, abs=0.06)


def _correlated(rng, shape, ratio):
    """Differences as each test supposes them: for 5x2 c +- e_i, else correlated by n_test / (n_train + n_test)."""
    if shape == (5, 2):
        c, e = rng.normal(0, np.sqrt(0.5)), rng.normal(0, np.sqrt(0.5), 5)
        return np.column_stack([c + e, c - e])
    shared = ratio / (1 + ratio)
    return np.sqrt(shared) * rng.normal() + np.sqrt(1 - shared) * rng.normal(size=shape)


def test_any_margin_that_is_a_number_of_0_or_more_will_do_and_no_other():
    """Of margin 0 every difference matters."""
    for margin in (0, 0.0, 0.01):
        assert compare(HALVES, "5x2", margin=margin).best == "forest"
    for margin in (-1e-9, np.nan, np.inf):
        with pytest.raises(ParameterError, match="'margin' must be a number >= 0"):
            compare(HALVES, "5x2", margin=margin)


def test_more_learners_make_smaller_differences_undetectable():
    two = compare({k: HALVES[k] for k in ("forest", "tree")}, "5x2").smallest_detectable_difference
    assert compare(HALVES, "5x2").smallest_detectable_difference > two > 0
    assert (
        compare(HALVES, "5x2", alpha=0.2).smallest_detectable_difference
        < compare(HALVES, "5x2").smallest_detectable_difference
    )


def test_identical_learners_are_one_group_and_do_not_break_anything():
    comparison = compare({"a": HALVES["tree"], "b": HALVES["tree"]}, "5x2", simplicity={"a": 2, "b": 1})
    pair = comparison.pairs[0]
    assert (pair["p_value"], pair["p_adjusted"], pair["reject"], pair["interval"]) == (1.0, 1.0, False, (0.0, 0.0))
    assert comparison.groups == [["a", "b"]] and comparison.recommendation["id"] == "b"
    assert comparison.smallest_detectable_difference is None and "score the same" in pair["sentence"]


def test_a_constant_difference_is_told_apart_and_marked():
    comparison = compare({"a": np.full((5, 2), 1.0), "b": np.full((5, 2), 0.5)}, "5x2")
    assert comparison.groups == [["a"], ["b"]] and comparison.pairs[0]["valid"] is False
    assert json.loads(json.dumps(comparison.to_dict(), allow_nan=False))["pairs"][0]["statistic"] is None


def test_learners_with_missing_scores_are_left_out_and_named():
    broken = HALVES["tree"].copy()
    broken[0, 1] = np.nan
    comparison = compare({**HALVES, "broken": broken, "failed": np.full((5, 2), np.nan)}, "5x2")
    assert set(comparison.summary) == set(HALVES)
    assert comparison.left_out == [
        {"id": "broken", "reason": "1 of 10 scores are missing"},
        {"id": "failed", "reason": "10 of 10 scores are missing"},
    ]
    assert comparison.sentence.endswith("Left out for missing scores: broken, failed.")


def test_one_learner_has_nothing_to_be_compared_with():
    comparison = compare({"tree": HALVES["tree"]}, "5x2")
    assert (comparison.pairs, comparison.groups, comparison.best) == ([], [["tree"]], "tree")
    assert comparison.recommendation["id"] == "tree" and comparison.smallest_detectable_difference is None
    assert "no other learner" in comparison.sentence


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: compare(HALVES, "holdout"), DesignError, "labels of the test rows to mcnemar"),
        (lambda: compare(HALVES, "leave-one-out"), DesignError, "mcnemar"),
        (lambda: compare(HALVES, "10-fold"), DataError, r"'forest' must have shape \(1, 10\).*got \(5, 2\)"),
        (lambda: compare({"a": np.zeros(10)}, "5x2"), DataError, r"\(5, 2\).*got \(10,\)"),
        (lambda: compare({}, "5x2"), DataError, "got none"),
        (lambda: compare({"a": np.full((5, 2), np.nan)}, "5x2"), DataError, "all 1 learners"),
        (lambda: compare([1, 2], "5x2"), UsageError, "mapping"),
        (lambda: compare(HALVES, "5x2", alpha=2), ParameterError, "alpha"),
    ],
)
def test_designs_and_shapes_without_a_valid_test_are_refused_in_one_sentence(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    assert "\n" not in str(caught.value) and str(caught.value).startswith("compare: ")


def test_titles_speak_and_are_escaped():
    titles = {"forest": "Random <b>forest</b>", "tree": "Tree"}
    comparison = compare(HALVES, "5x2", titles=titles)
    assert comparison.sentence.startswith("Random <b>forest</b> has the best mean accuracy, 0.9")
    page = comparison._repr_html_()
    assert "<b>" not in page and "&lt;b&gt;" in page and page.count("<tr>") == 5


def test_the_sentence_says_what_could_have_been_seen():
    comparison = compare(HALVES, "5x2", simplicity=RANKS)
    assert "whether tree is worse is undecided" in comparison.sentence and "Recommended: tree." in str(comparison)
    assert "would probably not have been seen" in comparison.sentence
    assert str(comparison) == f"{comparison.sentence} Recommended: tree."


def test_the_dict_has_every_part_of_the_contract():
    record = compare(HALVES, "5x2").to_dict()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert {
        "procedure", "alpha", "correction", "summary", "pairs", "best", "groups", "recommendation",
        "smallest_detectable_difference", "sentence",
    } <= set(record)  # fmt: skip
    assert {"mean", "sd", "interval", "group"} <= set(record["summary"]["tree"])
    assert {
        "a",
        "b",
        "difference",
        "interval",
        "statistic",
        "df",
        "p_value",
        "p_adjusted",
        "reject",
        "sentence",
    } <= set(record["pairs"][0])


def test_letters_are_the_maximal_cliques():
    rng = np.random.default_rng(2)
    for _ in range(50):
        names = list("ABCDEFG")[: rng.integers(2, 8)]
        apart = {pair: bool(rng.random() < 0.4) for pair in combinations(names, 2)}
        groups, letters = _letters(names, apart)
        cliques = [
            set(c)
            for size in range(1, len(names) + 1)
            for c in combinations(names, size)
            if not any(apart[p] for p in combinations(c, 2))
        ]
        largest = [c for c in cliques if not any(c < other for other in cliques)]
        assert sorted(map(sorted, groups)) == sorted(map(sorted, largest))
        assert "A" in groups[0] and "a" in letters["A"]
        for pair, differs in apart.items():
            assert bool(set(letters[pair[0]]) & set(letters[pair[1]])) is not differs


def test_a_learner_that_escapes_the_test_by_varying_much_is_not_recommended():
    scores = {
        "steady": np.array([[0.80, 0.805], [0.795, 0.80], [0.81, 0.80], [0.80, 0.79], [0.805, 0.80]]),
        "erratic": np.array([[0.62, 0.80], [0.81, 0.64], [0.63, 0.79], [0.80, 0.61], [0.66, 0.82]]),
    }
    comparison = compare(scores, "5x2", simplicity={"steady": 9, "erratic": 1})
    assert comparison.not_worse == ["steady", "erratic"]
    assert comparison.recommendation["id"] == "steady"
    assert "Not ruled out as the best: erratic" in comparison.recommendation["reason"]


@pytest.mark.parametrize("more", [{}, {"pairs": "all"}, {"baseline": "bayes"}])
def test_each_learner_stands_by_its_difference_from_the_best_or_the_baseline(more):
    found = compare(FOLDS, "3x10", **more)
    centre = more.get("baseline", found.best)
    means = {name: values.mean() for name, values in FOLDS.items()}
    for name, entry in found.summary.items():
        if name == centre:
            assert entry["difference"] is None and entry["verdict"] == ("baseline" if more.get("baseline") else "best")
            continue
        low, high = entry["difference_interval"]
        assert entry["difference"] == pytest.approx(means[name] - means[centre]) and low < entry["difference"] < high
        (pair,) = (p for p in found.pairs if {p["a"], p["b"]} == {name, centre})
        sign = 1 if pair["a"] == name else -1
        assert (low, high) == tuple(sorted(sign * end for end in pair["simultaneous_interval"]))
        word = "better" if means[name] > means[centre] else "worse"
        inside = low >= -0.01 and high <= 0.01
        assert entry["verdict"] == ("equivalent" if inside else word if pair["reject"] else "undecided")
    # An interval that ends at the margin lies within it, whichever end it is.
    name = "tree" if centre != "tree" else "forest"
    low, high = found.summary[name]["difference_interval"]
    for margin, word in ((max(-low, high), True), (max(-low, high) * (1 - 1e-9), False)):
        again = compare(FOLDS, "3x10", margin=margin, **more)
        assert (again.summary[name]["verdict"] == "equivalent") == word and again.margin == margin


@pytest.mark.parametrize("turn", [1, -1])
def test_either_end_of_an_interval_may_be_the_one_at_the_margin(turn):
    rng = np.random.default_rng(5)
    base = 0.5 + 0.01 * rng.normal(size=(1, 10))
    scores = {"a": base, "b": base + 0.001 * turn + 0.002 * rng.normal(size=(1, 10))}
    entry = compare(scores, "10-fold", baseline="a").summary["b"]
    low, high = entry["difference_interval"]
    margin = max(-low, high)
    assert (high if turn > 0 else -low) == margin
    for m, inside in ((margin, True), (margin * (1 - 1e-9), False)):
        word = compare(scores, "10-fold", baseline="a", margin=m).summary["b"]["verdict"]
        assert (word == "equivalent") == inside
    assert compare(scores, "10-fold", margin=0.0).margin == 0.0
    for wrong in (-1e-9, np.inf, np.nan):
        with pytest.raises(ParameterError, match="margin"):
            compare(scores, "10-fold", margin=wrong)


@pytest.mark.parametrize(
    ("metric", "greater", "margin"),
    [
        ("accuracy", True, 0.01),
        ("error_rate", False, 0.01),
        ("r2", True, 0.01),
        ("mse", False, 0.02 * 0.5),
        ("log_loss", False, 0.02 * 0.5),
        ("of their own", False, 0.02 * 0.5),
    ],
)
def test_the_usual_margin_is_a_hundredth_or_two_hundredths_of_the_best_error(metric, greater, margin):
    scores = {"a": np.full((1, 10), 0.5), "b": np.linspace(0.4, 0.49 if greater else 0.9, 10)[None, :]}
    found = compare(scores, "10-fold", metric=metric, greater_is_better=greater)
    assert found.best == "a" and found.margin == pytest.approx(margin)
    reward = compare({"a": [4.0, 5.0, 6.0], "b": [1.0, 2.0, 2.5]}, "seeds", metric="reward")
    assert reward.margin == pytest.approx(0.02 * 5.0)


def test_bonferroni_counts_every_pair_and_a_single_pair_needs_none():
    for count in (2, 3, 5):
        some = {f"m{j}": HALVES["forest"] - 0.02 * j + 0.003 * RNG.normal(size=(5, 2)) for j in range(count)}
        found = compare(some, "5x2")
        every = count * (count - 1) // 2
        assert [p["p_adjusted"] for p in found.pairs] == pytest.approx(
            [min(1.0, every * p["p_value"]) for p in found.pairs]
        )
        assert found.correction == (f"Bonferroni, over all {every} pairs" if every > 1 else "none needed: one pair")
        assert len(found.pairs) == count - 1
    alone = compare({"a": HALVES["forest"]}, "5x2")
    assert alone.pairs == [] and alone.correction == "none: one learner" and alone.best == "a"
