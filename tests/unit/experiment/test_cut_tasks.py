"""Claims about threads that have nothing left to do: they take the last units of a task that is under way."""

from __future__ import annotations

import importlib
import threading
import time
from collections import deque

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from assay.data import load_dataset
from assay.experiment import Plan, run
from assay.experiment.work import Task, Unit, outcomes

run_module = importlib.import_module("assay.experiment.run")
engines_module = importlib.import_module("assay.experiment.engines")


@pytest.fixture(scope="module")
def iris():
    return load_dataset("iris")


def _running(n_units: int, seconds: list[float], monkeypatch):
    """A task of so many units under way, whose finished units took these seconds."""
    clock = iter(np.cumsum([100.0, *seconds]).tolist())
    now = [next(clock)]
    monkeypatch.setattr(run_module.time, "perf_counter", lambda: now[0])
    units = tuple(Unit(0, k, "", f"unit {k}") for k in range(n_units))
    going = run_module._Going(Task(0, units, 10.0))
    for k in range(len(seconds)):
        now[0] = next(clock)
        assert going.finish(units[k])
    return going, units


@pytest.mark.parametrize(
    ("seconds", "taken"),
    [
        ([], 4),  # nothing is known: half of what is not begun
        ([1.0, 1.0], 4),  # 7 are not begun: this thread keeps 3 of them, beside the one at hand
        ([4.0, 1.0, 1.0], 1),  # the common work takes as long as three units
        ([9.0, 1.0, 1.0], 0),  # it takes longer than all that is left
        ([0.001, 0.001], 0),  # too short to be worth a thread
    ],
)
def test_an_idle_thread_takes_as_many_of_the_last_units_as_end_with_the_others(seconds, taken, monkeypatch):
    going, units = _running(10 if len(seconds) == 2 else 8 if not seconds else 9, seconds, monkeypatch)
    cut = going.cut()
    assert (cut is None) == (taken == 0)
    if cut is not None:
        assert cut.units == units[-taken:] and cut.learner == 0 and 0.0 < cut.cost < 10.0
        assert not going.finish(units[-1]) and going.finish(units[len(seconds)])


def test_a_task_that_is_cut_by_an_idle_thread_gives_the_results_of_one_thread(iris, monkeypatch):
    """All folds of the tree are one task; the other thread ends with the constant and takes some of them."""
    plan = Plan(iris, "species", learners=["zero-r", "cart-classifier"], design="5x10")
    alone = run(plan, n_jobs=1).to_dict()
    begun, looked, cut, own = threading.Event(), threading.Event(), [], run_module._Going.cut
    one = run_module._tasks

    def in_one_task(plan, missing, jobs, values=None):
        tasks = one(plan, missing, 1, values)
        return deque(sorted(tasks, key=lambda task: -task.learner))

    def watched(going):
        begun.wait(600)
        task = own(going)
        cut.append(task)
        looked.set()
        return task

    def slowly(bench, task):
        for outcome in outcomes(bench, task):
            yield outcome
            if bench.plan.learners[task.learner].id == "cart-classifier":
                begun.set()
                looked.wait(600)

    monkeypatch.setattr(run_module, "_tasks", in_one_task)
    monkeypatch.setattr(run_module, "PAUSE", 0.0)
    monkeypatch.setattr(run_module._Going, "cut", watched)
    monkeypatch.setattr(engines_module, "outcomes", slowly)
    done = []
    found = run(plan, n_jobs=2, progress=lambda where: done.append(where.done))
    assert any(task is not None for task in cut)
    assert found.to_dict() == alone and max(done) == 2 * 51


def test_an_error_in_a_task_that_was_cut_is_told_once_and_in_the_words_of_the_first_fold(iris, monkeypatch):
    class Refusing(DecisionTreeClassifier):
        def fit(self, X, y, **given):
            time.sleep(0.002)
            raise ValueError("no fit today")

    monkeypatch.setattr(run_module, "PAUSE", 0.0)
    plan = Plan(iris, "species", learners=["zero-r", Refusing()], design="5x10")
    sentences = [run(plan, n_jobs=jobs).failed[0].error for jobs in (1, 2)]
    assert sentences[0] == sentences[1] and "no fit today" in sentences[0]
