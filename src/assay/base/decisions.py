"""From probabilities to decisions: priors, costs of errors, and rows on which no decision is made."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import ParameterError, plain
from .parameters import ArrayLike, Choice, Nothing, param


def priors_param(default: Any = None) -> Any:
    """Declare `priors` with the wording used by every classifier that has them."""
    return param(
        default,
        ArrayLike() | Choice("equal") | Nothing(),
        "Prior probabilities of the classes: None for their shares of the weight, 'equal', or one number per class.",
    )


def costs_param() -> Any:
    """Declare `costs` with the wording used by every classifier that has them."""
    return param(
        None,
        ArrayLike() | Nothing(),
        "Costs of decisions, one row per true class and one column per decision, in the order of `classes_`; `predict` "
        "takes the class of least expected cost. None counts every error as 1.",
    )


def class_priors(who: str, priors: Any, class_weight: np.ndarray) -> np.ndarray:
    """The prior probabilities asked for; weights of classes of many folds may stand one below the other.

    >>> class_priors("demo", None, np.array([1.0, 3.0])), class_priors("demo", "equal", np.array([1.0, 3.0]))
    (array([0.25, 0.75]), array([0.5, 0.5]))
    """
    classes = class_weight.shape[-1]
    if priors is None:
        return class_weight / class_weight.sum(axis=-1, keepdims=True)
    if isinstance(priors, str):
        return np.full(classes, 1.0 / classes)
    return given_priors(who, "priors", priors, classes)


def given_priors(who: str, name: str, priors: Any, classes: int) -> np.ndarray:
    """Priors given as numbers, refused in one sentence unless there is one per class and they sum to 1.

    >>> given_priors("demo", "priors", [0.3, 0.7], 2)
    array([0.3, 0.7])
    """
    try:
        given = np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape != (classes,) or not (given >= 0).all() or not np.isclose(given.sum(), 1.0):
        raise ParameterError(
            who,
            f"parameter '{name}'",
            f"must be {classes} numbers >= 0 that sum to 1, one per class",
            f"got {plain(repr(priors))}",
        )
    return given


def cost_matrix(who: str, costs: Any, classes: int) -> np.ndarray | None:
    """The costs asked for as a matrix, or None where every error counts as 1.

    >>> cost_matrix("demo", [[0, 1], [5, 0]], 2)
    array([[0., 1.],
           [5., 0.]])
    """
    if costs is None:
        return None
    try:
        given = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape != (classes, classes) or not np.isfinite(given).all():
        raise ParameterError(
            who,
            "parameter 'costs'",
            f"must be {classes} x {classes} finite numbers, one row per true class and one column per decision",
            f"got {plain(repr(costs))}",
        )
    return given


def decide(probabilities: np.ndarray, costs: np.ndarray | None) -> np.ndarray:
    """The class number of least expected cost in each row; the first of equal ones.

    >>> decide(np.array([[0.8, 0.2]]), np.array([[0.0, 1.0], [5.0, 0.0]]))
    array([1])
    """
    return np.argmax(probabilities, axis=1) if costs is None else np.argmin(probabilities @ costs, axis=1)


def doubtful(
    who: str, probabilities: np.ndarray, costs: np.ndarray | None, threshold: float | None, reject_cost: float | None
) -> np.ndarray:
    """The rows on which to decide nothing: the best probability is below `threshold`, or the least expected cost is
    above `reject_cost` (what a row costs that is left to someone else).

    >>> rows = np.array([[0.9, 0.1], [0.6, 0.4]])
    >>> doubtful("demo", rows, None, 0.7, None), doubtful("demo", rows, None, None, 0.3)
    (array([False,  True]), array([False,  True]))
    """
    if (threshold is None) == (reject_cost is None):
        raise ParameterError(who, "parameter 'threshold'", "or 'reject_cost' must be given, and not both")
    if threshold is not None:
        if not 0 <= threshold <= 1:
            raise ParameterError(
                who, "parameter 'threshold'", "must be between 0 and 1", f"got {plain(repr(threshold))}"
            )
        return probabilities.max(axis=1) < threshold
    expected = 1.0 - probabilities if costs is None else probabilities @ costs
    return expected.min(axis=1) > reject_cost


class Decisions:
    """Mixin for classifiers with probabilities: `predict` by `costs`, and `predict_with_reject`.

    Put it before `Classifier`; the class may declare `costs` (see `costs_param`).
    """

    classes_: np.ndarray

    def _costs(self) -> np.ndarray | None:
        return cost_matrix(type(self).__name__, getattr(self, "costs", None), self.classes_.shape[0])

    def predict_proba(self, X: Any) -> np.ndarray:
        raise NotImplementedError  # pragma: no cover

    def predict(self, X: Any) -> np.ndarray:
        """The class of least expected cost of each row (the most probable one without `costs`); the first in
        `classes_` wins a tie."""
        probabilities = self.predict_proba(X)
        return self.classes_[decide(probabilities, self._costs())]

    def predict_with_reject(
        self, X: Any, threshold: float | None = None, *, reject_cost: float | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """What `predict` says of each row, and a mask of the rows on which it should not be believed.

        These are the rows whose best class has a probability below `threshold`, or whose least expected cost is above
        `reject_cost`.
        """
        probabilities = self.predict_proba(X)
        costs = self._costs()
        rejected = doubtful(type(self).__name__, probabilities, costs, threshold, reject_cost)
        return self.classes_[decide(probabilities, costs)], rejected
