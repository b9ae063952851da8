"""k-medians from the same start: rows with heavy tails, 20 columns, 50 clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, Size, by_rows

K = 50


def make(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = 1.2 * rng.normal(size=(K, 20))[rng.integers(K, size=rows)] + rng.standard_t(3, size=(rows, 20))
    return {"X": X, "start": X[rng.choice(rows, K, replace=False)]}


def ours(data: dict[str, Any]) -> np.ndarray:
    from assay.models.clustering import KMedians

    return KMedians(K, init=data["start"], max_iter=1000).fit(data["X"]).labels_


def biopython(data: dict[str, Any]) -> np.ndarray:
    """Its C loop takes labels to start from: those of the nearest of k rows."""
    from Bio.Cluster import kcluster
    from scipy.spatial.distance import cdist

    first = cdist(data["X"], data["start"], "cityblock").argmin(axis=1).astype(np.int32)
    return kcluster(data["X"], K, method="m", dist="b", npass=1, initialid=first)[0]


def pyclustering(data: dict[str, Any]) -> np.ndarray:
    from pyclustering.cluster.kmedians import kmedians
    from pyclustering.utils.metric import distance_metric, type_metric

    metric = distance_metric(type_metric.MANHATTAN)
    found = kmedians(data["X"].tolist(), data["start"].tolist(), tolerance=1e-3, metric=metric, itermax=1000)
    labels = np.empty(len(data["X"]), dtype=np.int64)
    for number, rows in enumerate(found.process().get_clusters()):
        labels[rows] = number
    return labels


def scipy(data: dict[str, Any]) -> np.ndarray:
    """Lloyd's steps: all distances by SciPy, medians by NumPy, until no row moves."""
    from scipy.spatial.distance import cdist

    X, medians, labels = data["X"], data["start"].copy(), None
    while True:
        following = cdist(X, medians, "cityblock").argmin(axis=1)
        if labels is not None and (following == labels).all():
            return labels
        labels = following
        for label in np.unique(labels):
            medians[label] = np.median(X[labels == label], axis=0)


def distances(data: dict[str, Any], labels: np.ndarray) -> float:
    """The mean Manhattan distance of a row to the medians of its cluster, so that all are measured alike."""
    away = 0.0
    for label in np.unique(labels):
        own = data["X"][labels == label]
        away += float(np.abs(own - np.median(own, axis=0)).sum())
    return away / len(labels)


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="k-medians",
        title="k-medians, 20 columns, k = 50",
        make=make,
        sizes=(
            *by_rows("{n} x 20, k=50", 2_000, 10_000),
            Size("50,000 x 20, k=50", 50_000, {"rows": 50_000}, without=("pyclustering",)),
        ),
        ours=Contender("assay", "assay", ours),
        peers=(
            Contender("Biopython", "biopython", biopython, aim=3.0),
            Contender("SciPy, distances and medians by hand", "scipy", scipy, aim=3.0, by_hand=True),
            Contender("pyclustering", "pyclustering", pyclustering, aim=3.0),
        ),
        quality=distances,
        gate=0.1,
        quality_name="mean distance",
        lower_is_better=True,
        limit="n k d differences in float32 at first, later bounds; a look at every cell of the clusters that changed",
        tried="Same start for all. Biopython takes the mean of two middle values. scikit-learn-extra and tslearn "
        "have no k-medians; Lloyd's steps by hand take half of Biopython's time from 10,000 rows on, and as "
        "long with pairwise_distances_argmin of scikit-learn, also in float32. pyclustering's C++ core needs lists, "
        "and minutes at the largest size.",
    ),
)
