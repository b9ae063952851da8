"""Sheets of a workbook (.xlsx, .xlsm, .xlsb, .xls, .ods) as frames, through fastexcel."""

from __future__ import annotations

import zipfile
from typing import Any

import polars as pl

from ..base import config
from ..base.errors import plain
from .read_delimited import unique_names
from .read_notes import Decision, refuse
from .read_source import Options, SourceFile, too_large
from .roles import nearest

_FAILURES = (Exception, pl.exceptions.PanicException)


def read_excel(file: SourceFile, options: Options) -> tuple[pl.DataFrame, list[Decision]]:
    """One sheet as a frame, and which sheet was taken and why."""
    try:
        import fastexcel
    except ImportError:
        raise refuse(
            file.shown,
            "is a workbook, which needs the package fastexcel",
            way_out="install it with pip install 'assay[excel]', or save the sheet as CSV",
        ) from None
    _check_size(file)
    try:
        book = fastexcel.read_excel(str(file.path))
        sheets = list(book.sheet_names)
    except _FAILURES as error:
        raise refuse(
            file.shown, "cannot be read as a workbook", _first_line(error), "check that it was written completely"
        ) from None
    sheet, decision = _choose_sheet(file, sheets)
    shown = f"file '{plain(file.path, 300)}' sheet '{plain(sheet)}'"
    try:
        top = book.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string").to_polars()
        first = [("" if cell is None else str(cell)).strip() for cell in (top.row(0) if top.height else ())]
        if not first:
            raise refuse(shown, "is empty", way_out=f"choose another of its sheets: {_named(sheets)}")
        if options.header is False:
            names = [f"column_{n}" for n in range(1, len(first) + 1)]
        else:
            names = [name or f"column_{n}" for n, name in enumerate(first, start=1)]
            names = unique_names(names, shown, options.duplicates)
        skip = None if options.header is False else 0
        loaded = book.load_sheet(sheet, header_row=skip, schema_sample_rows=None, whitespace_as_null=True)
        frame = loaded.to_polars()
    except _FAILURES as error:
        if type(error).__module__.startswith("assay"):
            raise
        raise refuse(shown, "cannot be read", _first_line(error)) from None
    if frame.width != len(names):
        raise refuse(shown, f"has {frame.width} columns below {len(names)} names", way_out="name every column")
    frame.columns = names
    empty = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    header = "none" if options.header is False else "row 1"
    why = "it was given" if options.header is not None else "the first row that holds something is taken for names"
    certain = 1.0 if options.header is not None else 0.8
    return frame.filter(~empty), [decision, Decision("header", header, certain, why)]


def _first_line(error: Any) -> str:
    return plain(str(error).splitlines()[0] if str(error) else type(error).__name__, 120)


def _named(sheets: list[str]) -> str:
    return ", ".join(f"'{plain(name, 40)}'" for name in sheets[:8]) + (", ..." if len(sheets) > 8 else "")


def _choose_sheet(file: SourceFile, sheets: list[str]) -> tuple[str, Decision]:
    if file.sheet is not None:
        if file.sheet not in sheets:
            raise refuse(
                f"file '{plain(file.path, 300)}'",
                f"has no sheet '{plain(file.sheet)}'",
                way_out=nearest(file.sheet, sheets).replace("the columns are", "its sheets are"),
            )
        return file.sheet, Decision("sheet", file.sheet, 1.0, "it was given")
    if not sheets:
        raise refuse(file.shown, "has no sheets")
    if len(sheets) == 1:
        return sheets[0], Decision("sheet", sheets[0], 1.0, "it is the only one")
    reason = f"the first of {len(sheets)}: {_named(sheets)}"
    return sheets[0], Decision("sheet", sheets[0], 0.6, reason)


def _check_size(file: SourceFile) -> None:
    """A workbook is a zip archive; what its parts unpack to is known before they are unpacked."""
    size = float(file.path.stat().st_size)
    if zipfile.is_zipfile(file.path):
        try:
            with zipfile.ZipFile(file.path) as archive:
                size = float(sum(part.file_size for part in archive.infolist()))
        except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
            raise refuse(file.shown, "cannot be read as a workbook", plain(error)) from None
    if size * 2 > config.memory_limit():
        raise too_large(file.shown, size * 2)
