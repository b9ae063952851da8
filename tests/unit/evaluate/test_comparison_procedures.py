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
from assay.evaluate.comparison_procedures import DataSets, Folds, _wanted_shape, read_scores

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


# -- the error of everything, by its definition -------------------------------------------------------------------
N = 60
FOLD_SCORES = {name: 0.7 + 0.1 * RNG.normal(size=(1, 10)) for name in "ab"}
ROW_SCORES = {"a": RNG.normal(0.7, 1.0, N), "b": RNG.normal(0.7, 1.0, N)}
UNITS = np.repeat(np.arange(5), [4, 8, 12, 16, 20])


def folds(scores=FOLD_SCORES, design="10-fold", metric="accuracy", rows=ROW_SCORES, **more) -> Folds:
    greater = metric not in ("mse", "log_loss")
    return Folds(scores, make_design(design), None, None, None, False, metric, greater, rows=rows, **more)


@pytest.mark.parametrize("wide", [0.02, 3.0])  # rows that say less, and more, than the folds
@pytest.mark.parametrize("design", ["10-fold", "2x5"])
@pytest.mark.parametrize(
    ("metric", "smaller", "overlap"), [("accuracy", 16, 1.0), ("roc_auc", 16, 1.5), ("roc_auc", None, 1.0)]
)
def test_the_variance_of_a_score_and_of_a_difference_is_the_larger_of_two(wide, design, metric, smaller, overlap):
    scores = {name: values.reshape(2, 5) if design == "2x5" else values for name, values in FOLD_SCORES.items()}
    rows = {name: wide * values for name, values in ROW_SCORES.items()}
    found = folds(scores, design, metric, rows, smaller=smaller)
    ratio, passes = (1 / 9, 30) if design == "10-fold" else (1 / 4, 15)
    for name in "ab":
        by_folds, by_rows = scores[name].var(ddof=1) * (1 / passes + ratio), rows[name].var(ddof=1) / N
        assert found.error(name) ** 2 == pytest.approx(max(by_folds, by_rows)) and (by_rows > by_folds) == (wide > 1)
    differ, rows_differ = scores["a"] - scores["b"], rows["a"] - rows["b"]
    by_folds, by_rows = differ.var(ddof=1) * (1 / 10 + overlap * ratio), rows_differ.var(ddof=1) / N
    error = found.difference_error("a", "b")
    assert error**2 == pytest.approx(max(by_folds, by_rows))
    test = found.test("a", "b", 0.1, ("a", "b"))
    df = 9 if design == "10-fold" else 5 - 1
    assert test.statistic == pytest.approx(differ.mean() / error) and test.df == df
    assert test.p_value == pytest.approx(2 * stats.t.sf(abs(differ.mean()) / error, df))
    assert test.interval == pytest.approx(stats.t.interval(0.9, df, differ.mean(), error))
    low, high = found.simultaneous_interval("a", "b", 3.0)
    assert (low, high) == pytest.approx((differ.mean() - 3 * error, differ.mean() + 3 * error))


