"""Densities by neighbours: the formula, its smoothed form, ties and equal rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal

from assay.base import DataError
from assay.models.density import KNNDensity


def rows(n=400, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def radius(X, queries, k):
    return np.sort(cdist(queries, X), axis=1)[:, k - 1]


@pytest.mark.parametrize(("d", "ball"), [(1, 2.0), (2, np.pi), (3, 4 / 3 * np.pi)])
def test_the_density_is_k_rows_in_their_ball(d, ball):
    X, queries = rows(d=d), rows(30, d, seed=1)
    expected = 7 / (len(X) * ball * radius(X, queries, 7) ** d)
    np.testing.assert_allclose(np.exp(KNNDensity(7).fit(X).score_samples(queries)), expected, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
def test_the_smoothed_density_has_the_bandwidth_of_the_place(kernel):
    X, queries = rows(d=2), rows(30, 2, seed=1)
    r = radius(X, queries, 9)[:, None]
    u = (cdist(queries, X) / r) ** 2
    shape = np.exp(-u / 2) / (2 * np.pi) if kernel == "gaussian" else np.maximum(0, 1 - u) * 2 / np.pi
    expected = (shape / r**2).mean(axis=1)
    found = np.exp(KNNDensity(9, kernel=kernel).fit(X).score_samples(queries))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_metric_of_the_covariance_makes_units_irrelevant():
    X, queries = rows(), rows(30, seed=1)
    units = np.array([1000.0, 0.01])
    one = KNNDensity(metric="mahalanobis").fit(X).score_samples(queries)
    other = KNNDensity(metric="mahalanobis").fit(X * units).score_samples(queries * units)
    np.testing.assert_allclose(other, one - np.log(units).sum(), rtol=1e-9)


def test_it_comes_near_the_truth_and_k_follows_the_rows():
    X, queries = rows(10_000), 0.5 * rows(200, seed=1)
    model = KNNDensity(kernel="gaussian").fit(X)
    truth = multivariate_normal.logpdf(queries, np.zeros(2))
    assert np.abs(model.score_samples(queries) - truth).mean() < 0.15
    assert model.chosen() == {"k": 100}


def test_equal_rows_give_a_finite_density_and_too_few_a_sentence():
    X = np.repeat(rows(20), 30, axis=0)
    assert np.isfinite(KNNDensity(5).fit(X).score_samples(X)).all()
    with pytest.raises(DataError, match="n_neighbors=30 needs at least that many training rows"):
        KNNDensity(30).fit(rows(20))
    assert "<svg" in KNNDensity().fit(rows()).view().to_svg()
    for same in (np.ones((5, 2)), np.ones((1, 2))):
        with pytest.raises(DataError, match="must vary; .*; give rows that differ"):
            KNNDensity(1).fit(same)
