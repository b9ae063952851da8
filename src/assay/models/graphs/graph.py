"""Weighted undirected graphs: made of tables or of other libraries' graphs, with their matrices and their dynamics."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix, diags, identity, issparse
from scipy.sparse.csgraph import connected_components, shortest_path
from scipy.sparse.linalg import expm_multiply

from ... import _kernels
from ...base import AssayWarning, DataError, ParameterError, plain, thread_count
from ...base.guard import sound_sparse
from ...base.words import count
from ...numeric.distances import get
from ...numeric.neighbours import NeighbourIndex

_LEAST = 1e-300
"""The least weight of an edge: a weight of zero would be no edge."""
LAPLACIANS = ("combinatorial", "random-walk", "normalised")


@dataclass(frozen=True)
class Graph:
    """An undirected graph without loops: a symmetric sparse matrix of positive weights, and names of the nodes.

    >>> path = Graph.of([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> path.degrees, path.n_edges
    (array([1., 2., 1.]), 2)
    """

    adjacency: csr_matrix
    names: tuple[str, ...] = ()

    # -- making ----------------------------------------------------------------------------------------------
    @classmethod
    def of(cls, given: Any, who: str = "Graph") -> Graph:
        """A graph from a Graph, a square matrix (dense or sparse), a NetworkX or an igraph graph."""
        if isinstance(given, Graph):
            return given
        if hasattr(given, "get_edgelist"):  # igraph
            pairs = np.array(given.get_edgelist(), dtype=np.int64).reshape(-1, 2)
            weights = given.es["weight"] if "weight" in given.es.attributes() else np.ones(len(pairs))
            names = given.vs["name"] if "name" in given.vs.attributes() else range(given.vcount())
            return cls.from_edges(pairs, weights, given.vcount(), tuple(map(str, names)), who)
        if hasattr(given, "adjacency") and hasattr(given, "nodes"):  # NetworkX
            place = {node: i for i, node in enumerate(given.nodes)}
            edges = [(place[a], place[b], float(w)) for a, b, w in given.edges(data="weight", default=1.0)]
            pairs = np.array([edge[:2] for edge in edges], dtype=np.int64).reshape(-1, 2)
            return cls.from_edges(pairs, [edge[2] for edge in edges], len(place), tuple(map(str, place)), who)
        matrix = csr_matrix(sound_sparse(who, given)) if issparse(given) else _dense(given, who)
        return cls(_checked(matrix, who))

    @classmethod
    def from_edges(
        cls,
        pairs: Any,
        weights: Any = None,
        n_nodes: int | None = None,
        names: tuple[str, ...] = (),
        who: str = "Graph",
    ) -> Graph:
        """A graph of edges (a, b) or (a, b, weight) between numbers or names; edges that come twice add their weights,
        and loops are left out with a warning.

        >>> Graph.from_edges([(0, 1), (1, 2), (1, 0)]).adjacency[0, 1]
        np.float64(2.0)
        >>> Graph.from_edges([("b", "a", 2.5)]).names
        ('a', 'b')
        """
        ends, names, weights = _ends(who, pairs, names, weights)
        values = np.ones(len(ends)) if weights is None else np.asarray(weights, dtype=np.float64)
        n = int(ends.max(initial=-1)) + 1 if n_nodes is None else n_nodes
        if len(values) != len(ends) or (len(ends) and (ends.min() < 0 or ends.max() >= n)):
            raise DataError(who, "the edges", f"must join nodes 0 to {n - 1}, with one weight each")
        kept = ends[:, 0] != ends[:, 1]
        if not kept.all():
            loops = count(int((~kept).sum()), "edge")
            warnings.warn(AssayWarning("W209", f"{who}: {loops} from a node to itself left out."), stacklevel=2)
        a, b, w = ends[kept, 0], ends[kept, 1], values[kept]
        both = coo_matrix((np.r_[w, w], (np.r_[a, b], np.r_[b, a])), shape=(n, n))
        return cls(_checked(both.tocsr(), who, symmetric=True), names)

    @classmethod
    def of_rows(
        cls,
        rows: Any,
        kind: str = "knn",
        *,
        n_neighbors: int = 10,
        radius: float = 1.0,
        threshold: float = 0.5,
        gamma: float | None = None,
        relax: float = 1.5,
        weighted: bool = True,
        n_jobs: int | None = None,
    ) -> Graph:
        """A graph of a table's rows.

        `kind` is "similarity" (every pair), "threshold" (similarity at least `threshold`), "ball" (distance at most
        `radius`), "knn" (one of the two is among the other's `n_neighbors` nearest), "mst" (minimum spanning tree) or
        "relaxed-mst" (pairs no farther than `relax` times the longest edge on the path between them in that tree).
        Weights are exp(-gamma d^2), or 1 unless `weighted`; gamma is one over twice the squared median distance of a
        kept pair if None.

        >>> rows = np.array([[0.0], [1.0], [5.0]])
        >>> Graph.of_rows(rows, "mst").n_edges, Graph.of_rows(rows, "ball", radius=1.0).n_edges
        (2, 1)
        """
        table = np.ascontiguousarray(np.asarray(rows, dtype=np.float64))
        if kind == "similarity":
            return cls._complete(table, gamma, weighted, thread_count(n_jobs))
        pairs, distances = _pairs(table, kind, n_neighbors, radius, threshold, gamma, relax, thread_count(n_jobs))
        weights = _weights(distances, gamma) if weighted else np.ones(len(pairs))
        return cls.from_edges(pairs, weights, len(table))

    @classmethod
    def _complete(cls, rows: np.ndarray, gamma: float | None, weighted: bool, threads: int) -> Graph:
        """Every pair of rows: as each node has all the others, nothing is sorted."""
        n = rows.shape[0]
        nodes = np.arange(n, dtype=np.int32)
        others = np.empty((n, max(n - 1, 0)), dtype=np.int32)
        # Row i without its own place: below the diagonal the numbers as they are, from there on the next ones.
        others[:] = nodes[:-1]
        others += others >= nodes[:, None]
        if weighted:
            weights = similarities(rows, gamma, threads).ravel()[1:].reshape(n - 1, n + 1)[:, :-1].reshape(-1)
        else:
            weights = np.ones(others.size)
        start = np.arange(n + 1) * (n - 1)
        return cls(_checked(csr_matrix((weights, others.ravel(), start), shape=(n, n)), cls.__name__, symmetric=True))

    # -- sizes and matrices ------------------------------------------------------------------------------------
    @property
    def n_nodes(self) -> int:
        """Nodes."""
        return self.adjacency.shape[0]

    @property
    def n_edges(self) -> int:
        """Edges, each counted once."""
        return self.adjacency.nnz // 2

    @property
    def degrees(self) -> np.ndarray:
        """The sum of the weights at each node."""
        return np.asarray(self.adjacency.sum(axis=1)).ravel()

    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of nodes (the smaller first) and weights."""
        upper = coo_matrix(self.adjacency)
        kept = upper.row < upper.col
        return np.column_stack([upper.row[kept], upper.col[kept]]), upper.data[kept]

    def incidence(self) -> csr_matrix:
        """B with a row for each edge: sqrt(weight) at one end and -sqrt(weight) at the other, so that B'B = L."""
        pairs, weights = self.edges()
        rows = np.repeat(np.arange(len(pairs)), 2)
        values = np.column_stack([np.sqrt(weights), -np.sqrt(weights)]).ravel()
        return csr_matrix((values, (rows, pairs.ravel())), shape=(len(pairs), self.n_nodes))

    def laplacian(self, kind: str = "combinatorial") -> csr_matrix:
        """D - A, I - A/D (random walk) or I - D^-1/2 A D^-1/2 (normalised); a node without edges has a row of zeros.

        >>> Graph.from_edges([(0, 1)]).laplacian().toarray()
        array([[ 1., -1.],
               [-1.,  1.]])
        """
        if kind not in LAPLACIANS:
            rule = "must be one of " + ", ".join(map(repr, LAPLACIANS))
            raise ParameterError("Graph.laplacian", "parameter 'kind'", rule, f"got {kind!r}")
        degrees = self.degrees
        if kind == "combinatorial":
            return csr_matrix(diags(degrees) - self.adjacency)
        alive = diags((degrees > 0).astype(np.float64))
        safe = np.where(degrees > 0, degrees, 1.0)
        if kind == "random-walk":
            return csr_matrix(alive - diags(1 / safe) @ self.adjacency)
        scale = diags(1 / np.sqrt(safe))
        return csr_matrix(alive - scale @ self.adjacency @ scale)

    def components(self) -> np.ndarray:
        """The number of the connected component of each node."""
        return connected_components(self.adjacency, directed=False)[1]

    # -- dynamics and distances ------------------------------------------------------------------------------
    def heat(self, start: Any, time: float) -> np.ndarray:
        """The solution of du/dt = -L u at `time`, from u = start: exp(-t L) start; its sum does not change.

        >>> Graph.from_edges([(0, 1)]).heat([1.0, 0.0], 100.0).round(6)
        array([0.5, 0.5])
        """
        return expm_multiply(-float(time) * self.laplacian(), np.asarray(start, dtype=np.float64))

    def random_walk(self, start: Any, steps: int = 1) -> np.ndarray:
        """Where a walker is after some steps to neighbours drawn by weight; a node without edges holds it.

        >>> Graph.from_edges([(0, 1), (1, 2)]).random_walk([1.0, 0.0, 0.0], 2)
        array([0.5, 0. , 0.5])
        """
        move = (identity(self.n_nodes, format="csr") - self.laplacian("random-walk")).T.tocsr()
        chances = np.asarray(start, dtype=np.float64)
        for _ in range(steps):
            chances = move @ chances
        return chances

    def stationary(self) -> np.ndarray:
        """The chances that a step of the random walk does not change: degrees over their sum."""
        degrees = self.degrees
        return degrees / degrees.sum() if degrees.any() else np.full(self.n_nodes, 1.0 / self.n_nodes)

    def geodesics(self, *, lengths: str = "inverse", sources: Any = None) -> np.ndarray:
        """Shortest paths between all nodes, or from `sources`; infinite between components.

        The length of an edge is one over its weight, the weight itself ("weight") or 1 ("hops").

        >>> Graph.from_edges([(0, 1), (1, 2)]).geodesics(lengths="hops")[0]
        array([0., 1., 2.])
        """
        matrix = self.adjacency.copy()
        if lengths == "inverse":
            matrix.data = 1.0 / matrix.data
        elif lengths not in ("weight", "hops"):
            rule = "must be 'inverse', 'weight' or 'hops'"
            raise ParameterError("Graph.geodesics", "parameter 'lengths'", rule, f"got {lengths!r}")
        return shortest_path(matrix, directed=False, unweighted=lengths == "hops", indices=sources)

    def cut(self, labels: Any) -> float:
        """The weight of the edges between different labels."""
        pairs, weights = self.edges()
        codes = np.asarray(labels)
        return float(weights[codes[pairs[:, 0]] != codes[pairs[:, 1]]].sum())

    def modularity(self, labels: Any, resolution: float = 1.0) -> float:
        """How much more weight lies within labels than chance would put there (Newman & Girvan, 2004).

        >>> pairs = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)]
        >>> round(Graph.from_edges(pairs).modularity([0, 0, 0, 1, 1, 1]), 4)
        0.3571
        """
        codes = np.unique(np.asarray(labels), return_inverse=True)[1].ravel().astype(np.int32)
        if codes.shape[0] != self.n_nodes:
            raise DataError("Graph.modularity", "labels", f"must have one value for each of {self.n_nodes} nodes")
        return float(_kernels.modularity(*self.arrays(), codes, float(resolution)))

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Starts, ends and weights of the edges of each node, as the kernels take them."""
        return _arrays(self.adjacency)


def _ends(who: str, pairs: Any, names: tuple[str, ...], weights: Any) -> tuple[np.ndarray, tuple[str, ...], Any]:
    """Edges as pairs of whole numbers, the names of the nodes, and the weights."""
    if not isinstance(pairs, np.ndarray):
        pairs = list(pairs)
        if weights is None and pairs and all(len(pair) == 3 for pair in pairs):
            weights, pairs = [pair[2] for pair in pairs], [pair[:2] for pair in pairs]
    try:
        cells = np.asarray(pairs)
        if cells.size and cells.shape[1:] != (2,):
            raise ValueError("no pairs")
        cells = cells.reshape(-1, 2)
        if cells.dtype.kind in "US":
            labels, ends = np.unique(cells, return_inverse=True)
            return ends.reshape(-1, 2).astype(np.int64), tuple(map(str, labels)), weights
        ends = cells.astype(np.int64)
        whole = not cells.size or bool((ends == cells).all())
    except (TypeError, ValueError):
        whole = False
    if not whole:
        rule = "must be pairs of whole numbers or of names, with a weight behind them or none"
        raise DataError(who, "the edges", rule, f"got {plain(repr(pairs[:2]), 60)}")
    return ends, names, weights


def _dense(given: Any, who: str) -> csr_matrix:
    cells = np.asarray(given, dtype=np.float64)
    if cells.ndim != 2 or cells.shape[0] != cells.shape[1]:
        raise DataError(who, "a graph", "must be a square matrix, a sparse one, or a NetworkX or igraph graph")
    return csr_matrix(cells)


def _arrays(matrix: csr_matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Starts, targets and weights; what has the right type is not copied."""
    edges = int(matrix.indptr[-1])
    parts = ((matrix.indptr, np.int64), (matrix.indices[:edges], np.int32), (matrix.data[:edges], np.float64))
    start, to, weight = (np.ascontiguousarray(part, dtype=kind) for part, kind in parts)
    return start, to, weight


def _checked(matrix: csr_matrix, who: str, symmetric: bool = False) -> csr_matrix:
    """A symmetric matrix of positive weights without loops."""
    if matrix.shape[0] != matrix.shape[1]:
        raise DataError(who, "a graph", "must be a square matrix", f"got shape {matrix.shape}")
    if _kernels.is_plain_graph(*_arrays(matrix)):
        return csr_matrix(matrix, dtype=np.float64)
    matrix = csr_matrix(matrix, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    if not symmetric:
        matrix.setdiag(0.0)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    if matrix.nnz and not (np.isfinite(matrix.data).all() and matrix.data.min() > 0):
        raise DataError(who, "the weights of a graph", "must be positive and finite", f"least {matrix.data.min():g}")
    if not symmetric and abs(matrix - matrix.T).max() > 1e-12 * (abs(matrix).max() if matrix.nnz else 0.0):
        way_out = "use (A + A.T) / 2"
        raise DataError(who, "the matrix of a graph", "must be symmetric", "its two halves differ", way_out)
    return matrix


def _pairs(
    rows: np.ndarray,
    kind: str,
    n_neighbors: int,
    radius: float,
    threshold: float,
    gamma: float | None,
    relax: float,
    threads: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of rows that get an edge, each once, and their distances."""
    n = rows.shape[0]
    if kind == "knn":
        k = min(n_neighbors, n - 1)
        if k < 1:
            return np.empty((0, 2), dtype=np.int64), np.empty(0)
        found, away = NeighbourIndex(rows, get("euclidean"), threads=threads).nearest_to_itself(k, threads)
        pairs = np.column_stack([np.repeat(np.arange(n), k), found.ravel()])
        return _once(pairs, away.ravel(), n)
    if kind in ("ball", "threshold") and (kind == "ball" or gamma is not None):
        reach = radius if kind == "ball" else float(np.sqrt(-np.log(min(max(threshold, 1e-300), 1.0)) / (gamma or 1.0)))
        start, found, away = NeighbourIndex(rows, get("euclidean"), threads=threads).within(rows, reach, threads)
        pairs = np.column_stack([np.repeat(np.arange(n), np.diff(start)), found])
        return _once(pairs, away, n)
    if kind not in ("threshold", "mst", "relaxed-mst"):
        rule = "must be 'similarity', 'threshold', 'ball', 'knn', 'mst' or 'relaxed-mst'"
        raise ParameterError("Graph.of_rows", "parameter 'kind'", rule, f"got {kind!r}")
    square = _kernels.distance_square(rows, get("euclidean").code, 2.0, False, threads)
    a, b = np.triu_indices(n, 1)
    if kind == "threshold":
        middle = float(np.median(square[a, b])) or 1.0
        kept = np.exp(-0.5 * (square[a, b] / middle) ** 2) >= threshold
        return np.column_stack([a, b])[kept], square[a, b][kept]
    longest = _longest_on_path(square)
    factor = 1.0 if kind == "mst" else relax
    if kind == "relaxed-mst":
        kept = square[a, b] <= factor * longest[a, b]
    else:
        kept = _tree_mask(square)[a, b]
    return np.column_stack([a, b])[kept], square[a, b][kept]


def similarities(rows: np.ndarray, gamma: float | None, threads: int) -> np.ndarray:
    """exp(-gamma d^2) of every two rows, with zeros on the diagonal; gamma fits the median distance if None.

    >>> similarities(np.array([[0.0], [1.0]]), 2.0, 1).round(4).tolist()
    [[0.0, 0.1353], [0.1353, 0.0]]
    """
    cells = _kernels.distance_square(rows, get("euclidean").code, 2.0, False, threads)
    if gamma is None:
        gamma = _fitting_gamma(cells[~np.tri(rows.shape[0], dtype=bool)])
    cells *= cells
    cells *= -gamma
    np.maximum(np.exp(cells, out=cells), _LEAST, out=cells)
    np.fill_diagonal(cells, 0.0)
    return cells


def _fitting_gamma(distances: np.ndarray) -> float:
    """One over twice the squared median."""
    middle = float(np.median(distances)) if len(distances) else 1.0
    return 0.5 / (middle**2 if middle > 0 else 1.0)


def _weights(distances: np.ndarray, gamma: float | None) -> np.ndarray:
    factor = _fitting_gamma(distances) if gamma is None else gamma
    return np.maximum(np.exp(-factor * distances**2), _LEAST)


def _once(pairs: np.ndarray, distances: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Each pair of different rows once."""
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    keys, first = np.unique(low * n + high, return_index=True)
    kept = keys // n != keys % n
    return np.column_stack([keys // n, keys % n])[kept], distances[first][kept]


def _tree(square: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Prim's order of the rows, and the row of the tree from which each was reached."""
    n = square.shape[0]
    order, parent = np.zeros(n, dtype=np.int64), np.full(n, -1)
    inside, near = np.zeros(n, dtype=bool), square[0].copy()
    inside[0] = True
    owner = np.zeros(n, dtype=np.int64)
    for step in range(1, n):
        near[inside] = np.inf
        row = int(np.argmin(near))
        order[step], parent[row], inside[row] = row, owner[row], True
        closer = square[row] < near
        near[closer], owner[closer] = square[row][closer], row
    return order, parent


def _tree_mask(square: np.ndarray) -> np.ndarray:
    mask = np.zeros(square.shape, dtype=bool)
    order, parent = _tree(square)
    rows = order[1:]
    mask[rows, parent[rows]] = mask[parent[rows], rows] = True
    return mask


def _longest_on_path(square: np.ndarray) -> np.ndarray:
    """The longest edge on the path between each two rows in the minimum spanning tree."""
    longest = np.zeros(square.shape)
    order, parent = _tree(square)
    for step in range(1, square.shape[0]):
        row, up = order[step], parent[order[step]]
        before = order[:step]
        longest[row, before] = np.maximum(longest[up, before], square[row, up])
        longest[before, row] = longest[row, before]
    return longest
