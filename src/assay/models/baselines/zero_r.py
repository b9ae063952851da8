"""ZeroR: the prediction that ignores the row. What any model must beat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from ...base import Choice, Classifier, Cost, Regressor, param
from ...base.cells import is_pandas
from ...base.folds import Fold, Transforms, split_all_rows
from ...base.views import Shares


def _plain_shape(X: Any) -> tuple[int, int]:
    """Rows and columns of an array, a pandas frame or a list of lists; zeros for what needs a closer look."""
    if (type(X) is np.ndarray and X.ndim == 2) or is_pandas(X):
        return X.shape
    listed = type(X) is list and X and type(X[0]) is list
    return (len(X), len(X[0])) if listed else (0, 0)


class _IgnoresColumns:
    """Looks at the number and names of columns, never at the cells."""

    _allow_nan = True
    _allow_sparse = True
    _reads_cells = False

    def _count(self, X: Any) -> int:
        """The number of rows of a table that has the columns of fit."""
        if not hasattr(self, "n_features_in_"):
            check_is_fitted(self)
        return self._read(X, reset=False).shape[0]

    def _read(self, X: Any, *, reset: bool) -> np.ndarray:
        n_rows, width = _plain_shape(X)
        if n_rows and width and self._knows_columns(X, width, reset=reset):  # type: ignore[attr-defined]
            return np.empty((n_rows, 0))
        validate_data(self, X, reset=reset, skip_check_array=True)
        return np.empty((_num_samples(X), 0))

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """One pass over the target; the columns are not read."""
        return Cost(seconds=2e-8 * n_rows, bytes=16.0 * n_rows)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.no_validation = True
        return tags


class ZeroRClassifier(_IgnoresColumns, Classifier):
    """Predicts the most frequent class of the training rows, with the class shares as probabilities.

    Attributes
    ----------
    classes_ : array of the class labels
    class_prior_ : array of the weighted share of each class

    Examples
    --------
    >>> from assay.models.baselines import ZeroRClassifier
    >>> model = ZeroRClassifier().fit([[0], [0], [0]], ["yes", "no", "yes"])
    >>> model.predict([[5]])
    array(['yes'], dtype='<U3')
    >>> model.predict_proba([[5]]).round(2)
    array([[0.33, 0.67]])
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ZeroRClassifier:
        """Count the classes."""
        _, codes, weights = self._begin(X, y, sample_weight)
        counts = np.bincount(codes, weights=weights, minlength=self.classes_.shape[0])
        self.class_prior_ = counts / counts.sum()
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The class shares of the training rows, for every row."""
        rows = self._count(X)  # refuses an unfitted model first
        return np.tile(self.class_prior_, (rows, 1))

    def _predict_folds(
        self, X: np.ndarray, y: Any, folds: Sequence[Fold], transforms: Transforms = None
    ) -> Iterator[np.ndarray | None]:
        """What the models of `fit_folds` say of their test rows: the columns are not read."""
        template = clone(self)
        _, codes, _ = template._begin(X, y)
        whole, split = np.bincount(codes), split_all_rows(folds, codes.shape[0])
        for fold, rest in zip(folds, split.tolist(), strict=True):
            counts = np.bincount(codes[fold[1 if rest else 0]], minlength=whole.shape[0])
            counts = whole - counts if rest else counts
            # One row, repeated without being copied.
            said = np.broadcast_to(counts / counts.sum(), (fold[1].shape[0], counts.shape[0]))
            yield said if counts.all() else None

    def predict(self, X: Any) -> np.ndarray:
        """The most frequent class, for every row."""
        return np.full(self._count(X), self.classes_[self.class_prior_.argmax()])

    def view(self) -> Shares:
        """The class shares."""
        return Shares(classes=self.classes_.tolist(), shares=self.class_prior_.tolist())

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


class ZeroRRegressor(_IgnoresColumns, Regressor):
    """Predicts the mean or median of the training target.

    Attributes
    ----------
    constant_ : float, the prediction

    Examples
    --------
    >>> from assay.models.baselines import ZeroRRegressor
    >>> ZeroRRegressor(strategy="median").fit([[0], [0], [0]], [1.0, 2.0, 9.0]).predict([[5]])
    array([2.])
    """

    strategy: str = param("mean", Choice("mean", "median"), "What to predict: the weighted mean or median.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ZeroRRegressor:
        """Take the weighted mean or median of y."""
        _, target, weights = self._begin(X, y, sample_weight)
        if self.strategy == "mean":
            self.constant_ = float(np.average(target, weights=weights))
        else:
            self.constant_ = weighted_median(target, weights)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The same constant for every row."""
        return np.full(self._count(X), self.constant_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


def weighted_median(values: np.ndarray, weights: np.ndarray | None) -> float:
    """The median in which a row of weight w counts as w rows (midpoint at an exact half).

    >>> weighted_median(np.array([1.0, 2.0, 9.0]), np.array([1.0, 1.0, 2.0]))
    5.5
    """
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weights[order])
    half = 0.5 * cumulative[-1]
    low = values[order][np.searchsorted(cumulative, half, side="left")]
    high = values[order][min(np.searchsorted(cumulative, half, side="right"), values.shape[0] - 1)]
    return float(0.5 * (low + high))
