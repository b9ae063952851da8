"""What clusterings of graphs share: a table becomes a graph of near rows, or a graph comes as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ...base import Choice, Clusterer, Integer, Nothing, Real, n_jobs_param, param
from ..clustering.views import Clusters, clusters_view
from .drawing import GraphDrawing
from .graph import Graph


class GraphClusterer(Clusterer):
    """Base of clusterings of graphs."""

    _squares = True

    affinity: str = param(
        "nearest-neighbours",
        Choice("nearest-neighbours", "rbf", "precomputed"),
        "Edges between near rows, between all rows, or X is a graph: a square matrix, sparse or not, NetworkX or "
        "igraph.",
    )
    n_neighbors: int | None = param(
        None, Integer(1) | Nothing(), "Neighbours of a row; None for twice the root of the rows, 10 to 30 of them."
    )
    gamma: float | None = param(
        None, Real(0, None, "neither") | Nothing(), "Weights are exp(-gamma d^2); None to fit the median distance."
    )
    n_jobs: int | None = n_jobs_param()

    def _graph(self, X: Any) -> Graph:
        """The graph of a fit, with parameters and cost checked."""
        self._check_parameters()
        if self.affinity == "precomputed":
            plain = X if issparse(X) or hasattr(X, "nodes") or hasattr(X, "vs") else self._read(X, reset=True)
            graph = Graph.of(plain, type(self).__name__)
            self.n_features_in_ = graph.n_nodes
            self._check_cost(graph.n_nodes, max(1, 2 * graph.n_edges // max(graph.n_nodes, 1)))
            return graph
        rows, _ = self._begin(X)
        if self.affinity == "rbf":
            return Graph.of_rows(rows, "similarity", gamma=self.gamma, n_jobs=self.n_jobs)
        near = self.n_neighbors or int(np.clip(2 * np.sqrt(rows.shape[0]), 10, 30))
        return Graph.of_rows(rows, "knn", n_neighbors=near, gamma=self.gamma, n_jobs=self.n_jobs)

    def view(self) -> Clusters:
        """Sizes of the clusters."""
        check_is_fitted(self)
        return clusters_view(self)

    def draw(self, X: Any) -> GraphDrawing:
        """The graph of X with its clusters."""
        check_is_fitted(self)
        return GraphDrawing.of(self._graph(X), self.labels_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags
