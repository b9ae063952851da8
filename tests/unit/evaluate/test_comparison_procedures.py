"""`compare` in every design: the right test, refusals, the price of picking the winner, the baseline."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from assay.base import DataError, DesignError, ParameterError, UsageError
from assay.evaluate import (
    compare,
    compare_predictions,
    five_by_two_t,
    friedman,
    make_design,
    nemenyi,
    sign_test,
    wilcoxon,
)
from assay.evaluate.comparison_procedures import Folds

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 240)
SHARES = {"forest": 0.9, "tree": 0.88, "bayes": 0.75, "zero-r": 0.4}
GUESSES = {name: np.where(RNG.random(240) < share, Y, (Y + 1) % 3) for name, share in SHARES.items()}
VALUES = RNG.normal(size=150)
REGRESSED = {name: VALUES + RNG.normal(0, s, 150) for name, s in (("a", 0.5), ("b", 0.55), ("c", 1.2))}
EFFECT = RNG.normal(0, 0.05, (16, 1))
SETS = {
    n: (0.8 + EFFECT[:, 0] + RNG.normal(g, 0.02, 16)) for n, g in (("w", 0), ("x", 0.005), ("y", 0.06), ("z", 0.08))
}
HALVES = {f"m{j}": 0.7 + 0.03 * min(j, 5) + RNG.normal(0, 0.01, (5, 2)) for j in range(8)}


# -- several data sets --------------------------------------------------------------------------------------
def test_ranks_of_normal_differences_need_pi_over_3_as_many_data_sets():
    """Pitman's efficiency of the signed rank test against the t test (Hodges & Lehmann, 1956) is 3 / pi."""
    two = {name: SETS[name] for name in ("w", "x")}
    seen = {
        test: compare(two, "datasets", test=test).smallest_detectable_difference for test in ("wilcoxon", "paired_t")
    }
    assert (seen["wilcoxon"] / seen["paired_t"]) ** 2 == pytest.approx(np.pi / 3)
    assert compare(two, "datasets", test="sign_test").smallest_detectable_difference is None


def test_what_two_data_sets_of_scores_can_show_is_what_a_t_test_of_that_power_shows():
    """By the noncentral t distribution of SciPy: four in five such differences are found."""
    two = {name: SETS[name] for name in ("w", "x")}
    size = compare(two, "datasets", test="paired_t").smallest_detectable_difference
    error = stats.sem(two["w"] - two["x"])
    limit = stats.t.isf(0.025, 15)
    power = stats.nct.sf(limit, 15, size / error) + stats.nct.cdf(-limit, 15, size / error)
    assert power == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(("design", "share"), [("holdout", 0.25), ("holdout-0.4", 0.4), ("holdout-0.1", 0.1)])
def test_a_design_has_the_ratio_of_its_rows(design, share):
    rows = {name: RNG.integers(0, 2, 80).astype(float) for name in "ab"}
    scores = {name: [values.mean()] for name, values in rows.items()}
    plan = make_design(design)
    own = Folds(scores, plan, None, None, None, False, "accuracy", True, rows=rows)
    given = Folds(scores, plan, 1 - share, share, None, False, "accuracy", True, rows=rows)
    assert own.ratio == pytest.approx(share / (1 - share)) == pytest.approx(given.ratio)


def test_data_sets_are_compared_by_friedman_and_nemenyi():
    found = compare(SETS, "datasets")
    assert found.procedure == "Friedman test with Nemenyi test" and found.correction == "Nemenyi's, over 6 pairs"
    theirs = nemenyi(SETS)
    assert found.critical_difference == theirs.details["critical_difference"]
    assert found.omnibus["p_value"] == friedman(SETS).p_value
    for name, rank in theirs.details["average_ranks"].items():
        assert found.summary[name]["average_rank"] == rank
    expected = {frozenset((p["a"], p["b"])): p["p_value"] for p in theirs.details["pairs"]}
    for pair in found.pairs:
        assert pair["p_adjusted"] == expected[frozenset((pair["a"], pair["b"]))]
        assert pair["reject"] == (abs(pair["difference"]) > found.critical_difference)
        assert pair["interval"] == pair["simultaneous_interval"]
    assert found.best == "z" and found.groups == [["z", "y"], ["x", "w"]]
    assert "average rank" in found.sentence and "average rank" in found._repr_html_()


