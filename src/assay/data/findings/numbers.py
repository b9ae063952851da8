"""Numbers: outside what can be, far from the others, or in another unit than the others."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri

from ...base.errors import DataError, ParameterError, plain
from ...base.words import count
from ..roles import name_words, nearest
from .finding import Finding, quoted, remedy, rows_of
from .survey import Column, Survey

Rule = dict[str, Any]
# Words of a column's name, with the least and greatest value that can be. None: no limit on that side.
RANGES: tuple[tuple[frozenset[str], float | None, float | None], ...] = tuple(
    (frozenset(words.split()), low, high)
    for words, low, high in (
        ("age ages", 0, 125),
        ("percent percentage pct", 0, 100),
        ("probability prob", 0, 1),
        ("latitude lat", -90, 90),
        ("longitude lon lng long", -180, 360),
        ("kelvin", 0, None),
        ("celsius", -273.15, None),
        ("fahrenheit", -459.67, None),
        ("humidity", 0, 100),
        ("ph", 0, 14),
        ("month", 1, 12),
        ("weekday", 0, 7),
        ("hour hours", 0, None),
        ("bmi", 5, 150),
        ("pulse heartrate", 1, 400),
        ("height weight length width depth distance duration area volume population mileage", 0, None),
        ("count quantity qty rooms bedrooms bathrooms children siblings visits orders items", 0, None),
        ("price salary wage rent", 0, None),
        ("year", 1000, 2200),
    )
)
_NOT_LEVELS = {"change", "diff", "difference", "delta", "growth", "error", "residual", "log", "score", "z", "std"}
_BIRTH = {"birth", "born", "dob", "birthday", "birthdate"}
_MOST_VIOLATIONS = 0.2
# What one unit is in another. Far ones (metre and millimetre, minute and hour, pound and gram) stand out by themselves;
# near ones (inch and centimetre, mile and kilometre, a slipped decimal point) need a clear gap and several values.
FAR_FACTORS = (100.0, 1000.0, 1e6, 60.0, 3600.0, 28.3495, 453.592)
NEAR_FACTORS = (10.0, 24.0, 12.0, 2.204623, 2.54, 3.28084, 1.609344)
_SHARE_WORDS = {"share", "percent", "pct", "percentage", "proportion", "fraction", "discount", "probability"}


def check_rules(rules: Mapping[str, Any] | None, frame: pl.DataFrame) -> dict[str, Rule]:
    """The user's rules {"age": {"min": 0, "max": 120}, "sex": {"allowed": ["f", "m"]}}, checked."""
    made: dict[str, Rule] = {}
    for name, rule in (rules or {}).items():
        if name not in frame.columns:
            raise DataError("audit", f"column '{plain(name)}' of a rule", "is not in the table",
                            way_out=nearest(name, frame.columns))  # fmt: skip
        if isinstance(rule, tuple | list) and len(rule) == 2:
            rule = {"min": rule[0], "max": rule[1]}
        if not isinstance(rule, Mapping) or not rule or set(rule) - {"min", "max", "allowed"}:
            raise ParameterError(
                "audit", f"the rule of column '{plain(name)}'", "must have 'min', 'max' or 'allowed'",
                f"got {plain(repr(rule))}",
            )  # fmt: skip
        made[name] = _fitting(name, dict(rule), frame[name])
    return made


def _fitting(name: str, rule: Rule, series: pl.Series) -> Rule:
    """The rule with values of the column's type."""
    text = series.dtype == pl.String
    try:
        if "allowed" in rule:
            values = rule["allowed"]
            rule["allowed"] = [float(v) if series.dtype.is_numeric() else str(v) for v in values]
        for end in {"min", "max"} & set(rule):
            if series.dtype.is_temporal():
                given = rule[end]
                rule[end] = datetime.datetime.fromisoformat(given) if isinstance(given, str) else given
            elif text or series.dtype == pl.Boolean or not isinstance(rule[end], int | float):
                raise ValueError
    except (TypeError, ValueError):
        kind = "text" if text else "dates" if series.dtype.is_temporal() else "numbers"
        raise ParameterError(
            "audit",
            f"the rule of column '{plain(name)}'",
            f"does not fit a column of {kind}",
            f"got {plain(repr(rule))}",
        ) from None
    return rule


