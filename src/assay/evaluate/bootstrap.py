"""Bootstrap intervals for any metric on a test set, for one learner or the difference of two.

The rows of the test set are drawn with replacement; replicates come from counts of rows or of confusion-matrix cells in
compiled code, so that a thousand of them cost about as much as computing the metric a few times. Each replicate has its
own random stream: the same bits for any number of threads. Both learners of a difference, and all metrics of
`bootstrap_many`, see the same draws.

>>> import numpy as np
>>> y = np.tile([0, 0, 1], 50)
>>> scores = np.random.default_rng(0).normal(size=150) + y
>>> print(bootstrap_interval(y, scores, random_state=0))
Area under ROC is 0.845 (95 % interval 0.767 to 0.9; BCa bootstrap, 1,000 replicates of 150 rows).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy import special

from ..base.errors import AssayWarning, DataError, ParameterError, UsageError
from ..base.randomness import Stream
from ..base.threads import thread_count
from .distributions import ALTERNATIVES, normal_quantile
from .metrics import Evidence, Metric, get_metric
from .records import Grid, Record
from .replicates import Route, RowRoute, draw_all, route_for
from .result import Interval, interval_words, jsonable, number, percent

METHODS = ("bca", "percentile")
# The stream of the draws and the stream that leaves out rows.
_DRAWS, _JACKKNIFE = 0, 1
_RANKED = ("roc_auc", "average_precision")
# One row that makes more of the variance than this: a normal sample of squared errors does not.
_LEANING = 0.5
_TOLERANCE = 1e-12
_UNDEFINED_SHARE = 0.01


@dataclass(frozen=True, kw_only=True)
class BootstrapInterval(Record):
    """An estimate with its bootstrap interval.

    `estimate` is the metric on the rows as given, or the difference first - second of a pair, whose two values are in
    `estimates`. `bias` is the mean of the replicates less the estimate, `standard_error` their standard deviation.
    `replicates` holds the defined ones; `undefined` counts those where the metric had no value (a draw without
    positives) and that were left out.
    """

    metric: str
    title: str
    estimate: float
    estimates: tuple[float, ...]
    interval: Interval
    confidence: float
    alternative: str
    method: str
    bias: float
    standard_error: float
    replicates: np.ndarray
    undefined: int
    n_rows: int
    sentence: str

    @property
    def paired(self) -> bool:
        """Whether this is a difference of two learners on the same rows."""
        return len(self.estimates) == 2

    @property
    def reject(self) -> bool | None:
        """For a difference: whether the interval leaves out 0; None for one learner."""
        return not self.interval[0] <= 0 <= self.interval[1] if self.paired else None

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON, without the replicates themselves."""
        record = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "replicates"}
        return jsonable({**record, "n_replicates": self.replicates.size + self.undefined, "reject": self.reject})

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("difference" if self.paired else "estimate", number(self.estimate)),
            (f"{percent(self.confidence)} interval", interval_words(self.interval)),
            ("standard error", number(self.standard_error)),
            ("bias", number(self.bias)),
            ("method", f"{_METHOD_WORDS[self.method]}, {self.alternative}"),
            ("replicates", f"{self.replicates.size:,}"),
        ]

    def grid(self) -> Grid:
        """The interval as two columns of facts under the name of the metric."""
        return Grid(["", ""], self._facts(), caption=self.title, left=2)


_METHOD_WORDS = {"bca": "BCa bootstrap", "percentile": "percentile bootstrap"}


@dataclass(frozen=True)
class _Settings:
    who: str
    n_replicates: int
    method: str
    confidence: float
    alternative: str
    stream: Stream
    threads: int
    names: tuple[str, str]


