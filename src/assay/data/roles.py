"""Column roles: what a column means, with a confidence and a reason in words.

The rules, in order:

- dates are `datetime`; true/false columns and columns of two labels, or of the integers 0/1, -1/1 or 1/2, are `binary`;
- `id`: UUIDs; text that differs in every row without being prose; a column named like an identifier (id, uuid, key,
  index, ...) whose values hardly repeat; a first column that counts 0, 1, 2, ... or 1, 2, 3, ...;
- integers are `numeric`, however few values they take, unless codes are evident: the name says so (code, zip, type,
  class, ...) or ends in id, and there are at most 50 distinct values;
- text is `ordinal` if all its labels stand on one known scale (low < medium < high) or are ranges of numbers
  (18-24 < 25-34 < 65+), stars, marks (A+ ... F), Roman numerals, days or months;
  it is `text` if it is prose (several words and hardly repeating, or many words and over 100 different cells), else
  `nominal`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import polars as pl

from ..base.errors import DataError, ParameterError, plain
from ..base.words import count
from .map_columns import map_columns

ROLES = ("numeric", "binary", "nominal", "ordinal", "datetime", "text", "id")

_ID_WORDS = {"id", "ids", "uuid", "guid", "key", "index", "rowid", "identifier", "idx", "pk"}
_CODE_WORDS = {
    "code", "zip", "zipcode", "postcode", "postal", "class", "category", "type", "kind", "group", "cluster", "sku",
    "label", "region", "district", "area", "branch", "department", "dept", "store", "species", "gender", "sex",
}  # fmt: skip
_NAMES_GROUPS = "named like an identifier; its values repeat, so it names groups"
_MOST_CODES = 50
_MOST_LEVELS = 20
_PROSE_WORDS = 6
_SAMPLE = 20_000

_SCALES = (
    ("lowest", "very low", "low", "medium low", "medium", "medium high", "high", "very high", "highest"),
    ("low", "mid", "high"),
    ("low", "med", "high"),
    ("very low", "low", "moderate", "high", "very high", "extreme"),
    ("low", "medium", "high", "urgent", "critical"),
    ("trivial", "minor", "normal", "major", "critical", "blocker"),
    ("low", "normal", "high"),
    ("low", "average", "high"),
    ("tiny", "very small", "small", "medium", "large", "very large", "huge"),
    ("small", "mid", "big"),
    ("small", "medium", "big"),
    ("xxxs", "xxs", "xs", "s", "m", "l", "xl", "xxl", "xxxl", "xxxxl"),
    ("extra small", "small", "medium", "large", "extra large"),
    ("short", "medium", "long"),
    ("very poor", "poor", "fair", "average", "good", "very good", "excellent"),
    ("very bad", "bad", "fair", "average", "good", "very good", "excellent"),
    ("bad", "ok", "good", "great"),
    ("fair", "good", "very good", "premium", "ideal"),
    ("never", "rarely", "seldom", "sometimes", "often", "usually", "always"),
    ("strongly disagree", "disagree", "slightly disagree", "neutral", "slightly agree", "agree", "strongly agree"),
    ("strongly disagree", "disagree", "somewhat disagree", "neither agree nor disagree", "somewhat agree", "agree",
     "strongly agree"),
    ("completely disagree", "disagree", "undecided", "agree", "completely agree"),
    ("disagree", "neither", "agree"),
    ("not at all", "a little", "somewhat", "a lot", "extremely"),
    ("not at all", "slightly", "moderately", "very", "extremely"),
    ("not important", "slightly important", "moderately important", "important", "very important"),
    ("never", "monthly", "weekly", "daily"),
    ("never", "yearly", "quarterly", "monthly", "weekly", "daily", "hourly"),
    ("never", "less than monthly", "monthly", "weekly", "daily"),
    ("worse", "same", "better"),
    ("much worse", "worse", "same", "better", "much better"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"),
    ("very unhappy", "unhappy", "neutral", "happy", "very happy"),
    ("very negative", "negative", "neutral", "positive", "very positive"),
    ("very unlikely", "unlikely", "neutral", "likely", "very likely"),
    ("none", "minimal", "mild", "moderate", "severe", "critical"),
    ("none", "minor", "major", "critical"),
    ("none", "low", "medium", "high"),
    ("none", "some", "many", "most", "all"),
    ("beginner", "elementary", "intermediate", "advanced", "expert"),
    ("junior", "mid", "senior", "lead", "principal"),
    ("freshman", "sophomore", "junior", "senior"),
    ("bronze", "silver", "gold", "platinum", "diamond"),
    ("basic", "standard", "premium", "enterprise"),
    ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    ("1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th", "10th"),
    ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    ("once", "twice", "three times"),
    ("morning", "noon", "afternoon", "evening", "night"),
    ("past", "present", "future"),
    ("slow", "medium", "fast"),
    ("weak", "medium", "strong"),
    ("light", "medium", "dark"),
    ("easy", "medium", "hard"),
    ("very easy", "easy", "medium", "moderate", "difficult", "hard", "very difficult", "very hard"),
    ("rural", "suburban", "urban"),
    ("economy", "premium economy", "business", "first"),
    ("free", "basic", "standard", "pro", "premium", "enterprise"),
    ("trainee", "intern", "junior", "mid", "senior", "lead", "principal", "manager", "director"),
    ("underweight", "normal", "overweight", "obese"),
    ("young", "middle aged", "old"),
    ("young", "adult", "middle age", "senior"),
    ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
     "december"),
    ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    ("mon", "tue", "wed", "thu", "fri", "sat", "sun"),
    ("newborn", "infant", "toddler", "child", "teenager", "adult", "senior"),
    ("child", "young", "adult", "elderly"),
    (
        "none", "preschool", "primary", "elementary", "middle school", "secondary", "high school", "some college",
        "college", "vocational", "associate", "bachelor", "master", "doctorate",
    ),
)  # fmt: skip
_CREDIT = ("d", "c", "cc", "ccc", "b", "bb", "bbb", "a", "aa", "aaa")
_GRADES = tuple(f"{letter}{sign}" for letter in "fedcba" for sign in ("-", "", "+"))
_ROMAN = {
    numeral: value
    for value, numeral in enumerate(("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"), 1)
}
_SAME_LABEL = {
    "sept": "sep", "tues": "tue", "thur": "thu", "thurs": "thu", "weds": "wed", "2xl": "xxl", "3xl": "xxxl",
    "x small": "xs", "x large": "xl", "extra-large": "extra large", "hi": "high", "lo": "low", "so so": "fair",
    "neither agree or disagree": "neither agree nor disagree", "middle school": "middle school",
    "some high school": "secondary", "high school graduate": "high school", "associates degree": "associate",
    "bachelors": "bachelor", "bachelor degree": "bachelor", "bachelors degree": "bachelor", "bsc": "bachelor",
    "ba": "bachelor", "undergraduate": "bachelor", "masters": "master", "master degree": "master",
    "masters degree": "master", "msc": "master", "phd": "doctorate", "doctoral": "doctorate", "doctor": "doctorate",
    "associates": "associate", "associate degree": "associate", "highschool": "high school", "hs grad": "high school",
    "primary school": "primary", "secondary school": "secondary", "elementary school": "elementary", "okay": "ok",
}  # fmt: skip
_RANGE = re.compile(
    r"^(?:(?P<below><=?|≤|under |below |up to |less than )\s*(?P<top>-?[\d.,]+)"
    r"|(?P<low>-?[\d.,]+)\s*(?:-|–|to|\.\.)\s*(?P<high>-?[\d.,]+)"
    r"|(?P<above>>=?|≥|over |above |more than )\s*(?P<bottom>-?[\d.,]+)"
    r"|(?P<open>-?[\d.,]+)\s*(?:\+|and over|and above|or more))"
    r"(?:\s*(?:years?|yrs?|k|%|days?|months?|hours?|minutes?|km|kg|cm))?$"
)
_LEVEL = re.compile(
    r"^(?:grade|level|lvl|stage|tier|rank|step|phase|degree|score|rating|priority|year|wave|star|quarter|q|p|round)s? ?"
    r"(\d+|i{1,3}|iv|v|vi{0,3})$"
)
_STARS = re.compile(r"^(\d+(?:\.5)?|half|one|two|three|four|five) ?(?:star|point|heart|thumb)s?$|^([★*]+)☆*$")
_WORD_NUMBERS = {"half": 0.5, "one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0}
_UUID = r"^\{?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\}?$"


@dataclass(frozen=True)
class Role:
    """What a column means: the role, how sure, why, and for an ordinal column its labels from low to high.

    >>> print(Role("ordinal", 0.9, "labels of one scale: low < high", ("low", "high")))
    ordinal: labels of one scale: low < high
    """

    role: str
    confidence: float
    reason: str
    order: tuple[Any, ...] | None = None

    def __str__(self) -> str:
        return f"{self.role}: {self.reason}"

    def to_dict(self) -> dict[str, Any]:
        """The role as plain data."""
        facts: dict[str, Any] = {"role": self.role, "confidence": self.confidence, "reason": self.reason}
        return {**facts, "order": list(self.order)} if self.order else facts


def infer_roles(
    frame: pl.DataFrame,
    notes: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    labels: Mapping[str, pl.Series] | None = None,
    distinct: dict[str, int] | None = None,
) -> dict[str, Role]:
    """The role of every column of a frame (see the rules above); `notes` are those of `parse_columns`.

    `labels` are the different labels of columns where they are known; `distinct` is filled with how many different
    cells columns of text have.

    >>> import polars as pl
    >>> roles = infer_roles(pl.DataFrame({"size": ["low", "high", "medium", "low"], "age": [31, 45, 22, 60]}))
    >>> roles["size"].order
    ('low', 'medium', 'high')
    >>> roles["age"].role
    'numeric'
    """
    notes = notes or {}
    roles = {}
    columns = frame.get_columns()
    first = columns[0].name if len(columns) > 1 else None
    known = labels or {}
    counts = distinct if distinct is not None else {}
    inferred = map_columns(lambda series: _infer(series, series.name == first, known.get(series.name), counts), columns)
    for series, role in zip(columns, inferred):
        if role.reason == _NAMES_GROUPS and _repeats_in_copies(frame, series):
            role = Role("id", 0.95, "named like an identifier; its values repeat in copies of rows alone")
        added = _told(notes.get(series.name, {}))
        if added:
            role = Role(role.role, role.confidence, f"{role.reason}; {added}", role.order)
        roles[series.name] = role
    return roles


def _repeats_in_copies(frame: pl.DataFrame, series: pl.Series) -> bool:
    """Whether rows with the same identifier are the same row; a few identifiers are looked at first, for those of
    groups tell at once."""
    few = series.filter(series.is_duplicated()).head(100).unique().to_list()
    return all(
        rows.hash_rows().n_unique() == rows[series.name].n_unique() for rows in (frame.filter(series.is_in(few)), frame)
    )


def _infer(series: pl.Series, first: bool, labels: pl.Series | None, counts: dict[str, int]) -> Role:
    present = series.drop_nulls()
    if present.len() == 0:
        return Role("nominal" if series.dtype == pl.String else "numeric", 0.0, "every value is missing")
    if series.dtype.is_temporal():
        return Role("datetime", 1.0, "dates")
    if series.dtype == pl.Boolean:
        return Role("binary", 1.0, "true or false")
    if series.dtype.is_float():
        return _infer_float(series, present, first)
    if series.dtype.is_integer():
        return _infer_integer(series, present, first)
    if labels is None:
        counts[series.name] = present.n_unique()
        few = counts[series.name] <= _MOST_LEVELS
        labels = present.unique() if few else None
    else:
        counts[series.name] = labels.len()
    return _infer_text(present, series.name, counts[series.name], labels)


def _infer_float(series: pl.Series, present: pl.Series, first: bool) -> Role:
    head = present.head(_SAMPLE)
    if bool((head == head.floor()).all()) and bool((present == present.floor()).all()):
        if float(present.abs().max()) < 2**53:  # type: ignore[arg-type]
            return _infer_integer(series.cast(pl.Int64), present.cast(pl.Int64), first)
        return Role("numeric", 0.95, "whole numbers")
    return Role("numeric", 1.0, "numbers with decimals")


def _infer_integer(series: pl.Series, present: pl.Series, first: bool) -> Role:
    words = name_words(series.name)
    few = present.head(_SAMPLE).n_unique() <= _MOST_CODES
    distinct = present.n_unique() if few or words & _ID_WORDS or first else _MOST_CODES + 1
    if distinct == 2:
        values = set(present.unique().to_list())
        if values == {0, 1}:
            return Role("binary", 0.95, "only 0 and 1")
        if values in ({-1, 1}, {1, 2}) and present.len() >= 10:
            return Role("binary", 0.8, f"only {min(values)} and {max(values)}")
    share = distinct / present.len()
    if words & _ID_WORDS:
        if share > 0.9 and present.len() >= 5:
            return Role(
                "id", 0.95, f"named like an identifier, and {'no' if share == 1.0 else 'hardly any'} value repeats"
            )
        if distinct > _MOST_CODES and share >= 0.05:
            return Role("id", 0.7, _NAMES_GROUPS)
        if distinct <= _MOST_CODES:
            return Role("nominal", 0.8, f"{distinct} integer codes, by the column's name")
    if first and present.len() >= 20 and series.null_count() == 0 and _counts_rows(series):
        return Role("id", 0.9, f"first column, counts the rows from {series[0]}")
    if distinct <= _MOST_CODES and words & _CODE_WORDS and share <= 0.5:
        return Role("nominal", 0.7, f"{distinct} integer codes, by the column's name")
    return Role("numeric", 0.8 if distinct <= 10 else 0.95, "integers")


def _counts_rows(series: pl.Series) -> bool:
    return series[0] in (0, 1) and bool((series.diff().drop_nulls() == 1).all())


def _infer_text(present: pl.Series, name: str, distinct: int, different: pl.Series | None) -> Role:
    if distinct == 2 and different is not None:
        labels = sorted(different.to_list())
        return Role("binary", 0.95, f"two labels: {plain(labels[0], 30)} and {plain(labels[1], 30)}")
    rows = present.len()
    share = distinct / rows
    sample = present.head(_SAMPLE)
    if bool(sample.head(50).str.contains(_UUID).all()):
        return Role("id", 0.98, "universally unique identifiers")
    words = float(sample.str.count_matches(r"\S+").mean() or 0)  # type: ignore[arg-type]
    if words >= 4 and share > 0.5 and distinct > 10:
        return Role("text", 0.9, f"prose: {words:.0f} words in the mean cell, {distinct} different cells")
    if words >= _PROSE_WORDS and distinct > 2 * _MOST_CODES:
        return Role("text", 0.8, f"prose: {words:.0f} words in the mean cell; {distinct} different cells, repeated")
    if distinct <= _MOST_LEVELS and different is not None:
        labels = [str(label) for label in different.to_list()]
        found = _ordered(labels)
        if found is not None:
            order, confidence, what = found
            return Role("ordinal", confidence, f"{what}: " + " < ".join(plain(v, 30) for v in order), order)
    if share > 0.9 and name_words(name) & _ID_WORDS and rows >= 5:
        return Role("id", 0.95, f"named like an identifier, and {'no' if share == 1.0 else 'hardly any'} value repeats")
    if share == 1.0 and rows >= 20:
        return Role("id", 0.8, "a different value in every row")
    if name_words(name) & _ID_WORDS and distinct > _MOST_CODES and share >= 0.05:
        return Role("id", 0.7, _NAMES_GROUPS)
    return Role("nominal", 0.95 if share < 0.2 else 0.7, "one label" if distinct == 1 else f"{distinct} labels")


def guess_order(labels: Sequence[str]) -> tuple[str, ...] | None:
    """The labels from low to high if they stand on one known scale or are ranges of numbers, else None.

    >>> guess_order(["PhD", "bachelors", "masters"])
    ('bachelors', 'masters', 'PhD')
    >>> guess_order(["65+", "18-24", "25-64"])
    ('18-24', '25-64', '65+')
    >>> guess_order(["B+", "A", "C-", "B"])
    ('C-', 'B', 'B+', 'A')
    >>> guess_order(["3 stars", "1 star", "5 stars"])
    ('1 star', '3 stars', '5 stars')
    >>> guess_order(["red", "green", "blue"]) is None
    True
    """
    found = _ordered(labels)
    return found[0] if found is not None else None


def _ordered(labels: Sequence[str]) -> tuple[tuple[str, ...], float, str] | None:
    """The order of labels, how sure it is, and what kind of scale it is; None if they stand on none.

    The confidence falls with how often such labels mean something else: ranges hardly ever, letters quite often.
    """
    grades = [label.strip().lower() for label in labels]
    # Bare letters may be any groups; a plus, a minus or the failing grade makes them marks.
    marked = any(len(grade) == 2 for grade in grades) or {"a", "b", "f"} <= set(grades)
    if len(labels) >= 3 and marked and all(grade in _GRADES for grade in grades):
        return tuple(label for _, label in sorted(zip(map(_GRADES.index, grades), labels))), 0.8, "marks"
    if len(labels) >= 3 and all(grade in _CREDIT for grade in grades) and any(len(grade) > 1 for grade in grades):
        return tuple(label for _, label in sorted(zip(map(_CREDIT.index, grades), labels))), 0.8, "credit ratings"
    normal = [_normal(label) for label in labels]
    if len(set(normal)) < max(len(labels), 2):
        return None
    for scale in _SCALES:
        if normal[0] in scale and all(label in scale for label in normal):
            order = tuple(label for _, label in sorted(zip(map(scale.index, normal), labels)))
            calendar = scale[0] in ("monday", "mon", "january", "jan")
            words = "days or months, which begin anew" if calendar else "labels of one scale"
            return order, 0.7 if calendar else 0.9 if len(labels) > 2 else 0.8, words
    keys = list(takewhile(lambda key: key is not None, map(_number_key, labels)))
    if len(keys) == len(labels) and len(set(keys)) == len(keys):
        order = tuple(label for _, label in sorted(zip(keys, labels)))
        return order, 0.95, "ranges or levels of numbers"
    if len(labels) >= 3 and all(grade in _ROMAN for grade in grades) and "ii" in grades:
        return tuple(label for _, label in sorted(zip(map(_ROMAN.__getitem__, grades), labels))), 0.8, "Roman numerals"
    return None


def _normal(label: str) -> str:
    text = re.sub(r"[_\-\s]+", " ", label.lower().replace(".", "").replace("'", "")).strip()
    return _SAME_LABEL.get(text, text)


def _number_key(label: str) -> tuple[float, float] | None:
    text = label.strip().lower()
    level = _LEVEL.match(_normal(label))
    if level:
        return float(_ROMAN.get(level.group(1)) or level.group(1)), 0.0
    stars = _STARS.match(text)
    if stars:
        said = stars.group(1)
        return float(len(stars.group(2)) if said is None else _WORD_NUMBERS.get(said) or said), 0.0
    found = _RANGE.match(re.sub(r"[$€£]", "", re.sub(r"(?<=\d)k\b", "000", text)))
    if not found:
        return None
    try:
        if found["below"]:
            return _value(found["top"]), -1.0
        if found["above"]:
            return _value(found["bottom"]), 1.0
        if found["open"]:
            return _value(found["open"]), 1.0
        low, high = _value(found["low"]), _value(found["high"])
    except ValueError:
        return None
    return (low, 0.0) if low < high else None


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def name_words(name: str) -> set[str]:
    """The words of a column's name, in lower case.

    >>> sorted(name_words("birthDate_2"))
    ['2', 'birth', 'date']
    """
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return {word for word in re.split(r"[^a-z0-9]+", spaced.lower()) if word}


def lost_cells(note: Mapping[str, Any]) -> str:
    """What a column held that became missing, in words; nothing where it held nothing of the kind.

    >>> lost_cells({"failed": 2, "first": [(11, "inf"), (311, "inf")]}), lost_cells({"infinite": 1}), lost_cells({})
    ("2 could not be read ('inf')", '1 infinite', '')
    """
    parts = []
    if note.get("failed"):
        examples = dict.fromkeys(f"'{plain(value, 30)}'" for _, value in note["first"])
        parts.append(f"{note['failed']:,} could not be read ({', '.join(list(examples)[:3])})")
    if note.get("infinite"):
        parts.append(f"{note['infinite']:,} infinite")
    return ", ".join(parts)


def _told(note: Mapping[str, Any]) -> str:
    """What parsing changed, in words."""
    parts = []
    if note.get("removed"):
        parts.append(f"read from text without its {', '.join(note['removed'])}")
    elif note.get("to") == "number":
        parts.append("read from text")
    if note.get("failed"):
        row, value = note["first"][0]
        cells = count(note["failed"], "cell")
        parts.append(f"{cells} could not be read and became missing (first: '{plain(value, 30)}' at row {row + 1})")
    if note.get("ambiguous"):
        parts.append(f"looks like {note['ambiguous']}")
    return "; ".join(parts)


def check_overrides(frame: pl.DataFrame, overrides: Mapping[str, Any]) -> dict[str, Role]:
    """Roles given by the user, as `Role` objects; raises the error sentence for a role that cannot hold."""
    return {name: _override(frame, name, wanted) for name, wanted in overrides.items()}


def _override(frame: pl.DataFrame, name: str, wanted: Any) -> Role:
    who = "roles"
    if name not in frame.columns:
        raise DataError(who, f"column '{plain(name)}'", "is not in the table", way_out=nearest(name, frame.columns))
    order: Sequence[Any] | None = None
    if isinstance(wanted, Role):
        wanted, order = wanted.role, wanted.order
    elif isinstance(wanted, (tuple, list)) and len(wanted) == 2 and not isinstance(wanted[1], str):
        wanted, order = wanted[0], wanted[1]
    if not isinstance(wanted, str) or wanted not in ROLES:
        raise ParameterError(
            who,
            f"the role of column '{plain(name)}'",
            f"must be one of {', '.join(ROLES)}",
            f"got {plain(repr(wanted))}",
        )
    series = frame[name]
    text = series.dtype == pl.String
    if wanted == "numeric" and (text or series.dtype.is_temporal()):
        kind = "text" if text else "dates"
        shown = series.drop_nulls().head(1).to_list()
        raise DataError(
            who,
            f"column '{plain(name)}'",
            f"holds {kind} and cannot be numeric",
            f"the first value is '{plain(shown[0], 30)}'" if shown else "every value is missing",
            "choose nominal, or clean it",
        )
    if wanted == "datetime" and not series.dtype.is_temporal():
        raise DataError(who, f"column '{plain(name)}'", "holds no dates", f"its type is {series.dtype}")
    if wanted == "binary" and series.drop_nulls().n_unique() > 2:
        raise DataError(
            who, f"column '{plain(name)}'", "cannot be binary", f"it has {series.drop_nulls().n_unique()} values"
        )
    if wanted == "ordinal":
        labels = _given_order(series, name, order)
        return Role("ordinal", 1.0, "declared: " + " < ".join(plain(label, 30) for label in labels[:20]), labels)
    return Role(wanted, 1.0, "declared")


def _given_order(series: pl.Series, name: str, order: Sequence[Any] | None) -> tuple[Any, ...]:
    values = series.drop_nulls().unique().sort().to_list()
    if order is None:
        found = guess_order(values) if series.dtype == pl.String else tuple(values)
        if found is None or len(found) > 1000:
            raise DataError(
                "roles",
                f"column '{plain(name)}'",
                "is declared ordinal without an order",
                way_out=f"give it: {{'{plain(name)}': ('ordinal', ['low', ..., 'high'])}}",
            )
        return found
    labels = [str(label) for label in order] if series.dtype == pl.String else list(order)
    if len(set(labels)) != len(labels):
        raise ParameterError("roles", f"the order of column '{plain(name)}'", "must not repeat a label")
    lost = [value for value in values if value not in set(labels)]
    if lost:
        raise DataError(
            "roles",
            f"the order of column '{plain(name)}'",
            f"leaves out {len(lost)} of its labels",
            f"first: '{plain(lost[0], 30)}'",
            "name every label from low to high",
        )
    return tuple(labels)


def nearest(name: object, names: Sequence[str], listed: str = "the columns are") -> str:
    """A hint for a name that is not there: the nearest names, or the first few, `listed` as what they are.

    >>> nearest("speces", ["species", "petal_width"])
    "did you mean 'species'?"
    >>> nearest("x", ["May", "June"], "its sheets are")
    "its sheets are 'May', 'June'"
    """
    import difflib

    lowered = {known.lower(): known for known in names}
    near = difflib.get_close_matches(str(name).lower(), lowered, n=3, cutoff=0.5)
    if near:
        return "did you mean " + " or ".join(f"'{plain(lowered[found], 40)}'" for found in near) + "?"
    shown = ", ".join(f"'{plain(known, 40)}'" for known in list(names)[:8])
    return f"{listed} {shown}{', ...' if len(names) > 8 else ''}"


def nearest_free(name: object, names: Sequence[str], used: Collection[str]) -> str:
    """The hint for a column that is not there, among the columns of the table that are not used already.

    >>> nearest_free("age", ["agge", "wage"], ["age", "wage"])
    "did you mean 'agge'?"
    >>> nearest_free("age", ["wage"], ["age", "wage"])
    'the table has no column that could be it'
    """
    free = [known for known in names if known not in used]
    return nearest(name, free) if free else "the table has no column that could be it"
