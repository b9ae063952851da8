"""What would change the decision: the smallest changes of a row after which the model says something else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..base.drawings import intervals_figure
from ..base.errors import DataError, ParameterError, plain
from ..base.plotting import axes, paint_svg
from ..base.record import Grid, TableRecord
from ..base.words import clean, listing, number
from .asked import Asked, classes_of

FIXED_ROLES = ("id", "text", "datetime")
_CANDIDATES, _BEAM, _HALVINGS = 24, 40, 14


@dataclass(frozen=True, kw_only=True)
class Counterfactuals(TableRecord):
    """Alternatives to a row: each has the `changes` (column, from, to), what the model then says, and its cost.

    The cost of a change of numbers is its size in spreads of the column (5th to 95th per cent), that of labels is 1.
    """

    names: list[str]
    now: Any
    wanted: Any
    unit: str
    alternatives: list[dict[str, Any]]
    fixed: list[str] = field(default_factory=list)
    asked_for: int = 0

    schema: ClassVar[int] = 1

    def __len__(self) -> int:
        return len(self.alternatives)

    @property
    def sentence(self) -> str:  # type: ignore[override]
        """The cheapest alternative in words."""
        if not self.alternatives:
            return f"No change that was tried makes the model say {_said(self.wanted)}."
        best = self.alternatives[0]
        parts = [f"{clean(c['column'], 60)} were {c['to_words']} instead of {c['from_words']}" for c in best["changes"]]
        return f"If {listing(parts)}, the model would say {_said(best['says'])} instead of {_said(self.now)}."

    def grid(self) -> Grid:
        """One line for each changed cell."""
        lines = []
        for k, one in enumerate(self.alternatives, 1):
            for c in one["changes"]:
                lines.append([str(k), clean(c["column"], 60), c["from_words"], c["to_words"]])
                lines[-1] += [_said(one["says"]), number(one["output"]), number(one["cost"])]
        heads = ["alternative", "column", "now", "then", "the model says", clean(self.unit, 60), "cost"]
        return Grid(heads, lines, notes=[self.sentence], left=5)

    @property
    def how_to_read(self) -> str:
        """What the lines mean."""
        fixed = f" {listing([clean(name, 40) for name in self.fixed])} stay as they are." if self.fixed else ""
        return (
            "Each alternative is the row with the fewest and smallest changes found after which the model says what "
            f"was wanted; it is about the model, not about causes.{fixed}"
        )

    def to_svg(self, title: str = "") -> str:
        """A bar for the cost of each alternative."""
        shown = self.alternatives[:12]
        words = [", ".join(f"{c['column']} → {c['to_words']}" for c in one["changes"]) for one in shown]
        costs = [float(one["cost"]) for one in shown]
        return intervals_figure(words, costs, title=title or "Alternatives and their cost", label="cost of the changes")

    def plot(self, ax: Any = None) -> Any:
        """The drawing on axes of matplotlib, which are given back."""
        return paint_svg(self.to_svg(), axes("Counterfactuals.plot", ax))

    def to_html(self) -> str:
        """The sentence, and the changes as a table."""
        return f"{self.grid().to_html()}<p>{_escaped(self.how_to_read)}</p>"


def _escaped(text: str) -> str:
    from html import escape

    return escape(text)


def _said(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        low, high = value
        if low is None or high is None:
            return f"at most {number(float(high))}" if low is None else f"at least {number(float(low))}"
        return f"between {number(float(low))} and {number(float(high))}"
    return number(float(value)) if isinstance(value, (float, np.floating)) else clean(value, 60)


def counterfactuals(
    model: Any,
    row: Any,
    X: Any,
    *,
    wanted: Any = None,
    immutable: Sequence[Any] = (),
    ranges: Mapping[Any, Any] | None = None,
    roles: Mapping[str, Any] | None = None,
    max_changes: int = 3,
    n_alternatives: int = 3,
    n_jobs: int | None = None,
) -> Counterfactuals:
    """The fewest and smallest changes of a row that make a fitted model say something else.

    Candidate values come from the table `X`: quantiles of numbers, frequent labels. All single changes are tried first,
    then pairs and so on from the most promising ones; what is found is shrunk: changes that are not needed are taken
    back, and numbers are moved towards where they were as far as the answer allows. Every alternative is checked with
    the model's own `predict`.

    Parameters
    ----------
    model : fitted model
    row : a table of one row, or the number of a row of X
    X : table that shows what values occur
    wanted : class, or (low, high) for numbers, where None is open; the likeliest other class by default
    immutable : columns that must stay as they are
    ranges : {column: (low, high)} of numbers or {column: [labels]} that a change may use
    roles : {column: role}; columns that are "id", "text" or "datetime" stay, "ordinal" ones move between known values
    max_changes : most columns that change
    n_alternatives : alternatives, each with other columns
    n_jobs : threads of tree models

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.trees import CartClassifier
    >>> X = np.column_stack([np.arange(20.0), np.tile([0.0, 1.0], 10)])
    >>> model = CartClassifier().fit(X, np.where(X[:, 0] > 9, "yes", "no"))
    >>> print(counterfactuals(model, [[4.0, 1.0]], X).sentence)
    If x0 were 10.00 instead of 4.000, the model would say yes instead of no.
    """
    who = "counterfactuals"
    for name, value in (("max_changes", max_changes), ("n_alternatives", n_alternatives)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ParameterError(who, f"parameter '{name}'", "must be an integer from 1 on", f"got {plain(value)}")
    if isinstance(row, (int, np.integer)) and not isinstance(row, bool):
        from ..base.folds import take_rows

        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if not 0 <= int(row) < n_rows:
            raise DataError(who, "row", f"must lie in 0..{n_rows - 1}", f"got {int(row)}")
        row = take_rows(X, np.array([int(row)]))
    asked = Asked.of(who, model, row, X, output="probability", fast=False, n_jobs=n_jobs)
    if asked.cells.shape[0] != 1:
        raise DataError(who, "row", "must be one row", f"got {asked.cells.shape[0]}")
    goal = _Goal(who, model, asked, wanted)
    search = _Search(who, asked, goal, immutable, ranges or {}, roles or {})
    found = search.run(int(max_changes))
    alternatives = search.best(found, int(n_alternatives))
    return Counterfactuals(
        names=asked.names,
        now=goal.now,
        wanted=goal.wanted,
        unit=goal.unit,
        alternatives=alternatives,
        fixed=[asked.names[j] for j in search.fixed],
        asked_for=search.asked_for,
    )


class _Goal:
    """What is wanted: how far rows are from it (0 or less is there), and what the model says of them."""

    def __init__(self, who: str, model: Any, asked: Asked, wanted: Any):
        self.asked, self.model = asked, model
        classes = classes_of(model)
        own = asked.outputs(asked.cells)
        self.classes = None if classes is None else classes.tolist()
        if self.classes is None:
            self.now: Any = float(own[0, 0])
            if not isinstance(wanted, (tuple, list)) or len(wanted) != 2 or all(end is None for end in wanted):
                rule = "must be (low, high) for a model of numbers, None where open"
                raise ParameterError(who, "parameter 'wanted'", rule, f"got {plain(wanted)}")
            self.low, self.high = (None if end is None else float(end) for end in wanted)
            if self.low is not None and self.high is not None and self.low > self.high:
                raise ParameterError(who, "parameter 'wanted'", "must have low at most high", f"got {plain(wanted)}")
            self.wanted: Any = (self.low, self.high)
            self.unit = asked.answers.unit
            return
        self.now = self._labels(asked.cells)[0]
        shares = self._shares(own)[0]
        if wanted is None:
            order = [k for k in np.argsort(-shares, kind="stable").tolist() if self.classes[k] != self.now]
            wanted = self.classes[order[0]]
        if wanted not in self.classes:
            shown = ", ".join(plain(one) for one in self.classes[:8])
            raise ParameterError(who, "parameter 'wanted'", f"must be one of {shown}", f"got {plain(wanted)}")
        self.wanted, self.place = wanted, self.classes.index(wanted)
        self.unit = f"probability of {wanted}"

    def _labels(self, cells: np.ndarray) -> list[Any]:
        assert self.asked.table is not None
        return np.asarray(self.model.predict(self.asked.table.rebuild(cells))).tolist()

    def _shares(self, outputs: np.ndarray) -> np.ndarray:
        assert self.classes is not None
        if outputs.shape[1] == 1 and len(self.classes) == 2:
            return np.column_stack([1 - outputs[:, 0], outputs[:, 0]])
        return outputs

    def distance(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far rows are from the goal, and the number that is shown of them."""
        outputs = self.asked.outputs(cells)
        if self.classes is None:
            value = outputs[:, 0]
            below = np.zeros_like(value) if self.low is None else self.low - value
            above = np.zeros_like(value) if self.high is None else value - self.high
            return np.maximum(np.maximum(below, above), 0.0), value
        shares = self._shares(outputs)
        own = shares[:, self.place]
        rest = np.delete(shares, self.place, axis=1).max(axis=1)
        # A tie goes to the class that comes first.
        first = int(np.delete(np.arange(shares.shape[1]), self.place)[0]) > self.place
        gap = rest - own
        return np.where((gap < 0) | ((gap == 0) & first), 0.0, np.maximum(gap, 1e-300)), own

    def says(self, cells: np.ndarray) -> list[Any]:
        """The model's own answers."""
        return self._labels(cells) if self.classes is not None else self.asked.outputs(cells)[:, 0].tolist()

    def reached(self, cells: np.ndarray) -> np.ndarray:
        """Whether the model itself says what is wanted."""
        if self.classes is None:
            return self.distance(cells)[0] <= 0
        return np.array([label == self.wanted for label in self._labels(cells)])


