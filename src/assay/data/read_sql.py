"""A table or a query of SQLite, DuckDB or PostgreSQL as frames: read-only, one statement, no password in any text.

The address is a URL: `sqlite:///shop.db?table=orders`, `duckdb:///shop.duckdb?query=SELECT ...`,
`postgresql://user@host/db?table=schema.orders`. As usual for such URLs, a path after three slashes is relative and
one after four is absolute. Everything else after `?` goes to PostgreSQL (`sslmode=require`, `host=/run/postgresql`).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

import polars as pl

from ..base.errors import DataError, ParameterError, plain
from .read_delimited import unique_names
from .read_notes import WHO, Decision, refuse
from .read_source import Piece, check_file, check_no_address, database_of
from .read_waiting import interruptible_steps
from .roles import nearest

_ROWS = 50_000
_TOLD = ("user", "host", "hostaddr", "port", "dbname", "sslmode", "connect_timeout", "application_name")
"""Parameters of a PostgreSQL address that may be shown; any other, whose name may be mistyped, may be a secret."""
_STARTS = ("select", "with", "table", "values", "from")
_EXTRA = {"DuckDB": "duckdb", "PostgreSQL": "adbc-driver-postgresql and pyarrow"}
_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$.*?\$\1\$|--[^\n]*|/\*.*?\*/|;|\w+|\S""", re.DOTALL)


@dataclass(frozen=True)
class Database:
    """Where a database is, what to read from it, and the words (passwords) that no message may hold."""

    kind: str
    path: Path | None
    address: str = field(repr=False)
    table: str | None
    query: str | None
    source: str
    secrets: tuple[str, ...] = field(repr=False)

    @property
    def shown(self) -> str:
        """How messages name the database."""
        return f"database '{plain(self.path or self.source.split('?')[0], 300)}'"

    @property
    def name(self) -> str:
        """A name for the table that is read."""
        return self.table.rpartition(".")[2] if self.table else "query"


def open_address(url: str, table: str | None = None, query: str | None = None) -> Database:
    """Take a URL apart and check what it asks for; nothing is opened yet."""
    kind = database_of(url)
    assert kind is not None
    parts = _taken_apart(url.strip())
    if parts is None:
        raise refuse(
            f"the address of a {kind} database",
            "is no URL",
            way_out="check host, port and brackets, and write %40 for @, %2F for /, %3A for : and %23 for # "
            "in a user name or password",
        )
    password = parts.password or ""
    given = parse_qsl(parts.query, keep_blank_values=True)
    asked = {key: value for key, value in given if key in ("table", "query")}
    rest = [(key, value) for key, value in given if key not in ("table", "query")]
    for name, value in (("table", table), ("query", query)):
        if value is not None:
            if name in asked and asked[name] != value:
                raise ParameterError(WHO, f"parameter '{name}'", "is given twice: in the address and beside it")
            asked[name] = value
    if len(asked) == 2:
        raise ParameterError(WHO, "parameters 'table' and 'query'", "exclude each other", way_out="give one of them")
    if asked.get("query") is not None:
        check_statement(asked["query"])
    secrets = [password, unquote(password)]
    secrets += [value for key, value in rest if key not in _TOLD]
    open_rest = [(key, value) for key, value in rest if key in _TOLD]
    path: Path | None = None
    if kind == "PostgreSQL":
        user = f"{parts.username}@" if parts.username else ""
        place = f"{user}{parts.netloc.rpartition('@')[2]}{parts.path}"
        address = f"postgresql://{parts.netloc}{parts.path}" + (f"?{urlencode(rest, quote_via=quote)}" if rest else "")
        source = f"postgresql://{place}"
    else:
        if parts.netloc or not parts.path.strip("/"):
            raise refuse(
                f"the address of a {kind} database",
                "names no file",
                way_out=f"write {kind.lower()}:///relative/path or {kind.lower()}:////absolute/path",
            )
        path = Path(unquote(parts.path[1:]))
        check_no_address(str(path))
        address, source = str(path), f"{kind.lower()}:///{quote(str(path))}"
        if rest:
            raise refuse(
                f"the address of {kind} file '{plain(path, 200)}'",
                f"has the unknown part '{plain(rest[0][0])}'",
                way_out="use table= or query=",
            )
    told = urlencode([*open_rest, *asked.items()], quote_via=quote)
    source += f"?{told}" if told else ""
    secret = tuple(sorted({word for word in secrets if word}, key=len, reverse=True))
    return Database(kind, path, address, asked.get("table"), asked.get("query"), source, secret)


