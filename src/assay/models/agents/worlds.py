"""Worlds that are known: transitions as sparse rows of state and action, and expected rewards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from ...base import DataError, plain


@dataclass(frozen=True)
class World:
    """Row `s * actions + a` of `transitions` holds P(next state | s, a); `rewards` is states x actions."""

    transitions: csr_array
    rewards: np.ndarray
    sums: np.ndarray
    """Of the rows of `transitions`; one below 1 ends the walk with the rest."""

    @property
    def n_states(self) -> int:
        """How many states there are."""
        return self.rewards.shape[0]

    @property
    def n_actions(self) -> int:
        """How many actions there are."""
        return self.rewards.shape[1]

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What the kernel takes: starts, next states, chances, rewards."""
        held = self.transitions
        return held.indptr.astype(np.int64), held.indices.astype(np.int32), held.data, self.rewards

    def stochastic(self) -> bool:
        """Whether every row adds up to 1."""
        return bool(np.abs(self.sums - 1.0).max() <= 1e-9)


def read_world(who: str, world: Any, rewards: Any = None) -> World:
    """A world from an object with `transitions` and `rewards`, or from these two.

    Transitions are an array (state, action, next state), a list of a matrix (state, next state) for each action,
    dense or sparse, or one sparse matrix with a row for each state and action. Rewards are (state, action), (state,),
    or (state, action, next state).

    >>> read_world("fit", np.array([[[0.0, 1.0]], [[0.0, 1.0]]]), [[1.0], [0.0]]).n_states
    2
    """
    if rewards is None:
        if not hasattr(world, "transitions") or not hasattr(world, "rewards"):
            raise DataError(who, "the world", "must have transitions and rewards", f"got {plain(type(world).__name__)}")
        world, rewards = world.transitions, world.rewards
    rows, n_states, n_actions = _rows(who, world)
    sums = rows @ np.ones(n_states)
    if not np.isfinite(sums).all() or (rows.data < 0).any() or (sums > 1 + 1e-6).any():
        raise DataError(who, "transitions", "must hold probabilities whose rows add up to at most 1")
    given = _numbers(who, "rewards", rewards)
    if given.shape == (n_states,):
        given = np.repeat(given[:, None], n_actions, axis=1)
    elif given.shape == (n_states, n_actions, n_states):
        dense = rows.toarray().reshape(n_states, n_actions, n_states)
        given = (dense * given).sum(axis=2)
    if given.shape != (n_states, n_actions):
        raise DataError(who, "rewards", f"must have the shape ({n_states}, {n_actions})", f"got shape {given.shape}")
    if not np.isfinite(given).all():
        state, action = np.argwhere(~np.isfinite(given))[0].tolist()
        came = "is missing (NaN)" if np.isnan(given[state, action]) else "is infinite"
        raise DataError(who, "rewards", "must be finite numbers", f"that of state {state}, action {action} {came}")
    return World(rows, np.ascontiguousarray(given), sums)


def _rows(who: str, transitions: Any) -> tuple[csr_array, int, int]:
    if issparse(transitions):
        count, n_states = transitions.shape
        if n_states == 0 or count % n_states:
            raise DataError(who, "transitions", "must have a row for each state and action", f"got {transitions.shape}")
        return csr_array(transitions, dtype=np.float64), n_states, count // n_states
    if isinstance(transitions, (list, tuple)) and transitions and issparse(transitions[0]):
        n_actions, n_states = len(transitions), transitions[0].shape[0]
        if any(one.shape != (n_states, n_states) for one in transitions):
            raise DataError(who, "transitions", "must be a square matrix for each action")
        stacked = vstack([csr_array(one, dtype=np.float64) for one in transitions], format="csr")
        order = np.arange(n_states * n_actions).reshape(n_actions, n_states).T.ravel()
        return csr_array(stacked[order]), n_states, n_actions
    held = _numbers(who, "transitions", transitions)
    if isinstance(transitions, (list, tuple)) and held.ndim == 3 and held.shape[1] == held.shape[2]:
        held = np.moveaxis(held, 0, 1)
    if held.ndim != 3 or held.shape[0] != held.shape[2] or not held.size:
        raise DataError(who, "transitions", "must have the shape (state, action, next state)", f"got {held.shape}")
    n_states, n_actions, _ = held.shape
    return csr_array(held.reshape(-1, n_states)), n_states, n_actions


def _numbers(who: str, what: str, given: Any) -> np.ndarray:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(who, what, "must be numbers in rows of one length", f"got {plain(repr(given), 60)}") from None
