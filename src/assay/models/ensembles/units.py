"""Rows as units to draw from: a row of whole-number weight w is w units, in an order that follows from the contents.

So samples do not depend on the order of the rows, and a weight of 2 draws as two equal rows do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ...base.errors import DataError
from ...data.columns import fit_columns

MOST_UNITS = 2**26
"""Beyond so many units in all, a row is one unit that carries its weight."""


@dataclass(frozen=True)
class Units:
    """`owner` is the row of each unit; `weight` the weight that a unit carries, None where it is 1."""

    owner: np.ndarray
    weight: np.ndarray | None
    n_rows: int

    @classmethod
    def of(cls, columns: Iterable[np.ndarray], weights: np.ndarray | None, n_rows: int) -> Units:
        """Units of rows whose contents are these columns.

        >>> Units.of([np.array([5.0, 1.0, 3.0])], np.array([2.0, 1.0, 1.0]), 3).owner
        array([1, 2, 0, 0])
        """
        if weights is None:
            return cls(content_order(columns, n_rows), None, n_rows)
        if (weights == np.floor(weights)).all() and weights.sum() <= MOST_UNITS:
            order = content_order(columns, n_rows)
            return cls(np.repeat(order, weights[order].astype(np.int64)), None, n_rows)
        order = content_order([*columns, weights], n_rows)
        return cls(order, weights[order], n_rows)

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.owner.shape[0])

    def weights(self, units: np.ndarray) -> np.ndarray:
        """The sample weights of the rows where these units are taken, each as often as it is listed."""
        rows = self.owner[units]
        carried = None if self.weight is None else self.weight[units]
        return np.bincount(rows, carried, minlength=self.n_rows).astype(np.float64)


def content_order(columns: Iterable[np.ndarray], n_rows: int) -> np.ndarray:
    """The rows sorted by their first column, then by the second where that is equal, and so on; equal rows stay.

    >>> content_order([np.array([2.0, 1.0, 2.0]), np.array([9.0, 9.0, 0.0])], 3)
    array([1, 2, 0])
    """
    return np.argsort(content_groups(columns, n_rows), kind="stable")


def content_groups(columns: Iterable[np.ndarray], n_rows: int) -> np.ndarray:
    """The rank of each row in the order of the contents; equal rows have one rank.

    >>> content_groups([np.array([2.0, 1.0, 2.0])], 3)
    array([1, 0, 1])
    """
    group = np.zeros(n_rows, dtype=np.int64)
    for column in columns:
        distinct, codes = np.unique(column, return_inverse=True)
        distinct, group = np.unique(group * distinct.shape[0] + codes, return_inverse=True)
        if distinct.shape[0] == n_rows:
            break
    return group


def first_copies(columns: Iterable[np.ndarray], n_rows: int) -> np.ndarray:
    """For each row the number of the first row that is equal to it.

    >>> first_copies([np.array([2.0, 1.0, 2.0])], 3)
    array([0, 1, 0])
    """
    _, first, which = np.unique(content_groups(columns, n_rows), return_index=True, return_inverse=True)
    return first[which]


def contents(owner: Any, X: Any, target: np.ndarray, categorical_features: Any) -> Iterable[np.ndarray]:
    """The target and then the columns of any table, as numbers that can be sorted; none where the cells are neither
    numbers nor labels, so that rows keep their order."""
    yield target
    if issparse(X):
        # Sums in the order of the columns: equal rows have equal sums.
        keys = np.random.Generator(np.random.Philox(key=1)).normal(size=X.shape[1])
        yield X.tocsr().sorted_indices() @ keys
        return
    try:
        cells, _ = fit_columns(owner, X, categorical_features)
    except (DataError, TypeError):
        yield np.arange(target.shape[0])
        return
    yield from cells.T
