"""What a subset of columns is worth: errors of least squares from Gram matrices, or of any learner by refitting.

`GramParts` holds the centred and scaled Gram matrices of all rows and of every fold; `LinearScores` walks from subset
to subset by sweeps over them; `LearnerScores` does the same walk with a learner that was handed in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring, get_scorer_names

from .. import _kernels
from ..base import DataError, Fold, Kind
from ..base.folds import fit_folds, open_seeds, seeds_of
from ..base.randomness import Stream

# A column whose part not explained by the chosen ones has less than this share of its sum of squares depends on them.
TOLERANCE = 1e-10
# A column varies if its deviation is above this share of its mean.
CONSTANT = 1e-13
# The training part must keep this share of each column's variation, or its own rows are read instead of subtracting.
LEAST_SHARE = 1e-4
# Residuals below this share of the total sum of squares are rounding: the fit is perfect.
PERFECT = 1e-13

CRITERIA = ("cv", "aic", "bic", "adjusted_r2", "mallows_cp")


class Learner(Kind):
    """An object with `fit`."""

    def accepts(self, value: Any) -> bool:
        return hasattr(value, "fit") and not isinstance(value, type)

    def describe(self) -> str:
        return "an estimator"


class ScoreName(Kind):
    """One of scikit-learn's names of scores, or a scorer."""

    def accepts(self, value: Any) -> bool:
        return value in get_scorer_names() if isinstance(value, str) else callable(value)

    def describe(self) -> str:
        return "the name of a score or a scorer"

    def bad_values(self) -> list[Any]:
        return ["no such score", 3.7]


@dataclass(frozen=True)
class GramParts:
    """Gram matrices over the columns and the target (last), centred if there is an intercept, columns scaled.

    `whole` is of all rows; `train[f]` of the training rows of fold f, and `test[f]` of its test rows around the
    training means. The target is divided by the same length everywhere; its square is `total_squares`.
    """

    whole: np.ndarray
    train: np.ndarray | None
    test: np.ndarray | None
    test_weight: np.ndarray
    weight: float
    total_squares: float
    fit_intercept: bool

    @classmethod
    def of(
        cls,
        rows: np.ndarray,
        target: np.ndarray,
        weights: np.ndarray | None,
        folds: list[Fold] | None,
        *,
        fit_intercept: bool,
        threads: int,
    ) -> GramParts:
        """Read the rows once (twice for the rows of folds that cannot be had by subtraction)."""
        reader = _Reader(_within_range(rows), _within_range(target[:, None]), weights, fit_intercept, threads)
        shift = reader.means(None)
        if folds is None:
            parts, total = [], reader.sums(shift, None)
        else:
            parts = [reader.sums(shift, test) for _, test in folds]
            total = sum(parts[1:], parts[0].copy()) if _is_partition(folds, len(target)) else reader.sums(shift, None)
        whole, _ = reader.centre(total)
        lengths = reader.lengths(whole, shift, total)
        height = np.sqrt(whole[-1, -1]) if whole[-1, -1] > 0 else 1.0
        train = test = None
        if folds is not None:
            shape = (len(folds), *whole.shape)
            train, test = np.empty(shape), np.empty(shape)
            for f, fold in enumerate(folds):
                near, sums, left_out = shift, total - parts[f], parts[f]
                if not reader.keeps_digits(fold, sums, np.diag(whole)):
                    near = reader.means(fold[0])
                    sums, left_out = (reader.sums(near, rows) for rows in fold)
                train[f], test[f] = reader.fold(near, sums, left_out, height)
        unit = float(_power(target[:, None])[0])
        return cls(
            _scaled(whole, lengths, height),
            train,
            test,
            np.array([part[-1, -1] for part in parts]),
            float(total[-1, -1]),
            float(height / unit) ** 2 if whole[-1, -1] > 0 else 0.0,
            fit_intercept,
        )

    @property
    def usable(self) -> np.ndarray:
        """Which columns vary."""
        return np.diag(self.whole)[:-1] > 0


