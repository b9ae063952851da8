"""Learning and validation curves: scores against the number of training rows, or against a setting.

The learning curve follows a power law, score(n) = a - b n^-c with c > 0: a is what endless rows would reach, b has the
sign that makes more rows better, and a stays within the bounds of the metric. It is fitted to the scores of all splits
by Huber's robust criterion: for each c the best a and b are those of a weighted line in n^-c, so that a search over c
alone remains (variable projection).

Intervals come from the bootstrap over splits. Splits share rows and so agree more than independent ones would; each
draw therefore holds only as many splits as they are worth by Nadeau and Bengio, about 1 / (1/J + n_test/n_train).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ..base.chart import Chart, Drawn, Line
from ..base.errors import DataError, ParameterError, plain
from ..base.randomness import Stream
from .distributions import normal_quantile, t_quantile
from .fits import choose_metric, read_target, score_folds
from .intervals import check_alpha, corrected_interval, honest_df
from .metrics import Metric, get_metric
from .records import Record
from .result import Interval, interval_words, number, percent
from .splitters import as_splitter

_HUBER = 1.345
_STEPS = 8


# -- the power law ------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class PowerLaw:
    """score(n) = a - b n^-c.

    >>> law = PowerLaw(0.9, 1.0, 0.5)
    >>> law.predict(100).round(3), round(law.rows_needed(0.85))
    (np.float64(0.8), 400)
    """

    a: float
    b: float
    c: float

    def predict(self, n: Any) -> Any:
        """The score expected with n training rows."""
        return self.a - self.b * np.power(np.asarray(n, dtype=np.float64), -self.c)

    def rows_needed(self, score: float, greater_is_better: bool = True) -> float:
        """The rows at which the curve reaches a score; infinite if it never does."""
        return float(_rows_needed(np.array([self.a, self.b, self.c]), score, greater_is_better))


def fit_power_law(sizes: Any, scores: Any, *, metric: str | Metric = "accuracy", weights: Any = None) -> PowerLaw:
    """The robust power law through scores at training sizes (`scores` as (sizes,) or (sizes, splits)).

    >>> n = np.array([20, 50, 100, 200, 500])
    >>> law = fit_power_law(n, 0.9 - 1.2 * n**-0.7)
    >>> round(law.a, 3), round(law.b, 2), round(law.c, 2)
    (0.9, 1.2, 0.7)
    """
    x, values = _read_scores("fit_power_law", sizes, scores)
    given = np.ones((1, values.shape[1])) if weights is None else np.asarray(weights, dtype=np.float64)[None, :]
    a, b, c = _fit(x, values, given, get_metric(metric))[0]
    return PowerLaw(float(a), float(b), float(c))


def _read_scores(who: str, sizes: Any, scores: Any) -> tuple[np.ndarray, np.ndarray]:
    x = np.asarray(sizes, dtype=np.float64)
    values = np.asarray(scores, dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    if x.ndim != 1 or values.ndim != 2 or values.shape[0] != x.shape[0]:
        raise DataError(who, "scores", f"must have one row for each of {x.size} sizes", f"got shape {values.shape}")
    if np.unique(x).size < 3:
        raise DataError(who, "sizes", "must hold at least 3 different numbers of rows", f"got {np.unique(x).size}")
    if (x <= 0).any() or not np.isfinite(x).all():
        raise DataError(who, "sizes", "must be positive")
    if not np.isfinite(values).all():
        raise DataError(who, "scores", "must be finite", way_out="leave out sizes whose scores are undefined")
    return x, values


def _fit(sizes: np.ndarray, scores: np.ndarray, draws: np.ndarray, metric: Metric) -> np.ndarray:
    """One law (a, b, c) per row of `draws`, which holds the weight of each split in that draw.

    The grid over c, its refinements and the draws are carried through as one array: draws x exponents x scores.
    """
    # In units of the geometric mean size, so that n^-c stays near 1 whatever c is.
    unit = float(np.exp(np.log(sizes).mean()))
    spread = np.repeat(_spread(scores), scores.shape[1])
    log_x = np.repeat(np.log(sizes / unit), scores.shape[1])
    weight = np.repeat(draws[:, None, :], sizes.size, axis=1).reshape(len(draws), -1)
    low, high = np.full(len(draws), math.log(0.02)), np.full(len(draws), math.log(5.0))
    pick = np.arange(len(draws))
    for points in (33, 9, 9, 9, 9, 9):
        grid = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, points)
        a, b, cost = _lines(np.exp(-np.exp(grid)[:, :, None] * log_x), scores.ravel(), spread, weight, metric)
        best = cost.argmin(axis=1)
        low, high = grid[pick, np.maximum(best - 1, 0)], grid[pick, np.minimum(best + 1, points - 1)]
    c = np.exp(grid[pick, best])
    return np.column_stack([a[pick, best], b[pick, best] * unit**c, c])


def _spread(scores: np.ndarray) -> np.ndarray:
    """The robust spread of the scores at each size; infinite, for plain least squares, if there is one split."""
    if scores.shape[1] == 1:
        return np.full(scores.shape[0], np.inf)
    spread = 1.4826 * np.median(np.abs(scores - np.median(scores, axis=1, keepdims=True)), axis=1)
    # A size at which most splits agree by chance must not decide alone.
    floor = max(0.25 * float(np.median(scores.std(axis=1, ddof=1))), 1e-12)
    return np.maximum(spread, floor)


def _lines(
    x: np.ndarray, y: np.ndarray, spread: np.ndarray, weight: np.ndarray, metric: Metric
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The best a and b of y = a - b x for every draw and exponent, and their Huber cost, by reweighting."""
    robust = not np.isinf(spread).any()
    scale = spread if robust else np.ones_like(spread)
    base = np.broadcast_to((weight / scale**2)[:, None, :], x.shape)
    pull = base
    sign = 1.0 if metric.greater_is_better else -1.0
    least, most = metric.bounds
    for _ in range(_STEPS if robust else 1):
        # The normal equations of a line, by sums; x is near 1, so that little is lost in the differences.
        pulled = pull * x
        total, sum_x, sum_y = pull.sum(axis=-1), pulled.sum(axis=-1), pull @ y
        sum_xy, sum_xx = pulled @ y, np.einsum("dcs,dcs->dc", pulled, x)
        spread_x = sum_xx - sum_x**2 / total
        b = (sum_x * sum_y / total - sum_xy) / np.maximum(spread_x, 1e-300)
        b = np.where(sign * b > 0, b, 0.0)
        a = (sum_y + b * sum_x) / total
        outside = (a < least) | (a > most)
        if outside.any():
            a = np.clip(a, least, most)
            tied = (a * sum_x - sum_xy) / sum_xx
            b = np.where(outside, np.where(sign * tied > 0, tied, 0.0), b)
        residual = np.abs(y - a[..., None] + b[..., None] * x) / scale
        pull = base * np.minimum(1.0, _HUBER / np.maximum(residual, 1e-300))
    cost = residual**2 / 2
    if robust:
        cost = np.where(residual <= _HUBER, cost, _HUBER * (residual - _HUBER / 2))
    return a, b, (cost * weight[:, None, :]).sum(axis=-1)


