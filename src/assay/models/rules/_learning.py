"""What rule learners share: rows in canonical order, tests of the kernel as conditions, counts, showing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base import Classifier, Integer, Nothing, Real, param
from ...base.usual_parameters import categorical_features_param, n_jobs_param, random_state_param, trace_param
from ...base.views import Rules
from ...data.coded import CodedTable
from ...data.columns import ColumnSchema, MixedInput
from ..rule_sets.conditions import Condition, merge_conditions
from ..rule_sets.rule_set import Rule, RuleSet

EVENTS = ("rule added", "search stopped", "rule deleted", "rule replaced", "rule revised")


def round_cut(low: float, high: float) -> float:
    """The number with fewest digits near the middle that separates two values: low <= cut < high.

    >>> round_cut(1.2345, 2.3456), round_cut(0.1, 0.1 + 1e-12) >= 0.1
    (2.0, True)
    """
    middle = low + (high / 2 - low / 2)
    for digits in range(1, 18):
        cut = float(f"{middle:.{digits}g}")
        if low <= cut < high:
            return cut
    return low


class CanonicalTable:
    """Distinct rows with their weights, in an order that depends on contents alone."""

    def __init__(
        self, cells: np.ndarray, codes: np.ndarray, weights: np.ndarray | None, schema: ColumnSchema, threads: int
    ):
        n_categories = schema.n_categories
        order = CodedTable.of(cells, schema, threads).order()
        first, group = _kernels.canonical_rows(cells, order, n_categories, codes)
        total = np.bincount(group, weights, minlength=first.shape[0]).astype(np.float64)
        found = _kernels.rank_codes(cells, order, n_categories, first, threads)
        self.columns = dict(zip(("codes", "first", "width", "offsets", "values"), found, strict=True))
        self.columns["n_categories"] = n_categories
        self.labels = codes[first]
        self.weights = None if bool((total == 1).all()) else total
        self.schema = schema

    def class_order(self, n_classes: int) -> np.ndarray:
        """Classes by increasing weight; equal ones in their own order."""
        return np.argsort(np.bincount(self.labels, self.weights, minlength=n_classes), kind="stable").astype(np.int32)

    def arguments(self, n_classes: int) -> dict[str, Any]:
        """What every rule kernel takes."""
        return {
            **self.columns,
            "labels": self.labels,
            "order": self.class_order(n_classes),
            "weights": self.weights,
        }

    def condition(self, column: int, test: int, code: int) -> Condition:
        """A test of the kernel as a condition."""
        name = self.schema.names[column]
        if test == 3:
            return Condition.is_missing(name)
        if test == 2:
            categories = self.schema.categories[column]
            assert categories is not None
            return Condition.one_of(name, [categories[code]])
        first, values = int(self.columns["offsets"][column]), self.columns["values"]
        cut = round_cut(float(values[first + code]), float(values[first + code + 1]))
        return Condition.at_most(name, cut) if test == 0 else Condition.above(name, cut)

    def rules(self, grown: dict[str, np.ndarray], classes: list[Any]) -> list[Rule]:
        """The rules of the kernel, conditions on one column merged."""
        found = []
        for number, label in enumerate(grown["rule_class"].tolist()):
            tests = range(int(grown["first"][number]), int(grown["first"][number + 1]))
            conditions = [
                self.condition(int(grown["column"][t]), int(grown["test"][t]), int(grown["code"][t])) for t in tests
            ]
            found.append(Rule(merge_conditions(conditions), classes[label]))
        return found


class _HoldsRules:
    """Names what a fitted learner holds; not an estimator, so that it is no parameter."""

    rules_: RuleSet


class RuleLearner(_HoldsRules, MixedInput, Classifier):
    """A classifier whose model is a rule set."""

    _learned = {
        "rules_": "RuleSet, with the training rows that each rule takes",
        "schema_": "names, nominal columns and categories",
    }
    _way_out = "take a sample of the rows"
    _open_state = ("rules_",)
    alpha: float

    def _keep_rules(
        self,
        rules: list[Rule],
        cells: np.ndarray,
        codes: np.ndarray,
        weights: np.ndarray | None,
        semantics: str = "ordered",
    ) -> None:
        """Score the rules on the training rows and keep those that take some.

        Under "ordered" semantics each rule concludes the most frequent class of the rows that it takes; the default is
        the most frequent class of the rows that are left, or of all rows.
        """
        classes = self.classes_.tolist()
        total = np.bincount(codes, weights, minlength=len(classes))
        may_miss = tuple(
            name for name, column in zip(self.schema_.names, cells.T, strict=True) if np.isnan(column).any()
        )
        found = RuleSet(
            tuple(rules),
            classes[int(np.argmax(total))],
            self.schema_,
            tuple(classes),
            semantics=semantics,
            smoothing=float(self.alpha),
            missing_seen=may_miss,
        )
        found = found.simplify()._recounted(cells, codes, weights, tuple(classes))
        kept = [rule for rule in found.rules if rule.rows > 0]
        if semantics == "ordered":
            kept = [replace(rule, conclusion=classes[int(np.argmax(rule.counts))]) for rule in kept]
        default = found.default_counts if any(found.default_counts) else tuple(total.tolist())
        self.rules_ = replace(
            found, rules=tuple(kept), default=classes[int(np.argmax(default))], default_counts=default
        )

    def _record(self, grown: dict[str, np.ndarray], what: str) -> None:
        trace = self._new_trace()
        if trace.on:
            classes = self.classes_.tolist()
            columns = [grown[name].tolist() for name in ("event", "event_class", "event_tests", "event_value")]
            for event, label, tests, value in zip(*columns, strict=True):
                trace.record(EVENTS[event], **{"class": classes[label], "conditions": tests, what: value})
            trace.record("rule set", rules=len(self.rules_), default=self.rules_.default)
        self._keep_trace(trace)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class shares of the rule that decides (or of the votes), smoothed by `alpha`."""
        check_is_fitted(self)
        return self.rules_.shares(self._read(X, reset=False))

    def to_rules(self) -> RuleSet:
        """The rule set."""
        check_is_fitted(self)
        return self.rules_

    def to_text(self) -> str:
        """The rules in words."""
        return self.to_rules().to_text()

    def to_sql(self, table: str | None = None) -> str:
        """The rules as SQL (see `RuleSet.to_sql`)."""
        return self.to_rules().to_sql(table)

    def view(self) -> Rules:
        """The rules as a picture."""
        return self.to_rules().view(f"{len(self.rules_)} rules" if len(self.rules_) != 1 else "One rule")


class RuleSearch(RuleLearner):
    """Rules that are searched one after the other, each cut back on rows held out for it."""

    folds: int = param(3, Integer(2), "One row in this many is held out for pruning, drawn anew for each rule.")
    max_conditions: int | None = param(None, Integer(1) | Nothing(), "Tests in a rule at most; None for no limit.")
    alpha: float = param(1.0, Real(0), "Laplace smoothing: added to each class count of a rule for probabilities.")
    categorical_features: Any = categorical_features_param()
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()
