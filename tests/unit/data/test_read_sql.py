"""Databases are read through URLs, read-only and one statement at a time, and no password is ever shown or kept."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
import warnings
from datetime import datetime
from pathlib import Path

import pytest

from assay import config
from assay.base import DataError, ParameterError
from assay.data import read_batches, read_table, scan_table
from assay.data.read_sql import check_statement, open_address

ROWS = [(1, "pear", 1.5, "2024-05-01"), (2, "fig", None, "2024-05-02"), (3, None, 2.25, "2024-05-03")]


@pytest.fixture
def shop(tmp_path):
    path = tmp_path / "shop.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE orders (number INTEGER, item TEXT, price REAL, day DATE)")
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", ROWS)
        connection.execute('CREATE TABLE "odd ""name" (a)')
        connection.executemany('INSERT INTO "odd ""name" VALUES (?)', [(1,), ("two",), (3.5,)])
        connection.commit()
    return f"sqlite:///{path}"


@pytest.fixture(scope="module")
def duck(tmp_path_factory):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    path = tmp_path_factory.mktemp("duck") / "shop.duckdb"
    with contextlib.closing(duckdb.connect(str(path))) as connection:
        connection.execute("CREATE TABLE orders (number INTEGER, item VARCHAR, price DECIMAL(8, 2), day DATE)")
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", ROWS)
        connection.execute("CREATE SCHEMA stock; CREATE TABLE stock.items AS SELECT range AS n FROM range(120000)")
    return f"duckdb:///{path}"


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    """A real PostgreSQL server, started from the binaries that the package pgserver brings."""
    pytest.importorskip("adbc_driver_postgresql", reason="adbc-driver-postgresql is not installed")
    pgserver = pytest.importorskip("pgserver", reason="the PostgreSQL binaries of pgserver are not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server = pgserver.get_server(tmp_path_factory.mktemp("pg"), cleanup_mode="stop")
    server.psql(
        "CREATE TABLE orders (number int, item text, price numeric(8, 2), day date, paid boolean, at timestamptz);"
        "INSERT INTO orders VALUES (1, 'pear', 1.5, '2024-05-01', true, '2024-05-01 12:00+02'),"
        "(2, 'fig', NULL, '2024-05-02', false, NULL), (3, NULL, 2.25, '2024-05-03', NULL, NULL);"
        "CREATE SCHEMA stock; CREATE TABLE stock.items AS SELECT n, n * 0.5 AS half, 'k' || n % 7 AS kind "
        "FROM generate_series(1, 60000) AS n;"
        "CREATE TABLE empty (a int); CREATE TABLE arrays (a int[]); INSERT INTO arrays VALUES ('{1,2}');"
        "CREATE TABLE kinds AS SELECT 'NaN'::numeric AS n, '00000000-0000-0000-0000-000000000001'::uuid AS u, "
        "'{}'::jsonb AS j, '10:00'::time AS t, 7::bigint AS b, 2.5::float4 AS f;"
        "CREATE TABLE spans AS SELECT '1 day'::interval AS s;"
        "CREATE ROLE reader LOGIN PASSWORD 'tiger tiger';"
    )
    yield server.get_uri()
    server.cleanup()


def address(uri: str, **words: str) -> str:
    from urllib.parse import urlencode

    return uri + ("&" if "?" in uri else "?") + urlencode(words)


def check_orders(table):
    assert table.frame["number"].to_list() == [1, 2, 3]
    assert table.frame["item"].to_list() == ["pear", "fig", None]
    assert table.frame["price"].to_list() == [1.5, None, 2.25]
    assert table.frame["day"].to_list() == [datetime(2024, 5, n) for n in (1, 2, 3)]


def test_a_table_of_sqlite_is_read_by_its_name(shop):
    table = read_table(f"{shop}?table=orders")
    check_orders(table)
    assert table.name == "orders" and table.source == f"{shop}?table=orders"
    assert table.reading == "SQLite, table 'orders', 3 rows, 4 columns"


def test_a_query_is_run_and_kept_in_the_source(shop):
    table = read_table(shop, query="SELECT item, price * 2 AS twice FROM orders ORDER BY number DESC")
    assert table.frame["twice"].to_list() == [4.5, None, 3.0]
    again = read_table(table.source)
    assert again.frame.equals(table.frame) and again.fingerprint == table.fingerprint


def test_a_relative_path_has_three_slashes(shop, monkeypatch):
    monkeypatch.chdir(Path(shop.removeprefix("sqlite:///")).parent)
    check_orders(read_table("sqlite:///shop.db?table=orders"))
    wrong = shop.replace("sqlite:////", "sqlite:///")
    with pytest.raises(DataError, match="relative.*sqlite:////"):
        read_table(wrong)


def test_the_same_rows_have_the_same_fingerprint_from_a_file_and_a_database(shop, tmp_path):
    file = tmp_path / "orders.csv"
    file.write_text("number,item,price,day\n1,pear,1.5,2024-05-01\n2,fig,,2024-05-02\n3,,2.25,2024-05-03\n")
    assert read_table(file).fingerprint == read_table(f"{shop}?table=orders").fingerprint


def test_a_column_of_sqlite_with_words_among_numbers_is_text(shop):
    assert read_table(shop, table='odd "name').frame["a"].to_list() == ["1", "two", "3.5"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"table": "ordres"}, "has no table 'ordres'; did you mean 'orders'?"),
        ({}, "has 2 tables; name one with table= or send a query="),
        ({"query": "SELECT colour FROM orders"}, "no such column: colour"),
        ({"query": "SELECT x'00ff' AS blob"}, "binary data in column 'blob', row 1"),
        ({"query": "SELECT number AS a, item AS a FROM orders"}, "two columns named 'a'"),
        ({"query": "SELECT * FROM orders WHERE number > 9"}, "no rows"),
        ({"query": "DELETE FROM orders"}, "must be one SELECT"),
        ({"query": "SELECT 1; DROP TABLE orders"}, "one statement"),
        ({"query": ""}, "it is empty"),
    ],
)
def test_what_a_database_cannot_answer_is_one_sentence(shop, words, expected):
    with pytest.raises(DataError) as caught:
        read_table(shop, **words)
    text = str(caught.value)
    assert expected in text and "\n" not in text


def test_names_that_stand_twice_can_be_renamed(shop):
    table = read_table(shop, query="SELECT number AS a, item AS a FROM orders", duplicates="rename")
    assert table.columns == ["a", "a_2"]


@pytest.mark.parametrize(
    "statement",
    [
        "WITH gone AS (SELECT 1) INSERT INTO orders(number) SELECT 9 FROM gone",
        "WITH gone AS (SELECT 1) DELETE FROM orders",
    ],
)
def test_nothing_is_written_even_where_a_statement_begins_like_a_query(shop, statement):
    with pytest.raises(DataError):
        read_table(shop, query=statement)
    assert read_table(f"{shop}?table=orders").n_rows == 3


def test_a_file_that_is_no_database_is_refused(tmp_path):
    file = tmp_path / "a.db"
    file.write_text("a,b\n1,2\n" * 200)
    with pytest.raises(DataError, match="not a database"):
        read_table(f"sqlite:///{file}")
    with pytest.raises(DataError, match="does not exist"):
        read_table(f"sqlite:///{tmp_path}/none.db?table=a")
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize(
    ("query", "fine"),
    [
        ("select ';' as a", True),
        ("(SELECT 1) UNION (SELECT 2)", True),
        ("/* SELECT; */ -- x;\nWITH a AS (SELECT 1) TABLE a;", True),
        ("SELECT $tag$ ; $tag$ ;; ", True),
        ("VALUES (1)", True),
        ("SELECT 1; SELECT 2", False),
        ("-- SELECT\nUPDATE t SET a = 1", False),
        ("SELECT '\\'; DROP TABLE t; --'", False),
        ("COPY t TO 'x'", False),
        ("", False),
    ],
)
def test_only_one_reading_statement_is_let_through(query, fine):
    if fine:
        assert check_statement(query) == query
    else:
        with pytest.raises(DataError, match="the query"):
            check_statement(query)


def test_table_and_query_are_checked(shop, tmp_path):
    with pytest.raises(ParameterError, match="exclude each other"):
        read_table(shop, table="orders", query="SELECT 1")
    with pytest.raises(ParameterError, match="given twice"):
        read_table(f"{shop}?table=orders", table="other")
    (tmp_path / "a.csv").write_text("a\n1\n")
    with pytest.raises(ParameterError, match="needs the URL"):
        read_table(tmp_path / "a.csv", table="orders")
    with pytest.raises(ParameterError, match="for files only"):
        read_table(f"{shop}?table=orders", file_column="file")
    with pytest.raises(DataError, match="unknown part 'tabel'"):
        read_table(f"{shop}?tabel=orders")
    with pytest.raises(DataError, match="names no file"):
        read_table("sqlite://")
    with pytest.raises(DataError, match="not read; use sqlite:///"):
        read_table("mysql://root:secret@host/db")


def test_a_result_over_the_memory_limit_is_refused_and_batches_are_named(shop):
    with config.use(max_bytes=20_000), pytest.raises(DataError, match="scan_table"):
        read_table(
            shop, query="WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<9999) SELECT * FROM n"
        )


def test_a_query_is_scanned_in_batches_of_one_schema(shop):
    query = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 120000) SELECT i, i * 0.5 AS h FROM n"
    )
    batches = list(read_batches(shop, 50_000, query=query))
    assert [batch.n_rows for batch in batches] == [50_000, 50_000, 20_000]
    assert sum(batch.frame["h"].sum() for batch in batches) == 0.5 * 120000 * 120001 / 2


def test_duckdb_is_read_with_its_own_types(duck):
    check_orders(read_table(f"{duck}?table=orders"))
    assert read_table(duck, table="stock.items").n_rows == 120_000
    assert sum(batch.n_rows for batch in scan_table(duck, table="stock.items", batch_rows=30_000)) == 120_000


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"table": "ordrs"}, "did you mean 'orders'"),
        ({"query": "SELECT * FROM read_csv('/etc/passwd')"}, "cannot be read"),
        ({"query": "SELECT colour FROM orders"}, "colour"),
    ],
)
def test_duckdb_errors_are_one_sentence_and_other_files_stay_closed(duck, words, expected):
    with pytest.raises(DataError) as caught:
        read_table(duck, **words)
    assert expected in str(caught.value) and "\n" not in str(caught.value) and "root:" not in str(caught.value)


def test_a_real_postgresql_server_is_read(postgres):
    table = read_table(address(postgres, table="orders"))
    check_orders(table)
    assert table.frame["paid"].to_list() == [True, False, None]
    assert table.frame["at"][0] == datetime(2024, 5, 1, 10)
    assert table.name == "orders" and table.reading.startswith("PostgreSQL, table 'orders', 3 rows")
    assert read_table(table.source).fingerprint == table.fingerprint
    half = read_table(postgres, query="SELECT avg(half) AS mean, kind FROM stock.items GROUP BY kind ORDER BY kind;")
    assert half.n_rows == 7 and half.frame["mean"].dtype.is_float()


def test_types_of_postgresql_become_plain(postgres):
    row = read_table(postgres, table="kinds").frame.row(0, named=True)
    assert row == {"n": None, "u": "00000000-0000-0000-0000-000000000001", "j": "{}", "t": 36000.0, "b": 7, "f": 2.5}


def test_tables_of_other_schemas_and_batches_of_postgresql(postgres):
    scan = scan_table(postgres, table="stock.items", batch_rows=25_000, sample_rows=500)
    batches = list(scan)
    assert [batch.n_rows for batch in batches] == [25_000, 25_000, 10_000] and scan.sample_rows == 500
    assert sum(int(batch.frame["n"].sum()) for batch in batches) == 60000 * 60001 // 2
    assert len({tuple(batch.frame.schema.items()) for batch in batches}) == 1
    assert read_table(postgres, table="public.orders").n_rows == 3


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"table": "order"}, "did you mean 'orders'"),
        ({"query": "SELECT colour FROM orders"}, 'column "colour" does not exist'),
        ({"query": "WITH gone AS (DELETE FROM orders RETURNING *) SELECT * FROM gone"}, "cannot be read"),
        ({"query": "SELECT * INTO copy FROM orders"}, "cannot be read"),
        ({"table": "empty"}, "no rows"),
        ({"table": "arrays"}, "column 'a'"),
        ({"table": "spans"}, "column 's'"),
    ],
)
def test_postgresql_errors_are_one_sentence(postgres, words, expected):
    with pytest.raises(DataError) as caught:
        read_table(postgres, **words)
    assert expected in str(caught.value) and "\n" not in str(caught.value)
    assert read_table(address(postgres, table="orders")).n_rows == 3


def test_a_password_is_never_shown_nor_kept(postgres):
    from urllib.parse import urlsplit

    host = urlsplit(postgres).query
    good = f"postgresql://postgres:tiger%20tiger@/postgres?{host}&table=orders"
    table = read_table(good)
    assert "tiger" not in table.source + table.reading + str(table) + repr(table.read_notes)
    assert "tiger" not in str(scan_table(good))
    wrong = f"postgresql://nobody:tiger%20tiger@/none?{host}&table=orders"
    for bad in (wrong, "postgresql://u:tiger%20tiger@127.0.0.1:1/db?table=t", f"{wrong}&password=tiger"):
        with pytest.raises(DataError) as caught:
            read_table(bad)
        assert "tiger" not in str(caught.value) and "\n" not in str(caught.value)
        assert caught.value.__cause__ is None
    base = open_address(f"{wrong}&sslpassword=tiger")
    assert "tiger" not in base.source + repr(base)
    with pytest.raises(DataError) as caught:
        read_table("sqlite://me:tiger@host/shop.db")
    assert "tiger" not in str(caught.value)


@pytest.mark.parametrize(
    ("module", "url"),
    [("duckdb", "duckdb:///a.duckdb"), ("adbc_driver_postgresql", "postgresql://u:secret@h/d?table=t")],
)
def test_a_missing_driver_names_the_extra(module, url, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DataError, match=r"assay\[sql\]") as caught:
        read_table(url)
    assert "secret" not in str(caught.value)
