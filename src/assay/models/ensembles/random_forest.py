"""Random forests: trees on bootstrap samples with random columns at each node, averaged."""

from __future__ import annotations

import json
import math
import numbers
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.batches import BatchedTable
from ...base.class_weight import class_weight_param, with_class_weights
from ...base.cost import Cost
from ...base.errors import AssayWarning, ParameterError, plain
from ...base.estimator import Classifier, Estimator, Regressor
from ...base.folds import Fold, Transforms
from ...base.parameters import Boolean, Choice, Integer, Nothing, Real, param
from ...base.threads import thread_count
from ...base.usual_parameters import categorical_features_param, n_jobs_param, random_state_param
from ...base.views import ColumnShares
from ...base.weights import count_rows, in_units
from ...data.columns import ColumnSchema, MixedInput
from ...numeric.losses import weighted_quantile
from . import binning
from .binning import binned, cells_of
from .forest import Forest
from .sql import select_sql, sums_sql

MOST_DRAWS = 1e7
"""Draws of one bootstrap that whole-number weights may ask for; beyond, they are weights like any other."""


class TreeEnsemble(MixedInput, Estimator):
    """Trees grown apart from each other on binned columns; the classes below add the target."""

    _first = "n_estimators"

    _way_out = "take a sample of the rows, or set max_depth"
    _by_batches = True
    # A row that every tree has seen has no prediction out of bag.
    _open_state = ("oob_prediction_", "oob_score_", "oob_importances_", "oob_importance_errors_")
    _extra = False
    _learned = {
        "forest_": "the trees as arrays",
        "feature_importances_": "share of the decrease of impurity that each column brought",
        "oob_score_, oob_prediction_": "with `oob_score`, accuracy and class shares out of bag",
        "oob_importances_, oob_importance_errors_": "with `oob_importance`, rise of the error and its standard error",
    }

    n_estimators: int = param(100, Integer(1), "Trees.")
    max_depth: int | None = param(None, Integer(1) | Nothing(), "Deepest level of a leaf; None for no limit.")
    min_samples_split: int = param(2, Integer(2), "Rows that a node must hold to be split.")
    min_samples_leaf: int = param(1, Integer(1), "Rows that a leaf must hold; rows drawn twice count twice.")
    max_bins: int = param(
        255, Integer(2, 255), "Bins per numeric column; one of no more distinct values is taken exactly."
    )
    oob_score: bool = param(
        False, Boolean(), "Predict each row by the trees that did not draw it: `oob_score_`, `oob_prediction_`."
    )
    oob_importance: bool = param(
        False, Boolean(), "Measure each column by permuting it out of bag: `oob_importances_`, with standard errors."
    )
    warm_start: bool = param(
        False, Boolean(), "Keep the trees of the last fit and add those that `n_estimators` lacks."
    )
    categorical_features: Any = categorical_features_param()
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()

    max_features: Any
    bootstrap: bool
    forest_: Forest
    schema_: ColumnSchema
    _key_: int

    _read, shares_rows = binning.read_columns, binning.shares_rows
    fit_folds, row_fits = binning.fit_folds, binning.row_fits

    # -- fitting -----------------------------------------------------------------------------------------------------
    def _batched_bytes(self, n_rows: int, n_features: int) -> float:
        return self.estimate_cost(n_rows, n_features).bytes + 100.0 * n_rows + 2.0**29

    def _columns_to_try(self, n_columns: int) -> int:
        wanted = self.max_features
        if wanted is None:
            return n_columns
        if wanted == "third":
            return max(1, n_columns // 3)
        if wanted in ("sqrt", "log2"):
            return max(1, int(math.sqrt(n_columns) if wanted == "sqrt" else math.log2(n_columns)))
        if isinstance(wanted, numbers.Integral):
            return min(int(wanted), n_columns)
        return max(1, int(float(wanted) * n_columns))

    def _grow(
        self,
        cells: np.ndarray,
        labels: np.ndarray | None,
        y: np.ndarray | None,
        weights: np.ndarray | None,
        width: int,
        level: np.ndarray | float = 0.0,
    ) -> None:
        """Grow the trees on y - level; sets `forest_` and what is known out of bag."""
        if (self.oob_score or self.oob_importance) and not self.bootstrap:
            raise ParameterError(
                type(self).__name__,
                "parameter 'oob_score'" if self.oob_score else "parameter 'oob_importance'",
                "needs rows that a tree did not draw",
                "got bootstrap=False",
                "set bootstrap=True",
            )
        threads, n_rows = thread_count(self.n_jobs), cells.shape[0]
        asked = None
        if isinstance(cells, binning.RankedRows) and cells.asked is not None and weights is None:
            table, asked = cells.bins_of_both(int(self.max_bins), threads)
        else:
            table = binned(cells, self.schema_.n_categories, weights, int(self.max_bins), threads)
        whole = weights is None or count_rows(weights, max(MOST_DRAWS, 8.0 * n_rows))
        if weights is not None and not whole:
            weights, _ = in_units(weights)
        keys: Any = labels[:, None] if labels is not None else y
        if weights is not None and not whole:
            keys = np.column_stack([keys, weights])
        order = _kernels.content_order(table, np.ascontiguousarray(keys, dtype=np.float64), threads)
        table = _kernels.take_rows(table, order, threads)
        in_order = None if weights is None else weights[order]
        kept = self._kept_trees(n_rows, width)
        self._key_ = self._key_ if kept is not None else self._stream().key
        wanted = int(self.n_estimators) - (0 if kept is None else kept.n_trees)
        grown = _kernels.grow_forest(
            table,
            None if labels is None else labels[order],
            None if y is None else np.ascontiguousarray(y[order] - level),
            width,
            in_order,
            whole,
            n_trees=wanted,
            first_tree=0 if kept is None else kept.n_trees,
            columns_per_node=self._columns_to_try(cells.shape[1]),
            max_depth=-1 if self.max_depth is None else int(self.max_depth),
            min_split=float(self.min_samples_split),
            min_leaf=float(self.min_samples_leaf),
            bootstrap=bool(self.bootstrap),
            extra=self._extra,
            out_of_bag=bool(self.oob_score),
            permute=bool(self.oob_importance),
            key=self._key_,
            threads=threads,
            asked=asked,
            level=None if asked is None or y is None else np.ascontiguousarray(level),
        )
        if asked is not None:
            self._answers_ = grown["asked_sum"] / wanted
            return
        known = {name: grown.pop(name) for name in ("oob_sum", "oob_trees", "oob_loss", "permuted_loss")}
        forest = Forest.of(grown, self.schema_.n_categories)
        self.forest_ = forest if kept is None else Forest.joined(kept, forest)
        self.n_rows_ = n_rows
        self._whole_weights_ = in_order if whole and in_order is not None else np.empty(0)
        for name in ("oob_prediction_", "oob_score_", "oob_importances_", "oob_importance_errors_"):
            self.__dict__.pop(name, None)
        if self.warm_start:
            known = self._with_kept(known, kept is not None)
        if self.oob_score:
            self._keep_oob(known, order)
        if self.oob_importance:
            rise = known["permuted_loss"] - known["oob_loss"][:, None]
            rise = rise[np.isfinite(known["oob_loss"])]
            count = rise.shape[0] or math.nan  # no tree left out a row: nothing is known
            self.oob_importances_ = rise.sum(axis=0) / count
            self.oob_importance_errors_ = np.sqrt(((rise - self.oob_importances_) ** 2).sum(axis=0)) / count

    # -- folds without their forests -----------------------------------------------------------------------------------
    _answers_are_fits = True
    _answers_: np.ndarray

    def _predict_folds(
        self,
        X: np.ndarray,
        y: Any,
        folds: Sequence[Fold],
        transforms: Transforms = None,
        settings: Sequence[Mapping[str, Any]] | None = None,
    ) -> Iterator[np.ndarray | None] | None:
        """What the models of `fit_folds` say of their test rows: every tree is asked when it is grown, none is kept."""
        target = np.asarray(y)
        more = self.oob_score or self.oob_importance or self.warm_start or getattr(self, "quantiles", False)
        weighs = getattr(self, "class_weight", None) is not None
        if more or weighs or transforms is not None or target.ndim != 1 or not self.shares_rows(X):
            return None
        fit = binning.ranked_fits(self, X, target)
        return None if fit is None else self._answers_of_folds(fit, target, folds, settings)

    def _answers_of_folds(
        self,
        fit: Callable[..., Any],
        target: np.ndarray,
        folds: Sequence[Fold],
        settings: Sequence[Mapping[str, Any]] | None,
    ) -> Iterator[np.ndarray | None]:
        classes = np.unique(target) if isinstance(self, Classifier) else None
        rows = np.arange(target.shape[0])
        for k, (train, test) in enumerate(folds):
            model = fit(train, asked=rows[np.asarray(test)], **({} if settings is None else settings[k]))
            said = model._answers_
            if classes is None:
                yield said[:, 0]
                continue
            shares = np.zeros((said.shape[0], classes.shape[0]))
            shares[:, np.searchsorted(classes, model.classes_)] = said
            yield shares

    def _kept_trees(self, n_rows: int, width: int) -> Forest | None:
        """The trees to go on from, with `warm_start`."""
        if not self.warm_start or not hasattr(self, "forest_"):
            return None
        if (self.oob_score and not hasattr(self, "_oob_sum_")) or (
            self.oob_importance and not hasattr(self, "_oob_loss_")
        ):
            raise ParameterError(
                type(self).__name__,
                "parameter 'warm_start'",
                "needs the out-of-bag measures of the trees that are kept",
                way_out="ask for them in the first fit, or set warm_start=False",
            )
        came = ""
        if self.n_rows_ != n_rows or self.forest_.value.shape[1] != width:
            came = f"got {n_rows} rows"
        elif not np.array_equal(self.forest_.n_categories, self.schema_.n_categories):
            came = "got columns of other number or categories"
        if came:
            who, way_out = type(self).__name__, "set warm_start=False to fit another one"
            raise ParameterError(who, "parameter 'warm_start'", "needs the table of the last fit", came, way_out)
        if int(self.n_estimators) < self.forest_.n_trees:
            raise ParameterError(
                type(self).__name__,
                "parameter 'n_estimators'",
                f"must not be less than the {self.forest_.n_trees} trees of the last fit with warm_start",
                f"got {self.n_estimators}",
            )
        return self.forest_

    def _with_kept(self, known: dict[str, np.ndarray], more: bool) -> dict[str, np.ndarray]:
        """What is known out of bag of new trees, with that of those kept; it is there for the next fit."""
        asked = {"oob_sum": self.oob_score, "oob_trees": self.oob_score}
        asked |= {"oob_loss": self.oob_importance, "permuted_loss": self.oob_importance}
        for name, wanted in asked.items():
            before = self.__dict__.pop(f"_{name}_", None) if more else None
            if wanted and before is not None:
                by_tree = name in ("oob_loss", "permuted_loss")
                new = known[name].reshape(-1, *before.shape[1:])  # of no tree, perhaps
                known[name] = np.concatenate([before, new]) if by_tree else before + new
            self.__dict__.pop(f"_{name}_", None)
            if wanted:
                setattr(self, f"_{name}_", known[name])
        return known

    def _keep_oob(self, known: dict[str, np.ndarray], order: np.ndarray) -> None:
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = known["oob_sum"] / known["oob_trees"][:, None]
        self.oob_prediction_ = np.empty_like(mean)
        self.oob_prediction_[order] = mean

    # -- using -------------------------------------------------------------------------------------------------------
    def _means(self, X: Any) -> np.ndarray:
        """The mean over trees of the values of the leaves."""
        check_is_fitted(self)
        width = self.forest_.value.shape[1]
        sums = self.forest_.sums(self._read(X, reset=False), width, thread_count(self.n_jobs))
        return sums / self.forest_.n_trees

    def apply(self, X: Any) -> np.ndarray:
        """The leaf that each row reaches in each tree."""
        check_is_fitted(self)
        return self.forest_.leaves(self._read(X, reset=False), thread_count(self.n_jobs))

    def _by_tree(self, X: Any) -> np.ndarray:
        """The values of the leaves, as rows x trees x outputs."""
        return self.forest_.value[self.apply(X) + self.forest_.offsets[:-1]]

    def prediction_variance(self, X: Any) -> np.ndarray:
        """The variance of the forest's mean over training samples, by the mean of two jackknives.

        One column per output or class. The mean over the trees that did not draw a row is the forest without that row;
        the squared differences add up over the rows (the jackknife after the bootstrap), and so do the squared
        covariances of the trees with how often they drew a row (the infinitesimal jackknife), each less what the draw
        of the trees alone brings. The first counts the joint effects of two rows twice, the second leaves them out:
        their mean is right for both (Wager, Hastie & Efron, Journal of Machine Learning Research 15, 2014). As a share
        of the variance between trees, it is pulled towards its mean over the rows of X, the more so the noisier it
        is, and one over the number of trees is added for their draw. Needs the bootstrap.
        """
        return self._variance_and_error(X)[0]

    def _variance_and_error(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The variance of the forest's mean, and its standard error by the draw of the trees."""
        check_is_fitted(self)
        who, trees = type(self).__name__, self.forest_.n_trees
        if not self.bootstrap:
            raise ParameterError(who, "parameter 'bootstrap'", "must be True for the jackknife")
        if trees < 2:
            raise ParameterError(who, "parameter 'n_estimators'", "must be at least 2 for the jackknife", "got 1 tree")
        weights = self._whole_weights_ if self._whole_weights_.shape[0] else None
        counts = _kernels.bootstrap_counts(self.n_rows_, weights, self._key_, trees)
        left_out, copies = left_out_contrasts(counts, weights)
        contrasts = (left_out, drawn_contrasts(counts, copies))
        answers = self._by_tree(X)
        found = [jackknife_variance(answers[:, :, k], contrasts, copies) for k in range(answers.shape[2])]
        return np.column_stack([one for one, _ in found]), np.column_stack([other for _, other in found])

    @property
    def feature_importances_(self) -> np.ndarray:
        """For each column, the share of the decrease of impurity that its tests brought."""
        check_is_fitted(self)
        return self.forest_.importances()

    def view(self) -> ColumnShares:
        """The importances of the columns."""
        check_is_fitted(self)
        return ColumnShares(
            title=f"Importance of columns: share of the decrease of impurity in {self.forest_.n_trees} trees",
            names=list(self.schema_.names),
            values=self.feature_importances_.tolist(),
        )

    def to_dict(self) -> dict[str, Any]:
        """The model as plain data; a prediction is the mean over the trees of their leaves' values."""
        check_is_fitted(self)
        return {
            "model": type(self).__name__,
            "schema": 1,
            "columns": list(self.schema_.names),
            "trees": self.forest_.to_dict(self.schema_),
        }

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict())

    def to_sql(self, table: str | Sequence[str] | None = None, prediction: str = "prediction") -> str:
        """The class shares or means as SQL, one column for each class or target, up to 20,000 nodes."""
        check_is_fitted(self)
        width = int(self.forest_.value.shape[1])
        columns = sums_sql(type(self).__name__, self.forest_, self.schema_, np.zeros(width), 1.0 / self.forest_.n_trees)
        return select_sql(columns, prediction, getattr(self, "classes_", np.arange(width)).tolist(), table)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Some columns of every row per level of every tree."""
        levels = math.log2(max(2, n_rows)) if self.max_depth is None else float(self.max_depth)
        tried = self._columns_to_try(n_features)
        seconds = 6e-8 * n_rows * n_features + 7e-9 * self.n_estimators * n_rows * tried * levels * n_outputs
        nodes = 2.0 * n_rows / int(self.min_samples_leaf)
        return Cost(
            seconds=seconds, bytes=2.0 * n_rows * n_features + 40.0 * n_rows + 90.0 * nodes * int(self.n_estimators)
        )

    def estimate_predict_cost(self, n_rows: int, n_features: int, n_queries: int) -> Cost:
        """Every tree for every row; the nodes of large trees come from memory."""
        seconds = min(6e-7, 5e-8 + 5e-12 * n_rows / int(self.min_samples_leaf))
        return Cost(seconds=seconds * self.n_estimators * n_queries, bytes=8.0 * n_queries * n_features)


class ForestClasses(TreeEnsemble, Classifier):
    """Averaged trees for labels."""

    max_features: Any = param(
        "sqrt",
        Integer(1) | Real(0, 1, "right") | Choice("sqrt", "log2", "third") | Nothing(),
        "Columns drawn at each node: a number, a share, 'sqrt', 'log2', 'third', or None for all.",
    )
    class_weight: Any = class_weight_param()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Grow the trees."""
        cells, codes, weights = self._begin(X, y, sample_weight)
        weights = with_class_weights(type(self).__name__, self.class_weight, self.classes_, codes, weights)
        self._grow(cells, codes, None, weights, self.classes_.shape[0])
        if self.oob_score:
            known = np.isfinite(self.oob_prediction_[:, 0])
            right = self.oob_prediction_[known].argmax(axis=1) == codes[known]
            w = None if weights is None else weights[known]
            self.oob_score_ = float(np.average(right, weights=w)) if known.any() else np.nan
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The mean over trees of the class shares of the leaves."""
        return self._means(X)


class ForestNumbers(TreeEnsemble, Regressor):
    """Averaged trees for numbers, of one column or several."""

    _multi_output = True
    _level_: np.ndarray
    _learned = {
        "n_outputs_": "columns of the target",
        "feature_importances_": "share of the decrease of squared error that each column brought",
        "oob_score_, oob_prediction_": "with `oob_score`, R squared and predictions out of bag",
    }

    max_features: Any = param(
        "third",
        Integer(1) | Real(0, 1, "right") | Choice("sqrt", "log2", "third") | Nothing(),
        "Columns drawn at each node: a number, a share, 'sqrt', 'log2', 'third', or None for all.",
    )
    quantiles: bool = param(
        False, Boolean(), "Keep the training target in the leaves, so that `predict_quantiles` works."
    )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Grow the trees."""
        cells, target, weights = self._begin(X, y, sample_weight)
        columns = np.ascontiguousarray(target.reshape(target.shape[0], -1))
        self.n_outputs_ = columns.shape[1]
        kept = self.forest_.n_trees if self.warm_start and hasattr(self, "forest_") else 0
        level = self._level_ if kept else self._means_of(columns, weights)
        if kept:
            self.forest_.value[:] -= level
        self._grow(cells, None, columns, weights, self.n_outputs_, level)
        if hasattr(self, "_answers_"):
            return self
        self._level_ = level
        self.forest_.value[:] += level
        if self.oob_score:
            self.oob_prediction_ += level
            known = np.isfinite(self.oob_prediction_[:, 0])
            w = None if weights is None else weights[known]
            self.oob_score_ = np.nan
            if known.any():
                rest = ((columns[known] - self.oob_prediction_[known]) ** 2).mean(axis=1)
                spread = ((columns[known] - np.average(columns[known], axis=0, weights=w)) ** 2).mean(axis=1)
                total = np.average(spread, weights=w)
                self.oob_score_ = float(1 - np.average(rest, weights=w) / total) if total > 0 else 0.0
            if self.n_outputs_ == 1:
                self.oob_prediction_ = self.oob_prediction_[:, 0]
        self._keep_quantiles(cells, columns, weights)
        return self

    @staticmethod
    def _means_of(columns: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        # Exactly rounded sums are the same for any order of the rows.
        w = np.ones(columns.shape[0]) if weights is None else in_units(weights)[0]
        return np.array([math.fsum(w * column) for column in columns.T]) / math.fsum(w)

    def _keep_quantiles(self, cells: np.ndarray, columns: np.ndarray, weights: np.ndarray | None) -> None:
        self.__dict__.pop("leaf_rows_", None)
        if not self.quantiles:
            return
        if self.n_outputs_ > 1:
            raise ParameterError(
                type(self).__name__, "parameter 'quantiles'", "must be False for a target of several columns"
            )
        # All training rows go through every tree: leaves hold the rows that reach them (Meinshausen 2006).
        leaves = partial(self.forest_.leaves, threads=thread_count(self.n_jobs))
        held = cells_of(cells)
        self.leaf_rows_ = held.values(leaves) if isinstance(held, BatchedTable) else leaves(held)
        self.train_target_ = columns[:, 0].copy()
        self.train_weights_ = np.ones(columns.shape[0]) if weights is None else weights.copy()

    def predict(self, X: Any) -> np.ndarray:
        """The mean over trees of the means of the leaves."""
        means = self._means(X)
        return means[:, 0] if self.n_outputs_ == 1 else means

    def predict_quantiles(self, X: Any, levels: Any = (0.05, 0.5, 0.95)) -> np.ndarray:
        """Quantiles of the target of each row, one column per level, from the training rows that share its leaves.

        A training row weighs in each tree by its share of the leaf (Meinshausen, Journal of Machine Learning Research
        7, 2006). Needs a fit with `quantiles=True`.
        """
        check_is_fitted(self)
        if not hasattr(self, "leaf_rows_"):
            raise ParameterError(type(self).__name__, "parameter 'quantiles'", "must be True for predict_quantiles")
        wanted = shares_between(type(self).__name__, "levels", levels, closed=True)
        reached = self.apply(X)
        # The training rows of every leaf, leaf after leaf, by their rank in the target; with their shares of the leaf.
        ranked = np.argsort(self.train_target_, kind="stable")
        nodes = (self.leaf_rows_ + self.forest_.offsets[:-1])[ranked].T.ravel()
        order = np.argsort(nodes, kind="stable")
        ends = np.searchsorted(nodes[order], np.arange(self.forest_.node_count + 1))
        rank = (order % ranked.shape[0]).astype(np.int64)
        weight = self.train_weights_[ranked][rank]
        total = np.bincount(nodes[order], weight, minlength=self.forest_.node_count)
        share = weight / total[nodes[order]]
        target = self.train_target_[ranked]
        found = np.empty((reached.shape[0], wanted.shape[0]))
        for i, leaves in enumerate(reached + self.forest_.offsets[:-1]):
            parts = [slice(ends[leaf], ends[leaf + 1]) for leaf in leaves.tolist()]
            near = np.concatenate([rank[part] for part in parts])
            sums = np.bincount(near, np.concatenate([share[part] for part in parts]), minlength=target.shape[0])
            kept = np.flatnonzero(sums)
            for k, level in enumerate(wanted.tolist()):
                found[i, k] = weighted_quantile(target[kept], sums[kept], level)
        return found

    def predict_interval(self, X: Any, level: float = 0.95) -> np.ndarray:
        """An interval for the mean that the forest estimates, by the jackknife: columns low and high.

        The variance is `prediction_variance` plus one standard error of it by the draw of the trees, so that few trees
        make wide intervals, not narrow ones; where that error is over half the variance, warning W208 asks for more
        trees. With several targets the second axis is the target. It speaks of the uncertainty from the sample of
        rows; for where a new target will lie, take `predict_quantiles`.
        """
        from scipy.special import ndtri

        check_is_fitted(self)
        share = shares_between(type(self).__name__, "level", level)
        variance, error = self._variance_and_error(X)
        if error.sum() > 0.5 * variance.sum():
            text = (
                f"{type(self).__name__}: n_estimators={self.forest_.n_trees} is few for intervals from {self.n_rows_} "
                "training rows: the draw of the trees puts an error of more than half of it on the variance, and the "
                "intervals are wider by it; take more trees."
            )
            warnings.warn(AssayWarning("W208", text), stacklevel=2)
        half = float(ndtri(0.5 + share[0] / 2)) * np.sqrt(variance + error)
        centre = self._means(X)
        found = np.stack([centre - half, centre + half], axis=2)
        return found[:, 0] if self.n_outputs_ == 1 else found


def shares_between(who: str, name: str, given: Any, closed: bool = False) -> np.ndarray:
    """Shares strictly between 0 and 1, or with the ends (`closed`); without `closed` one number.

    >>> shares_between("demo", "levels", (0, 0.5), closed=True)
    array([0. , 0.5])
    """
    try:
        found = np.asarray(given, dtype=np.float64)
        inside = (found >= 0) & (found <= 1) if closed else (found > 0) & (found < 1)
        good = found.ndim <= closed and bool(inside.all())
    except (TypeError, ValueError):
        good = False
    if not good:
        rule = "must be numbers from 0 to 1" if closed else "must be one number above 0 and below 1"
        raise ParameterError(who, f"parameter '{name}'", rule, f"got {plain(repr(given))}", "0.95 is 95 %")
    return np.atleast_1d(found)


def left_out_contrasts(counts: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """(trees, rows): the mean over the trees that did not draw a row less the mean over all; and how often it counts.

    A row of weight w is w copies, of which `counts` draws leave out each one with the chance (1 - 1/w)^counts. A row
    that every tree drew says nothing: its contrast is 0.

    >>> contrasts, copies = left_out_contrasts(np.array([[0, 2], [1, 1]]), None)
    >>> contrasts.tolist(), copies.tolist()
    ([[0.5, 0.0], [-0.5, 0.0]], [1.0, 1.0])
    """
    copies = np.ones(counts.shape[1]) if weights is None else weights
    left_out = (1.0 - 1.0 / np.maximum(copies, 1.0)) ** counts
    total = left_out.sum(axis=0)
    return np.where(total > 0, left_out / np.where(total > 0, total, 1.0) - 1.0 / counts.shape[0], 0.0), copies


def drawn_contrasts(counts: np.ndarray, copies: np.ndarray) -> np.ndarray:
    """(trees, rows): by these the values of trees add up to their covariance with the draws of one copy of a row.

    >>> drawn_contrasts(np.array([[0, 2], [1, 1]]), np.ones(2)).tolist()
    [[-0.25, 0.25], [0.25, -0.25]]
    """
    each = counts / np.maximum(copies, 1.0)
    return (each - each.mean(axis=0)) / counts.shape[0]


def jackknife_variance(
    answers: np.ndarray, contrasts: tuple[np.ndarray, np.ndarray], copies: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The variance over training samples of the mean of `answers` (rows, trees), and its standard error.

    It is the mean of two sums of squared contrasts. Of V_k, the part of the variance that is in the joint effects of k
    rows, the contrasts of rows left out find k V_k, those of rows drawn V_1 alone: their mean finds V_1 and V_2 as they
    are. With independent trees of variance v, it is v a on average, a = half the sum of all squared contrasts; its
    variance, 2 v^2 times the sum over rows of (a_1^2 + a_2^2 + 2 c^2) / 4 with a_1, a_2 and c the squares and the
    product of a row's two contrasts, is less for the mean over many answers, as many as their covariance over trees has
    directions. What is left beyond v a is a share of v, which differs little from answer to answer: each is pulled to
    the common share by its noise (empirical Bayes).

    >>> jackknife_variance(np.ones((2, 3)), (np.zeros((3, 4)), np.zeros((3, 4))), np.ones(4))
    (array([0., 0.]), array([0., 0.]))
    """
    n_answers, trees = answers.shape
    spread = answers - answers.mean(axis=1, keepdims=True)
    between = (spread**2).sum(axis=1)
    # A few trees can agree by chance: the mean of all rows counts as one more of them.
    between = (between + between.mean() / (trees - 1)) / trees
    total = between.sum()
    if not total > 0:
        return np.zeros(n_answers), np.zeros(n_answers)
    first, second = ((part**2).sum(axis=0) for part in contrasts)
    product = (contrasts[0] * contrasts[1]).sum(axis=0)
    squares = 0.5 * (first + second)
    size = max(1, min(256, 2**24 // copies.shape[0]))
    found = np.concatenate(
        [
            sum(0.5 * (spread[begin : begin + size] @ part) ** 2 @ copies for part in contrasts)
            for begin in range(0, n_answers, size)
        ]
    )
    left = found - between * (squares @ copies)
    common = left.sum() / total
    products = spread.T @ spread if trees < n_answers else spread @ spread.T
    directions = max(1.0, np.trace(products) ** 2 / (products**2).sum())
    noise = 0.5 * float(copies**2 @ (first**2 + second**2 + 2.0 * product**2))
    noise += 4.0 * max(common, 0.0) * squares.max()
    share = left / between
    differs = max(0.0, float(between @ (share - common) ** 2) / total - noise)
    pull = noise / (noise + differs) if noise > 0 else 0.0
    share += pull * (common - share)
    error = math.sqrt((1.0 - pull) * noise + pull**2 * noise / directions)
    return between * (np.maximum(share, 0.0) + 1.0 / trees), between * error


class _Bootstrapped(TreeEnsemble):
    bootstrap: bool = param(True, Boolean(), "Draw as many rows as there are, with replacement, for each tree.")


class RandomForestClassifier(_Bootstrapped, ForestClasses):
    """Trees on bootstrap samples with random columns at each node; class shares are averaged.

    Columns are binned to one byte once for all trees, and sums are whole numbers, so that the forest has the same bits
    for any order of the rows and any number of threads. Missing cells and nominal columns are taken as they are: labels
    are sorted by their targets, what sorting is expected to gain from noise alone is taken off, and a label that a
    node lacks goes with those that the tree finds like it.

    Examples
    --------
    >>> from assay.models.ensembles import RandomForestClassifier
    >>> X = [["red", 1.0], ["red", 2.0], ["blue", 8.0], ["blue", None]] * 10
    >>> model = RandomForestClassifier(n_estimators=20, random_state=0).fit(X, ["warm", "warm", "cold", "cold"] * 10)
    >>> model.predict([["red", None], ["blue", 9.0]])
    array(['warm', 'cold'], dtype='<U4')
    """


class RandomForestRegressor(_Bootstrapped, ForestNumbers):
    """Trees on bootstrap samples with random columns at each node; means of leaves are averaged.

    As `RandomForestClassifier`, for targets of one column or several. `predict_quantiles` gives quantiles of the
    target, `predict_interval` the uncertainty of the mean.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.ensembles import RandomForestRegressor
    >>> X = np.linspace(0, 6, 300)[:, None]
    >>> model = RandomForestRegressor(n_estimators=30, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.05)
    True
    """
