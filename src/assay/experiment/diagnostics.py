"""How a learner does on unseen rows, from out-of-fold predictions: ROC, precision, calibration, costs, residuals.

Everything here is an aggregate over rows that the learner had not seen, ready for a page. Limits are pointwise
intervals from resampling rows: a row is drawn with all its predictions, so that repetitions of a design do not make the
limits narrower than the rows allow.

>>> from assay.data import load_dataset
>>> from assay.experiment import Plan, run
>>> results = run(Plan(load_dataset("breast-cancer"), "diagnosis", learners=["naive-bayes"], design="5-fold"))
>>> found = diagnose(results.predictions("naive-bayes"))
>>> sorted(found.charts())
['calibration', 'costs', 'precision_recall', 'roc']
>>> found.roc[0].area > 0.97
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ..base.chart import Chart, Line, Mark
from ..base.errors import AssayError, plain
from ..base.randomness import Stream
from ..base.record import Grid, Record
from ..base.svg import class_token
from ..evaluate import calibration_curve, wilson_interval
from ..evaluate.result import interval_words, number
from .predictions import Predictions

GRID = np.linspace(0.0, 1.0, 51)
MOST_CLASSES = 8
MOST_CELLS = 2e7
COSTS = (1.0, 5.0, 20.0)
"""How many times the cost of a false alarm a miss costs, in the picture of thresholds."""


@dataclass(frozen=True)
class Band(Record):
    """A curve with pointwise limits, and the area under it with its interval."""

    name: str
    x: list[float]
    y: list[float]
    low: list[float]
    high: list[float]
    area: float
    area_low: float
    area_high: float

    def line(self, place: int = 0, style: str = "line", limits: bool = True) -> Line:
        """The curve as a line of a chart."""
        label = f"{plain(self.name, 30)}: {number(self.area)} ({interval_words((self.area_low, self.area_high))})"
        ends: dict[str, Any] = {"low": self.low, "high": self.high} if limits else {}
        return Line(self.x, self.y, label, class_token(place), style, **ends)


@dataclass(frozen=True)
class Diagnostics(Record):
    """The pictures of one learner as numbers; a part that does not apply is empty.

    `roc` and `precision_recall` hold one curve for two classes, one for each class against the rest for more.
    `calibration` are bins of predicted probability with the observed frequency; `costs` the cost per row at every
    threshold, by what a miss costs; `residuals` what remains by the size of the prediction; `classes` how each class
    fares.
    """

    positive: str | None = None
    roc: list[Band] = field(default_factory=list)
    precision_recall: list[Band] = field(default_factory=list)
    prevalence: float | None = None
    calibration: dict[str, Any] | None = None
    costs: list[dict[str, Any]] = field(default_factory=list)
    residuals: dict[str, Any] | None = None
    classes: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Diagnostics:
        """The record that plain data (`to_dict`) stands for."""
        known = {f.name: data[f.name] for f in fields(cls) if f.name in data}
        bands = {name: [Band(**one) for one in known.get(name) or []] for name in ("roc", "precision_recall")}
        return cls(**{**known, **bands})

    # -- pictures --------------------------------------------------------------------------------------------------
    def charts(self) -> dict[str, Chart]:
        """The charts that apply, by name."""
        made = {
            "roc": self._roc() if self.roc else None,
            "precision_recall": self._precision_recall() if self.precision_recall else None,
            "calibration": self._calibration() if self.calibration else None,
            "costs": self._costs() if self.costs else None,
            "residuals": self._residuals() if self.residuals else None,
            "agreement": self._agreement() if self.residuals else None,
        }
        return {name: chart for name, chart in made.items() if chart is not None}

    def _roc(self) -> Chart:
        lines = tuple(one.line(k, limits=len(self.roc) == 1) for k, one in enumerate(self.roc))
        words = ("false positive rate", "true positive rate")
        return Chart("ROC curve", *words, lines, (Mark(),), (0.0, 1.0), (0.0, 1.02))

    def _precision_recall(self) -> Chart:
        lines = tuple(one.line(k, limits=len(self.roc) == 1) for k, one in enumerate(self.precision_recall))
        marks = () if self.prevalence is None else (Mark(y=self.prevalence, label="guessing"),)
        return Chart("Precision and recall", "recall", "precision", lines, marks, (0.0, 1.0), (0.0, 1.02))

    def _calibration(self) -> Chart:
        assert self.calibration is not None
        bins = {name: self.calibration[name] for name in ("predicted", "observed", "low", "high")}
        label = f"expected calibration error {number(self.calibration['ece'])}"
        limits = {"low": bins["low"], "high": bins["high"], "band": False}
        line = Line(bins["predicted"], bins["observed"], label, marker=True, **limits)
        words = ("predicted probability", "observed frequency")
        return Chart("Calibration", *words, (line,), (Mark(),), (0.0, 1.0), (0.0, 1.02))

    def _costs(self) -> Chart:
        lines, marks = [], []
        for k, one in enumerate(self.costs):
            label = f"a miss costs {number(one['miss'])}: best at {number(one['threshold'])}"
            lines.append(Line(one["thresholds"], one["cost"], label, class_token(k)))
            marks.append(Mark(x=one["threshold"], token=class_token(k)))
        words = ("threshold of the probability", "cost per row (false alarm = 1)")
        return Chart("Cost by threshold", *words, tuple(lines), tuple(marks), (0.0, 1.0))

    def _residuals(self) -> Chart:
        assert self.residuals is not None
        one = self.residuals
        words = "median, and where 80% lie"
        line = Line(one["predicted"], one["median"], words, low=one["low"], high=one["high"], marker=True)
        return Chart("Residuals", "predicted", "actual minus predicted", (line,), (Mark(y=0.0),))

    def _agreement(self) -> Chart:
        assert self.residuals is not None
        one = self.residuals
        line = Line(one["predicted"], one["actual"], "mean of the rows with such a prediction", marker=True)
        return Chart("Actual against predicted", "predicted", "actual", (line,), (Mark(),))

    def grid(self) -> Grid:
        """How each class fares, or where residuals lie."""
        if self.residuals is not None:
            cells = zip(*(self.residuals[name] for name in ("predicted", "actual", "median", "low", "high")))
            heads = ["predicted", "mean actual", "median residual", "10%", "90%"]
            return Grid(heads, [[number(v) for v in row] for row in cells], left=0)
        heads = ["class", "rows", "recall", "interval", "precision", "interval"]
        rows = [
            [
                plain(one["name"], 40),
                f"{one['rows']:,}",
                number(one["recall"]),
                interval_words(tuple(one["recall_interval"])),
                number(one["precision"]) if one["precision"] is not None else "–",
                interval_words(tuple(one["precision_interval"])) if one["precision"] is not None else "–",
            ]
            for one in self.classes
        ]
        return Grid(heads, rows)

    def __str__(self) -> str:
        return self.to_text()


def diagnose(predictions: Predictions, alpha: float = 0.05, random_state: int = 0) -> Diagnostics:
    """The diagnostics of out-of-fold predictions."""
    if predictions.classes is None:
        return Diagnostics(residuals=_residuals(predictions))
    classes = [str(one) for one in predictions.classes]
    parts: dict[str, Any] = {"classes": _fares(predictions, classes, alpha)}
    if predictions.probabilities is None:
        return Diagnostics(**parts)
    two = len(classes) == 2
    shown = [1] if two else list(range(min(len(classes), MOST_CLASSES)))
    drawn = _resamples(predictions, random_state)
    pairs = [_curves(predictions, k, classes[k], drawn, alpha) for k in shown]
    return Diagnostics(
        positive=classes[1] if two else None,
        roc=[roc for roc, _ in pairs],
        precision_recall=[pr for _, pr in pairs],
        prevalence=float(np.mean(predictions.truth == 1)) if two else None,
        calibration=_calibration(predictions, two, alpha, random_state),
        costs=_costs(predictions) if two else [],
        **parts,
    )


# -- curves with limits --------------------------------------------------------------------------------------------
def _resamples(predictions: Predictions, random_state: int) -> np.ndarray:
    """How often each row is drawn, by resample; the first line is the rows as they are."""
    size = int(predictions.rows.max()) + 1
    tested = np.bincount(predictions.rows, minlength=size) > 0
    count = int(np.clip(MOST_CELLS / max(len(predictions), 1), 40, 200))
    rng = Stream.of(random_state).generator()
    drawn = rng.multinomial(int(tested.sum()), tested / tested.sum(), size=count)
    return np.vstack([tested.astype(np.int64), drawn]).astype(np.float64)


def _curves(predictions: Predictions, k: int, name: str, drawn: np.ndarray, alpha: float) -> tuple[Band, Band]:
    """ROC and precision against recall of class k against the rest: means over repetitions, limits over resamples."""
    assert predictions.probabilities is not None
    rows = max(len(predictions) // max(int(predictions.repetition.max()) + 1, 1), 1)
    most = int(np.clip(MOST_CELLS / (drawn.shape[0] * rows * max(predictions.probabilities.shape[1] - 1, 1)), 1, 5))
    repetitions = np.unique(predictions.repetition)[:most]
    roc, pr = np.zeros((drawn.shape[0], GRID.size)), np.zeros((drawn.shape[0], GRID.size))
    areas, averages = np.zeros(drawn.shape[0]), np.zeros(drawn.shape[0])
    for repetition in repetitions:
        at = np.flatnonzero(predictions.repetition == repetition)
        scores = predictions.probabilities[at, k]
        order = at[np.argsort(-scores, kind="stable")]
        ranked = predictions.probabilities[order, k]
        last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), ranked.size - 1)
        hit = predictions.truth[order] == k
        for b, weights in enumerate(drawn):
            w = weights[predictions.rows[order]]
            hits, misses = np.cumsum(w * hit)[last], np.cumsum(w * ~hit)[last]
            if hits[-1] == 0 or misses[-1] == 0:
                roc[b], pr[b], areas[b], averages[b] = np.nan, np.nan, np.nan, np.nan
                continue
            tpr, fpr = np.append(0.0, hits / hits[-1]), np.append(0.0, misses / misses[-1])
            called = np.maximum(hits + misses, 1e-300)
            precision = np.append(hits[0] / called[0] if called[0] > 1e-300 else 1.0, hits / called)
            roc[b] += np.interp(GRID, fpr, tpr) / repetitions.size
            # Precision at a recall is that of the first threshold that reaches it.
            pr[b] += precision[np.minimum(np.searchsorted(tpr, GRID - 1e-12), tpr.size - 1)] / repetitions.size
            areas[b] += np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2) / repetitions.size
            averages[b] += np.sum(np.diff(tpr) * precision[1:]) / repetitions.size
    return _band(name, roc, areas, alpha), _band(name, pr, averages, alpha)


def _band(name: str, curves: np.ndarray, areas: np.ndarray, alpha: float) -> Band:
    ends = [alpha / 2, 1 - alpha / 2]
    low, high = np.nanquantile(curves[1:], ends, axis=0)
    around = np.nanquantile(areas[1:], ends)
    y = curves[0]
    return Band(
        name,
        GRID.tolist(),
        _short(y),
        _short(np.minimum(low, y)),
        _short(np.maximum(high, y)),
        *(float(v) for v in (areas[0], min(around[0], areas[0]), max(around[1], areas[0]))),
    )


def _short(values: np.ndarray) -> list[float]:
    return [float(f"{v:.5g}") for v in values]


# -- calibration, costs, residuals, classes --------------------------------------------------------------------------
def _calibration(predictions: Predictions, two: bool, alpha: float, random_state: int) -> dict[str, Any] | None:
    first = predictions.of_repetition(int(predictions.repetition.min()))
    assert first.probabilities is not None
    given: dict[str, Any] = {"n_replicates": 100, "alpha": alpha, "random_state": random_state, "strategy": "quantile"}
    try:
        if two:
            names = [str(one) for one in first.classes]  # type: ignore[union-attr]
            happened = np.array(names)[first.truth]
            curve = calibration_curve(happened, first.probabilities[:, 1], positive=names[1], **given)
        else:
            codes = np.arange(first.probabilities.shape[1])
            curve = calibration_curve(first.truth, first.probabilities, classes=codes, top_label=True, **given)
    except AssayError:
        return None
    bins = {name: _short(getattr(curve, name)) for name in ("predicted", "observed", "low", "high")}
    more = {"counts": curve.counts.tolist(), "ece": curve.ece, "ece_interval": list(curve.interval)}
    return {**bins, **more, "p_value": curve.p_value, "sentence": curve.sentence}


def _costs(predictions: Predictions) -> list[dict[str, Any]]:
    assert predictions.probabilities is not None
    scores, hit = predictions.probabilities[:, 1], predictions.truth == 1
    thresholds = np.linspace(0.0, 1.0, 101)
    positives, negatives = np.sort(scores[hit]), np.sort(scores[~hit])
    missed = np.searchsorted(positives, thresholds, side="left")
    alarms = negatives.size - np.searchsorted(negatives, thresholds, side="left")
    made = []
    for miss in COSTS:
        cost = (miss * missed + alarms) / scores.size
        # Of equal costs the threshold nearest to the one that probabilities ask for.
        best = np.flatnonzero(cost <= cost.min() + 1e-12)
        at = int(best[np.argmin(np.abs(thresholds[best] - 1 / (1 + miss)))])
        made.append(
            {
                "miss": miss,
                "thresholds": _short(thresholds),
                "cost": _short(cost),
                "threshold": float(thresholds[at]),
                "least": float(cost[at]),
                "at_half": float(cost[50]),
                "missed": float(missed[at] / max(positives.size, 1)),
                "alarms": float(alarms[at] / max(negatives.size, 1)),
            }
        )
    return made


def _residuals(predictions: Predictions, bins: int = 12) -> dict[str, Any]:
    predicted, actual = predictions.predicted, predictions.truth
    left = actual - predicted
    edges = np.unique(np.quantile(predicted, np.linspace(0, 1, bins + 1)))
    place = np.clip(np.searchsorted(edges, predicted, side="right") - 1, 0, max(edges.size - 2, 0))
    groups = [np.flatnonzero(place == b) for b in range(max(edges.size - 1, 1))]
    groups = [rows for rows in groups if rows.size]
    limits = [np.quantile(left[rows], [0.1, 0.5, 0.9]) for rows in groups]
    quantiles = np.quantile(left, [0.05, 0.25, 0.5, 0.75, 0.95])
    return {
        "predicted": _short(np.array([predicted[rows].mean() for rows in groups])),
        "actual": _short(np.array([actual[rows].mean() for rows in groups])),
        "low": _short(np.array([one[0] for one in limits])),
        "median": _short(np.array([one[1] for one in limits])),
        "high": _short(np.array([one[2] for one in limits])),
        "rows": [int(rows.size) for rows in groups],
        "quantiles": _short(quantiles),
    }


def _fares(predictions: Predictions, classes: list[str], alpha: float) -> list[dict[str, Any]]:
    """Recall and precision of each class, with intervals as of so many different rows."""
    times = len(predictions) / max(np.unique(predictions.rows).size, 1)
    made = []
    for k, name in enumerate(classes[:40]):
        is_class, called = predictions.truth == k, predictions.predicted == k
        hits = int((is_class & called).sum())
        rows, said = int(is_class.sum()), int(called.sum())
        recall = hits / rows if rows else 0.0
        made.append(
            {
                "name": name,
                "rows": round(rows / times),
                "recall": recall,
                "recall_interval": _share_interval(hits / times, rows / times, alpha),
                "precision": hits / said if said else None,
                "precision_interval": _share_interval(hits / times, said / times, alpha) if said else None,
            }
        )
    return made


def _share_interval(hits: float, rows: float, alpha: float) -> list[float]:
    low, high = wilson_interval(hits, rows, 1 - alpha)
    return [float(low), float(high)]
