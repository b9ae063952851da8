"""The work: units of one learner on one fold, and what each of them leaves behind.

A unit is numbers and words alone, so that any executor that has the plan can do it: a thread of the run, a process of
its own (`apart`), another machine. A unit's value depends on the plan and the unit alone, never on who does it, on the
other units of its task or on their order. A value is plain data with the predictions of the rows left out; a unit that
could not be done leaves a `Failure` with its sentence.
"""

from __future__ import annotations

import contextlib
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base.cv import drawn_rows
from ..base.errors import AssayError, AssayWarning, DesignError, plain
from ..base.estimator import Estimator
from ..base.folds import MOST_ANSWERS, Fold, answers_are_fits, fit_folds, predict_folds
from ..base.threads import thread_count
from ..evaluate import get_metric
from ..evaluate.resampling import rows_of
from .choices import chosen_by, chosen_setting
from .design_choice import VIEWED_ROWS
from .inputs import Inputs, SharedTable
from .plan import Learner, Plan
from .predictions import FoldPredictions, measure_folds
from .tuning import InnerFolds, best_trial, search_trials, with_setting

MOMENT = 0.02
"""Seconds for which finished predictions wait for those of further folds, to be scored with them."""


class Unit(NamedTuple):
    """One learner on one fold, or on all rows (`split` None); of a learner that is tuned also each `trial` there."""

    learner: int
    split: int | None
    key: str
    what: str
    trial: int | None = None


@dataclass(frozen=True)
class Task:
    """Units of one learner that are done one after the other, sharing what their folds have in common."""

    learner: int
    units: tuple[Unit, ...]
    cost: float
    known: tuple[tuple[int | None, int, Mapping[str, Any]], ...] = ()
    """Trials that were made before: split, number and value of each."""


@dataclass(frozen=True)
class Failure:
    """Why a unit could not be done, in one sentence."""

    sentence: str
    final: bool = False
    """True if the learner's other tasks would end the same way: it went over a limit."""
    lost: bool = False
    """True if the process that did it is gone, be it the learner's doing or not."""

    @classmethod
    def of(cls, learner: Learner, error: BaseException) -> Failure:
        """The sentence of an error under the learner's title; one that is not Assay's own is told with its kind."""
        text = plain(error, 400)
        if isinstance(error, AssayError):
            said = text.removeprefix(f"{type(learner.estimator).__name__}: ").removeprefix(f"{learner.title}: ")
            return cls(f"{learner.title}: {said}")
        text = text or "no message"
        return cls(f"{learner.title}: {type(error).__name__}: {text}" + ("" if text.endswith(".") else "."))


@dataclass(frozen=True, eq=False)
class Bench:
    """What whoever does the work needs: the plan, its prepared rows, and how many threads a fit may take."""

    plan: Plan
    inputs: Inputs
    threads: int | None = None


Outcome = tuple[Unit, dict[str, Any] | Failure]


FAILS: tuple[type[BaseException], ...] = (Exception, SystemExit)
"""What a learner may raise and fails by: one that asks the interpreter to end fails as any other."""


def outcomes(bench: Bench, task: Task, fails: tuple[type[BaseException], ...] = FAILS) -> Iterator[Outcome]:
    """The values of a task's units as they are finished; after an error the rest of the learner's units fail with
    it."""
    learner = bench.plan.learners[task.learner]
    done: set[Unit] = set()
    try:
        for unit, value in _values(bench, learner, task):
            done.add(unit)
            yield unit, value
    except fails as error:
        for unit in task.units:
            if unit not in done:
                yield unit, Failure.of(learner, error)


def _values(bench: Bench, learner: Learner, task: Task) -> Iterator[tuple[Unit, dict[str, Any]]]:
    if learner.search is not None:
        for unit in task.units:
            if unit.trial is None:
                yield from _tuned_values(bench, learner, unit, task)
        return
    yield from _fold_values(bench, learner, [unit for unit in task.units if unit.split is not None])
    for unit in task.units:
        if unit.split is None:
            yield unit, _view_value(bench, learner)


