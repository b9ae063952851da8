"""k nearest neighbours: the rows most like this one decide.

Rules that make the answer unique: rows are ordered by (distance, position in the training table), so of two rows at
the same distance the earlier one is nearer (Euclidean and Minkowski distances are compared before the root is taken);
among classes with equal votes the first in `classes_` wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.columns import column_names
from ...base.cost import Cost
from ...base.cv import choose_on_param, drawn_rows
from ...base.errors import DataError, ParameterError, plain
from ...base.estimator import Classifier, Estimator, Fold, Regressor
from ...base.folds import (
    FoldTransforms,
    RestFold,
    Transforms,
    cut_at,
    fold_blocks,
    fold_sizes,
    prepared,
    split_all_rows,
)
from ...base.parameters import Choice, Integer, Mapping, Nothing, Real, param
from ...base.threads import thread_count
from ...base.usual_parameters import categorical_features_param, n_jobs_param
from ...base.views import NeighbourCurve, Neighbours
from ...base.words import count
from ...data.columns import ColumnSchema, MixedInput
from ...numeric.distances import METRICS, Distance, Euclidean, Mixed, get
from ...numeric.fold_neighbours import Bound, SharedNeighbours, bounds_of, common_transform
from ...numeric.neighbours import NeighbourIndex, choose_algorithm
from ...numeric.sparse_neighbours import SparseCosineIndex
from .ordinal_ranks import as_ranks, ordinal_columns

_MOST_NEIGHBOURS = 50
_NEIGHBOURS_AT_ONCE = 3 << 15

MOST_VIEWED = 2_000
"""Rows, drawn from longer tables, whose neighbours a view looks for: shares are then known to a percent."""


class _Neighbours(MixedInput, Estimator):
    """What both learners share: parameters, the index, the search, and one search for many folds."""

    _learned = {
        "n_neighbors_": "how many neighbours decide",
        "metric_": "the metric in use",
        "algorithm_": 'the search in use, "brute" or "kd_tree"',
        "rows_": "the training rows as the metric compares them; where no cell changes, a float64 array in C "
        "order is not "
        "copied and must stay as it is",
    }

    _folds_in_one_pass = True
    _kept_target = ""
    """The name under which the targets of the training rows are kept."""
    _first = "n_neighbors"
    n_neighbors: int | str = param(
        5,
        Integer(1) | Choice("loo"),
        "How many neighbours decide (k); 'loo' takes the k <= 50 with the least squared error when each training row "
        "is predicted by the others, from one list of neighbours.",
    )
    weights: str = param(
        "uniform",
        Choice("uniform", "distance", "rank", "gaussian"),
        "Weight of the vote of neighbour j among k: equal; 1/(d_j + 1e-10); (d_k - d_j)/(d_k - d_1); "
        "exp(-(d_j/d_k)^2 / 2). The last two are equal where d_k = d_1 and d_k = 0.",
    )
    metric: str = param(
        "auto",
        Choice("auto", *METRICS),
        "Distance. 'auto' is 'euclidean' if all columns are numeric and complete in fit, else 'mixed'. 'cosine' also "
        "takes sparse tables.",
    )
    p: float = param(2.0, Real(1.0), "Power of the Minkowski distance.")
    algorithm: str = param(
        "auto",
        Choice("auto", "brute", "kd_tree"),
        "Search: compare with every row, or a k-d tree (few columns, many rows); the neighbours are the same.",
    )
    categorical_features: Any = categorical_features_param()
    ordinal_features: Any = param(
        None,
        Mapping() | Nothing(),
        "Orders of ordinal columns: a dict from column name or number to its values from lowest to highest. A value "
        "counts as its rank, from 0 for the lowest to 1 for the highest.",
    )
    choose_on: int | None = choose_on_param()
    n_jobs: int | None = n_jobs_param()

    _way_out = "take a sample of the rows"
    _squares = True
    _open_state = ("rows_",)

    def _needs_squares(self) -> bool:
        return self.metric != "cosine"  # whose rows are brought to length one first

    def _read(self, X: Any, *, reset: bool) -> Any:
        if issparse(X) and self.metric == "cosine":
            table = csr_array(self._sparse_rows(X, reset=reset))
            if reset:
                width = table.shape[1]
                names = tuple(column_names(self))
                self.schema_ = ColumnSchema(names, np.zeros(width, dtype=bool), (None,) * width)
            return table
        values = super()._read(X, reset=reset)
        return values if self.ordinal_features is None else as_ranks(self, values, self.ordinal_features, reset=reset)

    @property
    def _ranked(self) -> np.ndarray:
        """Which columns hold ranks of ordinal values."""
        return ordinal_columns(self, self.ordinal_features or {})

    @property
    def _nominal(self) -> np.ndarray:
        """Which columns hold codes of labels without order."""
        return self.schema_.nominal & ~self._ranked

    # -- fit ---------------------------------------------------------------------------------------------------
    def _index_rows(self, values: Any) -> None:
        """Choose the metric and the search, and index the training rows."""
        who = type(self).__name__
        if isinstance(self.n_neighbors, int | np.integer) and self.n_neighbors > values.shape[0]:
            raise DataError(
                who,
                f"n_neighbors={self.n_neighbors}",
                "needs at least that many training rows",
                f"got n_samples={values.shape[0]}",
                "choose fewer neighbours or give more rows",
            )
        self._held_out: dict[str, np.ndarray] | None = None
        if issparse(values):
            self.metric_, self.algorithm_, self.rows_ = "cosine", "brute", np.empty((values.shape[0], 0))
            self._searched = SparseCosineIndex(values).state()
            self.n_neighbors_ = self._best_number() if self.n_neighbors == "loo" else int(self.n_neighbors)
            return
        self.metric_ = self._choose_metric(values)
        distance = self._distance()
        values = self._check_cells(values, distance)
        if self.algorithm == "kd_tree" and not distance.has_tree:
            raise ParameterError(
                who,
                "parameter 'algorithm'",
                f"cannot be 'kd_tree' with metric '{self.metric_}'",
                way_out="use algorithm='auto' or 'brute'",
            )
        index = NeighbourIndex(
            values,
            distance,
            nominal=self._nominal,
            algorithm=self.algorithm,
            threads=thread_count(self.n_jobs),
            copy=True,
        )
        self._searched = index.state()
        self.algorithm_, self.rows_ = index.algorithm, index.rows
        self.n_neighbors_ = self._best_number() if self.n_neighbors == "loo" else int(self.n_neighbors)

    @property
    def _index(self) -> Any:
        """The index of the training rows; what is kept of it is arrays and small values."""
        if self._searched["kind"] == "sparse cosine":
            return SparseCosineIndex.of_state(self._searched)
        return NeighbourIndex.of_state(self._searched, self._distance())

    @property
    def _longest(self) -> int:
        """The most neighbours that may be asked for."""
        return _MOST_NEIGHBOURS if isinstance(self.n_neighbors, str) else int(self.n_neighbors)

    def _best_number(self) -> int:
        """The k with the least squared error of the training rows, or of a sample of them, each predicted by its k
        nearest of all other training rows (the best k grows with the rows searched, not with those asked)."""
        others = self.rows_.shape[0] - 1
        self._asked = None
        if others < 1:
            return 1
        asked = drawn_rows(others + 1, self.choose_on)
        self._asked = None if asked is None else int(asked.shape[0])
        self.loo_errors_ = self._left_out(min(_MOST_NEIGHBOURS, others), asked, squared=True).mean(axis=1)
        return int(np.argmin(self.loo_errors_)) + 1

    def chosen(self) -> dict[str, int | float | str]:
        """The number of neighbours, where leave-one-out chose it; its name says so where a sample of the rows did.

        >>> from assay.models.neighbours import KNNClassifier
        >>> KNNClassifier("loo").fit([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], [0, 0, 0, 1, 1, 1]).chosen()
        {'k': 1}
        """
        check_is_fitted(self)
        if not isinstance(self.n_neighbors, str):
            return {}
        return {"k" if self._asked is None else f"k (by {count(self._asked, 'drawn row')})": int(self.n_neighbors_)}

    def _one_hot(self) -> np.ndarray:
        """The target as columns: flags of the classes, or numbers."""
        raise NotImplementedError

    def _choose_metric(self, values: np.ndarray) -> str:
        if self.metric != "auto":
            return self.metric
        complete = _all_finite(values) or not np.isnan(values).any()
        return "euclidean" if complete and not self._nominal.any() and self.ordinal_features is None else "mixed"

    def _distance(self) -> Distance:
        if self.metric_ == "mixed" and self.ordinal_features is not None:
            return Mixed(self._ranked)
        return get(self.metric_, self.p)

    def _check_cells(self, values: np.ndarray, distance: Distance) -> np.ndarray:
        """Values that this metric can compare, or the sentence that says which column it cannot."""
        who = type(self).__name__
        if self._nominal.any() and not distance.takes_nominal:
            values = self._flags_as_numbers(values)
        if _all_finite(values):
            return values
        if np.isinf(values).any():
            row, column = np.argwhere(np.isinf(values))[0]
            raise DataError(
                who, f"column '{plain(self.schema_.names[column])}'", "must not hold infinity", f"first at row {row}"
            )
        incomplete = np.isnan(values)
        if not distance.takes_missing and self.metric != "auto" and incomplete.any():
            row, column = np.argwhere(incomplete)[0]
            raise DataError(
                who,
                f"column '{plain(self.schema_.names[column])}'",
                f"must be complete for metric '{self.metric}'",
                f"Input X contains NaN, first at row {row}",
                "use metric='auto' or 'mixed', or impute",
            )
        return values

    def _flags_as_numbers(self, values: np.ndarray) -> np.ndarray:
        values = values.copy()
        for j in np.flatnonzero(self._nominal):
            categories = self.schema_.categories[j]
            if categories is None or categories.dtype.kind != "b":
                raise DataError(
                    type(self).__name__,
                    f"column '{plain(self.schema_.names[j])}'",
                    f"is nominal and metric '{self.metric_}' compares numbers",
                    way_out="use metric='auto', 'mixed' or 'hamming', or encode it",
                )
            if categories.shape[0] == 1:
                seen = float(categories[0])
                values[:, j] = np.where(values[:, j] == 0, seen, np.where(np.isnan(values[:, j]), np.nan, 1.0 - seen))
        return values

    # -- search --------------------------------------------------------------------------------------------------
    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Distances and row numbers of the nearest training rows, nearest first.

        Without X: for every training row, its neighbours among the other rows. Returns (distances, rows), or rows
        alone if `return_distance` is false.
        """
        check_is_fitted(self)
        k = int(self._check_asked(self.n_neighbors_ if n_neighbors is None else n_neighbors, itself=X is None))
        if X is None:
            rows, distances = self._index.nearest_to_itself(k, thread_count(self.n_jobs))
        else:
            rows, distances = self._nearest(self._read(X, reset=False), k)
        return (distances, rows) if return_distance else rows

    def _check_asked(self, k: Any, *, itself: bool) -> Any:
        """A number of neighbours that there can be."""
        check_is_fitted(self)
        if not Integer(1).accepts(k):
            raise ParameterError(type(self).__name__, "n_neighbors", "must be an integer >= 1", f"got {k!r}")
        others = self.rows_.shape[0] - itself
        if k > others:
            raise DataError(
                type(self).__name__,
                f"n_neighbors={k}",
                "must not exceed the number of rows to choose from",
                f"got n_samples_fit={others}",
            )
        return k

    def leave_one_out(self, most: int = 30, squared: bool = False) -> np.ndarray:
        """The error of every number of neighbours k = 1, ..., `most`, each training row decided by the other rows.

        The share of wrong classes (with `squared` the squared error of the shares of the vote, summed over the
        classes), or the mean squared error of numbers; entry k - 1 is that of k. All of them come from one list of
        neighbours, so that choosing k costs one search.

        >>> from assay.models.neighbours import KNNClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], [0, 0, 0, 1, 1, 1]
        >>> KNNClassifier(n_neighbors=1).fit(X, y).leave_one_out(5).tolist()
        [0.0, 0.0, 0.0, 0.5, 1.0]
        """
        self._check_asked(most, itself=True)
        return self._left_out(int(most), None, squared).mean(axis=1)

    def _left_out(self, most: int, asked: np.ndarray | None, squared: bool) -> np.ndarray:
        """Errors (k, row) of the training rows that are asked (None for all), each decided by k of the others.

        Few rows have their lists of neighbours at a time.
        """
        numbers = np.arange(self.rows_.shape[0]) if asked is None else asked
        losses, step = np.empty((0, 0)), max(1024, _NEIGHBOURS_AT_ONCE // most)
        for begin in range(0, numbers.shape[0], step):
            some = numbers[begin : begin + step]
            rows, distances = self._index.nearest_to_itself(most, thread_count(self.n_jobs), some)
            for k, decided in enumerate(self._by_number(rows, distances)):
                found = self._losses(decided, some, squared)
                if not losses.size:
                    losses = np.empty((most, numbers.shape[0]), dtype=found.dtype)
                losses[k, begin : begin + step] = found
        return losses

    def best_k(self, most: int = 50, level: float = 0.95) -> NeighbourCurve:
        """The leave-one-out error of k = 1, ..., `most` with intervals, from one list of neighbours.

        Each interval is that of the mean over the rows. `tied` are the k whose errors, row by row, differ from those of
        the best k by no more than chance (a paired interval that holds 0): the largest of them is the smoothest choice.

        >>> from assay.models.neighbours import KNNClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], [0, 0, 0, 1, 1, 1]
        >>> curve = KNNClassifier(n_neighbors=1).fit(X, y).best_k(4)
        >>> curve.best, curve.errors
        (1, [0.0, 0.0, 0.0, 0.5])
        """
        if not Real(0, 1, "neither").accepts(level):
            raise ParameterError(
                type(self).__name__, "level", "must be a number > 0 and < 1", f"got {plain(repr(level))}"
            )
        check_is_fitted(self)
        most = max(1, min(most, self.rows_.shape[0] - 1))
        losses = self._left_out(most, None, squared=False).astype(np.float64)
        errors, n = losses.mean(axis=1), losses.shape[1]
        reach = float(ndtri(0.5 + 0.5 * level)) / np.sqrt(max(n - 1, 1))
        best, half = int(np.argmin(errors)), reach * losses.std(axis=1)
        apart = losses - losses[best]
        tied = apart.mean(axis=1) <= reach * apart.std(axis=1)
        return NeighbourCurve(
            errors=errors.tolist(),
            low=np.maximum(errors - half, 0.0).tolist(),
            high=(errors + half).tolist(),
            best=best + 1,
            tied=(np.flatnonzero(tied) + 1).tolist(),
            level=float(level),
            measure=self._loss_name,
        )

    def _by_number(self, rows: np.ndarray, distances: np.ndarray) -> Iterator[np.ndarray]:
        """What the first 1, 2, ... of these neighbours say; a vote that does not change with k is counted once."""
        target = self._one_hot()
        total, weight = np.zeros((rows.shape[0], target.shape[1])), np.zeros((rows.shape[0], 1))
        for j in range(rows.shape[1]):
            if self.weights in ("uniform", "distance"):
                vote = self._vote_weights(distances[:, j : j + 1])
                total += vote * target[rows[:, j]]
                weight += vote
                yield total / weight
            else:
                yield self._decide(rows[:, : j + 1], distances[:, : j + 1]).reshape(total.shape)

    def _decide(self, rows: np.ndarray, distances: np.ndarray) -> np.ndarray:
        """What neighbours at these distances say."""
        raise NotImplementedError  # pragma: no cover

    _loss_name = "error"

    def _losses(self, decided: np.ndarray, asked: Any, squared: bool) -> np.ndarray:
        """The error of what was decided for each training row that is asked."""
        raise NotImplementedError  # pragma: no cover

    def radius_neighbors(self, X: Any, radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The training rows within `radius` (inclusive) of each row of X, in compressed form: (start, rows, distances).

        Those of row i of X are rows[start[i]:start[i + 1]], in the order of their numbers.

        >>> from assay.models.neighbours import KNNRegressor
        >>> model = KNNRegressor(n_neighbors=1).fit([[0.0], [1.0], [5.0]], [0.0, 1.0, 5.0])
        >>> start, rows, distances = model.radius_neighbors([[0.5], [9.0]], 1.0)
        >>> start.tolist(), rows.tolist(), distances.tolist()
        ([0, 2, 2], [0, 1], [0.5, 0.5])
        """
        values = self._within_values(X, radius)
        return self._index.within(values, float(radius), thread_count(self.n_jobs))

    def _around(self, strata: np.ndarray | None = None) -> tuple[Any, np.ndarray, dict[str, Any]] | None:
        """Training rows (all, or those drawn from many, of every class), their neighbours among the others, and what a
        view says of them; None where there are no others."""
        check_is_fitted(self)
        n_rows = int(self.rows_.shape[0])
        k = min(int(self.n_neighbors_), n_rows - 1)
        if k < 1:
            return None
        asked = drawn_rows(n_rows, MOST_VIEWED, strata)
        rows, distances = self._index.nearest_to_itself(k, thread_count(self.n_jobs), asked)
        radius = np.quantile(distances[:, -1], [0.1, 0.5, 0.9]).tolist()
        facts = {"k": int(self.n_neighbors_), "distance": str(self.metric_), "rows": n_rows, "radius": radius}
        facts["asked"] = n_rows if asked is None else len(asked)
        return slice(None) if asked is None else asked, rows, facts

    def radius_count(self, X: Any, radius: float) -> np.ndarray:
        """How many training rows lie within `radius` (inclusive) of each row of X."""
        values = self._within_values(X, radius)
        return self._index.count(values, float(radius), thread_count(self.n_jobs))

    def _within_values(self, X: Any, radius: float) -> Any:
        """Rows whose neighbours in a radius can be asked for."""
        check_is_fitted(self)
        if not Real(0.0).accepts(radius):
            raise ParameterError(type(self).__name__, "radius", "must be a number >= 0", f"got {radius!r}")
        distance = self._distance()
        values = self._read(X, reset=False)
        if self._searched["kind"] == "sparse cosine":
            return csr_array(values)
        values = self._check_cells(values.toarray() if issparse(values) else values, distance)
        if not distance.takes_missing and np.isnan(values).any():
            raise DataError(
                type(self).__name__, "X", "must be complete to count rows in a radius", "Input X contains NaN"
            )
        return values

    def _nearest(self, values: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Row numbers and distances of the k nearest training rows of encoded rows."""
        sparse = self._searched["kind"] == "sparse cosine"
        if sparse:
            return self._index.nearest(csr_array(values), k)
        values = values.toarray() if issparse(values) else values
        known = self._held_out if k == self.n_neighbors_ else None
        if known is not None and np.array_equal(values, known["values"], equal_nan=True):
            return known["rows"], known["distances"]
        distance, threads = self._distance(), thread_count(self.n_jobs)
        values = self._check_cells(values, distance)
        complete = np.ones(values.shape[0], dtype=bool) if distance.takes_missing else ~np.isnan(values).any(axis=1)
        if complete.all():
            return self._index.nearest(values, k, threads)
        rows = np.empty((values.shape[0], k), dtype=np.int64)
        distances = np.empty((values.shape[0], k))
        if complete.any():
            rows[complete], distances[complete] = self._index.nearest(values[complete], k, threads)
        rows[~complete], distances[~complete] = self._index.nearest_of_incomplete(values[~complete], k, threads)
        return rows, distances

    def _vote_weights(self, distances: np.ndarray) -> np.ndarray:
        """The weight of each neighbour in the vote, by `weights`."""
        if self.weights == "distance":
            return 1.0 / (distances + 1e-10)
        first, last = distances[:, :1], distances[:, -1:]
        if self.weights == "rank":
            spread = last - first
            return np.where(spread > 0, (last - distances) / np.where(spread > 0, spread, 1.0), 1.0)
        if self.weights == "gaussian":
            return np.where(last > 0, np.exp(-0.5 * (distances / np.where(last > 0, last, 1.0)) ** 2), 1.0)
        return np.ones_like(distances)

    # -- folds -----------------------------------------------------------------------------------------------------
    def fit_folds(
        self, X: Any, y: Any, folds: Iterable[Fold], sample_weight: Any = None, transforms: Transforms = None
    ) -> Iterator[Any]:
        """Yield one fitted clone per fold; repeated designs share one search over all rows.

        One search finds candidates for every held-out row; each fold measures them in its own metric and keeps those
        that are proved to be the nearest of its training rows (`assay.numeric.fold_neighbours`). When this costs less
        than separate searches, each model carries the neighbours of its held-out rows and uses them when asked to
        predict exactly those rows.
        """
        if sample_weight is not None:
            raise DataError(type(self).__name__, "sample_weight", "is not used by nearest neighbours")
        parts: list[Fold] = [(np.asarray(train), np.asarray(test)) for train, test in folds]
        shared: _SharedSearch | None = None
        planned = not issparse(X) and _worth_sharing(parts)
        for fold, model in enumerate(super().fit_folds(X, y, iter(parts), None, transforms)):
            if planned and shared is None:
                shared = _SharedSearch(model, X, parts, transforms)
            if shared is not None:
                model._held_out = shared.held_out(model, fold)
            yield model

    def _predict_folds(
        self, X: np.ndarray, y: Any, folds: Sequence[Fold], transforms: Transforms = None
    ) -> Iterator[np.ndarray | None] | None:
        """What the models of `fit_folds` say of their test rows, from one search over all rows and no model."""
        if isinstance(self.n_neighbors, str) or not _worth_sharing(list(folds)):
            return None
        owner = clone(self)
        values, target, _ = owner._begin(X, y)
        setattr(owner, self._kept_target, target)
        complete = _all_finite(values) and not owner._nominal.any() and self.ordinal_features is None
        shared = _SharedSearch(owner, X, list(folds), transforms) if complete else None
        if shared is None or shared.lists is None or shared.metric == "mixed" or shared.placement:
            return None
        return shared.predictions(owner, values)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Seconds and bytes of `fit`: the rows are copied and indexed."""
        cells = float(n_rows) * n_features
        seconds = 1.5e-8 * cells
        if self.n_neighbors == "loo":
            # Lists of fifty neighbours take about three times as long as those that a prediction needs.
            asked = n_rows if self.choose_on is None else min(n_rows, self.choose_on)
            seconds += 3.0 * self.estimate_predict_cost(n_rows, n_features, asked).seconds
            seconds += 1e-7 * _MOST_NEIGHBOURS * asked
        return Cost(seconds=seconds, bytes=28.0 * cells + 8.0 * n_rows * n_outputs)

    def estimate_predict_cost(self, n_rows: int, n_features: int, n_queries: int) -> Cost:
        """Seconds and bytes of the search: every query meets every row, unless there is a tree."""
        metric = "euclidean" if self.metric == "auto" else self.metric
        distance = get(metric, self.p)
        chosen = choose_algorithm(distance, n_rows, n_features) if self.algorithm == "auto" else self.algorithm
        if chosen == "kd_tree":
            seconds = 1e-7 * n_queries * np.log2(n_rows + 2.0) * 1.3**n_features
        else:
            per_column = 2e-11 if isinstance(distance, Euclidean) else 1.5e-10
            seconds = (per_column * n_features + 1e-10) * n_rows * n_queries
        return Cost(seconds=seconds, bytes=n_queries * (8.0 * n_features + 16.0 * self._longest))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.metric in ("auto", "mixed")
        return tags


def _all_finite(values: np.ndarray) -> bool:
    # The sum is one fast pass; only a sum that overflows or meets NaN asks for a second look.
    return bool(np.isfinite(values.sum()) or np.isfinite(values).all())


def _worth_sharing(parts: list[Fold]) -> bool:
    """Whether one search over all rows compares fewer pairs than a search per fold."""
    if len(parts) < 2 or any(min(fold_sizes(part)) == 0 for part in parts):
        return False
    listed = [rows for part in parts if not isinstance(part, RestFold) for rows in part]
    if any(rows.dtype.kind not in "iu" for rows in listed):
        return False
    n_rows = max(
        part.n_rows if isinstance(part, RestFold) else 1 + max(int(rows.max()) for rows in part) for part in parts
    )
    tested = _tested(parts, n_rows).shape[0]
    separate = sum(float(train) * test for train, test in map(fold_sizes, parts))
    return tested * float(n_rows) < 0.7 * separate


def _tested(parts: list[Fold], n_rows: int) -> np.ndarray:
    """The rows that some fold holds out, in their order."""
    held_out = np.zeros(n_rows, dtype=bool)
    for part in parts:
        held_out[part[1]] = True
    return np.flatnonzero(held_out)


class _SharedSearch:
    """The neighbours of every held-out row among all rows, long enough to hold k rows of any training part."""

    def __init__(self, owner: _Neighbours, X: Any, parts: list[Fold], transforms: FoldTransforms | None):
        self.X, self.parts, self.transforms = X, parts, transforms
        self.lists: SharedNeighbours | None = None
        through = None if transforms is None else common_transform(transforms.folds)
        reader = clone(owner)
        values = reader._read(X if through is None else through.apply(X), reset=True)
        reader.metric_ = self.metric = reader._choose_metric(values)
        distance = reader._distance()
        mixed = isinstance(distance, Mixed)
        if (distance.learns and not mixed) or (reader._nominal.any() and not distance.takes_nominal):
            return
        self.bounds = [Bound(exact=not mixed)] * len(parts)
        if through is not None and transforms is not None:
            if mixed or not distance.has_tree:
                return
            self.bounds = bounds_of(transforms.folds, through)
        threads = thread_count(owner.n_jobs)
        index = NeighbourIndex(values, distance, nominal=reader._nominal, algorithm=owner.algorithm, threads=threads)
        self.placement = index.placement
        tested = _tested(parts, values.shape[0])
        self.lists = SharedNeighbours(index, tested, self._length(owner._longest, values), threads)

    def _length(self, k: int, values: np.ndarray) -> int:
        share = min(fold_sizes(part)[0] for part in self.parts) / values.shape[0]
        length = k / share + 3.0 * np.sqrt(k * (1.0 - share)) / share + 1
        # Factors lie between ratio and stretch, half way in the mean. A ball wider by `growth` holds about growth^d
        # times the rows (few data have over a dozen dimensions), and up to 64 neighbours are found fastest.
        growth = max(np.sqrt(bound.stretch / max(bound.ratio, 1e-3)) for bound in self.bounds)
        longer = length * min(4.0, growth ** min(values.shape[1], 12))
        return int(np.ceil(min(longer, max(length, 63.0)))) + 3

    def held_out(self, model: _Neighbours, fold: int) -> dict[str, np.ndarray] | None:
        """What the model of a fold finds for its held-out rows; None where its metric is not that of the search."""
        if self.lists is None or model.metric_ != self.metric:
            return None
        train, test = self.parts[fold]
        values = model._read(
            prepared(self.X, test, None if self.transforms is None else self.transforms.folds[fold]), reset=False
        )
        if not model._distance().takes_missing and np.isnan(values).any():
            return None
        bound = self._mixed_bound(model, values) if self.metric == "mixed" else self.bounds[fold]
        threads = thread_count(model.n_jobs)
        rows, distances = self.lists.nearest_in(model._index, train, test, values, model.n_neighbors_, bound, threads)
        return {"values": values, "rows": rows, "distances": distances}

    def predictions(self, owner: _Neighbours, values: np.ndarray) -> Iterator[np.ndarray | None]:
        """What each fold's neighbours say of its held-out rows, where `owner` holds the target of all rows."""
        assert self.lists is not None
        target, classes = getattr(owner, owner._kept_target), getattr(owner, "classes_", None)
        threads, width = thread_count(owner.n_jobs), values.shape[1]
        for some in fold_blocks(self.parts, 1 if classes is None else classes.shape[0]):
            sure = self._sure(owner, some, target, classes, width, threads)
            kept = [fold for fold, holds in zip(some, sure, strict=True) if holds]
            if not kept:
                yield from [None] * len(some)
                continue
            tests = [self.parts[fold][1] for fold in kept]
            rows, distances = self.lists.nearest_in_folds(
                values,
                [self.parts[fold] for fold in kept],
                None if self.transforms is None else [self.transforms.folds[fold] for fold in kept],
                owner._longest,
                [self.bounds[fold] for fold in kept],
                threads,
            )
            answers = iter(cut_at(owner._decide(rows, distances), tests))
            yield from (next(answers) if holds else None for holds in sure)

    def _sure(
        self, owner: _Neighbours, some: range, target: np.ndarray, classes: Any, width: int, threads: int
    ) -> list[bool]:
        """Which folds need no model: training rows in their order, enough of them, of every class, and columns that
        are scaled at most."""
        parts = [self.parts[fold] for fold in some]
        split = split_all_rows(parts, target.shape[0], threads).tolist()
        count = None if classes is None else np.bincount(target, minlength=classes.shape[0])
        sure = []
        for fold, ordered, part in zip(some, split, parts, strict=True):
            through = None if self.transforms is None else self.transforms.folds[fold]
            train = part[0] if ordered != 2 else None
            holds = owner._longest <= (target.shape[0] - part[1].shape[0] if train is None else train.shape[0])
            holds &= through is None or (through.scales and through.width == width)
            if holds and train is not None:
                holds = bool((train[1:] > train[:-1]).all())
            if holds and count is not None:
                if train is None:
                    rest = count - np.bincount(target[part[1]], minlength=count.shape[0])
                else:
                    rest = np.bincount(target[train], minlength=count.shape[0])
                holds = bool((rest > 0).all())
            sure.append(holds)
        return sure

    def _mixed_bound(self, model: _Neighbours, values: np.ndarray) -> Bound:
        """Ranges of training rows are no wider than those of all rows; a query beyond them is moved to their end."""
        span, low = model._index.placement["span"], model._index.placement["low"]
        if ((span == 0) & (self.placement["span"] > 0)).any():
            return Bound(ratio=0.0)
        scaled = (values - low) / np.where(span > 0, span, np.inf)
        beyond = np.where(span > 0, np.maximum(-scaled, scaled - 1.0), 0.0)
        return Bound(slack=np.nansum(np.maximum(beyond, 0.0), axis=1))


class KNNClassifier(_Neighbours, Classifier):
    """Predicts the class that most of the k nearest training rows have, with the shares of the vote as probabilities.

    Columns enter the distance with the scale they have: standardise numbers first, unless the metric does it
    ("mixed", "mahalanobis"). Text columns and missing cells are taken as they come by the mixed metric.

    Examples
    --------
    >>> from assay.models.neighbours import KNNClassifier
    >>> model = KNNClassifier(n_neighbors=3).fit([[0.0], [1.0], [2.0], [9.0]], ["a", "a", "b", "b"])
    >>> model.predict([[0.4], [7.0]])
    array(['a', 'b'], dtype='<U1')
    >>> model.kneighbors([[0.4]], n_neighbors=2)
    (array([[0.4, 0.6]]), array([[0, 1]]))
    """

    _learned = {"codes_": "the class of each training row, as an index into `classes_`"}
    _kept_target = "codes_"

    def fit(self, X: Any, y: Any) -> KNNClassifier:
        """Keep and index the training rows."""
        values, self.codes_, _ = self._begin(X, y)
        self._index_rows(values)
        return self

    def _one_hot(self) -> np.ndarray:
        return np.eye(self.classes_.shape[0])[self.codes_]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The share of the vote of each class."""
        check_is_fitted(self)
        return self._decide(*self._nearest(self._read(X, reset=False), self.n_neighbors_))

    def _decide(self, rows: np.ndarray, distances: np.ndarray) -> np.ndarray:
        weights = None if self.weights == "uniform" else np.ascontiguousarray(self._vote_weights(distances))
        codes, threads = self.codes_.astype(np.int32, copy=False), thread_count(self.n_jobs)
        return _kernels.vote_shares(np.ascontiguousarray(rows), codes, weights, self.classes_.shape[0], threads)

    _loss_name = "share of wrong classes"

    def _losses(self, decided: np.ndarray, asked: Any, squared: bool) -> np.ndarray:
        if squared:
            return ((decided - self._one_hot()[asked]) ** 2).sum(axis=1)
        return decided.argmax(axis=1) != self.codes_[asked]

    def view(self) -> Neighbours | None:
        """Which classes the neighbours of the rows of each class have, training rows asked for the others."""
        found = self._around(self.codes_)
        if found is None:
            return None
        asked, rows, facts = found
        n_classes = self.classes_.shape[0]
        pairs = self.codes_[asked][:, None] * n_classes + self.codes_[rows]
        counts = np.bincount(pairs.ravel(), minlength=n_classes**2).reshape(n_classes, n_classes).astype(float)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
        return Neighbours(**facts, classes=self.classes_.tolist(), shares=shares.tolist())


class KNNRegressor(_Neighbours, Regressor):
    """Predicts the mean target of the k nearest training rows (weighted by `weights`); the target may have columns.

    Distances are those of `KNNClassifier`: standardise numbers first, unless the metric does it.

    Examples
    --------
    >>> from assay.models.neighbours import KNNRegressor
    >>> KNNRegressor(n_neighbors=2).fit([[0.0], [1.0], [2.0]], [0.0, 10.0, 20.0]).predict([[0.4], [5.0]])
    array([ 5., 15.])
    """

    _learned = {"target_": "the target of each training row"}
    _kept_target = "target_"

    _multi_output = True

    def fit(self, X: Any, y: Any) -> KNNRegressor:
        """Keep and index the training rows."""
        values, self.target_, _ = self._begin(X, y)
        self._index_rows(values)
        return self

    def _one_hot(self) -> np.ndarray:
        return self.target_.reshape(self.target_.shape[0], -1)

    def predict(self, X: Any) -> np.ndarray:
        """The weighted mean target of the neighbours."""
        check_is_fitted(self)
        return self._decide(*self._nearest(self._read(X, reset=False), self.n_neighbors_))

    def _decide(self, rows: np.ndarray, distances: np.ndarray) -> np.ndarray:
        if self.weights == "uniform":
            return self.target_[rows].mean(axis=1)
        weights = self._vote_weights(distances)
        weights /= weights.sum(axis=1, keepdims=True)
        if self.target_.ndim == 2:
            return (self.target_[rows] * weights[:, :, None]).sum(axis=1)
        return (self.target_[rows] * weights).sum(axis=1)

    _loss_name = "mean squared error"

    def _losses(self, decided: np.ndarray, asked: Any, squared: bool) -> np.ndarray:
        return ((decided - self._one_hot()[asked]) ** 2).mean(axis=1)

    def view(self) -> Neighbours | None:
        """How far the target of a row is from its neighbours' and from any other row's, on average."""
        found = self._around()
        if found is None:
            return None
        asked, rows, facts = found
        target = self.target_.reshape(self.target_.shape[0], -1)
        spread = float(np.abs(target[rows] - target[asked][:, None]).mean())
        ordered, n = np.sort(target, axis=0), target.shape[0]
        # The mean over all pairs, from the sorted values.
        pairs = ((2 * np.arange(1, n + 1) - n - 1) @ ordered) * 2.0 / (n * (n - 1.0))
        return Neighbours(**facts, spread=spread, whole=float(pairs.mean()))
