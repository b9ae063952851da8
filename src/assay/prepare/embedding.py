"""Classical multidimensional scaling, and the embedding of wide tables through their inner products."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..base import Choice, Cost, DataError, Integer, Nothing, param
from .reduction import Reduction, settle_signs


class Embedding(Reduction):
    """Places rows in few dimensions so that their inner products, and so their distances, are kept as well as can be.

    For a table with more columns than rows the n x n matrix of inner products of the centred rows has the same
    information as the covariance matrix and is smaller; its eigenvectors, scaled, are the coordinates (the scores of
    PCA). With `input="distances"` the same is done with distances between the rows instead of the rows
    (classical multidimensional scaling), with `input="similarities"` with inner products. New rows are placed by the
    same formula from their cells, or from their distances or similarities to the training rows.

    Attributes
    ----------
    embedding_ : array (rows, components), coordinates of the training rows
    eigenvalues_ : eigenvalues of the components kept
    components_ : array (components, training rows), what a row's inner products are multiplied by
    stress_ : root of the squared error of the distances over their sum of squares
    negative_share_ : share of the negative eigenvalues in the sum of absolute ones: 0 for Euclidean distances

    Examples
    --------
    >>> import numpy as np
    >>> from assay.prepare import Embedding
    >>> towns = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    >>> places = Embedding(n_components=2, input="distances").fit_transform(towns)
    >>> round(float(np.linalg.norm(places[1] - places[2])), 6)
    5.0
    """

    _way_out = "take a sample of the rows, or PCA if there are fewer columns than rows"

    n_components: int | None = param(2, Integer(1) | Nothing(), "Dimensions; None for all with positive eigenvalues.")
    input: str = param("table", Choice("table", "distances", "similarities"), "What the cells of X are.")

    def fit(self, X: Any, y: Any = None) -> Embedding:
        """Place the training rows."""
        self._place(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Place the training rows and return their coordinates."""
        return self._place(X)

    def _place(self, X: Any) -> np.ndarray:
        rows, _ = self._begin_weighted(X, None)
        n_rows = rows.shape[0]
        if n_rows < 2:
            raise DataError(
                "Embedding", "the table", "must have at least 2 rows", f"got n_samples = {n_rows}", "add rows"
            )
        if self.input == "table":
            self.mean_ = rows.mean(axis=0)
            self.rows_ = rows - self.mean_
            inner = self.rows_ @ self.rows_.T
        else:
            inner = self._square(rows)
            self.row_means_, self.grand_mean_ = inner.mean(axis=0), float(inner.mean())
            inner = inner - self.row_means_ - self.row_means_[:, None] + self.grand_mean_
        values, vectors = scipy.linalg.eigh((inner + inner.T) / 2)
        values, vectors = values[::-1], vectors[:, ::-1]
        positive = int((values > 1e-10 * max(float(np.abs(values).max()), 1e-300)).sum())
        kept = max(min(positive if self.n_components is None else self.n_components, positive), 1)
        self.eigenvalues_ = np.maximum(values[:kept], 0.0)
        directions = settle_signs(vectors[:, :kept].T)
        lengths = np.sqrt(self.eigenvalues_)
        self.embedding_ = directions.T * lengths
        self.components_ = np.divide(
            directions, lengths[:, None], out=np.zeros_like(directions), where=lengths[:, None] > 0
        )
        self.negative_share_ = float(-values[values < 0].sum() / (np.abs(values).sum() or 1.0))
        self.stress_ = self._stress(inner)
        return self.embedding_.copy()

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of other rows, from their cells, or from their distances or similarities to the training rows."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        if self.input == "table":
            return (rows - self.mean_) @ (self.components_ @ self.rows_).T
        inner = -0.5 * rows**2 if self.input == "distances" else rows
        inner = inner - inner.mean(axis=1, keepdims=True) - self.row_means_ + self.grand_mean_
        return inner @ self.components_.T

    def _square(self, given: np.ndarray) -> np.ndarray:
        """Checked distances or similarities as inner products."""
        if given.shape[0] != given.shape[1]:
            raise DataError(
                "Embedding", "X", f"must be square for input='{self.input}'", f"got {given.shape[0]} x {given.shape[1]}"
            )
        off = np.abs(given - given.T).max()
        if off > 1e-8 * max(float(np.abs(given).max()), 1e-300):
            raise DataError("Embedding", "X", "must be symmetric", f"it differs from its transpose by {off:g}")
        if self.input == "similarities":
            return given
        if (given < 0).any() or np.abs(np.diag(given)).max() > 1e-8 * max(float(given.max()), 1e-300):
            raise DataError("Embedding", "X", "must hold distances: not negative, and zero from a row to itself")
        return -0.5 * given**2

    def _stress(self, inner: np.ndarray) -> float:
        """Error of the distances between the coordinates against those behind the inner products."""
        own = np.diag(inner)
        wanted = np.maximum(own[:, None] + own[None, :] - 2 * inner, 0.0)
        place = np.einsum("ij,ij->i", self.embedding_, self.embedding_)
        got = np.maximum(place[:, None] + place[None, :] - 2 * self.embedding_ @ self.embedding_.T, 0.0)
        error = (np.sqrt(wanted) - np.sqrt(got)) ** 2
        return float(np.sqrt(error.sum() / (wanted.sum() or 1.0)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.input != "table"
        return tags

    def explain(self) -> list[str]:
        """How well the distances are kept, in words."""
        check_is_fitted(self)
        return [
            f"Rows are placed in {self.components_.shape[0]} dimensions; the distances are off by {self.stress_:.1%}."
        ]

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """The matrix of inner products and its eigenvectors."""
        n = float(n_rows)
        return Cost(
            seconds=1e-10 * n**2 * n_features + 6e-10 * n**3 + 1e-5, bytes=8.0 * (6 * n**2 + 2 * n * n_features)
        )
