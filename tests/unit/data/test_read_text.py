"""The encoding is found with a stated confidence; a text stream gives the same text in any chunking."""

from __future__ import annotations

import codecs
import gzip

import pytest

from assay import config
from assay.base import DataError
from assay.data import read_table
from assay.data.read_source import SourceFile
from assay.data.read_text import TextStream

TEXT = "name,note\nMüller,schön\nAndré,€ 5\nBjörn,naïve\nZoë,rôle\n"
EXPECTED = ["Müller", "André", "Björn", "Zoë"]


def note(table, what):
    return next(decision for decision in table.read_notes if decision.what == what)


@pytest.mark.parametrize(
    ("content", "value", "least"),
    [
        (TEXT.encode(), "UTF-8", 0.99),
        (codecs.BOM_UTF8 + TEXT.encode(), "UTF-8", 1.0),
        (TEXT.encode("utf-16"), "UTF-16", 1.0),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "UTF-16", 1.0),
        (codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"), "UTF-32", 1.0),
        (TEXT.encode("utf-16-le"), "UTF-16", 0.9),
        (TEXT.encode("utf-16-be"), "UTF-16", 0.9),
        (TEXT.encode("cp1252"), "cp1252", 0.85),
        (TEXT.replace("€", "").encode("latin-1"), "cp1252", 0.85),
        (gzip.compress(TEXT.encode("cp1252"), mtime=0), "cp1252", 0.85),
    ],
)
def test_every_encoding_gives_the_same_names(tmp_path, content, value, least):
    file = tmp_path / "t.csv"
    file.write_bytes(content)
    table = read_table(file)
    assert table.frame["name"].to_list() == EXPECTED
    decision = note(table, "encoding")
    assert decision.value == value and decision.confidence >= least and decision.reason


@pytest.mark.parametrize("rows", [2, 200_000], ids=["small", "in pieces"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_every_encoding_gives_the_same_column_names(tmp_path, encoding, rows):
    file = tmp_path / "t.csv"
    file.write_text("Größe;'größte' Zahl;v\n" + "4;5;6\n" * rows, encoding=encoding)
    assert list(read_table(file).columns) == ["Größe", "'größte' Zahl", "v"]


@pytest.mark.parametrize(
    ("names", "encoding"), [("имя,город", "cp1251"), ("名前,表示", "shift_jis"), ("prix €,été", "cp1252")]
)
def test_column_names_are_read_in_the_encoding_that_is_given(tmp_path, names, encoding):
    file = tmp_path / "t.csv"
    file.write_bytes(f"{names}\n1,2\n3,4\n".encode(encoding))
    assert list(read_table(file, encoding=encoding).columns) == names.split(",")


def test_names_are_read_as_cells_are_where_a_byte_is_not_in_cp1252(tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes("Größe,b\nä,1\nö,2\nü,3\n".encode("latin-1") * 5 + b"x\x81,3\n")
    assert read_table(file).columns[0] == "Größe"


def test_ascii_is_certain_and_a_single_byte_is_little_evidence(tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes(b"a,b\nx,1\n")
    assert note(read_table(file), "encoding").confidence == 1.0
    file.write_bytes("a,b\nß,1\n".encode("cp1252"))
    few = note(read_table(file), "encoding").confidence
    file.write_bytes("a,b\nß,1\n".encode("cp1252") * 1 + "ä,1\n".encode("cp1252") * 50)
    assert 0.5 <= few < 0.8 < note(read_table(file), "encoding").confidence


def test_bytes_that_cp1252_lacks_are_read_as_latin_1_with_less_confidence(tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes(b"a,b\n" + "ä,1\nö,2\n".encode("latin-1") * 5 + b"x\x81,3\n")
    decision = note(read_table(file), "encoding")
    assert decision.value == "latin-1" and decision.confidence < 0.95


def test_the_first_bytes_beyond_ascii_may_come_late(tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes(b"a,b\n" + b"x,1\n" * 600_000 + "é,2\n".encode("cp1252"))
    table = read_table(file)
    assert table.frame["a"][-1] == "é" and note(table, "encoding").value == "cp1252"


def test_a_given_encoding_reads_every_byte_so(tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes("a,b\nä,1\n".encode() + "ö,2\n".encode("cp1252"))
    table = read_table(file, encoding="cp1252")
    assert table.frame["a"].to_list() == ["Ã¤", "ö"] and note(table, "encoding").reason == "it was given"
    with pytest.raises(DataError, match="is not UTF-8 text.*line 3, column 'a'"):
        read_table(file, encoding="utf-8")
    with pytest.raises(DataError, match="byte 4 .line 2. cannot be decoded"):
        read_table(file, encoding="ascii")


@pytest.mark.parametrize("limit", [600, 5000, 64e6])
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
def test_blocks_join_to_the_text_whatever_their_size(tmp_path, limit, encoding):
    text = "".join(f"{n},wörd {'x' * (n % 50)}\r\n" for n in range(2000))
    file = tmp_path / "t.csv"
    file.write_bytes(text.encode(encoding))
    with config.use(max_line_bytes=limit):
        blocks = list(TextStream(SourceFile(file, "CSV", False)).blocks())
    assert b"".join(blocks) == text.encode()
    assert all(block.endswith(b"\n") for block in blocks)


def test_a_truncated_gzip_file_names_how_far_it_went(tmp_path):
    file = tmp_path / "t.csv.gz"
    whole = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (n, n * n) for n in range(60_000)), mtime=0)
    for cut in (len(whole) // 2, len(whole) - 3, 15):
        file.write_bytes(whole[:cut])
        with pytest.raises(DataError, match=r"complete gzip file; .*after \d+ bytes of text, line \d+"):
            read_table(file)
    file.write_bytes(whole[:-8] + bytes(8))
    with pytest.raises(DataError, match="complete gzip file; .*CRC"):
        read_table(file)
    file.write_bytes(whole[:2000] + bytes(range(256)) + whole[2256:])
    with pytest.raises(DataError, match="complete gzip file"):
        read_table(file)


def test_a_line_beyond_the_limit_is_refused_and_the_limit_can_be_moved(tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes(b"a,b\n1,2\n" + b"x" * 50_000 + b",3\n")
    with config.use(max_line_bytes=10_000), pytest.raises(DataError, match="line 3 of more than 0.01 million bytes"):
        read_table(file)
    assert read_table(file).n_rows == 2
