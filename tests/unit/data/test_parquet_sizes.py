"""Small Parquet files of numbers are decoded in this process only if all sizes that they state agree."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest

from assay.base import DataError
from assay.data import Batches, batches, parquet_sizes, read_apart, read_columnar
from assay.data.parquet_sizes import sound_groups
from assay.models.linear import LogisticRegression

N = 3000


def numbers() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    gaps = np.where(rng.random(N) < 0.1, None, rng.normal(size=N).round(2))
    return pl.DataFrame(
        {"a": rng.normal(size=N), "b": gaps.tolist(), "c": rng.integers(0, 7, N), "y": rng.integers(0, 2, N)},
        schema={"a": pl.Float64, "b": pl.Float32, "c": pl.Int32, "y": pl.Int64},
    )


@pytest.fixture
def file(tmp_path):
    return tmp_path / "t.parquet"


@pytest.mark.parametrize("compression", ["zstd", "snappy", "uncompressed", "lz4"])
def test_files_of_numbers_are_sound(file, compression):
    numbers().write_parquet(file, compression=compression, row_group_size=1250)
    assert sound_groups(file) == (1250, 1250, 500)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_files_of_another_writer_are_sound(file, version):
    writer = pytest.importorskip("pyarrow.parquet")
    writer.write_table(numbers().to_arrow(), file, data_page_version=version, row_group_size=1500)
    assert sound_groups(file) == (1500, 1500)


def test_other_columns_compressions_sizes_and_kinds_are_not(file, monkeypatch):
    for other in (pl.lit("x"), pl.lit(True), pl.date(2024, 1, 1), pl.struct("a", "c"), pl.concat_list("a", "b")):
        numbers().with_columns(z=other).write_parquet(file)
        assert sound_groups(file) is None
    numbers().write_parquet(file, compression="gzip")
    assert sound_groups(file) is None
    numbers().write_ipc(file)
    assert sound_groups(file) is None
    file.write_bytes(b"PAR1")
    assert sound_groups(file) is None and sound_groups(file.with_name("none.parquet")) is None
    numbers().write_parquet(file)
    monkeypatch.setattr(parquet_sizes, "MOST_CELLS", 4 * N - 1)
    assert sound_groups(file) is None


def test_a_count_that_does_not_agree_is_noticed(file):
    """Every number of rows that the end of the file states, made larger by one."""
    numbers().write_parquet(file)
    whole = file.read_bytes()
    told = bytes([0x80 | (2 * N) & 127, 2 * N >> 7])  # as the file writes them
    begin = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    found = [at for at in range(begin, len(whole) - 9) if whole[at : at + 2] == told]
    assert len(found) >= 6
    for at in found:
        file.write_bytes(whole[:at] + bytes([whole[at] + 2]) + whole[at + 1 :])
        assert sound_groups(file) is None


def test_wounded_pages_are_a_table_or_a_sentence(file, tmp_path):
    """What the sizes do not tell the decoder finds, or takes for numbers; this process lives."""
    numbers().write_parquet(file, row_group_size=1000)
    whole, tried, refused = file.read_bytes(), 0, 0
    for seed in range(60):
        chance, wounded = random.Random(seed), bytearray(whole)
        at = chance.randrange(4, len(whole) - 3000)
        wounded[at : at + 4] = chance.choice([b"\xff\xff\xff\x7f", bytes(4), chance.randbytes(4)])
        path = tmp_path / f"{seed}.parquet"
        path.write_bytes(wounded)
        tried += sound_groups(path) is not None
        try:
            rows = Batches(str(path), "y").table.shape[0]
        except DataError as error:
            rows, refused = 0, refused + ("cannot be read as Parquet" in str(error))
        assert rows in (0, N)
    assert tried > 20 and refused > 0


def test_decoded_here_or_apart_the_model_has_the_same_bits(file, monkeypatch):
    monkeypatch.setattr("assay.data.decode.WINDOW", 1 << 14)  # several windows of rows in a group
    monkeypatch.setattr("assay.data.decode.FEW", 1 << 14)
    numbers().with_columns(pl.col("b").fill_null(0.5)).write_parquet(file, row_group_size=2000)
    begun: list[str] = []
    monkeypatch.setattr(read_apart.Decoder, "ask", lambda self, **job: begun.append(job["ask"]) or iter(()))
    here = LogisticRegression().fit_batches(Batches(str(file), "y"))
    assert begun == []
    monkeypatch.undo()
    monkeypatch.setattr(read_columnar, "sound_groups", lambda path: None)
    apart = LogisticRegression().fit_batches(Batches(str(file), "y"))
    assert here.coef_.tobytes() == apart.coef_.tobytes() and here.intercept_.tobytes() == apart.intercept_.tobytes()


def test_pages_mapped_ahead_or_not_hold_the_same_rows(file, monkeypatch):
    numbers().write_parquet(file)
    chosen = np.array([5, 2, 2999, 2, 17])
    table = Batches(str(file), "y").table
    few, blocks = table[chosen], table.total(lambda block: np.nansum(block, axis=0))
    monkeypatch.setattr(batches, "MAPPED_AHEAD", 0)
    np.testing.assert_array_equal(few, table[chosen])
    np.testing.assert_array_equal(few, numbers().select("a", "b", "c").cast(pl.Float64).to_numpy()[chosen])
    np.testing.assert_array_equal(blocks, table.total(lambda block: np.nansum(block, axis=0)))
