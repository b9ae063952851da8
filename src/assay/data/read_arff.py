"""ARFF, the attribute-relation format: declared columns (numeric, nominal, string, date), dense and sparse rows.

The declared types are believed and every cell is checked against them: a nominal column takes the labels of its
specification and no others, and becomes a `binary` or `nominal` role whose labels are kept in `Table.notes`.
Grammar: `%` comments, `@relation name`, `@attribute name type`, `@data`, then rows of comma-separated cells with
optional quotes ('...' or "...", backslash escapes) or sparse rows `{index value, ...}` counted from 0, where a cell
that is left out is 0 or the first label of its specification; `?` is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from ..base.errors import DataError, plain
from .read_delimited import unique_names
from .read_notes import Decision, refuse
from .read_source import Options, SourceFile
from .read_text import TextStream
from .roles import Role, nearest

_FACTOR = 12.0
_WORD = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s,{}%'"]+))""")
_CELL = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,]*?))\s*(,|$)""")
_LABEL = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,]*?))\s*(,|$)""")
_SPARSE = re.compile(r"""\s*(\d+)\s+(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,\s]+))\s*(,|$)""")
_ESCAPE = re.compile(r"\\(.)")
_DATE_LETTERS = re.compile(r"'([^']*)'|([a-zA-Z])\2*|[^a-zA-Z']+")
_JAVA_DATES = {
    "yyyy": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%m", "dd": "%d", "d": "%d", "HH": "%H",
    "H": "%H", "hh": "%I", "h": "%I", "mm": "%M", "m": "%M", "ss": "%S", "s": "%S", "SSS": "%f", "S": "%f", "a": "%p",
    "Z": "%z", "X": "%z", "XX": "%z", "XXX": "%z", "EEE": "%a", "EEEE": "%A",
}  # fmt: skip
_DEFAULT_DATE = "yyyy-MM-dd'T'HH:mm:ss"


@dataclass(frozen=True)
class _Attribute:
    name: str
    kind: str
    labels: tuple[str, ...] = ()
    format: str = ""


@dataclass(frozen=True)
class ArffTable:
    """What an ARFF file holds: its relation name, cells, declared roles, and the labels of nominal columns."""

    relation: str
    frame: pl.DataFrame
    roles: dict[str, Role]
    notes: dict[str, dict[str, Any]]
    decisions: list[Decision]


def read_arff(file: SourceFile, options: Options) -> ArffTable:
    """Read an ARFF file; whatever breaks its grammar or its declared types is refused with line and column."""
    stream = TextStream(file, options.encoding)
    # No copy of the lines is made: a large file would otherwise lie in memory twice.
    text = stream.all_bytes(_FACTOR).decode("utf-8").replace("\r\n", "\n")
    lines = _numbered_lines(text)
    relation, attributes = _declarations(lines, stream.shown)
    names = unique_names([attribute.name for attribute in attributes], stream.shown, options.duplicates)
    attributes = [_Attribute(n, a.kind, a.labels, a.format) for n, a in zip(names, attributes)]
    cells: list[list[Any]] = [[] for _ in attributes]
    convert = [_converter(attribute) for attribute in attributes]
    memory: list[dict[str, Any]] = [{} for _ in attributes]
    for rows, (number, line) in enumerate(lines):
        row = _row(line, attributes, stream.shown, number)
        for position, cell in enumerate(row):
            known = memory[position]
            if cell in known:
                cells[position].append(known[cell])
                continue
            try:
                value = None if cell is None else convert[position](cell)
            except (ValueError, OverflowError):
                raise _bad_cell(attributes[position], str(cell), stream.shown, number, rows) from None
            if len(known) < 10_000 and cell is not None:
                known[cell] = value
            cells[position].append(value)
    types: dict[str, Any] = {"numeric": pl.Float64, "integer": pl.Int64, "date": pl.Datetime("us")}
    columns = [pl.Series(a.name, c, dtype=types.get(a.kind, pl.String)) for a, c in zip(attributes, cells)]
    roles, notes = {}, {}
    for attribute in attributes:
        if attribute.kind == "nominal":
            shown = ", ".join(plain(label, 20) for label in attribute.labels[:8])
            shown += ", ..." if len(attribute.labels) > 8 else ""
            role = "binary" if len(attribute.labels) == 2 else "nominal"
            roles[attribute.name] = Role(role, 1.0, f"the file names its {len(attribute.labels)} labels: {shown}")
            notes[attribute.name] = {"categories": list(attribute.labels)}
    frame = pl.DataFrame([_whole(column) for column in columns])
    return ArffTable(relation, frame, roles, notes, [stream.decision])


