"""Metrics of many resamples at once equal the metrics of the table, one by one."""

from __future__ import annotations

import numpy as np
import pytest

from assay.evaluate import METRICS, Evidence, get_metric
from assay.evaluate.batch_metrics import (
    SUM_METRICS,
    calibration_groups,
    fold_errors,
    fold_metric,
    row_term,
    table_metric,
)

LABEL_METRICS = [name for name, metric in METRICS.items() if metric.needs == "labels"] + [
    "f2_macro",
    "f0.5",
    "f3_micro",
]


def as_rows(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels with this confusion matrix."""
    true, predicted = np.indices(table.shape)
    counts = table.ravel().astype(int)
    return np.repeat(true.ravel(), counts), np.repeat(predicted.ravel(), counts)


@pytest.mark.parametrize("name", LABEL_METRICS)
def test_every_label_metric_has_a_batch_form_that_equals_it(name):
    metric, batch = get_metric(name), table_metric(name)
    assert batch is not None
    for size in (2, 3, 5):
        if size > 2 and metric.name in ("precision", "recall", "sensitivity", "specificity", "f1", "f0.5"):
            continue
        # Few rows, so that classes are missing from some tables.
        tables = np.random.default_rng(size).poisson(0.7, (60, size, size)).astype(float)
        tables = tables[tables.sum(axis=(1, 2)) > 0]
        with np.errstate(invalid="ignore", divide="ignore"):
            got = batch(tables)
            expected = [metric.score(*as_rows(table), classes=np.arange(size)) for table in tables]
        assert got == pytest.approx(expected, nan_ok=True, rel=1e-12)


@pytest.mark.parametrize("name", SUM_METRICS)
@pytest.mark.parametrize("outputs", [1, 2])
def test_every_sum_metric_equals_the_table(name, outputs):
    rng = np.random.default_rng(1)
    metric, sums = METRICS[name], SUM_METRICS[name]
    if metric.needs == "probabilities":
        y, p = rng.integers(0, outputs + 1, 50), rng.dirichlet(np.ones(outputs + 1), 50)
        evidence = Evidence(y, probabilities=p, classes=np.arange(outputs + 1))
    else:
        y = rng.integers(0, 5, (50, outputs)).astype(float)
        evidence = Evidence(y, values=np.abs(y + rng.normal(size=y.shape)))
    means = {term: row_term(evidence, term).mean(axis=1)[None] for term in sums.terms}
    deviation = np.abs(evidence.deviations).mean(axis=0)[None] if sums.deviation else None
    with np.errstate(invalid="ignore"):
        assert float(sums.value(means, 50, deviation)[0]) == pytest.approx(metric.of(evidence), rel=1e-12, nan_ok=True)


def test_metrics_that_are_not_of_tables_have_no_batch_form():
    assert table_metric("roc_auc") is None and table_metric("mse") is None


def test_a_constant_truth_has_no_variance_whatever_the_rounding():
    means = {"squared": np.array([[0.5]]), "centred": np.array([[0.1]]), "centred squared": np.array([[0.1**2]])}
    assert SUM_METRICS["r2"].value(means, 5, None)[0] == 0.0
    with np.errstate(invalid="ignore"):
        assert np.isnan(SUM_METRICS["rse"].value(means, 5, None)[0])


@pytest.mark.parametrize("name", ["rmse", "mae", "r2"])
def test_the_errors_of_many_folds_have_the_bits_of_each_fold_by_itself(name):
    rng = np.random.default_rng(3)
    truth = rng.normal(size=(40, 7)).round(1)
    values = truth + rng.normal(size=truth.shape)
    truth[0] = 2.0  # no variance, and wrong
    truth[1] = values[1] = -1.5  # no variance, and right
    values[2] = truth[2]
    alone = [METRICS[name].score(one, two) for one, two in zip(truth, values, strict=True)]
    assert fold_errors(name)(truth, values).tobytes() == np.array(alone).tobytes()


def test_the_share_explained_of_one_row_is_not_defined_and_that_of_two_is():
    assert np.isnan(fold_errors("r2")(np.zeros((3, 1)), np.ones((3, 1)))).all()
    assert fold_errors("r2")(np.array([[0.0, 2.0]]), np.array([[0.0, 1.0]])).tolist() == [0.5]


@pytest.mark.parametrize("name", LABEL_METRICS)
@pytest.mark.parametrize("size", [2, 3])
def test_the_metric_of_many_folds_has_the_bits_of_each_fold_or_is_not_offered(name, size):
    tables = np.random.default_rng(size).integers(1, 9, (30, size, size))
    many = fold_metric(name, size)
    refused = size > 2 and name in ("precision", "recall", "sensitivity", "specificity", "f1", "f0.5")
    assert (many is None) == (refused or name.endswith("_weighted"))
    if many is not None:
        alone = [get_metric(name).score(*as_rows(table), classes=np.arange(size)) for table in tables]
        assert many(tables).tobytes() == np.array(alone, dtype=float).tobytes()


def test_metrics_that_are_not_of_single_folds_have_no_form_of_many():
    assert fold_errors("accuracy") is None and fold_errors("mse") is None
    assert fold_metric("roc_auc", 2) is None


@pytest.mark.parametrize("name", ["r2", "explained_variance", "rse"])
def test_a_shift_of_truth_and_prediction_far_from_zero_changes_no_share_of_variance(name):
    rng = np.random.default_rng(5)
    y = rng.normal(size=(60, 1))
    given = y + 0.5 * rng.normal(size=y.shape)

    def share(shift: float) -> float:
        evidence = Evidence(y + shift, values=given + shift)
        means = {term: row_term(evidence, term).mean(axis=1)[None] for term in SUM_METRICS[name].terms}
        return float(SUM_METRICS[name].value(means, 60, None)[0])

    assert share(2.0**30) == pytest.approx(share(0.0), rel=1e-5)


def test_sums_of_a_part_of_the_rows_give_the_metric_of_that_part():
    """Terms are centred on all rows, so that a part of them has a mean that is not 0."""
    rng = np.random.default_rng(7)
    y = rng.normal(size=(80, 2)) + [0.0, 3.0]
    values = y + rng.normal(size=y.shape) + 0.3
    part = np.sort(rng.choice(80, 25, replace=False))
    whole, alone = Evidence(y, values=values), Evidence(y[part], values=values[part])
    for name in ("r2", "explained_variance", "rse", "mse", "rmse", "sse", "mae", "bias", "absolute_bias", "mape"):
        sums = SUM_METRICS[name]
        means = {term: row_term(whole, term)[:, part].mean(axis=1)[None] for term in sums.terms}
        assert float(sums.value(means, 25, None)[0]) == pytest.approx(METRICS[name].of(alone), rel=1e-10), name


def test_groups_of_calibration_hold_the_confidences_of_their_bin():
    p = np.array([0.5, 0.55, 0.6, 0.61, 0.7, 0.999, 1.0])
    evidence = Evidence(
        np.array([1, 0, 1, 1, 0, 1, 0]), probabilities=np.column_stack([1 - p, p]), classes=np.array([0, 1])
    )
    bins, gaps, n_bins = calibration_groups(evidence)
    sure = np.maximum(p, 1 - p)
    assert (bins < sure * n_bins).all() and (sure * n_bins <= bins + 1).all() and bins[-1] == n_bins - 1
    called = np.array([0, 1, 1, 1, 1, 1, 1])  # of equal probabilities the first class
    hits = called == evidence.y
    assert gaps == pytest.approx(hits - sure)
    error = np.abs(np.bincount(bins, gaps, n_bins)).sum() / len(p)
    assert error == pytest.approx(METRICS["calibration_error"].of(evidence))


@pytest.mark.parametrize("name", ["r2", "explained_variance"])
def test_a_constant_truth_that_is_met_is_explained_in_full(name):
    evidence = Evidence(np.full(6, 3.0), values=np.full(6, 3.0))
    means = {term: row_term(evidence, term).mean(axis=1)[None] for term in SUM_METRICS[name].terms}
    assert SUM_METRICS[name].value(means, 6, None).tolist() == [1.0] == [METRICS[name].of(evidence)]