@pytest.mark.parametrize(("metric", "smaller", "skewed"), [("accuracy", 16, True), ("roc_auc", 16, False)])
def test_groups_count_as_those_of_one_size_and_skew_the_sums_of_rows(metric, smaller, skewed):
    g = N**2 / (np.bincount(UNITS).astype(float) ** 2).sum()
    found = folds(metric=metric, units=UNITS, smaller=smaller)
    left_out = {
        name: np.array([(values.sum() - values[u == UNITS].sum()) / (u != UNITS).sum() for u in range(5)])
        for name, values in ROW_SCORES.items()
    }
    for name, values in left_out.items():
        jackknife = 4 / 5 * ((values - ROW_SCORES[name].mean()) ** 2).sum()
        by_folds = FOLD_SCORES[name].var(ddof=1) * (1 / 30 + 1 / 9)
        factor = 1 + (6 / g) ** 2 if skewed else 1.0
        assert found.error(name) ** 2 == pytest.approx(max(jackknife, by_folds) * factor)
    assert found.df == pytest.approx(g - 1) and found.of_groups and not folds().of_groups
    assert folds({name: values[:, :2] for name, values in FOLD_SCORES.items()}, "2-fold").df == 1
    pair = {"n_train": 1, "n_test": 1}
    two = compare({"a": [0.5, 0.7], "b": [0.4, 0.5]}, "2-fold", rows=ROW_SCORES, units=np.arange(N) // 50, **pair)
    assert two.pairs[0]["df"] == 1


@pytest.mark.parametrize(
    ("metric", "bounds", "smaller"),
    [("accuracy", 1.0, 9), ("roc_auc", 1.0, 9), ("mcc", 2.0, 9), ("roc_auc", 1.0, None)],
)
def test_a_score_at_its_bound_varies_by_one_row_on_either_side(metric, bounds, smaller):
    perfect = {name: np.ones((1, 10)) for name in "ab"}
    found = folds(perfect, metric=metric, rows={name: np.ones(N) for name in "ab"}, smaller=smaller)
    counted = N if metric == "accuracy" or smaller is None else smaller
    assert found.error("a") == pytest.approx(np.sqrt(2) * bounds / (counted + 2))
    assert found.difference_error("a", "b") == 0 and not found.is_constant("a")
    none = folds({name: np.zeros((1, 10)) for name in "ab"}, rows={name: np.zeros(N) for name in "ab"})
    assert none.difference_error("a", "b") == 0 < none.error("a")
    assert folds(perfect, metric="r2", rows={name: np.ones(N) for name in "ab"}).error("a") == 0
    assert folds(perfect, metric="mse", rows=None).error("a") == 0


def test_a_difference_that_never_varies_has_the_error_of_one_row():
    """Of accuracy 1 / (n + 2) on either side; of other scores what a typical row counts."""
    scores = {"a": FOLD_SCORES["a"], "b": FOLD_SCORES["a"] - 0.25}
    rows = {"a": ROW_SCORES["a"], "b": ROW_SCORES["a"] - 0.25}
    assert folds(scores, rows=rows).difference_error("a", "b") == pytest.approx(np.sqrt(2) / (N + 2))
    typical = 2 * rows["a"].var(ddof=1) / N / N
    assert folds(scores, metric="roc_auc", rows=rows).difference_error("a", "b") == pytest.approx(np.sqrt(typical))
    assert folds(scores, rows=None).difference_error("a", "b") == 0
    for shift, valid in ((0.25, False), (0.0, True)):
        of_two = {"a": FOLD_SCORES["a"], "b": FOLD_SCORES["a"] - shift}
        assert folds(of_two, rows=None).test("a", "b", 0.05, ("a", "b")).valid == valid


@pytest.mark.parametrize("turned", [False, True])
def test_a_score_that_cannot_vary_shifts_the_interval_of_the_other(turned):
    """An area under ROC of 0.5 without ranking: the test is on the scale of logits, where the other's interval is."""
    still = {"a": FOLD_SCORES["a"], "b": np.full((1, 10), 0.5)}
    found = folds(still, metric="roc_auc", rows={"a": ROW_SCORES["a"], "b": np.full(N, 0.5)}, smaller=16)
    assert found.is_constant("b") and not found.is_constant("a")
    assert found.difference_error("a", "b") == found.difference_error("b", "a") == found.error("a") > 0
    mean, error, critical = FOLD_SCORES["a"].mean(), found.error("a"), stats.t.isf(0.025, 9)
    logit, half = np.log(mean / (1 - mean)), critical * error * (1 / mean + 1 / (1 - mean))
    ends = [1 / (1 + np.exp(-(logit + side * half))) - 0.5 for side in (-1, 1)]
    test = found.test(*("ba" if turned else "ab"), 0.05, ("a", "b"))
    sign = -1 if turned else 1
    assert test.interval == pytest.approx(sorted(sign * end for end in ends))
    assert test.statistic == pytest.approx(sign * logit / (half / critical)) and test.reject == (test.p_value < 0.05)
    assert test.p_value == pytest.approx(2 * stats.t.sf(abs(test.statistic), 9))
    assert found.simultaneous_interval(*("ba" if turned else "ab"), critical) == pytest.approx(test.interval)
    # An error of 0 has no logarithm: there the difference is tested as it is.
    errors = {"a": FOLD_SCORES["a"], "b": np.zeros((1, 10))}
    plain = folds(errors, metric="mse", rows={"a": ROW_SCORES["a"], "b": np.zeros(N)})
    assert plain.is_constant("b") and plain.test("a", "b", 0.05, ("a", "b")).statistic == pytest.approx(
        mean / plain.error("a")
    )
    both = {name: np.full((1, 10), level) for name, level in (("a", 0.5), ("b", 0.25))}
    fixed = folds(both, metric="roc_auc", rows={name: np.full(N, values[0, 0]) for name, values in both.items()})
    assert fixed.shifted_interval("a", "b", 2.0) is None and fixed.simultaneous_interval("a", "b", 2.0) == (0.25, 0.25)


@pytest.mark.parametrize(("share", "df"), [(0.2, 59), (0.3, 9)])
def test_a_mean_has_the_degrees_of_freedom_of_the_rows_where_folds_show_no_spread(share, df):
    """Folds that show less than a quarter of the rows' variance."""
    rows = ROW_SCORES["a"].var(ddof=1) / N
    wave = np.tile([1.0, -1.0], 5)[None, :]
    scores = {"a": 0.7 + wave * np.sqrt(share * rows / (1 / 30 + 1 / 9) / (10 / 9))}
    found = folds(scores, rows={"a": ROW_SCORES["a"]})
    assert found.summary("a", 0.1)["interval"] == pytest.approx(
        found.mean_interval("a", stats.t.isf(0.05, df))
    ) and found.summary("a", 0.1)["sd"] == pytest.approx(scores["a"].std(ddof=1))
    other = folds(scores, metric="kappa", rows={"a": ROW_SCORES["a"]})
    assert other.summary("a", 0.1)["interval"] == pytest.approx(other.mean_interval("a", stats.t.isf(0.05, 9)))


def test_doubts_about_the_table_are_said_at_their_limits():
    def said(**more) -> str:
        return " ".join(folds(**more).cautions)

    for count, few in ((499, True), (500, False)):
        rows = {name: RNG.normal(size=count) for name in "ab"}
        assert ("below 500 rows" in said(metric="log_loss", rows=rows)) == few
        assert "below 500 rows" not in said(metric="roc_auc", rows=rows) + said(metric="log_loss", rows=None)
    for smaller, near in ((199, True), (200, False), (None, True)):
        assert ("learners near chance" in said(metric="f1", smaller=smaller)) == near
        assert "learners near chance" not in said(metric="roc_auc", smaller=smaller)
    for smaller, words in ((1, "only 1 row is"), (2, "only 2 rows are"), (9, "only 9 rows are"), (10, None)):
        assert words in said(smaller=smaller) if words else "only" not in said(smaller=smaller)
    for units, groups in ((14, True), (15, False)):
        of_units = said(
            rows={name: np.tile(values, 7) for name, values in ROW_SCORES.items()}, units=np.arange(420) % units
        )
        assert ("come from 14 groups, few to judge" in of_units) == groups and "very different" not in of_units
    assert "come from 5 groups, few" in said(units=UNITS)
    unequal = np.minimum(np.arange(N) // 5, 4)
    assert "come from 5 groups of very different sizes, few" in said(units=unequal)
    assert folds().cautions == []


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([0.5, 0.6, 0.7], (3, 1)),
        ([0.5, 0.6, 0.7], (1, 3)),
        ([[0.5, 0.6, 0.7]], (1, 3)),
        ([[0.5], [0.6]], (2, 1)),
        ([0.5], (1, 1)),
        (0.5, (1, 1)),
    ],
)
def test_scores_of_one_row_or_column_may_be_a_list(values, wanted):
    kept, left_out = read_scores({"a": values, "b": np.full(wanted, np.nan)}, wanted)
    assert kept["a"].shape == wanted and kept["a"].ravel().tolist() == np.ravel(values).tolist()
    assert left_out == [{"id": "b", "reason": f"{np.size(values)} of {np.size(values)} scores are missing"}]
    for other in ([0.5] * 4, np.zeros((wanted[0], wanted[1] + 1)), 0.5 if wanted != (1, 1) else [[]]):
        with pytest.raises(DataError, match="must have shape"):
            read_scores({"a": other}, wanted)
    one_out = _wanted_shape(make_design("leave-one-out"), {"a": [1.0, 0.0]})
    assert one_out == _wanted_shape(make_design("leave-one-out"), {}) == (1, 2)
    with pytest.raises(DataError, match="must have shape"):
        read_scores({"a": [0.1] * 6}, (3, 2))


