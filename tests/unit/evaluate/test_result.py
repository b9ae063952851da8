"""The one result type of every test."""

from __future__ import annotations

import json

import numpy as np
import pytest

from assay.evaluate import TestResult, corrected_resampled_t, five_by_two_f
from assay.evaluate.result import interval_words, jsonable, number, p_words


def result(**changes) -> TestResult:
    given = {
        "name": "a test",
        "statistic": 2.0,
        "df": 9,
        "p_value": 0.03,
        "effect": 0.1,
        "effect_name": "mean difference",
        "interval": (0.01, 0.2),
        "alpha": 0.05,
        "reject": True,
        "sentence": "They differ.",
    }
    return TestResult(**{**given, **changes})


def test_str_is_the_sentence():
    assert str(result()) == "They differ."


def test_dict_is_plain_json_even_for_infinite_statistics():
    record = five_by_two_f(np.full((5, 2), 0.9), np.full((5, 2), 0.5)).to_dict()
    assert json.loads(json.dumps(record, allow_nan=False))["statistic"] is None
    assert record["p_value"] == 0.0 and record["df"] == [10, 5] and record["valid"] is False


def test_a_broken_assumption_makes_the_result_invalid_and_an_open_one_does_not():
    assert result(assumptions=(("independent", None), ("normal", True))).valid
    assert not result(assumptions=(("independent", False),)).valid


def test_html_escapes_names():
    text = corrected_resampled_t(
        [0.8, 0.9, 0.7], [0.7, 0.6, 0.7], n_train=9, n_test=1, names=("<script>", "b")
    )._repr_html_()
    assert "<script>" not in text and "&lt;script&gt;" in text
    assert "<b>" not in result(name="<b>")._repr_html_()


def test_results_cannot_be_changed():
    with pytest.raises(AttributeError):
        result().p_value = 0.5


@pytest.mark.parametrize(
    ("value", "words"), [(0.0, "0"), (0.12345, "0.123"), (-1e-17, "0"), (1500.0, "1,500"), (np.nan, "undefined")]
)
def test_numbers_in_words(value, words):
    assert number(value) == words


def test_p_values_and_one_sided_intervals_in_words():
    assert p_words(0.0004) == "p < 0.001" and p_words(0.0634) == "p = 0.063"
    assert interval_words((0.1, np.inf)) == "at least 0.1" and interval_words((-np.inf, 0.1)) == "at most 0.1"


def test_jsonable_unwraps_numpy():
    plain = jsonable({"a": np.float64(1.5), "b": np.arange(2), "c": (np.bool_(True), np.nan)})
    assert plain == {"a": 1.5, "b": [0, 1], "c": [True, None]}
    assert type(plain["c"][0]) is bool
