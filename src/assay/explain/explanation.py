"""The record that explainers give: contributions of columns to predictions, of one row or of many."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from ..base.drawings import coefficients_figure, shares_figure
from ..base.errors import DataError
from ..base.plotting import axes, paint_svg
from ..base.record import Grid, TableRecord
from ..base.words import clean, listing, number


@dataclass(frozen=True, kw_only=True)
class Explanation(TableRecord):
    """Contributions that sum, with the base value, to the explained output of each row.

    `values` are rows x columns, or rows x columns x outputs; `base_values` has one number per output. `unit` says what
    the numbers are (log odds, probability, the target's own). `data` are the cells as the model reads them: numbers,
    or the place of a category in `categories`. `interactions`, if asked for, are rows x columns x columns (x outputs):
    half the joint effect of two columns each, the rest of a column on the diagonal. `low` and `high` are limits of an
    interval, for explainers that estimate.

    `explanation[i]` is that of one row, `importance()` the mean size of each column's contributions.
    """

    method: str
    values: np.ndarray
    base_values: np.ndarray
    data: np.ndarray
    names: list[str]
    unit: str = ""
    outputs: list[Any] = field(default_factory=list)
    categories: dict[int, list[Any]] = field(default_factory=dict)
    interactions: np.ndarray | None = None
    low: np.ndarray | None = None
    high: np.ndarray | None = None

    schema: ClassVar[int] = 1

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
        """The mean absolute contribution of each column, over rows and outputs."""
        size = np.abs(self.values).mean(axis=0)
        return size if size.ndim == 1 else size.mean(axis=1)

    def _order(self) -> list[int]:
        return np.argsort(-self.importance(), kind="stable").tolist()

    def _cell(self, column: int) -> str:
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
        heads = [clean(one, 30) for one in self.outputs] if self.n_outputs > 1 else ["contribution"]
        per_row = self.values.reshape(*self.values.shape[:2], -1)
        order = self._order()
        if len(self) == 1:
            lines = [
                [clean(self.names[j], 60), self._cell(j), *(number(v, signed=True) for v in per_row[0, j])]
                for j in order
            ]
            return Grid(["column", "value", *heads], lines, notes=self._notes(), left=2)
        size, mean = np.abs(per_row).mean(axis=0), per_row.mean(axis=0)
        if self.n_outputs == 1:
            lines = [[clean(self.names[j], 60), number(size[j, 0]), number(mean[j, 0], signed=True)] for j in order]
            return Grid(["column", "mean size", "mean"], lines, notes=self._notes())
        lines = [[clean(self.names[j], 60), *(number(v) for v in size[j])] for j in order]
        return Grid(["column", *heads], lines, notes=self._notes())

    def _notes(self) -> list[str]:
        base = listing([number(one) for one in self.base_values[:20]])
        said = [f"{self.method}; {self.unit}; base value {base}"]
        if len(self) == 1:
            said.append(f"sum {listing([number(one) for one in np.atleast_1d(self.predictions[0])[:20]])}")
        else:
            said.append(f"{len(self):,} rows")
        return ["; ".join(said)]

    @property
    def how_to_read(self) -> str:
        """What the numbers mean, in a sentence or two."""
        unit = f" ({self.unit})" if self.unit else ""
        if len(self) == 1:
            return f"What each column adds to the base value to give the model's output for this row{unit}."
        return f"The mean size of what each column adds to the base value{unit}, over {len(self):,} rows."

    def to_svg(self, title: str = "") -> str:
        """Bars: signed contributions of one row, or the mean sizes over many."""
        order = self._order()[:20]
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
