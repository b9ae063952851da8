"""Ensembles of trees."""

from .forest import Forest
from .gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from .newton_boosting import NewtonBoostingClassifier, NewtonBoostingRegressor

__all__ = [
    "Forest",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "NewtonBoostingClassifier",
    "NewtonBoostingRegressor",
]
