"""The record that explainers give: contributions of columns to predictions, of one row or of many."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from ..base.drawings import coefficients_figure, intervals_figure, shares_figure
from ..base.errors import DataError
from ..base.plotting import axes, paint_svg
from ..base.record import Grid, TableRecord
from ..base.words import clean, listing, number, percent


@dataclass(frozen=True, kw_only=True)
class Explanation(TableRecord):
    """What the columns are worth: to the output of each row (local), or to the model as a whole (global).

    Local: contributions that sum, with the base value, to the explained output of each row. `values` are rows x
    columns, or rows x columns x outputs; `base_values` has one number per output. `data` are the cells as the model
    reads them: numbers, or the place of a category in `categories`. `interactions`, if asked for, are rows x columns x
    columns (x outputs): half the joint effect of two columns each, the rest of a column on the diagonal.

    Global (`scope`): one line of values, an importance for each column or group of columns; `base_values` is the score
    of the model with all of them.

    `unit` says what the numbers are (log odds, a fall of accuracy, the target's own). `low` and `high` are the limits
    of intervals of this `level`, for explainers that estimate; `extra` are further numbers of each column, by their
    headings, and `notes` what else must be said.

    `explanation[i]` is that of one row, `importance()` the mean size of each column's contributions, `rank()` the
    place of each column by it.
    """

    method: str
    values: np.ndarray
    base_values: np.ndarray
    data: np.ndarray | None = None
    names: list[str]
    unit: str = ""
    scope: str = "local"
    outputs: list[Any] = field(default_factory=list)
    categories: dict[int, list[Any]] = field(default_factory=dict)
    interactions: np.ndarray | None = None
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    level: float = 0.95
    extra: dict[str, np.ndarray] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    schema: ClassVar[int] = 2

    @property
    def is_global(self) -> bool:
        """Whether it speaks of the model and not of single rows."""
        return self.scope == "global"

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def n_outputs(self) -> int:
        """Outputs that are explained."""
        return 1 if self.values.ndim == 2 else int(self.values.shape[2])

    @property
    def predictions(self) -> np.ndarray:
        """The explained outputs: base value plus contributions, one per row (and output)."""
        total = self.values.sum(axis=1)
        return total + (self.base_values[0] if self.values.ndim == 2 else self.base_values)

    def __getitem__(self, row: int) -> Explanation:
        """The explanation of one row (a negative number counts from the end)."""
        if not -len(self) <= row < len(self):
            raise DataError("Explanation", "row", f"must lie in 0..{len(self) - 1}", f"got {row}")
        place = row % len(self)
        part = slice(place, place + 1)
        names = ("values", "data", "interactions", "low", "high")
        parts: dict[str, Any] = {name: getattr(self, name) for name in names}
        cut: dict[str, Any] = {name: None if one is None else one[part] for name, one in parts.items()}
        return replace(self, **cut)

    def of(self, output: Any) -> Explanation:
        """The explanation of one output, by its name or number."""
        if self.values.ndim == 2:
            return self
        if output in self.outputs:
            place = self.outputs.index(output)
        elif isinstance(output, int) and 0 <= output < self.n_outputs:
            place = output
        else:
            raise DataError("Explanation", "output", f"must be one of {self.outputs}", f"got {output!r}")
        parts: dict[str, Any] = {name: getattr(self, name) for name in ("values", "interactions", "low", "high")}
        cut: dict[str, Any] = {name: None if one is None else one[..., place] for name, one in parts.items()}
        base, name = self.base_values[place : place + 1], [self.outputs[place]]
        return replace(self, base_values=base, outputs=name, **cut)

    def importance(self) -> np.ndarray:
        """The value of each column, if global; else its mean absolute contribution, over rows and outputs."""
        if self.is_global:
            return self.values[0].copy()
        size = np.abs(self.values).mean(axis=0)
        return size if size.ndim == 1 else size.mean(axis=1)

    def rank(self) -> np.ndarray:
        """The place of each column by importance, 1 is the first; equal ones share the mean of their places."""
        from scipy.stats import rankdata

        return rankdata(-self.importance())

    def _order(self) -> list[int]:
        return np.argsort(-self.importance(), kind="stable").tolist()

    def _cell(self, column: int) -> str:
        if self.data is None:
            return ""
        value = float(self.data[0, column])
        if np.isnan(value):
            return "missing"
        known = self.categories.get(column)
        if known is None:
            return number(value)
        return clean(known[int(value)], 40) if 0 <= value < len(known) else "unknown"

    # -- showing -------------------------------------------------------------------------------------------------------
    def grid(self) -> Grid:
        """One row: cell and contribution of each column; many: mean and mean size of each column's contributions."""
        if self.is_global:
            return self._global_grid()
        heads = [clean(one, 30) for one in self.outputs] if self.n_outputs > 1 else ["contribution"]
        per_row = self.values.reshape(*self.values.shape[:2], -1)
        order = self._order()
        if len(self) == 1:
            ends = self._ends() if self.n_outputs == 1 else None
            lines = [
                [clean(self.names[j], 60), self._cell(j), *(number(v, signed=True) for v in per_row[0, j])]
                + ([] if ends is None else [number(one[j], signed=True) for one in ends])
                for j in order
            ]
            heads += [] if ends is None else ["low", "high"]
            return Grid(["column", "value", *heads], lines, notes=self._notes(), left=2)
        size, mean = np.abs(per_row).mean(axis=0), per_row.mean(axis=0)
        if self.n_outputs == 1:
            lines = [[clean(self.names[j], 60), number(size[j, 0]), number(mean[j, 0], signed=True)] for j in order]
            return Grid(["column", "mean size", "mean"], lines, notes=self._notes())
        lines = [[clean(self.names[j], 60), *(number(v) for v in size[j])] for j in order]
        return Grid(["column", *heads], lines, notes=self._notes())

    def _ends(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The limits of the first line, where there are some."""
        return None if self.low is None or self.high is None else (self.low[0], self.high[0])

    def _global_grid(self) -> Grid:
        ends, lines = self._ends(), []
        for j in self._order():
            line = [clean(self.names[j], 60), number(float(self.values[0, j]))]
            line += [] if ends is None else [number(float(one[j])) for one in ends]
            lines.append(line + [_shown(column[j]) for column in self.extra.values()])
        heads = ["column", "importance", *([] if ends is None else ["low", "high"]), *self.extra]
        return Grid(heads, lines, notes=self._notes())

    def _notes(self) -> list[str]:
        if self.is_global:
            score = f"; score with all {number(float(self.base_values[0]))}" if self.base_values.size else ""
            return [f"{self.method}; {self.unit}{score}", *self.notes]
        base = listing([number(one) for one in self.base_values[:20]])
        said = [f"{self.method}; {self.unit}; base value {base}"]
        if len(self) == 1:
            said.append(f"sum {listing([number(one) for one in np.atleast_1d(self.predictions[0])[:20]])}")
        else:
            said.append(f"{len(self):,} rows")
        return ["; ".join(said), *self.notes]

    @property
    def how_to_read(self) -> str:
        """What the numbers mean, in a sentence or two."""
        unit = f" ({self.unit})" if self.unit else ""
        if self.is_global:
            bars = "" if self.low is None else f" The bars are {percent(self.level)} intervals."
            return f"How much each column is worth to the model{unit}, by {self.method}.{bars}"
        if len(self) == 1:
            return f"What each column adds to the base value to give the model's output for this row{unit}."
        return f"The mean size of what each column adds to the base value{unit}, over {len(self):,} rows."

    def to_svg(self, title: str = "") -> str:
        """Bars: signed contributions of one row, or the mean sizes over many."""
        order = self._order()[:20]
        if self.is_global:
            ends = self._ends()
            return intervals_figure(
                [self.names[j] for j in order],
                [float(self.values[0, j]) for j in order],
                None if ends is None else [(float(ends[0][j]), float(ends[1][j])) for j in order],
                title=title or f"Importance by {self.method}",
                label=self.unit,
            )
        if len(self) == 1:
            values = self.values[0].reshape(len(self.names), -1).T
            shown = [f"{self.names[j]} = {self._cell(j)}" for j in order]
            view = {"names": shown, "values": values[:, order].tolist()}
            return coefficients_figure({**view, "classes": self.outputs if values.shape[0] > 1 else None})
        size = self.importance()
        return shares_figure(
            [self.names[j] for j in order],
            [float(size[j]) for j in order],
            title=title or "Mean size of contributions",
            words=[number(float(size[j])) for j in order],
        )

    def plot(self, ax: Any = None) -> Any:
        """The drawing on axes of matplotlib, which are given back."""
        return paint_svg(self.to_svg(), axes("Explanation.plot", ax))

    def to_html(self) -> str:
        """The drawing, how to read it, and the numbers behind it."""
        table = self.grid().to_html()
        return f"{self.to_svg()}<p>{clean(self.how_to_read)}</p><details><summary>Numbers</summary>{table}</details>"


def _shown(value: Any) -> str:
    """A cell of a further column: words as they are, yes and no for truth values."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    return clean(value, 60) if isinstance(value, str) else number(float(value))
