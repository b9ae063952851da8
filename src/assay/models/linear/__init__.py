"""Linear models: least squares with inference, ridge, logistic regression."""

from .glm import GLM
from .least_squares import LeastSquares
from .logistic import LogisticRegression
from .ridge import Ridge, loo_path, ridge_path

__all__ = ["GLM", "LeastSquares", "LogisticRegression", "Ridge", "loo_path", "ridge_path"]
