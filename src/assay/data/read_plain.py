"""Large delimited files of plain ASCII without quotes, read by one kernel straight into columns.

Numbers come as numbers and labels as codes, where the other way reads every cell as text first and parses it then; the
result is the same. Whatever is not plain (quotes, letters beyond ASCII, a ragged or blank line) is left to that other
way, which also says what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from .. import _kernels
from ..base import config
from ..base.threads import thread_count
from .parse import Coded, ColumnPlan, follow_plan, stays_text

_PADDING = 64
_BLOCK_BYTES = 1 << 22
"""What is held of the text at a time, by each thread."""
_FEW_LABELS = 255
_SAMPLE_BYTES, _SAMPLE_PLACES = 1 << 15, 32
_SKIP, _NUMBER, _WHOLE, _LABEL, _TEXT = range(5)
_KINDS = {"number": _NUMBER, "label": _LABEL, "text": _TEXT}
_SEPARATORS = ",;\t|"


def read_plain(
    path: Path, separator: str, names: list[str], *, header: bool
) -> tuple[pl.DataFrame, dict[str, Coded]] | None:
    """The columns of a plain file and the codes of those that stay labels; None if the file is not plain.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "small.csv"
    >>> _ = file.write_text("size,price\\nS,1.5\\nM,\\nS,2.5\\nS,3.5\\n")
    >>> frame, coded = read_plain(file, ",", ["size", "price"], header=True)
    >>> frame["price"].to_list(), coded["size"].labels.to_list(), coded["size"].codes.to_list()
    ([1.5, None, 2.5, 3.5], ['S', 'M'], [0, 1, 0, 0])
    """
    if separator not in _SEPARATORS or len(names) < 2:
        return None
    try:
        kinds = _kinds(path, separator, len(names))
        if kinds is None:
            return None
        with open(path, "rb", buffering=0) as file:
            body = _body_of(file, path.stat().st_size, header)
            cells = None if body is None else _cells(file.fileno(), *body, ord(separator), kinds)
    except OSError:
        return None
    if cells is None:
        return None
    columns: list[pl.Series] = []
    coded: dict[str, Coded] = {}
    for j, name in enumerate(names):
        # What a column was made from is let go before the next one is made.
        values, labels = cells[j]
        cells[j] = None
        series = pl.Series(values).alias(name)
        if series.dtype == pl.UInt32:
            if len(labels) < _FEW_LABELS:
                series = series.cast(pl.UInt8)
            known = Coded(pl.Series(name, labels, dtype=pl.String), series)
            series = known.labels.gather(series)
            if stays_text(known.labels):
                coded[name] = known
        columns.append(series)
        del values, series
    _kernels.trim_memory()
    return pl.DataFrame(columns), coded


def _cells(file: int, begin: int, end: int, separator: int, kinds: list[int]) -> list[Any] | None:
    """The columns of an open file; those that do not hold what they seemed to are read again as text."""
    longest, threads = int(config.get().max_line_bytes), thread_count(None)
    cells: Any = _kernels.read_plain_file(file, begin, end, separator, kinds, longest, _BLOCK_BYTES, threads)
    if cells is None:
        return None
    failed = {j for j, found in enumerate(cells) if found is None}
    if failed:
        kinds = [_TEXT if j in failed else _SKIP for j in range(len(kinds))]
        again: Any = _kernels.read_plain_file(file, begin, end, separator, kinds, longest, _BLOCK_BYTES, threads)
        if again is None or any(again[j] is None for j in failed):
            return None
        for j in failed:
            cells[j] = again[j]
    return list(cells)


def plain_piece(
    data: bytes, begin: int, end: int, separator: str, names: list[str], wanted: Mapping[str, str] | None
) -> tuple[pl.DataFrame, frozenset[str], int] | None:
    """The wanted columns of a piece of plain text (see `Options.wanted`), which of them are settled (see `Piece`), and
    how many lines the text until `end` has; its rows begin at `begin`.

    None if the text is not plain, or a cell of a column of numbers is no plain number: the other way tells why.

    >>> text, wanted = b"1.5,a ,x\\n2,NA,y\\n", {"n": "number", "w": "label"}
    >>> frame, settled, lines = plain_piece(text, 0, len(text), ",", ["n", "w", "z"], wanted)
    >>> frame.rows(), sorted(settled), lines
    ([(1.5, 'a'), (2.0, None)], ['n', 'w'], 2)
    """
    if wanted is None or separator not in _SEPARATORS or len(names) < 2 or not set(wanted) <= set(names):
        return None
    text = np.empty(end + _PADDING, dtype=np.uint8)
    text[:end] = np.frombuffer(data, dtype=np.uint8, count=end)
    text[end:] = 0
    seen = _kernels.scan_text(text[:end], 1)
    if seen["zero"] or seen["beyond_ascii"] or seen["quote"] or seen["stray_return"] or not seen["lines"]:
        return None
    first, last = _body(text[begin:], end - begin)
    kinds = [_KINDS.get(wanted.get(name, ""), _SKIP) for name in names]
    if first >= last:
        return None
    longest = int(config.get().max_line_bytes)
    cells: Any = _kernels.read_plain(
        text, begin + first, begin + last, ord(separator), kinds, longest, thread_count(None)
    )
    if cells is None or any(kind != _SKIP and found is None for kind, found in zip(kinds, cells)):
        return None
    columns, settled = [], set()
    for name, kind, found in zip(names, kinds, cells):
        if kind == _SKIP:
            continue
        values, labels = found
        series = pl.Series(values).alias(name)
        if kind == _LABEL:
            # What becomes of a label is settled once for all the rows that have it.
            clean = follow_plan(pl.Series(name, labels, dtype=pl.String), ColumnPlan("text"))[0]
            series = clean.gather(series)
        if kind != _TEXT:
            settled.add(name)
        columns.append(series)
    return pl.DataFrame(columns), frozenset(settled), int(seen["lines"])


def _body_of(file: FileIO, size: int, header: bool) -> tuple[int, int] | None:
    """Where the rows of a file begin and end, without the header and blank lines around them; None if it has none, or
    what stands around them is not plain."""
    head = _before_rows(file, header)
    if head is None:
        return None
    begin = first = len(head)
    tail, step = b"", _SAMPLE_BYTES
    while not tail:
        first = max(size - step, begin)
        file.seek(first)
        tail = file.read(max(size - first, 0))
        if not tail.strip(b"\r\n"):
            if first == begin:
                return None
            tail, step = b"", 2 * step
    rows = len(tail.rstrip(b"\r\n"))
    ends = rows + len(tail[rows:].split(b"\n")[0]) + (b"\n" in tail[rows:])
    for part in (head, tail[ends:]):
        if not part.isascii() or b'"' in part or b"\0" in part or part.count(b"\r") != part.count(b"\r\n"):
            return None
    return begin, first + ends


def _before_rows(file: FileIO, header: bool) -> bytes | None:
    """The header, if there is one, and blank lines around it; None if nothing follows."""
    head = b""
    while True:
        more = file.read(_SAMPLE_BYTES)
        head += more
        start = len(head) - len(head.lstrip(b"\r\n"))
        if header:
            found = head.find(b"\n", start)
            start = len(head) - len(head[found + 1 :].lstrip(b"\r\n")) if found >= 0 else len(head)
        if start < len(head):
            return head[:start]
        if not more or len(head) > config.get().max_line_bytes:
            return None


def _body(text: np.ndarray, size: int) -> tuple[int, int]:
    """Where the rows of a piece of text begin and end, without blank lines around them."""

    def after_blanks(place: int) -> int:
        while place < size and text[place] in b"\r\n":
            place += 1
        return place

    begin = after_blanks(0)
    end = size
    while (
        end > begin + 1 and text[end - 1] == 10 and (text[end - 2] == 10 or bytes(text[end - 3 : end - 1]) == b"\n\r")
    ):
        end -= 1 if text[end - 2] == 10 else 2
    return begin, end


def _kinds(path: Path, separator: str, width: int) -> list[int] | None:
    """What each column seems to hold, by lines from all over the file; None if they are not plain."""
    last = path.stat().st_size - _SAMPLE_BYTES
    lines: list[bytes] = []
    with open(path, "rb", buffering=0) as file:
        for place in dict.fromkeys(np.linspace(0, max(last, 0), _SAMPLE_PLACES).astype(int).tolist()):
            file.seek(place)
            part = file.read(_SAMPLE_BYTES)
            # A line that is longer than all this is no business of plain reading, nor is reading it into memory.
            whole = part.split(b"\n")[1:-1]
            if not whole or not part.isascii() or b'"' in part:
                return None
            lines += whole
    schema = {str(j): pl.String for j in range(width)}
    try:
        frame = pl.read_csv(b"\n".join(lines), separator=separator, has_header=False, schema=schema, glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    return [_kind(series.drop_nulls()) for series in frame.get_columns()]


def _kind(present: pl.Series) -> int:
    if present.len() == 0:
        return _LABEL
    if present.cast(pl.Float64, strict=False).null_count() == 0:
        return _WHOLE if present.cast(pl.Int64, strict=False).null_count() == 0 else _NUMBER
    return _LABEL if present.n_unique() <= 0.5 * present.len() else _TEXT
