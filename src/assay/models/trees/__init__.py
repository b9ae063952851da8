"""Decision trees."""

from .cart import CartClassifier, CartRegressor

__all__ = ["CartClassifier", "CartRegressor"]
