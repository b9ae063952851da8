"""Formats: cells that could not be read, and columns that are written in several ways or units at once."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from ...base.errors import plain
from ...base.words import count
from .finding import NO_ROWS, Finding, drop_columns, quoted, remedy, rows_of
from .survey import Column, Survey

DATE_SHAPES = {
    "year-month-day": r"^\d{4}-\d{1,2}-\d{1,2}(?:[T ].*)?$",
    "year/month/day": r"^\d{4}/\d{1,2}/\d{1,2}(?: .*)?$",
    "day.month.year": r"^\d{1,2}\.\d{1,2}\.(?:\d{4}|\d{2})(?: .*)?$",
    "day/month/year or month/day/year": r"^\d{1,2}/\d{1,2}/(?:\d{4}|\d{2})(?: .*)?$",
    "day-month-year or month-day-year": r"^\d{1,2}-\d{1,2}-\d{4}(?: .*)?$",
    "day month-name year": r"^\d{1,2}[ -](?:[A-Za-z]{3,9})\.?[ ,-]+\d{4}$",
    "month-name day, year": r"^[A-Za-z]{3,9}\.? \d{1,2},? \d{4}$",
}
NUMBER_SHAPES = {
    "whole numbers": r"^[-+]?\d+$",
    "decimal points": r"^[-+]?(?:\d{1,3}(?:,\d{3})+|\d*)\.\d+$",
    "decimal commas": r"^[-+]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+$",
    "thousands separators": r"^[-+]?\d{1,3}(?:[,' ]\d{3})+$",
    "percent signs": r"^[-+]?\d+(?:[.,]\d+)? ?%$",
    "currency signs": r"^[-+]?[$€£¥] ?\d[\d.,]*$|^[-+]?\d[\d.,]* ?[$€£¥]$",
}
# unit: (what it measures, how many of the base unit one is)
UNITS: dict[str, tuple[str, float]] = {
    "mg": ("mass", 1e-3), "g": ("mass", 1.0), "gr": ("mass", 1.0), "kg": ("mass", 1e3), "kgs": ("mass", 1e3),
    "t": ("mass", 1e6), "lb": ("mass", 453.592), "lbs": ("mass", 453.592), "oz": ("mass", 28.3495),
    "mm": ("length", 1e-3), "cm": ("length", 1e-2), "m": ("length", 1.0), "km": ("length", 1e3),
    "in": ("length", 0.0254), "inch": ("length", 0.0254), '"': ("length", 0.0254), "ft": ("length", 0.3048),
    "feet": ("length", 0.3048), "yd": ("length", 0.9144), "mi": ("length", 1609.344), "miles": ("length", 1609.344),
    "ml": ("volume", 1e-3), "cl": ("volume", 1e-2), "dl": ("volume", 0.1), "l": ("volume", 1.0),
    "gal": ("volume", 3.78541), "ms": ("time", 1e-3), "s": ("time", 1.0), "sec": ("time", 1.0), "min": ("time", 60.0),
    "h": ("time", 3600.0), "hr": ("time", 3600.0), "hrs": ("time", 3600.0), "hours": ("time", 3600.0),
    "minutes": ("time", 60.0), "days": ("time", 86400.0), "day": ("time", 86400.0), "w": ("power", 1.0),
    "kw": ("power", 1e3), "mw": ("power", 1e6), "hp": ("power", 745.7), "wh": ("energy", 1.0), "kwh": ("energy", 1e3),
    "mwh": ("energy", 1e6), "pa": ("pressure", 1.0), "hpa": ("pressure", 100.0), "kpa": ("pressure", 1e3),
    "bar": ("pressure", 1e5), "psi": ("pressure", 6894.76), "kb": ("data", 1e3), "mb": ("data", 1e6),
    "gb": ("data", 1e9), "tb": ("data", 1e12), "km/h": ("speed", 1 / 3.6), "kmh": ("speed", 1 / 3.6),
    "mph": ("speed", 0.44704), "m/s": ("speed", 1.0), "°c": ("temperature", 1.0), "°f": ("temperature", 5 / 9),
    "c": ("temperature", 1.0), "f": ("temperature", 5 / 9), "k": ("temperature", 1.0), "usd": ("money", 1.0),
    "eur": ("money", 1.0), "gbp": ("money", 1.0), "chf": ("money", 1.0), "$": ("money", 1.0), "€": ("money", 1.0),
    "£": ("money", 1.0),
}  # fmt: skip
_WITH_UNIT = r"^[-+]?\d[\d.,' ]*?\s*([A-Za-zµ°/\"€£$]{1,7})\.?$"
_MOSTLY = 0.8
_MASKS = 200_000


def format_findings(survey: Survey) -> Iterator[Finding]:
    """A011 unreadable cells, A023 mixed formats, A024 mixed units."""

    def look(column: Column) -> list[Finding]:
        found: list[Finding] = []
        if column.is_text and column.distinct >= 2:
            found = [*_dates(column), *_units(column), *_numbers(column)] or list(_masks(column))
        return [*_unread(survey, column.name), *found]

    for found in survey.each(look):
        yield from found


def _unread(survey: Survey, name: str) -> Iterator[Finding]:
    note = survey.table.notes.get(name, {})
    if note.get("failed"):
        kind = note.get("to", "date")  # days beyond the calendar are all that a typed column loses
        like = " like the others" if kind == "date" else ""
        shown = quoted(dict.fromkeys(value for _, value in note["first"]))
        yield Finding(
            "A011", "unreadable cells", [name], "medium",
            {"count": note["failed"], "first": [row for row, _ in note["first"]]},
            f"{count(note['failed'], 'cell')} could not be read as a {kind}{like} and became missing ({shown})",
            remedy("correct them in the source, or declare the column nominal"), {"failed": note["failed"]},
        )  # fmt: skip
    if note.get("infinite"):
        yield Finding(
            "A011", "unreadable cells", [name], "medium",
            {"count": note["infinite"], "first": note["infinite_rows"]},
            f"{note['infinite']} cells are infinite and became missing", remedy("correct them in the source"),
            {"infinite": note["infinite"]},
        )  # fmt: skip
    if note.get("ambiguous"):
        yield Finding(
            "A011", "unreadable cells", [name], "medium", NO_ROWS, f"looks like {note['ambiguous']}",
            remedy("write dates as year-month-day"),
        )  # fmt: skip


def _shapes(column: Column, shapes: dict[str, str]) -> dict[str, tuple[int, str]]:
    """How many cells have each shape, with an example: {"year-month-day": (90, "2024-01-31")}."""
    frame = column.counts.with_columns(pl.col("label").str.strip_chars())
    found = {}
    for name, pattern in shapes.items():
        fits = frame.filter(pl.col("label").str.contains(pattern))
        if fits.height:
            found[name] = (int(fits["count"].sum()), str(fits["label"][0]))
    return found


def _mixed(column: Column, found: dict[str, tuple[int, str]], what: str, words: str) -> Finding:
    usual = max(found, key=lambda name: found[name][0])
    patterns = {**DATE_SHAPES, **NUMBER_SHAPES}
    other = "|".join(f"(?:{patterns[name]})" for name in found if name != usual)
    told = "; ".join(f"{count} with {name} ('{plain(shown, 20)}')" for name, (count, shown) in found.items())
    return Finding(
        "A023", "mixed formats", [column.name], "medium",
        rows_of(column.series.str.strip_chars().str.contains(other).fill_null(False)), f"{what}: {told}",
        remedy(words), {"cells": {name: count for name, (count, _) in found.items()}},
    )  # fmt: skip


def _dates(column: Column) -> Iterator[Finding]:
    head = column.leading
    if not bool(head.str.contains(r"\d{2}.*[-/. ].*\d{2}").mean() or 0) or column.role.role == "text":
        return
    found = _shapes(column, DATE_SHAPES)
    if len(found) >= 2 and sum(count for count, _ in found.values()) >= _MOSTLY * column.present.len():
        yield _mixed(column, found, "dates are written in several ways", "write every date as year-month-day")


def _numbers(column: Column) -> Iterator[Finding]:
    if float(column.leading.str.contains(r"^[-+$€£¥ ]*\d").mean() or 0) < 0.5:  # type: ignore[arg-type]
        return
    found = _shapes(column, NUMBER_SHAPES)
    numbers = sum(count for count, _ in found.values())
    dressed = {name: cells for name, cells in found.items() if name != "whole numbers"}
    if numbers < _MOSTLY * column.present.len() or not dressed:
        return
    if len(dressed) >= 2 or (len(found) >= 2 and "percent signs" in dressed) or numbers < column.present.len():
        yield _mixed(
            column, found, "numbers are written in several ways, so the column was read as text",
            "write every number with a decimal point and without signs",
        )  # fmt: skip


def _units(column: Column) -> Iterator[Finding]:
    head = column.leading.str.strip_chars()
    if float(head.str.contains(_WITH_UNIT).mean() or 0) < 0.3:  # type: ignore[arg-type]
        return
    frame = column.counts.with_columns(
        pl.col("label").str.strip_chars().str.extract(_WITH_UNIT, 1).str.to_lowercase().alias("unit"),
        pl.col("label").str.contains(r"^\s*[-+]?\d[\d.,]*\s*$").alias("bare"),
    )
    known = frame.filter(pl.col("unit").is_in(list(UNITS)))
    counts = dict(known.group_by("unit").agg(pl.col("count").sum()).sort("count", "unit", descending=True).iter_rows())
    bare = int(frame.filter(pl.col("bare"))["count"].sum() or 0)
    covered = sum(counts.values()) + bare
    if not counts or covered < _MOSTLY * column.present.len():
        return
    usual = next(iter(counts))
    same = [unit for unit in counts if UNITS[unit][0] == UNITS[usual][0]]
    if len(same) < 2 and not bare:
        yield Finding(
            "A023", "mixed formats", [column.name], "low", NO_ROWS,
            f"numbers with the unit '{usual}' were read as text", remedy(f"write the unit '{usual}' in the name only"),
            {"units": counts},
        )  # fmt: skip
        return
    others = [unit for unit in counts if unit != usual]
    pattern = r"(?i)^[-+]?\d[\d.,' ]*?\s*(?:" + "|".join(_escaped(unit) for unit in others) + r")\.?$"
    if bare:
        pattern = (f"{pattern}|" if others else "") + r"^\s*[-+]?\d[\d.,]*\s*$"
    factors = {unit: UNITS[unit][1] / UNITS[usual][1] for unit in same}
    told = ", ".join(f"{count} in {unit}" for unit, count in counts.items()) + (
        f", {bare} without a unit" if bare else ""
    )
    yield Finding(
        "A024", "mixed units", [column.name], "medium",
        rows_of(column.series.str.strip_chars().str.contains(pattern).fill_null(False)),
        f"one column holds several units: {told}",
        remedy(f"write every value in {usual}, as a number"), {"units": counts, "bare": bare, "factors": factors},
    )  # fmt: skip


def _escaped(unit: str) -> str:
    return "".join(f"\\{ch}" if not ch.isalnum() and ch != "°" else ch for ch in unit)


def _masks(column: Column) -> Iterator[Finding]:
    """Codes of one pattern with a few exceptions: "AB-123" and "AB 123"; letters become A, digits 9."""
    if column.role.role == "text" or not 20 <= column.distinct <= _MASKS:
        return
    if float(column.leading.str.contains(r"\d").mean() or 0) < 0.8:  # type: ignore[arg-type]
        return
    labels = column.counts["label"]
    frame = column.counts.with_columns(
        labels.str.replace_all(r"\p{Lu}", "A").str.replace_all(r"\p{Ll}", "a").str.replace_all(r"\d", "9")
        .str.replace_all("9+", "9").alias("mask")
    )  # fmt: skip
    masks = frame.group_by("mask").agg(pl.col("count").sum(), pl.col("label").first())
    masks = masks.sort(["count", "mask"], descending=[True, False])
    total = int(masks["count"].sum())
    if masks.height < 2 or masks["count"][0] < 0.9 * total or masks["count"][0] == total:
        return
    odd = frame.filter(pl.col("mask") != masks["mask"][0])["label"]
    rows = rows_of(column.series.is_in(odd.to_list()).fill_null(False))
    yield Finding(
        "A023", "mixed formats", [column.name], "low", rows,
        f"{count(rows['count'], 'code')} unlike the others ('{plain(masks['label'][0], 20)}'): {quoted(odd)}",
        remedy("write every code one way"), {"patterns": masks.height},
    )  # fmt: skip


def identifier_findings(survey: Survey, target: str | None) -> Iterator[Finding]:
    """A003 constant, A005 identifier, A013 free text."""
    for column in survey.columns.values():
        if column.missing == survey.n_rows:
            continue
        if column.distinct == 1:
            if column.missing == 0:
                yield Finding(
                    "A003", "constant", [column.name], "low",
                    {"count": survey.n_rows, "first": list(range(min(survey.n_rows, 5)))},
                    f"every row holds '{plain(column.present[0], 30)}'", drop_columns("leave it out", [column.name]),
                )  # fmt: skip
            continue
        if column.name == target:
            continue
        if column.role.role == "id":
            yield Finding(
                "A005", "identifier", [column.name], "low", NO_ROWS, column.role.reason,
                drop_columns("keep it out of the features", [column.name]),
                {"distinct": column.distinct, "confidence": column.role.confidence},
            )  # fmt: skip
        if column.role.role == "text":
            yield Finding(
                "A013", "free text", [column.name], "low", NO_ROWS, column.role.reason,
                drop_columns("leave it out, or let experiments make columns of its words", [column.name]),
                {"distinct": column.distinct},
            )  # fmt: skip
