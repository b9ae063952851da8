"""How a model's output moves with a column: partial dependence, curves of single rows, accumulated local effects."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy import stats

from ..base.chart import Chart, Line
from ..base.errors import DataError, ParameterError, plain
from ..base.plotting import axes
from ..base.record import Grid, TableRecord
from ..base.svg import class_token
from ..base.words import clean, number, percent
from ..evaluate.intervals import check_alpha
from .asked import Asked

_MOST_LABELS = 40
_DRAWN_CURVES = 40


@dataclass(frozen=True, kw_only=True)
class Dependence(TableRecord):
    """The output of a model along one column or two.

    `grid` are the values of each column, `values` the mean output at them: points x outputs, or points x points x
    outputs for two columns. `low` and `high` are pointwise intervals of the mean over rows like these. `curves` are the
    outputs of single rows (rows x points x outputs), where they were asked for.
    """

    method: str
    names: list[str]
    grid_values: list[list[Any]]
    values: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    curves: np.ndarray | None = None
    outputs: list[Any] = field(default_factory=list)
    unit: str = ""
    rows: int = 0
    level: float = 0.95
    notes: list[str] = field(default_factory=list)

    schema: ClassVar[int] = 1

    @property
    def nominal(self) -> bool:
        """Whether the (first) column holds labels."""
        return any(isinstance(value, str) for value in self.grid_values[0])

    @property
    def span(self) -> float:
        """How far the mean output moves along the column: its largest minus its smallest value."""
        return float((self.values.max(axis=0) - self.values.min(axis=0)).max())

    def grid(self) -> Grid:
        """The numbers behind the curve."""
        if len(self.names) == 2:
            heads = [clean(self.names[0], 40), *(f"{clean(self.names[1], 30)} {_word(v)}" for v in self.grid_values[1])]
            lines = [[_word(a), *map(number, row[:, 0])] for a, row in zip(self.grid_values[0], self.values)]
            return Grid(heads, lines, notes=self._notes())
        several = self.values.shape[1] > 1
        shown = [clean(one, 40) for one in self.outputs] if several else ["output"]
        lines = []
        for p, value in enumerate(self.grid_values[0]):
            line = [_word(value), *(number(float(v)) for v in self.values[p])]
            if self.low is not None and self.high is not None and not several:
                line += [number(float(self.low[p, 0])), number(float(self.high[p, 0]))]
            lines.append(line)
        ends = ["low", "high"] if self.low is not None and not several else []
        return Grid([clean(self.names[0], 60), *shown, *ends], lines, notes=self._notes())

    def _notes(self) -> list[str]:
        return [f"{self.method}; {self.unit}; {self.rows:,} rows", *self.notes]

    @property
    def how_to_read(self) -> str:
        """What the curve means, in a sentence or two."""
        column = " and ".join(clean(name, 40) for name in self.names)
        if self.method.startswith("accumulated"):
            text = f"How the output ({self.unit}) changes with {column} among rows that have such values, around 0."
        else:
            text = f"The mean output ({self.unit}) if {column} had this value in every row and nothing else changed."
        return text + ("" if self.low is None else f" The band is a pointwise {percent(self.level)} interval.")

    def chart(self) -> Chart:
        """The curve as a chart."""
        first = self.grid_values[0]
        labels = tuple(_word(value) for value in first) if self.nominal else ()
        x = [float(k) for k in range(len(first))] if labels else [float(value) for value in first]
        style: dict[str, Any] = {"style": "points"} if labels else {}
        lines: list[Line] = []
        if self.curves is not None and len(self.names) == 1 and not labels:
            step = max(1, self.curves.shape[0] // _DRAWN_CURVES)
            shown = self.curves[::step, :, 0][:_DRAWN_CURVES]
            lines += [Line(x, curve.tolist(), token="edge") for curve in shown]
        if len(self.names) == 2:
            places = np.unique(np.linspace(0, len(self.grid_values[1]) - 1, 5).round().astype(int))
            for k, p in enumerate(places):
                name = f"{clean(self.names[1], 30)} {_word(self.grid_values[1][p])}"
                lines.append(Line(x, self.values[:, p, 0].tolist(), name, class_token(k), **style))
        else:
            several = self.values.shape[1] > 1
            for k in range(min(self.values.shape[1], 8)):
                ends: dict[str, Any] = {}
                if self.low is not None and self.high is not None:
                    ends = {"low": self.low[:, k].tolist(), "high": self.high[:, k].tolist(), "band": not labels}
                name = clean(self.outputs[k], 40) if several else ""
                token = class_token(k) if several else "accent"
                lines.append(Line(x, self.values[:, k].tolist(), name, token, **style, **ends))
        title = f"{self.method[:1].upper()}{self.method[1:]} of {' and '.join(clean(n, 40) for n in self.names)}"
        return Chart(title, clean(self.names[0], 60), self.unit, tuple(lines), x_names=labels)

    def to_svg(self, width: float = 440, height: float = 320) -> str:
        """The chart as SVG text."""
        return self.chart().to_svg(width, height)

    def plot(self, ax: Any = None) -> Any:
        """The chart on axes of matplotlib, which are given back."""
        return self.chart().plot(axes("Dependence.plot", ax), "Dependence.plot")[0]

    def to_html(self) -> str:
        """The drawing, how to read it, and the numbers behind it."""
        table = self.grid().to_html()
        said = clean(self.how_to_read).replace("&", "&amp;").replace("<", "&lt;")
        return f"{self.to_svg()}<p>{said}</p><details><summary>Numbers</summary>{table}</details>"


def _word(value: Any) -> str:
    return clean(value, 40) if isinstance(value, str) else number(float(value))


def partial_dependence(
    model: Any,
    X: Any,
    columns: Any,
    *,
    output: str = "auto",
    grid: Any = None,
    n_points: int = 50,
    curves: bool = False,
    alpha: float = 0.05,
    n_jobs: int | None = None,
) -> Any:
    """The mean output of a model if a column had one value in every row, for values along the column.

    All columns and values are asked for in few large batches; of a tree model only the parts that the column can reach.

    Parameters
    ----------
    model : fitted model, or a function of tables
    X : table of rows over which the mean is taken
    columns : a column, a pair (a, b) for their joint grid, or a list of these for a list of results
    output : "auto" (probability or number), "probability", "margin" (log odds) or "value"
    grid : values to take, instead of quantiles: of the one column, or a mapping of columns to theirs
    n_points : values of a column of numbers: quantiles between its least and greatest, at most so many
    curves : keep the curve of every row (individual conditional expectation)
    alpha : 1 - level of the pointwise intervals
    n_jobs : threads of tree models; never changes the result

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.linear import LeastSquares
    >>> X = np.arange(12.0).reshape(6, 2) ** 2
    >>> model = LeastSquares().fit(X, X[:, 0] * 3)
    >>> found = partial_dependence(model, X, 0)
    >>> float(found.values[-1, 0] - found.values[0, 0]).__round__(6), float(3 * (X[-1, 0] - X[0, 0]))
    (300.0, 300.0)
    """
    who = "partial_dependence"
    check_alpha(who, alpha)
    asked = Asked.of(who, model, X, output=output, n_jobs=n_jobs)
    many = isinstance(columns, list)
    wanted = [_wanted(who, asked, one) for one in (columns if many else [columns])]
    if grid is not None and not isinstance(grid, Mapping) and (many or len(wanted[0]) != 1):
        way_out = "give a mapping of columns to their values"
        raise ParameterError(who, "parameter 'grid'", "must go with one column", way_out=way_out)
    given = (
        {j: values for name, values in grid.items() for j in _wanted(who, asked, name)}
        if (isinstance(grid, Mapping))
        else dict.fromkeys(wanted[0] if grid is not None else [], grid)
    )
    grids = [[_grid_of(who, asked, j, n_points, given.get(j)) for j in group] for group in wanted]
    found: list[Dependence | None] = [None] * len(wanted)
    for batch in _together(asked, wanted, grids):
        said = _along(asked, [wanted[g] for g in batch], [grids[g] for g in batch], curves)
        for g, of_group in zip(batch, said):
            found[g] = _dependence(asked, wanted[g], grids[g], *of_group, alpha)
    return found if many else found[0]


def individual_curves(model: Any, X: Any, columns: Any, **options: Any) -> Any:
    """The curve of every row along a column (individual conditional expectation), with their mean.

    The same as `partial_dependence` with `curves=True`; takes its options.

    >>> import numpy as np
    >>> found = individual_curves(lambda rows: rows[:, 0] * rows[:, 1], np.array([[0.0, 1.0], [1.0, 3.0]]), 0)
    >>> found.curves[:, :, 0].tolist()
    [[0.0, 1.0], [0.0, 3.0]]
    """
    return partial_dependence(model, X, columns, **{**options, "curves": True})


def _wanted(who: str, asked: Asked, one: Any) -> list[int]:
    assert asked.table is not None
    known = {name: j for j, name in enumerate(asked.names)}
    given = list(one) if isinstance(one, tuple) else [one]
    if len(given) not in (1, 2):
        raise ParameterError(who, "parameter 'columns'", "must be columns or pairs of columns", f"got {plain(one)}")
    return [known[str(c)] if str(c) in known else asked.table.column(who, c) for c in given]


def _grid_of(who: str, asked: Asked, j: int, n_points: int, grid: Any) -> np.ndarray:
    """The values that a column takes, as cells, in order."""
    if isinstance(n_points, bool) or not isinstance(n_points, (int, np.integer)) or n_points < 2:
        raise ParameterError(who, "parameter 'n_points'", "must be an integer from 2 on", f"got {plain(n_points)}")
    column = asked.cells[:, j]
    if grid is not None:
        return _given_grid(who, asked, j, grid)
    present = np.unique(column[~np.isnan(column)])
    if not present.shape[0]:
        raise DataError(who, f"column '{plain(asked.names[j])}'", "must hold a value that is not missing")
    if j in asked.categories and not asked.nominal[j]:
        return np.unique(np.rint(np.quantile(column, np.linspace(0, 1, min(n_points, 12)))))
    if j in asked.categories:
        values, counts = np.unique(column[column >= 0], return_counts=True)
        kept = values[np.argsort(-counts, kind="stable")][:_MOST_LABELS]
        return np.sort(kept)
    if present.shape[0] <= n_points:
        return present
    return np.unique(np.quantile(column[~np.isnan(column)], np.linspace(0, 1, n_points)))


def _given_grid(who: str, asked: Asked, j: int, grid: Any) -> np.ndarray:
    listed = np.asarray(grid, dtype=object).ravel().tolist()
    known = asked.categories.get(j)
    try:
        cells = [float(known.index(v)) if known is not None else float(v) for v in listed]
    except (ValueError, TypeError):
        rule = "must hold values of the column" if known is not None else "must hold numbers"
        raise ParameterError(who, "parameter 'grid'", rule, f"got {plain(listed[:3])}") from None
    if not cells:
        raise ParameterError(who, "parameter 'grid'", "must hold at least one value")
    return np.array(cells)


_AT_ONCE = 500_000  # outputs that are held at once, about
_ROWS_AT_ONCE = 512  # at least, since every walk reads the whole forest
_POINTS_AT_ONCE = 4096


def _together(
    asked: Asked, wanted: Sequence[Sequence[int]], grids: Sequence[Sequence[np.ndarray]]
) -> Iterator[list[int]]:
    """Curves that are asked for in one walk of the trees: of columns of their own, with about as many points each."""
    batch: list[int] = []
    taken: set[int] = set()
    most = 0
    for g, group in enumerate(wanted):
        points = math.prod(one.shape[0] for one in grids[g])
        whole = (len(batch) + 1) * max(points, most) <= _POINTS_AT_ONCE
        alike = not batch or (most <= 2 * points and points <= 2 * most)
        if batch and (asked.trees is None or not whole or not alike or taken & set(group)):
            yield batch
            batch, taken, most = [], set(), 0
        batch.append(g)
        taken |= set(group)
        most = max(most, points)
    if batch:
        yield batch


def _along(
    asked: Asked, groups: Sequence[Sequence[int]], grids: Sequence[Sequence[np.ndarray]], curves: bool
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
    """Of each group the mean output and its spread at every point of its grid, and the outputs of the rows if asked.

    The rows are taken in blocks, so that few of their outputs are there at a time.
    """
    sizes = [math.prod(one.shape[0] for one in axes_) for axes_ in grids]
    source = np.zeros((max(sizes), asked.cells.shape[1]))
    for group, axes_, size in zip(groups, grids, sizes):
        for j, values in zip(group, np.meshgrid(*axes_, indexing="ij")):
            # Shorter grids stay at their last value, which costs a walk of trees nothing.
            source[:size, j], source[size:, j] = values.ravel(), values.ravel()[-1]
    n_rows, n_outputs = asked.cells.shape[0], max(1, len(asked.answers.names))
    n_points = min(source.shape[0], max(1, 4 * _AT_ONCE // (_ROWS_AT_ONCE * n_outputs * len(groups))))
    height = max(_ROWS_AT_ONCE, _AT_ONCE // (n_points * n_outputs * len(groups)))
    moments = [_Moments(size) for size in sizes]
    kept: list[np.ndarray] = []
    for first in range(0, n_rows, height):
        rows = slice(first, min(first + height, n_rows))
        for begin in range(0, source.shape[0], n_points):
            places = np.arange(begin, min(begin + n_points, source.shape[0]))
            donors = np.broadcast_to(places[None, :, None], (len(groups), places.shape[0], 1))
            found = asked.replaced(asked.cells[rows], source, [list(group) for group in groups], donors)
            if curves and not kept:
                kept = [np.empty((n_rows, size, found.shape[3])) for size in sizes]
            for g, size in enumerate(sizes):
                said = found[g, : max(0, size - begin)]
                moments[g].add(slice(begin, begin + said.shape[0]), first, said)
                if curves:
                    kept[g][rows, begin : begin + said.shape[0]] = said.transpose(1, 0, 2)
            del found, said  # before the next block takes their place
    for g in range(len(groups)):
        yield moments[g].mean, moments[g].spread(n_rows), kept[g] if curves else None


class _Moments:
    """Means and sums of squared deviations over rows that come in blocks, at each point and of each output."""

    def __init__(self, n_points: int):
        self._n_points = n_points
        self.mean = self._squares = np.empty((0, 0))

    def add(self, points: slice, before: int, said: np.ndarray) -> None:
        """Take in the outputs (points x rows x outputs) of a block that comes after `before` rows."""
        if not self.mean.shape[0]:
            self.mean, self._squares = np.zeros((2, self._n_points, said.shape[2]))
        if not said.shape[0]:
            return
        mean = said.mean(axis=1)
        squares = ((said - mean[:, None]) ** 2).sum(axis=1)
        gap, share = mean - self.mean[points], said.shape[1] / (before + said.shape[1])
        self._squares[points] += squares + gap**2 * (before * share)
        self.mean[points] = mean if before == 0 else self.mean[points] + gap * share

    def spread(self, n_rows: int) -> np.ndarray:
        """Standard deviations over the rows; zero for one row."""
        return np.sqrt(self._squares / max(1, n_rows - 1))


def _dependence(
    asked: Asked,
    group: Sequence[int],
    grids: Sequence[np.ndarray],
    mean: np.ndarray,
    spread: np.ndarray,
    curves: np.ndarray | None,
    alpha: float,
) -> Dependence:
    shape, n_rows = tuple(one.shape[0] for one in grids), asked.cells.shape[0]
    half = float(stats.norm.ppf(1 - alpha / 2)) * spread / math.sqrt(n_rows)
    outputs = mean.shape[1]
    whole = (*shape, outputs)
    return Dependence(
        method="partial dependence" if curves is None else "individual curves",
        names=[asked.names[j] for j in group],
        grid_values=[_plain_grid(asked, j, one) for j, one in zip(group, grids)],
        values=mean.reshape(whole),
        low=(mean - half).reshape(whole),
        high=(mean + half).reshape(whole),
        curves=None if curves is None else curves.reshape(n_rows, *whole),
        outputs=asked.answers.names,
        unit=asked.answers.unit,
        rows=n_rows,
        level=1 - alpha,
    )


def _plain_grid(asked: Asked, j: int, values: np.ndarray) -> list[Any]:
    if j not in asked.categories:
        return [float(value) for value in values]
    known = asked.categories[j]
    return [str(known[int(v)]) if 0 <= int(v) < len(known) and known[int(v)] is not None else "missing" for v in values]


def accumulated_effects(
    model: Any,
    X: Any,
    column: Any,
    *,
    output: str = "auto",
    n_bins: int = 40,
    alpha: float = 0.05,
    n_jobs: int | None = None,
) -> Dependence:
    """Accumulated local effects: how the output changes along a column among rows that have such values.

    In each of `n_bins` intervals of about equal numbers of rows the output is taken at both ends, for the rows inside;
    the mean differences are summed from the left and centred. Unlike partial dependence it never asks about rows that
    columns that go together make impossible (Apley & Zhu, Journal of the Royal Statistical Society B 82, 2020). Dates
    are taken in their order. Labels are put in an order in which neighbours have rows that are alike in the other
    columns, and each step is the mean difference over the rows of both labels.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> found = accumulated_effects(lambda rows: 2 * rows[:, 0], X, 0)
    >>> slope = (found.values[-1, 0] - found.values[0, 0]) / (found.grid_values[0][-1] - found.grid_values[0][0])
    >>> round(float(slope), 6)
    2.0
    """
    who = "accumulated_effects"
    check_alpha(who, alpha)
    if isinstance(n_bins, bool) or not isinstance(n_bins, (int, np.integer)) or n_bins < 1:
        raise ParameterError(who, "parameter 'n_bins'", "must be an integer from 1 on", f"got {plain(n_bins)}")
    asked = Asked.of(who, model, X, output=output, n_jobs=n_jobs)
    (j,) = _wanted(who, asked, column if not isinstance(column, (tuple, list)) else column[0])
    found = _label_steps(who, asked, j) if asked.nominal[j] else _number_steps(who, asked, j, int(n_bins))
    grid, step, change, share, rows, notes = found
    steps, outputs = len(grid) - 1, change.shape[1]
    counts = np.bincount(step, minlength=steps).astype(np.float64)
    totals = np.stack([np.bincount(step, weights=change[:, k], minlength=steps) for k in range(outputs)], axis=1)
    squares = np.stack([np.bincount(step, weights=change[:, k] ** 2, minlength=steps) for k in range(outputs)], 1)
    shared = np.maximum(counts, 1.0)[:, None]
    mean = totals / shared
    variance = np.maximum(squares / shared - mean**2, 0.0) / shared
    curve = np.concatenate([np.zeros((1, outputs)), np.cumsum(mean, axis=0)])
    if share is None:
        centre = ((counts / counts.sum())[:, None] * (curve[1:] + curve[:-1]) / 2).sum(axis=0)
    else:
        centre = share @ curve
    error = np.sqrt(np.concatenate([np.zeros((1, outputs)), np.cumsum(variance, axis=0)]))
    half = float(stats.norm.ppf(1 - alpha / 2)) * error
    curve = curve - centre
    return Dependence(
        method="accumulated local effects",
        names=[asked.names[j]],
        grid_values=[grid],
        values=curve,
        low=curve - half,
        high=curve + half,
        outputs=asked.answers.names,
        unit=asked.answers.unit,
        rows=rows,
        level=1 - alpha,
        notes=notes,
    )


Steps = tuple[list[Any], np.ndarray, np.ndarray, np.ndarray | None, int, list[str]]


def _number_steps(who: str, asked: Asked, j: int, n_bins: int) -> Steps:
    """Edges of intervals; of each row its interval and how the output changes across it."""
    values = asked.cells[:, j]
    rows = np.flatnonzero(~np.isnan(values))
    edges = np.quantile(values[rows], np.linspace(0, 1, n_bins + 1)) if rows.size else np.empty(0)
    edges = np.unique(np.rint(edges) if j in asked.categories else edges)
    if edges.shape[0] < 2:
        raise DataError(who, f"column '{plain(asked.names[j])}'", "must hold at least two different values")
    inside = np.clip(np.searchsorted(edges, values[rows], side="left"), 1, edges.shape[0] - 1)
    source = np.zeros((edges.shape[0], asked.cells.shape[1]))
    source[:, j] = edges
    ends = asked.replaced(asked.cells[rows], source, [[j]], np.stack([inside - 1, inside])[None])[0]
    return _plain_grid(asked, j, edges), inside - 1, ends[1] - ends[0], None, int(rows.shape[0]), []


def _label_steps(who: str, asked: Asked, j: int) -> Steps:
    """Labels in order of likeness; steps between neighbours, each met by the rows of both."""
    known, column = asked.categories[j], asked.cells[:, j]
    held = np.array([not np.isnan(v) and 0 <= v < len(known) and known[int(v)] is not None for v in column])
    levels, counts = np.unique(column[held], return_counts=True)
    kept = np.sort(levels[np.argsort(-counts, kind="stable")][:_MOST_LABELS])
    rows = np.flatnonzero(held & np.isin(column, kept))
    if kept.shape[0] < 2:
        raise DataError(who, f"column '{plain(asked.names[j])}'", "must hold at least two different values")
    order = kept[_by_likeness(asked, j, rows, kept)]
    place = np.empty(len(known), dtype=np.int64)
    place[order.astype(np.int64)] = np.arange(order.shape[0])
    at, last = place[column[rows].astype(np.int64)], order.shape[0] - 1
    source = np.zeros((order.shape[0], asked.cells.shape[1]))
    source[:, j] = order
    beside = np.stack([np.maximum(at - 1, 0), np.minimum(at + 1, last)])
    own = asked.outputs(asked.cells[rows])
    before, after = asked.replaced(asked.cells[rows], source, [[j]], beside[None])[0]
    up, down = at < last, at > 0
    step = np.concatenate([at[up], at[down] - 1])
    change = np.concatenate([(after - own)[up], (own - before)[down]])
    share = np.bincount(at, minlength=order.shape[0]) / at.shape[0]
    notes = ["labels stand in an order in which neighbours have rows that are alike in the other columns"]
    return _plain_grid(asked, j, order), step, change, share, int(rows.shape[0]), notes


def _by_likeness(asked: Asked, j: int, rows: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """An order of labels along the first axis of multidimensional scaling of how their rows differ elsewhere.

    The distance of two labels is the sum over the other columns of the largest gap of their distribution functions
    (numbers) or half the summed gaps of their shares (labels).
    """
    groups = [asked.cells[rows][asked.cells[rows, j] == level] for level in kept]
    distance = np.zeros((kept.shape[0], kept.shape[0]))
    for other in range(asked.cells.shape[1]):
        if other == j:
            continue
        cells = asked.cells[rows, other]
        present = cells[~np.isnan(cells)]
        if not present.size:
            continue
        columns = [group[:, other][~np.isnan(group[:, other])] for group in groups]
        if asked.nominal[other]:
            values = np.unique(present)
            shares = np.array([[(c == v).mean() if c.size else 0.0 for v in values] for c in columns])
            distance += np.abs(shares[:, None] - shares[None]).sum(axis=2) / 2
        else:
            points = np.unique(np.quantile(present, np.linspace(0, 1, 101)))
            below = np.array([np.searchsorted(np.sort(c), points, side="right") / max(1, c.size) for c in columns])
            distance += np.abs(below[:, None] - below[None]).max(axis=2)
    squares = distance**2
    centred = -0.5 * (squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean())
    axis = np.linalg.eigh(centred)[1][:, -1]
    # The sign of the axis is free: the first label stands left of the middle.
    return np.argsort(axis * (-1.0 if axis[0] > 0 else 1.0), kind="stable")
