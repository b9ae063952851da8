"""Cells that cannot be true are counted, and become missing, clipped or dropped."""

from __future__ import annotations

from datetime import date, datetime

import numpy as np
import polars as pl
import pytest

from assay.base import AssayError
from assay.prepare import RangeRules

PEOPLE = pl.DataFrame({"age": [31, -4, 220, None], "sex": ["f", "m", "x", None], "kelvin": [0.0, 280.0, -3.0, 1.5]})
RULES = {"age": {"min": 0, "max": 120}, "sex": {"allowed": ["f", "m"]}, "kelvin": {"above": 0}}


def test_infeasible_cells_become_missing_and_are_counted():
    step = RangeRules(rules=RULES).fit(PEOPLE)
    out = step.transform(PEOPLE)
    assert out["age"].to_list() == [31, None, None, None] and out["sex"].to_list() == ["f", "m", None, None]
    assert out["kelvin"].to_list() == [None, 280.0, None, 1.5], "0 kelvin is out, as the bound itself is excluded"
    assert step.counts_ == {"age": {"min": 1, "max": 1}, "sex": {"allowed": 1}, "kelvin": {"above": 2}}
    assert step.explain()[0] == "age: values below 0 become missing (1 in training)."


def test_clipping_moves_to_the_bound_where_there_is_one():
    out = RangeRules(rules=RULES, action="clip").fit_transform(PEOPLE)
    assert out["age"].to_list() == [31, 0, 120, None] and out["age"].dtype == pl.Int64
    assert out["sex"].to_list() == ["f", "m", None, None] and out["kelvin"].to_list() == [None, 280.0, None, 1.5]
    half = RangeRules(rules={"age": {"max": 30.5}}, action="clip").fit_transform(PEOPLE)
    assert half["age"].to_list() == [30.5, -4.0, 30.5, None]


def test_dropping_takes_rows_out_of_training_only():
    step = RangeRules(rules={"age": RULES["age"]}, action="drop")
    rows, _ = step.fit_resample(PEOPLE)
    assert rows["age"].to_list() == [31, None] and step.transform(PEOPLE).equals(PEOPLE)
    assert RangeRules(rules=RULES).fit_resample(PEOPLE)[0].height == 4, "only 'drop' drops"


def test_bounds_may_be_dates():
    frame = pl.DataFrame({"born": [datetime(1890, 1, 1), datetime(1990, 5, 5), datetime(2190, 1, 1)]})
    rules = {"born": {"min": "1900-01-01", "below": date(2030, 1, 1)}}
    step = RangeRules(rules=rules).fit(frame)
    assert step.counts_ == {"born": {"min": 1, "below": 1}} and step.transform(frame)["born"].null_count() == 2
    assert RangeRules(rules=rules, action="clip").fit_transform(frame)["born"][0] == datetime(1900, 1, 1)
    assert step.explain()[0] == "born: values below 1900-01-01 become missing (1 in training)."


def test_allowed_values_may_be_dates():
    frame = pl.DataFrame({"d": [date(2024, 1, 1), date(2024, 1, 2), None]})
    out = RangeRules(rules={"d": {"allowed": [date(2024, 1, 1), "2024-03-01"]}}).fit_transform(frame)
    assert out["d"].to_list() == [datetime(2024, 1, 1), None, None]


def test_columns_may_be_given_by_position_and_values_may_be_numbers():
    X = np.array([[1.0, 5.0], [2.0, 6.0]])
    out = RangeRules(rules={0: {"allowed": [1, 3]}}).fit_transform(X)
    np.testing.assert_array_equal(out, [[1.0, 5.0], [np.nan, 6.0]])


def test_counts_are_those_of_the_training_rows():
    step = RangeRules(rules={"age": {"min": 0}}).fit(PEOPLE[:1])
    assert step.counts_ == {"age": {"min": 0}} and step.transform(PEOPLE)["age"].to_list() == [31, None, 220, None]


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"aeg": {"min": 0}}, "parameter 'rules' must name columns"),
        ({"age": {"least": 0}}, "must be a dict of min, max"),
        ({"age": {}}, "must be a dict of min, max"),
        ({"age": {"min": "0"}}, "must be a number under 'min'"),
        ({"age": {"min": 5, "max": 1}}, "a lower bound that is not over the upper one"),
        ({"sex": {"min": 0}}, "column 'sex' must hold numbers or dates"),
        ({"sex": {"allowed": []}}, "must be a list of values"),
        ({"when": {"min": "soon"}}, "must be a date under 'min'"),
    ],
)
def test_wrong_rules_are_refused(rules, words):
    frame = PEOPLE.with_columns(pl.lit(datetime(2024, 1, 1)).alias("when"))
    with pytest.raises(AssayError, match=words):
        RangeRules(rules=rules).fit(frame)
