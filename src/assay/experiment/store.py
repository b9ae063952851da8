"""The store: one SQLite row per finished unit of work, so that a killed run goes on where it stopped.

A unit is one learner on one fold (or on all rows, for its view), or what the report says of the recommended one. Its
key is the hash of everything its result depends on: data, target, the columns used and their roles, preparation,
learner and parameters, row numbers of the fold, seed and code version; not the metrics, the number of jobs or the order
of the work (an explanation depends on the metric that decides). A value is JSON text and, beside it, arrays as
safetensors: the predictions of the rows left out, from which any metric follows without a fit. Every row carries a
digest of all that it holds; a row whose digest does not agree is work not done. The journal is SQLite's write-ahead log
with full synchronisation: a commit that returned survives a killed process and a power cut, and a half-written one is
rolled back when the file is opened again.

Beside the units stand the runs that asked for them: the plan of each as JSON, the code version, when it began and
ended, and its results; and the final hold-out parts, which open once. A file of an older schema is brought up to date
in one transaction, or refused with a sentence. Readers open it read-only, in any number, while a run writes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from ..base.errors import DataError, plain
from ..base.record import jsonable
from ..base.words import count

SCHEMA_VERSION = 5
APPLICATION_ID = 0x41535341

# The words of an error about a damaged file may themselves be damaged.
_DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)

# A statement that SQLite cannot make sense of (1) meets other tables than were made: the statements are fixed.
_DAMAGE_CODES = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

_AWAY = "begin anew with --fresh, which keeps this file beside the new one, or choose another folder with --out"

ARRAYS = "arrays"
"""The entry of a value that holds its arrays, by name."""

_UNITS = """
CREATE TABLE units (
    key TEXT PRIMARY KEY,
    what TEXT NOT NULL,
    value TEXT NOT NULL,
    arrays BLOB NOT NULL,
    digest BLOB NOT NULL
)
"""

_RUNS = """
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    plan TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    data TEXT NOT NULL,
    code TEXT NOT NULL,
    versions TEXT NOT NULL,
    started TEXT NOT NULL,
    finished TEXT,
    results TEXT
)
"""

_RUN_UNITS = "CREATE TABLE run_units (run TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (run, key)) WITHOUT ROWID"

_HOLDOUTS = """
CREATE TABLE holdouts (
    key TEXT PRIMARY KEY,
    run TEXT NOT NULL,
    learner TEXT NOT NULL,
    opened TEXT NOT NULL,
    value TEXT
)
"""

# Which plans were scored on which rows: this stays when a run is pruned, since what was seen was seen.
_LOOKS = """
CREATE TABLE looks (
    plan TEXT PRIMARY KEY,
    data TEXT NOT NULL,
    target TEXT NOT NULL,
    settings TEXT NOT NULL,
    began TEXT NOT NULL
)
"""

# Which rows of which table a hold-out part has, and which rows a plan left aside: parts of one table may overlap.
_HELD = (
    "ALTER TABLE holdouts ADD COLUMN data TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE holdouts ADD COLUMN rows TEXT NOT NULL DEFAULT '[]'",
    "ALTER TABLE looks ADD COLUMN held TEXT NOT NULL DEFAULT ''",
)

MIGRATIONS: dict[int, tuple[str, ...]] = {
    # Rows of the first schema have no digest and come from older code, whose keys are never asked for.
    1: ("DROP TABLE units", _UNITS),
    2: (_RUNS, _RUN_UNITS, _HOLDOUTS),
    3: (_LOOKS,),
    4: _HELD,
}
"""What brings a file of each older schema to the next one."""

_CREATE = (_UNITS, _RUNS, _RUN_UNITS, _HOLDOUTS, _LOOKS, *_HELD)


def canonical(value: Any) -> str:
    """JSON text that is the same for equal values: sorted keys, no spaces, NaN refused.

    >>> canonical({"b": 1, "a": [0.1, None]})
    '{"a":[0.1,null],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def without_nan(value: Any) -> Any:
    """The same plain data with NaN and infinities as None, arrays as lists and NumPy scalars as Python's.

    >>> without_nan({"a": (1.0, float("nan"))})
    {'a': [1.0, None]}
    """
    return jsonable(value)


def digest(*parts: Any) -> str:
    """The key of a unit: sha256 over its parts in canonical JSON."""
    return hashlib.sha256(canonical(parts).encode()).hexdigest()


class StoreDamage(DataError):
    """The file of a store is damaged, or holds something that is no database."""


