"""`python -m benchmarks.versus [problem ...]`: run the problems, print the table, keep the results.

Results go to `benchmarks/versus/results/latest.json`, which keeps the last run of each problem; `--readme` renews the
table between the markers in README.md. Only ratios from one run count: contenders of a problem always run together.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import pkgutil
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from . import problems
from .harness import Problem, measure

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MARKERS = ("<!-- versus:begin -->", "<!-- versus:end -->")


def all_problems() -> dict[str, Problem]:
    """Every problem of every file in `problems/`, by id."""
    found: dict[str, Problem] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(problems.__path__)):
        for problem in importlib.import_module(f"{problems.__name__}.{module}").PROBLEMS:
            found[problem.id] = problem
    return found


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "?")
    from assay import _kernels

    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "simd": _kernels.simd_level(),
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
    }


def version(package: str) -> str:
    """The installed version of a package, or 'absent'."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def rows_of(problem: Problem) -> list[dict[str, Any]]:
    """One row per peer; the ratio is given only if the quality gate holds."""
    results = measure(problem)
    ours = results[problem.ours.name]
    rows = []
    for peer in problem.peers:
        theirs = results[peer.name]
        gap = (ours.quality - theirs.quality) * (-1 if problem.lower_is_better else 1)
        passed = ours.error is None and theirs.error is None and gap >= -problem.gate
        rows.append(
            {
                "problem": problem.id,
                "title": problem.title,
                "size": problem.size,
                "peer": peer.name,
                "peer_version": version(peer.package),
                "seconds": ours.seconds if ours.error is None else None,
                "peer_seconds": theirs.seconds if theirs.error is None else None,
                "ratio": theirs.seconds / ours.seconds if passed else None,
                "aim": peer.aim,
                "quality_name": problem.quality_name,
                "quality": ours.quality if ours.error is None else None,
                "peer_quality": theirs.quality if theirs.error is None else None,
                "gate": problem.gate,
                "gate_passed": passed,
                "megabytes": ours.megabytes,
                "peer_megabytes": theirs.megabytes,
                "error": ours.error or theirs.error,
                "limit": problem.limit,
            }
        )
    return rows


def isolated(problem: str) -> list[dict[str, Any]]:
    """Measure a problem in a process of its own, so that no peer inherits another's memory or threads."""
    command = [sys.executable, "-m", "benchmarks.versus", "--one", problem]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if ran.returncode:
        raise SystemExit(f"{problem} failed:\n{ran.stderr[-3000:]}")
    return json.loads(ran.stdout.splitlines()[-1])


def _version(row: dict[str, Any]) -> str:
    """The peer's version; a peer that ran in an environment of its own has none to tell."""
    return "" if row["peer_version"] == "absent" else f" {row['peer_version']}"


def table(rows: list[dict[str, Any]]) -> str:
    """The results as a Markdown table; a lost gate is shown as such."""
    lines = [
        "| work | size | peer | ours, s | peer, s | ratio | aim | quality ours / peer | MB ours / peer |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | --- | --- |",
    ]
    for row in rows:
        if row["error"]:
            ratio = f"failed: {row['error'][:60]}"
        elif not row["gate_passed"]:
            ratio = "gate missed"
        else:
            ratio = f"**{row['ratio']:.1f}x**"
        aim = "" if row["aim"] is None else f"{row['aim']:g}x"
        lines.append(
            f"| {row['title']} | {row['size']} | {row['peer']}{_version(row)} | {_number(row['seconds'])} "
            f"| {_number(row['peer_seconds'])} | {ratio} | {aim} "
            f"| {row['quality_name']} {_number(row['quality'])} / {_number(row['peer_quality'])} "
            f"| {row['megabytes']:.0f} / {row['peer_megabytes']:.0f} |"
        )
    return "\n".join(lines)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def keep(rows: list[dict[str, Any]], where: dict[str, Any], order: list[str]) -> list[dict[str, Any]]:
    """Put the measured rows into the kept results in place of older rows of the same problems; returns all of them.

    A problem's rows always come from one run of that problem; rows from another machine are dropped.
    """
    out = HERE / "results" / "latest.json"
    old = json.loads(out.read_text()) if out.exists() else {"machine": None, "rows": []}
    here = {key: where[key] for key in ("cpu", "cores")}
    same = old["machine"] is not None and {key: old["machine"][key] for key in here} == here
    measured = {row["problem"] for row in rows}
    both = [row for row in old["rows"] if same and row["problem"] in order and row["problem"] not in measured] + rows
    both.sort(key=lambda row: order.index(row["problem"]))
    out.write_text(json.dumps({"machine": where, "assay": version("assay"), "rows": both}, indent=1) + "\n")
    return both


def write_readme(text: str, where: dict[str, Any]) -> None:
    """Put the table between the markers of README.md."""
    readme = ROOT / "README.md"
    before, rest = readme.read_text().split(MARKERS[0])
    after = rest.split(MARKERS[1])[1]
    caption = (
        f"Measured {where['date']} on {where['cores']} cores of {where['cpu']}, Python {where['python']}, one run."
    )
    readme.write_text(f"{before}{MARKERS[0]}\n{caption}\n\n{text}\n{MARKERS[1]}{after}")


def main() -> None:
    """Run the asked problems and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versus", description=__doc__)
    parser.add_argument("problems", nargs="*", help="problem ids (default: all)")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help="list the problems and stop")
    parser.add_argument("--readme", action="store_true", help="renew the table in README.md")
    options = parser.parse_args()
    known = all_problems()
    if options.list:
        print("\n".join(f"{p.id:24} {p.title}, {p.size}" for p in known.values()))
        return
    if options.one:
        print(json.dumps(rows_of(known[options.one])))
        return
    unknown = set(options.problems) - set(known)
    if unknown:
        raise SystemExit(f"versus: no problem '{min(unknown)}'; there are {', '.join(known)}.")
    rows: list[dict[str, Any]] = []
    where = machine()
    for name in options.problems or known:
        print(f"running {name} ...", file=sys.stderr, flush=True)
        measured = isolated(name)
        rows += measured
        kept = keep(measured, where, list(known))
    print(table(rows))
    if options.readme:
        write_readme(table(kept), where)


if __name__ == "__main__":
    main()
