"""Linear and quadratic discriminants: fit on a long table, predict part of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows

ASKED = 10_000


def _make(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, size=rows)
    mix = rng.normal(size=(4, 30, 30)) * 0.05 + np.eye(30)
    X = rng.normal(size=(rows, 30))
    for k in range(4):
        X[y == k] = X[y == k] @ mix[k] + 0.3 * rng.normal(size=30)
    return X, y


def _fit_predict(model: Any, data: Any) -> np.ndarray:
    return model.fit(*data).predict(data[0][:ASKED])


def _lda(data: Any) -> np.ndarray:
    from assay.models.bayes import LDA

    return _fit_predict(LDA(n_jobs=-1), data)


def _scikit_lda(data: Any) -> np.ndarray:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return _fit_predict(LinearDiscriminantAnalysis(solver="lsqr"), data)


def _numpy_lda(data: Any) -> np.ndarray:
    """The scatter of all rows as one product, less that of the means; one solve for the lines."""
    X, y = data
    counts = np.bincount(y)
    means = np.eye(len(counts))[y].T @ X / counts[:, None]
    within = (X.T @ X - (means * counts[:, None]).T @ means) / len(X)
    slopes = np.linalg.solve(within, means.T)
    constants = np.log(counts / len(X)) - 0.5 * (means * slopes.T).sum(axis=1)
    return (X[:ASKED] @ slopes + constants).argmax(axis=1)


def _qda(data: Any) -> np.ndarray:
    from assay.models.bayes import QDA

    return _fit_predict(QDA(n_jobs=-1), data)


def _scikit_qda(data: Any) -> np.ndarray:
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    return _fit_predict(QuadraticDiscriminantAnalysis(solver="eigen"), data)


def _numpy_qda(data: Any) -> np.ndarray:
    """A product of the rows of each class with themselves, and its Cholesky factor."""
    X, y = data
    scores = []
    for k in range(y.max() + 1):
        own = X[y == k]
        mean = own.mean(axis=0)
        root = np.linalg.cholesky((own.T @ own - len(own) * np.outer(mean, mean)) / (len(own) - 1))
        away = (X[:ASKED] - mean) @ np.linalg.inv(root).T
        size = np.log(len(own) / len(X)) - np.log(np.diag(root)).sum()
        scores.append(size - 0.5 * np.einsum("ij,ij->i", away, away))
    return np.argmax(scores, axis=0)


def _accuracy(data: Any, labels: np.ndarray) -> float:
    return float(np.mean(labels == data[1][:ASKED]))


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="lda",
        title="Linear discriminant analysis, fit",
        make=_make,
        sizes=by_rows("{n} x 30, 4 classes", 1_500, 100_000, 1_000_000),
        ours=Contender("assay LDA", "assay", _lda),
        peers=(
            Contender("scikit-learn LDA (lsqr)", "scikit-learn", _scikit_lda, aim=5.0),
            Contender("NumPy, one product", "numpy", _numpy_lda, aim=1.2, by_hand=True),
        ),
        quality=_accuracy,
        gate=1e-3,
        quality_name="accuracy",
        limit="one read of X and half a product of X with itself (0.5 Gflop at a million rows)",
        tried="scikit-learn: solver 'svd' takes 3 times as long, 'eigen' a quarter longer, float32 as long; the same "
        "by hand in NumPy, where the scatter is one product, takes a fifth",
    ),
    Problem(
        id="qda",
        title="Quadratic discriminant analysis, fit",
        make=_make,
        sizes=by_rows("{n} x 30, 4 classes", 1_500, 100_000, 1_000_000),
        ours=Contender("assay QDA", "assay", _qda),
        peers=(
            Contender("scikit-learn QDA (eigen)", "scikit-learn", _scikit_qda, aim=5.0),
            Contender("NumPy, one product a class", "numpy", _numpy_qda, aim=1.2, by_hand=True),
        ),
        quality=_accuracy,
        gate=1e-3,
        quality_name="accuracy",
        limit="two reads of X (480 MB, one to see that its squares are finite) and 640 multiply-adds a row in blocks "
        "of 8 x 8 (0.64 G at a million rows: 0.03 s of one core that ends eight a cycle)",
        tried="scikit-learn: solver 'svd' takes 15 times as long; rows in float32 are as slow; the same by hand in "
        "NumPy takes two to three fifths",
    ),
)
