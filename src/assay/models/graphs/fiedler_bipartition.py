"""Cutting a graph in two by the Fiedler vector, once or again and again."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import identity

from ...base import Cost, DataError, Integer, Nothing, param
from ...base.columns import renumber_by_first
from ...base.threads import one_blas_thread
from .eigen import largest_eigenpairs
from .graph import Graph
from .graph_clusterer import GraphClusterer


class FiedlerBipartition(GraphClusterer):
    """Cuts the graph in two so that little weight is cut, by the second eigenvector of the Laplacian.

    The cut of a partition s in {-1, 1}^N is s' L s / 4; letting s be any vector with the same length and sum gives
    lambda_2 n1 n2 / N, the relaxed cost, and the Fiedler vector. With `size` = n1 known, the n1 nodes at the end of
    the vector
    that cuts less are one part; else its signs decide. More clusters come one after the other: the part that is
    cheapest to cut (least lambda_2 n1 n2 / N) is cut next; parts that are not connected fall apart first.

    {parameters}

    Attributes
    ----------
    labels_, fiedler_vector_, lambda_2_ (of the first cut), relaxed_cost_, cut_ (weight between the labels)

    Examples
    --------
    >>> from assay.models.graphs import FiedlerBipartition, Graph
    >>> pairs = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)]
    >>> model = FiedlerBipartition(affinity="precomputed").fit(Graph.from_edges(pairs).adjacency)
    >>> model.labels_, model.cut_
    (array([0, 0, 0, 1, 1, 1], dtype=int32), 1.0)
    """

    _first = "n_clusters"

    n_clusters: int = param(2, Integer(1), "Parts to cut into, one after the other.")
    size: int | None = param(None, Integer(1) | Nothing(), "Nodes of one part of the first cut; None if not known.")

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Eigenvectors of a sparse matrix for each cut; n^2 memory for affinity='rbf'."""
        pairs = float(n_rows) ** 2 if self.affinity == "rbf" else 40.0 * n_rows
        return Cost(seconds=3e-6 * pairs * self.n_clusters, bytes=60.0 * pairs + 8.0 * n_rows * (n_features + 60))

    def fit(self, X: Any, y: Any = None) -> FiedlerBipartition:
        """Cut the graph; `y` is not used."""
        graph = self._graph(X)
        n = graph.n_nodes
        least = max(self.n_clusters, 1 if self.size is None else self.size + 1)
        if n < least:
            raise DataError(type(self).__name__, "X", f"must have at least {least} rows", f"got n_samples={n}")
        labels = np.zeros(n, dtype=np.int64)
        with one_blas_thread():
            self.lambda_2_, self.fiedler_vector_ = fiedler(graph)
            vector, share = self.fiedler_vector_, None
            parts = {0: (np.arange(n), self.lambda_2_, vector)}
            for step in range(1, self.n_clusters):
                weakest = min(parts, key=lambda c: _relaxed_cost(*parts[c][:2]))
                members, _, vector = parts[weakest]
                away = _side(_within(graph, members), vector, self.size if step == 1 else None)
                if share is None:
                    share = int(away.sum())
                labels[members[away]] = step
                for name, kept in ((weakest, members[~away]), (step, members[away])):
                    parts[name] = (kept, *fiedler(_within(graph, kept)))
        n1 = share if share is not None else n // 2
        self.relaxed_cost_ = self.lambda_2_ * n1 * (n - n1) / n
        self.labels_ = renumber_by_first(labels)
        self.cut_ = graph.cut(self.labels_)
        return self


def fiedler(graph: Graph) -> tuple[float, np.ndarray]:
    """The second smallest eigenvalue of the Laplacian and its vector; zeros for a single node.

    >>> value, vector = fiedler(Graph.from_edges([(0, 1), (1, 2)]))
    >>> round(value, 6), abs(vector.round(4))
    (1.0, array([0.7071, 0.    , 0.7071]))
    """
    n = graph.n_nodes
    if n < 2:
        return 0.0, np.zeros(n)
    components = graph.components()
    if components.max() > 0:
        inside = (components == 0).astype(np.float64)
        vector = inside - inside.mean()
        return 0.0, vector / np.linalg.norm(vector)
    top = 2.0 * float(graph.degrees.max())
    flipped = (top * identity(n, format="csr") - graph.laplacian()).tocsr()
    values, vectors = largest_eigenpairs(flipped, 2, 0.0, top, tol=1e-7, degree=40)
    return max(0.0, top - float(values[1])), vectors[:, 1]


def _relaxed_cost(members: np.ndarray, value: float) -> float:
    n = members.shape[0]
    return np.inf if n < 2 else value * (n // 2) * (n - n // 2) / n


def _within(graph: Graph, members: np.ndarray) -> Graph:
    return graph if members.shape[0] == graph.n_nodes else Graph(graph.adjacency[members][:, members].tocsr())


def _side(graph: Graph, vector: np.ndarray, size: int | None) -> np.ndarray:
    """Which nodes go to the other part."""
    if size is None:
        away = vector > 0
        if away.all() or not away.any():
            away = np.arange(vector.shape[0]) == int(np.argmax(vector))
        return away
    order = np.argsort(vector, kind="stable")
    sides = [np.isin(np.arange(vector.shape[0]), part) for part in (order[:size], order[-size:])]
    return min(sides, key=graph.cut)
