"""Arrays and sparse tables behind one interface, so that the Newton solvers do not know which they run on.

Both give centre and spread of the columns, the passes of a loss over standardised columns (linear predictors, gradient,
Hessian or its products), and themselves on some rows or columns. Rows of an array are used in place; those of a sparse
table are copied.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _kernels
from .sparse import SparseTable
from .sparse_passes import SparseGlmPasses, SparseLogisticPasses, standardise

_NO_ROWS = np.empty(0, dtype=np.int64)
_NONE = np.empty(0)

Standard = tuple[np.ndarray, np.ndarray, float]


class ArrayRows:
    """Rows of an array, all or some."""

    by_column = False
    """Whether the columns can be read one by one at the cost of their stored cells."""

    def __init__(self, X: np.ndarray, rows: np.ndarray | None) -> None:
        self.X, self.rows = X, rows

    def standardise(self, weights: np.ndarray | None, fit_intercept: bool, threads: int) -> Standard:
        """Centre and spread of each column (0 for a constant one), and the total weight."""
        chosen = _NO_ROWS if self.rows is None else self.rows
        mean, variance, total = _kernels.column_moments(self.X, chosen, _NONE if weights is None else weights, threads)
        if fit_intercept:
            centre, spread = mean, np.sqrt(variance)
        else:
            centre, spread = np.zeros_like(mean), np.hypot(mean, np.sqrt(variance))
        # Squares out of range, or a constant column.
        for j in np.flatnonzero(~np.isfinite(spread) | (spread == 0.0)).tolist():
            column = self.X[:, j] if self.rows is None else self.X[self.rows, j]
            centre[j] = column[0] if fit_intercept else 0.0
            with np.errstate(over="ignore"):
                spread[j] = np.abs(column - centre[j]).max()
        return centre, spread, total

    def logistic_passes(
        self,
        codes: np.ndarray,
        weights: np.ndarray,
        centre: np.ndarray,
        inverse: np.ndarray,
        intercept: bool,
        classes: int,
    ) -> Any:
        """Sums of the log loss for any coefficients."""
        rows = _NO_ROWS if self.rows is None else self.rows
        return _kernels.LogisticPasses(self.X, rows, codes, weights, centre, inverse, intercept, classes)

    def glm_passes(
        self,
        levels: tuple[np.ndarray, np.ndarray],
        y: np.ndarray,
        weights: np.ndarray,
        offset: np.ndarray,
        centre: np.ndarray,
        inverse: np.ndarray,
        intercept: bool,
        policy: tuple[Any, ...],
        most_square: int,
    ) -> Any:
        """Sums of a deviance for any coefficients; `levels` are the codes and starts of nominal columns."""
        rows = _NO_ROWS if self.rows is None else self.rows
        return _kernels.GlmPasses(self.X, *levels, rows, y, weights, offset, centre, inverse, intercept, *policy)

    def columns(self, chosen: np.ndarray) -> np.ndarray:
        """The table of some columns."""
        return np.ascontiguousarray(self.X[:, chosen])


class SparseRows:
    """All rows of a sparse table."""

    by_column = True

    def __init__(self, X: SparseTable) -> None:
        self.X = X

    def standardise(self, weights: np.ndarray | None, fit_intercept: bool, threads: int) -> Standard:
        """Centre and spread of each column (0 for a constant one), and the total weight."""
        return standardise(self.X, weights, fit_intercept, threads)

    def logistic_passes(
        self,
        codes: np.ndarray,
        weights: np.ndarray,
        centre: np.ndarray,
        inverse: np.ndarray,
        intercept: bool,
        classes: int,
    ) -> SparseLogisticPasses:
        """Sums of the log loss for any coefficients."""
        return SparseLogisticPasses(self.X, codes, weights, centre, inverse, intercept, classes)

    def glm_passes(
        self,
        levels: tuple[np.ndarray, np.ndarray],
        y: np.ndarray,
        weights: np.ndarray,
        offset: np.ndarray,
        centre: np.ndarray,
        inverse: np.ndarray,
        intercept: bool,
        policy: tuple[Any, ...],
        most_square: int,
    ) -> SparseGlmPasses:
        """Sums of a deviance for any coefficients; the matrix is formed up to `most_square` unknowns."""
        family, link, parameter = policy
        return SparseGlmPasses(
            self.X, y, weights, offset, centre, inverse, intercept, family, link, parameter, most_square
        )

    def columns(self, chosen: np.ndarray) -> SparseTable:
        """The table of some columns."""
        return self.X[:, chosen]


def table_of(X: np.ndarray | SparseTable, rows: np.ndarray | None = None) -> ArrayRows | SparseRows:
    """What the solvers read their rows through."""
    if isinstance(X, SparseTable):
        return SparseRows(X if rows is None else X[rows])
    return ArrayRows(X, rows)


def only(X: Any, rows: np.ndarray | None, *of_rows: Any) -> tuple[Any, ...]:
    """(X, rows, what belongs to the rows) on some rows: an array stays whole beside the numbers of its rows, a sparse
    table and what belongs to its rows are cut."""
    if rows is None or not isinstance(X, SparseTable):
        return X, rows, *of_rows
    return X[rows], None, *(None if values is None else values[rows] for values in of_rows)
