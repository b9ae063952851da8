"""The distance policies against SciPy and against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from assay.models.neighbours import KNNRegressor
from assay.numeric.distances import METRICS, Minkowski, get

REFERENCES = {
    "euclidean": {"metric": "euclidean"},
    "manhattan": {"metric": "cityblock"},
    "minkowski": {"metric": "minkowski", "p": 2.5},
    "chebyshev": {"metric": "chebyshev"},
    "hamming": {"metric": "hamming"},
    "cosine": {"metric": "cosine"},
    "mahalanobis": {"metric": "mahalanobis"},
}


def all_distances(metric: str, X: np.ndarray, queries: np.ndarray, **parameters) -> np.ndarray:
    """The full distance matrix, put back in row order."""
    model = KNNRegressor(n_neighbors=X.shape[0], metric=metric, **parameters).fit(X, np.zeros(X.shape[0]))
    distances, rows = model.kneighbors(queries)
    full = np.empty_like(distances)
    np.put_along_axis(full, rows, distances, axis=1)
    return full


@pytest.mark.parametrize("metric", REFERENCES)
@pytest.mark.parametrize("n_features", [1, 5, 33])
def test_distances_equal_scipy(metric, n_features):
    """Reference: scipy.spatial.distance.cdist (Mahalanobis with the covariance of the training rows)."""
    rng = np.random.default_rng(n_features)
    X, queries = rng.normal(size=(70, n_features)), rng.normal(size=(9, n_features))
    if metric == "hamming":
        X, queries = np.round(X), np.round(queries)
    extra = dict(REFERENCES[metric])
    if metric == "mahalanobis":
        extra["VI"] = np.linalg.inv(np.atleast_2d(np.cov(X, rowvar=False)))
    found = all_distances(metric, X, queries, p=2.5)
    np.testing.assert_allclose(found, cdist(queries, X, **extra), rtol=1e-9, atol=1e-12)


def test_jaccard_and_matching_by_counting():
    rng = np.random.default_rng(0)
    X, queries = rng.integers(0, 2, size=(40, 7)), rng.integers(0, 2, size=(6, 7))
    queries[0], X[0] = 0, 0
    differ = (X[None] != queries[:, None]).sum(axis=2)
    either = ((X[None] + queries[:, None]) > 0).sum(axis=2)
    np.testing.assert_allclose(all_distances("matching", X * 3.0, queries * -2.0), differ / 7)
    np.testing.assert_allclose(all_distances("jaccard", X, queries), differ / np.maximum(either, 1))
    assert all_distances("jaccard", X, queries)[0, 0] == 0.0


def test_mahalanobis_does_not_change_under_linear_maps():
    rng = np.random.default_rng(4)
    X, queries, turn = rng.normal(size=(50, 3)), rng.normal(size=(5, 3)), rng.normal(size=(3, 3))
    np.testing.assert_allclose(
        all_distances("mahalanobis", X, queries), all_distances("mahalanobis", X @ turn, queries @ turn), rtol=1e-8
    )


def test_mahalanobis_leaves_out_directions_without_spread():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 2))
    doubled = np.column_stack([X, X[:, 0], np.ones(50)])
    np.testing.assert_allclose(
        all_distances("mahalanobis", doubled, doubled[:5]), all_distances("mahalanobis", X, X[:5]), atol=1e-6
    )


def test_cosine_ignores_length_and_puts_zeros_at_distance_one():
    rng = np.random.default_rng(6)
    X, queries = rng.normal(size=(20, 4)), rng.normal(size=(4, 4))
    X[7] = 0.0
    found = all_distances("cosine", X, queries)
    np.testing.assert_array_equal(found[:, 7], 1.0)
    np.testing.assert_allclose(all_distances("cosine", X * 1e200, queries * 1e-200), found, atol=1e-14)
    np.testing.assert_array_equal(all_distances("cosine", X, np.zeros((1, 4)))[0], 1.0)


def test_mixed_is_the_mean_over_the_known_columns():
    """By definition, with a loop: ranges from the training rows, queries outside count as the nearest end."""
    rng = np.random.default_rng(8)
    X = np.column_stack([rng.normal(size=(30, 2)), rng.integers(0, 3, size=(30, 2)).astype(float), np.full(30, 2.0)])
    X[rng.random(X.shape) < 0.2] = np.nan
    queries = X[:6] * 1.5
    queries[:, 2:4] = rng.integers(0, 4, size=(6, 2))
    nominal = np.array([False, False, True, True, False])
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    expected = np.ones((6, 30))
    for a, query in enumerate(queries):
        for b, row in enumerate(X):
            terms = []
            for j in range(5):
                if np.isnan(query[j]) or np.isnan(row[j]):
                    continue
                if nominal[j]:
                    terms.append(float(query[j] != row[j]))
                else:
                    span = high[j] - low[j]
                    terms.append(abs(np.clip(query[j], low[j], high[j]) - row[j]) / span if span > 0 else 0.0)
            expected[a, b] = np.mean(terms) if terms else 1.0
    found = all_distances("mixed", X, queries, categorical_features=[2, 3])
    np.testing.assert_allclose(found, expected, atol=1e-14)


@pytest.mark.parametrize("metric", sorted(METRICS))
@pytest.mark.parametrize("radius", [0.0, 0.1, 1.0, 3.3, 7e10])
def test_reduced_radius_is_the_last_value_inside(metric, radius):
    distance = get(metric, 2.7)
    reach = distance.reduce_radius(radius)
    assert distance.finish(np.array([reach]))[0] <= radius
    assert distance.finish(np.array([np.nextafter(reach, np.inf)]))[0] > radius


def test_minkowski_with_one_and_two_is_the_plain_metric():
    assert type(get("minkowski", 1)).__name__ == "Manhattan"
    assert type(get("minkowski", 2)).__name__ == "Euclidean"
    assert isinstance(get("minkowski", 3), Minkowski)
