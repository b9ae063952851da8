"""Largest eigenpairs of a sparse symmetric matrix whose spectrum has known ends, by filtered subspace iteration.

A block of vectors is multiplied by a Chebyshev polynomial that is small on the unwanted part of the spectrum and grows
fast above it, made orthonormal, and rotated to Ritz vectors; the unwanted part is found from the block itself (Zhou,
Saad,
Tiago & Chelikowsky, J. Comp. Physics 219, 2006).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base import Stream

DENSE = 400
"""Up to so many rows all eigenpairs are computed."""


def largest_eigenpairs(
    matrix: Any, k: int, low: float, high: float, *, tol: float = 1e-5, max_iter: int = 60, degree: int = 16
) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues, falling, and their vectors (columns, first large cell positive); ends hold all of
    them.

    >>> from scipy.sparse import diags
    >>> largest_eigenpairs(diags(np.arange(1000.0) / 1000).tocsr(), 2, 0.0, 1.0)[0].round(4)
    array([0.999, 0.998])
    """
    n = matrix.shape[0]
    if n <= DENSE or k + 8 >= n:
        values, vectors = np.linalg.eigh(matrix.toarray())
        return values[::-1][:k].copy(), _signed(vectors[:, ::-1][:, :k])
    width = k + 6
    block = np.linalg.qr(Stream.of(0).generator().normal(size=(n, width)))[0]
    values, block = _rotate(matrix, block)
    for _ in range(max_iter):
        block = _filtered(matrix, block, low, float(values[-1]), degree)
        values, block = _rotate(matrix, np.linalg.qr(block)[0])
        wanted = block[:, :k]
        residual = np.linalg.norm(matrix @ wanted - wanted * values[:k], axis=0).max()
        if residual <= tol * max(abs(low), abs(high)):
            break
    return values[:k].copy(), _signed(block[:, :k])


def _rotate(matrix: Any, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, turn = np.linalg.eigh(block.T @ (matrix @ block))
    return values[::-1], np.ascontiguousarray(block @ turn[:, ::-1])


def _filtered(matrix: Any, block: np.ndarray, low: float, cut: float, degree: int) -> np.ndarray:
    """T_degree of the matrix mapped so that [low, cut] becomes [-1, 1], times the block."""
    centre, half = (low + cut) / 2, max((cut - low) / 2, 1e-12)
    before, now = block, (matrix @ block - centre * block) / half
    for _ in range(degree - 1):
        before, now = now, 2.0 * (matrix @ now - centre * now) / half - before
        size = np.abs(now).max()
        if size > 1e100:
            before, now = before / size, now / size
    return now


def _signed(vectors: np.ndarray) -> np.ndarray:
    """Each vector with its largest cell positive, so that signs repeat."""
    place = np.argmax(np.abs(vectors) > np.abs(vectors).max(axis=0) * (1 - 1e-6), axis=0)
    signs = np.sign(vectors[place, np.arange(vectors.shape[1])])
    return np.ascontiguousarray(vectors * np.where(signs == 0, 1.0, signs))
