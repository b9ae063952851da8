"""The agents family: choosing actions in worlds that are known or learned from experience."""

from .grids import bandit, cliff_walking, frozen_lake, grid_of, windy_grid
from .mdp import MarkovDecisionProcess
from .tabular import TabularWorld
from .temporal_difference import QLambda, QLearning, Sarsa, SarsaLambda

__all__ = [
    "MarkovDecisionProcess",
    "QLambda",
    "QLearning",
    "Sarsa",
    "SarsaLambda",
    "TabularWorld",
    "bandit",
    "cliff_walking",
    "frozen_lake",
    "grid_of",
    "windy_grid",
]
