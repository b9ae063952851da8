"""NDJSON (one JSON object per line) as frames: whole, or piece by piece in bounded memory."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import polars as pl

from ..base import config
from ..base.errors import DataError, plain
from .read_delimited import unique_names
from .read_notes import Decision, refuse
from .read_source import Options, Piece, SourceFile, too_large
from .read_text import TextStream

_FACTOR = 4.0
_PIECE_BYTES = 1 << 23
_OBJECTS = msgspec.json.Decoder(dict[str, Any])
_SPACED_KEY = re.compile(rb'"[ \t\r]+:')
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONG_NUMBER = re.compile(rb"[:\s]-?\d{16,}\s*[,}\n]")


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
    trouble: DataError | None = None
    try:
        frame = pl.read_ndjson(data, infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError) as error:
        trouble = _bad_line(data, shown, line, plain(error))
    if trouble is not None:
        raise trouble
    _check_keys(data, shown, line)
    unique_names(frame.columns, shown, "error")
    return _with_long_numbers(data, frame) if _LONG_NUMBER.search(data) else frame


def _check_keys(data: bytes, shown: str, first: int) -> None:
    """Refuse an object that names a key twice, of which one value would be lost, and halves of surrogate pairs.

    The keys that stand in the text are counted against those of the objects; only where they differ, or where an escape
    could be half a character, is every line looked at.
    """
    written = data.count(b'":') + (len(_SPACED_KEY.findall(data)) if b'" ' in data or b'"\t' in data else 0)
    suspicious = _SURROGATE.search(data) is not None
    if not suspicious:
        try:
            suspicious = written != sum(map(len, _OBJECTS.decode_lines(data)))
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            suspicious = True
    if suspicious and (trouble := _bad_line(data, shown, first, "")) is not None:
        raise trouble


def _with_long_numbers(data: bytes, frame: pl.DataFrame) -> pl.DataFrame:
    """Columns whose whole numbers a float, or 64 bits, would not hold, as the text that stands in the file."""
    lines = [json.loads(text, parse_int=_Written, parse_float=_Written) for text in data.split(b"\n") if text.strip()]
    columns = {}
    for name, kind in frame.schema.items():
        if not kind.is_numeric() and kind not in (pl.Null, pl.String):
            continue
        cells = [cells.get(name) for cells in lines]
        whole = [cell for cell in cells if isinstance(cell, _Written) and cell.lstrip("-").isdigit()]
        reach = 2**63 - 1 if len(whole) == sum(isinstance(cell, _Written) for cell in cells) else 2**53
        if any(_over(cell, reach) for cell in whole):
            columns[name] = pl.Series(name, [None if c is None else _as_text(c) for c in cells], dtype=pl.String)
    return frame.with_columns(**columns) if columns else frame


def _over(digits: str, reach: int) -> bool:
    bare = digits.lstrip("-0")
    return len(bare) > 19 or (len(bare) > 15 and int(bare) > reach)


class _Written(str):
    """A number as it is written."""

    __slots__ = ()


def _as_text(cell: object) -> str:
    return str(cell) if isinstance(cell, str) else json.dumps(cell)


class _Twice(ValueError):
    """A key that stands twice in one object."""


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(next(name for name in names if names.count(name) > 1))
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _bad_line(data: bytes, shown: str, first: int, error: str) -> DataError | None:
    """What is wrong with the first bad line; None if no line is bad and no error is given."""
    way_out = "write one object per line"
    start, line = 0, first - 1
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        text, start, line = data[start:end], end, line + 1
        if not text.strip():
            continue
        try:
            value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_once)
            json.dumps(value, ensure_ascii=False).encode()
        except _Twice as key:
            return refuse(
                shown, f"names the key '{plain(key)}' twice on line {line}", way_out="give every key of an object once"
            )
        except UnicodeError:
            return refuse(
                shown,
                f"holds half of a character on line {line} (a surrogate without its pair)",
                way_out="write the character whole",
            )
        except (ValueError, RecursionError) as found:
            return refuse(shown, f"holds broken JSON on line {line}", plain(found), way_out)
        if not isinstance(value, dict):
            return refuse(shown, f"holds no object on line {line}", f"got {plain(value, 30)}", way_out)
    return refuse(shown, "cannot be read as NDJSON", error, way_out) if error else None