def range_findings(survey: Survey, column: Column, rules: Mapping[str, Rule]) -> Iterator[Finding]:
    """A027: values that a rule forbids; the user's rules, and those that a column's name implies."""
    if column.missing == survey.n_rows:
        return
    if column.name in rules:
        yield from _by_rule(column, rules[column.name])
    elif column.is_number and column.role.role in ("numeric", "ordinal", "nominal"):
        yield from _by_name(column)
    elif column.series.dtype.is_temporal():
        yield from _dates(column)


def _outside(column: Column, low: Any, high: Any) -> pl.Series:
    series = column.series
    bad = pl.Series(np.zeros(series.len(), dtype=bool))
    if low is not None:
        bad = bad | (series < low).fill_null(False)
    if high is not None:
        bad = bad | (series > high).fill_null(False)
    return bad


def _by_rule(column: Column, rule: Rule) -> Iterator[Finding]:
    bad = _outside(column, rule.get("min"), rule.get("max"))
    if "allowed" in rule:
        kind = pl.Float64 if column.is_number else pl.String
        bad = bad | (~column.series.cast(kind).is_in(rule["allowed"])).fill_null(False)
    if bool(bad.any()):
        rows = rows_of(bad)
        shown = column.series.filter(bad).unique().sort().head(4).to_list()
        yield Finding(
            "A027", "out of range", [column.name], "high", rows,
            f"{count(rows['count'], 'value')} against the rule {_rule_words(rule)}: {quoted(shown)}",
            remedy("make them missing, or correct them", "range-rules", [column.name],
                   {"rules": {column.name: rule}, "action": "missing"}),
            {"rule": rule, "given": True},
        )  # fmt: skip


def _rule_words(rule: Rule) -> str:
    parts = [f"{word} {rule[key]}" for key, word in (("min", "at least"), ("max", "at most")) if key in rule]
    if "allowed" in rule:
        parts.append("one of " + quoted(rule["allowed"], 5))
    return " and ".join(parts)


def _by_name(column: Column) -> Iterator[Finding]:
    words = name_words(column.name)
    if words & _NOT_LEVELS:
        return
    for names, low, high in RANGES:
        if not words & names:
            continue
        values = column.sorted
        below = int(np.searchsorted(values, low)) if low is not None else 0
        above = int(values.size - np.searchsorted(values, high, side="right")) if high is not None else 0
        # A column that breaks the rule everywhere is on another scale (standardised, say): the rule is not for it.
        if 0 < below + above <= _MOST_VIOLATIONS * values.size:
            rule = {key: value for key, value in (("min", low), ("max", high)) if value is not None}
            rows = rows_of(_outside(column, low, high))
            odd = [float(v) for v in (values[:below][:2].tolist() + values[values.size - above :][-2:].tolist())]
            yield Finding(
                "A027", "out of range", [column.name], "medium", rows,
                f"{count(rows['count'], 'value')} that cannot be, by the column's name ({_rule_words(rule)}): "
                + quoted(dict.fromkeys(f"{v:g}" for v in odd), 4),
                remedy("make them missing, or correct them", "range-rules", [column.name],
                       {"rules": {column.name: rule}, "action": "missing"}),
                {"rule": rule, "given": False},
            )  # fmt: skip
        return


def _dates(column: Column) -> Iterator[Finding]:
    now = datetime.datetime.now()
    if name_words(column.name) & _BIRTH:
        low, high, why = datetime.datetime(1880, 1, 1), now, "no one is born then"
    else:
        low, high, why = datetime.datetime(1600, 1, 1), datetime.datetime(now.year + 75, 1, 1), "far from our time"
    bad = _outside(column, low, high)
    many = int(bad.sum())
    if 0 < many <= _MOST_VIOLATIONS * column.present.len():
        shown = column.series.filter(bad).sort().head(3).dt.date().to_list()
        rule = {"min": low.date().isoformat(), "max": high.date().isoformat()}
        yield Finding(
            "A027", "out of range", [column.name], "medium", rows_of(bad),
            f"{count(many, 'date')}, {why}: {quoted(shown)}",
            remedy("make them missing, or correct them", "range-rules", [column.name],
                   {"rules": {column.name: rule}, "action": "missing"}),
            {"rule": rule, "given": False},
        )  # fmt: skip


