"""Neighbours of sparse rows by the angle between them: products of stored cells alone.

>>> from scipy.sparse import csr_array
>>> index = SparseCosineIndex(csr_array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 2.0]]))
>>> index.nearest(csr_array([[2.0, 0.0, 0.0]]), k=2)[0]
array([[0, 1]])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

# Distances that are written out at a time.
_CELLS = 4_000_000


def unit_rows(table: csr_array) -> csr_array:
    """Rows brought to length one; a row of zeros stays.

    >>> from scipy.sparse import csr_array
    >>> unit_rows(csr_array([[3.0, 4.0], [0.0, 0.0]])).toarray()
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    owner = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    largest = np.zeros(table.shape[0])
    np.maximum.at(largest, owner, np.abs(table.data))
    scaled = table.data / np.where(largest > 0, largest, 1.0)[owner]
    length = np.sqrt(np.bincount(owner, weights=scaled**2, minlength=table.shape[0]))
    data = scaled / np.where(length > 0, length, 1.0)[owner]
    return csr_array((data, table.indices, table.indptr), shape=table.shape)


class SparseCosineIndex:
    """Sparse rows, searched by one minus the cosine; of two rows at the same distance the earlier one is nearer.

    A row of zeros is at distance 1 from every row. Every query meets every row with a column in common.
    """

    def __init__(self, table: csr_array):
        self.table = unit_rows(table)

    def state(self) -> dict[str, Any]:
        """The index as arrays and small values."""
        table = self.table
        arrays = {"data": table.data, "indices": table.indices, "indptr": table.indptr}
        return {"kind": "sparse cosine", "shape": tuple(map(int, table.shape)), "arrays": arrays}

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> SparseCosineIndex:
        """The index whose `state` this is."""
        index, arrays = cls.__new__(cls), state["arrays"]
        index.table = csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=state["shape"])
        return index

    def nearest(self, queries: csr_array, k: int, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Row numbers and distances of the k nearest rows of each query, nearest first."""
        return self._search(unit_rows(queries), k, None)

    def nearest_to_itself(
        self, k: int, threads: int = 1, asked: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """For every row of the index, or those `asked`, the k nearest among the other rows."""
        own = np.arange(self.table.shape[0]) if asked is None else asked
        return self._search(self.table if asked is None else self.table[asked], k, own)

    def within(self, queries: csr_array, radius: float, threads: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows with a distance <= radius from each query, in compressed form: (start, rows, distances).

        Those of query i are rows[start[i]:start[i + 1]], in the order of their numbers. Below a radius of 1 only rows
        with a column in common are looked at.

        >>> from scipy.sparse import csr_array
        >>> index = SparseCosineIndex(csr_array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]]))
        >>> index.within(csr_array([[3.0, 0.0]]), 0.5)[1]
        array([0, 1])
        """
        table, other = unit_rows(queries), self.table.T.tocsr()
        step = max(1, _CELLS // max(1, self.table.shape[0]))
        counts, rows, distances = [np.zeros(1, dtype=np.int64)], [], []
        for begin in range(0, table.shape[0], step):
            products = csr_array(table[begin : begin + step] @ other)
            if radius >= 1.0:
                apart = np.maximum(0.0, 1.0 - products.toarray())
                owner, found = np.nonzero(apart <= radius)
                known = apart[owner, found]
            else:
                products.sort_indices()
                apart = np.maximum(0.0, 1.0 - products.data)
                near = apart <= radius
                owner = np.repeat(np.arange(products.shape[0]), np.diff(products.indptr))[near]
                found, known = products.indices[near], apart[near]
            counts.append(np.bincount(owner, minlength=products.shape[0]))
            rows.append(found)
            distances.append(known)
        start = np.cumsum(np.concatenate(counts))
        return start, np.concatenate(rows).astype(np.int64), np.concatenate(distances)

    def count(self, queries: csr_array, radius: float, threads: int = 1) -> np.ndarray:
        """How many rows have a distance <= radius from each query."""
        return np.diff(self.within(queries, radius, threads)[0])

    def _search(self, queries: csr_array, k: int, own: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        rows = np.empty((queries.shape[0], k), dtype=np.int64)
        distances = np.empty((queries.shape[0], k))
        other = self.table.T.tocsr()
        step = max(1, _CELLS // max(1, self.table.shape[0]))
        for begin in range(0, queries.shape[0], step):
            apart = np.maximum(0.0, 1.0 - (queries[begin : begin + step] @ other).toarray())
            if own is not None:
                apart[np.arange(apart.shape[0]), own[begin : begin + step]] = np.inf
            reach = np.partition(apart, k - 1, axis=1)[:, k - 1]
            for i, one in enumerate(apart):
                near = np.flatnonzero(one <= reach[i])
                chosen = near[np.argsort(one[near], kind="stable")[:k]]
                rows[begin + i], distances[begin + i] = chosen, one[chosen]
        return rows, distances
