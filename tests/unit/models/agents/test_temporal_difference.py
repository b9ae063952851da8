"""Agents that learn: convergence to the best values, the cliff, traces, schedules, other routes to the same numbers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from assay import _kernels
from assay.base import DataError, ParameterError
from assay.data import grid_world
from assay.evaluate import compare
from assay.models.agents import (
    MarkovDecisionProcess,
    QLambda,
    QLearning,
    Sarsa,
    SarsaLambda,
    TabularWorld,
    bandit,
    cliff_walking,
    frozen_lake,
    grid_of,
    windy_grid,
)
from assay.models.agents.spaces import count, parts_of, state_number
from assay.models.agents.temporal_difference import schedule

AGENTS = (QLearning, Sarsa, SarsaLambda, QLambda)
EDGE = [36, *range(24, 36), 47]
CLIFF = {"gamma": 1.0, "learning_rate": 0.5, "epsilon": 0.1, "n_episodes": 1000, "n_replicates": 16, "random_state": 0}


class Recorded:
    """A world that writes down every step that an agent makes in it."""

    def __init__(self, world):
        self.world, self.steps = world, []
        self.observation_space, self.action_space = world.observation_space, world.action_space

    def reset(self, **options):
        self.state, told = self.world.reset(**options)
        return self.state, told

    def step(self, action):
        found = self.world.step(action)
        self.steps.append((self.state, action, found[1], found[0], found[2], found[3]))
        self.state = found[0]
        return found


@pytest.fixture(scope="module")
def on_the_cliff():
    world = cliff_walking()
    return world, QLearning(**CLIFF).fit(world), Sarsa(**CLIFF).fit(world)


# -- must show ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("cls", [QLearning, QLambda])
def test_values_converge_to_the_best_ones_for_every_seed(cls):
    world = grid_of(["S..", ".#.", "..G"], slip=0.2, goal_reward=10.0)
    best = MarkovDecisionProcess(gamma=0.9).fit(world).q_values_
    options = {"trace_decay": 0.5} if cls is QLambda else {}
    agent = cls(
        gamma=0.9,
        n_episodes=20_000,
        learning_rate=1.0,
        visit_power=0.7,
        epsilon=0.6,
        n_replicates=8,
        random_state=1,
        **options,
    ).fit(world)
    reached = [s for s, letter in enumerate(world.cells) if letter in "S."]
    errors = np.abs(agent.q_replicates_[:, reached] - best[reached]).max(axis=(1, 2))
    assert errors.max() < 0.25, errors  # values run from -1 to 9
    assert np.abs(agent.q_values_[reached] - best[reached]).max() < 0.1
    # Ten times fewer episodes leave more error: it is learning that brings it down.
    few = cls(**{**agent.get_params(), "n_episodes": 200}).fit(world)
    assert np.abs(few.q_replicates_[:, reached] - best[reached]).max(axis=(1, 2)).mean() > 2 * errors.mean()


def test_sarsa_keeps_away_from_the_cliff_and_q_learning_walks_its_edge(on_the_cliff):
    world, q_learning, sarsa = on_the_cliff
    assert q_learning.path(world) == EDGE
    walked = sarsa.path(world)
    assert walked[-1] == 47 and len(walked) > len(EDGE)
    # Above the cliff (columns 1 to 10) every step of Sarsa lies a row or more from the edge.
    assert all(state < 24 for state in walked if 1 <= state % 12 <= 10)
    # While exploring Sarsa earns more; the greedy policies earn -13 and less.
    assert sarsa.returns_[:, -200:].mean() > q_learning.returns_[:, -200:].mean() + 10
    assert q_learning.play(world, 3).tolist() == [-13.0] * 3


@pytest.mark.parametrize(("one_step", "with_traces"), [(QLearning, QLambda), (Sarsa, SarsaLambda)])
@pytest.mark.parametrize("traces", ["replacing", "accumulating"])
def test_lambda_0_is_the_one_step_rule(one_step, with_traces, traces):
    world = windy_grid()
    common = {"gamma": 1.0, "n_episodes": 60, "random_state": 3, "n_replicates": 2, "visit_power": 0.2}
    plain = one_step(**common).fit(world)
    traced = with_traces(trace_decay=0.0, traces=traces, **common).fit(world)
    np.testing.assert_array_equal(traced.q_values_, plain.q_values_)
    tiny = with_traces(trace_decay=1e-12, traces=traces, **common).fit(world)
    np.testing.assert_allclose(tiny.q_values_, plain.q_values_, atol=1e-6)


# -- another route to the same numbers ------------------------------------------------------------------------------
def replay(steps, shape, gamma, rate, on_policy, decay, accumulate, cut):
    """The definition of the algorithms over steps that were made, with a full table of traces."""
    q, e = np.zeros(shape), np.zeros(shape)
    for k, (s, a, r, t, ends, stopped) in enumerate(steps):
        following = steps[k + 1][1] if k + 1 < len(steps) and not (ends or stopped) else None
        if ends:
            future = 0.0
        else:
            future = q[t, following] if on_policy else q[t].max()
        error = r + gamma * future - q[s, a]
        e[s, a] = e[s, a] + 1 if accumulate else 1.0
        q += rate * error * e
        e *= gamma * decay
        if ends or stopped or (not on_policy and cut and q[t, following] < q[t].max()):
            e[:] = 0.0
    return q


@pytest.mark.parametrize("world", [grid_of(["S..", ".H.", "..G"], slip=0.3), windy_grid()], ids=["lake", "windy"])
@pytest.mark.parametrize(
    ("cls", "options", "rule"),
    [
        (QLearning, {}, (False, 0.0, False, True)),
        (Sarsa, {}, (True, 0.0, False, True)),
        (SarsaLambda, {"trace_decay": 0.8}, (True, 0.8, False, True)),
        (SarsaLambda, {"trace_decay": 0.5, "traces": "accumulating"}, (True, 0.5, True, True)),
        (QLambda, {"trace_decay": 0.9}, (False, 0.9, False, True)),
        (QLambda, {"trace_decay": 0.7, "traces": "accumulating", "cut_traces": False}, (False, 0.7, True, False)),
    ],
)
def test_values_are_those_of_the_definition_over_the_same_steps(world, cls, options, rule):
    seen = Recorded(world)
    agent = cls(gamma=0.9, learning_rate=0.2, epsilon=0.3, n_episodes=40, random_state=5, **options).fit(seen)
    found = replay(seen.steps, agent.q_values_.shape, 0.9, 0.2, *rule)
    np.testing.assert_allclose(agent.q_values_, found, rtol=1e-7, atol=1e-8)
    assert agent.n_steps_ == len(seen.steps)


@pytest.mark.parametrize("cls", AGENTS)
def test_kernel_and_steps_agree_where_the_world_draws_nothing(cls):
    world = cliff_walking()
    in_kernel = cls(n_episodes=50, n_replicates=2, random_state=2, trace=True).fit(world)
    by_steps = cls(n_episodes=50, n_replicates=2, random_state=2, trace=True).fit(Recorded(world))
    np.testing.assert_array_equal(in_kernel.q_replicates_, by_steps.q_replicates_)
    np.testing.assert_array_equal(in_kernel.returns_, by_steps.returns_)
    np.testing.assert_array_equal(in_kernel.lengths_, by_steps.lengths_)
    assert in_kernel.trace_ == by_steps.trace_ and in_kernel.trace_[0]["what"] == "update"


def test_replicates_are_agents_of_their_own_whatever_the_threads():
    made = [Sarsa(n_episodes=300, n_replicates=5, random_state=7, n_jobs=jobs).fit(frozen_lake()) for jobs in (1, 2, 5)]
    for other in made[1:]:
        np.testing.assert_array_equal(other.q_replicates_, made[0].q_replicates_)
        np.testing.assert_array_equal(other.returns_, made[0].returns_)
    alone = Sarsa(n_episodes=300, random_state=7).fit(frozen_lake())
    np.testing.assert_array_equal(alone.q_values_, made[0].q_replicates_[0])
    assert len({tuple(q.ravel()) for q in made[0].q_replicates_}) == 5


# -- options --------------------------------------------------------------------------------------------------------
def test_rates_over_visits_make_the_mean_of_a_bandits_rewards():
    world = bandit([0.2, 1.0, -0.5], sd=0.5)
    agent = QLearning(learning_rate=1.0, visit_power=1.0, epsilon=0.3, n_episodes=4000, random_state=0, trace=True)
    agent.fit(world)
    paid = {a: [] for a in range(3)}
    for record in agent.trace_:
        paid[record["values"]["action"]].append(record["values"]["reward"])
    for arm, rewards in paid.items():
        assert agent.q_values_[0, arm] == pytest.approx(np.mean(rewards), abs=1e-9)
        assert agent.q_values_[0, arm] == pytest.approx([0.2, 1.0, -0.5][arm], abs=0.1)
    assert agent.policy_.tolist() == [1]


@pytest.mark.parametrize("temperature", [0.2, 1.0])
def test_softmax_chooses_in_the_ratio_of_exponentials(temperature):
    rule = _kernels.TemporalDifferenceRule(False, 0.0, False, True, True, 0.9, 0.0)
    agent = _kernels.TemporalDifferenceAgent(1, 3, rule, 0.0, 11, 0)
    # One rate of 1 sets each value to what its arm pays.
    while not (agent.values() == [[0.0, 0.1, 0.3]]).all():
        agent.step([0.0, 0.1, 0.3][agent.begin(0, 1.0, 1.0)], 0, True)
    counts = np.bincount([agent.begin(0, temperature, 0.0) for _ in range(20_000)], minlength=3)
    expected = np.exp(np.array([0.0, 0.1, 0.3]) / temperature)
    expected *= 20_000 / expected.sum()
    assert ((counts - expected) ** 2 / expected).sum() < 13.8  # chi-square with 2 degrees: p = 0.001


def test_epsilon_is_the_share_of_drawn_actions_and_ties_are_broken_at_random():
    rule = _kernels.TemporalDifferenceRule(False, 0.0, False, True, False, 0.9, 0.0)
    agent = _kernels.TemporalDifferenceAgent(1, 4, rule, 0.0, 3, 0)
    ties = np.bincount([agent.begin(0, 0.0, 0.1) for _ in range(8000)], minlength=4)
    assert ((ties - 2000) ** 2 / 2000).sum() < 16.3  # chi-square with 3 degrees: p = 0.001
    while agent.begin(0, 0.0, 1.0) != 2:
        pass
    agent.step(1.0, 0, True)
    drawn = np.bincount([agent.begin(0, 0.2, 0.1) for _ in range(20_000)], minlength=4) / 20_000
    np.testing.assert_allclose(drawn, [0.05, 0.05, 0.85, 0.05], atol=0.01)


def test_schedules_reach_their_end_and_stay():
    for decay in ("linear", "exponential", "inverse"):
        made = schedule(0.8, 0.2, 50, 20, decay)
        assert made[0] == 0.8 and np.allclose(made[19:], 0.2) and (np.diff(made[:20]) < 0).all()
    assert (schedule(0.3, None, 4, None, "linear") == 0.3).all()
    world = cliff_walking()
    still = QLearning(
        epsilon=1.0, epsilon_end=0.0, decay_episodes=5, n_episodes=500, gamma=1.0, learning_rate=0.5, random_state=0
    ).fit(world)
    # Without exploring the walk goes straight home in the end.
    assert still.returns_[0, -1] == -13.0


def test_high_initial_values_make_an_agent_that_never_explores_find_the_best_arm():
    world = bandit([0.1, 0.2, 0.9], sd=0.0)
    shy = [QLearning(epsilon=0.0, n_episodes=100, random_state=seed).fit(world).policy_[0] for seed in range(12)]
    curious = [
        QLearning(epsilon=0.0, initial_value=5.0, n_episodes=100, random_state=seed).fit(world).policy_[0]
        for seed in range(12)
    ]
    assert set(curious) == {2} and set(shy) != {2}


def test_a_walk_that_is_broken_off_does_not_end_the_world():
    # One state that pays 1 for ever: its value is 1 / (1 - gamma), however short the walks.
    world = TabularWorld(1, 1, [[(1.0, 0, 1.0, False)]], max_steps=3)
    agent = Sarsa(gamma=0.9, learning_rate=0.5, n_episodes=400, random_state=0).fit(world)
    assert agent.values_[0] == pytest.approx(10.0, abs=1e-6) and set(agent.lengths_.ravel()) == {3}
    ended = Sarsa(gamma=0.9, learning_rate=0.5, n_episodes=400, random_state=0).fit(
        TabularWorld(1, 1, [[(1.0, 0, 1.0, True)]])
    )
    assert ended.values_[0] == pytest.approx(1.0)


def test_traces_carry_a_reward_back_in_one_episode():
    corridor = grid_of(["S.....G"], step_reward=0.0, goal_reward=1.0)
    far = SarsaLambda(n_episodes=1, trace_decay=1.0, learning_rate=0.5, random_state=0).fit(corridor)
    near = Sarsa(n_episodes=1, learning_rate=0.5, random_state=0).fit(corridor)
    assert (far.values_[:6] > 0).all() and (near.values_[:5] == 0).all() and near.values_[5] > 0


# -- worlds ---------------------------------------------------------------------------------------------------------
def test_a_known_world_of_the_generators_is_learned_and_planned_alike():
    world = grid_world(3, 3, step_reward=-1.0, goal_reward=5.0)
    planned = MarkovDecisionProcess(gamma=0.9).fit(world)
    learned = QLearning(gamma=0.9, n_episodes=2000, epsilon=0.4, learning_rate=0.5, random_state=0).fit(world)
    np.testing.assert_allclose(learned.q_values_[:8], planned.q_values_[:8], atol=0.02)
    assert learned.view().rows == 3 and planned.view() is not None


def test_environments_of_gymnasium_are_learned_through_their_protocol():
    gymnasium = pytest.importorskip("gymnasium")
    environment = gymnasium.make("FrozenLake-v1", is_slippery=False)
    agent = QLearning(n_episodes=1500, epsilon=0.9, learning_rate=0.5, random_state=0).fit(environment)
    assert agent.play(environment, 3, random_state=0).tolist() == [1.0] * 3
    again = QLearning(**agent.get_params()).fit(gymnasium.make("FrozenLake-v1", is_slippery=False))
    np.testing.assert_array_equal(again.q_values_, agent.q_values_)
    table = TabularWorld.from_gymnasium(gymnasium.make("FrozenLake-v1", is_slippery=True))
    assert table.max_steps == 100 and QLearning(n_episodes=5, random_state=0).fit(table).view() is not None


def test_spaces_that_do_not_begin_at_0_are_shifted():
    world = cliff_walking()

    class Shifted(Recorded):
        def reset(self, **options):
            state, told = super().reset(**options)
            return state + 5, told

        def step(self, action):
            state, *rest = super().step(action - 2)
            return (state + 5, *rest)

    shifted = Shifted(world)
    shifted.observation_space, shifted.action_space = SimpleNamespace(n=48, start=5), SimpleNamespace(n=4, start=2)
    found = QLearning(n_episodes=20, random_state=0).fit(shifted)
    np.testing.assert_array_equal(found.q_values_, QLearning(n_episodes=20, random_state=0).fit(world).q_values_)


# -- what comes out -------------------------------------------------------------------------------------------------
def test_the_learning_curve_has_t_intervals_over_replicates(on_the_cliff):
    _, _, sarsa = on_the_cliff
    curve = sarsa.learning_curve(window=100)
    assert len(curve.mean) == 10 and curve.episodes[-1] == 1000
    last = sarsa.returns_[:, -100:].mean(axis=1)
    assert curve.mean[-1] == pytest.approx(last.mean())
    half = 2.131449545559323 * last.std(ddof=1) / 4  # t(0.975, 15)
    assert curve.high[-1] - curve.mean[-1] == pytest.approx(half) and curve.mean[-1] > curve.mean[0]
    assert "16 replicates" in curve.sentence and curve.to_svg().startswith("<svg")
    alone = Sarsa(n_episodes=10, random_state=0).fit(cliff_walking()).learning_curve()
    assert alone.low is None and "interval" not in alone.sentence


def test_the_policy_is_drawn_on_the_grid(on_the_cliff):
    _, q_learning, _ = on_the_cliff
    view = q_learning.view()
    assert view.to_text().splitlines()[2] == ">" * 11 + "v" and view.to_text().splitlines()[3] == "^" + "C" * 10 + "G"
    drawn = view.to_svg()
    assert drawn.count("<rect") >= 48 and drawn.count("<line") == 3 * 37
    assert QLearning(n_episodes=2, random_state=0).fit(bandit(3)).view() is None


def test_agents_are_compared_with_seeds_as_replicates(on_the_cliff):
    _, q_learning, sarsa = on_the_cliff
    scores = {"sarsa": sarsa.returns_[:, -200:].mean(axis=1), "q-learning": q_learning.returns_[:, -200:].mean(axis=1)}
    found = compare(scores, "seeds", metric="return")
    assert found.best == "sarsa" and found.summary["q-learning"]["verdict"] == "worse" and found.valid
    assert "seeds" in found.procedure


@pytest.mark.parametrize(
    ("options", "world", "error", "words"),
    [
        ({}, "maze", DataError, "must have transitions and rewards"),
        ({}, SimpleNamespace(reset=print, step=print), DataError, "observation_space must be finite"),
        (
            {"epsilon_end": 0.0, "decay": "exponential"},
            None,
            ParameterError,
            "must be above 0 for the exponential decay",
        ),
        ({"gamma": 1.5}, None, ParameterError, "gamma"),
        ({"n_replicates": 10**9, "n_episodes": 10**6}, None, Exception, "lower n_replicates or n_episodes"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(options, world, error, words):
    with pytest.raises(error) as caught:
        QLearning(**options).fit(cliff_walking() if world is None else world)
    assert words in str(caught.value)


def test_states_and_worlds_of_another_size_are_refused():
    agent = QLearning(n_episodes=3, random_state=0).fit(cliff_walking())
    with pytest.raises(DataError, match="from 0 to 47"):
        agent.predict([48])
    with pytest.raises(DataError, match="must have 48 states and 4 actions"):
        agent.play(frozen_lake())


def test_rewards_that_are_no_numbers_are_refused():
    class Broken(Recorded):
        def step(self, action):
            state, _, *rest = super().step(action)
            return (state, float("nan"), *rest)

    with pytest.raises(DataError, match="rewards must be finite"):
        Sarsa(n_episodes=2, random_state=0).fit(Broken(frozen_lake()))


def test_states_of_several_parts_are_numbered_as_gymnasium_gives_them():
    gymnasium = pytest.importorskip("gymnasium")
    agent = QLearning(gamma=1.0, learning_rate=0.05, n_episodes=3000, random_state=0)
    agent.fit(gymnasium.make("Blackjack-v1", sab=True))
    assert agent.state_parts_ == [[32, 0], [11, 0], [2, 0]] and agent.q_values_.shape == (704, 2)
    # With 20 or 21 points against any card it is best to stay (0); with few points to take one (1).
    assert agent.predict([[20, card, 0] for card in (2, 5, 8, 10)]).tolist() == [0, 0, 0, 0]
    assert agent.play(gymnasium.make("Blackjack-v1", sab=True), 300, random_state=0).mean() > -0.25


def test_spaces_that_are_made_of_finite_ones_have_their_product_of_states():
    spaces = pytest.importorskip("gymnasium").spaces
    two = spaces.MultiDiscrete([3, 2], start=[1, 0])
    assert parts_of(two) == [[3, 1], [2, 0]] and parts_of(spaces.MultiBinary(3)) == [[2, 0]] * 3
    whole = spaces.Dict({"b": two, "a": spaces.Discrete(4, start=-1)})
    numbers = {
        state_number("", parts_of(whole), {"a": a, "b": np.array([b, c])})
        for a in range(-1, 3)
        for b in (1, 2, 3)
        for c in (0, 1)
    }
    assert numbers == set(range(24)) == set(range(count(parts_of(whole))))
    assert parts_of(spaces.Box(0, 1)) is None and parts_of(spaces.Tuple([two, spaces.Box(0, 1)])) is None
    with pytest.raises(DataError, match="a state must lie in the world's observation_space"):
        state_number("", parts_of(two), [0, 0])
    with pytest.raises(DataError, match="a state must have 2 parts"):
        state_number("", parts_of(two), [1])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda agent: agent.play(cliff_walking(), 0), "n_episodes must be an integer >= 1"),
        (lambda agent: agent.play(cliff_walking(), 1.5), "n_episodes must be an integer >= 1"),
        (lambda agent: agent.learning_curve(-1), "window must be an integer >= 1"),
        (lambda agent: agent.learning_curve(confidence=2), "confidence must be a number between 0 and 1"),
    ],
)
def test_walks_and_windows_that_are_none_are_refused(call, words):
    agent = QLearning(n_episodes=2, random_state=0).fit(cliff_walking())
    with pytest.raises(ParameterError, match=words):
        call(agent)
