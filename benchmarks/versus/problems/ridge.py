"""Closed-form linear regression on tall tables: ridge and least squares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows


def _make(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 50))
    return X, X @ rng.normal(size=50) + rng.normal(size=rows)


def _ridge(data: Any) -> Any:
    from assay.models.linear import Ridge

    return Ridge(n_jobs=-1).fit(*data)


def _least_squares(data: Any) -> Any:
    from assay.models.linear import LeastSquares

    return LeastSquares(n_jobs=-1).fit(*data)


def _scikit_learn_ridge(solver: str) -> Callable[[Any], Any]:
    def run(data: Any) -> Any:
        from sklearn.linear_model import Ridge

        return Ridge(solver=solver).fit(*data)

    return run


def _scikit_learn_ols(data: Any) -> Any:
    from sklearn.linear_model import LinearRegression

    return LinearRegression().fit(*data)


def _intelex(name: str) -> Callable[[Any], Any]:
    def run(data: Any) -> Any:
        import sklearnex.linear_model as peer

        return getattr(peer, name)().fit(*data)

    return run


class _Line:
    """What the quality asks of a model."""

    def __init__(self, beta: np.ndarray):
        self.coef_, self.intercept_ = beta[0, 1:], beta[0, 0]


def _daal4py_ridge(data: Any) -> Any:
    """oneDAL without the checks of an estimator."""
    import daal4py

    training = daal4py.ridge_regression_training(interceptFlag=True, ridgeParameters=np.ones((1, 1)))
    return _Line(training.compute(data[0], data[1][:, None]).model.Beta)


def _daal4py_ols(data: Any) -> Any:
    """oneDAL's normal equations without the checks of an estimator."""
    import daal4py

    training = daal4py.linear_regression_training(interceptFlag=True)
    return _Line(training.compute(data[0], data[1][:, None]).model.Beta)


def _penalised_loss(alpha: float) -> Callable[[Any, Any], float]:
    """Value of the ridge objective, per row."""

    def loss(data: Any, model: Any) -> float:
        X, y = data
        residual = y - X @ np.ravel(model.coef_) - model.intercept_
        return float((residual @ residual + alpha * np.ravel(model.coef_) @ np.ravel(model.coef_)) / len(y))

    return loss


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="ridge",
        title="Ridge regression",
        make=_make,
        sizes=by_rows("{n} x 50", 1_500, 50_000, 500_000),
        headline=True,
        ours=Contender("assay Ridge", "assay", _ridge),
        peers=(
            Contender("scikit-learn Ridge (cholesky)", "scikit-learn", _scikit_learn_ridge("cholesky"), aim=1.5),
            Contender("scikit-learn Ridge (lsqr)", "scikit-learn", _scikit_learn_ridge("lsqr"), aim=1.5),
            Contender("scikit-learn-intelex Ridge", "scikit-learn-intelex", _intelex("Ridge"), aim=1.5),
            Contender("daal4py ridge_regression_training", "scikit-learn-intelex", _daal4py_ridge, aim=1.5),
        ),
        quality=_penalised_loss(1.0),
        gate=1e-9,
        tried="scikit-learn: cholesky and lsqr, the others are slower; scikit-learn-intelex, and its daal4py without "
        "the checks of an estimator, a third of the time on the smallest table; assume_finite saves a tenth. float32 "
        "misses the gate.",
        quality_name="objective per row",
        lower_is_better=True,
        limit="one read of X (200 MB) and n d^2 / 2 multiply-adds",
    ),
    Problem(
        id="least-squares",
        title="Least squares (ours with refinement, and standard errors when asked for)",
        make=_make,
        sizes=by_rows("{n} x 50", 1_500, 50_000, 500_000),
        ours=Contender("assay LeastSquares", "assay", _least_squares),
        peers=(
            Contender("scikit-learn LinearRegression", "scikit-learn", _scikit_learn_ols, aim=1.5),
            Contender("scikit-learn-intelex LinearRegression", "scikit-learn-intelex", _intelex("LinearRegression")),
            Contender("daal4py linear_regression_training", "scikit-learn-intelex", _daal4py_ols),
        ),
        quality=_penalised_loss(0.0),
        gate=1e-9,
        tried="scikit-learn solves by a singular value decomposition whatever is asked; scikit-learn-intelex by "
        "normal equations, a third of the time on the smallest table by daal4py, without the checks of an estimator "
        "(its method 'qrDense' takes five times as long); assume_finite saves a tenth; Ridge with a penalty of 1e-12 "
        "by Cholesky and normal equations in NumPy are slower.",
        quality_name="mean squared residual",
        lower_is_better=True,
        limit="two reads of X (400 MB) and n d^2 / 2 multiply-adds",
    ),
)
