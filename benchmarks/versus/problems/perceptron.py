"""The perceptron: a fixed number of epochs on classes that overlap, against scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem

EPOCHS = 20


def _make() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(220_000, 50))
    y = (X @ rng.normal(size=50) + 0.5 * rng.normal(size=220_000) > 0).astype(int)
    return {"X": X[:200_000].copy(), "y": y[:200_000].copy(), "X_test": X[200_000:], "y_test": y[200_000:]}


def _ours(data: dict[str, Any]) -> Any:
    from assay.models.linear import Perceptron

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Perceptron(max_iter=EPOCHS, random_state=0).fit(data["X"], data["y"])


def _sklearn(data: dict[str, Any]) -> Any:
    from sklearn.linear_model import Perceptron

    return Perceptron(max_iter=EPOCHS, tol=None, random_state=0).fit(data["X"], data["y"])


def _accuracy(data: dict[str, Any], model: Any) -> float:
    return float((model.predict(data["X_test"]) == data["y_test"]).mean())


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="perceptron",
        title=f"Perceptron, {EPOCHS} epochs",
        size="200k x 50",
        make=_make,
        ours=Contender("Perceptron", "assay", _ours),
        peers=(Contender("scikit-learn Perceptron", "scikit-learn", _sklearn, aim=1.5),),
        quality=_accuracy,
        gate=0.01,
        quality_name="test accuracy",
        limit="each row needs the last: n d multiply-adds an epoch on one core, rows in random order",
    ),
)
