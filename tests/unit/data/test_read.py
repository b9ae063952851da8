"""Files of every kind are read; whatever cannot be read is one sentence that says where and what to do."""

from __future__ import annotations

import gzip
from datetime import datetime

import polars as pl
import pytest

from assay import config
from assay.base import DataError, ParameterError
from assay.data import read_table

LINES = "name,price,when\npear,1.5,2024-05-01\nfig,,2024-05-02\n"


@pytest.fixture
def write(tmp_path):
    def make(name: str, content: bytes | str):
        file = tmp_path / name
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    return make


def refusal(file, **options) -> str:
    with pytest.raises(DataError) as caught:
        read_table(file, **options)
    text = str(caught.value)
    assert "\n" not in text and text.endswith((".", "?")) and text.startswith(("read_table:", "Table:"))
    return text


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", LINES),
        ("t.tsv", LINES.replace(",", "\t")),
        ("t.csv.gz", gzip.compress(LINES.encode(), mtime=0)),
        ("semicolon.csv", LINES.replace(",", ";")),
        ("pipe.csv", LINES.replace(",", "|")),
        ("tab.csv", LINES.replace(",", "\t")),
        ("crlf.csv", LINES.replace("\n", "\r\n")),
        ("old-mac.csv", LINES.replace("\n", "\r")),
        ("mark.csv", "\ufeff" + LINES),
        ("blank-lines.csv", "\n" + LINES.replace("fig", "\nfig") + "\n\n"),
        ("no-last-newline.csv", LINES.rstrip("\n")),
        ("quoted.csv", LINES.replace("pear", '"pear"')),
        ("spaces.csv", LINES.replace(",", " , ")),
        (
            "t.ndjson",
            '{"name":"pear","price":1.5,"when":"2024-05-01"}\n{"name":"fig","price":null,"when":"2024-05-02"}',
        ),
    ],
)
def test_every_way_to_write_a_table_reads_the_same(write, name, content):
    table = read_table(write(name, content))
    expected = pl.DataFrame(
        {"name": ["pear", "fig"], "price": [1.5, None], "when": [datetime(2024, 5, 1), datetime(2024, 5, 2)]}
    )
    assert table.frame.equals(expected)
    assert table.name == name.split(".")[0]


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_binary_formats_keep_what_was_written(tmp_path, ending):
    frame = pl.DataFrame({"a": [1, 2, None], "b": ["x", None, "z"]})
    file = tmp_path / f"t.{ending}"
    frame.write_parquet(file) if ending == "parquet" else frame.write_ipc(file)
    assert read_table(file).frame.equals(frame)


def test_the_chosen_separator_is_stated(write):
    assert read_table(write("t.csv", "a;b\n1;2\n")).reading == "CSV, separated by semicolon, 1 rows, 2 columns"


def test_a_comma_inside_semicolon_fields_does_not_mislead(write):
    table = read_table(write("t.csv", "id;text\n1;a, b, c\n2;d, e\n"))
    assert table.columns == ["id", "text"]


def test_a_given_separator_is_used_and_checked(write):
    file = write("t.csv", "a:b\n1:2\n")
    assert read_table(file, delimiter=":").columns == ["a", "b"]
    with pytest.raises(ParameterError, match="one ASCII character"):
        read_table(file, delimiter="::")


def test_fields_over_several_lines_are_one_cell(write):
    table = read_table(write("t.csv", 'a,b\n1,"two\nlines"\n2,"say ""hi"", please"\n'))
    assert table.frame["b"].to_list() == ["two\nlines", 'say "hi", please']


def test_a_stray_quote_is_read_as_it_stands(write):
    assert read_table(write("t.csv", 'a,b\n1,x"2\n3,4\n')).frame["b"].to_list() == ['x"2', "4"]