def _tuned_values(bench: Bench, learner: Learner, unit: Unit, task: Task) -> Iterator[tuple[Unit, dict[str, Any]]]:
    """The trials of a search inside the training rows of a fold (or all rows), and what its winner does there."""
    plan = bench.plan
    _listen()
    rows = np.arange(len(plan.y)) if unit.split is None else plan.splits[unit.split].train
    inner = InnerFolds(plan, bench.inputs, learner, rows, plan.stream(unit.split), bench.threads)
    trials = {number: value for split, number, value in task.known if split == unit.split}
    units = {one.trial: one for one in task.units if one.trial is not None and one.split == unit.split}
    for number, trial in search_trials(inner, dict(trials)):
        trials[number] = trial
        if number in units:
            yield units[number], trial
    best = best_trial(trials, get_metric(plan.metrics[0]).greater_is_better)
    if best is None:
        raise DesignError(learner.title, "every setting of the search", "failed", plain(trials[0]["error"], 300))
    tuned = with_setting(learner, trials[best]["parameters"])
    value = _view_value(bench, tuned) if unit.split is None else next(_fold_values(bench, tuned, [unit]))[1]
    if unit.split is not None:
        value["chosen"] = chosen_setting(trials[best]["parameters"]) | value["chosen"]
    yield unit, value


def _fold_values(bench: Bench, learner: Learner, units: list[Unit]) -> Iterator[tuple[Unit, dict[str, Any]]]:
    if not units:
        return
    plan = bench.plan
    splits = [plan.splits[unit.split] for unit in units if unit.split is not None]
    shared = bench.inputs.shared(learner)
    if shared is None:
        for unit, split in zip(units, splits):
            assert unit.split is not None
            texts = _listen()
            train, target, test = bench.inputs.fold(learner, unit.split)
            prototype = learner.prototype(threads=bench.threads, seeds=plan.seeds(learner, unit.split))
            begin = time.perf_counter()
            model = prototype.fit(train, target)
            fitted = time.perf_counter() - begin
            yield unit, _score(plan, model, test, split.test, fitted, texts)
        return
    numbers = [unit.split for unit in units if unit.split is not None]
    folds = rows_of(splits)
    texts = _listen()
    begin = time.perf_counter()
    said = _said(bench, learner, shared, numbers, folds)
    if said is not None:
        yield from _said_values(bench, learner, shared, units, folds, said, begin, texts)
        return
    models = _models(bench, learner, shared, numbers, folds)
    for unit, number, fold in zip(units, numbers, folds):
        model = next(models)
        ready = time.perf_counter()
        yield unit, _score(plan, model, shared.rows(number, fold[1]), fold[1], ready - begin, texts)
        texts = _listen()
        begin = time.perf_counter()


def _said_values(
    bench: Bench,
    learner: Learner,
    shared: SharedTable,
    units: list[Unit],
    folds: list[Fold],
    said: Iterator[np.ndarray | None],
    begin: float,
    texts: list[tuple[str, str]],
) -> Iterator[tuple[Unit, dict[str, Any]]]:
    """The values of folds that need no models, as many of them scored together as a moment gives."""
    plan, done = bench.plan, 0
    while done < len(units):
        common = time.perf_counter()
        some = _answers(said, folds[done:], plan.n_classes)
        ready = time.perf_counter()
        heard = _heard(texts)
        kept = [k for k, answer in enumerate(some) if answer is not None]
        tests = [folds[done + k][1] for k in kept]
        answers = [answer for answer in some if answer is not None]
        measured = iter(
            measure_folds(answers, tests, plan.y, plan.metrics, plan.n_classes, thread_count(bench.threads))
        )
        for unit, fold, answer in zip(units[done:], folds[done:], some):
            if answer is None:
                assert unit.split is not None
                texts, start = _listen(), time.perf_counter()
                model = next(_models(bench, learner, shared, [unit.split], [fold]))
                fitted = time.perf_counter() - start
                yield unit, _score(plan, model, shared.rows(unit.split, fold[1]), fold[1], fitted, texts)
                continue
            # Without a model what the folds have in common counts as fit, and the rest as prediction, or as fit too.
            fitted = ready if answers_are_fits(learner.estimator) else common
            seconds = (fitted - begin) / len(kept), (ready - fitted) / len(kept)
            predictions, scores, confusion = next(measured)
            yield unit, _value(predictions, scores, confusion, *seconds, heard, {})
            heard = []
        done += len(some)
        texts, begin = _listen(), time.perf_counter()


