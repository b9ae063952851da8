"""Agents: planning in a sparse world, and steps of Q-learning.

mdpsolver takes lists of chances and columns; a column that is named twice for one action makes its values infinite, so
that such chances are added up before. It goes on from the values of its last run, so that each run has a model of its
own. Modified policy iteration with three evaluations is its best here. pymdptoolbox takes sparse matrices but makes
S x S dense numbers when it checks them and bounds its steps: it needs 75 GB for 100,000 states, and has a problem of
its own at sizes that it can take. It stops when the policy is settled, so that policies are what is compared. No
library learns tables in a kernel: the peer of Q-learning is the loop that everyone writes over Gymnasium.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix

from benchmarks.versus.harness import Contender, Problem, by_rows

ACTIONS, NEXT, GAMMA, TOL = 4, 5, 0.99, 1e-4


class _World:
    """Random sparse transitions, in the forms that each library wants; built before anything is timed."""

    def __init__(self, rows: int):
        states = rows
        rng = np.random.default_rng(0)
        rows = states * ACTIONS
        self.columns = rng.integers(0, states, size=(rows, NEXT))
        self.chances = rng.dirichlet(np.ones(NEXT), size=rows)
        self.rewards = rng.normal(size=(states, ACTIONS))
        starts = np.arange(0, rows * NEXT + 1, NEXT)
        self.transitions = csr_array((self.chances.ravel(), self.columns.ravel(), starts), shape=(rows, states))
        self.transitions.sum_duplicates()
        self.by_action = [csr_matrix(self.transitions[a::ACTIONS]) for a in range(ACTIONS)]
        self.listed = [self._listed(part, states) for part in (self.transitions.data, self.transitions.indices)]
        self.listed_rewards = self.rewards.tolist()

    def _listed(self, values: np.ndarray, states: int) -> list[list[list[Any]]]:
        """Of each state and action a list of chances (or columns), each column once."""
        flat, ends = values.tolist(), self.transitions.indptr.tolist()
        rows = [flat[a:b] for a, b in pairwise(ends)]
        return [rows[s * ACTIONS : (s + 1) * ACTIONS] for s in range(states)]


def _plan(world: _World) -> np.ndarray:
    from assay.models.agents import MarkovDecisionProcess

    return MarkovDecisionProcess(gamma=GAMMA, tol=TOL, n_jobs=-1).fit(world.transitions, world.rewards).values_


def _mdpsolver(parallel: bool) -> Any:
    def run(world: _World) -> np.ndarray:
        import mdpsolver

        solver = mdpsolver.model()
        chances, columns = world.listed
        solver.mdp(discount=GAMMA, rewards=world.listed_rewards, tranMatProbs=chances, tranMatColumns=columns)
        solver.solve(algorithm="mpi", tolerance=TOL, parIterLim=3, parallel=parallel)
        return np.array(solver.getValueVector())

    return run


def _toolbox(world: _World) -> np.ndarray:
    from mdptoolbox.mdp import ValueIteration

    solver = ValueIteration(world.by_action, world.rewards, GAMMA, epsilon=TOL, max_iter=100_000)
    solver.run()
    return np.array(solver.V)


def _scipy(world: _World) -> np.ndarray:
    """Modified policy iteration by products of SciPy, ten evaluations each, until all values grow alike."""
    moves, values = world.transitions, np.zeros(len(world.rewards))
    while True:
        worth = world.rewards + GAMMA * (moves @ values).reshape(world.rewards.shape)
        best = worth.argmax(axis=1)
        rows = np.arange(len(best)) * ACTIONS + best
        following = worth.ravel()[rows]
        grown, values = following - values, following
        if np.ptp(grown) < TOL * (1 - GAMMA):
            return values + GAMMA / (1 - GAMMA) * 0.5 * (grown.max() + grown.min())
        chosen, paid = moves[rows], world.rewards.ravel()[rows]
        for _ in range(10):
            values = paid + GAMMA * (chosen @ values)


def _policy_value(world: _World, values: np.ndarray) -> float:
    """The mean value of the policy that is greedy for the values found, by sweeps with its actions held."""
    q = world.rewards + GAMMA * (world.transitions @ values).reshape(world.rewards.shape)
    policy = q.argmax(axis=1)
    rows = np.arange(len(policy)) * ACTIONS + policy
    moves, paid, value = world.transitions[rows], world.rewards.ravel()[rows], np.zeros(len(policy))
    for _ in range(1500):
        value = paid + GAMMA * (moves @ value)
    return float(value.mean())


def _episodes(rows: int) -> int:
    return rows


def _learn(episodes: int) -> float:
    from assay.models.agents import QLearning, cliff_walking

    agent = QLearning(gamma=1.0, learning_rate=0.5, n_episodes=episodes, random_state=0, n_jobs=1)
    return float(agent.fit(cliff_walking()).values_[36])


def _loop(episodes: int) -> float:
    import gymnasium

    world = gymnasium.make("CliffWalking-v1").unwrapped
    rng = np.random.default_rng(0)
    values = np.zeros((48, 4))
    for _ in range(episodes):
        state, _ = world.reset()
        ends = False
        while not ends:
            action = int(rng.integers(4)) if rng.random() < 0.1 else int(values[state].argmax())
            following, reward, ends, _, _ = world.step(action)
            future = 0.0 if ends else values[following].max()
            values[state, action] += 0.5 * (reward + future - values[state, action])
            state = following
    return float(values[36].max())


def _lists(episodes: int) -> float:
    """The world's own table of moves in place of its steps, lists and `random` in place of arrays."""
    import random

    import gymnasium

    world = gymnasium.make("CliffWalking-v1").unwrapped
    moves = [[world.P[state][action][0][1:] for action in range(4)] for state in range(48)]
    draw = random.Random(0).random
    values = [[0.0] * 4 for _ in range(48)]
    for _ in range(episodes):
        state, ends = 36, False
        while not ends:
            row = values[state]
            action = int(4 * draw()) if draw() < 0.1 else row.index(max(row))
            state, reward, ends = moves[state][action]
            row[action] += 0.5 * (reward + (0.0 if ends else max(values[state])) - row[action])
    return max(values[36])


