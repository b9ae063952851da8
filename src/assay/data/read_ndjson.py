"""NDJSON (one JSON object per line) as frames: whole, or piece by piece in bounded memory."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import polars as pl

from ..base import config
from ..base.errors import DataError, plain
from .read_notes import Decision, refuse
from .read_source import Options, Piece, SourceFile, too_large
from .read_text import TextStream

_FACTOR = 4.0
_PIECE_BYTES = 1 << 23


def read_ndjson(file: SourceFile, options: Options) -> tuple[pl.DataFrame, list[Decision]]:
    """An NDJSON file as a frame, and what was decided about it."""
    stream = TextStream(file, options.encoding)
    packed = file.path.stat().st_size
    if not file.zipped and packed * _FACTOR > config.memory_limit():
        raise too_large(stream.shown, packed * _FACTOR)
    data = stream.all_bytes(_FACTOR)
    return _frame(data, stream.shown, 1), [stream.decision]


def ndjson_pieces(file: SourceFile, options: Options, decided: list[Decision]) -> Iterator[Piece]:
    """An NDJSON file as frames of some megabytes each; `decided` is filled with the decisions."""
    stream = TextStream(file, options.encoding)
    pending: list[bytes] = []
    size, line, row = 0, 1, 1
    for block in itertools.chain(stream.blocks(), [b""]):
        decided[:] = [stream.decision]
        pending.append(block)
        size += len(block)
        if (block and size < _PIECE_BYTES) or not size:
            continue
        data = b"".join(pending)
        if data.strip():
            frame = _frame(data, stream.shown, line)
            yield Piece(stream.shown, row, frame)
            row += frame.height
        line += data.count(b"\n")
        pending, size = [], 0


def _frame(data: bytes, shown: str, line: int) -> pl.DataFrame:
    try:
        return pl.read_ndjson(data, infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError) as error:
        raise _bad_line(data, shown, line, error) from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _bad_line(data: bytes, shown: str, first: int, error: BaseException) -> DataError:
    way_out = "write one object per line"
    start, line = 0, first - 1
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        text, start, line = data[start:end], end, line + 1
        if not text.strip():
            continue
        try:
            value = json.loads(text, parse_constant=_no_constant)
        except (ValueError, RecursionError) as found:
            return refuse(shown, f"holds broken JSON on line {line}", plain(found), way_out)
        if not isinstance(value, dict):
            return refuse(shown, f"holds no object on line {line}", f"got {plain(value, 30)}", way_out)
    return refuse(shown, "cannot be read as NDJSON", plain(error), way_out)
