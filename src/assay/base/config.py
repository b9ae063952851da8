"""Settings of the process: the limits above which a fit or a read is refused before it starts.

>>> import assay
>>> with assay.config.use(max_seconds=60):
...     assay.config.get().max_seconds
60.0
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace

from .errors import ParameterError, plain


@dataclass(frozen=True)
class Settings:
    """Limits on one fit and on reading. `max_bytes` None means 80 % of the memory that is free when the work starts.

    `max_line_bytes` is the longest line of a text file (and the longest quoted cell) that is read.
    """

    max_seconds: float = 4 * 3600.0
    max_bytes: float | None = None
    max_line_bytes: float = 64e6


_DEFAULTS = Settings()
_VARIABLES = tuple((name, f"ASSAY_{name.upper()}") for name in ("max_seconds", "max_bytes", "max_line_bytes"))
_settings: ContextVar[Settings | None] = ContextVar("assay_settings", default=None)


def get() -> Settings:
    """The settings in force: those that were set, else those of ASSAY_MAX_BYTES and its like in the environment."""
    return _settings.get(None) or _from_environment()


def _from_environment() -> Settings:
    given = {}
    for name, variable in _VARIABLES:
        text = os.environ.get(variable)
        if text:
            try:
                given[name] = float(text)
            except ValueError:
                given[name] = float("nan")
            if not given[name] > 0:
                raise ParameterError(
                    "assay.config",
                    f"environment variable '{variable}'",
                    "must be a number > 0",
                    f"got {plain(text)!r}",
                )
    return replace(_DEFAULTS, **given) if given else _DEFAULTS


def set(
    *, max_seconds: float | None = None, max_bytes: float | None = None, max_line_bytes: float | None = None
) -> Settings:
    """Change the settings of this context; returns the new ones."""
    changes: dict[str, float] = {}
    given = (("max_seconds", max_seconds), ("max_bytes", max_bytes), ("max_line_bytes", max_line_bytes))
    for name, value in given:
        if value is not None:
            if not value > 0:
                raise ParameterError("assay.config", f"setting '{name}'", "must be a number > 0", f"got {value!r}")
            changes[name] = float(value)
    settings = replace(get(), **changes)
    _settings.set(settings)
    return settings


@contextlib.contextmanager
def use(
    *, max_seconds: float | None = None, max_bytes: float | None = None, max_line_bytes: float | None = None
) -> Iterator[Settings]:
    """Settings for the length of a `with` block."""
    before = _settings.get()
    try:
        yield set(max_seconds=max_seconds, max_bytes=max_bytes, max_line_bytes=max_line_bytes)
    finally:
        _settings.set(before)


def memory_limit() -> float:
    """The bytes a fit may take."""
    limit = get().max_bytes
    if limit is not None:
        return limit
    try:
        with open("/proc/meminfo") as meminfo:
            for line in meminfo:
                if line.startswith("MemAvailable:"):
                    return 0.8 * 1024 * int(line.split()[1])
    except OSError:
        pass
    try:
        return 0.5 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return float("inf")
