"""The run: every fold of every learner, each result kept as it arrives.

Work is cut into tasks of one learner and some of its folds; `jobs` threads take them (the kernels release the GIL) and
hand finished folds to the calling thread, which is the one writer of the store. A fold's numbers depend on that fold
alone, so any number of jobs, any order and any interruption lead to the same results, bit for bit.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from ..base import Classifier
from ..base.errors import AssayError, AssayWarning, ParameterError, plain
from ..base.estimator import Estimator
from ..evaluate import Evidence, get_metric
from .inputs import Inputs
from .plan import Learner, Plan
from .results import Results
from .store import Store
from .version import code_version


@dataclass(frozen=True)
class Progress:
    """Where a run stands: units done of total, the last one in words, seconds left (None before the first)."""

    done: int
    total: int
    what: str
    eta: float | None


@dataclass(frozen=True)
class _Unit:
    """One learner on one fold, or on all rows (`split` None)."""

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
    jobs: int = 1,
    progress: Callable[[Progress], None] | None = None,
    *,
    views: bool = True,
) -> Results:
    """Run the folds of a plan that the store does not hold yet, and return all results.

    Parameters
    ----------
    plan : what to run
    store : where finished folds are kept and found again; None keeps nothing
    jobs : threads that run learners side by side; the results are the same for every number
    progress : called in the calling thread after each finished unit
    views : also fit every learner on all rows, for its picture and its preparation in words; the scores need neither

    One failing learner never stops the rest: its error sentence is kept in its result. After KeyboardInterrupt
    everything that was finished is in the store.
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise ParameterError("run", "parameter 'jobs'", "must be an integer >= 1", f"got {plain(repr(jobs))}")
    if isinstance(store, (str, Path)):
        with Store(store) as opened:
            return run(plan, opened, jobs, progress, views=views)
    units = _units(plan, store, views)
    values = _finished(plan, units, store)
    reused = len(values)
    missing = [unit for unit in units if unit not in values]
    if missing:
        tasks = _tasks(plan, missing, jobs)
        # With one job the kernels take the cores; with more they share the cores that too few tasks leave idle.
        threads = None if jobs == 1 else max(1, jobs // len(tasks))
        state = _State(plan, Inputs(plan), threads, tasks)
        errors = _work(state, missing, values, store, jobs, _Clock(plan, units, missing, progress))
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
    """Units that the store holds with every metric the plan asks for."""
    if store is None:
        return {}
    found = store.get(unit.key for unit in units)
    return {
        unit: found[unit.key]
        for unit in units
        if unit.key in found
        and (unit.split is None or set(plan.metrics) <= set(found[unit.key].get("scores") or ()))
        and (unit.split is not None or "view" in found[unit.key])
    }


def _tasks(plan: Plan, missing: list[_Unit], jobs: int) -> deque[_Task]:
    """Tasks of one learner and some folds; no more per learner than there are jobs, so that folds share their work."""
    repetitions, folds = plan.design.repetitions, len(plan.splits)
    groups: dict[tuple[int, int], list[_Unit]] = {}
    for unit in missing:
        if unit.split is None:
            group = jobs
        elif repetitions >= jobs:
            group = plan.splits[unit.split].repetition * jobs // repetitions
        else:
            group = unit.split * jobs // folds
        groups.setdefault((unit.learner, group), []).append(unit)
    tasks = [
        _Task(learner, tuple(units), _seconds(plan, learner) * len(units)) for (learner, _), units in groups.items()
    ]
    # The longest first keeps every thread busy to the end; a single thread may as well go in catalogue order.
    tasks.sort(key=lambda task: -task.cost if jobs > 1 else (task.units[0].split is None))
    return deque(tasks)


def _seconds(plan: Plan, number: int) -> float:
    """Rough seconds of one fold, for the order of the work and the time left."""
    estimator = plan.learners[number].estimator
    rows, columns = plan.features.frame.shape
    if not isinstance(estimator, Estimator):
        return 1e-3 + 1e-6 * rows * columns
    tested = plan.splits[0].test.shape[0]
    try:
        fitted = estimator.estimate_cost(rows - tested, columns).seconds
        return 1e-3 + float(fitted + estimator.estimate_predict_cost(rows - tested, columns, tested).seconds)
    except Exception:
        return 1e-3


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
    with threadpool_limits(limits=1, user_api="blas"), _heard_warnings():
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
                arrived = [state.outbox.get()]
                with contextlib.suppress(queue.Empty):
                    while True:
                        arrived.append(state.outbox.get_nowait())
                idle += sum(unit is None for unit, _ in arrived)
                _keep(state, arrived, values, failed, store)
                clock.tick([(unit, value) for unit, value in arrived if unit is not None])
        except BaseException:
            state.stop.set()
            with contextlib.suppress(queue.Empty):
                arrived = []
                while True:
                    arrived.append(state.outbox.get_nowait())
            with contextlib.suppress(AssayError):
                _keep(state, [a for a in arrived if a[0] is not None], values, failed, store)
            raise
    return failed


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
            finished.append((unit.key, unit.what, value))
    if store is not None and finished:
        store.put(finished)


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
        self, plan: Plan, units: list[_Unit], missing: list[_Unit], progress: Callable[[Progress], None] | None
    ):
        self.progress = progress
        self.total, self.done = len(units), len(units) - len(missing)
        self.start = time.perf_counter()
        if progress is None:
            return
        self.estimated = np.array([_seconds(plan, number) for number in range(len(plan.learners))])
        self.left = np.bincount([unit.learner for unit in missing], minlength=len(plan.learners))
        self.spent, self.measured = np.zeros(len(plan.learners)), np.zeros(len(plan.learners))
        if self.done:
            progress(Progress(self.done, self.total, "found in the store", None))

    def tick(self, units: list[tuple[_Unit, dict[str, Any] | BaseException]]) -> None:
        self.done += len(units)
        if self.progress is None or not units:
            return
        for unit, value in units:
            self.left[unit.learner] -= 1
            if isinstance(value, dict):
                self.measured[unit.learner] += 1
                self.spent[unit.learner] += value["fit_seconds"] + value.get("predict_seconds", 0.0)
        self.progress(Progress(self.done, self.total, units[-1][0].what, self._seconds_left()))

    def _seconds_left(self) -> float:
        worked = float(self.spent.sum())
        known = self.measured > 0
        scale = worked / float(self.estimated @ self.measured) if known.any() else 1.0
        each = np.where(known, self.spent / np.maximum(self.measured, 1.0), scale * self.estimated)
        # Seconds of work per second that passed: the threads, less what else the run does.
        pace = worked / (time.perf_counter() - self.start) if worked > 0.0 else 1.0
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
    prototype = learner.prototype(threads=state.threads)
    shared = state.inputs.shared(learner)
    if shared is None:
        for unit, split in zip(units, splits):
            assert unit.split is not None
            texts = _listen()
            train, target, test = state.inputs.fold(learner, unit.split)
            begin = time.perf_counter()
            model = learner.prototype(threads=state.threads).fit(train, target)
            fitted = time.perf_counter() - begin
            yield unit, _score(plan, model, test, split, fitted, texts)
        return
    matrix, params = shared
    prototype.set_params(**params)
    models = _models(prototype, matrix, plan.y, [(split.train, split.test) for split in splits])
    for unit, split in zip(units, splits):
        texts = _listen()
        begin = time.perf_counter()
        model = next(models)
        fitted = time.perf_counter() - begin
        assert unit.split is not None
        yield unit, _score(plan, model, state.inputs.test_rows(unit.split), split, fitted, texts)


