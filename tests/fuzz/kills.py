"""`assay compare`, killed at random moments: the store stays sound, and the run that goes on gives the same numbers.

The commands run in children forked from a process that has loaded the package and done nothing else, so that a kill
falls into the work and not into imports. A case is its number and a seed; moments depend on the machine.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import random
import signal
import sqlite3
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

ROWS = 240
MODELS = ["--models", "zero-r,one-r,cart-classifier,knn-classifier,logistic", "--design", "10-fold"]
# Seconds after which a command counts as hanging.
HANGING = 300.0


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


def start(folder: Path, name: str, words: list[str]) -> int:
    """The command in a forked child; what it says goes to files beside the table."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        os.chdir(folder)
        for number, ending in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{name}.{ending}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
        sys.argv = ["assay", *words]
        from assay.cli.main import assay

        warnings.simplefilter("ignore")
        assay(prog_name="assay")
    except SystemExit as leave:
        code = leave.code if isinstance(leave.code, int) else 98
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


def command(out: str, jobs: int) -> list[str]:
    return ["compare", "table.csv", "-t", "kind", *MODELS, "--jobs", str(jobs), "--out", out, "--json"]


def undisturbed(folder: Path, seed: int) -> tuple[str, float]:
    """What the command says that nobody disturbs, and the seconds it takes."""
    folder.mkdir(parents=True, exist_ok=True)
    write_table(folder / "table.csv", seed)
    began = time.monotonic()
    code = wait(start(folder, "straight", command("straight", 1)), HANGING)
    if code != 0:
        raise RuntimeError(f"the undisturbed run ended with {code}: {(folder / 'straight.err').read_text()[-800:]}")
    return (folder / "straight.out").read_text(), time.monotonic() - began


def run_case(number: int, seed: int, folder: Path, expected: str, seconds: float) -> tuple[Counter[str], list[str]]:
    """One run killed one to four times, then left alone: what was counted, and what must not happen, in words."""
    chance = random.Random(f"{seed}:{number}")
    out, counts, findings = f"out-{number}", Counter(cases=1), []
    store = folder / out / "store.sqlite"
    for _ in range(chance.choice([1, 2, 3, 4])):
        child = start(folder, out, command(out, chance.choice([1, 2])))
        code = wait(child, chance.uniform(0.0, 1.1 * seconds))
        if code is not None:
            counts["too late"] += 1
            if code != 0:
                findings.append(f"{number}: a run ended with {code}: {said(folder, out)}")
            break
        kill(child)
        counts["kills"] += 1
        if store.exists() and store.stat().st_size:
            with contextlib.closing(sqlite3.connect(store, timeout=30)) as connection:
                told = connection.execute("PRAGMA integrity_check").fetchone()[0]
                tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
                kept = connection.execute("SELECT count(*) FROM units").fetchone()[0] if tables else 0
            counts["caught with work done"] += kept > 0
            if told != "ok":
                findings.append(f"{number}: the store is not sound: {told}")
    child = start(folder, out, command(out, 1))
    code = wait(child, HANGING)
    if code is None:
        kill(child)
        findings.append(f"{number}: the run that went on hangs")
    elif code != 0:
        findings.append(f"{number}: the run that went on ended with {code}: {said(folder, out)}")
    elif (folder / f"{out}.out").read_text() != expected:
        findings.append(f"{number}: the run that went on ended with other numbers")
    elif (folder / out / "results.json").read_text().strip() != expected.strip():
        findings.append(f"{number}: results.json holds other numbers")
    else:
        counts["same numbers"] += 1
        counts["found again"] += "were found in" in (folder / f"{out}.err").read_text()
    return counts, findings


def run_batch(first: int, last: int, seed: int, folder: Path) -> tuple[Counter[str], list[str]]:
    """Cases `first` to `last` on the table of the seed."""
    warm()
    expected, seconds = undisturbed(folder, seed)
    json.loads(expected)
    counts: Counter[str] = Counter()
    findings: list[str] = []
    for number in range(first, last):
        more, found = run_case(number, seed, folder, expected, seconds)
        counts.update(more)
        findings += found
    return counts, findings


if __name__ == "__main__":
    counts, findings = run_batch(*map(int, sys.argv[1:4]), Path(sys.argv[4]))
    print(json.dumps({"counts": counts, "findings": findings}))
