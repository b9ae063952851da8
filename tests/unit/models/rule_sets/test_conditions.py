"""Conditions are sets of cells."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.base import DataError
from assay.models.rule_sets.conditions import merge_conditions
from assay.models.rules import Condition

NAN = math.nan


@pytest.mark.parametrize(
    ("condition", "passing"),
    [
        (Condition.at_most("x", 2), [True, True, False, False]),
        (Condition.above("x", 2), [False, False, True, False]),
        (Condition.between("x", 1, 2), [False, True, False, False]),
        (Condition.between("x", 1, 2, missing=True), [False, True, False, True]),
        (Condition.is_missing("x"), [False, False, False, True]),
        (Condition.is_present("x"), [True, True, True, False]),
        (Condition.between("x", 3, 3), [False] * 4),
        (Condition("x", missing=True), [True] * 4),
    ],
)
def test_numeric_conditions_pass_the_cells_they_name(condition, passing):
    assert condition.passes(np.array([1.0, 2.0, 3.0, NAN]), None).tolist() == passing


@pytest.mark.parametrize(
    ("condition", "passing"),
    [
        (Condition.one_of("c", ["a"]), [True, False, False, False]),
        (Condition.none_of("c", ["a"]), [False, True, True, False]),
        (Condition.none_of("c", ["a"], missing=True), [False, True, True, True]),
        (Condition.one_of("c", ["b", "z"], missing=True), [False, True, False, True]),
        (Condition.is_missing("c"), [False, False, False, True]),
        (Condition.is_present("c"), [True, True, True, False]),
    ],
)
def test_nominal_conditions_pass_codes_unseen_and_missing_cells_as_told(condition, passing):
    codes = np.array([0.0, 1.0, -1.0, NAN])  # a, b, never seen, missing
    assert condition.passes(codes, np.array(["a", "b"])).tolist() == passing


def test_equal_sets_are_equal_conditions():
    assert Condition.between("x", 5, 2, missing=True) == Condition.is_missing("x")
    assert Condition("x") == Condition.is_present("x")
    assert Condition.one_of("c", ["b", "a", "b"]) == Condition.one_of("c", [np.str_("a"), "b"])
    assert Condition("x", missing=True).always and Condition.one_of("c", []).impossible


def test_merging_numbers_with_labels_is_refused():
    with pytest.raises(DataError, match="both with numbers and with categories"):
        Condition.above("x", 1).merged(Condition.one_of("x", ["a"]))
    with pytest.raises(DataError, match="one column"):
        Condition.above("x", 1).merged(Condition.above("y", 1))
    with pytest.raises(DataError, match="NaN"):
        Condition.above("x", NAN)
    with pytest.raises(DataError, match="category"):
        Condition.one_of("x", [None])


def test_merged_conditions_keep_one_per_column_and_drop_what_always_holds():
    merged = merge_conditions([Condition("z", missing=True), Condition.above("x", 1), Condition.at_most("x", 4)])
    assert merged == (Condition.between("x", 1, 4),)


def test_words():
    assert str(Condition.between("x", 1, 2.5)) == "1 < x <= 2.5"
    assert str(Condition.one_of("c", list("abcdefgh"))) == "c in {a, b, c, d, e, f, and 2 more}"
    assert str(Condition.none_of("c", ["a"], missing=True)) == "c != a or missing"
    assert Condition.none_of("c", ["a"], missing=True).to_text(show_missing=False) == "c != a"
    assert Condition.none_of("c", ["a", "b"]).to_text(known=["a", "b", "z"]) == "c = z"
    assert str(Condition.is_missing("c")) == "c is missing" and str(Condition.is_present("c")) == "c is present"
    assert str(Condition.one_of("c", [])) == "c is nothing" and str(Condition("c", missing=True)) == "c is anything"
    assert "\x1b" not in str(Condition.one_of("c\x1b[31m", ["a\x1b"]))
