"""What every agent with a table of actions can do: name the action of a state, walk in a world, be drawn on a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base import DataError, Estimator, Stream, plain, thread_count
from ...base.unsupervised import check_count
from .spaces import state_number
from .tabular import TabularWorld
from .views import PolicyGrid


class Player:
    """What agents share that do the best action of a state in a world."""

    def play(
        self,
        world: Any,
        n_episodes: int = 100,
        *,
        max_steps: int = 10_000,
        discounted: bool = False,
        random_state: Any = None,
    ) -> np.ndarray:
        """The returns of walks in which the best actions are done and nothing is learned.

        `discounted` weighs the rewards by the powers of `gamma`.
        """
        check_is_fitted(self)
        check_walks(type(self).__name__, n_episodes, max_steps)
        gamma = float(getattr(self, "gamma", 1.0)) if discounted else 1.0
        return self._walk(world, n_episodes, max_steps, gamma, random_state)

    def _act(self, observation: Any) -> int:
        """The best action."""
        raise NotImplementedError  # pragma: no cover

    def _walk(self, world: Any, n_episodes: int, max_steps: int, gamma: float, random_state: Any) -> np.ndarray:
        return play_steps(type(self).__name__, world, self._act, n_episodes, max_steps, gamma, random_state)


class TableAgent(Player, Estimator):
    """Base of agents that know `policy_`, `values_` and `q_values_` of finitely many states."""

    _learned = {
        "q_values_": "values of actions, states x actions",
        "values_": "the value of each state: that of its best action",
        "policy_": "the best action of each state, the first of equals",
        "grid_": "rows and columns of the world where it is a grid, and its letters",
    }

    def _keep_grid(self, world: Any) -> None:
        shape, cells = getattr(world, "shape", None), getattr(world, "cells", "")
        fits = isinstance(shape, tuple) and len(shape) == 2 and shape[0] * shape[1] == len(self.policy_)
        names = [str(name) for name in getattr(world, "action_names", ())]
        self.grid_: dict[str, Any] = (
            {"shape": list(shape), "cells": str(cells), "actions": names} if fits and shape else {}
        )

    def predict(self, states: Any) -> np.ndarray:
        """The best action in each of the states: their numbers, or rows of the parts of states that have several."""
        check_is_fitted(self)
        given = np.asarray(states)
        parts = getattr(self, "state_parts_", [])
        if len(parts) > 1 and given.ndim == 2 and given.shape[1] == len(parts):
            given = np.array([state_number(type(self).__name__, parts, row) for row in given], dtype=np.int64)
        n = len(self.policy_)
        if given.dtype.kind not in "iu" or (given.size and (given.min() < 0 or given.max() >= n)):
            raise DataError(
                type(self).__name__,
                "states",
                f"must be whole numbers from 0 to {n - 1}",
                f"got {plain(repr(states), 40)}",
            )
        return self.policy_[given]

    def _walk(self, world: Any, n_episodes: int, max_steps: int, gamma: float, random_state: Any) -> np.ndarray:
        """A `TabularWorld` is walked in by the kernel, any other world by Gymnasium's protocol."""
        if not isinstance(world, TabularWorld):
            return super()._walk(world, n_episodes, max_steps, gamma, random_state)
        self._check_world(world.n_states, world.n_actions)
        steps = min(max_steps, world.max_steps)
        key, threads = Stream.of(random_state).key, thread_count(getattr(self, "n_jobs", None))
        return _kernels.follow_policy(*world.arrays(), self.policy_, n_episodes, steps, gamma, key, threads)[0]

    def _act(self, observation: Any) -> int:
        parts = getattr(self, "state_parts_", None) or [[len(self.policy_), 0]]
        return int(self.policy_[state_number(type(self).__name__, parts, observation)])

    def _check_world(self, n_states: int, n_actions: int) -> None:
        if (n_states, n_actions) != self.q_values_.shape:
            known = "{} states and {} actions".format(*self.q_values_.shape)
            raise DataError(type(self).__name__, "the world", f"must have {known}", f"got {n_states} and {n_actions}")

    def path(self, world: TabularWorld, max_steps: int = 1000) -> list[int]:
        """The states of a walk under the best actions when the likeliest always happens.

        It begins in the likeliest first state and stops at the end of the walk or in a circle.
        """
        check_is_fitted(self)
        self._check_world(world.n_states, world.n_actions)
        state = int(np.argmax(world.first))
        walked, seen = [state], {state}
        for _ in range(max_steps):
            row = state * world.n_actions + int(self.policy_[state])
            begin, end = world.starts[row], world.starts[row + 1]
            place = int(begin + np.argmax(world.chances[begin:end]))
            state = int(world.next_states[place])
            walked.append(state)
            if world.ends[place] or state in seen:
                break
            seen.add(state)
        return walked

    def view(self) -> PolicyGrid | None:
        """The best actions and the values on the grid, where the world was one."""
        check_is_fitted(self)
        if not self.grid_:
            return None
        rows, columns = self.grid_["shape"]
        return PolicyGrid(
            rows=rows,
            columns=columns,
            cells=self.grid_["cells"],
            policy=self.policy_.tolist(),
            values=self.values_.tolist(),
            actions=self.grid_["actions"],
        )


def check_walks(who: str, n_episodes: Any, max_steps: Any) -> None:
    """Refuse walks that are none."""
    check_count(f"{who}.play", n_episodes, "n_episodes")
    check_count(f"{who}.play", max_steps, "max_steps")


def play_steps(
    who: str, world: Any, act: Any, n_episodes: int, max_steps: int, gamma: float, random_state: Any
) -> np.ndarray:
    """The returns of walks by Gymnasium's protocol, `act` choosing the action of an observation."""
    check_protocol(who, world)
    stream = Stream.of(random_state)
    offset = action_offset(world)
    returns = np.zeros(n_episodes)
    for episode in range(n_episodes):
        observation, _ = world.reset(seed=stream.child(episode).key % (1 << 31))
        weight = 1.0
        for _ in range(max_steps):
            observation, reward, ends, stopped, _ = world.step(act(observation) + offset)
            returns[episode] += weight * float(reward)
            weight *= gamma
            if ends or stopped:
                break
    return returns


def check_protocol(who: str, world: Any) -> None:
    """Refuse a world without `reset` and `step`."""
    if not (callable(getattr(world, "reset", None)) and callable(getattr(world, "step", None))):
        raise DataError(
            who,
            "the world",
            "must have reset and step as Gymnasium has them, or transitions and rewards",
            f"got {plain(type(world).__name__)}",
        )


def action_offset(world: Any) -> int:
    """The first action of the world's action space: Gymnasium's spaces need not begin at 0."""
    return int(getattr(world.action_space, "start", 0))
