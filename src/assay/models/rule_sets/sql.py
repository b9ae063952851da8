"""Rule sets as SQL: one CASE expression, and the way back from the text that is written here."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...base.errors import DataError, ParameterError, plain
from .conditions import Condition
from .linear import LinearCondition, LinearSum

if TYPE_CHECKING:
    from ...data.columns import ColumnSchema
    from .rule_set import Rule, RuleSet


def identifier(name: str) -> str:
    """A name in double quotes.

    >>> print(identifier('say "hi"'))
    "say ""hi""\"
    """
    _check_text(name, "a name")
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """A constant: text in single quotes, numbers with all their digits, truth values.

    >>> literal("it's"), literal(2.5), literal(True)
    ("'it''s'", '2.5', 'TRUE')
    """
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        _check_text(value, "a label")
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    raise DataError("to_sql", "a value", "must be text, a truth value or a finite number", f"got {plain(repr(value))}")


def _check_text(text: str, what: str) -> None:
    if "\0" in text:
        raise DataError("to_sql", what, "must not hold a zero character", way_out="rename it first")


def condition_sql(condition: Condition | LinearCondition) -> str:
    """The test of a condition; it is never true for NULL unless missing cells pass."""
    if isinstance(condition, LinearCondition):
        return condition.to_sql()
    name = identifier(condition.column)
    if condition.on_presence:
        if condition.excluded:
            return f"({name} IS NOT NULL OR {name} IS NULL)" if condition.missing else f"{name} IS NOT NULL"
        return f"{name} IS NULL" if condition.missing else f"({name} IS NULL AND {name} IS NOT NULL)"
    if condition.categories is None:
        tests = [f"{name} > {literal(condition.low)}"] if math.isfinite(condition.low) else []
        tests += [f"{name} <= {literal(condition.high)}"] if math.isfinite(condition.high) else []
        test = " AND ".join(tests)
        if len(tests) > 1 and condition.missing:
            test = f"({test})"
    elif len(condition.categories) == 1:
        test = f"{name} {'<>' if condition.excluded else '='} {literal(condition.categories[0])}"
    else:
        listed = ", ".join(map(literal, condition.categories))
        test = f"{name} {'NOT IN' if condition.excluded else 'IN'} ({listed})"
    return f"({test} OR {name} IS NULL)" if condition.missing else test


def _premise(rule: Rule) -> str:
    return " AND ".join(map(condition_sql, rule.conditions)) or "TRUE"


def _case(rules: RuleSet, value: Any) -> str:
    """The CASE expression; `value` picks what is concluded."""
    if not rules.rules:
        return _said(value(rules.default))
    lines = [f"  WHEN {_premise(rule)} THEN {_said(value(rule.conclusion))}" for rule in rules.rules]
    return "\n".join(["CASE", *lines, f"  ELSE {_said(value(rules.default))}", "END"])


def _said(conclusion: Any) -> str:
    return conclusion.to_sql() if isinstance(conclusion, LinearSum) else literal(conclusion)


def _vote(rules: RuleSet) -> str:
    """A subquery that adds the votes of each class and takes the largest sum; without votes the default wins."""
    assert rules.classes is not None
    ballots = [rules._ballot(rule).tolist() for rule in rules.rules]
    lines = [f"SELECT -1 AS place, {literal(rules.default)} AS label, 0.0 AS votes"]
    for place, label in enumerate(rules.classes):
        terms = [
            f"CASE WHEN {_premise(rule)} THEN {literal(ballot[place])} ELSE 0.0 END"
            for rule, ballot in zip(rules.rules, ballots, strict=True)
            if ballot[place]
        ]
        lines.append(f"SELECT {place}, {literal(label)}, {' + '.join(terms) or '0.0'}")
    inner = "\n  UNION ALL ".join(lines)
    return f"(SELECT label FROM (\n  {inner}\n) AS ballots ORDER BY votes DESC, place LIMIT 1)"


def write(rules: RuleSet, table: str | Sequence[str] | None, prediction: str) -> str:
    """The rules as a SELECT, or as an expression without a table."""
    if rules.semantics == "vote":
        columns = [_vote(rules)]
    elif isinstance(rules.default, tuple):
        columns = [_case(rules, lambda v, k=k: v[k]) for k in range(len(rules.default))]
    else:
        columns = [_case(rules, lambda v: v)]
    names = [prediction] if len(columns) == 1 else [f"{prediction}_{k}" for k in range(len(columns))]
    return select(columns, names, table)


def select(columns: Sequence[str], names: Sequence[str], table: str | Sequence[str] | None) -> str:
    """Expressions as columns of a SELECT beside those of a table, or alone without a table.

    >>> print(select(["1 + 1"], ["two"], "numbers"))
    SELECT *, 1 + 1 AS "two"
    FROM "numbers"
    """
    if table is None:
        return ",\n".join(columns)
    listed = ",\n".join(f"{text} AS {identifier(name)}" for text, name in zip(columns, names, strict=True))
    parts = [table] if isinstance(table, str) else list(table)
    if not parts or not all(isinstance(part, str) and part for part in parts):
        raise ParameterError(
            "to_sql",
            "parameter 'table'",
            "must be a name, several that lead to a table, or None",
            f"got {plain(repr(table))}",
            "leave it out for the expression alone",
        )
    return f"SELECT *, {listed}\nFROM {'.'.join(map(identifier, parts))}"


# -- the way back ----------------------------------------------------------------------------------------------------
_TOKEN = re.compile(
    r"""\s*(?:(?P<name>"(?:[^"]|"")*")|(?P<text>'(?:[^']|'')*')"""
    r"""|(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<word>[A-Za-z]+)|(?P<sign><=|<>|>|=|\(|\)|,|\*|\.))"""
)


