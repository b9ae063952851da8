"""What a column says for a class, on average, where it is normal in every class."""

from __future__ import annotations

import numpy as np


def gaussian_gains(prior: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Expected log of how many times likelier a value is in its class than in one normal for all, by class and column.

    >>> gaussian_gains(np.array([0.5, 0.5]), np.array([[0.0], [0.0]]), np.array([[1.0], [1.0]]))
    array([[0.],
           [0.]])
    """
    share = prior / prior.sum()
    centre = share @ mean
    whole = share @ (variance + (mean - centre) ** 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = 0.5 * (np.log(whole / variance) + (variance + (mean - centre) ** 2) / whole - 1.0)
    return np.nan_to_num(gain)
