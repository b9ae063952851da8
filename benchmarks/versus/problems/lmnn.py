"""Learned distances for nearest neighbours, on standardised digits.

metric-learn 0.7 does not run with today's scikit-learn; the peer is scikit-learn's neighbourhood components analysis,
which learns a map of the same form and meets every pair of rows at every step, too many for 20,000 rows (the guide
to neighbours says what LMNN takes there). Quality is the accuracy of three neighbours on rows that were not fitted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows


def _make(rows: int) -> tuple[np.ndarray, ...]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:rows], order[rows:]
    return X[train], y[train], X[test], y[test]


def _accuracy(data: Any, L: np.ndarray) -> float:
    from assay.models.neighbours import KNNClassifier

    return float(KNNClassifier(3).fit(data[0] @ L.T, data[1]).score(data[2] @ L.T, data[3]))


def _ours(data: Any) -> np.ndarray:
    from assay.models.neighbours import LMNN

    return LMNN(n_jobs=-1).fit(data[0], data[1]).components_


def _components(data: Any) -> np.ndarray:
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    model = NeighborhoodComponentsAnalysis(init="identity", max_iter=60, random_state=0)
    return model.fit(data[0], data[1]).components_


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="lmnn",
        title="Large margin nearest neighbours",
        make=_make,
        sizes=by_rows("{n} x 64 (digits)", 300, 700, 1_400),
        ours=Contender("assay LMNN", "assay", _ours),
        peers=(Contender("scikit-learn NCA", "scikit-learn", _components, aim=1.0),),
        quality=_accuracy,
        gate=0.03,
        tried="no maintained package has this method; neighbourhood components are the nearest in scikit-learn.",
        quality_name="accuracy of three neighbours",
        limit="one search over all pairs for each of a few rounds",
    ),
)
