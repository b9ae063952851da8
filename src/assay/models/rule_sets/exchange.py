"""Rule sets as JSON: written exactly, read strictly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ...base.errors import DataError, plain
from .conditions import Condition
from .linear import LinearCondition, LinearSum

if TYPE_CHECKING:
    from .rule_set import RuleSet

_Label = str | bool | int | float


class _Term(msgspec.Struct, forbid_unknown_fields=True):
    column: str
    weight: float
    missing: float


class _Sum(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    intercept: float
    terms: list[_Term]
    low: float | None = None
    high: float | None = None


class _Condition(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    column: str | None = None
    linear: _Sum | None = msgspec.field(default=None, name="sum")
    above: float | None = None
    at_most: float | None = None
    one_of: list[_Label] | None = msgspec.field(default=None, name="in")
    none_of: list[_Label] | None = msgspec.field(default=None, name="not_in")
    missing: bool = False


class _Rule(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    premise: list[_Condition] = msgspec.field(name="if")
    conclusion: _Label | list[float] | _Sum = msgspec.field(name="then")
    counts: list[float] = []
    rows: float = 0.0


class _Column(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    name: str
    categories: list[_Label] | None = None


class _Document(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    format: Literal["assay-rules"]
    version: Literal[1]
    semantics: Literal["ordered", "vote"]
    columns: list[_Column]
    rules: list[_Rule]
    default: _Label | list[float] | _Sum
    classes: list[_Label] | None = None
    default_counts: list[float] = []
    total: list[float] = []
    smoothing: float = 1.0
    missing_seen: list[str] | None = None


def _finite(value: float) -> float | None:
    return value if value not in (float("inf"), float("-inf")) else None


def _sum(one: LinearSum) -> _Sum:
    return _Sum(one.intercept, [_Term(*term) for term in one.terms], _finite(one.low), _finite(one.high))


def _read_sum(found: _Sum) -> LinearSum:
    low = float("-inf") if found.low is None else found.low
    high = float("inf") if found.high is None else found.high
    return LinearSum(found.intercept, tuple((t.column, t.weight, t.missing) for t in found.terms), low, high)


def _condition(condition: Condition | LinearCondition) -> _Condition:
    if isinstance(condition, LinearCondition):
        return _Condition(linear=_sum(condition.sum), above=_finite(condition.low), at_most=_finite(condition.high))
    if condition.categories is None:
        ends = _finite(condition.low), _finite(condition.high)
        return _Condition(condition.column, above=ends[0], at_most=ends[1], missing=condition.missing)
    listed = list(condition.categories)
    if condition.excluded:
        return _Condition(condition.column, none_of=listed, missing=condition.missing)
    return _Condition(condition.column, one_of=listed, missing=condition.missing)


def write(rules: RuleSet) -> str:
    """The rule set as JSON text."""
    document = _Document(
        format="assay-rules",
        version=1,
        semantics="ordered" if rules.semantics == "ordered" else "vote",
        columns=[
            _Column(name, None if found is None else found.tolist())
            for name, found in zip(rules.schema.names, rules.schema.categories, strict=True)
        ],
        rules=[
            _Rule([_condition(c) for c in rule.conditions], _plain(rule.conclusion), list(rule.counts), rule.rows)
            for rule in rules.rules
        ],
        default=_plain(rules.default),
        classes=None if rules.classes is None else list(rules.classes),
        default_counts=list(rules.default_counts),
        total=list(rules.total),
        smoothing=float(rules.smoothing),
        missing_seen=None if rules.missing_seen is None else list(rules.missing_seen),
    )
    # A fixed order of keys: format and version come first although they are required of every document.
    return msgspec.json.encode(document).decode()


def _plain(conclusion: Any) -> Any:
    if isinstance(conclusion, LinearSum):
        return _sum(conclusion)
    return list(conclusion) if isinstance(conclusion, tuple) else conclusion


def read(text: str | bytes) -> RuleSet:
    """The rule set of a JSON text; anything that is not one is refused."""
    from .rule_set import Rule, RuleSet, schema_from

    try:
        document = msgspec.json.decode(text, type=_Document)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise DataError("RuleSet.from_json", "the text", "is not a rule set", plain(error, 200)) from None
    names = [column.name for column in document.columns]
    if len(set(names)) != len(names):
        raise DataError("RuleSet.from_json", "columns", "must have different names")
    numbers = [*document.default_counts, *document.total, document.smoothing]
    numbers += [c for rule in document.rules for c in [*rule.counts, rule.rows]]
    if any(value < 0 for value in numbers):
        raise DataError("RuleSet.from_json", "counts and smoothing", "must not be negative")
    width = None if document.classes is None else len(document.classes)
    for listed in [document.default_counts, document.total, *(rule.counts for rule in document.rules)]:
        if listed and len(listed) != (1 if width is None else width):
            raise DataError("RuleSet.from_json", "counts", "must have one number per class", f"got {len(listed)}")
    schema = schema_from({c.name: None if c.categories is None else _distinct(c) for c in document.columns})
    rules = [
        Rule(tuple(_read_condition(c) for c in r.premise), _conclusion(r.conclusion, width), tuple(r.counts), r.rows)
        for r in document.rules
    ]
    said = [rule.conclusion for rule in rules] + [_conclusion(document.default, width)]
    if document.classes is not None:
        unknown = [label for label in said if label not in document.classes]
        if unknown:
            raise DataError("RuleSet.from_json", f"conclusion {plain(repr(unknown[0]))}", "is not among the classes")
    elif len({len(v) if isinstance(v, tuple) else 0 for v in said}) > 1:
        raise DataError("RuleSet.from_json", "conclusions", "must all have as many numbers")
    return RuleSet(
        tuple(rules),
        said[-1],
        schema,
        None if document.classes is None else tuple(document.classes),
        tuple(document.default_counts),
        tuple(document.total),
        document.semantics,
        document.smoothing,
        None if document.missing_seen is None else tuple(document.missing_seen),
    )


def _distinct(column: _Column) -> list[_Label]:
    found = column.categories or []
    if len(set(found)) != len(found):
        raise DataError("RuleSet.from_json", f"categories of column '{plain(column.name)}'", "must be different")
    return list(found)


def _conclusion(value: Any, n_classes: int | None) -> Any:
    if n_classes is not None:
        if isinstance(value, (list, _Sum)):
            raise DataError("RuleSet.from_json", "a conclusion", "must be a label where there are classes")
        return value
    if isinstance(value, _Sum):
        return _read_sum(value)
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, (str, bool)):
        raise DataError("RuleSet.from_json", "a conclusion", "must be a number where there are no classes")
    return float(value)


def _read_condition(found: _Condition) -> Condition | LinearCondition:
    low = float("-inf") if found.above is None else found.above
    high = float("inf") if found.at_most is None else found.at_most
    if (found.column is None) == (found.linear is None):
        raise DataError("RuleSet.from_json", "a condition", "must have a column or a sum, and one of these only")
    if found.linear is not None:
        if found.one_of is not None or found.none_of is not None or found.missing:
            raise DataError("RuleSet.from_json", "a condition on a sum", "must have ends and nothing else")
        return LinearCondition(_read_sum(found.linear), low, high)
    assert found.column is not None
    kinds = [found.above is not None or found.at_most is not None, found.one_of is not None, found.none_of is not None]
    if sum(kinds) != 1:
        raise DataError(
            "RuleSet.from_json",
            f"a condition on column '{plain(found.column)}'",
            "must have ends, 'in' or 'not_in', and one of these only",
        )
    if found.one_of is not None:
        return Condition.one_of(found.column, found.one_of, missing=found.missing)
    if found.none_of is not None:
        return Condition.none_of(found.column, found.none_of, missing=found.missing)
    return Condition.between(found.column, low, high, missing=found.missing)
