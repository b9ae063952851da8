"""Bayes classifiers."""

from .naive_bayes import NaiveBayes

__all__ = ["NaiveBayes"]
