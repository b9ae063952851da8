"""Parquet and Arrow (Feather) files as frames: whole, or slice by slice in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from ..base import config
from ..base.errors import DataError, plain
from .read_notes import refuse
from .read_source import Piece, SourceFile, too_large

_PIECE_BYTES = 1 << 25
_FAILURES = (Exception, pl.exceptions.PanicException)


def read_columnar(file: SourceFile) -> pl.DataFrame:
    """A Parquet or Arrow file as a frame, unless its own count of rows says that it would not fit."""
    rows, width = _extent(file)
    if rows * width * 2 > config.memory_limit():
        raise too_large(file.shown, rows * width * 2.0, f" for {rows} rows")
    try:
        return _lazy(file).collect()
    except _FAILURES as error:
        raise _unreadable(file, error) from None


def columnar_pieces(file: SourceFile) -> Iterator[Piece]:
    """A Parquet or Arrow file as frames of some tens of megabytes each."""
    rows, width = _extent(file)
    step = max(1024, int(_PIECE_BYTES / max(width, 1)))
    for start in range(0, rows, step):
        try:
            frame = _lazy(file).slice(start, step).collect()
        except _FAILURES as error:
            raise _unreadable(file, error, f" (row {start + 1} or later)") from None
        yield Piece(file.shown, start + 1, frame)


def _lazy(file: SourceFile) -> pl.LazyFrame:
    if file.kind == "Parquet":
        return pl.scan_parquet(file.path, glob=False)
    with open(file.path, "rb") as stream:
        magic = stream.read(6)
    if magic == b"ARROW1":
        return pl.scan_ipc(file.path)
    # The streaming form of Arrow has no table of contents and is read whole.
    size = file.path.stat().st_size
    if 2 * size > config.memory_limit():
        raise too_large(file.shown, 2.0 * size)
    return pl.read_ipc_stream(file.path).lazy()


def _extent(file: SourceFile) -> tuple[int, int]:
    """Rows, and about how many bytes each takes in memory."""
    try:
        lazy = _lazy(file)
        types = lazy.collect_schema().dtypes()
        rows = int(lazy.select(pl.len()).collect().item())
    except _FAILURES as error:
        raise _unreadable(file, error) from None
    return rows, sum(32 if dtype in (pl.String, pl.Binary) else 8 for dtype in types)


def _unreadable(file: SourceFile, error: BaseException, place: str = "") -> DataError:
    if isinstance(error, DataError):
        return error
    return refuse(
        file.shown, f"cannot be read as {file.kind}{place}", plain(error), "check that it was written completely"
    )
