"""The harness of `versus`: same data, same machine, same run, quality gate first, then the ratio of times.

A problem names its data at up to three sizes, its contenders (ours first) and how to measure the quality of what a
contender returns. Each contender works in a process of its own, with its libraries loaded and one small call behind it
before any clock starts; it lives from size to size. The processes take turns, in alternating order, and only one works
at a time. The best of several rounds counts, and a ratio is reported only if our quality is within the gate of the
peer's. Memory is the peak of the resident set above the loaded process with its data, children included.

A contender that fails, hangs or takes the machine's memory costs its own row: its process is ended with all its
children, and a new one is started for the next size.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .memory import descendants, is_running, resident_bytes

ROOT = Path(__file__).parents[2]
OVERDUE = 1200.0
"""Seconds after which a contender's single run is given up, unless a run of the harness says otherwise."""
UNREADY = 240.0
"""Seconds within which a contender must have loaded its libraries, made one small call and made its data."""
SPARE = 1.5e9
"""Bytes that must stay free on the machine."""


@dataclass(frozen=True)
class Contender:
    """One way to do the work: `run(data)` is timed."""

    name: str
    package: str
    run: Callable[[Any], Any]
    aim: float | None = None
    """For a peer: how many times faster we want to be."""
    by_hand: bool = False
    """For a peer of a few lines written for the one problem: it checks no input and keeps no model, which no user would
    call; its rows show what a library's call adds, and are told apart."""
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
    table_megabytes: float | None = None
    """What the data take, where they are arrays or frames."""
    times: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return min(self.times, default=float("inf"))


class Worker:
    """A contender in a process of its own; `worker.py` is what runs there."""

    def __init__(self, command: list[str]):
        self.measured = Measured()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            start_new_session=True,
        )

    @property
    def failed(self) -> bool:
        return self.measured.error is not None

    def prepare(self, size: int) -> None:
        """Ask for the data of a size; others are asked meanwhile."""
        self.measured = Measured()
        self._say(str(size))

    def wait_until_ready(self, limit: float = UNREADY) -> None:
        """Wait until the data are made and, in a new process, the small call is behind it."""
        told = self._hear(limit)
        self.measured.version = told.get("version", "")
        self.measured.table_megabytes = told.get("table_megabytes")

    def go(self, limit: float) -> None:
        """One timed run."""
        if self.failed:
            return
        self._say("go")
        told = self._hear(limit)
        if "seconds" in told:
            self.measured.times.append(told["seconds"])
            self.measured.megabytes = max(self.measured.megabytes, told["megabytes"])
            self.measured.quality = told["quality"]
        elif "late" in told:
            self.measured.given_up = limit

    def _say(self, word: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(word + "\n")
            self._process.stdin.flush()

    def _hear(self, limit: float) -> dict[str, Any]:
        """The answer; a process that dies, takes over `limit` seconds or takes the machine's memory has failed."""
        answers, end = self._process.stdout, time.monotonic() + limit
        assert answers is not None
        told: dict[str, Any] = {}
        while not select.select([answers], [], [], 0.5)[0]:
            if time.monotonic() > end:
                told = {"error": f"gave no answer within {limit:g} s", "late": True}
            elif self._starves_others():
                told = {"error": "took all memory that the machine had to spare"}
            if told:
                self._end()
                break
        if not told:
            line = answers.readline()
            try:
                told = json.loads(line) if line else {"error": f"its process ended with {self._process.wait()}"}
            except ValueError:
                told = {"error": "gave an answer that cannot be read"}
        self.measured.error = told.get("error")
        return told

    def _starves_others(self) -> bool:
        if free_bytes() > SPARE:
            return False
        return sum(map(resident_bytes, (self._process.pid, *descendants(self._process.pid)))) > SPARE

    def _end(self) -> None:
        """End the process and whatever it has started, and return when they are gone."""
        started = descendants(self._process.pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for child in started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        self._process.wait()
        end = time.monotonic() + UNREADY
        while any(map(is_running, started)) and time.monotonic() < end:
            time.sleep(0.001)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        self._end()


def free_bytes() -> float:
    """What the machine can still give; infinite where it does not say."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    return float("inf")


class Contest:
    """The contenders of a problem, in turns at one size after the other; errors are kept, not raised.

    A run over `limit` seconds is given up, and so is one of a peer over `enough` times our own time and ten seconds;
    there is no further round once the rounds of a size have taken `patience` seconds.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        limit: float = OVERDUE,
        patience: float = float("inf"),
        enough: float = float("inf"),
    ):
        self.problem, self.limit, self.patience, self.enough = problem, limit, patience, enough
        self._workers: dict[str, Worker] = {}

    def __enter__(self) -> Contest:
        return self

    def __exit__(self, *exc: object) -> None:
        for worker in self._workers.values():
            worker.close()

    def measure(self, size: int, rounds: int) -> dict[str, Measured]:
        """What every contender did at one size."""
        left_out = self.problem.sizes[size].without
        taking_part: list[Worker] = []
        for contender in (self.problem.ours, *self.problem.peers):
            held = self._workers.get(contender.name)
            if held is not None and (held.failed or contender.name in left_out):
                held.close()
                del self._workers[contender.name]
            if contender.name in left_out:
                continue
            if contender.name not in self._workers:
                command = [sys.executable, "-m", "benchmarks.versus.worker", self.problem.id, contender.name]
                self._workers[contender.name] = Worker(command)
            worker = self._workers[contender.name]
            worker.prepare(size)  # they load their libraries and make their data side by side, and work one at a time
            taking_part.append(worker)
        for worker in taking_part:
            worker.wait_until_ready()
        ours = taking_part[0]
        begin = time.monotonic()
        for number in range(rounds):
            for worker in taking_part if number % 2 == 0 else reversed(taking_part):
                bound = max(10.0, self.enough * ours.measured.seconds) if worker is not ours else self.limit
                worker.go(min(self.limit, bound))
            if time.monotonic() - begin > self.patience:
                break
        names = {id(worker): name for name, worker in self._workers.items()}
        return {names[id(worker)]: worker.measured for worker in taking_part}


def wanted(problem: Problem) -> bool:
    """Whether what the problem needs from the environment is there."""
    return all(os.environ.get(name) for name in problem.needs)


def by_rows(label: str, *counts: int, **arguments: Any) -> tuple[Size, ...]:
    """Sizes that differ in the number of rows, which `make` takes as `rows`; `{n}` in the label is that number.

    >>> [size.label for size in by_rows("{n} x 30", 1000, 10_000)]
    ['1,000 x 30', '10,000 x 30']
    """
    return tuple(Size(label.format(n=f"{count:,}"), count, {"rows": count, **arguments}) for count in counts)


def last_without(sizes: tuple[Size, ...], *names: str) -> tuple[Size, ...]:
    """The sizes, of which the largest is tried without these peers.

    >>> last_without(by_rows("{n} rows", 10, 100), "slow")[-1].without
    ('slow',)
    """
    return (*sizes[:-1], replace(sizes[-1], without=names))
