"""Columns chosen by what a model makes of them: its weights or importances, once or round after round."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags

from .. import catalogue
from ..base.cost import Cost
from ..base.cv import Folds, make_folds
from ..base.errors import AssayWarning, DataError, ParameterError, plain
from ..base.estimator import check_lengths, check_weights
from ..base.folds import Fold, fit_folds, open_seeds, seeds_of
from ..base.parameters import Choice, Instance, Integer, Nothing, Real, param
from ..base.randomness import Stream
from ..base.usual_parameters import random_state_param
from ..numeric.moments import inverse_deviation
from ..numeric.solves import ridge_coefficients
from .stability import ColumnSelector, holds_numbers


class _ModelSelector(ColumnSelector):
    """What the selectors by a model share: reading, standardising, and the importance of each column."""

    _way_out = "take a sample of the rows"

    estimator: Any
    alpha: float

    def _begin(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Standardised rows, target and weights; `_taken` says which rows have weight."""
        self._check_parameters()
        who = type(self).__name__
        if y is None:
            raise ValueError(f"{who}: requires y to be passed, but the target y is None; give one value per row.")
        rows, target = self._read(X, reset=True), np.asarray(y)
        if target.ndim == 2 and target.shape[1] == 1:
            target = target.ravel()
        check_lengths(who, rows.shape[0], target.shape[0])
        if target.dtype.kind == "f" and not np.isfinite(target).all():
            raise DataError(who, "y", "must be finite (Input y contains NaN or infinity)")
        weights = check_weights(who, sample_weight, rows.shape[0])
        self._check_cost(*rows.shape)
        self._taken = np.ones(rows.shape[0], dtype=bool) if weights is None else weights > 0
        if weights is not None:
            rows, target, weights = rows[self._taken], target[self._taken], weights[self._taken]
        share = np.full(rows.shape[0], 1.0 / rows.shape[0]) if weights is None else weights / weights.sum()
        centre = share @ rows
        deviation = np.sqrt(share @ (rows - centre) ** 2)
        return (rows - centre) * inverse_deviation(deviation, centre), target, weights

    def _draws(self) -> bool:
        given = self.estimator
        return isinstance(given, str) or (given is not None and bool(open_seeds(given)))

    def _model(self, stream: Stream) -> Any:
        """The unfitted model: a clone of the user's, one of the catalogue, or ridge regression; open seeds are set."""
        model = self._template()
        names = open_seeds(model)
        return model.set_params(**seeds_of(names, stream)) if names else model

    def _template(self) -> Any:
        if isinstance(self.estimator, str):
            entry = catalogue.get(self.estimator)
            if entry.task not in catalogue.PLANNED:
                raise ParameterError(
                    type(self).__name__,
                    "parameter 'estimator'",
                    "must be a learner",
                    f"'{entry.id}' is to {entry.task}",
                )
            return entry.load()()
        return _Ridge(self.alpha) if self.estimator is None else clone(self.estimator)

    def _importances(
        self, rows: np.ndarray, target: np.ndarray, weights: np.ndarray | None, stream: Stream
    ) -> np.ndarray:
        """Importance of each column: size of its weights over all classes, or what the model says."""
        model = self._model(stream)
        extra = {} if weights is None else {"sample_weight": weights}
        model.fit(rows, target, **extra)
        for name in ("coef_", "feature_importances_"):
            if hasattr(model, name):
                found = np.asarray(getattr(model, name), dtype=np.float64)
                return np.sqrt((np.atleast_2d(found) ** 2).sum(axis=0))
        raise ParameterError(
            type(self).__name__,
            "parameter 'estimator'",
            "must have coef_ or feature_importances_ after fit",
            f"got {type(model).__name__}",
        )

    def explain(self) -> list[str]:
        """Which columns are kept, in words."""
        names = [plain(name) for name, kept in zip(self._names(), self._get_support_mask()) if kept]
        shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        return [f"{len(names)} of {self.n_features_in_} columns are kept: {shown}."]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """One Gram matrix and one solution (a given model counts the same)."""
        n, d = float(n_rows), float(n_features)
        return Cost(seconds=1e-10 * n * d * d + 1e-9 * d**3 + 1e-8 * n * d + 1e-5, bytes=8.0 * (3 * n * d + 3 * d * d))


