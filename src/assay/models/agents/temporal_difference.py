"""Learning from experience: Q-learning and Sarsa, with and without eligibility traces."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.cost import Cost, check_cost
from ...base.errors import DataError, ParameterError, plain
from ...base.parameters import Boolean, Choice, Integer, Nothing, Real, param
from ...base.threads import thread_count
from ...base.usual_parameters import n_jobs_param, random_state_param, trace_param
from .playing import TableAgent, action_offset, check_protocol
from .schedules import DECAYS, schedule
from .spaces import Parts, count, parts_of, state_number
from .tabular import TabularWorld
from .views import LearningCurve, curve_of

TRACES = ("replacing", "accumulating")
MOST_UPDATES = 10_000
"""Steps of the first replicate that a trace keeps."""


class TemporalDifference(TableAgent):
    """Base of the agents that learn a table of values from the steps they make."""

    gamma: float = param(0.95, Real(0, 1), "Discount per step.")
    n_episodes: int = param(500, Integer(1), "Walks from a first state to an end, for each replicate.")
    max_steps: int = param(10_000, Integer(1), "Steps after which a walk is broken off; not an end of the world.")
    learning_rate: float = param(0.1, Real(0, 1, "right"), "Share of the error by which a value moves.")
    learning_rate_end: float | None = param(None, Real(0, 1) | Nothing(), "Learning rate at the end; None: the same.")
    visit_power: float = param(
        0.0,
        Real(0, None),
        "The rate of a pair is divided by its visits to this power; above 0.5 and up to 1 converges.",
    )
    exploration: str = param("epsilon-greedy", Choice("epsilon-greedy", "softmax"), "How actions are tried.")
    epsilon: float = param(0.1, Real(0, 1), "Chance of an action at random.")
    epsilon_end: float | None = param(None, Real(0, 1) | Nothing(), "The chance at the end; None: the same.")
    temperature: float = param(1.0, Real(0, None, "neither"), "What values are divided by in the softmax.")
    temperature_end: float | None = param(
        None, Real(0, None, "neither") | Nothing(), "The temperature at the end; None: the same."
    )
    decay: str = param("linear", Choice(*DECAYS), "How rate, chance and temperature come to their end.")
    decay_episodes: int | None = param(None, Integer(1) | Nothing(), "Episodes until the end is reached; None: all.")
    initial_value: float = param(0.0, Real(), "Values before anything is known; high ones make curious.")
    n_replicates: int = param(1, Integer(1), "Independent agents, each with its own stream; values are their mean.")
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    _learned = {
        "q_replicates_": "values of each replicate, replicates x states x actions",
        "returns_": "the sum of rewards of each episode, replicates x episodes",
        "lengths_": "steps of each episode, replicates x episodes",
        "n_steps_": "steps of all replicates",
        "state_parts_": "of a world of Gymnasium, how many values each part of a state has and the least; else empty",
    }
    _on_policy = False

    def _rule(self) -> Any:
        return self._rule_of(0.0, False, True)

    def _rule_of(self, trace_decay: float, accumulate: bool, cut: bool) -> Any:
        softmax = self.exploration == "softmax"
        return _kernels.TemporalDifferenceRule(
            self._on_policy, trace_decay, accumulate, cut, softmax, self.gamma, self.visit_power
        )

    def fit(self, world: Any, y: Any = None) -> Any:
        """Learn in a world: a `TabularWorld` (in the kernel), one with transitions and rewards, or one of Gymnasium.

        An environment of Gymnasium must have finitely many states (a Discrete, MultiDiscrete or MultiBinary space, or
        a Tuple or Dict of such) and actions (Discrete); it is stepped through its protocol, replicate by replicate.
        """
        self._check_parameters()
        explore, rate = self._schedules()
        by_steps = not isinstance(world, TabularWorld) and callable(getattr(world, "step", None))
        if by_steps:
            found = self._learn_by_steps(world, explore, rate)
        else:
            self.state_parts_: Parts = []
            table = world if isinstance(world, TabularWorld) else TabularWorld.from_known(type(self).__name__, world)
            found = self._learn_in_table(table, explore, rate)
            world = table
        self.q_replicates_, self.returns_, self.lengths_, updates = found
        self.n_steps_ = int(self.lengths_.sum())
        self.q_values_ = self.q_replicates_.mean(axis=0)
        self.values_, self.policy_ = self.q_values_.max(axis=1), self.q_values_.argmax(axis=1)
        self._keep_grid(world)
        trace = self._new_trace()
        for episode, state, action, following, reward, error in updates.tolist():
            trace.record(
                "update",
                episode=int(episode),
                state=int(state),
                action=int(action),
                next_state=int(following),
                reward=reward,
                error=error,
            )
        self._keep_trace(trace)
        return self

    def _schedules(self) -> tuple[np.ndarray, np.ndarray]:
        """How much is explored, and the learning rate, in each episode."""
        name = "temperature" if self.exploration == "softmax" else "epsilon"
        made = []
        for parameter in (name, "learning_rate"):
            start, end = getattr(self, parameter), getattr(self, f"{parameter}_end")
            if self.decay != "linear" and end is not None and not (start > 0 and end > 0):
                raise ParameterError(
                    type(self).__name__,
                    f"parameter '{parameter}_end'",
                    f"must be above 0 for the {self.decay} decay from a start above 0",
                    f"got {start!r} to {end!r}",
                    "use decay='linear'",
                )
            made.append(schedule(start, end, self.n_episodes, self.decay_episodes, self.decay))
        return made[0], made[1]

    def _check_size(self, n_states: int, n_actions: int) -> None:
        cells = self.n_replicates * (float(n_states) * n_actions + 2.0 * self.n_episodes)
        check_cost(type(self).__name__, Cost(seconds=0.0, bytes=16.0 * cells), "lower n_replicates or n_episodes")

    def _learn_in_table(self, world: TabularWorld, explore: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, ...]:
        self._check_size(world.n_states, world.n_actions)
        values, returns, lengths, updates = _kernels.learn_values(
            *world.arrays(),
            self._rule(),
            explore,
            rate,
            self.n_replicates,
            min(self.max_steps, world.max_steps),
            MOST_UPDATES if self.trace else 0,
            self.initial_value,
            self._stream().key,
            thread_count(self.n_jobs),
        )
        return values.reshape(self.n_replicates, world.n_states, world.n_actions), returns, lengths, updates

    def _learn_by_steps(self, world: Any, explore: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, ...]:
        self.state_parts_, n_actions = finite_spaces(type(self).__name__, world)
        n_states = count(self.state_parts_)
        self._check_size(n_states, n_actions)
        number = partial(state_number, type(self).__name__, self.state_parts_)
        stream, rule = self._stream(), self._rule()
        returns = np.zeros((self.n_replicates, self.n_episodes))
        lengths = np.zeros(returns.shape, dtype=np.int64)
        values = np.zeros((self.n_replicates, n_states, n_actions))
        updates: list[tuple[float, ...]] = []
        for replicate in range(self.n_replicates):
            agent = _kernels.TemporalDifferenceAgent(
                n_states, n_actions, rule, self.initial_value, stream.key, 2 * replicate
            )
            seed: int | None = stream.child(replicate).key % (1 << 31)
            kept = updates if self.trace and replicate == 0 else None
            for episode in range(self.n_episodes):
                ran = _episode(
                    agent, world, number, seed, explore[episode], rate[episode], self.max_steps, episode, kept
                )
                returns[replicate, episode], lengths[replicate, episode] = ran
                seed = None
            values[replicate] = agent.values()
        if not np.isfinite(values).all() or not np.isfinite(returns).all():
            raise DataError(type(self).__name__, "rewards", "must be finite numbers", "got NaN, infinity or overflow")
        return values, returns, lengths, np.array(updates).reshape(-1, 6)

    def learning_curve(self, window: int | None = None, confidence: float = 0.95) -> LearningCurve:
        """The mean return of windows of episodes; with several replicates the t interval over them."""
        check_is_fitted(self)
        return curve_of(self.returns_, window, confidence)


class QLearning(TemporalDifference):
    """Q-learning: learns the values of the best actions while it does others, too.

    After a step from s by a to t with reward r, Q(s, a) moves by `learning_rate` times r + gamma max Q(t, .) - Q(s, a).
    With rates that fall with the visits (`visit_power` above 0.5) the values converge to the best ones.

    {parameters}

    Examples
    --------
    >>> from assay.models.agents import QLearning, cliff_walking
    >>> agent = QLearning(gamma=1.0, learning_rate=0.5, n_episodes=1000, random_state=0).fit(cliff_walking())
    >>> len(agent.path(cliff_walking())) - 1
    13
    """


class Sarsa(TemporalDifference):
    """Sarsa: learns the values of what it does, exploring included.

    After a step from s by a to t with reward r, Q(s, a) moves by `learning_rate` times r + gamma Q(t, b) - Q(s, a),
    where b is the action that it does in t.

    {parameters}

    Examples
    --------
    >>> from assay.models.agents import Sarsa, cliff_walking
    >>> agent = Sarsa(gamma=1.0, learning_rate=0.5, n_episodes=2000, n_replicates=20, random_state=0)
    >>> len(agent.fit(cliff_walking()).path(cliff_walking())) - 1  # around the cliff with room to spare
    17
    """

    _on_policy = True


class SarsaLambda(TemporalDifference):
    """Sarsa(lambda): a step moves the values of the steps before it, too, as far as their traces live.

    {parameters}

    Examples
    --------
    >>> from assay.models.agents import SarsaLambda, windy_grid
    >>> agent = SarsaLambda(gamma=1.0, n_episodes=300, random_state=0).fit(windy_grid())
    >>> bool(agent.returns_[0, -50:].mean() > agent.returns_[0, :50].mean() + 20)
    True
    """

    trace_decay: float = param(0.9, Real(0, 1), "Lambda: what is left of a trace after a step, besides gamma.")
    traces: str = param("replacing", Choice(*TRACES), "A visit sets the trace to 1, or adds 1 to it.")

    _on_policy = True

    def _rule(self) -> Any:
        return self._rule_of(self.trace_decay, self.traces == "accumulating", False)


class QLambda(TemporalDifference):
    """Q(lambda): Q-learning whose steps move the values of the steps before, by Watkins's rule.

    An action that is not the best ends the traces, since what follows it says nothing of the best actions before;
    `cut_traces=False` lets them live (naive Q(lambda)), which learns faster and need not converge.

    {parameters}

    Examples
    --------
    >>> from assay.models.agents import QLambda, windy_grid
    >>> agent = QLambda(gamma=1.0, n_episodes=500, random_state=0).fit(windy_grid())
    >>> agent.returns_.shape
    (1, 500)
    """

    trace_decay: float = param(0.9, Real(0, 1), "Lambda: what is left of a trace after a step, besides gamma.")
    traces: str = param("replacing", Choice(*TRACES), "A visit sets the trace to 1, or adds 1 to it.")
    cut_traces: bool = param(True, Boolean(), "Whether an exploring action ends the traces.")

    def _rule(self) -> Any:
        return self._rule_of(self.trace_decay, self.traces == "accumulating", self.cut_traces)


def finite_spaces(who: str, world: Any) -> tuple[Parts, int]:
    """The parts of the states and the number of actions of a world with Gymnasium's protocol."""
    check_protocol(who, world)
    held = {name: getattr(world, name, None) for name in ("observation_space", "action_space")}
    parts = {name: parts_of(space) for name, space in held.items()}
    for name, found in parts.items():
        if found is None or (name == "action_space" and len(found) != 1):
            raise DataError(
                who,
                f"the world's {name}",
                "must be finite, with its size as n",
                f"got {plain(repr(held[name]), 60)}",
                "use DeepQ or FittedQ for states of real numbers" if name == "observation_space" else "",
            )
    states, actions = parts["observation_space"], parts["action_space"]
    assert states is not None and actions is not None
    return states, actions[0][0]


def _episode(
    agent: Any,
    world: Any,
    number: Callable[[Any], int],
    seed: int | None,
    explore: float,
    rate: float,
    max_steps: int,
    episode: int,
    kept: list[tuple[float, ...]] | None,
) -> tuple[float, int]:
    """One walk by Gymnasium's protocol; its return and its steps."""
    first_action = action_offset(world)
    observation, _ = world.reset(seed=seed) if seed is not None else world.reset()
    state = number(observation)
    action, total = agent.begin(state, explore, rate), 0.0
    for steps in range(1, max_steps + 1):
        observation, reward, ends, stopped, _ = world.step(action + first_action)
        before, did, state = state, action, number(observation)
        action = agent.step(float(reward), state, bool(ends))
        if kept is not None and len(kept) < MOST_UPDATES:
            kept.append((episode, before, did, state, float(reward), agent.error))
        total += float(reward)
        if ends or stopped:
            return total, steps
    return total, max_steps
