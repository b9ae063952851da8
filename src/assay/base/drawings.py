"""The drawings of models: shares, rules and coefficients. Each works alone from the numbers that it draws.

>>> svg = shares_figure(["no", "yes"], [0.75, 0.25])
>>> svg.startswith("<svg") and "75.0%" in svg
True
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .svg import class_token, escape, figure, fit, line, num, paint, rect, text, text_width, wrap
from .words import compact, comparison_signs, decimals_for, is_number, label, listing, number, percent


def shares_figure(
    classes: Sequence[Any],
    shares: Sequence[float],
    *,
    title: str = "Class shares",
    width: float = 620,
    words: Sequence[str] | None = None,
) -> str:
    """The share of each class as a bar; with `words` beside them the bars are sizes, the largest full."""
    said_of = [percent(share, 1) for share in shares] if words is None else list(words)
    most = 1.0 if words is None else max(shares, default=0.0) or 1.0
    longest = max((text_width(label(one, 60).short) for one in classes), default=0)
    left = min(max(longest + 16, 60), 200.0)
    right = width - 60
    body, said = [], []
    shown = list(zip(classes, shares))[:40]
    for i, (one, share) in enumerate(shown):
        y = 4 + i * 28
        name, full = fit(one, left - 12)
        body.append(text(left - 10, y + 15, name, anchor="end", full=full))
        body.append(rect(left, y + 3, right - left, 16, "soft", radius=3))
        body.append(
            rect(
                left, y + 3, (right - left) * share / most, 16, class_token(i) if words is None else "accent", radius=3
            )
        )
        body.append(text(right + 10, y + 15.5, said_of[i], weight=500))
        said.append(f"{label(one).short} {said_of[i]}")
    height = 8 + 28 * len(shown)
    if len(shown) < len(shares):
        body.append(text(left, height + 14, f"and {len(shares) - len(shown)} more classes", "muted", 12))
        height += 24
    return figure(body, width, height, title, "; ".join(said))


def intervals_figure(
    names: Sequence[Any],
    values: Sequence[float],
    ends: Sequence[tuple[float, float]] | None = None,
    *,
    title: str,
    label: str = "",
    width: float = 620,
) -> str:
    """A bar from zero for each name, with its interval as a line across the end.

    >>> svg = intervals_figure(["a", "b"], [0.3, -0.1], [(0.2, 0.4), (-0.2, 0.0)], title="Importance")
    >>> svg.count("<rect") >= 2
    True
    """
    spans = [(value, value) for value in values] if ends is None else list(ends)
    known = [v for pair in [*zip(values, values), *spans] for v in pair if is_number(v)]
    low, high = min([0.0, *known]), max([0.0, *known])
    wide = (high - low) or 1.0
    longest = max((text_width(fit(one, 190)[0]) for one in names), default=0.0)
    left, right = min(max(longest + 16, 60.0), 200.0), width - 74
    places = decimals_for(known)

    def across(value: float) -> float:
        return left + (value - low) / wide * (right - left)

    body, said = [], []
    for i, (one, value) in enumerate(zip(names, values)):
        y = 4.0 + i * 26
        name, full = fit(one, left - 12)
        body.append(text(left - 10, y + 15, name, anchor="end", full=full))
        word = number(value, places)
        said.append(f"{name} {word}")
        body.append(text(right + 10, y + 15.5, word, weight=500))
        if not is_number(value):
            continue
        begin, end = sorted((across(0.0), across(value)))
        body.append(rect(begin, y + 4, max(end - begin, 0.5), 14, "accent" if value >= 0 else "warm", radius=2))
        a, b = spans[i]
        if ends is not None and is_number(a) and is_number(b):
            body.append(line(across(a), y + 11, across(b), y + 11, "ink", 1.6))
            body += [line(across(x), y + 7, across(x), y + 15, "ink", 1.6) for x in (a, b)]
            said[-1] += f" ({number(a, places)} to {number(b, places)})"
    height = 8.0 + 26 * len(values)
    body.append(line(across(0.0), 2, across(0.0), height - 2, "muted"))
    if label:
        body.append(text(left, height + 12, label, "muted", 12))
        height += 20
    return figure(body, width, height, title, "; ".join(said))


def rules_figure(view: Mapping[str, Any], *, width: float = 820, limit: int = 40) -> str:
    """The rules as a table: condition, prediction, and how many of the rows it covers it gets right."""
    rules = list(view.get("rules") or [])
    shown = rules[:limit]
    most = max((float(rule.get("rows") or 0) for rule in shown), default=0.0) or 1.0
    wide = width >= 600
    x_then = width * (0.44 if wide else 0.5)
    x_bar = width * 0.62 if wide else width
    bar = width - x_bar - 128
    body = [text(0, 14, "if", "muted", 12), text(x_then, 14, "then", "muted", 12)]
    if wide:
        body.append(text(x_bar, 14, "rows covered, right ones filled", "muted", 12))
    y = 22.0
    said = []
    for rule in shown:
        condition = comparison_signs(rule.get("if") or "always")
        lines, full = wrap(condition, x_then - 22, lines=4)
        height = 18 * len(lines) + 12
        covered, right = float(rule.get("rows") or 0), float(rule.get("correct") or 0)
        body.append(line(0, y, width, y))
        for i, piece in enumerate(lines):
            body.append(text(0, y + 20 + 18 * i, piece, weight=500, full=full))
        then, whole = fit(rule.get("then"), x_bar - x_then - 16)
        body.append(text(x_then, y + 20, then, weight=650, full=whole))
        counted = f"{compact(rule.get('correct'))} of {compact(rule.get('rows'))}"
        if wide:
            tip = f"{counted} rows right"
            body.append(rect(x_bar, y + 9, bar * covered / most, 13, "warm", radius=2, opacity=0.28, tip=tip))
            body.append(rect(x_bar, y + 9, bar * right / most, 13, "accent", radius=2, tip=tip))
            body.append(text(x_bar + bar * covered / most + 8, y + 20, f"{counted} right", size=12))
        else:
            body.append(text(width, y + 20, f"{counted} right", "muted", 11.5, "end"))
        said.append(f"if {condition} then {label(rule.get('then')).short} ({counted} rows right)")
        y += height
    body.append(line(0, y, width, y))
    if len(shown) < len(rules):
        y += 24
        body.append(text(0, y - 4, f"and {len(rules) - len(shown)} more rules", "muted", 12))
    if view.get("default") is not None:
        y += 26
        body.append(text(0, y - 6, "otherwise", "muted"))
        then, whole = fit(view["default"], width - x_then)
        body.append(text(x_then, y - 6, then, weight=650, full=whole))
        said.append(f"otherwise {label(view['default']).short}")
    return figure(body, width, y + 8, label(view.get("title") or "Rules", 120).short, "; ".join(said))


def coefficients_figure(view: Mapping[str, Any], *, limit: int = 20, width: float = 820) -> str:
    """The largest coefficients by absolute value: bars for up to four rows of values, a shaded grid for more."""
    values = [list(row) for row in view.get("values") or []]
    names = list(view.get("names") or [])
    order = sorted(
        range(len(names)), key=lambda j: (-max((abs(row[j]) for row in values if is_number(row[j])), default=0.0), j)
    )[:limit]
    classes = list(view.get("classes") or [])
    heads: list[str] = [label(one, 60).short for one in classes] if len(values) > 1 else [""]
    heads += [f"output {i + 1}" for i in range(len(heads), len(values))]
    panels = min(len(values), 20)
    largest = max((abs(row[j]) for row in values for j in order if is_number(row[j])), default=0.0) or 1.0
    places = decimals_for([largest])
    longest = max((text_width(label(names[j], 80).short) for j in order), default=0.0)
    left = min(max(longest + 16, 60), 240.0 if panels <= 4 else 190.0)
    room = (width - left) / max(panels, 1)
    bars = panels <= 4
    slanted = not bars and max((text_width(head, 12) for head in heads), default=0) > room - 6
    top = (86.0 if slanted else 24.0) if len(values) > 1 else 4.0
    step = 26.0
    # With two classes the signs speak for one class each and take its colour.
    plus, minus = ("c1", "c0") if len(values) == 1 and len(classes) == 2 else ("accent", "warm")
    body: list[str] = []
    if len(values) > 1:
        body += _column_heads(heads[:panels], left, room, top, slanted)
    said = []
    for i, j in enumerate(order):
        y = top + i * step
        name, full = fit(names[j], left - 14)
        body.append(text(left - 12, y + 17, name, anchor="end", full=full))
        said.append(f"{label(names[j]).short} {listing([number(row[j], places, True) for row in values[:panels]])}")
        for k in range(panels):
            x0 = left + k * room
            value = values[k][j] if is_number(values[k][j]) else 0.0
            if bars:
                side = min(62.0, room * 0.3)
                half = (room - 2 * side) / 2 - 4
                zero = x0 + room / 2
                long = half * abs(value) / largest
                body.append(
                    rect(zero if value >= 0 else zero - long, y + 5, long, 16, plus if value >= 0 else minus, radius=2)
                )
                end = zero + math.copysign(long + 6, value if value else 1.0)
                anchor = "start" if value >= 0 else "end"
                body.append(text(end, y + 17, number(values[k][j], places, True), "muted", 12, anchor))
            else:
                tint = plus if value >= 0 else minus
                tip = f"{label(names[j]).short}, {heads[k]}: {number(values[k][j], places, True)}"
                opacity = 0.04 + 0.46 * abs(value) / largest
                body.append(rect(x0 + 1, y + 1, room - 2, step - 2, tint, radius=2, opacity=opacity, tip=tip))
                short = number(values[k][j], max(0, places - (2 if room < 52 else 1)), True)
                if room >= 34:
                    body.append(text(x0 + room / 2, y + 17, short, size=11, anchor="middle"))
    bottom = top + step * len(order)
    if bars:
        body = [
            line(left + (k + 0.5) * room, top, left + (k + 0.5) * room, bottom, "muted") for k in range(panels)
        ] + body
    return figure(body, width, bottom + 4, "Coefficients, the largest first", "; ".join(said))


def _column_heads(heads: Sequence[str], left: float, room: float, top: float, slanted: bool) -> list[str]:
    """Headings above columns, turned where they are too long to lie."""
    body = []
    for k, head in enumerate(heads):
        x = left + (k + 0.5) * room
        shown, full = fit(head, 100 if slanted else room - 6, 12)
        if slanted:
            tip = f"<title>{escape(full)}</title>" if full else ""
            look = f'font-size="12" font-weight="600"{paint("ink")}'
            turn = f"translate({num(x)} {num(top - 8)}) rotate(-45)"
            body.append(f'<text transform="{turn}" {look}>{escape(shown)}{tip}</text>')
        else:
            body.append(text(x, top - 8, shown, size=12, anchor="middle", weight=600, full=full))
    return body


def matrix_figure(
    cells: Sequence[Sequence[float]],
    lines: Sequence[Any],
    columns: Sequence[Any],
    *,
    title: str,
    corner: str = "",
    shares: bool = False,
    width: float = 620,
) -> str:
    """Numbers that are not negative as a shaded grid, darker where larger; `shares` are shown in per cent."""
    names, heads = [label(one, 60).short for one in lines[:24]], [label(one, 60).short for one in columns[:12]]
    left = min(max(max((text_width(name) for name in names), default=0.0) + 16, 90.0), 220.0)
    room = min((width - left) / max(len(heads), 1), 120.0)
    slanted = max((text_width(head, 12) for head in heads), default=0.0) > room - 6
    top, step = (86.0 if slanted else 26.0), 28.0
    largest = 1.0 if shares else max((v for row in cells for v in row if is_number(v)), default=0.0) or 1.0
    places = decimals_for([largest])
    body = [text(0, top - 9, corner, "muted", 11.5)] if corner else []
    body += _column_heads(heads, left, room, top, slanted)
    said = []
    for i, name in enumerate(names):
        y = top + i * step
        shown, full = fit(name, left - 12)
        body.append(text(left - 10, y + 18, shown, anchor="end", full=full))
        words = [percent(v) if shares else number(v, places) for v in cells[i][: len(heads)]]
        for k, word in enumerate(words):
            value = cells[i][k] if is_number(cells[i][k]) else 0.0
            tip = f"{name}, {heads[k]}: {word}"
            opacity = 0.04 + 0.5 * max(value, 0.0) / largest
            x = left + k * room
            body.append(rect(x + 1, y + 1, room - 2, step - 2, "accent", radius=3, opacity=opacity, tip=tip))
            if room >= 34:
                body.append(text(x + room / 2, y + 18.5, word, size=12, anchor="middle"))
        said.append(f"{name} {listing(words)}")
    height = top + step * len(names) + 4
    left_out = [f"{len(lines) - 24} more lines"] if len(lines) > 24 else []
    left_out += [f"{len(columns) - 12} more columns"] if len(columns) > 12 else []
    if left_out:
        height += 22
        body.append(text(left, height - 8, f"and {listing(left_out)}", "muted", 12))
    return figure(body, left + room * len(heads) + (50 if slanted else 2), height, title, "; ".join(said))
