"""Frames written piece by piece: CSV, NDJSON, Parquet or Arrow, to a file that is there whole or not at all.

Cells of text in CSV that a spreadsheet program would run as a formula get an apostrophe before them, names of columns
too; numbers stay as they are, also where they are written as text.

>>> import polars as pl
>>> inert(pl.DataFrame({"=cmd": ["=1+1", "-3,5", "-x"], "n": [-1.5, 2.0, 3.0]})).rows()
[("'=1+1", -1.5), ('-3,5', 2.0), ("'-x", 3.0)]
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import IO, Any, Self

import polars as pl

from ..base.errors import UsageError, plain
from ..base.files import WholeFile

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a cell of text begins with that spreadsheet programs run."""
KINDS = {
    ".csv": "CSV",
    ".tsv": "TSV",
    ".ndjson": "NDJSON",
    ".jsonl": "NDJSON",
    ".parquet": "Parquet",
    ".arrow": "Arrow",
}


def inert(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with an apostrophe before texts that would be run as formulas."""
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    starts, number = "^[=+\\-@\t\r]", r"^[+-]?[0-9]+([.,][0-9]+)*([eE][+-]?[0-9]+)?$"
    guarded = [
        pl.when(pl.col(name).str.contains(starts) & ~pl.col(name).str.contains(number))
        .then("'" + pl.col(name))
        .otherwise(pl.col(name))
        .alias(name)
        for name in texts
    ]
    names = {name: f"'{name}" for name in frame.columns if name.startswith(FORMULA)}
    return (frame.with_columns(guarded) if guarded else frame).rename(names)


class FrameWriter:
    """Writes frames of the same columns one after the other; use it in a `with` statement.

    The kind follows from the ending of the path; None writes CSV to stdout. Parquet and Arrow files are put together at
    the end, from frames that are held until then.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "out.csv"
    >>> with FrameWriter(place) as writer:
    ...     writer.write(pl.DataFrame({"a": [1]}))
    ...     writer.write(pl.DataFrame({"a": [2]}))
    >>> place.read_text()
    'a\\n1\\n2\\n'
    """

    def __init__(self, path: str | os.PathLike[str] | None, who: str = "predict"):
        self.path = None if path is None else Path(path)
        self.kind = "CSV" if self.path is None else KINDS.get(self.path.suffix.lower(), "")
        if not self.kind:
            raise UsageError(
                who, f"file '{plain(path, 200)}'", f"must end in {', '.join(KINDS)}", way_out="the ending says the kind"
            )
        self._first = True
        self._held: list[pl.DataFrame] = []
        self._whole = None if self.path is None else WholeFile(who, self.path)
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        self._file = getattr(sys.stdout, "buffer", None) if self._whole is None else self._whole.__enter__()
        return self

    def write(self, frame: pl.DataFrame) -> None:
        """Write some rows."""
        if self.kind in ("Parquet", "Arrow"):
            self._held.append(frame)
            return
        try:
            self._put(frame)
        except OSError as error:
            if self._whole is None:
                raise
            raise self._whole.refusal(error) from None

    def _put(self, frame: pl.DataFrame) -> None:
        text = io.BytesIO()
        if self.kind == "NDJSON":
            frame.write_ndjson(text)
        else:
            separator = "\t" if self.kind == "TSV" else ","
            inert(frame).write_csv(text, include_header=self._first, separator=separator)
        self._first = False
        if self._file is None:
            sys.stdout.write(text.getvalue().decode())
        else:
            self._file.write(text.getbuffer())

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self.path is None:
            if self._file is not None:
                self._file.flush()
            return
        assert self._file is not None and self._whole is not None
        if kind is None and self._held:
            try:
                whole = pl.concat(self._held, how="vertical_relaxed")
                whole.write_parquet(self._file) if self.kind == "Parquet" else whole.write_ipc(self._file)
            except BaseException as problem:
                self._whole.__exit__(type(problem), problem, None)
                if isinstance(problem, OSError):
                    raise self._whole.refusal(problem) from None
                raise
        self._whole.__exit__(kind, error, trace)
