"""Rules that make one answer of the members' answers (001, table 6), each a function of an array with members first.

A rule takes `given` (members, rows, outputs) and `weights` (members; they sum to 1) and returns (rows, outputs). For
classes the outputs are probabilities, and `to_probabilities` divides by their sum afterwards, since minimum, product
and the like do not sum to 1.

>>> given = np.array([[[0.6, 0.4]], [[0.1, 0.9]], [[0.7, 0.3]]])
>>> for rule in ("mean", "median", "minimum", "maximum", "product", "majority"):
...     print(rule, to_probabilities(combine(rule, given), given).round(3).tolist()[0])
mean [0.467, 0.533]
median [0.6, 0.4]
minimum [0.25, 0.75]
maximum [0.437, 0.562]
product [0.28, 0.72]
majority [0.667, 0.333]
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _mean(given: np.ndarray, weights: np.ndarray) -> np.ndarray:
    total = np.zeros(given.shape[1:])
    for one, weight in zip(given, weights):
        total += weight * one
    return total


def _median(given: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted median: the mean of the two middle values where half of the weight lies on either side."""
    order = np.argsort(given, axis=0, kind="stable")
    values = np.take_along_axis(given, order, axis=0)
    below = np.cumsum(weights[order], axis=0)
    # Sums of weights round; what is that near to a half is a half.
    low = (below < 0.5 - 1e-12).sum(axis=0)
    high = (below <= 0.5 + 1e-12).sum(axis=0)
    last = given.shape[0] - 1
    ends = [np.take_along_axis(values, np.minimum(at, last)[None], axis=0)[0] for at in (low, high)]
    return 0.5 * ends[0] + 0.5 * ends[1]


def _product(given: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted geometric mean to the power of the number of members, by logarithms: one 0 is a veto."""
    with np.errstate(divide="ignore"):
        logs = np.log(given)
    total = np.zeros(given.shape[1:])
    for one, weight in zip(logs, weights):
        if weight > 0:
            total += weight * given.shape[0] * one
    top = total.max(axis=1, keepdims=True)
    return np.exp(total - np.where(np.isfinite(top), top, 0.0))


def _majority(given: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weight of the members that find each class most probable; the first class wins a member's tie."""
    votes = np.zeros(given.shape[1:])
    rows = np.arange(given.shape[1])
    for one, weight in zip(given, weights):
        votes[rows, one.argmax(axis=1)] += weight
    return votes


RULES: dict[str, Rule] = {
    "mean": _mean,
    "median": _median,
    "minimum": lambda given, weights: given[weights > 0].min(axis=0),
    "maximum": lambda given, weights: given[weights > 0].max(axis=0),
    "product": _product,
    "majority": _majority,
}
"""Every rule by name; `mean` with weights is the weighted sum."""

NUMBER_RULES = ("mean", "median", "minimum", "maximum")
"""Those that make sense for numbers."""


def combine(rule: str, given: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """The members' outputs (members, rows, outputs) as one (rows, outputs); weights are divided by their sum.

    >>> combine("mean", np.array([[[1.0]], [[4.0]]]), np.array([2.0, 1.0]))
    array([[2.]])
    """
    share = np.ones(given.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
    return RULES[rule](given, share / share.sum())


def to_probabilities(values: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Outputs divided by their sum; rows in which every class was vetoed get the mean of the members instead.

    >>> to_probabilities(np.zeros((1, 2)), np.array([[[0.0, 1.0]], [[1.0, 0.0]]]))
    array([[0.5, 0.5]])
    """
    total = values.sum(axis=1, keepdims=True)
    vetoed = total[:, 0] <= 0
    if vetoed.any():
        values = np.where(vetoed[:, None], given.mean(axis=0), values)
        total = values.sum(axis=1, keepdims=True)
    return values / total
