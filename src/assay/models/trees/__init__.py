"""Decision trees."""

from .cart import CartClassifier, CartRegressor
from .importance import Importances
from .pruning import PruningCurve

__all__ = ["CartClassifier", "CartRegressor", "Importances", "PruningCurve"]
