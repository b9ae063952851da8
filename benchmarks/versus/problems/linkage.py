"""Hierarchies: single linkage of 100k rows of 5 columns, average linkage of 10k rows of 20 columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows


def make(rows: int, columns: int) -> dict[str, np.ndarray]:
    return {"X": np.random.default_rng(0).normal(size=(rows, columns))}


def single_ours(data: dict[str, Any]) -> np.ndarray:
    from assay.models.clustering import Hierarchical

    return Hierarchical(2, linkage="single").fit(data["X"]).heights_


def quitefastmst(data: dict[str, Any], **options: Any) -> np.ndarray:
    import quitefastmst

    return quitefastmst.mst_euclid(data["X"], **options)[0]


def sesqui_tree(data: dict[str, Any]) -> np.ndarray:
    return quitefastmst(data, algorithm="sesqui_kd_tree", max_leaf_size=64)


def genieclust(data: dict[str, Any]) -> np.ndarray:
    from genieclust import Genie

    model = Genie(n_clusters=2, gini_threshold=1.0).fit(data["X"])
    return np.asarray(model.distances_)


def average_ours(data: dict[str, Any]) -> np.ndarray:
    from assay.models.clustering import Hierarchical

    return Hierarchical(2, linkage="average").fit(data["X"]).heights_


def fastcluster(data: dict[str, Any]) -> np.ndarray:
    import fastcluster

    return fastcluster.linkage(data["X"], "average")[:, 2]


def scipy(data: dict[str, Any]) -> np.ndarray:
    from scipy.cluster.hierarchy import linkage

    return linkage(data["X"], "average")[:, 2]


def heights(data: dict[str, Any], found: np.ndarray) -> float:
    return float(np.sum(found)) / len(found)


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="single-linkage",
        title="single linkage by a spanning tree, 5 columns",
        make=lambda rows: make(rows, 5),
        sizes=by_rows("{n} x 5", 1_000, 10_000, 100_000),
        ours=Contender("assay", "assay", single_ours),
        peers=(
            Contender("quitefastmst (the tree alone)", "quitefastmst", quitefastmst, aim=1.0),
            Contender("quitefastmst, sesqui-tree, leaves of 64 (the tree alone)", "quitefastmst", sesqui_tree, aim=1.0),
            Contender("genieclust", "genieclust", genieclust, aim=1.0),
        ),
        quality=heights,
        gate=1e-6,
        quality_name="mean height",
        lower_is_better=True,
        limit="nearest foreign rows in about log n rounds; up to 1,024 rows each distance once",
        tried="quitefastmst stops at the tree; ours and genieclust go on to the hierarchy. Leaves of 64 rows save it a "
        "tenth to a quarter, a sesqui-tree little more, its dual trees are slower; brute force and fastcluster's "
        "linkage_vector are behind that on the smallest table.",
    ),
    Problem(
        id="average-linkage",
        title="average linkage, 20 columns",
        make=lambda rows: make(rows, 20),
        sizes=by_rows("{n} x 20", 500, 2_000, 10_000),
        headline=True,
        ours=Contender("assay", "assay", average_ours),
        peers=(
            Contender("fastcluster", "fastcluster", fastcluster, aim=2.0),
            Contender("SciPy", "scipy", scipy, aim=2.0),
        ),
        quality=heights,
        gate=1e-6,
        quality_name="mean height",
        lower_is_better=True,
        limit="each distance of rows once, when its row comes; per merge three lines are scanned and one written",
        tried="fastcluster takes rows, which saves it nothing for average linkage.",
    ),
)
