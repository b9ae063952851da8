"""The survey: its kernels against NumPy, and large tables against the same table in one thread."""

import datetime
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assay import _kernels
from assay.data import Table, audit
from assay.data.findings import rows, survey
from assay.data.findings.survey import MISSING, Column, Survey
from assay.data.map_columns import LONG
from assay.data.roles import Role


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 1000])
@pytest.mark.parametrize("bins", [0, 1, 49, 254])
def test_bin_codes_are_those_of_a_binary_search(n, bins):
    rng = np.random.default_rng(n + bins)
    edges = np.unique(rng.normal(size=bins).round(2))
    values = rng.normal(size=n).round(2)
    values[::5] = np.nan
    expected = np.searchsorted(edges, values, side="right").astype(np.uint8)
    expected[np.isnan(values)] = MISSING
    np.testing.assert_array_equal(_kernels.bin_codes(values, edges), expected)


def test_bin_codes_are_the_same_on_every_instruction_set():
    rng = np.random.default_rng(0)
    values, edges = rng.normal(size=5000).round(1), np.unique(rng.normal(size=49).round(1))
    best = _kernels.simd_level()
    try:
        found = []
        for level in ("baseline", "avx2", "avx512"):
            _kernels.set_simd_level(level)
            found.append(_kernels.bin_codes(values, edges))
    finally:
        _kernels.set_simd_level(best)
    assert all((codes == found[0]).all() for codes in found)


def test_more_edges_than_codes_are_refused():
    with pytest.raises(ValueError, match="254"):
        _kernels.bin_codes(np.zeros(3), np.arange(255.0))


def test_cross_counts_are_those_of_a_loop():
    rng = np.random.default_rng(1)
    first = rng.choice(np.array([0, 1, 2, MISSING], dtype=np.uint8), 999)
    second = rng.choice(np.array([0, 1, 2, 3, MISSING], dtype=np.uint8), 999)
    expected = [[int(((first == a) & (second == b)).sum()) for b in range(4)] for a in range(3)]
    assert _kernels.cross_counts(first, second, 3, 4).tolist() == expected
    with pytest.raises(ValueError, match="same length"):
        _kernels.cross_counts(first, second[1:], 3, 4)


@pytest.mark.parametrize(
    ("text", "even"),
    [
        (b"a,b\nc,d\n", True),
        (b"a,b\r\n\r\n\nc,d", True),
        (b"a,b\nc\n", False),
        (b"a,b\nc,d,e", False),
        (b"", True),
        (b"x" * 500 + b",\n" + b"," + b"y" * 300, True),
        (b"," * 300 + b"\n", False),
    ],
)
def test_even_widths_counts_separators_line_by_line(text, even):
    assert _kernels.even_widths(np.frombuffer(text, dtype=np.uint8), ord(","), 2) is even


def test_the_leading_labels_are_the_first_of_the_counts():
    rng = np.random.default_rng(2)
    labels = pl.Series("c", [f"l{k}" for k in rng.geometric(0.01, 3000)])
    column = Column(labels, Role("nominal", 1.0, ""))
    assert column.leading.to_list() == column.counts["label"].head(200).to_list()


@pytest.mark.parametrize("repeats", [False, True])
def test_the_tally_of_an_identifier_is_that_of_any_label(repeats):
    values = [f"r{k}" for k in range(50)] + (["r0", None] if repeats else [])
    name, label = (Column(pl.Series("c", values), Role(role, 1.0, "")) for role in ("id", "nominal"))
    assert name.counts.equals(label.counts)
    assert name.distinct == label.distinct == 50


def test_numbers_are_missing_where_the_column_is():
    moment = datetime.datetime(1970, 1, 1, 0, 0, 1)
    for values, expected in (([3, None, 1], [1, 3]), ([True, None, False], [0, 1]), ([moment, None], [1e6])):
        column = Column(pl.Series("c", values), Role("numeric", 1.0, ""))
        assert np.isnan(column.numbers).tolist() == [value is None for value in values]
        assert column.sorted.tolist() == expected
        assert column.distinct == len(expected)


