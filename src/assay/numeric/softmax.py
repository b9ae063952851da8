"""Softmax regression on soft targets: rows belong to classes by shares, as responsibilities of EM say.

Maximises  Q(B) = sum_i w_i sum_k t_ik log p_ik - alpha / 2 ||B||^2,  p_i = softmax(z_i B),  by damped Newton steps;
the first row of B holds the intercepts, which are not penalised. Each step costs n (K d)^2 / 2.

>>> Z = with_ones(np.array([[-1.0], [1.0]]))
>>> found = fit_softmax(Z, np.array([[0.9, 0.1], [0.1, 0.9]]), np.ones(2), 1e-9, np.zeros((2, 2)), 50)
>>> softmax(Z @ found).round(3)
array([[0.9, 0.1],
       [0.1, 0.9]])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .newton import Point, damped_newton


def with_ones(rows: np.ndarray) -> np.ndarray:
    """The rows with a column of ones before them.

    >>> with_ones(np.array([[5.0]]))
    array([[1., 5.]])
    """
    return np.column_stack([np.ones(rows.shape[0]), rows])


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Logarithms of the probabilities, without overflow.

    >>> np.exp(log_softmax(np.array([[1001.0, 1002.0, 1003.0]]))).round(3)
    array([[0.09 , 0.245, 0.665]])
    """
    shifted = scores - _along_rows(np.maximum, scores)
    return shifted - np.log(_along_rows(np.add, np.exp(shifted)))


def softmax(scores: np.ndarray) -> np.ndarray:
    """Probabilities that sum to 1 in each row.

    >>> softmax(np.array([[1.0, 2.0, 3.0]])).round(3)
    array([[0.09 , 0.245, 0.665]])
    """
    found = scores - _along_rows(np.maximum, scores)
    np.exp(found, out=found)
    found /= _along_rows(np.add, found)
    return found


def _along_rows(combine: np.ufunc, scores: np.ndarray) -> np.ndarray:
    """`combine.reduce` of each row, bit for bit; column after column where they are few, which is many times faster."""
    if not 0 < scores.shape[1] < 8:
        return combine.reduce(scores, axis=1, keepdims=True)
    found = scores[:, 0].copy()
    for k in range(1, scores.shape[1]):
        combine(found, scores[:, k], out=found)
    return found[:, None]


def ridge(coefficients: np.ndarray, alpha: float) -> float:
    """The penalty alpha / 2 ||B||^2 without the intercepts, which stand in the first row.

    >>> ridge(np.array([[5.0], [2.0]]), 1.0)
    2.0
    """
    return 0.5 * alpha * float((coefficients[1:] ** 2).sum())


def fit_softmax(
    Z: np.ndarray, shares: np.ndarray, weights: np.ndarray, alpha: float, start: np.ndarray, steps: int
) -> np.ndarray:
    """Coefficients (columns of Z, classes) after at most `steps` Newton steps from `start`; Q never falls."""
    search = _Search(Z, shares, weights, alpha)
    end = damped_newton(search, search.at(start.ravel()), steps)
    best = end.point
    if end.last_step is not None:
        reached = search.at(best.coefficients + end.last_step)
        best = reached if reached.value <= best.value else best
    return best.coefficients.reshape(start.shape)


@dataclass
class _Place(Point):
    probabilities: np.ndarray
    gradient: np.ndarray


class _Search:
    """The negative of Q for the Newton driver."""

    def __init__(self, Z: np.ndarray, shares: np.ndarray, weights: np.ndarray, alpha: float):
        self.Z, self.shares, self.weights, self.alpha = Z, shares, weights, alpha
        self.shape = (Z.shape[1], shares.shape[1])
        self.total = float(weights.sum())
        self.row_total = weights * shares.sum(axis=1)

    def at(self, coefficients: np.ndarray) -> _Place:
        B = coefficients.reshape(self.shape)
        logs = log_softmax(self.Z @ B)
        probabilities = np.exp(logs)
        value = -float((self.weights[:, None] * self.shares * logs).sum()) + ridge(B, self.alpha)
        residual = self.row_total[:, None] * probabilities - self.weights[:, None] * self.shares
        gradient = self.Z.T @ residual
        gradient[1:] += self.alpha * B[1:]
        return _Place(coefficients, value, probabilities, gradient.ravel())

    def step(self, point: _Place, damping: float) -> np.ndarray:
        d, K = self.shape
        hessian = np.empty((d, K, d, K))
        for k in range(K):
            for j in range(k, K):
                curvature = self.row_total * point.probabilities[:, k] * ((k == j) - point.probabilities[:, j])
                block = self.Z.T @ (curvature[:, None] * self.Z)
                hessian[:, k, :, j] = block
                hessian[:, j, :, k] = block.T
        matrix = hessian.reshape(d * K, d * K)
        # Raising all intercepts alike changes nothing: a trace of ridge makes the step unique.
        diagonal = np.full((d, K), 1e-9 * self.total + 1e-300)
        diagonal[1:] += self.alpha
        size = damping * max(float(np.abs(np.diag(matrix)).max()), 1e-300)
        matrix = matrix + np.diag(diagonal.ravel() + size)
        return -np.linalg.solve(matrix, point.gradient)

    def slope(self, point: _Place, step: np.ndarray) -> float:
        return float(point.gradient @ step)

    def verdict(self, point: _Place, step: np.ndarray, slope: float, damping: float) -> str | None:
        return "converged" if -slope <= 1e-12 * max(abs(point.value), self.total) else None

    def moved(self, length: float, damping: float) -> None:
        pass

    def stuck(self, point: _Place) -> str:
        return "stalled"
