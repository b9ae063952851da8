"""Plain files are read by the kernel, and everything comes out as the other way reads it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assay import _kernels
from assay.data import audit, describe, read_delimited, read_plain, read_table
from assay.data.parse import stays_text

ODD_CELLS = (
    "2.5", "7", " 2.5", "2.5 ", "", "NA", "NaN", "inf", "1e400", "1e3", "abc", "-", "007", "0", "-0", "-05", "+5",
    "+1.5", ".5", "1.", "-.5", "12 %", "  ", "12345678901234567", "123456789012345678901", "9007199254740993", "1e16",
    "0x1p3", "1_000", "1,5", "true", "2024-01-31", "w1 ", " w1", "0.1234567890123456789", "4.9406564584124654e-324",
    "1-2", "--1",
)  # fmt: skip


@pytest.fixture
def both_ways(tmp_path, monkeypatch):
    """Reads a text by the kernel and by the other way; says whether the kernel took it."""

    def read(text: str, **options):
        file = tmp_path / "t.csv"
        file.write_bytes(text.encode())
        other = read_table(file, **options)
        taken = []

        def counted(*args, **named):
            found = read_plain.read_plain(*args, **named)
            taken.append(found is not None)
            return found

        with monkeypatch.context() as patch:
            patch.setattr(read_delimited, "_LARGE", 1)
            patch.setattr(read_delimited, "read_plain", counted)
            plainly = read_table(file, **options)
        assert plainly.frame.equals(other.frame, null_equal=True)
        assert plainly.frame.schema == other.frame.schema
        assert (plainly.notes, plainly.roles) == (other.notes, other.roles)
        assert (plainly.reading, plainly.read_notes) == (other.reading, other.read_notes)
        return plainly, taken == [True]

    return read


def rows_of(count: int = 300) -> list[list[str]]:
    return [[f"{k / 8 + 0.125}", str(k), f"w{k % 3}", "" if k % 7 else f"{k / 4}", f"name {k}"] for k in range(count)]


def joined(rows: list[list[str]], end: str = "\n", separator: str = ";") -> str:
    return end.join(separator.join(row) for row in [list("abcde"), *rows]) + end


@pytest.mark.parametrize("column", range(5))
@pytest.mark.parametrize("odd", ODD_CELLS)
def test_an_odd_cell_comes_out_as_the_other_way_reads_it(both_ways, odd, column):
    rows = rows_of()
    rows[211][column] = odd
    _, taken = both_ways(joined(rows))
    assert taken


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("tail", ["", "last", "\n", "\n\n", "\r\n\r\n"])
def test_line_ends_and_separators(both_ways, separator, end, tail):
    text = joined(rows_of(60), end, separator)
    text = text.removesuffix(end) if tail == "last" else text + tail
    assert both_ways(text)[1]


@pytest.mark.parametrize(
    ("change", "taken"),
    [
        (lambda text: text.replace("w1", '"w1"', 1), False),
        (lambda text: text.replace("w1", "wé", 1), False),
        (lambda text: text.replace("\n", "\n\n", 9), False),
        (lambda text: text + ";;;;\n", False),
        (lambda text: text.replace("w1", "w\r1", 1), False),
        (lambda text: text.replace("w1", "w 1"), True),
        (lambda text: "\n\n" + text, False),
    ],
)
def test_what_is_not_plain_is_left_to_the_other_way(both_ways, change, taken):
    assert both_ways(change(joined(rows_of())))[1] is taken


def test_a_ragged_line_is_told_as_the_other_way_tells_it(tmp_path, monkeypatch):
    rows = rows_of()
    rows[200] = rows[200][:3]
    file = tmp_path / "t.csv"
    file.write_text(joined(rows))
    monkeypatch.setattr(read_delimited, "_LARGE", 1)
    with pytest.raises(Exception, match=r"3 fields on line 202 \(row 201\)"):
        read_table(file)


def test_a_line_longer_than_the_sample_is_not_read_into_memory(tmp_path, monkeypatch):
    file = tmp_path / "t.csv"
    file.write_text("a,b\n1," + "x" * (4 * read_plain._SAMPLE_BYTES) + "\n2,y\n")
    monkeypatch.setattr(read_plain, "_body_of", lambda *_: pytest.fail("the file was read"))
    assert read_plain.read_plain(file, ",", ["a", "b"], header=True) is None


def test_without_a_header(both_ways):
    text = joined(rows_of()).split("\n", 1)[1]
    table, taken = both_ways(text, header=False)
    assert taken and table.n_rows == 300


def test_many_chunks_and_labels_that_come_late(both_ways):
    rng = np.random.default_rng(3)
    n = 300_000
    late = np.where(np.arange(n) > 250_000, "late", "early")
    cities = pl.Series(["oslo", "rome", "bonn", None])
    frame = pl.DataFrame({
        "x": rng.normal(size=n).round(5), "k": rng.integers(-5, 5, n), "city": cities.gather(rng.integers(0, 4, n)),
        "when": late, "many": rng.integers(0, 40_000, n).astype(str),
    }).with_columns("n" + pl.col("many"))  # fmt: skip
    text = frame.write_csv()
    assert len(text) > 8 << 20
    table, taken = both_ways(text)
    assert taken
    assert table.coded["when"].labels.to_list() == ["early", "late"]
    assert table.coded["city"].codes.null_count() == frame["city"].null_count()
    # More labels than a chunk may have: the column is read as text.
    assert "many" not in table.coded
    plain = type(table).from_frame(table.frame, name=table.name)
    assert audit(table, target="when").to_dict() == audit(plain, target="when").to_dict()
    assert describe(table).to_dict() == describe(plain).to_dict()


SEAMS = {
    "line ends": (joined(rows_of(80)), True),
    "returns": (joined(rows_of(80), "\r\n"), True),
    "last line without an end": (joined(rows_of(80)).removesuffix("\n"), True),
    "blank lines after the last": (joined(rows_of(80)) + "\n" * 40, True),
    "blank lines below the header": (joined(rows_of(80)).replace("\n", "\n" * 40, 1), False),
    "long texts": (joined([[*row[:4], f"a name of more than twelve letters {row[4]}"] for row in rows_of(80)]), True),
    "a field over many blocks": (joined([*rows_of(40), ["1.5", "7", "w1", "", "x" * 900], *rows_of(40)]), True),
    "a number that becomes a word in the last block": (joined([*rows_of(80), ["word", "7", "w1", "", "z"]]), True),
    "a whole number that becomes a fraction": (joined([*rows_of(80), ["1.5", "7.5", "w1", "", "z"]]), True),
    "a gap in the last block": (joined([*rows_of(80), ["", "7", "", "1.5", ""]]), True),
    "a quote with a line end": (joined(rows_of(80)).replace("w1", '"w\n1"'), False),
    "letters of several bytes": (joined(rows_of(80)).replace("w1", "w\u20ac"), False),
    "a byte order mark": ("\ufeff" + joined(rows_of(80)), False),
    "a ragged blank line": (joined(rows_of(40)) + "\n" + joined(rows_of(40)).split("\n", 1)[1], False),
}


@pytest.mark.parametrize("name", SEAMS)
def test_every_seam_between_blocks_reads_the_same(both_ways, monkeypatch, name):
    text, taken = SEAMS[name]
    for size in (1, 2, 3, 7, 64, 1000):
        monkeypatch.setattr(read_plain, "_BLOCK_BYTES", size)
        assert both_ways(text)[1] is taken


def test_a_file_that_became_shorter_or_longer_is_left_to_the_other_way(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("1,2\n" * 1000)
    with open(file, "rb") as opened:
        read = [_kernels.read_plain_file(opened.fileno(), 0, end, ord(","), [1, 1], 100, 64, 2) for end in (4000, 4001)]
    assert read[0] is not None and read[1] is None
    assert read_plain.read_plain(tmp_path / "empty.csv", ",", ["a", "b"], header=True) is None
    (tmp_path / "empty.csv").touch()
    assert read_plain.read_plain(tmp_path / "empty.csv", ",", ["a", "b"], header=True) is None


def test_a_line_longer_than_the_limit_is_not_plain_wherever_blocks_end(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("1,2\n" * 50 + "1," + "x" * 200 + "\n" + "1,2\n" * 50)
    with open(file, "rb") as opened:
        size = file.stat().st_size
        for block in (1, 5, 64, 1 << 20):
            found = [
                _kernels.read_plain_file(opened.fileno(), 0, size, ord(","), [1, 4], most, block, 1)
                for most in (202, 203)
            ]
            assert found[0] is None and found[1] is not None


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_number_of_threads_reads_the_same(threads):
    rng = np.random.default_rng(5)
    text = pl.DataFrame({"x": rng.normal(size=400_000), "c": rng.choice(["a", "b"], 400_000)}).write_csv().encode()
    cells = np.frombuffer(text + bytes(64), dtype=np.uint8).copy()
    found = _kernels.read_plain(cells, 4, len(text), ord(","), [1, 3], 1 << 20, threads)
    assert (
        pl.Series(found[0][0]).to_numpy().tobytes()
        == np.loadtxt(text.splitlines()[1:], delimiter=",", usecols=0).tobytes()
    )
    assert pl.Series(found[1][1]).gather(pl.Series(found[1][0])).to_list() == [
        line[-1:].decode() for line in text.splitlines()[1:]
    ]


@pytest.mark.parametrize(
    ("labels", "stays"),
    [(["red", "blue 2"], True), (["red", "NA"], False), (["red", "12"], False), (["red", "1,5"], False),
     (["red", "true"], False), (["red", "2024-01-31"], False), (["red", "blue "], False), (["red", "5 %"], False)],
)  # fmt: skip
def test_labels_that_stay_text(labels, stays):
    assert stays_text(pl.Series(labels)) is stays
