"""What reductions share: a numeric matrix in, fewer columns out, with weights, names and signs that are settled."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..base import Unsupervised


class Reduction(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Unsupervised):
    """Base of methods that describe rows by fewer columns than they had; the new columns are named after the class."""

    _way_out = "take a sample of the rows or fewer columns"
    _squares = True
    components_: np.ndarray

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = []
        return tags


class ClassReduction(Reduction):
    """Base of linear maps that are learned from rows and their classes: what is subtracted first, then the map."""

    mean_: np.ndarray

    def transform(self, X: Any) -> np.ndarray:
        """Rows under the map, their coordinates along `components_`."""
        check_is_fitted(self)
        return (self._read(X, reset=False) - self.mean_) @ self.components_.T

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def settle_signs(directions: np.ndarray) -> np.ndarray:
    """Each row with the sign that makes its largest entry positive, so that a direction has one form.

    >>> settle_signs(np.array([[0.6, -0.8]]))
    array([[-0.6,  0.8]])
    """
    largest = np.argmax(np.abs(directions) > np.abs(directions).max(axis=1, keepdims=True) * (1 - 1e-9), axis=1)
    signs = np.sign(directions[np.arange(directions.shape[0]), largest])
    return directions * np.where(signs == 0, 1.0, signs)[:, None]