def _estimator_param() -> Any:
    return param(
        None,
        Instance(str, BaseEstimator) | Nothing(),
        "Whose weights or importances judge: an estimator, a catalogue id such as 'lasso' or 'cart-classifier', or "
        "None for the weights of a ridge regression on the columns (on indicators of the classes, if y holds classes).",
    )


class SelectEmbedded(_ModelSelector):
    """Keeps the columns to which a model on standardised columns gives the largest weights or importances.

    Attributes
    ----------
    importances_ : array, the importance of each column
    threshold_ : the least importance of a column that is kept
    support_ : boolean array, which columns are kept

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from assay.prepare import SelectEmbedded
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> SelectEmbedded(estimator="lasso", k=3).fit(X, y).get_feature_names_out().tolist()
    ['bmi', 'bp', 's5']
    """

    estimator: Any = _estimator_param()
    k: int | None = param(None, Integer(1) | Nothing(), "Columns to keep at most; None for no limit.")
    threshold: Any = param(
        "mean",
        Choice("mean", "median") | Real(0) | Nothing(),
        "Least importance: a number, the mean or median of all, or None for no bound.",
    )
    alpha: float = param(1.0, Real(0), "Penalty of the ridge regression, where no estimator is given.")
    random_state: Any = random_state_param()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SelectEmbedded:
        """Fit the model and keep the important columns."""
        rows, target, weights = self._begin(X, y, sample_weight)
        self.importances_ = self._importances(rows, target, weights, self._stream())
        bounds = {"mean": self.importances_.mean(), "median": np.median(self.importances_), None: 0.0}
        self.threshold_ = float(bounds.get(self.threshold, self.threshold))
        if self.k is not None and self.threshold == "mean":
            # The default bound gives way to a number that the user asks for.
            self.threshold_ = 0.0
        self.support_ = self.importances_ >= self.threshold_ * (1 - 1e-12)
        if self.k is not None:
            best = np.argsort(-self.importances_, kind="stable")[: self.k]
            self.support_ &= np.isin(np.arange(self.importances_.shape[0]), best)
        if not self.support_.any():
            text = "SelectEmbedded: no column reaches the threshold; the most important one is kept. Lower threshold."
            warnings.warn(AssayWarning("W153", text), stacklevel=3)
            self.support_[int(np.argmax(self.importances_))] = True
        return self


