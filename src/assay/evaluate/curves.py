"""Curves of scores against truth: ROC, precision-recall, gain and lift, background rejection, thresholds.

Every curve comes from one sort: at each different score, from the highest down, the weight of the positives and of the
negatives that score at least as high. A row is called positive if its score is at least the threshold.

For more than two classes pass one column of scores per class: the result holds one curve per class against the rest.

>>> curve = roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
>>> curve.auc
0.75
>>> curves = roc_curve(["a", "b", "c"], [[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]])
>>> curves["b"].auc, curves.mean
(1.0, 1.0)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.chart import Chart, Drawn, Line, Mark, together
from ..base.columns import plain_label
from ..base.errors import DataError, ParameterError, plain
from ..base.estimator import check_weights
from .records import Record
from .result import number, percent


# -- one sorted pass ----------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Ranking:
    """Weights of positives (`hits`) and negatives (`misses`) that score at least each of the `scores`, descending."""

    scores: np.ndarray
    hits: np.ndarray
    misses: np.ndarray
    positive: Any

    @property
    def positives(self) -> float:
        """The weight of all positives."""
        return float(self.hits[-1])

    @property
    def negatives(self) -> float:
        """The weight of all negatives."""
        return float(self.misses[-1])

    def thresholds(self) -> np.ndarray:
        """For each different score a threshold midway to the next lower one; the last is the lowest score itself."""
        middle = self.scores[:-1] / 2 + self.scores[1:] / 2
        # Neighbouring floats have no number between them: the upper one separates.
        middle = np.where(middle > self.scores[1:], middle, self.scores[:-1])
        return np.append(middle, self.scores[-1])


def rank_scores(who: str, is_positive: np.ndarray, scores: np.ndarray, weights: Any, positive: Any = 1) -> Ranking:
    """Sort once and add up; refuses a single class."""
    if is_positive.all() or not is_positive.any():
        raise DataError(
            who,
            "y",
            "must hold both positive and negative rows",
            f"got only {'positive' if is_positive.all() else 'negative'} ones (positive is '{plain(positive)}')",
        )
    # Ascending and reversed, since the order within ties does not matter: no negated copy of the scores.
    order = np.argsort(scores)[::-1]
    ranked, hit = scores[order], is_positive[order]
    last_of_ties = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), ranked.size - 1)
    if weights is None:
        hits = np.cumsum(hit)[last_of_ties].astype(np.float64)
        misses = last_of_ties + 1.0 - hits
    else:
        ordered = weights[order]
        hits = np.cumsum(np.where(hit, ordered, 0.0))[last_of_ties]
        misses = np.cumsum(np.where(hit, 0.0, ordered))[last_of_ties]
    if hits[-1] <= 0 or misses[-1] <= 0:
        raise DataError(who, "sample_weight", "must give both classes a weight")
    return Ranking(ranked[last_of_ties], hits, misses, positive)


class ClassCurves(Drawn, Record):
    """One curve for each class against the rest, by class: `curves["setosa"]`; `mean` is the mean of their areas."""

    def __init__(self, curves: dict[Any, Any], what: str):
        self.curves = curves
        self.what = what
        self.mean = float(np.mean([curve.summary for curve in curves.values()]))
        listed = ", ".join(f"{plain(name)} {number(curve.summary)}" for name, curve in curves.items())
        self.sentence = f"Each class against the rest, {what}: {listed}; the mean is {number(self.mean)}."

    def __getitem__(self, name: Any) -> Any:
        return self.curves[name]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.curves)

    def __len__(self) -> int:
        return len(self.curves)

    def to_dict(self) -> dict[str, Any]:
        """The curves as plain data, by class."""
        return {
            "curves": {str(name): curve.to_dict() for name, curve in self.curves.items()},
            "mean": self.mean,
            "sentence": self.sentence,
        }

    def _facts(self) -> list[tuple[str, str]]:
        return [(plain(name), number(curve.summary)) for name, curve in self.curves.items()]

    def chart(self) -> Chart:
        """All curves on the same axes."""
        named = [(f"{plain(name)} ({number(curve.summary)})", curve.chart()) for name, curve in self.curves.items()]
        return together(f"Each class against the rest: {self.what}", named)


class Curve(Drawn, Record):
    """What the curves share: drawing, and the number that sums them up."""

    _across = _up = _sums_up = ""
    """Names of the fields that are drawn across and up, and of the number that sums the curve up."""
    _labels: tuple[str, str] = ("", "")
    _looks: dict[str, Any] = {}
    _scales: dict[str, Any] = {"x_range": (0.0, 1.0), "y_range": (0.0, 1.02)}

    @property
    def summary(self) -> float:
        """The number that sums the curve up, such as the area under it."""
        return float(getattr(self, self._sums_up))

    def _points(self) -> tuple[np.ndarray, np.ndarray]:
        return getattr(self, self._across), getattr(self, self._up)

    def _marks(self) -> tuple[Mark, ...]:
        """Reference lines; the diagonal unless a curve has others."""
        return (Mark(),)

    def chart(self) -> Chart:
        """The curve with its reference line."""
        x, y = self._points()
        line = Line(x.tolist(), y.tolist(), number(self.summary), **self._looks)
        return Chart(self._title(), *self._labels, (line,), self._marks(), description=self.sentence, **self._scales)

    def _title(self) -> str:
        return f"{self._labels[1]} against {self._labels[0]}".capitalize()


# -- ROC ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True, eq=False)
class RocCurve(Curve):
    """True against false positive rate, from no row called positive (threshold infinite) to all."""

    false_positive_rate: np.ndarray
    true_positive_rate: np.ndarray
    thresholds: np.ndarray
    auc: float
    positive: Any
    sentence: str
    _across, _up, _sums_up = "false_positive_rate", "true_positive_rate", "auc"
    _labels = ("false positive rate", "true positive rate")

    def _facts(self) -> list[tuple[str, str]]:
        return [("area under ROC", number(self.auc)), ("points", str(self.thresholds.size))]


def roc_curve(
    y: Any,
    scores: Any,
    *,
    positive: Any = None,
    classes: Any = None,
    sample_weight: Any = None,
    drop_inner: bool = True,
) -> Any:
    """The ROC curve and its area: the probability that a positive row outranks a negative one, ties counting half.

    `positive` names the positive class (by default the greater of two). `drop_inner` leaves out points inside
    straight stretches, which change neither the line nor its area. Several columns of scores (in the order of
    `classes`, sorted if not given) give `ClassCurves`.

    >>> roc_curve([0, 1, 1, 0], [1, 3, 2, 2]).auc
    0.875
    """
    return per_class("roc_curve", y, scores, positive, classes, sample_weight, "areas under ROC", _roc(drop_inner))


def _roc(drop_inner: bool) -> Callable[[Ranking], RocCurve]:
    def build(ranking: Ranking) -> RocCurve:
        hits, misses = np.append(0.0, ranking.hits), np.append(0.0, ranking.misses)
        thresholds = np.append(np.inf, ranking.scores)
        area = float(np.sum(np.diff(misses) * (hits[1:] + hits[:-1])) / 2 / (ranking.positives * ranking.negatives))
        if drop_inner and hits.size > 3:
            bend = np.diff(hits)[:-1] * np.diff(misses)[1:] != np.diff(hits)[1:] * np.diff(misses)[:-1]
            keep = np.concatenate([[True], bend, [True]])
            hits, misses, thresholds = hits[keep], misses[keep], thresholds[keep]
        return RocCurve(
            false_positive_rate=misses / ranking.negatives,
            true_positive_rate=hits / ranking.positives,
            thresholds=thresholds,
            auc=area,
            positive=ranking.positive,
            sentence=(
                f"The area under ROC is {number(area)}: a row of class {plain(ranking.positive)} outranks another row "
                f"with probability {number(area)} (0.5 is guessing)."
            ),
        )

    return build


# -- precision and recall -------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True, eq=False)
class PrecisionRecallCurve(Curve):
    """Precision against recall at each threshold, from the highest score down, after the point (recall 0, precision 1).

    `average_precision` is the sum of precision times gained recall; `prevalence` is the precision of guessing.
    """

    precision: np.ndarray
    recall: np.ndarray
    thresholds: np.ndarray
    average_precision: float
    prevalence: float
    positive: Any
    sentence: str
    _across, _up, _sums_up = "recall", "precision", "average_precision"
    _labels = ("recall", "precision")
    _looks = {"style": "step"}

    def _marks(self) -> tuple[Mark, ...]:
        return (Mark(y=self.prevalence, label="guessing"),)

    def _facts(self) -> list[tuple[str, str]]:
        return [("average precision", number(self.average_precision)), ("prevalence", number(self.prevalence))]


def precision_recall_curve(
    y: Any, scores: Any, *, positive: Any = None, classes: Any = None, sample_weight: Any = None
) -> Any:
    """The precision-recall curve and its average precision.

    >>> curve = precision_recall_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> curve.precision, curve.recall
    (array([1.        , 1.        , 0.5       , 0.66666667, 0.5       ]), array([0. , 0.5, 0.5, 1. , 1. ]))
    >>> round(curve.average_precision, 3)
    0.833
    """
    return per_class(
        "precision_recall_curve", y, scores, positive, classes, sample_weight, "average precisions", _precision_recall
    )


def _precision_recall(ranking: Ranking) -> PrecisionRecallCurve:
    called = ranking.hits + ranking.misses
    precision = np.divide(ranking.hits, called, out=np.ones_like(called), where=called > 0)
    recall = ranking.hits / ranking.positives
    average = float(np.diff(recall, prepend=0.0) @ precision)
    prevalence = ranking.positives / float(called[-1])
    return PrecisionRecallCurve(
        precision=np.append(1.0, precision),
        recall=np.append(0.0, recall),
        thresholds=np.append(np.inf, ranking.scores),
        average_precision=average,
        prevalence=prevalence,
        positive=ranking.positive,
        sentence=(
            f"The average precision is {number(average)}, where guessing has {number(prevalence)}, the share of class "
            f"{plain(ranking.positive)}."
        ),
    )


# -- gain and lift --------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True, eq=False)
class GainCurve(Curve):
    """If the rows with the highest scores are taken: `share` of all rows, `gain` the share of positives among them
    found, `lift` how many times as many as by chance (NaN at share 0).

    `gini` is the area between the gain and chance, as a share of the best possible; `ks` the Kolmogorov-Smirnov
    distance between the scores of the classes, reached at `ks_threshold`.
    """

    share: np.ndarray
    gain: np.ndarray
    lift: np.ndarray
    thresholds: np.ndarray
    gini: float
    ks: float
    ks_threshold: float
    positive: Any
    sentence: str
    _across, _up, _sums_up = "share", "gain", "gini"
    _labels = ("share of rows taken", "share of positives found")

    def at(self, share: float) -> tuple[float, float]:
        """Gain and lift if this share of the rows is taken; within ties, rows are taken at random.

        >>> gain_curve([1, 1, 0, 0], [4, 3, 2, 1]).at(0.25)
        (0.5, 2.0)
        """
        if not 0 < share <= 1:
            raise ParameterError("GainCurve.at", "parameter 'share'", "must be above 0 and at most 1", f"got {share!r}")
        gain = float(np.interp(share, self.share, self.gain))
        return gain, gain / share

    def _facts(self) -> list[tuple[str, str]]:
        tenth = self.at(0.1)
        return [("Gini", number(self.gini)), ("KS", number(self.ks)), ("lift in the best tenth", number(tenth[1]))]


def gain_curve(y: Any, scores: Any, *, positive: Any = None, classes: Any = None, sample_weight: Any = None) -> Any:
    """The cumulative gain and lift of taking the rows with the highest scores.

    >>> curve = gain_curve([1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.2, 0.1])
    >>> curve.gain.round(2).tolist(), curve.lift.round(2).tolist()
    ([0.0, 0.5, 0.5, 1.0, 1.0, 1.0], [nan, 2.5, 1.25, 1.67, 1.25, 1.0])
    """
    return per_class("gain_curve", y, scores, positive, classes, sample_weight, "Gini", _gain)


def _gain(ranking: Ranking) -> GainCurve:
    hits, misses = np.append(0.0, ranking.hits), np.append(0.0, ranking.misses)
    share = (hits + misses) / (ranking.positives + ranking.negatives)
    gain = hits / ranking.positives
    lift = np.divide(gain, share, out=np.full_like(gain, np.nan), where=share > 0)
    gini = 2 * float(np.sum(np.diff(misses) * (hits[1:] + hits[:-1])) / 2 / (ranking.positives * ranking.negatives)) - 1
    apart = gain - misses / ranking.negatives
    widest = int(apart.argmax())
    thresholds = np.append(np.inf, ranking.scores)
    best = float(np.interp(0.1, share, gain))
    return GainCurve(
        share=share,
        gain=gain,
        lift=lift,
        thresholds=thresholds,
        gini=gini,
        ks=float(apart[widest]),
        ks_threshold=float(thresholds[widest]),
        positive=ranking.positive,
        sentence=(
            f"The tenth of the rows with the highest scores holds {percent(round(best, 4))} of class "
            f"{plain(ranking.positive)}, {number(10 * best)} times as much as by chance; the Gini coefficient is "
            f"{number(gini)}."
        ),
    )


# -- background rejection -------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True, eq=False)
class RejectionCurve(Curve):
    """Background against signal at each threshold: `efficiency` is the share of signal kept (true positive rate),
    `rejection` one over the share of background kept (infinite if none is), `reduction` the share of it removed.
    """

    efficiency: np.ndarray
    rejection: np.ndarray
    reduction: np.ndarray
    thresholds: np.ndarray
    auc: float
    positive: Any
    sentence: str
    _sums_up = "auc"
    _labels = ("signal efficiency", "background rejection")
    _scales = {"log_y": True}

    def at(self, efficiency: float) -> float:
        """The rejection at the highest threshold that keeps at least this share of the signal.

        >>> rejection_curve([1, 1, 0, 0, 0, 0], [0.9, 0.6, 0.7, 0.3, 0.2, 0.1]).at(1.0)
        4.0
        """
        return float(self.rejection[self._index(efficiency)])

    def threshold_at(self, efficiency: float) -> float:
        """The highest threshold that keeps at least this share of the signal."""
        return float(self.thresholds[self._index(efficiency)])

    def _index(self, efficiency: float) -> int:
        if not 0 <= efficiency <= 1:
            raise ParameterError(
                "RejectionCurve", "parameter 'efficiency'", "must be between 0 and 1", f"got {efficiency!r}"
            )
        return int(np.searchsorted(self.efficiency, efficiency * (1 - 1e-12), side="left"))

    def _points(self) -> tuple[np.ndarray, np.ndarray]:
        finite = np.isfinite(self.rejection)
        return self.efficiency[finite], self.rejection[finite]

    def _marks(self) -> tuple[Mark, ...]:
        return ()

    def _facts(self) -> list[tuple[str, str]]:
        return [(f"rejection at efficiency {e}", number(self.at(e))) for e in (0.3, 0.5, 0.8, 0.9)]


def rejection_curve(
    y: Any, scores: Any, *, positive: Any = None, classes: Any = None, sample_weight: Any = None
) -> Any:
    """Background rejection (1 / false positive rate) and reduction (1 - it) against signal efficiency.

    >>> curve = rejection_curve(["s", "b", "s", "b"], [0.9, 0.8, 0.7, 0.1], positive="s")
    >>> curve.efficiency.tolist(), curve.rejection.tolist(), curve.reduction.tolist()
    ([0.0, 0.5, 0.5, 1.0, 1.0], [inf, inf, 2.0, 2.0, 1.0], [1.0, 1.0, 0.5, 0.5, 0.0])
    """
    return per_class(
        "rejection_curve", y, scores, positive, classes, sample_weight, "areas under the reduction", _rejection
    )


def _rejection(ranking: Ranking) -> RejectionCurve:
    kept = np.append(0.0, ranking.misses) / ranking.negatives
    efficiency = np.append(0.0, ranking.hits) / ranking.positives
    with np.errstate(divide="ignore"):
        rejection = 1 / kept
    area = float(np.sum(np.diff(kept) * (efficiency[1:] + efficiency[:-1])) / 2)
    half = rejection[int(np.searchsorted(efficiency, 0.5 * (1 - 1e-12)))]
    words = (
        "removes all of the background"
        if np.isinf(half)
        else f"lets one in {number(float(half))} background rows through"
    )
    return RejectionCurve(
        efficiency=efficiency,
        rejection=rejection,
        reduction=1 - kept,
        thresholds=np.append(np.inf, ranking.scores),
        auc=area,
        positive=ranking.positive,
        sentence=f"Keeping half of the signal {words}.",
    )


# -- reading --------------------------------------------------------------------------------------------------------
def read_truth(
    who: str, y: Any, scores: Any, positive: Any, classes: Any, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray, Any]:
    """Labels, finite scores (rows, or rows x classes), weights, the classes of the columns, and the positive class."""
    labels = np.asarray(y)
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(who, "scores", "must be numeric") from None
    if labels.ndim != 1 or labels.size == 0:
        raise DataError(who, "y", "must be a non-empty list of labels", f"got shape {labels.shape}")
    if values.ndim not in (1, 2) or values.shape[0] != labels.shape[0]:
        raise DataError(who, "scores", f"must have one row for each of {labels.shape[0]}", f"got shape {values.shape}")
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values.reshape(labels.size, -1)).all(axis=1))[0])
        raise DataError(who, "scores", "must be finite", f"got {values[row]} at row {row}")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise DataError(who, "y", "must not hold missing labels")
    weights = check_weights(who, sample_weight, labels.shape[0])
    try:
        found = np.unique(labels)
    except TypeError:
        raise DataError(who, "y", "must hold labels of one kind") from None
    known = found if classes is None else np.asarray(classes)
    if np.setdiff1d(found, known).size:
        raise DataError(who, f"label '{plain(np.setdiff1d(found, known)[0])}'", "is not among the given classes")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 2:
        if known.size != values.shape[1]:
            raise DataError(
                who,
                "scores",
                f"must have one column for each of {known.size} classes",
                f"got {values.shape[1]}",
                "pass classes= in the order of the columns",
            )
        if known.size == 2 or positive is not None:
            chosen = known[1] if positive is None else positive
            return labels, values[:, _place(who, known, chosen)], weights, known, chosen
        return labels, values, weights, known, None
    if positive is None:
        if known.size > 2:
            raise DataError(
                who,
                "y",
                f"holds {known.size} classes for one column of scores",
                way_out="pass positive=, or one column of scores per class",
            )
        if found.size < 2:
            raise DataError(who, "y", "must hold both positive and negative rows", f"got only '{plain(found[0])}'")
        positive = known[-1]
    else:
        _place(who, known, positive)
    return labels, values, weights, known, positive


def _place(who: str, classes: np.ndarray, positive: Any) -> int:
    at = np.flatnonzero(classes == positive)
    if at.size == 0:
        raise ParameterError(who, f"positive class '{plain(positive)}'", "does not occur in y")
    return int(at[0])


def per_class(
    who: str,
    y: Any,
    scores: Any,
    positive: Any,
    classes: Any,
    sample_weight: Any,
    what: str,
    build: Callable[[Ranking], Any],
) -> Any:
    """The curve of the positive class, or one per class where there are several columns of scores."""
    labels, values, weights, known, chosen = read_truth(who, y, scores, positive, classes, sample_weight)
    if values.ndim == 1:
        return build(rank_scores(who, labels == chosen, values, weights, plain_label(chosen)))
    return ClassCurves(
        {
            plain_label(label): build(rank_scores(who, labels == label, values[:, column], weights, plain_label(label)))
            for column, label in enumerate(known)
        },
        what,
    )
