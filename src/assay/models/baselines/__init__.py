"""Baselines: the scores that a model must beat."""

from .one_r import OneRClassifier
from .zero_r import ZeroRClassifier, ZeroRRegressor

__all__ = ["OneRClassifier", "ZeroRClassifier", "ZeroRRegressor"]
