"""Read a file into a `Table`: CSV, TSV, NDJSON (each also gzipped), Parquet and Arrow, through Polars.

Text cells are stripped; the usual tokens for "missing" become missing; columns of text that hold numbers, dates or
true/false are parsed (see `parse`). Whatever cannot be read is one `DataError` sentence that names the file, the
line and the column.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..base import config
from ..base.errors import DataError, ParameterError, plain
from .parse import parse_columns
from .table import Table

TEXT_FORMATS = {".csv": "CSV", ".tsv": "TSV", ".tab": "TSV", ".ndjson": "NDJSON", ".jsonl": "NDJSON"}
BINARY_FORMATS = {".parquet": "Parquet", ".pq": "Parquet", ".arrow": "Arrow", ".feather": "Arrow", ".ipc": "Arrow"}
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
_WHO = "read_table"
_SNIFF_RECORDS = 50


def read_table(
    path: str | os.PathLike[str],
    roles: Mapping[str, Any] | None = None,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> Table:
    """Read one file as a `Table` with column roles.

    Parameters
    ----------
    path : the file; its ending says the format: .csv, .tsv, .ndjson or .jsonl (each may end in .gz), .parquet, .arrow
    roles : roles that override the inferred ones, as for `Table.with_roles`
    delimiter : the column separator of a CSV file; None finds it among comma, semicolon, tab and pipe
    encoding : the encoding of a text file

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
    """
    file = Path(path)
    kind, zipped = _format_of(file)
    _check_file(file)
    shown = f"file '{plain(file, 300)}'"
    notes: dict[str, dict[str, Any]] = {}
    detail = ""
    if kind in ("CSV", "TSV"):
        data = _text_bytes(file, shown, zipped, encoding)
        separator = _choose_delimiter(data, shown, delimiter if kind == "CSV" else (delimiter or "\t"))
        raw = _read_delimited(data, shown, separator)
        frame, notes = parse_columns(raw, decimal_comma=separator == ";")
        detail = f", separated by {DELIMITERS.get(separator, repr(separator))}"
    elif kind == "NDJSON":
        frame = _read_ndjson(_text_bytes(file, shown, zipped, encoding), shown)
        frame, notes = parse_columns(frame, decimal_comma=False)
    else:
        frame = _read_binary(file, shown, kind)
    if frame.width == 0:
        raise DataError(_WHO, shown, "holds no columns", way_out="check that it was written completely")
    if frame.height == 0:
        raise DataError(_WHO, shown, "holds column names but no rows", way_out="check that it was written completely")
    reading = f"{kind}{' (gzip)' if zipped else ''}{detail}, {frame.height} rows, {frame.width} columns"
    name = file.name.split(".")[0] or file.name
    return Table.build(frame, name=name, source=str(file), roles=roles, notes=notes, reading=reading)


def _format_of(file: Path) -> tuple[str, bool]:
    suffixes = [s.lower() for s in file.suffixes]
    zipped = bool(suffixes) and suffixes[-1] == ".gz"
    ending = (suffixes[-2] if len(suffixes) > 1 else "") if zipped else (suffixes[-1] if suffixes else "")
    if ending in TEXT_FORMATS:
        return TEXT_FORMATS[ending], zipped
    if ending in BINARY_FORMATS and not zipped:
        return BINARY_FORMATS[ending], False
    if file.is_dir() or not file.exists():
        _check_file(file)
    known = ", ".join([*TEXT_FORMATS, *BINARY_FORMATS])
    raise DataError(
        _WHO,
        f"file '{plain(file, 300)}'",
        f"has the unknown ending '{plain(''.join(file.suffixes[-2:]) if zipped else file.suffix)}'",
        way_out=f"use one of {known} (text kinds may end in .gz)",
    )


def _check_file(file: Path) -> None:
    shown = f"file '{plain(file, 300)}'"
    if file.is_dir():
        raise DataError(_WHO, f"'{plain(file, 300)}'", "is a directory", way_out="name a file in it")
    if not file.exists():
        near = _similar_files(file)
        hint = f"did you mean {' or '.join(near)}?" if near else "check the path"
        raise DataError(_WHO, shown, "does not exist", way_out=hint)
    try:
        size = file.stat().st_size
        with open(file, "rb"):
            pass
    except OSError as error:
        raise DataError(_WHO, shown, "cannot be opened", plain(error.strerror or error)) from None
    if size == 0:
        raise DataError(_WHO, shown, "is empty", way_out="check that it was written completely")
    if size > config.memory_limit():
        raise _too_large(shown, size)


def _similar_files(file: Path) -> list[str]:
    import difflib

    try:
        present = [p.name for p in file.parent.iterdir() if p.is_file()]
    except OSError:
        return []
    return [f"'{plain(near)}'" for near in difflib.get_close_matches(file.name, present, n=2, cutoff=0.6)]


def _too_large(shown: str, size: float) -> DataError:
    return DataError(
        _WHO,
        shown,
        f"needs more memory than the limit ({config.memory_limit() / 1e9:.1f} GB)",
        f"it holds over {size / 1e9:.1f} GB",
        "read a part of it, or raise the limit with assay.config.set(max_bytes=...)",
    )


def _text_bytes(file: Path, shown: str, zipped: bool, encoding: str) -> bytes:
    """The text of a file as UTF-8 bytes with '\\n' line ends, unzipped."""
    data = _unzip(file, shown) if zipped else file.read_bytes()
    try:
        utf8 = codecs.lookup(encoding).name == "utf-8"
    except LookupError:
        raise ParameterError(
            _WHO, "parameter 'encoding'", "must name an encoding", f"got {plain(encoding)!r}"
        ) from None
    if not utf8:
        try:
            data = data.decode(encoding).encode()
        except (UnicodeError, ValueError) as error:
            place = f"byte {error.start}" if isinstance(error, UnicodeDecodeError) else "some bytes"
            raise DataError(_WHO, shown, f"is not {plain(encoding)} text", f"{place} cannot be decoded") from None
    elif data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise DataError(_WHO, shown, "is UTF-16 text, not UTF-8", way_out="save it as UTF-8 or pass encoding='utf-16'")
    data = data.removeprefix(codecs.BOM_UTF8)
    if b"\0" in data:
        raise DataError(
            _WHO,
            shown,
            "holds binary data, not text",
            f"a zero byte stands at byte {data.index(0)}",
            "check that it is the right file",
        )
    if not data[:4096].strip() and not data.strip():
        raise DataError(_WHO, shown, "is empty", "it holds only white space", "check that it was written completely")
    if b"\n" not in data and b"\r" in data:
        data = data.replace(b"\r", b"\n")
    return data


def _unzip(file: Path, shown: str) -> bytes:
    limit, parts, size = config.memory_limit(), [], 0
    try:
        with gzip.open(file, "rb") as stream:
            while part := stream.read(1 << 22):
                size += len(part)
                if size > limit:
                    raise _too_large(shown, size)
                parts.append(part)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(_WHO, shown, "is not a complete gzip file", plain(error)) from None
    return b"".join(parts)


def _not_utf8(data: bytes, shown: str) -> DataError | None:
    """The error for the first byte that is not UTF-8, or None if all is well."""
    try:
        data.decode("utf-8")
        return None
    except UnicodeDecodeError as error:
        start = error.start
        line = data.count(b"\n", 0, start) + 1
        piece = data[max(data.rfind(b"\n", 0, start) + 1, start - 20) : start + 20].split(b"\n")[0]
        guess = "cp1252" if not any(b in piece for b in (0x81, 0x8D, 0x8F, 0x90, 0x9D)) else "latin-1"
        return DataError(
            _WHO,
            shown,
            "is not UTF-8 text",
            f"byte {start} (line {line}) is 0x{data[start]:02x}, near '{plain(piece.decode('latin-1'), 40).strip()}'",
            f"save it as UTF-8, or pass encoding='{guess}' if that is what it is",
        )


def _records(data: bytes, separator: str, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Records of delimited text as (line on which the record starts, fields); blank lines are left out."""
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    reader = csv.reader(text, delimiter=separator, strict=strict)
    line = 1
    for record in reader:
        if record:
            yield line, record
        line = reader.line_num + 1


