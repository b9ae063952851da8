"""Arrays, sparse tables and tables in blocks behind one interface, so that solvers do not know which they run on.

`table_of` makes one of them, and is the one place that asks how rows are stored. All give means and spread of
the columns, the products of a Gram matrix, rows written out, the passes of a loss over standardised columns (linear
predictors, gradient, Hessian or its products), and themselves on some rows or columns. Rows of an array are used in
place; those of a sparse table are copied; those of a table in blocks (`batch_rows`) are read at each pass.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ... import _kernels
from ...base.batches import BatchedTable
from ...base.cells import require_finite
from ...base.cv import make_folds
from ...base.errors import DataError
from ...base.folds import Fold
from ...numeric.solves import reduce_rows
from . import sparse as storage
from .batch_rows import BatchRows
from .sparse import SparseTable
from .standardised import NO_ROWS, NO_WEIGHTS, GlmTerms, LogisticTerms, Some, centre_and_spread, or_empty

Levels = tuple[np.ndarray, np.ndarray]
Standard = tuple[np.ndarray, np.ndarray, float]
Products = tuple[Callable[..., np.ndarray], Callable[..., np.ndarray]]


class ArrayRows:
    """Rows of an array, all or some."""

    by_column = False
    """Whether the columns can be read one by one at the cost of their stored cells."""
    streamed = False
    """Whether rows are read in blocks, so that they are not there to be solved as they are."""
    most_square = 2**62
    """The widest table for which a square matrix over the columns is formed."""

    def __init__(self, X: np.ndarray, rows: np.ndarray | None) -> None:
        self.X, self.rows = X, rows

    @property
    def kernel(self) -> np.ndarray:
        """What a kernel that takes either kind of table reads."""
        return self.X

    @property
    def cells(self) -> np.ndarray:
        """The stored cells."""
        return self.X

    @property
    def scipy(self) -> np.ndarray:
        """The table as others take it."""
        return self.X

    def written(self, part: slice | np.ndarray) -> np.ndarray:
        """Some rows with every cell written out."""
        return self.X[part]

    def forms_square(self, n_unknowns: int, most: int) -> bool:
        """Whether a solver that forms a square matrix up to `most` unknowns of a sparse table forms one."""
        return True

    def small(self) -> np.ndarray:
        """The table with every cell written out, if that is not too large."""
        return self.X

    def block(self, rows: np.ndarray, columns: np.ndarray) -> Any:
        """Some rows of some columns."""
        return self.X[np.ix_(rows, columns)]

    def require_finite(self, who: str, names: Any) -> None:
        """Refuse a missing or infinite cell."""
        require_finite(who, self.X, names)

    def means(self, weights: np.ndarray | None) -> np.ndarray:
        """Weighted mean of each column."""
        return np.average(self.X, axis=0, weights=weights)

    def products(self, threads: int) -> Products:
        """v to X v, and v to X'v, for vectors."""
        return self.X.__matmul__, self.X.T.__matmul__

    def deviations(self, weights: np.ndarray | None) -> np.ndarray:
        """Weighted standard deviation of each column."""
        return np.sqrt(np.average((self.X - self.means(weights)) ** 2, 0, weights))

    def around(self, weights: np.ndarray | None, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Columns around `centre` with the weights of their rows, or fewer rows that have the same products."""
        return self.X - centre, weights

    def centring(self, targets: np.ndarray, fit_intercept: bool = True) -> Callable[[], np.ndarray]:
        """() to a value near the mean of each column and target from some hundred rows, exactly that of a constant one;
        to zeros without intercept."""
        if not fit_intercept:
            return partial(np.zeros, self.X.shape[1] + targets.shape[1])
        step = max(1, self.X.shape[0] // (256 if self.X.shape[1] + targets.shape[1] <= 1024 else 128))
        return partial(_kernels.central_values, self.X, targets, step)

    def nearer(self, offset: np.ndarray, far: np.ndarray) -> np.ndarray:
        """By how much to move values that were to be near the means and lie `offset` away from them."""
        return offset

    def gram_sums(self, targets: np.ndarray, weights: Some, part: Some) -> Callable[..., np.ndarray]:
        """(shift, threads) to the sum of w z z' over all rows or a part, with z = [x - shift, y - shift, 1]."""
        return partial(_kernels.weighted_gram, self.X, targets, weights=weights, rows=part)

    def hashes(self) -> np.ndarray:
        """A hash of the cells of each row that are not 0."""
        total = np.zeros(self.X.shape[0], dtype=np.uint64)
        for j in range(self.X.shape[1]):
            bits = np.ascontiguousarray(self.X[:, j]).view(np.uint64)
            total += np.where(self.X[:, j] == 0.0, np.uint64(0), _scramble(bits ^ _scramble(np.uint64(j))))
        return total

    def standardise(self, weights: np.ndarray | None, fit_intercept: bool, threads: int) -> Standard:
        """Centre and spread of each column (0 for a constant one), and the total weight."""
        chosen = NO_ROWS if self.rows is None else self.rows
        mean, variance, total = _kernels.column_moments(self.X, chosen, or_empty(weights), threads)
        centre, spread, odd = centre_and_spread(mean, variance, fit_intercept)
        for j in np.flatnonzero(odd).tolist():
            column = self.X[:, j] if self.rows is None else self.X[self.rows, j]
            centre[j] = column[0] if fit_intercept else 0.0
            with np.errstate(over="ignore"):
                spread[j] = np.abs(column - centre[j]).max()
        return centre, spread, total

    def logistic_passes(self, terms: LogisticTerms) -> Any:
        """Sums of the log loss for any coefficients."""
        return _kernels.LogisticPasses(self.X, NO_ROWS if self.rows is None else self.rows, *terms)

    def glm_passes(self, levels: Levels, terms: GlmTerms, square: bool) -> Any:
        """Sums of a deviance for any coefficients; `levels` are the codes and starts of nominal columns."""
        codes, starts = levels
        return _kernels.GlmPasses(self.X, codes, starts, NO_ROWS if self.rows is None else self.rows, *terms)

    def expect_columns(self) -> None:
        """Nothing to do: a step reads the rows."""

    def only(self, rows: np.ndarray, *of_rows: Any) -> tuple[Any, ...]:
        """The table whole beside the numbers of its rows, and what belongs to all rows."""
        return self.X, rows, *of_rows

    def columns(self, chosen: np.ndarray) -> np.ndarray:
        """The table of some columns."""
        return np.ascontiguousarray(self.X[:, chosen])


class SparseRows:
    """All rows of a sparse table."""

    by_column = True
    streamed = False

    def __init__(self, X: SparseTable) -> None:
        self.X = X

    @property
    def most_square(self) -> int:
        """The widest table for which a square matrix over the columns is formed."""
        return storage.MOST_SQUARE

    @property
    def kernel(self) -> Any:
        """What a kernel that takes either kind of table reads."""
        return self.X.by_row

    @property
    def cells(self) -> np.ndarray:
        """The stored cells."""
        return self.X.rows.data

    @property
    def scipy(self) -> Any:
        """The table as others take it."""
        return self.X.rows

    def written(self, part: slice | np.ndarray) -> np.ndarray:
        """Some rows with every cell written out."""
        return self.X[part].toarray()

    def forms_square(self, n_unknowns: int, most: int) -> bool:
        """Whether a solver that forms a square matrix up to `most` unknowns of a sparse table forms one."""
        return n_unknowns <= most

    def small(self) -> Any:
        """The table with every cell written out, if that is not too large."""
        return self.X.toarray() if self.X.shape[0] * self.X.shape[1] <= storage.MOST_DENSE else self.X

    def block(self, rows: np.ndarray, columns: np.ndarray) -> Any:
        """Some rows of some columns."""
        return self.X[rows][:, columns]

    def require_finite(self, who: str, names: Any) -> None:
        """Nothing to do: the stored cells were looked at when they were read."""

    def means(self, weights: np.ndarray | None) -> np.ndarray:
        """Weighted mean of each column."""
        return self.X.moments(weights, 1)[0]

    def products(self, threads: int) -> Products:
        """v to X v, and v to X'v, for vectors."""
        rows = self.X.by_row
        return partial(rows.product, threads=threads), partial(rows.transposed_product, threads=threads)

    def deviations(self, weights: np.ndarray | None) -> np.ndarray:
        """Weighted standard deviation of each column."""
        return np.sqrt(self.X.moments(weights, 1)[1])

    def around(self, weights: np.ndarray | None, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Columns around `centre` with the weights of their rows, or fewer rows that have the same products."""
        nothing = np.empty((self.X.shape[0], 0))
        return reduce_rows(self.X, nothing, weights, fit_intercept=False, centre=centre), None

    def centring(self, targets: np.ndarray, fit_intercept: bool = True) -> Callable[[], np.ndarray]:
        """() to the mean of columns far from zero, else 0, and the means of the targets; to zeros without intercept."""
        return partial(self._central_values, targets, fit_intercept)

    def _central_values(self, targets: np.ndarray, fit_intercept: bool) -> np.ndarray:
        if not fit_intercept:
            return np.zeros(self.X.shape[1] + targets.shape[1])
        mean, variance, _ = _kernels.sparse_column_moments(self.X.by_column, NO_WEIGHTS, 1)
        return np.append(storage.if_far(mean, variance), targets.mean(axis=0))

    def nearer(self, offset: np.ndarray, far: np.ndarray) -> np.ndarray:
        """As for arrays, but only of columns far from the shift, which are almost full."""
        return np.where(far, offset, 0.0)

    def gram_sums(self, targets: np.ndarray, weights: Some, part: Some) -> Callable[..., np.ndarray]:
        """(shift, threads) to the same sums from the stored cells."""
        return partial(self._gram, targets, weights, part)

    def _gram(self, targets: np.ndarray, weights: Some, part: Some, shift: np.ndarray, threads: int) -> np.ndarray:
        """Columns are shifted only where they are far from zero and full."""
        p, table = self.X.shape[1], self.X.shifted(shift[: self.X.shape[1]])
        ends = np.column_stack([targets - shift[p:], np.ones(targets.shape[0])])
        if part is not None:
            table, ends = table[part], ends[part]
            weights = None if weights is None else weights[part]
        weighted = ends if weights is None else ends * weights[:, None]
        sums = np.empty((p + ends.shape[1], p + ends.shape[1]))
        sums[:p, :p] = _kernels.sparse_gram(table.by_row, table.by_column, or_empty(weights), threads)
        sums[:p, p:] = table.by_row.transposed_product(weighted, threads)
        sums[p:, :p] = sums[:p, p:].T
        for a in range(ends.shape[1]):  # not a product of BLAS, whose sums depend on its threads
            for b in range(ends.shape[1]):
                sums[p + a, p + b] = (weighted[:, a] * ends[:, b]).sum()
        return sums

    def hashes(self) -> np.ndarray:
        """A hash of the cells of each row that are not 0."""
        table = self.X.rows
        of_cells = _scramble(table.data.view(np.uint64) ^ _scramble(table.indices.astype(np.uint64)))
        before = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(of_cells, dtype=np.uint64)])
        return before[table.indptr[1:]] - before[table.indptr[:-1]]

    def standardise(self, weights: np.ndarray | None, fit_intercept: bool, threads: int) -> Standard:
        """Centre and spread of each column (0 for a constant one), and the total weight."""
        if self.X.shape[1] > storage.MOST_LOGISTIC and "columns" not in vars(self.X):
            mean, variance, total = _kernels.sparse_row_moments(self.X.by_row, or_empty(weights))
        else:
            mean, variance, total = _kernels.sparse_column_moments(self.X.by_column, or_empty(weights), threads)
        centre, spread, odd = centre_and_spread(mean, variance, fit_intercept)
        stored = np.bincount(self.X.rows.indices, minlength=self.X.shape[1]) if odd.any() else odd
        for j in np.flatnonzero(odd & (stored > 0)).tolist():
            columns = self.X.columns
            values = columns.data[columns.indptr[j] : columns.indptr[j + 1]]
            centre[j] = values[0] if fit_intercept and stored[j] == self.X.shape[0] else 0.0
            with np.errstate(over="ignore"):
                spread[j] = np.abs(values - centre[j]).max()
        return centre, spread, total

    def near(self, centre: np.ndarray, inverse: np.ndarray) -> tuple[SparseTable, np.ndarray]:
        """The table with the columns whose centre is far from zero stored around it, and where the centres are then."""
        shift = np.where(np.abs(centre * inverse) > storage.FAR, centre, 0.0)
        return self.X.shifted(shift), centre - shift

    def logistic_passes(self, terms: LogisticTerms) -> Any:
        """Sums of the log loss for any coefficients."""
        table, centre = self.near(terms.centre, terms.inverse)
        by_column = table.by_column if table.shape[1] <= storage.MOST_LOGISTIC else None
        return _kernels.LogisticPasses(table.by_row, by_column, *terms._replace(centre=centre))

    def glm_passes(self, levels: Levels, terms: GlmTerms, square: bool) -> Any:
        """Sums of a deviance for any coefficients; the matrix is formed if it is to be `square`, else its products."""
        table, centre = self.near(terms.centre, terms.inverse)
        return _kernels.GlmPasses(table.by_row, table.by_column, square, *terms._replace(centre=centre))

    def expect_columns(self) -> None:
        """Make the copy by column, which steps will read, before anything is summed by row."""
        _ = self.X.columns

    def only(self, rows: np.ndarray, *of_rows: Any) -> tuple[Any, ...]:
        """The table of these rows, and what belongs to them."""
        return self.X[rows], None, *(None if values is None else values[rows] for values in of_rows)

    def columns(self, chosen: np.ndarray) -> SparseTable:
        """The table of some columns."""
        return self.X[:, chosen]


def table_of(X: Any, rows: np.ndarray | None = None) -> Any:
    """What the solvers read their rows through: `ArrayRows`, `SparseRows` or `BatchRows`."""
    if isinstance(X, BatchedTable):
        return BatchRows(X)
    if isinstance(X, SparseTable):
        return SparseRows(X if rows is None else X[rows])
    return ArrayRows(X, rows)


def only(X: Any, rows: np.ndarray | None, *of_rows: Any) -> tuple[Any, ...]:
    """(X, rows, what belongs to the rows) on some rows: an array stays whole beside the numbers of its rows, a sparse
    table and what belongs to its rows are cut."""
    return (X, None, *of_rows) if rows is None else table_of(X).only(rows, *of_rows)


def require_narrow(who: str, rows: Any, way_out: str) -> None:
    """Refuse a sparse table too wide for a square matrix over its columns."""
    most = table_of(rows).most_square
    if rows.shape[1] > most:
        raise DataError(
            who,
            "X as a sparse matrix",
            f"must have at most {most} columns, since a dense matrix over all pairs of them is needed",
            f"got {rows.shape[1]}",
            way_out,
        )


def row_hashes(rows: Any, codes: np.ndarray) -> np.ndarray:
    """A hash of each row and its code, from the cells that are not 0: the same for an array and a sparse table."""
    with np.errstate(over="ignore"):
        return _scramble(table_of(rows).hashes() ^ _scramble(codes.astype(np.uint64)))


def first_copies(rows: Any, target: np.ndarray) -> np.ndarray:
    """For each row the number of the first row that is equal to it in all columns and in the target.

    >>> first_copies(np.array([[1.0], [2.0], [1.0]]), np.array([5.0, 5.0, 5.0]))
    array([0, 1, 0])
    """
    group = np.arange(rows.shape[0])
    _, codes, counts = np.unique(target, return_inverse=True, return_counts=True)
    doubtful = np.flatnonzero(counts[codes] > 1)
    if doubtful.size and isinstance(rows, np.ndarray) and rows.shape[1] > 1:
        # Rows that are equal are so in the first column, of which most tables of numbers have no value twice.
        _, same, counts = np.unique(rows[doubtful, 0], return_inverse=True, return_counts=True)
        doubtful = doubtful[counts[same] > 1]
    if doubtful.size:
        hashes = row_hashes(rows[doubtful], codes[doubtful])
        _, first, which = np.unique(hashes, return_index=True, return_inverse=True)
        group[doubtful] = doubtful[first[which]]
    return group


def validation_folds(
    who: str, cv: Any, rows: Any, target: np.ndarray, sample_weight: Any, *, stratify: bool = False
) -> list[Fold]:
    """The folds of `cv` within a fit: positions among the rows of positive weight, equal rows together."""
    given = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
    kept = given > 0 if given.ndim == 1 else None
    return make_folds(who, cv, target, stratify=stratify, kept=kept, copies=lambda: first_copies(rows, target))


def _scramble(bits: Any) -> Any:
    """The finishing steps of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014)."""
    bits = (bits + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
