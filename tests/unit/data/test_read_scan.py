"""Tables larger than memory: one schema for all batches, checked on each, in memory that does not grow."""

from __future__ import annotations

import gzip
import subprocess
import sys
import textwrap
from datetime import datetime

import polars as pl
import pytest

from assay import config
from assay.base import AssayWarning, DataError, ParameterError
from assay.data import read_batches, read_table, scan_table
from assay.data.parse import ColumnPlan, follow_plan


@pytest.fixture
def write(tmp_path):
    def make(content: str, name: str = "t.csv"):
        file = tmp_path / name
        file.write_text(content)
        return file

    return make


def test_batches_hold_what_read_table_holds(write):
    rows = "".join(
        f'{n},{n / 4},w{n % 5},2024-05-{n % 28 + 1:02d},{"true" if n % 2 else "false"},"1,{n:03d}"\n'
        for n in range(999)
    )
    file = write("count,size,word,day,flag,dressed\n" + rows)
    whole = read_table(file)
    scan = scan_table(file, batch_rows=100, sample_rows=200)
    frame = pl.concat([batch.frame for batch in scan])
    assert frame.columns == whole.columns and scan.sample_rows == 200
    for name in whole.columns:
        assert frame[name].to_list() == whole.frame[name].to_list(), name
    assert {n: r.role for n, r in scan.roles.items()} == {n: r.role for n, r in whole.roles.items()}
    assert frame["day"].dtype == pl.Datetime("us") and frame["day"][0] == datetime(2024, 5, 1)
    assert [note.what for note in scan.read_notes] == ["delimiter", "encoding", "header"]
    assert "roles from the first 200 rows" in str(scan)


def test_it_can_be_gone_through_twice(write):
    scan = scan_table(write("a\n1\n2\n3\n"))
    assert sum(b.n_rows for b in scan) == sum(b.n_rows for b in scan.batches(2)) == 3


def test_whole_numbers_may_turn_out_to_have_decimals(write):
    file = write("x,k\n" + "7,1\n3,2\n" * 50 + "1.5,1\n")
    frames = [batch.frame for batch in scan_table(file, sample_rows=20, batch_rows=30)]
    assert all(frame["x"].dtype == pl.Float64 for frame in frames) and frames[-1]["x"][-1] == 1.5


def test_strays_become_missing_and_are_counted_and_too_many_are_refused(write):
    good = "".join(f"{n}.5,a\n" for n in range(2000))
    scan = scan_table(write("x,y\n" + good + "stray,a\n" * 3), sample_rows=100)
    frame = pl.concat([batch.frame for batch in scan])
    assert frame["x"].null_count() == 3 and scan.failed == {"x": 3}
    with pytest.raises(DataError, match="'stray' in row 2001, column 'x', which holds numbers in the first 100 rows"):
        list(scan_table(write("x,y\n" + good + "stray,a\n" * 300), sample_rows=100))


def test_a_column_that_the_sample_never_saw_filled_needs_a_word(write):
    file = write("x,y\n" + "1,\n2,\n" * 20 + "3,7.5\n")
    with pytest.raises(DataError, match="'7.5' in row 41, column 'y', which is missing in all of the first 10 rows"):
        list(scan_table(file, sample_rows=10))
    frames = [batch.frame for batch in scan_table(file, sample_rows=100)]
    assert frames[0]["y"][-1] == 7.5


def test_labels_beyond_a_binary_or_ordinal_column_are_told_once(write):
    file = write("x,s\n" + "1.5,yes\n2.5,no\n" * 20 + "3.5,maybe\n4.5,never\n")
    with pytest.warns(AssayWarning, match=r"W111.*column 's' is binary.*row 41.*(maybe|never)") as caught:
        frames = [batch.frame for batch in scan_table(file, sample_rows=10, batch_rows=5)]
    assert len(caught) == 1 and pl.concat(frames)["s"][-1] == "never"


def test_given_roles_hold_for_every_batch(write):
    scan = scan_table(write("zip,s\n1,low\n2,high\n3,low\n"), roles={"zip": "nominal"})
    assert all(batch.roles["zip"].role == "nominal" for batch in scan)


@pytest.mark.parametrize("name", ["batch_rows", "sample_rows"])
def test_sizes_are_checked(write, name):
    for wrong in (0, 1.5, True):
        with pytest.raises(ParameterError, match=name):
            scan_table(write("a\n1\n"), **{name: wrong})
    with pytest.raises(ParameterError, match="batch_rows"):
        next(scan_table(write("a\n1\n")).batches(0))


@pytest.mark.parametrize("content", ["a,b\n", "\n", ""])
def test_nothing_to_scan_is_refused(write, content):
    with pytest.raises(DataError, match=r"no rows|is empty"):
        scan_table(write(content))


def test_a_plan_is_followed_as_the_parser_would():
    cells = pl.Series("c", ["1,5", " 2 ", "NA", None, "x", "1.000,25"])
    read, failed = follow_plan(cells, ColumnPlan("number", european=True))
    assert read.to_list() == [1.5, 2.0, None, None, None, 1000.25] and failed.arg_true().to_list() == [4]
    read, failed = follow_plan(pl.Series("c", ["7", "1,000", "1.5", "9007199254740993"]), ColumnPlan("whole"))
    assert read.to_list() == [7, 1000, None, 9007199254740993] and failed.arg_true().to_list() == [2]
    read, failed = follow_plan(pl.Series("c", ["True", "no", ""]), ColumnPlan("boolean"))
    assert read.to_list() == [True, None, None] and failed.arg_true().to_list() == [1]


