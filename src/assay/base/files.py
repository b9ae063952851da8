"""Files written whole: readers see the old file or the new one, never half of it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

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
    target, partial = Path(path), None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=".tmp", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            for part in parts:
                file.write(part)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(partial, 0o666 & ~mask)
        os.replace(partial, target)
    except OSError as error:
        _forget(partial)
        raise DataError(
            who,
            f"file '{plain(target, 200)}'",
            f"cannot be written ({error.strerror or error})",
            way_out="choose another place",
        ) from None
    except BaseException:
        _forget(partial)
        raise
    return target


def _forget(partial: str | None) -> None:
    if partial is not None:
        with contextlib.suppress(OSError):
            os.unlink(partial)
