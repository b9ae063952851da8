"""Moments of columns: means, sums of products, the axes of a covariance, and the one test whether a column varies.

>>> rows = np.array([[1.0, 5.0], [3.0, 5.0]])
>>> varies(rows.std(axis=0), rows.mean(axis=0))
array([ True, False])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _kernels

# The mean of equal cells may miss them by rounding; a deviation below this share of the centre is no more than that.
ROUNDING = 1e-14


def varies(deviation: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Whether a column with this standard deviation and centre varies at all, beyond the rounding of its mean."""
    return deviation > ROUNDING * np.abs(centre)


def deviation_or_one(deviation: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """The deviation of each column, 1 for a constant one: dividing by it leaves a centred constant column at 0.

    >>> deviation_or_one(np.array([2.0, 0.0]), np.array([0.0, 5.0]))
    array([2., 1.])
    """
    return np.where(varies(deviation, centre), deviation, 1.0)


def inverse_deviation(deviation: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """One over the deviation of each column, 0 for a constant one.

    >>> inverse_deviation(np.array([2.0, 0.0]), np.array([0.0, 5.0]))
    array([0.5, 0. ])
    """
    return np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies(deviation, centre))


def weighted_mean(rows: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """The mean of each column, with a sample weight per row or none.

    >>> weighted_mean(np.array([[0.0], [3.0]]), np.array([2.0, 1.0]))
    array([1.])
    """
    return rows.mean(axis=0) if weights is None else weights @ rows / weights.sum()


def column_products(rows: np.ndarray, shift: np.ndarray | None = None, threads: int = 1) -> np.ndarray:
    """The sum over rows of z z' with z = [x - shift, 1]: products of columns, sums of columns, number of rows.

    >>> column_products(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[10., 14.,  4.],
           [14., 20.,  6.],
           [ 4.,  6.,  2.]])
    """
    centre = np.zeros(rows.shape[1]) if shift is None else shift
    return _kernels.weighted_gram(rows, np.empty((rows.shape[0], 0)), centre, None, None, threads)


def along_principal_axes(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mean of the rows, their principal axes as rows, all of them, and the places of the rows along these.

    >>> centre, axes, places = along_principal_axes(np.array([[0.0, 0.0], [2.0, 2.0]]))
    >>> centre, np.abs(places[:, 0]).round(3)
    (array([1., 1.]), array([1.414, 1.414]))
    """
    centre = rows.mean(axis=0)
    axes = np.linalg.svd(rows - centre, full_matrices=False)[2]
    return centre, axes, (rows - centre) @ axes.T


@dataclass(frozen=True)
class PrincipalAxes:
    """Orthogonal directions (columns of `directions`) and the variance along each, in falling order."""

    variances: np.ndarray
    directions: np.ndarray

    @classmethod
    def of(cls, covariance: np.ndarray, tolerance: float) -> PrincipalAxes:
        """The axes of a covariance matrix; those with at most `tolerance` of the largest variance are left out.

        >>> PrincipalAxes.of(np.diag([1.0, 4.0, 0.0]), 1e-12).variances
        array([4., 1.])
        """
        values, vectors = np.linalg.eigh(covariance)
        kept = values > tolerance * max(float(values.max(initial=0.0)), 1e-300)
        return cls(values[kept][::-1].copy(), np.ascontiguousarray(vectors[:, kept][:, ::-1]))

    @property
    def whitening(self) -> np.ndarray:
        """The matrix that turns centred rows into uncorrelated columns of variance 1 (rows @ whitening)."""
        return self.directions / np.sqrt(self.variances)

    def squared_distances(self, centred: np.ndarray) -> np.ndarray:
        """Squared Mahalanobis distance of each centred row from the centre, within these axes.

        >>> PrincipalAxes.of(np.diag([1.0, 4.0]), 0.0).squared_distances(np.array([[1.0, 2.0]]))
        array([2.])
        """
        scores = centred @ self.whitening
        return np.einsum("ij,ij->i", scores, scores)
