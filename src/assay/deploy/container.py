"""The container of a package: an uncompressed zip of known members in one possible form, byte for byte.

The bytes around the members follow from their names, lengths and checksums alone (no dates, no attributes, no comment,
no gaps). A reader builds them again and compares: what any tool could change in them, and every flipped bit, is seen.
Any zip program can list and unpack a package.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..base.errors import PackageError, plain
from ..base.files import write_parts

MEMBERS = ("manifest.json", "graph.json", "arrays.safetensors")
"""The members of a package, in order; there are no others."""
MOST_BYTES = 1 << 30
"""Bytes of a package that is read without being asked."""
_LARGEST = (1 << 32) - (1 << 16)
_LOCAL, _CENTRAL, _END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_DAY = (1980 - 1980) << 9 | 1 << 5 | 1
_WHO = "load"


def write(path: str | os.PathLike[str], members: Sequence[bytes]) -> Path:
    """Write the members under their names into a file, in one step.

    >>> import tempfile, zipfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write(Path(folder) / "x.assay", [b"{}", b"[]", b""])
    ...     zipfile.ZipFile(path).namelist(), read(path)
    (['manifest.json', 'graph.json', 'arrays.safetensors'], [b'{}', b'[]', b''])
    """
    if sum(map(len, members)) > _LARGEST:
        raise PackageError(
            "save",
            f"file '{plain(path, 200)}'",
            "can hold 4 GiB at most",
            f"got {sum(map(len, members)):,} bytes",
            "thin the model out, for instance with fewer training rows to keep",
        )
    heads, tail = _around([(len(data), zlib.crc32(data)) for data in members])
    parts = [part for head, data in zip(heads, members) for part in (head, data)]
    return write_parts("save", path, [*parts, tail])


def read(path: str | os.PathLike[str], most_bytes: int = MOST_BYTES) -> list[bytes]:
    """The members of a package in their order; anything but the one possible form is refused with a sentence."""
    name = f"file '{plain(path, 200)}'"
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > min(most_bytes, _LARGEST):
                raise PackageError(
                    _WHO,
                    name,
                    f"must be of {most_bytes:,} bytes at most",
                    f"got {size:,}",
                    "pass most_bytes= to allow more",
                )
            data = file.read(size + 1)
    except OSError as error:
        raise PackageError(
            _WHO, name, f"cannot be read ({error.strerror or error})", way_out="check the path"
        ) from None
    return unpack(data, name)


def unpack(data: bytes, name: str = "the package") -> list[bytes]:
    """The members of a package that is in memory."""
    if not data:
        raise PackageError(_WHO, name, "is empty", way_out="save the model again")
    if not data.startswith(_LOCAL):
        raise PackageError(_WHO, name, "is no package of Assay", way_out="make one with model.save('x.assay')")
    whole, at, members = memoryview(data), 0, []
    for member in MEMBERS:
        start = at + 30 + len(member)
        if len(data) < start:
            raise _broken(name, f"ends before member '{member}'")
        if data[at + 30 : start] != member.encode():
            raise _broken(name, f"has another member where '{member}' belongs")
        length = struct.unpack_from("<L", data, at + 22)[0]
        if len(data) < start + length:
            raise _broken(name, f"ends inside member '{member}'")
        members.append(whole[start : start + length])
        at = start + length
    heads, tail = _around([(len(part), zlib.crc32(part)) for part in members])
    at = 0
    for member, head, part in zip(MEMBERS, heads, members):
        if whole[at : at + len(head)] != head:
            raise _broken(name, f"has a header or a checksum of member '{member}' that does not fit it")
        at += len(head) + len(part)
    if whole[at:] != tail:
        raise _broken(name, "has other bytes after its members than a package has")
    return [bytes(part) for part in members]


def _around(sizes: Sequence[tuple[int, int]]) -> tuple[list[bytes], bytes]:
    """The bytes before each member, and those after the last, from (length, checksum) of each."""
    heads: list[bytes] = []
    directory, at = b"", 0
    for member, (length, checksum) in zip(MEMBERS, sizes):
        name = member.encode()
        common = struct.pack("<HHHHHLLLHH", 20, 0, 0, 0, _DAY, checksum, length, length, len(name), 0)
        heads.append(_LOCAL + common + name)
        directory += _CENTRAL + struct.pack("<H", 20) + common + struct.pack("<HHHLL", 0, 0, 0, 0, at) + name
        at += len(heads[-1]) + length
    count = len(MEMBERS)
    return heads, directory + _END + struct.pack("<HHHHLLH", 0, 0, count, count, len(directory), at, 0)


def _broken(name: str, rule: str) -> Any:
    return PackageError(_WHO, name, rule, way_out="it was changed or cut short; get it again or save the model again")
