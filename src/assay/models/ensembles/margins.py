"""The margins of votes: how clearly an ensemble is right or wrong about each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...base.chart import Chart, Line, Mark
from ...base.record import Grid
from ...base.views import View
from ...base.words import number, percent


def margins_of(votes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Votes for the right class less the most votes for another, as shares of all votes: from -1 to 1.

    `votes` has one row per row and one column per class; a row is right where its margin is positive (Schapire, Freund,
    Bartlett & Lee, Annals of Statistics 26, 1998).

    >>> margins_of(np.array([[3.0, 1.0], [1.0, 3.0]]), np.array([0, 0]))
    array([ 0.5, -0.5])
    """
    rows = np.arange(votes.shape[0])
    own = votes[rows, codes]
    others = votes.copy()
    others[rows, codes] = -np.inf
    most = others.max(axis=1) if votes.shape[1] > 1 else np.zeros(votes.shape[0])
    total = votes.sum(axis=1)
    return np.divide(own - most, total, out=np.zeros(votes.shape[0]), where=total > 0)


@dataclass(frozen=True, kw_only=True)
class Margins(View):
    """How the margins of rows are distributed: `margins` are their quantiles at equal steps from 0 to 1."""

    kind: ClassVar[str] = "margins"
    margins: list[float]
    title: str = "Margins of the training rows"

    @classmethod
    def of(cls, margins: np.ndarray, steps: int = 100, **more: str) -> Margins:
        """From the margins of rows.

        >>> Margins.of(np.array([-0.5, 0.5, 0.75]), steps=2).margins
        [-0.5, 0.5, 0.75]
        """
        return cls(margins=np.quantile(margins, np.linspace(0, 1, steps + 1)).tolist(), **more)

    @property
    def share_wrong(self) -> float:
        """The share of rows with a margin of 0 or less."""
        return float((np.asarray(self.margins) <= 0).mean())

    def chart(self) -> Chart:
        """The share of rows with at most so much margin."""
        shares = np.linspace(0, 1, len(self.margins)).tolist()
        line = Line(self.margins, shares, style="step")
        return Chart(self.title, "margin", "share of rows at most", (line,), (Mark(x=0.0),), (-1.0, 1.0), (0.0, 1.0))

    def to_svg(self, title: str = "") -> str:
        """The cumulative distribution as a stepped line."""
        return self.chart().to_svg()

    @property
    def how_to_read(self) -> str:
        """What margins are."""
        return (
            "The margin of a row is the share of the votes for its class less the largest share for another: 1 where "
            f"all agree and are right, below 0 where the vote is wrong ({percent(self.share_wrong, 1)} of the rows). "
            "Boosting goes on to raise small margins after the training error has stopped falling."
        )

    def grid(self) -> Grid:
        """Tenths of the rows and their margins."""
        places = np.linspace(0, len(self.margins) - 1, 11).round().astype(int)
        lines = [[percent(k / (len(self.margins) - 1), 0), number(self.margins[k])] for k in places.tolist()]
        return Grid(["share of rows", "margin at most"], lines)
