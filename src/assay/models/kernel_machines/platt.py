"""Probabilities from decision values of held-out rows: Platt's sigmoid."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

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

    def value(at: np.ndarray) -> float:
        odds = columns @ at
        return float(weights @ (np.logaddexp(0.0, odds) - target * odds))

    now = value(theta)
    for _ in range(_STEPS):
        share = expit(columns @ theta)
        gradient = np.einsum("i,ij->j", weights * (share - target), columns)
        hessian = np.einsum("i,ij,ik->jk", weights * share * (1.0 - share), columns, columns)
        step = -np.linalg.solve(hessian + 1e-12 * max(1.0, float(np.trace(hessian))) * np.eye(2), gradient)
        length = 1.0
        while length > 1e-10 and value(theta + length * step) > now + 1e-4 * length * float(gradient @ step):
            length *= 0.5
        theta = theta + length * step
        before, now = now, value(theta)
        if before - now <= 1e-12 * (abs(now) + 1e-300):
            break
    if theta[0] < 0.0:  # held-out scores that say nothing: the shares of the classes
        return 0.0, float(np.log((up + 1.0) / (down + 1.0)))
    return float(theta[0] / scale), float(theta[1])
