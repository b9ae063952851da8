"""How many of something there are, by several criteria: their table, their pictures, and what most of them say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..base.chart import Chart, Line, Mark
from ..base.record import Grid, TableRecord
from ..base.words import number


@dataclass(frozen=True)
class CountChoice(TableRecord):
    """What each criterion says of each count: `best` by criterion, `values` in the order of `k`.

    `chosen` is the count that most agree on, the least one of equals; `errors` are standard errors of values, of
    criteria that have them.

    >>> print(CountChoice.of((1, 2), {"bic": (9.0, 7.0)}, {"bic": 2}).sentence)
    2 parts have most votes: bic says 2.
    >>> print(CountChoice.of((1, 2), {"a": (9.0, 7.0), "b": (1.0, 2.0)}, {"a": 2, "b": 1}).sentence)
    1 part, the fewest that have most votes: a says 2; b says 1.
    """

    counted: ClassVar[str] = "parts"
    letter: ClassVar[str] = "k"
    meaning: ClassVar[dict[str, str]] = {}

    k: tuple[int, ...]
    values: dict[str, tuple[float, ...]]
    best: dict[str, int]
    chosen: int
    sentence: str
    errors: dict[str, tuple[float, ...]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        k: tuple[int, ...],
        values: dict[str, tuple[float, ...]],
        best: dict[str, int],
        errors: dict[str, tuple[float, ...]] | None = None,
        **more: Any,
    ) -> Any:
        """The choice of most criteria, in words."""
        votes = list(best.values())
        chosen = max(sorted(set(votes)), key=votes.count)
        said = "; ".join(f"{name} says {best[name]}" for name in best)
        counted, have = (cls.counted, "have") if chosen != 1 else (cls.counted[:-1], "has")
        tied = sum(votes.count(k) == votes.count(chosen) for k in set(votes)) > 1
        verdict = (
            f"{chosen} {counted}, the fewest that have most votes" if tied else f"{chosen} {counted} {have} most votes"
        )
        text = f"{verdict}: {said}."
        return cls(k, values, best, chosen, text, errors or {}, **more)

    def runner_up(self) -> int:
        """The count beyond the chosen one that most criteria name, the least of equals; the chosen one if none is.

        >>> CountChoice.of((1, 2, 3), {}, {"a": 1, "b": 1, "c": 3}).runner_up()
        3
        """
        others = [found for found in self.best.values() if found > self.chosen]
        return max(sorted(set(others)), key=others.count) if others else self.chosen

    def grid(self) -> Grid:
        """A row for each count; the one that a criterion picks is marked."""
        rows = [
            [str(k), *(number(v[i]) + (" *" if self.best[name] == k else "  ") for name, v in self.values.items())]
            for i, k in enumerate(self.k)
        ]
        return Grid([self.letter, *self.values], rows, notes=(f"* {self.sentence}",), left=0)

    def charts(self) -> list[Chart]:
        """One chart for each criterion."""
        return [
            Chart(
                f"{name}: {self.letter} = {self.best[name]}",
                f"number of {self.counted} {self.letter}",
                name,
                (self._line(name),),
                (Mark(x=float(self.best[name]), label=f"{self.letter} = {self.best[name]}", token="warm"),),
                description=self.meaning.get(name, ""),
            )
            for name in self.values
        ]

    def _line(self, name: str) -> Line:
        kept = [i for i, value in enumerate(self.values[name]) if abs(value) != float("inf")]
        x, y = [self.k[i] for i in kept], [self.values[name][i] for i in kept]
        if name not in self.errors:
            return Line(x, y, marker=True)
        spread = [self.errors[name][i] for i in kept]
        low, high = [v - e for v, e in zip(y, spread)], [v + e for v, e in zip(y, spread)]
        return Line(x, y, marker=True, low=low, high=high, band=False)

    def to_svg(self) -> str:
        """The charts of all criteria side by side, as one SVG text."""
        width, height = 330, 270
        parts = [chart.to_svg(width, height) for chart in self.charts()]
        shifted = [
            part.replace("<svg", f'<svg x="{(i % 2) * width}" y="{(i // 2) * height}"', 1)
            for i, part in enumerate(parts)
        ]
        across, down = min(2, len(parts)) * width, (len(parts) + 1) // 2 * height
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {down}" width="{across}" height="{down}">'
        )
        return head + "".join(shifted) + "</svg>"

    def to_html(self) -> str:
        """The picture above the table."""
        return self.to_svg() + super().to_html()