def outlier_findings(column: Column) -> list[Finding]:
    """A026 another unit, A028 outliers of a single column."""
    if not column.is_number or column.role.role != "numeric" or column.distinct <= 10:
        return []
    drift = _another_unit(column)
    return list(_outliers(column)) if drift is None else [drift]


def _another_unit(column: Column) -> Finding | None:
    """A cluster that a factor between units brings onto the rest.

    On the scale of log10 x the cluster stands apart by a gap that no step inside the rest comes near, and dividing by
    the factor puts its median inside the rest's middle 80 %.
    """
    values = column.sorted
    positive = values[np.searchsorted(values, 0, side="right") :]
    if positive.size < 30 or positive.size < 0.9 * values.size:
        return None
    mixed = _percents_among_shares(column, positive)
    if mixed is not None:
        return mixed
    cut = _widest_gap(positive)
    if cut is None:
        return None
    gap = math.log10(positive[cut + 1]) - math.log10(positive[cut])
    low, high = positive[: cut + 1], positive[cut + 1 :]
    minor, major, up = (high, low, True) if high.size < low.size else (low, high, False)
    bottom, tenth, middle, top_tenth, top = _log_quantiles(major, (0.01, 0.1, 0.5, 0.9, 0.99))
    inside = major[int(0.05 * major.size) : max(2, int(0.95 * major.size))]
    inner = math.log10((inside[1:] / inside[:-1]).max(initial=1.0))
    if top_tenth <= tenth or gap < 4 * inner:
        return None
    centre = float(_log_quantiles(minor, (0.5,))[0])
    apart = abs(centre - middle)
    for factors, fewest, room, near in ((FAR_FACTORS, 2, 0.5, 0.3), (NEAR_FACTORS, 5, 1.0, 0.06)):
        factor = min(factors, key=lambda f: abs(math.log10(f) - apart))
        shifted = centre - (math.log10(factor) if up else -math.log10(factor))
        clear = minor.size >= fewest and gap >= room * (top - bottom) and abs(math.log10(factor) - apart) <= near
        if clear and tenth <= shifted <= top_tenth:
            edges = float(positive[cut]), float(positive[cut + 1])
            return _scale_drift(column, factor, up, edges, (10**centre, 10**middle))
    return None


