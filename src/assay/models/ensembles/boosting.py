"""What boosted trees share: binned columns, the loss, rounds and when they end, stages, importances, plain data."""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.cost import Cost
from ...base.errors import DataError, ParameterError
from ...base.estimator import Estimator
from ...base.parameters import Boolean, Choice, Integer, Nothing, Real, param
from ...base.randomness import Stream
from ...base.threads import thread_count
from ...base.usual_parameters import categorical_features_param, n_jobs_param, random_state_param, trace_param
from ...base.views import ColumnShares
from ...base.weights import count_rows, in_units
from ...data.columns import ColumnSchema, MixedInput
from ...numeric.losses import weighted_quantile
from . import binning
from .binning import binned
from .forest import Forest
from .sql import logistic_sql, select_sql, sums_sql

LOSSES = (
    "squared_error",
    "absolute_error",
    "huber",
    "quantile",
    "poisson",
    "gamma",
    "tweedie",
    "log_loss",
    "softmax",
    "given",
)
"""Losses by the number under which the kernel knows them."""

LOG_LINK = ("poisson", "gamma", "tweedie")
"""Losses whose score is the logarithm of the mean."""

MOST_ROUNDS = 1000
"""Rounds at most where early stopping chooses how many."""

ROUNDS_UNSTOPPED = 100
"""Rounds where nothing tells how many are good: no early stopping, or a loss of one's own."""

FEW_ROWS = 2000
"""Below, folds choose the number of rounds; from here on rows held out do."""

FOLDS, DECIDING = 5, 2
"""Folds that choose the number of rounds, and how many of them choose the number of leaves."""

REPEATED = 4
"""A table of whole weights is repeated row by row before rows are drawn, up to so many times its length."""

USUAL: dict[str, Any] = {
    "learning_rate": 0.1,
    "max_leaf_nodes": 31,
    "min_samples_leaf": 20,
    "min_samples_category": 3,
    "subsample": 1.0,
    "l2_regularization": 1.0,
    "max_bins": 255,
}
"""What 'auto' stands for."""

OF_FEW_ROWS: dict[str, Any] = {
    "learning_rate": 0.05,
    "max_leaf_nodes": (4, 8, 31),  # the folds choose
    "min_samples_leaf": 5,
    "min_samples_category": 2,
    "subsample": 0.7,
    "l2_regularization": 3.0,
    "max_bins": 64,
}
"""What 'auto' stands for where folds choose the number of rounds of few rows: see docs/quality.md."""

MOST_ROWS = 1e9
"""Rows that whole-number weights may stand for; beyond, they are weights like any other."""

PENALTIES = ("min_hessian", "l2", "l1", "min_gain", "smoothing")
"""What stands beside sums of weights, in their unit."""


def base_score(
    loss: str, y: np.ndarray, weights: np.ndarray | None, offset: np.ndarray | None, parameter: float
) -> float:
    """The constant that, added to the offsets, minimises the loss; scores of classes have no offsets.

    >>> base_score("poisson", np.array([1.0, 3.0]), None, None, 0.0) == math.log(2.0)
    True
    """
    if loss == "log_loss" and offset is None and weights is None:  # whole numbers: no copies of the rows
        ones = float(np.count_nonzero(y))
        return _log_odds(y.shape[0] - ones, ones)
    w = np.ones(y.shape[0]) if weights is None else weights
    offset = np.zeros(y.shape[0]) if offset is None else offset
    if loss == "squared_error":
        return math.fsum(w * (y - offset)) / math.fsum(w)
    if loss in ("absolute_error", "huber", "quantile"):
        return weighted_quantile(y - offset, w, parameter if loss == "quantile" else 0.5)
    if loss in LOG_LINK:
        power = {"poisson": 1.0, "gamma": 2.0}.get(loss, parameter)
        top = math.fsum(w * y * np.exp((1.0 - power) * offset))
        return math.log(max(top / math.fsum(w * np.exp((2.0 - power) * offset)), 1e-100))
    second, first = math.fsum(w * y), math.fsum(w * (1.0 - y))
    return _log_odds(first, second)


def _log_odds(first: float, second: float) -> float:
    """Of the weights of two classes."""
    return math.log(max(second / (first + second), 1e-100)) - math.log(max(first / (first + second), 1e-100))