def _rows_needed(laws: np.ndarray, score: float, greater_is_better: bool) -> np.ndarray:
    """(b / (a - score))^(1/c) for each law; infinite where a does not reach the score, 0 where all rows do."""
    sign = 1.0 if greater_is_better else -1.0
    a, b, c = sign * laws[..., 0], sign * laws[..., 1], laws[..., 2]
    room = a - sign * score
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        rows = np.exp(np.log(b / room) / c)
    return np.where(
        room < 0, np.inf, np.where(b <= 0, np.where(room >= 0, 0.0, np.inf), np.where(room == 0, np.inf, rows))
    )


# -- the learning curve -------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class RowsNeeded(Record):
    """How many training rows reach a score: `rows` (infinite if none do) and an interval."""

    score: float
    rows: float
    interval: Interval
    alpha: float
    sentence: str

    def _facts(self) -> list[tuple[str, str]]:
        return [("score", number(self.score)), ("rows", number(self.rows)), ("interval", interval_words(self.interval))]


class TrainingAndTest(Drawn, Record):
    """Scores on training and test rows, with one row per size or value and one column per split."""

    greater_is_better: bool
    train_scores: np.ndarray
    test_scores: np.ndarray

    @property
    def train_means(self) -> np.ndarray:
        """The mean training score at each size or value."""
        return self.train_scores.mean(axis=1)

    @property
    def test_means(self) -> np.ndarray:
        """The mean test score at each size or value."""
        return self.test_scores.mean(axis=1)

    @property
    def gaps(self) -> np.ndarray:
        """Training minus test score at each size or value (reversed for errors): how much the learner overfits."""
        return (self.train_means - self.test_means) * (1 if self.greater_is_better else -1)


