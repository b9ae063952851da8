"""Workbooks: the sheet that is asked for, with its names checked and its types kept."""

from __future__ import annotations

import io
import sys
import zipfile
from datetime import datetime

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay import config
from assay.base import DataError, ParameterError
from assay.data import read_table, scan_table
from tests.helpers import examples

pytest.importorskip("fastexcel")
xlsxwriter = pytest.importorskip("xlsxwriter")


def book(path, **sheets):
    with xlsxwriter.Workbook(str(path), {"default_date_format": "yyyy-mm-dd"}) as workbook:
        for name, rows in sheets.items():
            sheet = workbook.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return path


@pytest.fixture
def sales(tmp_path):
    rows = [["item", "price", "day"], ["pear", 1.5, datetime(2024, 5, 1)], ["fig", None, datetime(2024, 5, 2)]]
    return book(tmp_path / "sales.xlsx", First=rows, Second=[["n"], [1], [2], [3]], Empty=[])


def test_the_first_sheet_is_read_and_said_to_be_the_first(sales):
    table = read_table(sales)
    assert table.frame["item"].to_list() == ["pear", "fig"] and table.frame["price"].to_list() == [1.5, None]
    assert table.frame["day"].to_list() == [datetime(2024, 5, 1), datetime(2024, 5, 2)]
    chosen = table.read_notes[0]
    assert (chosen.what, chosen.value) == ("sheet", "First") and chosen.confidence < 1 and "'Second'" in chosen.reason


def test_a_sheet_is_named_after_a_hash_or_as_a_parameter(sales):
    for table in (read_table(f"{sales}#Second"), read_table(sales, sheet="Second")):
        assert table.frame["n"].to_list() == [1, 2, 3] and table.source == f"{sales}#Second"
    assert [batch.n_rows for batch in scan_table(f"{sales}#Second", batch_rows=2)] == [2, 1]


@pytest.mark.parametrize(
    ("sheet", "expected"), [("Secnd", "did you mean 'Second'"), ("zzz", "its sheets are"), ("Empty", "is empty")]
)
def test_a_sheet_that_is_not_there_names_its_neighbours(sales, sheet, expected):
    with pytest.raises(DataError) as caught:
        read_table(sales, sheet=sheet)
    assert expected in str(caught.value) and sheet in str(caught.value)


def test_names_that_stand_twice_or_are_missing(tmp_path):
    file = book(tmp_path / "t.xlsx", S=[["a", "a", None], [1, 2, 3]])
    with pytest.raises(DataError, match="two columns named 'a'"):
        read_table(file)
    assert read_table(file, duplicates="rename").columns == ["a", "a_2", "column_3"]


def test_a_sheet_without_a_header(tmp_path):
    file = book(tmp_path / "t.xlsx", S=[[1, 2.5], [3, 4.5]])
    table = read_table(file, header=False)
    assert table.columns == ["column_1", "column_2"] and table.frame.rows() == [(1, 2.5), (3, 4.5)]


def test_words_among_numbers_and_numbers_as_text(tmp_path):
    rows = [["mixed", "text", "flag"], [1, "1.5", True], ["two", "2.5", False], [3, "3.5", True]]
    table = read_table(book(tmp_path / "t.xlsx", S=rows))
    assert table.frame["mixed"].to_list() == ["1", "two", "3"] and table.frame["text"].to_list() == [1.5, 2.5, 3.5]
    assert table.frame["flag"].to_list() == [True, False, True]


@pytest.mark.parametrize("name", ["t.xlsx", "t.xls", "t.ods", "t.xlsb"])
def test_what_is_no_workbook_is_refused(tmp_path, name):
    file = tmp_path / name
    file.write_bytes(b"abc" * 100)
    with pytest.raises(DataError, match="cannot be read as a workbook"):
        read_table(file)


def test_a_workbook_that_unpacks_beyond_the_limit_is_refused_first(tmp_path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b" " * 20_000_000)
    file = tmp_path / "bomb.xlsx"
    file.write_bytes(content.getvalue())
    with config.use(max_bytes=1e7), pytest.raises(DataError, match="more memory than the limit"):
        read_table(file)


def test_without_the_package_the_extra_is_named(sales, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(DataError, match=r"assay\[excel\]"):
        read_table(sales)


def test_a_sheet_of_a_text_file_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(ParameterError, match="workbooks only"):
        read_table(tmp_path / "t.csv", sheet="S")


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.text("abcü xyz", min_size=1, max_size=6).filter(lambda s: s.strip() == s), st.floats(-1e6, 1e6)),
        min_size=1,
        max_size=8,
    )
)
def test_a_written_workbook_comes_back(tmp_path, rows):
    frame = pl.DataFrame({"word": [w for w, _ in rows], "x": [x + 0.25 for _, x in rows]})
    frame.write_excel(tmp_path / "t.xlsx")
    back = read_table(tmp_path / "t.xlsx").frame
    assert back["word"].to_list() == frame["word"].to_list()
    assert back["x"].cast(pl.Float64).to_list() == pytest.approx(frame["x"].to_list(), rel=1e-14)
