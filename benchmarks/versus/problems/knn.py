"""k nearest neighbours by brute force: fit on 150k rows of 30 columns, predict 5k rows, k = 15."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows

K = 15


def make(rows: int) -> dict[str, np.ndarray]:
    from sklearn.datasets import make_classification

    X, y = make_classification(rows + 5_000, 30, n_informative=15, n_redundant=5, flip_y=0.02, random_state=0)
    return {"X": X[:rows], "y": y[:rows], "queries": X[rows:], "labels": y[rows:]}


def _fit_predict(model: Any, data: dict[str, np.ndarray]) -> np.ndarray:
    return model.fit(data["X"], data["y"]).predict(data["queries"])


def ours(data: dict[str, np.ndarray]) -> np.ndarray:
    from assay.models.neighbours import KNNClassifier

    return _fit_predict(KNNClassifier(n_neighbors=K, algorithm="brute"), data)


def scikit_learn(data: dict[str, np.ndarray]) -> np.ndarray:
    from sklearn.neighbors import KNeighborsClassifier

    return _fit_predict(KNeighborsClassifier(n_neighbors=K, algorithm="brute", n_jobs=-1), data)


def intelex(data: dict[str, np.ndarray]) -> np.ndarray:
    from sklearnex.neighbors import KNeighborsClassifier

    return _fit_predict(KNeighborsClassifier(n_neighbors=K, algorithm="brute", n_jobs=-1), data)


def faiss_flat(data: dict[str, np.ndarray]) -> np.ndarray:
    """Exact in float32: distances that differ after the seventh digit may change places."""
    import faiss

    index = faiss.IndexFlatL2(data["X"].shape[1])
    index.add(data["X"].astype(np.float32))
    found = index.search(data["queries"].astype(np.float32), K)[1]
    return (data["y"][found].mean(axis=1) > 0.5).astype(data["y"].dtype)


def accuracy(data: dict[str, np.ndarray], predicted: np.ndarray) -> float:
    return float((predicted == data["labels"]).mean())


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="knn-brute",
        title="k nearest neighbours, brute force",
        make=make,
        sizes=by_rows("{n} x 30, 5,000 queries, k=15", 1_500, 15_000, 150_000),
        headline=True,
        ours=Contender("assay", "assay", ours),
        peers=(
            Contender("scikit-learn", "scikit-learn", scikit_learn, aim=4.0),
            Contender("scikit-learn-intelex", "scikit-learn-intelex", intelex, aim=2.0),
            Contender("faiss IndexFlatL2 (float32)", "faiss-cpu", faiss_flat, aim=1.5),
        ),
        quality=accuracy,
        gate=0.001,
        quality_name="accuracy",
        limit="45 Gflop in float32 (one multiply-add per coordinate and pair)",
    ),
)
