"""What a fitted model looks like: one typed record per kind of picture, each with one drawing.

`model.view()` gives one of these. The record is plain data (`to_dict`), draws itself (`to_svg` for pages, `plot` for
matplotlib) and says in `how_to_read` what the picture means. `view_of` makes the record again from its plain data.

>>> view = Shares(classes=["no", "yes"], shares=[0.75, 0.25])
>>> view.kind, view["shares"], view_of(view.to_dict()) == view
('shares', [0.75, 0.25], True)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from html import escape
from typing import Any, ClassVar

from .chart import Chart, Line, Mark
from .columns import column_names
from .drawings import coefficients_figure, matrix_figure, rules_figure, shares_figure
from .plotting import axes, paint_svg
from .record import Grid, Record, jsonable
from .svg import class_token
from .words import clean, compact, listing, number, percent, sentence

KINDS: dict[str, type[View]] = {}
"""Every kind of view by name."""


@dataclass(frozen=True, kw_only=True)
class View(Record):
    """Base of views; the fields can also be read by name, `view["names"]`."""

    kind: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.kind:
            KINDS[cls.kind] = cls

    def to_dict(self) -> dict[str, Any]:
        """The view as plain data; fields that are not set are left out."""
        found = {f.name: jsonable(getattr(self, f.name)) for f in fields(self)}
        unset = {f.name for f in fields(self) if f.default is None and found[f.name] is None}
        return {"kind": self.kind, **{name: value for name, value in found.items() if name not in unset}}

    def __getitem__(self, name: str) -> Any:
        return self.to_dict()[name]

    def keys(self) -> Iterable[str]:
        """Names of the fields that are set, as of plain data."""
        return self.to_dict().keys()

    def to_svg(self, title: str = "") -> str:
        """The drawing as SVG text."""
        raise NotImplementedError  # pragma: no cover

    def plot(self, ax: Any = None) -> Any:
        """The drawing on axes of matplotlib, which are given back."""
        return paint_svg(self.to_svg(), axes(f"{type(self).__name__}.plot", ax))

    @property
    def how_to_read(self) -> str:
        """What the picture means, in a sentence or two."""
        return ""

    def to_html(self) -> str:
        """The drawing, how to read it, and the numbers behind it."""
        said = f"<p>{escape(self.how_to_read)}</p>" if self.how_to_read else ""
        return f"{self.to_svg()}{said}<details><summary>Numbers</summary>{self.grid().to_html()}</details>"

    def __str__(self) -> str:
        return self.to_text()


@dataclass(frozen=True, kw_only=True)
class Charted(View):
    """Base of views that are a chart with axes."""

    def chart(self) -> Chart:
        """The description of the chart."""
        raise NotImplementedError  # pragma: no cover

    def to_svg(self, title: str = "") -> str:
        """The chart as SVG text."""
        return self.chart().to_svg()

    def plot(self, ax: Any = None) -> Any:
        """The chart on axes of matplotlib, which are given back."""
        return self.chart().plot(ax, f"{type(self).__name__}.plot")[0]


@dataclass(frozen=True, kw_only=True)
class Shares(View):
    """The share of each class."""

    kind: ClassVar[str] = "shares"
    classes: list[Any]
    shares: list[float]

    def to_svg(self, title: str = "") -> str:
        """A bar for each class."""
        return shares_figure(self.classes, self.shares, title=title or "Class shares")

    @property
    def how_to_read(self) -> str:
        """What the bars are."""
        return "The class shares it has seen."

    def grid(self) -> Grid:
        """Class and share."""
        return Grid(["class", "share"], [[clean(c, 60), percent(s, 1)] for c, s in zip(self.classes, self.shares)])


@dataclass(frozen=True, kw_only=True)
class Rules(View):
    """Rules in order: `rules` are mappings with "if", "then", "rows" and "correct"; `cut` if some were left out."""

    kind: ClassVar[str] = "rules"
    title: str = "Rules"
    rules: list[dict[str, Any]]
    default: Any = None
    cut: bool | None = None

    def to_svg(self, title: str = "") -> str:
        """One line per rule, with the rows it covers and gets right."""
        return rules_figure({**self.to_dict(), "title": title or self.title})

    @property
    def how_to_read(self) -> str:
        """The title as a sentence."""
        return sentence(self.title)

    def grid(self) -> Grid:
        """Condition, conclusion, rows and right ones."""
        lines = [
            [clean(r.get("if") or "always", 200), clean(r.get("then"), 60)]
            + [compact(r.get(name)) for name in ("rows", "correct")]
            for r in self.rules
        ]
        return Grid(["if", "then", "rows", "correct"], lines, left=2)


@dataclass(frozen=True, kw_only=True)
class Coefficients(View):
    """Coefficients by column: `values` has one row, or one for each class or target."""

    kind: ClassVar[str] = "coefficients"
    names: list[str]
    values: list[list[float]]
    intercept: list[float] | None = None
    classes: list[Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The view as plain data; `classes` is None for regression."""
        return {"classes": None, **super().to_dict()}

    def to_svg(self, title: str = "") -> str:
        """Bars of the largest coefficients."""
        return coefficients_figure(self.to_dict())

    @property
    def how_to_read(self) -> str:
        """What signs mean, and the intercept."""
        parts, classes = [], self.classes or []
        if len(self.names) > 20:
            parts.append(f"The 20 largest of {len(self.names):,} coefficients by absolute value.")
        if len(self.values) == 1 and len(classes) == 2:
            first, second = clean(classes[0], 40), clean(classes[1], 40)
            parts.append(f"Positive values speak for {second}, negative ones for {first}.")
        elif len(self.values) > 1 and classes:
            parts.append("Positive values speak for the class of the column, negative ones against it.")
        else:
            parts.append("Positive values raise the prediction, negative ones lower it.")
        if self.intercept:
            parts.append(f"Intercept {listing([number(one) for one in self.intercept[:20]])}.")
        return " ".join(parts)

    def grid(self) -> Grid:
        """Every coefficient, with a column for each class or target."""
        several = len(self.values) > 1
        heads = [clean(c, 40) for c in self.classes or range(1, len(self.values) + 1)] if several else ["coefficient"]
        heads = heads[: len(self.values)] + [str(k + 1) for k in range(len(heads), len(self.values))]
        lines = [[clean(name, 60), *(number(row[j]) for row in self.values)] for j, name in enumerate(self.names)]
        return Grid(["column", *heads], lines)


