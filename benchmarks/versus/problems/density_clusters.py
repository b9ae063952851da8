"""DBSCAN on 100k and a million rows of 3 columns, HDBSCAN on 100k rows of 5 columns."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows, last_without


def make(rows: int, columns: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    owner = rng.integers(20, size=rows)
    X = 4.0 * rng.normal(size=(20, columns))[owner] + rng.uniform(0.3, 1.0, size=20)[owner, None] * rng.normal(
        size=(rows, columns)
    )
    return {"X": X, "owner": owner, "eps": 0.2 if rows < 300_000 else 0.1}


def _fit(cls: Any, data: dict[str, Any], **options: Any) -> np.ndarray:
    return cls(**options).fit(data["X"]).labels_


def dbscan_ours(data: dict[str, Any]) -> np.ndarray:
    from assay.models.clustering import DBSCAN

    return _fit(DBSCAN, data, eps=data["eps"], min_samples=10)


def dbscan_scikit(data: dict[str, Any], **options: Any) -> np.ndarray:
    from sklearn.cluster import DBSCAN

    return _fit(DBSCAN, data, eps=data["eps"], min_samples=10, n_jobs=-1, **options)


def dbscan_scipy(data: dict[str, Any]) -> np.ndarray:
    """Counts of neighbours and pairs of core rows by SciPy's tree, clusters as connected parts of their graph."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    X, eps = data["X"], data["eps"]
    counts = cKDTree(X).query_ball_point(X, eps, return_length=True, workers=-1)
    core = np.flatnonzero(counts >= 10)
    labels = np.full(len(X), -1)
    if len(core) == 0:
        return labels
    tree = cKDTree(X[core])
    pairs = tree.query_pairs(eps, output_type="ndarray").T
    graph = coo_array((np.ones(pairs.shape[1], dtype=bool), (pairs[0], pairs[1])), shape=(len(core), len(core)))
    labels[core] = parts = connected_components(graph, directed=False)[1]
    border = np.flatnonzero((counts > 1) & (counts < 10))
    for row, near in zip(border, tree.query_ball_point(X[border], eps, workers=-1)):
        if near:
            labels[row] = parts[near].min()  # several clusters may reach it: the first takes it
    return labels


def dbscan_intelex(data: dict[str, Any]) -> np.ndarray:
    from sklearnex.cluster import DBSCAN

    return _fit(DBSCAN, data, eps=data["eps"], min_samples=10)


def hdbscan_ours(data: dict[str, Any]) -> np.ndarray:
    from assay.models.clustering import HDBSCAN

    return _fit(HDBSCAN, data, min_cluster_size=50)


def hdbscan_scikit(data: dict[str, Any]) -> np.ndarray:
    from sklearn.cluster import HDBSCAN

    return _fit(HDBSCAN, data, min_cluster_size=50, n_jobs=-1, copy=True)


def hdbscan_package(data: dict[str, Any]) -> np.ndarray:
    from hdbscan import HDBSCAN

    return _fit(HDBSCAN, data, min_cluster_size=50, core_dist_n_jobs=-1)


def fast_hdbscan(data: dict[str, Any]) -> np.ndarray:
    from fast_hdbscan import HDBSCAN

    return _fit(HDBSCAN, data, min_cluster_size=50)


def agreement(data: dict[str, Any], labels: np.ndarray) -> float:
    from assay.evaluate import adjusted_rand

    return adjusted_rand(data["owner"], labels)


LEAVES = Contender("scikit-learn, leaves of 100", "scikit-learn", partial(dbscan_scikit, leaf_size=100), aim=5.0)

PROBLEMS: tuple[Problem, ...] = (
    *(
        Problem(
            id=name,
            title=title,
            make=lambda rows: make(rows, 3),
            sizes=by_rows("{n} x 3, eps .2 or .1, 10 rows", *sizes),
            ours=Contender("assay", "assay", dbscan_ours),
            peers=peers,
            quality=agreement,
            gate=1e-9,
            quality_name="adjusted Rand",
            limit="a tree of n rows; memory linear in n, no neighbour lists",
            tried="Labels are the same for all. algorithm='kd_tree' of scikit-learn is what 'auto' takes; leaves of "
            "100 rows save it a fifth, of 200 less; SciPy's tree and connected parts, by "
            "hand, nearly half at 10,000 rows, and at 100,000 an eighth less than such leaves."
            + (
                " SciPy keeps all near pairs, of which a million rows have too many. scikit-learn-intelex "
                "measures all pairs, which takes a quarter of an hour here."
                if sizes[-1] > 1e5
                else ""
            ),
        )
        for name, title, sizes, peers in (
            (
                "dbscan",
                "DBSCAN, 3 columns",
                (2_000, 10_000, 100_000),
                (
                    Contender("scikit-learn", "scikit-learn", dbscan_scikit, aim=5.0),
                    LEAVES,
                    Contender("SciPy, pairs of core rows by hand", "scipy", dbscan_scipy, aim=3.0, by_hand=True),
                    Contender("scikit-learn-intelex", "scikit-learn-intelex", dbscan_intelex, aim=5.0),
                ),
            ),
            (
                "dbscan-large",
                "DBSCAN, 3 columns, many rows",
                (10_000, 100_000, 1_000_000),
                (Contender("scikit-learn", "scikit-learn", dbscan_scikit, aim=5.0), LEAVES),
            ),
        )
    ),
    Problem(
        id="hdbscan",
        title="HDBSCAN, 5 columns",
        make=lambda rows: make(rows, 5),
        sizes=last_without(by_rows("{n} x 5, clusters of 50 rows", 1_000, 10_000, 100_000), "scikit-learn"),
        ours=Contender("assay", "assay", hdbscan_ours),
        peers=(
            Contender("fast-hdbscan", "fast-hdbscan", fast_hdbscan, aim=3.0),
            Contender("hdbscan", "hdbscan", hdbscan_package, aim=3.0),
            Contender("scikit-learn", "scikit-learn", hdbscan_scikit, aim=3.0),
        ),
        quality=agreement,
        gate=0.02,
        quality_name="adjusted Rand",
        limit="50 nearest neighbours of each row, then a spanning tree by Boruvka's rounds",
        tried="fast-hdbscan is compiled by the small call before the clock starts.",
    ),
)
