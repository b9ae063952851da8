"""A chart on two axes, described once and drawn two ways: `to_svg` for pages, `plot` for matplotlib.

>>> chart = Chart("ROC", "false positive rate", "true positive rate", (Line([0, 0.2, 1], [0, 0.8, 1], "tree"),))
>>> svg = chart.to_svg()
>>> svg.startswith("<svg") and "true positive rate" in svg
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from . import svg
from .plotting import axes
from .record import Grid
from .words import compact, is_number, number


@dataclass(frozen=True)
class Line:
    """One series: points joined by a line, by steps or not at all, with a band or bars from `low` to `high`.

    `style` is "line", "step" or "points"; `token` is a colour of the palette; `band` tells whether `low` and `high`
    are an area rather than a bar at each point.
    """

    x: Sequence[float]
    y: Sequence[float]
    label: str = ""
    token: str = "accent"
    style: str = "line"
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    band: bool = True
    marker: bool = False
    dash: str = ""


@dataclass(frozen=True)
class Mark:
    """A straight reference: across at `y`, upright at `x`, or the diagonal if neither is given."""

    x: float | None = None
    y: float | None = None
    label: str = ""
    token: str = "muted"


@dataclass(frozen=True)
class Chart:
    """Lines with their axes, reference marks and words."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...] = ()
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    log_x: bool = False
    log_y: bool = False
    x_names: tuple[str, ...] = ()
    description: str = ""

    # -- pages -------------------------------------------------------------------------------------------------
    def to_svg(self, width: float = 440, height: float = 360) -> str:
        """The chart as SVG text."""
        legend, top = _legend([one for one in self.lines if one.label], width)
        top += 8.0
        left, right, bottom = 56.0, width - 14.0, height - 44.0
        across = _Axis(self._ends("x"), left, right, self.log_x)
        up = _Axis(self._ends("y"), bottom, top, self.log_y)
        body = [*legend, *self._grid_lines(across, up, left, right, top, bottom)]
        for mark in self.marks:
            body += _mark(mark, across, up)
        for one in self.lines:
            body += _series(one, across, up)
        body.append(svg.text((left + right) / 2, height - 6, self.x_label, "muted", 12, "middle"))
        turn = f"translate(13 {svg.num((top + bottom) / 2)}) rotate(-90)"
        words = svg.escape(svg.clean(self.y_label, 80))
        body.append(f'<text transform="{turn}" font-size="12" text-anchor="middle"{svg.paint("muted")}>{words}</text>')
        return svg.figure(body, width, height, self.title, self.description or self._said())

    def _grid_lines(self, across: _Axis, up: _Axis, left: float, right: float, top: float, bottom: float) -> list[str]:
        body = []
        for value, word in up.ticks(5):
            body.append(svg.line(left, up(value), right, up(value)))
            body.append(svg.text(left - 7, up(value) + 4, word, "muted", 11, "end"))
        named = [(float(k), name) for k, name in enumerate(self.x_names)]
        for value, word in named or across.ticks(5):
            body.append(svg.line(across(value), bottom, across(value), bottom + 4, "edge"))
            shown, full = svg.fit(word, (right - left) / max(len(named), 5), 11)
            body.append(svg.text(across(value), bottom + 17, shown, "muted", 11, "middle", full=full))
        return body

    def _ends(self, side: str) -> tuple[float, float]:
        given = self.x_range if side == "x" else self.y_range
        if given is not None:
            return given
        values = [v for one in self.lines for v in getattr(one, side)]
        values += [v for mark in self.marks if (v := getattr(mark, side)) is not None]
        if side == "y":
            values += [v for one in self.lines for part in (one.low, one.high) if part is not None for v in part]
        logarithmic = self.log_x if side == "x" else self.log_y
        known = [float(v) for v in values if is_number(float(v)) and (v > 0 or not logarithmic)]
        if not known:
            return (0.1, 1.0) if logarithmic else (0.0, 1.0)
        low, high = min(known), max(known)
        if logarithmic:
            return (low / 1.1, high * 1.1)
        pad = 0.04 * (high - low) or abs(high) * 0.05 or 0.5
        return low - pad, high + pad

    def _said(self) -> str:
        named = [one.label for one in self.lines if one.label]
        return f"{self.y_label} against {self.x_label}" + (f": {'; '.join(named)}" if named else "") + "."

    def grid(self, most: int = 40) -> Grid:
        """The numbers behind the chart: x, y and limits of each line, at most `most` points of each."""
        limits = any(one.low is not None for one in self.lines)
        rows = []
        for one in self.lines:
            if one.style == "line" and len(one.x) == 2 and not one.label:
                continue
            for k in _spread(len(one.x), most):
                ends = (
                    [] if not limits else ["", ""] if one.low is None or one.high is None else [one.low[k], one.high[k]]
                )
                x = self.x_names[round(one.x[k])] if self.x_names else number(one.x[k], 3)
                rows.append(
                    [
                        one.label,
                        x,
                        *(e if isinstance(e, str) else number(e, 3) for e in [one.y[k], *(ends if limits else [])]),
                    ]
                )
        heads = ["", self.x_label, self.y_label, *(["low", "high"] if limits else [])]
        if not any(row[0] for row in rows):
            return Grid(heads[1:], [row[1:] for row in rows], left=0)
        return Grid(heads, rows)

    # -- matplotlib ----------------------------------------------------------------------------------------------
    def plot(self, ax: Any = None, who: str = "plot", **look: Any) -> tuple[Any, list[Any]]:
        """Draw on axes of matplotlib; gives the axes and one artist per line; `look` goes to the first line."""
        ax = axes(who, ax)
        drawn: list[Any] = []
        for one in self.lines:
            settings: dict[str, Any] = {"label": one.label or None, **(look if not drawn else {})}
            settings |= {"drawstyle": "steps-pre"} if one.style == "step" else {}
            settings |= {"marker": "o"} if one.marker or one.style == "points" else {}
            settings |= {"linestyle": "none"} if one.style == "points" else {}
            settings |= {"linestyle": "--"} if one.dash and "linestyle" not in settings else {}
            settings |= {"color": svg.PALETTE[one.token][0]} if "color" not in settings and one.token == "muted" else {}
            (artist,) = ax.plot(one.x, one.y, **settings)
            if one.low is not None and one.high is not None:
                if one.band:
                    ax.fill_between(one.x, one.low, one.high, color=artist.get_color(), alpha=0.18, linewidth=0)
                else:
                    ax.vlines(one.x, one.low, one.high, color=artist.get_color(), alpha=0.5)
            drawn.append(artist)
        for mark in self.marks:
            settings = {"linestyle": ":", "color": "tab:gray", "linewidth": 1}
            if mark.x is not None:
                ax.axvline(mark.x, **settings)
            elif mark.y is not None:
                ax.axhline(mark.y, **settings)
            else:
                ax.plot([0, 1], [0, 1], **settings)
        ax.set(xlabel=self.x_label, ylabel=self.y_label)
        if self.log_x:
            ax.set_xscale("log")
        if self.log_y:
            ax.set_yscale("log")
        if self.x_names:
            ax.set_xticks(range(len(self.x_names)), self.x_names)
        if any(one.label for one in self.lines):
            ax.legend()
        return ax, drawn


