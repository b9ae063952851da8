"""What a workbook of XML parts (.xlsx, .xlsm, .ods) declares, read in a stream before its decoder allocates anything.

The decoder holds a sheet as a full rectangle from its first cell to its last, so one stray cell far out costs as much
as a sheet that is full; and it drops cells that hold errors such as #DIV/0!. Both are found here in the parts.
"""

from __future__ import annotations

import html
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

_BLOCK = 1 << 20
_SMALL_PART = 1 << 24
_CELL = re.compile(rb"<(?:\w+:)?row\b(?P<row>[^>]*)>|<(?:\w+:)?c\b(?P<cell>[^>]*?)(?:/>|>\s*(?P<empty></)?)", re.DOTALL)
_PLACE = re.compile(rb"""\br\s*=\s*["']([A-Za-z]*)(\d+)["']""")
_ERROR = re.compile(rb"""\bt\s*=\s*["']e["']""")
_VALUE = re.compile(rb"<(?:\w+:)?v\b[^>]*>([^<]*)<")
# The same of an OpenDocument sheet, which counts cells that repeat.
_OPEN_CELL = re.compile(
    rb"<table:(?:table (?P<table>[^>]*)|table-row\b(?P<row>[^>]*)|(?:covered-)?table-cell\b(?P<cell>[^>]*))>", re.DOTALL
)
_OPEN_NAME = re.compile(rb"""\btable:name\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_OPEN_TIMES = re.compile(rb"""\btable:number-(?:rows|columns)-repeated\s*=\s*["'](\d{1,9})["']""")
_OPEN_ERROR = re.compile(rb"""\bcalcext:value-type\s*=\s*["']error["']""")
_OPEN_VALUE = re.compile(rb"<text:p\b[^>]*>([^<]*)<")


@dataclass
class SheetFacts:
    """Where the cells of a sheet that hold something begin and end (from 1), and which of them hold errors."""

    cells: int = 0
    first: tuple[int, int] = (1 << 40, 1 << 40)
    last: tuple[int, int] = (0, 0)
    errors: int = 0
    first_errors: list[tuple[str, str]] = field(default_factory=list)

    @property
    def rectangle(self) -> int:
        """Cells from the first to the last, in both directions."""
        return 0 if not self.cells else (self.last[0] - self.first[0] + 1) * (self.last[1] - self.first[1] + 1)

    def see_error(self, row: int, column: int, shown: bytes | None) -> None:
        """Count a cell that holds an error, and keep the first ones."""
        self.errors += 1
        if len(self.first_errors) < 3:
            words = "an error" if shown is None else shown.decode("utf-8", "replace")
            self.first_errors.append((f"{column_letters(column)}{row}", words))

    def see(self, row: int, column: int) -> None:
        """Count a cell."""
        self.cells += 1
        self.first = min(self.first[0], row), min(self.first[1], column)
        self.last = max(self.last[0], row), max(self.last[1], column)


def sheet_facts(path: Path, sheet: str, most_bytes: float) -> SheetFacts | None:
    """The facts of one sheet; None if the file is no workbook of XML parts or does not say where the sheet is.

    Stops after `most_bytes` of unpacked text, whatever the archive declares.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if "content.xml" in archive.namelist():
                return _open_facts(archive, sheet, most_bytes)
            part = _part_of(archive, sheet)
            return None if part is None else _facts(archive, part, most_bytes)
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, KeyError, ValueError, RuntimeError):
        return None
    except Exception as error:
        # Corrupt parts; what is wrong with them the decoder says better.
        if type(error).__module__ in ("zlib", "lzma", "xml.etree.ElementTree"):
            return None
        raise


def _part_of(archive: zipfile.ZipFile, sheet: str) -> str | None:
    """The name of the part that holds a sheet, by the workbook's own table of relations."""
    relations = _small(archive, "xl/_rels/workbook.xml.rels")
    targets = {item.get("Id"): item.get("Target", "") for item in relations}
    for item in _small(archive, "xl/workbook.xml").iter():
        if item.tag.rpartition("}")[2] == "sheet" and item.get("name") == sheet:
            key = next((v for k, v in item.attrib.items() if k.rpartition("}")[2] == "id"), None)
            target = targets.get(key, "")
            name = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
            lowered = {known.lower(): known for known in archive.namelist()}
            return lowered.get(name.lower())
    return None


def _small(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    with archive.open(name) as stream:
        text = stream.read(_SMALL_PART)
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise ValueError("a workbook declares no types of its own")
    return ElementTree.fromstring(text)


def _facts(archive: zipfile.ZipFile, part: str, most_bytes: float) -> SheetFacts:
    facts = SheetFacts()
    row, column = 0, 0
    for text in _blocks(archive, part, most_bytes):
        for found in _CELL.finditer(text):
            inside = found["row"]
            if inside is not None:
                place = _PLACE.search(inside)
                row, column = int(place[2]) if place else row + 1, 0
                continue
            inside = found["cell"]
            place = _PLACE.search(inside)
            column += 1
            if place and place[1]:
                row, column = int(place[2][:9]), column_number(place[1].decode())
            # Cells that only carry a format take no place.
            if found["empty"] is not None or text[found.end() - 2 : found.end()] == b"/>":
                continue
            facts.see(row, column)
            if _ERROR.search(inside):
                value = _VALUE.search(text, found.end(), found.end() + 2000)
                facts.see_error(row, column, value[1] if value else None)
    return facts


def _open_facts(archive: zipfile.ZipFile, sheet: str, most_bytes: float) -> SheetFacts:
    """The cells of an OpenDocument sheet that hold errors; how far it reaches its decoder says."""
    facts = SheetFacts()
    row, next_row, column, inside = 0, 1, 0, False
    for text in _blocks(archive, "content.xml", most_bytes, (b"<table:table",)):
        for found in _OPEN_CELL.finditer(text):
            written = found[found.lastgroup or 0]
            times = _OPEN_TIMES.search(written)
            many = int(times[1]) if times else 1
            if found["table"] is not None:
                name = _OPEN_NAME.search(written)
                inside = name is not None and html.unescape((name[1] or name[2]).decode("utf-8", "replace")) == sheet
                row, next_row, column = 0, 1, 0
            elif found["row"] is not None:
                row, next_row, column = next_row, next_row + many, 0
            elif inside:
                if _OPEN_ERROR.search(written):
                    value = _OPEN_VALUE.search(text, found.end(), found.end() + 2000)
                    facts.see_error(row, column + 1, value[1] if value else None)
                column += many
    return facts


def _blocks(
    archive: zipfile.ZipFile, part: str, most_bytes: float, begins: tuple[bytes, ...] = (b"<c", b"<row", b":c", b":row")
) -> Iterator[bytes]:
    """A part in blocks that end before a cell or row begins, so that none is cut."""
    rest, size = b"", 0
    with archive.open(part) as stream:
        while size <= most_bytes and (block := stream.read(_BLOCK)):
            size += len(block)
            text = rest + block
            cut = max(map(text.rfind, begins))
            cut = text.rfind(b"<", 0, cut + 1) if cut > 0 else -1
            if cut <= 0 or len(text) - cut > 4 * _BLOCK:
                cut = len(text)
            yield text[:cut]
            rest = text[cut:]
    yield rest


def column_number(letters: str) -> int:
    """The number of a column from its letters.

    >>> column_number("A"), column_number("XFD")
    (1, 16384)
    """
    number = 0
    for letter in letters.upper()[:7]:
        number = 26 * number + ord(letter) - 64
    return number


def column_letters(number: int) -> str:
    """The letters of a column from its number.

    >>> column_letters(28), column_letters(16384)
    ('AB', 'XFD')
    """
    letters = ""
    while number > 0:
        number, letter = divmod(number - 1, 26)
        letters = chr(65 + letter) + letters
    return letters
