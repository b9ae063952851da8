"""Later rows as a model's training table had them: columns by name, cells of their kind, and every cell that is not.

The profile of the training table says what each column holds. A row with a cell that cannot be read as its column's
kind, or a line with too many or too few fields, is left out and told with its reason; all other rows go on.

>>> import polars as pl
>>> profile = {"age": {"kind": "number", "role": "numeric", "whole": True}}
>>> found = Conform(profile)(pl.DataFrame({"age": ["41", "old", None]}), first_row=1)
>>> found.frame["age"].to_list(), found.rows.tolist(), [str(problem) for problem in found.problems]
([41, None], [1, 3], ["row 2, column 'age': must be a whole number; got 'old'"])
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from ..base.errors import DataError, plain
from .parse import ColumnPlan, follow_plan, has_decimal_commas, parse_columns, plan_column
from .read import pieces_of_source
from .read_source import Options
from .roles import nearest_free
from .table import plain_types

MOST_PROBLEMS = 10_000
"""Problems that are kept with their cell; more are counted."""
_HELD = {"number": "number", "label": "label"}
"""How columns of a profile are read from plain text; the other kinds are parsed from it."""
_WORDS = {"number": "a number", "whole": "a whole number", "boolean": "true or false", "date": "a date"}


@dataclass(frozen=True)
class Problem:
    """Why a row has no prediction: its number (from 1), the column, the reason and the cell."""

    row: int
    column: str
    reason: str
    cell: str = ""

    def __str__(self) -> str:
        where = f"row {self.row}, column '{plain(self.column)}'" if self.column else f"row {self.row}"
        return f"{where}: {self.reason}" + (f"; got '{plain(self.cell, 40)}'" if self.cell else "")


@dataclass(frozen=True, eq=False)
class Conformed:
    """The rows that fit, their numbers, the whole piece as it came, and what was wrong with the others."""

    frame: pl.DataFrame
    rows: np.ndarray
    raw: pl.DataFrame
    problems: list[Problem] = field(default_factory=list)


class Conform:
    """Reads the columns that a profile names out of frames of text or of typed columns."""

    def __init__(self, profile: Mapping[str, Mapping[str, Any]]):
        self.profile = {str(name): dict(about) for name, about in profile.items()}
        self._dates: dict[str, ColumnPlan] = {}
        self._commas: dict[str, bool] = {}

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse a table that lacks a column."""
        lost = [name for name in self.profile if name not in names]
        if lost:
            more = f" (and {len(lost) - 1} more)" if lost[1:] else ""
            raise DataError(
                "predict",
                f"column '{plain(lost[0])}'{more}",
                "is needed and not in the table",
                way_out=nearest_free(lost[0], names, self.profile),
            )

    def __call__(
        self,
        frame: pl.DataFrame,
        first_row: int = 1,
        spoiled: Mapping[int, str] | None = None,
        settled: Collection[str] = (),
    ) -> Conformed:
        """The rows of a piece that fit; `spoiled` are lines that were no rows, by number, each with its reason.

        Columns that are `settled` are finite numbers, or labels with nothing to strip or to take for missing.
        """
        self.check_columns(frame.columns)
        problems = [Problem(row, "", reason) for row, reason in (spoiled or {}).items()]
        wrong = np.zeros(frame.height, dtype=bool)
        for row in spoiled or {}:
            wrong[row - first_row] = True
        columns = []
        for name, about in self.profile.items():
            if name in settled and not about.get("whole"):
                columns.append(frame[name])
                continue
            read, failed, rule = self._column(frame[name], about)
            columns.append(read)
            if failed is not None and failed.any():
                places = failed.arg_true().to_numpy()
                wrong[places] = True
                for place in places[: max(0, MOST_PROBLEMS - len(problems))].tolist():
                    problems.append(Problem(first_row + place, name, f"must be {rule}", str(frame[name][place])))
        made = pl.DataFrame(columns)
        if not wrong.any():
            return Conformed(made, np.arange(first_row, first_row + frame.height), frame, problems)
        kept = np.flatnonzero(~wrong)
        return Conformed(made[kept], kept + first_row, frame[kept], sorted(problems, key=lambda problem: problem.row))

    def _column(self, series: pl.Series, about: Mapping[str, Any]) -> tuple[pl.Series, pl.Series | None, str]:
        """A column as its kind, the cells that are not of it, and what they should be."""
        kind = str(about["kind"])
        if kind == "number":
            return self._numbers(series, bool(about.get("whole")), about.get("role") == "numeric")
        if kind == "date" and series.dtype.is_temporal():
            return series.cast(pl.Datetime("us")), None, ""
        text = as_text(series)
        if kind == "boolean":
            if series.dtype == pl.Boolean:
                return series, None, ""
            read, failed = follow_plan(text, ColumnPlan("boolean"))
            return read, failed, _WORDS["boolean"]
        if kind == "date":
            read, failed = follow_plan(text, self._date_plan(text))
            return read.cast(pl.Datetime("us")), failed, _WORDS["date"]
        return follow_plan(text, ColumnPlan("text"))[0], None, ""

    def _numbers(self, series: pl.Series, whole: bool, numeric: bool) -> tuple[pl.Series, pl.Series | None, str]:
        if series.dtype == pl.Boolean:
            series = series.cast(pl.Int64)
        if series.dtype.is_numeric():
            read = series.cast(pl.Float64)
            failed = ~read.is_finite().fill_null(True) & ~read.is_nan().fill_null(False)
            read = read.fill_nan(None)
        else:
            text = as_text(series)
            if text.name not in self._commas:
                self._commas[text.name] = has_decimal_commas(text)
            read, failed = follow_plan(text, ColumnPlan("number", self._commas[text.name]))
        if not whole:
            return read, failed, _WORDS["number"]
        broken = (read.floor() != read).fill_null(False)
        if not broken.any():
            return read.cast(pl.Int64, strict=False), failed, _WORDS["whole"]
        # A measured column may hold decimals later; the number of something that is named may not.
        if numeric:
            return read, failed, _WORDS["number"]
        return read.set(broken, None).cast(pl.Int64, strict=False), failed | broken, _WORDS["whole"]

    def _date_plan(self, text: pl.Series) -> ColumnPlan:
        if text.name not in self._dates:
            parsed, notes = parse_columns(text.to_frame(), decimal_comma=False)
            plan = plan_column(parsed[text.name], notes.get(text.name, {}), False)
            self._dates[text.name] = plan if plan.kind == "date" else ColumnPlan("date", format="%Y-%m-%d")
        return self._dates[text.name]


def as_text(series: pl.Series) -> pl.Series:
    """A column of any plain type as text."""
    return series if series.dtype == pl.String else plain_types(series.to_frame(), {}).to_series().cast(pl.String)


def conformed_pieces(
    source: Any,
    profile: Mapping[str, Mapping[str, Any]],
    options: Mapping[str, Any] | None = None,
    keep: Collection[str] = (),
) -> Iterator[Conformed]:
    """The rows of files or of a query of any size, some megabytes at a time, as the profile wants them.

    `raw` of each piece has the columns of the profile and those of `keep`, these as they are written, at least.
    """
    conform = Conform(profile)
    spoiled: dict[int, str] = {}
    chosen = dict(options or {})
    asked = {name: chosen.pop(name) for name in ("table", "query") if name in chosen}
    wanted = {name: _HELD.get(str(about["kind"]), "text") for name, about in conform.profile.items()}
    wanted |= dict.fromkeys(keep, "text")
    for piece in pieces_of_source(source, Options(**chosen, spoiled=spoiled, wanted=wanted), **asked):
        yield conform(piece.frame, piece.first_row, dict(spoiled), piece.settled)
        spoiled.clear()
