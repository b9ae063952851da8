"""Association rules: measures by hand, mlxtend, redundancy, multiplicity, attributes, the rule set."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact

from assay.models.baskets import AssociationRules, FrequentItemsets

BASKETS = [["bread", "butter"], ["bread", "butter", "tea"], ["tea"], ["bread"]]


def drawn(n: int = 200, items: int = 9, seed: int = 0) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    cells = rng.random((n, items)) < np.linspace(0.15, 0.6, items)
    cells[:, 1] |= cells[:, 0]
    return [[f"i{j}" for j in np.flatnonzero(row)] for row in cells]


def test_measures_by_hand():
    model = AssociationRules(min_support=0.25, min_confidence=0.0, correction="none").fit(BASKETS)
    rules = {(row["if"], row["then"]): row for row in model.to_rows()}
    rule = rules[("bread",), ("butter",)]  # 3 hold bread, 2 butter, 2 both, of 4
    hand = {"support": 0.5, "confidence": 2 / 3, "lift": 4 / 3, "leverage": 0.125, "conviction": 1.5, "coverage": 0.75}
    hand |= {"jaccard": 2 / 3, "cosine": 0.5 / np.sqrt(0.375), "kulczynski": 5 / 6, "zhang": 1.0}
    for name, value in hand.items():
        assert rule[name] == pytest.approx(value), name
    assert rules[("butter",), ("bread",)]["conviction"] == np.inf
    exact = fisher_exact([[2, 1], [0, 1]], alternative="greater").pvalue
    assert rule["p_value"] == pytest.approx(exact) == pytest.approx(rule["adjusted_p_value"])


def test_rules_agree_with_mlxtend():
    patterns = pytest.importorskip("mlxtend.frequent_patterns")
    baskets = drawn()
    items = sorted({item for basket in baskets for item in basket})
    table = pd.DataFrame([[item in basket for item in items] for basket in baskets], columns=items)
    sets = patterns.fpgrowth(table, min_support=0.1, use_colnames=True)
    ours = dict(FrequentItemsets(min_support=0.1).fit(baskets).itemsets_)
    assert {tuple(sorted(s)): pytest.approx(v) for s, v in zip(sets["itemsets"], sets["support"])} == ours
    theirs = patterns.association_rules(sets, metric="confidence", min_threshold=0.3)
    found = {
        (tuple(sorted(r["if"])), tuple(sorted(r["then"]))): r
        for r in AssociationRules(min_support=0.1, min_confidence=0.3, max_consequent=9).fit(baskets).to_rows()
    }
    assert len(found) == len(theirs) > 20
    for _, row in theirs.iterrows():
        rule = found[tuple(sorted(row["antecedents"])), tuple(sorted(row["consequents"]))]
        for ours_name, name in (
            ("lift", "lift"),
            ("leverage", "leverage"),
            ("conviction", "conviction"),
            ("zhang", "zhangs_metric"),
            ("jaccard", "jaccard"),
            ("kulczynski", "kulczynski"),
        ):
            assert rule[ours_name] == pytest.approx(row[name], abs=1e-9), name


def test_redundant_rules_are_left_out():
    baskets = drawn()
    every = AssociationRules(min_support=0.05, min_confidence=0.3).fit(baskets)
    fewer = AssociationRules(min_support=0.05, min_confidence=0.3, prune_redundant=True).fit(baskets)
    confidence = {(r["if"], r["then"]): r["confidence"] for r in every.to_rows()}
    kept = {(r["if"], r["then"]) for r in fewer.to_rows()}
    assert 0 < len(kept) < len(confidence)
    for (left, right), value in confidence.items():
        better = any(
            confidence.get((part, right), -1) >= value - 1e-12
            for size in range(1, len(left))
            for part in combinations(left, size)
        )
        assert ((left, right) in kept) == (not better)


def test_independent_items_give_no_rule_after_correction():
    rng = np.random.default_rng(5)
    found = []
    for correction in ("none", "bonferroni", "benjamini-hochberg"):
        cells = np.random.default_rng(6).random((400, 12)) < 0.4
        model = AssociationRules(min_support=0.05, min_confidence=0, max_p_value=0.05, correction=correction).fit(cells)
        found.append(len(model.antecedents_))
    assert found[0] > 10 and found[1] == 0 and found[2] <= 1
    linked = rng.random((400, 12)) < 0.4
    linked[:, 1] |= linked[:, 0]
    model = AssociationRules(min_support=0.05, max_p_value=0.05, correction="bonferroni").fit(linked)
    assert any(rule["if"] == ("x0",) and rule["then"] == ("x1",) for rule in model.to_rows())


def test_attributes_stand_on_the_left_alone():
    baskets = [["beer"], ["beer", "tea"], ["tea"], ["tea"], ["beer"], ["tea"]]
    sex = ["m", "m", "f", "f", "m", None]
    model = AssociationRules(min_support=0.1, min_confidence=0.9).fit(baskets, attributes={"sex": sex})
    rules = {(row["if"], row["then"]): row["confidence"] for row in model.to_rows()}
    assert rules[("sex = m",), ("beer",)] == 1.0 and rules[("sex = f",), ("tea",)] == 1.0
    assert all(not str(item).startswith("sex") for _, right in rules for item in right)


def test_rules_decide_as_a_rule_set():
    model = AssociationRules(min_support=0.5, min_confidence=0.9).fit(BASKETS)
    assert "butter" in model.rules_.to_text() and "THEN bread" in model.rules_.to_text()
    frame = pd.DataFrame({"butter": [True, False]})
    assert model.rules_.predict(frame).tolist() == ["bread", "nothing"]
