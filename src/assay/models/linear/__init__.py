"""Linear models: least squares with inference, ridge."""

from .least_squares import LeastSquares
from .ridge import Ridge, loo_path, ridge_path

__all__ = ["LeastSquares", "Ridge", "loo_path", "ridge_path"]
