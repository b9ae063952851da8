"""Processes and Dask workers killed at random moments of a run: it ends by itself, with the same numbers."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import threading

import pytest

from assay.base.errors import UsageError
from assay.data import read_table
from assay.experiment import Plan, Store, run
from tests.fuzz.kills import kept, processes_below, write_table
from tests.helpers import examples

LEARNERS = ["one-r", "cart-classifier", "knn-classifier", "logistic"]
ROUNDS = 8


def victims(engine: str) -> list[int]:
    """Processes that do the work of runs of this process."""
    mark = b"assay.experiment.apart" if engine == "processes" else b"spawn_main"
    return processes_below(os.getpid(), mark)


class Killer(threading.Thread):
    """Kills one victim after another, at random moments, until it is told to stop."""

    def __init__(self, engine: str, chance: random.Random) -> None:
        super().__init__(daemon=True)
        self.engine, self.chance, self.done, self.kills = engine, chance, threading.Event(), 0

    def run(self) -> None:
        # Rarely enough that a task can end between two kills.
        while self.kills < 2 and not self.done.wait(self.chance.uniform(0.5, 6.0)):
            for victim in self.chance.sample(victims(self.engine), k=1) if victims(self.engine) else ():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
                    self.kills += 1


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_a_run_whose_workers_are_killed_ends_with_the_same_numbers(dask_cluster, tmp_path, engine):
    write_table(tmp_path / "table.csv", 7)
    table = read_table(tmp_path / "table.csv")
    scheduler = dask_cluster.scheduler_address if engine == "dask" else None

    def told(name: str, **how: object) -> list[list[str]]:
        path = tmp_path / f"{name}.sqlite"
        for _ in range(5):
            try:
                with Store(path) as store:
                    results = run(Plan(table, "kind", learners=LEARNERS, design="5x2"), store, **how)
                break
            except UsageError as error:
                # Dask gives up a worker that is killed while it starts; the same run goes on with new ones.
                if "workers" not in str(error):
                    raise
                dask_cluster.scale(2)
        assert not results.failed
        with contextlib.closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        return kept(path)

    expected, kills = told("straight"), 0
    for number in range(examples(ROUNDS)):
        killer = Killer(engine, random.Random(f"{engine}:{number}"))
        killer.start()
        assert told(f"killed-{number}", n_jobs=2, engine=engine, scheduler=scheduler) == expected
        killer.done.set()
        killer.join()
        kills += killer.kills
    assert kills > 0
