"""Claims about the store of finished units."""

from __future__ import annotations

import math
import sqlite3

import pytest

from assay.base.errors import DataError
from assay.experiment.store import SCHEMA_VERSION, Store, canonical, digest, without_nan


def test_what_was_put_is_found_again_after_reopening(tmp_path):
    path = tmp_path / "deep" / "store.sqlite"
    value = {"scores": {"accuracy": 0.1 + 0.2}, "confusion": [[1, 2], [3, 4]], "warnings": [["W1", "é\n"]]}
    with Store(path) as store:
        store.put([("a", "what", value), ("b", "what", {})])
    with Store(path) as store:
        assert store.get(["a", "missing"]) == {"a": value}
        assert len(store) == 2


def test_a_later_value_replaces_the_earlier_one(tmp_path):
    with Store(tmp_path / "s") as store:
        store.put([("a", "", {"n": 1})])
        store.put([("a", "", {"n": 2})])
        assert store.get(["a"]) == {"a": {"n": 2}} and len(store) == 1


def test_the_journal_is_a_synchronised_write_ahead_log(tmp_path):
    with Store(tmp_path / "s") as store:
        assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert store._connection.execute("PRAGMA busy_timeout").fetchone()[0] >= 10_000


def test_a_failed_transaction_leaves_nothing_behind(tmp_path):
    with Store(tmp_path / "s") as store:
        with pytest.raises(DataError, match="cannot be written"):
            store.put([("a", "", {"n": 1}), (None, None, {"n": 2})])
        assert len(store) == 0
        store.put([("b", "", {})])
        assert len(store) == 1


def test_two_stores_may_write_to_one_file(tmp_path):
    with Store(tmp_path / "s") as first, Store(tmp_path / "s") as second:
        first.put([("a", "", {"n": 1})])
        second.put([("b", "", {"n": 2})])
        assert set(first.get(["a", "b"])) == {"a", "b"}


def test_a_store_of_another_schema_version_is_refused(tmp_path):
    Store(tmp_path / "s").close()
    with sqlite3.connect(tmp_path / "s") as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(DataError, match=f"schema version {SCHEMA_VERSION + 1}") as raised:
        Store(tmp_path / "s")
    assert raised.value.exit_code == 3


def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path):
    (tmp_path / "s").write_bytes(b"not a database, but long enough to be looked at" * 50)
    with pytest.raises(DataError, match="is not an Assay store"):
        Store(tmp_path / "s")
    assert (tmp_path / "s").read_bytes().startswith(b"not a database")


def test_a_database_of_another_program_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "s") as connection:
        connection.execute("CREATE TABLE holiday (photo BLOB)")
    with pytest.raises(DataError, match="another program"):
        Store(tmp_path / "s")


def test_a_folder_that_cannot_be_made_gives_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be opened"):
        Store(tmp_path / "file" / "store.sqlite")
    with pytest.raises(DataError, match="cannot be opened"):
        Store(tmp_path)


def test_a_damaged_row_counts_as_not_finished(tmp_path):
    with Store(tmp_path / "s") as store:
        store.put([("a", "", {"n": 1}), ("b", "", {"n": 2})])
        store._connection.execute("UPDATE units SET value = '{\"n\":' WHERE key = 'a'")
        assert store.get(["a", "b"]) == {"b": {"n": 2}}


def test_a_damaged_page_gives_a_sentence(tmp_path):
    with Store(tmp_path / "s") as store:
        store.put([(f"{i:064d}", "x" * 100, {"n": i}) for i in range(500)])
    content = bytearray((tmp_path / "s").read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    (tmp_path / "s").write_bytes(bytes(content))
    with Store(tmp_path / "s") as store, pytest.raises(DataError, match="cannot be read"):
        store.get([f"{7:064d}"])


def test_a_closed_store_says_so(tmp_path):
    store = Store(tmp_path / "s")
    store.close()
    store.close()
    with pytest.raises(DataError, match="is closed"):
        store.get(["a"])


def test_digest_depends_on_every_part_and_on_nothing_else():
    base = digest({"a": 1, "b": [1.5, None]}, "x")
    assert base == digest({"b": [1.5, None], "a": 1}, "x")
    assert len({base, digest({"a": 2, "b": [1.5, None]}, "x"), digest({"a": 1, "b": [1.5]}, "x"), digest("x")}) == 4
    assert digest("ab", "c") != digest("a", "bc")


def test_nan_becomes_none_and_is_refused_unconverted():
    import numpy as np

    assert without_nan({"a": [math.nan, math.inf, np.float64(1.5), np.int32(2), np.array([1.0, np.nan])]}) == {
        "a": [None, None, 1.5, 2, [1.0, None]]
    }
    with pytest.raises(ValueError):
        canonical(math.nan)
