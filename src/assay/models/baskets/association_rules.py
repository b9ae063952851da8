"""Rules between items: what a basket holds besides, with the measures of a rule and tests of it."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import numpy as np
from scipy.stats import false_discovery_control, hypergeom

from ...base import Boolean, Choice, DataError, Integer, Real, param, plain
from ..rule_sets import Condition, Rule, RuleSet
from .frequent_itemsets import Miner
from .reading import Baskets, read_baskets

CORRECTIONS = ("none", "bonferroni", "benjamini-hochberg")


class AssociationRules(Miner):
    """Rules "who holds X holds Y, too" over frequent itemsets, with every usual measure and a p-value.

    With n baskets, of which nX hold X, nY hold Y and nXY both: support nXY/n, confidence nXY/nX, lift
    confidence/(nY/n), leverage support - (nX/n)(nY/n), conviction (1 - nY/n)/(1 - confidence), coverage nX/n, jaccard
    nXY/(nX + nY - nXY), cosine support/sqrt((nX/n)(nY/n)), kulczynski (nXY/nX + nXY/nY)/2, zhang (leverage over its
    largest value). `p_value` is Fisher's exact test against independence, one-sided; `adjusted_p_value` takes every
    rule into account that was looked at, whatever its confidence.

    {parameters}

    Attributes
    ----------
    rules_ : RuleSet, by falling lift
    measures_ : the measures by name, one number per rule
    antecedents_, consequents_ : items of each rule
    n_tested_ : rules that were looked at

    Examples
    --------
    >>> from assay.models.baskets import AssociationRules
    >>> baskets = [["bread", "butter"], ["bread", "butter", "tea"], ["tea"], ["bread"]]
    >>> model = AssociationRules(min_support=0.5, min_confidence=0.9).fit(baskets)
    >>> model.antecedents_, model.consequents_, model.measures_["lift"].round(2)
    ([('butter',)], [('bread',)], array([1.33]))
    """

    min_confidence: float = param(0.5, Real(0, 1), "Least confidence of a rule.")
    min_lift: float = param(0.0, Real(0), "Least lift of a rule.")
    max_consequent: int = param(1, Integer(1), "Most items on the right side.")
    prune_redundant: bool = param(False, Boolean(), "Leave out rules with a shorter one of no less confidence.")
    correction: str = param("benjamini-hochberg", Choice(*CORRECTIONS), "How p-values answer for their number.")
    max_p_value: float = param(1.0, Real(0, 1), "Largest adjusted p-value of a rule.")

    _open_state = ("measures_", "rules_")
    """A rule without exceptions has infinite conviction; conditions on items have no ends."""

    def fit(
        self,
        baskets: Any,
        y: Any = None,
        *,
        basket: str | None = None,
        item: str | None = None,
        attributes: Any = None,
    ) -> AssociationRules:
        """Find the rules. `attributes`, by name one value per basket, stand on the left alone: P(Y | X, attribute)."""
        self._check_parameters()
        who = type(self).__name__
        read = read_baskets(who, baskets, basket, item)
        n_items = len(read.labels)
        if attributes is not None:
            read = _with_attributes(who, read, attributes)
        starts, items, counts = self._mine(read)
        left, right, held = self._candidates(starts, items, counts, n_items)
        measures = rule_measures(held, read.n_baskets)
        self.n_tested_ = len(left)
        p_values = measures["p_value"]
        if self.correction == "bonferroni":
            adjusted = np.minimum(p_values * max(len(p_values), 1), 1.0)
        elif self.correction == "benjamini-hochberg" and len(p_values):
            adjusted = false_discovery_control(p_values)
        else:
            adjusted = p_values
        measures["adjusted_p_value"] = adjusted
        good = (
            (measures["confidence"] >= self.min_confidence - 1e-12)
            & (measures["lift"] >= self.min_lift - 1e-12)
            & (adjusted <= self.max_p_value)
        )
        if self.prune_redundant:
            good &= ~_redundant(left, right, measures["confidence"])
        chosen = sorted(np.flatnonzero(good).tolist(), key=lambda r: (-measures["lift"][r], left[r], right[r]))
        self.antecedents_ = [tuple(read.labels[i] for i in left[r]) for r in chosen]
        self.consequents_ = [tuple(read.labels[i] for i in right[r]) for r in chosen]
        self.measures_ = {name: values[chosen] for name, values in measures.items()}
        self.n_baskets_ = read.n_baskets
        self.rules_ = self._rule_set(held[chosen] if chosen else held[:0])
        return self

    def _candidates(
        self, starts: np.ndarray, items: np.ndarray, counts: np.ndarray, n_items: int
    ) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]], np.ndarray]:
        """Every split of every frequent set into two sides, with the counts of left, right and both."""
        ends, ids, sizes = starts.tolist(), items.tolist(), counts.tolist()
        sets = [tuple(ids[a:b]) for a, b in pairwise(ends)]
        known = dict(zip(sets, sizes))
        left: list[tuple[int, ...]] = []
        right: list[tuple[int, ...]] = []
        held: list[tuple[int, int, int]] = []
        for both, count in known.items():
            goods = [i for i in both if i < n_items]
            for size in range(1, min(self.max_consequent, len(both) - 1, len(goods)) + 1):
                for consequent in combinations(goods, size):
                    antecedent = tuple(i for i in both if i not in consequent)
                    left.append(antecedent)
                    right.append(consequent)
                    held.append((known[antecedent], known[consequent], count))
        return left, right, np.array(held, dtype=np.int64).reshape(-1, 3)

    def _rule_set(self, held: np.ndarray) -> RuleSet:
        rules = [
            Rule(
                tuple(Condition.one_of(str(label), [True]) for label in antecedent),
                " and ".join(str(label) for label in consequent),
                rows=float(count),
            )
            for antecedent, consequent, count in zip(self.antecedents_, self.consequents_, held[:, 0].tolist())
        ]
        return RuleSet.of(rules, default="nothing")

    def to_rows(self) -> list[dict[str, Any]]:
        """One record per rule: both sides and every measure."""
        columns = {name: values.tolist() for name, values in self.measures_.items()}
        return [
            {"if": antecedent, "then": consequent, **{name: values[r] for name, values in columns.items()}}
            for r, (antecedent, consequent) in enumerate(zip(self.antecedents_, self.consequents_))
        ]


def rule_measures(held: np.ndarray, n: int) -> dict[str, np.ndarray]:
    """Measures of rules from the counts of the left side, the right side and both, among n baskets.

    >>> found = rule_measures(np.array([[4, 5, 3]]), 10)
    >>> {name: round(float(found[name][0]), 4) for name in ("support", "confidence", "lift", "leverage", "conviction")}
    {'support': 0.3, 'confidence': 0.75, 'lift': 1.5, 'leverage': 0.1, 'conviction': 2.0}
    """
    x, y, both = (held[:, c].astype(np.float64) for c in range(3))
    support, px, py = both / n, x / n, y / n
    confidence = both / x
    leverage = support - px * py
    with np.errstate(divide="ignore", invalid="ignore"):
        sure = both == x
        conviction = np.where(sure, np.where(y == n, 1.0, np.inf), (1 - py) / (1 - confidence))
        largest = np.maximum(support * (1 - px), px * (py - support))
        zhang = np.where(largest > 0, leverage / largest, 0.0)
    return {
        "support": support,
        "confidence": confidence,
        "lift": confidence / py,
        "leverage": leverage,
        "conviction": conviction,
        "coverage": px,
        "jaccard": both / (x + y - both),
        "cosine": support / np.sqrt(px * py),
        "kulczynski": (both / x + both / y) / 2,
        "zhang": zhang,
        "p_value": np.clip(hypergeom.sf(both - 1, n, x, y), 0.0, 1.0),
    }


def _redundant(left: list[tuple[int, ...]], right: list[tuple[int, ...]], confidence: np.ndarray) -> np.ndarray:
    """Rules for which another has the same right side, a part of the left side and no less confidence."""
    best = {(a, c): value for a, c, value in zip(left, right, confidence.tolist())}
    out = np.zeros(len(left), dtype=bool)
    for r, (antecedent, consequent) in enumerate(zip(left, right)):
        value = confidence[r] - 1e-12
        out[r] = any(
            best.get((part, consequent), -1.0) >= value
            for size in range(1, len(antecedent))
            for part in combinations(antecedent, size)
        )
    return out


def _with_attributes(who: str, read: Baskets, attributes: Any) -> Baskets:
    """The baskets with "name = value" as further items; missing values add none."""
    names = [str(name) for name in (attributes.columns if hasattr(attributes, "columns") else attributes)]
    labels, columns, first = list(read.labels), [], len(read.labels)
    for name in names:
        cells = np.asarray(attributes[name]).tolist()
        if len(cells) != read.n_baskets:
            raise DataError(
                who,
                f"attribute '{plain(name, 40)}'",
                f"must have one value for each of {read.n_baskets} baskets",
                f"got {len(cells)}",
            )
        values = sorted({str(v) for v in cells if v is not None and v == v})
        code = {value: first + number for number, value in enumerate(values)}
        columns.append(np.array([code.get(str(v), -1) if v is not None and v == v else -1 for v in cells]))
        labels += [f"{name} = {value}" for value in values]
        first += len(values)
    owners = np.repeat(np.arange(read.n_baskets), np.diff(read.offsets))
    where = np.concatenate([owners, *(np.flatnonzero(column >= 0) for column in columns)])
    ids = np.concatenate([read.ids, *(column[column >= 0] for column in columns)])
    order = np.lexsort((ids, where))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(where, minlength=read.n_baskets))]).astype(np.int64)
    return Baskets(offsets, ids[order].astype(np.int32), labels)