def _taken_apart(url: str) -> SplitResult | None:
    """The parts of a well-formed URL; None for any other, in which a password could be taken for something else."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    user, _, place = parts.netloc.rpartition("@")
    fine = not re.search(r"[\s@\\]", user + place + parts.path) and not parts.fragment and "\0" not in url
    names = [key for key, _ in parse_qsl(parts.query, keep_blank_values=True)]
    return parts if fine and all(re.fullmatch(r"\w+", name) for name in names) else None


def check_statement(query: str) -> str:
    """The query, if it is one statement that reads; anything else is refused before a connection is made.

    >>> check_statement("SELECT 1; -- done")
    'SELECT 1; -- done'
    >>> check_statement("DROP TABLE orders")
    Traceback (most recent call last):
    ...
    assay.base.errors.DataError: read_table: the query must be one SELECT, WITH, VALUES or TABLE; got 'DROP ...'.
    """
    words = [m.group() for m in _TOKEN.finditer(query) if not m.group().startswith(("--", "/*"))]
    while words and words[-1] == ";":
        words.pop()
    start = next((word for word in words if word != "("), "")
    if start.lower() not in _STARTS:
        came = f"got '{plain(start, 20)} ...'" if start else "it is empty"
        raise DataError(WHO, "the query", "must be one SELECT, WITH, VALUES or TABLE", came)
    if ";" in words:
        raise DataError(WHO, "the query", "must be one statement", "there is text after a semicolon", "send one query")
    return query


def sql_pieces(database: Database, decided: list[Decision], duplicates: str = "error") -> Iterator[Piece]:
    """The rows of a table or query as frames, fetched in parts; `decided` is filled with what was chosen."""
    readers = {"SQLite": _sqlite, "DuckDB": _duckdb, "PostgreSQL": _postgresql}
    row = 1
    running = _Running()
    for names, columns in interruptible_steps(readers[database.kind](database, decided, running), running.cancel):
        unique = unique_names(list(names), database.shown, duplicates)
        unique = [name or f"column_{place}" for place, name in enumerate(unique, start=1)]
        piece = pl.DataFrame([series.rename(name) for series, name in zip(columns, unique)])
        yield Piece(database.shown, row, piece)
        row += piece.height


Columns = tuple[list[str], list[pl.Series]]


class _Running:
    """What stops the statement that runs: set by a reader, called on Ctrl-C."""

    def __init__(self) -> None:
        self.cancel_now: Callable[[], Any] | None = None

    def cancel(self) -> None:
        if self.cancel_now is not None:
            self.cancel_now()


def _sqlite(database: Database, decided: list[Decision], running: _Running) -> Generator[Columns, None, None]:
    import sqlite3

    assert database.path is not None
    _check_path(database)
    uri = f"file:{quote(str(database.path.absolute()))}?mode=ro"
    failed = None
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True, check_same_thread=False)) as connection:
            running.cancel_now = connection.interrupt
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
            found = connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY 1"
            )
            cursor = connection.execute(_statement(database, {name: ("", name) for (name,) in found}, decided))
            names = [column[0] for column in cursor.description]
            row, any_rows = 1, False
            while True:
                rows = cursor.fetchmany(_ROWS)
                if not rows and any_rows:
                    return
                cells = zip(*rows) if rows else [[] for _ in names]
                yield names, [_dynamic(n, list(c), database, row) for n, c in zip(names, cells)]
                row, any_rows = row + len(rows), True
    except (sqlite3.Error, sqlite3.Warning, UnicodeError) as error:
        failed = _failed(database, error)
    if failed is not None:
        raise failed


def _dynamic(name: str, cells: list[Any], database: Database, first_row: int) -> pl.Series:
    """A column of SQLite, where every cell has its own type: one type for all, or all as text."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    if bytes in kinds:
        row = next(n for n, cell in enumerate(cells) if isinstance(cell, bytes))
        raise refuse(
            database.shown,
            f"holds binary data in column '{plain(name)}', row {first_row + row}",
            way_out="leave the column out with query=",
        )
    if not kinds:
        return pl.Series(name, cells, dtype=pl.Null)
    if kinds == {int}:
        return pl.Series(name, cells, dtype=pl.Int64)
    if kinds <= {int, float} and not any(isinstance(c, int) and abs(c) > 2**53 for c in cells):
        return pl.Series(name, [None if c is None else float(c) for c in cells], dtype=pl.Float64)
    return pl.Series(name, [None if c is None else str(c) for c in cells], dtype=pl.String)


def _duckdb(database: Database, decided: list[Decision], running: _Running) -> Generator[Columns, None, None]:
    try:
        import duckdb
        import pyarrow
    except ImportError:
        raise _no_driver(database) from None
    _check_path(database)
    failed = None
    try:
        config: dict[str, Any] = {"enable_external_access": "false", "autoinstall_known_extensions": "false"}
        with contextlib.closing(duckdb.connect(str(database.path), read_only=True, config=config)) as connection:
            running.cancel_now = connection.interrupt
            connection.execute("SET enable_progress_bar = false")  # which would be written on stdout
            found = connection.execute(
                "SELECT table_schema, table_name FROM information_schema.tables "
                "WHERE table_schema NOT IN ('information_schema', 'pg_catalog') ORDER BY 1, 2"
            ).fetchall()
            tables = {name if schema == "main" else f"{schema}.{name}": (schema, name) for schema, name in found}
            result: Any = connection.sql(_statement(database, tables, decided))
            reader = getattr(result, "to_arrow_reader", None) or result.fetch_arrow_reader
            yield from _arrow(reader(_ROWS), database)
    except (duckdb.Error, pyarrow.ArrowException, UnicodeError) as error:
        failed = _failed(database, error)
    if failed is not None:
        raise failed


