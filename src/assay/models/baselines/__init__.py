"""Baselines: the scores that a model must beat."""

from .zero_r import ZeroRClassifier, ZeroRRegressor

__all__ = ["ZeroRClassifier", "ZeroRRegressor"]
