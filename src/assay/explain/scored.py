"""What a model's outputs are worth: scores of outputs for changed rows, and the losses of single rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base.errors import DataError, UsageError
from ..catalogue import REGRESS
from ..evaluate.fits import read_target
from ..evaluate.metrics import Evidence, Metric, get_metric
from ..evaluate.row_values import row_values
from .asked import Answers, Asked, answers_of, classes_of

MetricLike = str | Metric | Callable[[Any, Any], float] | None


@dataclass(frozen=True, eq=False)
class Judge:
    """Scores the outputs of an `Asked` model by a metric; more is always better (`sign` turns errors round)."""

    metric: Metric
    y: np.ndarray
    classes: np.ndarray | None
    weights: np.ndarray | None
    decode: Callable[[np.ndarray], np.ndarray]
    by_rows: bool = True
    """Whether what each row contributes is known: not of a function of the user's."""

    @property
    def sign(self) -> float:
        """1 for scores, -1 for errors."""
        return 1.0 if self.metric.greater_is_better else -1.0

    def evidence(self, outputs: np.ndarray) -> Evidence:
        """Truth and predictions in the form that metrics take."""
        given: Any = {self.metric.needs: self.decode(outputs)}
        return Evidence(self.y, classes=self.classes, sample_weight=self.weights, **given)

    def score(self, outputs: np.ndarray) -> float:
        """The metric of these outputs."""
        return self.metric.of(self.evidence(outputs))

    def values(self, outputs: np.ndarray) -> np.ndarray | None:
        """What each row contributes to the score, where that is known."""
        if self.weights is not None or not self.by_rows:
            return None
        return row_values(self.metric, self.evidence(outputs))


def usual_metric(model: Any) -> str:
    """The metric that importance is measured by if none is named: R² for numbers, accuracy for classes."""
    return "r2" if classes_of(model) is None else "accuracy"


def _as_metric(who: str, model: Any, metric: MetricLike) -> Metric:
    if metric is None:
        return get_metric(usual_metric(model))
    if callable(metric) and not isinstance(metric, Metric):
        needs = "values" if classes_of(model) is None else "labels"
        name = getattr(metric, "__name__", "metric")
        function: Callable[[Any, Any], float] = metric
        return Metric(name, name, True, needs, lambda found: float(function(found.y, getattr(found, needs))))
    found = get_metric(metric)
    if (found.task == REGRESS.name) != (classes_of(model) is None):
        what = "numbers" if classes_of(model) is None else "classes"
        raise UsageError(who, f"metric '{found.name}'", f"does not fit a model of {what}")
    return found


def judged(
    who: str,
    model: Any,
    X: Any,
    y: Any,
    metric: MetricLike,
    *,
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> tuple[Asked, Judge]:
    """The model beside its table, asked for what the metric needs, and the judge of its answers."""
    chosen = _as_metric(who, model, metric)
    target = read_target(who, X, y, classes_of(model) is not None)
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights is not None and (weights.shape != (target.shape[0],) or not (weights >= 0).all() or not weights.any()):
        raise DataError(who, "sample_weight", "must be one number from 0 on for each row, not all 0")
    classes = classes_of(model)
    as_given = not isinstance(metric, (str, Metric, type(None)))
    if chosen.needs == "values":
        asked = Asked.of(who, model, X, n_jobs=n_jobs)
        single = target.ndim == 1
        return asked, Judge(chosen, target, None, weights, lambda out: out[:, 0] if single else out, not as_given)
    if chosen.needs not in ("labels", "probabilities"):
        raise UsageError(who, f"metric '{chosen.name}'", "measures no predictions of classes or numbers")
    assert classes is not None
    known = np.asarray(classes)
    truth = np.asarray(target)
    if truth.dtype.kind == "O" and known.dtype.kind in "US":
        truth = truth.astype(str)
    unseen = np.setdiff1d(truth, known)
    every = np.concatenate([known, unseen.astype(known.dtype)]) if unseen.size else known
    place = {label: k for k, label in enumerate(every.tolist())}
    codes = np.array([place[label] for label in truth.tolist()])
    if chosen.needs == "probabilities":
        if not hasattr(model, "predict_proba"):
            way_out = "choose a metric of labels such as accuracy"
            raise UsageError(
                who, f"metric '{chosen.name}'", "needs predict_proba, which the model lacks", way_out=way_out
            )
        asked = Asked.of(who, model, X, output="probability", n_jobs=n_jobs)
        return asked, Judge(
            chosen, codes, np.arange(len(every)), weights, lambda p: _all_classes(p, len(known), len(every))
        )
    asked = _asked_for_labels(who, model, X, known, n_jobs)
    if as_given:
        return asked, Judge(chosen, truth, None, weights, lambda out: known[_codes(out)], False)
    return asked, Judge(chosen, codes, np.arange(len(every)), weights, _codes)


def _asked_for_labels(who: str, model: Any, X: Any, classes: np.ndarray, n_jobs: int | None) -> Asked:
    """By probabilities where a model of trees says the likeliest class, else by the labels that it predicts."""
    place = {label: k for k, label in enumerate(classes.tolist())}

    def codes(table: Any) -> np.ndarray:
        said = np.asarray(model.predict(table))
        if said.dtype.kind == classes.dtype.kind != "O" and classes.shape[0] <= 32:
            return (said[:, None] == classes).argmax(axis=1)[:, None].astype(np.float64)
        return np.array([[float(place[label])] for label in said.tolist()])

    if hasattr(model, "predict_proba"):
        asked = Asked.of(who, model, X, output="probability", n_jobs=n_jobs)
        if asked.trees is not None and asked.table is not None:
            some = asked.cells[:200]
            said = codes(asked.table.rebuild(asked.table.parts[0][:200]))[:, 0]
            if np.array_equal(_codes(asked.outputs(some)), said):
                return asked
    asked = Asked.of(who, model, X, output="auto", fast=False, n_jobs=n_jobs)
    plain_answers = answers_of(who, model, "auto")
    labels = Answers(codes, "class", plain_answers.names, plain_answers.classes, "label")
    return replace(asked, answers=labels)


def _codes(outputs: np.ndarray) -> np.ndarray:
    """Codes of classes from codes, from probabilities of the second class, or from probabilities of all."""
    if outputs.shape[1] > 1:
        return outputs.argmax(axis=1)
    column = outputs[:, 0]
    whole = column == np.floor(column)
    if whole.all():
        return column.astype(np.intp)
    return (column > 1.0 - column).astype(np.intp)


def _all_classes(outputs: np.ndarray, known: int, every: int) -> np.ndarray:
    found = np.column_stack([1.0 - outputs[:, 0], outputs[:, 0]]) if outputs.shape[1] == 1 and known == 2 else outputs
    return found if every == known else np.column_stack([found, np.zeros((len(found), every - known))])
