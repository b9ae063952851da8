"""Files of every format, broken in seeded ways: reading them gives a table or one sentence.

`python -m tests.fuzz.readers 10000` tries so many and prints a tally (the one in docs/design/robustness.md).
"""

from __future__ import annotations

import collections
import contextlib
import gzip
import io
import json
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import polars as pl

from assay import config
from assay.base.errors import AssayError
from assay.data import audit, read_table, scan_table

ROWS = 60
INTERESTING = [b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\xff" * 8, b"\xff" * 7 + b"\x7f"]
TOKENS = [
    b'"',
    b"\n",
    b"\r",
    b",",
    b";",
    b"\t",
    b"{",
    b"}",
    b"\\u",
    b"NaN",
    b"1e999",
    b"#",
    b"'",
    b"@",
    b"\xef\xbb\xbf",
    b"\xff",
]


def frame() -> pl.DataFrame:
    """A small table of numbers, labels, dates and gaps."""
    chance = random.Random(7)
    return pl.DataFrame(
        {
            "n": [None if i % 11 == 5 else i for i in range(ROWS)],
            "x": [None if i % 9 == 2 else round(chance.gauss(0, 3), 3) for i in range(ROWS)],
            "colour": [chance.choice(["red", "green", "blü"]) for _ in range(ROWS)],
            "day": [date(2024, 1, 1) + timedelta(days=i) for i in range(ROWS)],
            "flag": [bool(i % 3) for i in range(ROWS)],
        }
    )


def corpus() -> dict[str, bytes]:
    """One file of each kind, as bytes under the name that says its format."""
    table = frame()
    text = table.write_csv()
    files = {
        "plain.csv": text.encode(),
        "dresden.csv": table.write_csv(separator=";").replace(".", ",").encode("cp1252"),
        "tabs.tsv": table.write_csv(separator="\t").encode("utf-16"),
        "packed.csv.gz": gzip.compress(text.encode(), mtime=0),
        "quoted.csv": table.write_csv(quote_style="always", line_terminator="\r\n").encode(),
        "lines.ndjson": table.with_columns(pl.col("day").cast(pl.String)).write_ndjson().encode(),
        "weka.arff": arff(table),
    }
    for name in ("snappy", "zstd", "uncompressed"):
        files[f"{name}.parquet"] = written(lambda out, kind=name: table.write_parquet(out, compression=kind))
    for name in ("lz4", "zstd", "uncompressed"):
        files[f"{name}.feather"] = written(lambda out, kind=name: table.write_ipc(out, compression=kind))
    files["stream.arrow"] = written(table.write_ipc_stream)
    files["shop.db"] = database(table)
    with contextlib.suppress(ImportError):
        import fastexcel  # noqa: F401
        import xlsxwriter

        book = io.BytesIO()
        with xlsxwriter.Workbook(book, {"in_memory": True}) as workbook:
            sheet = workbook.add_worksheet("Data")
            for k, row in enumerate([table.columns, *table.with_columns(pl.col("day").cast(pl.String)).rows()]):
                sheet.write_row(k, 0, row)
        files["book.xlsx"] = book.getvalue()
    with contextlib.suppress(ImportError):
        files["shop.duckdb"] = duckdb_file(table)
    return files


def written(write) -> bytes:
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def arff(table: pl.DataFrame) -> bytes:
    head = [
        "@relation t",
        "@attribute n numeric",
        "@attribute x real",
        "@attribute colour {red,green,blü}",
        "@attribute day date yyyy-MM-dd",
        "@attribute flag {true,false}",
        "@data",
    ]
    rows = [
        ",".join("?" if c is None else str(c).lower() if isinstance(c, bool) else str(c) for c in row)
        for row in table.rows()
    ]
    return "\n".join([*head, *rows, ""]).encode()


def database(table: pl.DataFrame) -> bytes:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (n INTEGER, x REAL, colour TEXT, day TEXT, flag TEXT)")
        rows = table.with_columns(pl.col("day", "flag").cast(pl.String)).rows()
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
        connection.commit()
        return connection.serialize()


def duckdb_file(table: pl.DataFrame) -> bytes:
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.duckdb"
        with contextlib.closing(duckdb.connect(str(path))) as connection:
            connection.register("given", table.to_arrow())
            connection.execute("CREATE TABLE t AS SELECT * FROM given")
        return path.read_bytes()


def mutate(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """The file with one to four seeded wounds."""
    wounded = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        size = len(wounded)
        if size < 8:
            break
        # Heads and tails hold what decoders believe first.
        at = chance.choice(
            [chance.randrange(size), chance.randrange(min(size, 200)), size - 1 - chance.randrange(min(size, 400))]
        )
        long = chance.choice([1, 2, 4, 8, 64, 500])
        kind = chance.randrange(10)
        if kind == 0:
            wounded[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            wounded[at] = chance.randrange(256)
        elif kind == 2:
            value = chance.choice(INTERESTING)
            wounded[at : at + len(value)] = value
        elif kind == 3:
            wounded[at : at + long] = bytes(len(wounded[at : at + long]))
        elif kind == 4:
            del wounded[at : at + long]
        elif kind == 5:
            wounded[at:at] = wounded[max(0, at - long) : at]
        elif kind == 6:
            wounded[at:at] = chance.choice(TOKENS) * chance.choice([1, 1, 3])
        elif kind == 7:
            del wounded[at:]
        elif kind == 8:
            wounded[at : at + long] = other[:long]
        else:
            wounded[at : at + long] = chance.randbytes(long)
    return bytes(wounded)


def attempt(path: Path, how: int) -> str:
    """What reading a file gives: "table", "refused", or what must not happen, in words."""
    source = str(path)
    if path.suffix in (".db", ".duckdb"):
        source = f"{'sqlite' if path.suffix == '.db' else 'duckdb'}:///{path}"
    try:
        with config.use(max_bytes=5e8):
            if how == 0:
                for batch in scan_table(source, batch_rows=25):
                    assert batch.n_rows > 0
            else:
                table = read_table(source)
                if how == 1:
                    json.dumps(audit(table).to_dict(), allow_nan=False)
    except AssayError as error:
        return (
            "refused" if "\n" not in str(error) and str(error).endswith((".", "!", "?")) else f"no sentence: {error!r}"
        )
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]
    return "table"


def cases(count: int, seed: int) -> Iterator[tuple[str, bytes, int]]:
    """Names, bytes and ways to read, in an order that the seed settles."""
    files = corpus()
    names = sorted(files)
    for k in range(count):
        chance = random.Random(f"{seed}:{k}")
        name = names[k % len(names)]
        yield name, mutate(files[name], files[chance.choice(names)], chance), chance.choice([0, 1, 2, 2])


def try_all(count: int, seed: int, say=None) -> collections.Counter:
    """How often each format was read, refused, or worse."""
    tally: collections.Counter = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for k, (name, data, how) in enumerate(cases(count, seed)):
            path = Path(folder) / f"{k}-{name}"
            path.write_bytes(data)
            if say:
                say(k, name)
            began = time.monotonic()
            found = attempt(path, how)
            if time.monotonic() - began > 60:
                found = f"took {time.monotonic() - began:.0f} s: {found}"
            tally[name, found] += 1
            if found in ("table", "refused"):
                path.unlink()
            elif say:
                Path("build").mkdir(exist_ok=True)
                (Path("build") / f"bad-{k}-{name}").write_bytes(data)
    return tally


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    wanted, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    trace = Path(sys.argv[3]) if len(sys.argv) > 3 else None

    def say(k: int, name: str) -> None:
        if trace:
            trace.write_text(f"file {k} of seed {seed}, {name}")

    total = try_all(wanted, seed, say)
    counts = collections.Counter({"files": sum(total.values()), "table": 0, "refused": 0})
    for (_, outcome), times in total.items():
        counts[outcome if outcome in counts else "anything else"] += times
    wrong = [f"seed {seed}, {name}: {outcome}" for name, outcome in total if outcome not in counts]
    print(json.dumps({"counts": counts, "findings": wrong}))
