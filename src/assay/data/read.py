"""Read files, patterns of files and database queries into a `Table`, or go through them in batches.

CSV, TSV and other delimited text, NDJSON and ARFF (each also gzipped), Parquet, Arrow and Feather, Excel; SQLite,
DuckDB and PostgreSQL. Text cells are stripped; the usual tokens for "missing" become missing; columns of text that hold
numbers, dates or true/false are parsed (see `parse`). What had to be decided (delimiter, encoding, header) is kept in
`Table.read_notes` with a confidence. Whatever cannot be read is one `DataError` sentence that names file, row, column.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from ..base import config
from ..base.errors import DataError, ParameterError, plain
from .parse import Coded, parse_columns
from .read_arff import ArffTable, read_arff
from .read_columnar import columnar_pieces, read_columnar
from .read_delimited import delimited_pieces, read_delimited
from .read_excel import read_excel
from .read_ndjson import ndjson_pieces, read_ndjson
from .read_notes import WHO, Decision, refuse
from .read_scan import BATCH_ROWS, SAMPLE_ROWS, Scan
from .read_source import Cells, Options, Piece, SourceFile, Stretches, database_of, files_of, too_large
from .read_sql import Database, open_address, sql_pieces
from .read_waiting import interruptible
from .table import Table

Source = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
_DECLARED = ("Parquet", "Arrow", "DuckDB", "PostgreSQL")
"""Formats in which every column states a type; their columns of text are parsed as those of a CSV file are."""


def read_table(
    path: Source,
    roles: Mapping[str, Any] | None = None,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    duplicates: str = "error",
    sheet: str | None = None,
    table: str | None = None,
    query: str | None = None,
    file_column: str | None = None,
) -> Table:
    """Read a file, several files of one shape, or a database query as a `Table` with column roles.

    Parameters
    ----------
    path : the file, whose ending says the format: .csv, .txt, .tsv, .ndjson, .jsonl or .arff (each may end in .gz),
        .parquet, .arrow, .feather, .xlsx and its kin (`book.xlsx#Sheet2` names a sheet); a pattern such as
        "2024/*.csv" or a list of paths; or a URL: sqlite:///shop.db?table=orders, duckdb:///..., postgresql://...
    roles : roles that override the inferred ones, as for `Table.with_roles`
    delimiter : the column separator of a CSV file; None finds it among comma, semicolon, tab and pipe
    encoding : the encoding of a text file; None finds it
    header : whether the first line holds the column names; None takes it for names unless it holds only numbers
    duplicates : "error" refuses two columns of one name, "rename" calls the second name_2
    sheet : the sheet of a workbook; None takes the first
    table : the table of a database; None takes the only one
    query : one SELECT to run on a database instead
    file_column : name of a column to add that holds the file each row comes from; None adds none

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "prices.csv"
    >>> _ = file.write_text("item;price\\npear;1,20\\nfig;0,35\\nplum;?\\n")
    >>> table = read_table(file)
    >>> table.frame["price"].to_list()
    [1.2, 0.35, None]
    >>> table.reading
    'CSV, separated by semicolon, 3 rows, 2 columns'
    >>> [f"{note.what}: {note.value}" for note in table.read_notes]
    ['delimiter: semicolon', 'encoding: UTF-8', 'header: line 1', 'decimal mark: comma']
    """
    options = Options(delimiter, encoding, header, duplicates, sheet)
    _check_names(duplicates, file_column)
    if database_of(path):
        if file_column is not None:
            raise ParameterError(WHO, "parameter 'file_column'", "is for files only")
        found = _read_database(open_address(str(path), table, query), roles, duplicates)
        return replace(found, options=_told(duplicates=duplicates, table=table, query=query))
    _no_database_words(table, query)
    files = files_of(path, sheet)

    def read() -> Table:
        parts = [_read_file(files[0], options)] if len(files) == 1 else _read_files(files, options)
        return _build(path, files, parts, roles, file_column)

    told = _told(delimiter=delimiter, encoding=encoding, header=header, duplicates=duplicates, sheet=sheet)
    return replace(interruptible(read), options=told | _told(file_column=file_column))


def _told(**options: Any) -> dict[str, Any]:
    """The options that the user gave."""
    return {
        name: value for name, value in options.items() if value is not None and (name, value) != ("duplicates", "error")
    }


def scan_table(
    path: Source,
    roles: Mapping[str, Any] | None = None,
    *,
    batch_rows: int = BATCH_ROWS,
    sample_rows: int = SAMPLE_ROWS,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    duplicates: str = "error",
    sheet: str | None = None,
    table: str | None = None,
    query: str | None = None,
) -> Scan:
    """Go through files or a query of any size in batches of one schema, in bounded memory.

    Roles and types come from the first `sample_rows` rows and are checked on every batch (see `Scan`). CSV, TSV,
    NDJSON, Parquet, Arrow, databases and patterns of such files are streamed; ARFF and Excel are read whole.

    Parameters
    ----------
    path, roles, delimiter, encoding, header, duplicates, sheet, table, query : as for `read_table`
    batch_rows : rows of each batch; the last may be shorter
    sample_rows : rows from which types and roles are inferred

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "long.csv"
    >>> _ = file.write_text("n,word\\n" + "".join(f"{i}.5,w{i % 3}\\n" for i in range(1000)))
    >>> scan = scan_table(file, batch_rows=400)
    >>> [(batch.n_rows, batch.frame["n"].sum()) for batch in scan]
    [(400, 80000.0), (400, 240000.0), (200, 180000.0)]
    >>> scan.roles["word"].role
    'nominal'
    """
    options = Options(delimiter, encoding, header, duplicates, sheet)
    _check_names(duplicates, None)
    if database_of(path):
        base = open_address(str(path), table, query)
        return Scan(
            lambda decided: sql_pieces(base, decided, duplicates),
            name=base.name,
            source=base.source,
            reading=f"{base.kind}{_asked(base)}",
            roles=roles,
            sample_rows=sample_rows,
            batch_rows=batch_rows,
            parse_text=True,
            declared_types=base.kind in _DECLARED,
            fill_columns=False,
        )
    _no_database_words(table, query)
    files = files_of(path, sheet)
    kind = _one_kind(files)
    known: dict[str, Any] = {}
    return Scan(
        lambda decided, most=None: _pieces_of(files, options, decided, known, most=most),
        name=_name_of(path, files),
        source=_source_of(path, files),
        reading=kind if len(files) == 1 else f"{len(files)} files, {kind}",
        roles=roles,
        sample_rows=sample_rows,
        batch_rows=batch_rows,
        parse_text=kind != "ARFF",
        declared_types=kind in (*_DECLARED, "ARFF"),
        fill_columns=kind == "NDJSON",
        known_roles=known,
        parts=[partial(_pieces_of, [file], options, known=known) for file in files],
        columnar=kind in ("Parquet", "Arrow"),
        paths=[file.path for file in files],
    )


def pieces_of_source(
    path: Source, options: Options | None = None, table: str | None = None, query: str | None = None
) -> Iterator[Piece]:
    """The rows of files, a pattern or a query as they come, text as text, some megabytes at a time.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = file.write_text("n,word\\n1,x\\n2,y\\n")
    >>> [(piece.first_row, piece.frame.rows()) for piece in pieces_of_source(file)]
    [(1, [('1', 'x'), ('2', 'y')])]
    """
    given = Options() if options is None else options
    if database_of(path):
        return sql_pieces(open_address(str(path), table, query), [], given.duplicates)
    _no_database_words(table, query)
    files = files_of(path, given.sheet)
    _one_kind(files)
    return _pieces_of(files, given, [], {})


def read_batches(path: Source, batch_rows: int = BATCH_ROWS, **options: Any) -> Iterator[Table]:
    """The batches of `scan_table` one after the other.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "long.csv"
    >>> _ = file.write_text("n\\n" + "".join(f"{i}\\n" for i in range(10)))
    >>> [batch.n_rows for batch in read_batches(file, batch_rows=4)]
    [4, 4, 2]
    """
    return scan_table(path, batch_rows=batch_rows, **options).batches()


def _check_names(duplicates: str, file_column: str | None) -> None:
    if duplicates not in ("error", "rename"):
        raise ParameterError(
            WHO, "parameter 'duplicates'", "must be 'error' or 'rename'", f"got {plain(repr(duplicates))}"
        )
    if file_column is not None and (not isinstance(file_column, str) or not file_column.strip()):
        raise ParameterError(
            WHO, "parameter 'file_column'", "must be a name or None", f"got {plain(repr(file_column))}"
        )


def _no_database_words(table: str | None, query: str | None) -> None:
    for name, value in (("table", table), ("query", query)):
        if value is not None:
            raise ParameterError(
                WHO, f"parameter '{name}'", "needs the URL of a database", way_out="for example sqlite:///shop.db"
            )


def _asked(base: Database) -> str:
    return f", table '{plain(base.table)}'" if base.table else ", a query" if base.query else ""


def _read_database(base: Database, roles: Mapping[str, Any] | None, duplicates: str) -> Table:
    decided: list[Decision] = []
    frames, size = [], 0.0
    for piece in sql_pieces(base, decided, duplicates):
        size += 2.0 * piece.frame.estimated_size()
        if size > config.memory_limit():
            raise too_large(base.shown, size, " and more")
        frames.append((base.shown, piece.frame))
    frame = _stack(frames) if base.kind != "SQLite" else _as_text_where_mixed(frames)
    _check_shape(frame, base.shown)
    typed = frame.schema
    frame, notes = parse_columns(frame, decimal_comma=False)
    decided += _read_from_text(typed, frame, base.kind)
    reading = f"{base.kind}{_asked(base)}, {frame.height} rows, {frame.width} columns"
    return Table.build(
        frame, name=base.name, source=base.source, roles=roles, notes=notes, reading=reading, read_notes=decided
    )


def _as_text_where_mixed(frames: list[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    """Parts of one SQLite result, whose cells have no common type, as text in the columns where they differ."""
    mixed = set()
    for name in frames[0][1].columns:
        found = {f[name].dtype for _, f in frames} - {pl.Null}
        # Whole numbers that floats cannot hold would lose digits beside them.
        long = found == {pl.Int64, pl.Float64} and any(
            f[name].dtype == pl.Int64 and bool((f[name].abs() > 2**53).any()) for _, f in frames
        )
        if long or (len(found) > 1 and pl.String in found):
            mixed.add(name)
    cast = [f.with_columns([f.get_column(name).cast(pl.String) for name in mixed]) for _, f in frames]
    return pl.concat(cast, how="vertical_relaxed")


def _check_shape(frame: pl.DataFrame, shown: str) -> None:
    if frame.width == 0:
        raise refuse(shown, "holds no columns", way_out="check that it was written completely")
    if frame.height == 0:
        raise refuse(shown, "holds column names but no rows", way_out="check that it was written completely")
    for name, kind in frame.schema.items():
        if kind.is_nested() or kind in (pl.Binary, pl.Object):
            raise refuse(
                shown,
                f"holds nested or binary values in column '{plain(name)}'",
                f"their type is {plain(kind, 40)}",
                "flatten it into plain columns or leave it out",
            )


class _Part:
    """One file as read: its cells before text is parsed, and what was decided about it."""

    def __init__(
        self,
        file: SourceFile,
        frame: pl.DataFrame,
        decisions: list[Decision],
        coded: dict[str, Coded] | None = None,
        arff: ArffTable | None = None,
    ):
        self.file, self.frame, self.decisions, self.coded, self.arff = file, frame, decisions, coded or {}, arff


def _read_file(file: SourceFile, options: Options, *, alone: bool = True) -> _Part:
    if file.kind in ("CSV", "TSV"):
        part = _Part(file, *read_delimited(file, options, alone=alone))
    elif file.kind == "NDJSON":
        part = _Part(file, *read_ndjson(file, options))
    elif file.kind == "ARFF":
        arff = read_arff(file, options)
        part = _Part(file, arff.frame, arff.decisions, arff=arff)
    elif file.kind == "Excel":
        part = _Part(file, *read_excel(file, options))
    else:
        part = _Part(file, read_columnar(file), [])
    _check_shape(part.frame, file.shown)
    return part


def _read_files(files: list[SourceFile], options: Options) -> list[_Part]:
    _one_kind(files)
    parts, size = [], 0.0
    for file in files:
        parts.append(_read_file(file, options, alone=False))
        size += 2.0 * parts[-1].frame.estimated_size()
        if size > config.memory_limit():
            raise too_large(f"the set of {len(files)} files", size, f" for the first {len(parts)}")
    return parts


def _one_kind(files: list[SourceFile]) -> str:
    kinds = {"CSV" if file.kind == "TSV" else file.kind: file for file in files}
    if len(kinds) > 1:
        (one, first), (other, second) = list(kinds.items())[:2]
        raise refuse(
            f"the set of {len(files)} files",
            "mixes formats",
            f"{first.shown} is {one}, {second.shown} is {other}",
            "choose a pattern that matches one format",
        )
    return files[0].kind


def _build(
    path: Source, files: list[SourceFile], parts: list[_Part], roles: Mapping[str, Any] | None, file_column: str | None
) -> Table:
    decisions = list(parts[0].decisions)
    differing = sorted({d.what for part in parts[1:] for d, e in zip(part.decisions, decisions) if d.value != e.value})
    if len(files) > 1:
        order = f"{len(files)}, in sorted order" if isinstance(path, (str, os.PathLike)) else f"{len(files)}, as listed"
        reason = f"first '{plain(files[0].path.name, 60)}', last '{plain(files[-1].path.name, 60)}'"
        reason += f"; they differ in {', '.join(differing)}" if differing else ""
        decisions.append(Decision("files", order, 1.0, reason))
    frame = _stack([(part.file.shown, part.frame) for part in parts])
    comma = any(d.what == "delimiter" and d.value == "semicolon" for part in parts for d in part.decisions)
    notes: dict[str, Any] = {}
    known: dict[str, Any] = {}
    coded = parts[0].coded if len(parts) == 1 else {}
    kind = files[0].kind
    name = _name_of(path, files)
    if kind == "ARFF":
        known, notes, name = _arff_roles(parts, name)
    else:
        typed = frame.schema
        frame, notes = parse_columns(frame, decimal_comma=comma, settled=coded)
        decisions += [*_decimal_mark(notes, comma), *_read_from_text(typed, frame, kind)]
    if file_column is not None:
        if file_column in frame.columns:
            raise DataError(
                WHO, f"column '{plain(file_column)}'", "is in the files already", way_out="choose another name"
            )
        origin = [str(part.file.path) for part in parts for _ in range(part.frame.height)]
        frame = frame.with_columns(pl.Series(file_column, origin, dtype=pl.String))
    spoken = next((d.value for d in decisions if d.what == "delimiter"), None)
    reading = f"{len(files)} files, {kind}" if len(files) > 1 else kind
    reading += " (gzip)" if files[0].zipped else ""
    reading += f", separated by {spoken}" if spoken else ""
    reading += f", {frame.height} rows, {frame.width} columns"
    return Table.build(
        frame,
        name=name,
        source=_source_of(path, files),
        roles=roles,
        notes=notes,
        reading=reading,
        read_notes=decisions,
        known_roles=known,
        coded=coded,
    )


def _read_from_text(before: Mapping[str, pl.DataType], frame: pl.DataFrame, kind: str) -> list[Decision]:
    """Says which columns the file calls text and the table does not."""
    if kind not in _DECLARED:
        return []
    read = [name for name in frame.columns if before[name] == pl.String and frame[name].dtype != pl.String]
    if not read:
        return []
    reason = f"{_few(read)} hold them, as text of a CSV file would" if read[1:] else f"{_few(read)} holds nothing else"
    return [Decision("text", "read as numbers, dates or true and false", 0.95, reason)]


def _decimal_mark(notes: Mapping[str, Mapping[str, Any]], semicolon: bool) -> list[Decision]:
    commas = {name: note for name, note in notes.items() if note.get("decimal") == ","}
    if not commas:
        return []
    certain = any(note.get("decimal_certain") for note in commas.values())
    names = ", ".join(f"'{plain(name, 30)}'" for name in list(commas)[:4]) + (", ..." if len(commas) > 4 else "")
    if certain:
        return [Decision("decimal mark", "comma", 0.99, f"numbers of {names} can be read in no other way")]
    return [Decision("decimal mark", "comma", 0.8, f"in {names}, because the file is separated by semicolons")]


def _arff_roles(parts: list[_Part], name: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    tables = [part.arff for part in parts if part.arff is not None]
    for part, table in zip(parts[1:], tables[1:]):
        for column, note in tables[0].notes.items():
            if table.notes.get(column) != note:
                raise refuse(
                    part.file.shown,
                    f"declares other labels for column '{plain(column)}' than {parts[0].file.shown}",
                    way_out="give every file the same declarations",
                )
    return dict(tables[0].roles), dict(tables[0].notes), (tables[0].relation or name) if len(parts) == 1 else name


def _stack(frames: list[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    """Frames of one shape below one another; the file and the column that differ are named."""
    first_shown, first = frames[0]
    if len(frames) == 1:
        return first
    result = [first]
    for shown, frame in frames[1:]:
        _same_columns(shown, frame, first_shown, first)
        for name in first.columns:
            if not _join(first[name].dtype, frame[name].dtype):
                here, there = frame[name].dtype, first[name].dtype
                raise refuse(
                    shown,
                    f"holds {here} in column '{plain(name)}' where {first_shown} holds {there}",
                    way_out="give every file the same types",
                )
        result.append(frame.select(first.columns))
    return pl.concat(result, how="vertical_relaxed", rechunk=True)


def _join(one: pl.DataType, other: pl.DataType) -> bool:
    """Whether cells of two types can stand in one column; times would become bare numbers among numbers."""
    numbers = one.is_numeric() or other.is_numeric() or pl.Boolean in (one, other)
    if numbers and (one.is_temporal() or other.is_temporal()):
        return False
    try:
        pl.concat([pl.DataFrame(schema={"": kind}) for kind in (one, other)], how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        return False
    return True


def _same_columns(shown: str, frame: pl.DataFrame, first_shown: str, first: pl.DataFrame) -> None:
    lost = [name for name in first.columns if name not in frame.columns]
    extra = [name for name in frame.columns if name not in first.columns]
    if not lost and not extra:
        return
    parts = []
    if lost:
        parts.append("lacks column " + _few(lost))
    if extra:
        parts.append("has the extra column " + _few(extra))
    raise refuse(
        shown,
        " and ".join(parts) + f" compared with {first_shown}",
        way_out="give every file the same columns, or choose a pattern that matches one kind of file",
    )


def _few(names: list[str]) -> str:
    return ", ".join(f"'{plain(name, 40)}'" for name in names[:4]) + (
        f" and {len(names) - 4} more" if names[4:] else ""
    )


def _pieces_of(
    files: list[SourceFile],
    options: Options,
    decided: list[Decision],
    known: dict[str, Any],
    cells: Cells | None = None,
    most: int | None = None,
    some: Stretches | None = None,
) -> Iterator[Piece]:
    """The pieces of several files one after the other, with the columns of each compared with the first's."""
    first: tuple[str, pl.DataFrame] | None = None
    for file in files:
        own: list[Decision] = [] if first is not None else decided
        for piece in _file_pieces(file, options, own, known, cells, most, some):
            if first is None:
                first = (piece.shown, piece.frame.clear())
            elif file.kind != "NDJSON":
                _same_columns(piece.shown, piece.frame, *first)
            yield piece


