"""Rows like this one: the nearest examples, with what became of them."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar

import numpy as np

from ..base.drawings import intervals_figure
from ..base.errors import DataError, ParameterError, plain
from ..base.folds import take_rows
from ..base.plotting import axes, paint_svg
from ..base.record import Grid, TableRecord
from ..base.words import clean, number
from ..data.cell_table import CellTable

_MOST_SHOWN = 12


@dataclass(frozen=True, kw_only=True)
class Examples(TableRecord):
    """The nearest rows of a table: their numbers, distances (0 to 1), cells in words, and targets if given."""

    names: list[str]
    row: list[str]
    rows: list[int]
    distances: list[float]
    cells: list[list[str]]
    targets: list[str] | None = None

    schema: ClassVar[int] = 1

    def grid(self) -> Grid:
        """The row, then its nearest examples; at most twelve columns."""
        shown = range(min(len(self.names), _MOST_SHOWN))
        heads = [
            "row",
            "distance",
            *([] if self.targets is None else ["target"]),
            *(clean(self.names[j], 40) for j in shown),
        ]
        gap = [] if self.targets is None else [""]
        lines = [["this", "", *gap, *(self.row[j] for j in shown)]]
        for k, place in enumerate(self.rows):
            target = [] if self.targets is None else [self.targets[k]]
            lines.append([f"{place:,}", number(self.distances[k]), *target, *(self.cells[k][j] for j in shown)])
        return Grid(heads, lines, notes=[self.how_to_read], left=len(heads))

    @property
    def how_to_read(self) -> str:
        """What near means here."""
        return (
            "Distance is the mean over columns of the difference in shares of the column's range (numbers) or of being "
            "another label (Gower)."
        )

    def to_svg(self, title: str = "") -> str:
        """The distances as bars."""
        words = [f"row {place:,}" for place in self.rows]
        return intervals_figure(
            words, self.distances, title=title or "Distance of the nearest examples", label="distance"
        )

    def plot(self, ax: Any = None) -> Any:
        """The drawing on axes of matplotlib, which are given back."""
        return paint_svg(self.to_svg(), axes("Examples.plot", ax))

    def to_html(self) -> str:
        """The table, and how to read it."""
        return f"{self.grid().to_html()}<p>{escape(self.how_to_read)}</p>"


def nearest_examples(row: Any, X: Any, y: Any = None, *, n_neighbors: int = 5) -> Examples:
    """The rows of a table that are most like one row, whatever kinds of columns it has.

    Parameters
    ----------
    row : a table of one row, or the number of a row of X (which is then left out)
    X : table to search
    y : targets to show beside the examples, or None
    n_neighbors : how many

    Examples
    --------
    >>> found = nearest_examples(0, [[1.0, "a"], [5.0, "b"], [1.5, "a"]], ["no", "yes", "no"], n_neighbors=1)
    >>> found.rows, found.targets
    ([2], ['no'])
    """
    who = "nearest_examples"
    if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, (int, np.integer)) or n_neighbors < 1:
        raise ParameterError(
            who, "parameter 'n_neighbors'", "must be an integer from 1 on", f"got {plain(n_neighbors)}"
        )
    itself = None
    if isinstance(row, (int, np.integer)) and not isinstance(row, bool):
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if not 0 <= int(row) < n_rows:
            raise DataError(who, "row", f"must lie in 0..{n_rows - 1}", f"got {int(row)}")
        itself = int(row)
        row = take_rows(X, np.array([itself]))
    table = CellTable.of(who, row, X)
    mine, cells = table.parts
    if mine.shape[0] != 1:
        raise DataError(who, "row", "must be one row", f"got {mine.shape[0]}")
    distance = np.zeros(cells.shape[0])
    for j in range(cells.shape[1]):
        column, own = cells[:, j], mine[0, j]
        if j in table.levels:
            distance += column != own
            continue
        present = column[~np.isnan(column)]
        low, high = (float(present.min()), float(present.max())) if present.size else (0.0, 0.0)
        wide = high / 2 - low / 2 or 1.0  # half the range, which may overflow whole
        with np.errstate(invalid="ignore"):
            step = np.minimum(np.abs(column / wide - own / wide) / 2, 1.0)
        distance += np.where(np.isnan(column) | np.isnan(own), np.isnan(column) != np.isnan(own), step)
    distance /= cells.shape[1]
    if itself is not None:
        distance[itself] = np.inf
    nearest = [k for k in np.argsort(distance, kind="stable")[: int(n_neighbors)].tolist() if np.isfinite(distance[k])]
    targets = None
    if y is not None:
        given = np.asarray(y)
        if given.shape[0] != cells.shape[0]:
            raise DataError(who, "y", f"must have one value for each of {cells.shape[0]} rows", f"got {given.shape[0]}")
        targets = [clean(given[k], 60) if given.dtype.kind != "f" else number(float(given[k])) for k in nearest]
    return Examples(
        names=table.names,
        row=[table.word(j, mine[0, j]) for j in range(cells.shape[1])],
        rows=nearest,
        distances=[float(distance[k]) for k in nearest],
        cells=[[table.word(j, cells[k, j]) for j in range(cells.shape[1])] for k in nearest],
        targets=targets,
    )
