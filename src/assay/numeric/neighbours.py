"""The neighbour index: rows as the metric compares them, and the questions that it answers.

`nearest` gives the k nearest rows of each query, `within` the rows in a radius, `count` how many these are. Behind them
stand bytes or float32 that rule rows out (Euclidean), float64 panels (any metric) or a tree; all of them give the same
rows and distances, bit for bit. Of two rows at the same distance the one with the smaller row number is nearer.

>>> index = NeighbourIndex(np.array([[0.0], [1.0], [5.0]]), get("euclidean"))
>>> index.nearest(np.array([[0.8]]), k=2)[0]
array([[1, 0]])
>>> index.count(np.array([[0.8]]), radius=1.0).tolist()
[2]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _kernels
from .distances import KNOWN_EUCLIDEAN, PRESENT_EUCLIDEAN, Distance, Euclidean, Mixed, get

__all__ = ["NeighbourIndex", "choose_algorithm", "get", "nearest_known"]

_SCREEN = ("panels", "half_norms", "centre", "scale", "largest_norm")
_BYTES = ("panels", "half_norms", "steps", "residuals", "centre", "scale")
_TREE = ("order", "column", "right", "low", "high")
_MIXED_TREE = (
    "order",
    "right",
    "panel",
    "first_row",
    "low",
    "high",
    "known",
    "panels",
    "base",
    "unit",
    "bytes",
    "byte_block",
)
_NO_FLAGS = np.zeros(0, dtype=np.uint8)
# Rows from which the tree is faster, by number of columns (measured with k = 15 on normal data).
_TREE_FROM = {1: 200, 2: 200, 3: 200, 4: 200, 5: 500, 6: 2_000, 7: 50_000, 8: 300_000, 9: 2_000_000}


# Columns and rows from which bytes are faster than float32, where the machine multiplies them (measured as above).
_BYTES_FROM = ((200, 1_000), (60, 2_000), (16, 8_000))


def choose_algorithm(distance: Distance, n_rows: int, n_features: int) -> str:
    """The faster of "brute" and "kd_tree" for rows of this shape."""
    if not distance.has_tree:
        return "brute"
    if isinstance(distance, Euclidean):
        return "kd_tree" if n_rows >= _TREE_FROM.get(n_features, np.inf) else "brute"
    few = n_features <= 10 or isinstance(distance, Mixed)  # whose tree screens its leaves by bytes
    return "kd_tree" if few and n_rows >= 500 else "brute"


class NeighbourIndex:
    """Rows placed as `distance` compares them, ready to be searched.

    `nominal` flags the columns that hold category codes (for metrics that take them); `algorithm` is "brute",
    "kd_tree" or "auto" for the faster one. `rows` are the rows as they are compared: the given array itself where that
    changes no cell, which must then stay as it is; a tree takes a copy of it where `copy` says that it may change.
    """

    def __init__(
        self,
        rows: np.ndarray,
        distance: Distance,
        *,
        nominal: np.ndarray | None = None,
        algorithm: str = "auto",
        threads: int = 1,
        copy: bool = False,
    ):
        flags = np.zeros(rows.shape[1], dtype=bool) if nominal is None else nominal
        self.distance = distance
        self.placement = distance.learn(rows, flags)
        self.rows = np.ascontiguousarray(distance.place(rows, self.placement))
        self.algorithm = choose_algorithm(distance, *self.rows.shape) if algorithm == "auto" else algorithm
        if copy and self.algorithm == "kd_tree" and np.may_share_memory(self.rows, rows):
            self.rows = self.rows.copy()
        self._nominal = self.placement.get("nominal", _NO_FLAGS)
        self.kind, self._arrays = self._build(threads)
        self._floats: tuple[str, dict[str, Any]] | None = None
        self._metric: dict[str, Any] = {"metric": distance.code, "p": distance.power}

    def state(self) -> dict[str, Any]:
        """The index as arrays and small values, from which `of_state` makes it again without any search or sorting."""
        kept = {name: getattr(self, name) for name in ("placement", "rows", "algorithm", "kind")}
        return {**kept, "arrays": self._arrays}

    @classmethod
    def of_state(cls, state: dict[str, Any], distance: Distance) -> NeighbourIndex:
        """The index whose `state` this is.

        >>> index = NeighbourIndex(np.array([[0.0], [1.0], [5.0]]), get("euclidean"))
        >>> NeighbourIndex.of_state(index.state(), get("euclidean")).nearest(np.array([[4.0]]), k=1)[0]
        array([[2]])
        """
        index = cls.__new__(cls)
        index.distance, index.placement, index.rows = distance, state["placement"], state["rows"]
        index.algorithm, index.kind, index._arrays = state["algorithm"], state["kind"], state["arrays"]
        index._nominal, index._floats = index.placement.get("nominal", _NO_FLAGS), None
        index._metric = {"metric": distance.code, "p": distance.power}
        return index

    def _build(self, threads: int, *, bytes_too: bool = True) -> tuple[str, dict[str, Any]]:
        if self.algorithm == "kd_tree" and isinstance(self.distance, Mixed):
            arrays = dict(zip(_MIXED_TREE, _kernels.mixed_tree(self.rows, self._nominal, threads), strict=True))
            return "mixed tree", {**arrays, "nominal": self._nominal, "n": self.rows.shape[0]}
        if self.algorithm == "kd_tree":
            tree = zip(_TREE, _kernels.kd_tree(self.rows, threads), strict=True)
            return "tree", {"rows": self.rows, **dict(tree)}
        n_rows, n_columns = self.rows.shape
        many = any(n_columns >= columns and n_rows >= rows for columns, rows in _BYTES_FROM)
        if bytes_too and many and isinstance(self.distance, Euclidean):
            rounded: Any = _kernels.byte_screen(self.rows, True, threads)
            if rounded is not None:
                return "bytes", {"rows": self.rows, **dict(zip(_BYTES, rounded, strict=True))}
        if isinstance(self.distance, Euclidean):
            screen: Any = _kernels.euclidean_screen(self.rows, threads)
            if screen is not None:
                return "screen", {"rows": self.rows, **dict(zip(_SCREEN, screen, strict=True))}
        return "panels", {"panels": _kernels.metric_panels(self.rows, threads), "n": self.rows.shape[0]}

    def _for_radius(self, threads: int) -> tuple[str, dict[str, Any]]:
        """What answers questions about a radius: bytes give way to floats, which are made when first asked for."""
        if self.kind != "bytes":
            return self.kind, self._arrays
        if self._floats is None:
            self._floats = self._build(threads, bytes_too=False)
        return self._floats

    def place(self, queries: np.ndarray) -> np.ndarray:
        """Queries as the metric compares them."""
        return np.ascontiguousarray(self.distance.place(queries, self.placement))

    def nearest(
        self, queries: np.ndarray, k: int, threads: int = 1, *, placed: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Row numbers and distances of the k nearest rows of each query, nearest first.

        `placed` says that the queries come from `place`.
        """
        queries = np.ascontiguousarray(queries) if placed else self.place(queries)
        given: dict[str, Any] = {"queries": queries, "k": k, "threads": threads, **self._arrays}
        if self.kind == "bytes":
            found, reduced = _kernels.byte_screen_nearest(**given)
        elif self.kind == "screen":
            found, reduced = _kernels.euclidean_nearest(**given)
        elif self.kind == "tree":
            found, reduced = _kernels.kd_tree_nearest(**given, **self._metric)
        elif self.kind == "mixed tree":
            found, reduced = _kernels.mixed_tree_nearest(**given)
        else:
            found, reduced = _kernels.metric_nearest(**given, **self._metric, nominal=self._nominal)
        return found.view(np.int64), self.distance.finish(reduced)

    def nearest_to_itself(
        self, k: int, threads: int = 1, asked: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """For every row of the index, or those `asked`, the k nearest among the other rows.

        >>> NeighbourIndex(np.array([[0.0], [1.0], [5.0]]), get("euclidean")).nearest_to_itself(1, asked=np.array([2]))
        (array([[1]]), array([[4.]]))
        """
        numbers = np.arange(self.rows.shape[0]) if asked is None else asked
        queries = self.rows if asked is None else self.rows[asked]
        rows, distances = self.nearest(queries, k + 1, threads, placed=True)
        own = rows == numbers[:, None]
        # A row with k or more earlier copies is not in its own list: then the last one goes.
        own[~own.any(axis=1), -1] = True
        others = ~own
        # One after the other, so that the first list is let go before the second is made again.
        rows = rows[others].reshape(-1, k)
        distances = distances[others].reshape(-1, k)
        return rows, distances

    def nearest_of(
        self,
        placed: np.ndarray,
        candidates: np.ndarray,
        bounds: np.ndarray,
        ratio: float,
        slack: np.ndarray,
        k: int,
        threads: int = 1,
        rows: np.ndarray | None = None,
        **choice: Any,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The k nearest of each placed query's candidates (row numbers, -1 for none), as `nearest` would measure them.

        `bounds` (same shape, rising along each list) holds their distances in another metric: a candidate, and those
        after it, are no nearer than ratio * bound - slack. Returns rows, distances, and how many of the k there are;
        the others are -1 at an infinite distance. The candidates are rows of the index, or of `rows`; `choice` may
        give the list of each query (`place`), flags of the rows that count (`kept`), and the `mean` and `factor` by
        which rows are scaled first.
        """
        nearest, reduced, found = _kernels.nearest_of_candidates(
            **self._metric,
            nominal=self._nominal,
            rows=self.rows if rows is None else rows,
            queries=placed,
            candidates=np.ascontiguousarray(candidates, dtype=np.int64),
            bounds=np.ascontiguousarray(bounds),
            ratio=ratio,
            slack=np.ascontiguousarray(slack),
            k=k,
            threads=threads,
            **choice,
        )
        return nearest, self.distance.finish(reduced), found

    def nearest_in_folds(
        self,
        rows: np.ndarray,
        trains: list[np.ndarray],
        tests: list[np.ndarray],
        candidates: np.ndarray,
        bounds: np.ndarray,
        k: int,
        threads: int = 1,
        **folds: Any,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`nearest_of` for the rows `tests` of many folds among their rows `trains`, one fold below the other.

        `folds` holds `mean` and `factor` of the scaling of each fold, its `ratio` and `slack`, and the list of
        candidates of each row (`place`). The metric compares numbers.
        """
        nearest, reduced, found = _kernels.nearest_in_folds(
            **self._metric,
            rows=rows,
            trains=trains,
            tests=tests,
            candidates=np.ascontiguousarray(candidates, dtype=np.int64),
            bounds=np.ascontiguousarray(bounds),
            k=k,
            threads=threads,
            **folds,
        )
        return nearest, self.distance.finish(reduced), found

    def nearest_of_incomplete(self, queries: np.ndarray, k: int, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Euclidean neighbours of queries with missing cells: known columns only, scaled up to all columns."""
        return nearest_known(self.rows, queries, k, threads)

    def count(self, queries: np.ndarray, radius: float, threads: int = 1) -> np.ndarray:
        """How many rows have a distance <= radius from each query."""
        reach = self.distance.reduce_radius(radius)
        kind, arrays = self._for_radius(threads)
        given: dict[str, Any] = {"queries": self.place(queries), "threads": threads, **arrays}
        if kind == "screen":
            return _kernels.euclidean_count(**given, squared_radius=reach)
        if kind == "tree":
            return _kernels.kd_tree_count(**given, **self._metric, radius=reach)
        if kind == "mixed tree":
            return _kernels.mixed_tree_count(**given, radius=reach)
        return _kernels.metric_count(**given, **self._metric, nominal=self._nominal, radius=reach)

    def within(self, queries: np.ndarray, radius: float, threads: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows with a distance <= radius from each query, in compressed form: (start, rows, distances).

        Those of query i are rows[start[i]:start[i + 1]], in the order of their numbers.
        """
        reach = self.distance.reduce_radius(radius)
        kind, arrays = self._for_radius(threads)
        given: dict[str, Any] = {"queries": self.place(queries), "threads": threads, **arrays}
        if kind == "screen":
            start, rows, reduced = _kernels.euclidean_within(**given, squared_radius=reach)
        elif kind == "tree":
            start, rows, reduced = _kernels.kd_tree_within(**given, **self._metric, radius=reach)
        elif kind == "mixed tree":
            start, rows, reduced = _kernels.mixed_tree_within(**given, radius=reach)
        else:
            start, rows, reduced = _kernels.metric_within(**given, **self._metric, nominal=self._nominal, radius=reach)
        return start, rows, self.distance.finish(reduced)


def nearest_known(rows: np.ndarray, queries: np.ndarray, k: int, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Euclidean neighbours where both rows and queries may miss cells (NaN): row numbers and distances.

    The distance is over the columns that both have, scaled up to all columns; it is infinite where there is none.

    >>> nearest_known(np.array([[0.0, np.nan], [3.0, 1.0]]), np.array([[1.0, 1.0]]), k=2)[1].round(3)
    array([[1.414, 2.   ]])
    """
    metric = KNOWN_EUCLIDEAN if np.isnan(rows).any() else PRESENT_EUCLIDEAN
    panels = _kernels.metric_panels(rows, threads)
    found, reduced = _kernels.metric_nearest(metric, 2.0, _NO_FLAGS, panels, rows.shape[0], queries, k, threads)
    return found, np.sqrt(reduced)
