"""Probabilities from decision values of held-out rows: Platt's sigmoid."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from ...numeric.newton import Point, damped_newton

_STEPS = 100


def fit_sigmoid(decision: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """(slope, constant) of the log odds as a linear function of the decision value, by damped Newton steps.

    The targets are (n+ + 1) / (n+ + 2) and 1 / (n- + 2) with the weights of the classes, so that separated classes
    do not end at certainty (Platt 1999; Lin, Lin & Weng, A note on Platt's probabilistic outputs, Machine Learning 68,
    2007). The slope is not negative.

    >>> slope, constant = fit_sigmoid(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0, 0, 1, 1]) == 1, np.ones(4))
    >>> slope > 0, abs(constant) < 1e-9
    (True, True)
    """
    up, down = float(weights[positive].sum()), float(weights[~positive].sum())
    target = np.where(positive, (up + 1.0) / (up + 2.0), 1.0 / (down + 2.0))
    scale = float(np.abs(decision).max(initial=0.0)) or 1.0
    columns = np.column_stack([decision / scale, np.ones(decision.shape[0])])
    theta = np.array([0.0, np.log((up + 1.0) / (down + 1.0))])
    search = _LogOdds(columns, target, weights)
    end = damped_newton(search, search.at(theta), _STEPS)
    theta = end.point.coefficients if end.last_step is None else end.point.coefficients + end.last_step
    if theta[0] < 0.0:  # held-out scores that say nothing: the shares of the classes
        return 0.0, float(np.log((up + 1.0) / (down + 1.0)))
    return float(theta[0] / scale), float(theta[1])


class _LogOdds:
    """The log loss of shares, by the coefficients of two columns, for the Newton driver."""

    def __init__(self, columns: np.ndarray, target: np.ndarray, weights: np.ndarray):
        self.columns, self.target, self.weights = columns, target, weights

    def at(self, coefficients: np.ndarray) -> Point:
        odds = self.columns @ coefficients
        return Point(coefficients, float(self.weights @ (np.logaddexp(0.0, odds) - self.target * odds)))

    def step(self, point: Point, damping: float) -> np.ndarray:
        share = expit(self.columns @ point.coefficients)
        hessian = np.einsum("i,ij,ik->jk", self.weights * share * (1.0 - share), self.columns, self.columns)
        hessian += (1e-12 + damping) * max(1.0, float(np.trace(hessian))) * np.eye(2)
        return -np.linalg.solve(hessian, self._gradient(share))

    def _gradient(self, share: np.ndarray) -> np.ndarray:
        return np.einsum("i,ij->j", self.weights * (share - self.target), self.columns)

    def slope(self, point: Point, step: np.ndarray) -> float:
        return float(self._gradient(expit(self.columns @ point.coefficients)) @ step)

    def verdict(self, point: Point, step: np.ndarray, slope: float, damping: float) -> str | None:
        return "converged" if -slope <= 1e-12 * (abs(point.value) + 1e-300) else None

    def moved(self, length: float, damping: float) -> None:
        pass

    def stuck(self, point: Point) -> str:
        return "stalled"
