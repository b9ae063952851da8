"""Condensed nearest neighbours of two classes: a consistent subset.

imbalanced-learn condenses all classes but the smallest, whose rows are all kept, refitting a classifier for every row
that it looks at; it is given two classes, one seed and one neighbour. Quality is the accuracy of the nearest kept row
on all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows


def _make(rows: int) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import make_classification

    return make_classification(
        rows, 20, n_informative=10, n_clusters_per_class=3, class_sep=1.5, flip_y=0.0, weights=[0.7], random_state=0
    )


def _ours(data: Any) -> np.ndarray:
    from assay.models.neighbours import CondensedNN

    return CondensedNN(random_state=0).fit(*data).kept_


def _imbalanced_learn(data: Any) -> np.ndarray:
    from imblearn.under_sampling import CondensedNearestNeighbour

    sampler = CondensedNearestNeighbour(random_state=0, n_neighbors=1, n_seeds_S=1)
    sampler.fit_resample(*data)
    return np.asarray(sampler.sample_indices_)


def _numpy(data: Any) -> np.ndarray:
    """Hart's rule with what everyone keeps by hand: of each row the distance to the nearest kept row, and its label."""
    X, y = data
    order = np.random.default_rng(0).permutation(len(X))
    nearest, label, kept = np.full(len(X), np.inf), np.full(len(X), -1), []

    def keep(row: int) -> None:
        away = X - X[row]
        away = np.einsum("ij,ij->i", away, away)
        closer = away < nearest
        nearest[closer], label[closer] = away[closer], y[row]
        kept.append(row)

    for k in np.unique(y):
        keep(order[y[order] == k][0])
    while True:
        before = len(kept)
        for row in order:
            if label[row] != y[row]:
                keep(row)
        if len(kept) == before:
            return np.array(kept)


def _accuracy(data: Any, kept: np.ndarray) -> float:
    from assay.models.neighbours import KNNClassifier

    X, y = data
    return float(KNNClassifier(1).fit(X[kept], y[kept]).score(X, y))


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="condensed-nn",
        title="Condensed nearest neighbours",
        make=_make,
        sizes=by_rows("{n} x 20, 2 classes", 500, 2_000, 5_000),
        ours=Contender("assay CondensedNN", "assay", _ours),
        peers=(
            Contender("imbalanced-learn", "imbalanced-learn", _imbalanced_learn, aim=100.0),
            Contender("NumPy, nearest kept row by hand", "numpy", _numpy, aim=2.0, by_hand=True),
        ),
        quality=_accuracy,
        gate=0.01,
        tried="one seed and one neighbour, as ours; the search for one row at a time leaves nothing for several jobs. "
        "Twenty lines of NumPy that meet each kept row with all others once are fifty to a hundred times as fast.",
        quality_name="accuracy on all rows",
        limit="each row meets each kept row once",
    ),
)
