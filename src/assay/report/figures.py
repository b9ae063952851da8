"""The figures of the report as SVG texts. Each works alone from the part of the results that it draws.

>>> svg = confusion_figure([[8, 2], [0, 5]], ["no", "yes"])
>>> svg.startswith("<svg") and "80%" in svg
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.drawings import coefficients_figure, rules_figure, shares_figure
from ..base.svg import (
    escape,
    figure,
    fit,
    line,
    num,
    paint,
    rect,
    standing,
    text,
    text_width,
    ticks,
)
from ..base.words import (
    NOTHING,
    compact,
    decimals_for,
    is_number,
    label,
    number,
    percent,
    rows,
)
from ..models.trees.svg import tree_figure

__all__ = [
    "coefficients_figure",
    "confusion_figure",
    "rules_figure",
    "score_plot",
    "shares_figure",
    "tree_figure",
]

_TIPS = 400
_SHAPES = ("circle", "square", "diamond", "triangle", "wedge", "hexagon")


def _marker(x: float, y: float, kind: int, size: float, token: str, hollow: bool = False) -> str:
    """The sign of a group: each group has its own shape as well as its own colour; hollow where nothing is decided."""
    shape = _SHAPES[kind % len(_SHAPES)]
    look = f'{paint("paper", token)} stroke-width="2.5"' if hollow else f'{paint(token, "paper")} stroke-width="1.5"'
    if shape == "circle":
        return f'<circle cx="{num(x)}" cy="{num(y)}" r="{num(size)}"{look}/>'
    shapes: dict[str, list[tuple[float, float]]] = {
        "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        "diamond": [(0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)],
        "triangle": [(0, -1.2), (1.15, 0.85), (-1.15, 0.85)],
        "wedge": [(0, 1.2), (1.15, -0.85), (-1.15, -0.85)],
        "hexagon": [(-0.55, -1), (0.55, -1), (1.1, 0), (0.55, 1), (-0.55, 1), (-1.1, 0)],
    }
    points = " ".join(f"{num(x + a * size)},{num(y + b * size)}" for a, b in shapes[shape])
    return f'<polygon points="{points}"{look}/>'


def _flat(scores: Any) -> list[tuple[int, int, float]]:
    """(repetition, fold, score) for every score that is a number."""
    found = []
    for r, repetition in enumerate(scores or []):
        for f, score in enumerate(repetition if isinstance(repetition, list | tuple) else [repetition]):
            if is_number(score):
                found.append((r + 1, f + 1, float(score)))
    return found


def _ends(learner: Mapping[str, Any]) -> tuple[float, float] | None:
    interval = learner.get("interval") or []
    if len(interval) == 2 and is_number(interval[0]) and is_number(interval[1]):
        return float(interval[0]), float(interval[1])
    return None


def by_mean(learners: Sequence[Mapping[str, Any]], greater_is_better: bool = True) -> list[Mapping[str, Any]]:
    """The learners that have a mean score, best first (the simpler first among equals)."""
    scored = [one for one in learners if is_number(one.get("mean")) and not one.get("error")]
    sign = -1 if greater_is_better else 1
    return sorted(scored, key=lambda one: (sign * one["mean"], one.get("simplicity") or 0, str(one.get("id"))))


def is_baseline(learner: Mapping[str, Any]) -> bool:
    """True for the learner that ignores the row."""
    return str(learner.get("id", "")).startswith("zero-r")


def _domain(learners: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """The axis: all scores, but one hopeless learner may not squeeze the others into a point."""
    reach = []
    for one in learners:
        values = [score for _, _, score in _flat(one.get("scores"))] + [float(one["mean"]), *(_ends(one) or ())]
        reach.append((min(values), max(values), is_baseline(one)))
    half = reach[: (len(reach) + 1) // 2] + [ends for ends in reach if ends[2]]
    low, high = min(ends[0] for ends in half), max(ends[1] for ends in half)
    width = (high - low) or abs(high) * 0.1 or 1.0
    low, high = (
        max(min(ends[0] for ends in reach), low - 3 * width),
        min(max(ends[1] for ends in reach), high + 3 * width),
    )
    pad = 0.04 * ((high - low) or width)
    return low - pad, high + pad


def score_plot(
    learners: Sequence[Mapping[str, Any]],
    metric: Mapping[str, Any] | str,
    *,
    recommended: str | None = None,
    level: str = "95%",
    width: float = 980,
) -> str:
    """Every fold's score of every learner, with mean and interval, best first.

    Each learner carries its letter or its verdict, with a colour and a shape of its own; the sign of one of which it is
    undecided whether it is worse than the best is hollow. The dashed line is the baseline's mean. Below a width of 600
    the names stand above their rows.
    """
    metric = {"name": metric, "title": metric} if isinstance(metric, str) else metric
    greater = bool(metric.get("greater_is_better", True))
    title = label(metric.get("title") or metric.get("name") or "score", 60).short
    order = by_mean(learners, greater)
    if not order:
        return figure([text(0, 20, "No scores to show.", "muted")], width, 32, "Scores", "No learner has a score.")
    narrow = width < 600
    places = decimals_for([one["mean"] for one in order])
    low, high = _domain(order)
    longest = max(text_width(label(one.get("title") or one.get("id"), 60).short) for one in order)
    left, right = (14.0, width - 14) if narrow else (min(max(longest + 44, 150.0), 270.0), width - 276)
    row, top = (66.0, 34.0) if narrow else (46.0, 34.0)
    bottom = top + row * len(order)

    def place(value: float) -> float:
        return left + (value - low) / (high - low) * (right - left)

    marks = ticks(low, high, 4 if narrow else 7)
    axis_places = max((len(f"{m:.10g}".partition(".")[2]) for m in marks), default=0)
    # In the narrow form the lines leave out the names above the rows.
    spans = [(top + i * row + 36, top + (i + 1) * row) for i in range(len(order))] if narrow else [(top - 6, bottom)]
    body = [line(place(m), start, place(m), end) for m in marks for start, end in spans]
    body += [text(place(m), bottom + 18, number(m, axis_places), "muted", 11.5, "middle") for m in marks]
    hint = "further right is better" if greater else "further left is better"
    body.append(text((left + right) / 2, bottom + 38, f"{title} ({hint})", "muted", 12, "middle"))
    base = next((one for one in order if is_baseline(one)), None)
    if base is not None and low <= base["mean"] <= high:
        x = place(base["mean"])
        body += [line(x, start, x, end, "muted", 1.4, "4 4") for start, end in spans]
        anchor = "start" if x < left + 60 else "end" if x > right - 60 else "middle"
        body.append(text(x, top - 14, f"baseline {number(base['mean'], places)}", "muted", 11.5, anchor))
    if not narrow:
        body.append(text(right + 24, top - 14, "mean", "muted", 11.5))
        body.append(text(right + 78, top - 14, f"{level} interval", "muted", 11.5))
        lettered = any(one.get("group") for one in order)
        body.append(text(width - 4, top - 14, "group" if lettered else "verdict", "muted", 11.5, "end"))
    with_tips = sum(len(_flat(one.get("scores"))) for one in order) <= _TIPS
    said = []
    for i, one in enumerate(order):
        body += _score_row(one, top + i * row, row, places, place, (left, right, width), narrow, recommended, with_tips)
        ends = _ends(one)
        span = f" ({number(ends[0], places)} to {number(ends[1], places)})" if ends else ""
        group = f", group {one['group']}" if one.get("group") else f", {word}" if (word := standing(one)[0]) else ""
        said.append(f"{label(one.get('title') or one.get('id')).short} {number(one['mean'], places)}{span}{group}")
    description = f"{title} of each learner, best first, with its {level} interval: {'; '.join(said)}."
    return figure(body, width, bottom + 48, f"{title} of every fold, by learner", description)


def _score_row(
    one: Mapping[str, Any],
    y: float,
    row: float,
    places: int,
    place: Any,
    room: tuple[float, float, float],
    narrow: bool,
    recommended: str | None,
    with_tips: bool,
) -> list[str]:
    left, right, width = room
    word, kind = standing(one)
    token = f"g{kind}"
    chosen = recommended is not None and one.get("id") == recommended
    middle = y + (row * 0.68 if narrow else row / 2)
    body = []
    if chosen:
        body.append(rect(0, y + 3, width, row - 6, "accent", radius=6, opacity=0.09))
    name, full = fit(one.get("title") or one.get("id"), 150 if narrow else left - 40)
    body.append(text(10, y + 24 if narrow else middle + 4.5, name, weight=650 if chosen else 500, full=full))
    ends = _ends(one)
    mean = number(one["mean"], places)
    span = f"{number(ends[0], places)} to {number(ends[1], places)}" if ends else NOTHING
    group = label(word, 12).short
    if narrow:
        body.append(text(width - 10, y + 24, f"{mean}  ({span})  {group}", size=12, anchor="end", weight=500))
    else:
        body.append(text(right + 24, middle + 4.5, mean, weight=650))
        body.append(text(right + 78, middle + 4.5, span, "muted", 12))
        body.append(text(width - 6, middle + 5, group, token, 14 if one.get("group") else 12, "end", 700))
    body.append(line(left, middle, right, middle, "line"))
    scores = _flat(one.get("scores"))
    repetitions = max((r for r, _, _ in scores), default=1)
    reach = min(13.0, row * 0.26)
    dots, off = [], 0
    for r, f, score in scores:
        x = place(score)
        if not left - 1 <= x <= right + 1:
            off += 1
            continue
        # Repetitions are spread over the height of the row so that equal scores stay visible.
        dy = reach * ((r - 0.5) / repetitions * 2 - 1) if repetitions > 1 else (3.0 if f % 2 else -3.0)
        if with_tips:
            tip = escape(f"repetition {r}, fold {f}: {number(score, places)}")
            dots.append(f'<circle cx="{num(x)}" cy="{num(middle + dy)}" r="3"><title>{tip}</title></circle>')
        else:
            dots.append(f"M{num(x)} {num(middle + dy)}h0")
    if with_tips:
        body.append(f'<g fill-opacity="0.38"{paint(token)}>{"".join(dots)}</g>')
    elif dots:
        look = f'stroke-width="5" stroke-linecap="round" stroke-opacity="0.3"{paint(stroke=token)}'
        body.append(f'<path d="{"".join(dots)}" {look}/>')
    if ends:
        a, b = max(left, place(ends[0])), min(right, place(ends[1]))
        if b >= a:
            body.append(line(a, middle, b, middle, token, 3))
            body += [line(x, middle - 6, x, middle + 6, token, 2) for x in (a, b) if left < x < right]
    if left <= place(one["mean"]) <= right:
        body.append(_marker(place(one["mean"]), middle, kind, 6.5, token, hollow=word == "undecided"))
    if off:
        away = place(min(score for _, _, score in scores)) < left
        x = left + 6 if away else right - 6
        words = f"{'◂ ' if away else ''}{off} beyond the axis{'' if away else ' ▸'}"
        body.append(text(x, middle - 6, words, token, 11, "start" if away else "end"))
    return body


def confusion_figure(
    confusion: Sequence[Sequence[float]], classes: Sequence[Any], *, title: str = "Confusion matrix", width: float = 470
) -> str:
    """Counts of actual class (rows) against predicted class (columns), shaded by the share of the row."""
    names = [label(one, 60).short for one in classes]
    size = len(names)
    longest = max((text_width(name, 12) for name in names), default=0)
    left = min(max(longest + 16, 60), 130.0)
    cell = min(max((width - left - 4) / max(size, 1), 34.0), 72.0)
    height = min(cell, 46.0) if size <= 6 else 36.0
    both = cell >= 44
    slanted = max((text_width(name, 12) for name in names), default=0) > cell - 8
    top = 26.0 + (min(longest * 0.72, 92) + 10 if slanted else 20)
    body = [text(left, 12, "predicted class", "muted", 11.5), text(0, top - 8, "actual", "muted", 11.5)]
    for j, name in enumerate(names):
        x = left + (j + 0.5) * cell
        if slanted:
            shown, full = fit(name, 118, 12)
            tip = f"<title>{escape(full)}</title>" if full else ""
            turn = f"translate({num(x)} {num(top - 8)}) rotate(-45)"
            body.append(f'<text transform="{turn}" font-size="12"{paint("ink")}>{escape(shown)}{tip}</text>')
        else:
            body.append(text(x, top - 8, name, size=12, anchor="middle"))
    body += [line(left, top + i * height, left + size * cell, top + i * height) for i in range(size + 1)]
    body += [line(left + j * cell, top, left + j * cell, top + size * height) for j in range(size + 1)]
    said = []
    for i, counts in enumerate(confusion):
        y = top + i * height
        shown, full = fit(names[i], left - 12, 12)
        body.append(text(left - 8, y + height / 2 + 4, shown, size=12, anchor="end", full=full))
        total = sum(counts)
        parts = []
        for j, hits in enumerate(counts):
            x = left + j * cell
            share = hits / total if total else 0.0
            tip = f"{rows(hits)} of class {names[i]} predicted as {names[j]}: {percent(share)} of the class"
            if hits:
                tint = "accent" if i == j else "warm"
                body.append(rect(x + 1, y + 1, cell - 2, height - 2, tint, opacity=0.07 + 0.43 * share, tip=tip))
                parts.append(f"{compact(hits)} as {names[j]}")
            weight = 650 if i == j else 0
            dim = "ink" if hits else "muted"
            if both:
                middle = y + height / 2
                body.append(text(x + cell / 2, middle - 1, compact(hits), dim, 13, "middle", weight))
                body.append(text(x + cell / 2, middle + 13, percent(share), dim, 10.5, "middle"))
            else:
                body.append(text(x + cell / 2, y + height / 2 + 4, compact(hits), dim, 10.5, "middle", weight))
        said.append(f"{names[i]}: {', '.join(parts) or 'no rows'}")
    over = 0.72 * min(longest, 118) - cell / 2 if slanted else 0.0
    whole = max(left + size * cell + 2 + max(over, 0), 170)
    return figure(
        body, whole, top + size * height + 4, title, "Actual class and what it was predicted as. " + "; ".join(said)
    )
