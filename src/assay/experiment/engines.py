"""Who does the work of a run: threads of this process, processes beside it, or the workers of a Dask cluster.

An engine gives each working thread of the run a hand, which does task after task and tells what became of each unit.
The value of a unit does not depend on the hand, so every engine leads to the same results, bit for bit; the writer of
the store is always the calling thread. What a lost process or worker was doing is done again by another one.
"""

from __future__ import annotations

import contextlib
import functools
import pickle
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Protocol

from ..base.errors import ParameterError, UsageError, plain
from ..base.threads import one_blas_thread
from ..data.batches_dask import client_of
from .apart import Apart, NotStarted, packed
from .inputs import Inputs
from .work import Bench, Failure, Outcome, Task, heard_warnings, outcomes

ENGINES = ("threads", "processes", "dask")
LOOK = 0.02
"""Seconds between two looks at a task that is done elsewhere."""
RETURN = 30.0
"""Seconds in which the workers of a cluster may come, or come back, before a run is refused for want of any."""
CHECK = 2.0
"""Seconds between two questions whether a cluster has workers left."""
TRIES = 3
"""How often a task is begun before its learner is taken for what ends the processes."""


class Hand(Protocol):
    """Does tasks, one at a time."""

    def outcomes(self, task: Task, stop: threading.Event) -> Iterator[Outcome]: ...

    def close(self) -> None: ...


class Threads:
    """Tasks in the threads of this process; within limits, in processes of their own."""

    def __init__(self, n_jobs: int) -> None:
        self.jobs = n_jobs

    def hand(self, bench: Bench) -> Hand:
        """One that does tasks where it is called."""
        return _Here(bench) if bench.plan.limits is None else _Beside(bench)

    def close(self) -> None:
        """Nothing is left open."""


class Processes(Threads):
    """Tasks in as many processes: for learners that hold the lock of the interpreter."""

    def hand(self, bench: Bench) -> Hand:
        """A process that gets the plan once."""
        return _Beside(bench)


class _Here:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def outcomes(self, task: Task, stop: threading.Event) -> Iterator[Outcome]:
        return outcomes(self.bench, task)

    def close(self) -> None:
        """Nothing is left open."""


class _Beside:
    """A process apart; what is left of a task when its process is lost is begun again in another one."""

    def __init__(self, bench: Bench) -> None:
        self.apart = Apart(bench)

    def outcomes(self, task: Task, stop: threading.Event) -> Iterator[Outcome]:
        for left in range(TRIES - 1, -1, -1):
            lost = []
            try:
                for unit, value in self.apart.outcomes(task, stop):
                    if left and isinstance(value, Failure) and value.lost:
                        lost.append(unit)
                    else:
                        yield unit, value
            except NotStarted:
                if not left:
                    raise
                continue
            if not lost:
                return
            task = replace(task, units=tuple(lost))

    def close(self) -> None:
        self.apart.close()


# -- Dask --------------------------------------------------------------------------------------------------------------
class Dask:
    """Tasks on the workers of a Dask cluster: of the scheduler at an address, or of a cluster on this machine."""

    _alone_since: float | None

    def __init__(self, n_jobs: int, scheduler: str | None) -> None:
        self._cluster: Any = None
        where = scheduler
        if where is None:
            self._cluster = _local_cluster(n_jobs)
            where = self._cluster.scheduler_address
        self.client = client_of("run", where)
        self.jobs = self._threads()
        if not self.jobs:
            self.close()
            raise UsageError(
                "run",
                f"the Dask scheduler at '{plain(where, 100)}'",
                "has no workers",
                way_out=f"start some with `dask worker {plain(where, 100)}`",
            )
        self._shipped: dict[tuple[int, int | None], Any] = {}
        self._lock = threading.Lock()
        self._asking = threading.Lock()
        self._asked, self._alone_since = time.monotonic(), None

    def check_workers(self) -> None:
        """Refuse to wait for a cluster whose workers are all lost and do not come back; of a cluster that was started
        here they are started anew."""
        with self._asking:
            now = time.monotonic()
            if now < self._asked + CHECK:
                return
            self._asked = now
            if self.client.nthreads():
                self._alone_since = None
                return
            self._alone_since = now if self._alone_since is None else self._alone_since
            if self._cluster is not None:
                with _quiet():
                    self._cluster.scale(self.jobs)
            elif now - self._alone_since > RETURN:
                raise UsageError(
                    "run",
                    "the Dask cluster",
                    "has lost all its workers",
                    way_out="start some; with a store the same command goes on from there",
                )

    def _threads(self) -> int:
        """Threads of the workers that are there; lost ones may be on their way back."""
        end = time.monotonic() + RETURN
        while not (found := sum(self.client.nthreads().values())) and time.monotonic() < end:
            time.sleep(LOOK)
        return found

    def hand(self, bench: Bench) -> Hand:
        """One that hands tasks to the cluster."""
        return _OnDask(self, bench)

    def bench_there(self, bench: Bench) -> Any:
        """A future of the bench, which every worker gets once."""
        import dask

        key = (id(bench.plan), bench.threads)
        with self._lock, dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            if key not in self._shipped:
                # A task rather than scattered data: the scheduler can make it again when every worker is lost.
                self._shipped[key] = self.client.submit(_Shipped, packed(bench), pure=False)
            return self._shipped[key]

    def close(self) -> None:
        """Leave the cluster, and end it if it was started here."""
        with _quiet(), contextlib.suppress(Exception):
            if hasattr(self, "client"):
                self.client.close()
            if self._cluster is not None:
                self._cluster.close()


