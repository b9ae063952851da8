"""The run: every fold of every learner, each result kept as it arrives.

Work is cut into tasks of one learner and some of its folds; threads take them, do them or have them done by a process
or a worker elsewhere (`engines`), and hand finished folds to the calling thread, the one writer of the store. A fold's
numbers depend on that fold alone, so any number of jobs, any order and any interruption lead to the same results, bit
for bit. In a race the learners meet between repetitions, and those that are shown to be worse than the best leave.
"""

from __future__ import annotations

import contextlib
import math
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ..base.errors import AssayError, ParameterError, plain
from ..base.threads import one_blas_thread
from .design_choice import expected_seconds
from .engines import Engine, Hand, Processes, Threads, engine_of
from .inputs import Inputs
from .ledger import Looks
from .plan import Learner, Plan
from .predictions import FoldPredictions
from .race import Race
from .results import Results
from .runs import register
from .store import ARRAYS, Store, digest
from .version import code_version
from .work import Bench, Failure, Outcome, Task, Unit, heard_warnings

HEARTBEAT = 0.25
"""Seconds after which the calling thread looks up from waiting: for an interrupt, and to tell the time left."""
PAUSE = 0.02
"""Seconds for which a working thread does not wake the calling thread again: changing threads takes longer than a short
fold."""


@dataclass(frozen=True)
class Progress:
    """Where a run stands: units done of total, the last one in words, seconds left as far as they can be told."""

    done: int
    total: int
    what: str
    eta: float | None


class _Going:
    """A task that a thread is at; a thread that has nothing left to do may take the last of its units."""

    def __init__(self, task: Task):
        self.task = task
        self.left = deque(task.units)
        """Units that are this thread's, the one at hand first."""
        self.began = time.perf_counter()
        self.first: float | None = None
        """When the first unit was done, and with it the work that the units have in common."""
        self.done = 0
        self.lock = threading.Lock()

    def finish(self, unit: Unit) -> bool:
        """Note that a unit is done; False if it is another thread's by now."""
        with self.lock:
            if unit not in self.left:
                return False
            self.left.remove(unit)
            self.first = time.perf_counter() if self.first is None else self.first
            self.done += 1
            return True

    def cut(self) -> Task | None:
        """The last units as a task of their own, so many that both are done at about the same time; None where the
        common work, which is then done twice, leaves nothing to gain."""
        with self.lock:
            begun, now = 1.0, time.perf_counter()
            if self.first is not None and self.done > 1:
                begun = (self.first - self.began) / max((now - self.first) / (self.done - 1), 1e-9)
            spare = len(self.left) - 1  # without the one at hand
            taken = min(spare, int((spare + 1.0 - begun) / 2.0 + 0.5))
            if taken < 1 or (self.done and (now - self.began) / self.done * taken < PAUSE):
                return None
            units = tuple(self.left.pop() for _ in range(taken))[::-1]
            return replace(self.task, units=units, cost=self.task.cost * taken / len(self.task.units))


@dataclass
class _State:
    """What the threads share."""

    bench: Bench
    tasks: deque[Task]
    engine: Engine
    out_of_limits: dict[int, Failure] = field(default_factory=dict)
    """Learners that went over the limits of a task, and their sentence: none of their tasks is begun any more."""
    outbox: deque[tuple[Unit | None, dict[str, Any] | Failure | BaseException]] = field(default_factory=deque)
    bell: queue.SimpleQueue[None] = field(default_factory=queue.SimpleQueue)
    """Rung to wake the calling thread, which empties the outbox: not for each of many short folds."""
    stop: threading.Event = field(default_factory=threading.Event)
    going: list[_Going] = field(default_factory=list)
    """Tasks that are under way and may be cut."""

    def next_task(self) -> Task | None:
        """The next task, or the end of the one that has most left to do."""
        with contextlib.suppress(IndexError):
            return self.tasks.popleft()
        for going in sorted(self.going, key=lambda one: -one.task.cost * len(one.left) / len(one.task.units)):
            task = going.cut()
            if task is not None:
                return task
        return None

    def may_be_cut(self, task: Task) -> bool:
        """Whether units are done one after the other here, and share little enough to be done in two places."""
        learner = self.bench.plan.learners[task.learner]
        apart = not isinstance(self.engine, Threads) or isinstance(self.engine, Processes)
        if apart or self.bench.plan.limits is not None or learner.search is not None:
            return False
        return not getattr(learner.estimator, "_folds_in_one_pass", False)


