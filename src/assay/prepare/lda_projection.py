"""Fisher's discriminant: the directions in which classes lie farthest apart for their spread."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..base import Cost, DataError, Integer, Nothing, ParameterError, check_lengths, param
from ..base.estimator import count_labels, distinct_labels
from ..base.threads import one_blas_thread
from ..base.words import count as counted
from ..numeric.moments import inverse_deviation, weighted_mean
from .reduction import ClassReduction, settle_signs

# Cells of a dense table of memberships, up to which it is quicker made than a sparse one.
_SMALL = 300_000  # cells
_FEW = 2**16


class LDAProjection(ClassReduction):
    """Projects rows of two or more classes on the directions that separate them best.

    The directions w maximise w' S_B w / w' S_W w, the scatter between the class means over the scatter within the
    classes; K classes have at most K - 1 of them. They are scaled so that the pooled variance within classes is 1.
    Where S_W is singular (more columns than rows, or dependent columns), principal components come first, as many as
    make it regular.

    Attributes
    ----------
    components_ : array (components, columns), the directions
    explained_variance_ratio_ : share of each direction in the separation of the classes
    means_ : array (classes, columns), class means
    mean_ : what is subtracted first
    n_principal_ : number of principal components that came first, 0 if none had to

    Examples
    --------
    >>> import numpy as np
    >>> from assay.prepare import LDAProjection
    >>> X = np.array([[1.0, 1.0], [2.0, 3.0], [3.0, 4.0], [2.0, 1.0]])
    >>> fisher = LDAProjection().fit(X, [0, 1, 1, 0])
    >>> (fisher.components_[0] / fisher.components_[0, 0] * -3).round(9).tolist()
    [-3.0, 8.0]
    """

    _needs_classes = True

    n_components: int | None = param(None, Integer(1) | Nothing(), "Directions; None for as many as there are.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LDAProjection:
        """Find the directions from the training rows and their classes."""
        classes, codes = self._codes(y)
        rows = self._read(X, reset=True)
        check_lengths(type(self).__name__, rows.shape[0], codes.shape[0])
        rows, weights = self._begin_weighted(X, sample_weight)
        kept = slice(None) if sample_weight is None else np.asarray(sample_weight) > 0
        codes = codes[kept] if not isinstance(kept, slice) and np.ndim(kept) else codes
        present, codes = np.unique(codes, return_inverse=True)
        if present.shape[0] < 2:
            raise DataError(
                type(self).__name__, "y", "must hold at least 2 classes", f"got {present.shape[0]} class", "check y"
            )
        self.classes_ = classes[present]
        # Waking the threads of BLAS takes longer than the products of a small table.
        with one_blas_thread() if rows.size <= _SMALL else contextlib.nullcontext():
            self._solve(rows, codes, np.ones(rows.shape[0]) if weights is None else weights)
        return self

    def _codes(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        self._check_parameters()
        if y is None:
            raise ValueError(
                "LDAProjection: requires y to be passed, but the target y is None; give one class per row."
            )
        labels = y if type(y) is np.ndarray and y.ndim == 1 else column_or_1d(y, warn=True)
        found = count_labels(labels)
        if found is not None:
            return found
        return distinct_labels(type(self).__name__, labels)

    def _solve(self, rows: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> None:
        k, total = int(codes.max()) + 1, float(weights.sum())
        self.mean_ = weighted_mean(rows, weights)
        share = np.bincount(codes, weights=weights, minlength=k)
        centred = rows - self.mean_
        if k * codes.size <= _FEW:
            sums = ((codes == np.arange(k)[:, None]) * weights) @ centred
        else:
            sums = csr_matrix((weights, (codes, np.arange(codes.size))), shape=(k, codes.size)) @ centred
        offsets = sums / share[:, None]
        self.means_ = offsets + self.mean_
        within = (centred - offsets[codes]) * np.sqrt(weights)[:, None]
        between = offsets * np.sqrt(share)[:, None]
        basis = self._regular_basis(within, between)
        inside, outside = within @ basis, between @ basis
        freedom = max(total - k, 1.0)
        values, vectors = scipy.linalg.eigh(outside.T @ outside, inside.T @ inside / freedom)
        order = np.argsort(-values, kind="stable")
        most = min(k - 1, basis.shape[1])
        wanted = most if self.n_components is None else self.n_components
        if wanted > most:
            raise ParameterError(
                "LDAProjection",
                "parameter 'n_components'",
                f"must be at most {most}: the number of classes less one, or of independent columns",
                f"got {wanted}",
            )
        live = np.maximum(values[order], 0.0)
        self.components_ = settle_signs((basis @ vectors[:, order[:wanted]]).T)
        self.explained_variance_ratio_ = live[:wanted] / (live[:most].sum() or 1.0)

    def _regular_basis(self, within: np.ndarray, between: np.ndarray) -> np.ndarray:
        """Columns that leave the scatter within classes regular: all axes, or leading principal components."""
        scale = np.sqrt(np.einsum("ij,ij->j", within, within) + np.einsum("ij,ij->j", between, between))
        inverse = inverse_deviation(scale, np.zeros_like(scale))
        axes = np.diag(inverse)[:, inverse > 0]
        self.n_principal_ = 0
        if axes.shape[1] and _rank(within @ axes) == axes.shape[1]:
            return axes
        # The scatter of all rows is that within plus that between; its leading directions, one by one fewer.
        _, singular, directions = scipy.linalg.svd(np.vstack([within, between]) @ axes, full_matrices=False)
        rank = int((singular > 1e-10 * max(float(singular.max(initial=0.0)), 1e-300)).sum()) if singular.size else 0
        size = min(rank, max(_rank(within @ axes), 1))
        while size > 1 and _rank(within @ axes @ directions[:size].T) < size:
            size -= 1
        if size < 1 or _rank(within @ axes @ directions[:size].T) < size:
            raise DataError(
                "LDAProjection",
                "X",
                "must vary within the classes",
                "the rows of every class are equal",
                "add rows or columns",
            )
        self.n_principal_ = size
        return axes @ directions[:size].T

    def explain(self) -> list[str]:
        """What was found, in words."""
        check_is_fitted(self)
        first = f", after {self.n_principal_} principal components" if self.n_principal_ else ""
        count = self.components_.shape[0]
        return [f"{counted(count, 'discriminant direction')} for {self.classes_.size} classes{first}."]

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Two scatter matrices and their eigenvectors."""
        n, d = float(n_rows), float(n_features)
        return Cost(
            seconds=4e-10 * n * d * min(n, d) + 3e-9 * min(n, d) ** 3 + 1e-5, bytes=8.0 * (5 * n * d + 6 * d * d)
        )


def _rank(matrix: np.ndarray) -> int:
    if matrix.shape[0] > matrix.shape[1]:
        matrix = scipy.linalg.qr(matrix, mode="r", check_finite=False)[0][: matrix.shape[1]]
    singular = scipy.linalg.svdvals(matrix) if min(matrix.shape) else np.zeros(0)
    return int((singular > 1e-9 * max(float(singular.max(initial=0.0)), 1e-300)).sum())
