"""`assay compare`, killed at random moments: the store stays sound, and the run that goes on gives the same numbers.

The work runs in children forked from a process that has loaded the package and done nothing else, so that a kill falls
into it and not into imports. Every tenth case runs the command itself and compares what it says; the others plan and
run in Python and compare all that the store holds, the bits of every prediction included. With a cluster, every second
case runs on the workers of a Dask cluster in a process beside, and what is killed is a worker or the run itself; its
numbers must be those of the run on one thread. A case is its number and a seed; moments depend on the machine.

    python -m tests.fuzz.kills FIRST LAST SEED FOLDER [cluster]
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import random
import select
import signal
import sqlite3
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROWS = 240
MODELS, DESIGN = "zero-r,one-r,cart-classifier,knn-classifier,logistic", "10-fold"
# Seconds after which a command counts as hanging.
HANGING = 300.0
# Where the cluster beside tells its address.
ADDRESS = "cluster.txt"
# Workers of the cluster, and how many runs one after the other may end for want of any.
WORKERS, LOST = 2, 5


def warm() -> None:
    """Load all that a comparison needs, and start no thread: what is forked later must find none missing."""
    for name in ("cli.compare", "data", "evaluate", "experiment", "report"):
        importlib.import_module(f"assay.{name}")
    for entry in importlib.import_module("assay.catalogue").entries():
        entry.load()


def write_table(path: Path, seed: int) -> None:
    """A small table with numbers, labels and gaps, and a target of three classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 4))
    kind = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + rng.normal(size=(ROWS, 3)), axis=1)]
    colour = rng.choice(["red", "green", "blue", ""], size=ROWS)
    lines = [",".join([*(f"{v:.4f}" for v in row), colour[i], kind[i]]) for i, row in enumerate(X)]
    path.write_text("\n".join(["w,x,y,z,colour,kind", *lines, ""]))


def command(out: str, jobs: int) -> None:
    """`assay compare` as on the command line."""
    from assay.cli.main import assay

    words = ["compare", "table.csv", "-t", "kind", "--models", MODELS, "--design", DESIGN, "--jobs", str(jobs)]
    sys.argv = ["assay", *words, "--out", out, "--json"]
    assay(prog_name="assay")


def library(out: str, jobs: int, **how: Any) -> None:
    """The same in Python, without the report."""
    from assay.data import read_table
    from assay.experiment import Plan, Store, Tuned, run

    learners = [*MODELS.split(","), Tuned("knn-classifier", trials=4, folds=2)]
    plan = Plan(read_table("table.csv"), "kind", learners=learners, design=DESIGN)
    with Store(Path(out) / "store.sqlite") as store:
        results = run(plan, store, n_jobs=jobs, **how)
    if results.reused:
        print(f"{results.reused} units were found in the store", file=sys.stderr)
    told = json.dumps(kept(Path(out) / "store.sqlite"))
    (Path(out) / "results.json").write_text(told)
    print(told)


def on_workers(out: str, jobs: int) -> None:
    """The same on the workers of the cluster beside."""
    library(out, jobs, engine="dask", scheduler=Path(ADDRESS).read_text())


def kept(store: Path) -> list[list[str]]:
    """What a store holds but for the times: keys, values, and the bytes of the predictions as digests."""
    with contextlib.closing(sqlite3.connect(store)) as connection:
        rows = connection.execute("SELECT key, value, arrays FROM units ORDER BY key").fetchall()
    found = []
    for key, text, arrays in rows:
        value = {name: part for name, part in json.loads(text).items() if not name.endswith("_seconds")}
        found.append([key, json.dumps(value), hashlib.sha256(arrays).hexdigest()])
    return found