def _file_pieces(
    file: SourceFile,
    options: Options,
    decided: list[Decision],
    known: dict[str, Any],
    cells: Cells | None,
    most: int | None,
    some: Stretches | None,
) -> Iterator[Piece]:
    if file.kind in ("CSV", "TSV"):
        yield from delimited_pieces(file, options, decided)
    elif file.kind == "NDJSON":
        yield from ndjson_pieces(file, options, decided)
    elif file.kind in ("Parquet", "Arrow"):
        yield from columnar_pieces(file, cells, most, some)
    else:
        part = _read_file(file, options)
        decided[:] = part.decisions
        if part.arff is not None:
            known.update(part.arff.roles)
        yield Piece(file.shown, 1, part.frame)


def _name_of(path: Source, files: list[SourceFile]) -> str:
    if len(files) == 1:
        return files[0].path.name.split(".")[0] or files[0].path.name
    if isinstance(path, (str, os.PathLike)):
        pattern = Path(os.fspath(path))
        stem = re.split(r"[*?\[]", pattern.name)[0].strip("-_. ")
        return stem or re.split(r"[*?\[]", pattern.parent.name)[0].strip("-_. ") or "files"
    return files[0].path.name.split(".")[0] or "files"


def _source_of(path: Source, files: list[SourceFile]) -> str:
    if len(files) == 1:
        return f"{files[0].path}#{files[0].sheet}" if files[0].sheet else str(files[0].path)
    if isinstance(path, (str, os.PathLike)):
        return str(os.fspath(path))
    return "; ".join(str(file.path) for file in files)
