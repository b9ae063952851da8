"""Claims about the store of finished units."""

from __future__ import annotations

import math
import os
import sqlite3

import numpy as np
import pytest

import assay.experiment.store as store_module
from assay.base.errors import DataError
from assay.experiment.store import (
    APPLICATION_ID,
    SCHEMA_VERSION,
    Store,
    StoreDamage,
    canonical,
    digest,
    without_nan,
)


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


def test_a_store_of_the_older_schema_starts_afresh(tmp_path):
    """Its rows carry no digest and come from older code, whose keys are never asked for."""
    with sqlite3.connect(tmp_path / "s") as connection:
        connection.execute("CREATE TABLE units (key TEXT PRIMARY KEY, what TEXT, value TEXT) WITHOUT ROWID")
        connection.execute("INSERT INTO units VALUES ('a', '', '{\"n\": 1}')")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 1")
    with Store(tmp_path / "s") as store:
        assert store.get(["a"]) == {} and len(store) == 0
        store.put([("a", "", {"n": 2})])
        assert store.get(["a"]) == {"a": {"n": 2}}


@pytest.mark.parametrize("version", [0, -1])
def test_a_store_of_no_known_schema_version_is_refused(tmp_path, version):
    Store(tmp_path / "s").close()
    with sqlite3.connect(tmp_path / "s") as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(DataError, match="schema version"):
        Store(tmp_path / "s")


def test_arrays_come_back_bit_for_bit(tmp_path):
    arrays = {"probabilities": np.array([[0.1, 0.9], [np.nan, np.inf]]), "codes": np.array([3, 1], dtype=np.uint8)}
    with Store(tmp_path / "s") as store:
        store.put([("a", "", {"n": 1, "arrays": arrays})])
        found = store.get(["a"])["a"]
    assert found["n"] == 1 and set(found["arrays"]) == set(arrays)
    for name, array in arrays.items():
        assert found["arrays"][name].dtype == array.dtype and found["arrays"][name].tobytes() == array.tobytes()


def test_any_one_changed_byte_gives_the_same_value_or_none_or_a_refusal(tmp_path):
    """No change of a byte is ever believed: the row is as it was, or not there, or the file is refused."""
    values = {
        f"{i:064x}": {"scores": {"accuracy": 0.5 + i / 64}, "arrays": {"codes": np.arange(i, i + 40, dtype=np.uint8)}}
        for i in range(12)
    }
    with Store(tmp_path / "s") as store:
        store.put([(key, f"ZeroR, fold {key[-1]}", value) for key, value in values.items()])
    whole = (tmp_path / "s").read_bytes()
    generator, kept, lost, refused = np.random.default_rng(0), 0, 0, 0
    places = [*range(100), *generator.integers(len(whole), size=400).tolist()]
    for number, place in enumerate(places):
        changed = bytearray(whole)
        changed[place] ^= int(generator.integers(1, 256))
        path = tmp_path / f"s{number}"
        path.write_bytes(bytes(changed))
        try:
            with Store(path) as store:
                found = store.get(values)
        except DataError:
            refused += 1
            continue
        finally:
            for part in tmp_path.glob(f"s{number}*"):
                part.unlink()
        for key, value in found.items():
            assert value["scores"] == values[key]["scores"], place
            assert np.array_equal(value["arrays"]["codes"], values[key]["arrays"]["codes"]), place
        kept, lost = kept + (len(found) == len(values)), lost + (len(found) < len(values))
    assert kept and lost and refused


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
    assert without_nan({"a": [math.nan, math.inf, np.float64(1.5), np.int32(2), np.array([1.0, np.nan])]}) == {
        "a": [None, None, 1.5, 2, [1.0, None]]
    }
    with pytest.raises(ValueError):
        canonical(math.nan)


def test_a_store_of_schema_2_keeps_its_units_and_learns_of_runs(tmp_path):
    with Store(tmp_path / "s") as store:
        store.put([("a", "", {"n": 1})])
    with sqlite3.connect(tmp_path / "s") as connection:
        for name in ("runs", "run_units", "holdouts", "looks"):
            connection.execute(f"DROP TABLE {name}")
        connection.execute("PRAGMA user_version = 2")
    with pytest.raises(DataError, match="schema version 2"):
        Store(tmp_path / "s", read_only=True)
    with Store(tmp_path / "s") as store:
        assert store.get(["a"]) == {"a": {"n": 1}} and store.runs() == []
        store.begin_run(RUN, ["a", "b"])
        (kept,) = store.runs()
        assert kept["units"] == 2 and kept["done"] == 1 and kept["finished"] is None


