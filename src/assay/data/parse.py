"""Text columns that are something else: missing tokens, numbers, true/false and dates.

A column of text becomes numbers or dates only if at least `NEEDED` of its present cells parse; the others become
missing, and a note keeps how many and which came first. Codes with leading zeros ("00501") and whole numbers that
do not fit 64 bits stay text, because as numbers they would lose digits.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import polars as pl

from .map_columns import map_columns

MISSING_TOKENS = (
    "", "NA", "N/A", "n/a", "na", "#N/A", "#NA", "<NA>", "null", "NULL", "Null", "nan", "NaN", "NAN", "None", "?",
)  # fmt: skip
NEEDED = 0.95
"""Share of the present cells that must parse before a text column becomes numbers or dates."""

DATE_FORMATS = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%#z", "%Y-%m-%d %H:%M:%S%#z",
    "%Y-%m-%dT%H:%M:%S%.f%#z", "%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d %b %Y", "%d-%b-%Y",
    "%b %d, %Y", "%d %B %Y", "%B %d, %Y", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M",
)  # fmt: skip
AMBIGUOUS_DATES = (
    ("%d/%m/%Y", "%m/%d/%Y"),
    ("%d-%m-%Y", "%m-%d-%Y"),
    ("%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M"),
    ("%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S"),
    ("%d/%m/%Y %I:%M %p", "%m/%d/%Y %I:%M %p"),
    ("%d/%m/%Y %I:%M:%S %p", "%m/%d/%Y %I:%M:%S %p"),
)

_SPACES = r"[\s\u00a0\u2009\u202f]"
_GROUP = r"'’\u00a0\u2009\u202f "
_BEFORE = rf"^[-+]?{_SPACES}*[$€£¥]?{_SPACES}*[-+]?"
_AFTER = rf"{_SPACES}*(?:%|[$€£¥])?$"
_ENGLISH = rf"{_BEFORE}(?:\d{{1,3}}(?:[,{_GROUP}]\d{{3}})+|\d+)?(?:\.\d*)?(?:[eE][-+]?\d+)?{_AFTER}"
_EUROPEAN = rf"{_BEFORE}(?:\d{{1,3}}(?:[.{_GROUP}]\d{{3}})+|\d+)(?:,\d+)?{_AFTER}"
_SURELY_DECIMAL_COMMA = r"^[^,]*\d,(?:\d{1,2}|\d{4,})(?:\D[^,]*)?$"
_LONG_WHOLE = r"^[+-]?\d{16,}$"
_SAMPLE = 1000
_PIECE = 1 << 16

Note = dict[str, Any]


@dataclass(frozen=True)
class Coded:
    """A column of labels as its different labels and, for each row, the position there (null where it is missing)."""

    labels: pl.Series
    codes: pl.Series


def parse_columns(
    frame: pl.DataFrame, *, decimal_comma: bool, settled: Collection[str] = ()
) -> tuple[pl.DataFrame, dict[str, Note]]:
    """Parse every text column; returns the frame and a note for each column that changed.

    Columns in `settled` are known to stay the text they are (see `stays_text`).

    >>> import polars as pl
    >>> raw = pl.DataFrame({"price": ["1,234.50", " 12 ", "?"], "when": ["2024-05-01", "2024-05-02", None]})
    >>> frame, notes = parse_columns(raw, decimal_comma=False)
    >>> frame["price"].to_list(), str(frame["when"].dtype)
    ([1234.5, 12.0, None], "Datetime(time_unit='us', time_zone=None)")
    >>> notes["price"]["to"], notes["price"]["tokens"]
    ('number', {'?': 1})
    """

    def parsed(series: pl.Series) -> tuple[pl.Series, Note]:
        if series.dtype != pl.String or series.name in settled:
            return series.rechunk(), {}
        series, note = _parse(series, decimal_comma)
        return series.rechunk(), note

    made = map_columns(parsed, frame.get_columns())
    return pl.DataFrame([series for series, _ in made]), {series.name: note for series, note in made if note}


@dataclass(frozen=True)
class ColumnPlan:
    """How the cells of one text column are read, found on a sample and followed on everything after it.

    `kind` is text, whole, number, boolean, date or empty (no cell of the sample was present).
    """

    kind: str
    european: bool = False
    format: str = ""


def plan_column(parsed: pl.Series, note: Note, decimal_comma: bool) -> ColumnPlan:
    """The plan behind what `parse_columns` made of a sample.

    >>> import polars as pl
    >>> frame, notes = parse_columns(pl.DataFrame({"c": ["1,5", "2,25"]}), decimal_comma=False)
    >>> plan_column(frame["c"], notes["c"], False)
    ColumnPlan(kind='number', european=True, format='')
    """
    if parsed.null_count() == parsed.len():
        return ColumnPlan("empty")
    if note.get("to") == "date":
        return ColumnPlan("date", format=note["format"])
    if parsed.dtype == pl.Boolean:
        return ColumnPlan("boolean")
    if parsed.dtype.is_numeric():
        european = note.get("decimal") == "," or (decimal_comma and note.get("to") == "number")
        return ColumnPlan("whole" if parsed.dtype.is_integer() else "number", european)
    return ColumnPlan("text")


def follow_plan(series: pl.Series, plan: ColumnPlan) -> tuple[pl.Series, pl.Series]:
    """A text column read by a plan, and a mask of the present cells that do not fit it (missing in the result)."""
    text = series.str.strip_chars()
    text = text.set(text.is_in(MISSING_TOKENS).fill_null(False), None)
    if plan.kind in ("whole", "number"):
        plain = text.cast(pl.Float64, strict=False) if not plan.european else _undress(text, european=True)
        if plain.null_count() != text.null_count():
            dressed = _undress(text, plan.european)
            plain = pl.select(pl.coalesce(plain, dressed)).to_series().alias(series.name)
        plain = plain.set(~plain.is_finite().fill_null(True), None)
        read = plain
        if plan.kind == "whole":
            exact = text.cast(pl.Int64, strict=False)
            whole = plain.set((plain.floor() != plain).fill_null(False), None).cast(pl.Int64, strict=False)
            read = pl.select(pl.coalesce(exact, whole)).to_series().alias(series.name)
    elif plan.kind == "boolean":
        lowered = text.str.to_lowercase()
        read = (lowered == "true").set(~lowered.is_in(["true", "false"]).fill_null(False), None)
    elif plan.kind == "date":
        read = _read_dates(text, plan.format)
    else:
        read = text
    fails = read.is_null() & text.is_not_null()
    return read.alias(series.name), (text.is_not_null() if plan.kind == "empty" else fails)


def stays_text(labels: pl.Series) -> bool:
    """Whether a column of these labels stays as it is: none is a token, has spaces around it, or may be parsed.

    >>> import polars as pl
    >>> stays_text(pl.Series(["red", "blue"])), stays_text(pl.Series(["red", "?"])), stays_text(pl.Series(["red", "7"]))
    (True, False, False)
    """
    if labels.len() == 0 or not bool((labels.str.strip_chars() == labels).all()):
        return False
    if bool(labels.is_in(MISSING_TOKENS).any()) or bool(labels.str.to_lowercase().is_in(["true", "false"]).any()):
        return False
    return all(
        found.null_count() == labels.len()
        for found in (
            labels.cast(pl.Float64, strict=False),
            _undress(labels, european=False),
            _undress(labels, european=True),
            _looks_dated(labels),
        )
    )


def _parse(series: pl.Series, decimal_comma: bool) -> tuple[pl.Series, Note]:
    as_read = _plain_numbers(series)
    if as_read is not None:
        return as_read, {}
    text = _stripped(series)
    is_token = text.is_in(MISSING_TOKENS).fill_null(False)
    tokens: dict[str, int] = {}
    if is_token.any():
        counts = text.filter(is_token).alias("token").value_counts(sort=True)
        tokens = {token: count for token, count in counts.iter_rows() if token}
        text = text.set(is_token, None)
    note: Note = {"tokens": tokens} if tokens else {}
    present = text.len() - text.null_count()
    if present == 0:
        return text, note
    for attempt in (_plain_numbers, _booleans, lambda s: _dressed_numbers(s, decimal_comma), _dates):
        found = attempt(text)
        if isinstance(found, pl.Series):
            return found, note
        if found is not None:
            parsed, facts = found
            return parsed, {**note, **facts, **_failures(text, parsed)}
    return text, {**note, **_ambiguity(text)}


def _stripped(series: pl.Series) -> pl.Series:
    """The text without spaces around it: the same series where there are none, found a piece at a time, since a copy
    of a long column is much."""
    for begin in range(0, series.len(), _PIECE):
        part = series.slice(begin, _PIECE)
        if not bool((part.str.strip_chars() == part).all()):
            return series.str.strip_chars()
    return series


def _plain_numbers(text: pl.Series) -> pl.Series | None:
    """The column as Int64 or Float64 if every present cell is a plain number that survives the change."""
    missing = text.null_count()
    if missing == text.len():
        return None
    # What the first cells rule out need not be tried on all of them.
    head = text.head(_SAMPLE)
    if head.cast(pl.Int64, strict=False).null_count() == head.null_count():
        whole = text.cast(pl.Int64, strict=False)
        if whole.null_count() == missing:
            leading = text.str.starts_with("0") & (text.str.len_bytes() > 1)
            return None if bool(leading.any()) else whole
    if head.cast(pl.Float64, strict=False).null_count() != head.null_count():
        return None
    numbers = text.cast(pl.Float64, strict=False)
    if numbers.null_count() != missing:
        return None
    # NaN and infinity are not finite numbers, and a whole number over 64 bits would lose digits.
    if not bool(numbers.is_finite().all()):
        return None
    if float(numbers.abs().max()) >= 2**53 and bool(text.str.contains(_LONG_WHOLE).any()):  # type: ignore[arg-type]
        return None
    return numbers


def _booleans(text: pl.Series) -> pl.Series | None:
    lowered = text.head(_SAMPLE).drop_nulls().str.to_lowercase()
    if lowered.len() == 0 or not bool(lowered.is_in(["true", "false"]).all()):
        return None
    lowered = text.str.to_lowercase()
    if not bool(lowered.drop_nulls().is_in(["true", "false"]).all()):
        return None
    return lowered == "true"


def _dressed_numbers(text: pl.Series, decimal_comma: bool) -> tuple[pl.Series, Note] | None:
    """Numbers with thousands separators, currency or percent signs, decimal commas, or a few stray words."""
    sample = text.drop_nulls().head(_SAMPLE)
    if max(_share(_undress(sample, european)) for european in (False, True)) < 0.5:
        return None
    if text.str.contains(r"^0\d+$").any() or text.str.contains(_LONG_WHOLE).any():
        return None
    english, share = _best(text, european=False)
    certain = bool(text.str.contains(_SURELY_DECIMAL_COMMA).any())
    decimal: Note = {}
    if decimal_comma or certain:
        continental, other_share = _best(text, european=True)
        if other_share > share or (other_share == share and decimal_comma):
            if bool(text.str.contains(",", literal=True).any()):
                decimal = {"decimal": ",", "decimal_certain": certain}
            english, share = continental, other_share
    if share < NEEDED:
        return None
    finite = english.is_finite().fill_null(False)
    if not bool(finite.all()):
        english = english.set(~finite, None)
    whole = english.cast(pl.Int64, strict=False)
    marks = []
    for sign, what in (("%", "percent signs"), ("[$€£¥]", "currency signs"), (r"\d[,'’\u00a0 ]\d{3}", "separators")):
        if bool(text.str.contains(sign).any()):
            marks.append(what)
    if not bool((whole.cast(pl.Float64) == english).all()):
        whole = english
    return whole, {"to": "number", "removed": marks, **decimal}


def has_decimal_commas(text: pl.Series) -> bool:
    """Whether numbers of a text column surely have decimal commas, and more cells are numbers that way.

    >>> has_decimal_commas(pl.Series(["1.234,50 €", "12,00 €"])), has_decimal_commas(pl.Series(["1,234.5", "12"]))
    (True, False)
    """
    if not bool(text.str.contains(_SURELY_DECIMAL_COMMA).any()):
        return False
    return _share(_undress(text, european=True)) > _share(_undress(text, european=False))


def _best(text: pl.Series, european: bool) -> tuple[pl.Series, float]:
    numbers = _undress(text, european)
    return numbers, (numbers.len() - numbers.null_count()) / (text.len() - text.null_count())


def _share(numbers: pl.Series) -> float:
    return 1.0 - numbers.null_count() / max(numbers.len(), 1)


def _undress(text: pl.Series, european: bool) -> pl.Series:
    """Numbers under dress as Float64; what is no number is missing."""
    text = text.str.replace_all("−", "-", literal=True)
    shaped = text.set(~text.str.contains(_EUROPEAN if european else _ENGLISH).fill_null(False), None)
    if european:
        bare = shaped.str.replace_all(r"[^0-9,+-]", "").str.replace(",", ".", literal=True)
    else:
        bare = shaped.str.replace_all(r"[^0-9eE.+-]", "")
    return bare.cast(pl.Float64, strict=False)


def _dates(text: pl.Series) -> tuple[pl.Series, Note] | None:
    sample = text.drop_nulls().head(200)
    if _share(_looks_dated(sample)) < 0.5:
        return None
    candidates = [(_share(_read_dates(sample, form)), form) for form in DATE_FORMATS]
    share, form = max(candidates, key=lambda item: item[0])
    if share < 0.5:
        decided = _day_or_month(text, sample)
        if decided is None:
            return None
        form = decided
    dates = _read_dates(text, form)
    if (dates.len() - dates.null_count()) / (text.len() - text.null_count()) < NEEDED:
        return None
    return dates, {"to": "date", "format": form}


def _looks_dated(text: pl.Series) -> pl.Series:
    shaped = text.str.contains(r"\d{4}") & text.str.contains(r"[-/. ]") & text.str.len_chars().is_between(8, 35)
    return text.set(~shaped, None)


def _read_dates(text: pl.Series, form: str) -> pl.Series:
    # Fractions of one length, which is how they are written, are read several times faster than those of any length.
    digits = (text.head(1).str.len_bytes().sum() or 0) - 20
    if form.endswith("%.f") and digits in (3, 6):
        dates = text.str.to_datetime(form.replace("%.f", f".%{digits}f"), strict=False, time_unit="us")
        if dates.null_count() == text.null_count():
            return dates
    try:
        dates = text.str.to_datetime(form, strict=False, time_unit="us", ambiguous="null")
    except pl.exceptions.PolarsError:
        return pl.Series(text.name, [None] * text.len(), dtype=pl.Datetime("us"))
    if dates.dtype.time_zone is not None:  # type: ignore[attr-defined]
        dates = dates.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return dates


def _day_or_month(text: pl.Series, sample: pl.Series) -> str | None:
    """The order of day and month if only one order fits the column."""
    for day_first, month_first in AMBIGUOUS_DATES:
        if max(_share(_read_dates(sample, day_first)), _share(_read_dates(sample, month_first))) < 0.5:
            continue
        counts = [_read_dates(text, form).null_count() for form in (day_first, month_first)]
        if counts[0] != counts[1]:
            return day_first if counts[0] < counts[1] else month_first
    return None


def _ambiguity(text: pl.Series) -> Note:
    sample = text.drop_nulls().head(200)
    if _share(_looks_dated(sample)) < 0.5:
        return {}
    for day_first, month_first in AMBIGUOUS_DATES:
        if min(_share(_read_dates(sample, day_first)), _share(_read_dates(sample, month_first))) >= NEEDED:
            return {"ambiguous": "dates whose day and month cannot be told apart"}
    return {}


def _failures(text: pl.Series, parsed: pl.Series) -> Note:
    failed = parsed.is_null() & text.is_not_null()
    count = int(failed.sum())
    if count == 0:
        return {"failed": 0, "first": []}
    rows = failed.arg_true().head(5)
    return {"failed": count, "first": [(int(row), text[int(row)]) for row in rows]}
