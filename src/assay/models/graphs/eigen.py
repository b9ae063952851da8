"""Largest eigenpairs of a symmetric matrix whose spectrum has known ends: of a sparse one by filtered subspace
iteration, of a full one by Lanczos's method.

A block of vectors is multiplied by a Chebyshev polynomial that is small on the unwanted part of the spectrum and grows
fast above it, made orthonormal, and rotated to Ritz vectors; the unwanted part is found from the block itself (Zhou,
Saad,
Tiago & Chelikowsky, J. Comp. Physics 219, 2006).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from ... import _kernels
from ...base import Stream

DENSE = 400
"""Up to so many rows the eigenpairs come from the whole matrix."""
FULL = 3000
"""The same where most cells are not zero, if Lanczos's method gets nowhere."""
RESTARTS = 20
"""Of Lanczos's method, which take a third of the time of all eigenpairs."""


def largest_eigenpairs(
    matrix: Any,
    k: int,
    low: float,
    high: float,
    *,
    tol: float = 1e-5,
    max_iter: int = 60,
    degree: int = 16,
    threads: int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues, falling, and their vectors (columns, first large cell positive); ends hold all of
    them.

    >>> from scipy.sparse import diags
    >>> largest_eigenpairs(diags(np.arange(1000.0) / 1000).tocsr(), 2, 0.0, 1.0)[0].round(4)
    array([0.999, 0.998])
    """
    n = matrix.shape[0]
    width = -(-(k + 4) // 8) * 8  # the kernel takes eight columns at a time
    small = n <= DENSE or width >= n
    if isinstance(matrix, np.ndarray) or small or (n <= FULL and 2 * matrix.nnz >= n * n):
        whole = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        found = None if small else _by_lanczos(whole, k)
        if found is None and (small or n <= FULL):
            # The transpose is what LAPACK works on in its place.
            found = eigh(whole.T, subset_by_index=(n - k, n - 1), overwrite_a=True, check_finite=False)
        if found is not None:
            return found[0][::-1].copy(), _signed(found[1][:, ::-1])
        matrix = csr_matrix(whole)
    arrays = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float64)
    block = np.linalg.qr(Stream.of(0).generator().normal(size=(n, width)))[0]
    values, block = _rotate(matrix, block)
    for _ in range(max_iter):
        _kernels.chebyshev_filter(*arrays, block, low, float(values[-1]), degree, threads)
        values, block = _rotate(matrix, np.linalg.qr(block)[0])
        wanted = block[:, :k]
        residual = np.linalg.norm(matrix @ wanted - wanted * values[:k], axis=0).max()
        if residual <= tol * max(abs(low), abs(high)):
            break
    return values[:k].copy(), _signed(block[:, :k])


def _by_lanczos(whole: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The k largest eigenvalues, rising, and their vectors, to the last digits; None if that takes too long, or if one
    that comes several times was found too seldom."""
    n = whole.shape[0]
    start, other = Stream.of(0).generator().normal(size=(2, n))
    try:
        values, vectors = eigsh(whole, k, which="LA", v0=start, maxiter=RESTARTS)
        left = LinearOperator((n, n), lambda v: whole @ v - vectors @ (values * (vectors.T @ v)), dtype=np.float64)
        missed = eigsh(left, 1, which="LA", v0=other, maxiter=RESTARTS, tol=1e-2, return_eigenvectors=False)
    except ArpackError:
        return None
    order = np.argsort(values)
    return None if missed[0] > values.min() + 1e-9 * np.abs(values).max() else (values[order], vectors[:, order])


def _rotate(matrix: Any, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, turn = np.linalg.eigh(block.T @ (matrix @ block))
    return values[::-1], np.ascontiguousarray(block @ turn[:, ::-1])


def _signed(vectors: np.ndarray) -> np.ndarray:
    """Each vector with its largest cell positive, so that signs repeat."""
    place = np.argmax(np.abs(vectors) > np.abs(vectors).max(axis=0) * (1 - 1e-6), axis=0)
    signs = np.sign(vectors[place, np.arange(vectors.shape[1])])
    return np.ascontiguousarray(vectors * np.where(signs == 0, 1.0, signs))
