"""Classifiers made of densities: Bayes' rule with each of them, priors, costs, rows beyond all classes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from assay.base import DataError, ParameterError
from assay.models.density import DensityClassifier, HistogramDensity, KNNDensity, NaiveDensity, ParzenDensity

X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    ("density", "fresh"),
    [
        ("parzen", ParzenDensity()),
        ("histogram", HistogramDensity()),
        ("naive", NaiveDensity()),
        ("knn", KNNDensity()),
        (ParzenDensity(metric="mahalanobis"), ParzenDensity(metric="mahalanobis")),
    ],
    ids=["parzen", "histogram", "naive", "knn", "own"],
)
def test_probabilities_are_bayes_rule_with_the_density_of_each_class(density, fresh):
    rows, labels = X[:, 2:], np.where(y == 2, 1, y)
    model = DensityClassifier(density=density).fit(rows, labels)
    logs = np.column_stack([fresh.fit(rows[labels == k]).score_samples(rows) for k in (0, 1)]) + np.log([1 / 3, 2 / 3])
    expected = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(rows), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(rows)), expected, rtol=1e-9, atol=1e-12)
    assert model.score(rows, labels) > 0.95


def test_a_row_beyond_every_class_gets_the_priors():
    model = DensityClassifier(density="naive", priors=[0.2, 0.3, 0.5]).fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[100.0] * 4])[0], [0.2, 0.3, 0.5])
    assert model.predict([[100.0] * 4])[0] == 2


def test_costs_and_doubt_come_from_the_probabilities():
    model = DensityClassifier(costs=[[0, 1, 1], [1, 0, 1], [9, 9, 0]]).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), np.argmin(p @ np.array([[0, 1, 1], [1, 0, 1], [9, 9, 0]]), axis=1))
    _, rejected = model.predict_with_reject(X, threshold=0.9)
    np.testing.assert_array_equal(rejected, p.max(axis=1) < 0.9)


def test_a_class_of_equal_rows_takes_the_bandwidth_of_all_and_other_densities_refuse_it():
    rows, labels = np.array([[0.0], [1.0], [2.0], [9.0], [9.0]]), [0, 0, 0, 1, 1]
    model = DensityClassifier().fit(rows, labels)
    assert model.densities_[1].bandwidth_ == ParzenDensity().fit(rows).bandwidth_
    assert model.predict(rows).tolist() == labels
    with pytest.raises(DataError, match="the density of class 1 could not be fitted"):
        DensityClassifier(density="knn").fit(rows, labels)
    with pytest.raises(ParameterError, match="cannot be 'knn' with sample weights"):
        DensityClassifier(density="knn").fit(X, y, sample_weight=np.ones(len(y)))
