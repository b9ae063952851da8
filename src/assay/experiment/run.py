"""The run: every fold of every learner, each result kept as it arrives.

Work is cut into tasks of one learner and some of its folds; `n_jobs` threads take them (the kernels release the GIL)
and hand finished folds to the calling thread, the one writer of the store. A fold's numbers depend on that fold alone,
so any number of jobs, any order and any interruption lead to the same results, bit for bit.
"""

from __future__ import annotations

import contextlib
import math
import queue
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ..base.cv import drawn_rows
from ..base.errors import AssayError, AssayWarning, ParameterError, plain
from ..base.estimator import Estimator
from ..base.folds import Fold, fit_folds
from ..base.threads import one_blas_thread
from .choices import chosen_by
from .design_choice import VIEWED_ROWS, expected_seconds
from .inputs import Inputs, SharedTable
from .plan import Learner, Plan
from .predictions import FoldPredictions
from .results import Results
from .store import ARRAYS, Store
from .version import code_version

HEARTBEAT = 0.25
"""Seconds after which the calling thread looks up from waiting: for an interrupt, and to tell the time left."""


@dataclass(frozen=True)
class Progress:
    """Where a run stands: units done of total, the last one in words, seconds left as far as they can be told."""

    done: int
    total: int
    what: str
    eta: float | None


@dataclass(frozen=True)
class _Unit:
    """One learner on one fold, or on all rows (`split` None): numbers and words alone, so that any executor that has
    the plan can do it."""

    learner: int
    split: int | None
    key: str
    what: str


@dataclass(frozen=True)
class _Task:
    learner: int
    units: tuple[_Unit, ...]
    cost: float


@dataclass
class _State:
    """What the threads share."""

    plan: Plan
    inputs: Inputs
    threads: int | None
    tasks: deque[_Task]
    outbox: queue.SimpleQueue[tuple[_Unit | None, dict[str, Any] | BaseException]] = field(
        default_factory=queue.SimpleQueue
    )
    stop: threading.Event = field(default_factory=threading.Event)