def own_base_score(derivatives: Callable[[float], tuple[float, float]], start: float) -> float:
    """The constant at which the summed gradient of a loss of one's own is zero: Newton's steps in a bracket.

    `derivatives` gives the sums of gradients and Hessians at a constant. The search begins at `start`, or at 0 where
    the loss is not finite there; it goes half the way where a step leads to numbers that are not.

    >>> round(math.exp(own_base_score(lambda score: (math.exp(score) - 700.0, math.exp(score)), 700.0)), 6)
    700.0
    """
    low, high, last = -math.inf, math.inf, math.inf
    at, here = start, derivatives(start)
    origin = derivatives(0.0)
    if not all(map(math.isfinite, here)):
        at, here = 0.0, origin
    elif all(map(math.isfinite, origin)) and origin[0] * here[0] < 0:
        low, high = min(0.0, at), max(0.0, at)
    if not all(map(math.isfinite, here)):
        return start
    for _ in range(200):
        gradient, curve = here
        if gradient == 0 or not curve > 0:
            break
        low, high = (at, high) if gradient < 0 else (low, at)
        step = -gradient / curve
        slow = abs(step) > 0.5 * last or not low < at + step < high
        if slow and math.isfinite(high - low):
            step = 0.5 * (low + high) - at
        if abs(step) <= 1e-12 * max(1.0, abs(at)):
            break
        there = derivatives(at + step)
        for _ in range(60):
            if all(map(math.isfinite, there)):
                break
            step *= 0.5
            there = derivatives(at + step)
        else:
            break
        at, here, last = at + step, there, abs(step)
    return at


def _mean_curve(curves: Sequence[np.ndarray]) -> np.ndarray:
    """The mean of losses by round; one that ended goes on to rise from where it was lowest, as the root of the rounds.

    If it stayed at its lowest, rounds that harm the rows of one fold would be chosen for what they bring to another:
    rows held out without any of a rare class gain by every round.

    >>> _mean_curve([np.array([1.0, 0.5, 0.6]), np.array([1.0, 0.9, 0.8, 0.7, 0.6])]).round(3)
    array([1.   , 0.7  , 0.7  , 0.671, 0.637])
    """
    longest = max(curve.shape[0] for curve in curves)
    return np.mean([_extended(curve, longest) for curve in curves], axis=0)


def _extended(curve: np.ndarray, length: int) -> np.ndarray:
    """Losses by round with what may follow: the last rise, times the root of the rounds since the lowest."""
    lowest = int(np.argmin(curve))
    since = curve.shape[0] - 1 - lowest
    if not since:  # no round could be added: the model stays as it is
        return np.pad(curve, (0, length - curve.shape[0]), mode="edge")
    later = np.arange(curve.shape[0], length) - lowest
    return np.concatenate([curve, curve[lowest] + (curve[-1] - curve[lowest]) * np.sqrt(later / since)])


