"""Laws of conditions, rule sets and rule learners, on tables that Hypothesis makes up."""

from __future__ import annotations

import sqlite3

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.models.rules import Condition, Ripper, Rule, RuleSet, RulesFromTree, SequentialCovering
from assay.models.trees import CartClassifier
from tests.helpers import examples

LETTERS = ["a", "b", "c"]
numbers = st.integers(-3, 3).map(float)
labels = st.sampled_from(["p", "q", "r"])
intervals = st.builds(
    Condition.between,
    st.just("x"),
    numbers | st.just(-np.inf),
    numbers | st.just(np.inf),
    st.booleans(),
)
sets = st.builds(
    Condition,
    st.just("c"),
    categories=st.lists(st.sampled_from(LETTERS)),
    excluded=st.booleans(),
    missing=st.booleans(),
)
CELLS = {"x": np.array([*np.arange(-4.0, 4.5, 0.5), np.nan]), "c": np.array([-1.0, 0.0, 1.0, 2.0, np.nan])}


def passing(condition):
    return condition.passes(CELLS[condition.column], np.array(LETTERS) if condition.column == "c" else None)


@given(st.one_of(st.tuples(intervals, intervals), st.tuples(sets, sets)))
def test_merging_is_intersection_and_implication_is_inclusion(pair):
    one, two = pair
    np.testing.assert_array_equal(passing(one.merged(two)), passing(one) & passing(two))
    assert one.merged(two) == two.merged(one)
    if one.implies(two):
        assert not (passing(one) & ~passing(two)).any()
    assert one.impossible <= (not passing(one).any()) and one.always <= passing(one).all()


rules = st.builds(Rule, st.lists(intervals | sets, max_size=3).map(tuple), labels)
rule_sets = st.builds(
    lambda listed, default, semantics: RuleSet.of(
        [Rule((Condition.at_most("x", -9.0), Condition.one_of("c", LETTERS)), "p"), *listed],
        default,
        semantics=semantics,
    ),
    st.lists(rules, max_size=5),
    labels,
    st.sampled_from(["ordered", "vote"]),
)
tables = st.lists(
    st.tuples(numbers | st.none(), st.sampled_from([*LETTERS, "new"]) | st.none()), min_size=1, max_size=12
).map(lambda rows: pd.DataFrame({"x": pd.Series([r[0] for r in rows], dtype=float), "c": [r[1] for r in rows]}))


@settings(max_examples=examples(60))
@given(rule_sets, tables)
def test_simplify_json_and_sql_keep_every_prediction(found, table):
    table["c"] = table["c"].astype(object)
    said = found.predict(table).tolist()
    assert found.simplify().predict(table).tolist() == said
    assert RuleSet.from_json(found.to_json()).predict(table).tolist() == said
    if found.semantics == "ordered":
        assert RuleSet.from_sql(found.to_sql("t"), found.schema).predict(table).tolist() == said
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x REAL, c TEXT)")
    cells = table.astype(object).where(table.notna(), None).to_numpy().tolist()
    connection.executemany("INSERT INTO t VALUES (?, ?)", cells)
    assert [row[-1] for row in connection.execute(found.to_sql("t"))] == said


@settings(max_examples=examples(40))
@given(tables, st.integers(0, 2**32 - 1))
def test_trees_and_their_rules_agree_everywhere(table, seed):
    table["c"] = table["c"].astype(object)
    y = np.random.default_rng(seed).choice(["p", "q", "r"], len(table))
    if table["c"].notna().sum() == 0:
        table["c"] = "a"
    tree = CartClassifier().fit(table, y)
    grid = pd.DataFrame([(x, c) for x in (-9.0, 0.5, 9.0, None) for c in ("a", "b", "zz", None)], columns=["x", "c"])
    grid = grid.astype({"x": float, "c": object})
    np.testing.assert_array_equal(tree.to_rules().predict(grid), tree.predict(grid))
    np.testing.assert_array_equal(tree.to_rules().simplify().predict(grid), tree.predict(grid))


@settings(max_examples=examples(30))
@given(tables, st.integers(0, 2**32 - 1))
def test_learners_count_every_row_once_and_are_never_worse_than_the_default(table, seed):
    table["c"] = table["c"].astype(object)
    if table["c"].notna().sum() == 0:
        table["c"] = "a"
    y = np.random.default_rng(seed).choice(["p", "q"], len(table))
    most = max((y == "p").mean(), (y == "q").mean())
    for learner in (Ripper(random_state=0), SequentialCovering(random_state=0), RulesFromTree()):
        model = learner.fit(table, y)
        taken = sum(rule.rows for rule in model.rules_.rules)
        open_rows = (model.rules_.first_match(table) < 0).sum()
        assert taken + open_rows == len(y)
        assert model.score(table, y) >= most - 1e-12
        np.testing.assert_array_equal(model.predict(table), model.rules_.predict(table))
