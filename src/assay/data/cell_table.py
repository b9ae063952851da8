"""Any table as one matrix of numbers, with the way back to a table of its own kind.

Explainers change cells, stack changed copies and ask a model about all of them at once; what the model is given must
be of the kind that it was fitted on. Columns that are not numbers hold the place of each cell among the column's
different values.

>>> table = CellTable.of("example", [["red", 1.0], ["blue", 2.0]])
>>> table.cells.tolist()
[[0.0, 1.0], [1.0, 2.0]]
>>> table.rebuild(table.cells[[1, 1]]).tolist()
[['blue', 2.0], ['blue', 2.0]]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
from scipy.sparse import issparse

from ..base.columns import plain_label
from ..base.errors import DataError, plain
from ..base.words import clean, number

_EXACT = 2**53


@dataclass(frozen=True, eq=False)
class CellTable:
    """Cells of one table or of several of the same columns, as float64; NaN is a missing number.

    `levels` are the different values of columns that are not numbers; those of `ordered` ones (dates) are sorted, and
    places between them count as the nearest. `parts` are the cells of each given table.
    """

    cells: np.ndarray
    names: list[str]
    levels: dict[int, Any]
    parts: list[np.ndarray]
    named: bool = False
    ordered: frozenset[int] = frozenset()
    _like: Any = field(default=None, repr=False)

    @classmethod
    def of(cls, who: str, *tables: Any) -> CellTable:
        """Read tables that have the same columns; their cells stand one after the other."""
        if any(issparse(table) for table in tables):
            raise DataError(who, "X", "must be dense to be explained", "got a sparse matrix", "X.toarray(), some rows")
        try:
            frames = [nw.from_native(table, eager_only=True, pass_through=True) for table in tables]
        except nw.exceptions.DuplicateError:
            raise DataError(who, "X", "must have columns of different names") from None
        sizes: list[int]
        like: Any
        if isinstance(frames[0], nw.DataFrame):
            cells, levels, sizes = _read_frames(who, frames)
            names, named, like = [str(name) for name in frames[0].columns], True, frames[0]
        else:
            arrays = [_array(who, table) for table in tables]
            if len({array.shape[1] for array in arrays}) > 1:
                shown = " and ".join(str(array.shape[1]) for array in arrays)
                raise DataError(who, "the tables", "must have the same columns", f"got {shown} columns")
            sizes = [array.shape[0] for array in arrays]
            like = np.concatenate(arrays) if len(arrays) > 1 else arrays[0]
            cells, levels = _read_array(like)
            names, named = [f"x{j}" for j in range(cells.shape[1])], False
        if cells.shape[1] == 0 or min(sizes) == 0:
            shown = f"got {min(sizes)} rows and {cells.shape[1]} columns"
            raise DataError(who, "X", "must have at least one row and one column", shown)
        ends = np.cumsum(sizes)[:-1]
        dates = frozenset(j for j in levels if named and levels[j].dtype.is_temporal())
        return cls(cells, names, levels, list(np.split(cells, ends)), named, dates, like)

    def rebuild(self, cells: np.ndarray) -> Any:
        """A table of the kind that was read, with these cells."""
        if isinstance(self._like, np.ndarray):
            if not self.levels:
                return cells if self._like.dtype == cells.dtype else _narrowed(cells, self._like.dtype)
            made = np.empty(cells.shape, dtype=object)
            for j in range(cells.shape[1]):
                made[:, j] = self.levels[j][self._places(cells, j)] if j in self.levels else cells[:, j]
            return made.astype(self._like.dtype) if self._like.dtype != object else made
        columns = []
        for j, name in enumerate(self.names):
            if j in self.levels:
                columns.append(nw.maybe_reset_index(self.levels[j][self._places(cells, j)].alias(name)))
                continue
            old = self._like[name]
            own, missing = cells[:, j], np.isnan(cells[:, j])
            series = nw.new_series(name, own, backend=self._like.implementation)
            if missing.any() and old.is_null().any():
                series = series.zip_with(
                    ~nw.new_series(name, missing, backend=self._like.implementation), _nulls(series)
                )
            if old.dtype.is_integer() and not missing.any() and bool((own == np.floor(own)).all()):
                series = series.cast(old.dtype)
            columns.append(series)
        made = columns[0].to_frame()
        for series in columns[1:]:
            made = made.with_columns(series)
        return made.to_native()

    def _places(self, cells: np.ndarray, j: int) -> np.ndarray:
        return np.clip(np.rint(cells[:, j]), 0, len(self.levels[j]) - 1).astype(np.int64)

    def word(self, column: int, cell: float) -> str:
        """A cell for reading."""
        if column in self.levels:
            value = self.value(column, cell)
            return "missing" if value is None or value != value else clean(value, 60)
        return "missing" if np.isnan(cell) else number(float(cell))

    def value(self, column: int, cell: float) -> Any:
        """A cell as plain data."""
        if column in self.levels:
            return _item(self.levels[column], int(np.clip(np.rint(cell), 0, len(self.levels[column]) - 1)))
        return None if np.isnan(cell) else float(cell)

    def categories(self) -> dict[int, list[Any]]:
        """The different values of the columns that are not numbers."""
        return {j: [_item(found, k) for k in range(len(found))] for j, found in self.levels.items()}

    def column(self, who: str, name: Any) -> int:
        """The place of a column, given by its name or number."""
        if isinstance(name, (int, np.integer)) and not isinstance(name, bool) and 0 <= int(name) < len(self.names):
            return int(name)
        if str(name) in self.names:
            return self.names.index(str(name))
        shown = ", ".join(plain(one) for one in self.names[:8]) + (" ..." if len(self.names) > 8 else "")
        raise DataError(who, f"column '{plain(name)}'", "is not in the table", way_out=f"choose from {shown}")

    def columns(self, who: str, names: Any) -> list[int]:
        """The places of several columns."""
        given = [names] if isinstance(names, (str, int, np.integer)) else list(names)
        return [self.column(who, name) for name in given]


def _item(values: Any, place: int) -> Any:
    return plain_label(values[place] if isinstance(values, np.ndarray) else values.item(place))


def _nulls(series: Any) -> Any:
    return nw.new_series(series.name, [None] * len(series), nw.Float64, backend=series.implementation)


def _array(who: str, table: Any) -> np.ndarray:
    array = np.asarray(table)
    if array.dtype.kind in "US" and not isinstance(table, np.ndarray):
        array = np.asarray(table, dtype=object)  # a list of mixed cells: numbers stay numbers
    if array.ndim != 2:
        raise DataError(who, "X", "must be a table of rows and columns", f"got shape {array.shape}")
    if array.dtype.kind not in "biufUSO":
        raise DataError(who, "X", "must hold numbers or text", f"got {array.dtype}")
    return array


def _narrowed(cells: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if dtype.kind in "iub" and (np.isnan(cells).any() or not (cells == np.floor(cells)).all()):
        return cells
    return cells.astype(dtype)


def _read_array(array: np.ndarray) -> tuple[np.ndarray, dict[int, Any]]:
    wide = array.dtype.kind in "iu" and array.size and max(abs(int(array.min())), abs(int(array.max()))) > _EXACT
    if array.dtype.kind in "biuf" and not wide:
        return np.ascontiguousarray(array, dtype=np.float64), {}
    cells, levels = np.empty(array.shape), {}
    for j in range(array.shape[1]):
        column = array[:, j].tolist()
        if all(value is None or isinstance(value, (int, float)) for value in column) and not wide:
            cells[:, j] = [np.nan if value is None else float(value) for value in column]
            continue
        place: dict[Any, int] = {}
        cells[:, j] = [place.setdefault(None if value != value else value, len(place)) for value in column]
        found = np.empty(len(place), dtype=object)
        found[:] = list(place)
        levels[j] = found
    return cells, levels


def _read_frames(who: str, frames: Sequence[Any]) -> tuple[np.ndarray, dict[int, Any], list[int]]:
    names = frames[0].columns
    for other in frames[1:]:
        if not isinstance(other, nw.DataFrame):
            raise DataError(who, "the tables", "must be of one kind", f"got a frame and {type(other).__name__}")
        missing = [name for name in names if name not in other.columns]
        if missing:
            raise DataError(who, f"column '{plain(missing[0])}'", "must be in every table")
    sizes = [len(frame) for frame in frames]
    cells, levels = np.empty((sum(sizes), len(names))), {}
    for j, name in enumerate(names):
        parts = [frame[name] for frame in frames]
        if parts[0].dtype.is_numeric() and all(part.dtype.is_numeric() for part in parts):
            for part, end in zip(parts, np.cumsum(sizes)):
                cells[end - len(part) : end, j] = part.cast(nw.Float64).fill_null(float("nan")).to_numpy()
            continue
        whole = parts[0] if len(parts) == 1 else nw.concat([part.to_frame() for part in parts])[name]
        try:
            found = whole.unique(maintain_order=True)
            found = found.sort() if whole.dtype.is_temporal() else found
            place = {value: k for k, value in enumerate(found.to_list())}
            cells[:, j] = [place[value] for value in whole.to_list()]
        except (TypeError, KeyError):
            raise DataError(who, f"column '{plain(name)}'", "must hold numbers, text, booleans or dates") from None
        levels[j] = found
    return cells, levels, sizes
