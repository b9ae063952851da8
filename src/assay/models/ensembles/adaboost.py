"""AdaBoost: learners in turn, each on the rows that those before it missed; they vote by how good they are."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.columns import class_places
from ...base.cost import Cost
from ...base.errors import ParameterError, plain
from ...base.estimator import Classifier, take_rows
from ...base.folds import open_seeds, seeds_of
from ...base.parameters import Choice, Instance, Integer, Nothing, Real, param
from ...base.threads import thread_count
from ...base.usual_parameters import categorical_features_param, n_jobs_param, random_state_param, trace_param
from ...base.weights import count_rows, in_units
from ...data.columns import ColumnSchema, MixedInput
from . import binning
from .binning import binned, cells_of
from .forest import Forest
from .margins import Margins, margins_of
from .sql import logistic_sql, select_sql, sums_sql

LEAST_ERROR = 1e-12
MOST_DRAWS = 10

MOST_DRAWN = 1e7
"""Rows that whole-number weights may stand for; beyond, they are weights like any other."""


def training_bound(errors: np.ndarray, votes: np.ndarray) -> np.ndarray:
    """After each round, a bound on the share of training weight that the vote misses.

    A row that the vote misses was missed by at least half of the votes, whence the product of
    (1 - e) exp(-a / 2) + e exp(a / 2) over errors e and votes a; it is 2 sqrt(e (1 - e)) for a = log((1 - e) / e), and
    may say nothing (above 1) where learners of more than two classes err on half of the weight.

    >>> training_bound(np.array([0.2]), np.log([4.0])).round(6)
    array([0.8])
    """
    factors = (1.0 - errors) * np.exp(-votes / 2) + errors * np.exp(votes / 2)
    return np.cumprod(factors)


class AdaBoostClassifier(MixedInput, Classifier):
    """Trees (or other learners) in turn, each on the rows that those before it missed, with a vote by their error.

    Rows have weights; a learner of weighted error e gets the vote log((1 - e) / e) + log(classes - 1), and the weights
    of the rows it misses grow by the exponential of it (SAMME, which is AdaBoost for two classes). Stumps and small
    trees are grown by a kernel on binned columns with sums in whole numbers: the same bits for any order of the rows
    and any number of threads, missing cells and nominal columns as they are. Probabilities are those of the additive
    model: the votes are log odds.

    Attributes
    ----------
    classes_ : array of the class labels
    forest_ : the trees as arrays, if `estimator` is None
    estimators_ : the learners, if `estimator` is given
    estimator_errors_, estimator_weights_ : weighted error and vote of each learner
    training_bound_ : after each round, a bound on the share of training weight that the vote misses
    feature_importances_ : share of the decrease of impurity that each column brought, if `estimator` is None

    Examples
    --------
    >>> from assay.models.ensembles import AdaBoostClassifier
    >>> X = [[position] for position in range(40)]
    >>> y = ["in" if 10 <= position < 30 else "out" for position in range(40)]
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    >>> model.predict([[20], [35]])
    array(['in', 'out'], dtype='<U3')
    >>> bool((model.predict(X) != y).mean() <= model.training_bound_[-1])
    True
    """

    _way_out = "take a sample of the rows or fewer rounds"

    n_estimators: int = param(
        100, Integer(1), "Rounds at most; a learner without error, or no better than guessing, ends them."
    )
    learning_rate: float = param(1.0, Real(0, None, "neither"), "Factor of every vote.")
    max_depth: int = param(1, Integer(1, 30), "Depth of the trees; 1 for stumps.")
    method: str = param(
        "reweighting",
        Choice("reweighting", "resampling"),
        "How a learner sees the weights: as weights of the rows, or by rows drawn with these probabilities.",
    )
    estimator: Any = param(
        None, Instance(BaseEstimator) | Nothing(), "Classifier to boost; None for trees of `max_depth` by the kernel."
    )
    max_bins: int = param(
        255, Integer(2, 255), "Bins per numeric column; one of no more distinct values is taken exactly."
    )
    categorical_features: Any = categorical_features_param()
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    forest_: Forest
    schema_: ColumnSchema

    def _draws(self) -> bool:
        return self.method == "resampling" or self.estimator is not None

    _read, fit_folds, row_fits = binning.read_columns, binning.fit_folds, binning.row_fits

    def shares_rows(self, X: Any) -> bool:
        """Whether folds of this table can share the ranks of its cells."""
        return self.estimator is None and binning.shares_rows(self, X)

    # -- fitting -----------------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the rounds."""
        cells, codes, weights = self._begin(X, y, sample_weight)
        for name in ("forest_", "estimators_"):
            self.__dict__.pop(name, None)
        if self.estimator is not None:
            rows = X if sample_weight is None else take_rows(X, np.flatnonzero(np.broadcast_to(sample_weight, len(y))))
            votes = self._boost_any(rows, codes, weights)
        else:
            votes = self._boost_trees(cells, codes, weights)
        self.training_bound_ = training_bound(self.estimator_errors_, self.estimator_weights_)
        self.margins_ = Margins.of(margins_of(votes, codes)).margins
        trace = self._new_trace()
        if trace.on:
            for step, (error, vote) in enumerate(
                zip(self.estimator_errors_.tolist(), self.estimator_weights_.tolist())
            ):
                trace.record("round", round=step + 1, error=error, vote=vote, bound=float(self.training_bound_[step]))
        self._keep_trace(trace)
        return self

    def _boost_trees(self, read: Any, codes: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Fit by the kernel; returns the votes of the training rows."""
        threads, classes, cells = thread_count(self.n_jobs), self.classes_.shape[0], cells_of(read)
        if classes == 1:
            grown = _kernels.grow_adaboost(
                _kernels.make_bins(cells[:1], self.schema_.n_categories, None, 2, 1), np.zeros(1, dtype=np.int32), 2,
                None, True, rounds=0, max_depth=1, learning_rate=1.0, resample=False, key=0, threads=1,
            )  # fmt: skip
        else:
            table = binned(read, self.schema_.n_categories, weights, int(self.max_bins), threads)
            whole = weights is None or count_rows(weights, MOST_DRAWN)
            if weights is not None and not whole:
                weights, _ = in_units(weights)
            if self.method == "resampling":
                keys = np.column_stack([codes] if weights is None or whole else [codes, weights]).astype(np.float64)
                order = _kernels.content_order(table, np.ascontiguousarray(keys), threads)
                table, codes = _kernels.take_rows(table, order, threads), codes[order]
                cells, weights = cells[order], None if weights is None else weights[order]
            grown = _kernels.grow_adaboost(
                table,
                codes,
                classes,
                weights,
                whole,
                rounds=int(self.n_estimators),
                max_depth=int(self.max_depth),
                learning_rate=float(self.learning_rate),
                resample=self.method == "resampling",
                key=self._stream().key if self.method == "resampling" else 0,
                threads=threads,
            )
            if self.method == "resampling":
                cells = cells[np.argsort(order)]
        self.estimator_errors_, self.estimator_weights_ = grown.pop("errors"), grown.pop("votes")
        self.forest_ = Forest.of(grown, self.schema_.n_categories)
        return self._votes_of_scores(self.forest_.sums(cells, self._width, threads))

    def _boost_any(self, X: Any, codes: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Fit learners of any kind; returns the votes of the training rows."""
        self._check_estimator()
        count, n_rows, classes = len(self.classes_), codes.shape[0], np.arange(len(self.classes_))
        start = np.full(n_rows, 1.0 / n_rows) if weights is None else weights / weights.sum()
        weight, votes = start.copy(), np.zeros((n_rows, count))
        stream = self._stream()
        self.estimators_: list[Any] = []
        errors, alphas = [], []
        for step in range(int(self.n_estimators) if count > 1 else 0):
            error = 1.0
            for draw in range(MOST_DRAWS if self.method == "resampling" else 1):
                model = self._fit_one(X, codes, weight, stream.child(step).child(draw))
                said = np.asarray(model.predict(X))
                error = float(weight[said != codes].sum())
                if error < 1.0 - 1.0 / count - LEAST_ERROR:
                    break
            else:
                break
            counted = max(error, LEAST_ERROR)
            alpha = float(self.learning_rate) * (math.log((1.0 - counted) / counted) + math.log(count - 1))
            self.estimators_.append(model)
            errors.append(error)
            alphas.append(alpha)
            votes += alpha * (said[:, None] == classes)
            if error <= LEAST_ERROR:
                break
            weight = weight * np.where(said != codes, math.exp(alpha), 1.0)
            weight /= weight.sum()
        self.estimator_errors_, self.estimator_weights_ = np.array(errors), np.array(alphas)
        return votes

    def _fit_one(self, X: Any, codes: np.ndarray, weight: np.ndarray, stream: Any) -> Any:
        model = clone(self.estimator)
        model.set_params(**seeds_of(open_seeds(model), stream.child(0)))
        if self.method == "reweighting":
            return model.fit(X, codes, sample_weight=weight * codes.shape[0])
        drawn = stream.child(1).generator().choice(codes.shape[0], size=codes.shape[0], p=weight)
        return model.fit(take_rows(X, np.sort(drawn)), codes[np.sort(drawn)])

    def _check_estimator(self) -> None:
        who = type(self).__name__
        kind = plain(type(self.estimator).__name__)
        if not is_classifier(self.estimator):
            raise ParameterError(who, "parameter 'estimator'", "must be a classifier", f"got {kind}")
        if self.method == "reweighting" and "sample_weight" not in inspect.signature(self.estimator.fit).parameters:
            raise ParameterError(
                who,
                "parameter 'estimator'",
                "must take sample_weight for method='reweighting'",
                f"{kind} does not",
                "set method='resampling'",
            )

    # -- using -------------------------------------------------------------------------------------------------------
    @property
    def _width(self) -> int:
        """How many numbers a leaf has."""
        return max(1, int(self.forest_.value.shape[1]))

    def _votes_of_scores(self, scores: np.ndarray) -> np.ndarray:
        """Votes of each class from the sums of leaves, which for two classes are the difference of both."""
        if scores.shape[1] > 1 or self.classes_.shape[0] != 2:
            return scores
        half = 0.5 * (float(self.estimator_weights_.sum()) + scores[:, 0])
        return np.column_stack([half - scores[:, 0], half])

    def votes(self, X: Any) -> np.ndarray:
        """The votes for each class, one column each."""
        check_is_fitted(self)
        if hasattr(self, "forest_"):
            scores = self.forest_.sums(self._read(X, reset=False), self._width, thread_count(self.n_jobs))
            return self._votes_of_scores(scores)
        self._read(X, reset=False)
        *_, last = [np.zeros((len(X), self.classes_.shape[0])), *self._staged_votes(X)]
        return last

    def _staged_votes(self, X: Any) -> Iterator[np.ndarray]:
        check_is_fitted(self)
        cells = self._read(X, reset=False)
        if hasattr(self, "forest_"):
            scores = np.zeros((cells.shape[0], self._width))
            total = np.cumsum(self.estimator_weights_)
            for step in range(self.forest_.n_trees):
                scores = scores + self.forest_.sums(cells, self._width, thread_count(self.n_jobs), step, step + 1)
                if scores.shape[1] > 1:
                    yield scores
                else:
                    half = 0.5 * (total[step] + scores[:, 0])
                    yield np.column_stack([half - scores[:, 0], half])
            return
        votes = np.zeros((cells.shape[0], self.classes_.shape[0]))
        for model, vote in zip(self.estimators_, self.estimator_weights_.tolist()):
            votes = votes + vote * (np.asarray(model.predict(X))[:, None] == np.arange(votes.shape[1]))
            yield votes

    def decision_function(self, X: Any) -> np.ndarray:
        """The log odds of the second class: votes for it less votes for the first; for more classes their votes."""
        votes = self.votes(X)
        return votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities with the votes as log odds: the softmax of the votes."""
        return self._shares(self.votes(X))

    def _shares(self, votes: np.ndarray) -> np.ndarray:
        if self.classes_.shape[0] == 1:
            return np.ones((votes.shape[0], 1))
        shifted = np.exp(votes - votes.max(axis=1, keepdims=True))
        return shifted / shifted.sum(axis=1, keepdims=True)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """The class with the most votes after each round."""
        for votes in self._staged_votes(X):
            yield self.classes_[votes.argmax(axis=1)]

    def margins(self, X: Any, y: Any) -> np.ndarray:
        """For each row the share of votes for its class less the largest share for another, from -1 to 1."""
        votes = self.votes(X)
        labels = np.asarray(y)
        codes, known = class_places(self.classes_, labels)
        if not known.all():
            raise ParameterError(type(self).__name__, "y", "must hold classes that were seen in fit")
        return margins_of(votes, codes)

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of the decrease of impurity that each column brought, by the votes of the trees."""
        check_is_fitted(self)
        if not hasattr(self, "forest_"):
            raise AttributeError("feature_importances_ is known for trees of the kernel: estimator=None")
        return self.forest_.importances()

    def view(self) -> Margins:
        """The distribution of the margins of the training rows."""
        check_is_fitted(self)
        return Margins(margins=self.margins_)

    def to_dict(self) -> dict[str, Any]:
        """The model as plain data: nested trees whose leaves hold votes (see `Forest.to_dict`).

        The score is the sum of the leaves: log odds of the second class, or one number for each class.
        """
        check_is_fitted(self)
        if not hasattr(self, "forest_"):
            raise ParameterError(type(self).__name__, "parameter 'estimator'", "must be None for an export")
        return {
            "model": type(self).__name__,
            "schema": 1,
            "columns": list(self.schema_.names),
            "classes": self.classes_.tolist(),
            "trees": self.forest_.to_dict(self.schema_),
        }

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict())

    def to_sql(self, table: str | Sequence[str] | None = None, prediction: str = "prediction") -> str:
        """The probability of the second of two classes as SQL, or the votes of more, of which the largest wins."""
        self.to_dict()  # refuses other learners
        columns = sums_sql(type(self).__name__, self.forest_, self.schema_, np.zeros(self._width))
        if self._width == 1:
            columns = [logistic_sql(columns[0])]
        return select_sql(columns, prediction, self.classes_.tolist(), table)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A pass over every cell per level of every tree, one byte a cell; other learners by their own estimate."""
        cells = float(n_rows) * n_features
        if self.estimator is not None and hasattr(self.estimator, "estimate_cost"):
            one = self.estimator.estimate_cost(n_rows, n_features, n_outputs)
            return Cost(seconds=(one.seconds + 1e-4) * int(self.n_estimators), bytes=one.bytes)
        passes = int(self.n_estimators) * int(self.max_depth)
        nodes = int(self.n_estimators) * min(2.0 ** (int(self.max_depth) + 1), 2.0 * n_rows)
        return Cost(
            seconds=(6e-8 + 2e-9 * passes) * cells + 1e-8 * passes * n_rows + 1e-6 * nodes,
            bytes=10.0 * cells + 60.0 * n_rows + 90.0 * nodes,
        )

    def estimate_predict_cost(self, n_rows: int, n_features: int, n_queries: int) -> Cost:
        """Every tree for every row."""
        return Cost(seconds=1e-8 * int(self.n_estimators) * n_queries, bytes=8.0 * n_queries * n_features)