class SelectRFE(_ModelSelector):
    """Recursive elimination: fits a model, drops the least important columns, and goes on with the rest.

    Attributes
    ----------
    ranking_ : array, 1 for kept columns, larger for those that left earlier
    support_ : boolean array, which columns are kept
    cv_scores_ : array (sizes, folds), if `cv` is given
    sizes_ : array of the sizes scored, if `cv` is given

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from assay.prepare import SelectRFE
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> SelectRFE(n_features_to_select=4).fit(X, y).get_feature_names_out().tolist()
    ['bmi', 's1', 's2', 's5']
    """

    estimator: Any = _estimator_param()
    n_features_to_select: int | float | None = param(
        None,
        Integer(1) | Real(0, 1, "neither") | Nothing(),
        "Columns to keep, or a share of all; None for half of them.",
    )
    step: int | float = param(1, Integer(1) | Real(0, 1, "neither"), "Columns, or share of all, that leave in a round.")
    cv: Any = param(
        None,
        Integer(2) | Folds() | Nothing(),
        "Folds to choose the number of columns by the score of the model: a number, pairs of row numbers, a splitter.",
    )
    alpha: float = param(1.0, Real(0), "Penalty of the ridge regression, where no estimator is given.")
    random_state: Any = random_state_param()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SelectRFE:
        """Eliminate columns round after round."""
        rows, target, weights = self._begin(X, y, sample_weight)
        d = rows.shape[1]
        wanted, stream = self._wanted(d), self._stream()
        if self.cv is not None:
            wanted = self._scored(rows, target, weights, stream)
        elif hasattr(self, "cv_scores_"):
            del self.cv_scores_, self.sizes_
        order = self._eliminate(rows, target, weights, wanted, stream.child(0))
        self.ranking_ = np.ones(d, dtype=np.int64)
        for round_number, gone in enumerate(reversed(order)):
            self.ranking_[gone] = round_number + 2
        self.support_ = self.ranking_ == 1
        return self

    def _wanted(self, d: int) -> int:
        asked = self.n_features_to_select
        if asked is None:
            return max(1, d // 2)
        return min(int(asked), d) if isinstance(asked, int) else max(1, int(asked * d))

    def _eliminate(
        self,
        rows: np.ndarray,
        target: np.ndarray,
        weights: np.ndarray | None,
        wanted: int,
        stream: Stream,
        sizes: Any = None,
    ) -> list[np.ndarray]:
        """The columns that leave in each round; `sizes(columns)` hears of every set on the way."""
        left = np.arange(rows.shape[1])
        drop = self.step if isinstance(self.step, int) else max(1, int(self.step * rows.shape[1]))
        rounds: list[np.ndarray] = []
        while True:
            if sizes is not None:
                sizes(left)
            if left.size <= wanted:
                return rounds
            importance = self._importances(rows[:, left], target, weights, stream)
            least = np.argsort(importance, kind="stable")[: min(drop, left.size - wanted)]
            rounds.append(left[least])
            left = np.delete(left, least)

    def _scored(self, rows: np.ndarray, target: np.ndarray, weights: np.ndarray | None, stream: Stream) -> int:
        """The size with the best mean score over folds; of equal ones the smallest."""
        stratify = not holds_numbers(target)
        folds = make_folds("SelectRFE", self.cv, target, stratify=stratify, kept=self._taken)
        scores: dict[int, list[float]] = {}
        for k, fold in enumerate(folds):
            (train, test), own = fold, stream.child(k + 1)

            def hear(columns: np.ndarray, fold: Fold = fold, test: Any = test, own: Stream = own) -> None:
                table = np.ascontiguousarray(rows[:, columns])
                model = next(iter(fit_folds(self._model(own), table, target, [fold], weights)))
                tested = {} if weights is None else {"sample_weight": weights[test]}
                scores.setdefault(columns.size, []).append(float(model.score(table[test], target[test], **tested)))

            its_weights = None if weights is None else weights[train]
            self._eliminate(rows[train], target[train], its_weights, 1, own, hear)
        self.sizes_ = np.array(sorted(scores))
        self.cv_scores_ = np.array([scores[size] for size in self.sizes_])
        return int(self.sizes_[int(np.argmax(self.cv_scores_.mean(axis=1)))])


class _Ridge(BaseEstimator):
    """Ridge regression on standardised columns, on indicators of the classes if y holds classes.

    Minimises the squared error plus alpha |w|^2, as scikit-learn's; `score` is R2 over all indicators.
    """

    def __init__(self, alpha: float):
        self.alpha = alpha

    def fit(self, rows: np.ndarray, target: np.ndarray, sample_weight: np.ndarray | None = None) -> _Ridge:
        self.classes_ = None
        if not holds_numbers(target):
            self.classes_ = np.unique(target.astype(str) if target.dtype.kind == "O" else target)
        goals = self._goals(target)
        share = np.ones(rows.shape[0]) if sample_weight is None else sample_weight
        self.center_, self.mean_ = share @ rows / share.sum(), share @ goals / share.sum()
        root = np.sqrt(share)[:, None]
        left, right = (rows - self.center_) * root, (goals - self.mean_) * root
        penalty = max(self.alpha, 1e-10 * share.sum())
        self.coef_ = ridge_coefficients(left, right, penalty).T
        return self

    def score(self, rows: np.ndarray, target: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
        goals = self._goals(target)
        share = np.ones(rows.shape[0]) if sample_weight is None else sample_weight
        error = share @ (goals - self.mean_ - (rows - self.center_) @ self.coef_.T) ** 2
        whole = share @ (goals - share @ goals / share.sum()) ** 2
        return 1.0 - float(error.sum()) / max(float(whole.sum()), 1e-300)

    def _goals(self, target: np.ndarray) -> np.ndarray:
        if self.classes_ is None:
            return target.astype(np.float64)[:, None]
        labels = target.astype(str) if target.dtype.kind == "O" else target
        return (labels[:, None] == self.classes_[None, :]).astype(np.float64)
