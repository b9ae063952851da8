"""Gaussian naive Bayes: fit and predict on the same rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows


def _make(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=rows)
    return rng.normal(size=(rows, 30)) + 0.3 * y[:, None], y


def _ours(data: Any) -> np.ndarray:
    from assay.models.bayes import NaiveBayes

    return NaiveBayes(n_jobs=-1).fit(*data).predict(data[0])


def _scikit_learn(data: Any) -> np.ndarray:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB().fit(*data).predict(data[0])


def _single(data: Any) -> np.ndarray:
    return _scikit_learn((data[0].astype(np.float32), data[1]))


def _products(data: Any, dtype: type = np.float64) -> np.ndarray:
    """Moments of the two classes and their log densities as products of the table and of its squares."""
    X, y = data
    X = X.astype(dtype, copy=False)
    squares, members = X * X, np.eye(2, dtype=dtype)[y].T
    counts = members.sum(axis=1, keepdims=True)
    means = members @ X / counts
    variances = members @ squares / counts - means**2
    variances += 1e-9 * variances.max()
    constants = np.log(counts[:, 0] / len(X)) - 0.5 * (np.log(variances) + means**2 / variances).sum(axis=1)
    return (X @ (means / variances).T - 0.5 * (squares @ (1 / variances).T) + constants).argmax(axis=1)


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="naive-bayes",
        title="Gaussian naive Bayes, fit and predict",
        make=_make,
        sizes=by_rows("{n} x 30", 1_500, 100_000, 1_000_000),
        ours=Contender("assay NaiveBayes", "assay", _ours),
        peers=(
            Contender("scikit-learn GaussianNB", "scikit-learn", _scikit_learn, aim=5.0),
            Contender("scikit-learn GaussianNB, float32", "scikit-learn", _single, aim=3.0),
            Contender("NumPy, products", "numpy", _products, aim=1.2, by_hand=True),
            Contender("NumPy, products, float32", "numpy", partial(_products, dtype=np.float32), aim=1.2, by_hand=True),
        ),
        quality=lambda data, labels: float(np.mean(labels == data[1])),
        gate=1e-4,
        quality_name="accuracy",
        limit="two reads of X (480 MB)",
        tried="float32, which takes two thirds of the time, the conversion included; moments and log densities as "
        "products in NumPy take a fifth to a third of scikit-learn's time, and float32 a third less again (means far "
        "from zero "
        "would cost it digits).",
    ),
)
