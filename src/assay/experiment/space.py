"""Search spaces: which values each parameter may take, drawn, levelled and told in words.

A space is a table of parameters: a list holds the values to choose from, and `{"low": 1, "high": 50, "log": true}` is
a range (whole numbers if both ends are whole, by ratios if `log`). Parameters of parts are named as in scikit-learn,
`step__parameter`.

>>> space = Space.of({"n_neighbors": {"low": 1, "high": 64, "log": True}, "weights": ["uniform", "distance"]})
>>> space.size(levels=4), space.grid(levels=4)[1]
(8, {'n_neighbors': 1, 'weights': 'distance'})
>>> [one.levels(4) for one in space.dimensions]
[[1, 4, 16, 64], ['uniform', 'distance']]
"""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.errors import ParameterError, plain
from .plain_values import NotPlain, from_plain, to_plain


@dataclass(frozen=True)
class Dimension:
    """The values of one parameter: a list (`values`), or a range from `low` to `high`."""

    name: str
    values: tuple[Any, ...] = ()
    low: float = 0.0
    high: float = 0.0
    log: bool = False

    @classmethod
    def of(cls, name: str, given: Any) -> Dimension:
        """One parameter of a space as the user writes it."""

        def refuse(rule: str) -> ParameterError:
            return ParameterError(
                "search", f"parameter '{plain(name)}' of the space", rule, f"got {plain(repr(given))}"
            )

        if isinstance(given, Dimension):
            return given
        if isinstance(given, Mapping) and "values" in given:
            given = given["values"]
        if isinstance(given, Mapping):
            if not {"low", "high"} <= given.keys() <= {"low", "high", "log"}:
                raise refuse("must be a list of values or a range {low, high, log}")
            low, high, log = given["low"], given["high"], bool(given.get("log", False))
            for end in (low, high):
                if isinstance(end, bool) or not isinstance(end, numbers.Real) or not math.isfinite(float(end)):
                    raise refuse("must have numbers as its ends")
            if not low < high:
                raise refuse("must have its low end below its high end")
            if log and low <= 0:
                raise refuse("must have ends above 0 where it goes by ratios")
            whole = isinstance(low, numbers.Integral) and isinstance(high, numbers.Integral)
            return cls(name, (), int(low) if whole else float(low), int(high) if whole else float(high), log)
        if isinstance(given, (str, bytes)) or not isinstance(given, (Sequence, np.ndarray)) or len(given) == 0:
            raise refuse("must be a list of values or a range {low, high, log}")
        return cls(name, tuple(given))

    @property
    def whole(self) -> bool:
        """Whether it is a range of whole numbers."""
        return not self.values and isinstance(self.low, int) and isinstance(self.high, int)

    def at(self, place: float) -> Any:
        """The value at a place from 0 to 1.

        >>> Dimension("k", (), 1, 3).at(0.99), Dimension("C", (), 0.01, 100.0, True).at(0.5)
        (3, 1.0)
        """
        if self.values:
            return self.values[min(len(self.values) - 1, int(place * len(self.values)))]
        low, high = float(self.low), float(self.high)
        if self.whole:
            # Each whole number owns the stretch of half a step on both sides.
            low, high = max(low - 0.5, 0.5) if self.log else low - 0.5, high + 0.5
        if self.log:
            value = math.exp(math.log(low) + place * (math.log(high) - math.log(low)))
        else:
            value = low + place * (high - low)
        value = min(max(value, float(self.low)), float(self.high))
        return int(min(max(round(value), self.low), self.high)) if self.whole else float(f"{value:.6g}")

    def levels(self, count: int) -> list[Any]:
        """The values of a list, or about `count` values of a range with both ends."""
        if self.values:
            return list(self.values)
        if self.log:
            found = np.geomspace(float(self.low), float(self.high), count)
        else:
            found = np.linspace(float(self.low), float(self.high), count)
        if self.whole:
            return sorted({round(float(value)) for value in found})
        return [float(f"{value:.6g}") for value in found]

    def place(self, value: Any) -> float:
        """Where a value lies: its number in the list, or from 0 to 1 in the range; NaN for another value."""
        if self.values:
            return float(next((k for k, own in enumerate(self.values) if _same(own, value)), math.nan))
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            return math.nan
        low, high, at = float(self.low), float(self.high), float(value)
        if self.log:
            return (math.log(at) - math.log(low)) / (math.log(high) - math.log(low)) if at > 0 else math.nan
        return (at - low) / (high - low)

    def to_plain(self) -> Any:
        """As it is written in a plan."""
        if self.values:
            return [to_plain(value) for value in self.values]
        return {"low": self.low, "high": self.high} | ({"log": True} if self.log else {})


@dataclass(frozen=True)
class Space:
    """Parameters and the values that they may take."""

    dimensions: tuple[Dimension, ...]

    @classmethod
    def of(cls, given: Any) -> Space:
        """A space as the user writes it."""
        if isinstance(given, Space):
            return given
        if not isinstance(given, Mapping) or not given:
            raise ParameterError(
                "search", "parameter 'space'", "must name parameters and their values", f"got {plain(repr(given))}"
            )
        return cls(tuple(Dimension.of(str(name), values) for name, values in given.items()))

    @classmethod
    def from_plain(cls, given: Any) -> Space:
        """A space of a plan's file."""
        named = isinstance(given, Mapping)
        return cls.of({name: from_plain(value) for name, value in given.items()} if named else given)

    def to_plain(self) -> dict[str, Any]:
        """As it is written in a plan."""
        try:
            return {one.name: one.to_plain() for one in self.dimensions}
        except NotPlain as error:
            raise ParameterError(
                "search", "parameter 'space'", f"holds a value that cannot be kept ({error})"
            ) from None

    def size(self, levels: int) -> int:
        """How many settings the grid has."""
        return math.prod(len(one.levels(levels)) for one in self.dimensions)

    def grid(self, levels: int) -> list[dict[str, Any]]:
        """Every combination of levels, the last parameter changing fastest."""
        names = [one.name for one in self.dimensions]
        return [dict(zip(names, c)) for c in itertools.product(*(one.levels(levels) for one in self.dimensions))]

    def draw(self, places: Sequence[float]) -> dict[str, Any]:
        """The setting at these places from 0 to 1, one per parameter."""
        return {one.name: one.at(float(place)) for one, place in zip(self.dimensions, places, strict=True)}


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(np.array_equal(np.asarray(a, dtype=object), np.asarray(b, dtype=object)))
