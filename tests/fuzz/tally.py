"""Long runs of the fuzz suites with a tally that can be gone on with.

    python -m tests.fuzz.tally estimators 50000 --seed 7
    python -m tests.fuzz.tally readers 10000
    python -m tests.fuzz.tally kills 500
    python -m tests.fuzz.tally packages 10000

runs batches in processes of their own until so many calls, files or kills are counted. Each finished batch is a line of
`build/fuzz/KIND-SEED.jsonl` with its commit and date; the same command goes on after the last one. A process that dies
is a finding. The numbers of docs/design/robustness.md come from here.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# What is counted, and how many cases one batch has.
KINDS = {
    "estimators": ("calls", 500),
    "readers": ("files", 500),
    "kills": ("kills", 25),
    "packages": ("packages", 1000),
}


def estimators(batch: int, size: int, seed: int, folder: Path) -> dict[str, Any]:
    from .estimators import run_batch

    outcome = vars(run_batch(batch * size, (batch + 1) * size, seed, folder))
    findings = outcome.pop("findings")
    return {"counts": outcome, "findings": findings}


def readers(batch: int, size: int, seed: int, folder: Path) -> dict[str, Any]:
    trace = folder / "last.txt"
    return _child(["tests.fuzz.readers", str(size), str(1000 * seed + batch), str(trace)], trace)


def kills(batch: int, size: int, seed: int, folder: Path) -> dict[str, Any]:
    return _child(["tests.fuzz.kills", str(batch * size), str((batch + 1) * size), str(seed), str(folder)])


def packages(batch: int, size: int, seed: int, folder: Path) -> dict[str, Any]:
    from .packages import run_apart

    return run_apart(batch * size, (batch + 1) * size, seed, folder)


def _child(words: list[str], trace: Path | None = None) -> dict[str, Any]:
    """What the child says in JSON; its death is a finding that names what it was at."""
    run = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, check=False, cwd=ROOT)
    if run.returncode == 0:
        return json.loads(run.stdout.splitlines()[-1])
    place = trace.read_text() if trace is not None and trace.exists() else " ".join(words)
    said = run.stderr[-600:].replace("\n", " | ")
    return {"counts": {}, "findings": [f"{place}: the process ended with {run.returncode}: {said}"]}


def run(kind: str, wanted: int, seed: int, folder: Path) -> Counter[str]:
    """Go on until `wanted` are counted; the sum over all batches, those of earlier runs included."""
    counted, size = KINDS[kind]
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{kind}-{seed}.jsonl"
    lines = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    total: Counter[str] = Counter()
    for line in lines:
        total.update(line["counts"])
        total["findings"] += len(line["findings"])
    for batch in range(len(lines), 10**9):
        if total[counted] >= wanted:
            break
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as place:
            line = globals()[kind](batch, size, seed, Path(place))
        line |= {"batch": batch, "seconds": round(time.monotonic() - began, 1), "commit": commit()}
        line["date"] = f"{datetime.datetime.now():%Y-%m-%d %H:%M}"
        with kept.open("a") as out:
            out.write(json.dumps(line) + "\n")
        total.update(line["counts"])
        total["findings"] += len(line["findings"])
        for finding in line["findings"]:
            print(finding, flush=True)
    return total


def commit() -> str:
    """The commit of the tree, or what a file COMMIT says where there is no history."""
    if (ROOT / "COMMIT").exists():
        return (ROOT / "COMMIT").read_text().strip()
    words = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False).stdout.strip()


if __name__ == "__main__":
    options = argparse.ArgumentParser(prog="python -m tests.fuzz.tally")
    options.add_argument("kind", choices=list(KINDS))
    options.add_argument("wanted", type=int)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--folder", type=Path, default=ROOT / "build" / "fuzz")
    given = options.parse_args()
    summed = run(given.kind, given.wanted, given.seed, given.folder)
    print(f"{given.kind}, seed {given.seed}: {dict(summed)}")
    sys.exit(1 if summed["findings"] else 0)
