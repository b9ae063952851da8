"""Decoders run apart: what kills them, or would take all memory, is a sentence here, and Ctrl-C is heard."""

from __future__ import annotations

import os
import signal

import polars as pl
import pytest

from assay.base import DataError
from assay.data import decode, read_apart, read_table
from assay.data.read_columnar import columnar_pieces
from assay.data.read_source import SourceFile


@pytest.fixture
def file(tmp_path):
    pl.DataFrame({"a": list(range(5000)), "b": ["x"] * 5000}).write_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def test_one_child_serves_several_reads_and_a_killed_one_is_replaced(file):
    read_table(file)
    first = read_apart._shared._child.pid
    assert read_table(file).n_rows == 5000 and read_apart._shared._child.pid == first
    os.kill(first, signal.SIGKILL)
    read_apart._shared._child.wait()
    assert read_table(file).n_rows == 5000 and read_apart._shared._child.pid != first


def test_a_decoder_that_dies_in_the_middle_is_one_sentence(file, monkeypatch):
    killed = read_apart.Decoder._heard

    def heard(self, child, job):
        for number, answer in enumerate(killed(self, child, job)):
            yield answer
            if number == 0:
                child.kill()

    monkeypatch.setattr(read_apart.Decoder, "_heard", heard)
    monkeypatch.setattr("assay.data.read_columnar._PIECE_BYTES", 1 << 14)
    big = pl.DataFrame({"a": list(range(2_000_000))})
    big.write_parquet(file)
    with pytest.raises(DataError, match=r"cannot be read as Parquet; its decoder ended with signal SIGKILL"):
        read_table(file)


def test_more_memory_than_the_limit_ends_the_decoder_not_the_caller(file):
    """The child may take what the job allows and some slack; an allocation beyond that is refused by the system."""
    child = read_apart.Decoder()
    try:
        list(child.ask(1e6, ask="columnar", path=str(file), kind="Parquet", piece=1 << 20, whole=False))
        with open(f"/proc/{child._child.pid}/limits") as limits:
            line = next(text for text in limits if text.startswith("Max address space"))
        assert int(line.split()[3]) < 2 * decode.SLACK + (3 << 30)
    finally:
        child.close()


def test_two_files_can_be_read_in_turns(file):
    source = SourceFile(file, "Parquet", False)
    one, other = columnar_pieces(source), columnar_pieces(source)
    assert next(one).frame.equals(next(other).frame)
    assert list(one) == [] and list(other) == []


def test_without_an_interpreter_to_start_files_are_decoded_here(file, monkeypatch):
    monkeypatch.setattr("sys.executable", "")
    assert read_table(file).n_rows == 5000
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        read_table(file)


def test_a_child_without_work_ends_and_the_next_read_starts_another(file, monkeypatch):
    read_table(file)
    child = read_apart._shared._child
    child.stdin.close()
    assert child.wait(timeout=900) == 0 and read_table(file).n_rows == 5000
