"""Decision trees."""

from .c45 import C45Classifier, ID3Classifier
from .cart import CartClassifier, CartRegressor
from .pessimistic import pessimistic_errors, pessimistic_leaves

__all__ = [
    "C45Classifier",
    "CartClassifier",
    "CartRegressor",
    "ID3Classifier",
    "pessimistic_errors",
    "pessimistic_leaves",
]
