"""Every claim of every agent: the best actions of a small world, values that agree; and faults that are caught."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from .small_methods import SmallPlanner, entry_of
from .tables import claiming, named, quick

every_agent = pytest.mark.parametrize(**named(claiming("control")))


class Corridor:
    """Five rooms in a row; action 1 goes right, action 0 left; the last room ends the walk with reward 1.

    Planners read `transitions` (state, action, next state) and `rewards` (state, action); learners use `reset` and
    `step` as Gymnasium has them.
    """

    observation_space = SimpleNamespace(n=5)
    action_space = SimpleNamespace(n=2)

    def __init__(self) -> None:
        self.transitions, self.rewards = np.zeros((5, 2, 5)), np.zeros((5, 2))
        for state in range(4):
            self.transitions[state, 0, max(state - 1, 0)] = self.transitions[state, 1, state + 1] = 1.0
        self.transitions[4, :, 4] = 1.0
        self.rewards[3, 1] = 1.0

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[int, dict]:
        self.state = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict]:
        reward = float(self.rewards[self.state, action])
        self.state = int(self.transitions[self.state, action].argmax())
        return self.state, reward, self.state == 4, False, {}


@every_agent
def test_the_agent_walks_to_the_reward(entry):
    agent = quick(entry).fit(Corridor())
    np.testing.assert_array_equal(np.asarray(agent.predict(np.arange(4))), np.ones(4))


@every_agent
def test_policy_and_values_follow_from_the_values_of_actions(entry):
    agent = quick(entry).fit(Corridor())
    if not hasattr(agent, "q_values_"):
        pytest.skip("keeps no table of values")
    assert agent.q_values_.shape == (5, 2) and np.isfinite(agent.q_values_).all()
    np.testing.assert_array_equal(agent.predict(np.arange(4)), agent.q_values_[:4].argmax(axis=1))
    if hasattr(agent, "values_"):
        np.testing.assert_allclose(agent.values_, agent.q_values_.max(axis=1), rtol=1e-9, atol=1e-9)


@every_agent
def test_same_seed_gives_the_same_bits_whatever_the_number_of_threads(entry):
    declared = entry.load().__parameters__
    given = []
    for jobs in (1, 2, 5):
        agent = quick(entry, **({"n_jobs": jobs} if "n_jobs" in declared else {})).fit(Corridor())
        given.append(getattr(agent, "q_values_", None) if hasattr(agent, "q_values_") else agent.predict(np.arange(5)))
    np.testing.assert_array_equal(given[0], given[1])
    np.testing.assert_array_equal(given[0], given[2])


class GoesLeft(SmallPlanner):
    """Does the opposite of what it knows."""

    def predict(self, states):
        return 1 - super().predict(states)


class Restless(SmallPlanner):
    """Adds noise that no seed governs."""

    def fit(self, world):
        super().fit(world)
        self.q_values_ = self.q_values_ + 1e-9 * np.random.default_rng().random((5, 2))
        return self


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        (GoesLeft, test_the_agent_walks_to_the_reward),
        (GoesLeft, test_policy_and_values_follow_from_the_values_of_actions),
        (Restless, test_same_seed_gives_the_same_bits_whatever_the_number_of_threads),
    ],
)
def test_a_planted_fault_is_caught(fault, check):
    with pytest.raises(AssertionError):
        check(entry_of(fault, "control"))
