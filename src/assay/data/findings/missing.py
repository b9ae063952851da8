"""Missing values: how many, whether they depend on other columns, and values that only mean "missing".

Dependence is tested, not guessed: the rows where a column is missing are compared with the others in every other column
(chi-square of the missing indicator against fifths of numbers or the most frequent labels), with Holm's correction over
the other columns. A dependence counts if its corrected p is below .01 and its effect (Cramér's V) is at least .05, so
that a million rows do not make every trifle a finding. Values that depend on themselves leave a mark only in the
column's own shape: a distribution that breaks off at one end, on both the raw and the logarithmic scale, where nothing
else explains the gaps, is suspect; so are gaps that go with the target alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import polars as pl

from ...base.errors import DataError, plain
from ...base.words import count as count_of
from ..association import chi_square, cramer_v, holm
from ..missingness import McarTest, little_mcar
from .finding import Finding, drop_columns, named, quoted, remedy, rows_at, rows_of, share_text
from .survey import Column, Survey, quantiles

TEXT_SENTINELS = (
    "-", "--", "---", ".", "..", "unknown", "missing", "not available", "not applicable", "n.a.", "n.a", "na.", "tbd",
    "undefined", "unspecified", "xxx", "blank", "empty", "no data", "not known", "nil", "n / a", "?", "??", "n/a",
    "#n/a", "not specified", "not given", "no answer", "unbekannt", "keine angabe", "inconnu", "#value!", "#ref!",
    "#div/0!",
)  # fmt: skip
NUMBER_SENTINELS = (-1, -9, -99, -999, -9999, -99999, 99, 999, 9999, 99999, 999999, -888, -777, 888, 777, 8888, 7777)
DATE_SENTINELS = ("1899-12-30", "1899-12-31", "1900-01-01", "1970-01-01", "9999-12-31", "2099-12-31", "1111-11-11")
ALPHA = 0.01
LEAST_EFFECT = 0.05
LEAST_ROWS = 10
FIFTHS = 5
MOST_JOINT = 2e6
"""Patterns of gaps times cubed columns up to which Little's joint test is made."""


def missing_findings(survey: Survey, target: str | None) -> Iterator[Finding]:
    """A001 missing, A002 all missing, A017 missing by other columns, A018 suspected not at random."""
    joint = _joint(survey)

    def look(column: Column) -> list[Finding]:
        gone, rows = column.missing, survey.n_rows
        if gone == rows:
            return [
                Finding(
                    "A002", "all missing", [column.name], "medium", rows_at(np.arange(rows)), "every value is missing",
                    drop_columns("leave it out", [column.name]),
                )
            ]  # fmt: skip
        return list(_missing(survey, column, target, joint)) if column.name != target else []

    for found in survey.each(look, (column for column in survey.columns.values() if column.missing)):
        yield from found


