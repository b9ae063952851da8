"""The critical-difference diagram: learners on an axis of average ranks, bars over those not told apart.

The rank 1 is at the left. Names stand in two columns, the better half at the left, each with a line to its rank; a bar
joins the learners of a group, of which no two were told apart, and the length above the axis is the critical
difference (Demsar, JMLR 7, 2006).

>>> ranks = {"a": 1.2, "b": 1.9, "c": 2.9}
>>> svg = critical_difference_figure(ranks, groups=[["a", "b"], ["c"]], critical_difference=0.8)
>>> svg.startswith("<svg") and "critical difference" in svg
True
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..base.svg import figure, fit, line, num, paint, text
from ..base.words import is_number, label, listing, number

_STEP = 24.0
_BAR_STEP = 11.0


def critical_difference_figure(
    comparison: Any,
    *,
    groups: Sequence[Sequence[str]] | None = None,
    critical_difference: float | None = None,
    titles: Mapping[str, str] | None = None,
    width: float = 820,
) -> str:
    """The diagram as SVG text.

    `comparison` is what `assay.evaluate.compare(..., "datasets")` returned, its `to_dict()`, or a mapping from learner
    to average rank with `groups` and `critical_difference` beside it.
    """
    ranks, names, found, critical = _read(comparison, groups, critical_difference, titles)
    order = sorted(ranks, key=lambda name: (ranks[name], names[name]))
    if not order:
        return figure([text(0, 20, "No ranks to show.", "muted")], width, 32, "Average ranks", "No learner has a rank.")
    highest = max(2, len(order), math.ceil(max(ranks.values())))
    side = min(0.28 * width, 240.0)
    left, right = side + 18, width - side - 18

    def place(rank: float) -> float:
        return left + (rank - 1) / (highest - 1) * (right - left)

    top = 52.0 if critical is not None else 30.0
    body = _axis(place, highest, top)
    if critical is not None:
        body += _critical(place, highest, critical)
    bars = _bars(found, ranks)
    levels = 1 + max((level for _, _, level in bars), default=-1)
    body += _leaders(order, ranks, names, place, top, top + 20 + levels * _BAR_STEP, side, width)
    for low, high, level in bars:
        y = top + 14 + level * _BAR_STEP
        body.append(line(place(low) - 4, y, place(high) + 4, y, "accent", 4))
    rows = max((len(order) + 1) // 2, 1)
    height = top + 20 + levels * _BAR_STEP + rows * _STEP + 34
    body.append(text(width / 2, height - 6, "average rank (further left is better)", "muted", 12, "middle"))
    said = [f"{names[name]} {number(ranks[name], 2)}" for name in order]
    together = [listing([names[name] for name in group]) for group in found if len(group) > 1]
    description = f"Average ranks, best first: {'; '.join(said)}."
    if critical is not None:
        description += f" Ranks have to differ by {number(critical, 2)}."
    description += f" Not told apart: {'; '.join(together)}." if together else " Every pair was told apart."
    return figure(body, width, height, "Critical-difference diagram", description)


def _read(
    comparison: Any,
    groups: Sequence[Sequence[str]] | None,
    critical_difference: float | None,
    titles: Mapping[str, str] | None,
) -> tuple[dict[str, float], dict[str, str], list[list[str]], float | None]:
    """Ranks, names, groups and critical difference, from a comparison or from its parts."""
    data = comparison.to_dict() if hasattr(comparison, "to_dict") else comparison
    if "summary" in data:
        summary = data["summary"]
        ranks = {str(k): row.get("average_rank") for k, row in summary.items()}
        known = {str(k): row.get("title") or k for k, row in summary.items()}
        groups = data.get("groups") if groups is None else groups
        critical_difference = data.get("critical_difference") if critical_difference is None else critical_difference
    else:
        ranks, known = {str(k): rank for k, rank in data.items()}, {}
    kept = {name: float(rank) for name, rank in ranks.items() if is_number(rank)}
    names = {name: label((titles or {}).get(name) or known.get(name) or name, 60).short for name in kept}
    found = [[str(name) for name in group if str(name) in kept] for group in groups or []]
    critical = float(critical_difference) if is_number(critical_difference) else None
    return kept, names, found, critical


def _axis(place: Any, highest: int, top: float) -> list[str]:
    body = [line(place(1), top, place(highest), top, "ink", 1.4)]
    step = 1 if highest <= 15 else math.ceil(highest / 12)
    for rank in range(1, highest + 1, step):
        body.append(line(place(rank), top - 6, place(rank), top, "ink", 1.4))
        body.append(text(place(rank), top - 11, str(rank), "muted", 12, "middle"))
    if step == 1:
        middles = [(rank + 0.5) for rank in range(1, highest)]
        body += [line(place(middle), top - 3, place(middle), top, "muted") for middle in middles]
    return body


def _critical(place: Any, highest: int, critical: float) -> list[str]:
    """The critical difference as a length, cut at the end of the axis where it is longer."""
    start, end = place(1), place(min(1 + critical, highest))
    cut = 1 + critical > highest
    body = [line(start, 20, end, 20, "warm", 2.4), line(start, 15, start, 25, "warm", 2)]
    body += [] if cut else [line(end, 15, end, 25, "warm", 2)]
    words = f"critical difference {number(critical, 2)}{' (longer than the axis)' if cut else ''}"
    return [*body, text(start, 10, words, "warm", 12)]


def _bars(groups: list[list[str]], ranks: Mapping[str, float]) -> list[tuple[float, float, int]]:
    """(low, high, level) of every group of at least two; bars that overlap lie on different levels."""
    spans = sorted(
        (min(ranks[name] for name in group), max(ranks[name] for name in group)) for group in groups if len(group) > 1
    )
    ends: list[float] = []
    bars = []
    for low, high in spans:
        level = next((i for i, end in enumerate(ends) if end < low - 0.08), len(ends))
        if level == len(ends):
            ends.append(high)
        ends[level] = high
        bars.append((low, high, level))
    return bars


def _leaders(
    order: list[str],
    ranks: Mapping[str, float],
    names: Mapping[str, str],
    place: Any,
    top: float,
    start: float,
    side: float,
    width: float,
) -> list[str]:
    """The names with their lines: the better half from the left, the others from the right, outermost rank lowest."""
    body = []
    half = (len(order) + 1) // 2
    for i, name in enumerate(order):
        at_left = i < half
        row = i if at_left else len(order) - 1 - i
        y, x = start + _STEP * row + 12, place(ranks[name])
        edge = side if at_left else width - side
        points = f"{num(x)},{num(top)} {num(x)},{num(y)} {num(edge)},{num(y)}"
        body.append(f'<polyline points="{points}" stroke-width="1.2"{paint(stroke="edge")}/>')
        body.append(f'<circle cx="{num(x)}" cy="{num(top)}" r="3.5"{paint("ink")}/>')
        shown, full = fit(names[name], side - 58)
        rank = number(ranks[name], 2)
        if at_left:
            body.append(text(edge - 50, y + 4.5, shown, anchor="end", weight=550, full=full))
            body.append(text(edge - 8, y + 4.5, rank, "muted", 12, "end"))
        else:
            body.append(text(edge + 50, y + 4.5, shown, weight=550, full=full))
            body.append(text(edge + 8, y + 4.5, rank, "muted", 12))
    return body
