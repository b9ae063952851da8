"""The way to matplotlib: axes when they are needed, and drawings of the pages painted on them.

A drawing is made once, as SVG for pages; `paint_svg` puts the same marks on axes of matplotlib, so that a notebook, a
paper and a page show the same picture. matplotlib is loaded only here.
"""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from .errors import UsageError


def axes(who: str, ax: Any) -> Any:
    """The axes to draw on: those given, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise UsageError(who, "matplotlib", "is needed to draw", way_out="pip install assay[plots]") from None
    return plt.subplots()[1]


def paint_svg(svg: str, ax: Any) -> Any:
    """Paint a drawing made with `base.svg` on axes: rectangles, lines, circles, polygons, paths and texts."""
    root = ElementTree.fromstring(svg)
    _, _, width, height = (float(part) for part in root.attrib["viewBox"].split())
    ax.set_xlim(0, width)
    ax.set_ylim(height, 0)
    ax.set_aspect("equal")
    ax.set_axis_off()
    # A unit of the drawing in points of the figure, for widths of lines and sizes of letters.
    point = ax.get_window_extent().width / width * 72.0 / ax.figure.dpi
    _paint_children(root, ax, {}, point)
    return ax


def _paint_children(parent: Any, ax: Any, inherited: dict[str, str], point: float) -> None:
    for element in parent:
        tag = element.tag.rpartition("}")[2]
        look = {**inherited, **element.attrib}
        if tag == "g":
            _paint_children(element, ax, look, point)
        elif tag == "text":
            _paint_text(element, ax, look, point)
        elif tag not in ("title", "desc"):
            _paint_shape(tag, ax, look, point)


def _number(look: dict[str, str], name: str, default: float = 0.0) -> float:
    return float(look.get(name, default))


def _paint_text(element: Any, ax: Any, look: dict[str, str], point: float) -> None:
    x, y, turn = _number(look, "x"), _number(look, "y"), 0.0
    if moved := re.match(r"translate\(([-\d.]+)[ ,]([-\d.]+)\)(?: rotate\(([-\d.]+)\))?", look.get("transform", "")):
        x, y, turn = float(moved[1]), float(moved[2]), -float(moved[3] or 0)
    ax.text(
        x,
        y,
        (element.text or "").replace("$", r"\$"),
        fontsize=_number(look, "font-size", 13) * point * 0.92,
        color=look.get("fill", "black"),
        ha={"middle": "center", "end": "right"}.get(look.get("text-anchor", ""), "left"),
        va="baseline",
        rotation=turn,
        rotation_mode="anchor",
        weight="bold" if _number(look, "font-weight") >= 600 else "normal",
    )


def _paint_shape(tag: str, ax: Any, look: dict[str, str], point: float) -> None:
    from matplotlib import patches

    fill, stroke = look.get("fill", "none"), look.get("stroke", "none")
    style: dict[str, Any] = {
        "facecolor": fill,
        "edgecolor": stroke,
        "linewidth": _number(look, "stroke-width", 1) * point if stroke != "none" else 0.0,
        "alpha": _number(look, "fill-opacity", 1) * _number(look, "stroke-opacity", 1),
    }
    if dash := look.get("stroke-dasharray"):
        style["linestyle"] = (0, [float(part) for part in dash.split()])
    if tag == "rect":
        corner = (_number(look, "x"), _number(look, "y"))
        shape: Any = patches.Rectangle(corner, _number(look, "width"), _number(look, "height"), **style)
    elif tag == "circle":
        shape = patches.Circle((_number(look, "cx"), _number(look, "cy")), _number(look, "r"), **style)
    elif tag == "line":
        ends = [(_number(look, f"x{k}"), _number(look, f"y{k}")) for k in (1, 2)]
        shape = patches.Polygon(ends, closed=False, **style)
    elif tag in ("polygon", "polyline"):
        points = [tuple(map(float, pair.split(","))) for pair in look["points"].split()]
        shape = patches.Polygon(points, closed=tag == "polygon", **style)
    else:
        shape = patches.PathPatch(_path(look["d"]), **style)
    ax.add_patch(shape)


def _path(data: str) -> Any:
    """A path of M, L, H, V, C, h and Z as matplotlib has it."""
    from matplotlib.path import Path

    points: list[tuple[float, float]] = []
    codes: list[Any] = []
    for command, rest in re.findall(r"([MLHVCZh])([^MLHVCZh]*)", data):
        numbers = [float(part) for part in re.findall(r"-?[\d.]+(?:e-?\d+)?", rest)]
        x, y = points[-1] if points else (0.0, 0.0)
        if command in "HVh":
            step = numbers[0]
            points.append((step, y) if command == "H" else (x, step) if command == "V" else (x + step, y))
            codes.append(Path.LINETO)
        elif command == "Z":
            points.append((x, y))
            codes.append(Path.CLOSEPOLY)
        else:
            points += list(zip(numbers[::2], numbers[1::2]))
            kind = {"M": Path.MOVETO, "L": Path.LINETO, "C": Path.CURVE4}[command]
            codes += [kind] * (len(numbers) // 2)
    return Path(points, codes)