def run(
    plan: Plan,
    store: Store | str | Path | None = None,
    n_jobs: int = 1,
    progress: Callable[[Progress], None] | None = None,
    *,
    views: bool = True,
    engine: str = "threads",
    scheduler: str | None = None,
) -> Results:
    """Run the folds of a plan that the store does not hold yet, and return all results.

    Parameters
    ----------
    plan : what to run
    store : where finished folds are kept and found again; None keeps nothing
    n_jobs : how many learners run side by side; the results are the same for every number
    progress : called in the calling thread at the start, after each finished unit and every second between
    views : also fit every learner on all rows, for its picture and its preparation in words; the scores need neither
    engine : "threads" of this process, "processes" beside it (for learners that hold the lock of the interpreter), or
        "dask"; the results are the same bit for bit
    scheduler : address of a Dask scheduler such as "tcp://host:8786"; None for a cluster of `n_jobs` workers here

    One failing learner never stops the rest: its error sentence is kept in its result. Where the plan has limits for
    a task, learners work in processes of their own, and one that goes over them is stopped. After KeyboardInterrupt
    everything that was finished is in the store.
    """
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs < 1:
        raise ParameterError("run", "parameter 'n_jobs'", "must be an integer >= 1", f"got {plain(repr(n_jobs))}")
    if isinstance(store, (str, Path)):
        with Store(store) as opened:
            return run(plan, opened, n_jobs, progress, views=views, engine=engine, scheduler=scheduler)
    units = _units(plan, store, views)
    with register(plan, store, [unit.key for unit in units]) as registered, contextlib.ExitStack() as opened_here:
        values = _finished(plan, units, store)
        reused = len(values)
        finished = {(unit.learner, unit.split) for unit in values if unit.trial is None}
        # The trials of a search whose outcome is known are not made for their own sake.
        units = [unit for unit in units if unit in values or (unit.learner, unit.split) not in finished]
        missing = [unit for unit in units if unit not in values]
        doer = opened_here.enter_context(engine_of(engine, n_jobs, scheduler, idle=not missing))
        clock = _Clock(plan, units, missing, progress, doer.jobs)
        bench = Bench(plan, Inputs(plan), None)
        race = Race(plan)
        failed: dict[int, tuple[int, str]] = {}
        for together in race.rounds(units):
            going = [unit for unit in together if unit.learner not in race.out]
            clock.leave([unit for unit in together if unit.learner in race.out and unit not in values])
            begun = [unit for unit in going if unit not in values and unit.learner not in failed]
            if begun:
                failed |= _work(bench, begun, values, store, doer, clock)
            race.look(values, failed)
        results = _told(plan, values, failed, reused, race, registered.looks)
        registered.finish(results)
    return results


def collect(plan: Plan, store: Store, code: str, looks: Looks | None = None) -> Results:
    """The results of a plan from what a store holds of it, with no fit and nothing written."""
    values = _finished(plan, _units(plan, store, views=True, code=code), store)
    race = Race(plan)
    for _ in range(plan.design.repetitions - 1 if plan.race else 0):
        race.look(values, {})
    return _told(plan, values, {}, len(values), race, looks, code)


def _told(
    plan: Plan,
    values: dict[Unit, dict[str, Any]],
    failed: dict[int, tuple[int, str]],
    reused: int,
    race: Race,
    looks: Looks | None = None,
    code: str = "",
) -> Results:
    found = {(unit.learner, unit.split): value for unit, value in values.items() if unit.trial is None}
    trials: dict[tuple[int, int | None], dict[int, dict[str, Any]]] = {}
    for unit, value in values.items():
        if unit.trial is not None:
            trials.setdefault((unit.learner, unit.split), {})[unit.trial] = value
    return Results.of(plan, found, failed, reused, race.out, trials, looks, code)


