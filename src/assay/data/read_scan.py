"""Tables larger than memory: batches of one schema, found on a sample of the first rows and held for all others."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from ..base.errors import AssayWarning, ParameterError, plain
from .map_columns import pick
from .parse import NEEDED, ColumnPlan, follow_plan, parse_columns, plan_column
from .read_columnar import groups_here
from .read_notes import WHO, Decision, refuse
from .read_source import Cells, Piece, Stretches
from .table import Table, plain_types

SAMPLE_ROWS = 20_000
BATCH_ROWS = 50_000
_LEAST_CELLS = 1000
_MEANINGS = {"whole": "whole numbers", "number": "numbers", "boolean": "true and false", "date": "dates"}


class Scan:
    """A table that is read in batches; iterate over it, or call `batches` for another size.

    Types and roles come from the first `sample_rows` rows and are checked on every batch: a cell that does not fit its
    column's type becomes missing and is counted in `failed`; when more than 5 % of a column do not fit, or a type
    contradicts, the batch is refused with file, row and column. Labels beyond those of a binary or ordinal column are
    told once as a warning (W111). Whole numbers with a numeric role come as float64, so that 1.5 in row one million
    is no surprise.

    Attributes
    ----------
    columns : the column names
    roles : the role of every column, from the sample
    read_notes : what reading decided, with confidence and reason
    sample_rows : how many rows the roles were inferred from
    failed : after a pass, {column: cells that did not fit and became missing}
    """

    def __init__(
        self,
        pieces: Callable[..., Iterator[Piece]],
        *,
        name: str,
        source: str,
        reading: str,
        roles: Mapping[str, Any] | None,
        sample_rows: int,
        batch_rows: int,
        parse_text: bool,
        declared_types: bool,
        fill_columns: bool,
        known_roles: Mapping[str, Any] | None = None,
        parts: Sequence[Callable[..., Iterator[Piece]]] = (),
        columnar: bool = False,
        paths: Sequence[Path] = (),
    ):
        for what, value in (("sample_rows", sample_rows), ("batch_rows", batch_rows)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ParameterError(WHO, f"parameter '{what}'", "must be an integer >= 1", f"got {plain(repr(value))}")
        self._pieces, self._parse_text, self._fill = pieces, parse_text, fill_columns
        self._parts = tuple(parts) or (pieces,)
        self._batch_rows, self._columnar, self._paths = batch_rows, columnar, tuple(paths)
        self.name, self.source = name, source
        self.failed: dict[str, int] = {}
        self._told: set[str] = set()
        decided: list[Decision] = []
        sample = self._sample(decided, sample_rows)
        self.read_notes = tuple(decided)
        self.sample_rows = sample.height
        comma = any(d.what == "delimiter" and d.value == "semicolon" for d in decided)
        parsed, notes = parse_columns(sample, decimal_comma=comma) if parse_text else (sample, {})
        table = Table.build(
            parsed, name=name, source=source, roles=roles, notes=notes, reading=reading, known_roles=known_roles
        )
        self.columns, self.roles, self.reading = table.columns, table.roles, reading
        self._plans: dict[str, ColumnPlan] = {}
        self._types: dict[str, pl.DataType] = {}
        for column in table.columns:
            found = table.frame[column]
            if parse_text and sample[column].dtype in (pl.String, pl.Null):
                plan = plan_column(found, notes.get(column, {}), comma)
                if plan.kind == "empty" and roles and column in roles:
                    plan = ColumnPlan("number" if self.roles[column].role == "numeric" else "text")
                self._plans[column] = plan
            widen = found.dtype == pl.Int64 and not declared_types and self.roles[column].role == "numeric"
            widen = widen and not bool((found.abs() > 2**53).any())
            if widen and self._plans.get(column, ColumnPlan("")).kind == "whole":
                self._plans[column] = replace(self._plans[column], kind="number")
            self._types[column] = pl.Float64() if widen else found.dtype
        self._wide = {n for n in self._types if sample[n].dtype.is_integer() and self._types[n] == pl.String}
        self._labels = {
            column: set(role.order or table.frame[column].drop_nulls().unique().to_list())
            for column, role in table.roles.items()
            if role.role in ("binary", "ordinal")
        }

    def __iter__(self) -> Iterator[Table]:
        return self.batches()

    def __str__(self) -> str:
        lines = [f"{self.name}: {len(self.columns)} columns, read in batches of {self._batch_rows} rows"]
        width = max(len(plain(name, 30)) for name in self.columns)
        lines += [f"  {plain(name, 30):<{width}}  {self.roles[name]}" for name in self.columns]
        lines += [f"read as {self.reading}; roles from the first {self.sample_rows} rows"]
        return "\n".join([*lines, *(f"  {decision}" for decision in self.read_notes)])

    def pieces(self) -> Iterator[pl.DataFrame]:
        """Frames of one schema as large as reading makes them, for those to whom the number of rows does not matter."""
        self.failed = {}
        seen: dict[str, int] = {}
        told: set[str] = set()
        for piece in self._pieces([]):
            yield self._typed(piece, seen, told)

    def pieces_beside(self, cells: Cells) -> Iterator[tuple[pl.DataFrame, int | None]]:
        """As `pieces`, of one part; where the decoder writes the cells, frames of the others and so many rows."""
        self.failed = {}
        seen: dict[str, int] = {}
        told: set[str] = set()
        for piece in self._pieces([], cells=cells) if self._columnar else self._pieces([]):
            columns = self.columns if piece.written is None else cells.others
            yield self._typed(piece, seen, told, columns), piece.written

    def stretches(self, some: Stretches) -> Iterator[tuple[pl.DataFrame, int]]:
        """Some stretches of the rows of one part, and how many rows it has; nothing where files are no columns."""
        if self._columnar:
            seen: dict[str, int] = {}
            for piece in self._pieces([], some=some):
                yield self._typed(piece, seen, set(self._labels), some.columns), piece.of or 0

    @property
    def decoded_here(self) -> bool:
        """Whether its files are so small and plain that cells are decoded in this process."""
        return self._columnar and all(groups_here(path, "Parquet") is not None for path in self._paths)

    @property
    def source_of_part(self) -> str:
        """The file, where there is one alone."""
        return str(self._paths[0]) if len(self._paths) == 1 else self.source

    @property
    def signs(self) -> tuple[tuple[int, int, int], ...] | None:
        """Size, time of change and number of the files, by which a later pass knows them; None without files."""
        if not self._columnar:
            return None
        try:
            found = [path.stat() for path in self._paths]
        except OSError:
            return None
        return tuple((state.st_size, state.st_mtime_ns, state.st_ino) for state in found)

    def compare_labels(self, name: str, cells: Any, first_row: int) -> None:
        """Tell of numbers in a column that the decoder wrote which the sample does not have, once."""
        if name in self._labels:
            series = pl.Series(name, cells, nan_to_null=True)
            self._compare_labels(series, Piece(f"'{plain(self.source, 300)}'", first_row, pl.DataFrame()), self._told)

    def batches(self, batch_rows: int | None = None) -> Iterator[Table]:
        """Tables of `batch_rows` rows (the last may be shorter), all with the same columns, types and roles."""
        size = self._batch_rows if batch_rows is None else batch_rows
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ParameterError(WHO, "parameter 'batch_rows'", "must be an integer >= 1", f"got {plain(repr(size))}")
        waiting: list[pl.DataFrame] = []
        rows = 0
        for frame in self.pieces():
            waiting.append(frame)
            rows += frame.height
            if rows >= size:
                whole = pl.concat(waiting)
                for start in range(0, rows - size + 1, size):
                    yield self._table(whole[start : start + size])
                rest = whole[(rows // size) * size :]
                waiting, rows = ([rest], rest.height) if rest.height else ([], 0)
        if rows:
            yield self._table(pl.concat(waiting))

    def parts(self) -> list[Scan]:
        """Scans of the files one by one, with the columns, types and roles of all; one if this is no pattern."""
        found = []
        for number, pieces in enumerate(self._parts):
            part = copy(self)
            part._pieces, part._parts = pieces, (pieces,)
            part._paths = self._paths[number : number + 1]
            found.append(part)
        return found

    def _table(self, frame: pl.DataFrame) -> Table:
        return Table(self.name, self.source, frame.rechunk(), self.roles, {}, self.reading, self.read_notes)

    def _sample(self, decided: list[Decision], sample_rows: int) -> pl.DataFrame:
        frames: list[pl.DataFrame] = []
        rows = 0
        for piece in self._pieces(decided, most=sample_rows) if self._columnar else self._pieces(decided):
            part = piece.frame.head(sample_rows - rows)
            if self._columnar and frames:
                _refuse_other_kind(frames[0], part, piece.shown)
            frames.append(part if self._fill or not frames else pick(part, frames[0].columns))
            rows += frames[-1].height
            if rows >= sample_rows:
                break
        shown = f"'{plain(self.source, 300)}'"
        if not frames or not frames[0].width:
            raise refuse(shown, "holds no rows", way_out="check that it was written completely")
        try:
            sample = pl.concat(frames, how="diagonal_relaxed" if self._fill else "vertical_relaxed")
        except pl.exceptions.PolarsError as error:
            raise refuse(shown, "changes the types of its columns", plain(error)) from None
        if not sample.height:
            raise refuse(shown, "holds column names but no rows", way_out="check that it was written completely")
        return sample

    def _typed(
        self, piece: Piece, seen: dict[str, int], told: set[str], wanted: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """A piece with the columns (or some of them) and types of the sample."""
        frame = piece.frame
        extra = [name for name in frame.columns if name not in self._types]
        if extra:
            first = frame[extra[0]].is_not_null().arg_true()
            row = piece.first_row + (int(first[0]) if first.len() else 0)
            raise refuse(
                piece.shown,
                f"has a column '{plain(extra[0])}' in row {row} that the first {self.sample_rows} rows do not have",
                way_out="raise sample_rows",
            )
        columns = []
        for name in self.columns if wanted is None else wanted:
            if name not in frame.columns:
                if not self._fill:
                    raise refuse(
                        piece.shown, f"has no column '{plain(name)}'", way_out="give every file the same columns"
                    )
                columns.append(pl.Series(name, [None] * frame.height, dtype=self._types[name]))
                continue
            columns.append(self._column(frame[name], piece, seen, told))
        return pl.DataFrame(columns)

    def _column(self, series: pl.Series, piece: Piece, seen: dict[str, int], told: set[str]) -> pl.Series:
        name, wanted = series.name, self._types[series.name]
        plan = self._plans.get(name)
        if plan is not None:
            if series.dtype != pl.String:
                series = series.cast(pl.String)
            read, failed = follow_plan(series, plan)
            if plan.kind == "empty" and failed.any():
                row = int(failed.arg_true()[0])
                raise refuse(
                    piece.shown,
                    f"has '{plain(series[row], 30)}' in row {piece.first_row + row}, column '{plain(name)}', which is "
                    f"missing in all of the first {self.sample_rows} rows",
                    way_out=f"raise sample_rows, or give the role: roles={{'{plain(name, 30)}': 'numeric'}}",
                )
            if plan.kind == "date":
                read = read.cast(pl.Datetime("us"))
            self._count(read, series, failed, plan, piece, seen)
            series = read.cast(wanted)
        else:
            series = plain_types(series.to_frame(), {}).to_series()
            if series.dtype != wanted:
                series = self._cast(series, wanted, piece)
        self._compare_labels(series, piece, told)
        return series

    def _count(
        self, read: pl.Series, raw: pl.Series, failed: pl.Series, plan: ColumnPlan, piece: Piece, seen: dict[str, int]
    ) -> None:
        name = raw.name
        seen[name] = seen.get(name, 0) + raw.len() - raw.null_count()
        count = int(failed.sum())
        if not count:
            return
        self.failed[name] = self.failed.get(name, 0) + count
        if self.failed[name] > (1 - NEEDED) * max(seen[name], _LEAST_CELLS):
            row = int(failed.arg_true()[0])
            raise refuse(
                piece.shown,
                f"has '{plain(raw[row], 30)}' in row {piece.first_row + row}, column '{plain(name)}', which holds "
                f"{_MEANINGS.get(plan.kind, 'text')} in the first {self.sample_rows} rows",
                f"{self.failed[name]} of {seen[name]} cells so far do not fit",
                "raise sample_rows, or repair the file",
            )

    def _cast(self, series: pl.Series, wanted: pl.DataType, piece: Piece) -> pl.Series:
        if series.null_count() == series.len():
            return pl.Series(series.name, [None] * series.len(), dtype=wanted)
        if self._columnar and series.dtype == pl.Boolean and wanted.is_numeric():
            return series.cast(wanted)  # as where parts are read whole
        if series.dtype == pl.Int64 and series.name in self._wide:
            return series.cast(wanted)  # whole numbers, of which others are too large for 64 bits with a sign
        if series.dtype == pl.String and wanted.is_numeric():
            # Numbers and words in one piece arrive as text; the words are what does not fit.
            cast = series.cast(wanted, strict=False)
            failed = cast.is_null() & series.is_not_null()
            if not failed.any():
                return cast
            row = int(failed.arg_true()[0])
        elif series.dtype.is_numeric() and wanted.is_numeric():
            cast = series.cast(wanted, strict=False)
            # There and back, since as floats two whole numbers may look alike.
            changed = (cast.cast(series.dtype, strict=False) != series).fill_null(True) & series.is_not_null()
            if not changed.any():
                return cast
            row = int(changed.arg_true()[0])
        else:
            row = int(series.is_not_null().arg_true()[0])
        raise refuse(
            piece.shown,
            f"has '{plain(series[row], 30)}' in row {piece.first_row + row}, column '{plain(series.name)}', "
            f"which holds {wanted} in the first {self.sample_rows} rows",
            way_out="raise sample_rows, or give every part the same types",
        )

    def _compare_labels(self, series: pl.Series, piece: Piece, told: set[str]) -> None:
        known = self._labels.get(series.name)
        if known is None or series.name in told:
            return
        fresh = [value for value in series.drop_nulls().unique(maintain_order=True).to_list() if value not in known]
        if not fresh:
            return
        told.add(series.name)
        row = int((series == fresh[0]).fill_null(False).arg_true()[0])
        role = self.roles[series.name].role
        text = (
            f"scan_table: column '{plain(series.name)}' is {role} in the first {self.sample_rows} rows, but row "
            f"{piece.first_row + row} of {piece.shown} holds '{plain(fresh[0], 30)}'."
        )
        warnings.warn(AssayWarning("W111", text), stacklevel=2)


def _refuse_other_kind(first: pl.DataFrame, later: pl.DataFrame, shown: str) -> None:
    """Files that declare their types must agree on which columns are text: numbers are never made labels silently."""
    for name in later.columns:
        if name in first.columns:
            kinds = {first[name].dtype, later[name].dtype}
            if pl.String in kinds and any(kind.is_numeric() for kind in kinds):
                here, there = ("text", "numbers") if later[name].dtype == pl.String else ("numbers", "text")
                raise refuse(
                    shown,
                    f"has {here} in column '{plain(name)}', which has {there} in the first file",
                    way_out="write every file with the same types",
                )
