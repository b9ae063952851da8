"""Sheets of a workbook (.xlsx, .xlsm, .xlsb, .xls, .ods) as frames, decoded by fastexcel in a child.

How far the cells reach and which of them hold errors is read from the file first (see `read_workbook`).
"""

from __future__ import annotations

import importlib.util
import sys
import zipfile
from typing import Any

import polars as pl

from ..base import config
from ..base.errors import DataError, plain
from ..base.words import count
from .read_apart import Decoder, DecoderDied, decoder
from .read_delimited import unique_names
from .read_notes import Decision, refuse
from .read_source import Options, SourceFile, too_large
from .read_workbook import SheetFacts, column_letters, sheet_facts
from .roles import nearest

_CELL_BYTES = 32
_GROUND = float(1 << 29)
_PER_BYTE = 48
"""Memory a decoder may take: some ground, and so much for each byte of the unpacked workbook."""


def read_excel(file: SourceFile, options: Options) -> tuple[pl.DataFrame, list[Decision]]:
    """One sheet as a frame, and which sheet was taken and why."""
    if sys.modules.get("fastexcel", 0) is None or importlib.util.find_spec("fastexcel") is None:
        raise refuse(
            file.shown,
            "is a workbook, which needs the package fastexcel",
            way_out="install it with pip install 'assay[excel]', or save the sheet as CSV",
        )
    size = _check_size(file)
    limit = min(config.memory_limit(), _GROUND + _PER_BYTE * size)
    with decoder() as child:
        told = _ask(
            child, file.shown, "cannot be read as a workbook", limit, ask="sheets", path=str(file.path.absolute())
        )
        sheets = list(told["sheets"])
        sheet, decision = _choose_sheet(file, sheets)
        shown = f"file '{plain(file.path, 300)}' sheet '{plain(sheet)}'"
        facts = sheet_facts(file.path, sheet, config.memory_limit())
        if facts is not None:
            _check_extent(facts, shown)
        header = options.header is not False
        told = _ask(
            child, shown, "cannot be read", limit, ask="sheet", sheet=sheet, header=header, errors=facts is None
        )
    if facts is None:
        facts = SheetFacts()
        for row, column, words in told.get("errors", ()):
            facts.see_error(row, column, words.encode())
    if not told.get("first"):
        raise refuse(shown, "is empty", way_out=f"choose another of its sheets: {_named(sheets)}")
    frame: pl.DataFrame = told["frame"]
    names = [f"column_{n}" for n in range(1, len(told["first"]) + 1)]
    if header:
        names = [name or made for name, made in zip(told["first"], names)]
        names = unique_names(names, shown, options.duplicates)
    if frame.width != len(names):
        raise refuse(shown, f"has {frame.width} columns below {len(names)} names", way_out="name every column")
    frame.columns = names
    frame = pl.DataFrame([_whole(series) for series in frame.get_columns()])
    empty = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    why = "it was given" if options.header is not None else "the first row that holds something is taken for names"
    certain = 1.0 if options.header is not None else 0.8
    decisions = [decision, Decision("header", "row 1" if header else "none", certain, why)]
    return frame.filter(~empty), [*decisions, *_errors(facts)]


def _whole(series: pl.Series) -> pl.Series:
    """Numbers of a workbook are floats all; those that are whole throughout are whole numbers, as in other files."""
    if series.dtype != pl.Float64 or series.null_count() == series.len():
        return series
    fits = (series == series.floor()) & (series.abs() <= 2**53)
    return series.cast(pl.Int64) if bool(fits.all()) else series


def _ask(child: Decoder, shown: str, rule: str, limit: float, **job: Any) -> dict[str, Any]:
    """All that the decoder tells, in one mapping; what it cannot read is refused."""
    told: dict[str, Any] = {}
    try:
        for facts, frame in child.ask(limit, **job):
            told.update(facts if frame is None else {"frame": frame})
    except DecoderDied as died:
        told["error"] = f"{died}: it is damaged, or would take more memory than a workbook of its size may"
    if "error" in told:
        if told.get("first") == []:
            return told
        raise refuse(shown, rule, plain(told["error"], 160), "check that it was written completely")
    return told


def _check_extent(facts: SheetFacts, shown: str) -> None:
    needed = float(_CELL_BYTES * facts.rectangle)
    if needed > min(config.memory_limit(), _GROUND + 100.0 * _CELL_BYTES * facts.cells):
        far = f"{column_letters(facts.last[1])}{facts.last[0]}"
        raise refuse(
            shown,
            f"reaches to cell {far}",
            f"its {count(facts.cells, 'filled cell')} would be spread over {facts.rectangle:,}",
            "delete the cells far out, or save the part that is a table as CSV",
        )


def _errors(facts: SheetFacts) -> list[Decision]:
    if not facts.errors:
        return []
    first = ", ".join(f"{plain(text, 20)} in {place}" for place, text in facts.first_errors)
    more = ", ..." if facts.errors > len(facts.first_errors) else ""
    return [Decision("cells with errors", f"{facts.errors} read as missing", 1.0, first + more)]


def _named(sheets: list[str]) -> str:
    return ", ".join(f"'{plain(name, 40)}'" for name in sheets[:8]) + (", ..." if len(sheets) > 8 else "")


def _choose_sheet(file: SourceFile, sheets: list[str]) -> tuple[str, Decision]:
    if file.sheet is not None:
        if file.sheet not in sheets:
            raise refuse(
                f"file '{plain(file.path, 300)}'",
                f"has no sheet '{plain(file.sheet)}'",
                way_out=nearest(file.sheet, sheets, "its sheets are"),
            )
        return file.sheet, Decision("sheet", file.sheet, 1.0, "it was given")
    if not sheets:
        raise refuse(file.shown, "has no sheets")
    if len(sheets) == 1:
        return sheets[0], Decision("sheet", sheets[0], 1.0, "it is the only one")
    reason = f"the first of {len(sheets)}: {_named(sheets)}"
    return sheets[0], Decision("sheet", sheets[0], 0.6, reason)


def _check_size(file: SourceFile) -> float:
    """The unpacked size: a workbook is a zip archive, which says what its parts unpack to."""
    size = float(file.path.stat().st_size)
    trouble: DataError | None = None
    if zipfile.is_zipfile(file.path):
        try:
            with zipfile.ZipFile(file.path) as archive:
                size = float(sum(part.file_size for part in archive.infolist()))
        except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError) as error:
            trouble = refuse(file.shown, "cannot be read as a workbook", plain(error))
    if trouble is not None:
        raise trouble
    if size * 2 > config.memory_limit():
        raise too_large(file.shown, size * 2)
    return size