@dataclass(frozen=True, kw_only=True)
class ColumnShares(View):
    """How much each column counts: `values` are shares; `stages` may hold the losses of training by round."""

    kind: ClassVar[str] = "importances"
    names: list[str]
    values: list[float]
    title: str = "Importance of columns"
    stages: dict[str, list[float]] | None = None

    def _order(self) -> list[int]:
        return sorted(range(len(self.names)), key=lambda j: (-self.values[j], j))

    def to_svg(self, title: str = "") -> str:
        """Bars of the columns that count most."""
        order = self._order()[:20]
        return shares_figure(
            [self.names[j] for j in order],
            [self.values[j] for j in order],
            title=title or self.title,
            words=[percent(self.values[j], 1) for j in order],
        )

    @property
    def how_to_read(self) -> str:
        """The title as a sentence, and how many columns are not drawn."""
        more = f" The 20 largest of {len(self.names):,} columns." if len(self.names) > 20 else ""
        return sentence(self.title) + more

    def grid(self) -> Grid:
        """Column and share, the largest first."""
        return Grid(
            ["column", "share"], [[clean(self.names[j], 60), percent(self.values[j], 1)] for j in self._order()]
        )


@dataclass(frozen=True, kw_only=True)
class Contributions(View):
    """How much each column says for each class: `values` has one row per class and one number per column, in nats."""

    kind: ClassVar[str] = "contributions"
    names: list[str]
    classes: list[Any]
    values: list[list[float]]
    prior: list[float] | None = None

    def _order(self) -> list[int]:
        size = [max(row[j] for row in self.values) for j in range(len(self.names))]
        return sorted(range(len(self.names)), key=lambda j: (-size[j], j))

    def to_svg(self, title: str = "") -> str:
        """A shaded grid of the columns that say most."""
        order = self._order()[:20]
        cells = [[row[j] for row in self.values] for j in order]
        return matrix_figure(
            cells,
            [self.names[j] for j in order],
            self.classes,
            title=title or "What each column says for each class",
            corner="column",
        )

    @property
    def how_to_read(self) -> str:
        """What the numbers are."""
        text = (
            "How much each column speaks for a class on its own rows, on average: the expected log of how many times "
            "likelier its value is in the class than overall (0 says nothing, 0.69 doubles the odds)."
        )
        return text + (f" The 20 largest of {len(self.names):,} columns." if len(self.names) > 20 else "")

    def grid(self) -> Grid:
        """Columns by class, the largest first."""
        lines = [[clean(self.names[j], 60), *(number(row[j], 3) for row in self.values)] for j in self._order()]
        return Grid(["column", *(clean(c, 40) for c in self.classes)], lines)