def _joint(survey: Survey) -> McarTest | None:
    """Little's test over the columns of numbers, on at most 20,000 rows spread evenly over the table."""
    numbers = [c for c in survey.columns.values() if c.role.role == "numeric" and 2 * c.missing < survey.n_rows]
    holed = sum(column.missing > 0 for column in numbers)
    step = -(-survey.n_rows // 20_000)
    patterns = min(2.0**holed, survey.n_rows / step)
    if not any(column.missing >= LEAST_ROWS for column in numbers) or patterns * len(numbers) ** 3 > MOST_JOINT:
        return None
    try:
        some = [_every(column, step) for column in numbers]
        return little_mcar(np.column_stack(some), max_iter=100, tol=1e-5)
    except DataError:
        return None


def _every(column: Column, step: int) -> np.ndarray:
    return replace(column, series=column.series.gather_every(step)).numbers


def _missing(survey: Survey, column: Column, target: str | None, joint: McarTest | None) -> Iterator[Finding]:
    gone, rows, name = column.missing, survey.n_rows, column.name
    share = gone / rows
    severity = "high" if share > 0.6 else "medium" if share > 0.05 else "low"
    at = column.series.is_null().arg_true().to_numpy().astype(np.int64)
    mechanism, partners = _mechanism(survey, column, at, target)
    told = "; completely at random as far as tests can tell" if mechanism == "completely at random" else ""
    if told and joint is not None and column.role.role == "numeric":
        told += f" (p {joint.p_value:.2g} in Little's joint test of the numbers)"
    facts = {"missing": gone, "share": share, "mechanism": mechanism, "depends_on": [p["column"] for p in partners]}
    facts |= {} if joint is None else {"little": asdict(joint)}
    strategy = "median" if column.is_number else "most_frequent"
    if share > 0.6:
        cure = drop_columns("leave the column out, or find out why", [name])
    else:
        cure = remedy(
            "impute them, or use a method that takes them", "impute-simple", [name],
            {"strategy": strategy, "add_indicator": mechanism != "completely at random"},
        )  # fmt: skip
    yield Finding(
        "A001", "missing", [name], severity, rows_at(at),
        f"{gone} of {rows} values are missing ({share_text(gone, rows)}){told}", cure, facts,
    )  # fmt: skip
    if mechanism == "depends on columns":
        shown = " and ".join(_told(p) for p in partners[:2])
        # The target is not there when rows have to be predicted.
        groups = [p["column"] for p in partners if p["groups"] and p["column"] != target][:2]
        if groups:
            cure = remedy(
                f"impute within the groups of {named(groups)}, or by multiple imputation", "impute-group", [name],
                {"by": groups, "strategy": strategy},
            )  # fmt: skip
        else:
            cure = remedy("impute from the other columns, several times", "impute-multiple", [name], {"columns": None})
        strongest = max(p["effect"] for p in partners)
        yield Finding(
            "A017", "missing depends on columns", [name, *[p["column"] for p in partners]],
            "medium" if strongest >= 0.1 else "low", rows_at(at),
            f"the share of missing values changes with {shown}", cure, {"tests": partners},
        )  # fmt: skip
    elif mechanism == "suspected not at random":
        if partners:
            why = f"gaps go with the target alone: {_told(partners[0])}"
        else:
            why = cut_of(survey, column)
        yield Finding(
            "A018", "missing not at random", [name], "medium", rows_at(at), f"suspected: {why}",
            remedy(
                "keep a mark of what was missing and find out why; no imputation from the other columns repairs it",
                "impute-simple", [name], {"strategy": strategy, "add_indicator": True},
            ), {"tests": partners},
        )  # fmt: skip


def _told(partner: dict[str, Any]) -> str:
    return f"'{plain(partner['column'], 30)}' ({partner['low']} to {partner['high']}, V {partner['effect']:.2f})"


def _mechanism(survey: Survey, column: Column, at: np.ndarray, target: str | None) -> tuple[str, list[dict[str, Any]]]:
    """The kind of missingness and the tests that speak for it."""
    gone, rows = at.size, survey.n_rows
    if gone < LEAST_ROWS or rows - gone < LEAST_ROWS:
        return "too few to test", []
    tests = []
    for other in survey.columns.values():
        if other.name != column.name and other.role.role not in ("id", "text") and other.missing < rows // 2:
            test = _test(survey, other, at)
            if test is not None:
                tests.append(test)
    if tests:
        adjusted = holm([test["p"] for test in tests])
        for test, p in zip(tests, adjusted):
            test["p_holm"] = float(p)
    partners = [t for t in tests if t["p_holm"] < ALPHA and t["effect"] >= LEAST_EFFECT]
    partners.sort(key=lambda t: -t["effect"])
    if partners and [t["column"] for t in partners] != [target]:
        return "depends on columns", partners[:5]
    if partners or cut_of(survey, column):
        return "suspected not at random", partners
    return "completely at random", []


def _test(survey: Survey, other: Column, at: np.ndarray) -> dict[str, Any] | None:
    """Chi-square of the indicator against one column, bins with an expected count below one merged."""
    codes, n_codes = survey.codes(other.name)
    among = np.bincount(codes[at], minlength=256)[:n_codes].astype(np.float64)
    total = survey.totals(other.name)
    if other.is_number or other.series.dtype.is_temporal():
        fifth = np.minimum((np.cumsum(total) - total / 2) * FIFTHS // max(total.sum(), 1), FIFTHS - 1).astype(int)
        among = np.bincount(fifth, weights=among, minlength=FIFTHS).astype(np.float64)
        total = np.bincount(fifth, weights=total, minlength=FIFTHS).astype(np.float64)
    small = total * among.sum() / max(total.sum(), 1) < 1
    if small.any():
        among = np.append(among[~small], among[small].sum())
        total = np.append(total[~small], total[small].sum())
    table = np.stack([among, total - among])
    statistic, freedom, p = chi_square(table)
    if freedom == 0:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(total > 0, among / total, np.nan)
    return {
        "column": other.name, "chi_square": statistic, "df": freedom, "p": p, "effect": cramer_v(table),
        "groups": other.role.role in ("nominal", "binary", "ordinal"),
        "low": f"{100 * np.nanmin(shares):.0f} %", "high": f"{100 * np.nanmax(shares):.0f} % missing",
    }  # fmt: skip


def cut_of(survey: Survey, column: Column) -> str:
    """`_cut`, found once."""
    if column.name not in survey.cuts:
        survey.cuts[column.name] = _cut(column)
    return survey.cuts[column.name]


def _cut(column: Column) -> str:
    """What is odd about the ends of a distribution that breaks off at one side, or an empty text."""
    if not column.is_number or column.distinct < 30 or column.missing < 0.03 * column.series.len():
        return ""
    values = column.sorted
    if values.size < 100:
        return ""
    sides = [_broken_end(values)]
    if values[0] > 0:
        sides.append(_broken_end(np.log(values)))
    if 0 in sides or len(set(sides)) != 1:
        return ""
    end = float(values[-1] if sides[0] > 0 else values[0])
    # A natural bound (0, 1, 100) is no cut: the scale ends there.
    near = 0.02 * float(values[-1] - values[0])
    round_bound = any(abs(abs(end) - bound) <= near for bound in (0.0, 1.0, 5.0, 10.0, 100.0, 1000.0))
    capped = np.count_nonzero(values == end) > max(3, 0.01 * values.size)
    if round_bound or capped:
        return ""
    where = "above" if sides[0] > 0 else "below"
    return f"the values break off at {end:g}, as if those {where} it were left out"


def _broken_end(values: np.ndarray) -> int:
    """1 or -1 if the density stays high up to that end and fades at the other; 0 otherwise."""
    q25, q75 = values[int(0.25 * values.size)], values[int(0.75 * values.size)]
    width = (q75 - q25) / 4
    if width <= 0:
        return 0
    edges = np.arange(values[0], values[-1] + width, width)
    peak = np.diff(np.searchsorted(values, edges)).max(initial=1)
    low = np.searchsorted(values, values[0] + width) / peak
    high = (values.size - np.searchsorted(values, values[-1] - width)) / peak
    if high >= 0.35 and low <= 0.1:
        return 1
    return -1 if low >= 0.35 and high <= 0.1 else 0


def disguised_findings(survey: Survey, column: Column) -> Iterator[Finding]:
    """A007: values that look like a code for "missing"."""
    if column.missing == survey.n_rows:
        return
    yield from _tokens(survey, column)
    if column.is_text and column.role.role not in ("id", "text"):
        yield from _text_sentinels(column)
    elif column.is_number and column.role.role == "numeric":
        yield from _number_sentinels(column)
    elif column.series.dtype.is_temporal():
        yield from _date_sentinels(column)


def _disguised(column: Column, at: pl.Series, evidence: str, values: list[Any]) -> Finding:
    return Finding(
        "A007", "disguised missing", [column.name], "medium", rows_of(at), evidence,
        remedy(
            "make them missing if that is what they mean", "replace-values", [column.name],
            {"mapping": {column.name: dict.fromkeys(values)}},
        ), {"values": [str(value) for value in values]},
    )  # fmt: skip


def _tokens(survey: Survey, column: Column) -> Iterator[Finding]:
    """Tokens that reading has already made missing."""
    tokens = survey.table.notes.get(column.name, {}).get("tokens") or {}
    count = sum(tokens.values())
    if not count:
        return
    note = survey.table.notes[column.name]
    # Which cells held a token is known where the other gaps are: cells that could not be read are listed in the note.
    unread = [int(row) for row, _ in note.get("first", [])]
    at: list[int] = []
    if count + int(note.get("failed") or 0) == column.missing and len(unread) == int(note.get("failed") or 0):
        gaps = column.series.is_null().arg_true().head(5 + len(unread)).to_list()
        at = [row for row in gaps if row not in unread][:5]
    yield Finding(
        "A007", "disguised missing", [column.name], "low", {"count": count, "first": at},
        f"{count_of(count, 'cell')} with {quoted(tokens)}, read as missing",
        remedy("nothing to do if that is what they mean"), {"tokens": tokens},
    )  # fmt: skip


def _text_sentinels(column: Column) -> Iterator[Finding]:
    labels = column.counts["label"]
    lowered = labels.str.strip_chars().str.to_lowercase()
    hidden = labels.filter(lowered.is_in(TEXT_SENTINELS))
    if hidden.len() and hidden.len() < labels.len():
        at = column.series.is_in(hidden.to_list()).fill_null(False)
        count = int(at.sum())
        yield _disguised(column, at, f"{count_of(count, 'cell')} with {quoted(hidden.sort())}", hidden.sort().to_list())


def _number_sentinels(column: Column) -> Iterator[Finding]:
    """A number such as -999 that is the smallest or largest value, repeats, and lies far outside all the others."""
    values = column.sorted
    for value in sorted({values[0], values[-1]} & {float(s) for s in NUMBER_SENTINELS}):
        first, last = np.searchsorted(values, value), np.searchsorted(values, value, side="right")
        # The value stands at one end, so that the others follow each other.
        others = values[last:] if first == 0 else values[:first]
        count = int(last - first)
        if count < 2 or others.size < 10:
            continue
        lowest, highest = float(others[0]), float(others[-1])
        # Another code may sit at the other end (-99 and 999): the gap is measured against the bulk of the values.
        low, high = quantiles(others, (0.01, 0.99))
        span = float(high - low) or highest - lowest
        gap = lowest - value if value == values[0] else value - highest
        # -1 stands close to counts and shares that start at 0, so it has to be frequent among large values.
        odd = lowest >= 0 and span > 20 and count > 0.01 * column.series.len() if value == -1 else gap > span
        if odd:
            at = (column.series == value).fill_null(False)
            evidence = f"{count} cells hold {value:g}, far from the others ({lowest:g} to {highest:g})"
            yield _disguised(column, at, evidence, [int(value)])


def _date_sentinels(column: Column) -> Iterator[Finding]:
    ends = {str(end) for end in column.present.bottom_k(1).append(column.present.top_k(1)).dt.date()} & set(
        DATE_SENTINELS
    )
    if not ends:
        return
    days = column.present.dt.date().cast(pl.String)
    for day in sorted(ends):
        at = (column.series.dt.date().cast(pl.String) == day).fill_null(False)
        count = int(at.sum())
        others = days.filter(days != day)
        if count >= 2 and others.len() >= 10:
            evidence = f"{count} cells hold {day}; the others lie between {others.min()!s} and {others.max()!s}"
            yield _disguised(column, at, evidence, [day])
