"""Metrics: one table, one way to score, and the shared work of several metrics done once.

Every classification metric of labels is a function of the confusion matrix, every ranking metric of one sort of the
scores, every regression metric of the errors; `Evidence` holds these and computes each at most once. Values equal
scikit-learn's, without its validation, which costs more than the metric itself on the small test parts of
cross-validation. A metric that is undefined for the rows at hand is NaN.

>>> get_metric("accuracy").score(["a", "b", "b"], ["a", "b", "a"]).__round__(3)
0.667
>>> score_many(["rmse", "r2"], [1.0, 2.0, 3.0], values=[1.0, 2.0, 4.0])["r2"]
0.5
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..base.errors import DataError, UsageError, plain
from ..catalogue import TASKS, get_task
from .clustering_metrics import PARTITION_METRICS

AVERAGES = ("macro", "micro", "weighted")
CALIBRATION_BINS = 15


class Evidence:
    """True values and one learner's predictions for the same rows; shared quantities are computed once.

    `labels` are predicted classes, `probabilities` an array (rows, classes) in the order of `classes` (for two
    classes also the probabilities of the second), `values` predicted numbers, `clusters` a partition of the rows. If
    only probabilities are given, the labels are the likeliest classes. Codes 0..K-1 with
    `classes=np.arange(K)` are the fastest input.
    """

    def __init__(
        self,
        y: Any,
        *,
        labels: Any = None,
        probabilities: Any = None,
        values: Any = None,
        clusters: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
    ):
        self.y = _array(y)
        self.labels = None if labels is None else _array(labels)
        self.values = None if values is None else np.asarray(values, dtype=np.float64)
        self.clusters = None if clusters is None else _array(clusters)
        self.classes = None if classes is None else _array(classes)
        self.weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self._probabilities = None if probabilities is None else np.asarray(probabilities, dtype=np.float64)
        n_rows = self.y.shape[0]
        if n_rows == 0:
            raise DataError("metrics", "y", "must hold at least one row")
        for name, given in (
            ("labels", self.labels),
            ("probabilities", self._probabilities),
            ("values", self.values),
            ("clusters", self.clusters),
        ):
            if given is not None and given.shape[:1] != (n_rows,):
                came = f"got {given.shape[0]}" if given.ndim else "got one value"
                raise DataError("metrics", name, f"must have one row for each of {n_rows}", came)
        if self.weights is not None and self.weights.shape != (n_rows,):
            raise DataError("metrics", "sample_weight", f"must have shape ({n_rows},)", f"got {self.weights.shape}")

    @classmethod
    def of_codes(
        cls,
        y: np.ndarray,
        predicted: np.ndarray,
        probabilities: np.ndarray | None,
        n_classes: int,
        table: np.ndarray | None = None,
    ) -> Evidence:
        """Evidence of codes that are known to lie in 0..n_classes-1, which are not looked up again; `table` is their
        confusion matrix, where it is known.

        >>> Evidence.of_codes(np.array([0, 1]), np.array([1, 1]), None, 2).confusion.tolist()
        [[0, 1], [0, 1]]
        """
        classes = np.arange(n_classes)
        evidence = cls(y, labels=predicted, probabilities=probabilities, classes=classes)
        vars(evidence).update(_coded=(y, predicted, classes), true_codes=y)
        if table is not None:
            vars(evidence).update(confusion=table)
        return evidence

    def has(self, needs: str) -> bool:
        """Whether the predictions that a metric needs were given."""
        if needs == "labels":
            return self.labels is not None or self._probabilities is not None
        given = {"probabilities": self._probabilities, "values": self.values, "clusters": self.clusters}
        return given[needs] is not None

    # -- labels ---------------------------------------------------------------------------------------------
    @cached_property
    def _coded(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """True codes, predicted codes and the classes the codes point to."""
        if self.labels is None:
            return self.true_codes, self.probabilities.argmax(axis=1), self._probability_classes
        for name, given in (("y", self.y), ("labels", self.labels)):
            if given.ndim != 1:
                raise DataError("metrics", name, "must be one label per row", f"got an array of shape {given.shape}")
        if self.classes is not None:
            true, predicted = _lookup(self.y, self.classes), _lookup(self.labels, self.classes)
            if true is not None and predicted is not None:
                return true, predicted, self.classes
        elif _small_codes(self.y) and _small_codes(self.labels):
            return self.y, self.labels, np.arange(1 + max(int(self.y.max()), int(self.labels.max())))
        try:
            if (self.y.dtype.kind in "US") != (self.labels.dtype.kind in "US"):
                # Joined as they are, numbers would silently become text.
                raise TypeError
            classes, codes = np.unique(np.concatenate([self.y, self.labels]), return_inverse=True)
        except TypeError:
            raise DataError(
                "metrics", "labels", "must be of one kind", "got text and numbers", "convert one of them"
            ) from None
        return codes[: self.y.shape[0]], codes[self.y.shape[0] :], classes

    @cached_property
    def confusion(self) -> np.ndarray:
        """Weight (or count) of the rows of each true class (row) predicted as each class (column)."""
        true, predicted, classes = self._coded
        size = classes.shape[0]
        cells = true.astype(np.intp) * size + predicted
        return np.bincount(cells, weights=self.weights, minlength=size * size).reshape(size, size)

    @cached_property
    def confusion_codes(self) -> np.ndarray:
        """The cell of each row in a table of its true and predicted class, which has at least two classes."""
        true, predicted, classes = self._coded
        size = np.int32(max(2, classes.shape[0]))
        return np.asarray(true, dtype=np.int32) * size + np.asarray(predicted, dtype=np.int32)

    @cached_property
    def confusion_classes(self) -> np.ndarray:
        """The class of each row and column of `confusion`."""
        return self._coded[2]

    @cached_property
    def margins(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Correct, actual and predicted weight per class, of the classes that occur in either."""
        confusion = self.confusion.astype(float)
        correct, actual, predicted = confusion.diagonal(), confusion.sum(axis=1), confusion.sum(axis=0)
        occurs = (actual + predicted) > 0
        return (correct, actual, predicted) if occurs.all() else (correct[occurs], actual[occurs], predicted[occurs])

    # -- probabilities --------------------------------------------------------------------------------------
    @cached_property
    def _probability_classes(self) -> np.ndarray:
        columns = self.probabilities.shape[1]
        classes = np.unique(self.y) if self.classes is None else self.classes
        if self.classes is None and _small_codes(self.y) and classes[-1] < columns:
            classes = np.arange(columns)
        if classes.shape[0] != columns:
            raise DataError(
                "metrics",
                "probabilities",
                f"must have one column for each of {classes.shape[0]} classes",
                f"got {columns}",
                "pass classes= in the order of the columns",
            )
        return classes

    @cached_property
    def probabilities(self) -> np.ndarray:
        """Probabilities as (rows, classes)."""
        given = self._probabilities
        assert given is not None
        return np.column_stack([1 - given, given]) if given.ndim == 1 else given

    @cached_property
    def true_codes(self) -> np.ndarray:
        """The column of `probabilities` that belongs to the true class of each row."""
        codes = _lookup(self.y, self._probability_classes)
        if codes is None:
            unknown = sorted(set(self.y.tolist()) - set(self._probability_classes.tolist()), key=str)
            raise DataError(
                "metrics", f"class '{plain(unknown[0])}'", "has no column of probabilities", way_out="pass classes="
            )
        return codes

    @cached_property
    def rankings(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Cumulative weight of positives and negatives from the highest score down, at each distinct score.

        One pair for two classes (the second is positive), one per class against the rest for more.
        """
        columns = [1] if self.probabilities.shape[1] == 2 else range(self.probabilities.shape[1])
        return [self._ranking(self.probabilities[:, column], self.true_codes == column) for column in columns]

    def _ranking(self, score: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(-score, kind="stable")
        ranked, hits = score[order], positive[order]
        weights = np.ones(score.shape[0]) if self.weights is None else self.weights[order]
        last_of_ties = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), score.shape[0] - 1)
        return np.cumsum(weights * hits)[last_of_ties], np.cumsum(weights * ~hits)[last_of_ties]

    # -- values ---------------------------------------------------------------------------------------------
    @cached_property
    def truth(self) -> np.ndarray:
        """True numbers as (rows, outputs)."""
        return _columns(np.asarray(self.y, dtype=np.float64))

    @cached_property
    def predicted(self) -> np.ndarray:
        """Predicted numbers as (rows, outputs)."""
        assert self.values is not None
        predicted = _columns(self.values)
        if predicted.shape != self.truth.shape:
            raise DataError("metrics", "values", f"must have shape {self.truth.shape}", f"got {predicted.shape}")
        return predicted

    @cached_property
    def errors(self) -> np.ndarray:
        """Prediction minus truth."""
        return self.predicted - self.truth

    @cached_property
    def deviations(self) -> np.ndarray:
        """Truth minus its mean: the errors of the best constant."""
        return self.truth - self.mean_of(self.truth)

    @cached_property
    def mean_squared(self) -> np.ndarray:
        """Mean squared error per output."""
        return self.mean_of(self.errors**2)

    def mean_of(self, values: np.ndarray) -> np.ndarray:
        """The weighted mean over rows."""
        if self.weights is None:
            return values.mean(axis=0)
        return self.weights @ values / self.weights.sum()

    @property
    def total_weight(self) -> float:
        """The number of rows, or the sum of their weights."""
        return float(self.y.shape[0] if self.weights is None else self.weights.sum())


@dataclass(frozen=True)
class Metric:
    """A metric: what it is called, which way is better, what it needs, and how it is computed.

    `needs` is "labels", "probabilities", "values" or "clusters"; `bounds` are the least and greatest possible values.
    """

    name: str
    title: str
    greater_is_better: bool
    needs: str
    compute: Callable[[Evidence], float]
    bounds: tuple[float, float] = (-np.inf, np.inf)
    decides: bool = True
    """Whether less (or more) is always better, so that learners can be ranked by it; a signed error is best at 0."""

    @property
    def task(self) -> str:
        """The name of the task whose outputs the metric measures."""
        return next(task.name for task in TASKS.values() if self.needs in task.outputs)

    def score(self, y_true: Any, prediction: Any, classes: Any = None, sample_weight: Any = None) -> float:
        """The value of the metric for these predictions (labels, probabilities or values, as `needs` says)."""
        given = {self.needs: prediction}
        return float(self.compute(Evidence(y_true, classes=classes, sample_weight=sample_weight, **given)))

    def of(self, evidence: Evidence) -> float:
        """The value for evidence that several metrics share; NaN if its predictions were not given."""
        return float(self.compute(evidence)) if evidence.has(self.needs) else float("nan")


def score_many(
    names: Iterable[str | Metric],
    y: Any,
    *,
    labels: Any = None,
    probabilities: Any = None,
    values: Any = None,
    clusters: Any = None,
    classes: Any = None,
    sample_weight: Any = None,
) -> dict[str, float]:
    """Several metrics at once, from one confusion matrix, one sort and one array of errors.

    A metric whose kind of prediction was not given is NaN.

    >>> score_many(["accuracy", "f1_macro"], [0, 1, 1], labels=[0, 1, 0])["accuracy"].__round__(3)
    0.667
    """
    given = {"labels": labels, "probabilities": probabilities, "values": values, "clusters": clusters}
    if all(predictions is None for predictions in given.values()):
        way_out = "pass labels=, probabilities=, values= or clusters="
        raise UsageError("score_many", "predictions", "are missing", way_out=way_out)
    evidence = Evidence(y, **given, classes=classes, sample_weight=sample_weight)
    metrics = [get_metric(name) for name in names]
    return {metric.name: metric.of(evidence) for metric in metrics}


def confusion_matrix(y_true: Any, labels: Any, classes: Any = None, sample_weight: Any = None) -> np.ndarray:
    """Rows are true classes, columns predicted ones, in the order of `classes` (sorted if not given).

    >>> confusion_matrix(["a", "b", "b"], ["a", "a", "b"])
    array([[1, 0],
           [1, 1]])
    """
    evidence = Evidence(y_true, labels=labels, classes=classes, sample_weight=sample_weight)
    if classes is not None and evidence.confusion_classes is not evidence.classes:
        unknown = sorted(set(evidence.confusion_classes.tolist()) - set(_array(classes).tolist()), key=str)
        raise DataError("confusion_matrix", f"label '{plain(unknown[0])}'", "is not among the given classes")
    return evidence.confusion


# -- arrays -------------------------------------------------------------------------------------------------
def _array(values: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind == "O" and array.ndim == 1 and all(isinstance(v, str) for v in array):
        return array.astype(str)
    return array


def _columns(values: np.ndarray) -> np.ndarray:
    return values[:, None] if values.ndim == 1 else values


def _small_codes(labels: np.ndarray) -> bool:
    return labels.dtype.kind in "iu" and labels.min() >= 0 and labels.max() < 256


def _lookup(labels: np.ndarray, classes: np.ndarray) -> np.ndarray | None:
    """The position of each label among the classes, or None if a label is not among them."""
    if classes.dtype.kind in "iu" and labels.dtype.kind in "iu" and classes[0] == 0 and (np.diff(classes) == 1).all():
        return labels if labels.min() >= 0 and labels.max() < classes.shape[0] else None
    try:
        order = np.argsort(classes, kind="stable")
        position = np.minimum(np.searchsorted(classes, labels, sorter=order), classes.shape[0] - 1)
        codes = order[position]
        return codes if bool(np.all(classes[codes] == labels)) else None
    except TypeError:
        index = {label: code for code, label in enumerate(classes.tolist())}
        found = [index.get(label, -1) for label in labels.tolist()]
        return None if -1 in found else np.array(found)


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Element-wise quotient with 0 where the divisor is 0, as precision of a class never predicted."""
    return np.divide(above, below, out=np.zeros_like(above, dtype=float), where=below != 0)


# -- labels -------------------------------------------------------------------------------------------------
def _accuracy(evidence: Evidence) -> float:
    return float(evidence.confusion.trace() / evidence.confusion.sum())


def _balanced_accuracy(evidence: Evidence) -> float:
    correct, actual, _ = evidence.margins
    return float(np.mean(correct[actual > 0] / actual[actual > 0]))


def _averaged(average: str | None, score: Callable[[Any, Any, Any], np.ndarray]) -> Callable[[Evidence], float]:
    """A score of (correct, actual, predicted), averaged over classes or taken for the second of two classes."""

    def compute(evidence: Evidence) -> float:
        correct, actual, predicted = evidence.margins
        if average is None:
            return float(score(*_second_class(evidence))[0])
        if average == "micro":
            return float(score(correct.sum(keepdims=True), actual.sum(keepdims=True), predicted.sum(keepdims=True))[0])
        per_class = score(correct, actual, predicted)
        return float(np.mean(per_class) if average == "macro" else actual @ per_class / actual.sum())

    return compute


def _second_class(evidence: Evidence) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    confusion = evidence.confusion
    if len(confusion) > 2:
        raise DataError(
            "metrics",
            "a metric of one positive class",
            "needs two classes",
            f"got {len(confusion)}",
            "use its _macro, _micro or _weighted form",
        )
    # Rows of one class alone hold nothing of a second.
    correct, actual, predicted = (
        np.append(part, 0.0)[1:2] for part in (np.diagonal(confusion), confusion.sum(axis=1), confusion.sum(axis=0))
    )
    return correct, actual, predicted


def _precision(correct: np.ndarray, actual: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    return _ratio(correct, predicted)


def _recall(correct: np.ndarray, actual: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    return _ratio(correct, actual)


def _f_beta(beta: float) -> Callable[[Any, Any, Any], np.ndarray]:
    def score(correct: np.ndarray, actual: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        return _ratio((1 + beta**2) * correct, beta**2 * actual + predicted)

    return score


def _specificity(evidence: Evidence) -> float:
    correct, actual, predicted = _second_class(evidence)
    negatives = evidence.confusion.sum() - actual
    return float(_ratio(negatives - (predicted - correct), negatives)[0])


def _kappa(evidence: Evidence) -> float:
    correct, actual, predicted = evidence.margins
    total = actual.sum()
    by_chance = actual @ predicted / total**2
    return float((correct.sum() / total - by_chance) / (1 - by_chance)) if by_chance < 1 else float("nan")


def _mcc(evidence: Evidence) -> float:
    """Matthews' correlation, in Gorodkin's form for any number of classes."""
    correct, actual, predicted = evidence.margins
    total = actual.sum()
    covariance = correct.sum() * total - actual @ predicted
    scale = (total**2 - predicted @ predicted) * (total**2 - actual @ actual)
    return float(covariance / np.sqrt(scale)) if scale > 0 else 0.0


# -- probabilities ------------------------------------------------------------------------------------------
def _log_loss(evidence: Evidence) -> float:
    rows = np.arange(evidence.y.shape[0])
    smallest = np.finfo(np.float64).eps
    chosen = np.clip(evidence.probabilities[rows, evidence.true_codes], smallest, 1 - smallest)
    return float(evidence.mean_of(-np.log(chosen)))


def _brier(evidence: Evidence) -> float:
    """Mean squared distance of the probabilities from the truth; halved for two classes, as is usual there."""
    probabilities = evidence.probabilities
    rows = np.arange(probabilities.shape[0])
    chosen = probabilities[rows, evidence.true_codes]
    squared = (probabilities**2).sum(axis=1) - 2 * chosen + 1
    return float(evidence.mean_of(squared)) / (2 if probabilities.shape[1] == 2 else 1)


def _mean_over_rankings(score: Callable[[np.ndarray, np.ndarray], float]) -> Callable[[Evidence], float]:
    """The mean over classes (each against the rest) of those that have both positives and negatives."""

    def compute(evidence: Evidence) -> float:
        values = [score(hits, misses) for hits, misses in evidence.rankings if hits[-1] > 0 and misses[-1] > 0]
        return float(np.mean(values)) if values else float("nan")

    return compute


def _area_under_roc(hits: np.ndarray, misses: np.ndarray) -> float:
    true_rate = np.concatenate([[0.0], hits / hits[-1]])
    false_rate = np.concatenate([[0.0], misses / misses[-1]])
    return float(np.sum(np.diff(false_rate) * (true_rate[1:] + true_rate[:-1])) / 2)


def _average_precision(hits: np.ndarray, misses: np.ndarray) -> float:
    gained = np.diff(hits, prepend=0.0) / hits[-1]
    return float(gained @ _ratio(hits, hits + misses))


def _calibration_error(evidence: Evidence) -> float:
    """Expected calibration error of the likeliest class: |accuracy - confidence| over equal-width bins."""
    guess = evidence.probabilities.argmax(axis=1)
    confidence = evidence.probabilities[np.arange(guess.shape[0]), guess]
    bins = np.clip(np.ceil(confidence * CALIBRATION_BINS).astype(int) - 1, 0, CALIBRATION_BINS - 1)
    weights = np.ones(guess.shape[0]) if evidence.weights is None else evidence.weights
    gaps = np.bincount(bins, weights=weights * ((guess == evidence.true_codes) - confidence))
    return float(np.abs(gaps).sum() / weights.sum())


# -- values -------------------------------------------------------------------------------------------------
def _r2(evidence: Evidence) -> float:
    if evidence.y.shape[0] < 2:
        return float("nan")
    variance = evidence.mean_of(evidence.deviations**2)
    perfect = np.where(evidence.mean_squared == 0, 1.0, 0.0)
    return float(
        np.mean(np.where(variance > 0, 1 - evidence.mean_squared / np.where(variance > 0, variance, 1), perfect))
    )


def _explained_variance(evidence: Evidence) -> float:
    variance = evidence.mean_of(evidence.deviations**2)
    left = evidence.mean_of((evidence.errors - evidence.mean_of(evidence.errors)) ** 2)
    perfect = np.where(left == 0, 1.0, 0.0)
    return float(np.mean(np.where(variance > 0, 1 - left / np.where(variance > 0, variance, 1), perfect)))


def _root_relative_squared(evidence: Evidence) -> float:
    variance = evidence.mean_of(evidence.deviations**2)
    return float(np.mean(np.sqrt(evidence.mean_squared / variance))) if (variance > 0).all() else float("nan")


def _relative_absolute(evidence: Evidence) -> float:
    baseline = evidence.mean_of(np.abs(evidence.deviations))
    ours = evidence.mean_of(np.abs(evidence.errors))
    return float(np.mean(ours / baseline)) if (baseline > 0).all() else float("nan")


def _largest_error(evidence: Evidence) -> float:
    """The largest error of a row that counts; rows of weight 0 do not."""
    sizes = np.abs(evidence.errors)
    return float((sizes if evidence.weights is None else sizes[evidence.weights > 0]).max(initial=0.0))


def _mean_squared_log(evidence: Evidence) -> np.ndarray:
    if (evidence.truth <= -1).any() or (evidence.predicted <= -1).any():
        return np.array([np.nan])
    return evidence.mean_of((np.log1p(evidence.predicted) - np.log1p(evidence.truth)) ** 2)


def _mape(evidence: Evidence) -> float:
    size = np.maximum(np.abs(evidence.truth), np.finfo(np.float64).eps)
    return float(np.mean(evidence.mean_of(np.abs(evidence.errors) / size)))


def _mape_percent(evidence: Evidence) -> float:
    """In percent of the true value, over the rows where that is not 0; `mape` has other ways with 0."""
    counted = evidence.truth != 0
    relative = np.divide(
        np.abs(evidence.errors), np.abs(evidence.truth), out=np.zeros_like(evidence.truth), where=counted
    )
    share = evidence.mean_of(counted.astype(np.float64))
    return float(100 * np.mean(evidence.mean_of(relative) / share)) if (share > 0).all() else float("nan")


def _median_absolute(evidence: Evidence) -> float:
    if evidence.weights is not None:
        from sklearn.metrics import median_absolute_error

        return float(median_absolute_error(evidence.truth, evidence.predicted, sample_weight=evidence.weights))
    return float(np.mean(np.median(np.abs(evidence.errors), axis=0)))


_UNIT = (0.0, 1.0)
_POSITIVE = (0.0, np.inf)


def _table() -> dict[str, Metric]:
    metrics = [
        Metric("accuracy", "accuracy", True, "labels", _accuracy, _UNIT),
        Metric("error_rate", "error rate", False, "labels", lambda e: 1 - _accuracy(e), _UNIT),
        Metric("balanced_accuracy", "balanced accuracy", True, "labels", _balanced_accuracy, _UNIT),
        Metric("sensitivity", "sensitivity", True, "labels", _averaged(None, _recall), _UNIT),
        Metric("specificity", "specificity", True, "labels", _specificity, _UNIT),
        Metric("kappa", "Cohen's kappa", True, "labels", _kappa, (-1.0, 1.0)),
        Metric("mcc", "Matthews correlation", True, "labels", _mcc, (-1.0, 1.0)),
        Metric("log_loss", "log loss", False, "probabilities", _log_loss, _POSITIVE),
        Metric("brier", "Brier score", False, "probabilities", _brier, (0.0, 2.0)),
        Metric("roc_auc", "area under ROC", True, "probabilities", _mean_over_rankings(_area_under_roc), _UNIT),
        Metric(
            "average_precision",
            "average precision",
            True,
            "probabilities",
            _mean_over_rankings(_average_precision),
            _UNIT,
        ),
        Metric("calibration_error", "expected calibration error", False, "probabilities", _calibration_error, _UNIT),
        Metric("r2", "R²", True, "values", _r2, (-np.inf, 1.0)),
        Metric("explained_variance", "explained variance", True, "values", _explained_variance, (-np.inf, 1.0)),
        Metric(
            "rmse", "root mean squared error", False, "values", lambda e: np.mean(np.sqrt(e.mean_squared)), _POSITIVE
        ),
        Metric("mse", "mean squared error", False, "values", lambda e: np.mean(e.mean_squared), _POSITIVE),
        Metric(
            "sse", "sum of squared errors", False, "values", lambda e: e.mean_squared.sum() * e.total_weight, _POSITIVE
        ),
        Metric(
            "mae", "mean absolute error", False, "values", lambda e: np.mean(e.mean_of(np.abs(e.errors))), _POSITIVE
        ),
        Metric(
            "bias",
            "mean error, prediction less truth",
            False,
            "values",
            lambda e: np.mean(e.mean_of(e.errors)),
            decides=False,
        ),
        Metric(
            "absolute_bias",
            "size of the mean error",
            False,
            "values",
            lambda e: np.mean(np.abs(e.mean_of(e.errors))),
            _POSITIVE,
        ),
        Metric("median_absolute_error", "median absolute error", False, "values", _median_absolute, _POSITIVE),
        Metric("max_error", "largest error", False, "values", _largest_error, _POSITIVE),
        Metric("mape", "mean absolute percentage error", False, "values", _mape, _POSITIVE),
        Metric("mape_percent", "mean absolute error in percent", False, "values", _mape_percent, _POSITIVE),
        Metric("msle", "mean squared log error", False, "values", lambda e: np.mean(_mean_squared_log(e)), _POSITIVE),
        Metric(
            "rmsle",
            "root mean squared log error",
            False,
            "values",
            lambda e: np.mean(np.sqrt(_mean_squared_log(e))),
            _POSITIVE,
        ),
        Metric("rse", "root relative squared error", False, "values", _root_relative_squared, _POSITIVE),
        Metric("rae", "relative absolute error", False, "values", _relative_absolute, _POSITIVE),
    ]
    for name, score in (("precision", _precision), ("recall", _recall), ("f1", _f_beta(1.0))):
        title = name.upper() if name == "f1" else name
        metrics.append(Metric(name, title, True, "labels", _averaged(None, score), _UNIT))
        for average in AVERAGES:
            full_name = f"{name}_{average}"
            metrics.append(Metric(full_name, f"{title} ({average})", True, "labels", _averaged(average, score), _UNIT))
    for name, title, agreement, bounds in PARTITION_METRICS:
        metrics.append(Metric(name, title, True, "clusters", _of_partitions(agreement), bounds))
    return {metric.name: metric for metric in metrics}


def _of_partitions(agreement: Callable[[Any, Any], float]) -> Callable[[Evidence], float]:
    def compute(evidence: Evidence) -> float:
        if evidence.weights is not None:
            raise DataError(
                "metrics", "sample_weight", "does not go with a metric of clusterings", way_out="leave it out"
            )
        return agreement(evidence.y, evidence.clusters)

    return compute


METRICS: dict[str, Metric] = _table()
_F_BETA = re.compile(r"f(\d+(?:\.\d+)?)(?:_(macro|micro|weighted))?")


def get_metric(name: str | Metric) -> Metric:
    """The metric with this name; F-beta takes any beta, as `f2_macro` or `f0.5`.

    >>> get_metric("rmse").greater_is_better
    False
    """
    if isinstance(name, Metric):
        return name
    if name in METRICS:
        return METRICS[name]
    if (match := _F_BETA.fullmatch(str(name))) and float(match[1]) > 0:
        title = f"F{match[1]}" + (f" ({match[2]})" if match[2] else "")
        return Metric(str(name), title, True, "labels", _averaged(match[2], _f_beta(float(match[1]))), _UNIT)
    near = difflib.get_close_matches(str(name), METRICS, n=2, cutoff=0.5)
    raise UsageError(
        "get_metric",
        f"metric '{plain(name)}'",
        "is not known",
        way_out=f"did you mean {' or '.join(near)}?" if near else f"choose one of {', '.join(METRICS)}",
    )


def default_metrics(task: str) -> tuple[str, ...]:
    """The metrics of a comparison; the first is the one that decides.

    >>> default_metrics("regress")
    ('rmse', 'mae', 'r2')
    """
    measured = [one.name for one in TASKS.values() if one.metrics]
    return get_task(task, "default_metrics", measured).metrics
