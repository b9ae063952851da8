"""Linear models: least squares to GLM, paths, descent, ranking, reductions to two classes."""

from .descent_path import DescentPath, descend, stable_step
from .elastic_net import ElasticNet, Lasso, RegularisationPath, enet_path, lasso_path
from .elastic_net_cv import ElasticNetCV, LassoCV
from .glm import GLM
from .gradient_descent import GradientDescentClassifier, GradientDescentRegressor
from .least_squares import LeastSquares
from .linear_rank import LinearRank
from .logistic import LogisticRegression
from .logistic_cv import LogisticCV, LogisticPath, logistic_path
from .multiclass import OneVsOne, OneVsRest
from .perceptron import Perceptron
from .polynomial_regression import PolynomialRegression
from .ridge import Ridge, loo_path, ridge_path
from .ridge_cv import RidgeCV

__all__ = [
    "DescentPath",
    "ElasticNet",
    "ElasticNetCV",
    "GLM",
    "GradientDescentClassifier",
    "GradientDescentRegressor",
    "Lasso",
    "LassoCV",
    "LeastSquares",
    "LinearRank",
    "LogisticCV",
    "LogisticPath",
    "LogisticRegression",
    "OneVsOne",
    "OneVsRest",
    "Perceptron",
    "PolynomialRegression",
    "RegularisationPath",
    "Ridge",
    "RidgeCV",
    "descend",
    "enet_path",
    "lasso_path",
    "logistic_path",
    "loo_path",
    "ridge_path",
    "stable_step",
]
