"""The registry of tasks: records that agree with metrics, base classes and scikit-learn's tags."""

from __future__ import annotations

import importlib

import pytest
from sklearn.utils import get_tags

from assay import catalogue
from assay.base import ParameterError
from assay.catalogue import PLANNED, TASKS, check_task, get_task
from assay.evaluate import default_metrics, get_metric

every_task = pytest.mark.parametrize("task", TASKS.values(), ids=str)


@every_task
def test_usual_metrics_exist_and_measure_the_outputs_of_the_task(task):
    assert all(get_metric(name).task == task.name and get_metric(name).needs in task.outputs for name in task.metrics)


@every_task
def test_an_output_belongs_to_one_task(task):
    others = [other for other in TASKS.values() if other is not task and set(other.outputs) & set(task.outputs)]
    assert not others


@every_task
def test_the_base_class_has_the_type_that_the_task_names(task):
    module, _, name = task.base.rpartition(".")
    base = getattr(importlib.import_module(module), name)
    assert get_tags(base()).estimator_type == task.estimator_type


@pytest.mark.parametrize("entry", catalogue.entries(), ids=lambda entry: entry.id)
def test_every_class_inherits_the_base_of_its_task(entry):
    module, _, name = TASKS[entry.task].base.rpartition(".")
    assert issubclass(entry.load(), getattr(importlib.import_module(module), name))


def test_planned_tasks_have_a_target_and_metrics_and_default_metrics_come_from_the_record():
    assert PLANNED == ("classify", "regress")
    for name in PLANNED:
        assert TASKS[name].target and default_metrics(name) == TASKS[name].metrics
    assert default_metrics("cluster")[0] == "adjusted_rand"


def test_a_task_that_is_not_there_is_refused_in_one_sentence():
    for call in (get_task, lambda name: check_task("Plan", name), default_metrics):
        with pytest.raises(ParameterError, match=r"parameter 'task' must be one of .*; got 'guess'\.$"):
            call("guess")
    with pytest.raises(ParameterError, match=r"Plan: parameter 'task' must be one of classify, regress; got 'rank'"):
        check_task("Plan", "rank")
    assert check_task("Plan", None) is None
