"""Calibration: whether predicted probabilities are the frequencies that follow.

Probabilities are put into bins; in each bin the mean predicted probability stands against the observed frequency. The
expected calibration error (ECE) is the mean distance of the two over rows.

The ECE of a finite sample is never zero, even for perfect probabilities, and the bootstrap adds the same excess once
more. So the interval is the basic one, which reflects the bootstrap distribution and thereby takes the excess out;
and it reaches down to zero unless the test rejects perfect calibration. That test compares the ECE with those of
targets drawn from the predicted probabilities themselves (consistency resampling, Broecker and Smith 2007).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base.chart import Chart
from ..base.columns import plain_label
from ..base.errors import DataError, ParameterError, plain
from ..base.randomness import Stream
from .curves import ClassCurves, Curve, read_truth
from .distributions import normal_quantile
from .intervals import check_alpha
from .result import Interval, interval_words, number, p_words, percent


@dataclass(frozen=True, kw_only=True, eq=False)
class CalibrationCurve(Curve):
    """Observed against predicted frequency in bins; empty bins are left out.

    `low` and `high` are Wilson intervals of the observed frequencies, `ece` the expected and `mce` the largest distance
    between observed and predicted, `interval` that of the ECE; `p_value` tests perfect calibration.
    """

    predicted: np.ndarray
    observed: np.ndarray
    low: np.ndarray
    high: np.ndarray
    counts: np.ndarray
    edges: np.ndarray
    ece: float
    mce: float
    interval: Interval
    expected_by_chance: float
    p_value: float
    alpha: float
    positive: Any
    sentence: str
    _across, _up, _sums_up = "predicted", "observed", "ece"
    _labels = ("predicted probability", "observed frequency")

    def chart(self) -> Chart:
        """Observed against predicted frequency, with an interval at each bin."""
        drawn = super().chart()
        limits = {"low": self.low.tolist(), "high": self.high.tolist(), "band": False, "marker": True}
        return replace(drawn, lines=(replace(drawn.lines[0], **limits),))

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("expected calibration error", number(self.ece)),
            (f"{percent(1 - self.alpha)} interval", interval_words(self.interval)),
            ("largest gap", number(self.mce)),
            ("test of perfect calibration", p_words(self.p_value)),
        ]


def calibration_curve(
    y: Any,
    probabilities: Any,
    *,
    positive: Any = None,
    classes: Any = None,
    sample_weight: Any = None,
    n_bins: int = 10,
    strategy: str = "uniform",
    top_label: bool = False,
    n_replicates: int = 500,
    alpha: float = 0.05,
    random_state: Any = None,
) -> Any:
    """The calibration curve of predicted probabilities, with the expected calibration error and its interval.

    `strategy` is "uniform" (bins of equal width) or "quantile" (bins of equal numbers of rows; ties stay together). For
    more than two columns of probabilities the result holds one curve per class against the rest; `top_label` looks
    instead at the likeliest class only: its probability against the frequency with which it is right.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=2000)
    >>> honest = calibration_curve(rng.uniform(size=2000) < p, p, random_state=0)
    >>> boastful = calibration_curve(rng.uniform(size=2000) < 0.5 + (p - 0.5) / 2, p, random_state=0)
    >>> honest.p_value > 0.05, boastful.p_value < 0.05, round(boastful.ece, 2)
    (True, True, 0.13)
    """
    who = "calibration_curve"
    check_alpha(who, alpha)
    for name, value, least in (("n_bins", n_bins, 1), ("n_replicates", n_replicates, 20)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise ParameterError(who, f"parameter '{name}'", f"must be an integer >= {least}", f"got {value!r}")
    if strategy not in ("uniform", "quantile"):
        raise ParameterError(
            who, "parameter 'strategy'", "must be 'uniform' or 'quantile'", f"got {plain(repr(strategy))}"
        )
    labels, values, weights, known, chosen = read_truth(who, y, probabilities, positive, classes, sample_weight)
    if values.min() < 0 or values.max() > 1:
        raise DataError(
            who,
            "probabilities",
            "must be between 0 and 1",
            f"got {number(float(values.min()))} to {number(float(values.max()))}",
            "turn scores into probabilities first",
        )
    root = Stream.of(random_state)

    def build(happened: np.ndarray, p: np.ndarray, name: Any, stream: Stream) -> CalibrationCurve:
        return _calibration(happened, p, weights, name, int(n_bins), strategy, int(n_replicates), alpha, stream)

    if top_label:
        if values.ndim == 1:
            values, known = np.column_stack([1 - values, values]), np.array([_other(known, chosen), chosen])
        guess = values.argmax(axis=1)
        return build(
            known[guess] == labels, values[np.arange(labels.size), guess], "the likeliest class", root.child(0)
        )
    if values.ndim == 1:
        return build(labels == chosen, values, plain_label(chosen), root.child(0))
    curves = {
        plain_label(label): build(labels == label, values[:, k], plain_label(label), root.child(k))
        for k, label in enumerate(known)
    }
    return ClassCurves(curves, "expected calibration errors")


def _other(known: np.ndarray, chosen: Any) -> Any:
    rest = known[known != chosen]
    if rest.size != 1:
        raise DataError("calibration_curve", "top_label", "needs one column of probabilities per class")
    return rest[0]


def _calibration(
    happened: np.ndarray,
    p: np.ndarray,
    weights: np.ndarray | None,
    name: Any,
    n_bins: int,
    strategy: str,
    n_replicates: int,
    alpha: float,
    stream: Stream,
) -> CalibrationCurve:
    edges = np.linspace(0, 1, n_bins + 1)
    if strategy == "quantile":
        edges = np.unique(np.quantile(p, edges))
    # A probability on an edge belongs to the lower bin, as in scikit-learn.
    inner = edges[1:-1]
    bins = np.searchsorted(inner, p)
    w = np.ones(p.size) if weights is None else weights
    outcome = happened.astype(np.float64)
    size = inner.size + 1
    mass = np.bincount(bins, weights=w, minlength=size)
    rows = np.bincount(bins, minlength=size)
    used = mass > 0
    predicted = np.bincount(bins, weights=w * p, minlength=size)[used] / mass[used]
    observed = np.bincount(bins, weights=w * outcome, minlength=size)[used] / mass[used]
    gaps, total = w * (outcome - p), float(w.sum())
    ece = _ece(bins, gaps, total, size)
    drawn, by_chance = np.empty(n_replicates), np.empty(n_replicates)
    for b in range(n_replicates):
        rng = stream.child(b).generator()
        rows_b = rng.integers(0, p.size, p.size)
        weight = total if weights is None else float(w[rows_b].sum())
        drawn[b] = _ece(bins[rows_b], gaps[rows_b], weight, size)
        happened_b = (rng.random(p.size) < p) - p
        by_chance[b] = _ece(bins, happened_b if weights is None else w * happened_b, total, size)
    # Rounding must not tell equal errors apart.
    p_value = (1 + int(np.count_nonzero(by_chance >= ece * (1 - 1e-12)))) / (n_replicates + 1)
    upper, lower = 2 * ece - np.quantile(drawn, [alpha / 2, 1 - alpha / 2])
    interval = (0.0 if p_value >= alpha else float(max(0.0, lower)), float(min(1.0, max(upper, 0.0))))
    low, high = _wilson(observed, rows[used], alpha)
    verdict = "perfect calibration is rejected" if p_value < alpha else "this is compatible with perfect calibration"
    return CalibrationCurve(
        predicted=predicted,
        observed=observed,
        low=low,
        high=high,
        counts=mass[used],
        edges=edges,
        ece=ece,
        mce=float(np.abs(observed - predicted).max()),
        interval=interval,
        expected_by_chance=float(by_chance.mean()),
        p_value=p_value,
        alpha=alpha,
        positive=name,
        sentence=(
            f"The expected calibration error of {plain(name)} is {number(ece)} ({percent(1 - alpha)} interval "
            f"{interval_words(interval)}); chance alone gives {number(float(by_chance.mean()))}, and {verdict} "
            f"({p_words(p_value)})."
        ),
    )


def _ece(bins: np.ndarray, gaps: np.ndarray, total: float, size: int) -> float:
    return float(np.abs(np.bincount(bins, weights=gaps, minlength=size)).sum() / total)


def _wilson(rates: np.ndarray, counts: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    z2 = normal_quantile(1 - alpha / 2) ** 2
    centre = (rates + z2 / (2 * counts)) / (1 + z2 / counts)
    half = np.sqrt(z2 * (rates * (1 - rates) / counts + z2 / (4 * counts**2))) / (1 + z2 / counts)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