def _whole(column: pl.Series) -> pl.Series:
    """Declared numbers that are all whole as integers, as for every other text format."""
    if column.dtype != pl.Float64 or column.null_count() == column.len():
        return column
    fits = bool((column.is_finite() & (column.floor() == column) & (column.abs() < 2**53)).all())
    return column.cast(pl.Int64) if fits else column


def _numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that hold something, numbered from 1, without comments."""
    number, start = 0, 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line, start, number = text[start:end].strip(), end + 1, number + 1
        if line and not line.startswith("%"):
            yield number, line


def _declarations(lines: Iterator[tuple[int, str]], shown: str) -> tuple[str, list[_Attribute]]:
    relation, attributes, number = "", [], 0
    for number, line in lines:
        keyword, _, rest = line.replace("\t", " ", 1).partition(" ") if line.startswith("@") else ("", "", "")
        keyword = keyword.lower()
        if keyword == "@relation":
            relation, _ = _word(rest)
        elif keyword == "@attribute":
            attributes.append(_attribute(rest, shown, number))
        elif keyword == "@data":
            if not attributes:
                raise refuse(shown, f"declares no @attribute before @data on line {number}")
            return relation, attributes
        else:
            raise refuse(
                shown,
                f"holds no declaration on line {number}",
                f"'{plain(line, 40)}'",
                "an ARFF file begins with @relation, @attribute lines and @data",
            )
    raise refuse(shown, "has no @data line", f"it ends on line {number}", "check that it was written completely")


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda m: {"n": "\n", "t": "\t", "r": "\r"}.get(m.group(1), m.group(1)), text)


def _word(text: str) -> tuple[str, str]:
    """The first word of a declaration, quoted or not, and what follows it."""
    found = _WORD.match(text)
    if found is None:
        return "", text.strip()
    single, double, bare = found.group(1), found.group(2), found.group(3)
    quoted = single if single is not None else double
    return (_unescaped(quoted) if quoted is not None else bare), text[found.end() :].strip()


def _attribute(text: str, shown: str, line: int) -> _Attribute:
    name, rest = _word(text)
    if not name or not rest:
        raise refuse(
            shown, f"has an @attribute without a name or a type on line {line}", way_out="@attribute name type"
        )
    if rest.startswith("{"):
        labels = _labels(rest, name, shown, line)
        return _Attribute(name.strip(), "nominal", labels)
    kind, after = _word(rest)
    kind = kind.lower()
    if kind in ("numeric", "real"):
        return _Attribute(name.strip(), "numeric")
    if kind == "integer":
        return _Attribute(name.strip(), "integer")
    if kind == "string":
        return _Attribute(name.strip(), "string")
    if kind == "date":
        java = _word(after)[0] if after and not after.startswith("%") else _DEFAULT_DATE
        return _Attribute(name.strip(), "date", format=_date_format(java, name, shown, line))
    raise refuse(
        shown,
        f"gives column '{plain(name)}' the type '{plain(kind)}' on line {line}, which is not read",
        way_out="use numeric, integer, real, string, date or {label, label, ...}",
    )


def _labels(text: str, name: str, shown: str, line: int) -> tuple[str, ...]:
    close = _closing_brace(text)
    if close < 0:
        raise refuse(shown, f"opens a list of labels for column '{plain(name)}' on line {line} that is not closed")
    labels: list[str] = []
    position, inner = 0, text[1:close]
    while position < len(inner) or not labels:
        found = _LABEL.match(inner, position)
        if found is None:
            raise refuse(shown, f"has a label of column '{plain(name)}' on line {line} that cannot be read")
        labels.append(_cell_text(found))
        position = found.end()
        if found.group(4) == "":
            break
    if len(set(labels)) != len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise refuse(shown, f"names label '{plain(twice, 40)}' of column '{plain(name)}' twice on line {line}")
    return tuple(labels)


def _closing_brace(text: str) -> int:
    quote, position = "", 1
    while position < len(text):
        letter = text[position]
        if letter == "\\":
            position += 1
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "}":
            return position
        position += 1
    return -1


def _cell_text(found: re.Match[str]) -> str:
    single, double, bare = found.group(1), found.group(2), found.group(3)
    quoted = single if single is not None else double
    return _unescaped(quoted) if quoted is not None else bare.strip()


def _date_format(java: str, name: str, shown: str, line: int) -> str:
    """A date pattern of the ARFF specification (Java letters) as one of `strptime`."""
    parts = []
    for found in _DATE_LETTERS.finditer(java):
        literal, letters, piece = found.group(1), found.group(2), found.group(0)
        if literal is not None:
            parts.append((literal or "'").replace("%", "%%"))
        elif letters is None:
            parts.append(piece.replace("%", "%%"))
        elif piece in _JAVA_DATES:
            parts.append(_JAVA_DATES[piece])
        else:
            raise refuse(
                shown,
                f"gives column '{plain(name)}' a date pattern on line {line} that is not read",
                f"'{plain(piece)}' in '{plain(java, 60)}'",
                "use letters such as yyyy-MM-dd HH:mm:ss",
            )
    return "".join(parts)


def _converter(attribute: _Attribute) -> Any:
    if attribute.kind == "numeric":
        return float
    if attribute.kind == "integer":
        return _integer
    if attribute.kind == "date":
        return lambda cell: _date(cell, attribute.format)
    if attribute.kind == "nominal":
        known = {label: label for label in attribute.labels}

        def label_of(cell: str) -> str:
            if cell not in known:
                raise ValueError(cell)
            return known[cell]

        return label_of
    return str


def _integer(cell: str) -> int:
    try:
        value = int(cell)
    except ValueError:
        number = float(cell)
        if number != int(number):
            raise
        value = int(number)
    if abs(value) >= 2**63:
        raise ValueError(cell)
    return value


def _date(cell: str, form: str) -> datetime:
    from datetime import UTC

    found = datetime.strptime(cell, form)
    return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)


def _row(line: str, attributes: list[_Attribute], shown: str, number: int) -> list[str | None]:
    if line.startswith("{"):
        return _sparse_row(line, attributes, shown, number)
    if "'" not in line and '"' not in line and "{" not in line and "%" not in line and "\\" not in line:
        separator = "," if "," in line or "\t" not in line else "\t"
        row: list[str | None] = [None if (cell := part.strip()) == "?" else cell for part in line.split(separator)]
    else:
        row, position = [], 0
        while True:
            found = _CELL.match(line, position)
            if found is None:
                raise _unreadable_cell(shown, number, attributes, len(row))
            bare = found.group(3)
            if bare and (bare.startswith("{") and len(row) == len(attributes)):
                raise refuse(
                    shown,
                    f"gives a weight to its row on line {number}, which is not read",
                    f"'{plain(bare, 30)}'",
                    "make the weight a column",
                )
            row.append(None if bare == "?" else _cell_text(found))
            position = found.end()
            if found.group(4) == "":
                break
    if len(row) != len(attributes):
        raise refuse(
            shown,
            f"has {len(row)} fields on line {number} where {len(attributes)} attributes are declared",
            f"the line starts with '{plain(line, 40)}'",
            "quote cells that hold a comma, or repair the line",
        )
    return row


def _unreadable_cell(shown: str, number: int, attributes: list[_Attribute], position: int) -> DataError:
    name = attributes[min(position, len(attributes) - 1)].name
    return refuse(
        shown, f"has a cell on line {number} that cannot be read", f"column '{plain(name)}'", "repair the quotes"
    )


def _sparse_row(line: str, attributes: list[_Attribute], shown: str, number: int) -> list[str | None]:
    row: list[str | None] = [_left_out(attribute) for attribute in attributes]
    if not line.endswith("}"):
        rule = "gives a weight to its row" if "}" in line else "opens a sparse row that is not closed"
        raise refuse(shown, f"{rule} on line {number}", f"'{plain(line, 40)}'", "write {index value, index value}")
    inner, position = line[1:-1].strip(), 0
    before = -1
    while position < len(inner):
        found = _SPARSE.match(inner, position)
        index = int(found.group(1)[:9]) if found else -1
        if found is None or not before < index < len(attributes):
            piece = plain(inner[position:], 30)
            raise refuse(
                shown,
                f"has a sparse cell on line {number} that cannot be read",
                f"'{piece}'",
                f"write {{index value, ...}} with rising indices from 0 to {len(attributes) - 1}",
            )
        quoted = found.group(2) if found.group(2) is not None else found.group(3)
        bare = found.group(4)
        row[index] = _unescaped(quoted) if quoted is not None else (None if bare == "?" else bare)
        before, position = index, found.end()
    return row


def _left_out(attribute: _Attribute) -> str | None:
    """What a sparse row means by a cell that it leaves out: zero, or the first label."""
    if attribute.kind in ("numeric", "integer"):
        return "0"
    if attribute.kind == "nominal":
        return attribute.labels[0]
    return None


def _bad_cell(attribute: _Attribute, cell: str, shown: str, line: int, row: int) -> DataError:
    place = f"on line {line} (row {row + 1})"
    if attribute.kind == "nominal":
        return refuse(
            shown,
            f"has the label '{plain(cell, 40)}' {place} that column '{plain(attribute.name)}' does not declare",
            way_out=nearest(cell, attribute.labels, "it declares"),
        )
    kinds = {"numeric": "number", "integer": "integer", "date": f"date ({attribute.format})"}
    return refuse(
        shown,
        f"has '{plain(cell, 40)}' {place} where column '{plain(attribute.name)}' is declared {attribute.kind}",
        f"it is no {kinds.get(attribute.kind, 'text')}",
    )
