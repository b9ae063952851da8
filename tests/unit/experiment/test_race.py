"""Claims about races: who is clearly worse stops, nobody else, and the error rate is kept."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assay.base.errors import DesignError
from assay.data import load_dataset
from assay.experiment import Plan, run

LEARNERS = ["zero-r", "naive-bayes", "lda", "one-r"]


@pytest.fixture(scope="module")
def plan():
    return Plan(load_dataset("iris"), "species", learners=LEARNERS, design="4x5", race=True)


@pytest.fixture(scope="module")
def results(plan):
    return run(plan)


def test_a_hopeless_learner_stops_early_and_says_so(results):
    by_id = {one.id: one for one in results.learners}
    assert by_id["zero-r"].stopped.repetitions == 1 and by_id["zero-r"].error is None
    assert "left the race after 1 of 4 repetitions" in by_id["zero-r"].stopped.words("ZeroR", 4)
    assert by_id["naive-bayes"].complete and by_id["lda"].complete
    row = next(row for row in results.to_dict()["learners"] if row["id"] == "zero-r")
    assert row["race"]["repetitions"] == 1 and row["scores"] is None and not results.failed
    assert "left the race" in str(results)


def test_those_who_stay_have_the_scores_of_a_run_without_a_race(plan, results):
    free = run(Plan(load_dataset("iris"), "species", learners=LEARNERS, design="4x5"))
    for raced, other in zip(results.learners, free.learners):
        if raced.complete:
            assert all(np.array_equal(raced.scores[name], other.scores[name]) for name in other.scores)


def test_the_race_is_the_same_for_any_number_of_jobs_and_after_a_break(plan, results, tmp_path):
    told = results.to_dict()
    assert run(plan, tmp_path / "s", n_jobs=3).to_dict() == told
    again = run(plan, tmp_path / "s")
    assert again.to_dict() == told and again.reused > 0


def test_the_levels_of_all_looks_add_up_to_alpha(plan):
    looks = plan.design.repetitions - 1
    assert looks * plan.race_level + plan.level == pytest.approx(plan.alpha)


def test_a_design_without_repetitions_has_no_race():
    for design in ("10-fold", "holdout", "5x2"):
        with pytest.raises(DesignError, match="no repetitions between which"):
            Plan(load_dataset("iris"), "species", learners=["zero-r", "one-r"], design=design, race=True)


@pytest.mark.slow
def test_equal_learners_are_called_worse_no_more_often_than_alpha():
    """On noise all learners are equal: any learner called worse, in the race or at the end, is an error."""
    wrong, stopped, runs = 0, 0, 300
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        frame = pl.DataFrame(rng.normal(size=(80, 4)), schema=list("abcd")).with_columns(
            y=pl.Series(rng.permutation(["u", "v"] * 40))
        )
        learners = ["naive-bayes", "lda", ("knn-classifier", {"n_neighbors": 5}), ("cart-classifier", {"max_depth": 3})]
        found = run(Plan(frame, "y", learners=learners, design="4x5", metrics=["accuracy"], race=True), views=False)
        out = [one for one in found.learners if one.stopped is not None]
        worse = [row for row in found.comparison.summary.values() if row["verdict"] == "worse"]
        stopped += bool(out)
        wrong += bool(out or worse)
    # Binomial with 5 %: more than 23 of 300 would happen in 2 % of cases.
    assert wrong <= 23, (wrong, stopped)
    assert stopped <= 8, (wrong, stopped)


@pytest.fixture(scope="module")
def line():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 300))
    return pl.DataFrame({"x": x, "z": z, "y": 5 * x + rng.normal(size=300)})


def test_the_text_names_who_left_where_one_is_left(line):
    learners = {"near": ("ridge", {}), "far": ("lasso", {"alpha": 100.0})}
    results = run(Plan(line, "y", learners=learners, design="4x5", race=True), views=False)
    assert results.one("far").stopped is not None
    comparison = results.plain_comparison
    assert "far left the race as worse" in comparison.sentence and "no other learner" not in comparison.sentence
    assert comparison.recommendation["reason"].endswith("and far left the race as worse.")


def test_the_text_names_who_left_beside_those_who_stay(line):
    learners = {"near": ("ridge", {}), "same": ("least-squares", {}), "far": ("lasso", {"alpha": 100.0})}
    results = run(Plan(line, "y", learners=learners, design="4x5", race=True), views=False)
    sentence = results.plain_comparison.sentence
    assert "equivalent" in sentence and "far left the race as worse." in sentence
