"""Conditions of rules: which cells of one column pass.

A condition is a set of cells: an interval of numbers, some categories, or all but some categories; and missing cells
or not. Such sets are closed under intersection, so a rule needs one condition per column.

>>> hot = Condition.above("temperature", 25).merged(Condition.at_most("temperature", 30))
>>> print(hot)
25 < temperature <= 30
>>> print(Condition.none_of("outlook", ["sunny"], missing=True))
outlook != sunny or missing
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.columns import plain_label
from ...base.errors import DataError, plain

if TYPE_CHECKING:
    from .linear import LinearCondition

_LISTED = 6


def _ordered(labels: Iterable[Any]) -> tuple[Any, ...]:
    """Distinct category labels in a fixed order, as plain Python values."""
    values = [plain_label(v) for v in labels]
    for value in values:
        if not isinstance(value, (str, bool, int, float)) or (isinstance(value, float) and not math.isfinite(value)):
            raise DataError("Condition", "a category", "must be text, a truth value or a number", f"got {value!r}")
    return tuple(sorted(set(values), key=lambda v: (isinstance(v, str), v)))


@dataclass(frozen=True)
class Condition:
    """Cells of `column` that pass: `low < cell <= high`, or cells in (not in) `categories`; also missing ones if told.

    Equal sets have equal fields: an empty interval, or one without ends, becomes a condition on whether the cell is
    missing, which holds no categories.
    """

    column: str
    low: float = -math.inf
    high: float = math.inf
    categories: tuple[Any, ...] | None = None
    excluded: bool = False
    missing: bool = False

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        if not isinstance(self.column, str):
            raise DataError("Condition", "the column", "must be a name", f"got {plain(repr(self.column))}")
        if self.categories is not None:
            set_field(self, "categories", _ordered(self.categories))
            set_field(self, "low", -math.inf)
            set_field(self, "high", math.inf)
            return
        set_field(self, "low", float(self.low))
        set_field(self, "high", float(self.high))
        if math.isnan(self.low) or math.isnan(self.high):
            raise DataError("Condition", f"an end for column '{plain(self.column)}'", "must be a number", "got NaN")
        set_field(self, "excluded", False)
        if not self.low < self.high:
            set_field(self, "categories", ())
        elif math.isinf(self.low) and math.isinf(self.high):
            set_field(self, "categories", ())
            set_field(self, "excluded", True)
        if self.categories is not None:
            set_field(self, "low", -math.inf)
            set_field(self, "high", math.inf)

    # -- makers ----------------------------------------------------------------------------------------------------
    @classmethod
    def at_most(cls, column: str, value: float, missing: bool = False) -> Condition:
        """Cells <= value."""
        return cls(column, high=value, missing=missing)

    @classmethod
    def above(cls, column: str, value: float, missing: bool = False) -> Condition:
        """Cells > value."""
        return cls(column, low=value, missing=missing)

    @classmethod
    def between(cls, column: str, low: float, high: float, missing: bool = False) -> Condition:
        """Cells in (low, high]."""
        return cls(column, low=low, high=high, missing=missing)

    @classmethod
    def one_of(cls, column: str, categories: Iterable[Any], missing: bool = False) -> Condition:
        """Cells that hold one of the categories."""
        return cls(column, categories=tuple(categories), missing=missing)

    @classmethod
    def none_of(cls, column: str, categories: Iterable[Any], missing: bool = False) -> Condition:
        """Cells that hold something else, be it a category that was never seen."""
        return cls(column, categories=tuple(categories), excluded=True, missing=missing)

    @classmethod
    def is_missing(cls, column: str) -> Condition:
        """Missing cells."""
        return cls(column, categories=(), missing=True)

    @classmethod
    def is_present(cls, column: str) -> Condition:
        """Cells that are not missing."""
        return cls(column, categories=(), excluded=True)

    # -- sets ------------------------------------------------------------------------------------------------------
    @property
    def on_presence(self) -> bool:
        """True if only the presence of the cell matters."""
        return self.categories == ()

    @property
    def impossible(self) -> bool:
        """True if no cell passes."""
        return self.on_presence and not self.excluded and not self.missing

    @property
    def always(self) -> bool:
        """True if every cell passes."""
        return self.on_presence and self.excluded and self.missing

    def merged(self, other: Condition) -> Condition:
        """The condition of cells that pass both."""
        if self.column != other.column:
            raise DataError("Condition", "conditions", "must be on one column to be merged")
        missing = self.missing and other.missing
        for one, two in ((self, other), (other, self)):
            if one.on_presence:
                if not one.excluded:
                    return Condition(self.column, categories=(), missing=missing)
                return Condition(self.column, two.low, two.high, two.categories, two.excluded, missing)
        if self.categories is None and other.categories is None:
            return Condition(self.column, max(self.low, other.low), min(self.high, other.high), missing=missing)
        if self.categories is None or other.categories is None:
            name = plain(self.column)
            raise DataError("Condition", f"column '{name}'", "cannot be compared both with numbers and with categories")
        mine, theirs = set(self.categories), set(other.categories)
        if self.excluded and other.excluded:
            return Condition(self.column, categories=tuple(mine | theirs), excluded=True, missing=missing)
        kept = mine & theirs if self.excluded == other.excluded else (theirs - mine if self.excluded else mine - theirs)
        return Condition(self.column, categories=tuple(kept), missing=missing)

    def implies(self, other: Condition) -> bool:
        """True if every cell that passes this one passes the other."""
        return self.merged(other) == self

    # -- use -------------------------------------------------------------------------------------------------------
    def passes(self, cells: np.ndarray, categories: np.ndarray | None) -> np.ndarray:
        """Which cells pass; cells of a nominal column are codes of `categories` (see `assay.data.columns`)."""
        absent = np.isnan(cells)
        if self.categories is None:
            inside = cells <= self.high if math.isfinite(self.high) else ~absent
            if math.isfinite(self.low):
                inside &= cells > self.low
            return inside | absent if self.missing else inside
        if self.on_presence:
            return np.where(absent, self.missing, self.excluded)
        known = {} if categories is None else {label: code for code, label in enumerate(categories.tolist())}
        # Place 0 is for categories never seen, the last for missing cells.
        allowed = np.full(len(known) + 2, self.excluded)
        for label in self.categories:
            if label in known:
                allowed[known[label] + 1] = not self.excluded
        allowed[-1] = self.missing
        return allowed[np.where(absent, len(known) + 1, cells + 1).astype(np.intp)]

    def to_text(self, show_missing: bool = True, known: Iterable[Any] = ()) -> str:
        """The condition in words; without `show_missing`, "or missing" is left out.

        Where few of the `known` categories are not excluded, those are named; categories never seen pass as well.
        """
        name = plain(self.column)
        rest = [label for label in known if label not in (self.categories or ())] if self.excluded else []
        if 0 < len(rest) < len(self.categories or ()):
            return Condition.one_of(self.column, rest, self.missing).to_text(show_missing)
        if self.categories is None:
            if math.isinf(self.low):
                words = f"{name} <= {self.high:.6g}"
            elif math.isinf(self.high):
                words = f"{name} > {self.low:.6g}"
            else:
                words = f"{self.low:.6g} < {name} <= {self.high:.6g}"
        elif self.on_presence:
            if self.always:
                return f"{name} is anything"
            return f"{name} is {'missing' if self.missing else 'present' if self.excluded else 'nothing'}"
        else:
            listed = [plain(label, 40) for label in self.categories[:_LISTED]]
            if len(self.categories) == 1:
                words = f"{name} {'!=' if self.excluded else '='} {listed[0]}"
            else:
                unnamed = len(self.categories) - len(listed)
                more = f", and {unnamed} more" if unnamed else ""
                words = f"{name} {'not in' if self.excluded else 'in'} {{{', '.join(listed)}{more}}}"
        return f"{words} or missing" if self.missing and show_missing else words

    def __str__(self) -> str:
        return self.to_text()


def merge_conditions(conditions: Iterable[Condition | LinearCondition]) -> tuple[Any, ...]:
    """One condition per column or sum, in the order in which these first appear; those that always hold are left out.

    >>> [str(c) for c in merge_conditions([Condition.above("x", 1), Condition.above("y", 0), Condition.above("x", 2)])]
    ['x > 2', 'y > 0']
    """
    by_column: dict[Any, Any] = {}
    for condition in conditions:
        held = by_column.get(condition.column)
        by_column[condition.column] = condition if held is None else held.merged(condition)
    return tuple(condition for condition in by_column.values() if not condition.always)
