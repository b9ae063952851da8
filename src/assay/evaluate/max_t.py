"""The largest of correlated t statistics: critical values and p-values for all pairs of several estimates at once.

A best learner that is picked after the fact has been compared with every other, whatever is reported. So the claim
"worse than the best" is held to the distribution of the largest |t| over **all** pairs: the estimates are drawn from a
normal distribution with their own covariance, their differences are divided by their standard errors and by the square
root of chi-square / df, and the largest is kept (Tukey's range for independent estimates; for correlated ones Hothorn,
Bretz and Westfall, Biometrical Journal 50, 2008). Hsu's comparison with the best uses a smaller critical value, which
protects one learner that truly is the best; of several equal ones it calls some worse too often.

>>> import numpy as np
>>> round(MaxT(np.eye(2), df=9).critical(0.05), 2)  # one pair: Student's t
2.26
>>> round(MaxT(np.eye(6), df=9).critical(0.05), 1)  # Tukey's range over the square root of 2
3.5
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .distributions import t_p_value, t_quantile

_DRAWS = 20_000
_SEED = 20_031_207


class MaxT:
    """The distribution of the largest |t| over all pairs of estimates with this covariance."""

    def __init__(self, covariance: np.ndarray, df: float):
        self.covariance, self.df = np.asarray(covariance, dtype=np.float64), float(df)
        self.size = self.covariance.shape[0]

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return self.size * (self.size - 1) // 2

    @cached_property
    def _largest(self) -> np.ndarray:
        """Draws of the largest |t|, sorted; the seed is fixed, so that equal covariances give equal answers."""
        generator = np.random.Generator(np.random.Philox(_SEED))
        values, vectors = np.linalg.eigh(self.covariance)
        drawn = generator.standard_normal((_DRAWS, self.size)) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
        variances = np.diag(self.covariance)
        largest = np.zeros(_DRAWS)
        tiny = 1e-12 * float(variances.max(initial=0.0))
        for j in range(1, self.size):
            spread = variances[:j] + variances[j] - 2 * self.covariance[:j, j]
            differ = spread > tiny
            if differ.any():
                ratios = np.abs(drawn[:, :j] - drawn[:, [j]])[:, differ] / np.sqrt(spread[differ])
                largest = np.maximum(largest, ratios.max(axis=1))
        if np.isfinite(self.df):
            largest /= np.sqrt(generator.chisquare(self.df, _DRAWS) / self.df)
        return np.sort(largest)

    def critical(self, alpha: float) -> float:
        """The value that the largest |t| exceeds with probability alpha."""
        single = t_quantile(1 - alpha / 2, self.df)
        if self.pairs < 2:
            return single
        strictest = t_quantile(1 - alpha / (2 * self.pairs), self.df)
        return float(min(max(np.quantile(self._largest, 1 - alpha), single), strictest))

    def p_value(self, statistic: float) -> float:
        """The probability that the largest |t| reaches |statistic|; never below that of one pair."""
        single = t_p_value(abs(statistic), self.df)
        if self.pairs < 2 or single >= 1.0:
            return single
        if not np.isfinite(statistic):
            return 0.0
        reached = _DRAWS - int(np.searchsorted(self._largest, abs(statistic), side="left"))
        drawn = (reached + 1) / (_DRAWS + 1)
        return float(min(1.0, max(single, min(drawn, single * self.pairs))))
