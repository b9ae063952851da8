"""Deep Q-learning: values of a small world, bits of a seed, options, cart-pole solved."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from assay.base import DataError
from assay.models.agents import CartPole, DeepQ, MarkovDecisionProcess, grid_of

SMALL = {"hidden_layer_sizes": (16,), "n_episodes": 60, "start_after": 50, "decay_episodes": 40, "random_state": 0}


@pytest.fixture(scope="module")
def world():
    return grid_of(["S...G"], max_steps=50)


@pytest.mark.parametrize("double", [True, False])
def test_values_come_near_those_of_planning(world, double):
    best = MarkovDecisionProcess(gamma=0.9).fit(world)
    agent = DeepQ(
        **{**SMALL, "n_episodes": 150, "hidden_layer_sizes": ()}, gamma=0.9, double=double, learning_rate=5e-3,
        epsilon_end=0.5, target_every=50,
    ).fit(world)  # fmt: skip
    # Without hidden layers the net over columns of 0 and 1 is a table.
    np.testing.assert_allclose(agent.action_values(np.arange(4)), best.q_values_[:4], atol=0.25)
    assert agent.predict(np.arange(4)).tolist() == [1, 1, 1, 1]
    assert agent.play(world, 3).tolist() == [-4.0] * 3


def test_the_same_seed_gives_the_same_bits(world):
    states = np.arange(5)
    made = [DeepQ(**{**SMALL, "n_jobs": jobs}).fit(world).action_values(states) for jobs in (1, 1, 2)]
    np.testing.assert_array_equal(made[0], made[1])
    np.testing.assert_array_equal(made[0], made[2])
    other = DeepQ(**{**SMALL, "random_state": 1}).fit(world).action_values(states)
    assert (other != made[0]).any()


def test_what_is_left_behind(world):
    agent = DeepQ(**SMALL, trace=True).fit(CartPole())
    assert agent.returns_.shape == (1, 60) and agent.n_steps_ == agent.returns_.sum()
    assert (agent.scale_ > 0).all() and len(agent.trace_) == 60 and agent.trace_[0]["values"]["epsilon"] == 1.0
    assert agent.learning_curve().mean[-1] == pytest.approx(agent.returns_[0, -1:].mean())
    stopped = DeepQ(**SMALL, stop_at=5.0).fit(CartPole())
    assert stopped.returns_.shape == (1, 10)
    assert DeepQ(**SMALL, stop_at=5.0, n_checks=0).fit(CartPole()).returns_.shape == (1, 20)
    assert not hasattr(stopped, "trace_")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([[0.0, 1.0]], "rows of 4 numbers"),
        ([[0.0, np.nan, 0.0, 0.0]], "finite"),
    ],
)
def test_states_of_another_shape_are_refused(given, words):
    agent = DeepQ(**{**SMALL, "n_episodes": 2}).fit(CartPole())
    with pytest.raises(DataError, match=words):
        agent.predict(given)


def test_worlds_that_are_none_are_refused():
    with pytest.raises(DataError, match="reset and step"):
        DeepQ().fit([[1.0]])
    odd = SimpleNamespace(reset=print, step=print, action_space=SimpleNamespace(n=2), observation_space=None)
    with pytest.raises(DataError, match="observation_space"):
        DeepQ().fit(odd)
    odd.action_space = SimpleNamespace(shape=(1,))
    with pytest.raises(DataError, match="action_space must be finite"):
        DeepQ().fit(odd)


def test_the_net_that_did_best_in_the_checks_is_kept(world):
    nets, told = [], iter([5.0, 9.0, 3.0, 8.0, 1.0, 2.0])

    class Told(DeepQ):
        def _walks(self, world, n, max_steps, stream):
            nets.append([part.copy() for part in self.net_.coefs_])
            return next(told)

    agent = Told(**SMALL).fit(world)
    assert len(nets) == 6
    for kept, at_best, at_end in zip(agent.net_.coefs_, nets[1], nets[5]):
        np.testing.assert_array_equal(kept, at_best)
        assert (kept != at_end).any()
    told = iter([9.0, 3.0, 9.0, 9.0])
    assert Told(**SMALL, stop_at=9.0).fit(world).returns_.shape == (1, 20)  # the hundred walks say no at first


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 4, 7, 10, 13])
def test_cart_pole_is_solved(seed):
    agent = DeepQ(random_state=seed, stop_at=195, n_episodes=400).fit(CartPole())
    assert agent.returns_.size < 400 and agent.play(CartPole(), 100, random_state=1).mean() >= 195
