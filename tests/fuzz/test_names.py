"""Columns may have any name: those that libraries use for their own columns disturb nothing."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from assay.base import DataError
from assay.data import Table, audit, describe, merge_check, read_table

NAMES = [
    "count",
    "counts",
    "len",
    "index",
    "literal",
    "proportion",
    "label",
    "value",
    "values",
    "key",
    "key 0",
    "here",
    "there",
    "here 0",
    "met",
    "a__here",
    "a_right",
    "row",
    "row_nr",
    "class",
    "normal",
    "unit",
    "mask",
    "token",
    "share",
    "how many",
    "column_0",
    "x0",
    "field_0",
    "struct",
    "name",
    "self",
    "*",
    "",
    " ",
    "1",
    "None",
    "nan",
    "a.b",
    'a"b',
    "a\nb",
    "ä",
    "\u202e",
    "__class__",
    "x" * 300,
]
N = 60


def table_with(name: str) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    other = "other" if name != "other" else "another"
    return pl.DataFrame(
        {
            name: [("red", "Red", "blue", "N/A", None)[k % 5] for k in range(N)],
            f"{other} number": rng.normal(size=N),
            f"{other} id": range(N),
            f"{other} target": [("yes", "no")[k % 2] for k in range(N)],
            f"{other} day": [f"2024-01-{k % 28 + 1:02d}" for k in range(N)],
        }
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_name_can_be_read_audited_described_and_merged(name, tmp_path):
    frame = table_with(name)
    frame.write_parquet(tmp_path / "t.parquet")
    tables = [Table.from_frame(frame), read_table(tmp_path / "t.parquet")]
    for table in tables:
        assert table.columns[0] == (name or "column_1")
        found = audit(table, target=table.columns[3], against=table)
        json.dumps(found.to_dict(), allow_nan=False)
        assert "<html" in found.to_html() and "<html" in describe(table).to_html()
        for keys in ([table.columns[0]], [table.columns[2]], [table.columns[0], table.columns[2]]):
            json.dumps(merge_check(table, table, on=keys).to_dict(), allow_nan=False)
    numbers = frame.with_columns(pl.Series(name, np.arange(N) * 0.5))
    json.dumps(audit(Table.from_frame(numbers), target=name or "column_1").to_dict(), allow_nan=False)


@pytest.mark.parametrize("ending", ["csv", "parquet", "ndjson", "frame"])
def test_a_name_that_is_a_pattern_is_refused_in_one_sentence(tmp_path, ending):
    """Polars takes it for all columns that match, so that nothing of such a column can be trusted."""
    frame = pl.DataFrame({"^a.*$": [1, 2], "b": [3, 4]})
    if ending != "frame":
        getattr(frame, f"write_{ending}")(tmp_path / f"t.{ending}")
    with pytest.raises(DataError, match=r"pattern"):
        Table.from_frame(frame) if ending == "frame" else read_table(tmp_path / f"t.{ending}")