def start(folder: Path, work: Callable[[str, int], None], out: str, jobs: int) -> int:
    """The work in a forked child; what it says goes to files beside the table."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        os.chdir(folder)
        for number, ending in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{out}.{ending}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
        warnings.simplefilter("ignore")
        work(out, jobs)
        code = 0
    except SystemExit as leave:
        code = leave.code if isinstance(leave.code, int) else 98
    except BaseException as error:
        print(repr(error), file=sys.stderr)
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def wait(child: int, seconds: float) -> int | None:
    """The exit code of a child (negative: the signal that ended it), or None if it still runs after so long."""
    until = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        left = until - time.monotonic()
        if left <= 0:
            return None
        time.sleep(min(0.002, left))


def said(folder: Path, name: str) -> str:
    return (folder / f"{name}.err").read_text()[-400:]


def kill(child: int) -> int:
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def undisturbed(folder: Path, work: Callable[[str, int], None], name: str = "straight") -> tuple[str, float]:
    """What the work says that nobody disturbs, and the seconds it takes."""
    out = f"{name}-{work.__name__}"
    began = time.monotonic()
    code = wait(start(folder, work, out, 1), HANGING)
    if code != 0:
        raise RuntimeError(f"the undisturbed run ended with {code}: {said(folder, out)}")
    return (folder / f"{out}.out").read_text(), time.monotonic() - began


def processes_below(ancestor: int, mark: bytes) -> list[int]:
    """Processes that descend from one and have the mark in their command."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            words = (entry / "cmdline").read_bytes()
            parents, number = [], int(entry.name)
            while number > 1:
                number = int((Path("/proc") / str(number) / "stat").read_text().rsplit(") ", 1)[1].split()[1])
                parents.append(number)
            if mark in words and ancestor in parents:
                found.append(int(entry.name))
    return sorted(found)