def _widest_gap(positive: np.ndarray) -> int | None:
    """After which of the ascending values the largest ratio to the next one is.

    Only gaps with a few values on the small side, and at most 40 % there, can set a cluster apart.
    """
    size = positive.size
    fewest, most = max(2, math.ceil(0.002 * size)), min(int(0.4 * size), size // 2)
    if fewest > most:
        return None
    best, widest = None, 1.0
    for begin, end in ((fewest, most), (size - most, size - fewest)):
        ratio = positive[begin : end + 1] / positive[begin - 1 : end]
        at = int(ratio.argmax())
        if best is None or ratio[at] > widest:
            best, widest = begin - 1 + at, float(ratio[at])
    return best


def _log_quantiles(values: np.ndarray, probabilities: tuple[float, ...]) -> np.ndarray:
    """Quantiles of the logarithms of positive numbers in ascending order (linear between neighbours)."""
    at = np.asarray(probabilities) * (values.size - 1)
    low = np.floor(at).astype(np.int64)
    below, above = np.log10(values[low]), np.log10(values[np.minimum(low + 1, values.size - 1)])
    return below + (at - low) * (above - below)


def _percents_among_shares(column: Column, positive: np.ndarray) -> Finding | None:
    """Shares of one with some per cents among them: the two overlap in no gap, but the name says what they are."""
    if not name_words(column.name) & _SHARE_WORDS:
        return None
    cut = int(np.searchsorted(positive, 1.0, side="right"))
    above = positive.size - cut
    if not 2 <= above <= 0.4 * positive.size or positive[-1] > 100 or column.distinct <= 20:
        return None
    medians = float(np.median(positive[cut:])), float(np.median(positive[:cut]))
    return _scale_drift(column, 100.0, True, (float(positive[cut - 1]), float(positive[cut])), medians)


def _scale_drift(
    column: Column, factor: float, up: bool, edges: tuple[float, float], medians: tuple[float, float]
) -> Finding:
    bad = ((column.series > edges[0]) if up else (column.series <= edges[0]) & (column.series > 0)).fill_null(False)
    at = bad.arg_true().to_numpy()
    together = bool(at.size > 2 and at[-1] - at[0] + 1 == at.size)
    where = f", all in rows {at[0] + 1} to {at[-1] + 1}" if together else ""
    limit = {"max": edges[0]} if up else {"min": edges[1]}
    return Finding(
        "A026", "scale drift", [column.name], "medium", rows_of(bad),
        f"{count(at.size, 'value')} about {factor:g} times {'larger' if up else 'smaller'} than the others (median "
        f"{medians[0]:.4g} against {medians[1]:.4g}), as if in another unit{where}",
        remedy(f"{'divide' if up else 'multiply'} by {factor:g} if that is the unit, else make them missing",
               "range-rules", [column.name], {"rules": {column.name: limit}, "action": "missing"}),
        {"factor": factor, "larger": up, "edge": edges[0], "contiguous": together},
    )  # fmt: skip


def _fences(column: Column, reach: float) -> tuple[float, float] | None:
    """Lower and upper fence at `reach` interquartile ranges; skewed positive columns are fenced on the log scale too.

    A value is outside only if it is outside on both scales, so a long right tail is no crowd of outliers.
    """
    q25, q75 = column.quantile((0.25, 0.75))
    if q75 <= q25:
        q25, q75 = column.quantile((0.05, 0.95))
        if q75 <= q25:
            return None
    width = q75 - q25
    low, high = q25 - reach * width, q75 + reach * width
    if column.sorted[0] > 0:
        a, b = math.log(q25), math.log(q75)
        low, high = min(low, math.exp(a - reach * (b - a))), max(high, math.exp(min(b + reach * (b - a), 700.0)))
    if column.sorted[0] >= 0:
        # log(1 + x / size), which takes zeros, with the column's own size: the answer must not change with its unit.
        size = float(column.quantile(0.5)) or q75
        a, b = math.log1p(q25 / size), math.log1p(q75 / size)
        high = max(high, size * math.expm1(min(b + reach * (b - a), 700.0)))
    return float(low), float(high)


def _short(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e12 else f"{value:.4g}"


def _outliers(column: Column) -> Iterator[Finding]:
    values = column.sorted
    if values.size < 20:
        return
    # Three ranges, or as far as one of twenty Gaussian columns of this length has a value beyond.
    reach = max(3.0, (-float(ndtri(0.025 / values.size)) - 0.6745) / 1.349)
    fences = _fences(column, reach)
    if fences is None:
        return
    low, high = fences
    many = int(np.searchsorted(values, low) + values.size - np.searchsorted(values, high, side="right"))
    # More than 2 % beyond the fences is the shape of the column, not a handful of odd values.
    if many == 0 or many > max(2, 0.02 * values.size):
        return
    far = _fences(column, 10.0)
    wild = far is not None and (values[0] < far[0] or values[-1] > far[1])
    bad = _outside(column, low, high)
    below = int(np.searchsorted(values, low))
    odd = [*values[: min(below, 2)].tolist(), *values[values.size - min(many - below, 2) :].tolist()]
    yield Finding(
        "A028", "outliers", [column.name], "medium" if wild else "low", rows_of(bad),
        f"{count(many, 'value')} outside {_short(low)} to {_short(high)} ({reach:.2g} interquartile ranges): "
        + quoted([f"{v:g}" for v in odd], 4),
        remedy("check them; pull them in, or use a robust method", "outliers", [column.name],
               {"method": "iqr", "action": "winsorise"}),
        {"lower_fence": low, "upper_fence": high, "percentile_1": float(column.quantile(0.01)),
         "percentile_99": float(column.quantile(0.99))},
    )  # fmt: skip
