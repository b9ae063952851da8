"""The passes of logistic regression and of generalised linear models over a sparse table.

Same interface as the fused passes over arrays, so that the solvers do not know which they run on: linear predictors by
X v, losses row by row, gradient by X'v, Hessian by X'WX, or its products where it would be too large to form. Columns
are standardised implicitly, z = (x - centre) * inverse with a constant 1 behind them when there is an intercept.
"""

from __future__ import annotations

import numpy as np

from ... import _kernels
from .sparse import SparseTable
from .standardised import GlmTerms, LogisticTerms, centre_and_spread

# Columns whose centre is this many units of their scale from zero are stored shifted.
_FAR = 30.0


def standardise(
    table: SparseTable, weights: np.ndarray | None, fit_intercept: bool, threads: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Centre and spread of each column (0 for a constant one), and the total weight."""
    mean, variance, total = table.moments(weights, threads)
    centre, spread, odd = centre_and_spread(mean, variance, fit_intercept)
    columns = table.columns
    stored = np.diff(columns.indptr)
    for j in np.flatnonzero(odd & (stored > 0)).tolist():
        values = columns.data[columns.indptr[j] : columns.indptr[j + 1]]
        centre[j] = values[0] if fit_intercept and stored[j] == table.shape[0] else 0.0
        with np.errstate(over="ignore"):
            spread[j] = np.abs(values - centre[j]).max()
    return centre, spread, total


class StandardisedColumns:
    """The three products for standardised columns and the intercept; coefficients are (outputs, columns + 1)."""

    def __init__(self, table: SparseTable, centre: np.ndarray, inverse: np.ndarray, intercept: bool) -> None:
        far = np.abs(centre * inverse) > _FAR
        shift = np.where(far, centre, 0.0)
        self.table = table.shifted(shift)
        self.centre, self.inverse, self.intercept = centre - shift, inverse, intercept
        self.n_columns = table.shape[1]
        self._squares: SparseTable | None = None

    def product(self, coefficients: np.ndarray, threads: int) -> np.ndarray:
        """(rows, outputs)."""
        slopes = coefficients[:, : self.n_columns] * self.inverse
        constant = -(slopes * self.centre).sum(axis=1)
        if self.intercept:
            constant = constant + coefficients[:, -1]
        return self.table.product(slopes.T, threads) + constant

    def transposed_product(self, values: np.ndarray, threads: int) -> np.ndarray:
        """(outputs, columns + 1) from (rows, outputs)."""
        sums = values.sum(axis=0)
        slopes = (self.table.transposed_product(values, threads) - np.outer(self.centre, sums)).T * self.inverse
        return np.column_stack([slopes, sums]) if self.intercept else np.ascontiguousarray(slopes)

    def gram(self, weights: np.ndarray, threads: int) -> np.ndarray:
        """Z' diag(weights) Z."""
        p, total = self.n_columns, float(weights.sum())
        first = self.table.transposed_product(weights, threads)
        size = p + int(self.intercept)
        out = np.empty((size, size))
        block = self.table.gram(weights, threads)
        block -= np.outer(self.centre, first)
        block -= np.outer(first - total * self.centre, self.centre)
        block *= self.inverse[:, None] * self.inverse
        out[:p, :p] = block
        if self.intercept:
            out[p, :p] = out[:p, p] = (first - total * self.centre) * self.inverse
            out[p, p] = total
        return out

    def gram_diagonal(self, weights: np.ndarray, threads: int) -> np.ndarray:
        """The diagonal of Z' diag(weights) Z."""
        if self._squares is None:
            squared = self.table.rows.copy()
            squared.data = squared.data**2
            self._squares = SparseTable(squared)
        total = float(weights.sum())
        first = self.table.transposed_product(weights, threads)
        second = self._squares.transposed_product(weights, threads)
        diagonal = np.maximum(second - self.centre * (2.0 * first - total * self.centre), 0.0) * self.inverse**2
        return np.append(diagonal, total) if self.intercept else diagonal


class SparseLogisticPasses:
    """Logistic regression on all rows of a sparse table: sums for any coefficients."""

    def __init__(self, table: SparseTable, terms: LogisticTerms) -> None:
        self.columns = StandardisedColumns(table, terms.centre, terms.inverse, terms.intercept)
        self.codes, self.weights, self.classes = terms.codes, terms.weights, terms.classes

    def sums(
        self, coefficients: np.ndarray, hessian: bool, probabilities: bool, threads: int
    ) -> tuple[float, float, np.ndarray, np.ndarray, np.ndarray]:
        """(loss, rows not right, gradient, Hessian or empty, probabilities) at these coefficients."""
        eta = np.ascontiguousarray(self.columns.product(coefficients, threads))
        loss, not_right, residuals, curvatures, shares = _kernels.logistic_rows(
            eta, self.codes, self.weights, self.classes, threads
        )
        gradient = self.columns.transposed_product(residuals, threads)
        matrix = np.empty((0, 0))
        if hessian:
            matrix = self.columns.gram(curvatures, threads) if self.classes == 2 else self._softmax(shares, threads)
        return loss, not_right, gradient, matrix, shares

    def _softmax(self, shares: np.ndarray, threads: int) -> np.ndarray:
        """Blocks of pairs of classes; those of a row add up to zero, which gives the diagonal ones."""
        classes, size = self.classes, self.columns.n_columns + int(self.columns.intercept)
        blocks = np.zeros((classes, size, classes, size))
        weights = self.weights if self.weights.size else 1.0
        for k in range(classes):
            for other in range(k + 1, classes):
                block = self.columns.gram(-weights * shares[:, k] * shares[:, other], threads)
                blocks[k, :, other] = blocks[other, :, k] = block
                blocks[k, :, k] -= block
                blocks[other, :, other] -= block
        return blocks.reshape(classes * size, classes * size)

    def hessian_product(self, probabilities: np.ndarray, direction: np.ndarray, threads: int) -> np.ndarray:
        """The Hessian where the probabilities were taken, times a direction."""
        change = self.columns.product(direction, threads)
        if self.classes == 2:
            bent = probabilities * (1.0 - probabilities) * change
        else:
            bent = probabilities * (change - (probabilities * change).sum(axis=1, keepdims=True))
        if self.weights.size:
            bent *= self.weights[:, None]
        return self.columns.transposed_product(bent, threads)


class HessianProducts:
    """Z' diag(curvatures) Z by its products, for tables too wide to form it."""

    def __init__(self, columns: StandardisedColumns, curvatures: np.ndarray, threads: int) -> None:
        self._columns, self._curvatures, self._threads = columns, curvatures, threads
        self._diagonal: np.ndarray | None = None

    def diagonal(self) -> np.ndarray:
        """Its diagonal."""
        if self._diagonal is None:
            self._diagonal = self._columns.gram_diagonal(self._curvatures, self._threads)
        return self._diagonal

    def product(self, direction: np.ndarray) -> np.ndarray:
        """The matrix times a vector."""
        change = self._columns.product(direction[None], self._threads)
        return self._columns.transposed_product(change * self._curvatures[:, None], self._threads)[0]

    def solve(self, right: np.ndarray, ridge: np.ndarray, active: np.ndarray, accuracy: float) -> np.ndarray:
        """The solution for (matrix + diag(ridge)) x = right over the active unknowns, by conjugate gradients."""
        lengths = np.where(active, self.diagonal() + ridge, 1.0)
        condition = np.where(active, 1.0 / np.maximum(lengths, np.finfo(float).tiny), 0.0)
        solution, residual = np.zeros_like(right), np.where(active, right, 0.0)
        conditioned = condition * residual
        direction = conditioned.copy()
        power = first = float(residual @ conditioned)
        for _ in range(500):
            if power <= accuracy**2 * first or power <= 0.0:
                break
            product = np.where(active, self.product(direction) + ridge * direction, 0.0)
            bend = float(direction @ product)
            if bend <= 0.0:
                break
            solution += power / bend * direction
            residual -= power / bend * product
            conditioned = condition * residual
            before, power = power, float(residual @ conditioned)
            direction = conditioned + power / before * direction
        return solution if solution.any() else condition * right


class SparseGlmPasses:
    """A generalised linear model on all rows of a sparse table: sums for any coefficients.

    The matrix is formed if it is to be `square`, and given by its products else.
    """

    def __init__(self, table: SparseTable, terms: GlmTerms, square: bool) -> None:
        self.columns = StandardisedColumns(table, terms.centre, terms.inverse, terms.intercept)
        self.y, self.weights, self.offset = np.ascontiguousarray(terms.y), terms.weights, terms.offset
        self.policy = terms.family, terms.link, terms.parameter
        self.square = square

    def sums(
        self, coefficients: np.ndarray, curvature: int, threads: int
    ) -> tuple[float, float, float, float, np.ndarray, np.ndarray | HessianProducts]:
        """(half deviance, Pearson sum, largest residual, rows without Newton curvature, gradient, matrix)."""
        eta = self.columns.product(coefficients[None], threads)[:, 0]
        if self.offset.size:
            eta = eta + self.offset
        loss, pearson, worst, replaced, gradients, curvatures = _kernels.glm_rows(
            np.ascontiguousarray(eta), self.y, self.weights, *self.policy, curvature, threads
        )
        gradient = self.columns.transposed_product(gradients[:, None], threads)[0]
        matrix: np.ndarray | HessianProducts = np.empty((0, 0))
        if curvature:
            if self.square:
                matrix = self.columns.gram(curvatures, threads)
            else:
                matrix = HessianProducts(self.columns, curvatures, threads)
        return loss, pearson, worst, replaced, gradient, matrix
