"""The formula language: right values, clear sentences, and nothing that could run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.base import AssayError
from assay.prepare.expression import FUNCTIONS, MAX_LENGTH, evaluate, parse
from tests.helpers import examples

X, Y = np.array([1.0, -2.0, 0.0, np.nan]), np.array([4.0, 0.5, 0.0, 1.0])
T = np.array(["a", "b", None, "a"], dtype=object)
COLUMNS = {"x": X, "y": Y, "t": T, "odd name": X + 1}


def value(source):
    return evaluate(parse("test", source), COLUMNS, 4)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("1 + 2 * 3", [7, 7, 7, 7]),
        ("(1 + 2) * 3", [9, 9, 9, 9]),
        ("2 ** 3 ** 2", [512] * 4),
        ("2 ^ -1", [0.5] * 4),
        ("-x ** 2", [-1, -4, 0, np.nan]),
        ("10 - 3 - 2", [5] * 4),
        ("8 / 4 / 2", [1] * 4),
        ("x / y", [0.25, -4, np.nan, np.nan]),
        ("log(x)", [0, np.nan, np.nan, np.nan]),
        ("exp(1000 * x)", [np.nan, 0, 1, np.nan]),
        ("`odd name` - x", [1, 1, 1, np.nan]),
        ("x < y and y > 1", [1, 0, 0, np.nan]),
        ("not x", [0, 0, 1, np.nan]),
        ("not not y", [1, 1, 0, 1]),
        ("x == 0 or y == 4", [1, 0, 1, np.nan]),
        ("t == 'a'", [1, 0, np.nan, 1]),
        ('t != "a"', [0, 1, np.nan, 0]),
        ("is_missing(t) + is_missing(x)", [0, 0, 1, 1]),
        ("where(x > 0, y, -1)", [4, -1, -1, np.nan]),
        ("coalesce(x, 9)", [1, -2, 0, 9]),
        ("clip(x, -1, 0.5)", [0.5, -1, 0, np.nan]),
        ("min(x, y, 0) + max(1, 2)", [2, 0, 2, np.nan]),
        ("1e3 + .5 + 2.", [1002.5] * 4),
        ("- - 3", [3] * 4),
    ],
)
def test_values(source, expected):
    np.testing.assert_allclose(value(source), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("", "ends too early"),
        ("x +", "ends too early"),
        ("(x", "does not close"),
        ("x y", "where it should end"),
        ("x $ y", "means nothing"),
        ("__import__('os')", "which is not one of"),
        ("x.__class__('a')", "which is not one of"),
        ("eval('1')", "which is not one of"),
        ("sin()", "where a value should stand"),
        ("sin(x, y)", "takes 1"),
        ("min(x)", "takes 2 to 5"),
        ("'a' + 1", "text where a number"),
        ("t < 'a'", "only == and !="),
        ("1e999", "too large"),
        ("(" * 100 + "1" + ")" * 100, "nested deeper"),
        ("2 ** " * 100 + "1", "nested deeper"),
        ("x" * (MAX_LENGTH + 1), "characters long"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(source, words):
    with pytest.raises(AssayError, match=words) as caught:
        parse("test", source)
    assert "\n" not in str(caught.value)


def test_long_sums_are_not_deep():
    assert value("+".join(["1"] * 4000))[0] == 4000


@settings(max_examples=examples(200))
@given(st.text(alphabet="xy0123.+-*/^() <>=!,'`ab", max_size=40))
def test_any_text_is_read_or_refused(source):
    try:
        node = parse("test", source)
    except AssayError:
        return
    if set(node.columns()) <= {"x", "y"}:
        assert value(source).shape == (4,)


NUMBERS = st.floats(-50, 50).map(lambda v: round(v, 3))
TREES = st.recursive(
    NUMBERS.map(lambda v: (f"({v!r})", v)),
    lambda inner: st.tuples(inner, st.sampled_from("+-*/"), inner).map(
        lambda t: (
            f"({t[0][0]} {t[1]} {t[2][0]})",
            {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
             "/": lambda a, b: a / b if b else math.nan}[t[1]](t[0][1], t[2][1]),
        )
    ),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=examples(200))
@given(TREES)
def test_arithmetic_is_that_of_python(tree):
    source, expected = tree
    np.testing.assert_allclose(value(source)[0], expected, rtol=1e-12)


def test_every_function_has_a_value():
    for name, (counts, _) in FUNCTIONS.items():
        source = f"{name}({', '.join(['y'] * counts[0])})"
        assert np.isfinite(value(source)[0]), source


@pytest.mark.parametrize("source", ["x ** 0", "1 ** x", "(0 * x) ^ 0"])
def test_a_missing_cell_makes_every_power_missing(source):
    """IEEE 754 says nan ** 0 = 1 ** nan = 1; a cell that is not there is another thing."""
    np.testing.assert_array_equal(value(source), [1.0, 1.0, 1.0, np.nan])


@settings(max_examples=examples(300))
@given(
    st.lists(
        st.sampled_from(
            [*"xyt+-*/^()<>,=.@\\[]{}#%;", "`odd name`", "**", "==", "!=", " and ", " or ", " not ", "1e308", "1e999",
             "'a'", "\n", "\x00", "__import__", "lambda ", *[f"{name}(" for name in FUNCTIONS]]
        ),
        max_size=14,
    )
)  # fmt: skip
def test_any_jumble_gives_numbers_or_one_sentence(tokens):
    told = ""
    try:
        node = parse("test", "".join(tokens))
    except AssayError as refused:
        told = str(refused)
    if told:
        assert "\n" not in told and told.endswith(".")
    elif set(node.columns()) <= {"x", "y", "odd name"}:
        found = evaluate(node, COLUMNS, 4)
        assert found.shape == (4,) and not np.isinf(found).any()
