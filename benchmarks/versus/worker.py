"""One contender in its own process: makes the data, makes one small call, then runs whenever it is told to.

It answers with one JSON line per word on standard input; what contenders print goes to standard error.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from .problems import all_problems

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


def main() -> None:
    """Answer until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(**told: Any) -> None:
        answers.write(json.dumps(told) + "\n")
        answers.flush()

    problem = all_problems()[sys.argv[1]]
    size = int(sys.argv[2])
    contender = next(c for c in (problem.ours, *problem.peers) if c.name == sys.argv[3])
    try:
        version = contender.installed
        contender.run(problem.make(**problem.sizes[0].arguments))
        data = problem.make(**problem.sizes[size].arguments)
    except Exception as error:
        say(error=f"{type(error).__name__}: {error}"[:300])
        return
    say(version=version)
    for _ in sys.stdin:
        gc.collect()
        try:
            with PeakMemory() as memory:
                begin = time.perf_counter()
                output = contender.run(data)
                elapsed = time.perf_counter() - begin
            say(seconds=elapsed, megabytes=memory.megabytes, quality=float(problem.quality(data, output)))
        except Exception as error:
            say(error=f"{type(error).__name__}: {error}"[:300])
            return
        del output


if __name__ == "__main__":
    main()
