"""Rules between items: what a basket holds besides, with the measures of a rule and tests of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import false_discovery_control
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base import Boolean, Choice, DataError, Integer, Real, param, plain, thread_count
from ..rule_sets import Condition, Rule, RuleSet
from .frequent_itemsets import Miner
from .reading import Baskets, columns_by_basket, read_baskets

CORRECTIONS = ("none", "bonferroni", "benjamini-hochberg")


class AssociationRules(Miner):
    """Rules "who holds X holds Y, too" over frequent itemsets, with every usual measure and a p-value.

    With n baskets, of which nX hold X, nY hold Y and nXY both: support nXY/n, confidence nXY/nX, lift
    confidence/(nY/n), leverage support - (nX/n)(nY/n), conviction (1 - nY/n)/(1 - confidence), coverage nX/n, jaccard
    nXY/(nX + nY - nXY), cosine support/sqrt((nX/n)(nY/n)), kulczynski (nXY/nX + nXY/nY)/2, zhang (leverage over its
    largest value), certainty (the share of the way from nY/n to 1, or down to 0, that the confidence goes), odds_ratio,
    phi (the correlation of X and Y) and chi_squared n phi^2. `p_value` is Fisher's exact test against independence,
    one-sided; `adjusted_p_value` takes every rule into account that was looked at, whatever its confidence.

    {parameters}

    Attributes
    ----------
    rules_ : RuleSet, by falling lift, then shorter rules first; made when it is first asked for
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

    max_rules: int = param(5_000_000, Integer(1), "Refuse to look at more rules than this.")

    _open_state = ("measures_", "rules_", "antecedents_", "consequents_")
    """A rule without exceptions has infinite conviction; conditions on items have no ends; items are texts, and a look
    at each of a million would take long."""

    def fit(
        self,
        baskets: Any,
        y: Any = None,
        *,
        basket: str | None = None,
        item: str | None = None,
        attributes: Any = None,
    ) -> AssociationRules:
        """Find the rules. `attributes`, by name one value per basket, stand on the left alone: P(Y | X, attribute).

        Of a long table they may also be the names of some of its columns.
        """
        self._check_parameters()
        who = type(self).__name__
        read = read_baskets(who, baskets, basket, item)
        n_items = len(read.labels)
        if attributes is not None:
            if basket is not None and not hasattr(attributes, "columns") and not isinstance(attributes, Mapping):
                names = [attributes] if isinstance(attributes, str) else list(attributes)
                attributes = columns_by_basket(who, baskets, basket, names)
            read = _with_attributes(who, read, attributes)
        starts, items, counts = self._mine(read)
        both, left, right, redundant = self._candidates(starts, items, counts, n_items, len(read.labels))
        held = np.column_stack([counts[left], counts[right], counts[both]])
        measures = rule_measures(held, read.n_baskets, thread_count(self.n_jobs))
        self.n_tested_ = len(both)
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
            good &= redundant == 0
        rank = np.empty(len(counts), dtype=np.int64)
        rank[_kernels.itemset_order(starts, items)] = np.arange(len(counts))
        chosen = np.flatnonzero(good)
        chosen = chosen[np.lexsort((rank[right[chosen]], rank[left[chosen]], -measures["lift"][chosen]))]
        self.antecedents_ = _kernels.itemset_labels(starts, items, left[chosen], read.labels)
        self.consequents_ = _kernels.itemset_labels(starts, items, right[chosen], read.labels)
        self.measures_ = {name: values[chosen] for name, values in measures.items()}
        self.n_baskets_ = read.n_baskets
        self.__dict__.pop("rules_", None)
        return self

    def _candidates(
        self, starts: np.ndarray, items: np.ndarray, counts: np.ndarray, n_items: int, n_labels: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Every split of every frequent set into two sides: the sets of both, left and right, and which to prune."""
        widest = min(self.max_consequent, n_labels + 1)
        found = _kernels.candidate_rules(
            starts, items, counts, n_labels, n_items, widest, self.max_rules, self.prune_redundant
        )
        complete, both, left, right, redundant = found
        if not complete:
            raise DataError(
                type(self).__name__,
                "the baskets",
                f"must have at most max_rules={self.max_rules} rules to look at",
                f"there are more in the {len(counts)} frequent sets with min_support={self.min_support:g}",
                "raise min_support, or bound max_length and max_consequent",
            )
        return both, left, right, redundant

    @cached_property
    def rules_(self) -> RuleSet:
        """The rules as a rule set."""
        check_is_fitted(self)
        rows = np.round(self.measures_["coverage"] * self.n_baskets_)
        rules = [
            Rule(
                tuple(Condition.one_of(str(label), [True]) for label in antecedent),
                " and ".join(str(label) for label in consequent),
                rows=count,
            )
            for antecedent, consequent, count in zip(self.antecedents_, self.consequents_, rows.tolist())
        ]
        return RuleSet.of(rules, default="nothing")

    def to_rows(self) -> list[dict[str, Any]]:
        """One record per rule: both sides and every measure."""
        columns = {name: values.tolist() for name, values in self.measures_.items()}
        return [
            {"if": antecedent, "then": consequent, **{name: values[r] for name, values in columns.items()}}
            for r, (antecedent, consequent) in enumerate(zip(self.antecedents_, self.consequents_))
        ]


def rule_measures(held: np.ndarray, n: int, threads: int = 1) -> dict[str, np.ndarray]:
    """Measures of rules from the counts of the left side, the right side and both, among n baskets.

    >>> found = rule_measures(np.array([[4, 5, 3]]), 10)
    >>> {name: round(float(found[name][0]), 4) for name in ("support", "confidence", "lift", "leverage", "conviction")}
    {'support': 0.3, 'confidence': 0.75, 'lift': 1.5, 'leverage': 0.1, 'conviction': 2.0}
    """
    left, right, together = (np.ascontiguousarray(held[:, c], dtype=np.int64) for c in range(3))
    x, y, both = (column.astype(np.float64) for column in (left, right, together))
    support, px, py = both / n, x / n, y / n
    confidence = both / x
    leverage = support - px * py
    neither = n - x - y + both
    with np.errstate(divide="ignore", invalid="ignore"):
        sure = both == x
        conviction = np.where(sure, np.where(y == n, 1.0, np.inf), (1 - py) / (1 - confidence))
        largest = np.maximum(support * (1 - px), px * (py - support))
        zhang = np.where(largest > 0, leverage / largest, 0.0)
        gained = confidence - py
        certainty = np.where(gained > 0, gained / (1 - py), np.where(gained < 0, gained / py, 0.0))
        against = (x - both) * (y - both)
        odds = np.where(against > 0, both * neither / against, np.where(neither > 0, np.inf, 1.0))
        spread = x * y * (n - x) * (n - y)
        phi = np.where(spread > 0, (both * n - x * y) / np.sqrt(spread), 0.0)
    return {
        "support": support,
        "confidence": confidence,
        "lift": both * n / (x * y),
        "leverage": leverage,
        "conviction": conviction,
        "coverage": px,
        "jaccard": both / (x + y - both),
        "cosine": support / np.sqrt(px * py),
        "kulczynski": (both / x + both / y) / 2,
        "zhang": zhang,
        "certainty": certainty,
        "odds_ratio": odds,
        "phi": phi,
        "chi_squared": n * phi**2,
        "p_value": _kernels.independence_tails(left, right, together, n, threads),
    }


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