# -- data sets, by definition ----------------------------------------------------------------------------------
def data_sets(scores, test=None, greater=True, comparisons="all", metric="accuracy", force=False) -> DataSets:
    return DataSets(scores, test, force, metric, greater, comparisons)


@pytest.mark.parametrize("comparisons", ["all", "baseline"])
def test_a_difference_in_average_rank_has_the_error_of_demsar(comparisons):
    found, error = data_sets(SETS, comparisons=comparisons), np.sqrt(4 * 5 / (6 * 16))
    critical = nemenyi(SETS, alpha=0.1).details["critical_difference"]
    critical = critical if comparisons == "all" else stats.norm.isf(0.05) * error
    gap = found.ranks["w"] - found.ranks["z"]
    test = found.test("w", "z", 0.1, ("w", "z"))
    assert test.effect == pytest.approx(gap) and test.statistic == pytest.approx(gap / error) and gap > 0
    assert test.interval == pytest.approx((gap - critical, gap + critical))
    assert found.detectable([test], 0.1) == pytest.approx(critical + stats.norm.ppf(0.8) * error, rel=1e-3)
    assert found.detectable([], 0.1) is None and ("Nemenyi" in test.name) == (comparisons == "all")
    assert found.corrected == (comparisons == "all") and found.order == ["z", "y", "x", "w"]
    assert found.lead("w", "z", gap).startswith("w has a worse average rank than z by ")
    assert found.lead("z", "w", -gap).startswith("z has a better average rank than w by ")
    assert found.lead("z", "w", 0.0) == "z and w have the same average rank"
    assert data_sets(SETS, "wilcoxon").lead("z", "w", 0.0) == "z and w score the same"


