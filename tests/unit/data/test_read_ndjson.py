"""NDJSON: whole and in pieces alike, and the line that breaks it is named."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import config
from assay.base import DataError
from assay.data import read_ndjson, read_table, scan_table
from tests.helpers import examples

ROWS = st.lists(
    st.tuples(
        st.integers(-(2**53), 2**53), st.none() | st.floats(-1e9, 1e9), st.text('abcäü"\\', min_size=1, max_size=5)
    ),
    min_size=1,
    max_size=15,
)


@settings(max_examples=examples(50))
@given(ROWS, st.booleans())
def test_a_written_table_comes_back(rows, zipped):
    frame = pl.DataFrame(rows, schema={"i": pl.Int64, "f": pl.Float64, "s": pl.String}, orient="row")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / ("t.ndjson.gz" if zipped else "t.jsonl")
        text = frame.write_ndjson().encode()
        file.write_bytes(gzip.compress(text) if zipped else text)
        back = read_table(file).frame
    assert back["i"].to_list() == frame["i"].to_list() and back["s"].to_list() == frame["s"].to_list()
    assert back["f"].cast(pl.Float64).to_list() == frame["f"].to_list()


def test_batches_have_one_schema_although_keys_come_and_go(tmp_path, monkeypatch):
    monkeypatch.setattr(read_ndjson, "_PIECE_BYTES", 200)
    monkeypatch.setattr("assay.data.read_text._CHUNK", 256)
    rows = [{"a": n * 7 % 31, **({"b": f"w{n % 3}"} if n % 2 else {})} for n in range(300)]
    rows[250]["a"] = 250.5
    file = tmp_path / "t.ndjson"
    file.write_text("\n".join(json.dumps(row) for row in rows))
    batches = list(scan_table(file, sample_rows=50, batch_rows=70))
    whole = pl.concat([batch.frame for batch in batches])
    assert whole["a"].to_list() == [float(row["a"]) for row in rows]
    assert whole["b"].to_list() == [row.get("b") for row in rows]
    rows[299]["c"] = 1
    file.write_text("\n".join(json.dumps(row) for row in rows))
    with pytest.raises(DataError, match="column 'c' in row 300"):
        list(scan_table(file, sample_rows=50))
    rows[299] = {"a": "word"}
    file.write_text("\n".join(json.dumps(row) for row in rows))
    with pytest.raises(DataError, match="'word' in row 300, column 'a'"):
        list(scan_table(file, sample_rows=50))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"a":', "broken JSON on line 402"),
        (b"[1]", "no object on line 402"),
        (b'{"a":NaN}', "line 402; NaN is no JSON"),
        (b'{"a":' + b"[" * 5000, "line 402"),
        (b'{"a":\xff}', "line 402"),
        (b'{"a":"\x00"}', "line 402"),
    ],
)
def test_a_broken_line_is_named_whole_and_in_pieces(tmp_path, monkeypatch, line, expected):
    file = tmp_path / "t.ndjson"
    file.write_bytes(b'{"a":1}\n\n' * 200 + b'{"a":2}\n' + line + b"\n")
    with pytest.raises(DataError, match=expected):
        read_table(file)
    monkeypatch.setattr(read_ndjson, "_PIECE_BYTES", 200)
    with pytest.raises(DataError, match=expected):
        list(scan_table(file, sample_rows=5))


def test_whole_numbers_over_64_bits_keep_their_digits(tmp_path):
    file = tmp_path / "t.ndjson"
    file.write_bytes(b'{"a":123456789012345678901234567890}\n{"a":1}\n')
    assert read_table(file).frame["a"].to_list() == ["123456789012345678901234567890", "1"]


def test_a_file_that_would_not_fit_is_refused(tmp_path):
    file = tmp_path / "t.ndjson"
    file.write_bytes(b'{"a":1}\n' * 10_000)
    with config.use(max_bytes=100_000), pytest.raises(DataError, match="more memory.*scan_table"):
        read_table(file)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}\n{"a": 1, "b": 2, "a": 3}\n', "names the key 'a' twice on line 2"),
        ('{"a": 1, "a": null}\n', "names the key 'a' twice on line 1"),
        ('{"a": 1, "\\u0061" : 2}\n', "names the key 'a' twice on line 1"),
        ('{"a": "x"}\n{"a": "\\ud800"}\n', "holds half of a character on line 2"),
        ('{"\\udc00x": 1}\n', "holds half of a character on line 1"),
    ],
)
def test_what_a_decoder_would_drop_without_a_word_is_refused(tmp_path, text, expected):
    (tmp_path / "t.ndjson").write_text(text)
    for read in (read_table, scan_table):
        with pytest.raises(DataError, match=expected):
            read(tmp_path / "t.ndjson")


def test_text_that_looks_like_keys_and_whole_pairs_are_fine(tmp_path):
    (tmp_path / "t.ndjson").write_text('{"a": "he said \\"b\\": yes", "b": "\\ud83d\\ude00"}\n{"a" : "x", "b":null}\n')
    assert read_table(tmp_path / "t.ndjson").frame.rows() == [('he said "b": yes', "😀"), ("x", None)]


def test_whole_numbers_keep_their_digits(tmp_path):
    """Beside decimals, or beyond 64 bits, they stay text as in a CSV file; alone they are whole numbers."""
    rows = ['{"mixed": 9007199254740993, "whole": 9007199254740993, "huge": 18446744073709551616}',
            '{"mixed": 2.5, "whole": -1, "huge": 1}']  # fmt: skip
    (tmp_path / "t.ndjson").write_text("\n".join(rows) + "\n")
    frame = read_table(tmp_path / "t.ndjson").frame
    assert frame["mixed"].to_list() == ["9007199254740993", "2.5"]
    assert frame["whole"].to_list() == [9007199254740993, -1]
    assert frame["huge"].to_list() == ["18446744073709551616", "1"]