@dataclass(frozen=True, kw_only=True)
class LogOdds(View):
    """Why one row is predicted as it is: `values` has one row per class and one number per column, in nats.

    The numbers are relative to the mean over the classes; the difference between two classes is the column's part of
    their log odds, and with `prior` they sum to them.
    """

    kind: ClassVar[str] = "log_odds"
    names: list[str]
    classes: list[Any]
    values: list[list[float]]
    prior: list[float]
    probabilities: list[float]

    def _order(self) -> list[int]:
        size = [max(abs(row[j]) for row in self.values) for j in range(len(self.names))]
        return sorted(range(len(self.names)), key=lambda j: (-size[j], j))

    def to_svg(self, title: str = "") -> str:
        """A shaded grid of the prior and the columns that say most."""
        order = self._order()[:20]
        cells = [self.prior, *([row[j] for row in self.values] for j in order)]
        names = ["prior", *(self.names[j] for j in order)]
        return matrix_figure(cells, names, self.classes, title=title or "What each column says", corner="column")

    @property
    def how_to_read(self) -> str:
        """What the numbers are and what they come to."""
        best = max(range(len(self.classes)), key=lambda k: self.probabilities[k])
        said = f"{clean(self.classes[best], 40)} has probability {percent(self.probabilities[best], 1)}. "
        return said + (
            "Each number is what a column adds to the log odds of a class, relative to the mean over the classes "
            "(0 says nothing, 0.69 doubles the odds)."
        )

    def grid(self) -> Grid:
        """Prior and columns by class, the largest first."""
        lines = [[clean(self.names[j], 60), *(number(row[j], 3) for row in self.values)] for j in self._order()]
        prior = ["prior", *(number(one, 3) for one in self.prior)]
        return Grid(["column", *(clean(c, 40) for c in self.classes)], [prior, *lines])


@dataclass(frozen=True, kw_only=True)
class Neighbours(View):
    """Who the neighbours of a row are: of `k` neighbours, the share of each class by the row's own class.

    Every training row (a sample of large tables) is asked for its neighbours among the others; for numbers, `spread` is
    the mean distance in the target between a row and its neighbours and `whole` that between any two rows.
    """

    kind: ClassVar[str] = "neighbours"
    k: int
    distance: str
    rows: int
    radius: list[float]
    classes: list[Any] | None = None
    shares: list[list[float]] | None = None
    spread: float | None = None
    whole: float | None = None
    asked: int | None = None

    def to_svg(self, title: str = "") -> str:
        """The shares as a shaded grid; two bars for numbers."""
        title = title or "Classes of the neighbours"
        if self.shares is not None and self.classes is not None:
            return matrix_figure(
                self.shares, self.classes, self.classes, title=title, corner="row of class", shares=True
            )
        names = ["from a neighbour", "from any other row"]
        sizes = [self.spread or 0.0, self.whole or 0.0]
        return shares_figure(names, sizes, title="Distance in the target", words=[number(size) for size in sizes])

    @property
    def how_to_read(self) -> str:
        """The setting and the typical distances in words."""
        low, middle, high = (number(one) for one in self.radius)
        text = f"The {self.k} nearest of {self.rows:,} rows by {clean(self.distance, 40)} distance vote. "
        if self.shares is not None:
            text += "Each line shows which classes the neighbours of a row of that class have. "
        else:
            text += f"A row's target differs by {number(self.spread)} from its neighbours' on average, "
            text += f"by {number(self.whole)} from any other row's. "
        if self.asked is not None and self.asked < self.rows:
            text += f"{self.asked:,} drawn rows were asked. "
        return text + f"Half of the rows have their last neighbour within {middle} (a tenth {low}, nine tenths {high})."

    def grid(self) -> Grid:
        """Shares by class, or the two distances."""
        if self.shares is None or self.classes is None:
            lines = [["its neighbours", number(self.spread)], ["any other row", number(self.whole)]]
            return Grid(["mean distance in the target from", ""], lines)
        names = [clean(c, 40) for c in self.classes]
        lines = [[name, *(percent(share, 1) for share in row)] for name, row in zip(names, self.shares)]
        return Grid(["row of class", *names], lines)


@dataclass(frozen=True, kw_only=True)
class NeighbourCurve(Charted):
    """The leave-one-out error of each number of neighbours k = 1, 2, ..., with an interval from `low` to `high`.

    `best` is the k with the least error, and `tied` are those that chance may have put behind it.
    """

    kind: ClassVar[str] = "neighbour_curve"
    errors: list[float]
    low: list[float]
    high: list[float]
    best: int
    tied: list[int]
    level: float
    measure: str

    def chart(self) -> Chart:
        """Error by k with a band."""
        ks = [float(k + 1) for k in range(len(self.errors))]
        line = Line(ks, self.errors, "", low=self.low, high=self.high)
        marks = (Mark(x=float(self.best), label=f"best k = {self.best}"),)
        return Chart("Leave-one-out error by number of neighbours", "k", self.measure, (line,), marks)

    @property
    def how_to_read(self) -> str:
        """The best k and what chance allows."""
        least, most = number(self.errors[self.best - 1]), max(self.tied)
        return (
            f"Each row is predicted by its k nearest others. The least {self.measure} is {least}, at k = {self.best}; "
            f"up to k = {most} differ from it by no more than chance at the {percent(self.level)} level."
        )

    def grid(self) -> Grid:
        """Error and interval of each k."""
        lines = [
            [str(k + 1), number(error), number(low), number(high)]
            for k, (error, low, high) in enumerate(zip(self.errors, self.low, self.high))
        ]
        return Grid(["k", self.measure, "low", "high"], lines)


