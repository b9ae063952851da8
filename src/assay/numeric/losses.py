"""Every loss once, by name: its task, link, smoothness, best constant, and gradient and Hessian from raw scores.

The kernel holds the mathematics (one header per loss); here is what a learner asks before it descends a loss. A raw
score is what the model adds up: the prediction itself, the logarithm of a mean, or log odds; `predicted` makes a
prediction of it.

>>> import numpy as np
>>> loss = LOSSES["log_loss"]
>>> y, raw = np.array([0.0, 1.0, 1.0]), np.zeros((3, 1))
>>> value, gradient, hessian = loss.derivatives(y, raw)
>>> round(value, 4), gradient.ravel(), hessian.ravel()
(2.0794, array([ 0.5, -0.5, -0.5]), array([0.25, 0.25, 0.25]))
>>> loss.constant(y).round(4)
array([0.6931])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from .. import _kernels

_NUMBERS = {name: number for number, name in enumerate(_kernels.loss_names())}
_NO_WEIGHTS = np.zeros(0)

Constant = Callable[[np.ndarray, np.ndarray, float], float]


Weights = np.ndarray | None


@dataclass(frozen=True)
class Loss:
    """A loss of raw scores: sum of w loss(y, f), where y are numbers or class codes."""

    name: str
    task: str
    """'regress' (y numbers) or 'classify' (y codes 0..K-1; one score for two classes, else one per class)."""
    link: str
    """From prediction to raw score: 'identity', 'log', 'logit' (softmax for more than two classes), or 'margin' (scores
    that are no log odds: only their order and sign mean something)."""
    best: Constant
    smooth: bool = True
    """Whether the gradient is continuous."""
    curved: bool = True
    """Whether there is a second derivative to divide by; a loss made of lines has none, so a booster steps by weights
    and renews its leaves by `constant` of the residuals."""
    parameter: str | None = None
    default: float = 0.0
    rule: str = "must be numbers"
    holds: Callable[[np.ndarray], np.ndarray] = np.isfinite
    """Which targets are in the range of the loss, and the rule in words."""

    @property
    def number(self) -> int:
        """Its number in the kernels."""
        return _NUMBERS[self.name]

    def derivatives(
        self,
        y: np.ndarray,
        raw: np.ndarray,
        weights: np.ndarray | None = None,
        parameter: float | None = None,
        *,
        gradient: np.ndarray | None = None,
        hessian: np.ndarray | None = None,
        threads: int = 1,
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Weighted sum of losses, gradient and diagonal of the Hessian at raw scores (n, K), weights counted in.

        Arrays given as `gradient` and `hessian` are written into, so that a loop over rounds makes no new ones.
        """
        gradient = np.empty_like(raw) if gradient is None else gradient
        hessian = np.empty_like(raw) if hessian is None else hessian
        value = self._call(y, raw, weights, parameter, gradient, hessian, threads)
        return value, gradient, hessian

    def value(
        self,
        y: np.ndarray,
        raw: np.ndarray,
        weights: Weights = None,
        parameter: float | None = None,
        *,
        threads: int = 1,
    ) -> float:
        """Weighted sum of losses at raw scores (n, K)."""
        return self._call(y, raw, weights, parameter, None, None, threads)

    def _call(
        self,
        y: np.ndarray,
        raw: np.ndarray,
        weights: np.ndarray | None,
        parameter: float | None,
        gradient: np.ndarray | None,
        hessian: np.ndarray | None,
        threads: int,
    ) -> float:
        given = _NO_WEIGHTS if weights is None else weights
        extra = self.default if parameter is None else float(parameter)
        return _kernels.loss_gradient(self.number, extra, y, raw, given, gradient, hessian, threads)

    def constant(
        self, y: np.ndarray, weights: np.ndarray | None = None, parameter: float | None = None, classes: int = 2
    ) -> np.ndarray:
        """The raw score, the same for all rows, of least loss: (1,), or (classes,) for three classes or more."""
        given = np.ones(y.shape[0]) if weights is None else weights
        extra = self.default if parameter is None else float(parameter)
        if classes <= 2:
            return np.array([self.best(y, given, extra)])
        if self.link == "logit":
            logs = np.log(_shares(y, given, classes))
            return logs - logs.mean()
        return np.array([self.best((y == k).astype(np.float64), given, extra) for k in range(classes)])

    def predicted(self, raw: np.ndarray) -> np.ndarray:
        """What raw scores (n, K) say: the mean (or quantile) of a number (n,), or class probabilities (n, classes).

        Losses of margins have no probabilities; their scores come back as they are.
        """
        if self.link == "logit":
            if raw.shape[1] == 1:
                return np.column_stack([special.expit(-raw[:, 0]), special.expit(raw[:, 0])])
            return special.softmax(raw, axis=1)
        if self.task == "classify":
            return raw
        return np.exp(np.minimum(raw[:, 0], 700.0)) if self.link == "log" else raw[:, 0]