def test_an_unnamed_column_gets_a_name(write):
    assert read_table(write("t.csv", ",b\nx,1\ny,2\n")).columns == ["column_1", "b"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", b"", ["empty.csv", "is empty"]),
        ("white.csv", b" \n\n ", ["is empty", "white space"]),
        ("header.csv", b"a,b\n", ["no rows"]),
        ("header-without-newline.csv", b"abc", ["no rows"]),
        ("twice.csv", b"a,b,a\n1,2,3\n", ["two columns named 'a'", "1 and 3"]),
        ("thrice.csv", b"a,b,a,b,a\n1,2,3,4,5\n", ["3 columns named 'a'", "1, 3 and 5", "'b' (2, 4)", "rename"]),
        ("long.csv", b"a,b\n1,2\n1,2,3\n", ["3 fields on line 3 (row 2)", "header has 2", "too many is '3'"]),
        ("short.csv", b"a,b\n1,2\n\n1\n", ["1 fields on line 4 (row 2)", "header has 2", "without a field is 'b'"]),
        ("short-quoted.csv", b'a,b\n"1",2\n"1"\n', ["1 fields on line 3"]),
        ("open-quote.csv", b'a,b\n1,"x\n2,3\n', ["quote is opened"]),
        (
            "mixed.csv",
            "name,v\nMüller,1\n".encode() + "Gruß,2\n".encode("cp1252"),
            ["mixes two encodings", "line 3", "column 'name'", "byte 20", "0xdf", "line 2", "cp1252"],
        ),
        (
            "mixed-later.csv",
            "v,name\n1,Gruß\n".encode("cp1252") + b"1,x\n" * 400_000 + "2,Müller\n".encode(),
            ["mixes two encodings", "earlier lines are cp1252", "line 400003", "column 'name'"],
        ),
        ("cyrillic.csv", "имя,v\nСергей Иванович,1\n".encode("cp1251"), ["cannot be told", "line 1", "cp1251"]),
        ("binary.csv", b"a,b\n1,\x00\n", ["binary", "line 2, column 'b', byte 6"]),
        ("noise.csv", bytes(range(256)), ["binary"]),
        ("zip.csv", b"PK\x03\x04abc", ["zip archive"]),
        ("numbers.csv", b"5.1,3.5\n4.9,3.0\n", ["no header"]),
        ("book.doc", b"abc", ["unknown ending '.doc'", ".csv"]),
        ("t.parquet.gz", b"abc", ["unknown ending '.parquet.gz'"]),
        ("plain", b"a,b\n1,2\n", ["unknown ending"]),
        ("cut.csv.gz", gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-9], ["complete gzip", "get it again"]),
        ("no-gzip.csv.gz", b"a,b\n1,2\n", ["complete gzip"]),
        ("cut.parquet", b"PAR1...", ["cannot be read as Parquet"]),
        ("cut.ndjson", b'{"a":1}\n{"a":\n', ["broken JSON", "line 2"]),
        ("list.ndjson", b"[1]\n[2]\n", ["line 1"]),
        ("nested.ndjson", b'{"a":[1,2]}\n', ["column 'a'", "nested"]),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(write, name, content, words):
    text = refusal(write(name, content))
    for word in words:
        assert word in text


def test_a_missing_file_names_its_neighbour(write):
    file = write("customers.csv", LINES)
    text = refusal(file.with_name("custmers.csv"))
    assert "does not exist" in text and "'customers.csv'" in text


def test_a_directory_is_refused(tmp_path):
    assert "is a directory" in refusal(tmp_path)


def test_a_title_above_the_column_names_is_refused_and_named(write):
    file = write("t.csv", b"Sales 2024,,\n,,\nregion,amount,date\nN,1,2024-01-02\nS,2,2024-01-03\n")
    text = refusal(file)
    assert "title on line 1" in text and "2 of its 3 names are empty" in text and "region, amount, date" in text
    assert read_table(file, header=True).frame.height == 3


def test_empty_names_above_numbers_are_not_a_title(write):
    file = write("t.csv", b"id,,,\n1,2,3,4\n5,6,7,8\n")
    assert list(read_table(file).columns) == ["id", "column_2", "column_3", "column_4"]


def test_another_encoding_can_be_given(write):
    file = write("t.csv", "name,v\nMüller,1\n".encode("cp1252"))
    assert read_table(file, encoding="cp1252").frame["name"][0] == "Müller"
    with pytest.raises(ParameterError, match="encoding"):
        read_table(file, encoding="no-such-code")
    assert "cannot be decoded" in refusal(file, encoding="ascii")


def test_a_file_over_the_memory_limit_is_refused_before_it_is_unpacked(write):
    file = write("t.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 100_000, mtime=0))
    with config.use(max_bytes=10_000):
        assert "needs more memory" in refusal(file)


def test_control_characters_never_reach_the_message(write):
    text = refusal(write("t.csv", "a\x1b[31m,b\n1,2\n1\n"))
    assert "\x1b" not in text
    assert "\x1b" not in refusal(write("u.csv", "a\x1b[31m,a\x1b[31m\n1,2\n"))


def test_empty_last_cells_are_missing_not_short_rows(write):
    assert read_table(write("t.csv", "a,b,c\n1,2,\n1,2,3\n")).frame["c"].to_list() == [None, 3]


def test_roles_can_be_given_when_reading(write):
    table = read_table(write("t.csv", "zip,v\n1,2\n2,3\n"), roles={"zip": "nominal"})
    assert table.roles["zip"].role == "nominal"


def test_line_numbers_count_blank_lines_too(write):
    assert "on line 5" in refusal(write("t.csv", "\n\na,b\n1,2\n1,2,3\n"))


def test_a_header_alone_is_refused_after_blank_lines(write):
    assert "no rows" in refusal(write("t.csv", "\n\na,b\n\n"))


def test_rows_that_hold_nothing_are_left_out(write):
    assert read_table(write("t.csv", "a,b\n1,2\n,\n3,4\n,\n")).frame["a"].to_list() == [1, 3]
