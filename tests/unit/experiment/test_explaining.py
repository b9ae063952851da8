"""The explanation of the recommended learner, for the report."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from assay.data import Table, load_dataset
from assay.experiment import Plan, Store, explain_results, explaining, run, stored_runs


@pytest.fixture(scope="module")
def results():
    return run(Plan(load_dataset("customers"), "churned", learners=["zero-r", "naive-bayes"], design="5-fold"))


def test_it_names_the_columns_of_the_table_and_is_plain_data(results):
    found = explain_results(results)
    assert found["learner"] == "naive-bayes" and set(found["importance"]["names"]) == set(results.plan.columns)
    assert json.dumps(found) == json.dumps(explain_results(results)), "the same results, the same explanation"
    assert 2 <= len(found["dependence"]) <= 4 and found["surrogate"]["fidelity"] > 0.6
    low, values = np.array(found["importance"]["low"][0]), np.array(found["importance"]["values"][0])
    assert (low <= values).all() and "had not seen" in found["rows"]


def test_numbers_are_explained_and_guessing_is_not():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    frame = pl.DataFrame({"x": x, "noise": rng.normal(size=200), "y": 3 * x + rng.normal(size=200)})
    plan = Plan(Table.from_frame(frame), "y", learners=["zero-r-regressor", "least-squares"], design="3-fold")
    found = explain_results(run(plan))
    assert found["importance"]["names"][int(np.argmax(found["importance"]["values"][0]))] == "x"
    alone = Plan(Table.from_frame(frame), "y", learners=["zero-r-regressor"], design="3-fold")
    assert explain_results(run(alone)) is None


def test_a_learner_that_takes_long_is_not_fitted_once_more(results):
    slow = [replace(one, fit_seconds=1e6) for one in results.learners]
    found = explain_results(replace(results, learners=slow))
    assert "importance" not in found and "takes too long" in found["notes"][0]
    lazy = [replace(one, predict_seconds=1e6) for one in results.learners]
    fewer = explain_results(replace(results, learners=lazy))
    assert int(fewer["rows"].split()[0].replace(",", "")) < 450 or "100" in fewer["rows"]


def _count_fits(monkeypatch):
    """A list that grows with every fit that explains."""
    fits, fit = [], explaining._fit
    monkeypatch.setattr(explaining, "_fit", lambda *given: fits.append(1) or fit(*given))
    return fits


def _plan(metrics=("accuracy",), learners=("zero-r", "naive-bayes")):
    return Plan(load_dataset("iris"), "species", learners=list(learners), design="5-fold", metrics=list(metrics))


def test_a_finished_run_is_explained_without_a_fit(tmp_path, monkeypatch):
    fits = _count_fits(monkeypatch)
    with Store(tmp_path / "s") as store:
        first = explain_results(run(_plan(), store), store)
        made = len(fits)
        assert made and first == explain_results(run(_plan())), "kept as it is made"
        fits.clear()
        assert json.dumps(explain_results(run(_plan(), store), store)) == json.dumps(first) and not fits
        # Another metric that is told, another learner beside it, another name of it: the same explanation.
        told = run(_plan(["accuracy", "f1_macro"]), store)
        assert explain_results(told, store) == first and not fits
        named = run(_plan(learners=["zero-r", ("mine", "naive-bayes")]), store)
        assert explain_results(named, store) == {**first, "learner": "mine", "title": "mine"} and not fits
        explain_results(run(_plan(["f1_macro"]), store), store)
        assert fits, "importances are by the metric that decides"


def test_a_damaged_explanation_or_that_of_other_code_is_not_taken(tmp_path, monkeypatch):
    fits = _count_fits(monkeypatch)
    path = tmp_path / "s"
    with Store(path) as store:
        results = run(_plan(), store)
        first = explain_results(results, store)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        changed = connection.execute(
            "UPDATE units SET value = replace(value, 'petal_length', 'petal_lengt_') WHERE what LIKE '%explanation'"
        )
        assert changed.rowcount == 1
        connection.commit()
    fits.clear()
    with Store(path) as store:
        assert explain_results(results, store) == first and fits
        fits.clear()
        assert explain_results(results, store) == first and not fits
        monkeypatch.setattr(explaining, "code_version", lambda *rooms: "other" + "".join(rooms))
        assert explain_results(results, store) == first and fits


def test_an_explanation_goes_with_its_run(tmp_path):
    with Store(tmp_path / "s") as store:
        results = run(_plan(), store)
        units = len(store)
        explain_results(results, store)
        assert len(store) == units + 1
        store.forget(one.id for one in stored_runs(tmp_path / "s"))
        assert len(store) == 0
