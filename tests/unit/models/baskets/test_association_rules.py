"""Association rules: measures by hand, mlxtend, redundancy, multiplicity, attributes, the rule set."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact

from assay.base import DataError
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
    hand |= {"certainty": 1 / 3, "odds_ratio": np.inf, "phi": 1 / np.sqrt(3), "chi_squared": 4 / 3}
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


def test_rules_are_every_split_of_every_frequent_set():
    baskets = drawn(120, 7)
    sex = [("m", "f")[k % 3 == 0] for k in range(120)]
    model = AssociationRules(min_support=0.05, min_confidence=0, max_consequent=3, correction="none", n_jobs=2)
    found = {(row["if"], row["then"]): row for row in model.fit(baskets, attributes={"sex": sex}).to_rows()}
    held = [{*basket, f"sex = {one}"} for basket, one in zip(baskets, sex)]
    sets = [items for items, _ in FrequentItemsets(min_support=0.05).fit(held).itemsets_]
    told = {
        (tuple(i for i in items if i not in right), right)
        for items in sets
        for size in (1, 2, 3)
        for right in combinations([i for i in items if not i.startswith("sex")], size)
        if len(items) > size
    }
    assert set(found) == told and len(told) > 100
    for (left, right), row in found.items():
        x, y, both = (sum(side <= one for one in held) for side in ({*left}, {*right}, {*left, *right}))
        assert row["confidence"] == pytest.approx(both / x) and row["support"] == pytest.approx(both / 120)
        assert row["lift"] == pytest.approx(both * 120 / (x * y))
        p_value = fisher_exact([[both, x - both], [y - both, 120 - x - y + both]], alternative="greater").pvalue
        assert row["p_value"] == pytest.approx(p_value, rel=1e-9)


def test_a_condition_on_the_customer_is_the_share_among_its_baskets():
    rng = np.random.default_rng(3)
    baskets, ages = drawn(300, 6, seed=4), rng.choice(["young", "old"], 300).tolist()
    model = AssociationRules(min_support=0.02, min_confidence=0).fit(baskets, attributes={"age": ages})
    rules = {(row["if"], row["then"]): row["confidence"] for row in model.to_rows()}
    own = [basket for basket, age in zip(baskets, ages) if age == "old" and "i4" in basket]
    assert rules[("i4", "age = old"), ("i5",)] == pytest.approx(np.mean(["i5" in basket for basket in own]))


def test_attributes_of_a_long_table_are_columns_of_it():
    baskets, sex = drawn(50, 5), ["m", "f"] * 25
    rows = [(f"b{k:02d}", item, sex[k]) for k, basket in enumerate(baskets) for item in basket]
    frame = pd.DataFrame(rows, columns=["bill", "good", "sex"]).sample(frac=1, random_state=0)
    model = AssociationRules(min_support=0.05, min_confidence=0.2)
    kept = [k for k, basket in enumerate(baskets) if basket]
    given = model.fit([baskets[k] for k in kept], attributes={"sex": [sex[k] for k in kept]}).to_rows()
    assert model.fit(frame, basket="bill", item="good", attributes=["sex"]).to_rows() == given
    frame.loc[frame.index[0], "sex"] = "x"
    with pytest.raises(DataError, match="attribute 'sex' must have one value in all rows of a basket; basket 'b"):
        model.fit(frame, basket="bill", item="good", attributes=["sex"])
    with pytest.raises(DataError, match="attribute 'age' must be a column of the table"):
        model.fit(frame, basket="bill", item="good", attributes="age")


def test_more_rules_than_can_be_kept_are_refused_with_a_way_out():
    with pytest.raises(DataError, match="at most max_rules=10 rules .* raise min_support"):
        AssociationRules(min_support=0.01, max_rules=10).fit(drawn())


def test_a_hundred_thousand_rules_are_measured_and_pruned_alike():
    cells = np.random.default_rng(0).random((2000, 30)) < np.linspace(0.1, 0.5, 30)
    every = AssociationRules(min_support=0.006, min_confidence=0.0).fit(cells)
    assert every.n_tested_ == len(every.antecedents_) > 100_000
    assert np.all(np.diff(every.measures_["lift"]) <= 0)
    fewer = AssociationRules(min_support=0.006, min_confidence=0.0, prune_redundant=True).fit(cells)
    known = dict(zip(zip(every.antecedents_, every.consequents_), every.measures_["confidence"].tolist()))
    kept = set(zip(fewer.antecedents_, fewer.consequents_))
    for (left, right), value in list(known.items())[::500]:
        parts = (part for size in range(1, len(left)) for part in combinations(left, size))
        assert ((left, right) not in kept) == any(known[part, right] >= value - 1e-12 for part in parts)
