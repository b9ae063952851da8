"""Linear models: least squares with inference, ridge, lasso, elastic net, logistic regression."""

from .glm import GLM
from .elastic_net import ElasticNet, Lasso, RegularisationPath, enet_path, lasso_path
from .elastic_net_cv import ElasticNetCV, LassoCV
from .least_squares import LeastSquares
from .logistic import LogisticRegression
from .logistic_cv import LogisticCV, LogisticPath, logistic_path
from .ridge import Ridge, loo_path, ridge_path
from .ridge_cv import RidgeCV

__all__ = [
    "ElasticNet",
    "ElasticNetCV",
    "GLM",
    "Lasso",
    "LassoCV",
    "LeastSquares",
    "LogisticCV",
    "LogisticPath",
    "LogisticRegression",
    "RegularisationPath",
    "Ridge",
    "RidgeCV",
    "enet_path",
    "lasso_path",
    "logistic_path",
    "loo_path",
    "ridge_path",
]