def bootstrap_interval(
    y: Any,
    predictions: Any,
    metric: str | Metric | Callable[[Any, Any], float] = "roc_auc",
    *,
    second: Any = None,
    n_replicates: int = 1000,
    method: str = "bca",
    confidence: float = 0.95,
    alternative: str = "two-sided",
    random_state: Any = None,
    classes: Any = None,
    names: tuple[str, str] = ("A", "B"),
    n_jobs: int | None = None,
) -> BootstrapInterval:
    """The bootstrap interval of a metric on a test set.

    `predictions` are what the metric needs: labels, scores or probabilities (of the second class, or one column per
    class), numbers, or clusters. `metric` is a name of `METRICS` or a function of (y, predictions). With `second`, the
    predictions of another learner for the same rows, the interval is for the difference first - second from the same
    draws. `method` is "bca" (bias-corrected and accelerated; Efron 1987) or "percentile"; `alternative` "greater"
    gives a lower limit only, "less" an upper one.

    If every replicate has the same value (a perfect score, say), the interval has no width and a warning says so: the
    bootstrap cannot see what the sample does not show. Clustering metrics count drawn-twice points as pairs that
    belong together, which biases their replicates upwards a little.

    >>> y = [0, 1, 1, 0, 1, 0, 1, 1, 0, 0] * 10
    >>> labels = [0, 1, 0, 0, 1, 0, 1, 1, 1, 0] * 10
    >>> result = bootstrap_interval(y, labels, "accuracy", random_state=0)
    >>> result.estimate, [round(end, 2) for end in result.interval]
    (0.8, [0.71, 0.87])
    """
    settings = _settings(
        "bootstrap_interval", n_replicates, method, confidence, alternative, random_state, n_jobs, names
    )
    if callable(metric) and not isinstance(metric, Metric):
        routes = _routes_of_function(metric, y, predictions, second)
        name = getattr(metric, "__name__", "metric").strip("<>")
        return _results([(name, name, (-math.inf, math.inf), routes)], settings)[0]
    wanted = get_metric(metric)
    given = [predictions] if second is None else [predictions, second]
    kind = "probabilities" if wanted.needs == "labels" and np.ndim(predictions) == 2 else wanted.needs
    return _many([wanted], y, [{kind: each} for each in given], classes, settings)[0]


def bootstrap_many(
    metrics: Iterable[str | Metric],
    y: Any,
    *,
    labels: Any = None,
    probabilities: Any = None,
    values: Any = None,
    clusters: Any = None,
    second: Mapping[str, Any] | None = None,
    classes: Any = None,
    n_replicates: int = 1000,
    method: str = "bca",
    confidence: float = 0.95,
    alternative: str = "two-sided",
    random_state: Any = None,
    names: tuple[str, str] = ("A", "B"),
    n_jobs: int | None = None,
) -> dict[str, BootstrapInterval]:
    """Several metrics with intervals, all from the same draws and the same passes over the rows.

    Predictions are given as in `score_many`; `second` holds those of another learner under the same keywords, for
    intervals of differences. Each interval has the stated confidence by itself, not all of them together.

    >>> y = [0, 1, 1, 0, 1, 0, 1, 1, 0, 0] * 10
    >>> labels = [0, 1, 0, 0, 1, 0, 1, 1, 1, 0] * 10
    >>> both = bootstrap_many(["accuracy", "f1_macro"], y, labels=labels, random_state=0)
    >>> both["f1_macro"].estimate
    0.8
    """
    who = "bootstrap_many"
    settings = _settings(who, n_replicates, method, confidence, alternative, random_state, n_jobs, names)
    wanted = [get_metric(name) for name in metrics]
    if not wanted:
        raise UsageError(who, "metrics", "are missing", way_out="name at least one")
    first = {"labels": labels, "probabilities": probabilities, "values": values, "clusters": clusters}
    given = [first] if second is None else [first, dict(second)]
    results = _many(wanted, y, given, classes, settings)
    return {metric.name: result for metric, result in zip(wanted, results)}


