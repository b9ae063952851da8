"""Rule sets: use, scores, changes, and the ways to JSON and SQL and back."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import pandas as pd
import polars as pl
import pytest
from statsmodels.stats.proportion import proportion_confint

from assay.base import DataError, ParameterError
from assay.models.rule_sets.rule_set import wilson_interval
from assay.models.rules import Condition, Rule, RuleSet

FRAME = pl.DataFrame(
    {
        "age": [70.0, 30.0, None, 65.0, 20.0, 50.0],
        "plan": ["solo", "family", "solo", None, "other", "family"],
        "unused": ["a", "b", "c", "d", "e", "f"],
    }
)
LABELS = np.array(["yes", "no", "yes", "no", "no", "yes"])


def example(semantics: str = "ordered") -> RuleSet:
    return RuleSet.of(
        [
            Rule((Condition.above("age", 60), Condition.one_of("plan", ["solo"], missing=True)), "yes"),
            Rule((Condition.none_of("plan", ["family"]),), "no"),
            Rule((Condition.is_missing("age"),), "yes"),
        ],
        default="no",
        semantics=semantics,
    )


def in_sqlite(frame: pl.DataFrame, text: str) -> list:
    connection = sqlite3.connect(":memory:")
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in frame.columns)
    connection.execute(f'CREATE TABLE "a table" ({names})')
    marks = ", ".join("?" * frame.width)
    connection.executemany(f'INSERT INTO "a table" VALUES ({marks})', frame.rows())
    return [row[-1] for row in connection.execute(text)]


def test_the_first_rule_that_holds_decides():
    rules = example()
    assert rules.first_match(FRAME).tolist() == [0, -1, 1, 0, 1, -1]
    assert rules.predict(FRAME).tolist() == ["yes", "no", "no", "yes", "no", "no"]


def test_votes_add_up_and_the_default_takes_the_rest():
    scored = example("vote").rescored(FRAME, LABELS)
    assert [rule.counts for rule in scored.rules] == [(1.0, 1.0), (2.0, 1.0), (1.0, 0.0)]
    assert scored.classes == ("yes", "no") and scored.default_counts == (1.0, 1.0)
    assert scored.predict(FRAME).tolist() == ["yes", "no", "yes", "yes", "yes", "no"]
    proba = scored.predict_proba(FRAME)
    np.testing.assert_allclose(proba[2], [(3 + 1) / (4 + 2), (1 + 1) / (4 + 2)])


def test_rows_come_by_name_from_frames_and_by_place_from_arrays():
    rules = RuleSet.of([Rule((Condition.above("b", 0),), 1), Rule((Condition.above("a", 0),), 2)], default=0)
    assert rules.schema.names == ("b", "a")
    assert rules.predict(pd.DataFrame({"a": [1, -1], "b": [-1, 1]})).tolist() == [2, 1]
    assert rules.predict(np.array([[-1.0, 1.0], [1.0, -1.0]])).tolist() == [2, 1]
    with pytest.raises(DataError, match="column 'b' is not in the table"):
        rules.predict(pd.DataFrame({"a": [1], "c": [2]}))
    with pytest.raises(DataError, match="must have 2 columns"):
        rules.predict(np.zeros((2, 3)))


def test_statistics_follow_their_definitions():
    rows = example().score_rules(FRAME, LABELS)
    first = rows[0]
    assert (first["rows"], first["correct"]) == (2.0, 1.0)
    assert first["coverage"] == pytest.approx(2 / 6) and first["support"] == pytest.approx(1 / 6)
    assert first["confidence"] == 0.5 and first["lift"] == pytest.approx(0.5 / 0.5)
    assert (first["low"], first["high"]) == wilson_interval(1, 2)
    weighted = example().score_rules(FRAME, LABELS, sample_weight=[3, 1, 1, 1, 1, 1])
    assert weighted[0]["rows"] == 4.0 and weighted[0]["confidence"] == 0.75


@pytest.mark.parametrize(("correct", "rows"), [(0, 5), (3, 7), (5, 5), (40, 100)])
def test_wilson_interval_agrees_with_statsmodels(correct, rows):
    expected = proportion_confint(correct, rows, alpha=0.1, method="wilson")
    np.testing.assert_allclose(wilson_interval(correct, rows, 0.1), expected, atol=1e-12)


def test_labels_that_the_rules_do_not_know_count_as_wrong():
    rows = example().score_rules(FRAME, ["maybe"] * 6)
    assert all(row["correct"] == 0 for row in rows) and rows[0]["rows"] == 2.0


def test_changes_give_new_sets():
    rules = example()
    extra = Rule((Condition.at_most("age", 25),), "maybe")
    assert len(rules.add(extra, at=0)) == 4 and rules.add(extra).classes == ("yes", "no", "maybe")
    assert rules.add(extra, at=0).predict(FRAME)[4] == "maybe"
    assert len(rules.remove(1)) == 2 and rules.replace(1, extra).rules[1] == extra and len(rules) == 3
    with pytest.raises(ParameterError, match="from 0 to 2"):
        rules.remove(3)
    with pytest.raises(DataError, match="not in the schema"):
        rules.add(Rule((Condition.above("height", 1),), "yes"))
    with pytest.raises(DataError, match="nominal but compared with a number"):
        rules.add(Rule((Condition.above("plan", 1),), "yes"))
    with pytest.raises(DataError, match="numeric but compared with labels"):
        rules.add(Rule((Condition.one_of("age", ["old"]),), "yes"))


def test_simplify_merges_conditions_and_drops_what_cannot_be_reached():
    wide = Rule((Condition.above("age", 10), Condition.above("age", 20)), "yes")
    rules = RuleSet.of(
        [
            wide,
            Rule((Condition.between("age", 30, 40),), "no"),
            Rule((Condition.above("age", 9), Condition.at_most("age", 5)), "no"),
            Rule((), "no"),
            Rule((Condition.at_most("age", 3),), "yes"),
        ],
        default="yes",
    )
    assert rules.simplify().to_text() == "IF age > 20 THEN yes\nIF TRUE THEN no\nOTHERWISE yes"


def test_pruning_never_raises_the_error_on_its_rows():
    rng = np.random.default_rng(0)
    for seed in range(5):
        X = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
        y = np.where(X["a"] > 0.3, "p", "q")
        rules = [
            Rule(
                tuple(Condition.above(c, float(rng.normal())) for c in rng.permutation(list("abc"))[:2]),
                str(rng.choice(["p", "q"])),
            )
            for _ in range(6)
        ]
        rules.insert(0, Rule((Condition.above("a", 0.3), Condition.above("b", -9)), "p"))
        before = RuleSet.of(rules, default="q", semantics=["ordered", "vote"][seed % 2])
        after = before.prune(X, y)
        assert (after.predict(X) != y).mean() <= (before.predict(X) != y).mean()
        assert len(after) < len(before)
    assert after.rules[0].rows > 0


def test_numbers_may_be_concluded():
    rules = RuleSet.of([Rule((Condition.above("x", 1),), 2.5)], default=0.5, numbers=True)
    X = pd.DataFrame({"x": [0.0, 2.0, 2.0]})
    assert rules.predict(X).tolist() == [0.5, 2.5, 2.5]
    assert rules.score_rules(X, [0.0, 1.0, 2.0]) == [{"if": "x > 1", "then": 2.5, "rows": 2.0, "coverage": 2 / 3}]
    assert rules.rescored(X, [0.0, 1.0, 2.0]).to_text() == "IF x > 1 THEN 2.5 (2 rows)\nOTHERWISE 0.5 (1 rows)"
    assert RuleSet.from_json(rules.to_json()) == rules
    assert RuleSet.from_sql(rules.to_sql("t")) == rules
    with pytest.raises(DataError, match="needs classes"):
        rules.predict_proba(X)
    with pytest.raises(ParameterError, match="'ordered'"):
        RuleSet.of([], default=1.0, numbers=True, semantics="vote")


# -- JSON ---
@pytest.mark.parametrize("semantics", ["ordered", "vote"])
def test_json_brings_back_the_same_rule_set(semantics):
    rules = example(semantics).rescored(FRAME, LABELS)
    back = RuleSet.from_json(rules.to_json())
    assert back == rules and hash(back) == hash(rules) and back != example(semantics)
    np.testing.assert_array_equal(back.predict_proba(FRAME), rules.predict_proba(FRAME))
    assert str(back.statistics()) == str(rules.statistics())


def _broken():
    good = json.loads(example().rescored(FRAME, LABELS).to_json())

    def change(**values):
        return {**good, **values}

    def rule(**values):
        return change(rules=[{**good["rules"][0], **values}])

    def condition(**values):
        return rule(**{"if": [{"column": "age", **values}]})

    return {
        "not json": "{",
        "a list": "[]",
        "other format": change(format="pickle"),
        "other version": change(version=2),
        "unknown key": change(code="import os"),
        "unknown column": rule(**{"if": [{"column": "height", "above": 1}]}),
        "kind of column": rule(**{"if": [{"column": "plan", "above": 1}]}),
        "no test": condition(),
        "two tests": condition(**{"above": 1, "in": ["a"]}),
        "text for a number": condition(above="1"),
        "unknown class": rule(then="maybe"),
        "list for a label": rule(then=[1.0]),
        "wrong counts": rule(counts=[1.0]),
        "negative counts": rule(counts=[-1.0, 2.0]),
        "same names": change(columns=[*good["columns"], good["columns"][0]]),
        "same categories": change(columns=[good["columns"][0], {"name": "plan", "categories": ["solo", "solo"]}]),
        "mixed categories": change(columns=[good["columns"][0], {"name": "plan", "categories": ["solo", 1]}]),
        "semantics": change(semantics="random"),
        "label without classes": change(classes=None, default_counts=[], total=[], rules=[]),
    }


@pytest.mark.parametrize("case", list(_broken()))
def test_json_that_is_no_rule_set_is_refused_in_one_sentence(case):
    broken = _broken()[case]
    with pytest.raises(DataError) as caught:
        RuleSet.from_json(broken if isinstance(broken, str) else json.dumps(broken))
    assert "\n" not in str(caught.value)


# -- SQL ---
@pytest.mark.parametrize("semantics", ["ordered", "vote"])
def test_sql_gives_the_predictions_in_sqlite(semantics):
    rules = example(semantics).rescored(FRAME, LABELS)
    assert in_sqlite(FRAME, rules.to_sql("a table")) == rules.predict(FRAME).tolist()


def test_sql_quotes_names_and_labels():
    nasty, label = 'x"; DROP TABLE t; --', "it's; --"
    frame = pl.DataFrame({nasty: ["a'b", "c", None]})
    rules = RuleSet.of([Rule((Condition.one_of(nasty, ["a'b"]),), label)], default='"')
    text = rules.to_sql("a table", prediction='say "it"')
    assert in_sqlite(frame, text) == [label, '"', '"'] == rules.predict(frame).tolist()
    assert RuleSet.from_sql(text) == rules
    with pytest.raises(DataError, match="zero character"):
        RuleSet.of([], default="a\0b").to_sql("t")


def test_sql_of_numbers_and_truth_values_keeps_every_digit():
    cut = 0.1 + 0.2
    frame = pl.DataFrame({"x": [np.nextafter(cut, 0), cut, np.nextafter(cut, 1)], "flag": [True, False, True]})
    rules = RuleSet.of(
        [Rule((Condition.above("x", cut),), 1), Rule((Condition.one_of("flag", [True]),), 2)], default=-3
    )
    assert in_sqlite(frame, rules.to_sql("a table")) == rules.predict(frame).tolist() == [2, -3, 1]
    assert RuleSet.from_sql(rules.to_sql("a table")) == rules


def test_sql_and_back_keeps_conditions_and_conclusions():
    rules = example().add(Rule((), "maybe")).add(Rule((Condition.is_present("age"),), "yes"))
    rules = rules.add(Rule((Condition.between("age", -1.5, 2e-7, missing=True),), "no"))
    rules = rules.add(Rule((Condition.between("age", 1, 2), Condition.none_of("plan", ["a", "b"])), "no"))
    for text in (rules.to_sql(("main", "t")), rules.to_sql()):
        back = RuleSet.from_sql(text, schema=rules.schema)
        assert back.rules == rules.rules and back.default == rules.default
    assert RuleSet.from_sql(RuleSet.of([], default="no").to_sql("t")).default == "no"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "DROP TABLE t",
        "CASE WHEN 1 = 1 THEN 2 ELSE 3 END",
        "CASE WHEN \"x\" > 1 OR \"y\" IS NULL THEN 'a' ELSE 'b' END",
        "CASE WHEN (\"x\" > 1 OR \"y\" IS NULL) THEN 'a' ELSE 'b' END",
        "CASE WHEN \"x\" > 1 THEN 'a' END",
        "CASE WHEN \"x\" > 1 THEN 'a' ELSE 'b' END; DROP TABLE t",
        "CASE WHEN \"x\" > 1 THEN system('ls') ELSE 'b' END",
    ],
)
def test_other_sql_is_refused_in_one_sentence(text):
    with pytest.raises(DataError, match="what to_sql writes") as caught:
        RuleSet.from_sql(text)
    assert "\n" not in str(caught.value)


def test_votes_cannot_be_read_back_from_sql():
    with pytest.raises(DataError, match="ordered rules"):
        RuleSet.from_sql(example("vote").to_sql("t"))


# -- showing ---
def test_text_html_and_view_show_rules_and_escape_data():
    rules = RuleSet.of([Rule((Condition.one_of("c", ["<b>"]),), "<i>")], default="no")
    rules = rules.rescored(pd.DataFrame({"c": ["<b>", "<b>", "x"]}), ["<i>", "no", "no"])
    assert rules.to_text() == str(rules) == "IF c = <b> THEN <i> (1 of 2)\nOTHERWISE no (1 of 1)"
    page = rules._repr_html_()
    assert "<b>" not in page and "&lt;b&gt;" in page and "0.5 (0.09 to 0.91)" in page
    view = rules.view("Two rules")
    assert view.to_dict() == {
        "kind": "rules",
        "title": "Two rules",
        "rules": [{"if": "c = <b>", "then": "<i>", "rows": 2.0, "correct": 1.0}],
        "default": "no",
    }
    many = RuleSet.of([Rule((Condition.above("x", k),), "a") for k in range(150)], default="b")
    assert many.view()["cut"] and len(many.view()["rules"]) == 100 and "and 50 more rules" in many._repr_html_()


def test_unknown_semantics_are_refused():
    with pytest.raises(ParameterError, match="semantics"):
        RuleSet.of([], default="a", semantics="random")
