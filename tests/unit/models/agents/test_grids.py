"""Built-in worlds: the same outcomes as Gymnasium's, known best ways, letters, both protocols."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from assay.base import DataError, ParameterError
from assay.models.agents import TabularWorld, bandit, cliff_walking, frozen_lake, grid_of, windy_grid

GYMNASIUM = {"CliffWalking-v1": (cliff_walking, (0, 1, 2, 3)), "FrozenLake-v1": (frozen_lake, (3, 2, 1, 0))}
"""Our world, and its action (up, right, down, left) as Gymnasium numbers it."""


def shortest(world: TabularWorld) -> int:
    """Fewest steps from the first state to an end, by breadth-first search over outcomes that may happen."""
    start = int(world.first.argmax())
    waiting, away = deque([start]), {start: 0}
    while waiting:
        state = waiting.popleft()
        for row in range(state * world.n_actions, (state + 1) * world.n_actions):
            for place in range(world.starts[row], world.starts[row + 1]):
                following = int(world.next_states[place])
                if world.ends[place]:
                    return away[state] + 1
                if following not in away:
                    away[following] = away[state] + 1
                    waiting.append(following)
    raise AssertionError("no way out")


@pytest.mark.parametrize("name", GYMNASIUM)
def test_outcomes_are_those_of_gymnasium(name):
    gymnasium = pytest.importorskip("gymnasium")
    make, order = GYMNASIUM[name]
    table = gymnasium.make(name).unwrapped.P
    ours = make()
    blind = [s for s, letter in enumerate(ours.cells) if letter in "GHC"]
    for state in range(ours.n_states):
        if state in blind:
            continue
        for action in range(4):
            theirs: dict[tuple, float] = {}
            for chance, following, reward, ends in table[state][order[action]]:
                key = (int(following), float(reward), bool(ends))
                theirs[key] = theirs.get(key, 0.0) + chance
            row = state * 4 + action
            found: dict[tuple, float] = {}
            for place in range(ours.starts[row], ours.starts[row + 1]):
                key = (int(ours.next_states[place]), float(ours.outcome_rewards[place]), bool(ours.ends[place]))
                found[key] = found.get(key, 0.0) + ours.chances[place]
            assert found == pytest.approx(theirs), (state, action)


def test_best_ways_have_the_known_lengths():
    assert shortest(windy_grid()) == 15 and shortest(cliff_walking()) == 13
    assert shortest(grid_of(["S#G", "..."])) == 4


def test_slips_go_to_both_sides_and_walls_hold():
    world = grid_of(["...", ".S.", ".#G"], slip=0.4)
    assert world.transitions.toarray()[4 * 4 + 0].tolist() == [0, 0.6, 0, 0.2, 0, 0.2, 0, 0, 0]
    assert world.transitions.toarray()[4 * 4 + 2, 4] == pytest.approx(0.6)  # the wall below
    assert world.transitions.toarray()[5 * 4 + 2].sum() == pytest.approx(0.4)  # the goal ends the walk
    assert world.rewards[5, 2] == pytest.approx(-1.0)


def test_gymnasiums_protocol_draws_outcomes_with_their_chances():
    world = frozen_lake(slip=0.5)
    world.reset(seed=4)
    counts: dict[int, int] = {}
    for _ in range(4000):
        world._state = 6
        state, reward, ends, *_ = world.step(2)
        assert reward == 0.0 and ends == (state in (5, 7))
        counts[state] = counts.get(state, 0) + 1
    assert counts[10] / 4000 == pytest.approx(0.5, abs=0.04) and set(counts) == {10, 5, 7}
    first = [world.reset(seed=1), [world.step(1)[0] for _ in range(3)]]
    assert first == [world.reset(seed=1), [world.step(1)[0] for _ in range(3)]]


def test_walks_are_broken_off_at_the_limit():
    world = cliff_walking(max_steps=2)
    world.reset(seed=0)
    assert world.step(0)[2:4] == (False, False) and world.step(0)[2:4] == (False, True)


def test_bandits_pay_around_their_means():
    world = bandit(5, sd=2.0, random_state=3)
    world.reset(seed=0)
    paid = [world.step(1)[1] for _ in range(4000)]
    assert np.mean(paid) == pytest.approx(world.rewards[0, 1], abs=0.12)
    assert np.std(paid) == pytest.approx(2.0, abs=0.1) and bandit([1.0]).n_actions == 1


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: grid_of(["S.", "."]), DataError, "texts of one length"),
        (lambda: grid_of(["S?"]), DataError, "letters"),
        (lambda: grid_of([".G"]), DataError, "start"),
        (lambda: grid_of(["SG"], slip=2), ParameterError, "slip"),
        (lambda: frozen_lake("5x5"), ParameterError, "4x4, 8x8"),
        (lambda: bandit(0), ParameterError, "arms"),
        (lambda: bandit([np.nan]), ParameterError, "finite"),
        (lambda: TabularWorld(1, 1, []), DataError, "one list"),
        (lambda: TabularWorld(1, 1, [[]]), DataError, "at least one"),
        (lambda: TabularWorld(1, 1, [[(0.5, 0, 0.0, True)]]), DataError, "add up to 1"),
        (lambda: TabularWorld(1, 1, [[(1.0, 3, 0.0, True)]]), DataError, "next states"),
        (lambda: TabularWorld(1, 1, [[(1.0, 0, np.inf, True)]]), DataError, "finite"),
        (lambda: TabularWorld(2, 1, [[(1.0, 0, 0.0, True)]] * 2, first=7), DataError, "first state"),
        (lambda: cliff_walking().step(0), DataError, "reset first"),
        (lambda: TabularWorld.from_gymnasium(object()), DataError, "table as P"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(make, error, words):
    with pytest.raises(error) as caught:
        make()
    assert words in str(caught.value)
