"""Graphs: the identities of their matrices, ways to make them, dynamics, distances, drawing."""

from __future__ import annotations

import igraph
import networkx as nx
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

from assay import _kernels
from assay.base import AssayError, AssayWarning, DataError
from assay.models.graphs import Graph, GraphDrawing

KARATE = Graph.of(nx.Graph(list(nx.karate_club_graph().edges)))


def weighted(n: int = 30, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    pairs = rng.integers(n, size=(4 * n, 2))
    return Graph.from_edges(pairs, rng.uniform(0.1, 2.0, size=4 * n), n)


@pytest.mark.parametrize("graph", [KARATE, weighted()])
def test_identities_of_the_course(graph):
    """004 9.5: L 1 = 0, B'B = L, s'Ls/4 is the cut."""
    L, B = graph.laplacian(), graph.incidence()
    np.testing.assert_allclose(L @ np.ones(graph.n_nodes), 0.0, atol=1e-12)
    np.testing.assert_allclose((B.T @ B).toarray(), L.toarray(), atol=1e-12)
    s = np.where(np.random.default_rng(1).random(graph.n_nodes) < 0.4, 1.0, -1.0)
    assert s @ (L @ s) / 4 == pytest.approx(graph.cut(s))
    f = np.random.default_rng(2).normal(size=graph.n_nodes)
    pairs, weights = graph.edges()
    assert f @ (L @ f) == pytest.approx((weights * (f[pairs[:, 0]] - f[pairs[:, 1]]) ** 2).sum())


def test_three_laplacians_are_those_of_networkx():
    plain = nx.Graph(list(nx.karate_club_graph().edges))
    np.testing.assert_allclose(KARATE.laplacian().toarray(), nx.laplacian_matrix(plain).toarray())
    normal = nx.normalized_laplacian_matrix(plain).toarray()
    np.testing.assert_allclose(KARATE.laplacian("normalised").toarray(), normal, atol=1e-12)
    walk = KARATE.laplacian("random-walk").toarray()
    np.testing.assert_allclose(np.sort(np.linalg.eigvals(walk).real), np.linalg.eigvalsh(normal), atol=1e-9)
    with pytest.raises(AssayError, match="parameter 'kind' must be one of 'combinatorial'"):
        KARATE.laplacian("other")


def test_a_disconnected_graph_has_a_laplacian_of_blocks():
    graph = Graph.from_edges([(0, 1), (1, 2), (3, 4)], n_nodes=6)
    L = graph.laplacian().toarray()
    assert not L[:3, 3:].any() and not L[5].any()
    assert (np.abs(np.linalg.eigvalsh(L)) < 1e-12).sum() == 3 == graph.components().max() + 1


def test_other_libraries_graphs_are_taken():
    edges = [(0, 1), (1, 2), (2, 3), (3, 0)]
    wanted = Graph.from_edges(edges, [1.0, 2.0, 3.0, 4.0]).adjacency.toarray()
    ig = igraph.Graph(edges=edges)
    ig.es["weight"] = [1.0, 2.0, 3.0, 4.0]
    net = nx.Graph()
    net.add_weighted_edges_from([(a, b, w) for (a, b), w in zip(edges, [1.0, 2.0, 3.0, 4.0])])
    for given in (ig, net, csr_matrix(wanted), wanted):
        np.testing.assert_array_equal(Graph.of(given).adjacency.toarray(), wanted)
    with pytest.raises(AssayError, match="must be symmetric"):
        Graph.of([[0.0, 1.0], [0.0, 0.0]])
    with pytest.raises(AssayError, match="must be positive"):
        Graph.of([[0.0, -1.0], [-1.0, 0.0]])


def test_graphs_of_rows():
    X = np.random.default_rng(0).normal(size=(60, 3))
    D = cdist(X, X)
    off = ~np.eye(60, dtype=bool)
    ball = Graph.of_rows(X, "ball", radius=1.2, weighted=False).adjacency.toarray() > 0
    np.testing.assert_array_equal(ball, (D <= 1.2) & off)
    near = np.argsort(D, axis=1)[:, 1:6]
    knn = np.zeros((60, 60), dtype=bool)
    knn[np.repeat(np.arange(60), 5), near.ravel()] = True
    np.testing.assert_array_equal(Graph.of_rows(X, "knn", n_neighbors=5).adjacency.toarray() > 0, knn | knn.T)
    full = Graph.of_rows(X, "similarity", gamma=0.3).adjacency.toarray()
    np.testing.assert_allclose(full[off], np.exp(-0.3 * D[off] ** 2))
    cut = Graph.of_rows(X, "threshold", gamma=0.3, threshold=0.6).adjacency.toarray()
    np.testing.assert_array_equal(cut > 0, (full >= 0.6) & off)
    tree = Graph.of_rows(X, "mst", weighted=False)
    assert tree.n_edges == 59 and tree.components().max() == 0
    pairs, _ = tree.edges()
    assert D[pairs[:, 0], pairs[:, 1]].sum() == pytest.approx(minimum_spanning_tree(D).sum())
    relaxed = Graph.of_rows(X, "relaxed-mst", relax=1.3, weighted=False)
    assert relaxed.n_edges > 59 and (relaxed.adjacency - tree.adjacency).min() >= 0
    exact = Graph.of_rows(X, "relaxed-mst", relax=1.0, weighted=False)
    np.testing.assert_array_equal(exact.adjacency.toarray(), tree.adjacency.toarray())
    with pytest.raises(AssayError, match="parameter 'kind' must be"):
        Graph.of_rows(X, "web")


def test_heat_and_random_walks():
    graph = weighted(12)
    start = np.random.default_rng(0).dirichlet(np.ones(12))
    heat = graph.heat(start, 0.7)
    np.testing.assert_allclose(heat, expm(-0.7 * graph.laplacian().toarray()) @ start, atol=1e-10)
    assert heat.sum() == pytest.approx(start.sum())
    still = graph.stationary()
    np.testing.assert_allclose(graph.random_walk(still, 3), still, atol=1e-12)
    np.testing.assert_allclose(graph.random_walk(start, 2000), still, atol=1e-3)
    assert Graph.from_edges([], n_nodes=2).random_walk([1.0, 0.0], 5).tolist() == [1.0, 0.0]


def test_geodesics_and_modularity_are_those_of_networkx():
    plain = nx.Graph(list(nx.karate_club_graph().edges))
    hops = KARATE.geodesics(lengths="hops")
    wanted = dict(nx.all_pairs_shortest_path_length(plain))
    places = list(plain.nodes)
    assert all(hops[i, j] == wanted[a][b] for i, a in enumerate(places) for j, b in enumerate(places))
    labels = np.arange(34) % 3
    groups = [{places[i] for i in np.flatnonzero(labels == c)} for c in range(3)]
    for resolution in (1.0, 1.7):
        found = KARATE.modularity(labels, resolution)
        assert found == pytest.approx(nx.community.modularity(plain, groups, resolution=resolution))
    graph = Graph.from_edges([(0, 1), (1, 2)], [2.0, 4.0])
    assert graph.geodesics()[0, 2] == 0.75 and graph.geodesics(lengths="weight", sources=[0])[0, 2] == 6.0


def test_drawing_shows_every_node_and_edge():
    drawing = GraphDrawing.of(KARATE, np.arange(34) % 2)
    svg = drawing.to_svg()
    assert svg.count("<circle") == 34 and svg.count("<line") == KARATE.n_edges
    assert "34 nodes and 78 edges" in drawing.how_to_read
    np.testing.assert_array_equal(drawing.places, GraphDrawing.of(KARATE).places)


def test_edges_by_name_with_weights_and_loops_are_told():
    graph = Graph.from_edges([("b", "a", 2.5), ("a", "c", 1.0)])
    assert graph.names == ("a", "b", "c") and graph.adjacency[0, 1] == 2.5
    with pytest.warns(AssayWarning, match="1 edge from a node to itself left out"):
        assert Graph.from_edges([(0, 0), (0, 1)]).n_edges == 1
    for wrong in ([(0, 1.5)], [("a", "b", "c", "d")], [(0, 1), (1,)]):
        with pytest.raises(DataError, match="pairs of whole numbers or of names"):
            Graph.from_edges(wrong)


def test_the_quick_look_at_a_matrix_refuses_all_that_is_no_plain_graph():
    plain = weighted(40).adjacency
    plain.sort_indices()

    def looks(change) -> bool:
        start, to, weight = plain.indptr.astype(np.int64), plain.indices.astype(np.int32), plain.data.copy()
        start, to, weight = change(start, to.copy(), weight) or (start, to, weight)
        return _kernels.is_plain_graph(start, to, weight)

    def without_an_edge(start, to, weight):
        return np.r_[start[:1], start[1:] - 1], to[1:], weight[1:]

    def swapped(start, to, weight):
        to[:2], weight[:2] = to[1::-1].copy(), weight[1::-1].copy()

    def other_weight(start, to, weight):
        weight[0] *= 1 + 1e-6

    def negative(start, to, weight):
        weight[:] = -weight

    def missing(start, to, weight):
        weight[3] = np.nan

    assert looks(lambda *parts: None)
    for change in (without_an_edge, swapped, other_weight, negative, missing):
        assert not looks(change), change.__name__
    with_loop = csr_matrix(plain.toarray() + np.eye(40))
    assert not _kernels.is_plain_graph(with_loop.indptr.astype(np.int64), with_loop.indices, with_loop.data)


def test_a_matrix_that_comes_in_is_left_as_it_was():
    given = csr_matrix(weighted(12).adjacency.toarray() + np.eye(12))
    before = given.toarray()
    assert Graph.of(given).adjacency.diagonal().sum() == 0.0
    np.testing.assert_array_equal(given.toarray(), before)


@pytest.mark.parametrize("n", [1, 2, 3, 40])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("gamma", [None, 0.7])
def test_all_pairs_are_the_graph_of_its_edges(n, weighted, gamma):
    X = np.random.default_rng(n).normal(size=(n, 3))
    X[n // 2] = X[0]
    first, second = np.triu_indices(n, 1)
    away = np.sqrt(((X[first] - X[second]) ** 2).sum(axis=1))
    width = gamma or 0.5 / (np.median(away) ** 2 if n > 2 else 1.0)
    weights = np.exp(-width * away**2) if weighted else np.ones(len(away))
    edges = Graph.from_edges(np.column_stack([first, second]), weights, n).adjacency
    made = Graph.of_rows(X, "similarity", gamma=gamma, weighted=weighted).adjacency
    np.testing.assert_array_equal(made.indptr, edges.indptr)
    np.testing.assert_array_equal(made.indices, edges.indices)
    np.testing.assert_allclose(made.data, edges.data, rtol=1e-12)
