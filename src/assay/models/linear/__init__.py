"""Linear models: least squares with inference, ridge, logistic regression."""

from .glm import GLM
from .least_squares import LeastSquares
from .logistic import LogisticRegression
from .logistic_cv import LogisticCV, LogisticPath, logistic_path
from .ridge import Ridge, loo_path, ridge_path

__all__ = [
    "GLM",
    "LeastSquares",
    "LogisticCV",
    "LogisticPath",
    "LogisticRegression",
    "Ridge",
    "logistic_path",
    "loo_path",
    "ridge_path",
]
