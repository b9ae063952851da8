"""The agents family: choosing actions in worlds that are known."""

from .mdp import MarkovDecisionProcess

__all__ = ["MarkovDecisionProcess"]