class Store:
    """A file of finished units. Only the thread that opened it may use it; that thread is the one writer.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder, Store(pathlib.Path(folder) / "store.sqlite") as store:
    ...     store.put([("k1", "ZeroR, fold 1", {"scores": {"accuracy": 0.5}})])
    ...     store.get(["k1", "k2"])
    {'k1': {'scores': {'accuracy': 0.5}}}
    """

    def __init__(self, path: str | os.PathLike[str], read_only: bool = False):
        self.path, self.read_only = Path(path), read_only
        self._connection: sqlite3.Connection | None = None
        try:
            if read_only:
                self._open_to_read()
            else:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._open()
        except OSError as error:
            raise self._refusal(f"cannot be opened ({error.strerror or error})", "choose another folder") from None
        except _DAMAGE as error:
            self.close()
            raise self._trouble(error, "opened", "choose another folder") from None
        except DataError:
            self.close()
            raise

    def _open(self) -> None:
        self._connection = connection = sqlite3.connect(self.path, timeout=30.0, isolation_level=None)
        connection.text_factory = _text
        connection.execute("PRAGMA busy_timeout = 30000")
        tables, version = self._checked()
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        if not tables or version < SCHEMA_VERSION:
            with self._transaction():
                # Two processes may have found the file empty; the second one to get here has nothing left to create.
                found = self._pragma("user_version")
                steps = _CREATE if not found else [step for v in range(found, SCHEMA_VERSION) for step in MIGRATIONS[v]]
                for step in steps:
                    connection.execute(step)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _open_to_read(self) -> None:
        """Open without writing anything: beside a run that writes, or in a folder where nothing may be written."""
        if not self.path.is_file():
            raise self._refusal("does not exist", "name the folder of a run, such as assay-run/iris-species")
        # Without a journal nobody writes, and a folder that cannot be written to needs no lock.
        alone = not Path(f"{self.path}-wal").exists() and not os.access(self.path.parent, os.W_OK)
        address = f"{self.path.resolve().as_uri()}?{'immutable=1' if alone else 'mode=ro'}"
        self._connection = sqlite3.connect(address, uri=True, timeout=30.0, isolation_level=None)
        self._connection.text_factory = _text
        tables, version = self._checked()
        if not tables:
            raise self._refusal("holds nothing yet", "wait until its run has begun")
        if version < SCHEMA_VERSION:
            raise self._refusal(
                f"was written with schema version {version} and this Assay reads version {SCHEMA_VERSION}",
                "run its plan again, which brings it up to date",
            )

    def _checked(self) -> tuple[int, int]:
        """How many tables there are, and of which schema."""
        assert self._connection is not None
        version, application = self._pragma("user_version"), self._pragma("application_id")
        tables = int(self._connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0])
        if tables and application != APPLICATION_ID:
            raise self._refusal("is a database of another program", "move it away or choose another file")
        if tables and not 1 <= version <= SCHEMA_VERSION:
            raise self._refusal(
                f"was written with schema version {version} and this Assay reads version {SCHEMA_VERSION}",
                "use the newer Assay that wrote it, or choose another folder with --out"
                if version > SCHEMA_VERSION
                else "move it away or use the Assay that wrote it",
            )
        return tables, version

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Everything inside is written, or nothing."""
        connection = self._require()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _pragma(self, name: str) -> int:
        assert self._connection is not None
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])

    def _refusal(self, rule: str, way_out: str) -> DataError:
        return DataError("store", f"file '{plain(self.path, 200)}'", rule, way_out=way_out)

    def _trouble(self, error: Exception, done: str, way_out: str) -> DataError:
        """What SQLite met, in one sentence: damage of the file, or the disk and the rights to it."""
        met = plain(error, 100)
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if not isinstance(error, UnicodeDecodeError) and code not in _DAMAGE_CODES:
            return self._locked(error) or self._refusal(f"cannot be {done} ({met})", way_out)
        file = f"file '{plain(self.path, 200)}'"
        if not self._has_our_header():
            return StoreDamage("store", file, "is not an Assay store", way_out=_AWAY)
        return StoreDamage("store", file, f"is damaged and cannot be {done} ({met})", way_out=_AWAY)

    def _has_our_header(self) -> bool:
        try:
            with self.path.open("rb") as file:
                head = file.read(72)
        except OSError:
            return False
        return head.startswith(b"SQLite format 3\0") and head[68:] == APPLICATION_ID.to_bytes(4, "big")

    def _locked(self, error: Exception) -> DataError | None:
        """The refusal of what may be read but not written; None where that is not the trouble."""
        if self.read_only:
            return None
        if not self.path.exists():
            if os.access(self.path.parent, os.W_OK):
                return None
            return self._refusal(
                "cannot be made: its folder is read-only", "make the folder writable or choose another folder"
            )
        refused = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF == sqlite3.SQLITE_READONLY
        if os.access(self.path.parent, os.W_OK) and not refused and os.access(self.path, os.W_OK):
            return None
        what = "is read-only" if os.access(self.path.parent, os.W_OK) else "lies in a folder that is read-only"
        return self._refusal(
            f"{what}, and this has to write in it", "make it writable, or copy the folder and name the copy"
        )

    def _require(self) -> sqlite3.Connection:
        if self._connection is None:
            raise self._refusal("is closed", "open it again")
        return self._connection

    def get(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """The finished units among `keys`; a row that cannot be read counts as not finished."""
        found = {}
        with self._reading() as connection:
            for key in keys:
                row = connection.execute(_SELECT, (key,)).fetchone()
                value = _decode(row) if row is not None and row[0] == key else None
                if value is not None:
                    found[key] = value
        return found

    def put(self, units: Iterable[tuple[str, str, Mapping[str, Any]]], run: str | None = None) -> None:
        """Keep finished units (key, what it is in words, value) in one transaction, and note a run that asks for
        them."""
        rows = [_encode(key, what, value) for key, what, value in units]
        with self._writing() as connection:
            connection.executemany(_INSERT, rows)
            if run is not None:
                connection.executemany(_ASK, ((run, row[0]) for row in rows))

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction whose trouble (a full disk, a folder that lost its rights) is told in one sentence."""
        self._require()
        if self.read_only:
            raise self._refusal("was opened to be read", "open it without read_only")
        try:
            with self._transaction() as connection:
                yield connection
        except _DAMAGE as error:
            way_out = "free some space or choose another folder; what was finished before is safe in it"
            raise self._trouble(error, "written", way_out) from None

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        connection = self._require()
        try:
            yield connection
        except _DAMAGE as error:
            raise self._trouble(error, "read", _AWAY) from None

    # -- runs ----------------------------------------------------------------------------------------------------
    def begin_run(self, run: Mapping[str, str], keys: Iterable[str]) -> None:
        """Note a run (the columns of its row) and the units that it asks for; beginning again makes it the last
        one."""
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO runs (id, plan, fingerprint, data, code, versions, started) "
                "VALUES (:id, :plan, :fingerprint, :data, :code, :versions, :started) "
                # The id holds the code version, so that the code of a run of this id is that of who begins it.
                "ON CONFLICT (id) DO UPDATE SET plan = excluded.plan, fingerprint = excluded.fingerprint, "
                "data = excluded.data, code = excluded.code, versions = excluded.versions, "
                "started = excluded.started, rowid = (SELECT max(rowid) + 1 FROM runs)",
                dict(run),
            )
            connection.executemany(_ASK, ((run["id"], key) for key in keys))

    def look(self, plan: str, data: str, target: str, settings: str, began: str, held: str = "") -> None:
        """Note that a plan is scored on rows of a table, all but those of `held` (a digest); the first time counts."""
        with self._writing() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO looks (plan, data, target, settings, began, held) VALUES (?, ?, ?, ?, ?, ?)",
                (plan, data, target, settings, began, held),
            )

    def looks(self) -> list[dict[str, str]]:
        """The plans that were ever scored, in the order in which they began."""
        names = ("plan", "data", "target", "settings", "began", "held")
        with self._reading() as connection:
            rows = connection.execute(f"SELECT {', '.join(names)} FROM looks ORDER BY rowid").fetchall()
        found = [dict(zip(names, row, strict=True)) for row in rows if all(isinstance(cell, str) for cell in row)]
        # A look whose settings cannot be read was a look at the rows all the same.
        return [look if _is_list(look["settings"], str) else {**look, "settings": "[]"} for look in found]

    def finish_run(self, run: str, finished: str, results: str) -> None:
        """Note the end of a run and its results as JSON."""
        with self._writing() as connection:
            connection.execute("UPDATE runs SET finished = ?, results = ? WHERE id = ?", (finished, results, run))

    def runs(self) -> list[dict[str, Any]]:
        """The runs in the order in which they were begun, or begun again: the columns of each but its results, how many
        units it asks for (`units`), and how many of them are there (`done`). A cell that holds no text is empty."""
        names = ("id", "plan", "fingerprint", "data", "code", "versions", "started", "finished")
        with self._reading() as connection:
            rows = connection.execute(f"SELECT {', '.join(names)} FROM runs ORDER BY rowid").fetchall()
            asked = dict(connection.execute("SELECT run, count(*) FROM run_units GROUP BY run").fetchall())
            done = dict(
                connection.execute(
                    "SELECT run, count(*) FROM run_units WHERE key IN (SELECT key FROM units) GROUP BY run"
                ).fetchall()
            )
        known: list[dict[str, Any]] = [
            {name: cell if isinstance(cell, str) else "" for name, cell in zip(names, row, strict=True)}
            | {"id": _name(row[0])}
            | ({"finished": None} if row[7] is None else {})
            for row in rows
        ]
        return [run | {"units": asked.get(run["id"], 0), "done": done.get(run["id"], 0)} for run in known]

    def results_of(self, run: str) -> str | None:
        """The results of a finished run as JSON text; an empty one where what is there is no text."""
        with self._reading() as connection:
            row = connection.execute("SELECT results FROM runs WHERE id = ?", (run,)).fetchone()
        if row is None or row[0] is None:
            return None
        return row[0] if isinstance(row[0], str) else ""

    def keys_of(self, run: str) -> list[str]:
        """The keys of the units that a run asks for."""
        with self._reading() as connection:
            rows = connection.execute("SELECT key FROM run_units WHERE run = ? ORDER BY key", (run,)).fetchall()
        return [str(row[0]) for row in rows]

    def forget(self, runs: Iterable[str], *, strays: bool = True) -> int:
        """Remove runs, and the units that no run is left to ask for; returns how many units went."""
        with self._writing() as connection:
            places: dict[str, int] = {
                _name(cell): row for row, cell in connection.execute("SELECT rowid, id FROM runs").fetchall()
            }
            for run in runs:
                connection.execute("DELETE FROM runs WHERE rowid = ?", (places.get(run),))
                connection.execute("DELETE FROM run_units WHERE run = ?", (run,))
            gone = 0
            if strays:
                gone = connection.execute("DELETE FROM units WHERE key NOT IN (SELECT key FROM run_units)").rowcount
        try:
            self._require().execute("VACUUM")
        except _DAMAGE as error:
            raise self._trouble(error, "written", "free some space; nothing is lost") from None
        return int(gone)

    def sound(self) -> str:
        """What SQLite's own check of the file says; "ok" if all is well."""
        with self._reading() as connection:
            return str(connection.execute("PRAGMA integrity_check").fetchone()[0])

    def damage(self) -> list[str]:
        """What is damaged in the file, its units of work, its looks and its hold-out parts, and what to do about it, in
        sentences; nothing if all is well."""
        said = []
        try:
            found = self.sound()
            said += [] if found == "ok" else [f"the file is damaged ({plain(found, 200)}): {_AWAY}"]
            with self._reading() as connection:
                units = [_name(row[1]) for row in connection.execute(_ALL_UNITS) if _decode(row) is None]
                looks = connection.execute("SELECT plan, data, target, settings, began, held FROM looks").fetchall()
                opened = connection.execute(f"SELECT rows, data, {', '.join(_OPENED)} FROM holdouts").fetchall()
        except StoreDamage as error:
            return said or [str(error)]
        if units:
            named = ", ".join(f"'{plain(what, 60)}'" for what in units[:5]) + (", ..." if len(units) > 5 else "")
            were = "is" if len(units) == 1 else "are"
            said.append(
                f"{count(len(units), 'unit')} of work {were} not what was put there ({named}): run the comparison "
                "again, which redoes what this code did; what other code did goes with its run (`assay runs prune`)"
            )
        bad = [row for row in looks if not all(isinstance(c, str) for c in row) or not _is_list(row[3], str)]
        if bad:
            said.append(f"{count(len(bad), 'look')} at rows cannot be read: count them from a copy of the file, if any")
        if any(not _is_opening(row) for row in opened):
            said.append(f"a note of rows that were opened cannot be read: {_COPY}")
        if any(row[-1] is not None and not _is_list(f"[{row[-1]}]", dict) for row in opened):
            said.append("what was found on rows set aside cannot be read: `assay runs open` scores it again")
        return said

    # -- the final hold-out ----------------------------------------------------------------------------------------
    def open_holdout(
        self,
        key: str,
        run: str,
        learner: str,
        opened: str,
        *,
        data: str = "",
        rows: Iterable[int] = (),
        earlier: Mapping[str, list[int]] | None = None,
    ) -> dict[str, Any] | None:
        """Open a hold-out part, these rows of a table, for one learner of one run; where it was opened already, or a
        part of the same table that shares rows with it, the row that says by whom, and how many rows are `shared`.
        `earlier` are the rows under other names of the table, by which a store may know them."""
        mine, names = set(rows), _OPENED
        with self._writing() as connection:
            if not all(map(_is_opening, connection.execute(f"SELECT rows, data, {', '.join(names)} FROM holdouts"))):
                # Which rows were opened is not known, and so not that these were not.
                raise StoreDamage(
                    "store", f"file '{plain(self.path, 200)}'", "holds a damaged note of rows that were opened",
                    way_out=_COPY,
                )  # fmt: skip
            row = connection.execute(f"SELECT {', '.join(names)} FROM holdouts WHERE key = ?", (key,)).fetchone()
            if row is not None:
                return dict(zip(names, row, strict=True)) | {"shared": len(mine)}
            asked = f"SELECT rows, {', '.join(names)} FROM holdouts WHERE data = ? ORDER BY rowid"
            for name, own in [*([(data, mine)] if data else []), *(earlier or {}).items()]:
                for theirs, *row in connection.execute(asked, (name,)).fetchall():
                    shared = set(own).intersection(json.loads(theirs))
                    if shared:
                        return dict(zip(names, row, strict=True)) | {"shared": len(shared)}
            connection.execute(
                "INSERT INTO holdouts (key, run, learner, opened, data, rows) VALUES (?, ?, ?, ?, ?, ?)",
                (key, run, learner, opened, data, canonical(sorted(mine))),
            )
        return None

    def settle_holdout(self, key: str, value: str) -> None:
        """Note what was found on a hold-out part."""
        with self._writing() as connection:
            connection.execute("UPDATE holdouts SET value = ? WHERE key = ? AND value IS NULL", (value, key))

    def __len__(self) -> int:
        return int(self._require().execute("SELECT count(*) FROM units").fetchone()[0])

    def close(self) -> None:
        """Close the file; closing twice does nothing."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


_ALL_UNITS = "SELECT key, what, value, arrays, digest FROM units"
_OPENED = ("key", "run", "learner", "opened", "value")
_COPY = "put a copy of the file in its place, or set aside rows that nobody has seen"


def _text(cell: bytes) -> str | bytes:
    """A text of the file; one that is no UTF-8 stays bytes, which no reader of a cell takes for what was put."""
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return cell


def _name(cell: Any) -> str:
    """A cell as a name that can be told, whatever it holds."""
    return cell.decode(errors="backslashreplace") if isinstance(cell, bytes) else str(cell)


def _is_list(text: Any, kind: type) -> bool:
    """Whether a cell is a list of this kind in JSON."""
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return False
    return isinstance(found, list) and all(isinstance(part, kind) for part in found)


def _is_opening(row: tuple[Any, ...]) -> bool:
    """Whether a row (its rows, then texts, its value last) says which rows were opened, by whom and when."""
    return _is_list(row[0], int) and all(isinstance(cell, str) for cell in row[1:-1])


_SELECT = "SELECT key, what, value, arrays, digest FROM units WHERE key = ?"
_ASK = "INSERT OR IGNORE INTO run_units VALUES (?, ?)"
_INSERT = "INSERT OR REPLACE INTO units (key, what, value, arrays, digest) VALUES (?, ?, ?, ?, ?)"


def _encode(key: str, what: str, value: Mapping[str, Any]) -> tuple[str, str, str, bytes, bytes]:
    arrays = value.get(ARRAYS) or {}
    plain_part = {name: part for name, part in value.items() if name != ARRAYS}
    # In the order given, so that results look the same whether they were run or found.
    text = json.dumps(without_nan(plain_part), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    packed = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    blob = safetensors.numpy.save(packed) if packed else b""
    return key, what, text, blob, _row_digest(key, what, text, blob)


def _decode(row: tuple[Any, ...]) -> dict[str, Any] | None:
    """The value of a row; None where its digest or the type of a cell says that this is not what was put."""
    kinds = zip(row, (str, str, str, bytes, bytes), strict=True)
    if not all(isinstance(cell, kind) for cell, kind in kinds) or _row_digest(*row[:4]) != row[4]:
        return None
    try:
        value = json.loads(row[2])
        arrays = safetensors.numpy.load(row[3]) if row[3] else None
    except (TypeError, ValueError, safetensors.SafetensorError):
        return None
    if not isinstance(value, dict):
        return None
    return value if arrays is None else {**value, ARRAYS: arrays}


def _row_digest(key: str, what: str, text: str, blob: bytes) -> bytes:
    seen = hashlib.blake2b(digest_size=16)
    for part in (*(str(cell).encode(errors="surrogatepass") for cell in (key, what, text)), blob):
        seen.update(len(part).to_bytes(8, "little"))
        seen.update(part)
    return seen.digest()
