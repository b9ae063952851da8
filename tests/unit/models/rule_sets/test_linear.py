"""Linear sums as conclusions and conditions of rules."""

from __future__ import annotations

import sqlite3

import numpy as np
import pandas as pd
import pytest

from assay.base import DataError
from assay.models.rules import Condition, LinearCondition, LinearSum, Rule, RuleSet

SUM = LinearSum(1.5, (("a", 2.0, 0.25), ("b", -1.0, 3.0)))
FRAME = pd.DataFrame({"a": [1.0, np.nan, -4.0, 0.0], "b": [0.5, 2.0, np.nan, 1.5]})


@pytest.fixture
def rules() -> RuleSet:
    return RuleSet.of(
        [
            Rule((LinearCondition(SUM, high=0.0),), 7.0),
            Rule((LinearCondition(SUM, low=0.0, high=1.0), Condition.above("a", -1)), SUM),
        ],
        default=LinearSum(0.0, (("a", 1.0, 0.5),)),
        numbers=True,
    )


def test_values_add_from_left_to_right_with_missing_cells_filled():
    np.testing.assert_array_equal(SUM.values(FRAME.to_numpy(), ("a", "b")), [3.0, 0.0, -9.5, 0.0])
    bounded = LinearSum(SUM.intercept, SUM.terms, low=-1.0, high=2.0)
    np.testing.assert_array_equal(bounded.values(FRAME.to_numpy(), ("a", "b")), [2.0, 0.0, -1.0, 0.0])


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (SUM, "1.5 + 2 a - b"),
        (LinearSum(0.0, (("a", -1.0, 0.0),)), "-a"),
        (LinearSum(-2.0), "-2"),
        (LinearSum(0.0), "0"),
        (LinearCondition(SUM, low=1.0), "1.5 + 2 a - b > 1"),
        (LinearCondition(SUM, low=1.0, high=2.0), "1 < 1.5 + 2 a - b <= 2"),
    ],
)
def test_text_reads_as_a_formula(one, text):
    assert str(one) == text


@pytest.mark.parametrize("numbers", [(np.nan, 1.0), (1.0, np.inf)])
def test_numbers_must_be_finite(numbers):
    with pytest.raises(DataError, match="must be finite"):
        LinearSum(numbers[0], (("a", numbers[1], 0.0),))
    with pytest.raises(DataError, match="must not lie above"):
        LinearSum(0.0, low=2.0, high=1.0)


def test_conditions_on_one_sum_merge_and_imply():
    one, two = LinearCondition(SUM, low=0.0), LinearCondition(SUM, high=2.0)
    both = one.merged(two)
    assert (both.low, both.high) == (0.0, 2.0)
    assert both.implies(one) and not one.implies(both)
    assert LinearCondition(SUM, low=2.0, high=1.0).impossible and LinearCondition(SUM).always
    with pytest.raises(DataError, match="one sum"):
        one.merged(LinearCondition(LinearSum(0.0), low=1.0))
    with pytest.raises(DataError, match="NaN"):
        LinearCondition(SUM, low=np.nan)


def test_a_rule_set_uses_sums(rules):
    np.testing.assert_array_equal(rules.first_match(FRAME), [-1, 0, 0, 0])
    np.testing.assert_array_equal(rules.predict(FRAME), [1.0, 7.0, 7.0, 7.0])
    shown = rules.to_text()
    assert "IF 1.5 + 2 a - b <= 0 THEN 7" in shown and shown.endswith("OTHERWISE a")
    assert rules.view()["rules"][1]["then"] == "1.5 + 2 a - b"
    assert rules.statistics()[1]["then"] == "1.5 + 2 a - b" and "1.5 + 2 a - b" in rules._repr_html_()


def test_simplifying_drops_what_cannot_hold(rules):
    more = rules.add(Rule((LinearCondition(SUM, high=-1.0),), 8.0)).add(
        Rule((LinearCondition(SUM, low=1.0), LinearCondition(SUM, high=0.5)), 9.0)
    )
    assert len(more.simplify()) == 2


def test_json_comes_back_and_is_read_strictly(rules):
    again = RuleSet.from_json(rules.to_json())
    assert again == rules
    np.testing.assert_array_equal(again.predict(FRAME), rules.predict(FRAME))
    for bad in ('"column":"a","sum":', '"missing":true,"sum":'):
        with pytest.raises(DataError):
            RuleSet.from_json(rules.to_json().replace('"sum":', bad, 1))


def test_sql_says_the_same_and_is_not_read_back(rules):
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE t ("a" REAL, "b" REAL)')
    cells = [[None if v != v else v for v in row] for row in FRAME.to_numpy().tolist()]
    connection.executemany("INSERT INTO t VALUES (?, ?)", cells)
    text = rules.to_sql("t")
    assert [row[-1] for row in connection.execute(text)] == rules.predict(FRAME).tolist()
    with pytest.raises(DataError, match="must be what to_sql writes"):
        RuleSet.from_sql(text)


def test_sums_must_be_on_numeric_columns_and_labels_are_not_sums():
    with pytest.raises(DataError, match="is nominal but stands in a sum"):
        RuleSet.of([Rule((Condition.one_of("a", ["x"]), LinearCondition(SUM, low=0.0)), 1.0)], 0.0, numbers=True)
    with pytest.raises(DataError, match="must be a label"):
        RuleSet.of([Rule((Condition.above("a", 1),), SUM)], "no")
    with pytest.raises(DataError, match="is not in the schema"):
        RuleSet.of([Rule((Condition.above("a", 1),), 1.0)], 0.0, numbers=True).add(Rule((), SUM))