@pytest.fixture
def long():
    rng = np.random.default_rng(3)
    n = survey.LONG + 7
    x = rng.normal(size=n).round(3)
    x[5] = 400.0
    return Table.from_frame(
        pl.DataFrame(
            {
                "id": [f"r{k}" for k in range(n)],
                "x": x,
                "twice": 2 * x,
                "gappy": pl.Series(np.exp(rng.normal(size=n))).set(pl.Series(rng.random(n) < 0.1), None),
                "word": pl.Series(["Oslo", "oslo", "Rome", "Pari"]).gather(
                    rng.choice(4, n, p=[0.5, 0.2, 0.2999, 0.0001])
                ),
                "y": pl.Series(["no", "yes"]).gather((x > 0).astype(np.int64)),
            }
        )
    )


def test_a_long_table_has_the_same_findings_for_any_number_of_threads(monkeypatch, long):
    found = []
    for threads in (1, 3):
        for module in (survey, rows):
            monkeypatch.setattr(module, "thread_count", lambda n_jobs, threads=threads: threads)
        found.append(audit(long, target="y").to_dict())
    assert found[0] == found[1]
    codes = {finding["code"] for finding in found[0]["findings"]}
    assert {"A001", "A005", "A015", "A028", "A031", "A032"} <= codes


def test_each_keeps_the_order_of_the_columns(long):
    looked = Survey.of(long)
    assert looked.each(lambda column: column.name) == long.columns
    chosen = [looked.columns["y"], looked.columns["x"]]
    assert looked.each(lambda column: column.name, chosen) == ["y", "x"]


def test_a_long_table_lets_go_of_what_is_as_long_as_itself_and_makes_it_again():
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({"x": rng.normal(size=LONG), "k": rng.integers(0, 9, LONG), "c": rng.choice(["a", "b"], LONG)})
    survey = Survey.of(Table.from_frame(frame))
    x, k = survey.columns["x"], survey.columns["k"]
    assert "sorted" not in vars(x) and "numbers" not in vars(k)
    assert x.ends == (frame["x"].min(), frame["x"].max())
    assert x.sorted.tolist() == frame["x"].sort().to_list()
    assert k.part(10, 30).tolist() == frame["k"][10:30].to_list()
    positive = Column(frame["x"].abs(), x.role)
    assert positive.part(7, 50, logs=True).tolist() == np.log(positive.numbers[7:50]).tolist()
    assert dict(k.tally.iter_rows()) == dict(frame["k"].cast(pl.String).value_counts().iter_rows())


MEMORY = """
import gc, sys
from pathlib import Path
from assay.data import audit, read_table

def resident(what):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(what)).split()[1]) * 1024

small, large = sys.argv[1:]
audit(read_table(small), target="y").to_html()
gc.collect()
Path("/proc/self/clear_refs").write_text("5")
before = resident("VmRSS:")
audit(read_table(large), target="y").to_html()
print((resident("VmHWM:") - before) / 1e6)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks are read from /proc")
def test_an_audit_of_a_million_rows_and_its_page_take_less_than_500_megabytes(tmp_path):
    """18 columns of numbers, 4 of whole numbers, 6 of labels, a date and an identifier."""
    rng = np.random.default_rng(0)
    files = []
    for n in (20_000, 1_000_000):
        columns = {"id": pl.Series([f"r{k}" for k in range(n)])}
        columns |= {f"x{k}": pl.Series(rng.normal(size=n).round(4)) for k in range(18)}
        columns |= {f"n{k}": pl.Series(rng.integers(0, most, n)) for k, most in enumerate((5, 50, 1000, 100_000))}
        labels = pl.Series([f"label {k}" for k in range(200)])
        columns |= {f"c{k}": labels.gather(rng.integers(0, most, n)) for k, most in enumerate((3, 8, 20, 60, 200))}
        columns["when"] = pl.Series(rng.integers(15 * 10**14, 17 * 10**14, n)).cast(pl.Datetime("us"))
        columns["y"] = pl.Series(["no", "yes"]).gather(rng.integers(0, 2, n))
        files.append(tmp_path / f"{n}.csv")
        pl.DataFrame(columns).write_csv(files[-1])
    said = subprocess.run([sys.executable, "-c", MEMORY, *files], capture_output=True, text=True, check=True)
    assert float(said.stdout) < 500
