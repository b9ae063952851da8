"""Subset selection for linear models: forward selection with folds against refitting every candidate."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, Size

WANTED = 20
FOLDS = 5


def _make(columns: int, rows: int = 3_000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns)) + 0.5 * rng.normal(size=(rows, 1))
    return X, X[:, :40] @ rng.normal(size=40) + 2 * rng.normal(size=rows)


def _forward(data: Any) -> Any:
    from assay.prepare import ForwardSelector

    return ForwardSelector(n_features_to_select=WANTED, cv=FOLDS, n_jobs=-1).fit(*data)


def _scikit_learn(data: Any) -> Any:
    from sklearn.feature_selection import SequentialFeatureSelector
    from sklearn.linear_model import LinearRegression

    return SequentialFeatureSelector(
        LinearRegression(), n_features_to_select=WANTED, scoring="neg_mean_squared_error", cv=FOLDS, n_jobs=2
    ).fit(*data)


def _fold_error(data: Any, model: Any) -> float:
    """Mean squared error over the folds of least squares on the chosen columns, refitted."""
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import cross_val_score

    X, y = data
    scores = cross_val_score(
        LinearRegression(), X[:, model.get_support()], y, cv=FOLDS, scoring="neg_mean_squared_error"
    )
    return -float(scores.mean())


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="select-forward",
        title="Forward selection of 20 columns by 5-fold error",
        make=_make,
        sizes=(
            Size("3,000 x 40", 40, {"columns": 40}),
            Size("3,000 x 100", 100, {"columns": 100}),
            Size("3,000 x 200", 200, {"columns": 200}),
        ),
        ours=Contender("assay ForwardSelector", "assay", _forward),
        peers=(Contender("scikit-learn SequentialFeatureSelector", "scikit-learn", _scikit_learn, aim=100.0),),
        quality=_fold_error,
        gate=1e-9,
        tried="two jobs; LinearRegression of scikit-learn-intelex inside takes longer, by its checks of each "
        "small call.",
        quality_name="5-fold squared error",
        lower_is_better=True,
        repeats=1,
        limit="one Gram matrix (n d^2 / 2 multiply-adds); the peer fits 24,050 models at 250 columns",
    ),
)
