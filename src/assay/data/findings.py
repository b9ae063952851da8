"""The audit: what is wrong, or may be wrong, with a table, before any model sees it.

Each finding has a stable code:

====  ==========================  ==================================================================================
A001  missing                     cells are missing
A002  all missing                 a column holds nothing
A003  constant                    a column holds one value
A004  duplicate rows              rows repeat an earlier row
A005  identifier                  a column names rows and does not describe them
A006  copy of the target          a column all but equals the target (a leak)
A007  disguised missing           a value that looks like a code for "missing" (-999, "unknown")
A008  many categories             a nominal column with very many labels
A009  imbalance                   one class holds nearly all rows
A010  rare class                  a class with very few rows
A011  unreadable cells            cells of a number or date column could not be read, or are infinite
A012  copy of a column            two columns hold the same
A013  free text                   a column of prose
A014  rows without target         the target is missing
A015  labels that differ in case  "Yes" and "yes" in one column
A016  contradictory rows          equal features, different classes
====  ==========================  ==================================================================================

Row numbers count from 0. Everything is exact; nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np
import polars as pl

from ..base.errors import plain
from .table import Table, Target, is_constant

SEVERITIES = ("high", "medium", "low")
_FIRST = 5
_TEXT_SENTINELS = (
    "-", "--", "---", ".", "..", "unknown", "missing", "not available", "not applicable", "n.a.", "n.a", "na.", "tbd",
    "undefined", "unspecified", "xxx", "blank", "empty", "no data", "not known",
)  # fmt: skip
_NUMBER_SENTINELS = (-1, -9, -99, -999, -9999, -99999, 99, 999, 9999, 99999, 999999)
_MANY_CATEGORIES = 50


@dataclass(frozen=True)
class Finding:
    """One thing found: stable code, what it is, where, how bad, which rows, the evidence and what to do."""

    code: str
    kind: str
    columns: list[str]
    severity: str
    rows: dict[str, Any]
    evidence: str
    remedy: str

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Audit:
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

    @property
    def worst(self) -> str | None:
        """The highest severity found, or None."""
        return next((level for level in SEVERITIES if any(f.severity == level for f in self.findings)), None)

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

    def __str__(self) -> str:
        title = f"{plain(self.name)}: {self.n_rows} rows, {self.n_columns} columns, {len(self.findings)} findings"
        if not self.findings:
            return title
        cells = [(f.code, f.severity, f.kind, _named(f.columns), f.evidence, f.remedy) for f in self.findings]
        widths = [max(len(row[k]) for row in cells) for k in range(4)]
        lines = [title]
        for row in cells:
            lines.append("  " + "  ".join(f"{row[k]:<{widths[k]}}" for k in range(4)) + f"  {row[4]}; {row[5]}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in ("code", "severity", "what", "columns", "evidence", "remedy"))
        rows = "".join(
            "<tr>"
            + "".join(
                f"<td>{escape(text)}</td>"
                for text in (f.code, f.severity, f.kind, _named(f.columns), f.evidence, f.remedy)
            )
            + "</tr>"
            for f in self.findings
        )
        title = f"{escape(plain(self.name))}: {len(self.findings)} findings"
        return f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _named(columns: list[str]) -> str:
    shown = ", ".join(plain(name, 30) for name in columns[:3])
    return shown + (f" and {len(columns) - 3} more" if len(columns) > 3 else "")


def audit(table: Table, target: str | Target | None = None) -> Audit:
    """Look for what is wrong with a table; `target` adds the checks that need one.

    >>> import polars as pl
    >>> from assay.data import Table
    >>> table = Table.from_frame(pl.DataFrame({"x": [1.5, 2.5, None], "k": [7, 7, 7]}))
    >>> print(audit(table))
    table: 3 rows, 2 columns, 2 findings
      A001  medium  missing   x  1 of 3 values are missing (33.3 %); impute them, or use a method that takes them
      A003  low     constant  k  every row holds '7'; leave it out
    """
    chosen = table.target(target) if isinstance(target, str) else target
    found: list[Finding] = []
    for series in table.frame.get_columns():
        is_target = chosen is not None and series.name == chosen.name
        found += _column_findings(table, series, is_target)
    found += _duplicates(table, chosen)
    found += _copies_of_columns(table, chosen)
    if chosen is not None:
        found += _target_findings(table, chosen)
        found += _copies_of_target(table, chosen)
    order = {name: position for position, name in enumerate(table.columns)}
    found.sort(key=lambda f: (SEVERITIES.index(f.severity), f.code, order[f.columns[0]] if f.columns else -1))
    return Audit(table.name, table.n_rows, len(table.columns), found)


def _rows(mask: pl.Series) -> dict[str, Any]:
    return {"count": int(mask.sum()), "first": mask.arg_true().head(_FIRST).to_list()}


_NO_ROWS: dict[str, Any] = {"count": 0, "first": []}


# -- one column ------------------------------------------------------------------------------------------------
def _column_findings(table: Table, series: pl.Series, is_target: bool) -> Iterator[Finding]:
    name, rows, missing = series.name, series.len(), series.null_count()
    role = table.roles[name].role
    if missing == rows:
        yield Finding(
            "A002", "all missing", [name], "medium", {"count": rows, "first": list(range(min(rows, _FIRST)))},
            "every value is missing", "leave it out",
        )  # fmt: skip
        return
    if missing and not is_target:
        share = missing / rows
        severity = "high" if share > 0.6 else "medium" if share > 0.05 else "low"
        remedy = "impute them, or use a method that takes them"
        yield Finding(
            "A001", "missing", [name], severity, _rows(series.is_null()),
            f"{missing} of {rows} values are missing ({100 * share:.1f} %)",
            remedy if share <= 0.6 else "leave the column out, or find out why",
        )  # fmt: skip
    present = series if missing == 0 else series.drop_nulls()
    if is_constant(present):
        if missing == 0:
            yield Finding(
                "A003", "constant", [name], "low", {"count": rows, "first": list(range(min(rows, _FIRST)))},
                f"every row holds '{plain(present[0], 30)}'", "leave it out",
            )  # fmt: skip
        return
    if role == "id" and not is_target:
        yield Finding(
            "A005", "identifier", [name], "low", _NO_ROWS, table.roles[name].reason, "keep it out of the features"
        )
    if role == "text" and not is_target:
        yield Finding(
            "A013", "free text", [name], "low", _NO_ROWS, table.roles[name].reason,
            "leave it out, or turn it into columns of word counts",
        )  # fmt: skip
    yield from _unread(table, name)
    if series.dtype == pl.String and role not in ("id", "text"):
        yield from _label_findings(series, present, is_target)
    elif series.dtype.is_numeric() and role == "numeric":
        yield from _sentinels(series, present)


def _unread(table: Table, name: str) -> Iterator[Finding]:
    note = table.notes.get(name, {})
    if note.get("failed"):
        shown = ", ".join(f"'{plain(value, 20)}'" for _, value in note["first"][:3])
        yield Finding(
            "A011", "unreadable cells", [name], "medium",
            {"count": note["failed"], "first": [row for row, _ in note["first"]]},
            f"{note['failed']} cells are no {note['to']} and became missing (such as {shown})",
            "correct them in the source, or declare the column nominal",
        )  # fmt: skip
    if note.get("infinite"):
        yield Finding(
            "A011", "unreadable cells", [name], "medium",
            {"count": note["infinite"], "first": note["infinite_rows"]},
            f"{note['infinite']} cells are infinite and became missing", "correct them in the source",
        )  # fmt: skip
    if note.get("ambiguous"):
        yield Finding(
            "A011", "unreadable cells", [name], "medium", _NO_ROWS, f"looks like {note['ambiguous']}",
            "write dates as year-month-day",
        )  # fmt: skip


def _label_findings(series: pl.Series, present: pl.Series, is_target: bool) -> Iterator[Finding]:
    name = series.name
    labels = present.unique()
    lowered = labels.str.to_lowercase()
    hidden = labels.filter(lowered.is_in(_TEXT_SENTINELS))
    if hidden.len() and hidden.len() < labels.len():
        rows = _rows(series.is_in(hidden.to_list()).fill_null(False))
        shown = ", ".join(f"'{plain(value, 20)}'" for value in hidden.sort().head(3).to_list())
        yield Finding(
            "A007", "disguised missing", [name], "medium", rows, f"{rows['count']} cells hold {shown}",
            "make them missing if that is what they mean",
        )  # fmt: skip
    if lowered.n_unique() < labels.len():
        twice = labels.filter(lowered.is_duplicated()).sort()
        rows = _rows(series.is_in(twice.to_list()).fill_null(False))
        shown = ", ".join(f"'{plain(value, 20)}'" for value in twice.head(4).to_list())
        yield Finding(
            "A015", "labels that differ in case", [name], "medium", rows, f"labels such as {shown}",
            "write each label one way",
        )  # fmt: skip
    if not is_target and labels.len() > _MANY_CATEGORIES:
        mean = present.len() / labels.len()
        yield Finding(
            "A008", "many categories", [name], "medium" if mean < 20 else "low", _NO_ROWS,
            f"{labels.len()} labels, {mean:.1f} rows each in the mean", "group the rare labels, or leave it out",
        )  # fmt: skip


def _sentinels(series: pl.Series, present: pl.Series) -> Iterator[Finding]:
    """A number such as -999 that is the smallest or largest value, repeats, and lies far outside all the others."""
    low, high = _span(present)
    for value in {low, high} & set(_NUMBER_SENTINELS):
        at = (series == value).fill_null(False)
        count = int(at.sum())
        others = present.filter(present != value)
        if count < 2 or others.len() < 10:
            continue
        lowest, highest = _span(others)
        gap = lowest - value if value == low else value - highest
        span = highest - lowest
        # -1 stands close to counts and shares that start at 0, so it has to be frequent among large values.
        odd = lowest >= 0 and span > 20 and count > 0.01 * series.len() if value == -1 else gap > span
        if odd:
            yield Finding(
                "A007", "disguised missing", [series.name], "medium", _rows(at),
                f"{count} cells hold {value:g}, far from the others ({lowest:g} to {highest:g})",
                "make them missing if that is what they mean",
            )  # fmt: skip


def _span(numbers: pl.Series) -> tuple[float, float]:
    return float(numbers.min()), float(numbers.max())  # type: ignore[arg-type]


# -- rows ------------------------------------------------------------------------------------------------------
def _repeats(frame: pl.DataFrame) -> pl.Series:
    """Marks rows that equal an earlier row: candidates by a hash of the row, then compared cell by cell."""
    hashes = frame.hash_rows(seed=0)
    twins = hashes.is_duplicated()
    if not bool(twins.any()):
        return pl.Series(np.zeros(frame.height, dtype=bool))
    rows = twins.arg_true()
    part = frame.filter(twins)
    later = ~part.select(pl.struct(pl.all()).is_first_distinct()).to_series()
    marks = np.zeros(frame.height, dtype=bool)
    marks[rows.to_numpy()[later.to_numpy()]] = True
    return pl.Series(marks)


def _duplicates(table: Table, target: Target | None) -> Iterator[Finding]:
    ids = [name for name, role in table.roles.items() if role.role == "id"]
    frame = table.frame.drop(ids)
    if frame.width == 0:
        return
    repeats = _repeats(frame)
    count = int(repeats.sum())
    if count:
        beside = " (identifiers aside)" if ids else ""
        yield Finding(
            "A004", "duplicate rows", [], "medium" if count / frame.height > 0.01 else "low", _rows(repeats),
            f"{count} of {frame.height} rows repeat an earlier row{beside}",
            "keep one of each if they are the same case; otherwise keep copies in one fold",
        )  # fmt: skip
    if target is not None and target.task == "classify" and frame.width > 2:
        features = frame.drop(target.name) if target.name in frame.columns else frame
        hashes = pl.DataFrame({"row": features.hash_rows(seed=0), "class": table.frame[target.name]})
        if hashes["row"].is_duplicated().any():
            mixed = hashes.filter(pl.col("class").is_not_null()).group_by("row").agg(pl.col("class").n_unique())
            keys = mixed.filter(pl.col("class") > 1)["row"]
            if keys.len():
                rows = _rows(hashes["row"].is_in(keys.implode()))
                yield Finding(
                    "A016", "contradictory rows", [target.name],
                    "medium" if rows["count"] / frame.height > 0.05 else "low", rows,
                    f"{rows['count']} rows share all features with a row of another class",
                    "no model can be right on all of them: check the labels or add columns",
                )  # fmt: skip


# -- columns against columns -----------------------------------------------------------------------------------
def _copies_of_columns(table: Table, target: Target | None) -> Iterator[Finding]:
    """Columns that hold the same cells, found by a hash of the column and then compared."""
    seen: dict[Any, list[str]] = {}
    for series in table.frame.get_columns():
        if (target is not None and series.name == target.name) or series.null_count() == series.len():
            continue
        kind = "number" if series.dtype.is_numeric() else str(series.dtype)
        compared = series.cast(pl.Float64) if kind == "number" else series
        head = tuple(compared.head(16).to_list())
        key = (kind, series.null_count(), head)
        for earlier in seen.get(key, []):
            other = table.frame[earlier]
            other = other.cast(pl.Float64) if kind == "number" else other
            if compared.equals(other, null_equal=True) and not _one_value(compared):
                yield Finding(
                    "A012", "copy of a column", [series.name, earlier], "medium", _NO_ROWS,
                    f"'{plain(series.name, 30)}' holds the same cells as '{plain(earlier, 30)}'", "keep one of them",
                )  # fmt: skip
                break
        else:
            seen.setdefault(key, []).append(series.name)


def _one_value(series: pl.Series) -> bool:
    return is_constant(series.drop_nulls())


# -- the target ------------------------------------------------------------------------------------------------
def _target_findings(table: Table, target: Target) -> Iterator[Finding]:
    if target.n_missing:
        yield Finding(
            "A014", "rows without target", [target.name], "medium" if target.n_missing / table.n_rows > 0.05 else "low",
            _rows(pl.Series(~target.kept)), f"{target.n_missing} of {table.n_rows} rows have no target",
            "they are left out; find out why it is missing",
        )  # fmt: skip
    if target.task != "classify":
        return
    labels, counts = np.unique(target.values, return_counts=True)
    total = int(counts.sum())
    largest = int(counts.argmax())
    if counts[largest] / total >= 0.9:
        yield Finding(
            "A009", "imbalance", [target.name], "medium", _NO_ROWS,
            f"{100 * counts[largest] / total:.1f} % of the rows are '{plain(labels[largest], 30)}'",
            "judge by balanced accuracy or the area under the ROC curve, not by accuracy",
        )  # fmt: skip
    rare = counts < 5
    if rare.any() and total >= 25:
        at = np.zeros(table.n_rows, dtype=bool)
        at[target.kept] = np.isin(target.values, labels[rare])
        shown = ", ".join(f"'{plain(label, 20)}' ({count})" for label, count in zip(labels[rare][:3], counts[rare][:3]))
        yield Finding(
            "A010", "rare class", [target.name], "medium", _rows(pl.Series(at)),
            f"{int(rare.sum())} of {labels.shape[0]} classes have fewer than 5 rows: {shown}",
            "merge them with another class or collect more rows",
        )  # fmt: skip


def _copies_of_target(table: Table, target: Target) -> Iterator[Finding]:
    """Columns that all but equal the target.

    Numbers: |correlation| > .999 with a numeric or two-class target. Labels and few-valued numbers: each label goes
    with one class and each class with one label, in at least .999 of the rows. Needs 20 rows.
    """
    frame = table.frame.filter(pl.Series(target.kept)) if target.n_missing else table.frame
    if frame.height < 20:
        return
    names = [n for n in frame.columns if n != target.name and frame[n].null_count() < 0.5 * frame.height]
    numeric_target, n_classes = _target_numbers(target)
    linear = set()
    if numeric_target is not None:
        numbers = [n for n in names if frame[n].dtype.is_numeric() or frame[n].dtype == pl.Boolean]
        values = frame.select(numbers).with_columns(pl.Series("__target__", numeric_target))
        strengths = values.select(
            [pl.corr(pl.col(n).cast(pl.Float64), pl.col("__target__")).alias(f"{j}") for j, n in enumerate(numbers)]
        )
        for j, name in enumerate(numbers):
            strength = strengths[f"{j}"][0] if strengths.width else None
            if strength is not None and np.isfinite(strength) and abs(strength) > 0.999:
                linear.add(name)
                yield _leak(name, target.name, f"its correlation with the target is {strength:.5f}")
    if target.task == "classify":
        for name in names:
            if name not in linear and not frame[name].dtype.is_temporal():
                share = _one_to_one(frame[name], frame[target.name], n_classes)
                if share is not None and share >= 0.999:
                    yield _leak(name, target.name, f"its values go one to one with the classes in {100 * share:.1f} %")


def _leak(name: str, target: str, evidence: str) -> Finding:
    return Finding(
        "A006", "copy of the target", [name], "high", _NO_ROWS, evidence,
        f"leave it out unless it is known before '{plain(target, 30)}' is",
    )  # fmt: skip


def _target_numbers(target: Target) -> tuple[np.ndarray | None, int]:
    if target.task == "regress":
        return target.values, 0
    classes, codes = np.unique(target.values, return_inverse=True)
    return (codes.astype(np.float64) if classes.shape[0] == 2 else None), classes.shape[0]


def _one_to_one(series: pl.Series, classes: pl.Series, n_classes: int) -> float | None:
    """Share of rows on the best one-to-one pairing of labels and classes; None if the counts rule it out."""
    if series.head(1000).n_unique() > n_classes + 2:
        return None
    pairs = pl.DataFrame({"label": series, "class": classes}).drop_nulls()
    if pairs.height < 20:
        return None
    counts = pairs.group_by("label", "class").len().sort("len", descending=True)
    if counts.height > 50 * n_classes:
        return None
    used_labels, used_classes, matched = set(), set(), 0
    for label, klass, count in counts.iter_rows():
        if label not in used_labels and klass not in used_classes:
            used_labels.add(label)
            used_classes.add(klass)
            matched += count
    return matched / pairs.height if len(used_classes) == n_classes else None
