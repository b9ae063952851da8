"""Probabilities from decision values of held-out rows: Platt's sigmoid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import _kernels
from ...numeric.losses import LOSSES
from ...numeric.newton import End, Point

SIGMOID_STEPS = 100
_LOG_LOSS = LOSSES["log_loss"].number


@dataclass
class _Place(Point):
    gradient: np.ndarray
    hessian: np.ndarray


class Sigmoid:
    """The log odds as a linear function of the decision value, for the Newton driver.

    The targets are (n+ + 1) / (n+ + 2) and 1 / (n- + 2) with the weights of the classes, so that separated classes
    do not end at certainty (Platt 1999; Lin, Lin & Weng, A note on Platt's probabilistic outputs, Machine Learning 68,
    2007). The log loss of a row with target t is that of a positive row of weight t and a negative one of weight 1 - t.

    >>> from assay.numeric.newton import damped_newton
    >>> search = Sigmoid(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0, 0, 1, 1]) == 1, np.ones(4))
    >>> slope, constant = search.of(damped_newton(search, search.at(search.start), SIGMOID_STEPS))
    >>> slope > 0, abs(constant) < 1e-9
    (True, True)
    """

    def __init__(self, decision: np.ndarray, positive: np.ndarray, weights: np.ndarray):
        up, down = float(weights[positive].sum()), float(weights[~positive].sum())
        target = np.where(positive, (up + 1.0) / (up + 2.0), 1.0 / (down + 2.0))
        self.scale = float(np.abs(decision).max(initial=0.0)) or 1.0
        once = np.column_stack([decision / self.scale, np.ones(decision.shape[0])])
        self.columns = np.concatenate([once, once])
        self.labels = np.repeat([1.0, 0.0], decision.shape[0])
        self.weights = np.concatenate([weights * target, weights * (1.0 - target)])
        self.start = np.array([0.0, np.log((up + 1.0) / (down + 1.0))])

    def of(self, end: End[_Place]) -> tuple[float, float]:
        """(slope, constant) at the end of the search; the slope is not negative."""
        theta = end.point.coefficients if end.last_step is None else end.point.coefficients + end.last_step
        if theta[0] < 0.0:  # held-out scores that say nothing: the shares of the classes
            return 0.0, float(self.start[1])
        return float(theta[0] / self.scale), float(theta[1])

    def at(self, coefficients: np.ndarray) -> _Place:
        odds = self.columns @ coefficients
        slope, curve = np.empty((2, odds.shape[0], 1))
        value = _kernels.loss_gradient(_LOG_LOSS, 0.0, self.labels, odds[:, None], self.weights, slope, curve, 1)
        return _Place(coefficients, value, slope[:, 0] @ self.columns, self.columns.T @ (curve * self.columns))

    def step(self, point: _Place, damping: float) -> np.ndarray:
        hessian = point.hessian.copy()
        hessian[[0, 1], [0, 1]] += (1e-12 + damping) * max(1.0, float(np.trace(hessian)))
        return -np.linalg.solve(hessian, point.gradient)

    def slope(self, point: _Place, step: np.ndarray) -> float:
        return float(point.gradient @ step)

    def verdict(self, point: _Place, step: np.ndarray, slope: float, damping: float) -> str | None:
        return "converged" if -slope <= 1e-12 * (abs(point.value) + 1e-300) else None

    def moved(self, length: float, damping: float) -> None:
        pass

    def stuck(self, point: _Place) -> str:
        return "stalled"