@pytest.mark.parametrize(("test", "efficiency"), [("wilcoxon", 3 / np.pi), ("paired_t", 1.0)])
def test_what_data_sets_can_show_is_a_typical_pairs(test, efficiency):
    found = data_sets(SETS, test)
    pairs = [(a, b) for i, a in enumerate(SETS) for b in list(SETS)[:i]]
    tests = [found.test(a, b, 0.05, (a, b)) for a, b in pairs]
    variance = np.mean([np.var(SETS[a] - SETS[b], ddof=1) for a, b in pairs]) / 16 / efficiency
    size = found.detectable(tests, 0.05) / np.sqrt(variance)
    limit = stats.t.isf(0.025, 15)
    assert stats.nct.sf(limit, 15, size) + stats.nct.cdf(-limit, 15, size) == pytest.approx(0.8, abs=0.01)
    alike = {name: SETS["w"] + shift for name, shift in (("a", 0.0), ("b", 0.25))}
    assert data_sets(alike, test).detectable(tests, 0.05) is None


@pytest.mark.parametrize("sign", [1, -1])
def test_of_two_the_test_itself_says_who_is_better(sign):
    """b wins five small, a three large: by ranks and wins b is better, by the mean a."""
    gaps = np.array([-0.01, -0.02, -0.01, -0.03, -0.01, 0.2, 0.3, 0.25])
    two = {"a": 0.5 + sign * gaps, "b": np.full(8, 0.5)}
    for test, best in (("sign_test", "b"), ("paired_t", "a"), ("permutation_test", "a")):
        assert data_sets(two, test, sign > 0, metric="mse").order[0] == best
    hodges = np.median([(x + y) / 2 for i, x in enumerate(gaps) for y in gaps[i:]])
    assert data_sets(two, "wilcoxon", sign > 0).order[0] == ("a" if hodges > 0 else "b")
    ties = {"a": 0.5 + sign * np.array([-0.01, -0.01, 0.2, 0.2]), "b": np.full(4, 0.5)}
    assert data_sets(ties, "sign_test", sign > 0).order == data_sets(ties, "paired_t", sign > 0).order == ["a", "b"]
    by_rank = data_sets(two, "friedman", sign > 0)
    assert by_rank.order[0] == "b" and by_rank.by_rank and by_rank.sign == -1 and by_rank.unit
    assert data_sets(two, greater=sign > 0).chosen == "wilcoxon" and data_sets(two, greater=sign > 0).sign == sign


