"""Two sources before they are merged: what would break, and what would go wrong without a word.

====  ===========================  =====================================================================================
M001  columns of one side          columns that only one source has
M002  names that nearly match      "Customer ID" and "customer_id": one column under two names
M003  different types              a shared column holds numbers here and text there
M004  different units              a shared column is about 1000 (or another factor between units) times the other
M005  different formats            a shared column is written another way (case, padding, pattern)
M006  different categories         labels that only one source has
M007  key not unique               a key repeats: the join multiplies rows (how many is said)
M008  keys without partner         keys of one source that the other does not have
M009  keys that match when cleaned keys that meet only after case, spaces or leading zeros are taken off
M010  conflicting cells            the same key with different values in a shared column
M011  no key                       no shared column can serve as a key
M012  missing keys                 rows without a key
====  ===========================  =====================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ..base.errors import DataError, plain
from ..base.words import count
from .findings.finding import NO_ROWS, SEVERITIES, Audit, Finding, named, quoted, remedy, rows_of
from .findings.formats import DATE_SHAPES
from .findings.labels import normal_form
from .findings.numbers import FAR_FACTORS
from .findings.survey import Survey
from .map_columns import pick
from .roles import nearest
from .table import Table

_MOST_LABELS = 10_000


@dataclass(frozen=True)
class MergeCheck(Audit):
    """The findings of a merge check, with the key it used and what a join would give."""

    on: tuple[str, ...] = ()
    rows_after: dict[str, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The check as plain data."""
        return {**super().to_dict(), "on": list(self.on), "rows_after": self.rows_after}


def merge_check(left: Table | Any, right: Table | Any, on: str | Sequence[str] | None = None) -> MergeCheck:
    """Look at two sources before merging; `on` names the key (one column or several), None looks for one.

    A key that is given is meant to be joined on, so what breaks the join is severe; a key that was found is only
    proposed, and nothing about it is.

    >>> import polars as pl
    >>> people = pl.DataFrame({"id": [1, 2, 3, 4], "city": ["Rome", "Oslo", "Rome", "Bern"]})
    >>> visits = pl.DataFrame({"id": [1, 1, 2, 9], "city": ["Rome", "rome", "Oslo", "Bern"]})
    >>> found = merge_check(people, visits, on="id")
    >>> [finding.code for finding in found.findings]
    ['M005', 'M007', 'M010', 'M008', 'M008']
    >>> found.rows_after["inner"]
    3
    """
    one = left if isinstance(left, Table) else Table.from_frame(left, name="left")
    two = right if isinstance(right, Table) else Table.from_frame(right, name="right")
    here, there = Survey.of(one), Survey.of(two)
    key, given = _key(here, there, on)
    found = [*_columns(here, there), *_shared(here, there, key)]
    after = None
    if key:
        keyed, after = _join(here, there, key, given)
        found += keyed
    else:
        words = "no shared column is unique on either side"
        cure = remedy("name the key, or stack the tables instead of joining them")
        found.append(Finding("M011", "no key", [], "low", NO_ROWS, words, cure))
    found.sort(key=lambda finding: (SEVERITIES.index(finding.severity), finding.code))
    name = f"{one.name} and {two.name}"
    return MergeCheck(name, one.n_rows, len(one.columns), found, one, None, tuple(key), after)


def _key(here: Survey, there: Survey, on: str | Sequence[str] | None) -> tuple[list[str], bool]:
    if on is not None:
        names = [on] if isinstance(on, str) else list(on)
        for survey in (here, there):
            for name in names:
                if name not in survey.columns:
                    raise DataError(
                        "merge_check", f"column '{plain(name)}'", f"is not in '{plain(survey.table.name, 40)}'",
                        way_out=nearest(name, list(survey.columns)),
                    )  # fmt: skip
        return names, True
    best: tuple[float, str] | None = None
    for name, column in here.columns.items():
        other = there.columns.get(name)
        if other is None or not column.present.len() or not other.present.len():
            continue
        unique = max(c.distinct / c.present.len() for c in (column, other))
        named_so = "id" in (column.role.role, other.role.role)
        if unique >= 0.95 and (named_so or (column.is_text and column.role.role != "text")):
            score = unique + named_so
            best = max(best, (score, name)) if best else (score, name)
    return ([best[1]] if best else []), False


