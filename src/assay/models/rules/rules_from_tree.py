"""Rules from a tree: one rule per leaf, each generalised on its own, then the best of them kept."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import betaincinv
from sklearn.base import clone

from ...base.cost import Cost
from ...base.errors import ParameterError
from ...base.estimator import Estimator
from ...base.parameters import Boolean, Choice, Instance, Integer, Nothing, Real, param
from ...base.threads import thread_count
from ...base.usual_parameters import categorical_features_param, n_jobs_param, trace_param
from ..rule_sets.conditions import Condition
from ..rule_sets.rule_set import Rule, RuleSet
from ..trees.cart import CartClassifier
from ._learning import RuleLearner


class RulesFromTree(RuleLearner):
    """Grows a tree, reads one IF-THEN rule off each leaf, and prunes rule by rule as C4.5rules does.

    A condition is dropped while the pessimistic error of its rule (the upper end of a one-sided binomial interval at
    `confidence`) does not rise. Of the rules of each class those stay that shorten the description of the data; classes
    come in order of fewest false alarms, and the class most frequent among uncovered rows is the default. Without
    pruning the rules predict what the tree predicts.

    Examples
    --------
    >>> from assay.models.rules import RulesFromTree
    >>> X = [["sunny", 30], ["sunny", 20], ["rain", 18], ["rain", 25]]
    >>> model = RulesFromTree().fit(X, ["no", "no", "yes", "yes"])
    >>> print(model.to_text())
    IF x0 = sunny THEN no (2 of 2)
    IF x0 != sunny THEN yes (2 of 2)
    OTHERWISE no (2 of 4)
    """

    _learned = {
        "n_leaves_": "leaves of the tree, that is rules before pruning",
        "trace_": "with `trace`, each rule of the tree with what became of it",
    }

    estimator: Any = param(
        None,
        Instance(Estimator) | Nothing(),
        "Tree to grow: a classifier with `to_rules`; None for CART with the parameters below.",
    )
    criterion: str = param(
        "entropy", Choice("gini", "entropy", "log_loss", "misclassification"), "Impurity that CART decreases."
    )
    max_depth: int | None = param(None, Integer(1) | Nothing(), "Deepest level of a leaf of CART; None for no limit.")
    min_samples_leaf: int = param(2, Integer(1), "Rows that a leaf of CART must hold.")
    prune: bool = param(True, Boolean(), "Drop conditions and rules; else one rule per leaf as the tree has it.")
    confidence: float = param(
        0.25, Real(0, 0.5, "right"), "Level of the upper end of the error of a rule; smaller prunes more."
    )
    alpha: float = param(1.0, Real(0), "Laplace smoothing: added to each class count of a rule for probabilities.")
    categorical_features: Any = categorical_features_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RulesFromTree:
        """Grow the tree and turn it into rules."""
        cells, codes, weights = self._begin(X, y, sample_weight)
        tree = self._tree().fit(X, y, **({} if sample_weight is None else {"sample_weight": sample_weight}))
        leaves: RuleSet = tree.leaf_rules() if hasattr(tree, "leaf_rules") else tree.to_rules()
        self.n_leaves_ = len(leaves)
        trace = self._new_trace()
        rules = list(leaves.rules)
        if self.prune:
            pruner = _Pruner(cells, codes, weights, leaves, self.classes_.tolist(), self.confidence)
            rules = pruner.pruned(rules, trace)
        self._keep_rules(rules, cells, codes, weights)
        trace.record("rule set", rules=len(self.rules_), default=self.rules_.default)
        self._keep_trace(trace)
        return self

    def _tree(self) -> Any:
        if self.estimator is None:
            return CartClassifier(
                criterion=self.criterion,
                max_depth=self.max_depth,
                min_samples_leaf=self.min_samples_leaf,
                categorical_features=self.categorical_features,
                n_jobs=self.n_jobs,
            )
        if not hasattr(self.estimator, "to_rules") or not hasattr(self.estimator, "predict_proba"):
            rule, came = "must be a tree classifier with to_rules", f"got {type(self.estimator).__name__}"
            raise ParameterError(type(self).__name__, "parameter 'estimator'", rule, came)
        return clone(self.estimator)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """The tree, then a pass over packed rows for every condition of every rule."""
        tree = CartClassifier(max_depth=self.max_depth, n_jobs=thread_count(self.n_jobs))
        grown = tree.estimate_cost(n_rows, n_features)
        leaves = n_rows / 20.0 if self.max_depth is None else min(n_rows / 20.0, 2.0 ** min(self.max_depth, 40))
        passes = leaves * 20.0 * (2e-6 + n_rows * 1e-10) if self.prune else 0.0
        return Cost(seconds=grown.seconds + passes, bytes=grown.bytes + leaves * n_rows / 8.0)


class _Pruner:
    """Rows as packed bits, and the steps of C4.5rules on them."""

    def __init__(
        self,
        cells: np.ndarray,
        codes: np.ndarray,
        weights: np.ndarray | None,
        leaves: RuleSet,
        classes: list[Any],
        confidence: float,
    ):
        self.cells, self.codes, self.weights, self.schema = cells, codes, weights, leaves.schema
        self.leaves, self.classes, self.confidence = leaves, classes, confidence
        self.n_rows = cells.shape[0]
        self.total = np.bincount(codes, weights, minlength=len(classes))
        self.everyone = np.packbits(np.ones(self.n_rows, dtype=bool))
        self.of_class = [np.packbits(codes == k) for k in range(len(classes))]
        self.tests: dict[Condition, np.ndarray] = {}

    def weight(self, rows: np.ndarray) -> float:
        """The weight of packed rows."""
        if self.weights is None:
            return float(np.bitwise_count(rows).sum(dtype=np.int64))
        return float(self.weights[np.unpackbits(rows, count=self.n_rows).astype(bool)].sum())

    def passing(self, condition: Condition) -> np.ndarray:
        if condition not in self.tests:
            j = self.schema.names.index(condition.column)
            self.tests[condition] = np.packbits(condition.passes(self.cells[:, j], self.schema.categories[j]))
        return self.tests[condition]

    def pessimistic_error(self, rows: np.ndarray, label: int) -> float:
        """Upper end of the share of wrong rows among those covered."""
        covered = self.weight(rows)
        wrong = covered - self.weight(rows & self.of_class[label])
        if not covered > wrong:
            return 1.0
        return float(betaincinv(wrong + 1, covered - wrong, 1 - self.confidence))

    def pruned(self, rules: list[Rule], trace: Any) -> list[Rule]:
        """Generalise each rule, drop repetitions, choose within classes, and put the classes in order."""
        by_class: dict[int, dict[tuple[Condition, ...], np.ndarray]] = {}
        for rule in rules:
            label = self.classes.index(rule.conclusion)
            kept, rows = self.generalised(_single_ends(rule.conditions), label)  # type: ignore[arg-type]
            trace.record(
                "rule of a leaf",
                rule=self.leaves.premise(rule),
                then=rule.conclusion,
                kept=[str(condition) for condition in kept],
                pessimistic_error=self.pessimistic_error(rows, label),
            )
            if kept:
                by_class.setdefault(label, {})[tuple(sorted(kept, key=str))] = rows
        chosen = {label: self.shortest(label, found) for label, found in sorted(by_class.items())}
        return self.in_order(chosen)

    def generalised(self, conditions: list[Condition], label: int) -> tuple[list[Condition], np.ndarray]:
        """Drop the condition whose absence lowers the pessimistic error most, while it does not rise."""
        kept = list(conditions)
        masks = [self.passing(condition) for condition in kept]
        rows = np.bitwise_and.reduce([self.everyone, *masks])
        error = self.pessimistic_error(rows, label)
        while kept:
            before = [self.everyone]
            for mask in masks[:-1]:
                before.append(before[-1] & mask)
            after, best = self.everyone, (error, -1, rows)
            for k in range(len(kept) - 1, -1, -1):
                wider = before[k] & after
                after = after & masks[k]
                found = self.pessimistic_error(wider, label)
                if found <= best[0]:
                    best = (found, k, wider)
            if best[1] < 0:
                break
            error, place, rows = best
            del kept[place], masks[place]
        return kept, rows

    def shortest(
        self, label: int, found: dict[tuple[Condition, ...], np.ndarray]
    ) -> list[tuple[tuple[Condition, ...], np.ndarray]]:
        """The rules of a class without those whose absence shortens the description, worst first."""
        rules = sorted(found.items(), key=lambda item: -self.pessimistic_error(item[1], label))
        n_tests = max(len(self.tests), 2)
        times = np.zeros(self.n_rows, dtype=np.int64)
        for _, rows in rules:
            times += np.unpackbits(rows, count=self.n_rows)
        theory = sum(_theory_bits(len(conditions), n_tests) for conditions, _ in rules)
        bits = theory + self.exception_bits(np.packbits(times > 0), label)
        changed = True
        while changed:
            changed = False
            for item in list(rules):
                fewer = times - np.unpackbits(item[1], count=self.n_rows)
                less = theory - _theory_bits(len(item[0]), n_tests)
                shorter = less + self.exception_bits(np.packbits(fewer > 0), label)
                if shorter <= bits:
                    rules.remove(item)
                    times, theory, bits, changed = fewer, less, shorter, True
        # The most trustworthy rule stands first.
        return rules[::-1]

    def exception_bits(self, rows: np.ndarray, label: int) -> float:
        """Bits to name the rows that a set of rules for one class gets wrong."""
        covered = self.weight(rows)
        right = self.weight(rows & self.of_class[label])
        left = float(self.total.sum()) - covered
        missed = float(self.total[label]) - right
        return math.log2(covered + left + 1) + _subset_bits(covered, covered - right) + _subset_bits(left, missed)

    def in_order(self, chosen: dict[int, list[tuple[tuple[Condition, ...], np.ndarray]]]) -> list[Rule]:
        """The class with fewest false alarms among the rows left comes next."""
        left, ordered = self.everyone, []
        waiting = {label: rules for label, rules in chosen.items() if rules}
        covers = {label: np.bitwise_or.reduce([rows for _, rows in rules]) for label, rules in waiting.items()}
        while waiting:
            alarms = {k: self.weight(covers[k] & left & ~self.of_class[k]) for k in waiting}
            label = min(waiting, key=lambda k: (alarms[k], k))
            for conditions, _ in waiting.pop(label):
                ordered.append(Rule(conditions, self.classes[label]))
            left = left & ~covers[label]
        return ordered


def _single_ends(conditions: tuple[Condition, ...]) -> list[Condition]:
    """An interval with two ends as two conditions, so that each can be dropped alone."""
    single = []
    for condition in conditions:
        if condition.categories is None and math.isfinite(condition.low) and math.isfinite(condition.high):
            single.append(Condition.above(condition.column, condition.low, condition.missing))
            single.append(Condition.at_most(condition.column, condition.high, condition.missing))
        else:
            single.append(condition)
    return single


def _subset_bits(total: float, chosen: float) -> float:
    """Bits to name `chosen` of `total` rows at the share at which they come."""
    if total <= 0 or chosen <= 0 or chosen >= total:
        return 0.0
    share = chosen / total
    return -chosen * math.log2(share) - (total - chosen) * math.log2(1 - share)


def _theory_bits(conditions: int, possible: int) -> float:
    """Half the bits to name the conditions of a rule: their number, and which ones."""
    return 0.5 * (math.log2(conditions + 1) + _subset_bits(max(possible, conditions), conditions))