BOUNDED = """
import resource, sys
import polars, numpy, gzip
from assay import config
from assay.base import DataError
from assay.data import read_table, scan_table
import assay.data.read
path = sys.argv[1]
polars.read_csv(b"a,b\\n1,2\\n" * 1000); polars.DataFrame({{"a": ["x"]}}).select(polars.col("a").str.to_lowercase())
def size():
    return next(int(l.split()[1]) * 1024 for l in open("/proc/self/status") if l.startswith("VmSize"))
limit = size() + {spare}
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
{code}
"""


def run_bounded(path, code: str, spare: int) -> str:
    """Run code in a process whose address space may grow by `spare` bytes only."""
    script = BOUNDED.format(code=textwrap.dedent(code), spare=spare)
    out = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        capture_output=True,
        text=True,
        timeout=900,
        env={**__import__("os").environ, "POLARS_MAX_THREADS": "2"},
    )
    assert out.returncode == 0, out.stderr[-2000:]
    return out.stdout.strip()


ATTEMPT = """
for read in (read_table, lambda p: list(scan_table(p))):
    try:
        read(path); print("read")
    except DataError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits on memory are Linux's")
def test_a_line_of_gigabytes_needs_little_memory(tmp_path):
    """0.6 GB of one letter in a gzip file; the process may grow by 400 MB, the limit on a line is 64 MB."""
    file = tmp_path / "line.csv.gz"
    with gzip.open(file, "wb", compresslevel=1) as stream:
        stream.write(b"a,b\n1,2\n")
        for _ in range(38):
            stream.write(b"x" * (1 << 24))
    out = run_bounded(file, ATTEMPT, 400 << 20)
    assert out.count("has a line 3 of more than 64 million bytes without a line end") == 2


@pytest.mark.skipif(sys.platform != "linux", reason="limits on memory are Linux's")
def test_a_plain_line_of_300_megabytes_under_a_lowered_limit(tmp_path):
    file = tmp_path / "line.csv"
    with open(file, "wb") as stream:
        stream.write(b"a,b\n1,2\n")
        for _ in range(300):
            stream.write(b"y" * (1 << 20))
    out = run_bounded(file, "config.set(max_line_bytes=1e6)" + ATTEMPT, 150 << 20)
    assert out.count("has a line 3 of more than 1 million bytes") == 2


@pytest.mark.skipif(sys.platform != "linux", reason="limits on memory are Linux's")
def test_a_gzip_bomb_is_refused_whole_and_streamed_in_bounded_memory(tmp_path):
    """170 MB of rows, which take 2 GB as cells, out of less than 2 MB."""
    file = tmp_path / "bomb.csv.gz"
    with gzip.open(file, "wb") as stream:
        stream.write(b"a,b\n")
        for _ in range(40):
            stream.write(b"1.5,2\n" * 700_000)
    assert file.stat().st_size < 2e6
    code = """
    config.set(max_bytes=1e8)
    try:
        read_table(path)
    except DataError as error:
        print(error)
    scan, rows = scan_table(path, batch_rows=200_000), 0
    for batch in scan:
        rows += batch.n_rows
        if rows >= 3_000_000:
            break
    print(rows)
    """
    out = run_bounded(file, code, 600 << 20)
    assert "needs more memory than the limit (0.1 GB)" in out and "times its size" in out and "scan_table" in out
    assert out.endswith("3000000")


def test_a_file_over_the_limit_is_refused_by_its_size_and_scanned_instead(write):
    file = write("a,b\n" + "1.5,2\n" * 50_000)
    with config.use(max_bytes=1e6):
        with pytest.raises(
            DataError,
            match=r"it whole takes about .* MB; take a sample .* in batches with assay.data.scan_table",
        ):
            read_table(file)
        assert sum(batch.n_rows for batch in read_batches(file, 20_000)) == 50_000


def test_parquet_files_that_differ_in_which_columns_are_text_are_refused(tmp_path):
    pl.DataFrame({"x": [1.5, 2.5]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"x": ["a", "b"]}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet.*has text in column 'x', which has numbers in the first file"):
        scan_table(tmp_path / "*.parquet")


@pytest.mark.parametrize("small", [pl.UInt64, pl.Int8])
def test_whole_numbers_too_large_for_a_sign_make_their_column_labels_in_every_part(small, tmp_path):
    pl.DataFrame({"key": [3, 1, 2], "y": [1.0, 2.0, 3.0]}, schema_overrides={"key": small}).write_parquet(
        tmp_path / "0.parquet"
    )
    pl.DataFrame({"key": [2**64 - 1, 4], "y": [1.0, 2.0]}, schema_overrides={"key": pl.UInt64}).write_parquet(
        tmp_path / "1.parquet"
    )
    pattern = str(tmp_path / "*.parquet")
    read = pl.concat([table.frame for table in scan_table(pattern, batch_rows=2)])
    assert read["key"].to_list() == ["3", "1", "2", str(2**64 - 1), "4"]
    assert read.equals(read_table(pattern).frame)


@pytest.mark.parametrize("first", [0, 1])
def test_true_is_one_where_other_parts_have_numbers(first, tmp_path):
    parts = [{"flag": [True, False, None]}, {"flag": [3, 0]}]
    for number, part in enumerate((parts[first], parts[1 - first])):
        pl.DataFrame({**part, "y": [1.0] * len(part["flag"])}).write_parquet(tmp_path / f"{number}.parquet")
    pattern = str(tmp_path / "*.parquet")
    read = pl.concat([table.frame for table in scan_table(pattern)])
    assert sorted(read["flag"].drop_nulls()) == [0, 0, 1, 3]
    assert read["flag"].to_list() == read_table(pattern).frame["flag"].to_list()