@dataclass(frozen=True, kw_only=True, eq=False)
class LearningCurve(TrainingAndTest):
    """Scores against training rows: `train_scores` and `test_scores` have one row per size and one column per split.

    `law` is the fitted power law of the test scores, `laws` the same for each bootstrap draw of the splits.
    """

    metric: str
    greater_is_better: bool
    sizes: np.ndarray
    train_scores: np.ndarray
    test_scores: np.ndarray
    law: PowerLaw
    _laws: np.ndarray = field(repr=False)
    test_train_ratio: float
    alpha: float
    sentence: str

    @property
    def laws(self) -> np.ndarray:
        """One row (a, b, c) for each bootstrap draw."""
        return self._laws

    def predict(self, n: Any) -> Any:
        """The test score expected with n training rows; beyond the largest size this is extrapolation."""
        return self.law.predict(_row_counts("LearningCurve.predict", n))

    def predict_interval(self, n: Any, alpha: float | None = None) -> tuple[Any, Any]:
        """The lower and upper limits of `predict`, from the bootstrap over splits."""
        level = self._level(alpha)
        rows = _row_counts("LearningCurve.predict_interval", n)
        a, b, c = (column[:, None] for column in self._laws.T)
        drawn = a - b * np.power(rows.ravel()[None, :], -c)
        low, high = np.quantile(drawn, [level / 2, 1 - level / 2], axis=0)
        return low.reshape(rows.shape)[()], high.reshape(rows.shape)[()]

    def rows_needed(self, score: float, alpha: float | None = None) -> RowsNeeded:
        """How many training rows reach this test score, with an interval from the bootstrap over splits.

        Infinite where the fitted curve levels off before the score.
        """
        level = self._level(alpha)
        if not np.isfinite(score):
            raise ParameterError("LearningCurve.rows_needed", "parameter 'score'", "must be finite", f"got {score!r}")
        rows = self.law.rows_needed(score, self.greater_is_better)
        rows = math.ceil(rows) if math.isfinite(rows) else rows
        drawn = np.sort(np.ceil(_rows_needed(self._laws, score, self.greater_is_better)))
        # Quantiles of draws that may be infinite: order statistics, not interpolation.
        last = drawn.size - 1
        low, high = drawn[math.floor(level / 2 * last)], drawn[math.ceil((1 - level / 2) * last)]
        interval = (float(min(low, rows)), float(max(high, rows)))
        lead = f"A {self._title} of {number(score)}"
        within = f"{percent(1 - level)} interval {_rows_words(interval)}"
        if math.isinf(rows):
            text = f"{lead} is out of reach: the curve levels off at {number(self.law.a)} ({within})."
        else:
            note = "" if rows <= self.sizes[-1] else f", {number(rows / self.sizes[-1])} times the most tried"
            text = f"{lead} needs about {rows:,} training rows{note} ({within})."
        return RowsNeeded(score, float(rows), interval, level, text)

    def chart(self, extrapolate_to: float | None = None) -> Chart:
        """Scores on training and test rows, and the power law with its limits, up to `extrapolate_to` rows."""
        n = np.geomspace(self.sizes[0], extrapolate_to or self.sizes[-1], 100)
        low, high = self.predict_interval(n)
        sizes = self.sizes.tolist()
        lines = (
            Line(sizes, self.test_means.tolist(), "test rows", style="points"),
            Line(n.tolist(), self.predict(n).tolist(), "power law", low=low.tolist(), high=high.tolist()),
            Line(sizes, self.train_means.tolist(), "training rows", "muted", marker=True, dash="4 4"),
        )
        return Chart("Learning curve", "training rows", self._title, lines, log_x=True, description=self.sentence)

    def plot(self, ax: Any = None, *, extrapolate_to: float | None = None, **line: Any) -> LearningCurve:
        """Draw the curve (needs matplotlib); leaves `ax_` and `figure_` on the result."""
        ax, drawn = self.chart(extrapolate_to).plot(ax, "LearningCurve.plot", **line)
        for name, value in (("ax_", ax), ("figure_", ax.figure), ("line_", drawn[0])):
            object.__setattr__(self, name, value)
        return self

    @property
    def _title(self) -> str:
        return get_metric(self.metric).title

    def _level(self, alpha: float | None) -> float:
        check_alpha("LearningCurve", self.alpha if alpha is None else alpha)
        return self.alpha if alpha is None else alpha

    def to_dict(self) -> dict[str, Any]:
        """The curve as plain data, with its means and the limits of the law at each size."""
        low, high = self.predict_interval(self.sizes)
        more = {"train_means": self.train_means, "test_means": self.test_means, "fitted": self.predict(self.sizes)}
        more |= {"fitted_low": low, "fitted_high": high}
        law = {"a": self.law.a, "b": self.law.b, "c": self.law.c}
        return super().to_dict() | {name: values.tolist() for name, values in more.items()} | {"law": law}

    def _facts(self) -> list[tuple[str, str]]:
        rows = zip(self.sizes, self.train_means, self.test_means)
        return [(f"{n:,} rows", f"training {number(train)}, test {number(test)}") for n, train, test in rows]