def _postgresql(database: Database, decided: list[Decision], running: _Running) -> Generator[Columns, None, None]:
    try:
        import adbc_driver_manager
        import adbc_driver_postgresql.dbapi as driver
        import pyarrow
    except ImportError:
        raise _no_driver(database) from None
    failed = None
    try:
        with contextlib.closing(driver.connect(database.address)) as connection, connection.cursor() as cursor:
            running.cancel_now = cursor.adbc_cancel
            cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
            connection.commit()
            cursor.execute(
                "SELECT n.nspname, c.relname, pg_table_is_visible(c.oid) FROM pg_class c JOIN pg_namespace n "
                "ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname NOT IN "
                "('pg_catalog', 'information_schema', 'pg_toast') ORDER BY 1, 2"
            )
            found = cursor.fetchall()
            tables = {name if seen else f"{schema}.{name}": (schema, name) for schema, name, seen in found}
            cursor.execute(_statement(database, tables, decided).rstrip().rstrip(";"))
            yield from _arrow(cursor.fetch_record_batch(), database)
    except (adbc_driver_manager.Error, pyarrow.ArrowException, UnicodeError) as error:
        failed = _failed(database, error)
    if failed is not None:
        raise failed


def _arrow(reader: Any, database: Database) -> Iterator[Columns]:
    """Batches of an Arrow stream as Polars columns; opaque types of the database are read as their text."""
    names, any_rows = [str(name) for name in reader.schema.names], False
    for batch in reader:
        if batch.num_rows:
            any_rows = True
            yield names, [_arrow_column(f, a, database) for f, a in zip(reader.schema, batch.columns)]
    if not any_rows:
        yield names, [pl.Series(name, [], dtype=pl.String) for name in names]


def _arrow_column(field: Any, array: Any, database: Database) -> pl.Series:
    import pyarrow as pa

    name, kind = str(field.name), ""
    for key, value in (field.metadata or {}).items():
        if key.lower() in (b"postgresql:type", b"adbc:postgresql:typname"):
            kind = value.decode("utf-8", "replace")
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    try:
        if kind == "uuid" and (pa.types.is_fixed_size_binary(array.type) or pa.types.is_binary(array.type)):
            return pl.Series(name, [_uuid(cell) for cell in array.to_pylist()], dtype=pl.String)
        return pl.Series(name, pl.from_arrow(array))
    except (TypeError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise refuse(
            database.shown,
            f"has a column '{plain(name)}' of the type {plain(kind or array.type, 40)}, which is not read",
            way_out="cast it to text or leave it out with query=",
        ) from None


def _uuid(cell: bytes | None) -> str | None:
    from uuid import UUID

    return None if cell is None else str(UUID(bytes=cell))


def _check_path(database: Database) -> None:
    assert database.path is not None
    if not database.path.exists() and (absolute := Path("/", *database.path.parts)).exists():
        raise refuse(
            f"file '{plain(database.path, 300)}'",
            "does not exist",
            "a path after three slashes is relative",
            f"write {database.kind.lower()}:///{plain(absolute, 300)} for the absolute one",
        )
    check_file(database.path)


def _statement(database: Database, tables: dict[str, tuple[str, str]], decided: list[Decision]) -> str:
    """The query to run: the one given, or all of the table that was named or is the only one."""
    if database.query is not None:
        return database.query
    table = database.table
    if table is None:
        if len(tables) != 1:
            shown = ", ".join(f"'{plain(name, 40)}'" for name in list(tables)[:8]) + (
                ", ..." if len(tables) > 8 else ""
            )
            raise refuse(
                database.shown,
                f"has {len(tables)} tables" if tables else "has no tables",
                way_out=f"name one with table= or send a query=: {shown}" if tables else "",
            )
        table = next(iter(tables))
        decided.append(Decision("table", table, 1.0, "it is the only one"))
    full = {f"{schema}.{name}": (schema, name) for schema, name in tables.values() if schema}
    found = tables.get(table) or full.get(table)
    if found is None:
        lowered = {key.lower(): place for key, place in [*full.items(), *tables.items()]}
        found = lowered.get(table.lower())
    if found is None:
        hint = nearest(table, list(tables), "its tables are") if tables else ""
        raise refuse(database.shown, f"has no table '{plain(table)}'", way_out=hint or "it has no tables")
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in found if part)
    return f"SELECT * FROM {quoted}"


def _failed(database: Database, error: Exception) -> DataError:
    text = str(error).strip()
    for secret in database.secrets:
        text = text.replace(secret, "***")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("^")]
    return refuse(
        database.shown,
        "cannot be read",
        plain(" ".join(lines), 240).rstrip("."),
        "check the query" if database.query is not None else "check the address",
    )


def _no_driver(database: Database) -> DataError:
    return refuse(
        database.shown,
        f"is a {database.kind} database, which needs {_EXTRA[database.kind]}",
        way_out="install them with pip install 'assay[sql]'",
    )
