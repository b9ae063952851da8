"""Columns as bins of one byte a cell, of arrays and of tables that are read in blocks.

A table in blocks is binned some columns at a time: all cells of those columns are held while their bins are found, so
that the bins, and every tree grown on them, are those of the table in memory, bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _kernels
from ...base.batches import BatchedTable

HELD_CELLS = 2**25
"""Cells held as numbers at a time: 256 megabytes, and as much again where the bins are found."""


def binned(
    cells: np.ndarray | BatchedTable, n_categories: np.ndarray, weights: np.ndarray | None, max_bins: int, threads: int
) -> Any:
    """The bins of a table as the kernels take them."""
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