def _answers(said: Iterator[np.ndarray | None], folds: list[Fold], n_classes: int | None) -> list[np.ndarray | None]:
    """The next answers: those that are there within a moment, and as many as may be scored together."""
    end, some, held = time.perf_counter() + MOMENT, [], 0
    each = n_classes or 1
    for fold, answer in zip(folds, said):
        some.append(answer)
        held += fold[1].shape[0]
        if max(held, len(some) * each) * each >= MOST_ANSWERS or time.perf_counter() > end:
            break
    return some


def _said(
    bench: Bench, learner: Learner, shared: SharedTable, numbers: list[int], folds: list[Fold]
) -> Iterator[np.ndarray | None] | None:
    """What is known of the test rows of some folds without models: see `predict_folds`."""
    prototype, seeds = _prototype(bench, learner, shared, numbers)
    transforms = shared.transforms(numbers, thread_count(bench.threads), folds)
    return predict_folds(prototype, shared.matrix, bench.plan.y, folds, transforms, seeds)


def _prototype(
    bench: Bench, learner: Learner, shared: SharedTable, numbers: list[int]
) -> tuple[Any, list[dict[str, int]] | None]:
    """The learner as some folds fit it, and the seeds of each where it draws."""
    seeds = [bench.plan.seeds(learner, number) for number in numbers] if learner.open_seeds else None
    return learner.prototype(threads=bench.threads).set_params(**shared.params), seeds


def _models(
    bench: Bench, learner: Learner, shared: SharedTable, numbers: list[int], folds: list[Fold]
) -> Iterator[Any]:
    """The fitted models of some folds, from one call that shares their work; each may have seeds of its own."""
    prototype, seeds = _prototype(bench, learner, shared, numbers)
    transforms = shared.transforms(numbers, thread_count(bench.threads), folds)
    return fit_folds(prototype, shared.matrix, bench.plan.y, folds, transforms=transforms, settings=seeds)


def _score(
    plan: Plan, model: Any, test: Any, rows: np.ndarray, fit_seconds: float, texts: list[tuple[str, str]]
) -> dict[str, Any]:
    begin = time.perf_counter()
    predictions = FoldPredictions.by(model, test, plan.n_classes)
    predicted = time.perf_counter() - begin
    scores, confusion = predictions.measure(plan.y[rows], plan.metrics, plan.n_classes)
    return _value(predictions, scores, confusion, fit_seconds, predicted, _heard(texts), chosen_by(model))


def _value(
    predictions: FoldPredictions,
    scores: dict[str, float],
    confusion: Any,
    fit_seconds: float,
    predict_seconds: float,
    warnings: list[list[str]],
    chosen: dict[str, Any],
) -> dict[str, Any]:
    return {
        "scores": scores,
        "confusion": confusion,
        "fit_seconds": fit_seconds,
        "predict_seconds": predict_seconds,
        "warnings": warnings,
        "chosen": chosen,
        "predictions": predictions,
    }


def _view_value(bench: Bench, learner: Learner) -> dict[str, Any]:
    """The preparation in words, and what the learner looks like when it is fitted on all rows, or on a sample of very
    many, which says so."""
    texts = _listen()
    drawn = drawn_rows(len(bench.plan.y), VIEWED_ROWS, None if bench.plan.classes is None else bench.plan.y)
    rows, target, words = bench.inputs.whole(learner, drawn)
    if drawn is not None:
        words = [*words, f"these words and the picture are of {len(drawn):,} drawn rows of {len(bench.plan.y):,}"]
    view, seconds = None, 0.0
    if isinstance(learner.estimator, Estimator) and type(learner.estimator).view is not Estimator.view:
        begin = time.perf_counter()
        model = learner.prototype(threads=bench.threads).fit(rows, target)
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
def heard_warnings() -> Iterator[None]:
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
