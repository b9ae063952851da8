"""`python -m benchmarks.versus.before TREE [problem ...]`: is any row slower than it was in another working tree?

TREE is a checkout of another commit with its extension built (`make develop`). Our own contender of every problem runs
with the package of TREE and with the package of this tree, in processes of their own that take turns; the best of the
rounds counts on both sides. A problem whose method TREE does not have, or calls differently, is left out and told.
Where this tree seems slower by more than five per cent, further rounds decide. The rows go to `results/before.json`,
and `python -m benchmarks.versus.pages` shows them. Single problems join the rows that are there, if those are against
the same commit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from .__main__ import code_commit, machine, sizes_of
from .harness import ROOT, Problem, Worker, wanted
from .pages import BEFORE
from .problems import all_problems

SLOWER = 1.05
"""Time over the earlier time from which a row counts as slower."""


def side_by_side(
    problem: Problem, size: int, packages: tuple[Path, Path], *, rounds: int, further: int
) -> dict[str, Any] | str:
    """The best times with the packages in two folders, the earlier one first, or why there are none."""
    workers = []
    for package in packages:
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.versus.worker", problem.id, problem.ours.name]
        workers.append(Worker(["env", f"PYTHONPATH={package}", *command]))
    earlier, ours = workers
    try:
        for worker in workers:
            worker.prepare(size)
        for worker in workers:
            worker.wait_until_ready()
        for number in range(rounds + further):
            if number >= rounds and ours.measured.seconds <= SLOWER * earlier.measured.seconds:
                break
            for worker in workers if number % 2 == 0 else reversed(workers):
                worker.go(limit=120.0)
            if earlier.failed or ours.failed:
                return f"{earlier.measured.error or 'ran'} / {ours.measured.error or 'ran'}"
    finally:
        for worker in workers:
            worker.close()
    return {
        "problem": problem.id,
        "size": problem.sizes[size].label,
        "seconds": ours.measured.seconds,
        "earlier_seconds": earlier.measured.seconds,
        "rounds": len(ours.measured.times),
        "quality": ours.measured.quality,
        "earlier_quality": earlier.measured.quality,
    }


def joined(kept: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """What was kept, with what was found of some problems in the place of what it said of them."""
    again = {one["problem"] for one in found["rows"] + found["left_out"]}
    lists = {name: [one for one in kept[name] if one["problem"] not in again] for name in ("rows", "left_out")}
    return {**kept, **{name: lists[name] + found[name] for name in lists}}


def main() -> None:
    """Measure the asked problems at one size each and keep the rows."""
    known = {name: problem for name, problem in all_problems().items() if wanted(problem)}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versus.before", description=__doc__)
    parser.add_argument("tree", type=Path, help="a checkout of another commit, built")
    parser.add_argument("problems", nargs="*", help="problem ids (default: all)")
    parser.add_argument("--size", choices=("small", "medium", "large"), default="large", help="which size")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of every problem")
    parser.add_argument("--further", type=int, default=6, help="rounds that decide where this tree seems slower")
    options = parser.parse_args()
    tree = options.tree.resolve()
    words = ["git", "log", "-1", "--abbrev=8", "--format=%h", "--", "src", "cpp", "bindings"]
    earlier = subprocess.run(words, capture_output=True, text=True, cwd=tree, check=True).stdout.strip()
    told = {
        "commit": code_commit(),
        "earlier": earlier,
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "machine": machine(),
        "load": round(os.getloadavg()[0], 2),
    }
    kept = json.loads(BEFORE.read_text()) if options.problems and BEFORE.exists() else None
    if kept is not None and kept["earlier"] != earlier:
        parser.error(f"{BEFORE.name} is against commit {kept['earlier']}, not {earlier}: measure all problems")
    rows, left_out = [], []
    for name in options.problems or known:
        (size,) = sizes_of(known[name], options.size)
        row = side_by_side(
            known[name], size, (tree / "src", ROOT / "src"), rounds=options.rounds, further=options.further
        )
        if isinstance(row, str):
            left_out.append({"problem": name, "why": row})
            print(f"{name:28} left out: {row}", flush=True)
            continue
        rows.append({**row, "commit": told["commit"], "date": told["date"]})
        ratio = row["seconds"] / row["earlier_seconds"]
        print(
            f"{name:28} {row['size']:30} {row['earlier_seconds']:9.4f} s -> {row['seconds']:9.4f} s  "
            f"{ratio:5.2f} of the time{'  SLOWER' if ratio > SLOWER else ''}  "
            f"quality {row['earlier_quality']:.5g} -> {row['quality']:.5g}",
            flush=True,
        )
    found = {**told, "rows": rows, "left_out": left_out}
    BEFORE.write_text(json.dumps(found if kept is None else joined(kept, found), indent=1) + "\n")


if __name__ == "__main__":
    main()
