"""Named distributions of one column: density, weighted maximum likelihood, draws; one class and one registration each.

>>> kind = DISTRIBUTIONS["poisson"](0)
>>> kind.maximise(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
{'rate': 2.0}
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from ...base import DataError

Parameters = dict[str, Any]
_LEAST = 1e-12


class Distribution:
    """A distribution of one column; `n_categories` is 0 unless it is categorical."""

    name = ""
    rule = "must hold numbers"

    def __init__(self, n_categories: int = 0):
        self.n_categories = n_categories
        self.floor = 0.0

    def allows(self, x: np.ndarray) -> np.ndarray:
        """Which values have a density."""
        return np.ones(x.shape, dtype=bool)

    def check(self, who: str, column: str, x: np.ndarray) -> None:
        """Refuse a column with values that the distribution cannot have."""
        known = x[~np.isnan(x)]
        wrong = known[~self.allows(known)]
        if wrong.size:
            came = f"got {wrong[0]:g}"
            raise DataError(who, f"column '{column}'", f"{self.rule} for the {self.name} distribution", came)

    def learn(self, x: np.ndarray, share: float) -> None:
        """What the column as a whole sets: the least variance, for one."""

    def log_density(self, x: np.ndarray, given: Parameters) -> np.ndarray:
        raise NotImplementedError  # pragma: no cover

    def maximise(self, x: np.ndarray, weights: np.ndarray) -> Parameters:
        raise NotImplementedError  # pragma: no cover

    def draw(self, rng: np.random.Generator, size: int, given: Parameters) -> np.ndarray:
        raise NotImplementedError  # pragma: no cover

    @staticmethod
    def _mean(x: np.ndarray, weights: np.ndarray) -> float:
        known = ~np.isnan(x)
        total = weights[known].sum()
        return float(weights[known] @ x[known] / total) if total > 0 else 0.0


class Normal(Distribution):
    """The normal distribution."""

    name = "normal"

    def learn(self, x: np.ndarray, share: float) -> None:
        known = x[~np.isnan(x)]
        spread = float(known.var()) if known.size else 0.0
        self.floor = share * (spread if spread > 0 else 1.0)

    def log_density(self, x: np.ndarray, given: Parameters) -> np.ndarray:
        return -0.5 * ((x - given["mean"]) ** 2 / given["variance"] + np.log(2 * np.pi * given["variance"]))

    def maximise(self, x: np.ndarray, weights: np.ndarray) -> Parameters:
        mean = self._mean(x, weights)
        return {"mean": mean, "variance": max(self._mean((x - mean) ** 2, weights), self.floor, 1e-300)}

    def draw(self, rng: np.random.Generator, size: int, given: Parameters) -> np.ndarray:
        return rng.normal(given["mean"], np.sqrt(given["variance"]), size)


class LogNormal(Normal):
    """A normal distribution of the logarithm."""

    name, rule = "log-normal", "must hold positive numbers"

    def allows(self, x: np.ndarray) -> np.ndarray:
        return x > 0

    def learn(self, x: np.ndarray, share: float) -> None:
        super().learn(np.log(x), share)

    def log_density(self, x: np.ndarray, given: Parameters) -> np.ndarray:
        safe = np.where(x > 0, x, 1.0)
        return np.where(x > 0, super().log_density(np.log(safe), given) - np.log(safe), -np.inf)

    def maximise(self, x: np.ndarray, weights: np.ndarray) -> Parameters:
        return super().maximise(np.log(x), weights)

    def draw(self, rng: np.random.Generator, size: int, given: Parameters) -> np.ndarray:
        return np.exp(super().draw(rng, size, given))


class Exponential(Distribution):
    """The exponential distribution of numbers from 0 on; rows below have no density, so other components take them."""

    name, rule = "exponential", "must hold some number >= 0"

    def check(self, who: str, column: str, x: np.ndarray) -> None:
        if not (x[~np.isnan(x)] >= 0).any():
            raise DataError(who, f"column '{column}'", f"{self.rule} for the exponential distribution")

    def log_density(self, x: np.ndarray, given: Parameters) -> np.ndarray:
        return np.where(x >= 0, np.log(given["rate"]) - given["rate"] * np.maximum(x, 0.0), -np.inf)

    def maximise(self, x: np.ndarray, weights: np.ndarray) -> Parameters:
        return {"rate": 1.0 / max(self._mean(np.where(x < 0, np.nan, x), weights), _LEAST)}

    def draw(self, rng: np.random.Generator, size: int, given: Parameters) -> np.ndarray:
        return rng.exponential(1.0 / given["rate"], size)


class Poisson(Distribution):
    """Counts with one rate."""

    name, rule = "poisson", "must hold whole numbers >= 0"

    def allows(self, x: np.ndarray) -> np.ndarray:
        return (x >= 0) & (x == np.floor(x))

    def log_density(self, x: np.ndarray, given: Parameters) -> np.ndarray:
        return x * np.log(given["rate"]) - given["rate"] - gammaln(x + 1)

    def maximise(self, x: np.ndarray, weights: np.ndarray) -> Parameters:
        return {"rate": max(self._mean(x, weights), _LEAST)}

    def draw(self, rng: np.random.Generator, size: int, given: Parameters) -> np.ndarray:
        return rng.poisson(given["rate"], size).astype(np.float64)


class Geometric(Poisson):
    """Failures before the first success."""

    name = "geometric"

    def log_density(self, x: np.ndarray, given: Parameters) -> np.ndarray:
        return np.log(given["chance"]) + x * np.log1p(-given["chance"])

    def maximise(self, x: np.ndarray, weights: np.ndarray) -> Parameters:
        return {"chance": min(1.0 / (1.0 + self._mean(x, weights)), 1.0 - _LEAST)}

    def draw(self, rng: np.random.Generator, size: int, given: Parameters) -> np.ndarray:
        return rng.geometric(given["chance"], size) - 1.0


class Bernoulli(Distribution):
    """0 or 1."""

    name, rule = "bernoulli", "must hold 0 and 1"

    def allows(self, x: np.ndarray) -> np.ndarray:
        return (x == 0) | (x == 1)

    def log_density(self, x: np.ndarray, given: Parameters) -> np.ndarray:
        return np.where(x > 0, np.log(given["chance"]), np.log1p(-given["chance"]))

    def maximise(self, x: np.ndarray, weights: np.ndarray) -> Parameters:
        return {"chance": float(np.clip(self._mean(x, weights), _LEAST, 1 - _LEAST))}

    def draw(self, rng: np.random.Generator, size: int, given: Parameters) -> np.ndarray:
        return (rng.random(size) < given["chance"]).astype(np.float64)


class Categorical(Distribution):
    """Categories 0, 1, ..., each with its chance; an unseen one (-1) is as rare as the floor."""

    name, rule = "categorical", "must hold whole numbers from 0 on"

    def allows(self, x: np.ndarray) -> np.ndarray:
        return (x >= -1) & (x == np.floor(x))

    def learn(self, x: np.ndarray, share: float) -> None:
        known = x[~np.isnan(x)]
        self.n_categories = max(self.n_categories, int(known.max(initial=0)) + 1)

    def log_density(self, x: np.ndarray, given: Parameters) -> np.ndarray:
        chances = np.asarray(given["chances"])
        codes = x.astype(np.int64)
        seen = (codes >= 0) & (codes < chances.shape[0])
        return np.where(seen, np.log(chances[np.where(seen, codes, 0)]), np.log(_LEAST))

    def maximise(self, x: np.ndarray, weights: np.ndarray) -> Parameters:
        known = ~np.isnan(x)
        counts = np.bincount(x[known].astype(np.int64), weights[known], minlength=max(self.n_categories, 1))
        chances = np.maximum(counts / counts.sum() if counts.sum() > 0 else np.ones(counts.shape), _LEAST)
        return {"chances": chances / chances.sum()}

    def draw(self, rng: np.random.Generator, size: int, given: Parameters) -> np.ndarray:
        chances = np.asarray(given["chances"])
        return rng.choice(chances.shape[0], size=size, p=chances / chances.sum()).astype(np.float64)


DISTRIBUTIONS: dict[str, type[Distribution]] = {
    kind.name: kind for kind in (Normal, LogNormal, Exponential, Poisson, Geometric, Bernoulli, Categorical)
}
"""Every distribution by name."""
