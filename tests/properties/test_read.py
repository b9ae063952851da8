"""Whatever bytes a file holds, reading gives a table or one sentence; a written table comes back."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.base import DataError
from assay.data import Table, audit, read_table, scan_table
from tests.helpers import examples

PIECES = st.sampled_from(
    [
        b"a", b"b", b"1", b"2.5", b"-3", b",", b";", b"\t", b"|", b"\n", b"\r\n", b'"', b"'", b" ", b"NA", b"?",
        b"1,234", b"%", b"2024-05-01", b"01/02/2024", b"true", b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf", b"\x00",
        b"\x1b[31m", b"inf", b"nan", b"0017", b"{", b"}", b'{"a": 1}', b"99999999999999999999",
        b"@relation r\n", b"@attribute a numeric\n", b"@data\n", b"\xff\xfe",
    ]
)  # fmt: skip
FILES = st.lists(PIECES, max_size=40).map(b"".join)


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


@settings(max_examples=examples(400), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=FILES | st.binary(max_size=60),
    ending=st.sampled_from([".csv", ".csv", ".tsv", ".ndjson", ".csv.gz", ".parquet", ".arff", ".arrow", ".txt"]),
)
def test_any_bytes_give_a_table_or_one_sentence(folder, content, ending):
    file = folder / f"any{ending}"
    file.write_bytes(content)
    try:
        table = read_table(file)
    except DataError as error:
        text = str(error)
        assert "\n" not in text and "\x1b" not in text and text.startswith(("read_table: ", "Table: "))
        return
    assert table.n_rows > 0 and set(table.roles) == set(table.columns)
    audit(table)
    assert len(table.fingerprint) == 64


@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=FILES | st.binary(max_size=60), ending=st.sampled_from([".csv", ".tsv", ".ndjson", ".arff"]))
@pytest.mark.filterwarnings("ignore::assay.base.AssayWarning")
def test_any_bytes_are_scanned_or_refused_as_they_are_read(folder, content, ending):
    """With a sample of all rows, the batches hold as many rows as the table, or both are refused."""
    file = folder / f"scanned{ending}"
    file.write_bytes(content)
    try:
        rows = read_table(file).n_rows
    except DataError:
        rows = None
    text = ""
    try:
        found = sum(batch.n_rows for batch in scan_table(file, batch_rows=3))
    except DataError as error:
        text, found = str(error), None
    assert "\n" not in text and (not text or text.startswith(("read_table: ", "Table: ")))
    assert found == rows


WORDS = st.text("abcxyz ÄÖ,;\"'\n|", min_size=1, max_size=8).filter(lambda word: word.strip() == word)
ROWS = st.lists(st.tuples(WORDS, st.integers(-(10**9), 10**9), st.floats(-1e6, 1e6)), min_size=1, max_size=20)


@settings(max_examples=examples(80), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, separator=st.sampled_from([",", ";", "\t", "|"]))
def test_a_written_table_comes_back(folder, rows, separator):
    words, counts, sizes = zip(*rows)
    frame = pl.DataFrame({"word": words, "count": counts, "size": [size + 0.25 for size in sizes]})
    file = folder / "written.csv"
    frame.write_csv(file, separator=separator)
    back = read_table(file, delimiter=separator)
    assert back.frame["word"].to_list() == list(words)
    assert back.frame["count"].cast(pl.Float64).to_list() == [float(count) for count in counts]
    assert back.frame["size"].cast(pl.Float64).to_list() == frame["size"].to_list()


@settings(max_examples=examples(60))
@given(ROWS)
def test_the_fingerprint_of_equal_frames_is_equal(rows):
    words, counts, sizes = zip(*rows)
    columns = {"word": list(words), "count": list(counts), "size": list(sizes)}
    assert Table.from_frame(pl.DataFrame(columns)).fingerprint == Table.from_frame(pl.DataFrame(columns)).fingerprint
