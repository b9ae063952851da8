"""Linear solves: least squares in exact arithmetic, reduction of rows by QR, Cholesky with its condition.

A sparse table goes where `Rows` stands if `rows[part].toarray()` gives its rows and `rows.moments` its moments; a table
in blocks gives its rows by `rows[part]` at once.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack

from .. import _kernels
from ..base.threads import one_blas_thread

Rows = Any

# A column whose part orthogonal to the columns before it is below this share of its norm is a combination of them:
# rounding of the data for raw columns, and of the reduction for reduced ones.
RAW_TOLERANCE = 1e-13
REDUCED_TOLERANCE = 1e-12
CHUNK = 2048
_SMALL = 96
"""Width up to which a kernel of our own has a factor sooner than LAPACK finds its way into the caches."""
_NARROW = 512


@dataclass(frozen=True)
class Solution:
    """What a least-squares solver found; arrays are over the columns of the design (intercept first, if any)."""

    coefficients: np.ndarray
    inverse: np.ndarray
    """R^{-1}: (A'WA)^{-1} = inverse @ inverse.T, zero rows and columns for columns left out."""
    spread: np.ndarray
    kept: np.ndarray
    residual_squares: float
    total_squares: float


def exact_solve(
    design: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray | None,
    *,
    intercept: bool,
    tolerance: float = RAW_TOLERANCE,
    threads: int = 1,
) -> Solution:
    """Least squares in double-double arithmetic; columns are scaled by powers of two, which changes no digit."""
    scale, height = _powers_of_two(design), float(_powers_of_two(target[:, None])[0])
    found = _kernels.exact_least_squares(
        np.ascontiguousarray(design * scale), target * height, weights, intercept, tolerance, threads
    )
    with np.errstate(over="ignore", invalid="ignore"):  # callers look whether the numbers stayed within float64
        return Solution(
            coefficients=found["coefficients"] * scale / height,
            inverse=found["inverse"] * scale[:, None],
            spread=found["spread"] * scale,
            kept=found["kept"].astype(bool),
            residual_squares=found["residual_squares"] / height / height,
            total_squares=found["total_squares"] / height / height,
        )


def _powers_of_two(columns: np.ndarray) -> np.ndarray:
    top = np.abs(columns).max(axis=0, initial=0.0)
    return np.where(top > 0, np.exp2(-np.clip(np.frexp(top)[1], -1000, 1000)), 1.0)


def column_norms(columns: Rows, weights: np.ndarray | None) -> np.ndarray:
    """Weighted lengths of the columns, without overflow."""
    if not isinstance(columns, np.ndarray):
        mean, variance, total = columns.moments(weights, 1)
        return np.sqrt(total) * np.hypot(mean, np.sqrt(variance))
    scale = _powers_of_two(columns)
    lengths = columns * scale
    return np.linalg.norm(lengths if weights is None else lengths * np.sqrt(weights)[:, None], axis=0) / scale


def with_intercept(rows: np.ndarray, fit_intercept: bool) -> np.ndarray:
    """The design: a column of ones first if there is an intercept."""
    return np.hstack([np.ones((rows.shape[0], 1)), rows]) if fit_intercept else rows


def reduce_rows(
    rows: Rows,
    targets: np.ndarray,
    weights: np.ndarray | None,
    *,
    fit_intercept: bool,
    penalty: float = 0.0,
    centre: np.ndarray | float = 0.0,
) -> np.ndarray:
    """The triangular factor R of sqrt(W) [1 X Y], chunk by chunk: all that least squares needs of the rows.

    X is taken less `centre`. A ridge penalty is rows of sqrt(penalty) times the identity below X.
    """
    width = int(fit_intercept) + rows.shape[1] + targets.shape[1]
    factor = np.zeros((0, width))
    chunk = max(CHUNK, 4 * width)
    # Blocks are too small to share between BLAS threads, which would only wait for each other.
    with one_blas_thread():
        for begin in range(0, rows.shape[0], chunk):
            part = slice(begin, begin + chunk)
            taken = rows[part]
            taken = taken if isinstance(taken, np.ndarray) else taken.toarray()
            block = np.hstack([with_intercept(taken - centre, fit_intercept), targets[part]])
            if weights is not None:
                block *= np.sqrt(weights[part])[:, None]
            factor = _triangle(np.vstack([factor, block]))
    if penalty > 0:
        below = np.zeros((rows.shape[1], width))
        np.fill_diagonal(below[:, int(fit_intercept) :], np.sqrt(penalty))
        factor = _triangle(np.vstack([factor, below]))
    return factor


def _triangle(block: np.ndarray) -> np.ndarray:
    width = block.shape[1]
    packed, _, _, info = lapack.dgeqrf(np.asfortranarray(block), overwrite_a=1)
    assert info == 0
    factor = np.zeros((width, width))
    top = min(width, packed.shape[0])
    factor[:top] = np.triu(packed[:top])
    return factor


@dataclass(frozen=True)
class Cholesky:
    """Cholesky factor of a positive definite matrix scaled to unit diagonal, with its reciprocal condition number."""

    factor: np.ndarray
    scale: np.ndarray
    reciprocal_condition: float

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The solution for `right`, or for each of its columns."""
        if not right.size:
            return np.zeros(right.shape)
        if right.shape[0] <= _SMALL:
            columns = right.reshape(right.shape[0], -1)
            return _kernels.scaled_solve(self.factor, self.scale, columns).reshape(right.shape)
        scale = self.scale[:, None] if right.ndim == 2 else self.scale
        solution, _ = lapack.dpotrs(self.factor, right * scale, lower=1)
        return solution * scale

    def inverse_factor(self) -> np.ndarray:
        """F with F F' equal to the inverse of the matrix."""
        inverse, _ = lapack.dtrtri(self.factor, lower=1)
        return inverse.T * self.scale[:, None]

    def turned_to_inverse_diagonal(self) -> np.ndarray:
        """The diagonal of the inverse of the matrix, worked out in the place of the factor, which is lost."""
        inverse, _ = lapack.dtrtri(self.factor, lower=1, overwrite_c=1)
        return np.einsum("ij,ij->i", inverse.T, inverse.T) * self.scale**2


def few_blas_threads(width: int) -> contextlib.AbstractContextManager[None]:
    """A context in which a square matrix of this width is decomposed: on one thread of BLAS unless it is wide, for
    several would mostly wait for each other, spinning, on a busy machine a hundred times as long as the work takes.

    >>> with few_blas_threads(200):
    ...     pass
    """
    return one_blas_thread() if width <= _NARROW else contextlib.nullcontext()


def cholesky(matrix: np.ndarray, *, lift: float = 0.0, overwrite: bool = False) -> Cholesky | None:
    """The scaled Cholesky factor of the matrix with `lift` added to its diagonal, or None if that is not positive
    definite in float64; with `overwrite` in the place of the matrix, which must be C-ordered.

    >>> cholesky(np.array([[4.0, 0.0], [0.0, 8.0]]), lift=1.0).solve(np.array([5.0, 9.0]))
    array([1., 1.])
    """
    if matrix.shape[0] <= _SMALL:
        found = _kernels.scaled_cholesky(matrix, lift)
        return None if found is None else Cholesky(*found)
    # The transpose of a C-ordered matrix is what LAPACK works on without a copy.
    scaled = matrix if overwrite else np.array(matrix.T, order="C")
    diagonal = np.einsum("ii->i", scaled)
    diagonal += lift
    if not (diagonal.min() > 0 and diagonal.max() < np.inf):
        return None
    scale = 1.0 / np.sqrt(diagonal)
    scaled *= scale
    scaled *= scale[:, None]
    norm = lapack.dlange("1", scaled.T)
    if not np.isfinite(norm):
        return None
    with few_blas_threads(matrix.shape[0]):
        factor, info = lapack.dpotrf(scaled.T, lower=1, clean=1, overwrite_a=1)
        if info != 0:
            return None
        reciprocal, info = lapack.dpocon(factor, norm, uplo="L")
    return Cholesky(factor, scale, float(reciprocal)) if info == 0 else None


def inverse_triangles(factors: np.ndarray) -> np.ndarray:
    """The inverses of lower triangles (k, d, d): Cholesky factors of covariances give what whitens rows.

    >>> inverse_triangles(np.array([[[2.0, 0.0], [1.0, 1.0]]]))
    array([[[ 0.5,  0. ],
            [-0.5,  1. ]]])
    """
    identity, inverses = np.eye(factors.shape[-1]), np.empty(factors.shape)
    for k, factor in enumerate(factors):
        # The transpose of a C-ordered matrix is what LAPACK takes without a copy.
        inverses[k], singular = lapack.dtrtrs(factor.T, identity, lower=0, trans=1)
        if singular:
            raise np.linalg.LinAlgError(f"a diagonal cell of triangle {k} is zero")
    return inverses


def mapped_covariance(change: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The covariance of change @ b and the roots of its diagonal, which are numbers also where their squares are none.

    >>> mapped_covariance(np.array([[1e200]]), np.array([[4.0]]))
    (array([[inf]]), array([2.e+200]))
    """
    size = np.abs(change).max(axis=1, initial=0.0)
    size[size == 0.0] = 1.0
    change = change / size[:, None]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        full = change @ covariance @ change.T
        spread = np.sqrt(np.maximum(np.diag(full), 0.0)) * size
        return 0.5 * (full + full.T) * size[:, None] * size, spread


def ridge_coefficients(rows: np.ndarray, targets: np.ndarray, penalty: float) -> np.ndarray:
    """The B (columns, targets) that minimises |targets - rows B|^2 + penalty |B|^2, by the smaller Gram matrix.

    >>> ridge_coefficients(np.array([[1.0], [2.0]]), np.array([[2.0], [4.0]]), 5.0)
    array([[1.]])
    """
    wide = rows.shape[1] > rows.shape[0]
    gram = rows @ rows.T if wide else rows.T @ rows
    solution = ridge_of_products(gram, targets if wide else rows.T @ targets, penalty)
    return rows.T @ solution if wide else solution


def ridge_of_products(gram: np.ndarray, right: np.ndarray, penalty: float | np.ndarray) -> np.ndarray:
    """The solution of (gram + diag(penalty)) x = right, the shortest where there are several.

    >>> ridge_of_products(np.array([[5.0]]), np.array([10.0]), 5.0)
    array([1.])
    """
    system = gram.copy()
    system[np.diag_indices_from(system)] += penalty
    factor = cholesky(system)
    if factor is None and not np.isfinite(system).all():
        raise np.linalg.LinAlgError("products of the cells are beyond the range of float64")
    return np.linalg.lstsq(system, right)[0] if factor is None else factor.solve(right)


def lifted_solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The solution of a positive (semi)definite system, whose diagonal is lifted until it has a Cholesky factor; zeros
    where no lift helps. The matrix is written over: it comes back scaled to a diagonal of 1.

    >>> bool(np.isclose(lifted_solve(np.array([[4.0, 4.0], [4.0, 4.0]]), np.array([8.0, 8.0])).sum(), 2.0))
    True
    """
    diagonal = np.einsum("ii->i", matrix)
    size = 1.0 / np.sqrt(np.maximum(diagonal, np.finfo(float).tiny))
    matrix *= size[:, None] * size
    scale, repair = size[:, None] if right.ndim == 2 else size, 0.0
    while repair < 1e6:
        _, solution, refused = lapack.dposv(matrix, scale * right, lower=1)
        if not refused:
            return scale * solution
        grown = 1e-14 if repair == 0.0 else 100.0 * repair
        diagonal += grown - repair
        repair = grown
    return np.zeros_like(right)
