"""Range rules: what a cell may hold, and what becomes of the cells that cannot be true."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np
import polars as pl
from sklearn.utils.validation import check_is_fitted

from ..base import Choice, DataError, Mapping, Nothing, param, plain
from .encode import as_text
from .step import CellCost, RowStep, kind_of

BOUNDS = {"min": ("<", "below"), "max": (">", "above"), "above": ("<=", "not above"), "below": (">=", "not below")}
"""The words of a rule: what breaks it, as a sign and in words. `above` and `below` exclude the bound itself."""


class RangeRules(RowStep):
    """Finds cells that cannot be true (a negative age, 0 kelvin) and makes them missing, clips or drops them.

    `rules` gives for a column any of `min` and `max` (the bounds are allowed), `above` and `below` (they are not) and
    `allowed` (a list of values). Bounds are numbers, or dates for columns of dates. With `action="clip"` a cell moves
    to the bound it breaks; where there is none to move to (`above`, `below`, `allowed`) it becomes missing. With "drop"
    the row is left out of training, and rows that have to be predicted pass as they are. A missing cell breaks no rule.

    Attributes
    ----------
    ranges_ : dict, the rules by column name
    counts_ : dict, for each column and rule the number of training cells that break it

    Examples
    --------
    >>> import polars as pl
    >>> from assay.prepare import RangeRules
    >>> people = pl.DataFrame({"age": [31, -4, 220], "sex": ["f", "m", "x"]})
    >>> step = RangeRules(rules={"age": {"min": 0, "max": 120}, "sex": {"allowed": ["f", "m"]}}).fit(people)
    >>> step.counts_
    {'age': {'min': 1, 'max': 1}, 'sex': {'allowed': 1}}
    >>> step.transform(people)["age"].to_list()
    [31, None, None]
    """

    rules: Any = param(
        None, Mapping() | Nothing(), "For each column (name or position) a dict of min, max, above, below, allowed."
    )
    action: str = param("missing", Choice("missing", "clip", "drop"), "What becomes of a cell that breaks a rule.")

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        self.ranges_ = {}
        for name, rule in self._by_column(frame, self.rules, "rules").items():
            self.ranges_[name] = self._checked(frame[name], rule)
        self.kinds_ = {name: kind_of(frame[name]) for name in self.ranges_}
        self.names_out_ = list(frame.columns)
        self.counts_ = {
            name: {word: int(broken.sum()) for word, broken in self._broken(frame[name]).items()}
            for name in self.ranges_
        }

    def _checked(self, series: pl.Series, rule: Any) -> dict[str, Any]:
        kind = kind_of(series)
        if not isinstance(rule, dict) or not rule or not set(rule) <= {*BOUNDS, "allowed"}:
            self._refuse_entry("rules", series.name, "a dict of min, max, above, below or allowed", rule)
        checked: dict[str, Any] = {}
        for word, value in rule.items():
            if word == "allowed":
                if not isinstance(value, (list, tuple, np.ndarray)) or len(value) == 0:
                    self._refuse_entry("rules", series.name, "a list of values under 'allowed'", value)
                dates = kind == "date"
                checked[word] = (
                    [self._moment(series.name, word, item) for item in value]
                    if dates
                    else as_text(pl.Series(list(value), strict=False)).to_list()
                )
            elif kind == "number":
                if isinstance(value, (bool, str)) or not np.isreal(value) or not np.isfinite(float(value)):
                    self._refuse_entry("rules", series.name, f"a number under '{word}'", value)
                checked[word] = float(value)
            elif kind == "date":
                checked[word] = self._moment(series.name, word, value)
            else:
                raise DataError(
                    type(self).__name__,
                    f"column '{plain(series.name)}'",
                    f"must hold numbers or dates for the rule '{word}'",
                    f"its type is {plain(series.dtype)}",
                    "give it a list of allowed values",
                )
        low, high = checked.get("min", checked.get("above")), checked.get("max", checked.get("below"))
        if low is not None and high is not None and low > high:
            self._refuse_entry("rules", series.name, "a lower bound that is not over the upper one", rule)
        return checked

    def _moment(self, name: str, word: str, value: Any) -> str:
        """A date bound in ISO form, which sorts like the dates."""
        try:
            moment = value if isinstance(value, (date, datetime)) else datetime.fromisoformat(value)
        except (TypeError, ValueError):
            self._refuse_entry("rules", name, f"a date under '{word}'", value)
        if not isinstance(moment, datetime):
            moment = datetime(moment.year, moment.month, moment.day)
        return moment.replace(tzinfo=None).isoformat(timespec="microseconds")

    def _broken(self, series: pl.Series) -> dict[str, pl.Series]:
        """For each rule of the column, which cells break it."""
        found = {}
        for word, value in self.ranges_[series.name].items():
            if word == "allowed":
                dates = kind_of(series) == "date"
                allowed = [datetime.fromisoformat(item) for item in value] if dates else value
                broken = ~(series if dates else as_text(series)).is_in(allowed)
            else:
                bound = datetime.fromisoformat(value) if isinstance(value, str) else value
                sign = BOUNDS[word][0]
                broken = {"<": series < bound, ">": series > bound, "<=": series <= bound, ">=": series >= bound}[sign]
            found[word] = broken.fill_null(False)
        return found

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        frame = self._like_fit(frame, self.kinds_)
        if self.action == "drop":
            return frame
        return frame.with_columns([self._mended(frame[name]) for name in self.ranges_])

    def _mended(self, series: pl.Series) -> pl.Series:
        out = series
        for word, broken in self._broken(series).items():
            if not broken.any():
                continue
            if self.action == "clip" and word in ("min", "max"):
                value = self.ranges_[series.name][word]
                bound = datetime.fromisoformat(value) if isinstance(value, str) else value
                if isinstance(bound, float) and not bound.is_integer():
                    out = out.cast(pl.Float64)
                elif not isinstance(bound, datetime) and out.dtype.is_integer():
                    bound = int(bound)
                out = out.set(broken, bound)
            else:
                out = out.set(broken, None)
        return out

    def _kept(self, frame: pl.DataFrame, y: np.ndarray | None) -> np.ndarray:
        broken = np.zeros(frame.height, dtype=bool)
        if self.action == "drop":
            for name in self.ranges_:
                for cells in self._broken(frame[name]).values():
                    broken |= cells.to_numpy()
        return np.flatnonzero(~broken)

    def explain(self) -> list[str]:
        """What becomes of infeasible cells, in words, with the number of training cells concerned."""
        check_is_fitted(self)
        fate = {
            "missing": "become missing", "clip": "move to the bound", "drop": "take their row out of training",
        }[self.action]  # fmt: skip
        sentences = []
        for name, rule in self.ranges_.items():
            for word, value in rule.items():
                outside = "other than the allowed ones" if word == "allowed" else f"{BOUNDS[word][1]} {_bound(value)}"
                what = fate if self.action != "clip" or word in ("min", "max") else "become missing"
                sentences.append(f"{plain(name)}: values {outside} {what} ({self.counts_[name][word]} in training).")
        return sentences

    # Two comparisons per cell of a column with rules.
    _cell_cost = CellCost(seconds=3e-9, start=1e-5, bytes=10.0)


def _bound(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).replace("T00:00:00.000000", "")
