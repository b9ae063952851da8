"""ROC, precision-recall, gain and rejection curves against scikit-learn and against counting by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn import metrics as theirs

from assay.base import DataError, ParameterError
from assay.evaluate import METRICS, gain_curve, precision_recall_curve, rejection_curve, roc_curve
from assay.evaluate.curves import rank_scores

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, 300)
SCORES = np.round(RNG.normal(size=300) + Y, 1)
WEIGHTS = RNG.uniform(0.1, 3, 300)
ALL = (roc_curve, precision_recall_curve, gain_curve, rejection_curve)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("drop", [True, False])
def test_roc_is_that_of_scikit_learn(weights, drop):
    curve = roc_curve(Y, SCORES, sample_weight=weights, drop_inner=drop)
    false, true, thresholds = theirs.roc_curve(Y, SCORES, sample_weight=weights, drop_intermediate=False)
    if not drop:
        assert curve.false_positive_rate == pytest.approx(false)
        assert curve.true_positive_rate == pytest.approx(true)
        assert curve.thresholds == pytest.approx(thresholds)
    assert np.interp(false, curve.false_positive_rate, curve.true_positive_rate).max() == pytest.approx(true.max())
    assert curve.auc == pytest.approx(theirs.roc_auc_score(Y, SCORES, sample_weight=weights))
    area = np.trapezoid(curve.true_positive_rate, curve.false_positive_rate)
    assert area == pytest.approx(curve.auc)


def test_dropping_inner_points_keeps_the_line():
    full, short = roc_curve(Y, SCORES, drop_inner=False), roc_curve(Y, SCORES)
    assert short.thresholds.size < full.thresholds.size
    inner = ~np.isin(full.thresholds, short.thresholds)
    for x, y in zip(full.false_positive_rate[inner], full.true_positive_rate[inner]):
        after = np.searchsorted(short.true_positive_rate + short.false_positive_rate, x + y)
        x0, x1 = short.false_positive_rate[after - 1 : after + 1]
        y0, y1 = short.true_positive_rate[after - 1 : after + 1]
        assert (x - x0) * (y1 - y0) == pytest.approx((y - y0) * (x1 - x0), abs=1e-12)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_precision_and_recall_are_those_of_scikit_learn(weights):
    curve = precision_recall_curve(Y, SCORES, sample_weight=weights)
    precision, recall, thresholds = theirs.precision_recall_curve(Y, SCORES, sample_weight=weights)
    assert curve.precision == pytest.approx(precision[::-1]) and curve.recall == pytest.approx(recall[::-1])
    assert curve.thresholds[1:] == pytest.approx(thresholds[::-1])
    assert curve.average_precision == pytest.approx(theirs.average_precision_score(Y, SCORES, sample_weight=weights))
    assert curve.prevalence == pytest.approx(np.average(Y, weights=weights))


def test_gain_and_lift_count_the_best_rows():
    curve = gain_curve(Y, RNG.permutation(300).astype(float) + 100.5 * Y)
    scores = curve.thresholds[1:]
    assert scores.size == 300 and curve.share[-1] == curve.gain[-1] == curve.lift[-1] == 1
    order = np.argsort(-SCORES, kind="stable")
    tied = gain_curve(Y, SCORES)
    for k in np.flatnonzero(np.diff(SCORES[order]))[:20] + 1:
        at = np.flatnonzero(np.isclose(tied.share, k / 300))[0]
        assert tied.gain[at] == pytest.approx(Y[order[:k]].sum() / Y.sum())
        assert tied.lift[at] == pytest.approx(Y[order[:k]].mean() / Y.mean())
    assert tied.gini == pytest.approx(2 * roc_curve(Y, SCORES).auc - 1)
    assert tied.at(1.0) == (1.0, 1.0) and tied.at(0.1)[1] == pytest.approx(10 * tied.at(0.1)[0])


def test_ks_is_that_of_scipy():
    from scipy.stats import ks_2samp

    curve = gain_curve(Y, SCORES)
    assert curve.ks == pytest.approx(ks_2samp(SCORES[Y == 1], SCORES[Y == 0]).statistic)
    called = curve.ks_threshold <= SCORES
    assert called[Y == 1].mean() - called[Y == 0].mean() == pytest.approx(curve.ks)


def test_rejection_at_an_efficiency_is_that_of_the_threshold_it_names():
    curve = rejection_curve(Y, SCORES)
    for efficiency in (0.1, 0.5, 0.8, 1.0):
        kept = curve.threshold_at(efficiency)
        assert (SCORES[Y == 1] >= kept).mean() >= efficiency
        assert curve.at(efficiency) == pytest.approx(1 / (SCORES[Y == 0] >= kept).mean())
        above = np.unique(SCORES[kept < SCORES])
        assert above.size == 0 or (SCORES[Y == 1] >= above[0]).mean() < efficiency
    assert curve.at(0.0) == np.inf and curve.rejection[-1] == 1 and curve.reduction[-1] == 0
    assert curve.auc == pytest.approx(roc_curve(Y, SCORES).auc)
    assert rejection_curve([0, 0, 1, 1], [1, 2, 3, 4]).sentence.endswith("removes all of the background.")


def test_areas_are_those_of_the_table_of_metrics():
    p = 1 / (1 + np.exp(-SCORES))
    assert roc_curve(Y, p).auc == pytest.approx(METRICS["roc_auc"].score(Y, p))
    assert precision_recall_curve(Y, p).average_precision == pytest.approx(METRICS["average_precision"].score(Y, p))


def test_several_classes_give_one_curve_each():
    y = np.array(["ant", "bee", "cat"])[RNG.integers(0, 3, 200)]
    p = RNG.dirichlet(np.ones(3), 200) + 0.3 * (y[:, None] == ["ant", "bee", "cat"])
    curves = roc_curve(y, p)
    assert list(curves) == ["ant", "bee", "cat"] and len(curves) == 3
    for k, name in enumerate(curves):
        assert curves[name].auc == pytest.approx(theirs.roc_auc_score(y == name, p[:, k]))
    assert curves.mean == pytest.approx(np.mean([curves[name].auc for name in curves]))
    assert roc_curve(y, p, positive="bee").auc == curves["bee"].auc
    swapped = roc_curve(y, p[:, ::-1], classes=["cat", "bee", "ant"])
    assert swapped["ant"].auc == curves["ant"].auc
    for curve in ALL:
        json.dumps(curve(y, p).to_dict(), allow_nan=False)


def test_the_positive_class_may_be_named():
    names = np.where(Y == 1, "good", "bad")
    assert roc_curve(names, SCORES).auc == pytest.approx(roc_curve(Y, SCORES).auc)
    assert roc_curve(names, SCORES, positive="bad").auc == pytest.approx(1 - roc_curve(Y, SCORES).auc)
    assert roc_curve(names, np.column_stack([-SCORES, SCORES])).auc == pytest.approx(roc_curve(Y, SCORES).auc)


@pytest.mark.parametrize("curve", ALL)
def test_ties_everywhere_are_guessing(curve):
    result = curve([0, 1, 0, 1], [0.5] * 4)
    expected = {roc_curve: 0.5, precision_recall_curve: 0.5, gain_curve: 0.0, rejection_curve: 0.5}[curve]
    assert result.summary == expected and str(result) == result.sentence
    assert "<table>" in result._repr_html_()


@pytest.mark.parametrize("curve", ALL)
@pytest.mark.parametrize(
    ("y", "scores", "given", "error", "words"),
    [
        ([0, 1], [0.1], {}, DataError, "one row for each of 2"),
        ([0, 1], [0.1, np.nan], {}, DataError, "at row 1"),
        ([1, 1], [0.1, 0.2], {}, DataError, "positive and negative"),
        ([1, 1], [0.1, 0.2], {"positive": 1}, DataError, "only positive"),
        ([], [], {}, DataError, "non-empty"),
        ([0, 1], ["a", "b"], {}, DataError, "numeric"),
        ([0, 1, 2], [0.1, 0.2, 0.3], {}, DataError, "3 classes"),
        ([0, 1], [[0.1, 0.2, 0.3]] * 2, {}, DataError, "one column for each"),
        ([0, 1], [0.1, 0.2], {"positive": 7}, ParameterError, "does not occur"),
        ([0, 1], [0.1, 0.2], {"sample_weight": [1, 0]}, DataError, "both classes a weight"),
        ([0.0, np.nan], [0.1, 0.2], {}, DataError, "missing labels"),
        ([0, 1], [0.1, 0.2], {"classes": [0, 2]}, DataError, "not among"),
    ],
)
def test_bad_input_gets_one_sentence(curve, y, scores, given, error, words):
    with pytest.raises(error, match=words):
        curve(y, scores, **given)


def test_shares_and_efficiencies_outside_the_unit_are_refused():
    with pytest.raises(ParameterError, match="share"):
        gain_curve(Y, SCORES).at(0)
    with pytest.raises(ParameterError, match="efficiency"):
        rejection_curve(Y, SCORES).at(1.5)


def test_drawing():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    for curve in ALL:
        shown = curve(Y, SCORES).plot(color="tab:red")
        assert shown.ax_.get_xlabel() and shown.line_.get_color() == "tab:red" and shown.figure_ is shown.ax_.figure
    y = np.arange(30) % 3
    several = roc_curve(y, RNG.normal(size=(30, 3))).plot()
    assert len(several.ax_.get_legend().get_texts()) == 3
    plt.close("all")


def test_what_is_shown_of_a_rejection_curve_is_the_curve_at_those_efficiencies():
    """Signal 1 to 10 over background 0 to 9: at efficiency e, scores of 11 - 10 e and more, 10 e - 1 of 10 others."""
    scores = np.concatenate([np.arange(1.0, 11.0), np.arange(0.0, 10.0)])
    shown = rejection_curve(np.repeat([1, 0], 10), scores).to_markdown()
    for efficiency, rejection in ((0.3, "5"), (0.5, "2.5"), (0.8, "1.43"), (0.9, "1.25")):
        assert f"rejection at efficiency {efficiency} | {rejection}" in shown


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_the_row_of_a_score_that_is_not_finite_is_named(bad):
    one, table = np.array([0.1, 0.7, bad, bad]), np.full((4, 3), 1 / 3)
    table[2, 1] = bad
    for scores in (one, table):
        with pytest.raises(DataError, match="at row 2"):
            roc_curve([0, 1, 0, 1], scores)


def test_thresholds_lie_midway_and_between_neighbouring_floats_at_the_upper():
    ranking = rank_scores("test", np.array([1, 0, 1, 0, 1], dtype=bool), np.array([4.0, 2.0, 1.0, 2.0, -3.0]), None)
    assert ranking.thresholds().tolist() == [3.0, 1.5, -1.0, -3.0]
    assert (ranking.positives, ranking.negatives) == (3.0, 2.0)
    above = np.nextafter(1.0, 2.0)
    near = rank_scores("test", np.array([True, False]), np.array([above, 1.0]), None)
    assert near.thresholds().tolist() == [above, 1.0]
    huge = rank_scores("test", np.array([True, False]), np.array([1.7e308, 1.5e308]), None)
    assert huge.thresholds()[0] == pytest.approx(1.6e308)


def test_weights_may_be_small_but_not_none_of_a_class():
    y, scores = np.array([0, 1, 0, 1, 0]), np.array([0.1, 0.4, 0.35, 0.8, 0.4])
    light = roc_curve(y, scores, sample_weight=np.full(5, 0.01))
    assert light.auc == pytest.approx(roc_curve(y, scores).auc)
    for gone in (0, 1):
        with pytest.raises(DataError, match="both classes a weight"):
            roc_curve(y, scores, sample_weight=(y != gone).astype(float))
