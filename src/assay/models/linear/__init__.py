"""Linear models: least squares with inference, ridge, logistic regression, descent, ranking, reductions."""

from .descent_path import DescentPath, descend, stable_step
from .gradient_descent import GradientDescentClassifier, GradientDescentRegressor
from .least_squares import LeastSquares
from .linear_rank import LinearRank, ndcg, pair_accuracy
from .logistic import LogisticRegression
from .multiclass import OneVsOne, OneVsRest
from .perceptron import Perceptron
from .polynomial_regression import PolynomialRegression
from .ridge import Ridge, loo_path, ridge_path

__all__ = [
    "DescentPath",
    "GradientDescentClassifier",
    "GradientDescentRegressor",
    "LeastSquares",
    "LinearRank",
    "LogisticRegression",
    "OneVsOne",
    "OneVsRest",
    "Perceptron",
    "PolynomialRegression",
    "Ridge",
    "descend",
    "loo_path",
    "ndcg",
    "pair_accuracy",
    "ridge_path",
    "stable_step",
]