def _models(prototype: Any, matrix: np.ndarray, y: np.ndarray, folds: list[Any]) -> Iterator[Any]:
    if hasattr(prototype, "fit_folds"):
        return prototype.fit_folds(matrix, y, folds)
    return (clone(prototype).fit(matrix[train], y[train]) for train, _ in folds)


def _score(
    plan: Plan, model: Any, test: Any, split: Any, fit_seconds: float, texts: list[tuple[str, str]]
) -> dict[str, Any]:
    truth = plan.y[split.test]
    begin = time.perf_counter()
    if plan.classes is None:
        labels, shares = np.asarray(model.predict(test), dtype=np.float64), None
    else:
        labels, shares = _classify(model, test, plan.classes.shape[0])
    predicted = time.perf_counter() - begin
    if plan.classes is None:
        evidence = Evidence(truth, values=labels)
    else:
        classes = np.arange(plan.classes.shape[0])
        evidence = Evidence(truth, labels=labels, probabilities=shares, classes=classes)
    scores = {name: get_metric(name).of(evidence) for name in plan.metrics}
    confusion = None if plan.classes is None else evidence.confusion.tolist()
    return {
        "scores": scores,
        "confusion": confusion,
        "fit_seconds": fit_seconds,
        "predict_seconds": predicted,
        "warnings": _heard(texts),
    }


def _classify(model: Any, test: Any, n_classes: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Predicted codes and class shares; a class that the training rows lacked has share 0."""
    shares = None
    if hasattr(model, "predict_proba"):
        known = np.asarray(model.classes_, dtype=np.int64)
        given = np.asarray(model.predict_proba(test), dtype=np.float64)
        if known.shape[0] == n_classes:
            shares = given
        else:
            shares = np.zeros((given.shape[0], n_classes))
            shares[:, known] = given
    if shares is not None and isinstance(model, Classifier):
        return np.argmax(shares, axis=1), shares
    # Other packages may predict by a rule of their own (a margin), which need not be the largest share.
    return np.asarray(model.predict(test)).astype(np.int64), shares


def _view_value(state: _State, learner: Learner) -> dict[str, Any]:
    """The preparation in words, and what the learner looks like when it is fitted on all rows."""
    texts = _listen()
    rows, target, words = state.inputs.whole(learner)
    view, seconds = None, 0.0
    if isinstance(learner.estimator, Estimator) and type(learner.estimator).view is not Estimator.view:
        begin = time.perf_counter()
        model = learner.prototype(threads=state.threads).fit(rows, target)
        seconds = time.perf_counter() - begin
        view = model.view()
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
