"""Fitting any estimator many times, reproducibly: clones with their own seeds, and their predictions scored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone, is_classifier

from ..base.errors import DataError, ParameterError, UsageError
from ..base.folds import Fold, fit_folds, open_seeds, seeds_of, take_rows
from ..base.randomness import Stream
from ..catalogue import CLASSIFY, REGRESS
from .metrics import Evidence, Metric, get_metric


def seeded(estimator: Any, stream: Stream, **settings: Any) -> Any:
    """A clone with these settings, whose open `random_state` parameters (None) get seeds from the stream.

    So the result depends on the stream alone and not on the order of the fits or on a global generator.
    """
    model = clone(estimator).set_params(**settings)
    seeds = seeds_of(open_seeds(model), stream)
    return model.set_params(**seeds) if seeds else model


def read_target(who: str, X: Any, y: Any, classifier: bool) -> np.ndarray:
    """y as an array with one value per row of X, without missing values."""
    target = np.asarray(y)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if target.ndim == 0 or target.shape[0] != n_rows:
        came = "one value" if target.ndim == 0 else str(target.shape[0])
        raise DataError(who, "X and y", "must have the same number of rows", f"got {n_rows} and {came}")
    if target.shape[0] < 2:
        raise DataError(who, "X and y", "must have at least 2 rows", f"got {target.shape[0]}")
    if target.dtype.kind == "f" and not np.isfinite(target).all():
        row = int(np.flatnonzero(~np.isfinite(target.reshape(target.shape[0], -1)).all(axis=1))[0])
        raise DataError(who, "y", "must be finite", f"first missing or infinite value at row {row}")
    if classifier and target.dtype.kind == "O" and any(v is None or v != v for v in target.ravel()):
        raise DataError(who, "y", "must not hold missing labels")
    return target


def choose_metric(who: str, estimator: Any, metric: str | Metric | None) -> Metric:
    """The metric with this name, or accuracy for classifiers and R² for regressors; refuses the wrong task."""
    if not hasattr(estimator, "fit"):
        raise UsageError(who, "estimator", "must have a fit method", f"got a {type(estimator).__name__}")
    if metric is None:
        return get_metric(CLASSIFY.metrics[0] if is_classifier(estimator) else "r2")
    chosen = get_metric(metric)
    if chosen.task == REGRESS.name and is_classifier(estimator):
        raise UsageError(who, f"metric '{chosen.name}'", "is for regression, and the estimator is a classifier")
    return chosen


def score_model(model: Any, metric: Metric, X: Any, y: np.ndarray) -> float:
    """The metric of a fitted model on these rows."""
    if metric.needs == "probabilities":
        if not hasattr(model, "predict_proba"):
            raise UsageError(
                type(model).__name__,
                f"metric '{metric.name}'",
                "needs predict_proba, which the estimator lacks",
                way_out="choose a metric of labels such as accuracy",
            )
        probabilities, classes = model.predict_proba(X), np.asarray(model.classes_)
        unseen = np.setdiff1d(np.asarray(y), classes)
        if unseen.size:
            # A class absent from the training rows has probability zero.
            classes = np.concatenate([classes, unseen])
            probabilities = np.column_stack([probabilities, np.zeros((len(probabilities), unseen.size))])
        return metric.of(Evidence(y, probabilities=probabilities, classes=classes))
    predicted = model.predict(X)
    return metric.of(Evidence(y, **{"labels" if metric.needs == "labels" else "values": predicted}))


def run_all(work: Callable[..., Any], calls: Iterable[tuple[Any, ...]], n_jobs: int | None) -> list[Any]:
    """The results in order, in threads where `n_jobs` asks for more than one."""
    if n_jobs == 0 or (n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)))):
        raise ParameterError(
            "run_all", "parameter 'n_jobs'", "must be None or an integer other than 0", f"got {n_jobs}"
        )
    if n_jobs in (None, 1):
        return [work(*call) for call in calls]
    from joblib import Parallel, delayed

    return list(Parallel(n_jobs=n_jobs, prefer="threads")(delayed(work)(*call) for call in calls))


def score_folds(
    estimator: Any,
    metric: Metric,
    X: Any,
    y: np.ndarray,
    folds: Sequence[Fold],
    streams: Sequence[Stream],
    n_jobs: int | None,
    **settings: Any,
) -> np.ndarray:
    """Scores (folds, 2) on the training and on the test rows of each fold.

    The folds share their work where the estimator can; where its fit makes random choices and its seed is open, each
    fold has a seed of its own stream. The model of a fold depends on that fold alone, so that
    `n_jobs` threads, each with some of the folds, give the same scores.
    """
    prototype = clone(estimator).set_params(**settings)
    seeds = open_seeds(prototype)

    def some(numbers: np.ndarray) -> list[tuple[float, ...]]:
        chosen = [folds[k] for k in numbers]
        models = fit_folds(
            prototype, X, y, chosen, settings=[seeds_of(seeds, streams[k]) for k in numbers] if seeds else None
        )
        return [
            tuple(score_model(model, metric, take_rows(X, rows), y[rows]) for rows in fold)
            for fold, model in zip(chosen, models, strict=True)
        ]

    threads = effective_n_jobs(n_jobs) if isinstance(n_jobs, (int, np.integer)) and n_jobs else 1
    parts = np.array_split(np.arange(len(folds)), min(len(folds), threads))
    return np.array([pair for part in run_all(some, [(part,) for part in parts], n_jobs) for pair in part])


def fit_rows(estimator: Any, X: Any, y: np.ndarray, rows: np.ndarray, stream: Stream, **settings: Any) -> Any:
    """A seeded clone fitted to these rows."""
    return seeded(estimator, stream, **settings).fit(take_rows(X, rows), y[rows])