@dataclass(frozen=True, kw_only=True)
class DensityCurves(Charted):
    """The density of each column by itself, at some points; `columns` is how many columns there are in all."""

    kind: ClassVar[str] = "density"
    names: list[str]
    points: list[list[float]]
    values: list[list[float]]
    columns: int

    def chart(self) -> Chart:
        """The curves over columns brought to the range from 0 to 1, or one curve over its column."""
        if len(self.names) == 1:
            lines = (Line(self.points[0], self.values[0], ""),)
            return Chart(f"Density of {clean(self.names[0], 40)}", clean(self.names[0], 40), "density", lines)
        scaled = []
        for k, (name, x, y) in enumerate(zip(self.names, self.points, self.values)):
            low, width = x[0], (x[-1] - x[0]) or 1.0
            place = [(one - low) / width for one in x]
            scaled.append(Line(place, [one * width for one in y], clean(name, 40), class_token(k)))
        return Chart("Density of each column", "least to greatest value shown", "density", tuple(scaled))

    @property
    def how_to_read(self) -> str:
        """What the curves are."""
        more = f" The first {len(self.names)} of {self.columns:,} columns." if self.columns > len(self.names) else ""
        return "Where the values of each column lie, each column by itself; the area under a curve is 1." + more

    def grid(self) -> Grid:
        """Where each curve is highest."""
        lines = []
        for name, x, y in zip(self.names, self.points, self.values):
            top = max(range(len(y)), key=lambda k: y[k])
            lines.append([clean(name, 60), number(x[top]), number(y[top])])
        return Grid(["column", "highest at", "density there"], lines)


@dataclass(frozen=True, kw_only=True)
class LossCurve(Charted):
    """The loss by epoch of a model fitted by descent; `validation` is that of the held-out rows, `best` its epoch.

    `words` says how the descent went.
    """

    kind: ClassVar[str] = "loss_curve"
    loss: list[float]
    validation: list[float] | None = None
    best: int | None = None
    words: str = ""

    def chart(self) -> Chart:
        """Loss by epoch."""
        epochs = [float(e + 1) for e in range(len(self.loss))]
        lines = [Line(epochs, self.loss, "training" if self.validation else "")]
        if self.validation:
            lines.append(Line(epochs[: len(self.validation)], self.validation, "validation", class_token(1)))
        marks = () if self.best is None else (Mark(x=float(self.best), label=f"best epoch {self.best}"),)
        return Chart("Loss by epoch", "epoch", "loss", tuple(lines), marks)

    @property
    def how_to_read(self) -> str:
        """What the curve is, and how the descent went."""
        return f"The mean loss of each pass over the rows. {self.words}".strip()

    def grid(self) -> Grid:
        """Epoch and losses."""
        heads = ["epoch", "loss", *(["validation loss"] if self.validation else [])]
        columns = [self.loss, *([self.validation] if self.validation else [])]
        lines = [[str(e + 1), *(number(one) for one in row)] for e, row in enumerate(zip(*columns))]
        return Grid(heads, lines)


def coefficients_of(model: Any, values: Any, intercept: Any, classes: Any = None) -> Coefficients:
    """The view of a linear model: `values` (outputs, columns) and `intercept`, one number or one for each output.

    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> coefficients_of(SimpleNamespace(n_features_in_=2), np.array([[1.0, 2.0]]), 0.5).names
    ['x0', 'x1']
    """
    rows = values.tolist()
    given = intercept.tolist() if hasattr(intercept, "tolist") else intercept
    offsets = [float(one) for one in given] if isinstance(given, list) else [float(given)] * len(rows)
    offsets = offsets * len(rows) if len(offsets) == 1 else offsets
    labels = None if classes is None else classes.tolist()
    return Coefficients(names=column_names(model), values=rows, intercept=offsets, classes=labels)


def view_of(data: Any) -> View | None:
    """The view that plain data stands for; None for what is no view of a known kind.

    >>> view_of({"kind": "crystal ball"}) is None
    True
    """
    if isinstance(data, View):
        return data
    if not isinstance(data, Mapping) or data.get("kind") not in KINDS:
        return None
    cls = KINDS[str(data["kind"])]
    known = {f.name for f in fields(cls)}
    try:
        return cls(**{name: value for name, value in data.items() if name in known})
    except TypeError:
        return None