def run(
    plan: Plan,
    store: Store | str | Path | None = None,
    n_jobs: int = 1,
    progress: Callable[[Progress], None] | None = None,
    *,
    views: bool = True,
) -> Results:
    """Run the folds of a plan that the store does not hold yet, and return all results.

    Parameters
    ----------
    plan : what to run
    store : where finished folds are kept and found again; None keeps nothing
    n_jobs : threads that run learners side by side; the results are the same for every number
    progress : called in the calling thread at the start, after each finished unit and every second between
    views : also fit every learner on all rows, for its picture and its preparation in words; the scores need neither

    One failing learner never stops the rest: its error sentence is kept in its result. After KeyboardInterrupt
    everything that was finished is in the store.
    """
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs < 1:
        raise ParameterError("run", "parameter 'n_jobs'", "must be an integer >= 1", f"got {plain(repr(n_jobs))}")
    if isinstance(store, (str, Path)):
        with Store(store) as opened:
            return run(plan, opened, n_jobs, progress, views=views)
    units = _units(plan, store, views)
    values = _finished(plan, units, store)
    reused = len(values)
    missing = [unit for unit in units if unit not in values]
    if missing:
        tasks = _tasks(plan, missing, n_jobs)
        # With one job the kernels take the cores; with more they share the cores that too few tasks leave idle.
        threads = None if n_jobs == 1 else max(1, n_jobs // len(tasks))
        state = _State(plan, Inputs(plan), threads, tasks)
        errors = _work(state, missing, values, store, n_jobs, _Clock(plan, units, missing, progress, n_jobs))
    else:
        errors = {}
    return Results.of(plan, {(unit.learner, unit.split): value for unit, value in values.items()}, errors, reused)


# -- cutting the work ------------------------------------------------------------------------------------------------
def _units(plan: Plan, store: Store | None, views: bool) -> list[_Unit]:
    code = code_version() if store is not None else ""
    units = []
    for number, learner in enumerate(plan.learners):
        for index, split in enumerate(plan.splits):
            key = plan.unit_key(learner, index, code) if store is not None else ""
            what = f"{learner.title}, repetition {split.repetition + 1} fold {split.fold + 1}"
            units.append(_Unit(number, index, key, what))
        if not views:
            continue
        key = plan.unit_key(learner, None, code) if store is not None else ""
        units.append(_Unit(number, None, key, f"{learner.title}, all rows"))
    return units


def _finished(plan: Plan, units: list[_Unit], store: Store | None) -> dict[_Unit, dict[str, Any]]:
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


def _trusted(plan: Plan, unit: _Unit, value: dict[str, Any] | None) -> dict[str, Any] | None:
    """A value of the store with the metrics of the plan; None where it is not what this unit would have left."""
    if value is None:
        return None
    arrays = value.pop(ARRAYS, None)
    try:
        msgspec.convert(value, _ViewRow if unit.split is None else _FoldRow)
    except msgspec.ValidationError:
        return None
    if unit.split is None:
        return value
    split, n_classes = plan.splits[unit.split], plan.n_classes
    predictions = FoldPredictions.read(arrays, split.test.shape[0], n_classes)
    if predictions is None:
        return None
    new = [name for name in plan.metrics if name not in value["scores"]]
    if new:
        value["scores"].update(predictions.measure(plan.y[split.test], new, n_classes)[0])
    return {**value, "predictions": predictions}


def _tasks(plan: Plan, missing: list[_Unit], jobs: int) -> deque[_Task]:
    """Tasks of one learner and some folds: as few as keep every thread busy where folds share their work."""
    costs = np.array([_seconds(plan, number) for number in range(len(plan.learners))])
    units_of = np.bincount([unit.learner for unit in missing], minlength=len(plan.learners))
    fair = float(costs @ units_of) / jobs
    groups: dict[tuple[int, int], list[_Unit]] = {}
    for unit in missing:
        parts = jobs
        if plan.learners[unit.learner].entry.shares_folds:
            parts = min(jobs, math.ceil(2.0 * costs[unit.learner] * units_of[unit.learner] / fair))
        group = jobs if unit.split is None else _part(plan, unit.split, parts)
        groups.setdefault((unit.learner, group), []).append(unit)
    tasks = [_Task(learner, tuple(units), costs[learner] * len(units)) for (learner, _), units in groups.items()]
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
    return expected_seconds(learner.estimator, rows - tested, tested, plan.columns_met(learner))


# -- the calling thread: writer and clock ------------------------------------------------------------------------
def _work(
    state: _State,
    missing: list[_Unit],
    values: dict[_Unit, dict[str, Any]],
    store: Store | None,
    jobs: int,
    clock: _Clock,
) -> dict[int, tuple[int, str]]:
    failed: dict[int, tuple[int, str]] = {}
    with one_blas_thread(), _heard_warnings():
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
                arrived = _arrivals(state.outbox)
                idle += sum(unit is None for unit, _ in arrived)
                _keep(state, arrived, values, failed, store)
                clock.tick([(unit, value) for unit, value in arrived if unit is not None])
        except BaseException as error:
            state.stop.set()
            with contextlib.suppress(queue.Empty):
                arrived = []
                while True:
                    arrived.append(state.outbox.get_nowait())
            with contextlib.suppress(AssayError):
                _keep(state, [a for a in arrived if a[0] is not None], values, failed, store)
            if isinstance(error, KeyboardInterrupt) and store is not None:
                raise KeyboardInterrupt(_saved(len(values), clock.total, store)) from None
            raise
    return failed


def _saved(done: int, total: int, store: Store) -> str:
    return (
        f"{done} of {total} units of work are saved in {plain(store.path, 200)}, "
        "and the same command goes on from there"
    )


def _arrivals(outbox: queue.SimpleQueue[Any]) -> list[Any]:
    """What has arrived; returns with nothing after `HEARTBEAT` seconds, so that a signal is seen by then."""
    arrived = []
    with contextlib.suppress(queue.Empty):
        arrived.append(outbox.get(timeout=HEARTBEAT))
        while True:
            arrived.append(outbox.get_nowait())
    return arrived


def _keep(
    state: _State,
    arrived: Iterable[tuple[_Unit | None, dict[str, Any] | BaseException]],
    values: dict[_Unit, dict[str, Any]],
    failed: dict[int, tuple[int, str]],
    store: Store | None,
) -> None:
    finished = []
    for unit, value in arrived:
        if unit is None:
            if isinstance(value, BaseException):
                raise value
        elif isinstance(value, BaseException):
            place = len(state.plan.splits) if unit.split is None else unit.split
            # The first fold in order speaks for the learner, whichever thread met its error first.
            if unit.learner not in failed or place < failed[unit.learner][0]:
                failed[unit.learner] = (place, _error_sentence(state.plan.learners[unit.learner], value))
        else:
            values[unit] = value
            finished.append((unit.key, unit.what, _row(value)))
    if store is not None and finished:
        store.put(finished)


def _row(value: dict[str, Any]) -> dict[str, Any]:
    """A value as the store takes it, its predictions as arrays."""
    if "predictions" not in value:
        return value
    kept = {name: part for name, part in value.items() if name != "predictions"}
    return {**kept, ARRAYS: value["predictions"].arrays()}


def _error_sentence(learner: Learner, error: BaseException) -> str:
    text = plain(error, 400)
    if isinstance(error, AssayError):
        return text
    text = text or "no message"
    return f"{learner.title}: {type(error).__name__}: {text}" + ("" if text.endswith(".") else ".")


class _Clock:
    """Turns finished units into progress with time left.

    A learner's units left take what its finished ones took; before the first one, what was estimated, scaled by how
    the estimates of the others came out.
    """

    def __init__(
        self,
        plan: Plan,
        units: list[_Unit],
        missing: list[_Unit],
        progress: Callable[[Progress], None] | None,
        jobs: int = 1,
    ):
        self.progress = progress
        self.total, self.done = len(units), len(units) - len(missing)
        self.start = time.perf_counter()
        if progress is None:
            return
        self.estimated = np.array([_seconds(plan, number) for number in range(len(plan.learners))])
        self.left = np.bincount([unit.learner for unit in missing], minlength=len(plan.learners))
        self.spent, self.measured = np.zeros(len(plan.learners)), np.zeros(len(plan.learners))
        self.jobs, self.what = jobs, "found in the store" if self.done else "preparing"
        self._tell()

    def tick(self, units: list[tuple[_Unit, dict[str, Any] | BaseException]]) -> None:
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
    try:
        while not state.stop.is_set():
            try:
                task = state.tasks.popleft()
            except IndexError:
                break
            for unit, value in _outcomes(state, task):
                state.outbox.put((unit, value))
                if state.stop.is_set():
                    break
    except BaseException as error:
        state.outbox.put((None, error))
    else:
        state.outbox.put((None, {}))


def _outcomes(state: _State, task: _Task) -> Iterator[tuple[_Unit, dict[str, Any] | BaseException]]:
    """The values of a task's units; after an error the rest of the learner's units fail with it."""
    learner = state.plan.learners[task.learner]
    folds = [unit for unit in task.units if unit.split is not None]
    done: set[_Unit] = set()
    try:
        for unit, value in _fold_values(state, learner, folds):
            done.add(unit)
            yield unit, value
        for unit in task.units:
            if unit.split is None:
                done.add(unit)
                yield unit, _view_value(state, learner)
    except Exception as error:
        for unit in task.units:
            if unit not in done:
                yield unit, error


def _fold_values(state: _State, learner: Learner, units: list[_Unit]) -> Iterator[tuple[_Unit, dict[str, Any]]]:
    if not units:
        return
    plan = state.plan
    splits = [plan.splits[unit.split] for unit in units if unit.split is not None]
    shared = state.inputs.shared(learner)
    if shared is None:
        for unit, split in zip(units, splits):
            assert unit.split is not None
            texts = _listen()
            train, target, test = state.inputs.fold(learner, unit.split)
            prototype = learner.prototype(threads=state.threads, seeds=plan.seeds(learner, unit.split))
            begin = time.perf_counter()
            model = prototype.fit(train, target)
            fitted = time.perf_counter() - begin
            yield unit, _score(plan, model, test, split, fitted, texts)
        return
    numbers = [unit.split for unit in units if unit.split is not None]
    folds = [(split.train, split.test) for split in splits]
    models = _models(state, learner, shared, numbers, folds)
    for unit, number, split, (_, test) in zip(units, numbers, splits, folds):
        texts = _listen()
        begin = time.perf_counter()
        model = next(models)
        fitted = time.perf_counter() - begin
        yield unit, _score(plan, model, shared.rows(number, test), split, fitted, texts)


def _models(
    state: _State, learner: Learner, shared: SharedTable, numbers: list[int], folds: list[Fold]
) -> Iterator[Any]:
    """The fitted models of some folds: from one call that shares their work, or one by one where each fold has seeds
    of its own."""
    plan, matrix = state.plan, shared.matrix
    if not learner.open_seeds:
        prototype = learner.prototype(threads=state.threads).set_params(**shared.params)
        yield from fit_folds(prototype, matrix, plan.y, folds, transforms=shared.transforms(numbers))
        return
    for number, fold in zip(numbers, folds, strict=True):
        prototype = learner.prototype(threads=state.threads, seeds=plan.seeds(learner, number))
        prototype.set_params(**shared.params)
        yield from fit_folds(prototype, matrix, plan.y, [fold], transforms=shared.transforms([number]))


def _score(
    plan: Plan, model: Any, test: Any, split: Any, fit_seconds: float, texts: list[tuple[str, str]]
) -> dict[str, Any]:
    begin = time.perf_counter()
    predictions = FoldPredictions.by(model, test, plan.n_classes)
    predicted = time.perf_counter() - begin
    scores, confusion = predictions.measure(plan.y[split.test], plan.metrics, plan.n_classes)
    return {
        "scores": scores,
        "confusion": confusion,
        "fit_seconds": fit_seconds,
        "predict_seconds": predicted,
        "warnings": _heard(texts),
        "chosen": chosen_by(model),
        "predictions": predictions,
    }


def _view_value(state: _State, learner: Learner) -> dict[str, Any]:
    """The preparation in words, and what the learner looks like when it is fitted on all rows, or on a sample of very
    many, which says so."""
    texts = _listen()
    drawn = drawn_rows(len(state.plan.y), VIEWED_ROWS, None if state.plan.classes is None else state.plan.y)
    rows, target, words = state.inputs.whole(learner, drawn)
    if drawn is not None:
        words = [*words, f"these words and the picture are of {len(drawn):,} drawn rows of {len(state.plan.y):,}"]
    view, seconds = None, 0.0
    if isinstance(learner.estimator, Estimator) and type(learner.estimator).view is not Estimator.view:
        begin = time.perf_counter()
        model = learner.prototype(threads=state.threads).fit(rows, target)
        seconds = time.perf_counter() - begin
        shown = model.view()
        view = None if shown is None else shown.to_dict()
    return {"view": view, "preparation": words, "fit_seconds": seconds, "warnings": _heard(texts)}


# -- warnings, by thread ---------------------------------------------------------------------------------------------
_ears = threading.local()


def _listen() -> list[tuple[str, str]]:
    """A fresh list that takes the warnings of this thread from now on."""
    _ears.texts = []
    return _ears.texts


def _heard(texts: list[tuple[str, str]]) -> list[list[str]]:
    return [list(pair) for pair in dict.fromkeys(texts)]


@contextlib.contextmanager
def _heard_warnings() -> Iterator[None]:
    """Warnings of the working threads go to their units, those of other threads where they went before.

    `warnings.catch_warnings` alone is process-wide, so one hook is set here and sorts by thread.
    """
    with warnings.catch_warnings():
        elsewhere = warnings.showwarning

        def hear(
            message: Any,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: Any = None,
            line: str | None = None,
        ) -> None:
            texts = getattr(_ears, "texts", None)
            if texts is None:
                elsewhere(message, category, filename, lineno, file, line)
            elif isinstance(message, AssayWarning):
                texts.append((message.code, plain(message.text or message.code, 400)))
            elif not issubclass(category, (DeprecationWarning, PendingDeprecationWarning, FutureWarning)):
                texts.append((category.__name__, plain(message, 400)))

        warnings.simplefilter("always")
        warnings.showwarning = hear
        yield
