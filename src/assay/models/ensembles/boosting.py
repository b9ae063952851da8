"""What boosted trees share: binned columns, the loss, rounds and when they end, stages, importances, plain data."""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Iterator, Sequence
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

ROUNDS_OF_FEW_ROWS = 100
"""Rounds where there are too few rows to hold some out."""

FEW_ROWS = 1000

FOLDS = 5
"""Folds that choose the number of rounds, if asked to."""

MOST_ROWS = 1e9
"""Rows that whole-number weights may stand for; beyond, they are weights like any other."""

PENALTIES = ("min_hessian", "l2", "l1", "min_gain", "smoothing")
"""What stands beside sums of weights, in their unit."""


def base_score(loss: str, y: np.ndarray, weights: np.ndarray | None, offset: np.ndarray, parameter: float) -> float:
    """The constant that, added to the offsets, minimises the loss.

    >>> base_score("poisson", np.array([1.0, 3.0]), None, np.zeros(2), 0.0) == math.log(2.0)
    True
    """
    w = np.ones(y.shape[0]) if weights is None else weights
    if loss == "squared_error":
        return math.fsum(w * (y - offset)) / math.fsum(w)
    if loss in ("absolute_error", "huber", "quantile"):
        return weighted_quantile(y - offset, w, parameter if loss == "quantile" else 0.5)
    if loss in LOG_LINK:
        power = {"poisson": 1.0, "gamma": 2.0}.get(loss, parameter)
        top = math.fsum(w * y * np.exp((1.0 - power) * offset))
        return math.log(max(top / math.fsum(w * np.exp((2.0 - power) * offset)), 1e-100))
    second, first = math.fsum(w * y), math.fsum(w * (1.0 - y))
    score = math.log(max(second / (first + second), 1e-100)) - math.log(max(first / (first + second), 1e-100))
    if not offset.any():
        return score
    for _ in range(100):
        p = 1.0 / (1.0 + np.exp(-np.clip(score + offset, -200, 200)))
        step = math.fsum(w * (y - p)) / max(math.fsum(w * p * (1.0 - p)), 1e-12)
        score += max(-2.0, min(2.0, step))
        if abs(step) < 1e-12:
            break
    return score


def weighted_quantile(values: np.ndarray, weights: np.ndarray, level: float) -> float:
    """The smallest value with at least `level` of the weight up to it; the mean with the next if exactly so much.

    >>> weighted_quantile(np.array([3.0, 1.0, 2.0, 4.0]), np.ones(4), 0.5)
    2.5
    """
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    wanted = level * total[-1]
    at = min(int(np.searchsorted(total, wanted)), order.shape[0] - 1)
    here = float(values[order[at]])
    if total[at] > wanted or at + 1 == order.shape[0]:
        return here
    return 0.5 * (here + float(values[order[at + 1]]))