@dataclass(frozen=True)
class _Reader:
    """Reads sums over rows, centres them and finds the parts of a fold."""

    rows: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None
    fit_intercept: bool
    threads: int

    def means(self, chosen: np.ndarray | None) -> np.ndarray:
        """Column means (unweighted: any value near the middle serves), or zeros without an intercept."""
        if not self.fit_intercept:
            return np.zeros(self.rows.shape[1] + 1)
        rows, targets = (self.rows, self.targets) if chosen is None else (self.rows[chosen], self.targets[chosen])
        return np.append(rows.mean(axis=0), targets.mean(axis=0))

    def sums(self, shift: np.ndarray, chosen: np.ndarray | None) -> np.ndarray:
        indices = None if chosen is None else np.ascontiguousarray(chosen, dtype=np.int64)
        count, width = self.rows.shape[0] if indices is None else indices.shape[0], self.rows.shape[1]
        # Below a few milliseconds of work, waking threads costs more than it saves; the sums are the same bits.
        threads = self.threads if count * width**2 > 2e7 else 1
        return _kernels.weighted_gram(self.rows, self.targets, shift, self.weights, indices, threads)

    def centre(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squares and products around the mean, and the mean less the shift."""
        if not self.fit_intercept:
            return sums[:-1, :-1], np.zeros(sums.shape[0] - 1)
        offset = sums[-1, :-1] / sums[-1, -1]
        return sums[:-1, :-1] - np.outer(sums[-1, :-1], offset), offset

    def lengths(self, centred: np.ndarray, shift: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Length of each column, zero for one that does not vary."""
        squares = np.maximum(np.diag(centred)[:-1], 0.0)
        if self.fit_intercept:
            middle = np.abs(shift[:-1]) + np.abs(sums[-1, :-2]) / sums[-1, -1]
            squares = np.where(squares > sums[-1, -1] * (CONSTANT * middle) ** 2, squares, 0.0)
        return np.sqrt(squares)

    def keeps_digits(self, fold: Fold, rest: np.ndarray, variation: np.ndarray) -> bool:
        """Whether the training rows are those left beside the test rows, and enough varies in their sums, `rest`."""
        return _is_complement(fold[0], fold[1], self.rows.shape[0]) and bool(
            (np.diag(self.centre(rest)[0]) >= LEAST_SHARE * variation).all()
        )

    def fold(
        self, shift: np.ndarray, sums: np.ndarray, left_out: np.ndarray, height: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The scaled matrices (train, test) from the sums of the training rows and of the test rows."""
        centred, offset = self.centre(sums)
        around = left_out[:-1, :-1]
        if self.fit_intercept:
            crossed = np.outer(left_out[-1, :-1], offset)
            around = around - crossed - crossed.T + left_out[-1, -1] * np.outer(offset, offset)
        lengths = self.lengths(centred, shift, sums)
        return _scaled(centred, lengths, height), _scaled(around, lengths, height)


def _power(columns: np.ndarray) -> np.ndarray:
    """A power of two for each column whose squares would leave the range of float64, else 1."""
    top = np.maximum(np.abs(columns.max(axis=0, initial=0.0)), np.abs(columns.min(axis=0, initial=0.0)))
    outside = (top > 1e100) | ((top < 1e-100) & (top > 0))
    return np.where(outside, np.exp2(-np.clip(np.frexp(np.where(top > 0, top, 1.0))[1], -1000, 1000)), 1.0)


def _within_range(columns: np.ndarray) -> np.ndarray:
    power = _power(columns)
    return columns if (power == 1.0).all() else np.ascontiguousarray(columns * power)


def _scaled(matrix: np.ndarray, lengths: np.ndarray, height: float) -> np.ndarray:
    """Rows and columns divided by their lengths; zero where a column does not vary."""
    inverse = np.append(np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0), 1.0 / height)
    scaled = matrix * inverse
    scaled *= inverse[:, None]
    return scaled


def _is_complement(train: np.ndarray, test: np.ndarray, n_rows: int) -> bool:
    if train.shape[0] + test.shape[0] != n_rows:
        return False
    seen = np.zeros(n_rows, dtype=bool)
    seen[train] = seen[test] = True
    return bool(seen.all())


def _is_partition(folds: list[Fold], n_rows: int) -> bool:
    tests = np.concatenate([test for _, test in folds])
    return tests.shape[0] == n_rows and np.unique(tests).shape[0] == n_rows


@dataclass(frozen=True)
class Criterion:
    """A rule that turns the errors of a subset into one number to make small (`loss`) and one to show (`shown`)."""

    name: str
    weight: float
    intercept: int
    total_squares: float
    full_variance: float = 0.0
    """Residual variance of all columns, as a share of the total sum of squares; for Mallows' Cp."""

    @classmethod
    def of(cls, parts: GramParts, name: str, who: str) -> Criterion:
        """The criterion for these rows; the error of folds needs none of it."""
        full = 0.0
        if name == "mallows_cp":
            error, rank = subset_errors(parts.whole, None, None, np.flatnonzero(parts.usable).tolist())
            count = rank + int(parts.fit_intercept)
            if parts.weight <= count:
                raise DataError(
                    who,
                    "criterion 'mallows_cp'",
                    "needs more rows than columns",
                    f"got {parts.weight:g} rows for {count} coefficients",
                    "use 'cv' or 'bic'",
                )
            full = float(error[0]) / (parts.weight - count)
        return cls(name, parts.weight, int(parts.fit_intercept), parts.total_squares, full)

    def loss(self, share: Any, size: int) -> Any:
        """The loss of subsets of one size whose residuals are this share of the total sum of squares."""
        share = np.where(np.asarray(share) > PERFECT, share, PERFECT)
        n, count = self.weight, size + self.intercept
        if self.name in ("aic", "bic"):
            scale = self.total_squares if self.total_squares > 0 else 1.0
            penalty = 2.0 if self.name == "aic" else np.log(n)
            return n * (np.log(2 * np.pi * scale / n) + np.log(share) + 1.0) + penalty * count
        if self.name == "mallows_cp":
            return share / max(self.full_variance, PERFECT / n) - n + 2.0 * count
        free = n - count
        return share * (n - self.intercept) / free - 1.0 if free > 0 else np.full_like(share, np.inf)

    def shown(self, loss: float) -> float:
        """The number as it is usually written: adjusted R2 is large when good."""
        return -loss if self.name == "adjusted_r2" else loss


def subset_errors(
    whole: np.ndarray, train: np.ndarray | None, test: np.ndarray | None, columns: Sequence[int]
) -> tuple[np.ndarray, int]:
    """The errors of one subset from nothing, and how many of its columns are independent."""
    sweep = _kernels.SubsetSweep(whole, train, test, TOLERANCE, False, 1)
    for column in columns:
        sweep.add(int(column))
    return sweep.errors(), len(columns) - sweep.redundant().shape[0]


class LinearScores:
    """A subset under least squares: its loss, and the loss after every single addition or removal."""

    def __init__(self, parts: GramParts, criterion: str, who: str, *, removals: bool, threads: int):
        self.parts, self.who, self.name = parts, who, criterion
        self.chosen: list[int] = []
        train, test = (parts.train, parts.test) if criterion == "cv" else (None, None)
        self._sweep = _kernels.SubsetSweep(parts.whole, train, test, TOLERANCE, removals, threads)
        self.criterion = Criterion.of(parts, criterion, who)
        self.slack = 1e-11 * (max(self.loss(), parts.total_squares / parts.weight) if criterion == "cv" else 1.0)
        if criterion in ("aic", "bic", "mallows_cp"):
            self.slack = 1e-11 * parts.weight

    def _losses(self, errors: np.ndarray, size: int) -> np.ndarray:
        if self.name != "cv":
            return np.where(np.isnan(errors[0]), np.nan, self.criterion.loss(errors[0], size))
        mean = (errors[1:] / self.parts.test_weight.reshape(-1, *[1] * (errors.ndim - 1))).mean(axis=0)
        return np.where(np.isnan(errors[0]), np.nan, mean * self.parts.total_squares)

    def loss(self) -> float:
        """Of the subset as it is."""
        return float(self._losses(self._sweep.errors(), len(self.chosen)))

    def additions(self, among: np.ndarray) -> np.ndarray:
        """Loss after adding each column; NaN for columns not in `among`, in the subset, or dependent on it."""
        return np.where(among, self._losses(self._sweep.additions(), len(self.chosen) + 1), np.nan)

    def removals(self, among: np.ndarray) -> np.ndarray:
        """Loss after removing each column; NaN for columns not in `among` or not in the subset."""
        return np.where(among, self._losses(self._sweep.removals(), len(self.chosen) - 1), np.nan)

    def add(self, column: int) -> None:
        """Take a column in."""
        self._sweep.add(column)
        self.chosen.append(column)

    def remove(self, column: int) -> None:
        """Take a column out."""
        self._sweep.remove(column)
        self.chosen.remove(column)

    def redundant(self) -> list[int]:
        """Columns of the subset that depend on the others."""
        return [int(column) for column in self._sweep.redundant()]

    def row(self) -> dict[str, float]:
        """Everything known about the subset, for the table of scores."""
        errors, size = self._sweep.errors(), len(self.chosen)
        row = {"size": size, "criterion": self.criterion.shown(float(self._losses(errors, size)))}
        if self.name == "cv":
            row |= fold_summary(errors[1:] / self.parts.test_weight * self.parts.total_squares)
        return row | information_row(self.parts, float(errors[0]), size)


def fold_summary(errors: np.ndarray) -> dict[str, float]:
    """Mean squared error over folds, and its standard error."""
    count = errors.shape[0]
    spread = float(errors.std(ddof=1) / np.sqrt(count)) if count > 1 else float("nan")
    return {"cv_error": float(errors.mean()), "cv_error_se": spread}


def information_row(parts: GramParts, share: float, size: int) -> dict[str, float]:
    """Residual sum of squares, R2 and the information criteria of a subset, from its share of the total."""
    share = share if size else 1.0  # without columns, all of it to the last digit
    row = {"rss": share * parts.total_squares, "r2": 1.0 - share}
    for name in ("aic", "bic", "adjusted_r2"):
        rule = Criterion(name, parts.weight, int(parts.fit_intercept), parts.total_squares)
        row[name] = rule.shown(float(rule.loss(share, size)))
    return row


class LearnerScores:
    """A subset under any learner: the mean score over folds, fitted by `fit_folds` where the learner has it.

    Open seeds of the learner come from the fold's own stream, so that subsets are compared on the same draws.
    """

    slack = 1e-12

    def __init__(
        self,
        estimator: Any,
        scoring: Any,
        X: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        folds: list[Fold],
        n_jobs: int | None,
        stream: Stream,
    ):
        self.estimator, self.scorer = estimator, check_scoring(estimator, scoring)
        self.X, self.y, self.weights, self.folds, self.n_jobs = X, y, weights, folds, n_jobs
        self.chosen: list[int] = []
        self._known: dict[tuple[int, ...], np.ndarray] = {}
        names = open_seeds(estimator)
        self._seeds = [seeds_of(names, stream.child(k)) for k in range(len(folds))] if names else None

    def _fold_scores(self, columns: tuple[int, ...]) -> np.ndarray:
        X, weights = np.ascontiguousarray(self.X[:, columns]), self.weights
        models = fit_folds(clone(self.estimator), X, self.y, self.folds, weights, settings=self._seeds)
        scores = []
        for (_, test), model in zip(self.folds, models, strict=True):
            extra = {} if weights is None else {"sample_weight": weights[test]}
            scores.append(float(self.scorer(model, X[test], self.y[test], **extra)))
        return np.array(scores)

    def _need(self, subsets: list[tuple[int, ...]]) -> None:
        missing = [subset for subset in dict.fromkeys(subsets) if subset and subset not in self._known]
        found = Parallel(n_jobs=self.n_jobs, prefer="threads")(delayed(self._fold_scores)(s) for s in missing)
        self._known.update(zip(missing, found, strict=True))

    def _loss_of(self, columns: tuple[int, ...]) -> float:
        return -float(self._known[columns].mean()) if columns else float("inf")

    def loss(self) -> float:
        """Of the subset as it is; infinite for the empty subset."""
        own = tuple(sorted(self.chosen))
        self._need([own])
        return self._loss_of(own)

    def _moves(self, columns: np.ndarray, change: Any) -> np.ndarray:
        subsets = {int(j): tuple(sorted(change(set(self.chosen), int(j)))) for j in columns}
        self._need(list(subsets.values()))
        losses = np.full(self.X.shape[1], np.nan)
        for j, subset in subsets.items():
            losses[j] = self._loss_of(subset)
        return losses

    def additions(self, among: np.ndarray) -> np.ndarray:
        """Loss after adding each column of `among` that is not in the subset."""
        outside = [j for j in np.flatnonzero(among) if j not in self.chosen]
        return self._moves(np.array(outside, dtype=np.int64), lambda subset, j: subset | {j})

    def removals(self, among: np.ndarray) -> np.ndarray:
        """Loss after removing each column of `among` that is in the subset."""
        inside = [j for j in np.flatnonzero(among) if j in self.chosen]
        return self._moves(np.array(inside, dtype=np.int64), lambda subset, j: subset - {j})

    def add(self, column: int) -> None:
        """Take a column in."""
        self.chosen.append(column)

    def remove(self, column: int) -> None:
        """Take a column out."""
        self.chosen.remove(column)

    def redundant(self) -> list[int]:
        """None: a learner copes with dependent columns in its own way."""
        return []

    def row(self) -> dict[str, float]:
        """Everything known about the subset, for the table of scores."""
        loss = self.loss()
        scores = self._known.get(tuple(sorted(self.chosen)), np.array([np.nan]))
        spread = float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else float("nan")
        return {"size": len(self.chosen), "criterion": -loss, "cv_score_se": spread}


def stratifies(estimator: Any) -> bool:
    """Whether folds should keep the shares of the classes."""
    return estimator is not None and is_classifier(estimator)
