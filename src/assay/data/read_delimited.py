"""Delimited text (CSV, TSV and the like) as frames of strings: whole, or piece by piece in bounded memory.

The delimiter and the header are found from the first records and stated with a confidence. A row with too few or too
many fields, an unclosed quote and a column name that stands twice are refused with the line.
"""

from __future__ import annotations

import bisect
import contextlib
import csv
import io
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from .. import _kernels
from ..base import config
from ..base.errors import DataError, ParameterError, plain
from .parse import MISSING_TOKENS, Coded
from .read_notes import WHO, Decision, is_pattern, refuse, succession
from .read_plain import plain_piece, read_plain
from .read_source import Options, Piece, SourceFile, too_large
from .read_text import TextStream

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
_SNIFF_RECORDS = 50
_PIECE_BYTES = 1 << 23
_PLAIN_BYTES = 1 << 21
"""Of a piece of plain text: its rows are worked on while the next piece is read."""
_SLOW_ROWS = 20_000
_LARGE = 1 << 22
_SAMPLE_BYTES, _SAMPLE_PLACES = 1 << 15, 32
_NO_TABLE = (
    (re.compile(rb"(?i)\s*<(?:!doctype|html|\?xml)"), "a web page or XML", "save the data itself as CSV"),
    (re.compile(rb'\s*(?:\[\s*[\[{]|\{\s*"[^"\n]*"\s*:)'), "JSON", "write one object per line and name it .ndjson"),
)
_PREAMBLE = re.compile(rb'[\r\n]*"?sep=([,;|\t:])"?\r?\n')


@dataclass(frozen=True)
class Dialect:
    """How a delimited file is written: its separator, its column names, and whether line 1 holds them."""

    separator: str
    names: list[str]
    header: bool
    bytes_per_cell: float
    decisions: tuple[Decision, ...]
    preamble: bool = False
    """Whether a line such as `sep=;`, which spreadsheets write, stands before everything else."""
    spoiled: dict[int, str] | None = None
    """See `Options`."""

    @property
    def spoken(self) -> str:
        """The separator in a word."""
        return DELIMITERS.get(self.separator, repr(self.separator))


def open_delimited(file: SourceFile, options: Options) -> tuple[TextStream, Dialect]:
    """The text of a delimited file and how it is written, from its first records."""
    stream = TextStream(file, options.encoding)
    given = options.delimiter if file.kind == "CSV" else options.delimiter or "\t"
    head = stream.head()
    for start, what, way_out in _NO_TABLE:
        if start.match(head):
            raise refuse(stream.shown, f"holds {what}, not delimited text", way_out=way_out)
    spoken = _PREAMBLE.match(head)
    if spoken is not None:
        head = head[spoken.end() :]
        given = given or spoken.group(1).decode()
    if head.strip():
        chosen, decision = _choose_delimiter(head, given)
        if file.kind == "TSV" and options.delimiter is None:
            decision = Decision("delimiter", "tab", 1.0, "the file's ending says so")
        records = _first_records(head, chosen, _SNIFF_RECORDS)
        names, header = _header(records, stream.shown, options)
    else:
        chosen, decision, records, names = given or ",", Decision("delimiter", "comma", 0.0, "no text"), [], []
        header = Decision("header", "none", 0.0, "no text")
    if spoken is not None and options.delimiter is None:
        decision = Decision("delimiter", decision.value, 1.0, "line 1 of the file says so")
    cells = sum(len(record) for record in records)
    each = max(sum(len(cell) + 1 for record in records for cell in record) / max(cells, 1), 1.0)
    stream.name_column = lambda before: _column_after(before, chosen, names)
    decisions, preamble = (decision, header), spoken is not None
    return stream, Dialect(chosen, names, header.value != "none", each, decisions, preamble, options.spoiled)


