"""Files written whole: readers see the old file or the new one, never half of it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO

from .errors import DataError, plain


def write_whole(who: str, path: str | os.PathLike[str], text: str) -> Path:
    """Write UTF-8 text to `path` in one step, folders made as needed; what is in the way is told in one sentence.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole("report", Path(folder) / "a" / "page.html", "<p>x</p>").read_text()
    '<p>x</p>'
    """
    return write_parts(who, path, [text.encode("utf-8")])


def write_parts(who: str, path: str | os.PathLike[str], parts: Iterable[bytes]) -> Path:
    """Write bytes, one part after the other, as `write_whole` writes text.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parts("save", Path(folder) / "x", [b"a", b"b"]).read_bytes()
    b'ab'
    """
    whole = WholeFile(who, path)
    with whole as file:
        try:
            for part in parts:
                file.write(part)
        except OSError as error:
            raise whole.refusal(error) from None
    return whole.path


class WholeFile:
    """A file that is written piece by piece under another name and stands in its place when the block ends well; after
    an error nothing is left. What is in the way of the place is told in one sentence.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with WholeFile("save", Path(folder) / "x") as file:
    ...         _ = file.write(b"a")
    ...         there = (Path(folder) / "x").exists()
    ...     there, (Path(folder) / "x").read_bytes()
    (False, b'a')
    """

    def __init__(self, who: str, path: str | os.PathLike[str]):
        self.who, self.path = who, Path(path)

    def __enter__(self) -> IO[bytes]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, self._partial = tempfile.mkstemp(
                prefix=f".{self.path.name[:40]}.", suffix=".tmp", dir=self.path.parent
            )
        except OSError as error:
            raise self.refusal(error) from None
        self._file = os.fdopen(handle, "wb")
        return self._file

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Put the file in its place, or forget it after an error."""
        try:
            self._file.close()
            if kind is None:
                mask = os.umask(0)
                os.umask(mask)
                os.chmod(self._partial, 0o666 & ~mask)
                os.replace(self._partial, self.path)
                return
        except OSError as problem:
            raise self.refusal(problem) from None
        finally:
            with contextlib.suppress(OSError):
                os.unlink(self._partial)

    def refusal(self, error: OSError) -> DataError:
        """The sentence for an error of the file system at this place."""
        return DataError(
            self.who,
            f"file '{plain(self.path, 200)}'",
            f"cannot be written ({error.strerror or error})",
            way_out="choose another place",
        )
