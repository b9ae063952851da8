"""Families and links of generalised linear models: ranges, defaults, log likelihoods. One line registers each.

The numbers `code` are those of the kernel, which holds variance functions, deviances and derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special


@dataclass(frozen=True)
class Link:
    """g with g(mean) = linear predictor; `free` if differences of the predictor have no unit (log odds, log ratios)."""

    code: int
    forward: Callable[[np.ndarray], np.ndarray]
    inverse: Callable[[np.ndarray], np.ndarray]
    free: bool


@dataclass(frozen=True)
class Family:
    """A distribution of the target: what values it takes, its links (the first is the default), its dispersion."""

    code: int
    links: tuple[str, ...]
    rule: str
    holds: Callable[[np.ndarray], np.ndarray]
    saturated: Callable[[np.ndarray, np.ndarray, float, float], float]
    """saturated(y, weights, dispersion, parameter): the log likelihood where every mean equals its target."""
    one_dispersion: bool = False
    needs_positive_mean: bool = True


def _cloglog(mean: np.ndarray) -> np.ndarray:
    return np.log(-np.log1p(-mean))


LINKS: dict[str, Link] = {
    "identity": Link(0, lambda mean: mean, lambda eta: eta, False),
    "log": Link(1, np.log, lambda eta: np.exp(np.minimum(eta, 700.0)), True),
    "logit": Link(2, special.logit, special.expit, True),
    "probit": Link(3, special.ndtri, special.ndtr, True),
    "cloglog": Link(4, _cloglog, lambda eta: -np.expm1(-np.exp(np.minimum(eta, 700.0))), True),
    "inverse": Link(5, lambda mean: 1.0 / mean, lambda eta: 1.0 / eta, False),
    "inverse_squared": Link(6, lambda mean: mean**-2.0, lambda eta: 1.0 / np.sqrt(eta), False),
    "sqrt": Link(7, np.sqrt, np.square, False),
}


def _log_factorials(y: np.ndarray, weights: np.ndarray) -> float:
    """Sum of w log(y!); counts are few distinct numbers, so each is worked out once."""
    if y.max() < 1e6 and np.array_equal(y, np.floor(y)):
        totals = np.bincount(y.astype(np.int64), weights)
        return float(totals @ special.gammaln(np.arange(totals.shape[0]) + 1.0))
    return float(weights @ special.gammaln(y + 1.0))


def _gaussian(y: np.ndarray, weights: np.ndarray, dispersion: float, _: float) -> float:
    return float(-0.5 * weights.sum() * np.log(2.0 * np.pi * dispersion))


def _bernoulli(y: np.ndarray, weights: np.ndarray, _: float, __: float) -> float:
    return float(weights @ (special.xlogy(y, y) + special.xlogy(1.0 - y, 1.0 - y)))


def _poisson(y: np.ndarray, weights: np.ndarray, dispersion: float, _: float) -> float:
    # A dispersion other than 1 has no Poisson likelihood; this is the quasi-likelihood that keeps the deviance.
    return float(weights @ (special.xlogy(y, y) - y)) / dispersion - _log_factorials(y, weights)


def _gamma(y: np.ndarray, weights: np.ndarray, dispersion: float, _: float) -> float:
    shape = 1.0 / dispersion
    constant = shape * np.log(shape) - shape - special.gammaln(shape)
    return float(weights.sum() * constant - weights @ np.log(y))


def _inverse_gaussian(y: np.ndarray, weights: np.ndarray, dispersion: float, _: float) -> float:
    return float(-0.5 * (weights @ np.log(2.0 * np.pi * dispersion * y**3)))


# Terms of the Tweedie series that are summed here; SciPy takes rows that need more.
_TERMS = 96
_ROWS = 4096


def _log_tweedie_series(a: float, size: np.ndarray) -> np.ndarray:
    """log of the sum over j >= 1 of exp(j size) / (j! Gamma(a j)) (Dunn & Smyth, 2005), Wright's function at b = 0.

    The largest term stands near j = exp((size - a log a) / (1 + a)), and terms fall like those of a normal density
    around it, so that most rows need few of them. Gamma functions are shared by all rows.
    """
    peak = np.exp(np.minimum((size - a * np.log(a)) / (1.0 + a), 20.0))
    last = peak + 9.0 * np.sqrt(peak + 1.0) + 12.0
    few = last <= _TERMS
    logarithm = np.empty_like(size)
    if not few.all():
        logarithm[~few] = _log_wright_bessel(a, np.exp(size[~few]))
    j = np.arange(1.0, (float(last[few].max()) if few.any() else 1.0) + 1.0)
    gammas = special.gammaln(j + 1.0) + special.gammaln(a * j)
    sizes = size[few]
    sums = np.empty_like(sizes)
    for begin in range(0, sizes.shape[0], _ROWS):
        part = slice(begin, begin + _ROWS)
        # Less the first term, which may be far below the range of float64.
        terms = np.multiply.outer(j[1:] - 1.0, sizes[part]) - (gammas[1:] - gammas[0])[:, None]
        sums[part] = np.log1p(np.exp(terms, out=terms).sum(axis=0))
    logarithm[few] = sizes - gammas[0] + sums
    return logarithm


def _log_wright_bessel(a: float, argument: np.ndarray) -> np.ndarray:
    if hasattr(special, "log_wright_bessel"):
        return special.log_wright_bessel(a, 0.0, argument)
    return np.log(special.wright_bessel(a, 0.0, argument))  # SciPy before 1.14; overflows where the other does not


def _tweedie(y: np.ndarray, weights: np.ndarray, dispersion: float, power: float) -> float:
    if not 1.0 < power < 2.0:
        return np.nan  # no density in closed form or short series
    alpha = (2.0 - power) / (1.0 - power)
    some = y > 0
    positive, weight = y[some], weights[some]
    size = alpha * np.log((power - 1.0) / positive) - np.log(2.0 - power) - (1.0 - alpha) * np.log(dispersion)
    if size.size and size.max() > 700.0:
        return np.nan  # close to power 1 the series leaves the range of double precision
    logarithm = _log_tweedie_series(-alpha, size) - np.log(positive)
    best = positive ** (2.0 - power) * (1.0 / (1.0 - power) - 1.0 / (2.0 - power)) / dispersion
    return float(weight @ (logarithm + best))


def _negative_binomial(y: np.ndarray, weights: np.ndarray, _: float, theta: float) -> float:
    terms = special.gammaln(y + theta) - special.gammaln(theta) + theta * np.log(theta)
    terms += special.xlogy(y, y) - (y + theta) * np.log(y + theta)
    return float(weights @ terms) - _log_factorials(y, weights)


def _positive(y: np.ndarray) -> np.ndarray:
    return y > 0


def _not_negative(y: np.ndarray) -> np.ndarray:
    return y >= 0


FAMILIES: dict[str, Family] = {
    "gaussian": Family(
        0,
        ("identity", "log", "inverse"),
        "must be numbers",
        np.isfinite,
        _gaussian,
        needs_positive_mean=False,
    ),
    "bernoulli": Family(
        1,
        ("logit", "probit", "cloglog", "log", "identity"),
        "must lie between 0 and 1",
        lambda y: (y >= 0) & (y <= 1),
        _bernoulli,
        True,
    ),
    "poisson": Family(2, ("log", "identity", "sqrt"), "must not be negative", _not_negative, _poisson, True),
    "gamma": Family(3, ("log", "inverse", "identity"), "must be positive", _positive, _gamma),
    "inverse_gaussian": Family(
        4, ("log", "inverse_squared", "inverse", "identity"), "must be positive", _positive, _inverse_gaussian
    ),
    "tweedie": Family(5, ("log", "identity"), "must not be negative", _not_negative, _tweedie),
    "negative_binomial": Family(
        6, ("log", "identity", "sqrt"), "must not be negative", _not_negative, _negative_binomial, True
    ),
}
# Powers at which the Tweedie family is another one.
TWEEDIE_NAMES = {0.0: "gaussian", 1.0: "poisson", 2.0: "gamma", 3.0: "inverse_gaussian"}


def best_theta(y: np.ndarray, mean: np.ndarray, weights: np.ndarray) -> float:
    """The theta of V = mean + mean^2 / theta that maximises the likelihood at these means; inf without overdispersion.

    Newton's method on log(theta), started from the moments and kept in a bracket; the likelihood has one maximum.
    """

    def score(theta: float) -> float:
        terms = special.digamma(y + theta) - special.digamma(theta) + np.log(theta / (mean + theta))
        return float(weights @ (terms + 1.0 - (y + theta) / (mean + theta)))

    low, high = -20.0, 13.8  # beyond 1e6 the score is lost in rounding
    if score(np.exp(high)) >= 0.0:
        return np.inf
    if score(np.exp(low)) <= 0.0:
        return float(np.exp(low))
    excess = float(weights @ ((y / mean - 1.0) ** 2 - 1.0 / mean)) / float(weights.sum())
    at = float(np.clip(-np.log(max(excess, 1e-8)), low + 1.0, high - 1.0))
    for _ in range(200):
        value = score(np.exp(at))
        low, high = (at, high) if value > 0 else (low, at)
        step = 1e-4
        slope = (score(np.exp(at + step)) - score(np.exp(at - step))) / (2.0 * step)
        move = at - value / slope if slope < 0 else low - 1.0
        to = move if low < move < high else 0.5 * (low + high)
        if abs(to - at) <= 1e-12 * max(1.0, abs(at)):
            break
        at = to
    return float(np.exp(at))
