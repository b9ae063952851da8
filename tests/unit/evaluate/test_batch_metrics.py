"""Metrics of many resamples at once equal the metrics of the table, one by one."""

from __future__ import annotations

import numpy as np
import pytest

from assay.evaluate import METRICS, Evidence, get_metric
from assay.evaluate.batch_metrics import SUM_METRICS, row_term, table_metric

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
