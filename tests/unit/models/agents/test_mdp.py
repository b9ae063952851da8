"""Planning: the linear solve of the best policy, every policy tried, other forms of worlds, finite horizons."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from assay.base import AssayWarning, DataError
from assay.models.agents import MarkovDecisionProcess
from assay.models.agents.mdp import SOLVERS, policy_values
from assay.models.agents.worlds import read_world


def world(states: int = 5, actions: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    transitions = rng.dirichlet(np.full(states, 0.5), size=(states, actions))
    return transitions, rng.normal(size=(states, actions))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.99])
def test_values_are_those_of_the_best_of_all_policies(solver, gamma):
    P, r = world()
    agent = MarkovDecisionProcess(gamma=gamma, solver=solver).fit(P, r)
    known = read_world("", P, r)
    best = np.max([policy_values(known, np.array(p), gamma) for p in product(range(3), repeat=5)], axis=0)
    np.testing.assert_allclose(agent.values_, best, atol=2e-8)
    np.testing.assert_allclose(policy_values(known, agent.policy_, gamma), best, atol=1e-7)
    np.testing.assert_allclose(agent.q_values_, r + gamma * P @ best, atol=2e-8)
    assert agent.converged_ and len(agent.changes_) == agent.n_iter_


@pytest.mark.parametrize("solver", SOLVERS)
def test_walks_that_end_have_the_values_of_the_linear_solve(solver):
    P, r = world(40, 2, seed=3)
    P *= 0.9
    P[7] = 0.0
    agent = MarkovDecisionProcess(gamma=0.97, solver=solver).fit(P, r)
    exact = policy_values(read_world("", P, r), agent.policy_, 0.97)
    np.testing.assert_allclose(agent.values_, exact, atol=3e-8)
    assert agent.values_[7] == pytest.approx(r[7].max())


def test_every_form_of_a_world_gives_the_same():
    P, r = world(6, 2)
    exact = MarkovDecisionProcess().fit(P, r)
    forms = [
        [P[:, a] for a in range(2)],
        [csr_array(P[:, a]) for a in range(2)],
        csr_array(P.reshape(12, 6)),
    ]
    for form in forms:
        np.testing.assert_array_equal(MarkovDecisionProcess().fit(form, r).q_values_, exact.q_values_)
    by_next = np.broadcast_to(r[:, :, None], (6, 2, 6))
    np.testing.assert_allclose(MarkovDecisionProcess().fit(P, by_next).values_, exact.values_, atol=1e-7)
    for jobs in (1, 3):
        np.testing.assert_array_equal(MarkovDecisionProcess(n_jobs=jobs).fit(P, r).values_, exact.values_)


def test_a_finite_horizon_is_the_best_of_all_plans():
    P, r = world(3, 2, seed=1)
    agent = MarkovDecisionProcess(gamma=1.0, horizon=3).fit(P, r)
    best = np.full(3, -np.inf)
    for plan in product(product(range(2), repeat=3), repeat=3):
        values = np.zeros(3)
        for policy in plan[::-1]:
            values = np.array([r[s, policy[s]] + P[s, policy[s]] @ values for s in range(3)])
        best = np.maximum(best, values)
    np.testing.assert_allclose(agent.values_, best)
    values = np.zeros(3)
    for policy in agent.policies_[::-1]:
        values = np.array([r[s, policy[s]] + P[s, policy[s]] @ values for s in range(3)])
    np.testing.assert_allclose(values, best)


def test_fewer_sweeps_where_actions_are_held():
    P, r = world(200, 4, seed=2)
    sweeps = {s: MarkovDecisionProcess(gamma=0.99, solver=s, trace=True).fit(P, r) for s in SOLVERS}
    assert sweeps["policy"].n_iter_ < sweeps["value"].n_iter_
    assert sweeps["modified"].n_iter_ <= sweeps["value"].n_iter_
    assert len(sweeps["value"].trace_) == sweeps["value"].n_iter_
    for agent in sweeps.values():
        np.testing.assert_allclose(agent.values_, sweeps["policy"].values_, atol=2e-8)


def test_a_large_sparse_world_stays_within_its_tolerance():
    rng = np.random.default_rng(0)
    n, a, k = 20_000, 3, 4
    columns = rng.integers(0, n, size=n * a * k)
    chances = rng.dirichlet(np.ones(k), size=n * a).ravel()
    P = csr_array((chances, columns, np.arange(0, n * a * k + 1, k)), shape=(n * a, n))
    r = rng.normal(size=(n, a))
    agent = MarkovDecisionProcess(gamma=0.9, tol=1e-6).fit(P, r)
    q = r + 0.9 * (P @ agent.values_).reshape(n, a)
    assert np.abs(q.max(axis=1) - agent.values_).max() < 1e-6


@pytest.mark.parametrize(
    ("parameters", "P", "r", "words"),
    [
        ({}, np.ones((2, 1, 2)), np.zeros((2, 1)), "add up to at most 1"),
        ({}, np.ones((2, 2)), np.zeros((2, 1)), "shape (state, action, next state)"),
        ({}, np.full((2, 1, 2), 0.5), np.zeros((3, 1)), "rewards must have the shape (2, 1)"),
        ({"gamma": 1.0}, np.full((2, 1, 2), 0.5), np.zeros((2, 1)), "below 1 without a horizon"),
        ({}, "maze", None, "must have transitions and rewards"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(parameters, P, r, words):
    with pytest.raises(DataError) as caught:
        MarkovDecisionProcess(**parameters).fit(P, r)
    assert words in str(caught.value)


def test_a_discount_near_one_ends_at_the_values_of_the_equations():
    agent = MarkovDecisionProcess(gamma=0.999999).fit([np.eye(2)], rewards=[[1.0], [2.0]])
    assert agent.converged_ and len(agent.changes_) == agent.n_iter_
    np.testing.assert_allclose(agent.values_, np.array([1.0, 2.0]) / (1 - 0.999999), rtol=1e-12)
    P, r = world(30, 3, seed=2)
    P = 0.999 * np.eye(30)[:, None] + 0.001 * P  # a walk that seldom moves
    far = MarkovDecisionProcess(gamma=0.99999).fit(P, r)
    best = MarkovDecisionProcess(gamma=0.99999, solver="policy").fit(P, r)
    assert far.converged_
    np.testing.assert_allclose(far.values_, best.values_, rtol=1e-10)
    np.testing.assert_array_equal(far.policy_, best.policy_)


@pytest.mark.parametrize("solver", ["value", "gauss-seidel", "modified"])
def test_sweeps_that_do_not_end_are_said(solver):
    with pytest.warns(AssayWarning, match="W201.*not converged after 5 sweeps"):
        agent = MarkovDecisionProcess(gamma=0.999999, solver=solver, max_iter=5).fit([np.eye(2)], [[1.0], [2.0]])
    assert not agent.converged_


def test_rewards_that_are_missing_or_overflow_are_named():
    for bad, words in ((np.nan, "state 1, action 0 is missing"), (np.inf, "state 1, action 0 is infinite")):
        with pytest.raises(DataError, match=words):
            MarkovDecisionProcess().fit([np.eye(2)], rewards=[[1.0], [bad]])
    for settings in ({}, {"horizon": 30, "gamma": 1.0}):
        with pytest.raises(DataError, match="rewards must be small enough that their discounted sums are finite"):
            MarkovDecisionProcess(**settings).fit([np.eye(2)], rewards=[[1.0], [1e308]])
