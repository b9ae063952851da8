"""Sparse tables behind three products: X v, X'v and X'WX. Linear solvers read their rows through these.

`SparseTable` is what a learner's `_read` makes of a SciPy sparse matrix: its canonical form by row (sorted, without
duplicates or explicit zeros), from which the copy by column is made when it is first needed. Centring is implicit; a
column whose mean is so far from zero that taking it out of sums would cancel is stored shifted (`shifted`), which costs
cells only where the column had none, and such a column has almost none.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ... import _kernels
from ...base import Cost, thread_count
from ...base.cost import check_cost

_NONE = np.empty(0)
# Widest table whose p x p matrix is formed: two of these take half a gigabyte at 4,000 columns.
MOST_SQUARE = 4000
# Widest table of a logistic model for which a square matrix is summed; a wider one needs no copy by column.
MOST_LOGISTIC = 2000
# A column this many standard deviations from zero is stored shifted.
FAR = 30.0
# Most cells of a sparse table that are written out where a method needs all of them.
MOST_DENSE = 2**25


class SparseTable:
    """A read-only table of float64 by row, of which only the cells that are not zero are stored.

    >>> table = SparseTable.of(sparse.csr_array([[0.0, 2.0], [1.0, 0.0]]))
    >>> table @ np.array([1.0, 10.0]), table.T @ np.array([1.0, 10.0])
    (array([20.,  1.]), array([10.,  2.]))
    >>> table.gram(np.array([3.0, 1.0]), 1)
    array([[ 1.,  0.],
           [ 0., 12.]])
    """

    __array_ufunc__ = None
    ndim = 2

    def __init__(self, rows: sparse.csr_array) -> None:
        self._rows = rows
        self.shape: tuple[int, int] = rows.shape
        self._shifted: tuple[bytes, SparseTable] | None = None

    @classmethod
    def of(cls, X: Any) -> SparseTable:
        """Any SciPy sparse matrix or array in canonical form: a copy, unless it is there already."""
        rows = sparse.csr_array(X, dtype=np.float64)
        whole = rows.data.shape[0] == rows.nnz and all(part.flags.aligned for part in (rows.data, rows.indices))
        if whole and rows.has_canonical_format and rows.data.all():
            return cls(rows)
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
        rows.sort_indices()
        return cls(rows)

    # -- the three products --------------------------------------------------------------------------------------
    def product(self, v: Any, threads: int | None = None) -> np.ndarray:
        """X v for a vector, or for each column of v."""
        return self.by_row.product(np.ascontiguousarray(v, dtype=np.float64), threads or thread_count(None))

    __matmul__ = product

    def transposed_product(self, v: np.ndarray, threads: int) -> np.ndarray:
        """X'v for a vector, or for each column of v."""
        return self.by_row.transposed_product(np.ascontiguousarray(v, dtype=np.float64), threads)

    def gram(self, weights: np.ndarray | None, threads: int) -> np.ndarray:
        """X' diag(weights) X."""
        return _kernels.sparse_gram(
            self.by_row, self.by_column, _NONE if weights is None else np.ascontiguousarray(weights), threads
        )

    @property
    def T(self) -> _Transposed:
        """X', for products with vectors."""
        return _Transposed(self)

    # -- storage -------------------------------------------------------------------------------------------------
    @cached_property
    def by_row(self) -> Any:
        """The kernel's table by row."""
        return _handle(self._rows, self.shape[1])

    @cached_property
    def columns(self) -> sparse.csc_array:
        """The copy by column."""
        return self._rows.tocsc()

    @cached_property
    def by_column(self) -> Any:
        """The kernel's table by column."""
        return _handle(self.columns, self.shape[0])

    @property
    def rows(self) -> sparse.csr_array:
        """The copy by row."""
        return self._rows

    @property
    def cells(self) -> int:
        """How many cells are stored."""
        return int(self._rows.nnz)

    def toarray(self) -> np.ndarray:
        """The table with every cell written out."""
        return self._rows.toarray()

    def __getitem__(self, key: Any) -> SparseTable:
        if isinstance(key, tuple):
            if key[0] != slice(None):
                raise TypeError("SparseTable: rows and columns are chosen one after the other")
            return SparseTable(_sorted(self.columns[:, key[1]].tocsr()))
        if isinstance(key, slice) and key == slice(None):
            return self
        return SparseTable(_sorted(self._rows[key]))

    def __mul__(self, scale: np.ndarray) -> SparseTable:
        """Every column times its factor."""
        scaled = self._rows.copy()
        scaled.data = scaled.data * np.asarray(scale, dtype=np.float64)[scaled.indices]
        scaled.eliminate_zeros()
        return SparseTable(scaled)

    # -- columns -------------------------------------------------------------------------------------------------
    def moments(self, weights: np.ndarray | None, threads: int) -> tuple[np.ndarray, np.ndarray, float]:
        """(mean, variance, total weight) of the columns, zeros included."""
        return _kernels.sparse_column_moments(self.by_column, _NONE if weights is None else weights, threads)

    def shifted(self, shift: np.ndarray) -> SparseTable:
        """X less `shift`, which is zero for all but a few columns that are almost full."""
        chosen = np.flatnonzero(shift)
        if not chosen.size:
            return self
        key = np.ascontiguousarray(shift, dtype=np.float64).tobytes()
        if self._shifted is None or self._shifted[0] != key:
            kept = np.ones(self.shape[1])
            kept[chosen] = 0.0
            full = self.columns[:, chosen].toarray() - shift[chosen]
            place = sparse.csr_array(
                (np.ones(chosen.size), (np.arange(chosen.size), chosen)), shape=(chosen.size, self.shape[1])
            )
            self._shifted = key, SparseTable.of((self * kept)._rows + sparse.csr_array(full) @ place)
        return self._shifted[1]


