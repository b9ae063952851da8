"""Columns as rank codes, made once for all trees, rules and folds that read them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import _kernels
from .columns import ColumnSchema


@dataclass(frozen=True)
class CodedTable:
    """Columns as rank codes (see the kernel `rank_codes`); folds and trees take subsets of its rows."""

    codes: np.ndarray
    offsets: np.ndarray
    values: np.ndarray
    n_categories: np.ndarray

    @classmethod
    def of(cls, cells: np.ndarray, schema: ColumnSchema, threads: int) -> CodedTable:
        """Code a table that `MixedInput` has read."""
        n_categories = schema.n_categories
        codes, offsets, values = _kernels.rank_codes(cells, n_categories, threads)
        return cls(codes, offsets, values, n_categories)

    def missing_seen(self, rows: np.ndarray) -> np.ndarray:
        """Which columns have a missing cell in these rows."""
        absent, seen = np.diff(self.offsets), np.zeros(self.codes.shape[0], dtype=bool)
        for j in self._incomplete:
            seen[j] = bool((self.codes[j, rows] == absent[j]).any())
        return seen

    @cached_property
    def _incomplete(self) -> np.ndarray:
        return np.flatnonzero((self.codes == np.diff(self.offsets)[:, None]).any(axis=1))

    def cells(self, rows: np.ndarray) -> np.ndarray:
        """These rows as they were before coding."""
        cells = np.empty((rows.shape[0], self.codes.shape[0]))
        for j in range(self.codes.shape[0]):
            values = np.append(self.values[self.offsets[j] : self.offsets[j + 1]], np.nan)
            cells[:, j] = values[self.codes[j, rows]]
        return cells

    def restricted(self, rows: np.ndarray, schema: ColumnSchema) -> tuple[CodedTable, ColumnSchema]:
        """The table and schema as if only these rows had been read: nominal columns lose categories unseen in them."""
        if not (self.n_categories > 0).any():
            return self, schema
        codes, n_categories = self.codes.copy(), self.n_categories.copy()
        categories = list(schema.categories)
        for j in np.flatnonzero(self.n_categories > 0):
            count = int(self.n_categories[j])
            seen = np.bincount(self.codes[j, rows], minlength=count + 1)[:count] > 0
            kept = int(seen.sum())
            renamed = np.append(np.where(seen, np.cumsum(seen) - 1, kept), kept).astype(np.uint32)
            codes[j] = renamed[self.codes[j]]
            n_categories[j] = kept
            old = categories[j]
            assert old is not None
            categories[j] = old[seen]
        widths = np.where(self.n_categories > 0, n_categories, np.diff(self.offsets))
        values = [
            np.arange(widths[j], dtype=np.float64)
            if self.n_categories[j] > 0
            else self.values[self.offsets[j] : self.offsets[j + 1]]
            for j in range(codes.shape[0])
        ]
        offsets = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
        table = CodedTable(codes, offsets, np.concatenate(values), n_categories)
        return table, ColumnSchema(schema.names, schema.nominal, tuple(categories))