def test_scores_of_data_sets_have_the_t_interval_of_their_mean():
    found = data_sets(SETS, metric="no metric of ours")
    for name, values in SETS.items():
        record = found.summary(name, 0.1)
        assert record["interval"] == pytest.approx(stats.t.interval(0.9, 15, values.mean(), stats.sem(values)))
        assert record["sd"] == pytest.approx(values.std(ddof=1)) and record["mean"] == pytest.approx(values.mean())
    single = data_sets({"a": [0.9], "b": [0.8]}, force=True)
    assert not single.testable and single.name == "no test" and single.omnibus(0.05) is None and single.doubts
    assert single.summary("a", 0.1)["interval"] == (-np.inf, np.inf) and single.summary("a", 0.1)["sd"] is None
    assert single.order == ["a", "b"] and set(single.ranks.values()) == {1.0} and single.rank_error == 0
    one = data_sets({"a": [0.9, 0.8]})
    assert one.testable and one.ranks == {"a": 1.0} and data_sets({"a": [0.9]}).testable
    three = {name: SETS[name] for name in "xyz"}
    assert data_sets(three).omnibus(0.1).p_value == friedman(three).p_value and data_sets(three).chosen == "friedman"
    for wrong in (np.zeros((0, 3)), np.zeros((2, 2, 2)), np.zeros(3)):
        with pytest.raises(DataError, match="data sets, learners"):
            data_sets(wrong)
    assert list(data_sets(np.arange(6.0).reshape(3, 2)).kept) == ["learner 1", "learner 2"]


def test_a_difference_cannot_leave_the_range_of_the_metric():
    for metric, widest in (("accuracy", 1.0), ("mcc", 2.0), ("mse", np.inf), ("no metric", np.inf)):
        found = folds(metric=metric) if metric != "mse" else data_sets(SETS, "paired_t", False, metric=metric)
        assert found.widest == widest and found.within_range((-3.0, 0.5)) == (max(-3.0, -widest), 0.5)
        assert found.within_range((-0.5, 3.0)) == (-0.5, min(3.0, widest)) and found.within_range(None) is None
    assert data_sets(SETS).widest == np.inf  # average ranks


def test_five_times_two_folds_can_show_what_their_variance_says():
    found = compare({"a": np.full((5, 2), 0.75), "b": np.full((5, 2), 0.5)}, "5x2")
    assert found.smallest_detectable_difference is None
    with pytest.raises(UsageError, match="must be given together"):
        compare({"a": [0.5, 0.6, 0.7]}, "3-fold", n_train=10)
    with pytest.raises(UsageError, match="values of every learner"):
        compare({"a": [0.5], "b": [0.6]}, "holdout", rows={"a": np.ones(9), "b": None})
    with pytest.raises(DataError, match="as many values"):
        compare({"a": [0.5], "b": [0.6]}, "holdout", rows={"a": np.ones(9), "b": np.ones(8)})
