"""Decision trees."""

from .c45 import C45Classifier, ID3Classifier
from .cart import CartClassifier, CartRegressor
from .importance import Importances
from .model_tree import ModelTreeRegressor
from .oblique import ObliqueTreeClassifier
from .pessimistic import pessimistic_errors, pessimistic_leaves
from .pruning import PruningCurve

__all__ = [
    "C45Classifier",
    "CartClassifier",
    "CartRegressor",
    "ID3Classifier",
    "Importances",
    "ModelTreeRegressor",
    "ObliqueTreeClassifier",
    "PruningCurve",
    "pessimistic_errors",
    "pessimistic_leaves",
]
