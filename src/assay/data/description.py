"""What is in a table: every column in numbers, and how strongly each pair of columns goes together.

Numbers and dates are sorted once, labels counted once; all that is told of a column comes from that. Associations are
by role: Pearson and Spearman between numeric columns, Cramér's V between columns of labels, the correlation ratio
between a number and a label (see `association`). Columns with more than 50 labels enter with the 49 most frequent and
the rest. Identifiers and free text have no association with anything, and none of their cells is shown.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from .. import _kernels
from ..base.errors import ParameterError, plain
from ..base.record import Grid, Record, jsonable
from ..base.words import compact, count, number
from .association import cramer_v, less_chance, part_correlations
from .findings.finding import DIGITS
from .findings.survey import MISSING, PROBABILITIES, Column, Survey
from .table import Table

BARS = 20
"""Bars of a histogram unless told otherwise."""

MOST_TOP = 10


_HEADS = ("column", "role", "missing", "distinct", "min", "median", "max", "mean", "sd", "most frequent")


@dataclass(frozen=True)
class Description(Record):
    """What `describe` found: `columns` (one mapping each) and `associations` (matrices by kind of pair).

    >>> from assay.data import describe, load_dataset
    >>> found = describe(load_dataset("iris"))
    >>> found.columns[0]["name"], round(found.columns[0]["mean"], 9)
    ('sepal_length', 5.843333333)
    >>> round(found.association("petal_length", "petal_width"), 3)
    0.963
    >>> round(found.association("petal_length", "species"), 3)
    0.97
    """

    name: str
    n_rows: int
    columns: list[dict[str, Any]]
    associations: dict[str, Any]
    missing_map: dict[str, Any]
    table: Table | None = field(default=None, repr=False, compare=False)

    def association(self, one: str, other: str) -> float | None:
        """The strength of one pair: Pearson's r, Cramér's V or the correlation ratio, by their roles."""
        names = self.associations["names"]
        for name in (one, other):
            if name not in names:
                raise ParameterError(
                    "Description.association", f"column '{plain(name)}'", "has no association",
                    "identifiers, free text and dates have none",
                )  # fmt: skip
        return self.associations["strength"][names.index(one)][names.index(other)]

    def to_dict(self) -> dict[str, Any]:
        """The description as plain data."""
        return {
            "name": self.name,
            "rows": self.n_rows,
            "columns": jsonable(self.columns, DIGITS),
            "associations": jsonable(self.associations, DIGITS),
            "missing_map": jsonable(self.missing_map, DIGITS),
        }

    def to_html(self, file: str | Path | None = None) -> str:
        """A self-contained page with a picture of every column, the missingness map and the associations."""
        from .page import describe_page, write_page

        return write_page(describe_page(self), file)

    def __str__(self) -> str:
        rows = [_HEADS, *[_line(column) for column in self.columns]]
        widths = [max(len(row[k]) for row in rows) for k in range(len(_HEADS))]
        right = {2, 3, 4, 5, 6, 7, 8}
        lines = [f"{plain(self.name)}: {count(self.n_rows, 'row')}, {count(len(self.columns), 'column')}"]
        for row in rows:
            cells = [f"{text:>{w}}" if k in right else f"{text:<{w}}" for k, (text, w) in enumerate(zip(row, widths))]
            lines.append(("  " + "  ".join(cells)).rstrip())
        return "\n".join(lines)

    __repr__ = __str__

    def grid(self) -> Grid:
        """The columns as a table of texts."""
        title = f"{plain(self.name)}: {count(self.n_rows, 'row')}, {count(len(self.columns), 'column')}"
        return Grid(_HEADS, [_line(column) for column in self.columns], caption=title, left=2)

    def _repr_html_(self) -> str:
        return self.grid().to_html()


def _line(column: dict[str, Any]) -> tuple[str, ...]:
    def shown(key: str) -> str:
        value = column.get(key)
        return "" if value is None else value[:10] if isinstance(value, str) else number(value)

    middle = column.get("quantiles", {}).get("0.5")
    median = "" if middle is None else middle[:10] if isinstance(middle, str) else number(middle)
    top = column.get("top") or []
    most = f"{plain(top[0]['value'], 20)} ({top[0]['count']})" if top and column["role"] != "numeric" else ""
    return (
        plain(column["name"], 30), column["role"], compact(column["missing"]), compact(column["distinct"]),
        shown("min"), median, shown("max"), shown("mean"), shown("sd"), most,
    )  # fmt: skip


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def describe(
    table: Table | Any,
    *,
    associations: bool = True,
    corrected: bool = True,
    bins: int = BARS,
    n_jobs: int | None = None,
) -> Description:
    """Describe a table (or a pandas or Polars frame): its columns in numbers and their associations.

    `corrected` takes off Cramér's V and the correlation ratio what columns of many labels reach by chance (without
    it, two columns of 50 labels that have nothing to do with one another look strongly tied in 500 rows). `bins` is
    the number of bars of a histogram, and `associations=False` leaves the pairs out. Missing cells are left out pair
    by pair; for Spearman, ranks are those among all present cells of a column.

    >>> import polars as pl
    >>> print(describe(pl.DataFrame({"size": ["S", "M", "S", "L"], "price": [1.5, 2.5, None, 8.0]})))
    table: 4 rows, 2 columns
      column  role     missing  distinct    min  median    max   mean     sd  most frequent
      size    ordinal        0         3                                      S (2)
      price   numeric        1         3  1.500   2.500  8.000  4.000  3.500
    """
    table = table if isinstance(table, Table) else Table.from_frame(table)
    if not isinstance(bins, int) or bins < 2:
        raise ParameterError("describe", "parameter 'bins'", "must be an integer >= 2", f"got {bins!r}")
    return describe_survey(Survey.of(table), associations=associations, corrected=corrected, bins=bins, n_jobs=n_jobs)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def describe_survey(
    survey: Survey, *, associations: bool = True, corrected: bool = True, bins: int = BARS, n_jobs: int | None = None
) -> Description:
    """What `describe` says, from a look at the table that was taken already."""
    known = survey.summaries if bins == BARS else {}
    columns = survey.each(lambda column: known.get(column.name) or summary(column, bins))
    found = _associations(survey, corrected, n_jobs) if associations else {"names": [], "kinds": [], "strength": []}
    table = survey.table
    return Description(table.name, table.n_rows, columns, found, _missing_map(survey), table)


def summary(column: Column, bins: int = BARS) -> dict[str, Any]:
    """What a description says of one column; `bins` are the bars of its histogram."""
    facts: dict[str, Any] = {
        "name": column.name,
        "role": column.role.role,
        "confidence": column.role.confidence,
        "reason": column.role.reason,
        "count": column.series.len() - column.missing,
        "missing": column.missing,
        "distinct": column.distinct,
    }
    if column.role.order:
        facts["order"] = list(column.role.order)
    if facts["count"] == 0:
        return facts
    if column.is_text:
        if column.role.role in ("id", "text"):
            lengths = column.present.str.len_chars()
            facts["length"] = {"min": lengths.min(), "mean": lengths.mean(), "max": lengths.max()}
        else:
            facts["top"] = _top(column.counts)
        return facts
    if column.series.dtype == pl.Boolean:
        return {**facts, "top": _top(column.counts)}
    dates = column.series.dtype.is_temporal()
    values = column.sorted

    def shown(value: float) -> Any:
        return _date(value) if dates else float(value)

    facts |= {"min": shown(values[0]), "max": shown(values[-1])}
    if not dates:
        facts["mean"], facts["sd"] = column.moments
    facts["quantiles"] = {f"{p:g}": shown(q) for p, q in zip(PROBABILITIES, column.quantile(PROBABILITIES))}
    edges, counts = _histogram(column, bins)
    facts["histogram"] = {"edges": [shown(edge) for edge in edges], "counts": counts.tolist()}
    if column.distinct <= 50 and not dates and column.role.role != "id":
        facts["top"] = _top(column.counts)
    return facts


def _date(microseconds: float) -> str:
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=round(microseconds))
    return (
        moment.date().isoformat() if moment.time() == datetime.time() else moment.isoformat(sep=" ", timespec="seconds")
    )


def _top(counts: pl.DataFrame) -> list[dict[str, Any]]:
    return [{"value": label, "count": count} for label, count in counts.head(MOST_TOP).iter_rows()]


def _histogram(column: Column, bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts in bins of equal width; where tails are long, the end bins reach to the smallest and largest value."""
    values = column.sorted
    low, high = float(values[0]), float(values[-1])
    if low == high:
        return np.array([low, high]), np.array([values.size])
    first, last = column.quantile((0.01, 0.99))
    room = 0.25 * (last - first)
    inner = max(low, first - room), min(high, last + room)
    if inner[0] >= inner[1]:
        inner = low, high
    whole = column.is_number and column.distinct <= bins and bool((values == np.floor(values)).all())
    if whole and high - low + 1 <= bins:
        edges = np.arange(low, high + 2) - 0.5
    else:
        edges = np.linspace(inner[0], inner[1], bins + 1)
        edges[0], edges[-1] = low, high
    counts = np.diff(np.searchsorted(values, edges[1:-1], side="left"), prepend=0, append=values.size)
    return edges, counts