def test_an_array_of_data_sets_and_learners_will_do():
    matrix = np.column_stack(list(SETS.values()))
    assert [p["p_value"] for p in compare(matrix, "datasets").pairs] == [
        p["p_value"] for p in compare(SETS, "datasets").pairs
    ]
    assert compare(-matrix, "datasets", greater_is_better=False, metric="rmse").best == "learner 4"


def test_two_learners_over_data_sets_are_compared_by_wilcoxon():
    two = {k: SETS[k] for k in ("w", "y")}
    found = compare(two, "datasets")
    assert found.procedure == "Wilcoxon signed rank test" and found.best == "y" and found.omnibus is None
    assert found.pairs[0]["p_value"] == wilcoxon(two["y"], two["w"]).p_value


@pytest.mark.parametrize("test", ["wilcoxon", "sign_test", "paired_t", "permutation_test"])
def test_pairs_of_data_sets_may_be_tested_by_their_scores(test):
    found = compare(SETS, "datasets", test=test)
    assert found.correction.startswith("Holm") and found.valid and len(found.pairs) == 6
    assert found.best == "z" and {"w", "x"} & set(found.not_worse) == set()
    if test == "sign_test":
        assert found.pairs[0]["p_value"] == sign_test(SETS[found.pairs[0]["a"]], SETS[found.pairs[0]["b"]]).p_value


def test_control_comparisons_of_ranks_use_the_normal_distribution():
    """Demsar (2006), section 3.2.2: z = (R_i - R_j) / sqrt(k (k + 1) / (6 N)), here with Holm."""
    found = compare(SETS, "datasets", baseline="w")
    ranks = friedman(SETS).details["average_ranks"]
    for pair in found.pairs:
        z = (ranks[pair["a"]] - ranks[pair["b"]]) / np.sqrt(4 * 5 / (6 * 16))
        assert pair["p_value"] == pytest.approx(2 * stats.norm.sf(abs(z))) and "w" in (pair["a"], pair["b"])
    assert len(found.pairs) == 3 and found.critical_difference is None


# -- which pairs --------------------------------------------------------------------------------------------
def test_folds_are_compared_with_the_best_alone_at_the_price_of_all_pairs():
    many = compare(HALVES, "5x2")
    assert many.comparisons == "best" and len(many.pairs) == 7 and all(p["a"] == many.best for p in many.pairs)
    assert many.correction == "Bonferroni, over all 28 pairs"
    p = [pair["p_value"] for pair in many.pairs]
    assert [pair["p_adjusted"] for pair in many.pairs] == pytest.approx(np.minimum(1, 28 * np.array(p)))
    assert many.groups[0] == many.not_worse and sum(map(len, many.groups)) == 8
    five = {k: HALVES[k] for k in list(HALVES)[:5]}
    assert compare(five, "5x2").comparisons == "best" and len(compare(five, "5x2", pairs="all").pairs) == 10


def test_fewer_comparisons_see_more():
    best, every = compare(HALVES, "5x2"), compare(HALVES, "5x2", pairs="all")
    assert best.smallest_detectable_difference < every.smallest_detectable_difference
    assert set(best.not_worse) <= set(every.not_worse) and best.best == every.best
    assert len(every.pairs) == 28 and every.correction == "Holm, over 28 pairs"


def test_the_baseline_is_compared_with_each_and_recommended_unless_beaten():
    found = compare(HALVES, "5x2", baseline="m0")
    assert found.comparisons == "baseline" and found.baseline == "m0"
    assert len(found.pairs) == 7 and all("m0" in (p["a"], p["b"]) for p in found.pairs)
    assert "significantly better than m0" in found.sentence and found.recommendation["id"] != "m0"
    beaten = {p["a"] for p in found.pairs if p["reject"]}
    assert found.groups == [[n for n in found.summary if n in beaten], [n for n in found.summary if n not in beaten]]
    same = compare(
        {"base": HALVES["m0"], "twin": HALVES["m0"] + 1e-4 * RNG.normal(size=(5, 2))}, "5x2", baseline="base"
    )
    assert same.recommendation["id"] == "base" and same.groups in ([["base", "twin"]], [["twin", "base"]])