def _columns(here: Survey, there: Survey) -> Iterator[Finding]:
    only_here = [name for name in here.columns if name not in there.columns]
    only_there = [name for name in there.columns if name not in here.columns]
    forms = {_bare(name): name for name in only_there}
    pairs = {name: forms[_bare(name)] for name in only_here if _bare(name) in forms}
    for name, other in pairs.items():
        yield Finding(
            "M002", "names that nearly match", [name, other], "medium", NO_ROWS,
            f"'{plain(name, 30)}' here is '{plain(other, 30)}' there", remedy("give the column one name"),
        )  # fmt: skip
    for names, survey in ((only_here, here), (only_there, there)):
        rest = [name for name in names if name not in pairs and name not in pairs.values()]
        if rest:
            yield Finding(
                "M001", "columns of one side", rest, "low", NO_ROWS,
                f"only in {plain(survey.table.name, 30)}: {named(rest)}",
                remedy("stacking would leave them empty for the other source"), {"count": len(rest)},
            )  # fmt: skip


def _bare(name: str) -> str:
    return "".join(ch for ch in name.lower() if ch.isalnum())


def _kind(survey: Survey, name: str) -> str:
    kind = survey.columns[name].series.dtype
    if kind.is_numeric():
        return "numbers"
    return "dates" if kind.is_temporal() else "true or false" if kind == pl.Boolean else "text"


def _shared(here: Survey, there: Survey, key: list[str]) -> Iterator[Finding]:
    for name in here.columns:
        if name not in there.columns:
            continue
        one, two = here.columns[name], there.columns[name]
        if not one.present.len() or not two.present.len():
            continue
        kinds = _kind(here, name), _kind(there, name)
        if kinds[0] != kinds[1]:
            yield Finding(
                "M003", "different types", [name], "high" if name in key else "medium", NO_ROWS,
                f"{kinds[0]} here (such as '{plain(one.present[0], 20)}'), {kinds[1]} there "
                f"(such as '{plain(two.present[0], 20)}')",
                remedy("make both the same type before merging"), {"here": kinds[0], "there": kinds[1]},
            )  # fmt: skip
        elif name in key:
            continue
        elif kinds[0] == "numbers" and one.role.role == "numeric":
            yield from _units(here, there, name)
        elif kinds[0] == "text" and one.role.role not in ("id", "text"):
            yield from _labels(here, there, name)


def _units(here: Survey, there: Survey, name: str) -> Iterator[Finding]:
    one, two = here.columns[name], there.columns[name]
    if min(one.sorted.size, two.sorted.size) < 10 or one.sorted[0] < 0 or two.sorted[0] < 0:
        return
    middles = float(one.quantile(0.5)), float(two.quantile(0.5))
    if min(middles) <= 0:
        return
    apart = math.log10(middles[0] / middles[1])
    low, high = (np.log10(np.maximum(c.quantile((0.1, 0.9)), 1e-300)) for c in (one, two))
    spread = max(low[1] - low[0], high[1] - high[0])
    factors = (*FAR_FACTORS, 2.204623, 2.54, 3.28084, 1.609344, 10.0)
    factor = min(factors, key=lambda f: abs(math.log10(f) - abs(apart)))
    disjoint = low[0] > high[1] or high[0] > low[1]
    if disjoint and abs(math.log10(factor) - abs(apart)) < 0.15 and math.log10(factor) > spread / 2:
        yield Finding(
            "M004", "different units", [name], "medium", NO_ROWS,
            f"median {middles[0]:.4g} here, {middles[1]:.4g} there: about {factor:g} times, as if in another unit",
            remedy(f"bring both to one unit ({'divide' if apart > 0 else 'multiply'} this side by {factor:g})"),
            {"factor": factor, "median_here": middles[0], "median_there": middles[1]},
        )  # fmt: skip


