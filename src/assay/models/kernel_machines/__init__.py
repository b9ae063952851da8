"""Kernel machines: support vector machines for classes and numbers."""

from .svm_classifier import SVMClassifier
from .svm_regressor import SVMRegressor

__all__ = ["SVMClassifier", "SVMRegressor"]