def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sizes: Any = 8,
    design: Any = "10-fold",
    metric: str | Metric | None = None,
    groups: Any = None,
    n_bootstrap: int = 400,
    alpha: float = 0.05,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> LearningCurve:
    """Scores of an estimator against its number of training rows, with a fitted power law.

    `sizes` is how many sizes to try (spaced evenly in log n), or a list of numbers of rows or of shares of the
    training part. In each split of the `design` (a name, a `Design`, a splitter or a list of pairs) the training
    rows are put in random order, in which every beginning holds the classes in proportion; each size takes the
    first rows, so that larger sets contain the smaller ones. Open seeds of the estimator are set from `random_state`;
    `n_jobs` never changes the result.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> curve = learning_curve(GaussianNB(), X, y, sizes=[10, 20, 40, 80, 135], random_state=0)
    >>> curve.test_scores.shape
    (5, 10)
    >>> bool(0.9 < curve.predict(500) < 1)
    True
    """
    who = "learning_curve"
    check_alpha(who, alpha)
    if not isinstance(n_bootstrap, (int, np.integer)) or n_bootstrap < 2:
        raise ParameterError(who, "parameter 'n_bootstrap'", "must be an integer >= 2", f"got {n_bootstrap!r}")
    chosen = choose_metric(who, estimator, metric)
    target = read_target(who, X, y, is_classifier(estimator))
    root = Stream.of(random_state)
    pairs = list(as_splitter(who, design, root.child(0)).split(X, target, groups))
    if len(pairs) < 2:
        raise DataError(who, "the design", "must have at least 2 splits", f"got {len(pairs)}")
    counts = _sizes(sizes, min(np.unique(train).size for train, _ in pairs), target, is_classifier(estimator))
    orders = [
        _ordered(np.unique(train), target if is_classifier(estimator) else None, root.child(1).child(j).generator())
        for j, (train, _) in enumerate(pairs)
    ]

    places = [(i, j) for i in range(len(counts)) for j in range(len(pairs))]
    folds = [(np.sort(orders[j][: counts[i]]), pairs[j][1]) for i, j in places]
    streams = [root.child(2).child(j).child(i) for i, j in places]
    scores = score_folds(estimator, chosen, X, target, folds, streams, n_jobs).reshape(len(counts), len(pairs), 2)
    ratio = float(np.mean([test.size / np.unique(train).size for train, test in pairs]))
    return learning_curve_from_scores(
        counts,
        scores[..., 0],
        scores[..., 1],
        metric=chosen,
        test_train_ratio=ratio,
        n_bootstrap=n_bootstrap,
        alpha=alpha,
        random_state=root.child(3),
    )