RUN = dict.fromkeys(("plan", "fingerprint", "data", "code", "versions"), "{}") | {"id": "r1", "started": "2026-01-01"}


def test_runs_are_kept_and_forgotten_with_the_units_that_nobody_else_asks_for(tmp_path):
    with Store(tmp_path / "s") as store:
        store.put([(key, "", {"n": 1}) for key in "abc"])
        store.begin_run(RUN, "ab")
        store.begin_run({**RUN, "id": "r2"}, "bc")
        store.begin_run({**RUN, "started": "2027"}, "ab")  # again: now it is the last one
        assert [(run["id"], run["started"]) for run in store.runs()] == [("r2", "2026-01-01"), ("r1", "2027")]
        store.finish_run("r1", "2026-01-02", '{"x": 1}')
        assert store.results_of("r1") == '{"x": 1}' and store.results_of("r2") is None
        assert store.forget(["r1"]) == 1
        assert set(store.get("abc")) == {"b", "c"} and [run["id"] for run in store.runs()] == ["r2"]
        assert store.sound() == "ok"


def test_readers_see_what_was_finished_while_a_run_writes(tmp_path):
    with Store(tmp_path / "s") as store:
        store.put([("a", "", {"n": 1})])
        with Store(tmp_path / "s", read_only=True) as one, Store(tmp_path / "s", read_only=True) as two:
            store.put([("b", "", {"n": 2})])
            assert set(one.get("ab")) == set(two.get("ab")) == {"a", "b"}
            with pytest.raises(DataError, match="was opened to be read"):
                one.put([("c", "", {})])
    assert len(list(tmp_path.iterdir())) == 1, "nothing is left beside the file"


