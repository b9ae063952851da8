"""The coefficient table of a regression, as text, HTML and plain data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...base import plain
from ...base.record import Grid, Record, TableRecord


def combination_text(who: str, names: Sequence[str]) -> str:
    """The warning that some columns repeat others.

    >>> combination_text("GLM", ["height in cm"])
    "GLM: column 'height in cm' is a linear combination of others and was given coefficient 0."
    """
    listed = ", ".join(f"'{plain(name)}'" for name in names[:5])
    if len(names) == 1:
        return f"{who}: column {listed} is a linear combination of others and was given coefficient 0."
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"{who}: columns {listed}{more} are linear combinations of others and were given coefficient 0."


@dataclass(frozen=True)
class CoefficientRow:
    """One line of the table."""

    name: str
    estimate: float
    standard_error: float
    t_value: float
    p_value: float
    low: float
    high: float
    vif: float | None = None
    """Variance inflation factor, where it is known and means something."""


@dataclass(frozen=True, kw_only=True)
class CoefficientTable(TableRecord):
    """How a table of coefficients is printed and shown; what it says of the whole fit are its `_facts`."""

    rows: tuple[CoefficientRow, ...]
    level: float
    n_observations: float
    df_residual: float

    def _facts(self) -> list[str]:  # type: ignore[override]
        raise NotImplementedError  # pragma: no cover

    def to_dict(self) -> dict[str, Any]:
        """Plain data; `coefficients` holds the rows."""
        fields = asdict(self)
        return {"coefficients": list(fields.pop("rows")), **fields}

    def _heads(self) -> list[str]:
        return [
            "",
            "estimate",
            "std. error",
            getattr(self, "statistic", "t"),
            "p",
            f"{self.level:.0%} low",
            f"{self.level:.0%} high",
            *(["VIF"] if self._has_vif() else []),
        ]

    def _has_vif(self) -> bool:
        return any(row.vif is not None for row in self.rows)

    def _cells(self) -> list[list[str]]:
        return [
            [
                plain(row.name, 40),
                f"{row.estimate:.6g}",
                *self._inference(row),
                *(["" if row.vif is None else f"{row.vif:.3g}"] if self._has_vif() else []),
            ]
            for row in self.rows
        ]

    @staticmethod
    def _inference(row: CoefficientRow) -> list[str]:
        """Error, test and interval; dashes for a coefficient held at 0 (a repeated column, the reference level)."""
        if row.estimate == 0 and math.isinf(row.standard_error):
            return ["-"] * 5
        interval = (f"{v:.6g}" for v in (row.low, row.high))
        return [f"{row.standard_error:.6g}", f"{row.t_value:.3f}", f"{row.p_value:.3g}", *interval]

    def grid(self) -> Grid:
        """One line per coefficient, with what is known of the whole fit below."""
        return Grid(self._heads(), self._cells(), notes=self._facts())


@dataclass(frozen=True, kw_only=True)
class RegressionSummary(CoefficientTable):
    """What `LeastSquares.summary()` returns: print it, show it in a notebook, or take `to_dict()`."""

    sigma: float
    r2: float
    adjusted_r2: float
    f_statistic: float
    f_p_value: float
    condition_number: float

    def _facts(self) -> list[str]:  # type: ignore[override]
        return [
            f"n = {self.n_observations:g}, degrees of freedom = {self.df_residual:g}, sigma = {self.sigma:.6g}",
            f"R2 = {self.r2:.6f}, adjusted R2 = {self.adjusted_r2:.6f}, "
            f"F = {self.f_statistic:.4g} (p = {self.f_p_value:.3g}), condition number = {self.condition_number:.3g}",
        ]


@dataclass(frozen=True)
class SummaryOfTargets(Record):
    """The tables of a regression on several targets, one after the other."""

    tables: tuple[RegressionSummary, ...]

    def __getitem__(self, target: int) -> RegressionSummary:
        return self.tables[target]

    def __len__(self) -> int:
        return len(self.tables)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; `targets` holds one table each."""
        return {"targets": [table.to_dict() for table in self.tables]}

    def __str__(self) -> str:
        return "\n\n".join(f"target {k}\n{table}" for k, table in enumerate(self.tables))

    def grid(self) -> Grid:
        """The tables one below the other; the first column says the target."""
        grids = [table.grid() for table in self.tables]
        lines = [[str(k), *line] for k, grid in enumerate(grids) for line in grid.rows]
        return Grid(["target", *grids[0].heads], lines, left=1 + grids[0].left)

    def to_html(self) -> str:
        """The tables as HTML, one after the other."""
        return "".join(f"<h4>target {k}</h4>{table.to_html()}" for k, table in enumerate(self.tables))


@dataclass(frozen=True, kw_only=True)
class GlmSummary(CoefficientTable):
    """What `summary()` of a generalised linear model or of logistic regression returns; t_value holds z where known."""

    statistic: str
    title: str
    dispersion: float
    deviance: float
    null_deviance: float
    log_likelihood: float
    aic: float
    bic: float

    def _facts(self) -> list[str]:  # type: ignore[override]
        return [
            f"{self.title}, n = {self.n_observations:g}, degrees of freedom = {self.df_residual:g}, "
            f"dispersion = {self.dispersion:.6g}",
            f"deviance = {self.deviance:.6g} (null {self.null_deviance:.6g}), "
            f"log likelihood = {self.log_likelihood:.6g}, AIC = {self.aic:.6g}, BIC = {self.bic:.6g}",
        ]
