"""Preparation that folds share: one matrix of the whole table, and per fold what its training rows say about it.

`Preparation` learns fillings, means, deviations and categories from the training rows. All of these are affine in the
columns of one matrix: numbers with a stand-in for missing cells, a mark for each cell that is missing, and an indicator
(or a code) for each category of the whole table. `SharedPreparation` holds that matrix; `fold(train)` gives the
`FoldTransform` that makes of it, bit for bit, what `Preparation` fitted on those rows would make of the table. The
matrix itself says nothing about rows that a fold does not see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from ..base.folds import FoldTransform, row_lists
from ..data.roles import Role
from .auto import Preparation
from .encode import as_text
from .impute import NumericBlock

# Up to so many cells the numbers are also kept by column, from which the columns of a fold are taken quickly.
_KEPT_CELLS = 2**24
_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class _Labels:
    """One column of labels: the codes of its sorted categories (-1 where missing) and where its columns begin."""

    codes: np.ndarray
    count: int
    missing: bool
    first: int


class SharedPreparation:
    """The matrix that the folds of one table share under a `Preparation`.

    Examples
    --------
    >>> import polars as pl
    >>> from assay.data import infer_roles
    >>> from assay.prepare import Preparation
    >>> frame = pl.DataFrame({"age": [20.0, None, 40.0, 36.0], "plan": ["a", "b", "c", "a"]})
    >>> preparation = Preparation(roles=infer_roles(frame), standardise=True)
    >>> shared, train = SharedPreparation.of(frame, preparation), np.array([0, 1, 2])
    >>> rows = shared.fold(train).apply(shared.matrix, np.array([3]))
    >>> np.array_equal(rows, preparation.fit(frame[train]).transform(frame[[3]]))
    True
    """

    def __init__(self, preparation: Preparation, matrix: np.ndarray, marked: np.ndarray, held: np.ndarray):
        self.preparation, self.matrix, self.marked, self.held = preparation, matrix, marked, held
        self.labels: list[_Labels] = []
        self._by_column: np.ndarray | None = None

    @classmethod
    def of(
        cls, frame: pl.DataFrame, preparation: Preparation, matrix: np.ndarray | None = None
    ) -> SharedPreparation | None:
        """The shared matrix of a table; None where the preparation is no affine map of one: dates, which count from
        the first training date, free text, whose words are those of the training rows, and columns of so many
        categories that rare ones would share an indicator.

        A complete table of numbers is its own matrix, and is taken from `matrix` where it is there already."""
        roles: Mapping[str, Role] = preparation.roles or {}
        if any(role.role in ("datetime", "text") for role in roles.values()):
            return None
        # Nothing is learned from the rows here: names, ranks of ordinal labels and which columns are labels.
        reader = Preparation(**preparation.get_params())
        table = reader._frame(frame, reset=True)
        reader._learn_layout(table)
        if reader.as_frame_ and reader.missing == "native":
            return None  # then it learns nothing from rows, and the table is shared as it is
        texts = [as_text(table[name]) for name in reader.labels_]
        if not reader.as_frame_ and any(text.n_unique() > reader.max_categories for text in texts):
            return None
        if reader.only_numbers_ and matrix is not None and not any(series.null_count() for series in table):
            return cls(reader, matrix, np.empty(0, dtype=np.int64), np.zeros(matrix.shape[1]))
        columns, holes = reader._numbers(table, reset=True)
        missing = np.isnan(columns) if holes and reader.missing == "impute" else np.zeros((0, 0), dtype=bool)
        marked = np.flatnonzero(missing.any(axis=1))
        held = _fill_in(columns, missing, marked)
        parts = [columns, missing[marked].astype(np.float64)] if marked.size else [columns]
        shared = cls(reader, columns, marked, held)
        at = columns.shape[0] + marked.shape[0]
        for text in texts:
            if reader.as_frame_:
                text = text.fill_null(reader.missing_label_)
            codes, count, absent = _codes(text)
            shared.labels.append(_Labels(codes, count, absent, at))
            block = codes[None] if reader.as_frame_ else codes == np.append(np.arange(count), [-1] * absent)[:, None]
            parts.append(block.astype(np.float64))
            at += block.shape[0]
        shared.matrix = np.ascontiguousarray(np.concatenate(parts).T)
        return shared

    def like(self, preparation: Preparation) -> SharedPreparation:
        """The same matrix for a preparation that differs in what it makes of it: scaling, or the first category."""
        other = copy(self)
        other.preparation = copy(self.preparation).set_params(
            standardise=preparation.standardise, drop_first=preparation.drop_first
        )
        return other

    @property
    def _numbers(self) -> int:
        ends = [column.first for column in self.labels[:1]] or [self.matrix.shape[1]]
        return int(ends[0] - self.marked.shape[0])

    @cached_property
    def _places(self) -> np.ndarray:
        return np.arange(self._numbers)

    @cached_property
    def _holed(self) -> bool:
        """Whether a cell of any number is missing."""
        return bool(self.marked.size) or bool(np.isnan(self.matrix[:, : self._numbers]).any())

    @property
    def standardises(self) -> bool:
        """Whether it standardises complete columns of numbers, and does nothing else."""
        plain = not self.labels and not self._holed and not self.preparation.as_frame_
        return plain and bool(self.preparation.standardise)

    def _columns(self, train: np.ndarray | None) -> np.ndarray:
        """The columns of numbers of some rows, one row of memory each, with NaN where a cell is missing."""
        numbers = self.matrix[:, : self._numbers]
        if train is not None and numbers.size <= _KEPT_CELLS:
            if self._by_column is None:
                self._by_column = np.array(numbers.T, order="C")
            columns = np.take(self._by_column, train, axis=1)
        else:
            columns = np.array((numbers if train is None else np.take(numbers, train, axis=0)).T, order="C")
        marks = self.matrix[:, self._numbers : self._numbers + self.marked.shape[0]]
        marks = marks if train is None else np.take(marks, train, axis=0)
        for place, j in enumerate(self.marked):
            columns[j, marks[:, place] != 0.0] = np.nan
        return columns

    def fold(self, train: np.ndarray | None) -> FoldTransform:
        """What the preparation learns from these rows (None: from all of them)."""
        return self.folds([train])[0]

    def folds(self, trains: Sequence[np.ndarray | None], threads: int = 1) -> list[FoldTransform]:
        """What it learns from each of these lists of rows, in one pass over each where no cell is missing."""
        standardise = self.preparation.standardise and not self.preparation.as_frame_
        impute = self.preparation.missing == "impute"
        if not self._holed:
            lists = row_lists(np.arange(self.matrix.shape[0]) if train is None else train for train in trains)
            blocks = NumericBlock.learn_folds(
                self.matrix, self._numbers, lists, threads, impute=impute, standardise=standardise
            )
        else:
            blocks = []
            for train in trains:
                part = self._columns(train)
                holes = bool(np.isnan(part).any())
                blocks.append(NumericBlock.learn(part, holes, impute=impute, standardise=standardise)[0])
        return [self._transform(block, train) for block, train in zip(blocks, trains, strict=True)]

    def _transform(self, block: NumericBlock, train: np.ndarray | None) -> FoldTransform:
        preparation, numbers = self.preparation, self._numbers
        if not self.labels and not self.marked.shape[0] and not block.indicated.shape[0]:
            return FoldTransform(self._places, _NONE, mean=block.mean, inverse=block.inverse_deviation)
        marks = np.full(numbers, -1)
        marks[self.marked] = numbers + np.arange(self.marked.shape[0])
        picked = [marks[block.indicated]]
        for column in self.labels:
            if preparation.as_frame_:
                picked.append(np.array([column.first]))
                continue
            seen = column.codes if train is None else column.codes[train]
            present = np.flatnonzero(np.bincount(seen[seen >= 0], minlength=column.count))
            dropped = present.shape[0] > 1 and (preparation.drop_first or present.shape[0] == 2)
            picked.append(column.first + present[int(dropped) :])
            if column.missing and (seen < 0).any():
                picked.append(np.array([column.first + column.count]))
        first_label = numbers + block.indicated.shape[0]
        masked = bool(self.marked.shape[0])
        return FoldTransform(
            source=np.arange(numbers),
            picked=np.concatenate(picked).astype(np.int64),
            mean=block.mean,
            inverse=block.inverse_deviation,
            mask=marks if masked else None,
            held=self.held if masked else None,
            fill=block.fillings if masked else None,
            labels=tuple(range(first_label, first_label + len(self.labels))) if preparation.as_frame_ else (),
        )


def _codes(text: pl.Series) -> tuple[np.ndarray, int, bool]:
    """Codes of the sorted categories, -1 where missing, how many there are, and whether any is missing."""
    labels = text.drop_nulls().unique().sort()
    found = text.cast(pl.Enum(labels)).to_physical().cast(pl.Int64)
    return found.fill_null(-1).to_numpy(), labels.len(), bool(text.null_count())


def _fill_in(columns: np.ndarray, missing: np.ndarray, marked: np.ndarray) -> np.ndarray:
    """Put a value amid the others in missing cells, so that sums keep their digits; returns the values."""
    held = np.zeros(columns.shape[0])
    for j in marked:
        present = columns[j][~missing[j]]
        held[j] = np.median(present) if present.size else 0.0
        columns[j, missing[j]] = held[j]
    return held