def read_delimited(
    file: SourceFile, options: Options, *, alone: bool = True
) -> tuple[pl.DataFrame, list[Decision], dict[str, Coded]]:
    """A delimited file as a frame of strings, what was decided about it, and the codes of columns of labels if known.

    The columns of a large file that stands `alone` that hold plain numbers come as such: `parse_columns` would make the
    same of their text.
    """
    stream, dialect = open_delimited(file, options)
    # The text itself, a view of 16 bytes for each cell as text, and 8 for the cell as a number.
    factor = 2 + 24 / dialect.bytes_per_cell
    packed = file.path.stat().st_size
    if not file.zipped and packed * factor > config.memory_limit():
        raise too_large(stream.shown, packed * factor)
    if alone and packed >= _LARGE and options.encoding is None and not (file.zipped or dialect.preamble):
        plain_columns = read_plain(file.path, dialect.separator, dialect.names, header=dialect.header)
        if plain_columns is not None:
            return plain_columns[0], [dialect.decisions[0], stream.decision, dialect.decisions[1]], plain_columns[1]
    data = stream.all_bytes(factor)
    decimals = _decimals(data, dialect) if alone and len(data) >= _LARGE else []
    frame = _frame(data, stream.shown, dialect, header=dialect.header, first=True, decimals=decimals)
    return frame, [dialect.decisions[0], stream.decision, dialect.decisions[1]], {}


def delimited_pieces(file: SourceFile, options: Options, decided: list[Decision]) -> Iterator[Piece]:
    """A delimited file as frames of strings of some megabytes each; `decided` is filled with the decisions."""
    stream, dialect = open_delimited(file, options)
    pending: list[bytes] = []
    size, header, first, line, row = 0, dialect.header, True, 1, 1
    limit = max(config.get().max_line_bytes, _PIECE_BYTES)
    wanted = options.wanted
    plain_text = wanted and not dialect.preamble and "text" not in wanted.values()
    enough = min(_PLAIN_BYTES, _PIECE_BYTES) if plain_text else _PIECE_BYTES
    for block in itertools.chain(stream.blocks(), [b""]):
        decided[:] = [dialect.decisions[0], stream.decision, dialect.decisions[1]]
        pending.append(block)
        size += len(block)
        if block and size < enough:
            continue
        data = b"".join(pending)
        pending = [data]
        end = len(data) if not block else _last_record_end(data, dialect.separator)
        if end == 0:
            if size > limit:
                raise refuse(
                    stream.shown,
                    f"opens a quote after line {line} that is not closed within {size / 1e6:.0f} million bytes",
                    way_out="repair the quotes",
                )
            continue
        lines: int | None = None
        blank = _blank_until(data, 0)
        if blank < end:
            begin = 0 if not header else min(_first_record_end(data, dialect.separator, blank), end)
            told = None if dialect.preamble else plain_piece(data, begin, end, dialect.separator, dialect.names, wanted)
            if told is None and enough < _PIECE_BYTES:
                # How cells of other text are to be read is told from many of them.
                enough = _PIECE_BYTES
                if block and size < enough:
                    continue
            if told is not None:
                frame, settled, lines = told
            else:
                frame = _frame(data[:end], stream.shown, dialect, header=header, first=first, line=line, row=row)
                if wanted and set(wanted) <= set(frame.columns):
                    frame = frame.select(name for name in frame.columns if name in wanted)
                settled = frozenset()
            if frame.height:
                yield Piece(stream.shown, row, frame, settled)
            row += frame.height
            header = first = False
        line += data.count(b"\n", 0, end) if lines is None else lines
        pending, size = [data[end:]], len(data) - end


def _column_after(before: bytes, separator: str, names: list[str]) -> str:
    """The column in which the text after these first bytes of a line stands."""
    with _long_fields():
        try:
            fields = next(csv.reader([before.decode("utf-8", "replace")], delimiter=separator), [""])
        except csv.Error:
            return ""
    position = len(fields) or 1
    return f", column '{plain(names[position - 1])}'" if position <= len(names) else f", field {position}"