def _first_records(data: bytes, separator: str, count: int) -> list[list[str]]:
    head = data[: 1 << 18]
    if len(head) < len(data):
        head = head[: head.rfind(b"\n") + 1] or head
    found: list[list[str]] = []
    try:
        for _, record in _records(head, separator):
            found.append(record)
            if len(found) == count:
                break
    except (csv.Error, UnicodeDecodeError):
        pass
    return found


def _choose_delimiter(data: bytes, shown: str, given: str | None) -> str:
    """The separator that cuts the first records into the same number (two or more) of fields."""
    if given is not None:
        if len(given) != 1 or given in '"\r\n' or ord(given) > 127:
            raise ParameterError(_WHO, "parameter 'delimiter'", "must be one ASCII character", f"got {plain(given)!r}")
        return given
    ranked: list[tuple[bool, int, str]] = []
    for separator in DELIMITERS:
        records = _first_records(data, separator, _SNIFF_RECORDS)
        if not records or len(records[0]) < 2:
            continue
        width = len(records[0])
        agreeing = sum(len(record) == width for record in records)
        ranked.append((agreeing >= 0.9 * len(records), width, separator))
    if not ranked:
        return ","
    return max(ranked, key=lambda item: (item[0], item[1]))[2]


def _header(data: bytes, shown: str, separator: str) -> list[str]:
    try:
        names = [name.strip() for name in next(_records(data, separator))[1]]
    except (csv.Error, UnicodeDecodeError) as error:
        raise _not_utf8(data, shown) or DataError(
            _WHO, shown, "has a header that cannot be read", plain(error)
        ) from None
    numbers = sum(_is_decimal(name) for name in names)
    if numbers == len(names) and any(not name.lstrip("-").isdigit() for name in names):
        raise DataError(
            _WHO, shown, "has no header: line 1 holds only numbers", way_out="add a first line with the column names"
        )
    named = [name or f"column_{position}" for position, name in enumerate(names, start=1)]
    seen: dict[str, int] = {}
    for position, name in enumerate(named, start=1):
        if name in seen:
            raise DataError(
                _WHO,
                shown,
                f"has two columns named '{plain(name)}'",
                f"columns {seen[name]} and {position}",
                "give every column its own name" if not numbers else "name every column (is line 1 a header?)",
            )
        seen[name] = position
    return named