def _labels(here: Survey, there: Survey, name: str) -> Iterator[Finding]:
    one, two = here.columns[name], there.columns[name]
    ours, theirs = one.counts["label"], two.counts["label"]
    shapes = [
        {k for k, p in DATE_SHAPES.items() if bool(labels.head(50).str.contains(p).all())} for labels in (ours, theirs)
    ]
    if shapes[0] and shapes[1] and shapes[0] != shapes[1]:
        yield Finding(
            "M005", "different formats", [name], "medium", NO_ROWS,
            f"dates as {min(shapes[0])} here, as {min(shapes[1])} there", remedy("write every date as year-month-day"),
        )  # fmt: skip
        return
    if max(ours.len(), theirs.len()) > _MOST_LABELS:
        return
    new = theirs.filter(~theirs.is_in(ours.implode()))
    lost = ours.filter(~ours.is_in(theirs.implode()))
    if not new.len() and not lost.len():
        return
    known = dict(zip(normal_form(ours).to_list(), ours.to_list()))
    same = {label: known[form] for label, form in zip(new.to_list(), normal_form(new).to_list()) if form in known}
    if same:
        shown = ", ".join(f"'{plain(b, 20)}' here, '{plain(a, 20)}' there" for a, b in list(same.items())[:2])
        yield Finding(
            "M005", "different formats", [name], "medium", rows_of(two.series.is_in(list(same)).fill_null(False)),
            f"labels written in two ways: {shown}",
            remedy("write each label one way", "replace-values", [name], {"mapping": {name: same}}),
            {"labels": len(same)},
        )  # fmt: skip
    new = new.filter(~new.is_in(list(same)))
    lost = lost.filter(~lost.is_in(list(same.values())))
    if new.len() or lost.len():
        share = float(two.counts.filter(pl.col("label").is_in(new.implode()))["count"].sum()) / two.present.len()
        parts = [f"{side}: {quoted(s.sort())}" for side, s in (("only here", lost), ("only there", new)) if s.len()]
        yield Finding(
            "M006", "different categories", [name], "medium" if share > 0.2 else "low",
            rows_of(two.series.is_in(new.to_list()).fill_null(False)), "; ".join(parts),
            remedy("map them to one set of labels, or keep them apart on purpose"),
            {"only_here": lost.len(), "only_there": new.len(), "share_there": share},
        )  # fmt: skip


def _join(here: Survey, there: Survey, key: list[str], given: bool) -> tuple[list[Finding], dict[str, int] | None]:
    """Findings about the key, and the rows that each kind of join would give."""
    found: list[Finding] = []
    grave, plainly = ("high", "medium") if given else ("low", "low")
    for survey in (here, there):
        gone = pick(survey.table.frame, key).select(pl.any_horizontal(pl.all().is_null())).to_series()
        if bool(gone.any()):
            rows = rows_of(gone)
            found.append(Finding(
                "M012", "missing keys", key, plainly, rows,
                f"{count(rows['count'], 'row')} of {plain(survey.table.name, 30)} without a key",
                remedy("they cannot be joined", "drop-missing", key, {"axis": "rows"}),
            ))  # fmt: skip
    if any(_kind(here, name) != _kind(there, name) for name in key):
        return found, None
    keys = [_key_cells(survey, key) for survey in (here, there)]
    own = keys[0].columns
    counts = [table.drop_nulls().group_by(own).len(name) for table, name in zip(keys, ("here", "there"))]
    both = counts[0].join(counts[1], on=own, how="inner")
    inner = int((both["here"].cast(pl.Int64) * both["there"].cast(pl.Int64)).sum())
    matched = int(both["here"].sum()), int(both["there"].sum())
    after = {"inner": inner, "left": inner + here.n_rows - matched[0], "right": inner + there.n_rows - matched[1],
             "outer": inner + here.n_rows - matched[0] + there.n_rows - matched[1]}  # fmt: skip
    twice = [int(both.filter((pl.col("here") > 1) & (pl.col("there") > 1)).height)]
    for survey, table, name in ((here, counts[0], "here"), (there, counts[1], "there")):
        again = table.filter(pl.col(name) > 1)
        if again.height:
            many = twice[0] > 0
            series = pick(survey.table.frame, key).select(pl.struct(pl.all()).is_first_distinct()).to_series()
            effect = f"; the join would give {after['left']:,} rows from {here.n_rows:,}"
            found.append(Finding(
                "M007", "key not unique", key, (grave if many else plainly) if name == "there" or many else "low",
                rows_of(~series),
                f"{count(again.height, 'key repeats', 'keys repeat')} in {plain(survey.table.name, 30)}{effect}",
                remedy("keep one row for each key, or sum them up first", "drop-duplicates", key),
                {"rows_after": after},
            ))  # fmt: skip
    for survey, table, name, met in ((here, counts[0], "here", matched[0]), (there, counts[1], "there", matched[1])):
        lost = int(table[name].sum()) - met
        if lost:
            share = lost / max(survey.n_rows, 1)
            severity = grave if not met else plainly if share > 0.5 else "low"
            other = there if survey is here else here
            keyed = keys[0] if survey is here else keys[1]
            partner = (counts[1] if survey is here else counts[0]).select(own).with_columns(met=pl.lit(True))
            alone = keyed.join(partner, on=own, how="left", maintain_order="left")["met"].is_null()
            found.append(Finding(
                "M008", "keys without partner", key, severity, rows_of(alone),
                f"{lost} of {survey.n_rows} rows of {plain(survey.table.name, 30)} meet no row of "
                f"{plain(other.table.name, 30)}",
                remedy("an inner join drops them, an outer join leaves their other columns empty"), {"share": share},
            ))  # fmt: skip
    found += _cleaned(counts, key, both.height, plainly)
    found += _conflicts(here, there, key, counts)
    return found, after


