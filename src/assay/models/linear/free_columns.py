"""Columns without a penalty in lasso and elastic net: fitted exactly, and taken out of the problem for the others.

With F the columns of weight zero and P the others, the minimum over b_F for given b_P is least squares of the residual
on F; what is left for P is the same problem with the parts of X_P and y that F explains taken off (Frisch & Waugh):

    Q_PP - Q_PF Q_FF^+ Q_FP,   c_P - Q_PF Q_FF^+ c_F,   and afterwards   b_F = Q_FF^+ (c_F - Q_FP b_P).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np

from .elastic_net_solver import (
    Coefficients,
    ColumnSource,
    MomentSource,
    Paths,
    Penalties,
    Source,
)
from .gram import Centred

# Below this share of its own variation a column is explained by the free ones, and what is left is rounding.
NOTHING_LEFT = 1e-11


@dataclass(frozen=True)
class PartialSource:
    """Problems whose free columns are taken out; `solve` puts their coefficients back."""

    problems: list[Source]
    free: np.ndarray
    level: list[np.ndarray]
    """By problem: coefficients of the free columns where all others are zero."""
    link: list[np.ndarray]
    """By problem: (n_free, n_features), how much they fall for each unit of another coefficient."""
    x_mean: list[np.ndarray]

    def cross(self, problem: int) -> np.ndarray:
        """Minus the gradient at zero of the others, per unit of weight."""
        return self.problems[problem].cross(0)

    def solve(self, penalties: Penalties, start: np.ndarray | None = None) -> Paths:
        """The paths of all problems."""
        found = [
            source.solve(penalties, None if start is None else np.ascontiguousarray(start[[k]]))
            for k, source in enumerate(self.problems)
        ]
        intercept = np.concatenate([paths.intercept for paths in found])
        used = [paths.coefficients[0].places for paths in found]
        columns = functools.reduce(np.union1d, used, np.flatnonzero(self.free))
        freed, coefficients = self.free[columns], []
        for k, paths in enumerate(found):
            held, path = paths.coefficients[0].in_use()
            values = np.zeros((len(penalties.alphas), columns.shape[0]))
            values[:, np.searchsorted(columns, held)] = path
            values[:, freed] = self.level[k] - values @ self.link[k][:, columns].T
            if self.problems[k].fit_intercept:
                intercept[k] -= values[:, freed] @ self.x_mean[k][self.free]
            coefficients.append(Coefficients.of(values, columns, self.free.shape[0]))
        gaps, sweeps, converged = (
            np.concatenate([getattr(paths, name) for paths in found]) for name in ("gaps", "sweeps", "converged")
        )
        return Paths(coefficients, intercept, gaps, sweeps, converged, found[0].objective, found[0].traced)


def without_free(source: Source, weights: np.ndarray) -> tuple[Source | PartialSource, np.ndarray]:
    """The problem for the penalised columns, and penalty weights that leave the others out (both as given if none)."""
    free = weights == 0
    if not free.any():
        return source, weights
    parts = [_one(source, k, free) for k in range(_count(source))]
    problems, level, link, x_mean = (list(part) for part in zip(*parts, strict=True))
    return PartialSource(problems, free, level, link, x_mean), np.where(free, np.inf, weights)


def _count(source: Source) -> int:
    return len(source.problems) if isinstance(source, MomentSource) else source.weights.shape[0]


def _one(source: Source, problem: int, free: np.ndarray) -> tuple[Source, np.ndarray, np.ndarray, np.ndarray]:
    if isinstance(source, MomentSource):
        return _from_moments(source, problem, free)
    return _from_columns(source.only(problem).written_out(), free)


def _from_moments(
    source: MomentSource, problem: int, free: np.ndarray
) -> tuple[Source, np.ndarray, np.ndarray, np.ndarray]:
    moments = source.problems[problem]
    solved = _least_squares(moments.gram[np.ix_(free, free)], np.hstack([moments.cross, moments.gram])[free])
    level, link = solved[:, 0], solved[:, 1:]
    gram = moments.gram - moments.gram[:, free] @ link
    cross = moments.cross - moments.gram[:, free] @ level[:, None]
    gone = free | (np.diag(gram) <= NOTHING_LEFT * np.diag(moments.gram))
    gram[gone], gram[:, gone], cross[gone] = 0.0, 0.0, 0.0
    link[:, free] = 0.0
    squares = np.maximum(moments.y_squares - level @ moments.cross[free], 0.0)
    left: Centred = replace(moments, gram=gram, cross=cross, y_squares=squares)
    return MomentSource([left], source.fit_intercept, source.threads), level, link, moments.x_mean


def _from_columns(source: ColumnSource, free: np.ndarray) -> tuple[Source, np.ndarray, np.ndarray, np.ndarray]:
    weights = source.weights[0]
    used = weights > 0
    columns, target = source.columns, source.target
    x_mean, y_mean = np.zeros(columns.shape[0]), 0.0
    if source.fit_intercept:
        x_mean, y_mean = columns @ weights / weights.sum(), float(target @ weights / weights.sum())
    centred, right = (columns - x_mean[:, None]) * used, (target - y_mean) * used
    held = centred[free]
    weighted = held * weights
    solved = _least_squares(weighted @ held.T, weighted @ np.column_stack([right, centred.T]))
    level, link = solved[:, 0], solved[:, 1:]
    rest = centred - link.T @ held
    gone = free | ((rest**2 @ weights) <= NOTHING_LEFT * (centred**2 @ weights))
    rest[gone] = 0.0
    link[:, free] = 0.0
    left = replace(source, columns=np.ascontiguousarray(rest), target=right - level @ held)
    # The centred table has mean zero, so that its shift must be the mean it lost.
    shift = np.append(source.shift[:-1] + x_mean, source.shift[-1] + y_mean)
    return replace(left, shift=shift), level, link, source.shift[:-1] + x_mean


def _least_squares(gram: np.ndarray, right: np.ndarray) -> np.ndarray:
    """gram^+ right, with columns scaled to unit length first so that units do not count."""
    diagonal = np.diag(gram)
    scale = np.where(diagonal > 0, 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)
    values, vectors = np.linalg.eigh(gram * scale[:, None] * scale)
    kept = values > 1e-12 * max(values[-1], 0.0)
    inner = vectors[:, kept] / values[kept] @ vectors[:, kept].T
    return scale[:, None] * (inner @ (scale[:, None] * right))