def test_learners_worse_than_the_baseline_are_worse_than_the_best():
    scores = {"base": HALVES["m3"], "good": HALVES["m3"] + 0.001, "bad": HALVES["m3"] - 0.2 + 0.001 * HALVES["m1"]}
    found = compare(scores, "5x2", baseline="base")
    assert "bad" not in found.not_worse and found.groups[-1] == ["bad"]


# -- other tests and force ----------------------------------------------------------------------------------
@pytest.mark.parametrize("test", ["paired_t", "resampled_t", "wilcoxon", "sign_test", "permutation_test"])
@pytest.mark.parametrize("design", ["5x2", "10-fold", "10x10"])
def test_tests_that_take_folds_for_independent_are_refused_unless_forced(design, test):
    shape = {"5x2": (5, 2), "10-fold": (1, 10), "10x10": (10, 10)}[design]
    scores = {"a": RNG.normal(0.8, 0.01, shape), "b": RNG.normal(0.8, 0.01, shape)}
    with pytest.raises(DesignError, match="takes the scores for independent.*force=True"):
        compare(scores, design, test=test)
    forced = compare(scores, design, test=test, force=True)
    assert not forced.valid and forced.warnings and "not valid" in forced.sentence
    assert not forced.pairs[0]["valid"] and json.dumps(forced.to_dict(), allow_nan=False)


@pytest.mark.parametrize("repetitions", [1, 2, 3, 5, 10])
@pytest.mark.parametrize("folds", [2, 3, 5, 10])
def test_the_naive_test_is_never_chosen(repetitions, folds):
    scores = {name: RNG.normal(0.8, 0.01, (repetitions, folds)) for name in "abc"}
    found = compare(scores, f"{repetitions}x{folds}" if repetitions > 1 else f"{folds}-fold")
    assert found.procedure == (
        "combined 5x2cv F test" if (repetitions, folds) == (5, 2) else "corrected resampled t test"
    )
    assert found.valid and bool(found.warnings) == ((repetitions, folds) == (5, 2))


def test_valid_alternatives_may_be_asked_for():
    two = {k: HALVES[k] for k in ("m0", "m1")}
    found = compare(two, "5x2", test="five_by_two_t")
    assert found.procedure == "5x2cv paired t test" and found.valid
    assert found.pairs[0]["p_value"] == five_by_two_t(two["m1"], two["m0"]).p_value
    assert compare(two, "5x2", test="corrected_resampled_t").procedure == "corrected resampled t test"


def test_one_score_each_can_be_ranked_by_force_but_not_tested():
    scores = {"a": 0.9, "b": [0.8]}
    with pytest.raises(DesignError, match="one score per learner"):
        compare(scores, "holdout")
    forced = compare(scores, "holdout", force=True)
    assert forced.pairs == [] and forced.groups == [["a", "b"]] and forced.procedure == "no test"
    assert "no test was possible" in forced.sentence and not forced.valid
    rows = {"a": RNG.integers(0, 2, 30).astype(float), "b": RNG.integers(0, 2, 30).astype(float)}
    assert compare(rows, "leave-one-out", force=True).procedure == "paired t test"
    assert compare({"a": [0.9], "b": [0.8]}, "datasets", force=True).groups == [["a", "b"]]


