"""A table against another of the same kind (training and test rows, last month and this): overlap and drift.

Numbers are compared by the Kolmogorov-Smirnov statistic and the population stability index over tenths of the first
table, labels by chi-square and the same index; p-values carry Holm's correction over the columns. A drift counts if
its corrected p is below .01 and its effect is not small (KS distance or total variation at least .1). Whether the
tables can be told apart by all columns together is tried with a linear discriminant that is fitted on half of the rows
and judged by its area under the ROC curve on the other half.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from scipy.special import kolmogorov

from ...base.errors import plain
from ...numeric.solves import ridge_of_products
from ..association import chi_square, holm
from ..map_columns import pick
from .finding import NO_ROWS, Finding, named, quoted, remedy, rows_of
from .survey import Column, Survey, bin_edges, label_codes, number_codes

ALPHA, LEAST_SHIFT, TOLD_APART = 0.01, 0.1, 0.75
_MOST_CODED = 400


def against_findings(survey: Survey, other: Survey, target: str | None) -> Iterator[Finding]:
    """A035 overlap, A036 drift, A037 different columns, A038 unseen categories, A039 tables that can be told apart."""
    yield from _columns(survey, other, target)
    yield from _overlap(survey, other)
    shared = [name for name in survey.columns if name in other.columns and _same_kind(survey, other, name)]
    usable = [
        name for name in shared
        if survey.columns[name].role.role not in ("id", "text") and survey.columns[name].missing < survey.n_rows
        and other.columns[name].missing < other.n_rows
    ]  # fmt: skip
    tests = [shift_of(survey.columns[name], other.columns[name]) for name in usable]
    adjusted: Any = holm([test["p"] for test in tests]) if tests else []
    for name, test, p in zip(usable, tests, adjusted):
        test["p_holm"] = float(p)
        if p < ALPHA and test["shift"] >= LEAST_SHIFT:
            large = test["psi"] >= 0.25 or test["shift"] >= 0.3
            yield Finding(
                "A036", "drift", [name], "medium" if large else "low", NO_ROWS,
                f"{test['how']} (population stability index {test['psi']:.2f}, p {max(p, 1e-99):.1g})",
                remedy("find out what changed; a model learned on one table may fail on the other"), test,
            )  # fmt: skip
    yield from _unseen(survey, other, usable)
    yield from _missing_drift(survey, other, shared)
    yield from _told_apart(survey, other, [name for name in usable if name != target])


def _same_kind(survey: Survey, other: Survey, name: str) -> bool:
    one, two = survey.columns[name].series.dtype, other.columns[name].series.dtype
    return one == two or (one.is_numeric() and two.is_numeric())


def _columns(survey: Survey, other: Survey, target: str | None) -> Iterator[Finding]:
    name = plain(other.table.name, 30)
    lost = [c for c in survey.columns if c not in other.columns and c != target]
    added = [c for c in other.columns if c not in survey.columns]
    kinds = [
        c for c in survey.columns
        if c in other.columns and not _same_kind(survey, other, c)
        and min(survey.columns[c].present.len(), other.columns[c].present.len()) > 0
    ]  # fmt: skip
    for columns, evidence, severity in (
        (lost, f"not in {name}: {named(lost)}", "high"),
        (added, f"only in {name}: {named(added)}", "low"),
        (kinds, "of another type in " + name + ": " + ", ".join(
            f"{plain(c, 30)} ({survey.columns[c].series.dtype} here, {other.columns[c].series.dtype} there)"
            for c in kinds[:3]), "high"),
    ):  # fmt: skip
        if columns:
            yield Finding(
                "A037", "different columns", columns, severity, NO_ROWS, evidence,
                remedy("give both tables the same columns"), {"count": len(columns)},
            )  # fmt: skip


def _overlap(survey: Survey, other: Survey) -> Iterator[Finding]:
    """Rows of the other table that are in this one too (identifiers aside)."""
    names = [
        name for name, column in survey.columns.items()
        if name in other.columns and column.role.role != "id" and _same_kind(survey, other, name)
    ]  # fmt: skip
    if len(names) < 2:
        return
    here, there = (
        pl.DataFrame(
            [c.cast(pl.Float64) if c.dtype.is_numeric() else c for c in pick(looked.table.frame, names)]
        ).hash_rows(seed=0)
        for looked in (survey, other)
    )
    both = there.is_in(here.unique().implode())
    rows = rows_of(both)
    if rows["count"]:
        share = rows["count"] / other.n_rows
        # Few columns with few values repeat by chance; many distinct rows do not.
        telling = here.n_unique() > 0.9 * survey.n_rows
        yield Finding(
            "A035", "overlap of the tables", [], "high" if telling and share > 0.01 else "medium" if telling else "low",
            rows, f"{rows['count']} of {other.n_rows} rows of {plain(other.table.name, 30)} are in this table too",
            remedy("take them out of one table: a score on rows that were learned from is no test"), {"share": share},
        )  # fmt: skip
    for name, column in survey.columns.items():
        if column.role.role == "id" and name in other.columns and _same_kind(survey, other, name):
            theirs = other.columns[name].series
            again = theirs.is_in(column.present.unique().implode()).fill_null(False)
            rows = rows_of(again)
            if rows["count"] and not _counts_up(column):
                yield Finding(
                    "A035", "overlap of the tables", [name], "medium", rows,
                    f"{rows['count']} identifiers of {plain(other.table.name, 30)} are in this table too",
                    remedy("keep one case in one table"), {"share": rows["count"] / other.n_rows},
                )  # fmt: skip


def _counts_up(column: Column) -> bool:
    """A plain row counter starts anew in every table and means no overlap."""
    values = column.sorted if column.is_number else np.empty(0)
    return bool(values.size and values[0] in (0, 1) and values[-1] - values[0] == values.size - 1)


def shift_of(one: Column, two: Column) -> dict[str, Any]:
    """How far two columns of the same kind differ in distribution: shift, p-value, stability index, in words."""
    if one.is_text or one.series.dtype == pl.Boolean:
        return _compare_labels(one, two)
    a, b = one.sorted, two.sorted
    edges = np.unique(np.concatenate([a, b])) if one.distinct + two.distinct <= 2000 else None
    points = np.concatenate([a, b]) if edges is None else edges
    distance = np.searchsorted(a, points, "right") / a.size - np.searchsorted(b, points, "right") / b.size
    shift = float(np.abs(distance).max())
    root = np.sqrt(a.size * b.size / (a.size + b.size))
    p = float(kolmogorov((root + 0.12 + 0.11 / root) * shift))
    tenths = np.unique(one.quantile(tuple(np.arange(1, 10) / 10)))
    psi = _stability(_shares(a, tenths), _shares(b, tenths))
    told = f"median {one.quantile(0.5):.4g} here, {two.quantile(0.5):.4g} there"
    if one.series.dtype.is_temporal():
        told = f"median {one.series.median()!s} here, {two.series.median()!s} there"
    return {"test": "Kolmogorov-Smirnov", "shift": shift, "p": p, "psi": psi,
            "how": f"the values moved ({told}, largest distance {shift:.2f})"}  # fmt: skip


def _shares(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    ends = np.concatenate([[0], np.searchsorted(values, edges), [values.size]])
    return np.diff(ends) / values.size


def _stability(here: np.ndarray, there: np.ndarray) -> float:
    """The population stability index: sum of (q - p) ln(q / p), shares floored at one in ten thousand."""
    p, q = np.maximum(here, 1e-4), np.maximum(there, 1e-4)
    return float(((q - p) * np.log(q / p)).sum())


def _compare_labels(one: Column, two: Column) -> dict[str, Any]:
    joined = one.counts.join(two.counts, on="label", how="full", coalesce=True, suffix="_there").fill_null(0)
    joined = joined.sort(["count", "label"], descending=[True, False])
    here, there = joined["count"].to_numpy().astype(float), joined["count_there"].to_numpy().astype(float)
    if here.size > 50:
        here, there = np.append(here[:49], here[49:].sum()), np.append(there[:49], there[49:].sum())
    statistic, freedom, p = chi_square(np.stack([here, there]))
    shares = here / max(here.sum(), 1), there / max(there.sum(), 1)
    shift = float(np.abs(shares[0] - shares[1]).sum() / 2)
    most = int(np.abs(shares[0] - shares[1]).argmax())
    label = "the rest" if here.size == 50 and most == 49 else f"'{plain(joined['label'][most], 20)}'"
    how = f"the shares moved ({label} {100 * shares[0][most]:.0f} % here, {100 * shares[1][most]:.0f} % there)"
    return {"test": "chi-square", "statistic": statistic, "df": freedom, "shift": shift, "p": p,
            "psi": _stability(*shares), "how": how}  # fmt: skip


def _unseen(survey: Survey, other: Survey, names: list[str]) -> Iterator[Finding]:
    for name in names:
        one, two = survey.columns[name], other.columns[name]
        if not one.is_text:
            continue
        new = two.counts.filter(~pl.col("label").is_in(one.counts["label"].implode()))
        if new.height:
            at = two.series.is_in(new["label"].to_list()).fill_null(False)
            rows = rows_of(at)
            yield Finding(
                "A038", "unseen categories", [name], "medium" if rows["count"] > 0.01 * other.n_rows else "low", rows,
                f"labels of {plain(other.table.name, 30)} that are not in this table: {quoted(new['label'].sort())}",
                remedy("correct them, or give the encoder a label for what it never saw"), {"labels": new.height},
            )  # fmt: skip


def _missing_drift(survey: Survey, other: Survey, names: list[str]) -> Iterator[Finding]:
    for name in names:
        here, there = survey.columns[name].missing, other.columns[name].missing
        table = np.array([[here, survey.n_rows - here], [there, other.n_rows - there]])
        gap = abs(here / survey.n_rows - there / other.n_rows)
        if gap >= 0.05:
            statistic, _, p = chi_square(table)
            if p < ALPHA / max(len(names), 1):
                yield Finding(
                    "A036", "drift", [name], "medium", NO_ROWS,
                    f"{100 * here / survey.n_rows:.1f} % are missing here, {100 * there / other.n_rows:.1f} % there",
                    remedy("find out what changed"), {"test": "chi-square", "statistic": statistic, "p": p},
                )  # fmt: skip


def _design(columns: list[tuple[Column, Column]], which: int, rows: int) -> np.ndarray:
    """Standardised numbers and indicators of labels of one table, scaled by the first."""
    parts = []
    for pair in columns:
        one, this = pair[0], pair[which]
        if one.is_text or one.series.dtype == pl.Boolean:
            series = this.series.cast(pl.String)
            codes, n_codes = label_codes(series, one.leading.head(19))
            parts.append((codes[:, None] == np.arange(n_codes)).astype(np.float64))
        else:
            codes, n_codes = number_codes(this, bin_edges(one, 10))
            parts.append((codes[:, None] == np.arange(n_codes)).astype(np.float64))
    return np.hstack(parts) if parts else np.empty((rows, 0))


def _told_apart(survey: Survey, other: Survey, names: list[str]) -> Iterator[Finding]:
    if len(names) < 2 or min(survey.n_rows, other.n_rows) < 100:
        return
    # Indicators of tenths and labels let a linear rule see any change of a single column's distribution.
    pairs = [(survey.columns[name], other.columns[name]) for name in names][: _MOST_CODED // 10]
    rows = [_sampled(s, seed) for seed, s in enumerate((survey, other))]
    designs = [
        _design([(a, Column((a, b)[k].series.gather(rows[k]), a.role)) if k == 0 else
                 (a, Column(b.series.gather(rows[k]), a.role)) for a, b in pairs], 1, rows[k].size)
        for k in range(2)
    ]  # fmt: skip
    learn = [d[::2] for d in designs]
    test = [d[1::2] for d in designs]
    means = [d.mean(axis=0) for d in learn]
    pooled = sum((d - m).T @ (d - m) for d, m in zip(learn, means)) / sum(d.shape[0] for d in learn)
    ridge = 1e-3 * np.trace(pooled) / max(pooled.shape[0], 1)
    direction = ridge_of_products(pooled, means[1] - means[0], ridge)
    area = _area(test[0] @ direction, test[1] @ direction)
    if area >= TOLD_APART:
        yield Finding(
            "A039", "tables that can be told apart", [], "medium", NO_ROWS,
            f"a linear rule over {len(pairs)} columns tells them apart (area under the ROC curve {area:.2f})",
            remedy("do not expect a score on one table to hold on the other"), {"area": area, "columns": len(pairs)},
        )  # fmt: skip


def _sampled(survey: Survey, seed: int) -> np.ndarray:
    """At most 20,000 rows, drawn once: enough to judge an area to a hundredth."""
    if survey.n_rows <= 20_000:
        return np.random.default_rng(seed).permutation(survey.n_rows)
    return np.random.default_rng(seed).choice(survey.n_rows, 20_000, replace=False)


def _area(low: np.ndarray, high: np.ndarray) -> float:
    order = np.sort(low)
    wins = np.searchsorted(order, high, "left") + np.searchsorted(order, high, "right")
    return float(wins.sum() / (2 * low.size * high.size))
