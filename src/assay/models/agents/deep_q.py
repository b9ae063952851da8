"""Deep Q-learning: a multilayer perceptron learns the values of actions from remembered steps."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from ...base import (
    ArrayLike,
    Boolean,
    Choice,
    Integer,
    Nothing,
    Real,
    Stream,
    n_jobs_param,
    param,
    random_state_param,
    trace_param,
)
from ..neural import MLPRegressor
from .approximate import ApproximateAgent, Memory
from .playing import play_steps
from .schedules import DECAYS, schedule


class DeepQ(ApproximateAgent):
    """Q-learning with a net in place of the table: experience replay and a target net that stands still.

    The net has an output for each action. Every `train_every` steps it makes `n_batches` steps by Adam on batches drawn
    from the last `memory_size` steps, towards r + gamma Q'(t, b), where Q' is the target net, a copy that is renewed
    every `target_every` steps, and b the best action in t: by the net itself (`double`, which does not overrate), or
    by the target net. Columns are standardised by the first steps, which are made at random. Every `check_every`
    episodes the net is tried in walks without exploring, and the best one is kept: nets get worse again now and then.

    Cart-pole is solved (100 walks that bring 195 on average) by `DeepQ(stop_at=195, n_episodes=400)`: with the seeds 0
    to 5 after 60 to 170 episodes, in 2 to 19 seconds of one core, and 100 further walks bring 197 to 200.

    {parameters}

    Examples
    --------
    >>> from assay.models.agents import CartPole, DeepQ
    >>> agent = DeepQ(n_episodes=30, hidden_layer_sizes=(16,), random_state=0).fit(CartPole())
    >>> agent.predict([[0.0, 0.0, 0.1, 0.5]]).shape
    (1,)
    """

    gamma: float = param(0.98, Real(0, 1), "Discount per step.")
    n_episodes: int = param(200, Integer(1), "Walks from a first state to an end.")
    max_steps: int = param(1000, Integer(1), "Steps after which a walk is broken off; not an end of the world.")
    hidden_layer_sizes: Any = param((64, 64), ArrayLike() | Integer(1), "Units of each hidden layer.")
    learning_rate: float = param(1e-3, Real(0, None, "neither"), "Step of Adam.")
    batch_size: int = param(64, Integer(1), "Steps in a batch.")
    memory_size: int = param(50_000, Integer(1), "Steps that are remembered.")
    start_after: int = param(500, Integer(1), "Steps at random before anything is learned.")
    train_every: int = param(4, Integer(1), "Steps between trainings.")
    n_batches: int = param(8, Integer(1), "Batches of each training.")
    target_every: int = param(100, Integer(1), "Steps between renewals of the target net.")
    double: bool = param(True, Boolean(), "Whether the net chooses the action that the target net values.")
    epsilon: float = param(1.0, Real(0, 1), "Chance of an action at random in the first episode.")
    epsilon_end: float | None = param(0.02, Real(0, 1) | Nothing(), "The chance at the end; None: the same.")
    decay: str = param("linear", Choice(*DECAYS), "How the chance comes to its end.")
    decay_episodes: int | None = param(60, Integer(1) | Nothing(), "Episodes until the end is reached; None: all.")
    check_every: int = param(10, Integer(1), "Episodes between checks: walks without exploring; the best net is kept.")
    n_checks: int = param(10, Integer(0), "Walks of a check; 0: none are made, and the last net is kept.")
    stop_at: float | None = param(
        None, Real() | Nothing(), "Stop when a check and 100 more walks bring this return on average; None: never."
    )
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    _learned = {"net_": "MLPRegressor, the net", "center_": "means of the columns", "scale_": "their deviations"}

    def fit(self, world: Any, y: Any = None) -> DeepQ:
        """Learn in a world with Gymnasium's protocol: states of real numbers or few states, few actions."""
        self._check_parameters()
        first_action = self._enter(world)
        stream = self._stream()
        draw = stream.child(0).generator()
        self._begin_net(stream)
        memory = Memory(self.memory_size, self.n_columns_)
        chances = schedule(self.epsilon, self.epsilon_end, self.n_episodes, self.decay_episodes, self.decay)
        returns: list[float] = []
        lengths: list[int] = []
        trace = self._new_trace()
        seed: int | None = stream.child(1).key % (1 << 31)
        for chance in chances.tolist():
            observation, _ = world.reset(seed=seed) if seed is not None else world.reset()
            seed, state, total = None, self._columns(observation)[0], 0.0
            for _ in range(self.max_steps):
                early = memory.count < self.start_after
                if early or draw.random() < chance:
                    action = int(draw.integers(self.n_actions_))
                else:
                    action = int(self._values_of(state[None]).argmax())
                observation, paid, ends, stopped, _ = world.step(action + first_action)
                reward, following = self._check_reward(paid), self._columns(observation)[0]
                memory.add(state, action, reward, following, bool(ends))
                self._after_step(memory, draw)
                state, total = following, total + reward
                if ends or stopped:
                    break
            returns.append(total)
            lengths.append(memory.count - sum(lengths))
            trace.record("episode", episode=len(returns) - 1, total=total, epsilon=chance, steps=memory.count)
            if self._check(world, returns, lengths, stream.child(3).child(len(returns))):
                break
        self._keep_best()
        self.returns_, self.n_steps_ = np.array([returns]), memory.count
        self._keep_trace(trace)
        return self

    def _begin_net(self, stream: Stream) -> None:
        self.center_, self.scale_ = np.zeros(self.n_columns_), np.ones(self.n_columns_)
        self.net_ = MLPRegressor(
            hidden_layer_sizes=self.hidden_layer_sizes,
            learning_rate_init=self.learning_rate,
            batch_size=self.batch_size,
            alpha=0.0,
            loss="huber",
            loss_parameter=1.0,
            dtype="float32",
            random_state=stream.child(2).key % (1 << 31),
            n_jobs=self.n_jobs,
        ).partial_fit(np.zeros((1, self.n_columns_)), np.zeros((1, self.n_actions_)))
        # Values that are large before anything is known would outlive the learning: the maximum spreads them.
        self.net_.coefs_[-1][:] *= 0.01
        self.net_.intercepts_[-1][:] = 0.0
        self._target = deepcopy(self.net_)
        self._best: tuple[float, MLPRegressor | None] = (-np.inf, None)

    def _check(self, world: Any, returns: list[float], lengths: list[int], stream: Stream) -> bool:
        """Walk without exploring and keep the net if it is the best so far; whether it brings what was asked for.

        A net goes on changing after it has learned, and gets worse now and then: the last one need not be a good one.
        """
        if not self.n_checks:
            return self.stop_at is not None and len(returns) >= 20 and bool(np.mean(returns[-20:]) >= self.stop_at)
        if len(returns) % self.check_every or sum(lengths) < self.start_after:
            return False
        longest = max(lengths)  # a net that walks in circles is known without walking on and on
        brought = self._walks(world, self.n_checks, longest, stream.child(0))
        if brought >= self._best[0]:
            self._best = (brought, deepcopy(self.net_))
        if self.stop_at is None or brought < self.stop_at:
            return False
        return self._walks(world, 100, self.max_steps, stream.child(1)) >= self.stop_at

    def _keep_best(self) -> None:
        if self._best[1] is not None:
            self.net_ = self._best[1]
        del self._best, self._target

    def _walks(self, world: Any, n: int, max_steps: int, stream: Stream) -> float:
        seed = stream.key % (1 << 31)
        return float(play_steps(type(self).__name__, world, self._act, n, max_steps, 1.0, seed).mean())

    @property
    def _unit(self) -> float:
        """What the net's outputs are in: values grow to rewards / (1 - gamma), which would be far to go for it."""
        return 1.0 - self.gamma if self.gamma < 1.0 else 1.0

    def _values_of(self, rows: np.ndarray) -> np.ndarray:
        return self._ask(self.net_, rows)

    def _ask(self, net: MLPRegressor, rows: np.ndarray) -> np.ndarray:
        return net.predict((rows - self.center_) / self.scale_).reshape(len(rows), self.n_actions_) / self._unit

    def _after_step(self, memory: Memory, draw: np.random.Generator) -> None:
        """Train and renew the target net where it is time."""
        if memory.count == max(self.start_after, 2) and not self.n_listed_:
            seen = memory.states[: len(memory)]
            self.center_, self.scale_ = seen.mean(axis=0), np.maximum(seen.std(axis=0), 1e-6)
        if memory.count >= self.start_after and memory.count % self.train_every == 0:
            self._train(memory, draw.integers(len(memory), size=self.batch_size * self.n_batches))
        if memory.count % self.target_every == 0:
            self._target = deepcopy(self.net_)

    def _train(self, memory: Memory, chosen: np.ndarray) -> None:
        """One pass over steps drawn from the memory, in batches."""
        following = memory.following[chosen]
        later = self._ask(self._target, following)
        best = (self._ask(self.net_, following) if self.double else later).argmax(axis=1)
        worth = memory.rewards[chosen] + self.gamma * (1.0 - memory.ends[chosen]) * later[np.arange(len(chosen)), best]
        rows = (memory.states[chosen] - self.center_) / self.scale_
        for begin in range(0, len(chosen), self.batch_size):
            part = slice(begin, begin + self.batch_size)
            # Actions that were not done are to stay as the net has them now.
            wanted = self.net_.predict(rows[part]).reshape(-1, self.n_actions_)
            wanted[np.arange(len(wanted)), memory.actions[chosen[part]]] = worth[part] * self._unit
            self.net_.partial_fit(rows[part], wanted)