# -- cutting the work ------------------------------------------------------------------------------------------------
def _units(plan: Plan, store: Store | None, views: bool, code: str | None = None) -> list[Unit]:
    code = code or (code_version() if store is not None else "")
    units = []
    for number, learner in enumerate(plan.learners):
        title = learner.title
        for index, split in enumerate(plan.splits):
            key = plan.unit_key(learner, index, code) if store is not None else ""
            unit = Unit(number, index, key, f"{title}, repetition {split.repetition + 1} fold {split.fold + 1}")
            units += [*_trials(learner, unit), unit]
        if not views:
            continue
        key = plan.unit_key(learner, None, code) if store is not None else ""
        whole = Unit(number, None, key, f"{learner.title}, all rows")
        units += [*_trials(learner, whole), whole]
    return units


def _trials(learner: Learner, unit: Unit) -> list[Unit]:
    """The trials of a tuned learner that come before a unit."""
    count = 0 if learner.search is None else learner.search.count
    return [
        unit._replace(key=unit.key and digest(unit.key, k), what=f"{unit.what}, setting {k + 1} of {count}", trial=k)
        for k in range(count)
    ]


def _finished(plan: Plan, units: list[Unit], store: Store | None) -> dict[Unit, dict[str, Any]]:
    """Units that the store holds; a metric that was not measured then is measured now, on the kept predictions."""
    if store is None:
        return {}
    found = store.get(unit.key for unit in units)
    values = {}
    for unit in units:
        value = _trusted(plan, unit, found.get(unit.key))
        if value is not None:
            values[unit] = value
    return values


class _FoldRow(msgspec.Struct, forbid_unknown_fields=True):
    """A finished fold as the store keeps it."""

    scores: dict[str, float | None]
    confusion: list[list[int]] | None
    fit_seconds: float
    predict_seconds: float
    warnings: list[tuple[str, str]]
    chosen: dict[str, int | float | str]


class _ViewRow(msgspec.Struct, forbid_unknown_fields=True):
    """A finished fit on all rows as the store keeps it."""

    view: dict[str, Any] | None
    preparation: list[str]
    fit_seconds: float
    warnings: list[tuple[str, str]]


class _TrialRow(msgspec.Struct, forbid_unknown_fields=True):
    """A setting that was tried as the store keeps it."""

    parameters: dict[str, Any]
    scores: list[float | None]
    score: float | None
    error: str | None
    fit_seconds: float


def _trusted(plan: Plan, unit: Unit, value: dict[str, Any] | None) -> dict[str, Any] | None:
    """A value of the store with the metrics of the plan; None where it is not what this unit would have left."""
    if value is None:
        return None
    # Two repetitions may deal the same fold of groups, which is one row of the store for both units.
    arrays, value = value.get(ARRAYS), {name: held for name, held in value.items() if name != ARRAYS}
    try:
        kind = _TrialRow if unit.trial is not None else _ViewRow if unit.split is None else _FoldRow
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None
    if unit.split is None or unit.trial is not None:
        return value
    split, n_classes = plan.splits[unit.split], plan.n_classes
    predictions = FoldPredictions.read(arrays, split.test.shape[0], n_classes)
    if predictions is None:
        return None
    new = [name for name in plan.metrics if name not in value["scores"]]
    if new:
        value["scores"].update(predictions.measure(plan.y[split.test], new, n_classes)[0])
    return {**value, "predictions": predictions}


def _tasks(
    plan: Plan, missing: list[Unit], jobs: int, values: Mapping[Unit, Mapping[str, Any]] | None = None
) -> deque[Task]:
    """Tasks of one learner and some folds: as few as keep every thread busy where folds share their work.

    Such a learner is cut only if it alone takes more than a fair share of the time, and not where the common work of
    repeated folds is nearly all: each part does it again.
    """
    costs = np.array([_seconds(plan, number) for number in range(len(plan.learners))])
    units_of = np.bincount([unit.learner for unit in missing], minlength=len(plan.learners))
    fair = float(costs @ units_of) / jobs
    parts = [jobs] * len(plan.learners)
    for number in np.flatnonzero(units_of).tolist():
        learner = plan.learners[number]
        if getattr(learner.estimator, "_folds_in_one_pass", False) and plan.design.repetitions > 1:
            parts[number] = 1
        elif learner.entry.shares_folds:
            parts[number] = min(jobs, math.ceil(1.1 * costs[number] * units_of[number] / fair))
    groups: dict[tuple[int, int], list[Unit]] = {}
    for unit in missing:
        group = jobs if unit.split is None else _part(plan, unit.split, parts[unit.learner])
        groups.setdefault((unit.learner, group), []).append(unit)
    tried = [(unit, value) for unit, value in (values or {}).items() if unit.trial is not None]
    tasks = []
    for (number, _), units in groups.items():
        at = {unit.split for unit in units}
        known = tuple((u.split, int(u.trial or 0), v) for u, v in tried if u.learner == number and u.split in at)
        tasks.append(Task(number, tuple(units), costs[number] * len(units), known))
    # The longest first keeps every thread busy to the end; a single thread may as well go in catalogue order.
    tasks.sort(key=lambda task: -task.cost if jobs > 1 else (task.units[0].split is None))
    return deque(tasks)