def learning_curve_from_scores(
    sizes: Any,
    train_scores: Any,
    test_scores: Any,
    *,
    metric: str | Metric = "accuracy",
    test_train_ratio: float = 0.0,
    n_bootstrap: int = 400,
    alpha: float = 0.05,
    random_state: Any = None,
) -> LearningCurve:
    """The learning curve of scores that are already there (sizes x splits), such as scikit-learn's.

    `test_train_ratio` is n_test / n_train of the splits; 0 says that they are independent.

    >>> n = np.array([50, 100, 200, 400])
    >>> scores = (0.9 - n**-0.5)[:, None] + [[-0.002, 0.0, 0.002]]
    >>> curve = learning_curve_from_scores(n, scores, scores, random_state=0)
    >>> round(curve.rows_needed(0.88).rows, -1)
    2500.0
    """
    who = "learning_curve_from_scores"
    check_alpha(who, alpha)
    chosen = get_metric(metric)
    x, test = _read_scores(who, sizes, test_scores)
    train = np.asarray(train_scores, dtype=np.float64).reshape(test.shape)
    splits = test.shape[1]
    worth = _worth(splits, test_train_ratio, alpha)
    root = Stream.of(random_state)
    draws = np.array(
        [
            np.bincount(root.child(b).generator().integers(0, splits, worth), minlength=splits)
            for b in range(n_bootstrap)
        ],
        dtype=np.float64,
    )
    law = PowerLaw(*(float(v) for v in _fit(x, test, np.ones((1, splits)), chosen)[0]))
    laws = np.concatenate([_fit(x, test, part, chosen) for part in np.array_split(draws, max(1, n_bootstrap // 50))])
    return LearningCurve(
        metric=chosen.name,
        greater_is_better=chosen.greater_is_better,
        sizes=np.asarray(sizes),
        train_scores=train,
        test_scores=test,
        law=law,
        _laws=laws,
        test_train_ratio=test_train_ratio,
        alpha=alpha,
        sentence=_curve_words(x, test, law, laws, chosen, alpha),
    )


def _worth(splits: int, test_train_ratio: float, alpha: float) -> int:
    """How many splits a bootstrap draw holds, so that its spread is that of the mean over new rows.

    Drawing J of J splits understates the variance of their mean by (J - 1) / J, and percentiles lack the width of t,
    whose degrees of freedom are those of `corrected_interval`.
    """
    if splits == 1:
        return 1
    narrow = normal_quantile(1 - alpha / 2) / t_quantile(1 - alpha / 2, honest_df(splits, test_train_ratio))
    return max(2, round(narrow**2 * (splits - 1) / splits / (1 / splits + test_train_ratio)))


def _curve_words(
    sizes: np.ndarray, test: np.ndarray, law: PowerLaw, laws: np.ndarray, metric: Metric, alpha: float
) -> str:
    first, last = float(test[0].mean()), float(test[-1].mean())
    lead = (
        f"Mean {metric.title} goes from {number(first)} with {sizes[0]:,.0f} training rows to {number(last)} with "
        f"{sizes[-1]:,.0f}"
    )
    if law.b == 0:
        return f"{lead}; more rows do not improve it, so no power law is drawn."
    low, high = np.quantile(laws[:, 0] - laws[:, 1] * (2 * sizes[-1]) ** -laws[:, 2], [alpha / 2, 1 - alpha / 2])
    return (
        f"{lead}; twice as many rows would give about {number(float(law.predict(2 * sizes[-1])))} "
        f"({percent(1 - alpha)} interval {interval_words((float(low), float(high)))}), and endless "
        f"rows {number(law.a)}."
    )


def _rows_words(interval: Interval) -> str:
    low, high = (("no number of rows" if math.isinf(v) else f"{v:,.0f}") for v in interval)
    return low if low == high else f"{low} to {high}"


def _row_counts(who: str, n: Any) -> np.ndarray:
    rows = np.asarray(n, dtype=np.float64)
    if not (rows > 0).all():
        raise ParameterError(who, "parameter 'n'", "must be positive", f"got {plain(repr(n))}")
    return rows


def _sizes(sizes: Any, most: int, target: np.ndarray, classifier: bool) -> np.ndarray:
    who = "learning_curve"
    least = max(2, 2 * np.unique(target).size) if classifier else 5
    if isinstance(sizes, (int, np.integer)) and not isinstance(sizes, bool):
        if sizes < 3:
            raise ParameterError(who, "parameter 'sizes'", "must be at least 3", f"got {sizes}")
        start = max(least, round(0.05 * most))
        if start >= most:
            raise DataError(who, "X", f"must have more than {start} training rows in a split", f"got {most}")
        counts = np.unique(np.geomspace(start, most, sizes).round().astype(np.int64))
    else:
        given = np.asarray(sizes, dtype=np.float64)
        if given.ndim != 1 or not given.size or not np.isfinite(given).all() or (given <= 0).any():
            raise ParameterError(who, "parameter 'sizes'", "must be a number or a list of positive numbers")
        counts = np.unique((given * most if (given <= 1).all() else given).round().astype(np.int64))
    if counts[-1] > most:
        raise ParameterError(
            who,
            "parameter 'sizes'",
            f"must not exceed the {most} rows of the smallest training part",
            f"got {counts[-1]}",
        )
    if counts.size < 3 or counts[0] < 2:
        raise ParameterError(
            who, "parameter 'sizes'", "must give at least 3 different numbers of rows, of 2 or more", f"got {counts}"
        )
    return counts


def _ordered(rows: np.ndarray, target: np.ndarray | None, generator: np.random.Generator) -> np.ndarray:
    """The rows in random order, in which every beginning holds each class in proportion."""
    shuffled = generator.permutation(rows)
    if target is None:
        return shuffled
    _, codes, counts = np.unique(target[shuffled], return_inverse=True, return_counts=True)
    by_class = np.argsort(codes, kind="stable")
    place = np.empty(rows.size)
    # The k-th of m rows of a class stands at (k + u) / m, with one u per class so that no class is always first.
    within = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
    place[by_class] = (within + np.repeat(generator.random(counts.size), counts)) / np.repeat(counts, counts)
    return shuffled[np.argsort(place, kind="stable")]


# -- validation curve and gap -------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True, eq=False)
class ValidationCurve(TrainingAndTest):
    """Scores against the values of one setting (values x splits).

    `best` is the value with the best mean test score; `within_one_error` are the values whose mean is within one
    standard error of it (corrected for shared rows), from which the simplest may be taken.
    """

    metric: str
    greater_is_better: bool
    parameter: str
    values: list[Any]
    train_scores: np.ndarray
    test_scores: np.ndarray
    standard_errors: np.ndarray
    best: Any
    within_one_error: list[Any]
    sentence: str

    def chart(self) -> Chart:
        """Scores on training rows, and on test rows with a standard error to each side."""
        numeric = all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in self.values)
        x = [float(v) for v in self.values] if numeric else [float(k) for k in range(len(self.values))]
        means, errors = self.test_means, self.standard_errors
        limits = {"low": (means - errors).tolist(), "high": (means + errors).tolist(), "band": False}
        lines = (
            Line(x, means.tolist(), "test rows", marker=True, **limits),
            Line(x, self.train_means.tolist(), "training rows", "muted", marker=True, dash="4 4"),
        )
        names = () if numeric else tuple(str(v) for v in self.values)
        wide = numeric and min(x) > 0 and max(x) / min(x) >= 100
        title = get_metric(self.metric).title
        return Chart("Validation curve", self.parameter, title, lines, log_x=wide, x_names=names)

    def to_dict(self) -> dict[str, Any]:
        """The curve as plain data, with its means."""
        means = {"train_means": self.train_means.tolist(), "test_means": self.test_means.tolist()}
        return super().to_dict() | means | {"values": [v if _is_plain(v) else str(v) for v in self.values]}

    def _facts(self) -> list[tuple[str, str]]:
        rows = zip(self.values, self.train_means, self.test_means)
        return [(plain(v), f"training {number(train)}, test {number(test)}") for v, train, test in rows]


def validation_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    parameter: str,
    values: Sequence[Any],
    design: Any = "10-fold",
    metric: str | Metric | None = None,
    groups: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> ValidationCurve:
    """Training and test scores of an estimator for each value of one of its settings, on the same splits.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> curve = validation_curve(DecisionTreeClassifier(), X, y, parameter="max_depth", values=[1, 2, 3],
    ...                          design="5-fold", random_state=0)
    >>> curve.test_scores.shape
    (3, 5)
    """
    who = "validation_curve"
    settings = list(values)
    if not settings:
        raise ParameterError(who, "parameter 'values'", "must hold at least one value")
    chosen = choose_metric(who, estimator, metric)
    if hasattr(estimator, "get_params") and parameter not in estimator.get_params(deep=True):
        raise ParameterError(who, f"parameter '{plain(parameter)}'", f"is not one of {type(estimator).__name__}")
    train, test, pairs = _scores_of(
        who, estimator, X, y, [{parameter: value} for value in settings], design, chosen, groups, random_state, n_jobs
    )
    ratio = float(np.mean([rows.size / np.unique(fit).size for fit, rows in pairs]))
    error = test.std(axis=1, ddof=1) * math.sqrt(1 / test.shape[1] + ratio)
    sign = 1.0 if chosen.greater_is_better else -1.0
    means = sign * test.mean(axis=1)
    best = int(np.nanargmax(means)) if not np.isnan(means).all() else 0
    near = [settings[i] for i in np.flatnonzero(means >= means[best] - error[best])]
    text = (
        f"Mean {chosen.title} is best, {number(sign * means[best])}, at {parameter} = {plain(settings[best])}; "
        f"{len(near)} of {len(settings)} values are within one standard error ({number(float(error[best]))}) of it."
    )
    return ValidationCurve(
        metric=chosen.name,
        greater_is_better=chosen.greater_is_better,
        parameter=parameter,
        values=settings,
        train_scores=train,
        test_scores=test,
        standard_errors=error,
        best=settings[best],
        within_one_error=near,
        sentence=text,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class OverfittingGap(Record):
    """How much better a learner scores on its training rows than on test rows, with a corrected interval."""

    metric: str
    train_scores: np.ndarray
    test_scores: np.ndarray
    train: float
    test: float
    gap: float
    interval: Interval
    alpha: float
    sentence: str

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("training rows", number(self.train)),
            ("test rows", number(self.test)),
            ("gap", number(self.gap)),
            (f"{percent(1 - self.alpha)} interval", interval_words(self.interval)),
        ]


def overfitting_gap(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    design: Any = "10-fold",
    metric: str | Metric | None = None,
    groups: Any = None,
    alpha: float = 0.05,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> OverfittingGap:
    """The gap between training and test score, positive where the training rows are fitted better.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> result = overfitting_gap(KNeighborsClassifier(1), X, y, random_state=0)
    >>> result.train, round(result.gap, 2)
    (1.0, 0.04)
    """
    who = "overfitting_gap"
    check_alpha(who, alpha)
    chosen = choose_metric(who, estimator, metric)
    train, test, pairs = _scores_of(who, estimator, X, y, [{}], design, chosen, groups, random_state, n_jobs)
    sign = 1.0 if chosen.greater_is_better else -1.0
    gaps = sign * (train[0] - test[0])
    n_train = float(np.mean([np.unique(rows).size for rows, _ in pairs]))
    n_test = float(np.mean([rows.size for _, rows in pairs]))
    interval = corrected_interval(gaps, n_train=n_train, n_test=n_test, alpha=alpha)
    gap = float(gaps.mean())
    if interval[0] > 0:
        verdict = "it fits its training rows better than new ones"
    elif interval[1] < 0:
        verdict = "it scores better on test rows than on training rows, which calls for a look at the splits"
    else:
        verdict = "overfitting is not shown"
    text = (
        f"{chosen.title[0].upper()}{chosen.title[1:]} is {number(float(train.mean()))} on training rows and "
        f"{number(float(test.mean()))} on test rows: a gap of {number(gap)} ({percent(1 - alpha)} interval "
        f"{interval_words(interval)}), so {verdict}."
    )
    return OverfittingGap(
        metric=chosen.name,
        train_scores=train[0],
        test_scores=test[0],
        train=float(train.mean()),
        test=float(test.mean()),
        gap=gap,
        interval=interval,
        alpha=alpha,
        sentence=text,
    )


def _scores_of(
    who: str,
    estimator: Any,
    X: Any,
    y: Any,
    settings: list[Mapping[str, Any]],
    design: Any,
    metric: Metric,
    groups: Any,
    random_state: Any,
    n_jobs: int | None,
) -> tuple[np.ndarray, np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Training and test scores (settings x splits) of an estimator, and the splits."""
    target = read_target(who, X, y, is_classifier(estimator))
    root = Stream.of(random_state)
    pairs = list(as_splitter(who, design, root.child(0)).split(X, target, groups))
    if len(pairs) < 2:
        raise DataError(who, "the design", "must have at least 2 splits", f"got {len(pairs)}")

    streams = [root.child(1).child(j) for j in range(len(pairs))]
    scores = np.array(
        [score_folds(estimator, metric, X, target, pairs, streams, n_jobs, **setting) for setting in settings]
    )
    return scores[..., 0], scores[..., 1], pairs


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))
