"""Columns against columns: copies, collinear groups, exact linear dependence, dates that run backwards."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from ... import _kernels
from ...base.errors import plain
from ...numeric.moments import column_products
from ..map_columns import without
from ..table import Target
from .finding import NO_ROWS, Finding, drop_columns, named, remedy, rows_of
from .rows import numeric_columns, over_chunks, repeats
from .survey import Survey

STRONG = 0.95
LARGE_VIF = 10.0
_MOST_COLUMNS = 1000


def copy_findings(survey: Survey, target: str | None) -> Iterator[Finding]:
    """A012: columns that hold the same cells, found by their first cells and then compared."""
    seen: dict[Any, list[str]] = {}
    frame = survey.table.frame
    for column in survey.columns.values():
        series = column.series
        if series.name == target or column.missing == survey.n_rows:
            continue
        kind = "number" if column.is_number else str(series.dtype)
        compared = series.cast(pl.Float64) if kind == "number" else series
        key = (kind, column.missing, tuple(compared.head(16).to_list()))
        for earlier in seen.get(key, []):
            other = frame[earlier].cast(pl.Float64) if kind == "number" else frame[earlier]
            if compared.equals(other, null_equal=True) and column.distinct > 1:
                yield Finding(
                    "A012", "copy of a column", [series.name, earlier], "medium", NO_ROWS,
                    f"'{plain(series.name, 30)}' holds the same cells as '{plain(earlier, 30)}'",
                    drop_columns("keep one of them", [series.name]),
                )  # fmt: skip
                break
        else:
            seen.setdefault(key, []).append(series.name)


def collinear_findings(survey: Survey, target: str | None) -> Iterator[Finding]:
    """A030 strong collinearity (|r| or the variance inflation factor), A031 exact linear dependence."""
    names = numeric_columns(survey, target)[:_MOST_COLUMNS]
    if len(names) < 2 or survey.n_rows < 10:
        return
    rows, means, spreads, correlation = _correlation(survey, names)
    if rows < 10:
        return
    twins = _twins(survey, names)
    dependent: set[int] = set()
    for j, terms in _dependences(correlation, rows):
        dependent |= {j, *terms}
        if len(terms) == 1 and (names[j], names[next(iter(terms))]) in twins:
            continue
        yield _dependence(names, j, terms, means, spreads)
    strong = np.abs(correlation) >= STRONG
    group_of = _groups(strong)
    told: set[int] = set()
    for group in group_of:
        members = [k for k in group if k not in dependent]
        if len(group) < 2 or len(members) < 2:
            continue
        told |= set(group)
        block = np.abs(correlation[np.ix_(group, group)]) - np.eye(len(group)) * 2
        a, b = np.unravel_index(int(block.argmax()), block.shape)
        listed = [names[k] for k in group]
        yield Finding(
            "A030", "strong collinearity", listed, "low", NO_ROWS,
            f"{named(listed)} go together (r {correlation[group[a], group[b]]:.3f} between "
            f"'{plain(listed[a], 30)}' and '{plain(listed[b], 30)}')",
            remedy("keep one, or use a method with a penalty; coefficients of the others cannot be told apart",
                   "drop-columns", listed[1:], {"columns": listed[1:]}),
            {"correlation": float(correlation[group[a], group[b]])},
        )  # fmt: skip
    yield from _inflated(names, correlation, dependent, told, rows)


def _correlation(survey: Survey, names: list[str]) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """Rows without missing cells, means, spreads and correlations, chunk by chunk."""
    width = len(names)
    shift = np.array([survey.columns[name].moments[0] for name in names])
    scale = np.array([survey.columns[name].moments[1] or 1.0 for name in names])
    gram = np.zeros((width + 1, width + 1))

    def products(begin: int, end: int) -> np.ndarray:
        columns = [survey.columns[name].part(begin, end) for name in names]
        cells = _kernels.standard_rows(columns, 0, end - begin, shift, scale, True)
        return column_products(cells)

    for part in over_chunks(survey.n_rows, products):
        gram += part
    rows = int(gram[-1, -1] + 0.5)
    if rows < 10:
        return rows, shift, scale, np.eye(width)
    mean = gram[:width, -1] / rows
    covariance = gram[:width, :width] / rows - np.outer(mean, mean)
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    return rows, shift + scale * mean, scale * spread, covariance / np.outer(spread, spread)


def _twins(survey: Survey, names: list[str]) -> set[tuple[str, str]]:
    """Pairs of equal columns: told as copies already."""
    keys: dict[Any, list[str]] = {}
    for name in names:
        column = survey.columns[name]
        keys.setdefault((column.missing, column.ends, column.moments), []).append(name)
    return {(a, b) for group in keys.values() for a in group for b in group if a != b}


def _dependences(correlation: np.ndarray, rows: int) -> Iterator[tuple[int, dict[int, float]]]:
    """Columns that are linear in earlier ones: (column, {earlier column: weight on the standard scale}).

    Of `rows` rows, any column is linear in `rows` - 1 others, which says nothing about it: the search ends there.
    """
    width = correlation.shape[0]
    kept: list[int] = []
    factor = np.zeros((width, width))
    for j in range(width):
        m = len(kept)
        if m >= rows - 1:
            return
        row = np.zeros(m)
        for i in range(m):
            row[i] = (correlation[j, kept[i]] - factor[i, :i] @ row[:i]) / factor[i, i]
        rest = 1.0 - float(row @ row)
        if rest > 1e-9:
            factor[m, :m] = row
            factor[m, m] = np.sqrt(rest)
            kept.append(j)
            continue
        weights = np.linalg.solve(factor[:m, :m].T, row) if m else np.zeros(0)
        terms = {kept[i]: float(weights[i]) for i in range(m) if abs(weights[i]) > 1e-4}
        if terms:
            yield j, terms


def _dependence(names: list[str], j: int, terms: dict[int, float], means: np.ndarray, spreads: np.ndarray) -> Finding:
    slopes = {k: weight * spreads[j] / spreads[k] for k, weight in terms.items()}
    constant = means[j] - sum(slope * means[k] for k, slope in slopes.items())
    parts: list[str] = []
    for k, slope in list(slopes.items())[:4]:
        sign = " - " if slope < 0 else " + " if parts else ""
        times = "" if abs(abs(slope) - 1) < 1e-4 else f"{abs(slope):.4g} "
        parts.append(f"{sign}{times}{plain(names[k], 30)}")
    if len(slopes) > 4:
        parts.append(" + ...")
    if abs(constant) > 1e-6 * (abs(means[j]) + spreads[j]):
        parts.append(f" {'-' if constant < 0 else '+'} {abs(constant):.4g}")
    equation = f"{plain(names[j], 30)} = {''.join(parts).strip()}"
    return Finding(
        "A031", "linear dependence", [names[j], *[names[k] for k in terms]], "medium", NO_ROWS, equation,
        drop_columns("leave it out: it adds nothing, and least squares has no unique answer with it", [names[j]]),
        {"equation": equation, "weights": {names[k]: slope for k, slope in slopes.items()}, "constant": constant},
    )  # fmt: skip


def _groups(strong: np.ndarray) -> list[list[int]]:
    """Connected groups of columns, each in column order."""
    left = set(range(strong.shape[0]))
    groups = []
    while left:
        edge = [min(left)]
        group = set(edge)
        while edge:
            for k in np.flatnonzero(strong[edge.pop()]):
                if int(k) not in group:
                    group.add(int(k))
                    edge.append(int(k))
        left -= group
        groups.append(sorted(group))
    return groups


def _inflated(
    names: list[str], correlation: np.ndarray, dependent: set[int], told: set[int], rows: int
) -> Iterator[Finding]:
    free = [k for k in range(len(names)) if k not in dependent]
    if len(free) < 3 or rows < 2 * len(free):
        return
    inverse = np.linalg.pinv(correlation[np.ix_(free, free)], hermitian=True)
    factors = {
        names[k]: float(inverse[i, i]) for i, k in enumerate(free) if k not in told and inverse[i, i] > LARGE_VIF
    }
    if factors:
        listed = sorted(factors, key=lambda name: -factors[name])
        yield Finding(
            "A030", "strong collinearity", listed, "low", NO_ROWS,
            f"the other columns explain {named(listed)} almost fully (variance inflation {factors[listed[0]]:.0f})",
            remedy("use a method with a penalty, or leave some out; their coefficients are uncertain"),
            {"variance_inflation": factors},
        )  # fmt: skip


def time_findings(survey: Survey, target: Target | None) -> Iterator[Finding]:
    """A043: a date for nearly every row; the target of a row is then often told by its neighbours in time.

    Medium if the target of rows that follow each other in time goes together (the correlation of its ranks with those
    of the row before is over 0.2 and three standard errors), else low. Copies of rows (identifiers aside) count once:
    a row beside its own copy says nothing about time.
    """
    if target is None:
        return
    n = int(target.kept.sum())
    values = (target.coded[1] if target.classes is not None else target.values).astype(np.float64)
    copied: np.ndarray | None = None
    for column in survey.columns.values():
        series = column.series
        if not series.dtype.is_temporal() or column.missing or column.distinct < max(20, survey.n_rows // 4):
            continue
        dates = series if n == survey.n_rows else series.filter(pl.Series(target.kept))
        together, strong = _told_by_neighbours(dates, values, target.classes is None)
        if strong:
            if copied is None:
                ids = [name for name, role in survey.table.roles.items() if role.role == "id"]
                copied = repeats(without(survey.table.frame, ids))[target.kept]
            if copied.any():
                together, strong = _told_by_neighbours(
                    dates.filter(pl.Series(~copied)), values[~copied], target.classes is None
                )
        name = plain(column.name, 30)
        if strong:
            told = f"its neighbours in time go together (correlation {together:.2f})"
        elif dates.is_sorted() or dates.is_sorted(descending=True):
            told = "rows follow each other"
        else:
            told = "they stand in another order than that of time"
        yield Finding(
            "A043", "rows in time", [column.name], "medium" if strong else "low", NO_ROWS,
            f"'{name}' dates the rows, and {told}; folds drawn at random learn from rows after those tested",
            remedy(f"if later rows are to be predicted, test on later rows: --time {name}, or time={name!r}"),
            {"correlation": together},
        )  # fmt: skip
    del values
    survey.trim()


def _told_by_neighbours(dates: pl.Series, values: np.ndarray, ranked: bool) -> tuple[float, bool]:
    """The correlation of each row's target (or its rank) with that of the row before it in time, and whether it is
    strong."""
    ranks = values[dates.arg_sort().to_numpy()]
    if ranked:
        ranks = np.argsort(np.argsort(ranks, kind="stable"), kind="stable").astype(np.float64)
    together = float(np.corrcoef(ranks[1:], ranks[:-1])[0, 1]) if ranks.std() > 0 else 0.0
    return together, together > max(0.2, 3 / float(np.sqrt(ranks.size)))


def reversed_dates(survey: Survey) -> Iterator[Finding]:
    """A041: two date columns of which the first nearly always comes first, with rows the other way round."""
    names = [c.name for c in survey.columns.values() if c.series.dtype.is_temporal() and c.distinct > 1][:20]
    # Dates far from our time are out of range already; here they would only be told again, once for each partner.
    soon = datetime.datetime.now() + datetime.timedelta(days=3650)
    dates = [survey.columns[name].series for name in names]
    dated = [series.set((series > soon).fill_null(False), None) for series in dates]
    for i, first in enumerate(dated):
        for second in dated[i + 1 :]:
            early, late = first, second
            ahead = int((first > second).sum() or 0)
            behind = int((first < second).sum() or 0)
            if ahead > behind:
                early, late, ahead, behind = second, first, behind, ahead
            if 0 < ahead <= 0.05 * behind:
                bad = (early > late).fill_null(False)
                yield Finding(
                    "A041", "dates in the wrong order", [early.name, late.name], "medium", rows_of(bad),
                    f"'{plain(late.name, 30)}' is before '{plain(early.name, 30)}' in {ahead} rows, after in {behind}",
                    remedy("correct them in the source, or make both missing"), {"before": ahead, "after": behind},
                )  # fmt: skip
