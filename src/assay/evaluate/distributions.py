"""The distributions behind the tests, by readable names over SciPy's special functions.

`scipy.stats` takes half a second to import; `scipy.special` holds the same functions and is already loaded with
scikit-learn. Upper tails are computed as upper tails, so small p-values keep their digits.

>>> round(t_quantile(0.975, 9), 2), round(f_quantile(0.95, 4, 45), 2), round(chi2_quantile(0.95, 1), 2)
(2.26, 2.58, 3.84)
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import special

ALTERNATIVES = ("two-sided", "greater", "less")


def t_quantile(probability: float, df: float) -> float:
    """The point below which a t variable with `df` degrees of freedom falls with this probability."""
    return float(special.stdtrit(df, probability))


def t_p_value(t: float, df: float, alternative: str = "two-sided") -> float:
    """The p-value of a t statistic."""
    if alternative == "greater":
        return float(special.stdtr(df, -t)) if np.isfinite(t) else float(t < 0)
    if alternative == "less":
        return float(special.stdtr(df, t)) if np.isfinite(t) else float(t > 0)
    return float(2.0 * special.stdtr(df, -abs(t))) if np.isfinite(t) else 0.0


def f_quantile(probability: float, df_between: float, df_within: float) -> float:
    """The quantile of the F distribution."""
    return float(special.fdtri(df_between, df_within, probability))


def f_p_value(f: float, df_between: float, df_within: float) -> float:
    """The upper tail of the F distribution at `f`."""
    return float(special.fdtrc(df_between, df_within, f)) if np.isfinite(f) else 0.0


def chi2_quantile(probability: float, df: float) -> float:
    """The quantile of the chi-square distribution."""
    return float(special.chdtri(df, 1.0 - probability))


def chi2_p_value(chi2: float, df: float) -> float:
    """The upper tail of the chi-square distribution at `chi2`."""
    return float(special.chdtrc(df, chi2))


def normal_quantile(probability: float) -> float:
    """The quantile of the standard normal distribution."""
    return float(special.ndtri(probability))


def normal_p_value(z: float, alternative: str = "two-sided") -> float:
    """The p-value of a standard normal statistic."""
    if alternative == "greater":
        return float(special.ndtr(-z))
    if alternative == "less":
        return float(special.ndtr(z))
    return float(2.0 * special.ndtr(-abs(z)))


def binomial_p_value(successes: int, trials: int, rate: float, alternative: str = "two-sided") -> float:
    """The exact p-value of a count; two-sided adds every outcome that is no likelier than the one seen."""
    if trials == 0:
        return 1.0
    if alternative == "greater":
        return float(special.bdtrc(successes - 1, trials, rate)) if successes > 0 else 1.0
    if alternative == "less":
        return float(special.bdtr(successes, trials, rate))
    if rate == 0.5:
        return float(min(1.0, 2.0 * special.bdtr(min(successes, trials - successes), trials, 0.5)))
    outcomes = np.arange(trials + 1)
    log_choose = -np.log1p(trials) - special.betaln(trials - outcomes + 1, outcomes + 1)
    mass = np.exp(log_choose + special.xlogy(outcomes, rate) + special.xlog1py(trials - outcomes, -rate))
    return float(min(1.0, mass[mass <= mass[successes] * (1 + 1e-7)].sum()))


def mid_p_value(successes: int, trials: int) -> float:
    """The two-sided mid-p value of a count at even odds: the outcome seen counts by half in its tail.

    >>> round(mid_p_value(0, 8), 5), mid_p_value(4, 8)
    (0.00391, 1.0)
    """
    fewer = min(successes, trials - successes)
    below = float(special.bdtr(fewer - 1, trials, 0.5)) if fewer > 0 else 0.0
    here = float(special.bdtr(fewer, trials, 0.5)) - below
    return 1.0 if 2 * fewer == trials else min(1.0, 2 * below + here)


def binomial_interval(
    successes: float, trials: float, alpha: float, alternative: str = "two-sided"
) -> tuple[float, float]:
    """Clopper and Pearson's exact interval for a rate; one-sided where the test is."""
    if trials == 0:
        return (0.0, 1.0)
    tail = alpha / 2 if alternative == "two-sided" else alpha
    low = float(special.betaincinv(successes, trials - successes + 1, tail)) if successes > 0 else 0.0
    high = float(special.betaincinv(successes + 1, trials - successes, 1 - tail)) if successes < trials else 1.0
    return (0.0 if alternative == "less" else low, 1.0 if alternative == "greater" else high)


def detectable_t(df: float, alpha: float, power: float) -> float:
    """How many standard errors a true difference must measure for a two-sided t test to find it with `power`."""
    return detectable_shift(t_quantile(1 - alpha / 2, df), df, power)


@lru_cache(maxsize=512)
def detectable_shift(critical: float, df: float, power: float) -> float:
    """The non-centrality at which a non-central t variable exceeds `critical` with probability `power`.

    The other tail adds less than half the level of the test and is left out, which errs on the careful side.
    """
    return _increasing_root(lambda shift: 1.0 - special.nctdtr(df, shift, critical) - power, critical + 1.0)


def noncentrality_interval(f: float, df_between: float, df_within: float, alpha: float) -> tuple[float, float]:
    """The non-centralities for which an F statistic as seen lies between its two alpha / 2 tails."""
    if not np.isfinite(f):
        return (np.inf, np.inf)

    def bound(tail: float) -> float:
        if special.fdtr(df_between, df_within, f) <= tail:
            return 0.0
        return _increasing_root(
            lambda shift: tail - special.ncfdtr(df_between, df_within, shift, f), f * df_between + 1
        )

    return bound(1 - alpha / 2), bound(alpha / 2)


def _increasing_root(function, start: float) -> float:
    """The root of an increasing function on [0, inf), by doubling and bisection to full precision."""
    low, high = 0.0, start
    while function(high) < 0:
        low, high = high, 2 * high
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return float(0.5 * (low + high))
