"""A tree in other forms says what the tree says, on rows of every kind."""

from __future__ import annotations

import json
import math
import sqlite3
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest

from assay.base import ParameterError
from assay.models.baselines import OneRClassifier
from assay.models.rules import Ripper, RuleSet, RulesFromTree, SequentialCovering
from assay.models.trees import CartClassifier, CartRegressor

CLASSIFY = [CartClassifier(), CartClassifier(max_depth=2), CartClassifier(criterion="entropy", class_weight="balanced")]


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(4)
    n = 250
    X = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            'col"our': rng.choice(["r'ed", "green", "blue", "grey"], n).astype(object),
            "flag": rng.random(n) < 0.5,
            "whole": rng.integers(0, 6, n),
        }
    )
    X.loc[rng.random(n) < 0.15, "size"] = np.nan
    X.loc[rng.random(n) < 0.15, 'col"our'] = None
    y = np.where(X["size"].isna(), "gone", np.where(X['col"our'].isin(["r'ed", "blue"]), "warm", "cold"))
    y[rng.random(n) < 0.2] = "it's"
    return X, y, rng.normal(size=n) + X["whole"].to_numpy()


@pytest.fixture(scope="module")
def unseen(mixed):
    """Rows with every mixture of present, missing and never seen cells."""
    grid = [
        (size, colour, flag, whole)
        for size in (-9.0, 0.1, 9.0, None)
        for colour in ("r'ed", "never seen", None)
        for flag in (True, False)
        for whole in (0, 5)
    ]
    frame = pd.DataFrame(grid, columns=list(mixed[0].columns))
    return frame.astype({"size": float, "flag": bool, "whole": int})


def rows_of(frame: pd.DataFrame) -> list[dict]:
    return [
        {k: None if v is None or (isinstance(v, float) and math.isnan(v)) else v for k, v in row.items()}
        for row in frame.to_dict("records")
    ]


def in_sqlite(frame: pd.DataFrame, text: str, columns: int = 1) -> list:
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE t ("size" REAL, "col""our" TEXT, "flag" INTEGER, "whole" INTEGER)')
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [tuple(r.values()) for r in rows_of(frame)])
    found = connection.execute(text).fetchall()
    return [row[-1] if columns == 1 else row[-columns:] for row in found]


def in_duckdb(frame: pd.DataFrame, text: str, columns: int = 1) -> list:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect(config={"threads": 1})
    connection.execute('CREATE TABLE t ("size" DOUBLE, "col""our" VARCHAR, "flag" BOOLEAN, "whole" BIGINT)')
    cells = [tuple(row.values()) for row in rows_of(frame)]
    places = ", ".join(["(?, ?, ?, ?)"] * len(cells))
    connection.execute(f"INSERT INTO t VALUES {places}", [cell for row in cells for cell in row])
    found = connection.execute(text).fetchall()
    return [row[-1] if columns == 1 else row[-columns:] for row in found]


def run(source: str, frame: pd.DataFrame) -> list:
    space: dict = {}
    exec(source, space)
    return [space["predict"](row) for row in rows_of(frame)]


@pytest.mark.parametrize("model", CLASSIFY)
def test_every_form_of_a_classification_tree_predicts_the_same(mixed, unseen, model):
    X, y, _ = mixed
    model.fit(X, y)
    rules = model.to_rules()
    for frame in (X, unseen):
        said = model.predict(frame)
        np.testing.assert_array_equal(rules.predict(frame), said)
        np.testing.assert_allclose(rules.predict_proba(frame), model.predict_proba(frame), atol=1e-12)
        assert in_sqlite(frame, model.to_sql("t")) == said.tolist()
        assert run(model.to_python(), frame) == said.tolist()
        back = RuleSet.from_sql(model.to_sql("t"), schema=rules.schema)
        np.testing.assert_array_equal(back.predict(frame), said)
        np.testing.assert_array_equal(RuleSet.from_json(rules.to_json()).predict(frame), said)


@pytest.mark.parametrize("model", [CartRegressor(), CartRegressor(max_depth=3, criterion="absolute_error")])
def test_every_form_of_a_regression_tree_predicts_the_same(mixed, unseen, model):
    X, _, z = mixed
    model.fit(X, z)
    for frame in (X, unseen):
        said = model.predict(frame)
        np.testing.assert_array_equal(model.to_rules().predict(frame), said)
        np.testing.assert_array_equal(in_sqlite(frame, model.to_sql("t")), said)
        np.testing.assert_array_equal(run(model.to_python(), frame), said)


def test_several_outputs_become_several_columns(mixed, unseen):
    X, _, z = mixed
    model = CartRegressor(max_depth=3).fit(X, np.column_stack([z, -z]))
    said = model.predict(unseen)
    rules = model.to_rules()
    np.testing.assert_array_equal(rules.predict(unseen), said)
    np.testing.assert_array_equal(in_sqlite(unseen, model.to_sql("t"), columns=2), said)
    np.testing.assert_array_equal(run(model.to_python(), unseen), said)
    np.testing.assert_array_equal(RuleSet.from_json(rules.to_json()).predict(unseen), said)
    np.testing.assert_array_equal(RuleSet.from_sql(rules.to_sql("t"), schema=rules.schema).predict(unseen), said)


