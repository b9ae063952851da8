"""The container: one possible form, byte for byte, and readable by any zip program."""

from __future__ import annotations

import zipfile

import pytest

from assay.base import PackageError
from assay.deploy import container

PARTS = [b'{"a": 1}', b"[1, 2, 3]", bytes(range(256))]


def test_any_zip_program_reads_it(tmp_path):
    path = container.write(tmp_path / "x.assay", PARTS)
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == list(container.MEMBERS)
        assert archive.testzip() is None
        assert [archive.read(name) for name in container.MEMBERS] == PARTS
        assert all(info.compress_type == zipfile.ZIP_STORED for info in archive.infolist())
    assert container.read(path) == PARTS


def test_every_single_flipped_bit_around_the_members_is_seen(tmp_path):
    data = container.write(tmp_path / "x.assay", PARTS).read_bytes()
    for place in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[place] ^= 1 << bit
            with pytest.raises(PackageError):
                container.unpack(bytes(changed))


def test_every_cut_is_seen(tmp_path):
    data = container.write(tmp_path / "x.assay", PARTS).read_bytes()
    for length in range(len(data)):
        with pytest.raises(PackageError):
            container.unpack(data[:length])


def test_a_large_file_is_refused_before_it_is_read(tmp_path):
    path = container.write(tmp_path / "x.assay", PARTS)
    with pytest.raises(PackageError, match="must be of 100 bytes at most"):
        container.read(path, most_bytes=100)


@pytest.mark.parametrize("kind", ["missing", "folder", "empty"])
def test_what_is_no_file_is_refused_with_a_sentence(tmp_path, kind):
    path = tmp_path / "x.assay"
    if kind == "folder":
        path.mkdir()
    if kind == "empty":
        path.write_bytes(b"")
    with pytest.raises(PackageError) as caught:
        container.read(path)
    assert str(caught.value).endswith(".") and caught.value.exit_code == 4
