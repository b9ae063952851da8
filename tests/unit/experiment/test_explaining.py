"""The explanation of the recommended learner, for the report."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from assay.data import Table, load_dataset
from assay.experiment import Plan, explain_results, run


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
