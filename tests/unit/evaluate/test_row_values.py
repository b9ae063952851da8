"""What rows contribute to a score: losses, placements, units that count once."""

from __future__ import annotations

import numpy as np
import pytest

from assay.evaluate import Evidence, compare, get_metric
from assay.evaluate.auc import areas_and_covariance
from assay.evaluate.row_values import covariance_of_rows, row_values

RNG = np.random.default_rng(0)
Y = (RNG.random(80) < 0.4).astype(np.int64)
SHARE = np.clip(0.3 + 0.3 * Y + 0.2 * RNG.normal(size=80), 0.02, 0.98)


def evidence(share=SHARE, y=Y):
    return Evidence(y, probabilities=np.column_stack([1 - share, share]), classes=np.arange(2))


@pytest.mark.parametrize("name", ["accuracy", "log_loss", "brier", "roc_auc", "f1", "balanced_accuracy"])
def test_the_mean_of_the_values_is_the_score_up_to_the_jackknife_bias(name):
    metric = get_metric(name)
    assert row_values(metric, evidence()).mean() == pytest.approx(metric.of(evidence()), abs=0.01)


def test_a_mean_loss_has_the_losses_as_values():
    losses = -np.log(np.where(Y == 1, SHARE, 1 - SHARE))
    assert row_values(get_metric("log_loss"), evidence()) == pytest.approx(losses)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["log_loss", "brier", "f1", "roc_auc", "calibration_error"])
def test_each_value_is_that_of_its_own_row(name, weighted):
    """n M - (n - 1) M_(i), with M_(i) computed anew without row i; weights take the way over rows."""
    metric, n = get_metric(name), 80
    given = evidence()
    if weighted:
        given = Evidence(Y, probabilities=given.probabilities, classes=np.arange(2), sample_weight=np.ones(n))
    expected = [
        n * metric.of(evidence()) - (n - 1) * metric.of(evidence(np.delete(SHARE, i), np.delete(Y, i)))
        for i in range(n)
    ]
    assert row_values(metric, given) == pytest.approx(np.array(expected), abs=1e-9)


def test_too_few_rows_or_the_wrong_predictions_have_no_values():
    accuracy = get_metric("accuracy")
    assert row_values(accuracy, evidence(SHARE[:3], Y[:3])).shape == (3,)
    assert row_values(accuracy, evidence(SHARE[:2], Y[:2])) is None
    assert row_values(get_metric("log_loss"), Evidence(Y, labels=Y)) is None
    # Without its only row of a class the area is undefined.
    assert row_values(get_metric("roc_auc"), evidence(y=(np.arange(80) == 7).astype(np.int64))) is None


def test_the_covariance_of_rows_is_numpys_over_n():
    values = {"a": RNG.normal(size=30), "b": RNG.normal(size=30)}
    assert covariance_of_rows(values) == pytest.approx(np.cov(np.vstack(list(values.values()))) / 30)


def test_units_of_unequal_sizes_are_left_out_one_at_a_time():
    """The jackknife variance of the mean: (g - 1) / g times the squared moves when a unit goes."""
    values, units = RNG.normal(size=20), np.repeat(["p", "q", "r", "s"], [1, 4, 6, 9])
    moves = np.array([values[units != u].mean() - values.mean() for u in "pqrs"])
    expected = 3 / 4 * (moves**2).sum()
    assert covariance_of_rows({"a": values}, units)[0, 0] == pytest.approx(expected)


def test_the_variance_of_an_area_is_delongs():
    values = row_values(get_metric("roc_auc"), evidence())
    _, delong = areas_and_covariance(Y == 1, [SHARE])
    assert covariance_of_rows({"a": values})[0, 0] == pytest.approx(delong[0, 0], rel=0.06)


def test_rows_of_a_unit_count_as_one_observation():
    values = RNG.normal(size=30)
    thrice = {"a": np.repeat(values, 3)}
    assert covariance_of_rows(thrice, np.repeat(np.arange(30), 3))[0, 0] == pytest.approx(values.var(ddof=1) / 30)


def test_the_interval_is_never_shorter_than_the_rows_allow_and_shifts_to_a_constant():
    folds = {"flat": np.full((3, 10), 0.6), "good": 0.8 + 0.001 * RNG.normal(size=(3, 10))}
    flat, good = (RNG.random(200) < 0.6).astype(float), (RNG.random(200) < 0.8).astype(float)
    summary = compare(folds, "3x10", rows={"flat": flat, "good": good}).summary
    for name, rows in (("flat", flat), ("good", good)):
        low, high = summary[name]["interval"]
        assert high - low > 1.9 * 1.96 * rows.std(ddof=1) / np.sqrt(200)
    scores = {"ranks": np.clip(0.8 + 0.05 * RNG.normal(size=(3, 10)), 0, 1), "constant": np.full((3, 10), 0.5)}
    found = compare(
        scores, "3x10", metric="roc_auc", rows={"ranks": RNG.normal(0.8, 0.5, 100), "constant": np.full(100, 0.5)}
    )
    low, high = found.summary["ranks"]["interval"]
    assert found.pairs[0]["interval"] == pytest.approx((low - 0.5, high - 0.5))
    assert found.summary["constant"]["difference_interval"] == pytest.approx((0.5 - high, 0.5 - low))
