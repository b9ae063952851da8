"""What the argument of `read_table` names: one file, several, a sheet of a workbook, or a query on a database."""

from __future__ import annotations

import errno
import glob
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from ..base import config
from ..base.errors import DataError, ParameterError, plain
from ..base.redaction import like_an_address
from .read_notes import WHO, refuse

FORMATS = {
    ".csv": "CSV", ".txt": "CSV", ".tsv": "TSV", ".tab": "TSV", ".ndjson": "NDJSON", ".jsonl": "NDJSON",
    ".arff": "ARFF", ".parquet": "Parquet", ".pq": "Parquet", ".arrow": "Arrow", ".feather": "Arrow", ".ipc": "Arrow",
    ".xlsx": "Excel", ".xlsm": "Excel", ".xlsb": "Excel", ".xls": "Excel", ".ods": "Excel",
}  # fmt: skip
TEXT_KINDS = ("CSV", "TSV", "NDJSON", "ARFF")
_URL = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]*)://")
_DATABASE_ENDINGS = {".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite", ".duckdb": "duckdb"}
_DATABASES = {"sqlite": "SQLite", "duckdb": "DuckDB", "postgresql": "PostgreSQL", "postgres": "PostgreSQL"}


@dataclass(frozen=True)
class Options:
    """How to read, as given by the user; None means: find out."""

    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None
    duplicates: str = "error"
    sheet: str | None = None
    spoiled: dict[int, str] | None = None
    """Where lines with too many or too few fields are told, by the number of their row, which is then all missing; None
    refuses the file."""
    wanted: Mapping[str, str] | None = None
    """The columns that matter and what they hold ("number", "label" or "text"): pieces of plain text then come with
    these alone, numbers as such and labels without spaces around them. None wants every cell as it is written."""


class Piece(NamedTuple):
    """Some rows as read: where they come from, the number of their first row (from 1), and the cells."""

    shown: str
    first_row: int
    frame: pl.DataFrame
    settled: frozenset[str] = frozenset()
    """Columns that need no more reading: finite numbers, and labels without spaces or tokens for missing cells."""
    written: int | None = None
    """Rows whose numbers went to the file of `Cells`; the frame has the other columns."""
    of: int | None = None
    """Rows of the whole file, where the piece is one of some stretches."""


@dataclass(frozen=True)
class Cells:
    """Columns of numbers that a decoder may write itself, as rows of float64, to a file that it can open."""

    columns: tuple[str, ...]
    whole: tuple[bool, ...]
    others: tuple[str, ...]
    file: str
    unwritten: Callable[[str], Exception]
    """What is raised where the file cannot take them."""
    slots: int = 0
    """Where the file is memory that is filled in turn: how many slots it has, 0 for a file that grows."""
    rows: int = 0
    """Rows of a slot."""
    first: int = 0
    """The slot to begin with."""
    free: str = ""
    """A pipe that gives a byte for every slot that may be filled again."""


@dataclass(frozen=True)
class Stretches:
    """A sample of a file: some columns of so many stretches of so many rows, at equal steps."""

    columns: tuple[str, ...]
    count: int
    rows: int


@dataclass(frozen=True)
class SourceFile:
    """A file that exists and can be opened, and how it is to be read."""

    path: Path
    kind: str
    zipped: bool
    sheet: str | None = None

    @property
    def shown(self) -> str:
        """How messages name the file."""
        return f"file '{plain(self.path, 300)}'" + (f" sheet '{plain(self.sheet)}'" if self.sheet else "")


def database_of(source: Any) -> str | None:
    """The kind of database a URL names, or None if the argument is no URL.

    What looks like the address of a database without being one is refused and not repeated: it may hold a password.

    >>> database_of("sqlite:///shop.db?table=orders"), database_of("orders.csv")
    ('SQLite', None)
    """
    if not isinstance(source, str):
        return None
    found = _URL.match(source.strip())
    scheme = found.group(1).lower() if found else None
    if scheme in _DATABASES:
        return _DATABASES[scheme]
    if scheme not in (None, "file"):
        raise DataError(
            WHO,
            f"the address '{plain(scheme)}://...'",
            "is of a kind that is not read",
            way_out="use sqlite:///, duckdb:///, postgresql:// or the path of a file",
        )
    check_no_address(source)
    return None


def check_no_address(text: str) -> None:
    """Refuse what looks like an address in the place of a path, unless there is such a file."""
    if like_an_address(text) is not None and not os.path.lexists(text):
        raise DataError(
            WHO,
            "the address of a database",
            "is mistyped",
            way_out="write postgresql://user:password@host/name (with %40 for @ and %2F for / in the password), "
            "sqlite:///file or duckdb:///file",
        )