def _associations(survey: Survey, corrected: bool, n_jobs: int | None) -> dict[str, Any]:
    numbers, labels = [], []
    for column in survey.columns.values():
        if column.missing == survey.n_rows or column.distinct < 2:
            continue
        role = column.role.role
        if column.is_number and role == "numeric":
            numbers.append(column.name)
        elif role in ("nominal", "binary", "ordinal"):
            labels.append(column.name)
    names = [*numbers, *labels]
    p, q = len(numbers), len(labels)
    strength = np.full((p + q, p + q), np.nan)
    found: dict[str, Any] = {"names": names, "kinds": ["numeric"] * p + ["nominal"] * q, "numeric": numbers}
    counted = [survey.columns[name] for name in numbers]
    if counted and survey.n_rows > 1:
        strength[:p, :p] = part_correlations([column.part for column in counted], survey.n_rows, n_jobs)
        # One column at a time: sorting takes seven times the ranks that are kept of it.
        ranks = survey.each(lambda column: _kernels.twice_ranks(column.numbers), counted, at_once=1)
        ranked = [partial(_ranks, twice) for twice in ranks]
        found["spearman"] = part_correlations(ranked, survey.n_rows, n_jobs).tolist()
        del ranks, ranked
    for i, name in enumerate(labels):
        strength[p + i, p + i] = 1.0
        for j in range(i):
            counts = survey.cross(name, *survey.codes(labels[j]))
            strength[p + i, p + j] = strength[p + j, p + i] = cramer_v(counts, corrected)
    groups = [_Groups.of(survey, label) for label in labels]
    ratios = survey.each(lambda column: _ratios(column, groups, corrected), counted)
    for j, found_ratios in enumerate(ratios):
        strength[p:, j] = strength[j, p:] = found_ratios
    found["pearson"] = strength[:p, :p].tolist()
    found["strength"] = [[None if np.isnan(v) else float(v) for v in row] for row in strength]
    return found


