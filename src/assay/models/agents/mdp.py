"""Planning in a Markov decision process whose transitions and rewards are known."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import eye_array
from scipy.sparse.linalg import spsolve

from ... import _kernels
from ...base import (
    AssayWarning,
    Choice,
    DataError,
    Integer,
    Nothing,
    Real,
    n_jobs_param,
    param,
    thread_count,
    trace_param,
)
from .playing import TableAgent
from .worlds import World, read_world

SOLVERS = ("value", "gauss-seidel", "modified", "policy")

MOST_SOLVED = 2000
"""States up to which the linear equations of a policy are always affordable."""
FIRST_SWEEPS = 2000
"""Sweeps that 'modified' makes of so few states before it turns to the equations."""


class MarkovDecisionProcess(TableAgent):
    """The best actions in a world that is known: value, Gauss-Seidel, modified policy or policy iteration.

    The values are at most `tol` from the best ones (by the span of the last change where transitions add up to 1);
    policy iteration solves the linear equations of each policy, and so does 'modified' where 2000 sweeps of at most
    2000 states did not end (a discount very near 1). Where `max_iter` ends the sweeps first, warning W201 says so. With
    a `horizon` the actions of each remaining step come from backward induction, and the discount may be 1.

    {parameters}

    Attributes
    ----------
    values_, q_values_, policy_ : of each state (and action); with a horizon those of the first step
    policies_ : with a horizon, a line of actions for each step
    n_iter_, converged_, changes_ : sweeps (policies, for policy iteration) and the change of each

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.agents import MarkovDecisionProcess
    >>> stay, go = np.eye(2), np.array([[0.0, 1.0], [0.0, 1.0]])
    >>> agent = MarkovDecisionProcess(gamma=0.5).fit([stay, go], rewards=[[0.0, 0.0], [1.0, 1.0]])
    >>> agent.policy_.tolist(), agent.values_.round(6).tolist()
    ([1, 0], [1.0, 2.0])
    """

    gamma: float = param(0.95, Real(0, 1), "Discount per step; below 1 without a horizon.")
    solver: str = param("modified", Choice(*SOLVERS), "How the values are found.")
    evaluations: int = param(
        20, Integer(1), "Most sweeps with the actions held, between two choices (solver 'modified')."
    )
    horizon: int | None = param(None, Integer(1) | Nothing(), "Steps that are left; None: without end.")
    tol: float = param(1e-8, Real(0, None, "neither"), "Largest distance from the best values.")
    max_iter: int = param(100_000, Integer(1), "Most sweeps or policies.")
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    def fit(self, world: Any, rewards: Any = None) -> MarkovDecisionProcess:
        """Plan. `world` has transitions and rewards, or is the transitions with `rewards` beside (see `read_world`)."""
        self._check_parameters()
        who = type(self).__name__
        known = read_world(who, world, rewards)
        if self.horizon is None and self.gamma >= 1:
            raise DataError(who, "parameter 'gamma'", "must be below 1 without a horizon", "got 1", "give a horizon")
        trace = self._new_trace()
        if self.horizon is not None:
            self._induce(known)
        else:
            if self.solver == "policy":
                values, changes, converged = self._policies(known, np.zeros(known.n_states))
            else:
                values, changes, converged = self._sweeps(known)
            self.changes_, self.n_iter_, self.converged_ = changes, len(changes), bool(converged)
            self.q_values_, self.policy_ = self._actions(known, values)
            self.values_ = self.q_values_.max(axis=1)
        if not np.isfinite(self.q_values_).all():
            rule = "must be small enough that their discounted sums are finite in float64"
            raise DataError(who, "rewards", rule, f"got rewards up to {np.abs(known.rewards).max():.3g}", "divide them")
        if not self.converged_:
            text = (
                f"{who}: not converged after {self.n_iter_} sweeps or policies (the last changed the values by "
                f"{self.changes_[-1]:.3g}); raise max_iter or tol, or take solver='policy'."
            )
            warnings.warn(AssayWarning("W201", text), stacklevel=2)
        for sweep, change in enumerate(self.changes_.tolist()):
            trace.record("sweep", sweep=sweep, change=change)
        self._keep_trace(trace)
        self._keep_grid(world)
        return self

    def _actions(self, world: World, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return _kernels.action_values(*world.arrays(), values, self.gamma, thread_count(self.n_jobs))

    def _sweeps(self, world: World) -> tuple[np.ndarray, np.ndarray, bool]:
        solves = self.solver == "modified" and world.n_states <= MOST_SOLVED
        values, changes, converged = _kernels.plan_values(
            *world.arrays(),
            np.zeros(world.n_states),
            self.gamma,
            self.solver == "gauss-seidel",
            self.evaluations if self.solver == "modified" else 0,
            world.stochastic(),
            self.tol,
            min(self.max_iter, FIRST_SWEEPS) if solves else self.max_iter,
            thread_count(self.n_jobs),
        )
        left = self.max_iter - len(changes)
        if converged or not solves or left < 1:
            return values, changes, converged
        values, more, converged = self._policies(world, values, left)
        return values, np.concatenate([changes, more]), converged

    def _policies(
        self, world: World, values: np.ndarray, most: int | None = None
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Howard's policy iteration: the values of a policy by a linear solve; better actions until none is."""
        states = np.arange(world.n_states)
        policy = self._actions(world, values)[1]
        changes: list[float] = []
        for _ in range(self.max_iter if most is None else most):
            values, before = policy_values(world, policy, self.gamma), values
            changes.append(float(np.abs(values - before).max()))
            q = self._actions(world, values)[0]
            # An action is changed only where another is better beyond rounding, so that equals cannot circle.
            better = q.max(axis=1) > q[states, policy] + 1e-12 * np.maximum(1.0, np.abs(values))
            if not better.any():
                return values, np.array(changes), True
            policy = np.where(better, q.argmax(axis=1), policy)
        return values, np.array(changes), False

    def _induce(self, world: World) -> None:
        assert self.horizon is not None
        values = np.zeros(world.n_states)
        policies, changes = [], []
        for _ in range(self.horizon):
            self.q_values_, self.policy_ = self._actions(world, values)
            following = self.q_values_.max(axis=1)
            with np.errstate(invalid="ignore"):  # sums that overflow are refused afterwards
                changes.append(float(np.abs(following - values).max()))
            values = following
            policies.append(self.policy_)
        self.values_, self.policies_ = values, np.array(policies[::-1])
        self.changes_, self.n_iter_, self.converged_ = np.array(changes), self.horizon, True


def policy_values(world: World, policy: np.ndarray, gamma: float) -> np.ndarray:
    """The values of a policy: the solution of (I - gamma P) V = r.

    >>> from assay.models.agents.worlds import read_world
    >>> policy_values(read_world("", np.ones((1, 1, 1)), [[1.0]]), np.array([0]), 0.5)
    array([2.])
    """
    rows = np.arange(world.n_states) * world.n_actions + policy
    matrix = eye_array(world.n_states, format="csc") - gamma * world.transitions[rows].tocsc()
    return np.atleast_1d(spsolve(matrix.tocsc(), world.rewards.ravel()[rows]))