def _value(_: int, found: Any) -> float:
    return float(found)


TITLE, POLICY = "planning, 4 actions, 5 next states, discount 0.99", "mean value of the policy"
OURS = Contender("assay MarkovDecisionProcess", "assay", _plan)
LIMIT = "one multiply-add for each of 20 entries per state and sweep"

PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="mdp",
        title=TITLE,
        make=_World,
        sizes=by_rows("{n} states", 1_000, 10_000, 100_000),
        ours=OURS,
        peers=(
            Contender("mdpsolver", "mdpsolver", _mdpsolver(False), aim=1.5),
            Contender("mdpsolver, parallel", "mdpsolver", _mdpsolver(True), aim=1.5),
            Contender("SciPy, modified policy iteration by hand", "scipy", _scipy, aim=1.2, by_hand=True),
        ),
        quality=_policy_value,
        gate=1e-2,
        quality_name=POLICY,
        limit=LIMIT,
        tried="value iteration, modified policy iteration with 1, 2, 3, 5, 8, 20 and 100 evaluations (3 is its best, "
        "100 its default), Gauss-Seidel (tens of times slower), elements one by one in place of lists (the same); by "
        "hand, products of SciPy that stop by the span take a fifth to a third of "
        "mdpsolver's time, BiCGSTAB for each policy a third to nine tenths",
    ),
    Problem(
        id="mdp-dense-checks",
        title=f"{TITLE}, as large as pymdptoolbox can take",
        make=_World,
        sizes=by_rows("{n} states", 500, 1_000, 5_000),
        ours=OURS,
        peers=(Contender("pymdptoolbox", "pymdptoolbox", _toolbox, aim=20.0),),
        quality=_policy_value,
        gate=1e-2,
        quality_name=POLICY,
        limit=LIMIT,
        tried="modified policy iteration and policy iteration, which make dense matrices; sparse arrays in place of "
        "sparse matrices, which fail in its bound",
    ),
    Problem(
        id="q-learning",
        title="Q-learning on the cliff",
        make=_episodes,
        sizes=by_rows("{n} episodes", 500, 2_000, 10_000),
        ours=Contender("assay QLearning", "assay", _learn),
        peers=(
            Contender("loop over Gymnasium", "gymnasium", _loop, aim=100.0),
            Contender("loop over Gymnasium's table, lists", "gymnasium", _lists, aim=5.0),
        ),
        quality=_value,
        gate=1e-2,
        tried="Gymnasium leaves the loop to its user; lists and random.random in place of NumPy take two thirds of the "
        "time, and the table of moves that this world keeps (most worlds have none) a fifteenth.",
        quality_name="value of the start",
        limit="two draws and eight values per step",
    ),
)
