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
        ),
        quality=_penalised_loss(1.0),
        gate=1e-9,
        tried="scikit-learn: cholesky and lsqr, the others are slower; scikit-learn-intelex. float32 misses the gate.",
        quality_name="objective per row",
        lower_is_better=True,
        limit="one read of X (200 MB) and n d^2 / 2 multiply-adds",
    ),
    Problem(
        id="least-squares",
        title="Least squares (ours with standard errors and refinement)",
        make=_make,
        sizes=by_rows("{n} x 50", 1_500, 50_000, 500_000),
        ours=Contender("assay LeastSquares", "assay", _least_squares),
        peers=(
            Contender("scikit-learn LinearRegression", "scikit-learn", _scikit_learn_ols, aim=1.5),
            Contender("scikit-learn-intelex LinearRegression", "scikit-learn-intelex", _intelex("LinearRegression")),
        ),
        quality=_penalised_loss(0.0),
        gate=1e-9,
        tried="scikit-learn solves by a singular value decomposition whatever is asked; scikit-learn-intelex by "
        "normal equations.",
        quality_name="mean squared residual",
        lower_is_better=True,
        limit="two reads of X (400 MB) and n d^2 / 2 multiply-adds",
    ),
)