def _key_cells(survey: Survey, key: list[str]) -> pl.DataFrame:
    """The columns of the key under names of our own, which those of the table cannot meet; numbers as floats."""
    cells = [survey.table.frame[name].alias(f"key {k}") for k, name in enumerate(key)]
    return pl.DataFrame([c.cast(pl.Float64) if survey.columns[n].is_number else c for c, n in zip(cells, key)])


def _cleaned(counts: list[pl.DataFrame], key: list[str], met: int, severity: str) -> Iterator[Finding]:
    cells = [table.to_series(0) for table in counts]
    if len(key) != 1 or cells[0].dtype != pl.String:
        return
    forms = [normal_form(labels).str.strip_chars_start("0") for labels in cells]
    lone = [one.filter(~one.is_in(other.implode())) for one, other in (cells, cells[::-1])]
    clean = [normal_form(series).str.strip_chars_start("0") for series in lone]
    gained = lone[0].filter(clean[0].is_in(forms[1].implode()))
    if gained.len():
        partner = lone[1].filter(clean[1].is_in(forms[0].implode()))
        shown = f"'{plain(gained.sort()[0], 20)}'" + (f" and '{plain(partner.sort()[0], 20)}'" if partner.len() else "")
        yield Finding(
            "M009", "keys that match when cleaned", key, "medium", NO_ROWS,
            f"{count(gained.len(), 'key')} met only without case, spaces, signs and leading zeros, such as {shown}",
            remedy("write the keys one way on both sides"), {"gained": gained.len(), "met": met},
        )  # fmt: skip


def _conflicts(here: Survey, there: Survey, key: list[str], counts: list[pl.DataFrame]) -> Iterator[Finding]:
    """Shared columns that tell different things of the same key, over keys that are unique on this side."""
    shared = [
        name for name in here.columns
        if name in there.columns and name not in key and _kind(here, name) == _kind(there, name)
    ]  # fmt: skip
    if not shared:
        return
    single = counts[0].filter(pl.col("here") == 1).drop("here")
    own = single.columns
    sides = []
    for survey, side in ((here, "here"), (there, "there")):
        cells = [survey.table.frame[name].alias(f"{side} {k}") for k, name in enumerate(shared)]
        cells = [c.cast(pl.Float64) if here.columns[n].is_number else c for c, n in zip(cells, shared)]
        sides.append(_key_cells(survey, key).with_columns(cells))
    joined = sides[1].join(sides[0].join(single, on=own, how="semi"), on=own, how="inner", maintain_order="left")
    if joined.height == 0:
        return
    conflicts = {}
    for k, name in enumerate(shared):
        many = int((joined[f"there {k}"] != joined[f"here {k}"]).fill_null(False).sum())
        if many:
            conflicts[name] = many
    if conflicts:
        listed = sorted(conflicts, key=lambda name: (-conflicts[name], name))
        told = ", ".join(f"'{plain(name, 30)}' in {conflicts[name]}" for name in listed[:3])
        yield Finding(
            "M010", "conflicting cells", listed, "medium", {"count": max(conflicts.values()), "first": []},
            f"of {joined.height} rows with the same key, the sources tell different values of {told}",
            remedy("decide which source holds; a join keeps both under two names"), {"conflicts": conflicts},
        )  # fmt: skip
