"""Nearest neighbours: votes and means, condensed subsets, learned distances."""

from .condensed_nn import CondensedNN
from .knn import KNNClassifier, KNNRegressor
from .lmnn import LMNN

__all__ = ["LMNN", "CondensedNN", "KNNClassifier", "KNNRegressor"]
