"""k-means from the same starts: 200k rows of 20 columns into 50 clusters, and a million rows of 5 into 100."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows

MILLION = 1_000_000


def make(rows: int, columns: int, k: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    centres = 1.2 * rng.normal(size=(k, columns))
    X = centres[rng.integers(k, size=rows)] + rng.normal(size=(rows, columns))
    # A million rows end after a hundred steps for all, or the peers would need minutes.
    steps = 300 if rows < MILLION else 100
    return {"X": X, "start": X[rng.choice(rows, k, replace=False)], "k": k, "steps": steps}


def ours(data: dict[str, Any]) -> float:
    import warnings

    from assay.models.clustering import KMeans

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return KMeans(data["k"], init=data["start"], max_iter=data["steps"]).fit(data["X"]).inertia_


def _scikit(cls: Any, data: dict[str, Any], **options: Any) -> float:
    model = cls(data["k"], init=data["start"], n_init=1, max_iter=data["steps"], **options)
    return float(model.fit(data["X"]).inertia_)


def scikit_learn(data: dict[str, Any]) -> float:
    from sklearn.cluster import KMeans

    return _scikit(KMeans, data, algorithm="lloyd")


def scikit_learn_elkan(data: dict[str, Any]) -> float:
    from sklearn.cluster import KMeans

    return _scikit(KMeans, data, algorithm="elkan")


def intelex(data: dict[str, Any]) -> float:
    from sklearnex.cluster import KMeans

    return _scikit(KMeans, data)


def _single(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "X": data["X"].astype(np.float32), "start": data["start"].astype(np.float32)}


def inertia(data: dict[str, Any], found: float) -> float:
    return found / len(data["X"])


PEERS = (
    Contender("scikit-learn", "scikit-learn", scikit_learn, aim=3.0),
    Contender("scikit-learn elkan", "scikit-learn", scikit_learn_elkan, aim=3.0),
    Contender("scikit-learn-intelex", "scikit-learn-intelex", intelex, aim=2.0),
    Contender("scikit-learn, float32", "scikit-learn", lambda data: scikit_learn(_single(data)), aim=2.0),
    Contender("scikit-learn-intelex, float32", "scikit-learn-intelex", lambda data: intelex(_single(data)), aim=2.0),
)
SLOW = ("scikit-learn elkan",)
TRIED = (
    "Same start and the same tolerance for all. faiss stops after a fixed number of steps and is left out. A million "
    "rows end after 100 steps for all; elkan keeps n k bounds and is left out there."
)

PROBLEMS: tuple[Problem, ...] = tuple(
    Problem(
        id=name,
        title=f"k-means, {columns} columns, k = {k}",
        make=lambda rows, columns=columns, k=k: make(rows, columns, k),
        sizes=tuple(
            replace(size, without=SLOW) if size.n >= MILLION else size
            for size in by_rows(f"{{n}} x {columns}, k={k}", *sizes)
        ),
        headline=columns == 20,
        ours=Contender("assay", "assay", ours),
        peers=PEERS,
        quality=inertia,
        gate=1e-3,
        quality_name="inertia per row",
        lower_is_better=True,
        limit="n k d multiply-adds in float32 at first; later one look at two bounds of each row",
        tried=TRIED,
    )
    for name, columns, k, sizes in (
        ("k-means", 20, 50, (2_000, 20_000, 200_000)),
        ("k-means-low", 5, 100, (10_000, 100_000, 1_000_000)),
    )
)
