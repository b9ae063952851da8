"""`python -m benchmarks.versus [problem ...]`: run the problems, print the table, keep the results.

Rows go to `benchmarks/versus/results/latest.json`, which keeps the last measurement of each problem and size with its
date, commit, versions, load and rounds (where it was measured again at the same commit, the rounds of both);
`--pages` renews `docs/benchmarks.md` and the table and chart of README.md. Only ratios from one run count: contenders
of a problem always run together. `--quick` takes the smallest size once. `--missing` leaves out what was measured at
this commit, so that a run that was cut short goes on where it ended; `--minutes` cuts it short (the rows of the README
come first). A problem that fails is told and left behind.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from .harness import OVERDUE, ROOT, Contest, Problem, wanted
from .pages import number, write_pages
from .problems import all_problems

RESULTS = Path(__file__).parent / "results" / "latest.json"


def machine() -> str:
    """What the numbers were measured on, in one line."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "?")
    from assay import _kernels

    return f"{os.cpu_count()} cores of {model} ({_kernels.simd_level()}), Python {platform.python_version()}"


def code_commit() -> str:
    """The last commit that changed the code; a plus sign after it says that uncommitted changes were measured."""
    code = ("src", "cpp", "bindings")

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], capture_output=True, text=True, cwd=ROOT, check=True).stdout.strip()

    try:
        return git("log", "-1", "--format=%h", "--", *code) + ("+" if git("status", "--porcelain", "--", *code) else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def stolen_share(before: list[int], after: list[int]) -> float:
    """Share of processor time that the host took away between two readings of /proc/stat."""
    spent = [b - a for a, b in zip(before, after)]
    return spent[7] / max(sum(spent[:8]), 1)


def _ticks() -> list[int]:
    return [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]


def rows_of(contest: Contest, size: int, rounds: int | None) -> list[dict[str, Any]]:
    """One row per peer; the ratio is given only if the quality gate holds."""
    problem = contest.problem
    at = problem.sizes[size]
    rounds = rounds or at.repeats or problem.repeats
    load, ticks = os.getloadavg()[0], _ticks()
    results = contest.measure(size, rounds)
    shared = {
        "problem": problem.id,
        "title": problem.title,
        "size": at.label,
        "n": at.n,
        "largest": size == len(problem.sizes) - 1,
        "headline": problem.headline,
        "quality_name": problem.quality_name,
        "gate": problem.gate,
        "limit": problem.limit,
        "tried": problem.tried,
        "commit": code_commit(),
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "machine": machine(),
        "rounds": max(len(measured.times) for measured in results.values()),
        "load": round(load, 2),
        "stolen": round(stolen_share(ticks, _ticks()), 3),
    }
    ours = results[problem.ours.name]
    shared["table_megabytes"] = None if ours.table_megabytes is None else round(ours.table_megabytes, 1)
    rows = []
    for peer in problem.peers:
        if peer.name not in results:
            continue
        theirs = results[peer.name]
        gap = (ours.quality - theirs.quality) * (-1 if problem.lower_is_better else 1)
        failed = ours.error or theirs.error
        passed = failed is None and gap >= -problem.gate
        rows.append(
            {
                **shared,
                "peer": peer.name,
                "package": peer.package,
                "by_hand": peer.by_hand,
                "version": ours.version,
                "peer_version": theirs.version,
                "seconds": None if ours.error else ours.seconds,
                "peer_seconds": None if theirs.error else theirs.seconds,
                "times": [round(t, 6) for t in ours.times],
                "peer_times": [round(t, 6) for t in theirs.times],
                "ratio": theirs.seconds / ours.seconds if passed else None,
                "aim": peer.aim,
                "quality": None if ours.error else ours.quality,
                "peer_quality": None if theirs.error else theirs.quality,
                "gate_passed": passed,
                "peer_worse": passed and gap > problem.gate,
                "megabytes": round(ours.megabytes, 1),
                "peer_megabytes": round(theirs.megabytes, 1),
                "error": failed,
                "given_up": theirs.given_up,
            }
        )
    return rows


def kept() -> list[dict[str, Any]]:
    """The last measurement of each problem and size."""
    return json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []


def pooled(row: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """A row with the rounds of an earlier measurement of the same code: measuring again must not choose."""
    same = all(
        row[key] == before[key] for key in ("problem", "n", "peer", "commit", "machine", "version", "peer_version")
    )
    if not same or row["error"] or before["error"] or row["commit"].endswith("+"):
        return row
    times, peer_times = before["times"] + row["times"], before["peer_times"] + row["peer_times"]
    seconds, peer_seconds = min(row["seconds"], before["seconds"]), min(row["peer_seconds"], before["peer_seconds"])
    passed = row["gate_passed"] and before["gate_passed"]
    return {
        **row,
        "rounds": max(len(times), len(peer_times)),
        "times": times,
        "peer_times": peer_times,
        "seconds": seconds,
        "peer_seconds": peer_seconds,
        "gate_passed": passed,
        "ratio": peer_seconds / seconds if passed else None,
        "megabytes": max(row["megabytes"], before["megabytes"]),
        "peer_megabytes": max(row["peer_megabytes"], before["peer_megabytes"]),
    }


def keep(rows: list[dict[str, Any]], problems: dict[str, Problem]) -> list[dict[str, Any]]:
    """Put the measured rows in place of the kept rows of the same problems and sizes; returns all of them.

    Rounds at the same commit are added to those before. Rows of problems and sizes that are no more are left out.
    """
    measured, order = {(row["problem"], row["n"]) for row in rows}, list(problems)
    earlier = {(row["problem"], row["n"], row["peer"]): row for row in kept()}
    others = {(name, size.n) for name, problem in problems.items() for size in problem.sizes} - measured
    both = [row for row in earlier.values() if (row["problem"], row["n"]) in others]
    both += [pooled(row, earlier.get((row["problem"], row["n"], row["peer"]), row | {"commit": ""})) for row in rows]
    both.sort(key=lambda row: (order.index(row["problem"]), row["n"]))
    RESULTS.write_text(json.dumps({"rows": both}, indent=1) + "\n")
    return both


def sizes_of(problem: Problem, wanted_size: str) -> list[int]:
    """The sizes that are asked for, by number: the smallest, the middle one, the largest, or all."""
    last = len(problem.sizes) - 1
    chosen = {"small": [0], "medium": [last // 2], "large": [last], "all": list(range(last + 1))}
    return chosen[wanted_size]


def said(row: dict[str, Any]) -> str:
    """A row in one line."""
    ratio = row["error"] or (f"{row['ratio']:.2f}x" if row["gate_passed"] else "gate missed")
    return (
        f"{row['problem']:26} {row['size']:28} {row['peer'][:36]:36} {number(row['seconds']):>9} "
        f"{number(row['peer_seconds']):>9}  {ratio}  {row['quality_name']} {number(row['quality'])} / "
        f"{number(row['peer_quality'])}  MB {row['megabytes']:.0f} / {row['peer_megabytes']:.0f}"
    )


def main() -> None:
    """Run the asked problems and print the table."""
    known = {name: problem for name, problem in all_problems().items() if wanted(problem)}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versus", description=__doc__)
    parser.add_argument("problems", nargs="*", help="problem ids (default: all)")
    parser.add_argument("--list", action="store_true", help="list the problems and stop")
    parser.add_argument("--size", choices=("small", "medium", "large", "all"), default="all", help="which sizes")
    parser.add_argument("--rounds", type=int, help="runs of each contender (default: as each problem says)")
    parser.add_argument("--limit", type=float, default=OVERDUE, help="seconds after which one run is given up")
    parser.add_argument(
        "--patience", type=float, default=30.0, help="seconds at a size after which no further round follows"
    )
    parser.add_argument(
        "--enough", type=float, default=float("inf"), help="a peer slower than ours by more than this ratio is given up"
    )
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing after so many minutes")
    parser.add_argument("--missing", action="store_true", help="leave out what was measured at this commit")
    parser.add_argument("--quick", action="store_true", help="smallest size, one round, nothing kept")
    parser.add_argument("--pages", action="store_true", help="renew docs/benchmarks.md and README.md")
    options = parser.parse_args()
    if options.list:
        for problem in known.values():
            print(f"{problem.id:28} {problem.title}: {'; '.join(size.label for size in problem.sizes)}")
        return
    unknown = set(options.problems) - set(known)
    if unknown:
        raise SystemExit(f"versus: no problem '{min(unknown)}'; there are {', '.join(known)}.")
    commit = code_commit() if options.missing else None
    done = {(row["problem"], row["n"]) for row in kept() if row["commit"] == commit}
    limits = {"limit": options.limit, "patience": options.patience, "enough": options.enough}
    end = time.monotonic() + 60 * options.minutes
    for name in options.problems or sorted(known, key=lambda name: not known[name].headline):
        problem = known[name]
        sizes = sizes_of(problem, "small" if options.quick else options.size)
        sizes = [size for size in sizes if (name, problem.sizes[size].n) not in done]
        if not sizes or time.monotonic() > end:
            continue
        with Contest(problem, **limits) as contest:
            for size in sizes:
                try:
                    rows = rows_of(contest, size, 1 if options.quick else options.rounds)
                except Exception as error:
                    print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                    break
                for row in rows:
                    print(said(row), flush=True)
                if not options.quick:
                    keep(rows, all_problems())
    if options.pages:
        write_pages(kept())


if __name__ == "__main__":
    main()
