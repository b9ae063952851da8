"""The sequences family: rows in order, explained by hidden states."""

from .hmm import HiddenMarkovModel, OnlineFilter

__all__ = ["HiddenMarkovModel", "OnlineFilter"]
