"""What agents with a regressor in place of a table share: observations as columns, playing, memory of steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import DataError, Estimator, plain
from .playing import Player, action_offset, check_protocol
from .views import LearningCurve, curve_of


@dataclass
class Memory:
    """Steps that were made: the last `size` of them, in arrays that are written round and round."""

    size: int
    n_columns: int

    def __post_init__(self) -> None:
        self.states = np.empty((self.size, self.n_columns))
        self.following = np.empty((self.size, self.n_columns))
        self.actions = np.empty(self.size, dtype=np.int64)
        self.rewards, self.ends = np.empty(self.size), np.empty(self.size)
        self.count = 0

    def add(self, state: np.ndarray, action: int, reward: float, following: np.ndarray, ends: bool) -> None:
        """Keep one step, in place of the oldest if there is no room."""
        place = self.count % self.size
        self.states[place], self.following[place] = state, following
        self.actions[place], self.rewards[place], self.ends[place] = action, reward, float(ends)
        self.count += 1

    def __len__(self) -> int:
        return min(self.count, self.size)


class ApproximateAgent(Player, Estimator):
    """Base of agents for states of real numbers (or few states, which become columns of 0 and 1)."""

    _learned = {
        "returns_": "the sum of rewards of each training episode, 1 x episodes",
        "n_steps_": "int, steps made",
        "n_actions_": "int",
        "n_columns_": "int, numbers of a state as the regressor sees it",
        "n_listed_": "int, states of a world with finitely many; 0 for real numbers",
    }

    def _enter(self, world: Any) -> int:
        """Look at the spaces of a world; the first action."""
        who = type(self).__name__
        check_protocol(who, world)
        n_actions = getattr(getattr(world, "action_space", None), "n", None)
        if not isinstance(n_actions, (int, np.integer)) or n_actions < 1:
            raise DataError(who, "the world's action_space", "must be finite, with its size as n")
        space = getattr(world, "observation_space", None)
        listed, shape = getattr(space, "n", None), getattr(space, "shape", None)
        self.n_actions_ = int(n_actions)
        if isinstance(listed, (int, np.integer)):
            self.n_listed_ = self.n_columns_ = int(listed)
        elif shape is not None and len(shape) == 1 and shape[0] >= 1:
            self.n_listed_, self.n_columns_ = 0, int(shape[0])
        else:
            raise DataError(
                who,
                "the world's observation_space",
                "must have a size n or a shape of one length",
                f"got {plain(repr(space), 60)}",
                "use QLearning for states of several whole numbers",
            )
        self.n_features_in_ = self.n_columns_
        return action_offset(world)

    def _columns(self, observations: Any) -> np.ndarray:
        """Observations as rows of numbers."""
        given = np.asarray(observations)
        if self.n_listed_:
            if given.dtype.kind not in "iu" or (given.size and (given.min() < 0 or given.max() >= self.n_listed_)):
                raise DataError(
                    type(self).__name__,
                    "states",
                    f"must be whole numbers from 0 to {self.n_listed_ - 1}",
                    f"got {plain(repr(observations), 40)}",
                )
            return np.eye(self.n_listed_)[given.reshape(-1)]
        rows = np.atleast_2d(given)
        if rows.ndim != 2 or rows.shape[1] != self.n_columns_ or rows.dtype.kind not in "iufb":
            raise DataError(
                type(self).__name__, "states", f"must be rows of {self.n_columns_} numbers", f"got shape {given.shape}"
            )
        if not np.isfinite(rows).all():
            raise DataError(type(self).__name__, "states", "must be finite numbers", "got NaN or infinity")
        return rows.astype(np.float64)

    def _values_of(self, rows: np.ndarray) -> np.ndarray:
        """Values of the actions, rows x actions."""
        raise NotImplementedError  # pragma: no cover

    def action_values(self, states: Any) -> np.ndarray:
        """The value of each action in each of the states."""
        check_is_fitted(self)
        return self._values_of(self._columns(states))

    def predict(self, states: Any) -> np.ndarray:
        """The best action in each of the states."""
        return self.action_values(states).argmax(axis=1)

    def _act(self, observation: Any) -> int:
        return int(self._values_of(self._columns(observation)).argmax())

    def learning_curve(self, window: int | None = None) -> LearningCurve:
        """The mean return of windows of training episodes."""
        check_is_fitted(self)
        return curve_of(self.returns_, window, 0.95)

    def _check_reward(self, reward: Any) -> float:
        if not np.isfinite(value := float(reward)):
            raise DataError(type(self).__name__, "rewards", "must be finite numbers", f"got {value}")
        return value