@contextlib.contextmanager
def _long_fields() -> Iterator[None]:
    """Python's csv module refuses fields over 131072 letters; the limit on lines stands in its place."""
    before = csv.field_size_limit(int(min(max(config.get().max_line_bytes, 131072), 2**31 - 1)))
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _records(data: bytes, separator: str, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Records of delimited text as (line on which the record starts, fields); blank lines are left out."""
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="replace", newline="")
    reader = csv.reader(text, delimiter=separator, strict=strict)
    line = 1
    for record in reader:
        if record:
            yield line, record
        line = reader.line_num + 1


def _first_records(head: bytes, separator: str, count: int) -> list[list[str]]:
    found: list[list[str]] = []
    with contextlib.suppress(csv.Error), _long_fields():
        for _, record in itertools.islice(_records(head, separator), count):
            found.append(record)
    return found


def _choose_delimiter(head: bytes, given: str | None) -> tuple[str, Decision]:
    """The separator that cuts the first records into the same number (two or more) of fields."""
    if given is not None:
        if len(given) != 1 or given in '"\r\n' or ord(given) > 127:
            raise ParameterError(WHO, "parameter 'delimiter'", "must be one ASCII character", f"got {plain(given)!r}")
        return given, Decision("delimiter", DELIMITERS.get(given, repr(given)), 1.0, "it was given")
    ranked: list[tuple[bool, int, int, int, str]] = []
    for separator in DELIMITERS:
        records = _first_records(head, separator, _SNIFF_RECORDS)
        if not records or len(records[0]) < 2:
            continue
        width = len(records[0])
        agreeing = sum(len(record) == width for record in records)
        ranked.append((agreeing >= 0.9 * len(records), width, agreeing, len(records), separator))
    if not ranked:
        seen = len(_first_records(head, ",", _SNIFF_RECORDS))
        reason = "no comma, semicolon, tab or pipe in the first record: one column"
        return ",", Decision("delimiter", "comma", succession(seen, seen), reason)
    ranked.sort(key=lambda item: (item[0], item[1]), reverse=True)
    _, width, agreeing, seen, best = ranked[0]
    confidence = succession(agreeing, seen)
    reason = f"it cuts {agreeing} of the first {seen} records into {width} fields"
    rivals = [item for item in ranked[1:] if item[0]]
    if rivals:
        confidence *= width / (width + rivals[0][1])
        reason += f"; {DELIMITERS[rivals[0][4]]} would cut them into {rivals[0][1]}"
    return best, Decision("delimiter", DELIMITERS[best], round(confidence, 3), reason)


def _header(records: list[list[str]], shown: str, options: Options) -> tuple[list[str], Decision]:
    """The column names, and whether they stand in the first record."""
    if not records:
        raise refuse(shown, "has a header that cannot be read", way_out="repair the quotes of its first line")
    first = [cell.strip() for cell in records[0]]
    if options.header is False:
        return [f"column_{n}" for n in range(1, len(first) + 1)], Decision("header", "none", 1.0, "it was given")
    numbers = sum(map(_is_number, first))
    if options.header is None and numbers == len(first) and any(not name.lstrip("-").isdigit() for name in first):
        raise refuse(
            shown,
            "has no header: line 1 holds only numbers",
            way_out="add a first line with the column names, or pass header=False (or header=True if they are names)",
        )
    if options.header is None:
        _refuse_title(records, shown)
    named = [name or f"column_{position}" for position, name in enumerate(first, start=1)]
    named = unique_names(named, shown, options.duplicates, maybe_headless=numbers > 0)
    if options.header:
        return named, Decision("header", "line 1", 1.0, "it was given")
    return named, _header_decision(first, records[1:], numbers)


def _refuse_title(records: list[list[str]], shown: str) -> None:
    """A first line that leaves most names empty, above one that has them all, is a title."""
    empty = sum(not cell.strip() for cell in records[0])
    if 2 * empty <= len(records[0]):
        return
    for number, record in enumerate(records[1:10], start=2):
        filled = len(record) == len(records[0]) and all(map(str.strip, record))
        if filled:
            if not any(map(_is_number, record)):
                raise refuse(
                    shown,
                    f"seems to have a title on line 1: {empty} of its {len(record)} names are empty",
                    f"record {number} has them all: {plain(', '.join(record), 60)}",
                    "remove what stands above the column names, or pass header=True",
                )
            return


def _header_decision(first: list[str], rest: list[list[str]], numbers: int) -> Decision:
    if numbers == len(first):
        return Decision("header", "line 1", 0.5, "line 1 holds whole numbers only, which may be names such as years")
    below = 0
    for position, name in enumerate(first):
        cells = [record[position].strip() for record in rest if position < len(record)]
        present = [cell for cell in cells if cell not in MISSING_TOKENS]
        if present and not _is_number(name) and sum(map(_is_number, present)) >= 0.8 * len(present):
            below += 1
    if below:
        reason = f"{below} of {len(first)} columns hold numbers below a word"
        return Decision("header", "line 1", 0.99 if not numbers else 0.8, reason)
    if numbers:
        return Decision("header", "line 1", 0.55, f"{numbers} of the {len(first)} names are numbers")
    repeated = sum(name in {record[p].strip() for record in rest if p < len(record)} for p, name in enumerate(first))
    if repeated:
        return Decision("header", "line 1", 0.4, f"{repeated} of the {len(first)} names also stand among the cells")
    return Decision("header", "line 1", 0.75, "line 1 holds names that no cell repeats; all columns are text")


def unique_names(names: list[str], shown: str, duplicates: str, maybe_headless: bool = False) -> list[str]:
    """Column names of which none stands twice: refused, or renamed to 'name_2' and so on."""
    if duplicates not in ("error", "rename"):
        raise ParameterError(
            WHO, "parameter 'duplicates'", "must be 'error' or 'rename'", f"got {plain(repr(duplicates))}"
        )
    if any(map(is_pattern, names)):
        name = next(filter(is_pattern, names))
        raise refuse(shown, f"has a column named like a pattern, '{plain(name)}'", way_out="name it without ^ and $")
    if len(set(names)) == len(names):
        return names
    if duplicates == "error":
        places: dict[str, list[int]] = {}
        for position, name in enumerate(names, start=1):
            places.setdefault(name, []).append(position)
        twice = [(name, at) for name, at in places.items() if len(at) > 1]
        name, at = twice[0]
        more = "".join(f", '{plain(other, 40)}' ({', '.join(map(str, on[:5]))})" for other, on in twice[1:4])
        raise refuse(
            shown,
            f"has two columns named '{plain(name)}'"
            if len(at) == 2
            else f"has {len(at)} columns named '{plain(name)}'",
            f"columns {', '.join(map(str, at[:-1][:9]))} and {at[-1]}" + (f"; also {more[2:]}" if more else ""),
            "name every column (is line 1 a header?)"
            if maybe_headless
            else "give every column its own name, or pass duplicates='rename'",
        )
    taken, result = set(names), []
    seen: set[str] = set()
    for name in names:
        fresh, number = name, 1
        while fresh in seen or (fresh != name and fresh in taken):
            number += 1
            fresh = f"{name}_{number}"
        seen.add(fresh)
        result.append(fresh)
    return result


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return bool(re.fullmatch(r"[-+]?\d+,\d+", text))
    return True


def _quoted(separator: str) -> re.Pattern[bytes]:
    """A quoted field from its opening quote to its closing one, or to the end of the text where it has none."""
    # The quote comes before the look at what precedes it, so that the search leaps from quote to quote.
    start = re.escape(b"\n" + separator.encode())
    return re.compile(rb'"(?<![^\r' + start + rb']")[^"]*(?:""[^"]*)*("|\Z)')


def _first_record_end(data: bytes, separator: str, start: int) -> int:
    """Where the record that begins at `start` ends, its line end included."""
    end = data.find(b"\n", start) + 1 or len(data)
    # Without a quote before the line's end, the search for one would go on through the whole text.
    if data.find(b'"', start, end) < 0:
        return end
    for match in _quoted(separator).finditer(data, start):
        if match.start() >= end:
            break
        if match.end() >= end:
            end = data.find(b"\n", match.end()) + 1 or len(data)
        if data.find(b'"', match.end(), end) < 0:
            break
    return end


def _last_record_end(data: bytes, separator: str) -> int:
    """Where the last whole record of a text that starts with a record ends; 0 if not even one is whole."""
    end = data.rfind(b"\n") + 1
    if b'"' not in data:
        return end
    starts, stops = [], []
    for match in _quoted(separator).finditer(data):
        starts.append(match.start())
        stops.append(match.end() if match.group(1) else len(data) + 1)
    # A line end inside quotes ends no record: go back to the nearest one outside.
    while end:
        last = bisect.bisect_left(starts, end) - 1
        if last < 0 or stops[last] < end:
            return end
        end = data.rfind(b"\n", 0, starts[last]) + 1
    return 0


def _decimals(data: bytes, dialect: Dialect) -> list[str]:
    """Columns that hold decimal numbers and nothing else in lines from all over the text."""
    places = np.linspace(0, len(data) - _SAMPLE_BYTES, _SAMPLE_PLACES).astype(int).tolist()
    starts = [data.find(b"\n", place) + 1 for place in places]
    sample = b"".join(data[start : data.rfind(b"\n", start, start + _SAMPLE_BYTES) + 1] for start in starts if start)
    schema = dict.fromkeys(dialect.names, pl.String)
    try:
        frame = pl.read_csv(sample, separator=dialect.separator, has_header=False, schema=schema, glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return []
    found = []
    for series in frame.get_columns():
        present = series.drop_nulls()
        numbers = present.cast(pl.Float64, strict=False)
        # Whole numbers may be codes with leading zeros, which only their text shows.
        whole = present.cast(pl.Int64, strict=False).null_count() == 0
        if present.len() and numbers.null_count() == 0 and not whole and bool(numbers.is_finite().all()):
            found.append(series.name)
    return found


def _survive(frame: pl.DataFrame, decimals: Sequence[str]) -> bool:
    """Whether columns read as numbers hold nothing that `parse_columns` wants to see as text."""
    # NaN is a token for "missing", and a whole number of more digits than a double holds must not lose any.
    return all(bool((frame.get_column(name).abs() < 2**53).all()) for name in decimals)


def _frame(
    data: bytes,
    shown: str,
    dialect: Dialect,
    *,
    header: bool,
    first: bool,
    line: int = 1,
    row: int = 1,
    decimals: Sequence[str] = (),
) -> pl.DataFrame:
    """Delimited text as a frame of strings; a row with too few or too many fields is an error.

    Columns named in `decimals` come as numbers, unless a cell of theirs is none.
    """
    names, separator = dialect.names, dialect.separator
    start = _blank_until(data, 0)
    if first and dialect.preamble and (spoken := _PREAMBLE.match(data)):
        start = _blank_until(data, spoken.end())
    if header:
        start = _blank_until(data, _first_record_end(data, separator, start))
    if start >= len(data):
        return pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    skipped = data.count(b"\n", 0, start)
    line += skipped
    if start and data[start - 1] != 10:
        data, start, skipped = data[start:], 0, 0
    schema: dict[str, Any] = {**dict.fromkeys(names, pl.String), **dict.fromkeys(decimals, pl.Float64)}
    frame = None
    while frame is None:
        try:
            # Lines are skipped and not cut off: a copy of a large text costs as much as looking through it.
            frame = pl.read_csv(
                data, separator=separator, has_header=False, skip_lines=skipped, schema=schema, glob=False
            )
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            if not decimals:
                return _read_slowly(data[start:], shown, dialect, line, row)
        if decimals and (frame is None or not _survive(frame, decimals)):
            frame, decimals, schema = None, (), dict.fromkeys(names, pl.String)
    if frame.width != len(names):
        return _read_slowly(data[start:], shown, dialect, line, row)
    # Polars fills a short row with nulls without a word; a null in the last column is the sign to look closer.
    blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    short = frame[frame.columns[-1]].is_null() & ~blank
    if len(names) > 1 and short.any() and not _even_widths(data, start, separator, len(names)):
        if dialect.spoiled is not None:
            return _read_slowly(data[start:], shown, dialect, line, row)
        for _ in _checked_records(data[start:], shown, dialect, line, row):
            pass
    return frame.filter(~blank) if blank.any() else frame


def _blank_until(data: bytes, start: int) -> int:
    while start < len(data) and data[start] in b"\r\n":
        start += 1
    return start


def _even_widths(data: bytes, start: int, separator: str, width: int) -> bool:
    """Whether every line that is not blank holds width - 1 separators, by counting bytes; quotes need the slow way."""
    cells = np.frombuffer(data, dtype=np.uint8, offset=start)
    return data.find(b'"', start) < 0 and _kernels.even_widths(cells, ord(separator), width)


def _checked_records(data: bytes, shown: str, dialect: Dialect, line: int, row: int) -> Iterator[list[str]]:
    """Record by record; raises for the line that breaks the table. `line` and `row` number the first record."""
    start, width, separator = 1, len(dialect.names), dialect.separator
    try:
        with _long_fields():
            for start, record in _records(data, separator, strict=True):
                if len(record) == width:
                    row += 1
                    yield record
                elif any(cell.strip() for cell in record):
                    if dialect.spoiled is None:
                        raise _ragged(record, shown, dialect, start + line - 1, row)
                    dialect.spoiled[row] = f"line {start + line - 1} has {len(record)} fields and not {width}"
                    row += 1
                    yield [""] * width
    except csv.Error as error:
        raise refuse(
            shown,
            f"cannot be read after line {max(start + line - 2, 1)}",
            plain(error).replace("unexpected end of data", "a quote is opened and never closed"),
            "repair the quotes",
        ) from None


def _ragged(record: list[str], shown: str, dialect: Dialect, line: int, row: int) -> DataError:
    width, found = len(dialect.names), len(record)
    if found < width:
        place = f"the first column without a field is '{plain(dialect.names[found], 40)}'"
    else:
        place = f"the first field too many is '{plain(record[width], 40)}'"
    return refuse(
        shown,
        f"has {found} fields on line {line} (row {row}) where the {'header' if dialect.header else 'first line'} "
        f"has {width}",
        f"{place}; the line starts with '{plain(dialect.separator.join(record), 40)}'",
        "quote fields that hold the separator, or repair the line"
        if width > 1
        else "remove what stands above the column names, or repair the line",
    )


def _read_slowly(data: bytes, shown: str, dialect: Dialect, line: int, row: int) -> pl.DataFrame:
    """What the fast reader refuses, such as a quote inside a field, read with the csv module."""
    frames = []
    records = _checked_records(data, shown, dialect, line, row)
    while rows := list(itertools.islice(records, _SLOW_ROWS)):
        cells = zip(*rows, strict=True)
        series = [
            pl.Series(name, [v or None for v in column], dtype=pl.String) for name, column in zip(dialect.names, cells)
        ]
        frames.append(pl.DataFrame(series))
    return pl.concat(frames) if frames else pl.DataFrame(schema=dict.fromkeys(dialect.names, pl.String))