# -- from predictions to routes -----------------------------------------------------------------------------
def _many(
    metrics: list[Metric], y: Any, given: list[dict[str, Any]], classes: Any, settings: _Settings
) -> list[BootstrapInterval]:
    who = settings.who
    truth = _clean(who, "y", y)
    cleaned = [{k: _clean(who, k, v) for k, v in each.items() if v is not None} for each in given]
    for each in cleaned:
        for name, values in each.items():
            if values.shape[0] != truth.shape[0]:
                raise DataError(
                    who, name, f"must have one row for each of {truth.shape[0]} in y", f"got {values.shape[0]}"
                )
    if truth.shape[0] < 2:
        raise DataError(who, "y", "must hold at least 2 rows", f"got {truth.shape[0]}")
    truth, cleaned = _by_falling_score(metrics, truth, cleaned)
    sides = [Evidence(truth, classes=classes, **each) for each in cleaned]
    routes = []
    for metric in metrics:
        for evidence in sides:
            _check_fit(who, metric, evidence)
        routes.append([route_for(metric, evidence, side) for side, evidence in enumerate(sides)])
    for evidence in sides:
        evidence.__dict__.pop("rankings", None)  # the estimates are known: nothing asks for their sums again
    return _results([(m.name, m.title, m.bounds, r) for m, r in zip(metrics, routes)], settings)


