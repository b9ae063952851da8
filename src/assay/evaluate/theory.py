"""Learning theory: VC dimensions, and what a number of rows guarantees, solved for any one of its terms.

A bound ties the number of rows N, the error epsilon and the risk of failure delta together: with probability at
least 1 - delta the error is at most epsilon. Each bound is given in all three directions.

>>> vc_dimension("rectangle", n_features=2), vc_dimension("half-space", n_features=2)
(4, 3)
>>> pac_sample_size("rectangle", epsilon=0.001, delta=0.001)
33176
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.errors import ParameterError, plain

_ALIASES = {
    "box": "rectangle",
    "line": "half-space",
    "plane": "half-space",
    "hyperplane": "half-space",
    "halfspace": "half-space",
    "linear": "half-space",
    "perceptron": "half-space",
    "circle": "ball",
    "stump": "decision stump",
    "decision-stump": "decision stump",
    "intervals": "union of intervals",
    "union-of-intervals": "union of intervals",
    "polygon": "convex polygon",
    "convex-polygon": "convex polygon",
    "threshold": "ray",
    "1-nn": "nearest neighbour",
    "nearest-neighbour": "nearest neighbour",
    "nearest neighbor": "nearest neighbour",
}


# -- VC dimension ---------------------------------------------------------------------------------------------
def vc_dimension(
    name: str,
    *,
    n_features: int | None = None,
    n_intervals: int | None = None,
    n_sides: int | None = None,
    n_hypotheses: int | None = None,
    degree: int | None = None,
) -> int | float:
    """The Vapnik-Chervonenkis dimension: the size of the largest set of points that the class shatters.

    | name | class of hypotheses | dimension |
    | --- | --- | --- |
    | "ray" | x >= a on the line | 1 |
    | "interval" | a <= x <= b on the line | 2 |
    | "union of intervals" | at most `n_intervals` = k of them | 2 k |
    | "rectangle" | boxes with sides along the axes, in `n_features` = d (2 if not given) | 2 d |
    | "half-space" | one side of a hyperplane | d + 1 |
    | "half-space through the origin" | one side of a hyperplane through it | d |
    | "ball" | inside of a circle, sphere, ... | d + 1 |
    | "polynomial" | sign of a polynomial of `degree` p | (d + p choose p) |
    | "decision stump" | one side of a threshold on one column | largest v with (v choose v // 2) <= 2 d |
    | "convex polygon" | `n_sides` = k sides in the plane; any number if not given | 2 k + 1; infinite |
    | "finite" | `n_hypotheses` of any kind | at most log2 of their number |
    | "sine", "nearest neighbour" | sign(sin(w x)); 1-NN with its training rows free | infinite |

    Circle, line, plane, perceptron, box and stump are understood too. The row of the stumps is Gey's theorem
    (Statistics and Probability Letters, 2018).

    >>> vc_dimension("half-space", n_features=10)
    11
    >>> vc_dimension("sine")
    inf
    >>> vc_dimension("finite", n_hypotheses=1000)
    9
    """
    who = "vc_dimension"
    kind = _known(who, name, _VC)
    uses, default_features, formula = _VC[kind]
    given = {
        "n_features": n_features,
        "n_intervals": n_intervals,
        "n_sides": n_sides,
        "n_hypotheses": n_hypotheses,
        "degree": degree,
    }
    for parameter, value in given.items():
        if value is not None:
            if parameter not in uses:
                raise ParameterError(who, f"parameter '{parameter}'", f"does not apply to the class '{kind}'")
            _at_least(who, parameter, value, 1)
    if "n_features" in uses and n_features is None:
        given["n_features"] = default_features
    for parameter in uses:
        if given[parameter] is None and not (kind == "convex polygon" and parameter == "n_sides"):
            raise ParameterError(who, f"parameter '{parameter}'", f"is needed for the class '{kind}'")
    if kind == "convex polygon" and n_sides is not None:
        _at_least(who, "n_sides", n_sides, 3)
    return formula(given)


def _stump_dimension(n_features: int) -> int:
    size = 1
    while math.comb(size + 1, (size + 1) // 2) <= 2 * n_features:
        size += 1
    return size


# For each class: the parameters it has, the default number of features, and the dimension.
_VC: dict[str, tuple[tuple[str, ...], int | None, Callable[[dict[str, Any]], int | float]]] = {
    "ray": ((), None, lambda p: 1),
    "interval": ((), None, lambda p: 2),
    "union of intervals": (("n_intervals",), None, lambda p: 2 * p["n_intervals"]),
    "rectangle": (("n_features",), 2, lambda p: 2 * p["n_features"]),
    "half-space": (("n_features",), 2, lambda p: p["n_features"] + 1),
    "half-space through the origin": (("n_features",), 2, lambda p: p["n_features"]),
    "ball": (("n_features",), 2, lambda p: p["n_features"] + 1),
    "polynomial": (("n_features", "degree"), 2, lambda p: math.comb(p["n_features"] + p["degree"], p["degree"])),
    "decision stump": (("n_features",), 1, lambda p: _stump_dimension(p["n_features"])),
    "convex polygon": (("n_sides",), None, lambda p: 2 * p["n_sides"] + 1 if p["n_sides"] else math.inf),
    "finite": (("n_hypotheses",), None, lambda p: int(p["n_hypotheses"]).bit_length() - 1),
    "sine": ((), None, lambda p: math.inf),
    "nearest neighbour": ((), None, lambda p: math.inf),
}


def growth_bound(n: int, dimension: int) -> int:
    """Sauer's bound on the labellings of n points by a class of this VC dimension: sum of (n choose i), i <= dimension.

    >>> growth_bound(4, 3), growth_bound(3, 3)
    (15, 8)
    """
    _at_least("growth_bound", "n", n, 0)
    _at_least("growth_bound", "dimension", dimension, 0)
    return sum(math.comb(n, i) for i in range(min(n, dimension) + 1))


# -- probably approximately correct -----------------------------------------------------------------------------
@dataclass(frozen=True)
class _Class:
    """A class of hypotheses as the bounds see it: log of its size, or its dimension, or its number of strips."""

    kind: str
    strips: int = 0
    log_size: float = 0.0
    dimension: int = 0
    agnostic: bool = False


def pac_sample_size(
    name: str,
    *,
    epsilon: float,
    delta: float,
    n_features: int = 2,
    n_hypotheses: float | None = None,
    dimension: int | None = None,
    agnostic: bool = False,
    exact: bool = False,
) -> int:
    """How many rows make the error at most `epsilon` with probability at least 1 - `delta`.

    - "rectangle": the tightest box around the positive rows in `n_features` = d columns errs only in 2 d strips:
      N >= (2 d / epsilon) ln(2 d / delta), which is (4 / epsilon) ln(4 / delta) in the plane ("interval" is d = 1).
    - "finite": any hypothesis without training error, out of `n_hypotheses`:
      N >= (ln |H| + ln(1 / delta)) / epsilon. Agnostic, where training error is allowed and the true error is to
      exceed it by at most epsilon: N >= (ln |H| + ln(1 / delta)) / (2 epsilon^2).
    - "vc": any hypothesis without training error, from a class of VC dimension `dimension`:
      N >= (4 log2(2 / delta) + 8 dimension log2(13 / epsilon)) / epsilon (Blumer et al. 1989). Agnostic: the
      smallest N with 4 Pi(2 N) exp(-N epsilon^2 / 8) <= delta, Pi being Sauer's bound (Vapnik and Chervonenkis).

    Closed forms come from 1 - x <= exp(-x) and ask for a little too much; `exact=True` solves the inequality behind
    them. For the rectangle the whole part of the closed form already satisfies it, so that is the answer.

    >>> pac_sample_size("rectangle", epsilon=0.001, delta=0.001)
    33176
    >>> pac_sample_size("rectangle", epsilon=0.001, delta=0.001, exact=True)
    33173
    >>> pac_sample_size("finite", n_hypotheses=3**10, epsilon=0.1, delta=0.05)
    140
    """
    who = "pac_sample_size"
    _share(who, "epsilon", epsilon)
    _share(who, "delta", delta)
    hypotheses = _class(who, name, n_features, n_hypotheses, dimension, agnostic)
    needed = _smallest(lambda n: _log_risk(hypotheses, n, epsilon, True) <= math.log(delta))
    if exact:
        return needed
    if hypotheses.kind == "rectangle":
        return max(needed, math.floor(hypotheses.strips / epsilon * math.log(hypotheses.strips / delta)))
    return _smallest(lambda n: _log_risk(hypotheses, n, epsilon, False) <= math.log(delta))


def pac_epsilon(name: str, *, n: int, delta: float, exact: bool = False, **hypotheses_given: Any) -> float:
    """The error that `n` rows guarantee with probability 1 - `delta` (1 if they guarantee nothing).

    The inverse of `pac_sample_size` in epsilon; the class of hypotheses is given as there.

    >>> round(pac_epsilon("rectangle", n=33_176, delta=0.001), 6)
    0.001
    """
    who = "pac_epsilon"
    _at_least(who, "n", n, 1)
    _share(who, "delta", delta)
    hypotheses = _class(who, name, **hypotheses_given)
    goal = math.log(delta)

    def enough(epsilon: float) -> bool:
        return _log_risk(hypotheses, n, epsilon, exact) <= goal

    if not enough(1.0):
        return 1.0
    low, high = 0.0, 1.0
    while high - low > 1e-15 * high and low != (middle := (low + high) / 2) != high:
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def pac_delta(name: str, *, n: int, epsilon: float, exact: bool = False, **hypotheses_given: Any) -> float:
    """The probability, at most, that the error after `n` rows exceeds `epsilon` (1 if the bound says nothing).

    The inverse of `pac_sample_size` in delta; the class of hypotheses is given as there.

    >>> round(pac_delta("rectangle", n=33_176, epsilon=0.001), 6)
    0.001
    """
    who = "pac_delta"
    _at_least(who, "n", n, 1)
    _share(who, "epsilon", epsilon)
    hypotheses = _class(who, name, **hypotheses_given)
    return math.exp(min(0.0, _log_risk(hypotheses, n, epsilon, exact)))


def _class(
    who: str,
    name: str,
    n_features: int = 2,
    n_hypotheses: float | None = None,
    dimension: int | None = None,
    agnostic: bool = False,
) -> _Class:
    kind = _known(who, name, {"rectangle": 0, "interval": 0, "finite": 0, "vc": 0})
    for parameter, value, owner in (("n_hypotheses", n_hypotheses, "finite"), ("dimension", dimension, "vc")):
        if value is None and kind == owner:
            raise ParameterError(who, f"parameter '{parameter}'", f"is needed for '{kind}'")
        if value is not None and kind != owner:
            raise ParameterError(who, f"parameter '{parameter}'", f"does not apply to '{kind}'")
    if kind in ("rectangle", "interval"):
        if agnostic:
            raise ParameterError(
                who,
                "parameter 'agnostic'",
                f"does not apply to '{kind}', whose bound needs rows without error",
                way_out="use 'vc' with dimension=2 * n_features",
            )
        _at_least(who, "n_features", n_features, 1)
        return _Class("rectangle", strips=2 * (n_features if kind == "rectangle" else 1))
    if kind == "finite":
        assert n_hypotheses is not None
        if not n_hypotheses >= 1:
            raise ParameterError(who, "parameter 'n_hypotheses'", "must be at least 1", f"got {n_hypotheses!r}")
        return _Class("finite", log_size=math.log(n_hypotheses), agnostic=agnostic)
    if dimension == math.inf:
        raise ParameterError(who, "parameter 'dimension'", "must be finite", "no number of rows is enough otherwise")
    assert dimension is not None
    _at_least(who, "dimension", dimension, 1)
    return _Class("vc", dimension=int(dimension), agnostic=agnostic)


def _log_risk(hypotheses: _Class, n: int, epsilon: float, exact: bool) -> float:
    """The log of the bound on the probability that the error exceeds epsilon after n rows."""
    kind = hypotheses.kind
    if kind == "rectangle":
        strip = epsilon / hypotheses.strips
        return math.log(hypotheses.strips) - n * (-math.log1p(-strip) if exact else strip)
    if kind == "finite":
        if hypotheses.agnostic:
            return hypotheses.log_size - 2 * n * epsilon**2
        miss = -math.log1p(-epsilon) if exact and epsilon < 1 else (math.inf if exact else epsilon)
        return hypotheses.log_size - n * miss
    if hypotheses.agnostic:
        return math.log(4) + _log_growth(2 * n, hypotheses.dimension) - n * epsilon**2 / 8
    if exact:
        return math.log(2) + _log_growth(2 * n, hypotheses.dimension) - math.log(2) * epsilon * n / 2
    return math.log(2) * (1 - (epsilon * n - 8 * hypotheses.dimension * math.log2(13 / epsilon)) / 4)


def _log_growth(n: int, dimension: int) -> float:
    """The log of Sauer's bound, without the large numbers."""
    if n <= dimension:
        return n * math.log(2)
    logs = [math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in range(dimension + 1)]
    top = max(logs)
    return top + math.log(sum(math.exp(value - top) for value in logs))


def _smallest(enough: Callable[[int], bool]) -> int:
    """The least n from which on `enough` holds, for a condition that stays true once it is true.

    Bounds with a growth function rise before they fall, but only while they are above 1 and hence not enough.
    """
    high = 1
    while not enough(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


# -- Hoeffding --------------------------------------------------------------------------------------------------
def hoeffding_bound(
    n: int, epsilon: float, *, lower: float = 0.0, upper: float = 1.0, two_sided: bool = True, n_hypotheses: int = 1
) -> float:
    """The probability, at most, that the mean of `n` rows misses the true mean by `epsilon` or more.

    Values lie in [lower, upper] (an error rate in [0, 1]); two-sided: 2 exp(-2 n epsilon^2 / (upper - lower)^2). Over
    `n_hypotheses` looked at on the same rows, by the union bound, it is that many times as much.

    >>> round(hoeffding_bound(1000, 0.05), 4)
    0.0135
    """
    who = "hoeffding_bound"
    _at_least(who, "n", n, 1)
    _positive(who, "epsilon", epsilon)
    tails, width = _tails(who, lower, upper, two_sided, n_hypotheses)
    return min(1.0, math.exp(math.log(tails) - 2 * n * (epsilon / width) ** 2))


def hoeffding_sample_size(
    epsilon: float,
    delta: float,
    *,
    lower: float = 0.0,
    upper: float = 1.0,
    two_sided: bool = True,
    n_hypotheses: int = 1,
) -> int:
    """How many rows bring the mean within `epsilon` of the true mean with probability at least 1 - `delta`.

    >>> hoeffding_sample_size(0.05, 0.05)
    738
    """
    who = "hoeffding_sample_size"
    _positive(who, "epsilon", epsilon)
    _share(who, "delta", delta)
    tails, width = _tails(who, lower, upper, two_sided, n_hypotheses)
    return max(1, math.ceil(math.log(tails / delta) / 2 * (width / epsilon) ** 2))


def hoeffding_epsilon(
    n: int, delta: float, *, lower: float = 0.0, upper: float = 1.0, two_sided: bool = True, n_hypotheses: int = 1
) -> float:
    """How far, at most, the mean of `n` rows is from the true mean, with probability at least 1 - `delta`.

    >>> round(hoeffding_epsilon(1000, 0.05), 4)
    0.0429
    """
    who = "hoeffding_epsilon"
    _at_least(who, "n", n, 1)
    _share(who, "delta", delta)
    tails, width = _tails(who, lower, upper, two_sided, n_hypotheses)
    return width * math.sqrt(max(0.0, math.log(tails / delta)) / (2 * n))


def support_vector_bound(n_support: int, n: int) -> float:
    """The bound on the expected test error of a support vector machine: the share of rows that are support vectors.

    Leaving out a row that is no support vector changes nothing, so leave-one-out errs at most on the support
    vectors (Vapnik). It bounds the mean over training sets, of which this is one.

    >>> support_vector_bound(12, 150)
    0.08
    """
    who = "support_vector_bound"
    _at_least(who, "n", n, 1)
    _at_least(who, "n_support", n_support, 0)
    if n_support > n:
        raise ParameterError(who, "parameter 'n_support'", f"must be at most n = {n}", f"got {n_support}")
    return n_support / n


def _tails(who: str, lower: float, upper: float, two_sided: bool, n_hypotheses: int) -> tuple[float, float]:
    if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
        raise ParameterError(who, "parameters 'lower' and 'upper'", "must be finite and in order")
    _at_least(who, "n_hypotheses", n_hypotheses, 1)
    return float((2 if two_sided else 1) * n_hypotheses), upper - lower


# -- checks -----------------------------------------------------------------------------------------------------
def _known(who: str, name: str, table: dict[str, Any]) -> str:
    text = str(name).strip().lower()
    text = text if text in table else _ALIASES.get(text, text)
    if text not in table:
        near = difflib.get_close_matches(text, [*table, *_ALIASES], n=2, cutoff=0.6)
        hint = f"did you mean {' or '.join(near)}?" if near else f"choose one of {', '.join(table)}"
        raise ParameterError(who, f"class '{plain(name)}'", "is not known", way_out=hint)
    return text


def _at_least(who: str, parameter: str, value: Any, least: int) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float, np.integer, np.floating))
        or not value >= least
        or value != value // 1
    ):
        raise ParameterError(who, f"parameter '{parameter}'", f"must be an integer >= {least}", f"got {value!r}")


def _share(who: str, parameter: str, value: float) -> None:
    if not 0 < value < 1:
        raise ParameterError(who, f"parameter '{parameter}'", "must be between 0 and 1", f"got {value!r}")


def _positive(who: str, parameter: str, value: float) -> None:
    if not (value > 0 and math.isfinite(value)):
        raise ParameterError(who, f"parameter '{parameter}'", "must be a positive number", f"got {value!r}")
