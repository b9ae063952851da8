"""Polynomial regression of degree three with all products, against features and least squares in a pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows

DEGREE = 3


def _make(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(rows + 10_000, 6))
    y = X[:, 0] * X[:, 1] - X[:, 2] ** 3 + X[:, 3] * X[:, 4] * X[:, 5] + 0.1 * rng.normal(size=rows + 10_000)
    return {"X": X[:rows].copy(), "y": y[:rows].copy(), "X_test": X[rows:], "y_test": y[rows:]}


def _ours(data: dict[str, Any]) -> Any:
    from assay.models.linear import PolynomialRegression

    return PolynomialRegression(degree=DEGREE).fit(data["X"], data["y"])


def _sklearn(data: dict[str, Any]) -> Any:
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures

    model = make_pipeline(PolynomialFeatures(DEGREE, include_bias=False), LinearRegression())
    return model.fit(data["X"], data["y"])


def _intelex(data: dict[str, Any], order: str = "C") -> Any:
    """Normal equations in place of a singular value decomposition."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures
    from sklearnex.linear_model import LinearRegression

    model = make_pipeline(PolynomialFeatures(DEGREE, include_bias=False, order=order), LinearRegression())
    return model.fit(data["X"], data["y"])


def _intelex_single(data: dict[str, Any]) -> Any:
    """In float32, the terms by column."""
    return _intelex({**data, "X": data["X"].astype(np.float32)}, order="F")


def _test_error(data: dict[str, Any], model: Any) -> float:
    return float(((model.predict(data["X_test"]) - data["y_test"]) ** 2).mean())


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="polynomial-regression",
        title=f"Polynomial regression, degree {DEGREE}",
        make=_make,
        sizes=by_rows("{n} x 6, 83 terms", 1_500, 10_000, 50_000),
        ours=Contender("PolynomialRegression", "assay", _ours),
        peers=(
            Contender("make_pipeline(PolynomialFeatures, LinearRegression)", "scikit-learn", _sklearn, aim=2),
            Contender("the same, LinearRegression of oneDAL", "scikit-learn-intelex", _intelex, aim=1.2),
            Contender("oneDAL, terms by column, float32", "scikit-learn-intelex", _intelex_single, aim=1.2),
        ),
        quality=_test_error,
        gate=1e-6,
        quality_name="test MSE",
        lower_is_better=True,
        limit="n t multiply-adds to make t terms and n t^2 / 2 for their Gram matrix",
        tried="LinearRegression of scikit-learn-intelex, which takes the normal equations, is ten times as fast "
        "as SVD; terms by column save it a fifth to a third, and float32 as much again; Ridge by Cholesky takes ten "
        "times as long.",
    ),
)