def files_of(source: Any, sheet: str | None = None) -> list[SourceFile]:
    """The files a path, a pattern or a list of paths names, in sorted order for a pattern, each checked."""
    if isinstance(source, (str, os.PathLike)):
        texts = _expanded(os.fspath(source))
    elif isinstance(source, Sequence) and source and all(isinstance(item, (str, os.PathLike)) for item in source):
        texts = [os.fspath(item) for item in source]
    else:
        raise ParameterError(
            WHO,
            "parameter 'path'",
            "must be a path, a pattern, a list of paths or the URL of a database",
            f"got {type(source).__name__}" + (" without entries" if isinstance(source, Sequence) else ""),
        )
    return [_file_of(text, sheet) for text in texts]


def _expanded(text: str | bytes) -> list[str]:
    path = os.fsdecode(text).removeprefix("file://")
    check_no_address(path)
    if os.path.lexists(path) or not glob.has_magic(path):
        return [path]
    found = sorted(name for name in glob.iglob(path, recursive=True) if not os.path.isdir(name))
    if not found:
        raise refuse(f"the pattern '{plain(path, 300)}'", "matches no file", way_out=_near_hint(Path(path)))
    return found


def _file_of(text: str, sheet: str | None) -> SourceFile:
    check_no_address(text)
    if "\0" in text:
        raise refuse(f"file '{plain(text, 300)}'", "has a name with a zero byte")
    if "#" in text and not os.path.lexists(text):
        path, _, named = text.rpartition("#")
        if FORMATS.get(Path(path).suffix.lower()) == "Excel":
            text, sheet = path, named or sheet
    file = Path(text)
    suffixes = [s.lower() for s in file.suffixes]
    zipped = bool(suffixes) and suffixes[-1] == ".gz"
    ending = (suffixes[-2] if len(suffixes) > 1 else "") if zipped else (suffixes[-1] if suffixes else "")
    kind = FORMATS.get(ending)
    check_file(file)
    if kind is None or (zipped and kind not in TEXT_KINDS):
        shown = "".join(file.suffixes[-2:]) if zipped else file.suffix
        known = ", ".join(FORMATS)
        if ending in _DATABASE_ENDINGS:
            raise refuse(
                f"file '{plain(file, 300)}'",
                "is a database, of which one table is read",
                way_out=f"use {_DATABASE_ENDINGS[ending]}:///{plain(file, 300)}?table=... with the name of the table",
            )
        raise refuse(
            f"file '{plain(file, 300)}'",
            f"has the unknown ending '{plain(shown)}'",
            way_out=f"use one of {known} (text kinds may end in .gz)",
        )
    if sheet is not None and kind != "Excel":
        raise ParameterError(WHO, "parameter 'sheet'", "is for workbooks only", f"got it for '{plain(file, 200)}'")
    return SourceFile(file, kind, zipped, sheet)


def check_file(file: Path) -> int:
    """The size of a regular file that can be opened; every other case is one sentence."""
    shown = f"file '{plain(file, 300)}'"
    try:
        facts = os.stat(file)
        if stat.S_ISDIR(facts.st_mode):
            raise refuse(
                f"'{plain(file, 300)}'", "is a directory", way_out="name a file in it, or a pattern such as 'dir/*.csv'"
            )
        if not stat.S_ISREG(facts.st_mode):
            raise refuse(shown, "is a device or a pipe, not a file", way_out="write it to a file first")
        with open(file, "rb"):
            pass
    except FileNotFoundError:
        raise refuse(shown, "does not exist", way_out=_near_hint(file)) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise refuse(shown, "is a symbolic link that leads in a circle", way_out="repair the link") from None
        raise refuse(shown, "cannot be opened", plain(error.strerror or error)) from None
    if facts.st_size == 0:
        raise refuse(shown, "is empty", way_out="check that it was written completely")
    return facts.st_size


def _near_hint(file: Path) -> str:
    import difflib

    try:
        present = [p.name for p in file.parent.iterdir() if p.is_file()]
    except OSError:
        present = []
    near = [f"'{plain(name)}'" for name in difflib.get_close_matches(file.name, present, n=2, cutoff=0.6)]
    return f"did you mean {' or '.join(near)}?" if near else "check the path"


def too_large(shown: str, needed: float, why: str = "") -> DataError:
    """The refusal of a table that would not fit in memory."""
    return refuse(
        shown,
        f"needs more memory than the limit ({_bytes(config.memory_limit())})",
        f"reading it whole takes about {_bytes(needed)}{why}",
        "take a sample of its rows to compare learners, fit them on all rows with assay.data.Batches, go through it in "
        "batches with assay.data.scan_table, or raise the limit with assay.config.set(max_bytes=...)",
    )


def _bytes(size: float) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6)):
        if size >= 0.1 * scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size:.0f} bytes"
