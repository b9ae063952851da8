"""A password in an address, however mistyped, is never printed, stored or shown."""

from __future__ import annotations

import json
import os
import traceback
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.base.errors import AssayError
from assay.base.redaction import redact
from assay.cli.main import assay
from assay.data import read_table, scan_table

CANARY = "Canary77Hush"
ADDRESSES = [
    text.replace("PW", CANARY)
    for text in (
        " postgresql://ann:PW@127.0.0.1:1/db",
        "\tpostgresql://ann:PW@127.0.0.1:1/db",
        "postgresql:/ann:PW@127.0.0.1/db",
        "postgresql:ann:PW@127.0.0.1/db",
        "postgresql//ann:PW@127.0.0.1/db",
        "postgresql:///ann:PW@127.0.0.1/db",
        "postgresql://ann:PW@x@127.0.0.1:1/db",
        "postgresql://ann:PW/x@127.0.0.1:1/db",
        "postgresql://ann:1/PW@127.0.0.1/db",
        "postgresql://ann:PW?x@127.0.0.1/db",
        "postgresql://ann:1?PW@127.0.0.1/db",
        "postgresql://ann:PW#x@127.0.0.1/db",
        "postgresql://ann:1#PW@127.0.0.1/db",
        "postgresql://ann:PW@127.0.0.1:port/db",
        "postgresql://ann:PW@127.0.0.1:99999/db",
        "postgresql://ann:PW@[::1/db",
        "postgresql://ann:PW",
        "postgresql://ann:PW/db",
        "postgresql://ann:PW 127.0.0.1/db",
        "postgresql://ann PW@127.0.0.1/db",
        "postgresql://:PW@127.0.0.1:1/db",
        "postgresql://ann:PW%@127.0.0.1:1/db",
        "postgresql://ann:PW%zz@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/db?password=PW",
        "postgresql://127.0.0.1:1/db?passwrd=PW",
        "postgresql://127.0.0.1:1/db?user=ann&pass%20word=PW",
        "postgres:/ann:PW@127.0.0.1",
        "Postgres://ann:PW@127.0.0.1:1/db",
        "postgresql+psycopg2://ann:PW@127.0.0.1/db",
        "postgresql:\\\\ann:PW@127.0.0.1\\db",
        "postgresql ://ann:PW@127.0.0.1/db",
        "postgresql;//ann:PW@127.0.0.1/db",
        "'postgresql://ann:PW@127.0.0.1/db'",
        "<postgresql://ann:PW@127.0.0.1/db>",
        "ann:PW@127.0.0.1/db",
        "//ann:PW@127.0.0.1/db",
        "://ann:PW@127.0.0.1/db",
        "host=127.0.0.1 user=ann password=PW dbname=db",
        "mysql://ann:PW@127.0.0.1/db",
        "https://ann:PW@127.0.0.1/t.csv",
        "s3://key:PW@bucket/t.parquet",
        "file://ann:PW@host/t.csv",
        "sqlite://ann:PW@/t.db",
        "sqlite:///ann:PW@t.db",
        "sqlite:/ann:PW@t.db",
        "duckdb://ann:PW@host/t.duckdb",
        "postgresql:/ann:PW@127.0.0.1/*.csv",
        "jdbc:postgresql://ann:PW@127.0.0.1/db",
        "postgresql://ann:PW@127.0.0.1:1/db?sslmode=bad",
    )
]


def told(error: BaseException | None) -> str:
    """All that an exception could show: its text, notes, arguments, and those of what it came from."""
    text = ""
    while error is not None:
        text += (
            "".join(traceback.format_exception_only(error)) + repr(error.args) + repr(getattr(error, "__notes__", ""))
        )
        error = error.__cause__ or error.__context__
    return text


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    "read", [read_table, scan_table, lambda text: read_table([text]), lambda t: read_table(Path(t))]
)
def test_no_error_holds_a_password(address, read):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises(AssayError) as caught:
            read(address)
    assert CANARY not in told(caught.value)
    assert CANARY not in "".join(str(w.message) for w in warned)


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_command_prints_or_keeps_a_password(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i},{i % 3}\n" for i in range(30)))
    calls = (
        ["describe", address],
        ["audit", address, "--json"],
        ["audit", "t.csv", "--against", address, "--html", "p.html"],
        ["compare", address, "--target", "b"],
        [address],
        ["describe", "t.csv", address],
        ["describe", "--html", address, "t.csv"],
        ["compare", "t.csv", "--target", address],
        ["describe", "t.csv", "--read", f"encoding={address}"],
        ["audit", "t.csv", "--role", address],
    )
    for words in calls:
        monkeypatch.setattr("sys.argv", ["assay", *words])
        result = CliRunner().invoke(assay, words, prog_name="assay")
        assert CANARY not in result.output + result.stderr, (words, result.output)
        assert result.exit_code in (0, 1, 2, 3), (words, result.output)
    for folder, _, files in os.walk(tmp_path):
        assert CANARY not in folder.removeprefix(str(tmp_path))
        assert not any(CANARY.encode() in Path(folder, name).read_bytes() for name in files)


def test_a_sound_address_is_kept_without_its_password(tmp_path):
    import contextlib
    import sqlite3

    with contextlib.closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.execute("INSERT INTO t VALUES (1)")
        connection.commit()
    assert read_table(f" sqlite:///{tmp_path}/t.db?table=t").n_rows == 1
    assert redact(json.dumps({"x": f"postgresql://ann:{CANARY}@h/db"})) == '{"x": "postgresql://ann:***@h/db"}'
