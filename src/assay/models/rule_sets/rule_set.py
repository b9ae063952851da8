"""The rule set: what every rule learner gives, readable, editable, scored and exported."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
from scipy.special import ndtri

from ...base.columns import plain_label
from ...base.errors import DataError, ParameterError, plain
from ...base.estimator import check_weights
from ...base.views import Rules
from ...data.columns import ColumnSchema, read_columns
from . import exchange, sql
from .conditions import Condition, merge_conditions
from .linear import LinearCondition, LinearSum

SEMANTICS = ("ordered", "vote")
_SHOWN = 100


@dataclass(frozen=True)
class Rule:
    """IF all conditions hold THEN conclusion. `counts` is the weight of each class among the rows it was scored on.

    A condition is on one column or on a linear sum of columns; where conclusions are numbers, one may be such a sum.
    """

    conditions: tuple[Condition | LinearCondition, ...]
    conclusion: Any
    counts: tuple[float, ...] = ()
    rows: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "conditions", tuple(self.conditions))
        object.__setattr__(self, "counts", tuple(float(c) for c in self.counts))
        object.__setattr__(self, "conclusion", plain_label(self.conclusion))
        if self.counts:
            object.__setattr__(self, "rows", float(sum(self.counts)))


def wilson_interval(correct: float, rows: float, alpha: float = 0.05) -> tuple[float, float]:
    """Wilson's score interval of a share.

    >>> [round(end, 3) for end in wilson_interval(3, 3)]
    [0.439, 1.0]
    """
    if not rows > 0:
        return 0.0, 1.0
    z = float(ndtri(1 - alpha / 2))
    share = correct / rows
    centre = (share + z * z / (2 * rows)) / (1 + z * z / rows)
    half = z / (1 + z * z / rows) * math.sqrt(share * (1 - share) / rows + z * z / (4 * rows * rows))
    low = 0.0 if correct == 0 else max(0.0, centre - half)
    return low, 1.0 if correct == rows else min(1.0, centre + half)


@dataclass(frozen=True, eq=False)
class RuleSet:
    """Rules with a default, on columns described by `schema`. Changes give a new set; the old one stays.

    With "ordered" semantics the first rule whose conditions hold decides; with "vote" every rule that holds adds its
    class counts and the largest sum decides (ties: the first in `classes`). Rows that no rule takes get `default`.

    Parameters
    ----------
    rules : the rules, in order
    default : label or number where no rule holds
    schema : names, nominal columns and categories of the table
    classes : class labels, or None if conclusions are numbers
    default_counts : weight of each class among rows that no rule takes
    total : weight of each class among all rows (of all rows, for numbers)
    semantics : "ordered" or "vote"
    smoothing : Laplace smoothing of class shares, added to each count
    missing_seen : columns that had missing cells; text says "or missing" of these alone (None: of all)

    Examples
    --------
    >>> from assay.models.rules import Condition, Rule, RuleSet
    >>> rules = RuleSet.of([Rule((Condition.above("age", 60),), "yes")], default="no")
    >>> print(rules.to_text())
    IF age > 60 THEN yes
    OTHERWISE no
    >>> import pandas as pd
    >>> rules.predict(pd.DataFrame({"name": ["a", "b"], "age": [70, None]}))
    array(['yes', 'no'], dtype='<U3')
    """

    rules: tuple[Rule, ...]
    default: Any
    schema: ColumnSchema
    classes: tuple[Any, ...] | None = None
    default_counts: tuple[float, ...] = ()
    total: tuple[float, ...] = ()
    semantics: str = "ordered"
    smoothing: float = 1.0
    missing_seen: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "rules", tuple(self.rules))
        put(self, "default_counts", tuple(float(c) for c in self.default_counts))
        put(self, "total", tuple(float(c) for c in self.total))
        put(self, "default", plain_label(self.default))
        if self.classes is not None:
            classes = [plain_label(c) for c in self.classes]
            said = [rule.conclusion for rule in self.rules] + [self.default]
            put(self, "classes", tuple(classes + [c for c in dict.fromkeys(said) if c not in classes]))
        if self.semantics not in SEMANTICS:
            raise ParameterError(
                "RuleSet", "parameter 'semantics'", "must be 'ordered' or 'vote'", f"got {self.semantics!r}"
            )
        if self.semantics == "vote" and self.classes is None:
            raise ParameterError("RuleSet", "parameter 'semantics'", "must be 'ordered' where conclusions are numbers")
        for number, rule in enumerate(self.rules):
            self._check_rule(number, rule)

    def _check_rule(self, number: int, rule: Rule) -> None:
        sums = [condition.sum for condition in rule.conditions if isinstance(condition, LinearCondition)]
        if isinstance(rule.conclusion, LinearSum):
            if self.classes is not None:
                raise DataError(
                    "RuleSet", f"the conclusion of rule {number}", "must be a label where there are classes"
                )
            sums.append(rule.conclusion)
        for name in (name for one in sums for name in one.columns):
            if name not in self.schema.names:
                raise DataError("RuleSet", f"column '{plain(name)}' of rule {number}", "is not in the schema")
            if self.schema.nominal[self.schema.names.index(name)]:
                raise DataError("RuleSet", f"column '{plain(name)}' of rule {number}", "is nominal but stands in a sum")
        for condition in rule.conditions:
            if isinstance(condition, LinearCondition):
                continue
            name = plain(condition.column)
            if condition.column not in self.schema.names:
                raise DataError("RuleSet", f"column '{name}' of rule {number}", "is not in the schema")
            nominal = bool(self.schema.nominal[self.schema.names.index(condition.column)])
            if nominal and condition.categories is None:
                raise DataError("RuleSet", f"column '{name}' of rule {number}", "is nominal but compared with a number")
            if not nominal and condition.categories:
                raise DataError("RuleSet", f"column '{name}' of rule {number}", "is numeric but compared with labels")

    @classmethod
    def of(
        cls,
        rules: Iterable[Rule],
        default: Any,
        *,
        schema: ColumnSchema | None = None,
        semantics: str = "ordered",
        numbers: bool = False,
    ) -> RuleSet:
        """A rule set written by hand: the schema is read off the conditions unless given."""
        listed = tuple(rules)
        found = schema_of(listed) if schema is None else schema
        classes = None if numbers else tuple(dict.fromkeys([*(rule.conclusion for rule in listed), default]))
        return cls(listed, default, found, classes, semantics=semantics)

    # -- use -------------------------------------------------------------------------------------------------------
    def read(self, X: Any) -> np.ndarray:
        """The columns of the schema as numbers and category codes; frames may hold other columns too."""
        names = list(self.schema.names)
        if hasattr(X, "columns") and hasattr(X, "__getitem__"):
            held = [str(name) for name in X.columns]
            absent = [name for name in names if name not in held]
            if not absent:
                X = X[names]
            elif len(held) != len(names) or names != [f"x{j}" for j in range(len(names))]:
                raise DataError("RuleSet", f"column '{plain(absent[0])}'", "is not in the table")
        cells = read_columns("RuleSet", X, self.schema)
        if cells.shape[1] != len(names):
            raise DataError("RuleSet", "X", f"must have {len(names)} columns", f"got {cells.shape[1]}")
        return cells

    def _holds(self, rule: Rule, cells: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Those of `rows` on which every condition of the rule holds."""
        for condition in rule.conditions:
            if isinstance(condition, LinearCondition):
                rows = rows[condition.passes_rows(cells[rows], self.schema.names)]
                continue
            j = self.schema.names.index(condition.column)
            rows = rows[condition.passes(cells[rows, j], self.schema.categories[j])]
        return rows

    def first_match(self, X: Any) -> np.ndarray:
        """For each row the number of the first rule that holds, or -1."""
        return self._first(self.read(X))

    def _first(self, cells: np.ndarray) -> np.ndarray:
        taken = np.full(cells.shape[0], -1)
        left = np.arange(cells.shape[0])
        for number, rule in enumerate(self.rules):
            held = self._holds(rule, cells, left)
            if held.size:
                taken[held] = number
                left = left[taken[left] < 0]
            if left.size == 0:
                break
        return taken

    def _votes(self, cells: np.ndarray) -> np.ndarray:
        assert self.classes is not None
        votes = np.zeros((cells.shape[0], len(self.classes)))
        everyone = np.arange(cells.shape[0])
        for rule in self.rules:
            votes[self._holds(rule, cells, everyone)] += self._ballot(rule)
        return votes

    def _ballot(self, rule: Rule) -> np.ndarray:
        """The class counts of a rule, or one vote for its conclusion where it was never scored."""
        assert self.classes is not None
        counts = np.zeros(len(self.classes))
        if any(rule.counts):
            counts[: len(rule.counts)] = rule.counts
        else:
            counts[self.classes.index(rule.conclusion)] = 1.0
        return counts

    def predict(self, X: Any) -> np.ndarray:
        """What the rules conclude for each row."""
        return self.conclude(self.read(X))

    def conclude(self, cells: np.ndarray) -> np.ndarray:
        """`predict` for cells that were already read with the schema."""
        if self.semantics == "ordered":
            # The default stands last, where -1 finds it.
            said = [*(rule.conclusion for rule in self.rules), self.default]
            if any(isinstance(one, LinearSum) for one in said):
                return self._sums(said, cells)
            return np.array(said)[self._first(cells)]
        assert self.classes is not None
        votes = self._votes(cells)
        best = np.where(votes.any(axis=1), votes.argmax(axis=1), self.classes.index(self.default))
        return np.array(self.classes)[best]

    def _sums(self, said: list[Any], cells: np.ndarray) -> np.ndarray:
        taken = self._first(cells)
        values = np.empty(cells.shape[0])
        for number in np.unique(taken).tolist():
            rows, one = np.flatnonzero(taken == number), said[number]
            values[rows] = one.values(cells[rows], self.schema.names) if isinstance(one, LinearSum) else one
        return values

    def predict_proba(self, X: Any) -> np.ndarray:
        """Laplace-smoothed class shares of the rule that decides, or of the votes; columns follow `classes`."""
        return self.shares(self.read(X))

    def shares(self, cells: np.ndarray) -> np.ndarray:
        """`predict_proba` for cells that were already read with the schema."""
        if self.classes is None:
            raise DataError("RuleSet", "predict_proba", "needs classes", way_out="these rules conclude numbers")
        default = np.zeros(len(self.classes))
        if any(self.default_counts):
            default[: len(self.default_counts)] = self.default_counts
        else:
            default[self.classes.index(self.default)] = 1.0
        if self.semantics == "vote":
            counts = self._votes(cells)
            counts = np.where(counts.any(axis=1, keepdims=True), counts, default)
        else:
            counts = np.array([*(self._ballot(rule) for rule in self.rules), default])[self._first(cells)]
        # By a power of two, so that the largest smoothing has a sum.
        smoothed = np.ldexp(counts + self.smoothing, -16)
        return smoothed / smoothed.sum(axis=1, keepdims=True)

    # -- scores ----------------------------------------------------------------------------------------------------
    def rescored(self, X: Any, y: Any, sample_weight: Any = None) -> RuleSet:
        """The same rules with counts from these rows; if ordered, a row counts for the rule that takes it."""
        cells = self.read(X)
        target = np.asarray(y)
        if target.shape[:1] != (cells.shape[0],):
            raise DataError("RuleSet", "X and y", "must have the same number of rows")
        weights = check_weights("RuleSet", sample_weight, cells.shape[0])
        if self.classes is None:
            return self._recounted(cells, np.zeros(cells.shape[0], dtype=np.intp), weights, None)
        known = {label: code for code, label in enumerate(self.classes)}
        codes = np.array([known.setdefault(label, len(known)) for label in target.tolist()], dtype=np.intp)
        return self._recounted(cells, codes, weights, tuple(known))

    def _recounted(
        self, cells: np.ndarray, codes: np.ndarray, weights: np.ndarray | None, classes: tuple[Any, ...] | None
    ) -> RuleSet:
        width = 1 if classes is None else len(classes)
        weight = np.ones(cells.shape[0]) if weights is None else weights

        def counts_of(rows: np.ndarray) -> tuple[float, ...]:
            return tuple(np.bincount(codes[rows], weight[rows], minlength=width).tolist())

        everyone = np.arange(cells.shape[0])
        if self.semantics == "ordered":
            taken = self._first(cells)
            order = np.argsort(taken, kind="stable")
            ends = np.searchsorted(taken[order], np.arange(-1, len(self.rules)), side="right")
            counts = [counts_of(part) for part in np.split(order, ends[:-1])]
            default, per_rule = counts[0], counts[1:]
        else:
            per_rule = [counts_of(self._holds(rule, cells, everyone)) for rule in self.rules]
            default = counts_of(np.flatnonzero(~self._votes(cells).any(axis=1)))
        rules = tuple(
            replace(rule, counts=() if classes is None else c, rows=sum(c))
            for rule, c in zip(self.rules, per_rule, strict=True)
        )
        return replace(self, rules=rules, classes=classes, default_counts=default, total=counts_of(everyone))

    def statistics(self, alpha: float = 0.05) -> list[dict[str, Any]]:
        """For each rule: rows it takes, rows it gets right, coverage, support, confidence, lift, Wilson interval.

        Coverage is the share of all rows that the rule takes, support the share that it takes and gets right,
        confidence the share of its rows that it gets right (between `low` and `high`), and lift the confidence
        over the share of its class among all rows.
        """
        total = sum(self.total)
        found = []
        for rule in self.rules:
            then = _shown(rule.conclusion)
            row: dict[str, Any] = {"if": self.premise(rule), "then": then, "rows": rule.rows}
            row["coverage"] = rule.rows / total if total else math.nan
            if self.classes is not None:
                correct = self.correct(rule)
                share = self._share(rule.conclusion)
                confidence = correct / rule.rows if rule.rows else math.nan
                low, high = wilson_interval(correct, rule.rows, alpha)
                row |= {"correct": correct, "support": correct / total if total else math.nan}
                row |= {"confidence": confidence, "lift": confidence / share if share else math.nan}
                row |= {"low": low, "high": high}
            found.append(row)
        return found

    def score_rules(self, X: Any, y: Any, sample_weight: Any = None, alpha: float = 0.05) -> list[dict[str, Any]]:
        """`statistics` of the rules on other data."""
        return self.rescored(X, y, sample_weight).statistics(alpha)

    def correct(self, rule: Rule) -> float:
        """The weight of the rows that the rule takes and gets right."""
        assert self.classes is not None
        place = self.classes.index(rule.conclusion)
        return rule.counts[place] if place < len(rule.counts) else 0.0

    def _share(self, label: Any) -> float:
        assert self.classes is not None
        place, total = self.classes.index(label), sum(self.total)
        return self.total[place] / total if total and place < len(self.total) else 0.0

    # -- changes ---------------------------------------------------------------------------------------------------
    def add(self, rule: Rule, at: int | None = None) -> RuleSet:
        """A set with the rule inserted before number `at`, or at the end."""
        place = len(self.rules) if at is None else at
        return replace(self, rules=(*self.rules[:place], rule, *self.rules[place:]))

    def remove(self, number: int) -> RuleSet:
        """A set without rule `number`."""
        self._check_number(number)
        return replace(self, rules=(*self.rules[:number], *self.rules[number + 1 :]))

    def replace(self, number: int, rule: Rule) -> RuleSet:
        """A set with another rule in place of rule `number`."""
        self._check_number(number)
        return replace(self, rules=(*self.rules[:number], rule, *self.rules[number + 1 :]))

    def _check_number(self, number: int) -> None:
        if not 0 <= number < len(self.rules):
            last = len(self.rules) - 1
            raise ParameterError("RuleSet", "the number of a rule", f"must be from 0 to {last}", f"got {number}")

    def simplify(self) -> RuleSet:
        """The same predictions with less text.

        Conditions on one column become one, rules that cannot hold are dropped, and so is, under "ordered"
        semantics, every rule that holds only where an earlier one does.
        """
        kept: list[Rule] = []
        for rule in self.rules:
            merged = replace(rule, conditions=merge_conditions(rule.conditions))
            if any(condition.impossible for condition in merged.conditions):
                continue
            if self.semantics == "ordered" and any(_implies(merged, earlier) for earlier in kept):
                continue
            kept.append(merged)
        return replace(self, rules=tuple(kept))

    def prune(self, X: Any, y: Any, sample_weight: Any = None) -> RuleSet:
        """Drop rules and conditions one at a time, the last rule first, while the error on these rows does not rise.

        The result is scored on these rows.
        """
        cells, target = self.read(X), np.asarray(y)
        weights = check_weights("RuleSet", sample_weight, cells.shape[0])

        def error(candidate: RuleSet) -> float:
            said = candidate.conclude(cells)
            if candidate.classes is None:
                return float(np.average((said - target) ** 2, weights=weights))
            return float(np.average(said != target, weights=weights))

        current, least = self, error(self)
        for number in range(len(self.rules) - 1, -1, -1):
            without = current.remove(number)
            if (fewer := error(without)) <= least:
                current, least = without, fewer
                continue
            place = len(current.rules[number].conditions) - 1
            while place >= 0 and len(current.rules[number].conditions) > 1:
                rule = current.rules[number]
                shorter = replace(rule, conditions=rule.conditions[:place] + rule.conditions[place + 1 :])
                candidate = current.replace(number, shorter)
                if (fewer := error(candidate)) <= least:
                    current, least = candidate, fewer
                place -= 1
        return current.rescored(X, y, sample_weight)

    # -- exchange --------------------------------------------------------------------------------------------------
    def to_sql(self, table: str | Sequence[str] | None = None, prediction: str = "prediction") -> str:
        """A SELECT of all columns of `table` and the prediction; without a table, the expression alone.

        Names and literals are quoted; a missing cell is NULL. The text runs in SQLite and DuckDB. A table name in parts
        (schema, table) is given as a sequence.
        """
        return sql.write(self, table, prediction)

    @classmethod
    def from_sql(cls, text: str, schema: ColumnSchema | None = None) -> RuleSet:
        """The rules of a text that `to_sql` wrote for ordered rules; counts are not in it. Nothing is executed.

        Linear sums are not read back; `to_json` keeps them.
        """
        return sql.read(text, schema)

    def to_json(self) -> str:
        """The whole rule set as JSON text."""
        return exchange.write(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> RuleSet:
        """The rule set that `to_json` wrote; anything else is refused in one sentence. Nothing is executed."""
        return exchange.read(text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuleSet) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __len__(self) -> int:
        return len(self.rules)

    # -- showing ---------------------------------------------------------------------------------------------------
    def premise(self, rule: Rule) -> str:
        """The conditions of a rule in words; "or missing" is said of columns that had missing cells."""
        words = []
        for condition in rule.conditions:
            if isinstance(condition, LinearCondition):
                words.append(condition.to_text())
                continue
            known = self.schema.categories[self.schema.names.index(condition.column)]
            show_missing = self.missing_seen is None or condition.column in self.missing_seen
            words.append(condition.to_text(show_missing, () if known is None else known.tolist()))
        return " AND ".join(words) or "TRUE"

    def _counted(self, counts: tuple[float, ...], conclusion: Any, rows: float) -> str:
        if not rows:
            return ""
        if self.classes is None or not counts:
            return f" ({rows:g} rows)"
        place = self.classes.index(conclusion)
        return f" ({counts[place] if place < len(counts) else 0.0:g} of {rows:g})"

    def to_text(self) -> str:
        """The rules in words, one per line, with how many of their rows they get right."""
        lines = [
            f"IF {self.premise(rule)} THEN {_said(rule.conclusion)}"
            f"{self._counted(rule.counts, rule.conclusion, rule.rows)}"
            for rule in self.rules
        ]
        tail = self._counted(self.default_counts, self.default, sum(self.default_counts))
        return "\n".join([*lines, f"OTHERWISE {_said(self.default)}{tail}"])

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in ("", "if", "then", "rows", "confidence", "lift"))
        body = []
        for number, row in enumerate(self.statistics()[:_SHOWN]):
            share = "" if not row.get("rows") or "low" not in row else f"{row['confidence']:.3g}"
            interval = f" ({row['low']:.2f} to {row['high']:.2f})" if share else ""
            lift = f"{row['lift']:.3g}" if share and math.isfinite(row["lift"]) else ""
            cells = [str(number + 1), row["if"], _said(row["then"]), f"{row['rows']:g}", share + interval, lift]
            body.append("<tr>" + "".join(f"<td>{escape(plain(cell, 400))}</td>" for cell in cells) + "</tr>")
        if len(self.rules) > _SHOWN:
            body.append(f'<tr><td></td><td colspan="5">and {len(self.rules) - _SHOWN} more rules</td></tr>')
        body.append(f'<tr><td></td><td>otherwise</td><td colspan="4">{escape(_said(self.default))}</td></tr>')
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"

    def view(self, title: str = "Rules") -> Rules:
        """The rules as a picture; the first hundred of a long set."""
        shown = [
            {
                "if": self.premise(rule),
                "then": _shown(rule.conclusion),
                "rows": rule.rows,
                "correct": rule.rows if self.classes is None else self.correct(rule),
            }
            for rule in self.rules[:_SHOWN]
        ]
        cut = True if len(self.rules) > _SHOWN else None
        return Rules(title=title, rules=shown, default=_shown(self.default), cut=cut)


