"""Spectral clustering: rings, moons, agreement with scikit-learn, eigenvectors by two routes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import diags, random_array
from scipy.sparse.linalg import eigsh
from sklearn.cluster import SpectralClustering

from assay.base import CostError, config
from assay.data import generators
from assay.evaluate import adjusted_rand
from assay.models.clustering import KMeans
from assay.models.graphs import Graph, Spectral
from assay.models.graphs.eigen import largest_eigenpairs


@pytest.mark.parametrize("shape", ["moons", "circles"])
@pytest.mark.parametrize("affinity", ["nearest-neighbours", "rbf"])
def test_shapes_where_k_means_fails(shape, affinity):
    frame = getattr(generators, shape)(300, noise=0.04, random_state=0).frame
    X, owner = frame[:, :2].to_numpy(), frame[:, 2].to_numpy()
    model = Spectral(2, affinity=affinity, n_neighbors=8, gamma=60.0, random_state=0).fit(X)
    assert adjusted_rand(owner, model.labels_) > 0.97
    assert adjusted_rand(owner, KMeans(2, random_state=0).fit(X).labels_) < 0.6


def test_the_same_graph_gives_the_clusters_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(m, 1.0, (120, 3)) for m in (0, 4, 8)])
    graph = Graph.of_rows(X, "knn", n_neighbors=12, weighted=False)
    ours = Spectral(3, affinity="precomputed", random_state=0).fit(graph.adjacency)
    theirs = SpectralClustering(3, affinity="precomputed", random_state=0).fit(graph.adjacency)
    assert adjusted_rand(theirs.labels_, ours.labels_) > 0.97
    assert ours.eigenvalues_[0] == pytest.approx(1.0) and (np.diff(ours.eigenvalues_) <= 1e-12).all()


def test_filtered_eigenpairs_are_those_of_lanczos():
    half = random_array((900, 900), density=0.01, random_state=np.random.default_rng(0))
    adjacency = half + half.T
    scale = diags(1 / np.sqrt(np.maximum(np.asarray(adjacency.sum(axis=1)).ravel(), 1e-9)))
    matrix = (scale @ adjacency @ scale).tocsr()
    values, vectors = largest_eigenpairs(matrix, 5, -1.0, 1.0, tol=1e-8)
    np.testing.assert_allclose(values, np.sort(eigsh(matrix, 5, which="LA")[0])[::-1], atol=1e-8)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-6)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-10)


def test_eigenpairs_of_a_full_matrix_are_exact_and_hold_all_of_an_eigenvalue():
    """Three blocks apart from each other, of more rows than the filter begins with: 1 comes three times."""
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(place, 1.0, (150, 2)) for place in (0.0, 1e3, 2e3)])
    graph = Graph.of_rows(X, "similarity", gamma=0.5)
    assert 2 * graph.adjacency.nnz > 450**2
    model = Spectral(3, affinity="rbf", gamma=0.5, random_state=0).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, 1.0, rtol=1e-12)
    assert model.labels_.tolist() == [0] * 150 + [1] * 150 + [2] * 150
    scale = diags(1 / np.sqrt(graph.degrees))
    matrix = (scale @ graph.adjacency @ scale).tocsr()
    values, vectors = largest_eigenpairs(matrix, 5, -1.0, 1.0)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix.toarray())[::-1][:5], atol=1e-13)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-13)


def test_components_are_clusters_and_all_pairs_are_announced():
    graph = Graph.from_edges([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)])
    labels = Spectral(2, affinity="precomputed", random_state=0).fit(graph.adjacency).labels_
    assert labels.tolist() == [0, 0, 0, 1, 1, 1]
    with config.use(max_bytes=2e6), pytest.raises(CostError, match="use affinity='nearest-neighbours'"):
        Spectral(2, affinity="rbf").fit(np.arange(2000.0)[:, None])
