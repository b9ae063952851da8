"""The neighbours family of learners: the rows most like this one decide."""

from .knn import KNNClassifier, KNNRegressor

__all__ = ["KNNClassifier", "KNNRegressor"]
