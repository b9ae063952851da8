"""Ctrl-C ends a wait for a library that does not listen, within two seconds, and cancels what can be cancelled."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from assay.data.read_waiting import interruptible, interruptible_steps

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) AS top FROM n"
READ = """
import os, signal, sys, threading, time
from assay.data import read_table
import warnings; warnings.simplefilter("ignore")
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
def press():
    global pressed
    pressed = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(1.0, press).start()
try:
    read_table(sys.argv[1])
except KeyboardInterrupt:
    print(time.monotonic() - pressed)
"""


def test_results_and_errors_come_through():
    assert interruptible(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0)
    assert list(interruptible_steps((n for n in (1, 2, 3)), lambda: None)) == [1, 2, 3]


def test_an_interrupt_cancels_and_does_not_wait_for_what_cannot_be_cancelled(request):
    # A process started in the background ignores the signal unless told otherwise.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    stop, cancelled = threading.Event(), []
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interruptible(lambda: stop.wait(600), lambda: cancelled.append(True))
    stop.set()
    assert cancelled and time.monotonic() - began < 300


def endless_sqlite(folder):
    path = folder / "endless.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE VIEW endless AS {ENDLESS}")
        connection.commit()
    return f"sqlite:///{path}"


def endless_duckdb(folder):
    duckdb = pytest.importorskip("duckdb")
    path = folder / "endless.duckdb"
    with contextlib.closing(duckdb.connect(str(path))) as connection:
        connection.execute("CREATE VIEW endless AS SELECT max(a.range * b.range) AS top "
                           "FROM range(100000000) a, range(100000000) b")  # fmt: skip
    return f"duckdb:///{path}"


@pytest.mark.parametrize("endless", [endless_sqlite, endless_duckdb])
def test_an_endless_query_ends_with_ctrl_c(endless, tmp_path):
    ran = subprocess.run(
        [sys.executable, "-c", READ, endless(tmp_path)], capture_output=True, text=True, timeout=900, check=False
    )
    assert ran.returncode == 0 and float(ran.stdout) < 300, ran.stderr  # two seconds on a machine that is not busy
