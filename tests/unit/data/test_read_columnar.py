"""Parquet and Arrow files keep what was written, whole or in batches, and broken ones are one sentence."""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import config
from assay.base import DataError
from assay.data import read_columnar, read_table, scan_table
from tests.helpers import examples

FRAMES = st.lists(
    st.tuples(
        st.none() | st.integers(-(2**62), 2**62),
        st.none() | st.floats(allow_nan=False, allow_infinity=False),
        st.none() | st.text("äbc d", max_size=5).map(lambda text: f"w{text}w"),
        st.none() | st.booleans(),
        st.none() | st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)),
    ),
    min_size=1,
    max_size=20,
).map(
    lambda rows: pl.DataFrame(
        rows,
        schema={"i": pl.Int64, "f": pl.Float64, "s": pl.String, "b": pl.Boolean, "d": pl.Datetime("us")},
        orient="row",
    )
)


def write(frame: pl.DataFrame, file: Path) -> Path:
    frame.write_parquet(file) if file.suffix == ".parquet" else frame.write_ipc(file)
    return file


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather"])
@settings(max_examples=examples(30))
@given(frame=FRAMES)
def test_a_written_table_comes_back_whole_and_in_batches(ending, frame):
    with tempfile.TemporaryDirectory() as folder:
        file = write(frame, Path(folder) / f"t.{ending}")
        assert read_table(file).frame.equals(frame)
        batches = list(scan_table(file, batch_rows=3))
    assert [b.n_rows for b in batches[:-1]] == [3] * (len(batches) - 1)
    assert pl.concat([batch.frame for batch in batches]).equals(frame)


def test_text_is_parsed_as_that_of_a_csv_file_and_a_note_says_so(tmp_path):
    frame = pl.DataFrame({"n": ["1", "2"], "zip": ["00501", "10001"], "day": ["2024-05-01", "2024-05-02"]})
    file = write(frame, tmp_path / "t.parquet")
    for table in (read_table(file), next(iter(scan_table(file)))):
        assert table.frame["n"].to_list() == [1, 2] and table.frame["zip"].to_list() == ["00501", "10001"]
        assert table.frame["day"].dtype == pl.Datetime("us")
    note = read_table(file).read_notes[0]
    assert note.what == "text" and "'n', 'day'" in note.reason


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_file_that_would_not_fit_is_refused_by_its_own_count(tmp_path, ending):
    file = write(pl.DataFrame({"a": [0] * 100_000}), tmp_path / f"t.{ending}")
    with config.use(max_bytes=100_000):
        with pytest.raises(DataError, match="for 100000 rows.*scan_table"):
            read_table(file)
        assert sum(batch.n_rows for batch in scan_table(file)) == 100_000


def test_the_streaming_form_of_arrow_is_read(tmp_path):
    frame = pl.DataFrame({"a": [1, 2, 3]})
    frame.write_ipc_stream(tmp_path / "t.arrow")
    assert read_table(tmp_path / "t.arrow").frame.equals(frame)
    assert [batch.n_rows for batch in scan_table(tmp_path / "t.arrow", batch_rows=2)] == [2, 1]
    with config.use(max_bytes=10), pytest.raises(DataError, match="more memory than the limit"):
        read_table(tmp_path / "t.arrow")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("keep", [5, 40, -4])
def test_a_file_that_is_cut_off_is_refused(tmp_path, ending, keep):
    file = write(pl.DataFrame({"a": list(range(1000))}), tmp_path / f"t.{ending}")
    file.write_bytes(file.read_bytes()[:keep])
    for read in (read_table, scan_table):
        with pytest.raises(DataError, match="cannot be read as") as caught:
            read(file)
        assert "\n" not in str(caught.value)


def test_slices_are_small_where_rows_are_wide(tmp_path, monkeypatch):
    monkeypatch.setattr(read_columnar, "_PIECE_BYTES", 1 << 14)
    file = write(pl.DataFrame({"a": list(range(5000))}), tmp_path / "t.parquet")
    pieces = read_columnar.columnar_pieces(read_columnar.SourceFile(file, "Parquet", False))
    assert [piece.frame.height for piece in pieces] == [2048, 2048, 904]
