"""Ensembles: forests, boosting, and combiners of any learners."""

from .adaboost import AdaBoostClassifier
from .bagging import BaggingClassifier, BaggingRegressor
from .boost_by_filtering import BoostByFiltering
from .cascade import Cascade, CascadeAccount
from .extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from .forest import Forest
from .gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from .lambda_rank import LambdaRank
from .mixture_of_experts import MixtureOfExpertsClassifier, MixtureOfExpertsRegressor
from .newton_boosting import NewtonBoostingClassifier, NewtonBoostingRegressor
from .random_forest import RandomForestClassifier, RandomForestRegressor
from .random_subspace import RandomSubspaceClassifier, RandomSubspaceRegressor
from .stacking import StackingClassifier, StackingRegressor
from .voting import VotingClassifier, VotingRegressor

__all__ = [
    "AdaBoostClassifier",
    "BaggingClassifier",
    "BaggingRegressor",
    "BoostByFiltering",
    "Cascade",
    "CascadeAccount",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "Forest",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "MixtureOfExpertsClassifier",
    "MixtureOfExpertsRegressor",
    "LambdaRank",
    "NewtonBoostingClassifier",
    "NewtonBoostingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomSubspaceClassifier",
    "RandomSubspaceRegressor",
    "StackingClassifier",
    "StackingRegressor",
    "VotingClassifier",
    "VotingRegressor",
]