@pytest.mark.parametrize("depth", [1, 4, None])
def test_sql_of_trees_says_in_duckdb_what_the_tree_says(mixed, unseen, depth):
    """Nulls, quotes in names and labels, truth values, whole numbers, and categories never seen."""
    X, y, z = mixed
    classify, number = CartClassifier(max_depth=depth).fit(X, y), CartRegressor(max_depth=depth).fit(X, z)
    both = CartRegressor(max_depth=depth).fit(X, np.column_stack([z, -z]))
    for frame in (X, unseen):
        assert in_duckdb(frame, classify.to_sql("t")) == classify.predict(frame).tolist()
        np.testing.assert_array_equal(
            np.array(in_duckdb(frame, number.to_sql("t")), dtype=float), number.predict(frame)
        )
        np.testing.assert_array_equal(
            np.array(in_duckdb(frame, both.to_sql("t"), columns=2), dtype=float), both.predict(frame)
        )


@pytest.mark.parametrize(
    "learner",
    [
        Ripper(random_state=0),
        SequentialCovering(random_state=0),
        RulesFromTree(),
        OneRClassifier(),
        CartClassifier(max_depth=3),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_sql_of_rule_sets_says_in_duckdb_what_the_rules_say(mixed, unseen, learner):
    X, y, _ = mixed
    learner.fit(X, y)
    rules = learner.to_rules()
    for frame in (X, unseen):
        said = rules.predict(frame).tolist()
        assert in_duckdb(frame, rules.to_sql("t")) == said == in_sqlite(frame, rules.to_sql("t"))


def test_rules_hold_the_rows_of_the_leaves(mixed):
    X, y, _ = mixed
    model = CartClassifier(max_depth=3).fit(X, y)
    rules = model.to_rules()
    leaves = np.flatnonzero(model.tree_.feature < 0)
    assert [rule.rows for rule in rules.rules] == pytest.approx(model.tree_.weighted_n_node_samples[leaves])
    again = rules.rescored(X, y)
    for one, two in zip(rules.rules, again.rules, strict=True):
        assert dict(zip(rules.classes, one.counts)) == pytest.approx(dict(zip(again.classes, two.counts)))


def test_a_table_without_missing_cells_is_told_without_them():
    model = CartClassifier().fit([[1.0, 2.0], [2.0, 2.0], [3.0, 1.0]], ["a", "b", "b"])
    assert model.to_rules().to_text() == "IF x0 <= 1.5 THEN a (1 of 1)\nIF x0 > 1.5 THEN b (2 of 2)\nOTHERWISE b"


def test_json_holds_the_whole_tree(mixed):
    X, y, _ = mixed
    model = CartClassifier().fit(X, y)
    document = json.loads(model.to_json())
    assert document["format"] == "assay-tree" and document["classes"] == model.classes_.tolist()
    nodes = document["nodes"]
    assert len(nodes) == model.tree_.node_count
    names = [column["name"] for column in document["columns"]]

    def walk(row: dict) -> str:
        node = nodes[0]
        while "left" in node:
            cell = row[names[names.index(node["column"])]]
            known = document["columns"][names.index(node["column"])].get("categories")
            if cell is None or (known is not None and cell not in known):
                side = node["missing"]
            elif "in" in node:
                side = "left" if cell in node["in"] else "right"
            else:
                side = "left" if cell <= node["at_most"] else "right"
            node = nodes[node[side]]
        return node["prediction"]

    assert [walk(row) for row in rows_of(X)] == model.predict(X).tolist()


def test_python_text_of_a_deep_tree_compiles():
    X = np.arange(400.0)[:, None]
    y = np.arange(400) % 2
    model = CartClassifier().fit(X, y)
    source = model.to_python()
    assert max(len(line) - len(line.lstrip()) for line in source.splitlines()) // 4 <= 12
    space: dict = {}
    exec(source, space)
    assert [space["predict"]({"x0": v}) for v in X[:, 0].tolist()] == y.tolist()
    with pytest.raises(ValueError, match="identifier"):
        model.to_python("no name")


def test_svg_is_drawn_without_the_report(mixed):
    X, y, _ = mixed
    svg = CartClassifier(max_depth=3).fit(X, y).to_svg(max_depth=2, title="A <tree>")
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg") and "A &lt;tree&gt;" in svg and "<script" not in svg


def test_one_leaf_is_a_tree_too():
    model = CartClassifier().fit([[1.0], [2.0]], ["a", "a"])
    assert model.to_rules().to_text().startswith("IF TRUE THEN a (2 of 2)")
    assert run(model.to_python(), pd.DataFrame({"x0": [1.0]})) == ["a"]


@pytest.mark.parametrize("name", ["class", "lambda", "None", "", "two words", 3])
def test_a_name_that_would_not_compile_is_refused(name):
    model = CartClassifier().fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(ParameterError, match=r"^to_python: parameter 'name' must be a Python identifier"):
        model.to_python(name=name)


@pytest.mark.parametrize("table", [[], "", ["a", ""], [1]])
def test_sql_needs_the_name_of_a_table_or_none(table):
    model = CartClassifier().fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(ParameterError, match=r"^to_sql: parameter 'table' must be a name"):
        model.to_rules().to_sql(table)
