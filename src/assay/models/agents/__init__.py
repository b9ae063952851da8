"""The agents family: choosing actions in worlds that are known or learned from experience."""

from .control import CartPole, MountainCar
from .deep_q import DeepQ
from .fitted_q import FittedQ
from .grids import bandit, cliff_walking, frozen_lake, grid_of, windy_grid
from .mdp import MarkovDecisionProcess
from .tabular import TabularWorld
from .temporal_difference import QLambda, QLearning, Sarsa, SarsaLambda

__all__ = [
    "CartPole",
    "DeepQ",
    "FittedQ",
    "MarkovDecisionProcess",
    "MountainCar",
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
