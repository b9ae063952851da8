"""Rows of a table in blocks as 16-bit codes of their standardised cells, kept while the rows are first read.

They take a quarter of the rows themselves, in memory or, where they are many, in a scratch file without a name. What is
asked of them must be small beside what all rows gave in full, as the remainder of a loss beyond its second-order model
is (`cpp/include/assay/linear/coded_remainder.hpp`).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _kernels
from .errors import DataError

MOST_CODE = 32767
"""The largest code of a cell."""
_TOGETHER = 8
"""Blocks whose codes are one: with a pass over them threads have something to do, and the system finds larger pages."""


@dataclass(frozen=True, eq=False)
class Coding:
    """How cells are coded: (cell - centre) * per_unit, rounded. A code stands for `unit` of the standardised cell, 0
    for a column that is left out."""

    centre: np.ndarray
    per_unit: np.ndarray
    unit: np.ndarray
    threads: int
    on_disk: bool = False
    """Whether the codes are kept in a scratch file."""

    @classmethod
    def within(
        cls, centre: np.ndarray, inverse: np.ndarray, most: np.ndarray, threads: int, *, on_disk: bool = False
    ) -> Coding:
        """The coding of columns whose standardised cells are at most so large.

        >>> Coding.within(np.zeros(2), np.array([2.0, 0.0]), np.array([MOST_CODE / 2, 0.0]), 1).per_unit
        array([4., 0.])
        """
        unit = np.where(inverse > 0.0, most / MOST_CODE, 0.0)
        per_unit = np.divide(inverse, unit, out=np.zeros_like(unit), where=unit > 0.0)
        return cls(centre, per_unit, unit, threads, on_disk)


@dataclass(frozen=True, eq=False)
class CodedBlock:
    """Codes of some rows, and what their random numbers follow from: the part's number and that of the first row."""

    codes: np.ndarray
    key: int
    first: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return self.codes.shape


class CodedPart:
    """The codes of the rows of a part, block by block.

    >>> part = CodedPart(Coding.within(np.zeros(1), np.ones(1), np.full(1, 10.0), 1), 0)
    >>> part.add(np.array([[1.0], [-2.0]])), part.add(np.array([[11.0]]))
    (True, False)
    >>> [(block.codes[:, 0] * part.coding.unit).round(3).tolist() for block in part.blocks()]
    [[1.0, -2.0]]
    """

    recode: Any = ()

    def __init__(self, coding: Coding, key: int, scratch: str | None = None) -> None:
        self.coding, self.key, self.n_rows = coding, key, 0
        self._blocks: list[CodedBlock] = []
        self._room = np.empty((0, coding.unit.shape[0]), dtype=np.int16)
        self._sizes: list[int] = []
        self._file = tempfile.TemporaryFile(prefix="assay-", dir=scratch, buffering=0) if coding.on_disk else None  # noqa: SIM115

    def add(self, cells: np.ndarray) -> bool:
        """Add a block; False if a cell has no code, or the scratch file no room."""
        count, width = cells.shape
        begin = self._blocks[-1].codes.shape[0] if self._blocks else 0
        if self._room.shape[0] < begin + count:
            if not self.put_away():
                return False
            begin = 0
            if self._room.shape[0] < _TOGETHER * count or self._file is None:
                self._room = np.empty((_TOGETHER * count, width), dtype=np.int16)
        coding, codes = self.coding, self._room[begin : begin + count]
        # One thread: the others decode the block that comes next.
        if not _kernels.code_rows(cells, coding.centre, coding.per_unit, self.key, self.n_rows, codes, 1):
            return False
        if begin:
            self._blocks.pop()
        self.n_rows += count
        self._blocks.append(CodedBlock(self._room[: begin + count], self.key, self.n_rows - begin - count))
        return True

    def put_away(self) -> bool:
        """Write what is in memory to the scratch file, if there is one; whether it had room."""
        if self._file is None or not self._blocks:
            return True
        codes = self._blocks.pop().codes
        waiting = memoryview(np.ascontiguousarray(codes).data).cast("B")
        try:
            while waiting:
                waiting = waiting[self._file.write(waiting) :]
        except OSError:
            return False
        self._sizes.append(codes.shape[0])
        return True

    def end(self) -> bool:
        """Told that all rows were added; False if the scratch file had no room for them."""
        done = self.put_away()
        if self._file is not None:
            self._room = self._room[:0].copy()
        return done

    def blocks(self) -> Iterator[CodedBlock]:
        """The rows, some at a time."""
        first, width = 0, self._room.shape[1]
        for size in self._sizes:
            yield CodedBlock(self._written(first, size, width), self.key, first)
            first += size
        yield from self._blocks

    def _written(self, first: int, size: int, width: int) -> np.ndarray:
        assert self._file is not None
        codes = np.empty((size, width), dtype=np.int16)
        room, at = memoryview(codes.data).cast("B"), 2 * width * first
        while room:
            count = os.preadv(self._file.fileno(), [room], at)
            if not count:
                raise DataError("Batches", "the scratch file", "must not change while it is read", "it became shorter")
            room, at = room[count:], at + count
        return codes

    def rows(self, chosen: np.ndarray) -> np.ndarray:
        """Not there: rows by number come from the part itself."""
        raise NotImplementedError