def _is_decimal(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_delimited(data: bytes, shown: str, separator: str) -> pl.DataFrame:
    """Delimited text as a frame of strings; a row with too few or too many fields is an error."""
    names = _header(data, shown, separator)
    try:
        frame = pl.read_csv(
            data.lstrip(b"\r\n"), separator=separator, infer_schema=False, new_columns=names, glob=False
        )
    except pl.exceptions.PolarsError:
        undecodable = _not_utf8(data, shown)
        if undecodable is not None:
            raise undecodable from None
        return _read_slowly(data, shown, separator, names)
    if frame.width != len(names):
        return _read_slowly(data, shown, separator, names)
    # Polars fills a short row with nulls without a word; a null in the last column is the sign to look closer.
    blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    short = frame[frame.columns[-1]].is_null() & ~blank
    if len(names) > 1 and short.any() and not _even_widths(data, separator, len(names)):
        for _ in _checked_records(data, shown, separator, len(names)):
            pass
    return frame.filter(~blank) if blank.any() else frame


def _even_widths(data: bytes, separator: str, width: int) -> bool:
    """Whether every line that is not blank holds width - 1 separators, by counting bytes; quotes need the slow way."""
    if b'"' in data:
        return False
    start, step = 0, 1 << 24
    while start < len(data):
        stop = min(start + step, len(data))
        if stop < len(data):
            stop = data.rfind(b"\n", start, stop) + 1 or data.find(b"\n", stop) + 1 or len(data)
        chunk = np.frombuffer(data, dtype=np.uint8, count=stop - start, offset=start)
        ends = np.flatnonzero(chunk == 10)
        marks = np.flatnonzero(chunk == ord(separator))
        if chunk[-1] != 10:
            ends = np.append(ends, chunk.shape[0])
        edges = np.concatenate((np.array([-1]), ends))
        counts = np.diff(np.searchsorted(marks, edges))
        lengths = np.diff(edges) - 1
        blank = (lengths == 0) | ((lengths == 1) & (chunk[np.minimum(edges[:-1] + 1, chunk.shape[0] - 1)] == 13))
        if not ((counts == width - 1) | (blank & (counts == 0))).all():
            return False
        start = stop
    return True


def _checked_records(data: bytes, shown: str, separator: str, width: int) -> Iterator[list[str]]:
    """Record by record, header first; raises for the line that breaks the table."""
    start = 1
    try:
        for start, record in _records(data, separator, strict=True):
            if len(record) == width:
                yield record
            elif any(cell.strip() for cell in record):
                raise DataError(
                    _WHO,
                    shown,
                    f"has {len(record)} fields on line {start} where the header has {width}",
                    f"the line starts with '{plain(separator.join(record), 40)}'",
                    "quote fields that hold the separator, or repair the line",
                )
    except csv.Error as error:
        raise DataError(
            _WHO,
            shown,
            f"cannot be read after line {start}",
            plain(error).replace("unexpected end of data", "a quote is opened and never closed"),
            "repair the quotes",
        ) from None


def _read_slowly(data: bytes, shown: str, separator: str, names: list[str]) -> pl.DataFrame:
    """What the fast reader refuses, such as a quote inside a field, read with the csv module."""
    rows = list(_checked_records(data, shown, separator, len(names)))[1:]
    cells = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    series = [pl.Series(name, [v or None for v in column], dtype=pl.String) for name, column in zip(names, cells)]
    return pl.DataFrame(series)


def _read_ndjson(data: bytes, shown: str) -> pl.DataFrame:
    try:
        return pl.read_ndjson(data, infer_schema_length=None)
    except (pl.exceptions.PolarsError, ValueError) as error:
        raise (_not_utf8(data, shown) or _bad_json_line(data, shown, error)) from None


def _bad_json_line(data: bytes, shown: str, error: Exception) -> DataError:
    import json

    for line, text in enumerate(data.split(b"\n"), start=1):
        if text.strip():
            try:
                value = json.loads(text)
            except ValueError as found:
                return DataError(
                    _WHO,
                    shown,
                    f"holds broken JSON on line {line}",
                    plain(found),
                    "write one object per line",
                )
            if not isinstance(value, dict):
                return DataError(
                    _WHO,
                    shown,
                    f"holds no object on line {line}",
                    f"got {plain(value, 30)}",
                    "write one object per line",
                )
    return DataError(_WHO, shown, "cannot be read as NDJSON", plain(error), "write one object per line")


def _read_binary(file: Path, shown: str, kind: str) -> pl.DataFrame:
    try:
        return pl.read_parquet(file, glob=False) if kind == "Parquet" else pl.read_ipc(file)
    except Exception as error:
        raise DataError(
            _WHO, shown, f"cannot be read as {kind}", plain(error), "check that it was written completely"
        ) from None
