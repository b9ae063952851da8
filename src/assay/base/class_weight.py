"""Weights of classes: what `class_weight` may be, and what it makes of the weights of the rows."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from .errors import ParameterError, plain
from .parameters import Choice, Mapping, Nothing, param


def class_weight_param() -> Any:
    """Declare `class_weight` with the wording used by every classifier that has it."""
    return param(
        None,
        Choice("balanced") | Mapping() | Nothing(),
        "Weights of the classes: a dict by label (1 for those not named), or 'balanced' for equal total weight; they "
        "multiply those of the rows.",
    )


def class_factors(
    who: str, class_weight: Any, classes: np.ndarray, codes: np.ndarray, weights: np.ndarray | None
) -> np.ndarray | None:
    """One factor per class, or None for equal ones; `codes` and `weights` are of the rows that count.

    'balanced' is total weight / (number of classes x weight of the class), as in scikit-learn.

    >>> class_factors("fit", "balanced", np.array(["a", "b"]), np.array([0, 0, 0, 1]), None)
    array([0.66666667, 2.        ])
    >>> class_factors("fit", {"b": 5}, np.array(["a", "b"]), np.array([0, 1]), None)
    array([1., 5.])
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        totals = np.bincount(codes, weights, minlength=classes.shape[0])
        return totals.sum() / (classes.shape[0] * totals)
    places = {label: k for k, label in enumerate(classes.tolist())}
    factors = np.ones(classes.shape[0])
    for label, weight in class_weight.items():
        if label not in places:
            names = ", ".join(plain(repr(name), 20) for name in list(places)[:5])
            raise ParameterError(
                who,
                "parameter 'class_weight'",
                "must name labels of y",
                f"got {plain(repr(label))}",
                f"y holds {names}{', ...' if len(places) > 5 else ''}",
            )
        if not isinstance(weight, numbers.Real) or not 0 < float(weight) < math.inf:
            raise ParameterError(
                who,
                f"parameter 'class_weight', label {plain(repr(label))},",
                "must have a weight > 0",
                f"got {plain(repr(weight))}",
            )
        factors[places[label]] = float(weight)
    return factors


def with_class_weights(
    who: str,
    class_weight: Any,
    classes: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray | None,
    rows: np.ndarray | None = None,
) -> np.ndarray | None:
    """The weights of all rows times those of their classes; only `rows` (None for all) count in the balance.

    >>> with_class_weights("fit", {1: 3.0}, np.array([0, 1]), np.array([0, 1, 1]), np.array([1.0, 1.0, 2.0]))
    array([1., 3., 6.])
    """
    used = slice(None) if rows is None else rows
    factors = class_factors(who, class_weight, classes, codes[used], None if weights is None else weights[used])
    if factors is None:
        return weights
    return factors[codes] if weights is None else factors[codes] * weights


def refuse_balance(who: str, class_weight: Any) -> None:
    """Rows that come in parts cannot be balanced: the later parts are not known yet.

    >>> refuse_balance("Perceptron", {"yes": 2.0})
    """
    if isinstance(class_weight, str):
        raise ParameterError(
            who,
            "parameter 'class_weight'",
            "must be None or a dict by label in partial_fit",
            f"got {class_weight!r}",
            "give the weights as a dict",
        )
