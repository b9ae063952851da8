"""The same table from every format: one frame and one set of roles, or a note that names the difference."""

from __future__ import annotations

import contextlib
import sqlite3
from datetime import datetime, timedelta

import polars as pl
import pytest

from assay.data import Table, read_table, scan_table

pytest.importorskip("fastexcel")
xlsxwriter = pytest.importorskip("xlsxwriter")
duckdb = pytest.importorskip("duckdb")
ROWS = 40


def typed() -> pl.DataFrame:
    """Whole numbers, decimals, labels, dates, times, truth values, codes with zeros, and gaps in each."""

    def holes(values, every):
        return [None if k % every == 3 else value for k, value in enumerate(values)]

    return pl.DataFrame(
        {
            "whole": holes([k * 3 - 20 for k in range(ROWS)], 7),
            "decimal": holes([k / 8 - 1 for k in range(ROWS)], 9),
            "label": holes([("red", "green", "blü")[k % 3] for k in range(ROWS)], 8),
            "day": holes([datetime(2024, 2, 20) + timedelta(days=k) for k in range(ROWS)], 11),
            "moment": [datetime(2024, 2, 20, 8, 30) + timedelta(hours=5 * k) for k in range(ROWS)],
            "flag": holes([k % 2 == 0 for k in range(ROWS)], 10),
            "zip": [f"0{k % 5}501" for k in range(ROWS)],
            "scale": holes([("low", "medium", "high")[k % 3] for k in range(ROWS)], 13),
            "long": [9007199254740993 + k for k in range(ROWS)],
        },
        schema_overrides={"day": pl.Datetime("us"), "moment": pl.Datetime("us")},
    )


def as_text(table: pl.DataFrame) -> pl.DataFrame:
    """Every cell as CSV would hold it."""
    return table.with_columns(
        pl.col("day").dt.strftime("%Y-%m-%d"),
        pl.col("moment").dt.strftime("%Y-%m-%d %H:%M:%S"),
        pl.col("flag").cast(pl.String),
        pl.col("whole", "decimal", "long").cast(pl.String),
    )


def write_sqlite(table: pl.DataFrame, path) -> str:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE t ({', '.join(table.columns)})")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * table.width)})", table.rows())
        connection.commit()
    return f"sqlite:///{path}"


def write_duckdb(table: pl.DataFrame, path) -> str:
    with contextlib.closing(duckdb.connect(str(path))) as connection:
        connection.register("given", table.to_arrow())
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
    return f"duckdb:///{path}"


def write_excel(table: pl.DataFrame, path) -> str:
    with xlsxwriter.Workbook(str(path), {"default_date_format": "yyyy-mm-dd hh:mm:ss"}) as workbook:
        sheet = workbook.add_worksheet()
        for k, row in enumerate([table.columns, *table.rows()]):
            sheet.write_row(k, 0, row)
    return str(path)


def sources(folder) -> dict[str, str]:
    """The table in every format, with types where it has them and as text."""
    table, text = typed(), as_text(typed())
    dates_as_text = table.with_columns(text["day"], text["moment"])
    made = {}
    for name, cells in (("typed", table), ("text", text)):
        cells.write_parquet(folder / f"{name}.parquet")
        cells.write_ipc(folder / f"{name}.arrow")
        made |= {f"{name} Parquet": folder / f"{name}.parquet", f"{name} Arrow": folder / f"{name}.arrow"}
        made[f"{name} DuckDB"] = write_duckdb(cells, folder / f"{name}.duckdb")
    text.write_csv(folder / "t.csv")
    dates_as_text.write_ndjson(folder / "t.ndjson")
    made |= {"CSV": folder / "t.csv", "NDJSON": folder / "t.ndjson"}
    made["SQLite"] = write_sqlite(dates_as_text.with_columns(text["flag"]), folder / "t.db")
    # A cell of a workbook is a float, which does not hold the long numbers.
    made["Excel"] = write_excel(table.with_columns(text["long"]), folder / "t.xlsx")
    return {name: str(source) for name, source in made.items()}