def if_far(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """The mean of each column that lies many standard deviations from zero, else 0."""
    with np.errstate(over="ignore"):
        far = np.abs(mean) > FAR * np.sqrt(variance)
    return np.where(far, mean, 0.0)


class _Transposed:
    def __init__(self, table: SparseTable) -> None:
        self._table = table

    def __matmul__(self, v: Any) -> np.ndarray:
        return self._table.transposed_product(np.asarray(v), thread_count(None))


def _sorted(rows: sparse.csr_array) -> sparse.csr_array:
    rows.sort_indices()
    return rows


def _handle(compressed: Any, places: int) -> Any:
    return _kernels.SparseMatrix(
        np.ascontiguousarray(compressed.data, dtype=np.float64),
        np.ascontiguousarray(compressed.indices, dtype=np.int32),
        np.ascontiguousarray(compressed.indptr, dtype=np.int64),
        places,
    )


class SparseInput:
    """Mixin for learners that take SciPy sparse matrices: put it first. `_read` then gives a `SparseTable` for them."""

    _allow_sparse = True
    # Passes over the stored cells that a fit makes, and the widest table for which it forms a square matrix.
    _sparse_passes = 100.0
    _sparse_square = MOST_SQUARE

    def _read(self, X: Any, *, reset: bool) -> Any:
        if isinstance(X, SparseTable):
            if reset:
                self.n_features_in_ = X.shape[1]
            return X
        if not sparse.issparse(X):
            return super()._read(X, reset=reset)  # type: ignore[misc]
        return SparseTable.of(self._sparse_rows(X, reset=reset))  # type: ignore[attr-defined]

    def _check_table_cost(self, rows: Any, n_outputs: int = 1) -> None:
        """As for arrays, but by stored cells."""
        if not isinstance(rows, SparseTable):
            super()._check_table_cost(rows, n_outputs)  # type: ignore[misc]
            return
        n, p = rows.shape
        square = float(p) ** 2 if p <= self._sparse_square else 0.0
        cells = float(rows.cells) + n + p
        check_cost(
            type(self).__name__,
            Cost(
                seconds=self._sparse_passes * 3e-9 * cells * n_outputs,
                bytes=48.0 * cells + 24.0 * square + 64.0 * (n + p) * n_outputs,
            ),
            self._way_out,  # type: ignore[attr-defined]
        )
