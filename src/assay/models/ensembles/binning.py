"""Columns as bins of one byte a cell, of arrays, of tables that are read in blocks, and of rows of a shared table.

A table in blocks is binned some columns at a time: all cells of those columns are held while their bins are found, so
that the bins, and every tree grown on them, are those of the table in memory, bit for bit.

Folds share the ranks of cells in their columns, not the bins: where bins begin and end is learned from the training
rows of a fold alone, and from ranks this takes two passes over the cells and no sorting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from ... import _kernels
from ...base.batches import BatchedTable
from ...base.estimator import Estimator
from ...base.folds import Fold, Transforms, copy_columns, fit_separately
from ...base.threads import thread_count
from ...data.coded import CodedTable
from ...data.columns import ColumnSchema, MixedInput

HELD_CELLS = 2**25
"""Cells held as numbers at a time: 256 megabytes, and as much again where the bins are found."""


MOST_COUNTED = 4e9
"""Whole weights that the kernel counts by; of others sums depend on the order, and the cells are read again."""


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Some rows of a table whose columns were ranked once; stands where the cells of these rows stand."""

    ranks: Any
    table: CodedTable
    schema: ColumnSchema
    rows: np.ndarray
    owner: Any = field(repr=False)
    asked: np.ndarray | None = None
    """Other rows, whose predictions are all that is wanted of the fit."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.rows.shape[0]), self.table.n_columns

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def __getitem__(self, kept: np.ndarray) -> RankedRows:
        return replace(self, rows=self.rows[kept])

    def cells(self) -> np.ndarray:
        """These rows as numbers and codes, C-ordered."""
        return np.ascontiguousarray(self.table.cells_of(self.rows))

    def read_by(self, model: Any) -> RankedRows:
        """Tell a model what it would have learned of the columns by reading these rows."""
        copy_columns(self.owner, model)
        model.schema_ = self.schema
        return self

    def bins(
        self,
        weights: np.ndarray | None,
        max_bins: int,
        threads: int,
        rows: np.ndarray | None = None,
        counted: int = -1,
    ) -> Any:
        """The bins of these rows, or of `rows`, of which the first `counted` choose the bins."""
        whole = weights is None or bool((weights == np.floor(weights)).all() and weights.sum() < MOST_COUNTED)
        if not whole:
            return _kernels.make_bins(self.cells(), self.table.n_categories, weights, max_bins, threads)
        renamed, first = self.table.renamed or (None, None)
        return _kernels.make_bins_of_rows(
            self.ranks,
            (self.rows if rows is None else rows).astype(np.int32),
            self.table.n_categories,
            renamed,
            first,
            weights,
            max_bins=max_bins,
            counted=counted,
            threads=threads,
        )

    def bins_of_both(self, max_bins: int, threads: int) -> tuple[Any, Any]:
        """The bins of these rows, and the asked rows in the same bins."""
        n_rows, asked = self.rows.shape[0], self.asked
        assert asked is not None
        both = self.bins(None, max_bins, threads, np.concatenate([self.rows, asked]), n_rows)
        places = np.arange(n_rows + asked.shape[0], dtype=np.int32)
        return _kernels.take_rows(both, places[:n_rows], threads), _kernels.take_rows(both, places[n_rows:], threads)


# -- methods of learners on binned columns, which rank the cells of a table once for all folds ---
def read_columns(self: Any, X: Any, *, reset: bool) -> Any:
    """What `MixedInput` reads; rows of a ranked table are read already."""
    return X.read_by(self) if isinstance(X, RankedRows) else MixedInput._read(self, X, reset=reset)


def shares_rows(self: Any, X: Any) -> bool:
    """Whether a part of this table is read as the whole is: a list or an array of objects may hold text in some rows
    alone."""
    return X.dtype.kind != "O" if isinstance(X, np.ndarray) else hasattr(X, "columns")


def fit_folds(
    self: Any, X: Any, y: Any, folds: Iterable[Fold], sample_weight: Any = None, transforms: Transforms = None
) -> Iterator[Any]:
    """Yield one fitted clone per fold; the columns are ranked once for all folds."""
    chosen = list(folds)
    if transforms is not None or len(chosen) < 2 or not self.shares_rows(X):
        yield from Estimator.fit_folds(self, X, y, chosen, sample_weight, transforms)
        return
    fit = self.row_fits(X, y, sample_weight)
    for train, _ in chosen:
        yield fit(train)


def row_fits(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Callable[..., Any]:
    """A function of row numbers and parameters that gives a clone fitted to these rows; the columns are ranked once."""
    fit = ranked_fits(self, X, y, sample_weight)
    if fit is not None:
        return fit
    weights = None if sample_weight is None else np.asarray(sample_weight)
    return lambda rows, **given: next(
        fit_separately(clone(self).set_params(**given), X, np.asarray(y), [(np.asarray(rows), np.empty(0))], weights)
    )


def ranked_fits(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Callable[..., Any] | None:
    """As `row_fits`, with rows whose predictions are all that is wanted (`asked`); None for a table that cannot be
    read as a whole."""
    whole, target = clone(self), np.asarray(y)
    weights = None if sample_weight is None else np.asarray(sample_weight)
    try:
        cells = whole._read(X, reset=True)
    except (TypeError, ValueError):  # there may be rows without the cell that cannot be read
        return None
    threads = thread_count(getattr(self, "n_jobs", None))
    ranks = _kernels.rank_columns(cells, whole.schema_.n_categories, threads)
    table = CodedTable.of(cells, whole.schema_, threads)

    def fit(rows: np.ndarray, asked: np.ndarray | None = None, **parameters: Any) -> Any:
        numbers = np.arange(cells.shape[0])[np.asarray(rows)]
        part, schema = table.present(numbers, whole.schema_)
        extra = {} if weights is None else {"sample_weight": weights[numbers]}
        model: Any = clone(self).set_params(**parameters)
        return model.fit(RankedRows(ranks, part, schema, numbers, whole, asked), target[numbers], **extra)

    return fit


def cells_of(read: Any) -> Any:
    """What a fit has read as numbers and codes, where it needs more than bins."""
    return read.cells() if isinstance(read, RankedRows) else read


def binned(
    cells: np.ndarray | BatchedTable | RankedRows,
    n_categories: np.ndarray,
    weights: np.ndarray | None,
    max_bins: int,
    threads: int,
) -> Any:
    """The bins of a table as the kernels take them."""
    if isinstance(cells, RankedRows):
        return cells.bins(weights, max_bins, threads)
    if not isinstance(cells, BatchedTable):
        return _kernels.make_bins(cells, n_categories, weights, max_bins, threads)
    n, d = cells.shape
    group = max(1, min(d, HELD_CELLS // max(n, 1)))
    parts = []
    for begin in range(0, d, group):
        chosen = np.arange(begin, min(begin + group, d))
        held = cells.columns(chosen).values(_as_they_are)
        parts.append(_kernels.make_bins(held, n_categories[chosen], weights, max_bins, threads))
    return parts[0] if len(parts) == 1 else _kernels.join_columns(parts)


def _as_they_are(block: np.ndarray) -> np.ndarray:
    return block
