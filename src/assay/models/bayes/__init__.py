"""Bayes classifiers and Gaussian discriminants."""

from .discriminant import LDA, QDA, Boundary, NearestMean
from .naive_bayes import NaiveBayes
from .rda import RDA

__all__ = ["LDA", "QDA", "RDA", "Boundary", "NaiveBayes", "NearestMean"]
