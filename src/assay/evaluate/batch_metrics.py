"""Metrics of many resamples at once, from what each metric is a function of.

`table_metric` works on a stack of confusion matrices, `SUM_METRICS` on sums over rows, both along the first axis; they
equal the metrics of the table in `metrics` (tests hold them to it), without one Python call per resample.

>>> import numpy as np
>>> table_metric("accuracy")(np.array([[[3, 1], [0, 4]], [[4, 0], [0, 4]]], dtype=float)).tolist()
[0.875, 1.0]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .metrics import _F_BETA, CALIBRATION_BINS, Evidence

Batch = Callable[[np.ndarray], np.ndarray]
# A variance below this share of the second moment is rounding.
_ROUNDING = 1e-13


# -- confusion matrices -------------------------------------------------------------------------------------
def table_metric(name: str) -> Batch | None:
    """The metric as a function of a stack of confusion matrices (resamples, K, K); None if it is not one."""
    if name in _TABLE_METRICS:
        return _TABLE_METRICS[name]
    stem, _, average = name.partition("_")
    if stem in ("precision", "recall") and average in ("", "macro", "micro", "weighted"):
        return _averaged(average, _precision if stem == "precision" else _recall)
    if match := _F_BETA.fullmatch(name):
        beta = float(match[1])
        return _averaged(match[2] or "", lambda c, a, p: _over((1 + beta**2) * c, beta**2 * a + p))
    return None


_OF_SECOND_CLASS = ("sensitivity", "specificity", "precision", "recall")


def fold_metric(name: str, n_classes: int) -> Batch | None:
    """The metric as a function of the confusion matrices of many folds, with the bits that `get_metric(name)` gives
    each of them by itself, where every class occurs in each; None where there is no such function.

    >>> fold_metric("accuracy", 2)(np.array([[[3, 1], [0, 4]]])).tolist(), fold_metric("f1_weighted", 2)
    ([0.875], None)
    """
    if name.endswith("_weighted"):
        return None  # a sum of products, whose order is that of BLAS
    if n_classes != 2 and (name in _OF_SECOND_CLASS or (_F_BETA.fullmatch(name) and "_" not in name)):
        return None  # refused by the metric itself, in a sentence
    return table_metric(name)


def fold_errors(name: str) -> Callable[[np.ndarray, np.ndarray], np.ndarray] | None:
    """The metric as a function of the true and predicted numbers of many folds of one size (folds, rows), with the bits
    that `get_metric(name)` gives each of them by itself; None where there is no such function.

    >>> fold_errors("mae")(np.array([[0.0, 2.0]]), np.array([[1.0, 2.0]])).tolist(), fold_errors("accuracy")
    ([0.5], None)
    """
    return _FOLD_ERRORS.get(name)


def _squared(truth: np.ndarray, values: np.ndarray) -> np.ndarray:
    return ((values - truth) ** 2).mean(axis=1)


def _absolute(truth: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.abs(values - truth).mean(axis=1)


def _explained(truth: np.ndarray, values: np.ndarray) -> np.ndarray:
    if truth.shape[1] < 2:
        return np.full(truth.shape[0], np.nan)
    variance = ((truth - truth.mean(axis=1)[:, None]) ** 2).mean(axis=1)
    squared, varies = _squared(truth, values), variance > 0
    perfect = np.where(squared == 0, 1.0, 0.0)
    return np.where(varies, 1 - squared / np.where(varies, variance, 1), perfect)


_FOLD_ERRORS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "rmse": lambda truth, values: np.sqrt(_squared(truth, values)),
    "mae": _absolute,
    "r2": _explained,
}


def _over(above: np.ndarray, below: np.ndarray, otherwise: float = 0.0) -> np.ndarray:
    above, below = np.broadcast_arrays(above, below)
    return np.divide(above, below, out=np.full(above.shape, otherwise), where=below != 0)


def _margins(tables: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Correct, actual and predicted per class."""
    return np.diagonal(tables, axis1=1, axis2=2), tables.sum(axis=2), tables.sum(axis=1)


