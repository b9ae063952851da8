"""Values replaced one by one; columns, and repeated training rows, left out."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import polars as pl
from sklearn.utils.validation import check_is_fitted

from ..base import ArrayLike, DataError, Mapping, Nothing, ParameterError, param, plain
from .step import CellCost, RowStep, TableStep, columns_param, kind_of, listed


class ReplaceValues(TableStep):
    """Replaces values of columns by others, or by missing: "nroth" by "north", -999 by nothing.

    Values that the mapping does not name stay. In a column of numbers a key may be the number or its text, as it comes
    from JSON; dates are given in ISO form. All replacements are made at once, so that two values can be swapped.

    Attributes
    ----------
    replacements_ : dict, for each column the pair of lists (old values, new values)
    counts_ : dict, for each column the number of training cells that change

    Examples
    --------
    >>> import polars as pl
    >>> from assay.prepare import ReplaceValues
    >>> table = pl.DataFrame({"region": ["north", "nroth", "?"], "age": [31, -999, 40]})
    >>> step = ReplaceValues(mapping={"region": {"nroth": "north", "?": None}, "age": {-999: None}})
    >>> step.fit_transform(table).rows()
    [('north', 31), ('north', None), (None, 40)]
    """

    mapping: Any = param(
        None, Mapping() | Nothing(), "For each column (name or position) a dict of old value to new value or None."
    )

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        self.replacements_: dict[str, tuple[list[Any], list[Any]]] = {}
        for name, changes in self._by_column(frame, self.mapping, "mapping").items():
            if not isinstance(changes, dict):
                self._refuse_entry("mapping", name, "a dict of old value to new value", changes)
            if None in changes:
                self._refuse_entry(
                    "mapping", name, "a dict without None among the old values (impute missing cells instead)", changes
                )
            kind = kind_of(frame[name])
            old = [self._value(name, kind, value) for value in changes]
            new = [None if value is None else self._value(name, kind, value) for value in changes.values()]
            self.replacements_[name] = (old, new)
        self.kinds_ = {name: kind_of(frame[name]) for name in self.replacements_}
        self.names_out_ = list(frame.columns)
        self.counts_ = {
            name: int(_cells(frame[name]).is_in(_series(old, _cells(frame[name]).dtype).implode()).sum() or 0)
            for name, (old, _) in self.replacements_.items()
        }

    def _value(self, name: str, kind: str, value: Any) -> Any:
        if kind == "text":
            return str(value)
        if kind == "date":
            try:
                return datetime.fromisoformat(str(value)).isoformat()
            except ValueError:
                self._refuse_entry(
                    "mapping", name, "a dict of dates such as '2024-01-31', which the column holds,", value
                )
        if kind == "boolean":
            if str(value).lower() in ("true", "false"):
                return str(value).lower() == "true"
            self._refuse_entry("mapping", name, "a dict of true and false", value)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if isinstance(value, bool) or not np.isfinite(number):
            self._refuse_entry("mapping", name, "a dict of numbers, which the column holds,", value)
        return number

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        frame = self._like_fit(frame, self.kinds_)
        return frame.with_columns([self._replaced(frame[name]) for name in self.replacements_])

    def _replaced(self, series: pl.Series) -> pl.Series:
        old, new = self.replacements_[series.name]
        if not old:
            return series
        if series.dtype.is_integer() and all(value is None or value.is_integer() for value in new):
            # A number with decimals is in no column of integers, so it need not be looked for.
            pairs = [(int(a), None if b is None else int(b)) for a, b in zip(old, new) if a.is_integer()]
            old, new, cells = [a for a, _ in pairs], [b for _, b in pairs], series
        else:
            cells = _cells(series)
        return cells.replace(_series(old, cells.dtype), _series(new, cells.dtype))

    def explain(self) -> list[str]:
        """What is replaced, in words, with the number of training cells concerned."""
        check_is_fitted(self)
        sentences = []
        for name, (old, new) in self.replacements_.items():
            pairs = [f"{_shown(a)} becomes {'missing' if b is None else _shown(b)}" for a, b in zip(old[:6], new[:6])]
            more = f", and {len(old) - 6} more are replaced" if len(old) > 6 else ""
            sentences.append(f"{plain(name)}: {', '.join(pairs)}{more} ({self.counts_[name]} cells in training).")
        return sentences

    # A look-up per cell, and a copy.
    _cell_cost = CellCost(seconds=3e-8, start=1e-5, bytes=24.0)


class DropColumns(TableStep):
    """Leaves out columns, such as identifiers, constants or copies of the target.

    Attributes
    ----------
    dropped_ : list of the columns that are left out

    Examples
    --------
    >>> import polars as pl
    >>> from assay.prepare import DropColumns
    >>> DropColumns(columns=["id"]).fit_transform(pl.DataFrame({"id": [1, 2], "age": [31, 40]})).columns
    ['age']
    """

    columns: Any = columns_param("Columns to leave out, by name or position; None for none.")

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        self.dropped_ = [] if self.columns is None else self._chosen(frame, lambda series: True, "cells")
        self.names_out_ = [name for name in frame.columns if name not in self.dropped_]
        if not self.names_out_:
            raise DataError(type(self).__name__, "the table", "would lose every column", way_out="name fewer columns")

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.select(self.names_out_)

    def explain(self) -> list[str]:
        """What is left out, in words."""
        check_is_fitted(self)
        return [f"{listed(self.dropped_)}: left out."] if self.dropped_ else []

    # Columns are passed on without a copy; reading them may take one.
    _cell_cost = CellCost(seconds=1e-9, start=1e-6, bytes=8.0)


class DropDuplicates(RowStep):
    """Leaves repeated training rows out, keeping the first of each.

    Rows are repeated if they agree in the columns `keys`; without keys, if they agree in every column and in the
    target. Two missing cells agree. Rows that have to be predicted all stay.

    Attributes
    ----------
    keys_ : list of the columns that are compared
    duplicates_ : int, the number of training rows that repeat an earlier one

    Examples
    --------
    >>> import polars as pl
    >>> from assay.prepare import DropDuplicates
    >>> table = pl.DataFrame({"id": [1, 1, 2], "age": [31, 32, 40]})
    >>> DropDuplicates().fit(table).duplicates_, DropDuplicates(keys=["id"]).fit(table).duplicates_
    (0, 1)
    >>> rows, _ = DropDuplicates(keys=["id"]).fit_resample(table)
    >>> rows["age"].to_list()
    [31, 40]
    """

    keys: Any = param(
        None, ArrayLike() | Nothing(), "Columns that name a row; None compares whole rows with their target."
    )

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        wanted = frame.columns if self.keys is None else np.asarray(self.keys, dtype=object).ravel().tolist()
        self.keys_ = list(dict.fromkeys(self._column(frame, item, "keys") for item in wanted))
        if not self.keys_:
            raise ParameterError(type(self).__name__, "parameter 'keys'", "must name at least one column", "got none")
        self.names_out_ = list(frame.columns)
        self.duplicates_ = frame.height - len(self._kept(frame, y))

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame

    def _kept(self, frame: pl.DataFrame, y: np.ndarray | None) -> np.ndarray:
        compared = frame.select(self.keys_)
        if self.keys is None and y is not None:
            target = y.reshape(y.shape[0], -1)
            parts = [_target_part(target[:, j]).alias(f"target {j}") for j in range(target.shape[1])]
            compared = pl.DataFrame([series.alias(f"key {i}") for i, series in enumerate(compared.get_columns())])
            compared = compared.with_columns(parts)
        return np.flatnonzero(compared.select(pl.struct(pl.all()).is_first_distinct()).to_series().to_numpy())

    def explain(self) -> list[str]:
        """What is left out, in words, with the number of training rows concerned."""
        check_is_fitted(self)
        by = "the whole row and the target" if self.keys is None else listed(self.keys_)
        return [f"Training rows that repeat an earlier one in {by} are left out ({self.duplicates_} in training)."]

    # One hash per row, and a table of them.
    _cell_cost = CellCost(seconds=1e-7, start=1e-5, bytes=48.0)


def _series(values: list[Any], dtype: Any) -> pl.Series:
    """Old or new values as cells; dates stand in ISO form in what was learned."""
    if dtype.is_temporal():
        values = [None if value is None else datetime.fromisoformat(value) for value in values]
    return pl.Series(values, dtype=dtype)


def _cells(series: pl.Series) -> pl.Series:
    return series.cast(pl.Float64) if series.dtype.is_numeric() else series


def _target_part(values: np.ndarray) -> pl.Series:
    return pl.Series([str(v) for v in values]) if values.dtype.kind == "O" else pl.Series(values)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else f"'{plain(value, 40)}'"
