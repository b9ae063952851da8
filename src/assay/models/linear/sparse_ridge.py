"""Ridge regression on sparse tables that are wide: in the dual where rows are few, else by products alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, lsqr

from ...numeric.solves import cholesky
from .gram import Centred
from .sparse import if_far

_MOST_PRODUCTS = 20_000


def _centred_target(
    means: np.ndarray, targets: np.ndarray, weights: np.ndarray | None, fit_intercept: bool
) -> tuple[np.ndarray, np.ndarray, Centred]:
    """Targets around their means times sqrt(w), sqrt(w), and the means in an otherwise empty `Centred`."""
    total = float(targets.shape[0]) if weights is None else float(weights.sum())
    x_mean, y_mean = np.zeros_like(means), np.zeros(targets.shape[1])
    if fit_intercept:
        x_mean, y_mean = means, np.average(targets, axis=0, weights=weights)
    root = np.ones(targets.shape[0]) if weights is None else np.sqrt(weights)
    empty = np.zeros((0, 0))
    return (targets - y_mean) * root[:, None], root, Centred(total, x_mean, y_mean, empty, empty, np.zeros(0))


def solve_in_dual(
    rows: Any, targets: np.ndarray, weights: np.ndarray | None, alphas: np.ndarray, fit_intercept: bool
) -> tuple[np.ndarray, Centred]:
    """b = Z'(ZZ' + alpha I)^{-1} y with Z the centred rows times sqrt(w), of which only the n x n ZZ' is formed."""
    means, variances, _ = rows.moments(weights, 1)
    right, root, moments = _centred_target(means, targets, weights, fit_intercept)
    near = rows.shifted(if_far(means, variances)) if fit_intercept else rows
    kernel = (near.rows @ near.rows.T).toarray()
    if fit_intercept:
        share = root**2 / moments.weight
        along = kernel @ share
        kernel += share @ along - along[:, None] - along
    kernel *= root[:, None] * root
    coefficients = np.empty((rows.shape[1], targets.shape[1]))
    mean = near.moments(weights, 1)[0] if fit_intercept else np.zeros(rows.shape[1])
    for alpha in np.unique(alphas):
        chosen = alphas == alpha
        factor = cholesky(kernel + alpha * np.eye(kernel.shape[0])) if alpha > 0 else None
        if factor is not None and factor.reciprocal_condition > 1e-12:
            dual = factor.solve(right[:, chosen])
        else:
            values, vectors = eigh(kernel)
            kept = values > values[-1] * max(rows.shape) * np.finfo(float).eps
            gain = np.where(kept, 1.0 / np.where(kept, values + alpha, 1.0), 0.0)
            dual = vectors @ (gain[:, None] * (vectors.T @ right[:, chosen]))
        dual *= root[:, None]
        coefficients[:, chosen] = near.transposed_product(dual, 1) - np.outer(mean, dual.sum(axis=0))
    return coefficients, moments


def solve_by_products(
    rows: Any,
    targets: np.ndarray,
    weights: np.ndarray | None,
    alphas: np.ndarray,
    fit_intercept: bool,
    threads: int,
) -> tuple[np.ndarray, Centred]:
    """Golub-Kahan bidiagonalisation (LSQR, Paige & Saunders 1982) on columns of length 1, from X v and X'v alone.

    Smallest |b| where alpha is zero and columns depend on each other (columns are then left as they come).
    """
    means, variances, _ = rows.moments(weights, threads)
    right, root, moments = _centred_target(means, targets, weights, fit_intercept)
    near = rows.shifted(if_far(means, variances)) if fit_intercept else rows
    mean, variance, total = near.moments(weights, threads)
    if not fit_intercept:
        variance, mean = variance + mean**2, np.zeros_like(mean)
    coefficients, n = np.empty((rows.shape[1], targets.shape[1])), rows.shape[0]
    for k, alpha in enumerate(alphas):
        # With the penalty as rows below, column j has length sqrt(total variance + alpha).
        length = np.sqrt(total * variance + alpha) if alpha > 0 else np.ones_like(variance)
        scale = np.where(length > 0, 1.0 / np.where(length > 0, length, 1.0), 0.0)
        below = np.sqrt(alpha) * scale if alpha > 0 else None

        def forward(v: np.ndarray, scale: np.ndarray = scale, below: np.ndarray | None = below) -> np.ndarray:
            b = scale * v.ravel()
            top = root * (near.product(b, threads) - mean @ b)
            return top if below is None else np.concatenate([top, below * v.ravel()])

        def back(v: np.ndarray, scale: np.ndarray = scale, below: np.ndarray | None = below) -> np.ndarray:
            r = root * v.ravel()[:n]
            found = scale * (near.transposed_product(r, threads) - mean * r.sum())
            return found if below is None else found + below * v.ravel()[n:]

        height = n if below is None else n + rows.shape[1]
        operator = LinearOperator((height, rows.shape[1]), matvec=forward, rmatvec=back, dtype=np.float64)
        padded = np.concatenate([right[:, k], np.zeros(height - n)])
        found = lsqr(operator, padded, atol=1e-13, btol=1e-13, conlim=0.0, iter_lim=_MOST_PRODUCTS)[0]
        coefficients[:, k] = scale * found
    return coefficients, moments
