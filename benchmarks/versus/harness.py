"""The harness of `versus`: same data, same machine, same run, quality gate first, then the ratio of times.

A problem names its data, its contenders (ours first) and how to measure the quality of what a contender returns. Runs
alternate between contenders, the best of several counts, and a ratio is reported only if our quality is within the
gate of the peer's. Peak memory is the growth of the process's resident set, sampled while the contender runs.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Contender:
    """One way to do the work: `run(data)` is timed; `prepare(data)` before it is not."""

    name: str
    package: str
    run: Callable[[Any], Any]
    aim: float | None = None
    """For a peer: how many times faster we want to be."""


@dataclass(frozen=True)
class Problem:
    """One row group of the table: ours against each peer on one data set."""

    id: str
    title: str
    size: str
    make: Callable[[], Any]
    ours: Contender
    peers: tuple[Contender, ...]
    quality: Callable[[Any, Any], float]
    """quality(data, result of run) -> a number; larger is better unless `lower_is_better`."""
    gate: float
    """How much worse than a peer we may be before the ratio does not count."""
    quality_name: str = "score"
    lower_is_better: bool = False
    repeats: int = 3
    limit: str = ""
    """What bounds the work: bytes or flops, in words."""


@dataclass
class Measured:
    """What one contender did: its best time, peak memory growth and quality."""

    seconds: float = float("inf")
    megabytes: float = 0.0
    quality: float = float("nan")
    error: str | None = None
    times: list[float] = field(default_factory=list)


def resident_bytes() -> int:
    """Resident set of this process."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


class _PeakMemory:
    """Samples the resident set every 5 ms while a block runs."""

    def __enter__(self) -> _PeakMemory:
        self.start = self.peak = resident_bytes()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._stop.wait(0.005):
            self.peak = max(self.peak, resident_bytes())

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()
        self.peak = max(self.peak, resident_bytes())


def measure(problem: Problem) -> dict[str, Measured]:
    """Run every contender of a problem in alternating order; errors are kept, not raised."""
    data = problem.make()
    contenders = [problem.ours, *problem.peers]
    results = {c.name: Measured() for c in contenders}
    assert len(results) == len(contenders), f"{problem.id}: contenders must have different names"
    for round_number in range(problem.repeats):
        for contender in contenders if round_number % 2 == 0 else reversed(contenders):
            measured = results[contender.name]
            if measured.error:
                continue
            gc.collect()
            try:
                with _PeakMemory() as memory:
                    begin = time.perf_counter()
                    output = contender.run(data)
                    elapsed = time.perf_counter() - begin
            except Exception as error:
                measured.error = f"{type(error).__name__}: {error}"
                continue
            measured.times.append(elapsed)
            measured.seconds = min(measured.seconds, elapsed)
            measured.megabytes = max(measured.megabytes, (memory.peak - memory.start) / 1e6)
            measured.quality = float(problem.quality(data, output))
            del output
    return results
