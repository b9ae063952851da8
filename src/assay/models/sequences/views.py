"""What sequences look like: the path of the states over the rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

import numpy as np

from ...base import svg
from ...base.record import Grid
from ...base.views import View
from ...base.words import compact, number


@dataclass(frozen=True, kw_only=True)
class StatePath(View):
    """The values of a sequence, row by row, and the state of each."""

    kind: ClassVar[str] = "state-path"
    values: list[float | None]
    states: list[int]
    n_states: int

    def stays(self) -> list[tuple[int, int, int]]:
        """Runs of one state: state, first row, rows."""
        runs, first = [], 0
        for state, group in groupby(self.states):
            length = len(list(group))
            runs.append((state, first, length))
            first += length
        return runs

    def to_svg(self, title: str = "") -> str:
        """Points coloured by state, with a band of the states below."""
        width, height, left, bottom = 820.0, 260.0, 52.0, 200.0
        known = [v for v in self.values if v is not None] or [0.0]
        low, high = min(known), max(known)
        span = (high - low) or 1.0
        step = (width - left - 12.0) / max(len(self.states), 1)

        def up(value: float) -> float:
            return bottom - (bottom - 20.0) * (value - low) / span

        body = []
        for tick in svg.ticks(low, high, 5):
            body.append(svg.line(left, up(tick), width - 8, up(tick)))
            body.append(svg.text(left - 6, up(tick) + 4, number(tick), "muted", 11, "end"))
        for t, (value, state) in enumerate(zip(self.values, self.states)):
            if value is not None:
                x = left + (t + 0.5) * step
                body.append(svg.line(x, up(value) - 1.5, x, up(value) + 1.5, svg.class_token(state), max(step, 2.5)))
        for state, first, length in self.stays():
            y = bottom + 24.0
            ends = (left + first * step, left + (first + length) * step)
            body.append(svg.line(ends[0], y, ends[1], y, svg.class_token(state), 12.0))
        body.append(svg.text(left - 6, bottom + 28, "state", "muted", 11, "end"))
        words = f"{len(self.states)} rows in {len(self.stays())} stays of {self.n_states} states."
        return svg.figure(body, width, height, title or "The likeliest path of states", words)

    @property
    def how_to_read(self) -> str:
        """How often the state changes."""
        stays = self.stays()
        mean = len(self.states) / max(len(stays), 1)
        return (
            f"The state changes {compact(max(len(stays) - 1, 0))} times; a stay lasts {number(mean)} rows on average."
        )

    def grid(self) -> Grid:
        """Rows and mean value of each state."""
        lines = []
        for state in range(self.n_states):
            own = [v for v, s in zip(self.values, self.states) if s == state and v is not None]
            rows = sum(s == state for s in self.states)
            lines.append([f"state {state}", compact(rows), number(float(np.mean(own))) if own else ""])
        return Grid(["", "rows", "mean"], lines)
