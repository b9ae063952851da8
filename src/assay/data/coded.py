"""Sorted columns, made once for all trees, rules and folds that read them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import _kernels
from .columns import ColumnSchema

_MISSING = np.uint32(1 << 30)


@dataclass
class CodedTable:
    """The columns of a table in order of value (see the kernel `sort_columns`), 4 bytes a cell; cells are not copied.

    Folds and trees take subsets of its rows. With `once`, the first tree on all rows uses the order up, so that there
    is no second copy; should another come, the columns are sorted again. `renamed` gives codes of categories new
    numbers (-1: gone) where only some rows count.
    """

    cells: np.ndarray
    n_categories: np.ndarray
    threads: int
    once: bool = False
    renamed: tuple[np.ndarray, np.ndarray] | None = None
    _order: np.ndarray | None = field(default=None, repr=False)

    @classmethod
    def of(cls, cells: np.ndarray, schema: ColumnSchema, threads: int, *, once: bool = False) -> CodedTable:
        """Sort the columns of a table that `MixedInput` has read."""
        return cls(cells, schema.n_categories, threads, once)

    @property
    def n_columns(self) -> int:
        """Columns of the table."""
        return int(self.cells.shape[1])

    def order(self) -> np.ndarray:
        """The sorted columns of all rows."""
        if self._order is None:
            self._order = _kernels.sort_columns(self.cells, self._all_categories(), self.threads)
        return self._order

    def _all_categories(self) -> np.ndarray:
        return self.n_categories if self.renamed is None else np.diff(self.renamed[1]).astype(np.int32)

    def chosen(self, rows: np.ndarray) -> ChosenRows:
        """These rows for one tree, which uses their order up."""
        numbers = rows.astype(np.int32, copy=False)
        if self.once and rows.shape[0] == self.cells.shape[0]:
            order, self._order = self.order(), None
        else:
            order = _kernels.choose_rows(self.order(), numbers, self.threads)
        return ChosenRows(self, numbers, order)

    def column(self, j: int, rows: np.ndarray) -> np.ndarray:
        """Cells of one column; missing cells and categories that are gone are NaN."""
        cells = self.cells[rows, j]
        if self.n_categories[j] == 0 and (self.renamed is None or np.diff(self.renamed[1])[j] == 0):
            return cells
        cells = np.where(cells >= 0, cells, np.nan)
        if self.renamed is not None:
            codes, first = self.renamed
            number = codes[first[j] : first[j + 1]].astype(np.float64)
            number[number < 0] = np.nan
            known = ~np.isnan(cells)
            cells[known] = number[cells[known].astype(np.int64)]
        return cells

    def cells_of(self, rows: np.ndarray) -> np.ndarray:
        """These rows as a table of their own."""
        if rows.shape[0] == self.cells.shape[0] and self.renamed is None and bool((np.diff(rows) == 1).all()):
            return self.cells
        cells = self.cells[rows]
        for j in np.flatnonzero(self._all_categories() > 0).tolist():
            cells[:, j] = self.column(j, rows)
        return cells

    def present(self, rows: np.ndarray, schema: ColumnSchema) -> tuple[CodedTable, ColumnSchema]:
        """As `restricted`, for whoever needs no order: nothing is sorted here."""
        if not (self.n_categories > 0).any():
            return self, schema
        n_categories, categories, codes = self.n_categories.copy(), list(schema.categories), []
        for j in np.flatnonzero(self.n_categories > 0).tolist():
            column = self.column(j, rows)
            count = int(self.n_categories[j])
            seen = np.bincount(column[~np.isnan(column)].astype(np.int64), minlength=count) > 0
            codes.append(np.where(seen, np.cumsum(seen) - 1, -1).astype(np.int32))
            n_categories[j] = int(seen.sum())
            old = categories[j]
            assert old is not None
            categories[j] = old[seen]
        first = np.concatenate([[0], np.cumsum(self.n_categories)]).astype(np.int64)
        table = replace(self, n_categories=n_categories, once=False, renamed=(np.concatenate(codes), first))
        return table, ColumnSchema(schema.names, schema.nominal, tuple(categories))

    def restricted(self, rows: np.ndarray, schema: ColumnSchema) -> tuple[CodedTable, ColumnSchema]:
        """The table and schema as if only these rows had been read: nominal columns lose categories unseen in them."""
        if (self.n_categories > 0).any():
            self.order()  # one order for all that are restricted
        return self.present(rows, schema)


@dataclass(frozen=True)
class ChosenRows:
    """Rows of a `CodedTable` for one tree."""

    table: CodedTable
    rows: np.ndarray
    order: np.ndarray

    @property
    def missing_seen(self) -> np.ndarray:
        """Which columns have a missing cell in these rows; to be asked before the tree grows."""
        return (self.order[:, -1] & _MISSING) != 0

    def arguments(self) -> dict[str, Any]:
        """What every kernel that grows trees takes."""
        codes, first = self.table.renamed or (None, None)
        return {
            "cells": self.table.cells,
            "order": self.order,
            "rows": self.rows,
            "n_categories": self.table.n_categories,
            "renamed": codes,
            "renamed_first": first,
        }