def _precision(correct: np.ndarray, actual: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    return _over(correct, predicted)


def _recall(correct: np.ndarray, actual: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    return _over(correct, actual)


def _averaged(average: str, score: Callable[[Any, Any, Any], np.ndarray]) -> Batch:
    def compute(tables: np.ndarray) -> np.ndarray:
        correct, actual, predicted = _margins(tables)
        if average == "":
            return score(correct, actual, predicted)[:, 1]
        if average == "micro":
            return score(correct.sum(axis=1), actual.sum(axis=1), predicted.sum(axis=1))
        per_class = score(correct, actual, predicted)
        if average == "weighted":
            return (actual * per_class).sum(axis=1) / actual.sum(axis=1)
        # A class that a resample neither holds nor predicts does not count in its mean.
        return per_class.sum(axis=1) / ((actual + predicted) > 0).sum(axis=1)

    return compute


def _accuracy(tables: np.ndarray) -> np.ndarray:
    return np.trace(tables, axis1=1, axis2=2) / tables.sum(axis=(1, 2))


def _balanced_accuracy(tables: np.ndarray) -> np.ndarray:
    correct, actual, _ = _margins(tables)
    return _over(correct, actual).sum(axis=1) / (actual > 0).sum(axis=1)


def _specificity(tables: np.ndarray) -> np.ndarray:
    return _over(tables[:, 0, 0], tables[:, 0].sum(axis=1))


def _kappa(tables: np.ndarray) -> np.ndarray:
    correct, actual, predicted = _margins(tables)
    total = actual.sum(axis=1)
    by_chance = (actual * predicted).sum(axis=1) / total**2
    return _over(correct.sum(axis=1) / total - by_chance, 1 - by_chance, np.nan)


def _mcc(tables: np.ndarray) -> np.ndarray:
    correct, actual, predicted = _margins(tables)
    total = actual.sum(axis=1)
    covariance = correct.sum(axis=1) * total - (actual * predicted).sum(axis=1)
    scale = (total**2 - (predicted**2).sum(axis=1)) * (total**2 - (actual**2).sum(axis=1))
    return _over(covariance, np.sqrt(scale))


_TABLE_METRICS: dict[str, Batch] = {
    "accuracy": _accuracy,
    "error_rate": lambda tables: 1 - _accuracy(tables),
    "balanced_accuracy": _balanced_accuracy,
    "sensitivity": _averaged("", _recall),
    "specificity": _specificity,
    "kappa": _kappa,
    "mcc": _mcc,
}


# -- sums over rows -----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class SumMetric:
    """A metric that is a function of means over rows.

    `terms` are named arrays (outputs, rows); `value(means, rows, deviation)` takes their means by name, each of shape
    (resamples, outputs), the number of rows, and the mean absolute deviation of the truth where `deviation` asks.
    """

    terms: tuple[str, ...]
    value: Callable[[dict[str, np.ndarray], float, np.ndarray | None], np.ndarray]
    deviation: bool = False


def row_term(evidence: Evidence, name: str) -> np.ndarray:
    """The named quantity of every row, as (outputs, rows)."""
    return np.ascontiguousarray(_ROW_TERMS[name](evidence).T)


def _log_loss_of_rows(evidence: Evidence) -> np.ndarray:
    smallest = np.finfo(np.float64).eps
    chosen = evidence.probabilities[np.arange(evidence.y.shape[0]), evidence.true_codes]
    return -np.log(np.clip(chosen, smallest, 1 - smallest))[:, None]


def _brier_of_rows(evidence: Evidence) -> np.ndarray:
    probabilities = evidence.probabilities
    chosen = probabilities[np.arange(probabilities.shape[0]), evidence.true_codes]
    squared = (probabilities**2).sum(axis=1) - 2 * chosen + 1
    return squared[:, None] / (2 if probabilities.shape[1] == 2 else 1)


def _squared_log(evidence: Evidence) -> np.ndarray:
    if (evidence.truth <= -1).any() or (evidence.predicted <= -1).any():
        return np.full(evidence.truth.shape, np.nan)
    return (np.log1p(evidence.predicted) - np.log1p(evidence.truth)) ** 2


def _relative_size(evidence: Evidence) -> np.ndarray:
    return np.abs(evidence.errors) / np.maximum(np.abs(evidence.truth), np.finfo(np.float64).eps)


_ROW_TERMS: dict[str, Callable[[Evidence], np.ndarray]] = {
    "squared": lambda e: e.errors**2,
    "absolute": lambda e: np.abs(e.errors),
    "error": lambda e: e.errors,
    # Centred on the whole sample, so that a variance as a difference of moments keeps its digits.
    "centred error": lambda e: e.errors - e.errors.mean(axis=0),
    "centred error squared": lambda e: (e.errors - e.errors.mean(axis=0)) ** 2,
    "centred": lambda e: e.deviations,
    "centred squared": lambda e: e.deviations**2,
    "relative": _relative_size,
    "relative where not zero": lambda e: np.where(e.truth == 0, 0.0, _relative_size(e)),
    "not zero": lambda e: (e.truth != 0).astype(np.float64),
    "squared log": _squared_log,
    "log loss": _log_loss_of_rows,
    "brier": _brier_of_rows,
}
_MOMENTS = ("centred", "centred squared")


def _variance(mean: np.ndarray, mean_of_squares: np.ndarray) -> np.ndarray:
    variance = mean_of_squares - mean**2
    return np.where(variance <= _ROUNDING * mean_of_squares, 0.0, variance)


def _share_explained(left: np.ndarray, means: dict[str, np.ndarray]) -> np.ndarray:
    variance = _variance(means["centred"], means["centred squared"])
    return np.where(variance > 0, 1 - _over(left, variance), np.where(left == 0, 1.0, 0.0)).mean(axis=1)


def _left_over(means: dict[str, np.ndarray]) -> np.ndarray:
    return _variance(means["centred error"], means["centred error squared"])


def _root_relative(m: dict[str, np.ndarray], rows: float, deviation: np.ndarray | None) -> np.ndarray:
    variance = _variance(m["centred"], m["centred squared"])
    return np.sqrt(_over(m["squared"], variance, np.nan)).mean(axis=1)


def _relative_absolute(m: dict[str, np.ndarray], rows: float, deviation: np.ndarray | None) -> np.ndarray:
    assert deviation is not None
    return _over(m["absolute"], deviation, np.nan).mean(axis=1)


def _mean_term(name: str) -> SumMetric:
    return SumMetric((name,), lambda m, rows, deviation: m[name].mean(axis=1))


SUM_METRICS: dict[str, SumMetric] = {
    "log_loss": _mean_term("log loss"),
    "brier": _mean_term("brier"),
    "mse": _mean_term("squared"),
    "rmse": SumMetric(("squared",), lambda m, rows, _: np.sqrt(m["squared"]).mean(axis=1)),
    "sse": SumMetric(("squared",), lambda m, rows, _: m["squared"].sum(axis=1) * rows),
    "mae": _mean_term("absolute"),
    "bias": SumMetric(("error",), lambda m, rows, _: m["error"].mean(axis=1)),
    "absolute_bias": SumMetric(("error",), lambda m, rows, _: np.abs(m["error"]).mean(axis=1)),
    "mape": _mean_term("relative"),
    "mape_percent": SumMetric(
        ("relative where not zero", "not zero"),
        lambda m, rows, _: 100 * _over(m["relative where not zero"], m["not zero"], np.nan).mean(axis=1),
    ),
    "msle": _mean_term("squared log"),
    "rmsle": SumMetric(("squared log",), lambda m, rows, _: np.sqrt(m["squared log"]).mean(axis=1)),
    "r2": SumMetric(("squared", *_MOMENTS), lambda m, rows, _: _share_explained(m["squared"], m)),
    "explained_variance": SumMetric(
        ("centred error", "centred error squared", *_MOMENTS), lambda m, rows, _: _share_explained(_left_over(m), m)
    ),
    "rse": SumMetric(("squared", *_MOMENTS), _root_relative),
    "rae": SumMetric(("absolute",), _relative_absolute, deviation=True),
}


def calibration_groups(evidence: Evidence) -> tuple[np.ndarray, np.ndarray, int]:
    """Bin of each row, its hit minus its confidence, and the number of bins, for the expected calibration error."""
    guess = evidence.probabilities.argmax(axis=1)
    confidence = evidence.probabilities[np.arange(guess.shape[0]), guess]
    bins = np.clip(np.ceil(confidence * CALIBRATION_BINS).astype(np.int32) - 1, 0, CALIBRATION_BINS - 1)
    return bins, (guess == evidence.true_codes) - confidence, CALIBRATION_BINS
