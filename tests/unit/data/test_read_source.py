"""Paths, patterns and lists of files: sorted, of one shape, and every way to fail has its sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date

import polars as pl
import pytest

from assay.base import DataError, ParameterError
from assay.data import read_table, scan_table
from assay.data.read_source import database_of


def refusal(path, **options) -> str:
    with pytest.raises(DataError) as caught:
        read_table(path, **options)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.fixture
def parts(tmp_path):
    (tmp_path / "part-2.csv").write_text("a,b\n3,z\n4,w\n")
    (tmp_path / "part-10.csv").write_text("a,b\n9,q\n")
    (tmp_path / "part-1.csv").write_text("a,b\n1,x\n2,y\n")
    (tmp_path / "other.csv").write_text("c\n1\n")
    return tmp_path


def test_a_pattern_reads_its_files_in_sorted_order_and_adds_nothing(parts):
    table = read_table(f"{parts}/part-*.csv")
    assert table.frame.rows() == [(1, "x"), (2, "y"), (9, "q"), (3, "z"), (4, "w")]
    assert table.name == "part" and table.source == f"{parts}/part-*.csv"
    assert table.reading == "3 files, CSV, separated by comma, 5 rows, 2 columns"
    files = table.read_notes[-1]
    assert files.what == "files" and "sorted" in files.value and "'part-1.csv'" in files.reason


def test_files_of_folders_are_found(parts):
    (parts / "deep" / "er").mkdir(parents=True)
    (parts / "deep" / "er" / "part-3.csv").write_text("a,b\n7,u\n")
    assert read_table(f"{parts}/**/part-*.csv").n_rows == 6


def test_a_list_keeps_its_order_and_the_file_can_be_a_column(parts):
    table = read_table([parts / "part-2.csv", str(parts / "part-1.csv")], file_column="file")
    assert table.frame["a"].to_list() == [3, 4, 1, 2]
    assert table.frame["file"].to_list() == [str(parts / "part-2.csv")] * 2 + [str(parts / "part-1.csv")] * 2
    with pytest.raises(DataError, match="in the files already"):
        read_table(parts / "part-1.csv", file_column="a")
    with pytest.raises(ParameterError, match="'file_column'"):
        read_table(parts / "part-1.csv", file_column="")


def test_several_files_have_the_fingerprint_of_their_rows_in_one(parts):
    (parts / "whole.csv").write_text("a,b\n1,x\n2,y\n9,q\n3,z\n4,w\n")
    assert read_table(f"{parts}/part-*.csv").fingerprint == read_table(parts / "whole.csv").fingerprint


def test_the_file_and_the_column_that_differ_are_named(parts):
    (parts / "part-3.csv").write_text("a,c,d\n3,z,1\n")
    text = refusal(f"{parts}/part-*.csv")
    assert (
        "part-3.csv' lacks column 'b' and has the extra column 'c', 'd' compared with" in text and "part-1.csv" in text
    )
    with pytest.raises(DataError, match="part-3.csv' lacks column 'b'"):
        list(scan_table(f"{parts}/part-*.csv"))


def test_columns_in_another_order_and_delimiters_of_their_own_are_fine(parts):
    (parts / "part-3.csv").write_text("b;a\nr;8\n")
    table = read_table(f"{parts}/part-*.csv")
    assert table.frame["a"].to_list() == [1, 2, 9, 3, 4, 8] and "differ in delimiter" in table.read_notes[-1].reason
    batches = [batch.frame for batch in scan_table(f"{parts}/part-*.csv", batch_rows=4)]
    assert pl.concat(batches)["b"].to_list() == ["x", "y", "q", "z", "w", "r"]


def test_types_of_binary_files_must_agree(tmp_path):
    pl.DataFrame({"a": [1, 2]}).write_parquet(tmp_path / "1.parquet")
    pl.DataFrame({"a": [1.5]}).write_parquet(tmp_path / "2.parquet")
    assert read_table(f"{tmp_path}/*.parquet").frame["a"].to_list() == [1.0, 2.0, 1.5]
    pl.DataFrame({"a": [True]}).write_parquet(tmp_path / "3.parquet")
    pl.DataFrame({"a": [date(2024, 1, 31)]}).write_parquet(tmp_path / "4.parquet")
    text = refusal(f"{tmp_path}/*.parquet")
    assert "4.parquet' holds Date in column 'a'" in text and "1.parquet" in text
    pl.DataFrame({"a": pl.Series(["x"], dtype=pl.Categorical)}).write_parquet(tmp_path / "3.parquet")
    assert "3.parquet' holds Categorical in column 'a'" in refusal(f"{tmp_path}/*.parquet")


def test_nested_columns_are_refused_with_the_file_and_the_column(tmp_path):
    pl.DataFrame({"a": [1], "n": [[1, 2]]}).write_parquet(tmp_path / "n.parquet")
    (tmp_path / "n.ndjson").write_text('{"a": 1, "n": {"x": 1}}\n')
    for name, kind in (("n.parquet", "List"), ("n.ndjson", "Struct")):
        text = refusal(tmp_path / name)
        assert f"{name}' holds nested or binary values in column 'n'; their type is {kind}" in text


def test_one_pattern_reads_one_format(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n")
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "b.parquet")
    assert "mixes formats" in refusal(f"{tmp_path}/*")
    with pytest.raises(DataError, match="mixes formats"):
        scan_table(f"{tmp_path}/*")


def test_a_pattern_without_files_and_a_name_like_a_pattern(tmp_path):
    assert "matches no file" in refusal(f"{tmp_path}/*.csv")
    (tmp_path / "a[1].csv").write_text("a\n1\n")
    assert read_table(tmp_path / "a[1].csv").n_rows == 1


def test_links_that_lead_in_a_circle_and_devices_are_refused(tmp_path):
    loop = tmp_path / "loop.csv"
    loop.symlink_to(tmp_path / "pool.csv")
    (tmp_path / "pool.csv").symlink_to(loop)
    assert "leads in a circle" in refusal(loop)
    os.mkfifo(tmp_path / "pipe.csv")
    assert "a device or a pipe" in refusal(tmp_path / "pipe.csv")
    assert "is a directory" in refusal(tmp_path)
    (tmp_path / "dir.csv").mkdir()
    assert "is a directory" in refusal(tmp_path / "dir.csv")
    assert "zero byte" in refusal("a\0.csv")
    assert "does not exist" in refusal(tmp_path / "none.csv")
    assert "cannot be opened" in refusal("x" * 300 + ".csv")


@pytest.mark.skipif(sys.platform == "win32", reason="user ids are needed")
def test_a_file_without_permission_is_refused(tmp_path):
    file = tmp_path / "secret.csv"
    file.write_text("a\n1\n")
    file.chmod(0)
    if os.geteuid() != 0:
        assert "Permission denied" in refusal(file)
        return
    # The superuser may read everything: another user looks at the file.
    tmp_path.chmod(0o755)
    for folder in list(tmp_path.parents)[:2]:
        if folder.stat().st_uid == 0 and str(folder).startswith("/tmp/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    try:
        os.seteuid(65534)
        assert "cannot be opened; Permission denied" in refusal(file)
    finally:
        os.seteuid(0)


def test_what_is_no_path_is_refused():
    for wrong in (3, [], [1], {"a": 1}):
        with pytest.raises(ParameterError, match="'path'"):
            read_table(wrong)


def test_urls_of_databases_are_told_from_paths():
    assert database_of("postgres://h/d") == "PostgreSQL" and database_of("a/b.csv") is None
    with pytest.raises(DataError, match="not read"):
        database_of("https://example.org/a.csv")


def test_the_command_line_takes_patterns_and_urls(parts):
    import sqlite3

    with sqlite3.connect(parts / "s.db") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a, 'x' AS b")
    connection.close()
    from assay.cli.compare import load

    for data, rows in (
        (f"{parts}/part-*.csv", 5),
        (f"sqlite:///{parts}/s.db?table=t", 1),
        (f"sqlite:///{parts}/s.db", 1),
    ):
        assert load(data).n_rows == rows
    out = subprocess.run(
        [sys.executable, "-m", "assay", "audit", f"{parts}/part-*.csv", "--json"],
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert out.returncode in (0, 1), out.stderr
    assert '"columns": 2' in out.stdout
