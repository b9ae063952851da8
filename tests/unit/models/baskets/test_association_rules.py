"""Frequent itemsets and association rules: all subsets counted, measures by hand, mlxtend, forms of baskets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from assay.base import DataError, ParameterError
from assay.models.baskets import AssociationRules, FrequentItemsets

BASKETS = [["bread", "butter"], ["bread", "butter", "tea"], ["tea"], ["bread"]]


def drawn(n: int = 200, items: int = 9, seed: int = 0) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    cells = rng.random((n, items)) < np.linspace(0.15, 0.6, items)
    cells[:, 1] |= cells[:, 0]
    return [[f"i{j}" for j in np.flatnonzero(row)] for row in cells]


def counted(baskets, least: float) -> dict[tuple, float]:
    """Every subset of the items, counted one by one."""
    items = sorted({item for basket in baskets for item in basket})
    found = {}
    for size in range(1, len(items) + 1):
        for held in combinations(items, size):
            share = sum(set(held) <= set(basket) for basket in baskets) / len(baskets)
            if share > 0 and share >= least - 1e-12:
                found[held] = share
    return found


@given(
    st.lists(st.lists(st.integers(0, 6), max_size=7), min_size=1, max_size=80),
    st.sampled_from([0.01, 0.1, 0.25, 0.5, 1.0]),
)
@settings(deadline=None, max_examples=60, derandomize=True)
def test_itemsets_equal_all_subsets_counted(baskets, least):
    exact = counted(baskets, least)
    found = dict(FrequentItemsets(min_support=least).fit(baskets).itemsets_)
    assert found.keys() == exact.keys()
    assert all(found[held] == pytest.approx(exact[held]) for held in exact)
    larger = {held: [other for other in exact if set(other) > set(held)] for held in exact}
    closed = {held for held in exact if all(exact[other] < exact[held] - 1e-12 for other in larger[held])}
    assert {h for h, _ in FrequentItemsets(min_support=least, keep="closed").fit(baskets).itemsets_} == closed
    maximal = {held for held in exact if not larger[held]}
    assert {h for h, _ in FrequentItemsets(min_support=least, keep="maximal").fit(baskets).itemsets_} == maximal


def test_every_form_of_baskets_and_any_number_of_threads_gives_the_same():
    baskets = drawn()
    items = sorted({item for basket in baskets for item in basket})
    table = np.array([[item in basket for item in items] for basket in baskets])
    rows = [(number, item) for number, basket in enumerate(baskets) for item in basket]
    long = {"who": [r[0] for r in rows], "what": [r[1] for r in rows]}
    given_ = [basket for basket in baskets if basket]
    exact = FrequentItemsets(min_support=0.1).fit(given_).itemsets_
    held = table.any(axis=1)
    for frame in (pd.DataFrame, pl.DataFrame):
        assert FrequentItemsets(min_support=0.1).fit(frame(long), basket="who", item="what").itemsets_ == exact
    assert FrequentItemsets(min_support=0.1).fit(pd.DataFrame(table[held], columns=items)).itemsets_ == exact
    assert FrequentItemsets(min_support=0.1).fit(pl.DataFrame(table[held], schema=items)).itemsets_ == exact
    for jobs in (1, 3):
        assert FrequentItemsets(min_support=0.1, n_jobs=jobs).fit(given_).itemsets_ == exact


def test_thousands_of_baskets_and_a_bound_on_the_length():
    rng = np.random.default_rng(1)
    cells = rng.random((3000, 30)) < 0.2
    found = dict(FrequentItemsets(min_support=0.03, max_length=2).fit(cells).itemsets_)
    together = cells.T.astype(int) @ cells
    exact = {(f"x{a}", f"x{b}") for a, b in combinations(range(30), 2) if together[a, b] >= 90}
    assert {tuple(sorted(held)) for held in found if len(held) == 2} == {tuple(sorted(held)) for held in exact}
    assert max(map(len, found)) == 2


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


@pytest.mark.parametrize(
    ("parameters", "baskets", "words"),
    [
        ({"max_itemsets": 3}, BASKETS, "raise min_support"),
        ({}, ["bread", "tea"], "basket 0 must be a list of items"),
        ({}, [], "at least one"),
        ({}, np.array([[2.0, 1.0]]), "true and false"),
        ({"keep": "closed", "max_length": 2}, BASKETS, "must be None for closed or maximal"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(parameters, baskets, words):
    with pytest.raises((DataError, ParameterError)) as caught:
        FrequentItemsets(**{"min_support": 0.2, **parameters}).fit(baskets)
    assert words in str(caught.value)


def test_a_long_table_needs_its_columns():
    with pytest.raises(DataError, match="must be a column of the table"):
        FrequentItemsets().fit(pd.DataFrame({"a": [1], "b": [2]}), basket="a", item="c")