def test_a_store_that_is_not_there_is_not_made_by_a_reader(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        Store(tmp_path / "s", read_only=True)
    assert not (tmp_path / "s").exists()


def test_a_holdout_opens_once(tmp_path):
    with Store(tmp_path / "s") as store:
        assert store.open_holdout("h", "r1", "ridge", "2026-01-01") is None
        store.settle_holdout("h", '{"accuracy": 0.9}')
    with Store(tmp_path / "s") as store:
        found = store.open_holdout("h", "r2", "lasso", "2027-01-01")
        value = '{"accuracy": 0.9}'
        assert found == {
            "key": "h",
            "run": "r1",
            "learner": "ridge",
            "opened": "2026-01-01",
            "value": value,
            "shared": 0,
        }
        store.settle_holdout("h", '{"accuracy": 1.0}')
        assert store.open_holdout("h", "r2", "lasso", "")["value"] == '{"accuracy": 0.9}'


def test_a_holdout_part_that_shares_rows_with_one_that_was_opened_stays_closed(tmp_path):
    with Store(tmp_path / "s") as store:
        assert store.open_holdout("h", "r1", "ridge", "2026-01-01", data="d", rows=[1, 2, 3]) is None
        found = store.open_holdout("g", "r2", "lasso", "2027-01-01", data="d", rows=[3, 4])
        assert (found["run"], found["shared"]) == ("r1", 1)
        assert store.open_holdout("g", "r2", "lasso", "2027-01-01", data="d", rows=[4, 5]) is None
        assert store.open_holdout("f", "r3", "lasso", "2027-01-01", data="of other rows", rows=[1]) is None


def test_a_store_of_the_schema_before_keeps_what_was_opened_and_looked_at(tmp_path):
    with sqlite3.connect(tmp_path / "s") as connection:
        for step in store_module._CREATE[:5]:
            connection.execute(step)
        connection.execute("INSERT INTO looks VALUES ('p', 'd', 't', '[]', '2026-01-01')")
        connection.execute("INSERT INTO holdouts VALUES ('h', 'r1', 'ridge', '2026-01-01', NULL)")
        connection.execute(f"PRAGMA application_id = {store_module.APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 4")
    with Store(tmp_path / "s") as store:
        assert store.looks() == [
            {"plan": "p", "data": "d", "target": "t", "settings": "[]", "began": "2026-01-01", "held": ""}
        ]
        assert store.open_holdout("h", "r2", "lasso", "2027-01-01", data="d", rows=[1])["run"] == "r1"


def test_a_text_that_is_no_utf_8_costs_its_unit_alone(tmp_path):
    with Store(tmp_path / "s") as store:
        store.put([(key, "what", {"n": 1}) for key in "abc"])
        store._connection.execute("UPDATE units SET value = CAST(x'7b22ff227d' AS TEXT) WHERE key = 'a'")
        store._connection.execute("UPDATE units SET what = CAST(x'ff' AS TEXT) WHERE key = 'b'")
        assert set(store.get("abc")) == {"c"}
        (said,) = store.damage()
        assert "2 units of work are not what was put there ('what', '\\xff')" in said
        store.put([(key, "what", {"n": 1}) for key in "ab"])
        assert set(store.get("abc")) == set("abc") and store.damage() == []


def test_damage_met_while_writing_is_told_as_damage_and_not_as_a_full_disk(tmp_path):
    with Store(tmp_path / "s") as store:
        store.put([(f"{i:064d}", "x" * 100, {"n": i}) for i in range(500)])
    content = bytearray((tmp_path / "s").read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    (tmp_path / "s").write_bytes(bytes(content))
    with Store(tmp_path / "s") as store, pytest.raises(StoreDamage, match="is damaged and cannot be written") as raised:
        store.put([("a", "", {})])
    assert "--fresh" in str(raised.value) and "space" not in str(raised.value)
    with Store(tmp_path / "s", read_only=True) as store:
        assert store.damage()


def test_a_store_that_was_cut_off_is_damaged_and_no_other_file(tmp_path):
    with Store(tmp_path / "s") as store:
        store.put([(f"{i:064d}", "x" * 100, {"n": i}) for i in range(100)])
    whole = (tmp_path / "s").read_bytes()
    for size in (100, 4096, len(whole) // 2, len(whole) - 4096):
        (tmp_path / "s").write_bytes(whole[:size])
        for read_only in (False, True):
            with pytest.raises(StoreDamage, match="is damaged and cannot be opened"):
                Store(tmp_path / "s", read_only)
        assert (tmp_path / "s").read_bytes() == whole[:size]


@pytest.mark.parametrize("column", ["rows", "data", "opened", "value"])
def test_a_damaged_note_of_an_opening_is_told_and_opens_nothing(tmp_path, column):
    with Store(tmp_path / "s") as store:
        store.open_holdout("h", "r1", "ridge", "2026-01-01", data="d", rows=[1, 2])
        store.settle_holdout("h", '{"accuracy": 0.9}')
        assert store.damage() == []
        store._connection.execute(f"UPDATE holdouts SET {column} = CAST(x'5bff' AS TEXT)")
        assert len(store.damage()) == 1 and "rows" in store.damage()[0]
        if column == "value":  # which rows were opened is known
            assert store.open_holdout("g", "r2", "lasso", "2027-01-01", data="d", rows=[2])["shared"] == 1
        else:
            with pytest.raises(StoreDamage, match="damaged note of rows that were opened"):
                store.open_holdout("g", "r2", "lasso", "2027-01-01", data="d", rows=[2])


def test_a_look_whose_settings_are_damaged_still_counts(tmp_path):
    with Store(tmp_path / "s") as store:
        store.look("p", "d", "t", '["a"]', "2026-01-01")
        store._connection.execute("UPDATE looks SET settings = '[\"a'")
        assert [look["settings"] for look in store.looks()] == ["[]"]
        assert "1 look at rows cannot be read" in store.damage()[0]


@pytest.mark.parametrize("folder", [True, False])
def test_a_store_that_may_only_be_read_says_so_and_what_to_do(tmp_path, monkeypatch, folder):
    """SQLite says "unable to open database file" of a folder that takes no journal: not a word of what to do."""
    path = tmp_path / "s"
    with Store(path) as store:
        store.begin_run(RUN, "ab")

    def refuse(*_, **__):
        raise sqlite3.OperationalError("unable to open database file")

    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda asked, _: folder and os.fspath(asked) == str(tmp_path))
        patch.setattr(sqlite3, "connect", refuse)
        where = "is read-only" if folder else "lies in a folder that is read-only"
        with pytest.raises(DataError, match=f"{where}, and .*; make it writable, or copy the folder") as raised:
            Store(path)
        assert "unable" not in str(raised.value)
        if not folder:
            with pytest.raises(DataError, match="cannot be made: its folder is read-only"):
                Store(tmp_path / "new")
        with pytest.raises(DataError, match="unable to open"):
            Store(path, read_only=True)


def test_a_file_that_sqlite_may_not_write_is_called_read_only(tmp_path, monkeypatch):
    path, connect = tmp_path / "s", sqlite3.connect
    with Store(path) as store:
        store.begin_run(RUN, "ab")
    monkeypatch.setattr(sqlite3, "connect", lambda place, **more: connect(f"file:{place}?mode=ro", uri=True, **more))
    with Store(path) as store, pytest.raises(DataError, match="is read-only, and this has to write in it"):
        store.forget(["r1"])