class _Reader:
    """Reads the tokens of one CASE expression from left to right."""

    def __init__(self, text: str):
        self.tokens: list[tuple[str, str]] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at, end)
            if match is None or match.lastgroup is None:
                raise _refusal(f"unexpected {plain(text[at : at + 20].strip())!r}")
            value = match[match.lastgroup]
            self.tokens.append((match.lastgroup, value.upper() if match.lastgroup == "word" else value))
            at = match.end()
        self.at = 0

    def peek(self, ahead: int = 0) -> tuple[str, str]:
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else ("end", "the end of the text")

    def take(self, kind: str, value: str | None = None) -> str:
        found = self.peek()
        if found[0] != kind or (value is not None and found[1] != value):
            raise _refusal(f"expected {value or kind}, got {plain(found[1], 40)!r}")
        self.at += 1
        return found[1]

    def accept(self, kind: str, value: str) -> bool:
        if self.peek() == (kind, value):
            self.at += 1
            return True
        return False

    def literal(self) -> Any:
        kind, value = self.peek()
        self.at += 1
        if kind == "text":
            return value[1:-1].replace("''", "'")
        if kind == "number":
            return float(value) if any(c in value for c in ".eE") else int(value)
        if (kind, value) in (("word", "TRUE"), ("word", "FALSE")):
            return value == "TRUE"
        raise _refusal(f"expected a constant, got {plain(value, 40)!r}")

    def name(self) -> str:
        return self.take("name")[1:-1].replace('""', '"')

    def case(self) -> tuple[list[Rule], Any]:
        from .rule_set import Rule

        rules: list[Rule] = []
        if not self.accept("word", "CASE"):
            return rules, self.literal()
        while self.accept("word", "WHEN"):
            conditions = self.premise()
            self.take("word", "THEN")
            rules.append(Rule(tuple(conditions), self.literal()))
        self.take("word", "ELSE")
        default = self.literal()
        self.take("word", "END")
        return rules, default

    def premise(self) -> list[Condition]:
        if self.peek() == ("word", "TRUE") and self.peek(1) == ("word", "THEN"):
            self.at += 1
            return []
        found = [self.condition()]
        while self.accept("word", "AND"):
            found.append(self.condition())
        # `x > 1 AND x <= 2` was one condition.
        merged: list[Condition] = []
        for condition in found:
            last = merged[-1] if merged else None
            if last is not None and last.column == condition.column and _is_interval(last, condition):
                merged[-1] = last.merged(condition)
            else:
                merged.append(condition)
        return merged

    def condition(self) -> Condition:
        if not self.accept("sign", "("):
            return self.test()
        inner = self.condition() if self.peek() == ("sign", "(") else self.test()
        while self.accept("word", "AND"):
            inner = inner.merged(self.test())
        if self.accept("word", "OR"):
            column = self.name()
            self.take("word", "IS")
            self.take("word", "NULL")
            if column != inner.column:
                raise _refusal("OR may only add missing cells of the same column")
            fields = (inner.column, inner.low, inner.high, inner.categories, inner.excluded)
            inner = Condition(*fields, missing=True)
        self.take("sign", ")")
        return inner

    def test(self) -> Condition:
        column = self.name()
        if self.accept("word", "IS"):
            present = self.accept("word", "NOT")
            self.take("word", "NULL")
            return Condition.is_present(column) if present else Condition.is_missing(column)
        if self.accept("sign", "<="):
            return Condition.at_most(column, self.number())
        if self.accept("sign", ">"):
            return Condition.above(column, self.number())
        if self.accept("sign", "="):
            return Condition.one_of(column, [self.literal()])
        if self.accept("sign", "<>"):
            return Condition.none_of(column, [self.literal()])
        excluded = self.accept("word", "NOT")
        self.take("word", "IN")
        self.take("sign", "(")
        labels = [self.literal()]
        while self.accept("sign", ","):
            labels.append(self.literal())
        self.take("sign", ")")
        return Condition.none_of(column, labels) if excluded else Condition.one_of(column, labels)

    def number(self) -> float:
        return float(self.take("number"))