def host_cluster() -> None:
    """A cluster whose workers are started again when they die, until nobody listens any more."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0", memory_limit=0, silence_logs=50
    ) as cluster:
        Path(f"{ADDRESS}.new").write_text(cluster.scheduler_address)
        os.replace(f"{ADDRESS}.new", ADDRESS)
        # Dask gives up a worker that is killed while it starts, so that they are asked for again and again.
        while not select.select([sys.stdin], [], [], 2.0)[0]:
            cluster.scale(WORKERS)


@contextlib.contextmanager
def cluster_beside(folder: Path) -> Iterator[int]:
    """A process with a cluster, which ends with its input."""
    root = Path(__file__).parents[2]
    paths = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    # Paths of the caller may be given from the root, and the process works in the folder.
    paths = os.pathsep.join(str(root / path) for path in paths.split(os.pathsep))
    words = [sys.executable, "-c", "from tests.fuzz.kills import host_cluster as h\nif __name__ == '__main__': h()"]
    host = subprocess.Popen(words, cwd=folder, stdin=subprocess.PIPE, env={**os.environ, "PYTHONPATH": paths})
    try:
        until = time.monotonic() + HANGING
        while not (folder / ADDRESS).exists():
            if host.poll() is not None or time.monotonic() > until:
                raise RuntimeError("the cluster did not start")
            time.sleep(0.1)
        yield host.pid
    finally:
        assert host.stdin is not None
        host.stdin.close()
        host.wait()


def disturbed_on_workers(
    number: int, seed: int, folder: Path, expected: str, seconds: float, host: int
) -> tuple[Counter[str], list[str]]:
    """One run on workers of which up to three are killed, and perhaps the run, then left alone."""
    chance = random.Random(f"{seed}:{number}:workers")
    out, counts, findings = f"out-{number}", Counter({"cases": 1, "on workers": 1}), list[str]()
    child = start(folder, on_workers, out, 1)
    code = None
    for _ in range(chance.choice([1, 1, 2, 3])):
        code = wait(child, chance.uniform(0.0, seconds))
        if code is not None:
            counts["too late"] += 1
            break
        workers = processes_below(host, b"spawn_main")
        if not workers or chance.random() < 0.3:
            kill(child)
            counts["kills"] += 1
            findings += unsound(number, folder / out / "store.sqlite", counts)
            child = start(folder, on_workers, out, 1)
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(workers), signal.SIGKILL)
                counts["worker kills"] += 1
    code = wait(child, HANGING) if code is None else code
    for _ in range(LOST):
        if code in (0, None) or "workers" not in said(folder, out):
            break
        # Told that no worker came back in time: the same run goes on when there are some.
        counts["told of lost workers"] += 1
        child = start(folder, on_workers, out, 1)
        code = wait(child, HANGING)
    findings += unsound(number, folder / out / "store.sqlite", Counter())
    findings += ending(number, folder, out, code, child, expected, counts)
    return counts, findings


def unsound(number: int, store: Path, counts: Counter[str]) -> list[str]:
    """What SQLite finds wrong with a store after a kill; work that was done is counted."""
    if not store.exists() or not store.stat().st_size:
        return []
    with contextlib.closing(sqlite3.connect(store, timeout=30)) as connection:
        told = connection.execute("PRAGMA integrity_check").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        kept = connection.execute("SELECT count(*) FROM units").fetchone()[0] if tables else 0
    counts["caught with work done"] += kept > 0
    return [] if told == "ok" else [f"{number}: the store is not sound: {told}"]


def ending(
    number: int, folder: Path, out: str, code: int | None, child: int, expected: str, counts: Counter[str]
) -> list[str]:
    """What is wrong with the end of the run that went on."""
    if code is None:
        kill(child)
        return [f"{number}: the run that went on hangs"]
    if code != 0:
        return [f"{number}: the run that went on ended with {code}: {said(folder, out)}"]
    if (folder / f"{out}.out").read_text() != expected:
        return [f"{number}: the run that went on ended with other numbers"]
    if (folder / out / "results.json").read_text().strip() != expected.strip():
        return [f"{number}: results.json holds other numbers"]
    counts["same numbers"] += 1
    counts["found again"] += "found in" in (folder / f"{out}.err").read_text()
    return []


def run_case(
    number: int, seed: int, folder: Path, straight: dict[Any, tuple[str, float]], pace: float
) -> tuple[Counter[str], list[str]]:
    """One run killed one to four times, then left alone: what was counted, and what must not happen, in words."""
    chance = random.Random(f"{seed}:{number}")
    work = command if number % 10 == 0 else library
    expected, seconds = straight[work]
    out, counts, findings = f"out-{number}", Counter(cases=1), []
    store = folder / out / "store.sqlite"
    for _ in range(chance.choice([1, 2, 3, 4])):
        child = start(folder, work, out, chance.choice([1, 2]))
        code = wait(child, chance.uniform(0.0, pace * seconds))
        if code is not None:
            counts["too late"] += 1
            if code != 0:
                findings.append(f"{number}: a run ended with {code}: {said(folder, out)}")
            break
        kill(child)
        counts["kills"] += 1
        findings += unsound(number, store, counts)
    child = start(folder, work, out, 1)
    findings += ending(number, folder, out, wait(child, HANGING), child, expected, counts)
    return counts, findings


def run_batch(
    first: int, last: int, seed: int, folder: Path, *, cluster: bool = False
) -> tuple[Counter[str], list[str]]:
    """Cases `first` to `last` on the table of the seed; with a cluster, every second one on its workers."""
    warm()
    folder.mkdir(parents=True, exist_ok=True)
    write_table(folder / "table.csv", seed)
    straight = {work: undisturbed(folder, work) for work in (command, library)}
    counts: Counter[str] = Counter()
    findings: list[str] = []
    pace = 1.0
    with contextlib.ExitStack() as stack:
        host = stack.enter_context(cluster_beside(folder)) if cluster else 0
        if cluster:  # the second time, since workers load the package with their first task
            seconds = [undisturbed(folder, on_workers, name)[1] for name in ("first", "second")][1]
        for number in range(first, last):
            if cluster and number % 2:
                expected = straight[library][0]
                more, found = disturbed_on_workers(number, seed, folder, expected, pace * seconds, host)
            else:
                more, found = run_case(number, seed, folder, straight, pace)
            # The machine may have become faster than it was for the undisturbed runs.
            pace = pace * 0.8 if more["too late"] else min(1.0, pace * 1.1)
            counts.update(more)
            findings += found
            if sys.stderr.isatty() or os.environ.get("FUZZ_TOLD"):
                print(json.dumps({"case": number, "counts": counts, "findings": found}), file=sys.stderr, flush=True)
    return counts, findings


if __name__ == "__main__":
    first, last, seed = map(int, sys.argv[1:4])
    counts, findings = run_batch(first, last, seed, Path(sys.argv[4]), cluster=sys.argv[5:] == ["cluster"])
    print(json.dumps({"counts": counts, "findings": findings}))
