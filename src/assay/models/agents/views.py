"""What agents look like: the best action of every cell of a grid, and how the return rose while they learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.stats import t as student

from ...base import ParameterError, Real, svg
from ...base.chart import Chart, Drawn, Line
from ...base.record import Grid, Record
from ...base.unsupervised import check_count
from ...base.views import View
from ...base.words import compact, number

_WAYS = {"up": (0.0, -1.0), "right": (1.0, 0.0), "down": (0.0, 1.0), "left": (-1.0, 0.0)}
_BLIND = "#GHC"


@dataclass(frozen=True, kw_only=True)
class PolicyGrid(View):
    """The best action and the value of every cell; `cells` has a letter for each (see `grids`)."""

    kind: ClassVar[str] = "policy-grid"
    rows: int
    columns: int
    cells: str
    policy: list[int]
    values: list[float]
    actions: list[str]

    def _letter(self, state: int) -> str:
        return self.cells[state] if state < len(self.cells) else "."

    def _name(self, action: int) -> str:
        return self.actions[action] if action < len(self.actions) else str(action)

    def to_svg(self, title: str = "") -> str:
        """Arrows on a grid that is darker where values are higher; walls are dark, letters mark special cells."""
        side = min(46.0, 820.0 / max(self.columns, 1))
        seen = [v for s, v in enumerate(self.values) if self._letter(s) not in _BLIND] or [0.0]
        low, span = min(seen), (max(seen) - min(seen)) or 1.0
        body = []
        for state, value in enumerate(self.values[: self.rows * self.columns]):
            row, column = divmod(state, self.columns)
            x, y, letter = column * side, row * side, self._letter(state)
            tip = f"cell {row + 1}, {column + 1}: value {number(value)}"
            if letter in "#HC":
                body.append(
                    svg.rect(x + 1, y + 1, side - 2, side - 2, "muted" if letter == "#" else "bad", opacity=0.55)
                )
            else:
                tip += "" if letter == "G" else f", {self._name(self.policy[state])}"
                opacity = 0.9 if letter == "G" else 0.04 + 0.46 * (value - low) / span
                tint = "warm" if letter == "G" else "accent"
                body.append(svg.rect(x + 1, y + 1, side - 2, side - 2, tint, opacity=opacity, tip=tip))
            if letter in "SG":
                body.append(svg.text(x + 4, y + 13, letter, size=11, weight=650))
            if letter not in _BLIND:
                body += self._mark(self.policy[state], x + side / 2, y + side / 2, side)
        said = f"{self.rows} x {self.columns} cells; values from {number(low)} to {number(low + span)}."
        return svg.figure(body, self.columns * side, self.rows * side, title or "The best action of every cell", said)

    def _mark(self, action: int, x: float, y: float, side: float) -> list[str]:
        name = self._name(action)
        if name not in _WAYS:
            return [svg.text(x, y + 5, name[:3], size=12, anchor="middle")]
        across, down = (part * side * 0.26 for part in _WAYS[name])
        tip, wing = (x + across, y + down), side * 0.11
        back = (tip[0] - across * 0.5, tip[1] - down * 0.5)
        aside = (wing, 0.0) if across == 0 else (0.0, wing)
        return [
            svg.line(x - across, y - down, *tip, "ink", 1.8),
            svg.line(back[0] + aside[0], back[1] + aside[1], *tip, "ink", 1.8),
            svg.line(back[0] - aside[0], back[1] - aside[1], *tip, "ink", 1.8),
        ]

    @property
    def how_to_read(self) -> str:
        """What arrows and shades are."""
        return "An arrow is the best action of its cell; darker cells are worth more."

    def to_text(self) -> str:
        """The grid in letters: arrows for actions."""
        arrows = {"up": "^", "right": ">", "down": "v", "left": "<"}
        marks = [
            letter if (letter := self._letter(state)) in _BLIND else arrows.get(self._name(a), self._name(a)[:1])
            for state, a in enumerate(self.policy)
        ]
        return "\n".join("".join(marks[r * self.columns : (r + 1) * self.columns]) for r in range(self.rows))

    def grid(self) -> Grid:
        """Cell, action and value."""
        lines = [
            [f"{s // self.columns + 1}, {s % self.columns + 1}", self._name(self.policy[s]), number(self.values[s])]
            for s in range(min(len(self.policy), 400))
            if self._letter(s) not in _BLIND
        ]
        return Grid(["cell", "action", "value"], lines)


@dataclass(frozen=True, kw_only=True)
class LearningCurve(Drawn, Record):
    """The mean return of windows of episodes, with an interval over the replicates where there are several."""

    episodes: list[int]
    mean: list[float]
    low: list[float] | None
    high: list[float] | None
    confidence: float
    n_replicates: int
    window: int
    sentence: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sentence", self._said())

    def _said(self) -> str:
        said = f"The mean return of the last {compact(self.window)} episodes is {number(self.mean[-1])}"
        if self.low is None or self.high is None:
            return f"{said}."
        ends = f"{number(self.low[-1])} to {number(self.high[-1])}"
        return f"{said} ({100 * self.confidence:g} % interval {ends}, {self.n_replicates} replicates)."

    def chart(self) -> Chart:
        """Return against episode."""
        line = Line(self.episodes, self.mean, low=self.low, high=self.high)
        return Chart("Learning curve", "episode", "return", (line,), description=self.sentence)

    def grid(self) -> Grid:
        """Episode, mean and interval."""
        return self.chart().grid()


def curve_of(returns: np.ndarray, window: int | None, confidence: float) -> LearningCurve:
    """The learning curve of returns, replicates x episodes; with several replicates the t interval over them."""
    if window is not None:
        check_count("learning_curve", window, "window")
    if not Real(0, 1, "neither").accepts(confidence):
        raise ParameterError("learning_curve", "confidence", "must be a number between 0 and 1", f"got {confidence!r}")
    replicates, episodes = returns.shape
    width = min(window or max(1, episodes // 50), episodes)
    blocks = episodes // width
    used = returns[:, episodes - blocks * width :]
    means = used.reshape(replicates, blocks, width).mean(axis=2)
    middle, ends = means.mean(axis=0), np.arange(1, blocks + 1) * width + (episodes - blocks * width)
    low = high = None
    if replicates > 1:
        half = student.ppf(0.5 + confidence / 2, replicates - 1) * means.std(axis=0, ddof=1) / np.sqrt(replicates)
        low, high = (middle - half).tolist(), (middle + half).tolist()
    return LearningCurve(
        episodes=ends.tolist(),
        mean=middle.tolist(),
        low=low,
        high=high,
        confidence=confidence,
        n_replicates=replicates,
        window=width,
    )
