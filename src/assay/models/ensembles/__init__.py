"""Ensembles of trees."""

from .adaboost import AdaBoostClassifier
from .extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from .forest import Forest
from .gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from .newton_boosting import NewtonBoostingClassifier, NewtonBoostingRegressor
from .random_forest import RandomForestClassifier, RandomForestRegressor

__all__ = [
    "AdaBoostClassifier",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "Forest",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "NewtonBoostingClassifier",
    "NewtonBoostingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]
