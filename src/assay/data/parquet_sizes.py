"""What a small Parquet file says of itself, checked before it is decoded in this process.

A decoder believes what a file states: a count that is wrong by a bit makes it ask for all memory, which ends the
process. Files of plain numbers state little, so that all of it can be compared beforehand: the schema, where each
column of each group of rows begins and ends, and the pages in it (Thrift's compact protocol; parquet.thrift of Apache
Parquet 2.11). A file that says anything else, or is larger, is decoded apart (`read_apart`).
"""

from __future__ import annotations

import functools
import itertools
import os
from pathlib import Path
from typing import Any

MOST_BYTES = 1 << 25
"""Bytes of a file, beyond which it is not looked at."""
MOST_CELLS = 1 << 23
"""Cells of such a file, so that its numbers take 64 MB at most."""
MOST_DEEP = 8
"""Structures within structures."""
HEADER = 1 << 12
"""Bytes that the header of a page may have."""

_SIZES = {1: 4, 2: 8, 4: 4, 5: 8}
"""Bytes of the numbers of a physical type: whole ones of 32 and 64 bits, floats and doubles."""
_CODECS = {0, 1, 6, 7}
"""None, Snappy, Zstandard and LZ4 without a frame."""
_PLAIN, _DICTIONARIES, _RLE = 0, {2, 8}, 3


class _Wrong(Exception):
    """The file is not one of these."""


def _sure(good: Any) -> None:
    if not good:
        raise _Wrong


class _Thrift:
    """Structures in Thrift's compact protocol, as {number of the field: value}."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        _sure(self.at < len(self.data))
        self.at += 1
        return self.data[self.at - 1]

    def unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                _sure(value < 2**64)
                return value
            shift += 7
            _sure(shift < 64)

    def signed(self) -> int:
        value = self.unsigned()
        return (value >> 1) ^ -(value & 1)

    def skipped(self, count: int) -> bytes:
        _sure(0 <= count <= len(self.data) - self.at)
        self.at += count
        return self.data[self.at - count : self.at]

    def value(self, kind: int, deep: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self.byte()
        if kind in (4, 5, 6):
            return self.signed()
        if kind == 7:
            return self.skipped(8)
        if kind == 8:
            return self.skipped(self.unsigned())
        if kind == 12:
            return self.structure(deep + 1)
        _sure(kind in (9, 10))
        head = self.byte()
        count, inner = head >> 4, head & 15
        if count == 15:
            count = self.unsigned()
        _sure(count <= len(self.data) - self.at and deep < MOST_DEEP)
        if inner in (1, 2):
            return list(self.skipped(count))
        return [self.value(inner, deep + 1) for _ in range(count)]

    def structure(self, deep: int = 0) -> dict[int, Any]:
        _sure(deep < MOST_DEEP)
        found: dict[int, Any] = {}
        number = 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.signed()
            _sure(number not in found)
            found[number] = self.value(head & 15, deep)
        return found


def sound_groups(path: Path) -> tuple[int, ...] | None:
    """The rows of each group of a small Parquet file that holds numbers alone and whose sizes all agree; None for any
    other file."""
    try:
        state = os.stat(path)
        return _groups(str(path), state.st_size, state.st_mtime_ns, state.st_ino)
    except (OSError, ValueError):
        return None


@functools.lru_cache(8)
def _groups(path: str, size: int, changed: int, number: int) -> tuple[int, ...] | None:
    if not 12 < size <= MOST_BYTES:
        return None
    with open(path, "rb") as file:
        try:
            file.seek(size - 8)
            tail = file.read(8)
            length = int.from_bytes(tail[:4], "little")
            _sure(tail[4:] == b"PAR1" and length <= size - 12)
            file.seek(size - 8 - length)
            told = _Thrift(file.read(length))
            facts = told.structure()
            _sure(told.at == length)
            return _rows_of_groups(facts, file, size - 8 - length)
        except (_Wrong, KeyError, TypeError, IndexError, AttributeError):
            return None


def _rows_of_groups(facts: dict[int, Any], file: Any, end: int) -> tuple[int, ...]:
    root, *columns = facts[2]
    _sure(root[5] == len(columns) and root.get(3, 0) == 0)
    for column in columns:
        # No children, required or optional, of a type without another meaning than its own or whole numbers.
        _sure(column[1] in _SIZES and column[3] in (0, 1) and not column.get(5) and not column.keys() & {2, 7, 8})
        _sure(column.get(6, 18) in (11, 12, 13, 14, 15, 16, 17, 18) and set(column.get(10, {10: 0})) == {10})
    names = [column[4] for column in columns]
    _sure(len(set(names)) == len(names))
    rows = [group[3] for group in facts[4]]
    _sure(all(count > 0 for count in rows) and sum(rows) == facts[3] and facts[3] * len(columns) <= MOST_CELLS)
    taken: list[tuple[int, int]] = []
    for group in facts[4]:
        _sure(len(group[1]) == len(columns))
        for column, chunk in zip(columns, group[1]):
            about = chunk[3]
            _sure(1 not in chunk and not chunk.keys() & {8, 9})  # in another file, or encrypted
            _sure(about[3] == [column[4]] and about[1] == column[1] and about[5] == group[3] and about[4] in _CODECS)
            begin, length = about.get(11) or about[9], about[7]
            _sure(4 <= begin <= about[9] and 0 < length <= end - begin)
            taken.append((begin, begin + length))
            _check_pages(file, begin, length, about, column)
    taken.sort()
    _sure(all(one[1] <= other[0] for one, other in itertools.pairwise(taken)))
    return tuple(rows)


def _check_pages(file: Any, begin: int, length: int, about: dict[int, Any], column: dict[int, Any]) -> None:
    """The pages of a column of a group fill its stretch of the file and hold its rows."""
    at, seen, unpacked, size, entries = begin, 0, 0, _SIZES[column[1]], None
    while at < begin + length:
        file.seek(at)
        head = _Thrift(file.read(min(HEADER, begin + length - at)))
        page = head.structure()
        _sure(page[2] > 0 and 0 < page[3] <= begin + length - at - head.at)
        _sure(about[4] != 0 or page[2] == page[3])
        if page[1] == 2:
            _sure(at == begin and page[7][2] in {_PLAIN, *_DICTIONARIES} and page[7][1] * size == page[2])
            entries = page[7][1]
        else:
            kind = page[5] if page[1] == 0 else page[8]
            _sure(page[1] in (0, 3) and at >= about[9] and 0 < kind[1] <= about[5] - seen)
            encoding = kind[2] if page[1] == 0 else kind[4]
            _sure(encoding == _PLAIN or (encoding in _DICTIONARIES and entries))
            if page[1] == 0:
                _sure(kind[3] == _RLE and kind[4] == _RLE)
            else:
                _sure(0 <= kind[2] <= kind[1] == kind[3] and kind[6] == 0 and 0 <= kind[5] <= min(page[2], page[3]))
            # Levels take a little; the cells themselves no more than when they are plain.
            _sure(page[2] <= size * kind[1] + kind[1] // 2 + 1024)
            seen += kind[1]
        unpacked += page[2]
        at += head.at + page[3]
    _sure(seen == about[5] and unpacked <= 2 * MOST_CELLS * 8)
