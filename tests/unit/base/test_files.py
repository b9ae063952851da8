"""Files are written whole, and a folder or file in the way is one sentence."""

from __future__ import annotations

import os

import pytest

from assay.base import DataError
from assay.base.files import WholeFile, write_whole


def test_a_file_is_replaced_whole_and_nothing_is_left_behind(tmp_path):
    target = tmp_path / "new" / "page.html"
    assert write_whole("report", target, "one\n") == target and target.read_bytes() == b"one\n"
    write_whole("report", target, "zwei ä")
    assert target.read_text(encoding="utf-8") == "zwei ä" and os.listdir(target.parent) == ["page.html"]


def test_a_folder_or_a_file_in_the_way_is_told_in_one_sentence(tmp_path):
    (tmp_path / "page.html").mkdir()
    with pytest.raises(DataError, match=r"^report: file '.*page.html' cannot be written \(Is a directory\); choose"):
        write_whole("report", tmp_path / "page.html", "x")
    assert os.listdir(tmp_path) == ["page.html"]
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"cannot be written \((Not a directory|File exists)\)"):
        write_whole("report", tmp_path / "file" / "page.html", "x")


def test_text_that_cannot_be_encoded_leaves_the_old_file(tmp_path):
    target = write_whole("report", tmp_path / "a.txt", "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole("report", target, "new \ud800")
    assert target.read_text() == "old" and os.listdir(tmp_path) == ["a.txt"]


def test_an_error_inside_the_block_is_its_own_and_leaves_the_old_file(tmp_path):
    place = tmp_path / "o.bin"
    place.write_bytes(b"old")

    def write():
        with WholeFile("save", place) as file:
            file.write(b"new")
            (tmp_path / "another").read_bytes()

    with pytest.raises(FileNotFoundError, match="another"):
        write()
    assert place.read_bytes() == b"old" and list(tmp_path.iterdir()) == [place]