class Drawn:
    """Mixin of results that are charts: say `chart()` once, get `to_svg` and `plot`."""

    def chart(self) -> Chart:
        """The description of the chart."""
        raise NotImplementedError  # pragma: no cover

    def to_svg(self, width: float = 440, height: float = 360) -> str:
        """The chart as SVG text, for pages."""
        return self.chart().to_svg(width, height)

    def plot(self, ax: Any = None, **line: Any) -> Any:
        """Draw the chart (needs matplotlib); leaves `ax_`, `figure_`, `line_` and `lines_` on the result."""
        ax, drawn = self.chart().plot(ax, f"{type(self).__name__}.plot", **line)
        for name, value in (("ax_", ax), ("figure_", ax.figure), ("line_", drawn[0]), ("lines_", drawn)):
            object.__setattr__(self, name, value)
        return self


def together(title: str, charts: Sequence[tuple[str, Chart]]) -> Chart:
    """Charts with the same axes as one, each in its own colour, named by the texts beside them."""
    first = charts[0][1]
    lines = []
    for k, (name, chart) in enumerate(charts):
        for j, one in enumerate(chart.lines):
            lines.append(replace(one, label=name if j == 0 else "", token=svg.class_token(k)))
    return replace(first, title=title, lines=tuple(lines), description="")


class _Axis:
    """Values to places on the page."""

    def __init__(self, ends: tuple[float, float], start: float, end: float, logarithmic: bool):
        self.ends, self.start, self.end, self.logarithmic = ends, start, end, logarithmic
        self.low, self.high = (math.log10(v) for v in ends) if logarithmic else ends

    def __call__(self, value: float) -> float:
        at = math.log10(max(float(value), 1e-300)) if self.logarithmic else float(value)
        share = (at - self.low) / ((self.high - self.low) or 1.0)
        return self.start + min(max(share, -0.02), 1.02) * (self.end - self.start)

    def ticks(self, about: int) -> list[tuple[float, str]]:
        if self.logarithmic:
            powers = range(math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9) + 1)
            whole = [10.0**k for k in powers] if len(powers) > 1 else list(self.ends)
            return [(v, compact(float(f"{v:.3g}"))) for v in whole]
        return [(v, compact(v)) for v in svg.ticks(*self.ends, about)]


