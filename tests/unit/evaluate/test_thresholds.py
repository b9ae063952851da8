"""Metrics at every threshold, and the best one, against trying each of them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn import metrics as theirs

from assay.base import DataError, ParameterError, UsageError
from assay.evaluate import best_threshold, get_metric, threshold_curve

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, 120)
SCORES = np.round(RNG.normal(size=120) + Y, 1)
LABEL_METRICS = [
    "accuracy",
    "error_rate",
    "balanced_accuracy",
    "precision",
    "recall",
    "sensitivity",
    "specificity",
    "f1",
    "mcc",
    "kappa",
    "f2",
    "f0.5_macro",
    "f1_weighted",
]


@pytest.mark.parametrize("name", LABEL_METRICS)
def test_each_value_is_that_of_the_labels_at_its_threshold(name):
    curve = threshold_curve(Y, SCORES, metrics=[name])
    metric = get_metric(name)
    assert curve.thresholds.size == np.unique(SCORES).size + 1
    for threshold, value in zip(curve.thresholds, curve[name]):
        want = metric.score(Y, (threshold <= SCORES).astype(int))
        assert value == pytest.approx(0.0 if np.isnan(want) else want, abs=1e-12)


def test_counts_are_those_of_scikit_learn():
    curve = threshold_curve(Y, SCORES)
    for i in (0, 5, 17, curve.thresholds.size - 1):
        (tn, fp), (fn, tp) = theirs.confusion_matrix(Y, curve.thresholds[i] <= SCORES)
        assert (curve.tn[i], curve.fp[i], curve.fn[i], curve.tp[i]) == (tn, fp, fn, tp)


def test_youden_is_sensitivity_plus_specificity_less_one():
    curve = threshold_curve(Y, SCORES, metrics=["youden", "sensitivity", "specificity"])
    assert curve["youden"] == pytest.approx(curve["sensitivity"] + curve["specificity"] - 1)
    best = best_threshold(Y, SCORES, metric="youden")
    assert best.value == pytest.approx(curve["youden"].max())


@pytest.mark.parametrize("name", ["f1", "accuracy", "error_rate", "mcc", "f2"])
def test_the_best_threshold_is_the_best_of_all(name):
    best = best_threshold(Y, SCORES, metric=name)
    metric = get_metric(name)
    tried = [metric.score(Y, (t <= SCORES).astype(int)) for t in [*np.unique(SCORES), np.inf]]
    assert best.value == pytest.approx((max if metric.greater_is_better else min)(tried))
    assert metric.score(Y, best.predict(SCORES).astype(int)) == pytest.approx(best.value)
    assert not np.isin(best.threshold, SCORES) or best.threshold == SCORES.min()
    assert best.confusion.tolist() == theirs.confusion_matrix(Y, best.threshold <= SCORES).tolist()


def test_costs_choose_the_cheapest_threshold():
    costs = {"fp": 1.0, "fn": 7.0, "tp": -2.0}
    best = best_threshold(Y, SCORES, costs=costs)

    def cost(threshold):
        called = threshold <= SCORES
        return np.mean(np.where(Y == 1, np.where(called, -2.0, 7.0), np.where(called, 1.0, 0.0)))

    tried = [cost(t) for t in [*np.unique(SCORES), np.inf]]
    assert best.value == pytest.approx(min(tried)) == pytest.approx(cost(best.threshold))
    assert best.theoretical == pytest.approx(1 / (1 + 9)) and "cost" in best.sentence


def test_true_probabilities_are_cut_where_theory_says():
    p = RNG.uniform(size=200_000)
    y = RNG.uniform(size=p.size) < p
    best = best_threshold(y, p, costs={"fp": 1, "fn": 4})
    assert best.theoretical == pytest.approx(0.2) and best.threshold == pytest.approx(0.2, abs=0.03)


def test_costs_that_favour_one_answer_always():
    none = best_threshold(Y, SCORES, costs={"fp": 1})
    assert none.threshold == np.inf and not none.predict(SCORES).any() and none.theoretical is None
    assert "no row is called" in none.sentence and none.to_dict()["threshold"] is None
    everyone = best_threshold(Y, SCORES, costs={"fn": 1, "tn": 1})
    assert everyone.threshold == SCORES.min() and everyone.predict(SCORES).all()


def test_of_equally_good_thresholds_the_highest_is_taken():
    best = best_threshold([0, 1, 0, 1], [1, 2, 3, 4], metric="accuracy")
    assert best.threshold == 3.5


def test_neighbouring_floats_are_still_separated():
    low = 0.3
    high = np.nextafter(low, 1)
    best = best_threshold([0, 1], [low, high], metric="accuracy")
    assert best.value == 1 and best.predict([low, high]).tolist() == [False, True]


def test_weights_equal_repetition():
    times = RNG.integers(1, 4, 120)
    weighted = best_threshold(Y, SCORES, sample_weight=times)
    repeated = best_threshold(np.repeat(Y, times), np.repeat(SCORES, times))
    assert weighted.threshold == repeated.threshold and weighted.value == pytest.approx(repeated.value)


def test_one_threshold_per_class():
    y = np.array(["a", "b", "c"])[RNG.integers(0, 3, 90)]
    p = RNG.dirichlet(np.ones(3), 90) + 0.3 * (y[:, None] == ["a", "b", "c"])
    best = best_threshold(y, p, metric="f1")
    assert best["b"].threshold == best_threshold(y, p[:, 1], metric="f1", positive="b").threshold
    json.dumps(best.to_dict(), allow_nan=False)
    json.dumps(threshold_curve(y, p).to_dict(), allow_nan=False)


def test_drawing():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    shown = threshold_curve(Y, SCORES).plot()
    assert len(shown.ax_.lines) == 3 and "precision" in shown._repr_html_()
    plt.close("all")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: best_threshold(Y, SCORES, metric="f1", costs={"fp": 1}), UsageError, "together"),
        (lambda: best_threshold(Y, SCORES, costs={"cost": 1}), ParameterError, "fp, fn"),
        (lambda: best_threshold(Y, SCORES, costs={"fp": np.inf}), ParameterError, "finite"),
        (lambda: best_threshold(Y, SCORES, metric="roc_auc"), DataError, "does not depend"),
        (lambda: best_threshold(Y, SCORES, metric="f1_makro"), UsageError, "did you mean"),
        (lambda: best_threshold(np.ones(3), np.ones(3)), DataError, "positive and negative"),
        (lambda: threshold_curve(Y, SCORES, metrics=[]), ParameterError, "at least one"),
    ],
)
def test_bad_input_gets_one_sentence(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("name", [*LABEL_METRICS, "f1_macro", "precision_macro"])
@pytest.mark.parametrize("y", [[0, 1, 0, 0], [1, 1, 0, 1], [0, 1]])
def test_a_class_of_one_row_counts_at_every_threshold(name, y):
    scores = np.arange(len(y), dtype=float)
    curve = threshold_curve(y, scores, metrics=[name])
    wanted = [get_metric(name).score(y, (threshold <= scores).astype(int)) for threshold in curve.thresholds]
    assert curve[name] == pytest.approx(np.nan_to_num(wanted), abs=1e-12) and len(wanted) == len(y) + 1