def test_other_splitters_bring_their_ratio_or_their_refusal():
    """Designs of other splitters carry `test_train_ratio`, and `refusal` where no test is valid."""
    scores = {"a": RNG.normal(0.8, 0.01, 30), "b": RNG.normal(0.8, 0.01, 30)}
    parts = {"name": "bootstrap", "kind": "bootstrap", "repetitions": 30, "folds": 1, "test_share": None}

    def run(**more):
        return Folds(scores, SimpleNamespace(**parts, **more), None, None, None, False, "accuracy", True)

    assert run(test_train_ratio=0.5).ratio == 0.5 and run(test_train_ratio=0.5).chosen == "corrected_resampled_t"
    with pytest.raises(UsageError, match="are needed"):
        run()
    with pytest.raises(DesignError, match="rows overlap"):
        run(refusal="is not valid because rows overlap")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: compare(HALVES, "5x2", pairs="some"), ParameterError, "auto, all, best or baseline"),
        (lambda: compare(HALVES, "5x2", pairs="baseline"), UsageError, "say baseline="),
        (lambda: compare(HALVES, "5x2", baseline="m0", pairs="best"), UsageError, "no part"),
        (lambda: compare(HALVES, "5x2", baseline="nobody"), UsageError, "nobody"),
        (lambda: compare(HALVES, "5x2", test="anova"), ParameterError, "'anova'"),
        (lambda: compare(SETS, "datasets", test="corrected_resampled_t"), ParameterError, "for the design 'datasets'"),
        (lambda: compare(HALVES, "5x2", y=Y), UsageError, "one test set"),
        (lambda: compare(GUESSES, "holdout", y=Y, test="wilcoxon"), UsageError, "own tests"),
        (lambda: compare(GUESSES, "holdout", y=Y, metric="f1"), ParameterError, "accuracy, mse or mae"),
        (lambda: compare({"a": [1, 2], "b": [1, 2, 3]}, "datasets"), DataError, "as many for every learner"),
        (lambda: compare({"a": [0.9], "b": [0.8]}, "datasets"), DesignError, "one data set"),
        (lambda: compare([1.0, 2.0], "datasets"), DataError, "data sets, learners"),
        (lambda: compare({"a": np.zeros((1, 4))}, "4-fold", test="five_by_two_t"), DesignError, "for the design 5x2"),
        (lambda: compare_predictions(Y, {"a": Y[:5]}), DataError, "'a' must have shape"),
        (lambda: compare_predictions(Y, {}), DataError, "got none"),
        (lambda: compare_predictions(Y, [Y]), UsageError, "mapping"),
        (lambda: compare_predictions([1], {"a": [1]}), DataError, "at least 2 rows"),
        (lambda: compare_predictions(Y, GUESSES, task="rank"), ParameterError, "auto, classify or regress"),
        (lambda: compare_predictions(VALUES, REGRESSED, loss="hinge"), ParameterError, "squared, absolute"),
        (lambda: compare_predictions(["a", "b"], {"m": ["a", "b"]}, task="regress"), DataError, "numbers"),
        (lambda: compare_predictions(VALUES, REGRESSED, loss=lambda y, p: 1.0), DataError, "one number per row"),
    ],
)
def test_mistakes_get_one_sentence(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    assert str(caught.value).startswith("compare: ") and "\n" not in str(caught.value)


# -- groups ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("groups", [2, 3])
def test_groups_that_happen_to_score_the_same_are_no_proof(groups):
    """The same number of hits in every group: the variance between groups is 0, that of a sample of rows is not."""
    right = {"a": np.tile(np.arange(30) < 15, groups), "b": np.tile(np.arange(30) >= 17, groups)}
    rows = {name: hits.astype(float) for name, hits in right.items()}
    scores = {name: hits.reshape(groups, 30).mean(axis=1) for name, hits in rows.items()}
    design = {"n_train": 30 * (groups - 1), "n_test": 30}
    units = np.repeat(np.arange(groups), 30)
    found = compare(scores, f"{groups}-fold", rows=rows, units=units, **design)
    assert [entry["verdict"] for entry in found.summary.values()] == ["best", "undecided"]
    for entry in found.summary.values():
        low, high = entry["interval"]
        assert high - low > 2 * 1.96 * np.sqrt(0.25 / (30 * groups)) * 0.9
    never = {name: np.full_like(values, 0.5) for name, values in rows.items()}
    same = compare({"a": [0.5] * groups, "b": [0.5] * groups}, f"{groups}-fold", rows=never, units=units, **design)
    assert all(entry["interval"] == (0.5, 0.5) for entry in same.summary.values())
