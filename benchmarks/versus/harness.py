"""The harness of `versus`: same data, same machine, same run, quality gate first, then the ratio of times.

A problem names its data at up to three sizes, its contenders (ours first) and how to measure the quality of what a
contender returns. Each contender works in a process of its own, with its libraries loaded and one small call behind it
before any clock starts; the processes take turns, in alternating order, and only one works at a time. The best of
several rounds counts, and a ratio is reported only if our quality is within the gate of the peer's. Memory is the peak
of the resident set above the loaded process with its data, children included.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
OVERDUE = 1200.0
"""Seconds after which a contender's single run is given up, unless a run of the harness says otherwise."""


@dataclass(frozen=True)
class Contender:
    """One way to do the work: `run(data)` is timed."""

    name: str
    package: str
    run: Callable[[Any], Any]
    aim: float | None = None
    """For a peer: how many times faster we want to be."""
    version: Callable[[], str] | None = None
    """For a peer that lives in an interpreter of its own: how to learn its version."""

    @property
    def installed(self) -> str:
        """The version of the contender's package."""
        if self.version is not None:
            return self.version()
        if self.package == "assay":
            import assay

            return assay.__version__
        if self.package == "xgboost":  # installed as the build without a GPU
            return importlib.metadata.version("xgboost-cpu")
        return importlib.metadata.version(self.package)


@dataclass(frozen=True)
class Size:
    """One size of a problem: what its `make` is called with, and the number that grows from size to size."""

    label: str
    n: int
    arguments: dict[str, Any] = field(default_factory=dict)
    repeats: int | None = None
    without: tuple[str, ...] = ()
    """Names of peers that would need hours at this size, and are left out."""


@dataclass(frozen=True)
class Problem:
    """One row group of the table: ours against each peer on one kind of data."""

    id: str
    title: str
    make: Callable[..., Any]
    sizes: tuple[Size, ...]
    """From small to large; the first also serves as the small call before the clock starts."""
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
    tried: str = ""
    """Which options of the peers were tried, and which of them were slower or worse."""
    headline: bool = False
    """Whether the row at the largest size stands in the README."""
    needs: tuple[str, ...] = ()
    """Environment variables without which the problem is left out."""

    def __post_init__(self) -> None:
        names = [contender.name for contender in (self.ours, *self.peers)]
        assert len(set(names)) == len(names), f"{self.id}: contenders must have different names"
        assert self.sizes, f"{self.id}: a problem needs a size"


@dataclass
class Measured:
    """What one contender did: its best time, peak memory growth and quality."""

    megabytes: float = 0.0
    quality: float = float("nan")
    version: str = ""
    error: str | None = None
    given_up: float | None = None
    """Seconds after which a timed run was given up."""
    times: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return min(self.times, default=float("inf"))


class Worker:
    """A contender in a process of its own; `worker.py` is what runs there."""

    def __init__(self, problem: Problem, size: int, contender: Contender):
        self.measured = Measured()
        command = [sys.executable, "-m", "benchmarks.versus.worker", problem.id, str(size), contender.name]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT
        )

    def wait_until_ready(self) -> None:
        """Wait until the data are made and the small call is behind it."""
        self.measured.version = self._ask(None, OVERDUE).get("version", "")

    def _ask(self, word: str | None, limit: float) -> dict[str, Any]:
        """Send a word, wait for the answer; a process that dies or takes longer than `limit` seconds has failed."""
        assert self._process.stdin is not None and self._process.stdout is not None
        overdue = threading.Timer(limit, self._process.kill)
        overdue.start()
        try:
            if word is not None:
                self._process.stdin.write(word + "\n")
                self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timed_out = not overdue.is_alive()
            overdue.cancel()
        if line:
            told = json.loads(line)
        elif timed_out:
            told = {"error": f"gave no answer within {limit:g} s"}
            self.measured.given_up = None if word is None else limit
        else:
            told = {"error": f"its process ended with {self._process.wait()}"}
        self.measured.error = told.get("error", self.measured.error)
        return told

    def go(self, limit: float) -> None:
        """One timed run."""
        if self.measured.error is not None:
            return
        told = self._ask("go", limit)
        if "seconds" in told:
            self.measured.times.append(told["seconds"])
            self.measured.megabytes = max(self.measured.megabytes, told["megabytes"])
            self.measured.quality = told["quality"]

    def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def measure(
    problem: Problem, size: int, rounds: int, *, limit: float = OVERDUE, patience: float = float("inf")
) -> dict[str, Measured]:
    """Run every contender of a problem at one size, in turns; errors are kept, not raised.

    A run over `limit` seconds is given up; there is no further round after one that took more than `patience` seconds.
    """
    left_out = problem.sizes[size].without
    contenders = [c for c in (problem.ours, *problem.peers) if c.name not in left_out]
    workers: dict[str, Worker] = {}
    try:
        for contender in contenders:  # they load their libraries side by side, and work one at a time
            workers[contender.name] = Worker(problem, size, contender)
        for worker in workers.values():
            worker.wait_until_ready()
        for number in range(rounds):
            begin = time.monotonic()
            order = list(workers.values())
            for worker in order if number % 2 == 0 else reversed(order):
                worker.go(limit)
            if time.monotonic() - begin > patience:
                break
    finally:
        for worker in workers.values():
            worker.close()
    return {name: worker.measured for name, worker in workers.items()}


def wanted(problem: Problem) -> bool:
    """Whether what the problem needs from the environment is there."""
    return all(os.environ.get(name) for name in problem.needs)


def by_rows(label: str, *counts: int, **arguments: Any) -> tuple[Size, ...]:
    """Sizes that differ in the number of rows, which `make` takes as `rows`; `{n}` in the label is that number.

    >>> [size.label for size in by_rows("{n} x 30", 1000, 10_000)]
    ['1,000 x 30', '10,000 x 30']
    """
    return tuple(Size(label.format(n=f"{count:,}"), count, {"rows": count, **arguments}) for count in counts)