def _shares(y: np.ndarray, weights: np.ndarray, classes: int) -> np.ndarray:
    """Share of each class, kept off 0 by a millionth of a row, so that its logarithm is finite."""
    totals = np.bincount(y.astype(np.intp), weights, classes) + 1e-6 * weights.mean()
    return totals / totals.sum()


def _log_odds(y: np.ndarray, weights: np.ndarray, _: float) -> float:
    no, yes = _shares(y, weights, 2)
    return float(np.log(yes / no))


def _mean(y: np.ndarray, weights: np.ndarray, _: float) -> float:
    return float(np.average(y, weights=weights))


def _log_mean(y: np.ndarray, weights: np.ndarray, _: float) -> float:
    mean = _mean(y, weights, 0.0)
    return float(np.log(mean)) if mean > 0 else -30.0


def weighted_quantile(y: np.ndarray, weights: np.ndarray, level: float) -> float:
    """A minimiser of the quantile loss: the middle of them where a whole interval is best.

    An interval it is where the weight below is the level to rounding: which rows came first must not decide.
    """
    some = weights > 0
    values, places = np.unique(y[some], return_inverse=True)
    below = np.cumsum(np.bincount(places, weights[some]))
    wanted, slack = level * below[-1], 1e-12 * below[-1]
    at = min(int(np.searchsorted(below, wanted - slack)), values.shape[0] - 1)
    tied = abs(below[at] - wanted) <= slack and at + 1 < values.shape[0]
    return float(0.5 * values[at] + 0.5 * values[at + 1]) if tied else float(values[at])


def _huber(y: np.ndarray, weights: np.ndarray, epsilon: float) -> float:
    """The root of the sum of clipped residuals: Newton's steps kept in a bracket."""
    low, high = float(y.min()), float(y.max())
    at = weighted_quantile(y, weights, 0.5)
    for _ in range(200):
        residuals = np.clip(at - y, -epsilon, epsilon)
        slope = float(weights @ residuals)
        low, high = (low, at) if slope > 0 else (at, high)
        near = float(weights @ (np.abs(at - y) <= epsilon))
        move = at - slope / near if near > 0 else low - 1.0
        to = move if low <= move <= high else 0.5 * (low + high)
        if abs(to - at) <= 1e-15 * max(abs(low), abs(high)):
            break
        at = to
    return at


def _margin(y: np.ndarray, weights: np.ndarray, _: float) -> float:
    """2 p - 1, best for every loss that is quadratic between margins of -1 and 1."""
    return 2.0 * _mean(y > 0.5, weights, 0.0) - 1.0


def _not_zero(y: np.ndarray) -> np.ndarray:
    return y != 0


def _not_negative(y: np.ndarray) -> np.ndarray:
    return y >= 0


def _positive(y: np.ndarray) -> np.ndarray:
    return y > 0


LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss("squared_error", "regress", "identity", _mean),
        Loss(
            "absolute_error",
            "regress",
            "identity",
            lambda y, weights, _: weighted_quantile(y, weights, 0.5),
            smooth=False,
            curved=False,
        ),
        Loss("huber", "regress", "identity", _huber, parameter="epsilon", default=1.0),
        Loss(
            "quantile",
            "regress",
            "identity",
            weighted_quantile,
            smooth=False,
            curved=False,
            parameter="quantile",
            default=0.5,
        ),
        Loss(
            "mape",
            "regress",
            "identity",
            lambda y, weights, _: weighted_quantile(y, weights / np.abs(y), 0.5),
            smooth=False,
            curved=False,
            rule="must not be 0",
            holds=_not_zero,
        ),
        Loss(
            "msle",
            "regress",
            "identity",
            lambda y, weights, _: float(np.expm1(_mean(np.log1p(y), weights, 0.0))),
            rule="must not be negative",
            holds=_not_negative,
        ),
        Loss("log_loss", "classify", "logit", _log_odds),
        Loss("hinge", "classify", "margin", lambda *given: float(np.sign(_margin(*given))), smooth=False, curved=False),
        Loss("squared_hinge", "classify", "margin", _margin),
        Loss("modified_huber", "classify", "margin", _margin),
        Loss("squared_margin", "classify", "margin", _margin),
        Loss("exponential", "classify", "margin", lambda *given: 0.5 * _log_odds(*given)),
        Loss("poisson", "regress", "log", _log_mean, rule="must not be negative", holds=_not_negative),
        Loss("gamma", "regress", "log", _log_mean, rule="must be positive", holds=_positive),
        Loss("inverse_gaussian", "regress", "log", _log_mean, rule="must be positive", holds=_positive),
        Loss(
            "tweedie",
            "regress",
            "log",
            _log_mean,
            parameter="power",
            default=1.5,
            rule="must not be negative",
            holds=_not_negative,
        ),
        Loss(
            "negative_binomial",
            "regress",
            "log",
            _log_mean,
            parameter="theta",
            default=1.0,
            rule="must not be negative",
            holds=_not_negative,
        ),
    )
}
