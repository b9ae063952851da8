"""Cart-pole and mountain-car: the steps of Gymnasium's environments, ends, limits."""

from __future__ import annotations

import numpy as np
import pytest

from assay.base import DataError, ParameterError
from assay.models.agents import CartPole, MountainCar


@pytest.mark.parametrize(("ours", "name"), [(CartPole, "CartPole-v1"), (MountainCar, "MountainCar-v0")])
def test_steps_are_those_of_gymnasium(ours, name):
    gymnasium = pytest.importorskip("gymnasium")
    theirs, world = gymnasium.make(name).unwrapped, ours(max_steps=10_000)
    rng = np.random.default_rng(0)
    ended = 0
    theirs.reset(seed=0)
    world.reset(seed=0)
    for _ in range(3000):
        action = int(rng.integers(world.n_actions))
        theirs.state = tuple(world.state.tolist())
        expected, reward, ends, _, _ = theirs.step(action)
        found = world.step(action)
        np.testing.assert_allclose(found[0], expected, rtol=1e-6, atol=1e-6)
        assert found[1] == reward and found[2] == ends
        if ends:
            ended += 1
            theirs.reset()
            world.reset()
    assert ended > 20 or name == "MountainCar-v0"


def test_the_car_reaches_the_flag_by_pushing_along_its_speed():
    world = MountainCar()
    state, _ = world.reset(seed=1)
    steps, ends = 0, False
    while not ends and steps < 200:
        state, reward, ends, *_ = world.step(2 if state[1] >= 0 else 0)
        assert reward == -1.0
        steps += 1
    assert ends and 80 < steps < 160


def test_walks_begin_alike_with_a_seed_and_are_broken_off():
    world = CartPole(max_steps=3)
    first = world.reset(seed=5)[0]
    np.testing.assert_array_equal(world.reset(seed=5)[0], first)
    assert [world.step(k % 2)[3] for k in range(3)] == [False, False, True]


def test_misuse_is_refused_in_one_sentence():
    with pytest.raises(DataError, match="reset first"):
        CartPole().step(0)
    world = CartPole()
    world.reset(seed=0)
    with pytest.raises(DataError, match="from 0 to 1"):
        world.step(2)
    with pytest.raises(ParameterError, match="max_steps must be an integer >= 1"):
        MountainCar(max_steps=0)
