"""Settings of the process: the limits above which a fit or a read is refused before it starts.

>>> import assay
>>> with assay.config.use(max_seconds=60):
...     assay.config.get().max_seconds
60.0
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path

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
    """The bytes a fit may take; a container's own limit counts where it leaves less than the machine has."""
    limit = get().max_bytes
    if limit is not None:
        return limit
    try:
        with open("/proc/meminfo") as meminfo:
            for line in meminfo:
                if line.startswith("MemAvailable:"):
                    return 0.8 * min(1024.0 * int(line.split()[1]), _left_of_groups(_limited_groups()))
    except OSError:
        pass
    try:
        return 0.5 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return float("inf")


# Limit, use, and which part of it is pages of files that the system can drop, in both versions of control groups.
_GROUP_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
_NO_LIMIT = 2**60


@functools.cache
def _limited_groups(told: str = "/proc/self/cgroup", root: str = "/sys/fs/cgroup") -> tuple[Path, ...]:
    """The limits on memory of the control groups that this process is in: the files that state them."""
    found = []
    with contextlib.suppress(OSError, ValueError):
        for line in Path(told).read_text().splitlines():
            number, kinds, path = line.split(":", 2)
            top = Path(root) if number == "0" else Path(root) / "memory"
            if number != "0" and "memory" not in kinds.split(","):
                continue
            inside = Path(path.lstrip("/"))
            for group in (top / inside, *((top / inside).parents if inside.parts else ())):
                found += [group / names[0] for names in _GROUP_FILES if _number_in(group / names[0]) < _NO_LIMIT]
                if group == top:
                    break
            # Inside a container the path may be that of the machine, and its group the top.
            found += [top / names[0] for names in _GROUP_FILES if _number_in(top / names[0]) < _NO_LIMIT]
    return tuple(dict.fromkeys(found))


def _left_of_groups(limits: tuple[Path, ...]) -> float:
    """Bytes that these limits leave."""
    left = float("inf")
    for limit in limits:
        used, idle = next(names[1:] for names in _GROUP_FILES if names[0] == limit.name)
        dropped = 0.0
        with contextlib.suppress(OSError, ValueError):
            facts = dict(line.split() for line in (limit.parent / "memory.stat").read_text().splitlines())
            dropped = float(facts.get(idle, 0))
        inside = _number_in(limit.parent / used)
        left = min(left, max(0.0, _number_in(limit) - (0.0 if inside >= _NO_LIMIT else inside - dropped)))
    return left


def _number_in(file: Path) -> float:
    """The number that a file holds; no limit where it holds none."""
    try:
        return float(file.read_text().replace("max", "inf"))
    except (OSError, ValueError):
        return float("inf")