def _spread(size: int, most: int) -> list[int]:
    """At most `most` places from the first to the last, evenly."""
    if size <= most:
        return list(range(size))
    return sorted({round(k * (size - 1) / (most - 1)) for k in range(most)})


def _legend(lines: Sequence[Line], width: float) -> tuple[list[str], float]:
    body: list[str] = []
    x, y = 0.0, 12.0
    for one in lines:
        short, full = svg.fit(one.label, width - 40, 12)
        wide = svg.text_width(short, 12) + 38
        if x and x + wide > width:
            x, y = 0.0, y + 18
        body.append(svg.line(x, y - 4, x + 18, y - 4, one.token, 2.5, one.dash))
        body.append(svg.text(x + 24, y, short, size=12, full=full))
        x += wide
    return body, y + 6 if body else 4.0


def _mark(mark: Mark, across: _Axis, up: _Axis) -> list[str]:
    if mark.x is not None:
        x = across(mark.x)
        body = [svg.line(x, up.start, x, up.end, mark.token, 1.3, "4 4")]
        side = "end" if x > (across.start + across.end) / 2 else "start"
        at = (x - 5 if side == "end" else x + 5, up.end + 12, side)
    elif mark.y is not None:
        y = up(mark.y)
        body = [svg.line(across.start, y, across.end, y, mark.token, 1.3, "4 4")]
        at = (across.start + 5, y - 5, "start")
    else:
        low, high = max(across.ends[0], up.ends[0]), min(across.ends[1], up.ends[1])
        body = [svg.line(across(low), up(low), across(high), up(high), mark.token, 1.3, "4 4")]
        at = (across(high) - 4, up(high) + 16, "end")
    return [*body, svg.text(at[0], at[1], mark.label, mark.token, 11, at[2])] if mark.label else body


def _series(one: Line, across: _Axis, up: _Axis) -> list[str]:
    body = []
    if one.low is not None and one.high is not None:
        if one.band:
            there = [(across(x), up(y)) for x, y in zip(one.x, one.high) if is_number(float(y))]
            back = [(across(x), up(y)) for x, y in zip(one.x, one.low) if is_number(float(y))]
            path = _path([*_thin(there), *reversed(_thin(back))])
            body.append(f'<path d="{path}Z" fill-opacity="0.16"{svg.paint(one.token)}/>')
        else:
            for x, low, high in zip(one.x, one.low, one.high):
                body.append(svg.line(across(x), up(low), across(x), up(high), one.token, 2))
    points = [(across(x), up(y)) for x, y in zip(one.x, one.y) if is_number(float(x)) and is_number(float(y))]
    if one.style == "step":
        points = [place for a, b in zip(points, points[1:]) for place in (a, (a[0], b[1]))] + points[-1:]  # noqa: RUF007
    if one.style != "points" and len(points) > 1:
        dash = f' stroke-dasharray="{one.dash}"' if one.dash else ""
        look = f'stroke-width="2.2" stroke-linejoin="round"{dash}{svg.paint(stroke=one.token)}'
        body.append(f'<path d="{_path(_thin(points))}" {look}/>')
    if one.style == "points" and len(points) > 60:
        dots = "".join(f"M{svg.num(x)} {svg.num(y)}h0" for x, y in points[:4000])
        look = f'stroke-width="4.5" stroke-linecap="round" stroke-opacity="0.35"{svg.paint(stroke=one.token)}'
        body.append(f'<path d="{dots}" {look}/>')
    elif one.marker or one.style == "points":
        for (x, y), a, b in zip(points, one.x, one.y):
            tip = svg.escape(f"{number(float(a), 3)}, {number(float(b), 3)}")
            look = f'{svg.paint(one.token, "paper")} stroke-width="1.2"'
            body.append(f'<circle cx="{svg.num(x)}" cy="{svg.num(y)}" r="3.8"{look}><title>{tip}</title></circle>')
    return body


def _thin(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points without those that no eye tells from the last."""
    kept: list[tuple[float, float]] = []
    for x, y in points:
        if not kept or abs(x - kept[-1][0]) + abs(y - kept[-1][1]) >= 0.5:
            kept.append((x, y))
    if points and kept[-1] != points[-1]:
        kept.append(points[-1])
    return kept


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{svg.num(x)} {svg.num(y)}" for x, y in points) if points else "M0 0"
