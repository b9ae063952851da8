"""Memory of processes: resident sets, their peaks, and what data take."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PAGE = os.sysconf("SC_PAGE_SIZE")


def resident_bytes(process: int | str = "self") -> int:
    """Resident set of a process; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def descendants(process: int) -> list[int]:
    """Ids of the children of a process, and of theirs."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{process}/task"):
            for child in Path(f"/proc/{process}/task/{task}/children").read_text().split():
                found += [int(child), *descendants(int(child))]
    return found


def is_running(process: int) -> bool:
    """Whether a process still holds its program: one that has ended and waits to be collected does not."""
    return os.path.exists(f"/proc/{process}/exe")


class PeakMemory:
    """The highest resident set while a block runs, above where it began.

    The kernel keeps the peak of this process itself; that of its children is sampled.
    """

    def __enter__(self) -> PeakMemory:
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").malloc_trim(0)
        self.exact = True
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            self.exact = False
        self.start = resident_bytes()
        self.own = self.children = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        me = os.getpid()
        while not self._stop.wait(0.02):
            self.own = max(self.own, resident_bytes())
            self.children = max(self.children, sum(map(resident_bytes, descendants(me))))

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()
        if self.exact:
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    self.own = int(line.split()[1]) * 1024

    @property
    def megabytes(self) -> float:
        return max(self.own - self.start, 0) / 1e6 + self.children / 1e6


def megabytes_of(data: Any) -> float | None:
    """What arrays, sparse matrices and frames in `data` take; None where there are none.

    >>> import numpy as np
    >>> megabytes_of({"X": np.zeros((1000, 100)), "k": 3})
    0.8
    """
    found = _bytes_of(data)
    return None if found == 0 else found / 1e6


def _bytes_of(data: Any) -> int:
    if isinstance(data, Mapping):
        return sum(map(_bytes_of, data.values()))
    if isinstance(data, list | tuple):
        return sum(map(_bytes_of, data)) if len(data) < 100 else 0
    if hasattr(data, "indptr"):
        return sum(int(part.nbytes) for part in (data.data, data.indices, data.indptr))
    if hasattr(data, "estimated_size"):
        return int(data.estimated_size())
    if hasattr(data, "memory_usage"):
        used = data.memory_usage(deep=True)
        return int(used.sum() if hasattr(used, "sum") else used)
    return int(getattr(data, "nbytes", 0))
