"""The store: one SQLite row per finished unit of work, so that a killed run goes on where it stopped.

A unit is one learner on one fold (or on all rows, for its view). Its key is the hash of everything its result depends
on: data, target, the columns used and their roles, preparation, learner and parameters, row numbers of the fold, seed
and code version; not the metrics, the number of jobs or the order of the work. A value is JSON text and, beside it,
arrays as safetensors: the predictions of the rows left out, from which any metric follows without a fit. Every row
carries a digest of all that it holds; a row whose digest does not agree is work not done. The journal is SQLite's
write-ahead log with full synchronisation: a commit that returned survives a killed process and a power cut, and a
half-written one is rolled back when the file is opened again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from ..base.errors import DataError, plain
from ..base.record import jsonable

SCHEMA_VERSION = 2
APPLICATION_ID = 0x41535341

# The words of an error about a damaged file may themselves be damaged.
_DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)

_AWAY = "move it away, forget it with --fresh or choose another folder with --out"

ARRAYS = "arrays"
"""The entry of a value that holds its arrays, by name."""

_CREATE = """
CREATE TABLE units (
    key TEXT PRIMARY KEY,
    what TEXT NOT NULL,
    value TEXT NOT NULL,
    arrays BLOB NOT NULL,
    digest BLOB NOT NULL
)
"""


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


class Store:
    """A file of finished units. Only the thread that opened it may use it; that thread is the one writer.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder, Store(pathlib.Path(folder) / "store.sqlite") as store:
    ...     store.put([("k1", "ZeroR, fold 1", {"scores": {"accuracy": 0.5}})])
    ...     store.get(["k1", "k2"])
    {'k1': {'scores': {'accuracy': 0.5}}}
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        self._connection: sqlite3.Connection | None = None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._open()
        except OSError as error:
            raise self._refusal(f"cannot be opened ({error.strerror or error})", "choose another folder") from None
        except sqlite3.OperationalError as error:
            self.close()
            raise self._refusal(f"cannot be opened ({error})", "choose another folder") from None
        except _DAMAGE:
            self.close()
            raise self._refusal("is not an Assay store", _AWAY) from None
        except DataError:
            self.close()
            raise

    def _open(self) -> None:
        self._connection = connection = sqlite3.connect(self.path, timeout=30.0, isolation_level=None)
        connection.execute("PRAGMA busy_timeout = 30000")
        version, application = self._pragma("user_version"), self._pragma("application_id")
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if tables and application != APPLICATION_ID:
            raise self._refusal("is a database of another program", "move it away or choose another file")
        if tables and not 1 <= version <= SCHEMA_VERSION:
            raise self._refusal(
                f"was written with schema version {version} and this Assay reads version {SCHEMA_VERSION}",
                "move it away or use the Assay that wrote it",
            )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        if not tables or version < SCHEMA_VERSION:
            connection.execute("BEGIN IMMEDIATE")
            # Two processes may have found the file empty; the second one to get here has nothing left to create.
            found = self._pragma("user_version")
            if found < SCHEMA_VERSION:
                # Rows of an older schema have no digest and come from older code, whose keys are never asked for.
                connection.execute("DROP TABLE IF EXISTS units")
                connection.execute(_CREATE)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.execute("COMMIT")

    def _pragma(self, name: str) -> int:
        assert self._connection is not None
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])

    def _refusal(self, rule: str, way_out: str) -> DataError:
        return DataError("store", f"file '{plain(self.path, 200)}'", rule, way_out=way_out)

    def _require(self) -> sqlite3.Connection:
        if self._connection is None:
            raise self._refusal("is closed", "open it again")
        return self._connection

    def get(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """The finished units among `keys`; a row that cannot be read counts as not finished."""
        connection, found = self._require(), {}
        try:
            for key in keys:
                row = connection.execute(_SELECT, (key,)).fetchone()
                value = _decode(row) if row is not None and row[0] == key else None
                if value is not None:
                    found[key] = value
        except _DAMAGE as error:
            raise self._refusal(f"cannot be read ({error})", _AWAY) from None
        return found

    def put(self, units: Iterable[tuple[str, str, Mapping[str, Any]]]) -> None:
        """Keep finished units (key, what it is in words, value) in one transaction."""
        rows = [_encode(key, what, value) for key, what, value in units]
        connection = self._require()
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.executemany(_INSERT, rows)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        except _DAMAGE as error:
            raise self._refusal(f"cannot be written ({error})", "free some space or choose another folder") from None

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


_SELECT = "SELECT key, what, value, arrays, digest FROM units WHERE key = ?"
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
