"""Text that is really numbers, dates or true/false becomes that, and what is lost on the way is counted."""

from __future__ import annotations

from datetime import datetime

import polars as pl
import pytest

from assay.data.parse import MISSING_TOKENS, parse_columns


def parsed(cells, decimal_comma=False):
    frame, notes = parse_columns(pl.DataFrame({"c": pl.Series(cells, dtype=pl.String)}), decimal_comma=decimal_comma)
    return frame["c"], notes.get("c", {})


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1", "2", "-3"], [1, 2, -3]),
        (["1.5", "2", "1e3"], [1.5, 2.0, 1000.0]),
        (["1,234.5", "12", "1,234,567"], [1234.5, 12.0, 1234567.0]),
        (["12 %", "5%", "0.5 %"], [12.0, 5.0, 0.5]),
        (["$5", "$1,000.25", "-$3"], [5.0, 1000.25, -3.0]),
        (["5 €", "1 000 €", "20 €"], [5, 1000, 20]),
        ([" 4 ", "5\t", "6"], [4, 5, 6]),
        (["−4", "5", "6"], [-4, 5, 6]),
        (["1,5", "2,25", "3,0"], [1.5, 2.25, 3.0]),
        (["1.234,5", "12,5"], [1234.5, 12.5]),
    ],
)
def test_numbers_are_found_under_their_dress(cells, numbers):
    series, _ = parsed(cells)
    assert series.dtype.is_numeric() and series.to_list() == numbers


def test_a_decimal_comma_is_believed_in_a_semicolon_file_only():
    assert parsed(["1,234", "5,678"])[0].to_list() == [1234, 5678]
    assert parsed(["1,234", "5,678"], decimal_comma=True)[0].to_list() == [1.234, 5.678]


@pytest.mark.parametrize(
    "cells", [["00501", "10001"], ["12345678901234567890", "12345678901234567891"], ["1-2", "3-4"]]
)
def test_codes_that_would_lose_digits_stay_text(cells):
    assert parsed(cells)[0].to_list() == cells


@pytest.mark.parametrize("token", [token for token in MISSING_TOKENS if token])
def test_missing_tokens_become_missing_and_are_counted(token):
    series, note = parsed(["1", token, f" {token} ", "2.5"])
    assert series.to_list() == [1.0, None, None, 2.5]
    assert note["tokens"] == {token: 2}


def test_five_percent_of_strays_become_missing_and_are_named():
    series, note = parsed([str(n) for n in range(95)] + ["n.n."] * 5)
    assert series.null_count() == 5 and note["failed"] == 5 and note["first"][0] == (95, "n.n.")


def test_more_strays_leave_the_column_as_text():
    series, note = parsed([str(n) for n in range(94)] + ["n.n."] * 6)
    assert series.dtype == pl.String and "failed" not in note


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        (["2024-05-01", "2024-05-31"], datetime(2024, 5, 1)),
        (["2024/05/01", "2024/05/31"], datetime(2024, 5, 1)),
        (["2024-05-01 10:30:00", "2024-05-31 11:00:00"], datetime(2024, 5, 1, 10, 30)),
        (["2024-05-01T10:30:00Z", "2024-05-31T11:00:00Z"], datetime(2024, 5, 1, 10, 30)),
        (["2024-05-01T10:30:00+02:00", "2024-05-31T11:00:00+02:00"], datetime(2024, 5, 1, 8, 30)),
        (["01.05.2024", "02.06.2024"], datetime(2024, 5, 1)),
        (["1 May 2024", "2 Jun 2024"], datetime(2024, 5, 1)),
        (["13/05/2024", "01/05/2024"], datetime(2024, 5, 13)),
        (["05/13/2024", "05/01/2024"], datetime(2024, 5, 13)),
    ],
)
def test_dates_are_read_where_only_one_reading_fits(cells, first):
    series, _ = parsed(cells)
    assert series.dtype == pl.Datetime("us") and series[0] == first


def test_dates_that_can_be_read_two_ways_stay_text_and_it_is_said():
    series, note = parsed(["01/02/2024", "03/04/2024"])
    assert series.dtype == pl.String and "day and month" in note["ambiguous"]


def test_true_and_false_become_booleans():
    assert parsed(["True", "false", "NA"])[0].to_list() == [True, False, None]


def test_infinity_among_numbers_becomes_missing():
    series, note = parsed([str(n / 2) for n in range(99)] + ["inf"])
    assert series[99] is None and note["failed"] == 1


def test_a_column_of_nothing_stays_missing():
    assert parsed([None, None])[0].null_count() == 2


def test_hours_of_a_twelve_hour_clock():
    frame, notes = parse_columns(
        pl.DataFrame({"c": ["1/31/2024 3:45 PM", "2/15/2024 11:00 AM", "12/5/2024 12:30 AM"]}), decimal_comma=False
    )
    assert [str(value) for value in frame["c"]] == ["2024-01-31 15:45:00", "2024-02-15 11:00:00", "2024-12-05 00:30:00"]
    assert notes["c"]["format"] == "%m/%d/%Y %I:%M %p"
