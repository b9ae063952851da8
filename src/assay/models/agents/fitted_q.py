"""Fitted Q iteration: any regressor learns the values of actions from a batch of steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from ...base import DataError, Integer, Nothing, Real, Stream, n_jobs_param, param, random_state_param, trace_param
from ...base.parameters import Instance
from ..ensembles import ExtraTreesRegressor
from .approximate import ApproximateAgent, Memory


class FittedQ(ApproximateAgent):
    """Fitted Q iteration: regressions of r + gamma max Q(t, .) on state and action, each on the values of the last.

    Steps are collected with actions at random; in each of `n_rounds` rounds the last values then choose the actions but
    for a chance `epsilon`, and all steps so far are fitted. Every action has a regressor of its own.

    {parameters}

    Examples
    --------
    >>> from assay.models.agents import FittedQ, grid_of
    >>> world = grid_of(["S..G"])
    >>> FittedQ(n_episodes=20, n_iterations=8, random_state=0).fit(world).predict([0, 1, 2])
    array([1, 1, 1])
    """

    regressor: Any = param(
        None, Instance(object) | Nothing(), "Regressor to clone; None: extremely randomised trees of 50 trees."
    )
    gamma: float = param(0.95, Real(0, 1), "Discount per step.")
    n_episodes: int = param(100, Integer(1), "Walks of each round.")
    n_rounds: int = param(1, Integer(1), "Times that steps are collected and fitted.")
    epsilon: float = param(0.2, Real(0, 1), "Chance of an action at random after the first round.")
    max_steps: int = param(1000, Integer(1), "Steps after which a walk is broken off; not an end of the world.")
    n_iterations: int = param(30, Integer(1), "Regressions of each round: how many steps ahead are seen.")
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    _learned = {
        "regressors_": "list, a fitted regressor for each action; None for one that was never done",
        "changes_": "array, mean change of the values in each regression of the last round",
    }

    def fit(self, world: Any, y: Any = None) -> FittedQ:
        """Collect steps in a world with Gymnasium's protocol, and fit the values of actions to them."""
        self._check_parameters()
        first_action = self._enter(world)
        stream = self._stream()
        draw = stream.child(0).generator()
        self.regressors_: list[Any] = []
        trace = self._new_trace()
        memory = Memory(1024, self.n_columns_)
        returns: list[float] = []
        seed: int | None = stream.child(1).key % (1 << 31)
        for turn in range(self.n_rounds):
            for _ in range(self.n_episodes):
                observation, _ = world.reset(seed=seed) if seed is not None else world.reset()
                seed, state, total = None, self._columns(observation)[0], 0.0
                for _ in range(self.max_steps):
                    if not self.regressors_ or draw.random() < self.epsilon:
                        action = int(draw.integers(self.n_actions_))
                    else:
                        action = int(self._values_of(state[None]).argmax())
                    observation, paid, ends, stopped, _ = world.step(action + first_action)
                    reward, following = self._check_reward(paid), self._columns(observation)[0]
                    memory = _with_room(memory)
                    memory.add(state, action, reward, following, bool(ends))
                    state, total = following, total + reward
                    if ends or stopped:
                        break
                returns.append(total)
            self._iterate(memory, stream.child(2 + turn))
            trace.record("round", round=turn, steps=len(memory), change=float(self.changes_[-1]))
        self.returns_, self.n_steps_ = np.array([returns]), len(memory)
        self._keep_trace(trace)
        return self

    def _iterate(self, memory: Memory, stream: Stream) -> None:
        """Regressions on the steps so far."""
        n = len(memory)
        states, following, actions = memory.states[:n], memory.following[:n], memory.actions[:n]
        lasting = self.gamma * (1.0 - memory.ends[:n])
        # The same state is met again and again: it is asked once.
        different, place = np.unique(following, axis=0, return_inverse=True)
        own = [np.flatnonzero(actions == a) for a in range(self.n_actions_)]
        values, changes = np.zeros(n), []
        self.regressors_ = []
        for _ in range(self.n_iterations):
            later = self._values_of(different).max(axis=1)[place.reshape(-1)] if self.regressors_ else np.zeros(n)
            wanted = memory.rewards[:n] + lasting * later
            changes.append(float(np.abs(wanted - values).mean()))
            values = wanted
            self.regressors_ = [
                self._new_regressor(stream).fit(states[rows], wanted[rows]) if len(rows) else None for rows in own
            ]
        self.changes_ = np.array(changes)

    def _new_regressor(self, stream: Stream) -> Any:
        if self.regressor is None:
            # Fully grown trees on few different states remember them all.
            trees: Any = ExtraTreesRegressor
            made: Any = trees(n_estimators=50, min_samples_leaf=1, n_jobs=self.n_jobs)
        elif not hasattr(self.regressor, "fit") or not hasattr(self.regressor, "predict"):
            raise DataError(type(self).__name__, "parameter 'regressor'", "must have fit and predict")
        else:
            made = clone(self.regressor)
        if "random_state" in made.get_params() and made.get_params()["random_state"] is None:
            made.set_params(random_state=stream.key % (1 << 31))
        return made

    def _values_of(self, rows: np.ndarray) -> np.ndarray:
        values = np.full((len(rows), self.n_actions_), -np.inf)
        for action, regressor in enumerate(self.regressors_):
            if regressor is not None:
                values[:, action] = np.asarray(regressor.predict(rows)).reshape(-1)
        return values


def _with_room(memory: Memory) -> Memory:
    """The memory, or one of twice the size with its steps."""
    if memory.count < memory.size:
        return memory
    larger = Memory(2 * memory.size, memory.n_columns)
    for name in ("states", "following", "actions", "rewards", "ends"):
        getattr(larger, name)[: memory.size] = getattr(memory, name)
    larger.count = memory.count
    return larger
