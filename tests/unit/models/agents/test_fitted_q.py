"""Fitted Q iteration: values of planning, any regressor, batches of steps, cart-pole far above chance."""

from __future__ import annotations

import numpy as np
import pytest

from assay.base import DataError
from assay.models.agents import CartPole, FittedQ, MarkovDecisionProcess, grid_of
from assay.models.linear import Ridge
from assay.models.trees import CartRegressor


@pytest.fixture(scope="module")
def world():
    return grid_of(["S..", "...", "..G"], max_steps=100)


def test_values_are_those_of_planning_where_every_step_was_tried(world):
    best = MarkovDecisionProcess(gamma=0.9).fit(world)
    tree = CartRegressor()
    agent = FittedQ(regressor=tree, gamma=0.9, n_episodes=40, n_iterations=60, random_state=0).fit(world)
    # A full tree over columns of 0 and 1 is a table, and regressions on it are value iteration.
    np.testing.assert_allclose(agent.action_values(np.arange(8)), best.q_values_[:8], atol=1e-2)
    assert agent.changes_[-1] < 0.01 < agent.changes_[0]
    assert agent.play(world, 2).tolist() == [-4.0, -4.0]


@pytest.mark.parametrize("regressor", [None, Ridge(alpha=1e-6)])
def test_any_regressor_learns_the_way(world, regressor):
    agent = FittedQ(regressor=regressor, n_episodes=30, n_iterations=15, random_state=0).fit(world)
    assert agent.play(world, 1)[0] == -4.0


def test_rounds_add_steps_and_the_seed_settles_all(world):
    made = [FittedQ(n_episodes=5, n_rounds=2, n_iterations=5, random_state=3, trace=True).fit(world) for _ in range(2)]
    np.testing.assert_array_equal(made[0].action_values(np.arange(9)), made[1].action_values(np.arange(9)))
    assert made[0].returns_.shape == (1, 10) and len(made[0].trace_) == 2
    assert made[0].trace_[1]["values"]["steps"] == made[0].n_steps_ > made[0].trace_[0]["values"]["steps"]


@pytest.mark.slow
def test_a_pole_is_balanced_far_longer_than_by_chance():
    agent = FittedQ(gamma=0.95, n_episodes=60, n_iterations=20, random_state=0).fit(CartPole())
    chance = agent.returns_.mean()
    assert agent.play(CartPole(), 10, random_state=0).mean() > 2 * chance


def test_what_is_no_regressor_is_refused(world):
    with pytest.raises(DataError, match="must have fit and predict"):
        FittedQ(regressor="trees", n_episodes=1).fit(world)
