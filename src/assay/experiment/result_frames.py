"""What a run found as frames, for export: scores, out-of-fold predictions, trials."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ..data.frames import frame_of
from .results import Results


def scores_frame(results: Results) -> Any:
    """Every score as a Polars frame: learner, repetition, fold, metric, score.

    >>> from assay.data import load_dataset
    >>> from assay.experiment import Plan, run
    >>> results = run(Plan(load_dataset("iris"), "species", learners=["zero-r"], design="3-fold", metrics=["accuracy"]))
    >>> scores_frame(results).shape
    (3, 5)
    """
    rows = [
        (result.id, split.repetition, split.fold, name, float(scores[split.repetition, split.fold]))
        for result in results.learners
        for name, scores in result.scores.items()
        for split in results.plan.splits
    ]
    heads = ("learner", "repetition", "fold", "metric", "score")
    return frame_of({head: [row[k] for row in rows] for k, head in enumerate(heads)})


def predictions_frame(results: Results) -> Any:
    """Every out-of-fold prediction as a Polars frame: learner, row of the table, repetition, fold, truth, predicted,
    and the probability of each class; None where no learner has any."""
    plan = results.plan
    place, names = np.flatnonzero(np.asarray(plan.target.kept)), plan.classes
    parts: dict[str, list[Any]] = {}
    for result in results.learners:
        if not result.complete:
            continue
        found = results.predictions(result.id)
        shown: dict[str, Any] = {
            "learner": np.full(len(found), result.id),
            "row": place[found.rows],
            "repetition": found.repetition,
            "fold": found.fold,
            "truth": found.truth if names is None else names[found.truth],
            "predicted": found.predicted if names is None else names[found.predicted],
        }
        for k, label in enumerate(() if names is None else names):
            shares = found.probabilities
            shown[f"p_{label}"] = np.full(len(found), np.nan) if shares is None else shares[:, k]
        for name, cells in shown.items():
            parts.setdefault(name, []).append(np.asarray(cells))
    if not parts:
        return None
    together: dict[str, Any] = {name: np.concatenate(cells) for name, cells in parts.items()}
    return frame_of(together)


def trials_frame(results: Results) -> Any:
    """Every trial of every tuned learner as a Polars frame, parameters as JSON; None where none was tuned."""
    rows: list[dict[str, Any]] = []
    for result in results.learners:
        for split, trials in result.trials.items():
            at = None if split is None else results.plan.splits[split]
            where = {"repetition": None if at is None else at.repetition, "fold": None if at is None else at.fold}
            for number, trial in sorted(trials.items()):
                said = {"parameters": json.dumps(trial["parameters"]), "score": trial["score"], "error": trial["error"]}
                rows.append({"learner": result.id, **where, "trial": number, **said})
    return frame_of({name: [row[name] for row in rows] for name in rows[0]}) if rows else None