def _shown(conclusion: Any) -> Any:
    return conclusion.to_text() if isinstance(conclusion, LinearSum) else conclusion


def _said(conclusion: Any) -> str:
    if isinstance(conclusion, LinearSum):
        return conclusion.to_text()
    if isinstance(conclusion, tuple):
        return ", ".join(f"{v:.6g}" for v in conclusion)
    return f"{conclusion:.6g}" if isinstance(conclusion, float) else plain(conclusion)


def _implies(rule: Rule, other: Rule) -> bool:
    """True if `other` holds wherever `rule` does; conditions of both are merged."""
    by_column = {condition.column: condition for condition in rule.conditions}
    return all(
        condition.column in by_column and by_column[condition.column].implies(condition)  # type: ignore[arg-type]
        for condition in other.conditions
    )


def schema_of(rules: Sequence[Rule]) -> ColumnSchema:
    """The columns that the rules speak of, in order of appearance; categories are those they name."""
    labels: dict[str, set[Any] | None] = {}
    for rule in rules:
        for condition in rule.conditions:
            if isinstance(condition, LinearCondition):
                labels.update({name: None for name in condition.sum.columns if name not in labels})
                continue
            labels.setdefault(condition.column, None)
            if condition.categories:
                held = labels[condition.column] or set()
                labels[condition.column] = held | set(condition.categories)
        if isinstance(rule.conclusion, LinearSum):
            labels.update({name: None for name in rule.conclusion.columns if name not in labels})
    return schema_from({name: None if found is None else sorted(found, key=str) for name, found in labels.items()})


def schema_from(columns: dict[str, list[Any] | None]) -> ColumnSchema:
    """A schema from names and, for nominal columns, their categories."""
    categories: list[np.ndarray | None] = []
    for name, found in columns.items():
        if found is None:
            categories.append(None)
        elif all(isinstance(v, str) for v in found):
            categories.append(np.array(sorted(found), dtype=str))
        elif all(isinstance(v, bool) for v in found):
            categories.append(np.array(sorted(found), dtype=bool))
        elif all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in found):
            categories.append(np.array(sorted(found), dtype=np.float64))
        else:
            raise DataError("RuleSet", f"categories of column '{plain(name)}'", "must be of one kind")
    nominal = np.array([c is not None for c in categories], dtype=bool)
    return ColumnSchema(tuple(columns), nominal, tuple(categories))