def _part(plan: Plan, split: int, parts: int) -> int:
    """Which of so many parts of a learner's folds a split belongs to; repetitions stay together."""
    repetitions = plan.design.repetitions
    if repetitions >= parts:
        return int(plan.splits[split].repetition * parts // repetitions)
    return split * parts // len(plan.splits)


def _seconds(plan: Plan, number: int) -> float:
    """Rough seconds of one fold, for the order of the work and the time left."""
    learner, tested = plan.learners[number], plan.splits[0].test.shape[0]
    rows = plan.features.frame.height
    fits = 1 if learner.search is None else learner.search.folds
    return fits * expected_seconds(learner.estimator, rows - tested, tested, plan.columns_met(learner))


# -- the calling thread: writer and clock ------------------------------------------------------------------------
def _work(
    bench: Bench,
    missing: list[Unit],
    values: dict[Unit, dict[str, Any]],
    store: Store | None,
    engine: Engine,
    clock: _Clock,
) -> dict[int, tuple[int, str]]:
    """Do the missing units; their values are added to `values`, and the errors of learners are returned."""
    plan, jobs = bench.plan, engine.jobs
    failed: dict[int, tuple[int, str]] = {}
    tasks = _tasks(plan, missing, jobs, values)
    # With one job the kernels take the cores; with more they share the cores that too few tasks leave idle.
    threads = None if jobs == 1 else max(1, jobs // len(tasks))
    state = _State(Bench(plan, bench.inputs, threads), tasks, engine)
    with one_blas_thread(), heard_warnings():
        # Daemon threads: an interrupt may leave a kernel running, and leaving must not wait for it.
        workers = [
            threading.Thread(target=_worker, args=(state,), name=f"assay-{i}", daemon=True)
            for i in range(min(jobs, len(state.tasks)))
        ]
        for worker in workers:
            worker.start()
        try:
            idle = 0
            while idle < len(workers):
                arrived = _arrivals(state)
                idle += sum(unit is None for unit, _ in arrived)
                _keep(plan, arrived, values, failed, store)
                clock.tick([(unit, value) for unit, value in arrived if unit is not None])
        except BaseException as error:
            state.stop.set()
            with contextlib.suppress(AssayError):
                _keep(plan, [a for a in _emptied(state.outbox) if a[0] is not None], values, failed, store)
            if isinstance(error, KeyboardInterrupt) and store is not None:
                raise KeyboardInterrupt(_saved(len(values), clock.total, store)) from None
            raise
    return failed


def _saved(done: int, total: int, store: Store) -> str:
    return (
        f"{done} of {total} units of work are saved in {plain(store.path, 200)}, "
        "and the same command goes on from there"
    )


def _arrivals(state: _State) -> list[Any]:
    """What has arrived; returns after `HEARTBEAT` seconds at the latest, so that a signal is seen by then."""
    with contextlib.suppress(queue.Empty):
        state.bell.get(timeout=HEARTBEAT)
    return _emptied(state.outbox)


def _emptied(outbox: deque[Any]) -> list[Any]:
    return [outbox.popleft() for _ in range(len(outbox))]


def _keep(
    plan: Plan,
    arrived: Iterable[tuple[Unit | None, dict[str, Any] | Failure | BaseException]],
    values: dict[Unit, dict[str, Any]],
    failed: dict[int, tuple[int, str]],
    store: Store | None,
) -> None:
    finished = []
    for unit, value in arrived:
        if unit is None:
            if isinstance(value, BaseException):
                raise value
        elif isinstance(value, Failure):
            place = len(plan.splits) if unit.split is None else unit.split
            # The first fold in order speaks for the learner, whichever thread met its error first.
            if unit.learner not in failed or place < failed[unit.learner][0]:
                failed[unit.learner] = (place, value.sentence)
        elif isinstance(value, dict):
            values[unit] = value
            finished.append((unit, value))
    if store is not None and finished:
        store.put([(unit.key, unit.what, _row(value)) for unit, value in finished])


def _row(value: dict[str, Any]) -> dict[str, Any]:
    """A value as the store takes it, its predictions as arrays."""
    if "predictions" not in value:
        return value
    kept = {name: part for name, part in value.items() if name != "predictions"}
    return {**kept, ARRAYS: value["predictions"].arrays()}


class _Clock:
    """Turns finished units into progress with time left.

    A learner's units left take what its finished ones took; before the first one, what was estimated, scaled by how
    the estimates of the others came out.
    """

    def __init__(
        self,
        plan: Plan,
        units: list[Unit],
        missing: list[Unit],
        progress: Callable[[Progress], None] | None,
        jobs: int = 1,
    ):
        self.progress = progress
        self.total, self.done = len(units), len(units) - len(missing)
        self.start = time.perf_counter()
        if progress is None:
            return
        self.estimated = np.array([_seconds(plan, number) for number in range(len(plan.learners))])
        learners = np.array([unit.learner for unit in missing], dtype=np.int64)
        self.left = np.bincount(learners, minlength=len(plan.learners))
        self.spent, self.measured = np.zeros(len(plan.learners)), np.zeros(len(plan.learners))
        self.jobs, self.what = jobs, "found in the store" if self.done else "preparing"
        self._tell()

    def tick(self, units: list[tuple[Unit, Any]]) -> None:
        self.done += len(units)
        if self.progress is None:
            return
        for unit, value in units:
            self.left[unit.learner] -= 1
            if isinstance(value, dict):
                self.measured[unit.learner] += 1
                self.spent[unit.learner] += value["fit_seconds"] + value.get("predict_seconds", 0.0)
        self.what = units[-1][0].what if units else self.what
        if units or time.perf_counter() - self.told >= 1.0:
            self._tell()

    def leave(self, units: list[Unit]) -> None:
        """These units need not be done any more."""
        self.total -= len(units)
        if self.progress is not None:
            for unit in units:
                self.left[unit.learner] -= 1

    def _tell(self) -> None:
        assert self.progress is not None
        self.told = time.perf_counter()
        self.progress(Progress(self.done, self.total, self.what, self._seconds_left()))

    def _seconds_left(self) -> float:
        worked = float(self.spent.sum())
        known = self.measured > 0
        scale = worked / float(self.estimated @ self.measured) if known.any() else 1.0
        each = np.where(known, self.spent / np.maximum(self.measured, 1.0), scale * self.estimated)
        # Seconds of work per second that passed: the threads, less what else the run does.
        pace = worked / (time.perf_counter() - self.start) if worked > 0.0 else float(self.jobs)
        return float(each @ self.left) / pace


# -- the working threads ---------------------------------------------------------------------------------------------
def _worker(state: _State) -> None:
    quiet = 0.0
    try:
        with contextlib.closing(state.engine.hand(state.bench)) as hand:
            while not state.stop.is_set():
                task = state.next_task()
                if task is None:
                    break
                for unit, value in _done(state, hand, task):
                    state.outbox.append((unit, value))
                    now = time.monotonic()
                    if now >= quiet:
                        state.bell.put(None)
                        quiet = now + PAUSE
                    if state.stop.is_set():
                        break
    except BaseException as error:
        state.outbox.append((None, error))
    else:
        state.outbox.append((None, {}))
    state.bell.put(None)


def _done(state: _State, hand: Hand, task: Task) -> Iterator[Outcome]:
    over = state.out_of_limits.get(task.learner)
    if over is not None:
        yield from ((unit, over) for unit in task.units)
        return
    going = _Going(task)
    if state.may_be_cut(task):
        state.going.append(going)
    try:
        for unit, value in hand.outcomes(task, state.stop):
            if isinstance(value, Failure) and value.final:
                state.out_of_limits.setdefault(task.learner, value)
            if going.finish(unit):
                yield unit, value
            if not going.left:
                break
    finally:
        with contextlib.suppress(ValueError):
            state.going.remove(going)
