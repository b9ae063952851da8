"""Whether the chains of multiple imputation have settled: their paths, R-hat, and a figure of both."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..base import ParameterError, plain, svg
from ..base.record import Grid, TableRecord
from ..base.words import number

PANEL_WIDTH, PANEL_HEIGHT, MARGIN = 300, 96, 46
MOST_PANELS = 12


def gelman_rubin(paths: Any) -> float:
    """R-hat of one quantity along several chains, over the later half of their steps: near 1 once they mix.

    `paths` has one row per chain. With W the mean variance within chains of length T and B / T the variance of their
    means, R-hat is the root of ((T - 1) / T W + B / T) / W (Gelman & Rubin 1992). NaN for one chain or fewer than
    four steps.

    >>> round(gelman_rubin([[0.0, 0, 1, 2, 1, 2], [0.0, 0, 2, 1, 2, 1], [9.0, 5, 1, 1, 2, 2]]), 3)
    0.882
    """
    values = np.asarray(paths, dtype=np.float64)
    values = values[:, values.shape[1] // 2 :]
    chains, steps = values.shape
    if chains < 2 or steps < 2 or not np.isfinite(values).all():
        return float("nan")
    within = float(values.var(axis=1, ddof=1).mean())
    between = float(values.mean(axis=1).var(ddof=1))
    if within <= 1e-14 * between or within == 0:
        return 1.0 if between == 0 else float("inf")
    return float(np.sqrt((steps - 1) / steps + between / within))


@dataclass(frozen=True)
class Convergence(TableRecord):
    """Mean and standard deviation of the imputed cells by chain and sweep, with R-hat, one entry per column.

    Chains that have settled cross each other freely and show no trend; R-hat well above 1.2 over many sweeps says they
    have not, and `max_iter` should grow. For a nominal column the quantities are those of its category codes.

    >>> import numpy as np
    >>> found = Convergence(["age"], np.zeros((2, 8, 1)), np.ones((2, 8, 1)))
    >>> found.r_hat_mean.tolist()
    [1.0]
    """

    columns: list[str]
    mean: np.ndarray
    """Chains x sweeps x columns."""
    deviation: np.ndarray

    @property
    def r_hat_mean(self) -> np.ndarray:
        """R-hat of the mean of the imputed cells of each column."""
        return np.array([gelman_rubin(self.mean[:, :, j]) for j in range(len(self.columns))])

    @property
    def r_hat_deviation(self) -> np.ndarray:
        """R-hat of the standard deviation of the imputed cells of each column."""
        return np.array([gelman_rubin(self.deviation[:, :, j]) for j in range(len(self.columns))])

    def grid(self) -> Grid:
        """R-hat by column."""
        pairs = zip(self.columns, self.r_hat_mean, self.r_hat_deviation, strict=True)
        return Grid(
            ["column", "R-hat mean", "R-hat sd"],
            [[plain(name, 30), number(first, 2), number(second, 2)] for name, first, second in pairs],
        )

    def __str__(self) -> str:
        return self.to_text() if self.columns else "no missing cells: nothing to converge"

    def to_html(self) -> str:
        """The table and the paths of the chains."""
        return self.grid().to_html() + self.figure()

    def figure(self, columns: list[str] | None = None) -> str:
        """The paths of the chains as SVG: for each column one panel for the mean, one for the standard deviation.

        Without `columns`, the twelve columns with the largest R-hat are drawn.
        """
        for name in columns or ():
            if name not in self.columns:
                raise ParameterError(
                    "Convergence.figure",
                    "parameter 'columns'",
                    "must name columns with missing cells",
                    f"got '{plain(name)}'",
                )
        if columns is None:
            worst = np.nan_to_num(np.fmax(self.r_hat_mean, self.r_hat_deviation), nan=0.0, posinf=1e9)
            chosen = sorted(np.argsort(-worst, kind="stable")[:MOST_PANELS].tolist())
        else:
            chosen = [self.columns.index(name) for name in columns]
        body = []
        top = 30.0
        for j in chosen:
            label, full = svg.fit(self.columns[j], 2 * PANEL_WIDTH, 13)
            body.append(svg.text(MARGIN, top, label, weight=600, full=full))
            for side, (what, paths, r_hat) in enumerate(
                (
                    ("mean", self.mean[:, :, j], self.r_hat_mean[j]),
                    ("standard deviation", self.deviation[:, :, j], self.r_hat_deviation[j]),
                )
            ):
                body += _panel(MARGIN + side * (PANEL_WIDTH + MARGIN), top + 12, what, paths, float(r_hat))
            top += PANEL_HEIGHT + 62
        listed = "; ".join(f"{plain(self.columns[j], 40)}: R-hat {number(self.r_hat_mean[j], 2)}" for j in chosen)
        return svg.figure(
            body,
            2 * (PANEL_WIDTH + MARGIN) + 20,
            max(top, 60),
            "Convergence of the imputed cells",
            f"Mean and standard deviation of the imputed cells by sweep, one line per chain. {listed}",
        )


def _panel(left: float, top: float, what: str, paths: np.ndarray, r_hat: float) -> list[str]:
    """One small chart: a line per chain over the sweeps."""
    finite = paths[np.isfinite(paths)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        low, high = low - 0.5, high + 0.5
    steps = paths.shape[1]

    def x_of(step: float) -> float:
        return left + PANEL_WIDTH * (step / max(steps - 1, 1))

    def y_of(value: float) -> float:
        return top + PANEL_HEIGHT - PANEL_HEIGHT * (value - low) / (high - low)

    body = [svg.rect(left, top, PANEL_WIDTH, PANEL_HEIGHT, stroke="line")]
    for tick in svg.ticks(low, high, 3):
        body.append(svg.line(left, y_of(tick), left + PANEL_WIDTH, y_of(tick)))
        body.append(svg.text(left - 4, y_of(tick) + 4, f"{tick:g}", "muted", 10, "end"))
    for chain, path in enumerate(paths):
        points = [(x_of(step), y_of(float(value))) for step, value in enumerate(path) if np.isfinite(value)]
        body += [svg.line(a[0], a[1], b[0], b[1], svg.class_token(chain), 1.5) for a, b in pairwise(points)]
    caption = what if not np.isfinite(r_hat) else f"{what}, R-hat {number(r_hat, 2)}"
    body.append(svg.text(left, top + PANEL_HEIGHT + 16, "sweep 1", "muted", 10))
    body.append(svg.text(left + PANEL_WIDTH, top + PANEL_HEIGHT + 16, f"sweep {steps}", "muted", 10, "end"))
    body.append(svg.text(left + PANEL_WIDTH / 2, top + PANEL_HEIGHT + 16, caption, "muted", 11, "middle"))
    return body
