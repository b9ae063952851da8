"""Thresholds: metrics of two classes at every threshold of a score, and the best one by a metric or by costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..base.chart import Chart, Drawn, Line
from ..base.errors import DataError, ParameterError, UsageError, plain
from ..base.svg import class_token
from .curves import Ranking, per_class
from .metrics import get_metric
from .records import Record
from .result import number

Counts = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros_like(part, dtype=np.float64), where=whole > 0)


def _mcc(tp: np.ndarray, fp: np.ndarray, fn: np.ndarray, tn: np.ndarray) -> np.ndarray:
    return _share(tp * tn - fp * fn, np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))


def _kappa(tp: np.ndarray, fp: np.ndarray, fn: np.ndarray, tn: np.ndarray) -> np.ndarray:
    return _share(2 * (tp * tn - fn * fp), (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn))


# Metrics of the four counts, for all thresholds at once; any other metric of labels goes through its own formula.
_FAST: dict[str, Callable[..., np.ndarray]] = {
    "accuracy": lambda tp, fp, fn, tn: (tp + tn) / (tp + fp + fn + tn),
    "error_rate": lambda tp, fp, fn, tn: (fp + fn) / (tp + fp + fn + tn),
    "balanced_accuracy": lambda tp, fp, fn, tn: (_share(tp, tp + fn) + _share(tn, tn + fp)) / 2,
    "youden": lambda tp, fp, fn, tn: _share(tp, tp + fn) + _share(tn, tn + fp) - 1,
    "precision": lambda tp, fp, fn, tn: _share(tp, tp + fp),
    "recall": lambda tp, fp, fn, tn: _share(tp, tp + fn),
    "sensitivity": lambda tp, fp, fn, tn: _share(tp, tp + fn),
    "specificity": lambda tp, fp, fn, tn: _share(tn, tn + fp),
    "f1": lambda tp, fp, fn, tn: _share(2 * tp, 2 * tp + fp + fn),
    "mcc": _mcc,
    "kappa": _kappa,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class ThresholdCurve(Drawn, Record):
    """Metrics at every threshold, from above the highest score (no row positive) down to the lowest (all positive).

    `values` maps each metric's name to an array; the counts are `tp`, `fp`, `fn` and `tn`.
    """

    thresholds: np.ndarray
    values: dict[str, np.ndarray]
    tp: np.ndarray
    fp: np.ndarray
    fn: np.ndarray
    tn: np.ndarray
    positive: Any
    sentence: str

    def __getitem__(self, metric: str) -> np.ndarray:
        return self.values[metric]

    @property
    def summary(self) -> float:
        """The best value of the first metric."""
        name = next(iter(self.values))
        return float(self.values[name].max() if _rises(name) else self.values[name].min())

    def chart(self) -> Chart:
        """Every metric against the threshold."""
        finite = np.isfinite(self.thresholds)
        x = self.thresholds[finite].tolist()
        lines = [Line(x, v[finite].tolist(), name, class_token(k)) for k, (name, v) in enumerate(self.values.items())]
        return Chart("Metrics by threshold", "threshold", "value", tuple(lines))

    def _facts(self) -> list[tuple[str, str]]:
        return [(name, f"{number(float(v.min()))} to {number(float(v.max()))}") for name, v in self.values.items()]


def threshold_curve(
    y: Any,
    scores: Any,
    *,
    metrics: Any = ("precision", "recall", "f1"),
    positive: Any = None,
    classes: Any = None,
    sample_weight: Any = None,
) -> Any:
    """Metrics of two classes at every threshold that makes a difference, from one sort.

    Any metric of labels that `get_metric` knows, and "youden" (sensitivity + specificity - 1). Several columns of
    scores give one curve per class against the rest.

    >>> curve = threshold_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], metrics=["accuracy"])
    >>> curve.thresholds.round(3).tolist(), curve["accuracy"].tolist()
    ([inf, 0.6, 0.375, 0.225, 0.1], [0.5, 0.75, 0.5, 0.75, 0.5])
    """
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    if not names:
        raise ParameterError("threshold_curve", "parameter 'metrics'", "must name at least one metric")
    return per_class(
        "threshold_curve",
        y,
        scores,
        positive,
        classes,
        sample_weight,
        f"best {names[0]}",
        lambda ranking: _threshold_curve(ranking, names),
    )


def _threshold_curve(ranking: Ranking, names: list[str]) -> ThresholdCurve:
    counts = _counts(ranking)
    thresholds = np.append(np.inf, ranking.thresholds())
    values = {name: _values(name, counts) for name in names}
    parts = []
    for name, array in values.items():
        best = int(array.argmax() if _rises(name) else array.argmin())
        parts.append(f"{name} is best, {number(float(array[best]))}, at {number(float(thresholds[best]))}")
    tp, fp, fn, tn = counts
    text = f"For class {plain(ranking.positive)}: {'; '.join(parts)}."
    return ThresholdCurve(
        thresholds=thresholds, values=values, tp=tp, fp=fp, fn=fn, tn=tn, positive=ranking.positive, sentence=text
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class BestThreshold(Record):
    """The threshold chosen, and what it does: rows that score at least `threshold` are called positive.

    `value` is the metric there, or the mean cost per row. `theoretical` is, for costs, the threshold that is best if
    the scores are true probabilities.
    """

    threshold: float
    value: float
    criterion: str
    confusion: np.ndarray
    positive: Any
    theoretical: float | None
    sentence: str

    @property
    def summary(self) -> float:
        """The value reached."""
        return self.value

    def predict(self, scores: Any) -> np.ndarray:
        """Whether each row is called positive."""
        return np.asarray(scores, dtype=np.float64) >= self.threshold

    def _facts(self) -> list[tuple[str, str]]:
        (tn, fp), (fn, tp) = self.confusion
        counts = (("true positives", tp), ("false positives", fp), ("false negatives", fn), ("true negatives", tn))
        facts = [("threshold", self.threshold), (self.criterion, self.value), *counts]
        return [(name, number(float(value))) for name, value in facts]


def best_threshold(
    y: Any,
    scores: Any,
    *,
    metric: str | None = None,
    costs: Mapping[str, float] | None = None,
    positive: Any = None,
    classes: Any = None,
    sample_weight: Any = None,
) -> Any:
    """The threshold with the best value of a metric (F1 if nothing is said) or the least cost.

    `costs` gives the cost of each outcome, "fp", "fn", "tp" and "tn" (0 where not given; gains are negative). Of
    equally good thresholds the highest is taken. A threshold lies midway between the scores it separates. It is chosen
    on these rows, where it looks better than on others: choose it on validation rows, judge it on test rows.

    >>> best = best_threshold([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], metric="f1")
    >>> round(best.threshold, 3), round(best.value, 3)
    (0.225, 0.8)
    >>> cautious = best_threshold([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], costs={"fp": 5, "fn": 1})
    >>> round(cautious.threshold, 3), round(cautious.theoretical, 3)
    (0.6, 0.833)
    """
    who = "best_threshold"
    if metric is not None and costs is not None:
        raise UsageError(who, "metric and costs", "cannot be given together", way_out="choose one of them")
    prices = None if costs is None else _read_costs(who, costs)
    name = metric or "f1"

    def build(ranking: Ranking) -> BestThreshold:
        return _best(ranking, name, prices)

    what = name if prices is None else "cost per row"
    return per_class(who, y, scores, positive, classes, sample_weight, what, build)


def _best(ranking: Ranking, name: str, prices: dict[str, float] | None) -> BestThreshold:
    counts = _counts(ranking)
    tp, fp, fn, tn = counts
    total = float(tp[0] + fp[0] + fn[0] + tn[0])
    theoretical = None
    if prices is None:
        values = _values(name, counts)
        best = int(values.argmax() if _rises(name) else values.argmin())
        criterion, said = name, f"{name} is {number(float(values[best]))}"
    else:
        values = (prices["tp"] * tp + prices["fp"] * fp + prices["fn"] * fn + prices["tn"] * tn) / total
        best = int(values.argmin())
        criterion, said = "cost per row", f"the mean cost per row is {number(float(values[best]))}"
        theoretical = _theoretical(prices)
        if theoretical is not None:
            said += f" (true probabilities would be cut at {number(theoretical)})"
    threshold = np.inf if best == 0 else float(ranking.thresholds()[best - 1])
    cut = "no row is called" if best == 0 else f"rows that score at least {number(threshold)} are called"
    return BestThreshold(
        threshold=threshold,
        value=float(values[best]),
        criterion=criterion,
        confusion=np.array([[tn[best], fp[best]], [fn[best], tp[best]]]),
        positive=ranking.positive,
        theoretical=theoretical,
        sentence=f"If {cut} {plain(ranking.positive)}, {said} on these rows.",
    )


def _theoretical(prices: dict[str, float]) -> float | None:
    """Where p (c_fn - c_tp) = (1 - p) (c_fp - c_tn); None if one of the decisions is always the cheaper one."""
    missed, false_alarm = prices["fn"] - prices["tp"], prices["fp"] - prices["tn"]
    return false_alarm / (false_alarm + missed) if missed > 0 and false_alarm > 0 else None


def _read_costs(who: str, costs: Mapping[str, float]) -> dict[str, float]:
    outcomes = ("fp", "fn", "tp", "tn")
    if not isinstance(costs, Mapping) or not costs or set(costs) - set(outcomes):
        raise ParameterError(
            who, "parameter 'costs'", f"must map some of {', '.join(outcomes)} to numbers", f"got {plain(repr(costs))}"
        )
    prices = {name: float(costs.get(name, 0.0)) for name in outcomes}
    if not np.isfinite(list(prices.values())).all():
        raise ParameterError(who, "parameter 'costs'", "must be finite")
    return prices


def _counts(ranking: Ranking) -> Counts:
    tp, fp = np.append(0.0, ranking.hits), np.append(0.0, ranking.misses)
    return tp, fp, ranking.positives - tp, ranking.negatives - fp


def _rises(name: str) -> bool:
    return name == "youden" or get_metric(name).greater_is_better


def _values(name: str, counts: Counts) -> np.ndarray:
    if name in _FAST:
        return np.asarray(_FAST[name](*counts), dtype=np.float64)
    metric = get_metric(name)
    if metric.needs != "labels":
        raise DataError(
            "best_threshold",
            f"metric '{plain(name)}'",
            "does not depend on a threshold",
            way_out="choose one of labels",
        )
    tp, fp, fn, tn = counts
    values = np.empty(tp.size)
    for i in range(tp.size):
        confusion = np.array([[tn[i], fp[i]], [fn[i], tp[i]]])
        actual, called = confusion.sum(axis=1), confusion.sum(axis=0)
        occurs = actual + called > 0
        margins = (np.diagonal(confusion)[occurs], actual[occurs], called[occurs])
        # The formulas of labels read the confusion matrix and its margins, and nothing else.
        values[i] = metric.compute(SimpleNamespace(confusion=confusion, margins=margins))  # type: ignore[arg-type]
    return values
