"""Worlds of finitely many states and actions as tables of outcomes; they also speak Gymnasium's protocol.

`TabularWorld` is what the kernel walks in. It is built from transitions and rewards, from a table `P` as Gymnasium's
small environments have it, or by one of the makers of `grids`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ...base import DataError, Stream, plain
from .worlds import read_world

Array = np.ndarray


class Discrete:
    """The numbers from 0 to n - 1, as a space of Gymnasium.

    >>> Discrete(3).contains(2), Discrete(3).contains(3)
    (True, False)
    """

    def __init__(self, n: int):
        self.n = int(n)
        self._generator = np.random.default_rng(0)

    def contains(self, value: Any) -> bool:
        """Whether the value is one of the numbers."""
        return isinstance(value, (int, np.integer, np.ndarray)) and bool(0 <= int(value) < self.n)

    def seed(self, seed: int | None = None) -> None:
        """Begin the draws of `sample` anew."""
        self._generator = Stream.of(seed).generator()

    def sample(self) -> int:
        """A number drawn at random."""
        return int(self._generator.integers(self.n))

    def __repr__(self) -> str:
        return f"Discrete({self.n})"


class TabularWorld:
    """What may follow each action in each state: next state, chance, reward and whether the walk ends.

    Row `s * n_actions + a` of `starts` delimits the outcomes of action a in state s: `next_states`, `chances` (which
    add up to 1), `outcome_rewards` with the standard deviations `noise` of normal noise, and `ends`. `first` is the
    chance of each state to be the first. `max_steps` is where a walk is broken off when it has not ended.

    `shape`, `cells` (a letter for each state) and `action_names` are for drawing. `transitions` and `rewards` are the
    world as a planner takes it: what ends a walk is left out of the transitions.

    Examples
    --------
    >>> from assay.models.agents import frozen_lake
    >>> world = frozen_lake(slip=0.0)
    >>> world.reset(seed=0)[0], world.step(1)[:3]
    (0, (1, 0.0, False))
    """

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        outcomes: Sequence[Sequence[tuple[float, int, float, bool]]],
        *,
        first: Any = 0,
        noise: Any = None,
        max_steps: int = 10_000,
        shape: tuple[int, int] | None = None,
        cells: str = "",
        action_names: Sequence[str] = (),
        title: str = "",
    ):
        self.n_states, self.n_actions, self.max_steps = int(n_states), int(n_actions), int(max_steps)
        self.shape, self.cells, self.action_names, self.title = shape, cells, tuple(action_names), title
        rows = self.n_states * self.n_actions
        if rows < 1 or len(outcomes) != rows:
            raise DataError(
                "TabularWorld", "outcomes", f"must have one list for each of the {rows} pairs of state and action"
            )
        self.starts = np.concatenate([[0], np.cumsum([len(row) for row in outcomes])]).astype(np.int64)
        flat = [outcome for row in outcomes for outcome in row]
        self.chances = np.array([one[0] for one in flat], dtype=np.float64)
        self.next_states = np.array([one[1] for one in flat], dtype=np.int32)
        self.outcome_rewards = np.array([one[2] for one in flat], dtype=np.float64)
        self.ends = np.array([bool(one[3]) for one in flat], dtype=np.uint8)
        self.noise = np.zeros(len(flat)) if noise is None else np.broadcast_to(noise, len(flat)).astype(np.float64)
        self.first = _first_chances(first, self.n_states)
        self._check()
        self.observation_space, self.action_space = Discrete(self.n_states), Discrete(self.n_actions)
        self._generator = np.random.default_rng(0)
        self._state, self._steps = -1, 0

    def _check(self) -> None:
        who = "TabularWorld"
        if (np.diff(self.starts) < 1).any():
            raise DataError(who, "outcomes", "must be at least one for each state and action")
        if self.next_states.min() < 0 or self.next_states.max() >= self.n_states:
            raise DataError(who, "next states", f"must be from 0 to {self.n_states - 1}")
        sums = np.add.reduceat(self.chances, self.starts[:-1])
        if not (np.isfinite(self.chances).all() and (self.chances >= 0).all() and np.allclose(sums, 1.0, atol=1e-6)):
            raise DataError(who, "chances of outcomes", "must not be negative and add up to 1 for each action")
        if not (np.isfinite(self.outcome_rewards).all() and np.isfinite(self.noise).all() and (self.noise >= 0).all()):
            raise DataError(who, "rewards", "must be finite numbers with a noise that is not negative")
        if self.max_steps < 1:
            raise DataError(who, "max_steps", "must be at least 1", f"got {self.max_steps}")

    # -- the three ways to have one ------------------------------------------------------------------------------
    @classmethod
    def from_table(cls, table: Mapping[int, Mapping[int, Sequence[Any]]], **options: Any) -> TabularWorld:
        """From `P[state][action]`, a list of (chance, next state, reward, ends), as `env.unwrapped.P` of Gymnasium.

        >>> TabularWorld.from_table({0: {0: [(1.0, 0, 1.0, True)]}}).n_states
        1
        """
        n_states, n_actions = len(table), len(table[0])
        rows = [list(table[s][a]) for s in range(n_states) for a in range(n_actions)]
        return cls(n_states, n_actions, rows, **options)

    @classmethod
    def from_gymnasium(cls, environment: Any) -> TabularWorld:
        """From a small environment of Gymnasium that holds its table: the kernel then walks in it.

        The limit of steps is that of the environment's registration; other wrappers are not seen.
        """
        inner = getattr(environment, "unwrapped", environment)
        if not hasattr(inner, "P"):
            raise DataError(
                "TabularWorld", "the environment", "must hold its table as P", f"got {plain(type(inner).__name__)}"
            )
        first = getattr(inner, "initial_state_distrib", 0)
        limit = getattr(getattr(environment, "spec", None), "max_episode_steps", None)
        shape = getattr(inner, "shape", None)
        if shape is None and hasattr(inner, "nrow"):
            shape = (inner.nrow, inner.ncol)
        return cls.from_table(
            inner.P, first=first, max_steps=limit or 10_000, shape=tuple(shape) if shape is not None else None
        )

    @classmethod
    def from_known(cls, who: str, world: Any) -> TabularWorld:
        """From a world with transitions and rewards.

        A row of transitions that lacks some chance ends the walk with the rest; so does a state in `terminal`, or one
        that every action stays in for nothing.
        """
        known = read_world(who, world)
        held, n_actions = known.transitions, known.n_actions
        stays = _staying(held, n_actions).reshape(-1, n_actions) > 1 - 1e-12
        over = stays.all(axis=1) & (known.rewards == 0).all(axis=1)
        over[list(getattr(world, "terminal", ()))] = True
        rows: list[list[tuple[float, int, float, bool]]] = []
        for row in range(known.n_states * n_actions):
            part = slice(held.indptr[row], held.indptr[row + 1])
            reward = float(known.rewards.flat[row])
            listed = [
                (float(p), int(t), reward, bool(over[t])) for p, t in zip(held.data[part], held.indices[part]) if p > 0
            ]
            rest = 1.0 - sum(one[0] for one in listed)
            rows.append([*listed, (rest, row // n_actions, reward, True)] if rest > 1e-9 else listed)
        first = getattr(world, "start", None)
        return cls(
            known.n_states,
            n_actions,
            rows,
            first=np.where(over, 0.0, 1.0) if first is None and not over.all() else first or 0,
            shape=getattr(world, "shape", None),
            action_names=getattr(world, "actions", ()),
            cells=_letters(world, known.n_states),
        )

    # -- what the kernel and planners take -----------------------------------------------------------------------
    def arrays(self) -> tuple[int, int, Array, Array, Array, Array, Array, Array, Array, Array]:
        """The world as the kernel takes it."""
        upto = np.cumsum(self.chances)
        before = np.concatenate([[0.0], upto])[self.starts[:-1]]
        upto = upto - np.repeat(before, np.diff(self.starts))
        upto[self.starts[1:] - 1] = 1.0
        states = np.flatnonzero(self.first > 0).astype(np.int32)
        begins = np.cumsum(self.first[states])
        begins[-1] = 1.0
        sizes = (self.n_states, self.n_actions)
        return *sizes, self.starts, self.next_states, upto, self.outcome_rewards, self.noise, self.ends, states, begins

    @property
    def transitions(self) -> csr_array:
        """Chances of the next states, a row for each state and action, without what ends a walk."""
        rows = np.repeat(np.arange(self.n_states * self.n_actions), np.diff(self.starts))
        shape = (self.n_states * self.n_actions, self.n_states)
        return csr_array((self.chances * (self.ends == 0), (rows, self.next_states)), shape=shape)

    @property
    def rewards(self) -> np.ndarray:
        """The mean reward of each state and action."""
        sums = np.add.reduceat(self.chances * self.outcome_rewards, self.starts[:-1])
        return sums.reshape(self.n_states, self.n_actions)

    # -- Gymnasium's protocol ------------------------------------------------------------------------------------
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Begin a walk; the first state."""
        if seed is not None:
            self._generator = Stream.of(seed).generator()
        self._state, self._steps = int(self._generator.choice(self.n_states, p=self.first)), 0
        return self._state, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Do an action: next state, reward, whether the walk ended, whether it is broken off."""
        if self._state < 0:
            raise DataError("TabularWorld", "step", "needs a walk", way_out="call reset first")
        if not self.action_space.contains(action):
            raise DataError("TabularWorld", "the action", f"must be from 0 to {self.n_actions - 1}", f"got {action!r}")
        row = self._state * self.n_actions + int(action)
        begin, end = int(self.starts[row]), int(self.starts[row + 1])
        place = begin if end - begin == 1 else begin + int(self._generator.choice(end - begin, p=self._shares(row)))
        reward = float(self.outcome_rewards[place])
        if self.noise[place] > 0:
            reward += float(self._generator.normal(0.0, self.noise[place]))
        self._state, self._steps = int(self.next_states[place]), self._steps + 1
        return self._state, reward, bool(self.ends[place]), self._steps >= self.max_steps, {}

    def _shares(self, row: int) -> np.ndarray:
        chances = self.chances[self.starts[row] : self.starts[row + 1]]
        return chances / chances.sum()

    def close(self) -> None:
        """Nothing is open; the protocol has it."""

    def __repr__(self) -> str:
        return f"TabularWorld({self.title or 'world'}: {self.n_states} states, {self.n_actions} actions)"


def _first_chances(first: Any, n_states: int) -> np.ndarray:
    """The chance of each state to be the first, from a state, states, or a chance for each."""
    given = np.asarray(first)
    chances = np.zeros(n_states)
    if given.dtype.kind in "iu" and given.size and (given.ndim == 0 or given.size != n_states):
        places = np.atleast_1d(given)
        if places.min() < 0 or places.max() >= n_states:
            raise DataError("TabularWorld", "the first state", f"must be from 0 to {n_states - 1}", f"got {first!r}")
        chances[places] = 1.0
    elif given.shape == (n_states,) and given.dtype.kind in "iuf":
        chances[:] = given
    total = chances.sum()
    if not (np.isfinite(total) and total > 0 and (chances >= 0).all()):
        raise DataError("TabularWorld", "first", "must be a state, states, or a chance for each state")
    return chances / total


def _staying(held: csr_array, n_actions: int) -> np.ndarray:
    """The chance of each state and action to stay."""
    rows = np.arange(held.shape[0])
    return np.asarray(held[rows, rows // n_actions]).ravel()


def _letters(world: Any, n_states: int) -> str:
    """A letter for each cell of a grid: # for walls, G for ends, S for the start."""
    letters = ["."] * n_states
    for name, letter in (("walls", "#"), ("terminal", "G")):
        for state in getattr(world, name, ()):
            letters[state] = letter
    start = getattr(world, "start", None)
    if isinstance(start, int):
        letters[start] = "S"
    return "".join(letters)
