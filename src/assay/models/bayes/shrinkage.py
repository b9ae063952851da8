"""How much of a covariance to replace by its diagonal.

In units of the deviation of each column the diagonal is the identity, the target of both estimates. References:
Ledoit & Wolf, A well-conditioned estimator for large-dimensional covariance matrices, J. Multivariate Analysis 88,
2004; Chen, Wiesel, Eldar & Hero, Shrinkage algorithms for MMSE covariance estimation, IEEE Trans. Signal Processing 58,
2010.
"""

from __future__ import annotations

import numpy as np

from ...numeric.moments import inverse_deviation


def shrink(covariance: np.ndarray, share: float) -> np.ndarray:
    """The covariance with this share replaced by its diagonal.

    >>> shrink(np.array([[2.0, 1.0], [1.0, 2.0]]), 0.25)
    array([[2.  , 0.75],
           [0.75, 2.  ]])
    """
    return (1.0 - share) * covariance + share * np.diag(np.diag(covariance))


def _correlation(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Correlations of the columns that vary, and one over their deviations (0 for the others)."""
    variance = np.diag(covariance)
    inverse = inverse_deviation(np.sqrt(variance), np.zeros_like(variance))
    live = inverse > 0
    return (covariance * inverse[:, None] * inverse)[np.ix_(live, live)], inverse


def oracle_approximating(covariance: np.ndarray, weight: float) -> float:
    """The share of the oracle approximating estimate (OAS) for a covariance of rows of this summed weight.

    >>> oracle_approximating(np.array([[1.0, 0.5], [0.5, 1.0]]), 100.0) < 0.2
    True
    """
    correlation, _ = _correlation(covariance)
    d = correlation.shape[0]
    if d < 2:
        return 0.0
    mean_square = float((correlation**2).mean())
    below = (weight + 1.0) * (mean_square - 1.0 / d)
    return 1.0 if below <= 0 else min((mean_square + 1.0) / below, 1.0)


def ledoit_wolf(centred: np.ndarray, covariance: np.ndarray, weights: np.ndarray | None) -> float:
    """The share of Ledoit and Wolf for rows less their mean, whose covariance (up to a factor) this is.

    >>> rows = np.array([[-1.0, -1.0], [1.0, 1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> ledoit_wolf(rows, np.eye(2), None)
    0.0
    """
    w = np.ones(centred.shape[0]) if weights is None else weights
    total = float(w.sum())
    mean_square = w @ centred**2 / total
    inverse = np.divide(1.0, np.sqrt(mean_square), out=np.zeros_like(mean_square), where=mean_square > 0)
    correlation, _ = _correlation(covariance)
    d = correlation.shape[0]
    if d < 2:
        return 0.0
    lengths = ((centred * inverse) ** 2).sum(axis=1)
    squares = float((correlation**2).sum())
    # Distance of the correlations from the identity, and how much of it is noise; both per column.
    apart = (squares - d) / d
    noise = (float(w @ lengths**2) / total - squares) / (d * total)
    return 0.0 if apart <= 0 else max(0.0, min(noise, apart) / apart)
