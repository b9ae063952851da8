"""Roles say what a column means, how sure, and why; the user has the last word if the column can bear it."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import polars as pl
import pytest

from assay.base import DataError, ParameterError
from assay.data import ROLES, Role, Table, guess_order, infer_roles

WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "near", "old", "river", "banks")


def role_of(cells, name="column", beside=None):
    columns = {name: cells} if beside is None else {name: cells, **beside}
    return infer_roles(pl.DataFrame(columns))[name]


@pytest.mark.parametrize(
    ("cells", "name", "role"),
    [
        ([1.5, 2.25, 3.0] * 10, "x", "numeric"),
        ([3, 1, 4, 1, 5] * 10, "children", "numeric"),
        ([1, 2, 3] * 20, "count", "numeric"),
        ([0, 1] * 10, "flag", "binary"),
        ([1, 2] * 10, "flag", "binary"),
        ([-1, 1] * 10, "sign", "binary"),
        ([7, 9] * 10, "hours", "numeric"),
        ([0.0, 1.0] * 10, "flag", "binary"),
        ([float(n) for n in range(500, 550)], "customer_id", "id"),
        ([True, False], "flag", "binary"),
        (["yes", "no"] * 5, "answer", "binary"),
        (["red", "green", "blue"] * 5, "colour", "nominal"),
        ([101, 202, 303] * 20, "zip_code", "nominal"),
        ([1, 2, 3, 4] * 20, "regionId", "nominal"),
        (["low", "high", "medium"] * 5, "risk", "ordinal"),
        (["18-24", "25-34", "65+"] * 5, "age", "ordinal"),
        ([datetime(2024, 1, 1), datetime(2024, 1, 2)], "when", "datetime"),
        ([f"C{n:04d}" for n in range(50)], "customer", "id"),
        (list(range(500, 550)), "customer_id", "id"),
        ([f"{n:08x}-0000-4000-8000-000000000000" for n in range(9)], "token", "id"),
        ([n // 2 for n in range(400)], "patient_id", "id"),
        ([" ".join(WORDS[n % 5 : n % 5 + 8]) + f" {n}" for n in range(60)], "review", "text"),
        ([None, None], "nothing", "nominal"),
    ],
)
def test_each_kind_of_column_gets_its_role(cells, name, role):
    found = role_of(pl.Series(cells, dtype=pl.String) if cells[0] is None else cells, name)
    assert found.role == role, found
    assert 0 <= found.confidence <= 1 and found.reason


def test_a_first_column_that_counts_the_rows_is_an_identifier():
    values = [float(n % 7) + 0.5 for n in range(40)]
    assert role_of(list(range(40)), "row", {"x": values}).role == "id"
    assert infer_roles(pl.DataFrame({"x": values, "step": list(range(40))}))["step"].role == "numeric"
    assert role_of([1900 + n for n in range(40)], "year", {"x": values}).role == "numeric"


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        (["high", "low", "medium"], ("low", "medium", "high")),
        (["Very Good", "poor", "good"], ("poor", "good", "Very Good")),
        (["PhD", "masters", "bachelors"], ("bachelors", "masters", "PhD")),
        (["XL", "S", "M"], ("S", "M", "XL")),
        (["agree", "strongly_disagree", "neutral"], ("strongly_disagree", "neutral", "agree")),
        ([">10", "<5", "5-10"], ("<5", "5-10", ">10")),
        (["1,000-5,000", "0-999"], ("0-999", "1,000-5,000")),
        (["grade 10", "grade 2", "grade 1"], ("grade 1", "grade 2", "grade 10")),
    ],
)
def test_known_scales_are_put_in_order(labels, order):
    assert guess_order(labels) == order


@pytest.mark.parametrize(
    "labels",
    [["hot", "mild", "cool"], ["A", "B", "C"], ["zone 1", "zone 2"], ["Low", "low", "high"], ["5-1", "2-9"]],
)
def test_labels_without_a_known_order_stay_nominal(labels):
    assert guess_order(labels) is None


def test_parsing_is_told_in_the_reason(tmp_path):
    from assay.data import read_table

    file = tmp_path / "t.csv"
    file.write_text("v\n" + "\n".join(f"{n}.5 %" for n in range(98)) + "\nabc\nxyz\n")
    reason = read_table(file).roles["v"].reason
    assert "percent signs" in reason and "2 cells" in reason and "'abc' at row 99" in reason


@pytest.fixture
def table():
    frame = pl.DataFrame(
        {
            "n": [1.5, 2.5, 3.5],
            "code": [3, 1, 2],
            "word": ["b", "a", "c"],
            "when": [datetime(2024, 1, d) for d in (1, 2, 3)],
        }
    )
    return Table.from_frame(frame)


def test_declared_roles_replace_the_inferred_ones(table):
    declared = table.with_roles({"code": "nominal", "word": ("ordinal", ["c", "b", "a"]), "n": Role("id", 1.0, "")})
    assert [declared.roles[name].role for name in ("code", "word", "n")] == ["nominal", "ordinal", "id"]
    assert declared.roles["word"].order == ("c", "b", "a") and declared.roles["word"].confidence == 1.0
    assert table.roles["code"].role == "numeric", "the table itself does not change"


def test_numbers_are_their_own_order(table):
    assert table.with_roles({"code": "ordinal"}).roles["code"].order == (1, 2, 3)


@pytest.mark.parametrize(
    ("roles", "error", "words"),
    [
        ({"wrod": "nominal"}, DataError, "did you mean 'word'"),
        ({"word": "colour"}, ParameterError, "must be one of numeric"),
        ({"word": 3}, ParameterError, "must be one of"),
        ({"word": "numeric"}, DataError, "holds text"),
        ({"when": "numeric"}, DataError, "holds dates"),
        ({"n": "datetime"}, DataError, "holds no dates"),
        ({"n": "binary"}, DataError, "it has 3 values"),
        ({"word": "ordinal"}, DataError, "without an order"),
        ({"word": ("ordinal", ["a", "b"])}, DataError, "leaves out 1"),
        ({"word": ("ordinal", ["a", "a", "b", "c"])}, ParameterError, "repeat"),
    ],
)
def test_roles_that_cannot_hold_are_refused(table, roles, error, words):
    with pytest.raises(error, match=words):
        table.with_roles(roles)


def test_roles_are_a_closed_list():
    assert ROLES == ("numeric", "binary", "nominal", "ordinal", "datetime", "text", "id")
    assert Role("ordinal", 0.9, "why", ("a", "b")).to_dict() == {
        "role": "ordinal", "confidence": 0.9, "reason": "why", "order": ["a", "b"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "order",
    [
        ("XS", "S", "M", "L", "XXL"),
        ("Mon", "Wed", "Sun"),
        ("January", "March", "December"),
        ("I", "II", "IV"),
        ("C-", "B", "B+", "A"),
        ("F", "C", "B", "A"),
        ("BB", "AA", "AAA"),
        ("1 star", "3 stars", "5 stars"),
        ("★", "★★", "★★★"),
        ("<$25k", "$25k-$50k", "$50k-$100k"),
        ("Stage I", "Stage II", "Stage III"),
        ("Q1", "Q2", "Q4"),
        ("strongly disagree", "neither agree nor disagree", "somewhat agree"),
        ("low", "medium", "high", "urgent"),
        ("1st", "2nd", "3rd"),
    ],
    ids=lambda order: order[0],
)
def test_more_scales_are_known(order):
    assert guess_order(sorted(order)) == order


def test_the_confidence_of_an_order_says_how_often_such_labels_mean_something_else():
    def role(labels):
        return infer_roles(pl.DataFrame({"a": labels * 5}))["a"]

    ranges, scale, days = role(["0-9", "10-19", "20+"]), role(["low", "medium", "high"]), role(["mon", "tue", "wed"])
    assert ranges.confidence > scale.confidence > days.confidence
    assert {one.role for one in (ranges, scale, days)} == {"ordinal"} and "begin anew" in days.reason


def test_an_identifier_that_repeats_in_copies_of_rows_names_no_groups():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=200), "id": np.arange(200)})
    copied = infer_roles(pl.concat([frame, frame.head(40)]))["id"]
    assert copied.role == "id" and "copies of rows alone" in copied.reason
    grouped = infer_roles(pl.concat([frame, frame.head(40).with_columns(x=pl.col("x") + 1)]))["id"]
    assert grouped.role == "id" and "names groups" in grouped.reason