def _local_cluster(n_workers: int) -> Any:
    """Workers on this machine, each a process with one thread; a task is begun `TRIES` times, as by processes."""
    try:
        import dask
        from distributed import LocalCluster
    except ImportError:
        raise UsageError("run", "Dask", "must be installed", way_out="run pip install 'assay[dask]'") from None
    # The scheduler reads when it starts how often a task may lose its worker.
    with _quiet(), dask.config.set({"distributed.scheduler.allowed-failures": TRIES - 1}):
        return LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", memory_limit=0)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Dask tells of workers that come and go, which is no news here."""
    import logging

    names = ("distributed", "distributed.nanny", "distributed.scheduler", "distributed.worker", "distributed.core")
    before = [(logging.getLogger(name), logging.getLogger(name).level) for name in names]
    try:
        for logger, _ in before:
            logger.setLevel(logging.CRITICAL)
        yield
    finally:
        for logger, level in before:
            logger.setLevel(level)


class _OnDask:
    def __init__(self, engine: Dask, bench: Bench) -> None:
        self.engine, self.bench = engine, bench

    def outcomes(self, task: Task, stop: threading.Event) -> Iterator[Outcome]:
        from distributed import CancelledError, KilledWorker

        there = self.engine.bench_there(self.bench)
        future = self.engine.client.submit(_do, there, task, pure=False)
        while not future.done():
            if stop.is_set():
                future.cancel()
                return
            self.engine.check_workers()
            time.sleep(LOOK)
        try:
            found = future.result()
        except KilledWorker:  # it was begun anew until Dask gave it up
            title = self.bench.plan.learners[task.learner].title
            sentence = f"{title}: its process ended by itself; leave it out, or try it by itself to see why."
            found = [(unit, Failure(sentence, final=True, lost=True)) for unit in task.units]
        except (CancelledError, OSError) as error:
            raise UsageError(
                "run",
                "the Dask scheduler",
                "was lost",
                plain(error, 100),
                "start it again; with a store the same command goes on from there",
            ) from None
        yield from found

    def close(self) -> None:
        """The engine is closed by who made it."""


class _Shipped:
    """The plan on its way to a worker, and what the worker makes of it once."""

    def __init__(self, message: bytes) -> None:
        self.message = message

    def __reduce__(self) -> Any:
        return _Shipped, (self.message,)

    def __sizeof__(self) -> int:
        return 3 * len(self.message)

    @functools.cached_property
    def bench(self) -> Bench:
        plan, threads = pickle.loads(self.message)
        return Bench(plan, Inputs(plan), threads)


def _do(there: _Shipped, task: Task) -> list[Outcome]:
    """What a worker does."""
    _hear_warnings()
    bench = there.bench
    hand: Hand = _Here(bench) if bench.plan.limits is None else _Beside(bench)
    with one_blas_thread(), contextlib.closing(hand):
        return list(hand.outcomes(task, threading.Event()))


@functools.cache
def _hear_warnings() -> contextlib.ExitStack:
    """Warnings go to their units for as long as the worker lives: its threads come and go at any time."""
    stack = contextlib.ExitStack()
    stack.enter_context(heard_warnings())
    return stack


Engine = Threads | Dask


@contextlib.contextmanager
def engine_of(name: str, n_jobs: int, scheduler: str | None, *, idle: bool = False) -> Iterator[Engine]:
    """The engine of a name, open for a run; nothing is started for one without work (`idle`)."""
    if name not in ENGINES:
        raise ParameterError(
            "run", "parameter 'engine'", f"must be one of {', '.join(ENGINES)}", f"got {plain(repr(name))}"
        )
    if scheduler is not None and name != "dask":
        raise ParameterError(
            "run",
            "parameter 'scheduler'",
            "is for engine='dask'",
            f"got engine={plain(repr(name))}",
            "leave it out, or take that engine",
        )
    engine: Engine
    if name == "dask" and not idle:
        engine = Dask(n_jobs, scheduler)
    else:
        engine = Processes(n_jobs) if name == "processes" else Threads(n_jobs)
    try:
        yield engine
    finally:
        engine.close()
