"""Delimited text: what is decided is stated with a confidence, and pieces join to the whole."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.base import DataError, ParameterError
from assay.data import read_delimited, read_table, scan_table
from assay.data.read_delimited import unique_names
from tests.helpers import examples


@pytest.fixture
def write(tmp_path):
    def make(content: str, name: str = "t.csv"):
        file = tmp_path / name
        file.write_text(content, newline="")
        return file

    return make


def note(table, what):
    return next((decision for decision in table.read_notes if decision.what == what), None)


@pytest.mark.parametrize(("mark", "word"), [(",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "pipe")])
def test_the_delimiter_is_stated_with_its_evidence(write, mark, word):
    table = read_table(write(f"a{mark}b\n" + f"1{mark}2\n" * 48))
    found = note(table, "delimiter")
    assert found.value == word and found.confidence > 0.95 and "49 of the first 49" in found.reason
    assert f"delimiter: {word} (confidence 0.98" in str(table) and word in table._repr_html_()


def test_fewer_records_and_a_rival_lower_the_confidence(write):
    many = note(read_table(write("a,b\n" + "1,2\n" * 40)), "delimiter").confidence
    few = note(read_table(write("a,b\n1,2\n")), "delimiter").confidence
    rival = note(read_table(write("a;x,b;y,c\n" + "1;2,3;4,5\n" * 40)), "delimiter")
    assert few < many and rival.confidence < 0.6 and "would cut" in rival.reason


def test_the_ending_tsv_and_a_given_delimiter_are_certain(write):
    assert note(read_table(write("a\tb\n1\t2\n", "t.tsv")), "delimiter").confidence == 1.0
    assert note(read_table(write("a:b\n1:2\n"), delimiter=":"), "delimiter").reason == "it was given"


@pytest.mark.parametrize(
    ("content", "least", "most"),
    [
        ("name,size\nx,1\ny,2\n", 0.99, 1.0),
        ("name,kind\nx,p\ny,q\n", 0.7, 0.8),
        ("2019,2020\n1,2\n3,4\n", 0.5, 0.5),
        ("x,p\ny,p\nx,p\nz,q\n", 0.0, 0.5),
    ],
)
def test_the_header_is_stated_with_its_evidence(write, content, least, most):
    found = note(read_table(write(content)), "header")
    assert found.value == "line 1" and least <= found.confidence <= most


def test_a_file_without_a_header_is_read_on_request(write):
    file = write("5.1,a\n4.9,b\n")
    table = read_table(file, header=False)
    assert table.columns == ["column_1", "column_2"] and table.n_rows == 2
    assert note(table, "header").value == "none"
    numbers = write("5.1,3.5\n4.9,3.0\n", "n.csv")
    assert read_table(numbers, header=False).n_rows == 2
    assert read_table(numbers, header=True).columns == ["5.1", "3.5"]
    with pytest.raises(DataError, match="header=False"):
        read_table(numbers)


def test_the_decimal_comma_is_stated(write):
    certain = note(read_table(write("a;b\n1,5;x\n2,25;y\n")), "decimal mark")
    assert certain.value == "comma" and certain.confidence == 0.99 and "'a'" in certain.reason
    assert note(read_table(write("a;b\n1,234;x\n2,250;y\n")), "decimal mark").confidence == 0.8
    assert note(read_table(write("a,b\n1.5,x\n")), "decimal mark") is None


@pytest.mark.parametrize("first", ["sep=;\n", '"sep=;"\r\n', "\nsep=;\n"])
def test_a_first_line_that_names_the_separator_is_believed_and_left_out(write, first):
    for header in (None, False):
        file = write(first + "a;b,c\n1;2,5\n3;4,5\n")
        table = read_table(file, header=header)
        assert table.n_rows == (2 if header is None else 3) and len(table.columns) == 2
        assert note(table, "delimiter").reason == "line 1 of the file says so"
        assert sum(batch.n_rows for batch in scan_table(file, header=header)) == table.n_rows
    file = write(first + "a;b\n1;2\n3\n")
    with pytest.raises(DataError, match=f"on line {4 + first.startswith(chr(10))} "):
        read_table(file)


def test_duplicate_names_are_renamed_on_request(write):
    file = write("a,b,a,a_2,a\n1,2,3,4,5\n")
    table = read_table(file, duplicates="rename")
    assert table.columns == ["a", "b", "a_3", "a_2", "a_4"] and table.frame.row(0) == (1, 2, 3, 4, 5)
    with pytest.raises(ParameterError, match="'error' or 'rename'"):
        read_table(file, duplicates="keep")
    assert unique_names(["x", "x", "x_2"], "file", "rename") == ["x", "x_3", "x_2"]


def test_ten_thousand_columns_are_read(write):
    names = [f"c{n}" for n in range(9999)] + ["c9999" + "_" * 300_000]
    rows = [[str(n * r) for n in range(10_000)] for r in range(3)]
    file = write("\n".join(",".join(row) for row in [names, *rows]) + "\n")
    table = read_table(file)
    assert table.frame.shape == (3, 10_000) and table.frame[names[-1]].to_list() == [0, 9999, 19998]
    file.write_text(file.read_text() + ",".join(rows[0][:-1]) + "\n")
    with pytest.raises(DataError, match="9999 fields on line 5 .row 4. where the header has 10000; .* 'c9999_"):
        read_table(file)


def test_a_cell_longer_than_the_csv_module_allows_is_read(write):
    long = "x" * 200_000
    table = read_table(write(f'a,b\n1,"{long}"\n2,say "hi"\n3,{long}\n'))
    assert table.frame["b"].str.len_chars().to_list() == [200_000, 8, 200_000]


CELLS = st.one_of(
    st.text(st.sampled_from("ab ,;\"\n\r'|\t1.5é"), max_size=6), st.integers(-99, 99).map(str), st.just("")
)


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(CELLS, CELLS, st.just("k")), min_size=1, max_size=30), size=st.sampled_from([1, 16, 64]))
def test_pieces_of_any_size_join_to_the_whole(tmp_path, monkeypatch, rows, size):
    """A quoted cell may hold line ends; a piece must never be cut inside one."""
    import csv

    file = tmp_path / "t.csv"
    with open(file, "w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([("one", "two", "three"), *rows])
    whole = scan_table(file, sample_rows=100, roles={"one": "nominal", "two": "nominal"})
    expected = pl.concat([batch.frame for batch in whole])
    monkeypatch.setattr(read_delimited, "_PIECE_BYTES", size)
    monkeypatch.setattr("assay.data.read_text._CHUNK", 32)
    parts = scan_table(file, sample_rows=100, batch_rows=7, roles={"one": "nominal", "two": "nominal"})
    assert pl.concat([batch.frame for batch in parts]).equals(expected)


def test_a_record_with_two_cells_over_lines_is_not_cut_between_them(write, monkeypatch):
    monkeypatch.setattr(read_delimited, "_PIECE_BYTES", 1)
    monkeypatch.setattr("assay.data.read_text._CHUNK", 256)
    file = write("a,b\n" + '"x\ny","z\nw"\n' * 500)
    frame = pl.concat([batch.frame for batch in scan_table(file)])
    assert frame.shape == (500, 2) and set(frame.rows()) == {("x\ny", "z\nw")}


def test_lines_and_rows_are_counted_across_pieces(write, monkeypatch):
    monkeypatch.setattr(read_delimited, "_PIECE_BYTES", 64)
    monkeypatch.setattr("assay.data.read_text._CHUNK", 64)
    file = write("\na,b\n" + '1,"x\ny"\n' * 100 + "\n1,2,3\n")
    with pytest.raises(DataError, match="3 fields on line 204 .row 101."):
        list(scan_table(file, sample_rows=10))


def test_a_quote_that_is_never_closed_is_bounded(write, monkeypatch):
    from assay import config

    monkeypatch.setattr(read_delimited, "_PIECE_BYTES", 1000)
    file = write('a,b\n1,"x\n' + "1,2\n" * 100_000)
    with config.use(max_line_bytes=50_000), pytest.raises(DataError, match="opens a quote after line 2"):
        list(scan_table(file))
    with pytest.raises(DataError, match="quote is opened and never closed"):
        read_table(file)


ODD_CELLS = (
    "2.5", "7", " 2.5", "2.5 ", "", '""', '"2.5"', '" 2.5"', "NA", "NaN", "inf", "1e400", "abc", "-", "007", '"1,5"',
    "12345678901234567", "1e16", "+1.5", ".5", "1.", "12 %", "  ",
)  # fmt: skip


@pytest.mark.parametrize("odd", ODD_CELLS)
def test_decimals_of_a_large_file_are_read_as_their_text_would_be(tmp_path, monkeypatch, odd):
    lines = [f"{k / 8 + 0.125},{k},w{k % 3},{'' if k % 7 else k / 4}" for k in range(400)]
    lines[211] = f"{odd},5,w1,0.5"
    file = tmp_path / "t.csv"
    file.write_text("a,b,c,d\n" + "\n".join(lines) + "\n")
    plainly = read_table(file)
    monkeypatch.setattr(read_delimited, "_LARGE", 1)
    monkeypatch.setattr(read_delimited, "read_plain", lambda *_, **__: None)
    monkeypatch.setattr(read_delimited, "_SAMPLE_BYTES", 200)
    monkeypatch.setattr(read_delimited, "_SAMPLE_PLACES", 3)
    asked = []
    survive = read_delimited._survive
    monkeypatch.setattr(read_delimited, "_survive", lambda frame, names: asked.append(names) or survive(frame, names))
    found = read_table(file)
    assert found.frame.equals(plainly.frame, null_equal=True)
    assert (found.frame.schema, found.notes, found.roles) == (plainly.frame.schema, plainly.notes, plainly.roles)
    if odd in ("2.5", "7", "", "+1.5"):
        assert asked == [["a", "d"]]


def test_files_below_one_another_are_read_as_text_first(tmp_path, monkeypatch):
    monkeypatch.setattr(read_delimited, "_LARGE", 1)
    monkeypatch.setattr(read_delimited, "_SAMPLE_BYTES", 100)
    for name, last in (("a", "2.5"), ("b", "?")):
        (tmp_path / f"{name}.csv").write_text("x,y\n" + "1.5,2.5\n" * 100 + f"{last},1.5\n")
    assert read_table(str(tmp_path / "*.csv")).frame["x"].null_count() == 1
    assert read_table(tmp_path / "a.csv").frame["x"].dtype == pl.Float64


@pytest.mark.parametrize("blank", ["", "\n", "\r\n\n", "\n\r"])
@pytest.mark.parametrize("header", ["a,b\n", '"a\nb",c\n', '"a ""x""",b\n\n'])
def test_what_stands_before_the_first_row_is_skipped_in_place(tmp_path, blank, header):
    file = tmp_path / "t.csv"
    file.write_bytes((blank + header + blank + '1.5,"x\ny"\n2.5,z\n').encode())
    assert read_table(file).frame.rows() == [(1.5, "x\ny"), (2.5, "z")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<!DOCTYPE html>\n<html><body>log in</body></html>\n", "holds a web page or XML, not delimited text"),
        ('[{"a": 1, "b": 2}]\n', "holds JSON, not delimited text"),
        ('{"a": 1, "b": 2}\n{"a": 3, "b": 4}\n', "name it .ndjson"),
        ("Sales of 2024\na,b\n1,2\n3,4\n", "remove what stands above the column names"),
    ],
)
def test_what_is_no_table_is_told_by_name(tmp_path, text, told):
    file = tmp_path / "t.csv"
    file.write_text(text)
    with pytest.raises(DataError, match=told):
        read_table(file)