class Boosting(MixedInput, Estimator):
    """Rounds of trees on binned columns; the classes below add the loss and what predictions are."""

    _way_out = "take a sample of the rows or set n_estimators"
    _by_batches = True
    _first_order = False
    _learned = {
        "forest_": "the trees as arrays",
        "n_estimators_": "rounds kept",
        "base_score_": "score before the first round",
        "train_loss_, validation_loss_": "mean loss before the first round and after each",
        "feature_importances_": "share of the gain that each column brought",
    }

    n_estimators: int | str = param(
        "auto",
        Integer(1) | Choice("auto"),
        "Rounds. 'auto': as many as lower the loss of rows held out, up to 1000 (100 for tables of fewer than 1000 "
        "rows, of which none are held out).",
    )
    learning_rate: float = param(0.1, Real(0, 1, "right"), "Factor of every tree's values.")
    max_leaf_nodes: int | None = param(31, Integer(2) | Nothing(), "Leaves of a tree at most; None for no limit.")
    max_depth: int | None = param(None, Integer(1) | Nothing(), "Deepest level of a leaf; None for no limit.")
    min_samples_leaf: int = param(
        20,
        Integer(1),
        "Rows that a leaf must hold; a row of whole-number weight w counts as w rows (10**9 at most).",
    )
    subsample: float = param(1.0, Real(0, 1, "right"), "Share of the rows drawn for each round.")
    max_features: float = param(1.0, Real(0, 1, "right"), "Share of the columns drawn for each tree.")
    max_bins: int = param(
        255, Integer(2, 255), "Bins per column; a column of no more distinct values is taken exactly."
    )
    early_stopping: bool | str = param(
        "auto",
        Boolean() | Choice("auto", "folds"),
        "Whether rows are held out to end the rounds: 'auto' does so where `n_estimators` is 'auto'; 'folds' takes the "
        "number of rounds that is best over five folds, and fits all rows.",
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

    _read, shares_rows = binning.read_columns, binning.shares_rows
    fit_folds, row_fits = binning.fit_folds, binning.row_fits

    # -- fitting -----------------------------------------------------------------------------------------------------
    def _batched_bytes(self, n_rows: int, n_features: int) -> float:
        return 3.0 * n_rows * n_features + 150.0 * n_rows + 2.0**29

    def _penalties(self) -> dict[str, Any]:
        """What limits a tree beyond its size, as arguments of the kernel."""
        raise NotImplementedError  # pragma: no cover

    def _binned(self, cells: np.ndarray, weights: np.ndarray | None) -> Any:
        return binned(cells, self.schema_.n_categories, weights, int(self.max_bins), thread_count(self.n_jobs))

    def _boost(
        self,
        table: Any,
        target: np.ndarray,
        weights: np.ndarray | None,
        offset: np.ndarray | None,
        loss: Any,
        parameter: float,
        classes: int = 0,
    ) -> None:
        """Fit the forest on binned columns; `target` are numbers, or class codes where `classes` > 0."""
        threads = thread_count(self.n_jobs)
        keys = [target] + [part for part in (weights, offset) if part is not None]
        order = _kernels.content_order(table, np.column_stack(keys).astype(np.float64, copy=False), threads)
        del keys
        stream = self._stream() if self.random_state is not None else Stream.of(0)
        task = (target, weights, offset, loss, parameter, classes, stream)
        n_rows = order.shape[0]
        if self.early_stopping == "folds":
            rounds, curve = self._rounds_by_folds(table, order, *task)
            booster = self._grown(_kernels.take_rows(table, order, threads), order, n_rows, rounds, *task)
            self._keep(booster, booster.train_loss, curve)
            return
        order, n_train = self._held_out(order, target, classes, stream)
        table = _kernels.take_rows(table, order, threads)
        booster = self._grown(table, order, n_train, self._rounds(n_rows), *task)
        if n_train < n_rows and not callable(loss):
            booster.truncate(booster.best_round)
        self._keep(booster, booster.train_loss, booster.valid_loss)

    def _grown(
        self,
        table: Any,
        order: np.ndarray,
        n_train: int,
        rounds: int,
        target: np.ndarray,
        weights: np.ndarray | None,
        offset: np.ndarray | None,
        loss: Any,
        parameter: float,
        classes: int,
        stream: Stream,
    ) -> Any:
        """The kernel after so many rounds on the first `n_train` rows of the order, in which the table is; the rest are
        held out."""
        y = target[order].astype(np.float64)
        w = None if weights is None else weights[order]
        penalties = self._penalties()
        if w is not None and not count_rows(w, MOST_ROWS):
            w, factor = in_units(w)
            penalties |= {name: factor * penalties[name] for name in PENALTIES if name in penalties}
        shift = np.zeros(y.shape[0]) if offset is None else offset[order]
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
            self.base_score_ = np.array([base_score(start, y[train], part, shift[train], parameter)])
        start_scores = np.ascontiguousarray(self.base_score_[None, :] + shift[:, None])
        booster = self._booster(table, y, w, start_scores, n_train, name, parameter, stream, penalties)
        if custom is not None:
            self._run_custom(booster, custom, y, rounds)
            return booster
        del y, w, part, shift, start_scores  # the kernel has its own
        booster.run(rounds)
        return booster

    def _rounds_by_folds(self, table: Any, order: np.ndarray, target: np.ndarray, *task: Any) -> tuple[int, np.ndarray]:
        """How many rounds give the lowest mean loss over five folds, and that loss by round.

        Every class is spread over the folds; after a fold has ended, its loss stays what it was at its best round.
        """
        loss, classes, stream = task[2], task[4], task[5]
        if callable(loss):
            raise ParameterError(
                type(self).__name__, "parameter 'early_stopping'", "must be False for a loss of your own", "got 'folds'"
            )
        draws = stream.child(0).generator().permutation(order.shape[0])
        groups = target[order] if classes else np.zeros(order.shape[0])
        fold = np.empty(order.shape[0], dtype=np.int64)
        fold[np.lexsort((draws, groups))] = np.arange(order.shape[0]) % FOLDS
        curves = []
        for out in range(min(FOLDS, order.shape[0])):
            rows = np.concatenate([order[fold != out], order[fold == out]])
            n_train = int((fold != out).sum())
            if n_train == 0 or (classes and np.unique(target[rows[:n_train]]).shape[0] < classes):
                continue
            part = _kernels.take_rows(table, rows, thread_count(self.n_jobs))
            booster = self._grown(part, rows, n_train, self._rounds(order.shape[0]), target, *task)
            curves.append(np.asarray(booster.valid_loss))
        if not curves:
            return self._rounds(order.shape[0]), np.empty(0)
        longest = max(curve.shape[0] for curve in curves)
        mean = np.mean([np.pad(c, (0, longest - c.shape[0]), constant_values=c.min()) for c in curves], axis=0)
        return max(1, int(np.argmin(mean))), mean

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
    ) -> Any:
        """The kernel that grows the rounds, at the scores before the first."""
        return _kernels.Booster(
            table,
            y,
            weights,
            scores,
            n_train,
            loss=LOSSES.index(loss),
            parameter=parameter,
            learning_rate=float(self.learning_rate),
            first_order=self._first_order,
            row_share=float(self.subsample),
            columns_per_tree=self._columns(self.max_features, len(self.schema_.names)),
            max_leaves=0 if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
            max_depth=-1 if self.max_depth is None else int(self.max_depth),
            min_rows=float(self.min_samples_leaf),
            patience=int(self.n_iter_no_change) if n_train < y.shape[0] else 0,
            key=stream.child(1).key,
            threads=thread_count(self.n_jobs),
            **penalties,
        )

    def _keep(self, booster: Any, train_loss: np.ndarray, validation_loss: np.ndarray) -> None:
        """What the kernel has grown, with the losses by round."""
        self.forest_ = Forest.of(booster.forest(), self.schema_.n_categories)
        self.n_estimators_ = int(booster.rounds)
        self.train_loss_, self.validation_loss_ = train_loss, validation_loss
        self._record()

    def chosen(self) -> dict[str, int | float | str]:
        """The number of rounds, where rows held out ended the fit."""
        check_is_fitted(self)
        return {"rounds": int(self.n_estimators_)} if np.size(self.validation_loss_) else {}

    def _rounds(self, n_rows: int) -> int:
        if not isinstance(self.n_estimators, str):
            return int(self.n_estimators)
        return MOST_ROUNDS if self._stops_early(n_rows) else ROUNDS_OF_FEW_ROWS

    def _stops_early(self, n_rows: float) -> bool:
        if self.early_stopping != "auto":
            return bool(self.early_stopping)
        return isinstance(self.n_estimators, str) and n_rows >= FEW_ROWS and not callable(getattr(self, "loss", None))

    @staticmethod
    def _columns(share: float, n_columns: int) -> int:
        return 0 if share >= 1 else max(1, math.ceil(float(share) * n_columns))

    def _held_out(self, order: np.ndarray, target: np.ndarray, classes: int, stream: Stream) -> tuple[np.ndarray, int]:
        """The rows with those to hold out last, and how many are fitted; each class gives its share."""
        if not self._stops_early(order.shape[0]):
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

    def _run_custom(self, booster: Any, loss: Any, y: np.ndarray, rounds: int) -> None:
        for _ in range(rounds):
            scores = booster.scores
            pair = loss(y, scores)
            try:
                gradient, hessian = (np.ascontiguousarray(part, dtype=np.float64) for part in pair)
            except (TypeError, ValueError):
                raise ParameterError(
                    type(self).__name__, "parameter 'loss'", "must return the pair (gradients, Hessians)"
                ) from None
            shapes = gradient.shape == hessian.shape == scores.shape
            if not shapes or not np.isfinite(gradient).all() or not np.isfinite(hessian).all() or (hessian < 0).any():
                raise ParameterError(
                    type(self).__name__,
                    "parameter 'loss'",
                    "must return finite gradients and Hessians >= 0, one per row",
                    f"got shapes {gradient.shape} and {hessian.shape} for {scores.shape[0]} rows",
                )
            booster.step(gradient[:, None], hessian[:, None])

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
        sums = self.base_score_ + self.forest_.sums(cells, self.n_outputs_, thread_count(self.n_jobs))
        return sums if shift is None else sums + shift[:, None]

    def _staged_scores(self, X: Any) -> Iterator[np.ndarray]:
        check_is_fitted(self)
        cells, k = self._read(X, reset=False), self.n_outputs_
        sums = np.zeros((cells.shape[0], k))
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
        leaves = 31 if self.max_leaf_nodes is None else int(self.max_leaf_nodes)
        levels = 1.0 + 0.5 * math.log2(leaves)
        return Cost(seconds=(6e-8 + 1e-9 * levels * rounds) * cells + 1e-5 * rounds, bytes=2.0 * cells + 120.0 * n_rows)

    def estimate_predict_cost(self, n_rows: int, n_features: int, n_queries: int) -> Cost:
        """Every tree for every row."""
        rounds = float(self.n_estimators) if isinstance(self.n_estimators, numbers.Integral) else 200.0
        return Cost(seconds=1e-8 * rounds * n_queries, bytes=8.0 * n_queries * n_features)
