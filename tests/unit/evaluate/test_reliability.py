"""Calibration curves: bins, expected calibration error, its interval and its test."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.calibration import calibration_curve as sklearn_curve

from assay.base import DataError, ParameterError
from assay.evaluate import METRICS, calibration_curve

RNG = np.random.default_rng(0)
P = RNG.uniform(size=500)
Y = (RNG.uniform(size=500) < P**1.5).astype(int)
FAST = {"n_replicates": 50, "random_state": 0}


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_bins_are_those_of_scikit_learn(strategy):
    ours = calibration_curve(Y, P, n_bins=7, strategy=strategy, **FAST)
    observed, predicted = sklearn_curve(Y, P, n_bins=7, strategy=strategy)
    assert ours.observed == pytest.approx(observed) and ours.predicted == pytest.approx(predicted)
    assert ours.counts.sum() == 500
    assert ours.ece == pytest.approx((np.abs(observed - predicted) * ours.counts).sum() / 500)
    assert ours.mce == pytest.approx(np.abs(observed - predicted).max())


def test_top_label_error_is_that_of_the_table_of_metrics():
    p = RNG.dirichlet(np.ones(3), 300)
    y = RNG.integers(0, 3, 300)
    ours = calibration_curve(y, p, top_label=True, n_bins=15, **FAST)
    assert ours.ece == pytest.approx(METRICS["calibration_error"].score(y, p))
    two = calibration_curve(Y, P, top_label=True, n_bins=15, **FAST)
    assert two.ece == pytest.approx(METRICS["calibration_error"].score(Y, P))


def test_quantile_bins_hold_equal_numbers_and_keep_ties_together():
    assert np.ptp(calibration_curve(Y, P, n_bins=10, strategy="quantile", **FAST).counts) <= 1
    tied = calibration_curve(Y, np.round(P), n_bins=10, strategy="quantile", **FAST)
    assert tied.counts.size == 1 or np.unique(tied.predicted).size == tied.counts.size
    assert calibration_curve(Y, np.full(500, 0.3), strategy="quantile", **FAST).predicted == pytest.approx([0.3])


def test_weights_equal_repetition():
    times = RNG.integers(1, 4, 500)
    weighted = calibration_curve(Y, P, sample_weight=times, **FAST)
    repeated = calibration_curve(np.repeat(Y, times), np.repeat(P, times), **FAST)
    assert weighted.observed == pytest.approx(repeated.observed) and weighted.ece == pytest.approx(repeated.ece)


def test_wilson_intervals_are_those_of_statsmodels():
    from statsmodels.stats.proportion import proportion_confint

    curve = calibration_curve(Y, P, **FAST)
    low, high = proportion_confint(curve.observed * curve.counts, curve.counts, method="wilson")
    assert curve.low == pytest.approx(low) and curve.high == pytest.approx(high)


def test_honest_probabilities_pass_and_boastful_ones_fail():
    honest = (RNG.uniform(size=500) < P).astype(int)
    good, bad = calibration_curve(honest, P, **FAST), calibration_curve(Y, P, **FAST)
    assert good.p_value > 0.05 and good.interval[0] == 0 and "compatible" in good.sentence
    assert bad.p_value < 0.05 and bad.interval[0] > 0 and "rejected" in bad.sentence
    assert good.expected_by_chance == pytest.approx(good.ece, abs=0.03)


def test_perfectly_certain_and_right():
    curve = calibration_curve([0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0], **FAST)
    assert curve.ece == 0 and curve.interval == (0.0, 0.0) and curve.p_value == 1


def coverage(repetitions: int, shrink: float, n_replicates: int = 100) -> tuple[float, float]:
    """Coverage of the interval, and rejections, where the true frequency is 1/2 + shrink (p - 1/2)."""
    rng = np.random.default_rng(1)
    # Ten equal bins of uniform p: the error in each is (1 - shrink) |p - 1/2| at its middle.
    truth = np.mean(np.abs(np.arange(0.05, 1, 0.1) - 0.5)) * (1 - shrink)
    hits = rejections = 0
    for r in range(repetitions):
        p = rng.uniform(size=400)
        y = rng.uniform(size=400) < 0.5 + shrink * (p - 0.5)
        curve = calibration_curve(y, p, n_replicates=n_replicates, random_state=r)
        hits += curve.interval[0] <= truth <= curve.interval[1]
        rejections += curve.p_value < 0.05
    return hits / repetitions, rejections / repetitions


def test_the_interval_covers_and_the_test_keeps_its_level():
    covered, rejected = coverage(40, 1.0)
    assert covered >= 0.85 and rejected <= 0.15
    covered, rejected = coverage(20, 0.5)
    assert covered >= 0.8 and rejected >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("shrink", [1.0, 0.8, 0.5])
def test_the_interval_covers_over_many_data_sets(shrink):
    covered, rejected = coverage(1000, shrink, 300)
    assert covered >= 0.85
    if shrink == 1.0:
        assert rejected <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)


def test_one_curve_per_class_and_the_same_seed_the_same_result():
    p = RNG.dirichlet(np.ones(3), 120)
    y = np.array(["a", "b", "c"])[RNG.integers(0, 3, 120)]
    curves = calibration_curve(y, p, **FAST)
    assert list(curves) == ["a", "b", "c"]
    assert curves["b"].ece == pytest.approx(calibration_curve(y == "b", p[:, 1], **FAST).ece)
    assert curves.to_dict() == calibration_curve(y, p, **FAST).to_dict()
    json.dumps(curves.to_dict(), allow_nan=False)


def test_what_chance_gives_is_weighted_as_the_rows_are():
    """One bin of equal probabilities: the error by chance is near sqrt(2/pi) of the weighted binomial deviation."""
    rng = np.random.default_rng(3)
    n, p = 400, 0.3
    weights = np.where(np.arange(n) < 20, 50.0, 1.0)
    curve = calibration_curve(
        rng.random(n) < p, np.full(n, p), sample_weight=weights, n_bins=1, n_replicates=2000, random_state=0
    )
    deviation = np.sqrt(p * (1 - p) * np.sum(weights**2)) / weights.sum()
    assert curve.expected_by_chance == pytest.approx(np.sqrt(2 / np.pi) * deviation, rel=0.06)


def test_drawing():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    shown = calibration_curve(Y, P, **FAST).plot()
    assert shown.line_.get_marker() == "o" and shown.ax_.get_ylabel() == "observed frequency"
    plt.close("all")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: calibration_curve([0, 1], [0.5, 1.5]), DataError, "between 0 and 1"),
        (lambda: calibration_curve([0, 1], [0.5]), DataError, "one row for each"),
        (lambda: calibration_curve([1, 1], [0.5, 0.6]), DataError, "positive and negative"),
        (lambda: calibration_curve([0, 1], [0.5, 0.6], n_bins=0), ParameterError, "n_bins"),
        (lambda: calibration_curve([0, 1], [0.5, 0.6], n_replicates=1), ParameterError, "n_replicates"),
        (lambda: calibration_curve([0, 1], [0.5, 0.6], strategy="kmeans"), ParameterError, "quantile"),
        (lambda: calibration_curve([0, 1], [0.5, 0.6], alpha=0), ParameterError, "alpha"),
        (
            lambda: calibration_curve([0, 1, 2], [0.5, 0.6, 0.1], positive=1, top_label=True),
            DataError,
            "one column of probabilities per class",
        ),
    ],
)
def test_bad_input_gets_one_sentence(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_bins_nobody_is_in_are_left_out():
    p = np.repeat([0.05, 0.95], [30, 20])
    curve = calibration_curve(np.arange(50) % 2, p, n_bins=10, **FAST)
    assert len(curve.predicted) == 2 and curve.predicted == pytest.approx([0.05, 0.95])
    weighted = calibration_curve(np.arange(50) % 2, p, n_bins=10, sample_weight=np.where(p < 0.5, 1.0, 0.0), **FAST)
    assert weighted.predicted == pytest.approx([0.05])


def test_the_interval_of_a_clear_error_is_that_of_a_binomial_share():
    """One bin, said 0.3, seen 0.6: the error is a share less a constant, whose deviation is sqrt(0.6 * 0.4 / n)."""
    y = np.repeat([1, 0], [1200, 800])
    curve = calibration_curve(y, np.full(2000, 0.3), alpha=0.2, n_replicates=2000, random_state=0)
    half = 1.2816 * np.sqrt(0.6 * 0.4 / 2000)
    assert curve.ece == pytest.approx(0.3)
    assert curve.interval == pytest.approx((0.3 - half, 0.3 + half), abs=0.0012)


def test_an_error_of_nearly_one_has_an_interval_within_one():
    y = np.zeros(400, dtype=int)
    y[:4] = 1
    curve = calibration_curve(y, np.full(400, 0.999), **FAST)
    assert 0.98 < curve.interval[0] < curve.ece < curve.interval[1] <= 1.0


def test_a_p_value_equal_to_alpha_does_not_reject():
    """Certain of what never happens: no draw by chance is as bad, and 1 of 25 is 0.04."""
    y, p = np.zeros(40, dtype=int), np.full(40, 0.9)
    y[0] = 1
    found = calibration_curve(y, p, n_replicates=24, alpha=0.04, random_state=0)
    assert found.p_value == 0.04 and "this is compatible" in found.sentence and found.interval[0] == 0
    more = calibration_curve(y, p, n_replicates=25, alpha=0.04, random_state=0)
    assert more.p_value == 1 / 26 and "is rejected" in more.sentence and more.interval[0] > 0
