"""One name for one thing: parameters, fitted attributes and class names, over the catalogue and all that is public."""

from __future__ import annotations

import importlib
import inspect
import re

import pytest

from assay import catalogue

ROOMS = ("assay", "assay.data", "assay.prepare", "assay.evaluate", "assay.experiment", "assay.explain")
OTHER_WORDS = {
    "seed": "random_state",
    "random_seed": "random_state",
    "jobs": "n_jobs",
    "threads": "n_jobs",
    "n_threads": "n_jobs",
    "weights_of_rows": "sample_weight",
}
OTHER_ATTRIBUTES = {
    "centre_": "center_",
    "centres_": "centers_",
    "gap_": "dual_gap_",
    "duality_gap_": "dual_gap_",
    "n_iterations_": "n_iter_",
}
every_entry = pytest.mark.parametrize("entry", catalogue.entries(), ids=lambda entry: entry.id)


def attributes(cls: type) -> dict[str, str]:
    """What the docstring says a fit leaves behind, by name."""
    found = re.search(r"^Attributes\n-+\n(.*?)(?:\n\n|\Z)", inspect.getdoc(cls) or "", flags=re.M | re.S)
    lines = re.findall(r"^(\w[\w, ]*) : (.*)$", found[1], flags=re.M) if found else []
    return {name.strip(): meaning for names, meaning in lines for name in names.split(",")}


@pytest.mark.parametrize("room", ROOMS)
def test_public_signatures_have_one_word_for_a_seed_and_for_threads(room):
    package = importlib.import_module(room)
    for name in dir(package):
        thing = getattr(package, name)
        if name.startswith("_") or not callable(thing) or not getattr(thing, "__module__", "").startswith("assay"):
            continue
        words = set(inspect.signature(thing).parameters) & set(OTHER_WORDS)
        assert not words, f"{room}.{name} says {words}; the word is {[OTHER_WORDS[word] for word in words]}"


@every_entry
def test_parameters_and_attributes_have_one_word_for_one_thing(entry):
    cls = entry.load()
    assert not set(cls.__parameters__) & set(OTHER_WORDS)
    named = attributes(cls)
    assert not set(named) & set(OTHER_ATTRIBUTES)
    assert all(name.endswith("_") for name in named), named
    if "rules_" in named:
        assert named["rules_"].startswith("RuleSet")


def test_cv_means_folds_wherever_it_stands():
    """A number, a splitter or pairs of rows, read by `base.cv`; the name of a design is given as `design`."""
    public = {
        f"{room}.{name}": getattr(importlib.import_module(room), name)
        for room in ROOMS
        for name in dir(importlib.import_module(room))
    }
    defaults = {
        name: inspect.signature(thing).parameters["cv"].default
        for name, thing in public.items()
        if inspect.isfunction(thing) and "cv" in inspect.signature(thing).parameters
    }
    assert "assay.explain.drop_column_importance" in defaults
    defaults |= {
        e.id: e.load().__parameters__["cv"].default for e in catalogue.entries() if "cv" in e.load().__parameters__
    }
    assert {
        name: default for name, default in defaults.items() if default is not None and type(default) is not int
    } == {}


def test_attributes_are_found_in_a_docstring():
    assert {"classes_", "rules_", "branches_"} <= set(attributes(catalogue.get("one-r").load()))


def test_a_suffix_says_the_task_and_stands_where_a_method_has_both():
    tasks = {entry.class_path.rpartition(".")[2]: entry.task for entry in catalogue.entries()}
    for name, task in tasks.items():
        assert not name.endswith("Classifier") or task == "classify", name
        assert not name.endswith("Regressor") or task == "regress", name
        assert f"{name}Classifier" not in tasks and f"{name}Regressor" not in tasks, f"{name} needs a suffix"
