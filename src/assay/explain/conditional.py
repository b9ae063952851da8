"""Cells drawn anew given the other columns of their row: what a column would have been without its own news.

Permuting a column breaks its ties to the other columns too, and a model is then asked about rows that cannot be. Here
a column of numbers keeps what the other columns say about it (a linear part, then a tree on what that leaves) and only
the rest is permuted, within the leaves of the tree; a column of labels is permuted within the leaves of a tree.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.randomness import Stream
from ..models.trees import CartClassifier, CartRegressor
from ..numeric.moments import deviation_or_one, varies
from ..numeric.solves import ridge_coefficients

_MOST_LEVELS = 20


def conditional_copies(
    cells: np.ndarray, nominal: np.ndarray, group: list[int], n_repeats: int, stream: Stream
) -> tuple[np.ndarray, np.ndarray]:
    """Copies of the columns of `group`, repeats x rows x columns, drawn given all other columns, and their donors.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=2000)
    >>> cells = np.column_stack([x, x + 0.1 * rng.normal(size=2000)])
    >>> copies, donors = conditional_copies(cells, np.array([False, False]), [1], 1, Stream.of(0))
    >>> bool(np.corrcoef(copies[0, :, 0], x)[0, 1] > 0.98)
    True
    """
    n_rows = cells.shape[0]
    others = [j for j in range(cells.shape[1]) if j not in set(group)]
    fitted = np.zeros((n_rows, len(group)))
    rest = cells[:, group].copy()
    if others:
        design = _design(cells, nominal, others)
        for k, j in enumerate(group):
            if not nominal[j] and not np.isnan(cells[:, j]).any():
                fitted[:, k] = _linear(design, cells[:, j])
                rest[:, k] -= fitted[:, k]
    leaves = _leaves(cells, nominal, others, group, rest)
    donors = np.stack([_permuted_within(leaves, stream.child(r).generator()) for r in range(n_repeats)])
    return fitted + rest[donors], donors


def _design(cells: np.ndarray, nominal: np.ndarray, others: list[int]) -> np.ndarray:
    """The other columns as numbers around 0: missing ones at the mean, labels as indicators of the frequent ones."""
    parts = [np.ones((cells.shape[0], 1))]
    for j in others:
        column = cells[:, j]
        if nominal[j]:
            values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
            kept = values[np.argsort(-counts, kind="stable")][:_MOST_LEVELS]
            parts.append((column[:, None] == kept[None, :]).astype(np.float64))
            continue
        missing = np.isnan(column)
        centre = np.asarray(column[~missing].mean() if not missing.all() else 0.0)
        filled = np.where(missing, centre, column) - centre
        size = np.abs(filled).max()
        filled = filled / size if varies(size, centre) else np.zeros_like(filled)  # before squares, which may overflow
        parts.append((filled / deviation_or_one(filled.std(), filled.mean()))[:, None])
        if missing.any():
            parts.append(missing[:, None].astype(np.float64))
    return np.hstack(parts)


def _linear(design: np.ndarray, column: np.ndarray) -> np.ndarray:
    """The least-squares fit; a trace of a ridge where columns say the same."""
    scale = float(np.abs(column).max()) or 1.0
    return design @ ridge_coefficients(design, column / scale, 1e-8 * design.shape[0]) * scale


def _leaves(
    cells: np.ndarray, nominal: np.ndarray, others: list[int], group: list[int], rest: np.ndarray
) -> np.ndarray:
    """The leaf of each row in a tree that tells what is left of the group by the other columns."""
    n_rows = cells.shape[0]
    if not others or n_rows < 60:
        return np.zeros(n_rows, dtype=np.intp)
    table: Any = cells[:, others]
    settings: dict[str, Any] = {
        "min_samples_leaf": max(20, n_rows // 40),
        "categorical_features": [k for k, j in enumerate(others) if nominal[j]] or None,
    }
    first = group[0]
    if nominal[first]:
        target = np.where(np.isnan(cells[:, first]), -1.0, cells[:, first]).astype(int)
        values, counts = np.unique(target, return_counts=True)
        target = np.where(np.isin(target, values[np.argsort(-counts, kind="stable")][:_MOST_LEVELS]), target, -2)
        if np.unique(target).shape[0] < 2:
            return np.zeros(n_rows, dtype=np.intp)
        tree: Any = CartClassifier(**settings).fit(table, target)
    else:
        spread = deviation_or_one(np.nanstd(rest, axis=0), np.nanmean(rest, axis=0))
        scaled = np.where(np.isnan(rest), 0.0, rest) / spread
        if not np.isfinite(scaled).all():
            return np.zeros(n_rows, dtype=np.intp)
        tree = CartRegressor(**settings).fit(table, scaled.sum(axis=1))
    return np.unique(tree.apply(table), return_inverse=True)[1].ravel()


def _permuted_within(leaves: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """A permutation of the rows that keeps each within its leaf."""
    order = np.argsort(leaves, kind="stable")
    drawn = generator.random(leaves.shape)
    shuffled = np.lexsort((drawn, leaves))
    donors = np.empty(leaves.shape[0], dtype=np.intp)
    donors[order] = shuffled
    return donors
