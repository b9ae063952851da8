"""Stochastic gradient descent: ten epochs of single-row steps, and squared-loss regression, against scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows


def _make(rows: int) -> dict[str, Any]:
    from sklearn.datasets import make_classification

    X, y = make_classification(rows + 50_000, 50, n_informative=20, n_redundant=5, flip_y=0.02, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return {"X": X[:rows].copy(), "y": y[:rows].copy(), "X_test": X[rows:], "y_test": y[rows:]}


_OPTIONS: dict[str, Any] = {"alpha": 1e-4, "eta0": 0.01, "learning_rate": "invscaling", "power_t": 0.25, "tol": None}


def _ours(data: dict[str, Any]) -> Any:
    from assay.models.linear import GradientDescentClassifier

    model = GradientDescentClassifier(batch_size=1, max_iter=10, random_state=0, **_OPTIONS)
    return model.fit(data["X"], data["y"])


def _sklearn(data: dict[str, Any]) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(loss="log_loss", max_iter=10, random_state=0, **_OPTIONS).fit(data["X"], data["y"])


def _test_log_loss(data: dict[str, Any], model: Any) -> float:
    probabilities = np.asarray(model.predict_proba(data["X_test"]))
    own = probabilities[np.arange(data["y_test"].shape[0]), data["y_test"]]
    return float(-np.log(np.maximum(own, 1e-300)).mean())


def _make_numbers(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(rows + 50_000, 50))
    y = X @ rng.normal(size=50) + rng.normal(size=rows + 50_000)
    return {"X": X[:rows].copy(), "y": y[:rows].copy(), "X_test": X[rows:], "y_test": y[rows:]}


def _ours_numbers(data: dict[str, Any]) -> Any:
    from assay.models.linear import GradientDescentRegressor

    model = GradientDescentRegressor(batch_size=1, max_iter=10, random_state=0, **_OPTIONS)
    return model.fit(data["X"], data["y"])


def _sklearn_numbers(data: dict[str, Any]) -> Any:
    from sklearn.linear_model import SGDRegressor

    return SGDRegressor(max_iter=10, random_state=0, **_OPTIONS).fit(data["X"], data["y"])


def _test_error(data: dict[str, Any], model: Any) -> float:
    return float(((model.predict(data["X_test"]) - data["y_test"]) ** 2).mean())


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="gradient-descent",
        title="Stochastic gradient descent, log loss, ten epochs",
        make=_make,
        sizes=by_rows("{n} x 50", 2_000, 20_000, 200_000),
        ours=Contender("GradientDescentClassifier", "assay", _ours),
        peers=(Contender("SGDClassifier", "scikit-learn", _sklearn, aim=1.5),),
        quality=_test_log_loss,
        gate=5e-3,
        tried="the same epochs and no early stopping; float32 takes as long.",
        quality_name="test log loss",
        lower_is_better=True,
        limit="each step needs the last: 2 n d multiply-adds an epoch on one core, rows in random order",
    ),
    Problem(
        id="gradient-descent-regression",
        title="Stochastic gradient descent, squared error, ten epochs",
        make=_make_numbers,
        sizes=by_rows("{n} x 50", 2_000, 20_000, 200_000),
        ours=Contender("GradientDescentRegressor", "assay", _ours_numbers),
        peers=(Contender("SGDRegressor", "scikit-learn", _sklearn_numbers, aim=1.5),),
        quality=_test_error,
        gate=5e-3,
        tried="the same epochs and no early stopping; float32 takes as long.",
        quality_name="test MSE",
        lower_is_better=True,
        limit="each step needs the last: 2 n d multiply-adds an epoch on one core, rows in random order",
    ),
)
