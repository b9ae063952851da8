"""Fiedler's cut: relaxed cost, sizes known or not, one cut after the other, disconnected graphs."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from assay.base import AssayError
from assay.evaluate import adjusted_rand
from assay.models.graphs import FiedlerBipartition, Graph
from assay.models.graphs.fiedler_bipartition import fiedler

BARBELL = nx.barbell_graph(6, 0)


def test_the_relaxed_cost_is_lambda_2_n1_n2_over_n_and_bounds_the_cut():
    """004 9.5."""
    model = FiedlerBipartition(affinity="precomputed").fit(BARBELL)
    value = np.sort(np.linalg.eigvalsh(nx.laplacian_matrix(BARBELL).toarray().astype(float)))[1]
    assert model.lambda_2_ == pytest.approx(value) and model.relaxed_cost_ == pytest.approx(value * 6 * 6 / 12)
    assert model.cut_ == 1.0 >= model.relaxed_cost_
    assert model.labels_.tolist() == [0] * 6 + [1] * 6


def test_the_fiedler_vector_is_an_eigenvector_without_a_mean():
    graph = Graph.of(nx.Graph(list(nx.karate_club_graph().edges)))
    value, vector = fiedler(graph)
    assert value == pytest.approx(nx.algebraic_connectivity(nx.Graph(list(nx.karate_club_graph().edges))), rel=1e-5)
    np.testing.assert_allclose(graph.laplacian() @ vector, value * vector, atol=1e-8)
    assert abs(vector.sum()) < 1e-9
    large = Graph.of(nx.grid_2d_graph(30, 20))
    assert fiedler(large)[0] == pytest.approx(2 - 2 * np.cos(np.pi / 30), rel=1e-5)


def test_known_sizes_are_kept_and_the_cheaper_end_is_taken():
    for size in (3, 6, 9):
        model = FiedlerBipartition(affinity="precomputed", size=size).fit(BARBELL)
        assert sorted(np.bincount(model.labels_)) == sorted([size, 12 - size])
    path = nx.path_graph(9)
    assert FiedlerBipartition(affinity="precomputed", size=2).fit(path).cut_ == 1.0
    with pytest.raises(AssayError, match="at least 13 rows"):
        FiedlerBipartition(affinity="precomputed", size=12).fit(BARBELL)


def test_cuts_follow_each_other():
    cliques = nx.disjoint_union_all([nx.complete_graph(5) for _ in range(4)])
    cliques.add_edges_from([(4, 5), (9, 10), (14, 15)])
    labels = FiedlerBipartition(4, affinity="precomputed").fit(cliques).labels_
    assert adjusted_rand(np.repeat(np.arange(4), 5), labels) == 1.0


def test_parts_that_do_not_hang_together_fall_apart_first():
    graph = Graph.from_edges([(0, 1), (1, 2), (3, 4)])
    model = FiedlerBipartition(affinity="precomputed").fit(graph.adjacency)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1] and model.cut_ == 0.0 and model.lambda_2_ == 0.0
