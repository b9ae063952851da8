"""Files written piece by piece: whole or not at all, and inert in spreadsheets."""

from __future__ import annotations

import polars as pl
import pytest

from assay.base import DataError, UsageError
from assay.data import FrameWriter
from assay.data.write import inert

FIRST, SECOND = pl.DataFrame({"a": [1, 2], "b": ["x", None]}), pl.DataFrame({"a": [3], "b": ["y"]})


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("o.csv", pl.read_csv), ("o.tsv", lambda p: pl.read_csv(p, separator="\t")), ("o.ndjson", pl.read_ndjson),
        ("o.jsonl", pl.read_ndjson), ("o.parquet", pl.read_parquet), ("o.arrow", pl.read_ipc),
    ],
)  # fmt: skip
def test_pieces_come_back_as_one_table(tmp_path, name, read):
    with FrameWriter(tmp_path / "folder" / name) as writer:
        writer.write(FIRST)
        writer.write(SECOND)
    assert read(tmp_path / "folder" / name).rows() == [(1, "x"), (2, None), (3, "y")]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_formulas_are_inert_in_cells_and_names(tmp_path, start):
    with FrameWriter(tmp_path / "o.csv") as writer:
        writer.write(pl.DataFrame({f"{start}name": [f"{start}cmd|' /C calc'!A0", "plain"], "n": [-1.0, 2.0]}))
    back = pl.read_csv(tmp_path / "o.csv")
    assert back.columns == [f"'{start}name", "n"] and back["n"].to_list() == [-1.0, 2.0]
    assert back.to_series(0).to_list() == [f"'{start}cmd|' /C calc'!A0", "plain"]


def test_frames_without_text_stay_as_they_are():
    frame = pl.DataFrame({"n": [-1.5, None]})
    assert inert(frame).equals(frame)


def test_a_failed_run_leaves_the_old_file(tmp_path):
    place = tmp_path / "o.csv"
    place.write_text("old")
    writer = FrameWriter(place).__enter__()
    writer.write(FIRST)
    writer.__exit__(RuntimeError, RuntimeError(), None)
    assert place.read_text() == "old" and list(tmp_path.iterdir()) == [place]


def test_other_endings_and_places_are_refused(tmp_path):
    with pytest.raises(UsageError, match="must end in"):
        FrameWriter(tmp_path / "o.docx")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"), FrameWriter(tmp_path / "file" / "o.csv"):
        pass
