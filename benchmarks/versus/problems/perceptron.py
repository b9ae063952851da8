"""The perceptron: a fixed number of epochs on classes that overlap, against scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows

EPOCHS = 20


def _make(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows + 20_000, 50))
    y = (X @ rng.normal(size=50) + 0.5 * rng.normal(size=rows + 20_000) > 0).astype(int)
    return {"X": X[:rows].copy(), "y": y[:rows].copy(), "X_test": X[rows:], "y_test": y[rows:]}


def _ours(data: dict[str, Any]) -> Any:
    from assay.models.linear import Perceptron

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Perceptron(max_iter=EPOCHS, n_iter_no_change=None, random_state=0).fit(data["X"], data["y"])


def _sklearn(data: dict[str, Any]) -> Any:
    from sklearn.linear_model import Perceptron

    return Perceptron(max_iter=EPOCHS, tol=None, random_state=0).fit(data["X"], data["y"])


def _accuracy(data: dict[str, Any], model: Any) -> float:
    return float((model.predict(data["X_test"]) == data["y_test"]).mean())


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="perceptron",
        title=f"Perceptron, {EPOCHS} epochs",
        make=_make,
        sizes=by_rows("{n} x 50", 2_000, 20_000, 200_000),
        ours=Contender("Perceptron", "assay", _ours),
        peers=(Contender("scikit-learn Perceptron", "scikit-learn", _sklearn, aim=1.5),),
        quality=_accuracy,
        gate=0.01,
        tried="the same epochs, no early stopping; float32 takes as long.",
        quality_name="test accuracy",
        limit="each row needs the last: n d multiply-adds an epoch on one core, rows in random order",
    ),
)
