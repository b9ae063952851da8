"""The design by what the fits cost, as each learner meets the table."""

import numpy as np
import polars as pl
import pytest

from assay.experiment import Plan
from assay.experiment.design_choice import A_WHILE, choose_design, expected_seconds, viewed_seconds
from assay.experiment.learners import settle_learners


@pytest.mark.parametrize("task", ["classify", "regress"])
def test_the_usual_learners_take_a_minute_of_one_core_at_most_on_a_large_table(task):
    usual = [learner.estimator for learner in settle_learners(None, task, 0)]
    large = choose_design(150_000, 10, usual, smallest_class=70_000)
    assert large.design.name == "holdout-0.25" and large.seconds < A_WHILE
    assert large.seconds == sum(
        expected_seconds(one, 112_500, 37_500, 10) + viewed_seconds(one, 150_000, 10) for one in usual
    )
    small = choose_design(5_000, 10, usual, smallest_class=2_000)
    assert small.design.name in ("3x10", "10-fold") and small.seconds < A_WHILE


def test_a_table_too_small_for_a_hold_out_part_gets_its_folds_whatever_they_take():
    choice = choose_design(19_000, 3_000, [object()], smallest_class=9_000)
    assert choice.design.name == "10-fold" and choice.seconds > A_WHILE and "too small" in choice.reason


def test_a_learner_of_numbers_meets_the_indicators_of_labels():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=400), "town": [f"t{i % 40}" for i in range(400)], "y": ["a", "b"] * 200})
    plan = Plan(frame, "y", learners=["logistic-cv", "naive-bayes"], design="holdout")
    assert [plan.columns_met(learner) for learner in plan.learners] == [41, 2]


def test_as_many_folds_as_groups_are_not_repeated():
    """Each repetition would leave out the same groups, and count as new what is a copy."""
    choice = choose_design(150, 4, [object()], smallest_class=70, n_groups=5)
    assert choice.design.name == "5-fold" and "the same folds" in choice.reason
    assert choose_design(150, 4, [object()], smallest_class=70, n_groups=9).design.name == "10x5"
