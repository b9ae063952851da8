"""Rows of a table in blocks as 16-bit codes of their standardised cells, kept in memory while the rows are first read.

They take a quarter of the rows themselves. What is asked of them must be small beside what all rows gave in full, as
the remainder of a loss beyond its second-order model is (`cpp/include/assay/linear/coded_remainder.hpp`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _kernels

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

    @classmethod
    def within(cls, centre: np.ndarray, inverse: np.ndarray, most: np.ndarray, threads: int) -> Coding:
        """The coding of columns whose standardised cells are at most so large.

        >>> Coding.within(np.zeros(2), np.array([2.0, 0.0]), np.array([MOST_CODE / 2, 0.0]), 1).per_unit
        array([4., 0.])
        """
        unit = np.where(inverse > 0.0, most / MOST_CODE, 0.0)
        per_unit = np.divide(inverse, unit, out=np.zeros_like(unit), where=unit > 0.0)
        return cls(centre, per_unit, unit, threads)


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

    def __init__(self, coding: Coding, key: int) -> None:
        self.coding, self.key, self.n_rows = coding, key, 0
        self._blocks: list[CodedBlock] = []
        self._room = np.empty((0, coding.unit.shape[0]), dtype=np.int16)

    def add(self, cells: np.ndarray) -> bool:
        """Add a block; False if a cell has no code."""
        count, width = cells.shape
        begin = self._blocks[-1].codes.shape[0] if self._blocks else 0
        if self._room.shape[0] < begin + count:
            self._room, begin = np.empty((_TOGETHER * count, width), dtype=np.int16), 0
        coding, codes = self.coding, self._room[begin : begin + count]
        # One thread: the others decode the block that comes next.
        if not _kernels.code_rows(cells, coding.centre, coding.per_unit, self.key, self.n_rows, codes, 1):
            return False
        if begin:
            self._blocks.pop()
        self.n_rows += count
        self._blocks.append(CodedBlock(self._room[: begin + count], self.key, self.n_rows - begin - count))
        return True

    def blocks(self) -> Iterator[CodedBlock]:
        """The rows, some at a time."""
        return iter(self._blocks)

    def rows(self, chosen: np.ndarray) -> np.ndarray:
        """Not there: rows by number come from the part itself."""
        raise NotImplementedError