class Boosting(MixedInput, Estimator):
    """Rounds of trees on binned columns; the classes below add the loss and what predictions are."""

    _way_out = "take a sample of the rows or set n_estimators"
    _by_batches = True
    _first_order = False
    _learned = {
        "forest_": "the trees as arrays",
        "n_estimators_": "rounds kept",
        "max_leaf_nodes_": "leaves of a tree at most, where the folds chose them, else None",
        "base_score_": "score before the first round",
        "train_loss_, validation_loss_": "mean loss before the first round and after each",
        "feature_importances_": "share of the gain that each column brought",
    }

    n_estimators: int | str = param(
        "auto",
        Integer(1) | Choice("auto"),
        "Rounds. 'auto': as many as lower the loss of rows that were not fitted, up to 1000: those of five folds for "
        "tables of fewer than 2000 rows, else rows held out (100 rounds without early stopping).",
    )
    learning_rate: float | str = param(0.1, Real(0, 1, "right"), "Factor of every tree's values.")
    max_leaf_nodes: int | str | None = param(31, Integer(2) | Nothing(), "Leaves of a tree at most; None for no limit.")
    max_depth: int | None = param(None, Integer(1) | Nothing(), "Deepest level of a leaf; None for no limit.")
    min_samples_leaf: int | str = param(
        20,
        Integer(1),
        "Rows that a leaf must hold; a row of whole-number weight w counts as w rows (10**9 at most).",
    )
    subsample: float | str = param(1.0, Real(0, 1, "right"), "Share of the rows drawn for each round.")
    max_features: float = param(1.0, Real(0, 1, "right"), "Share of the columns drawn for each tree.")
    max_bins: int | str = param(
        255, Integer(2, 255), "Bins per numeric column; one of no more distinct values is taken exactly."
    )
    early_stopping: bool | str = param(
        "auto",
        Boolean() | Choice("auto", "folds"),
        "Whether rows are held out to end the rounds; 'folds' takes the number of rounds that is best over five folds, "
        "and fits all rows. 'auto': where `n_estimators` is 'auto', by folds for tables of fewer than 2000 rows.",
    )
    validation_fraction: float = param(0.1, Real(0, 1, "neither"), "Share of the rows held out for early stopping.")
    n_iter_no_change: int = param(20, Integer(1), "Rounds without a lower loss of the rows held out that end the fit.")
    categorical_features: Any = categorical_features_param()
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    forest_: Forest
    schema_: ColumnSchema
    base_score_: np.ndarray
    n_outputs_: int
    max_leaf_nodes_: int | None

    _read, shares_rows = binning.read_columns, binning.shares_rows
    fit_folds, row_fits = binning.fit_folds, binning.row_fits

    # -- fitting -----------------------------------------------------------------------------------------------------
    def _batched_bytes(self, n_rows: int, n_features: int) -> float:
        return 3.0 * n_rows * n_features + 150.0 * n_rows + 2.0**29

    def _penalties(self, n_rows: int) -> dict[str, Any]:
        """What limits a tree beyond its size in a table of so many rows, as arguments of the kernel."""
        raise NotImplementedError  # pragma: no cover

    def _binned(self, cells: np.ndarray, weights: np.ndarray | None) -> Any:
        n_rows = cells.shape[0]
        if weights is not None and self._repeats(weights, n_rows):
            n_rows = int(weights.sum())
        bins = int(self._setting("max_bins", n_rows))
        return binned(cells, self.schema_.n_categories, weights, bins, thread_count(self.n_jobs))

    def _boost(
        self,
        held: list[Any],
        target: np.ndarray,
        weights: np.ndarray | None,
        offset: np.ndarray | None,
        loss: Any,
        parameter: float,
        classes: int = 0,
    ) -> None:
        """Fit the forest on the bins in the list; `target` are numbers, or class codes where `classes` > 0."""
        table = held.pop()
        threads = thread_count(self.n_jobs)
        repeated = self._repeats(weights, target.shape[0])
        keys = [part for part in (target, None if repeated else weights, offset) if part is not None]
        order = _kernels.content_order(table, np.column_stack(keys).astype(np.float64, copy=False), threads)
        del keys
        if weights is not None and repeated:
            order, weights = np.repeat(order, weights[order].astype(np.int64)), None
        stream = self._stream() if self.random_state is not None else Stream.of(0)
        task = (target, weights, offset, loss, parameter, classes, stream)
        n_rows = order.shape[0]
        if self._stops(n_rows) == "folds":
            leaves, curve = self._best_by_folds(table, order, *task)
            rounds = max(1, int(np.argmin(curve))) if curve.shape[0] else min(self._rounds(n_rows), ROUNDS_UNSTOPPED)
            booster = self._begun(_kernels.take_rows(table, order, threads), order, n_rows, leaves, *task)
            booster.run(rounds)
            self._keep(booster, booster.train_loss, curve)
            if isinstance(self.max_leaf_nodes, str):
                self.max_leaf_nodes_ = leaves
            return
        order, n_train = self._held_out(order, target, classes, stream)
        table = _kernels.take_rows(table, order, threads)
        leaves = self._setting("max_leaf_nodes", n_rows)
        booster = self._begun(table, order, n_train, leaves, *task)
        if callable(loss):
            self._run_custom(booster, loss, target.astype(np.float64), order, self._rounds(n_rows))
        else:
            booster.run(self._rounds(n_rows))
            if n_train < n_rows:
                booster.truncate(booster.best_round)
        self._keep(booster, booster.train_loss, booster.valid_loss)

    def _repeats(self, weights: np.ndarray | None, n_rows: int) -> bool:
        """Whether a row of whole weight w becomes w rows: drawn one by one, they are what repeated rows would be."""
        if weights is None or not count_rows(weights, max(REPEATED * n_rows, FEW_ROWS)):
            return False
        total = int(weights.sum())
        return bool(self._stops(total)) or float(self._setting("subsample", total)) < 1

    def _setting(self, name: str, n_rows: int) -> Any:
        """The value of a parameter, or what 'auto' stands for in a table of so many rows."""
        value = getattr(self, name)
        if not isinstance(value, str):
            return value
        few = isinstance(self.n_estimators, str) and n_rows < FEW_ROWS and self._stops(n_rows) == "folds"
        return (OF_FEW_ROWS if few else USUAL)[name]

    def _begun(
        self,
        table: Any,
        order: np.ndarray,
        n_train: int,
        leaves: int | None,
        target: np.ndarray,
        weights: np.ndarray | None,
        offset: np.ndarray | None,
        loss: Any,
        parameter: float,
        classes: int,
        stream: Stream,
    ) -> Any:
        """The kernel before its rounds on the first `n_train` rows of the order, in which the table is; the rest are
        held out."""
        y = target[order].astype(np.float64)
        w = None if weights is None else weights[order]
        penalties = self._penalties(order.shape[0])
        if w is not None and not count_rows(w, MOST_ROWS):
            w, factor = in_units(w)
            penalties |= {name: factor * penalties[name] for name in PENALTIES if name in penalties}
        shift = None if offset is None else offset[order]
        custom = loss if callable(loss) else None
        name = "given" if custom is not None else str(loss)
        self.n_outputs_ = classes if name == "softmax" else 1
        train = slice(0, n_train)
        part = None if w is None else w[train]
        if name == "softmax":
            shares = np.bincount(y[train].astype(np.int64), part, minlength=classes)
            self.base_score_ = np.log(np.maximum(shares, 1e-100) / shares.sum())
        else:
            start = "squared_error" if custom is not None else name
            moved = None if shift is None else shift[train]
            score = base_score(start, y[train], part, moved, parameter)
            if custom is not None:
                derivatives = self._derivatives(custom, target.astype(np.float64), offset, order[train], part)
                score = own_base_score(derivatives, score)
            self.base_score_ = np.array([score])
        start_scores = np.empty((y.shape[0], self.n_outputs_))
        start_scores[:] = self.base_score_ if shift is None else self.base_score_ + shift[:, None]
        return self._booster(table, y, w, start_scores, n_train, name, parameter, stream, penalties, leaves)

    def _best_by_folds(
        self, table: Any, order: np.ndarray, target: np.ndarray, *task: Any
    ) -> tuple[int | None, np.ndarray]:
        """The number of leaves with the lowest loss at its best round, and that loss by round: the mean of five folds.

        Where there is a choice, the first two folds decide on the leaves.

        Every class is spread over the folds; after a fold has ended, its loss goes on to rise (`_mean_curve`).
        """
        loss, classes, stream = task[2], task[4], task[5]
        if callable(loss):
            raise ParameterError(
                type(self).__name__, "parameter 'early_stopping'", "must be False for a loss of your own", "got 'folds'"
            )
        n_rows = order.shape[0]
        given = self._setting("max_leaf_nodes", n_rows)
        sizes = given if isinstance(given, tuple) else (given,)
        draws = stream.child(0).generator().permutation(n_rows)
        groups = target[order] if classes else np.zeros(n_rows)
        fold = np.empty(n_rows, dtype=np.int64)
        fold[np.lexsort((draws, groups))] = np.arange(n_rows) % FOLDS
        folds = []
        for out in range(min(FOLDS, n_rows)):
            rows, n_train = np.concatenate([order[fold != out], order[fold == out]]), int((fold != out).sum())
            if n_train and not (classes and np.unique(target[rows[:n_train]]).shape[0] < classes):
                folds.append((rows, n_train))
        if not folds:
            return sizes[-1], np.empty(0)
        first = folds[:DECIDING] if len(sizes) > 1 else folds
        curves = self._fold_curves(table, first, sizes, target, *task)
        best = int(np.argmin([_mean_curve(found).min() for found in curves]))
        rest = self._fold_curves(table, folds[len(first) :], sizes[best : best + 1], target, *task)
        return sizes[best], _mean_curve(curves[best] + rest[0])

    def _fold_curves(
        self, table: Any, folds: Sequence[tuple[np.ndarray, int]], sizes: Sequence[int | None], *task: Any
    ) -> list[list[np.ndarray]]:
        """For each number of leaves the losses by round of the rows that each fold holds out; few rows run together."""
        threads = thread_count(self.n_jobs)
        curves: list[list[np.ndarray]] = [[] for _ in sizes]
        begun: list[tuple[list[np.ndarray], Any]] = []
        for rows, n_train in folds:
            part = _kernels.take_rows(table, rows, threads)
            begun += [
                (found, self._begun(part, rows, n_train, leaves, *task))
                for leaves, found in zip(sizes, curves, strict=True)
            ]
            if rows.shape[0] < FEW_ROWS and rows is not folds[-1][0]:
                continue
            _kernels.run_together([booster for _, booster in begun], self._rounds(rows.shape[0]), threads)
            for found, booster in begun:
                found.append(np.asarray(booster.valid_loss))
            begun = []
        return curves

    def _booster(
        self,
        table: Any,
        y: np.ndarray,
        weights: np.ndarray | None,
        scores: np.ndarray,
        n_train: int,
        loss: str,
        parameter: float,
        stream: Stream,
        penalties: dict[str, Any],
        leaves: int | None,
    ) -> Any:
        """The kernel that grows the rounds, at the scores before the first."""
        n_rows = y.shape[0]
        return _kernels.Booster(
            table,
            y,
            weights,
            scores,
            n_train,
            loss=LOSSES.index(loss),
            parameter=parameter,
            learning_rate=float(self._setting("learning_rate", n_rows)),
            first_order=self._first_order,
            row_share=float(self._setting("subsample", n_rows)),
            columns_per_tree=self._columns(self.max_features, len(self.schema_.names)),
            max_leaves=0 if leaves is None else int(leaves),
            max_depth=-1 if self.max_depth is None else int(self.max_depth),
            min_rows=float(self._setting("min_samples_leaf", n_rows)),
            patience=int(self.n_iter_no_change) if n_train < n_rows else 0,
            key=stream.child(1).key,
            threads=thread_count(self.n_jobs),
            **penalties,
        )

    def _keep(self, booster: Any, train_loss: np.ndarray, validation_loss: np.ndarray) -> None:
        """What the kernel has grown, with the losses by round."""
        self.forest_ = Forest.of(booster.forest(), self.schema_.n_categories)
        self.n_estimators_ = int(booster.rounds)
        self.train_loss_, self.validation_loss_, self.max_leaf_nodes_ = train_loss, validation_loss, None
        self._record()

    def chosen(self) -> dict[str, int | float | str]:
        """The number of rounds, where rows held out ended the fit, and that of leaves, where folds chose it."""
        check_is_fitted(self)
        if not np.size(self.validation_loss_):
            return {}
        found: dict[str, int | float | str] = {"rounds": int(self.n_estimators_)}
        if self.max_leaf_nodes_ is not None:
            found["leaves"] = int(self.max_leaf_nodes_)
        return found

    def _rounds(self, n_rows: int) -> int:
        if not isinstance(self.n_estimators, str):
            return int(self.n_estimators)
        return MOST_ROUNDS if self._stops(n_rows) else ROUNDS_UNSTOPPED

    def _stops(self, n_rows: int) -> bool | str:
        """What ends the rounds: nothing, rows held out, or 'folds'."""
        if self.early_stopping != "auto":
            return self.early_stopping
        if not isinstance(self.n_estimators, str) or callable(getattr(self, "loss", None)):
            return False
        return "folds" if n_rows < FEW_ROWS else True

    @staticmethod
    def _columns(share: float, n_columns: int) -> int:
        return 0 if share >= 1 else max(1, math.ceil(float(share) * n_columns))

    def _held_out(self, order: np.ndarray, target: np.ndarray, classes: int, stream: Stream) -> tuple[np.ndarray, int]:
        """The rows with those to hold out last, and how many are fitted; each class gives its share."""
        if not self._stops(order.shape[0]):
            return order, order.shape[0]
        draws: np.ndarray = stream.child(0).generator().permutation(order.shape[0])
        out = np.zeros(order.shape[0], dtype=bool)
        groups = target[order] if classes else np.zeros(order.shape[0], dtype=np.int64)
        for code in range(max(classes, 1)):
            places = np.flatnonzero(groups == code)
            count = int(float(self.validation_fraction) * places.shape[0] + 0.5)
            out[places[np.argsort(draws[places], kind="stable")[: min(count, places.shape[0] - 1)]]] = True
        if not out.any():
            return order, order.shape[0]
        return np.concatenate([order[~out], order[out]]), int((~out).sum())

    def _given_pair(self, loss: Any, y: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradients and Hessians of a loss of one's own, rows in the order in which they came."""
        pair = loss(y, scores)
        try:
            gradient, hessian = (np.ascontiguousarray(part, dtype=np.float64) for part in pair)
        except (TypeError, ValueError):
            raise ParameterError(
                type(self).__name__, "parameter 'loss'", "must return the pair (gradients, Hessians)"
            ) from None
        if not gradient.shape == hessian.shape == scores.shape:
            raise ParameterError(
                type(self).__name__,
                "parameter 'loss'",
                "must return gradients and Hessians, one per row",
                f"got shapes {gradient.shape} and {hessian.shape} for {scores.shape[0]} rows",
            )
        return gradient, hessian

    def _derivatives(
        self, loss: Any, y: np.ndarray, offset: np.ndarray | None, rows: np.ndarray, weights: np.ndarray | None
    ) -> Callable[[float], tuple[float, float]]:
        """Sums over the rows of the gradients and Hessians of a loss of one's own at a constant; NaN beyond numbers."""
        shift = np.zeros(y.shape[0]) if offset is None else offset

        def derivatives(score: float) -> tuple[float, float]:
            with np.errstate(all="ignore"):
                pair = self._given_pair(loss, y, score + shift)
                parts = [part[rows] if weights is None else part[rows] * weights for part in pair]
            try:
                return math.fsum(parts[0]), math.fsum(parts[1])
            except (OverflowError, ValueError):
                return math.nan, math.nan

        return derivatives

    def _run_custom(self, booster: Any, loss: Any, y: np.ndarray, order: np.ndarray, rounds: int) -> None:
        """Rounds by a loss of one's own, which sees the rows as they came: it may hold numbers of its own for them."""
        scores = np.empty(y.shape[0])
        for _ in range(rounds):
            scores[order] = booster.scores
            gradient, hessian = self._given_pair(loss, y, scores)
            if not np.isfinite(gradient).all() or not np.isfinite(hessian).all() or (hessian < 0).any():
                wrong = ~np.isfinite(gradient) | ~np.isfinite(hessian) | (hessian < 0)
                row = int(np.flatnonzero(wrong)[0])
                raise ParameterError(
                    type(self).__name__,
                    "parameter 'loss'",
                    "must return finite gradients and Hessians >= 0",
                    f"got {gradient[row]:g} and {hessian[row]:g} in row {row} at a score of {scores[row]:g}",
                )
            booster.step(gradient[order, None], hessian[order, None])

    def _record(self) -> None:
        trace = self._new_trace()
        if trace.on:
            for step in range(self.n_estimators_ + 1):
                losses = {"training_loss": self.train_loss_, "validation_loss": self.validation_loss_}
                trace.record("round", round=step, **{k: float(v[step]) for k, v in losses.items() if len(v)})
        self._keep_trace(trace)

    def _offset(self, offset: Any, n_rows: int) -> np.ndarray | None:
        if offset is None:
            return None
        given = np.asarray(offset, dtype=np.float64)
        if given.shape != (n_rows,) or not np.isfinite(given).all():
            raise DataError(
                type(self).__name__, "offset", f"must hold one finite number for each of {n_rows} rows",
                f"got shape {given.shape}",
            )  # fmt: skip
        return given

    # -- using -------------------------------------------------------------------------------------------------------
    def _scores(self, X: Any, offset: Any = None) -> np.ndarray:
        """Scores before the link, one column per output."""
        check_is_fitted(self)
        cells = self._read(X, reset=False)
        shift = self._offset(offset, cells.shape[0])
        sums = self.forest_.sums(cells, self.n_outputs_, thread_count(self.n_jobs))
        sums += self.base_score_
        if shift is not None:
            sums += shift[:, None]
        return sums

    def _staged_scores(self, X: Any, offset: Any = None) -> Iterator[np.ndarray]:
        check_is_fitted(self)
        cells, k = self._read(X, reset=False), self.n_outputs_
        shift = self._offset(offset, cells.shape[0])
        sums = np.zeros((cells.shape[0], k)) if shift is None else np.repeat(shift[:, None], k, axis=1)
        for step in range(self.n_estimators_):
            sums = sums + self.forest_.sums(cells, k, thread_count(self.n_jobs), step * k, (step + 1) * k)
            yield self.base_score_ + sums

    def apply(self, X: Any) -> np.ndarray:
        """The leaf that each row reaches in each tree."""
        check_is_fitted(self)
        return self.forest_.leaves(self._read(X, reset=False), thread_count(self.n_jobs))

    @property
    def feature_importances_(self) -> np.ndarray:
        """For each column, the share of the total gain that its tests brought."""
        check_is_fitted(self)
        return self.forest_.importances()

    def to_dict(self) -> dict[str, Any]:
        """The model as plain data: `base_score`, `outputs`, `link` and the nested trees (see `Forest.to_dict`).

        The score of output k is its base score plus the values of the leaves in trees k, k + outputs, ...
        """
        check_is_fitted(self)
        return {
            "model": type(self).__name__,
            "schema": 1,
            "columns": list(self.schema_.names),
            "base_score": self.base_score_.tolist(),
            "outputs": self.n_outputs_,
            "link": self._link_name(),
            "trees": self.forest_.to_dict(self.schema_),
        }

    def _link_name(self) -> str:
        raise NotImplementedError  # pragma: no cover

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict())

    def to_sql(self, table: str | Sequence[str] | None = None, prediction: str = "prediction") -> str:
        """Predictions as SQL, up to 20,000 nodes: the probability of the second class or the mean (median, quantile).

        For more than two classes the scores of the classes, of which the largest wins. Missing cells are NULL.
        """
        check_is_fitted(self)
        columns = sums_sql(type(self).__name__, self.forest_, self.schema_, np.asarray(self.base_score_, dtype=float))
        link, labels = self._link_name(), getattr(self, "classes_", np.arange(len(columns))).tolist()
        if link == "logit":
            columns = [logistic_sql(columns[0])]
        elif link == "log":
            columns = [f"EXP({columns[0]})"]
        return select_sql(columns, prediction, labels, table)

    def view(self) -> ColumnShares:
        """The importances of the columns and the loss after each round."""
        check_is_fitted(self)
        return ColumnShares(
            title=f"Importance of columns: share of the gain of {self.n_estimators_} rounds",
            names=list(self.schema_.names),
            values=self.feature_importances_.tolist(),
            stages={"training": self.train_loss_.tolist(), "validation": self.validation_loss_.tolist()},
        )

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A pass over every cell per level of every tree, one byte a cell."""
        cells = float(n_rows) * n_features
        rounds = 200.0 if isinstance(self.n_estimators, str) else float(int(self.n_estimators))
        leaves = np.max(self._setting("max_leaf_nodes", n_rows) or 31)
        levels = 1.0 + 0.5 * math.log2(leaves)
        return Cost(seconds=(6e-8 + 1e-9 * levels * rounds) * cells + 1e-5 * rounds, bytes=2.0 * cells + 120.0 * n_rows)

    def estimate_predict_cost(self, n_rows: int, n_features: int, n_queries: int) -> Cost:
        """Every tree for every row."""
        rounds = float(self.n_estimators) if isinstance(self.n_estimators, numbers.Integral) else 200.0
        return Cost(seconds=1e-8 * rounds * n_queries, bytes=8.0 * n_queries * n_features)
