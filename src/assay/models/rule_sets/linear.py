"""Linear sums of columns, as the conclusion of a rule or as one of its conditions.

A sum adds an intercept and, from left to right, weight * cell for each of its columns; a missing cell counts as the
value that the sum holds for it. Every form of a sum (NumPy, SQL, Python) does the same operations in the same order.

>>> price = LinearSum(2.0, (("size", 3.0, 1.0), ("age", -0.5, 10.0)))
>>> print(price)
2 + 3 size - 0.5 age
>>> price.values(np.array([[1.0, 4.0], [2.0, np.nan]]), ("size", "age"))
array([3., 3.])
>>> print(LinearCondition(LinearSum(0.0, (("size", 1.0, 0.0), ("age", -1.0, 0.0))), high=0.5))
size - age <= 0.5
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...base.errors import DataError, plain

Term = tuple[str, float, float]
"""A column, its weight, and the value that stands for a missing cell."""


def _double(value: float) -> str:
    """A number that every database takes as a double, with all its digits; not as a decimal of few places."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


@dataclass(frozen=True)
class LinearSum:
    """`intercept` + weights times cells, kept between `low` and `high`."""

    intercept: float
    terms: tuple[Term, ...] = ()
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        terms = tuple((str(name), float(weight), float(fill)) for name, weight, fill in self.terms)
        object.__setattr__(self, "terms", terms)
        for value in (self.intercept, *(number for _, *both in terms for number in both)):
            if not math.isfinite(value):
                raise DataError("LinearSum", "its numbers", "must be finite", f"got {value!r}")
        if not self.low <= self.high:
            raise DataError("LinearSum", "'low'", "must not lie above 'high'", f"got {self.low!r} and {self.high!r}")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the sum reads."""
        return tuple(name for name, _, _ in self.terms)

    def values(self, cells: np.ndarray, names: Sequence[str]) -> np.ndarray:
        """The sum of each row of cells whose columns have these names."""
        total = np.full(cells.shape[0], self.intercept)
        for name, weight, fill in self.terms:
            column = cells[:, names.index(name)]
            total += weight * np.where(np.isnan(column), fill, column)
        return np.clip(total, self.low, self.high) if self._bounded else total

    @property
    def _bounded(self) -> bool:
        return math.isfinite(self.low) or math.isfinite(self.high)

    def _bounds(self, text: str, write: Callable[[float], str], pattern: str) -> str:
        """`pattern` says how a language chooses: with {test}, {then} and {other}."""
        for sign, end in ((">", self.high), ("<", self.low)):
            if math.isfinite(end):
                text = pattern.format(test=f"{text} {sign} {write(end)}", then=write(end), other=text)
        return text

    def to_text(self, digits: int = 6) -> str:
        """The sum in words."""
        parts = [(self.intercept, "")] if self.intercept or not self.terms else []
        parts += [(weight, plain(name)) for name, weight, _ in self.terms]
        words = ""
        for value, name in parts:
            size = f"{abs(value):.{digits}g}"
            size = name if name and size == "1" else f"{size} {name}".strip()
            words += f" {'-' if value < 0 else '+'} {size}" if words else f"{'-' if value < 0 else ''}{size}"
        return words

    def __str__(self) -> str:
        return self.to_text()

    def to_sql(self) -> str:
        """The sum as an SQL expression of doubles; a missing cell is NULL."""
        from .sql import identifier

        text = _double(self.intercept)
        for name, weight, fill in self.terms:
            cell = f"COALESCE({identifier(name)}, {_double(fill)})"
            text += f" {'-' if weight < 0 else '+'} {_double(abs(weight))} * {cell}"
        # Bounds repeat the sum, hence the brackets.
        return self._bounds(f"({text})", _double, "CASE WHEN {test} THEN {then} ELSE {other} END")

    def to_python(self, cell: Callable[[str, float], str]) -> str:
        """The sum as a Python expression; `cell(column, fill)` says how a cell is written."""
        text = repr(self.intercept)
        for name, weight, fill in self.terms:
            text += f" {'-' if weight < 0 else '+'} {abs(weight)!r} * {cell(name, fill)}"
        if math.isfinite(self.high):
            text = f"min({text}, {self.high!r})"
        return f"max({text}, {self.low!r})" if math.isfinite(self.low) else text

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the intercept, and for each column its weight and the value of a missing cell."""
        terms = [{"column": name, "weight": weight, "missing": fill} for name, weight, fill in self.terms]
        ends = {name: end for name, end in (("low", self.low), ("high", self.high)) if math.isfinite(end)}
        return {"intercept": self.intercept, "terms": terms, **ends}


@dataclass(frozen=True)
class LinearCondition:
    """Rows whose sum lies in (low, high]; missing cells count as the sum says, so every row has a side."""

    sum: LinearSum
    low: float = -math.inf
    high: float = math.inf

    categories = None

    def __post_init__(self) -> None:
        if math.isnan(self.low) or math.isnan(self.high):
            raise DataError("LinearCondition", "an end", "must be a number", "got NaN")

    @property
    def column(self) -> LinearSum:
        """What the condition is on; conditions on the same sum are merged."""
        return self.sum

    @property
    def impossible(self) -> bool:
        """True if no row passes."""
        return not self.low < self.high

    @property
    def always(self) -> bool:
        """True if every row passes."""
        return math.isinf(self.low) and math.isinf(self.high) and self.low < self.high

    def merged(self, other: LinearCondition) -> LinearCondition:
        """The condition of rows that pass both."""
        if self.sum != other.sum:
            raise DataError("LinearCondition", "conditions", "must be on one sum to be merged")
        return replace(self, low=max(self.low, other.low), high=min(self.high, other.high))

    def implies(self, other: LinearCondition) -> bool:
        """True if every row that passes this one passes the other."""
        return self.merged(other) == self

    def passes_rows(self, cells: np.ndarray, names: Sequence[str]) -> np.ndarray:
        """Which rows of cells pass."""
        values = self.sum.values(cells, names)
        return (values > self.low) & (values <= self.high)

    def to_text(self) -> str:
        """The condition in words."""
        words = self.sum.to_text()
        if math.isinf(self.low):
            return f"{words} <= {self.high:.6g}"
        return f"{words} > {self.low:.6g}" if math.isinf(self.high) else f"{self.low:.6g} < {words} <= {self.high:.6g}"

    def __str__(self) -> str:
        return self.to_text()

    def to_sql(self) -> str:
        """The condition as SQL."""
        words = self.sum.to_sql()
        tests = [f"{words} > {_double(self.low)}"] if math.isfinite(self.low) else []
        tests += [f"{words} <= {_double(self.high)}"] if math.isfinite(self.high) else []
        return " AND ".join(tests) or "TRUE"
