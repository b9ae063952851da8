"""What an audit hands back: findings, each with evidence and a remedy that is a ready preparation step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ...base.errors import ParameterError, plain
from ...base.record import Grid, Record, jsonable
from ...base.words import count

if TYPE_CHECKING:
    from ..table import Table
    from .survey import Survey

SEVERITIES = ("high", "medium", "low")
FIRST = 5
DIGITS = 6
"""Of the numbers that a finding tells programs."""
NO_ROWS: dict[str, Any] = {"count": 0, "first": []}


def remedy(
    words: str, step: str | None = None, columns: Iterable[str] = (), parameters: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A remedy: a sentence, and where one step of preparation does it, the step with its columns and parameters.

    >>> remedy("impute them", "impute-simple", ["age"], {"strategy": "median"})["step"]
    'impute-simple'
    """
    return {"words": words, "step": step, "columns": list(columns), "parameters": dict(parameters or {})}


def drop_columns(words: str, columns: Iterable[str]) -> dict[str, Any]:
    """The remedy that leaves columns out.

    >>> drop_columns("leave it out", ["k"])["parameters"]
    {'columns': ['k']}
    """
    names = list(columns)
    return remedy(words, "drop-columns", names, {"columns": names})


@dataclass(frozen=True)
class Finding(Record):
    """One thing found: stable code, what it is, where, how bad, which rows, the evidence and what to do.

    `evidence` is a sentence and `statistics` the numbers behind it; `remedy` has "words" and, where one step of
    preparation does it, the "step" (its id in the catalogue), "columns" and "parameters". `rows` has their number and
    the positions of the first few, counted from 0 as in the frame; sentences and pages count rows from 1.

    >>> found = Finding("A003", "constant", ["k"], "low", NO_ROWS, "every row holds '7'", remedy("leave it out"))
    >>> found.to_dict()["column"], found.remedy["words"]
    ('k', 'leave it out')
    """

    code: str
    kind: str
    columns: list[str]
    severity: str
    rows: dict[str, Any]
    evidence: str
    remedy: dict[str, Any]
    statistics: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {
            "code": self.code,
            "kind": self.kind,
            "column": self.columns[0] if self.columns else None,
            "columns": list(self.columns),
            "severity": self.severity,
            "rows": {"count": self.rows["count"], "first": list(self.rows["first"]), "counted_from": 0},
            "evidence": self.evidence,
            "statistics": jsonable(self.statistics, DIGITS),
            "remedy": jsonable(self.remedy, DIGITS),
        }


@dataclass(frozen=True)
class Audit(Record):
    """The findings of an audit, most severe first.

    >>> from assay.data import audit, load_dataset
    >>> result = audit(load_dataset("customers"), target="churned")
    >>> [finding.code for finding in result.findings if finding.columns == ["customer_id"]]
    ['A005']
    >>> result.worst
    'medium'
    """

    name: str
    n_rows: int
    n_columns: int
    findings: list[Finding]
    table: Table | None = field(default=None, repr=False, compare=False)
    target: str | None = None
    survey: Survey | None = field(default=None, repr=False, compare=False, kw_only=True)
    """The look at the table that the findings come from; the page is drawn from it."""

    @property
    def worst(self) -> str | None:
        """The highest severity found, or None."""
        return next((level for level in SEVERITIES if any(f.severity == level for f in self.findings)), None)

    def at_least(self, severity: str) -> list[Finding]:
        """The findings of a severity or worse.

        >>> from assay.data import audit, load_dataset
        >>> [finding.code for finding in audit(load_dataset("weather")).at_least("high")]
        []
        """
        if severity not in SEVERITIES:
            raise ParameterError(
                "Audit.at_least", "parameter 'severity'", "must be 'high', 'medium' or 'low'", f"got {severity!r}"
            )
        return [f for f in self.findings if SEVERITIES.index(f.severity) <= SEVERITIES.index(severity)]

    def to_dict(self) -> dict[str, Any]:
        """The audit as plain data."""
        counts = {level: sum(f.severity == level for f in self.findings) for level in SEVERITIES}
        return {
            "name": self.name,
            "rows": self.n_rows,
            "columns": self.n_columns,
            "counts": counts,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def to_html(self, file: str | Path | None = None) -> str:
        """A self-contained page: findings, missingness map, a picture of every column, associations.

        The page holds aggregates and at most the few examples that the findings name, never rows of the table.
        """
        from ..page import audit_page, write_page

        return write_page(audit_page(self), file)

    def __str__(self) -> str:
        size = f"{count(self.n_rows, 'row')}, {count(self.n_columns, 'column')}"
        title = f"{plain(self.name)}: {size}, {count(len(self.findings), 'finding')}"
        if not self.findings:
            return title
        cells = [(f.code, f.severity, f.kind, named(f.columns), f.evidence, f.remedy["words"]) for f in self.findings]
        widths = [max(len(row[k]) for row in cells) for k in range(4)]
        lines = [title]
        for row in cells:
            lines.append("  " + "  ".join(f"{row[k]:<{widths[k]}}" for k in range(4)) + f"  {row[4]}; {row[5]}")
        return "\n".join(lines)

    __repr__ = __str__

    def grid(self) -> Grid:
        """The findings as a table of texts."""
        rows = [[f.code, f.severity, f.kind, named(f.columns), f.evidence, f.remedy["words"]] for f in self.findings]
        heads = ["code", "severity", "what", "columns", "evidence", "remedy"]
        return Grid(heads, rows, caption=f"{plain(self.name)}: {count(len(self.findings), 'finding')}", left=len(heads))

    def _repr_html_(self) -> str:
        return self.grid().to_html()


def named(columns: Sequence[str]) -> str:
    """Names of columns for one line."""
    shown = ", ".join(plain(name, 30) for name in columns[:3])
    return shown + (f" and {len(columns) - 3} more" if len(columns) > 3 else "")


def quoted(values: Iterable[Any], most: int = 3, limit: int = 20) -> str:
    """The first few values in quotes.

    >>> quoted(["a", "b", "c", "d"])
    "'a', 'b', 'c', ..."
    """
    listed = [f"'{plain(value, limit)}'" for value in values]
    return ", ".join(listed[:most]) + (", ..." if len(listed) > most else "")


def rows_of(mask: pl.Series | np.ndarray) -> dict[str, Any]:
    """How many rows a mask marks, and the first few."""
    if isinstance(mask, np.ndarray):
        found = np.flatnonzero(mask)
        return {"count": int(found.size), "first": found[:FIRST].tolist()}
    return {"count": int(mask.sum() or 0), "first": mask.fill_null(False).arg_true().head(FIRST).to_list()}


def rows_at(indices: np.ndarray) -> dict[str, Any]:
    """Rows given by their numbers, in ascending order."""
    return {"count": int(indices.size), "first": [int(row) for row in indices[:FIRST]]}


def share_text(count: int, total: int) -> str:
    """A share in per cent; never 0.0 for something that is there.

    >>> share_text(1, 3), share_text(1, 10000)
    ('33.3 %', '0.01 %')
    """
    share = 100 * count / max(total, 1)
    return f"{share:.1f} %" if share >= 0.1 else f"{share:.2g} %"
