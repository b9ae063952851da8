"""Parts of a large table that are decoded anew at every pass, instead of being kept on disk as plain numbers.

The decoder's process fills slots of memory that both processes share, one block of rows each, while a block before is
worked on. Two passes that decode cost less than one that also writes 8 bytes a cell to a scratch file (whose pages the
system has to find first); whoever comes for a third pass, or for rows by number, has the file written after all.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from ..base.batches import Along, ColumnFacts, added, block_rows
from ..base.coded_rows import CodedPart
from ..base.errors import DataError, plain
from .read_scan import Scan
from .read_source import Cells

SLOTS = 6
"""Blocks that are filled, wait or are worked on."""
PASSES = 2
"""Passes that decode; the next one keeps what it decodes."""


class Ring:
    """Slots of memory of one block of rows each, shared with the decoder; used by one reader at a time."""

    def __init__(self, width: int) -> None:
        self.rows, self.first = block_rows(width), 0
        self._file = os.memfd_create("assay-blocks")
        size = 8 * SLOTS * self.rows * width
        os.ftruncate(self._file, size)
        self.slots = np.frombuffer(mmap.mmap(self._file, size), np.float64).reshape(SLOTS, self.rows, width)

    @staticmethod
    def possible() -> bool:
        """Whether the system lets two processes share memory in the way that is needed."""
        return hasattr(os, "memfd_create") and os.path.exists(f"/proc/{os.getpid()}/fd")

    def fill(self, source: Scan, cells: Cells) -> Iterator[tuple[pl.DataFrame, int | None, np.ndarray]]:
        """The pieces of a source: other columns, rows, and the cells, which stay until the next piece but one is asked
        for; a source whose columns are no numbers gives None and whole frames."""
        begin, (there, here) = self.first, os.pipe()
        try:
            of_pid = f"/proc/{os.getpid()}/fd"
            asked = replace(
                cells, file=f"{of_pid}/{self._file}", slots=SLOTS, rows=self.rows, first=begin, free=f"{of_pid}/{there}"
            )
            for number, (frame, written) in enumerate(source.pieces_beside(asked)):
                self.first = (begin + number + 1) % SLOTS
                yield frame, written, self.slots[(begin + number) % SLOTS, : written or 0]
                if number:  # whoever asks for the next piece is done with the one before this
                    os.write(here, b"+")
        finally:
            os.close(here)
            os.close(there)

    def __del__(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            os.close(self._file)


class Assembled:
    """Rows that come in pieces of any size, as blocks of the size that every pass has."""

    def __init__(self, width: int, *, copied: bool) -> None:
        self.size, self.copied = block_rows(width), copied
        self._block, self._filled = np.empty((0, width)), 0

    def take(self, cells: np.ndarray) -> Iterator[np.ndarray]:
        """The blocks that are complete with these rows; one that came in one piece is not copied, if that may be."""
        if not self._filled and not self.copied and cells.shape[0] == self.size:
            yield cells
            return
        begin = 0
        while begin < cells.shape[0]:
            if not self._filled:
                self._block = np.empty((self.size, cells.shape[1]))
            count = min(self.size - self._filled, cells.shape[0] - begin)
            self._block[self._filled : self._filled + count] = cells[begin : begin + count]
            self._filled, begin = self._filled + count, begin + count
            if self._filled == self.size:
                self._filled = 0
                yield self._block

    def rest(self) -> Iterator[np.ndarray]:
        """The rows that are left."""
        if self._filled:
            yield self._block[: self._filled]
            self._filled = 0


class DecodedPart:
    """Rows of a file that is decoded at every pass, up to the third."""

    recode: Sequence[Any] = ()

    def __init__(self, source: Scan, cells: Cells, ring: Ring, make_scratch: Any) -> None:
        self.source, self.cells, self.ring = source, cells, ring
        self.n_rows, self.infinite = 0, False
        self._make_scratch, self._scratch, self._passes = make_scratch, None, 1
        self._kept: list[np.ndarray | None] = []
        self._signs = source.signs

    def add(self, rows: int, kept: np.ndarray | None) -> None:
        """Told of a piece of the first pass and which of its rows are kept."""
        self._kept.append(kept)
        self.n_rows += rows if kept is None else int(kept.sum())

    def without_infinite(self, begin: int, block: np.ndarray) -> None:
        """Told that infinite cells are there, which are missing ones at every pass."""
        self.infinite = True

    def blocks(self) -> Iterator[np.ndarray]:
        """The rows, some at a time."""
        if self._scratch is not None:
            yield from self._scratch.blocks()
            return
        self._passes += 1
        copy = self._make_scratch() if self._passes > PASSES else None
        for block in self._decoded():
            if copy is not None:
                copy.write(block)
            yield block
        self._scratch = copy

    def rows(self, chosen: np.ndarray) -> np.ndarray:
        """Some rows by number, from a copy on disk."""
        while self._scratch is None:
            self._passes = max(self._passes, PASSES)
            for _ in self.blocks():
                pass
        return self._scratch.rows(chosen)

    def _decoded(self) -> Iterator[np.ndarray]:
        self._unchanged(self.source.signs == self._signs)
        masks = any(kept is not None for kept in self._kept)
        whole = Assembled(self.cells_width, copied=masks)
        seen = 0
        for number, (_, written, cells) in enumerate(self.ring.fill(self.source, replace(self.cells, others=()))):
            self._unchanged(written is not None and number < len(self._kept))
            kept = self._kept[number]
            self._unchanged(kept is None or kept.shape[0] == written)
            if kept is not None:
                cells = cells[kept]
            seen += cells.shape[0]
            for block in whole.take(cells):
                yield self._finite(block)
        for block in whole.rest():
            yield self._finite(block)
        self._unchanged(seen == self.n_rows and self.source.signs == self._signs)

    @property
    def cells_width(self) -> int:
        """Columns of a row."""
        return len(self.cells.columns)

    def _finite(self, block: np.ndarray) -> np.ndarray:
        return np.where(np.isinf(block), np.nan, block) if self.infinite else block

    def _unchanged(self, same: bool) -> None:
        if not same:
            raise DataError(
                "Batches",
                f"the file '{plain(self.source.source_of_part, 300)}'",
                "must not change while it is read",
                "it is another one than in the first pass",
            )


class SumsAlong:
    """Sums over the blocks of the first pass, and the codes of its rows, as long as every
    row has a class that is known and no cell is missing."""

    def __init__(self, along: Along | None, by_label: bool, number: int, scratch: str | None = None) -> None:
        self.along, self.by_label = along, by_label
        self.result: Any = None
        coding = None if along is None else along.coding
        self.coded = None if coding is None else CodedPart(coding, number, scratch)
        self._values: list[np.ndarray] = []
        self._weights: list[np.ndarray] = []

    def hold(self, values: np.ndarray, weights: np.ndarray | None) -> None:
        """Target and weights of rows whose block comes later."""
        if self.along is not None:
            self._values.append(values)
            if weights is not None:
                self._weights.append(weights)

    def add(self, block: np.ndarray, facts: ColumnFacts, own: dict[Any, int]) -> None:
        """Add the sums over a block; `own` numbers the labels of the target as they came."""
        if self.along is None:
            return
        values = _first_of(self._values, block.shape[0])
        weights = _first_of(self._weights, block.shape[0]) if self._weights else None
        codes = None if facts.missing.any() else self.along.codes(values, list(own) if self.by_label else None)
        if codes is None:
            self.along = self.result = self.coded = None
            return
        found = self.along.work(block, codes, weights)
        self.result = found if self.result is None else added(self.result, found)
        if self.coded is not None and not self.coded.add(block):
            self.coded = None

    def end(self) -> None:
        """Told that all blocks were added."""
        if self.coded is not None and not self.coded.end():
            self.coded = None


def _first_of(waiting: list[np.ndarray], count: int) -> np.ndarray:
    """Take so many values from the front."""
    whole = waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
    waiting[:] = [whole[count:]]
    return whole[:count]