def _clean(who: str, name: str, values: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim == 0 or array.shape[0] == 0:
        raise DataError(who, name, "must hold at least one row")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise DataError(who, name, "must hold finite numbers", "got NaN or infinite values", "drop those rows first")
    return array


def _by_falling_score(
    metrics: list[Metric], truth: np.ndarray, given: list[dict[str, np.ndarray]]
) -> tuple[np.ndarray, list[dict[str, np.ndarray]]]:
    """Rows in the order of the first ranking, which the kernel then walks without look-ups."""
    scores = given[0].get("probabilities")
    if scores is None or not any(metric.name in _RANKED for metric in metrics):
        return truth, given
    order = np.argsort(-(scores if scores.ndim == 1 else scores[:, -1]).astype(np.float64), kind="stable")
    return truth[order], [{k: v[order] for k, v in each.items()} for each in given]


def _check_fit(who: str, metric: Metric, evidence: Evidence) -> None:
    """Refuse predictions that the metric cannot use."""
    if not evidence.has(metric.needs):
        raise UsageError(who, f"metric '{metric.name}'", f"needs {metric.needs}", way_out=f"pass {metric.needs}=")
    if metric.needs == "labels" and evidence.labels is not None and evidence.labels.dtype.kind == "f":
        fractional = evidence.labels != np.round(evidence.labels)
        if fractional.any() and not np.isin(evidence.labels, evidence.y).all():
            raise DataError(
                who,
                f"metric '{metric.name}'",
                "needs predicted labels",
                f"got numbers such as {evidence.labels[fractional][0]:g}",
                "compare them with a threshold first",
            )
    if metric.needs != "probabilities":
        return
    if metric.name not in _RANKED and (evidence.probabilities.min() < 0 or evidence.probabilities.max() > 1):
        raise DataError(who, f"metric '{metric.name}'", "needs probabilities between 0 and 1", "got others")
    if metric.name in _RANKED and np.unique(evidence.true_codes).size < 2:
        raise DataError(who, "y", f"must hold at least two classes for {metric.title}", "got one")


def _routes_of_function(metric: Callable[[Any, Any], float], y: Any, predictions: Any, second: Any) -> list[Route]:
    who = "bootstrap_interval"
    truth = _clean(who, "y", y)
    routes: list[Route] = []
    for values in (predictions,) if second is None else (predictions, second):
        predicted = _clean(who, "predictions", values)
        if predicted.shape[0] != truth.shape[0]:
            raise DataError(
                who, "predictions", f"must have one row for each of {truth.shape[0]} in y", f"got {predicted.shape[0]}"
            )
        routes.append(RowRoute(_on_rows(metric, truth, predicted), truth.shape[0]))
    return routes


def _on_rows(
    metric: Callable[[Any, Any], float], truth: np.ndarray, predicted: np.ndarray
) -> Callable[[np.ndarray], float]:
    return lambda rows: float(metric(truth[rows], predicted[rows]))


def _settings(
    who: str,
    n_replicates: int,
    method: str,
    confidence: float,
    alternative: str,
    random_state: Any,
    n_jobs: int | None,
    names: tuple[str, str],
) -> _Settings:
    if not isinstance(n_replicates, (int, np.integer)) or n_replicates < 10:
        raise ParameterError(who, "parameter 'n_replicates'", "must be an integer >= 10", f"got {n_replicates!r}")
    if method not in METHODS:
        raise ParameterError(who, "parameter 'method'", f"must be one of {', '.join(METHODS)}", f"got {method!r}")
    if not 0 < confidence < 1:
        raise ParameterError(who, "parameter 'confidence'", "must be between 0 and 1", f"got {confidence!r}")
    if alternative not in ALTERNATIVES:
        raise ParameterError(
            who, "parameter 'alternative'", f"must be one of {', '.join(ALTERNATIVES)}", f"got {alternative!r}"
        )
    stream = Stream.of(random_state)
    return _Settings(
        who, int(n_replicates), method, confidence, alternative, stream, thread_count(n_jobs), (names[0], names[1])
    )


# -- from routes to intervals -------------------------------------------------------------------------------
def _results(wanted: list[tuple[str, str, Interval, list[Route]]], settings: _Settings) -> list[BootstrapInterval]:
    routes = [route for *_, pair in wanted for route in pair]
    n_rows = routes[0].n_rows
    drawn = draw_all(routes, n_rows, settings.stream.child(_DRAWS), settings.n_replicates, settings.threads)
    results, position = [], 0
    for name, title, bounds, pair in wanted:
        parts = drawn[position : position + len(pair)]
        position += len(pair)
        results.append(_result(name, title, bounds, pair, parts, n_rows, settings))
    return results


def _result(
    name: str,
    title: str,
    bounds: Interval,
    pair: list[Route],
    parts: list[np.ndarray],
    n_rows: int,
    settings: _Settings,
) -> BootstrapInterval:
    estimates = tuple(route.estimate for route in pair)
    estimate = estimates[0] - estimates[1] if len(pair) == 2 else estimates[0]
    if not math.isfinite(estimate):
        raise DataError(settings.who, f"metric '{name}'", "has no value for these rows", f"got {estimate}")
    every = parts[0] - parts[1] if len(pair) == 2 else parts[0]
    replicates = every[np.isfinite(every)]
    undefined = every.size - replicates.size
    if replicates.size < 2:
        raise DataError(
            settings.who, f"metric '{name}'", "has no value for the drawn rows", "got fewer than 2 replicates"
        )
    if undefined > _UNDEFINED_SHARE * every.size:
        _warn("W301", f"{title}: {undefined:,} of {every.size:,} draws had no value and were left out.")
    tolerance = _TOLERANCE * max(1.0, max(abs(e) for e in estimates))
    if np.ptp(replicates) <= tolerance:
        _warn(
            "W302",
            f"{title}: all replicates are the same, so the interval has no width; "
            "for a rate use wilson_interval, for an area under ROC delong.",
        )
        low = high = estimate
    else:
        left_out = None
        if settings.method == "bca":
            jackknifed = [route.jackknife(settings.stream.child(_JACKKNIFE)) for route in pair]
            left_out = jackknifed[0] - jackknifed[1] if len(pair) == 2 else jackknifed[0]
            if (share := _largest_share(left_out)) > _LEANING:
                bounded = math.isfinite(bounds[0]) and math.isfinite(bounds[1])
                way_out = "for a rate use wilson_interval" if bounded else "judge by the mean or median absolute error"
                _warn(
                    "W303",
                    f"{title}: one row makes {percent(share)} of the variance, so that the tails are heavy and the "
                    "interval is likely too short (it covered 87 to 92 % instead of 95 % in simulations); collect more "
                    f"rows, or {way_out}.",
                )
        low, high = _ends(replicates, estimate, left_out, tolerance, settings)
    if len(pair) == 2:
        bounds = (bounds[0] - bounds[1], bounds[1] - bounds[0])
    interval = (
        bounds[0] if settings.alternative == "less" else low,
        bounds[1] if settings.alternative == "greater" else high,
    )
    return BootstrapInterval(
        metric=name,
        title=title,
        estimate=estimate,
        estimates=estimates,
        interval=interval,
        confidence=settings.confidence,
        alternative=settings.alternative,
        method=settings.method,
        bias=float(replicates.mean() - estimate),
        standard_error=float(replicates.std(ddof=1)),
        replicates=replicates,
        undefined=undefined,
        n_rows=n_rows,
        sentence=_sentence(title, estimates, interval, every.size, n_rows, settings),
    )


def _largest_share(left_out: np.ndarray) -> float:
    """The share of the jackknife variance that comes from one row."""
    defined = left_out[np.isfinite(left_out)]
    squares = (defined - defined.mean()) ** 2 if defined.size > 20 else np.zeros(1)
    total = float(squares.sum())
    return float(squares.max() / total) if total > 0 else 0.0


def _warn(code: str, text: str) -> None:
    warnings.warn(AssayWarning(code, text), stacklevel=6)


def _ends(
    replicates: np.ndarray, estimate: float, left_out: np.ndarray | None, tolerance: float, settings: _Settings
) -> Interval:
    """Both ends of the interval; the one that a one-sided interval does not have is ignored."""
    tail = 1 - settings.confidence
    if settings.alternative == "two-sided":
        tail /= 2
    if left_out is None:
        levels = [tail, 1 - tail]
    else:
        levels = bca_levels(replicates, estimate, left_out, tail, tolerance)
    low, high = np.quantile(replicates, levels)
    return float(low), float(high)


def bca_levels(
    replicates: np.ndarray, estimate: float, left_out: np.ndarray, tail: float, tolerance: float = 0.0
) -> list[float]:
    """The levels of Efron's BCa interval at which the replicates are cut, instead of `tail` and 1 - `tail`.

    z0, the bias, is the normal quantile of the share of replicates below the estimate (equal ones count half); a, the
    acceleration, is the skewness of the jackknife values / 6 sqrt(n): level = Phi(z0 + (z0 + z) / (1 - a (z0 + z))).
    """
    below = float((replicates < estimate - tolerance).mean())
    above = float((replicates > estimate + tolerance).mean())
    half = 0.5 / replicates.size
    bias = normal_quantile(min(max((below + 1 - above) / 2, half), 1 - half))
    defined = left_out[np.isfinite(left_out)]
    influence = defined.mean() - defined if defined.size else np.zeros(1)
    squares = influence * influence
    scale = float(squares.sum()) ** 1.5
    acceleration = float(squares @ influence) / (6 * scale) if scale > 0 else 0.0
    levels = []
    for level in (tail, 1 - tail):
        shifted = bias + normal_quantile(level)
        levels.append(float(special.ndtr(bias + shifted / max(1 - acceleration * shifted, 1e-3))))
    return levels


def _sentence(
    title: str, estimates: tuple[float, ...], interval: Interval, replicates: int, n_rows: int, settings: _Settings
) -> str:
    low, high = interval
    shown = {
        "two-sided": f"{percent(settings.confidence)} interval {number(low)} to {number(high)}",
        "greater": f"at least {number(low)} with {percent(settings.confidence)} confidence",
        "less": f"at most {number(high)} with {percent(settings.confidence)} confidence",
    }[settings.alternative]
    how = f"{_METHOD_WORDS[settings.method]}, {replicates:,} replicates of {n_rows:,} rows"
    if len(estimates) == 1:
        return f"{title[:1].upper()}{title[1:]} is {number(estimates[0])} ({shown}; {how})."
    a, b = settings.names
    difference = estimates[0] - estimates[1]
    ahead = f"{number(abs(difference))} {'higher' if difference > 0 else 'lower'} than" if difference else "the same as"
    told = "excludes" if not low <= 0 <= high else "includes"
    return (
        f"{title[:1].upper()}{title[1:]} of {a} is {ahead} that of {b} "
        f"(difference {a} - {b}: {shown}, which {told} 0; {how})."
    )
