"""Expectation-maximisation for normal mixtures on rows with missing cells (Little & Rubin, ch. 11; Ghahramani &
Jordan, 1994).

Rows with the same cells missing are treated together: their densities are those of the known cells, and the moments
of a
component take conditional means and covariances of the missing ones.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .gaussian_components import Gaussians


class IncompleteRows:
    """Rows sorted by which of their cells are known."""

    def __init__(self, rows: np.ndarray):
        self.rows = rows
        patterns, owner = np.unique(~np.isnan(rows), axis=0, return_inverse=True)
        order = np.argsort(owner.ravel(), kind="stable")
        cuts = np.searchsorted(owner.ravel()[order], np.arange(1, len(patterns)))
        self.groups = list(zip(patterns, np.split(order, cuts)))

    def with_means(self) -> np.ndarray:
        """The rows with missing cells at the mean of their column (0 where a column has no known cell)."""
        known = ~np.isnan(self.rows)
        means = np.where(known, self.rows, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        return np.where(known, self.rows, means)

    def log_joint(self, parts: Gaussians) -> np.ndarray:
        """Log weight plus log density of the known cells, rows by components."""
        k = parts.means.shape[0]
        logs = np.empty((self.rows.shape[0], k))
        matrices = parts.matrices()
        with np.errstate(divide="ignore"):
            weights = np.log(parts.weights)
        for known, members in self.groups:
            for c in range(k):
                logs[members, c] = weights[c]
                if not known.any():
                    continue
                factor = np.linalg.cholesky(matrices[c][np.ix_(known, known)])
                gaps = self.rows[np.ix_(members, known)] - parts.means[c, known]
                scores = np.linalg.solve(factor, gaps.T)
                constant = np.log(np.diag(factor)).sum() + 0.5 * known.sum() * np.log(2 * np.pi)
                logs[members, c] -= constant + 0.5 * np.einsum("ij,ij->j", scores, scores)
        return logs

    def log_parts(self, parts: Gaussians) -> tuple[np.ndarray, np.ndarray]:
        """Log density of the known cells of each row, and responsibilities."""
        logs = self.log_joint(parts)
        density = np.logaddexp.reduce(logs, axis=1)
        return density, np.exp(logs - density[:, None])

    def step(self, parts: Gaussians, weights: np.ndarray | None) -> tuple[Gaussians, float]:
        """One step of expectation-maximisation, and the log likelihood before it."""
        density, shares = self.log_parts(parts)
        total = float(density.sum() if weights is None else weights @ density)
        if weights is not None:
            shares = shares * weights[:, None]
        return self.maximised(parts, shares), total

    def maximised(self, parts: Gaussians, shares: np.ndarray) -> Gaussians:
        """The maximisation step, given the weighted responsibilities of the rows."""
        k, d = parts.means.shape
        first, second = np.zeros((k, d)), np.zeros((k, d, d))
        matrices = parts.matrices()
        for known, members in self.groups:
            for c in range(k):
                own = shares[members, c]
                gaps = np.zeros((len(members), d))
                gaps[:, known] = self.rows[np.ix_(members, known)] - parts.means[c, known]
                if not known.all():
                    gaps, spread = _conditional(gaps, known, matrices[c])
                    second[c][np.ix_(~known, ~known)] += own.sum() * spread
                first[c] += own @ gaps
                second[c] += gaps.T @ (gaps * own[:, None])
        counts = shares.sum(axis=0)
        if parts.form == "tied":
            return _tied(parts, counts, first, second)
        return parts.maximised(counts, first, second)


def _conditional(gaps: np.ndarray, known: np.ndarray, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gaps with conditional means where cells are missing, and the conditional covariance of those."""
    hidden = ~known
    inner = matrix[np.ix_(hidden, hidden)]
    if not known.any():
        return gaps, inner
    across = matrix[np.ix_(hidden, known)]
    slope = cho_solve(cho_factor(matrix[np.ix_(known, known)], lower=True), across.T).T
    gaps[:, hidden] = gaps[:, known] @ slope.T
    return gaps, inner - slope @ across.T


def _tied(parts: Gaussians, counts: np.ndarray, first: np.ndarray, second: np.ndarray) -> Gaussians:
    """The maximisation step of one covariance for all, whose scatter changes with the missing cells."""
    moves = first / np.maximum(counts, 1e-300)[:, None]
    means = parts.means + moves
    within = second.sum(axis=0) - np.einsum("c,ci,cj->ij", counts, moves, moves)
    gaps = means - parts.centre
    scatter = within + gaps.T @ (gaps * counts[:, None])
    return replace(parts, scatter=scatter).maximised(counts, first, second)