class _Search:
    def __init__(
        self,
        who: str,
        asked: Asked,
        goal: _Goal,
        immutable: Sequence[Any],
        ranges: Mapping[Any, Any],
        roles: Mapping[str, Any],
    ):
        self.asked, self.goal, self.row = asked, goal, asked.cells[0]
        self.asked_for = 0
        table, reference = asked.table, asked.others[0]
        assert table is not None
        known = {name: j for j, name in enumerate(asked.names)}

        def place(name: Any) -> int:
            return known[str(name)] if str(name) in known else table.column(who, name)

        given = [immutable] if isinstance(immutable, (str, int)) else list(immutable)
        fixed = {place(name) for name in given}
        named = {name: getattr(role, "role", role) for name, role in roles.items()}
        fixed |= {j for j, name in enumerate(asked.names) if named.get(name) in FIXED_ROLES}
        limits = {place(name): allowed for name, allowed in ranges.items()}
        self.fixed = sorted(fixed)
        self.nominal, self.spread, self.whole = asked.nominal, np.ones(len(asked.names)), set()
        self.values: dict[int, np.ndarray] = {}
        for j in range(len(asked.names)):
            column = reference[:, j]
            present = column[~np.isnan(column)]
            if not self.nominal[j] and present.size:
                low, high = np.quantile(present, [0.05, 0.95])
                self.spread[j] = float(high - low) or float(present.std()) or max(abs(float(present[0])), 1.0)
                if (present == np.floor(present)).all():
                    self.whole.add(j)
            if j not in fixed and present.size:
                listed = named.get(asked.names[j]) == "ordinal"
                self.values[j] = self._candidates(who, j, present, limits.get(j), listed)

    def _candidates(self, who: str, j: int, present: np.ndarray, allowed: Any, listed: bool) -> np.ndarray:
        if self.nominal[j]:
            values, counts = np.unique(present, return_counts=True)
            values = values[np.argsort(-counts, kind="stable")][:_CANDIDATES]
            if allowed is not None:
                categories = self.asked.categories[j]
                wanted = {str(one) for one in allowed}
                values = np.array([v for v in values if str(categories[int(v)]) in wanted])
            return values[values != self.row[j]]
        every = np.unique(present)
        values = (
            every
            if listed or every.size <= _CANDIDATES
            else np.unique(np.quantile(present, np.linspace(0, 1, _CANDIDATES), method="nearest"))
        )
        if allowed is not None:
            ends = list(allowed)
            if len(ends) != 2 or not all(end is None or isinstance(end, (int, float)) for end in ends):
                rule = f"for '{plain(self.asked.names[j])}' must be (low, high), None where open"
                raise ParameterError(who, "parameter 'ranges'", rule, f"got {plain(allowed)}")
            low, high = (-np.inf if ends[0] is None else ends[0]), (np.inf if ends[1] is None else ends[1])
            edges = [end for end in (low, high) if np.isfinite(end)]
            values = np.unique(np.concatenate([values, edges]))
            values = values[(values >= low) & (values <= high)]
        return values[values != self.row[j]]

    def cost(self, cells: np.ndarray) -> np.ndarray:
        """What the changes of each row cost."""
        differs = (cells != self.row) & ~(np.isnan(cells) & np.isnan(self.row))
        size = np.where(np.isnan(cells) | np.isnan(self.row), 1.0, np.abs(cells - self.row) / self.spread)
        return np.where(differs, np.where(self.nominal, 1.0, np.minimum(size, 1e6)), 0.0).sum(axis=1)

    def _distance(self, cells: np.ndarray) -> np.ndarray:
        self.asked_for += cells.shape[0]
        return self.goal.distance(cells)[0]

    def run(self, max_changes: int) -> np.ndarray:
        """Rows that reach the goal, not yet shrunk."""
        beam, found = self.row[None, :].copy(), []
        if not self.values or self.goal.reached(beam)[0]:
            return np.empty((0, self.row.shape[0]))
        for _ in range(max_changes):
            made = []
            for start in beam:
                changed = np.flatnonzero((start != self.row) & ~(np.isnan(start) & np.isnan(self.row)))
                for j, values in self.values.items():
                    if j in changed or not values.size:
                        continue
                    rows = np.repeat(start[None, :], values.size, axis=0)
                    rows[:, j] = values
                    made.append(rows)
            if not made:
                break
            tried = np.unique(np.concatenate(made), axis=0)
            far = self._distance(tried)
            hits = np.flatnonzero(far <= 0)
            if hits.size:
                there = tried[hits[np.argsort(self.cost(tried[hits]), kind="stable")[: 4 * _BEAM]]]
                found.append(there[self.goal.reached(there)])
            misses = np.flatnonzero(far > 0)
            # Near to the goal, at little cost, not all by the same column.
            order = misses[np.lexsort((self.cost(tried[misses]), far[misses]))]
            beam = self._varied(tried[order])
        return np.concatenate(found) if found else np.empty((0, self.row.shape[0]))

    def _varied(self, rows: np.ndarray) -> np.ndarray:
        seen: dict[bytes, int] = {}
        kept = []
        for row in rows[: 50 * _BEAM]:
            key = ((row != self.row) & ~(np.isnan(row) & np.isnan(self.row))).tobytes()
            seen[key] = seen.get(key, 0) + 1
            if seen[key] <= 3:
                kept.append(row)
            if len(kept) == _BEAM:
                break
        return np.array(kept) if kept else np.empty((0, self.row.shape[0]))

    def best(self, found: np.ndarray, count: int) -> list[dict[str, Any]]:
        """The cheapest of the found rows after shrinking, each by other columns."""
        chosen: list[dict[str, Any]] = []
        seen: set[bytes] = set()
        changed = (found != self.row).sum(axis=1) if found.size else np.empty(0)
        for row in found[np.lexsort((self.cost(found), changed))] if found.size else []:
            key = (row != self.row).tobytes()
            if key in seen:
                continue
            seen.add(key)
            small = self._shrunk(row)
            if any(np.array_equal(small, one["cells"], equal_nan=True) for one in chosen):
                continue
            chosen.append({"cells": small, "cost": float(self.cost(small[None, :])[0])})
            if len(chosen) >= 3 * count:
                break
        chosen.sort(key=lambda one: (int((one["cells"] != self.row).sum()), one["cost"]))
        return [self._told(one) for one in chosen[:count]]

    def _shrunk(self, row: np.ndarray) -> np.ndarray:
        """Changes taken back where they are not needed, numbers moved back as far as the answer holds."""
        row = row.copy()
        for j in np.flatnonzero((row != self.row) & ~(np.isnan(row) & np.isnan(self.row))).tolist():
            without = row.copy()
            without[j] = self.row[j]
            if self.goal.reached(without[None, :])[0]:
                row = without
        for j in np.flatnonzero(row != self.row).tolist():
            if self.nominal[j] or np.isnan(self.row[j]) or np.isnan(row[j]):
                continue
            near, far = float(self.row[j]), float(row[j])
            for _ in range(_HALVINGS):
                middle = (near + far) / 2
                if j in self.whole:
                    middle = float(np.floor(middle) if far > near else np.ceil(middle))
                    if middle in (near, far):
                        break
                trial = row.copy()
                trial[j] = middle
                if self.goal.reached(trial[None, :])[0]:
                    far = middle
                else:
                    near = middle
            row[j] = self._rounded(row, j, near, far)
        return row

    def _rounded(self, row: np.ndarray, j: int, near: float, far: float) -> float:
        """A number with few digits at or beyond `far`, if the answer holds there too."""
        if j in self.whole:
            return far
        for digits in range(2, 7):
            step = 10.0 ** (np.floor(np.log10(max(abs(far), abs(far - near), 1e-300))) - digits + 1)
            value = float(np.ceil(far / step) * step if far > near else np.floor(far / step) * step)
            inside = abs(value - self.row[j]) <= 1.02 * abs(far - self.row[j]) + 1e-12
            trial = row.copy()
            trial[j] = value
            if inside and self.goal.reached(trial[None, :])[0]:
                return value
        return far

    def _told(self, one: dict[str, Any]) -> dict[str, Any]:
        table, cells = self.asked.table, one["cells"]
        assert table is not None
        changes = []
        for j in np.flatnonzero((cells != self.row) & ~(np.isnan(cells) & np.isnan(self.row))).tolist():
            change = {
                "column": self.asked.names[j],
                "from": table.value(j, self.row[j]),
                "to": table.value(j, cells[j]),
            }
            changes.append(change | {"from_words": table.word(j, self.row[j]), "to_words": table.word(j, cells[j])})
        _, shown = self.goal.distance(cells[None, :])
        says = self.goal.says(cells[None, :])[0]
        return {"changes": changes, "says": says, "output": float(shown[0]), "cost": one["cost"]}