def test_one_table_from_every_format_is_one_frame_with_one_set_of_roles(tmp_path):
    made = sources(tmp_path)
    first = read_table(made.pop("CSV"))
    assert first.frame.equals(typed())
    for name, source in made.items():
        table = read_table(source)
        assert table.frame.schema == first.frame.schema, name
        assert table.frame.equals(first.frame), name
        roles = {column: role.role for column, role in table.roles.items()}
        assert roles == {column: role.role for column, role in first.roles.items()}, name
        assert table.fingerprint == first.fingerprint, name
        if name in ("text Parquet", "text Arrow", "text DuckDB"):
            assert any(note.what == "text" for note in table.read_notes), name
        batches = pl.concat([batch.frame for batch in scan_table(source, batch_rows=17)])
        assert batches.with_columns(pl.col("whole").cast(pl.Int64)).equals(first.frame.select(batches.columns)), name


def test_whole_numbers_beside_decimals_keep_their_digits_everywhere(tmp_path):
    cells = ["9007199254740993", "2.5", "7"]
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{c},x\n" for c in cells))
    (tmp_path / "t.ndjson").write_text("".join(f'{{"a": {c}, "b": "x"}}\n' for c in cells))
    address = write_sqlite(pl.DataFrame({"a": [1], "b": ["x"]}), tmp_path / "t.db")
    with contextlib.closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        connection.execute("DELETE FROM t")
        connection.executemany("INSERT INTO t VALUES (?, 'x')", [(9007199254740993,), (2.5,), (7,)])
        connection.commit()
    for source in (tmp_path / "t.csv", tmp_path / "t.ndjson", address):
        assert read_table(source).frame["a"].to_list() == cells


@pytest.mark.parametrize("over", [2**63, 2**64 - 1])
def test_whole_numbers_beyond_64_bits_are_the_same_text_everywhere(tmp_path, over):
    frame = pl.DataFrame({"a": [over, 1], "b": ["x", "y"]}, schema_overrides={"a": pl.UInt64})
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    frame.write_ndjson(tmp_path / "t.ndjson")
    for source in (
        tmp_path / "t.csv",
        tmp_path / "t.parquet",
        tmp_path / "t.ndjson",
        write_duckdb(frame, tmp_path / "t.duckdb"),
    ):
        assert read_table(source).frame["a"].to_list() == [str(over), "1"], source


def test_a_frame_of_text_keeps_it_and_names_what_a_file_would_give(tmp_path):
    pandas = pytest.importorskip("pandas")
    text = as_text(typed())
    text.write_csv(tmp_path / "t.csv")
    from_file = read_table(tmp_path / "t.csv")
    for frame in (text, pandas.DataFrame(text.to_dict(as_series=False))):
        table = Table.from_frame(frame)
        differing = {name for name in text.columns if table.frame[name].dtype != from_file.frame[name].dtype}
        (note,) = table.read_notes
        assert note.value == "kept as text"
        assert differing == {"whole", "decimal", "day", "moment", "flag", "long"}
        assert all(f"'{name}'" in note.reason for name in ("whole", "decimal", "day", "moment"))
        assert "and 2 more" in note.reason and "kept as text" in str(table)


def test_a_typed_frame_is_the_table_of_its_file(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = typed()
    as_text(table).write_csv(tmp_path / "t.csv")
    from_file = read_table(tmp_path / "t.csv")
    whole = pandas.DataFrame(table.to_dict(as_series=False)).astype({"whole": "Int64", "flag": "boolean"})
    for frame in (table, whole):
        from_frame = Table.from_frame(frame)
        assert not from_frame.read_notes
        assert from_frame.frame.equals(from_file.frame)
        assert {name: role.role for name, role in from_frame.roles.items()} == {
            name: role.role for name, role in from_file.roles.items()
        }
