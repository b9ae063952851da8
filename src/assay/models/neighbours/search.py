"""The search: an index of placed rows as plain arrays, and the two questions that it answers.

An index is a dictionary of arrays and numbers: the float32 screen (Euclidean), float64 panels (any metric) or a k-d
tree. All of them give the same rows and the same distances, bit for bit; of two rows at the same distance the one with
the smaller row number is nearer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _kernels
from .distances import PRESENT_EUCLIDEAN, Distance, Euclidean

Index = dict[str, Any]

_SCREEN = ("panels", "half_norms", "centre", "scale", "largest_norm")
_TREE = ("order", "column", "right", "low", "high", "panels")
# Rows from which the tree is faster, by number of columns (measured with k = 15 on normal data).
_TREE_FROM = {1: 200, 2: 200, 3: 200, 4: 200, 5: 500, 6: 2_000, 7: 50_000, 8: 300_000, 9: 2_000_000}


def choose_algorithm(distance: Distance, n_rows: int, n_features: int) -> str:
    """The faster of "brute" and "kd_tree" for rows of this shape."""
    if not distance.has_tree:
        return "brute"
    if isinstance(distance, Euclidean):
        return "kd_tree" if n_rows >= _TREE_FROM.get(n_features, np.inf) else "brute"
    return "kd_tree" if n_features <= 10 and n_rows >= 500 else "brute"


def build_index(distance: Distance, rows: np.ndarray, algorithm: str, threads: int) -> Index:
    """The index of placed rows."""
    if algorithm == "kd_tree":
        return {"kind": "tree", **dict(zip(_TREE, _kernels.kd_tree(rows, threads), strict=True))}
    if isinstance(distance, Euclidean):
        screen: Any = _kernels.euclidean_screen(rows, threads)
        if screen is not None:
            return {"kind": "screen", **dict(zip(_SCREEN, screen, strict=True))}
    return {"kind": "panels", "panels": _kernels.metric_panels(rows, threads)}


def _parts(index: Index, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: index[name] for name in names}


def nearest(
    distance: Distance,
    index: Index,
    rows: np.ndarray,
    queries: np.ndarray,
    k: int,
    threads: int,
    nominal: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers and distances of the k nearest rows of each placed query, nearest first."""
    if index["kind"] == "screen":
        found, reduced = _kernels.euclidean_nearest(
            rows, queries=queries, k=k, threads=threads, **_parts(index, _SCREEN)
        )
    elif index["kind"] == "tree":
        found, reduced = _kernels.kd_tree_nearest(
            metric=distance.code, p=distance.power, queries=queries, k=k, threads=threads, **_parts(index, _TREE)
        )
    else:
        found, reduced = _kernels.metric_nearest(
            distance.code, distance.power, _flags(nominal), index["panels"], rows.shape[0], queries, k, threads
        )
    return found.view(np.int64), distance.finish(reduced)


def nearest_of_incomplete(rows: np.ndarray, queries: np.ndarray, k: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Euclidean neighbours of queries with missing cells: known columns only, scaled up to all columns."""
    panels = _kernels.metric_panels(rows, threads)
    found, reduced = _kernels.metric_nearest(
        PRESENT_EUCLIDEAN, 2.0, _flags(None), panels, rows.shape[0], queries, k, threads
    )
    return found.view(np.int64), np.sqrt(reduced)


def count_within(
    distance: Distance,
    index: Index,
    rows: np.ndarray,
    queries: np.ndarray,
    radius: float,
    threads: int,
    nominal: np.ndarray | None = None,
) -> np.ndarray:
    """How many rows have a distance <= radius from each placed query."""
    reach = distance.reduce_radius(radius)
    if index["kind"] == "screen":
        return _kernels.euclidean_count(
            rows, queries=queries, squared_radius=reach, threads=threads, **_parts(index, _SCREEN)
        )
    if index["kind"] == "tree":
        return _kernels.kd_tree_count(
            metric=distance.code,
            p=distance.power,
            queries=queries,
            radius=reach,
            threads=threads,
            **_parts(index, _TREE),
        )
    return _kernels.metric_count(
        distance.code, distance.power, _flags(nominal), index["panels"], rows.shape[0], queries, reach, threads
    )


def _flags(nominal: np.ndarray | None) -> np.ndarray:
    return np.zeros(0, dtype=np.uint8) if nominal is None else nominal