def _is_interval(one: Condition, two: Condition) -> bool:
    lower = one.categories is None and math.isinf(one.high) and not one.missing
    return lower and two.categories is None and math.isinf(two.low) and not two.missing


def _refusal(came: str) -> DataError:
    return DataError("RuleSet.from_sql", "the text", "must be what to_sql writes for ordered rules", came)


def read(text: str, schema: ColumnSchema | None) -> RuleSet:
    """The rules of a SELECT or CASE expression that `write` made."""
    from .rule_set import RuleSet

    reader = _Reader(text)
    select = reader.accept("word", "SELECT")
    if select:
        reader.take("sign", "*")
        reader.take("sign", ",")
    columns = [reader.case()]
    while True:
        if reader.accept("word", "AS"):
            reader.name()
        if not reader.accept("sign", ","):
            break
        columns.append(reader.case())
    if select:
        reader.take("word", "FROM")
        reader.name()
        while reader.accept("sign", "."):
            reader.name()
    if reader.peek()[0] != "end":
        raise _refusal(f"unexpected {plain(reader.peek()[1], 40)!r}")
    rules, default = columns[0]
    if len(columns) > 1:
        from .rule_set import Rule

        if any([r.conditions for r in other] != [r.conditions for r in rules] for other, _ in columns[1:]):
            raise _refusal("the columns have different conditions")
        said = [tuple(float(other[i].conclusion) for other, _ in columns) for i in range(len(rules))]
        rules = [Rule(rule.conditions, conclusion) for rule, conclusion in zip(rules, said, strict=True)]
        return RuleSet.of(rules, tuple(float(d) for _, d in columns), schema=schema, numbers=True)
    numbers = all(isinstance(v, float) for v in [*(rule.conclusion for rule in rules), default])
    return RuleSet.of(rules, default, schema=schema, numbers=numbers)