def _ranks(twice: np.ndarray, begin: int, end: int) -> np.ndarray:
    """Mid-ranks of some rows, kept as whole numbers of half the size; NaN where a cell is missing."""
    ranks = twice[begin:end] * 0.5
    ranks[ranks == 0] = np.nan
    return ranks


class _Groups(NamedTuple):
    """The rows of a table by the labels of one column: group of each row, how many groups, which rows have one."""

    codes: np.ndarray
    size: int
    present: np.ndarray | None

    @classmethod
    def of(cls, survey: Survey, name: str) -> _Groups:
        codes, size = survey.codes(name)
        return cls(codes, size, codes != MISSING if survey.columns[name].missing else None)


def _ratios(column: Column, groups: list[_Groups], corrected: bool) -> list[float]:
    """The correlation ratio of one column of numbers with each grouping, over the rows where both are present."""
    values = column.numbers - column.moments[0]
    return [_ratio(by, values, column.central_sums[1], corrected) for by in groups]


def _ratio(groups: _Groups, values: np.ndarray, squares: float, corrected: bool) -> float:
    """The correlation ratio from sums within groups; `squares` is the sum of squares of all values."""
    sums, counts = (found[: groups.size] for found in _kernels.group_sums(groups.codes, values))
    if groups.present is not None:
        kept = np.nan_to_num(values[groups.present])
        squares = float(kept @ kept)
    total = counts.sum()
    if total < 2 or np.count_nonzero(counts) < 2:
        return float("nan")
    off = sums.sum() ** 2 / total
    spread = squares - off
    between = float((sums[counts > 0] ** 2 / counts[counts > 0]).sum()) - off
    if spread <= 0:
        return float("nan")
    share = min(1.0, max(0.0, between / spread))
    return float(np.sqrt(less_chance(share, int(total), int(np.count_nonzero(counts))) if corrected else share))


def _missing_map(survey: Survey, blocks: int = 48) -> dict[str, Any]:
    """The share of missing cells in blocks of consecutive rows, for the columns that have any."""
    blocks = min(blocks, survey.n_rows)
    ends = (np.arange(blocks + 1) * survey.n_rows) // blocks
    shares = {}
    for column in survey.columns.values():
        if column.missing:
            before = np.concatenate([[0], np.cumsum(column.series.is_null().to_numpy())])
            shares[column.name] = ((before[ends[1:]] - before[ends[:-1]]) / np.diff(ends)).round(4).tolist()
    return {"row_ends": ends.tolist(), "shares": shares}
