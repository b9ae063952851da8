"""The pages about speed, from the kept rows: `docs/benchmarks.md` has all, README.md a chart and a dozen rows.

`python -m benchmarks.versus.pages` renews them, `--check` says whether they are as the rows say.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from pathlib import Path
from typing import Any

from assay.base import svg

ROOT = Path(__file__).parents[2]
BEFORE = Path(__file__).parent / "results" / "before.json"
MARKERS = ("<!-- versus:begin -->", "<!-- versus:end -->")
Row = dict[str, Any]
INTRODUCTION = """\
Every row: the same data, the same machine and the same run for all contenders, each in a process of its own with its
libraries loaded and one small call before the clock starts; they take turns, the best of the rounds counts, and the
ratio of times counts only if our quality is within the gate of the peer's (a peer that is itself outside the gate of
ours took its time for less: it says so). Memory is the peak above the loaded process
with its data, children included. A ratio below 1 is a loss. A peer is something that can be installed and called; where
the limit is of interest, lines written by hand for the one problem stand beside it (they check no input and keep no
model) and are told apart. `make bench` measures it on your machine;
`python -m benchmarks.versus PROBLEM --quick` tries one problem at its smallest size."""


def number(value: float | None) -> str:
    """Four digits, or nothing."""
    return "" if value is None else f"{value:.4g}"


def ratio_text(row: Row) -> str:
    """The ratio, or why there is none; a peer that was given up gives a bound."""
    if row.get("given_up") and row["seconds"]:
        return f"over {row['given_up'] / row['seconds']:.3g}x: given up after {row['given_up']:g} s"
    if row["error"]:
        return f"failed: {row['error'][:80]}"
    return f"**{row['ratio']:.1f}x**" if row["gate_passed"] else "quality gate missed"


def quality_text(row: Row) -> str:
    """Both qualities; a peer that ends worse than ours by more than the gate did less work for its time."""
    text = f"{row['quality_name']} {number(row['quality'])} / {number(row['peer_quality'])}"
    return text + (" (outside the gate)" if row.get("peer_worse") else "")


def strongest(rows: list[Row]) -> list[Row]:
    """For each problem at its largest size, the row of the installed peer that comes nearest to us or beats us most."""
    best: dict[str, Row] = {}
    for row in rows:
        if row["largest"] and not row.get("by_hand") and row["ratio"] is not None:
            held = best.get(row["problem"])
            if held is None or row["ratio"] < held["ratio"]:
                best[row["problem"]] = row
    return list(best.values())


def losses(rows: list[Row]) -> list[Row]:
    """The rows in which a peer that ends within the gate is ahead."""
    return [row for row in rows if row["ratio"] is not None and row["ratio"] < 1 and not row.get("peer_worse")]


def over_memory(rows: list[Row]) -> list[tuple[Row, float]]:
    """Where our peak is over that of the fastest peer and over half the table: its row, and what is allowed.

    One megabyte is spared: a page or a stack more or less is nobody's copy of a table.
    """
    fastest: dict[tuple[str, float], Row] = {}
    for row in rows:
        held = fastest.get((row["problem"], row["n"]))
        fits = row["ratio"] is not None and not row.get("by_hand")
        if fits and (held is None or row["peer_seconds"] < held["peer_seconds"]):
            fastest[row["problem"], row["n"]] = row
    allowed = [(row, max(row["peer_megabytes"], (row["table_megabytes"] or 0) / 2)) for row in fastest.values()]
    return [(row, most) for row, most in allowed if row["megabytes"] > most + 1]


AHEAD = {
    False: "A peer of equal quality is faster in {} of {} rows:",
    True: "Lines written by hand for the one problem, which check no input and keep no model, are faster in {} of {}:",
}


def behind(rows: list[Row]) -> list[str]:
    """The lines on where a peer is ahead, in time or in memory."""
    lines: list[str] = []
    for by_hand, sentence in AHEAD.items():
        asked = [row for row in rows if row.get("by_hand", False) is by_hand]
        slower = losses(asked)
        if asked:
            lines += [sentence.format(len(slower), len(asked)), ""]
            lines += [*(f"- {row['title']}, {row['size']}: {row['ratio']:.2f}x {row['peer']}" for row in slower), ""]
    lines += ["Our peak of memory is over that of the fastest peer, and over half the table, at these sizes:", ""]
    lines += [
        f"- {row['title']}, {row['size']}: {row['megabytes']:.0f} MB, {row['peer']} {row['peer_megabytes']:.0f} MB"
        for row, _ in over_memory(rows)
    ]
    return lines


def exponent(points: list[tuple[float, float]]) -> float | None:
    """Slope of log time over log size."""
    if len(points) < 2:
        return None
    xs, ys = [math.log(n) for n, _ in points], [math.log(t) for _, t in points]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - mean_x) ** 2 for x in xs)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / spread if spread else None


def growth(rows: list[Row]) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Per problem, the times of ours and of each peer over the sizes."""
    found: dict[str, dict[str, dict[float, float]]] = {}
    for row in rows:
        lines = found.setdefault(row["problem"], {})
        if row["seconds"]:
            lines.setdefault("assay", {})[row["n"]] = row["seconds"]
        if row["peer_seconds"]:
            lines.setdefault(row["peer"], {})[row["n"]] = row["peer_seconds"]
    return {
        problem: {name: sorted(points.items()) for name, points in lines.items()} for problem, lines in found.items()
    }


# -- drawings ----------------------------------------------------------------------------------------------------
def chart(rows: list[Row], title: str) -> str:
    """One bar per problem: how many times faster than the strongest peer, on a logarithmic axis that starts at 0.5."""
    rows = sorted(rows, key=lambda row: -row["ratio"])
    left, width, height = 330.0, 860.0, 24.0
    low, high = math.log10(0.5), math.log10(max([row["ratio"] for row in rows] + [2.0]) * 1.3)

    def place(ratio: float) -> float:
        return left + (width - left - 70) * (math.log10(max(ratio, 0.5)) - low) / (high - low)

    body = []
    bottom = 36 + height * len(rows)
    for tick in (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500):
        if low <= math.log10(tick) <= high:
            body.append(svg.line(place(tick), 30, place(tick), bottom, "edge" if tick == 1 else "line"))
            body.append(svg.text(place(tick), 22, f"{tick:g}x", "muted", 11, "middle"))
    for k, row in enumerate(rows):
        y = 36 + height * k
        name, full = svg.fit(f"{row['title']}, {row['size']}", left - 14, 12)
        body.append(svg.text(left - 8, y + 15, name, "ink", 12, "end", full=full))
        start, end = sorted((place(1), place(row["ratio"])))
        tip = (
            f"{row['title']}, {row['size']}: {row['ratio']:.2f} times the speed of {row['peer']} {row['peer_version']}"
        )
        body.append(svg.rect(start, y + 4, end - start, height - 9, "g0" if row["ratio"] >= 1 else "bad", tip=tip))
        body.append(svg.text(max(end, place(1)) + 5, y + 15, f"{row['ratio']:.3g}x", "muted", 11))
    return svg.figure(body, width, bottom + 10, title, "; ".join(f"{r['title']} {r['ratio']:.2g}x" for r in rows))


def growth_figure(rows: list[Row]) -> str:
    """Small log-log pictures, one per problem with several sizes: ours and the strongest peer."""
    titles = {row["problem"]: row["title"] for row in rows}
    panels = [(p, lines) for p, lines in growth(rows).items() if len(lines.get("assay", ())) > 1]
    across, wide, tall = 4, 215.0, 150.0
    body = []
    for k, (problem, lines) in enumerate(panels):
        x0, y0 = (k % across) * wide + 12, (k // across) * tall + 26
        points = [point for line in lines.values() for point in line]
        low_n, high_n = (math.log(f(n for n, _ in points)) for f in (min, max))
        low_t, high_t = (math.log(f(t for _, t in points)) for f in (min, max))
        name, full = svg.fit(titles[problem], wide - 20, 11)
        body.append(svg.text(x0, y0 - 8, name, "ink", 11, full=full))
        body.append(svg.rect(x0, y0, wide - 24, tall - 50, "soft"))
        for rank, (label, line) in enumerate(lines.items()):
            if len(line) < 2:
                continue
            colour = "g0" if label == "assay" else f"g{1 + (rank - 1) % 4}"
            spots = [
                (
                    x0 + 6 + (wide - 36) * (math.log(n) - low_n) / max(high_n - low_n, 1e-9),
                    y0 + tall - 58 - (tall - 66) * (math.log(t) - low_t) / max(high_t - low_t, 1e-9),
                )
                for n, t in line
            ]
            for (xa, ya), (xb, yb) in itertools.pairwise(spots):
                body.append(svg.line(xa, ya, xb, yb, colour, 2))
        slope = exponent(lines["assay"])
        body.append(svg.text(x0, y0 + tall - 36, f"time grows as n^{slope:.2f}", "muted", 10))
    rows_of_panels = -(-len(panels) // across)
    return svg.figure(body, across * wide + 12, rows_of_panels * tall + 10, "How time grows with size", "log-log")


# -- pages -------------------------------------------------------------------------------------------------------
def table(rows: list[Row], *, provenance: bool) -> str:
    """Rows as a Markdown table; a lost gate or a failure is shown as such."""
    head = ["work", "size", "peer", "ours, s", "peer, s", "ratio", "aim", "quality ours / peer", "MB ours / peer"]
    lines = ["| " + " | ".join(head + (["measured"] if provenance else [])) + " |"]
    lines.append("| --- | --- | --- | ---: | ---: | ---: | ---: | --- | --- |" + (" --- |" if provenance else ""))
    for row in rows:
        cells = [
            row["title"],
            row["size"],
            f"{row['peer']} ({row['package']} {row['peer_version']})",
            number(row["seconds"]),
            number(row["peer_seconds"]),
            ratio_text(row),
            "" if row["aim"] is None else f"{row['aim']:g}x",
            quality_text(row),
            f"{row['megabytes']:.0f} / {row['peer_megabytes']:.0f}",
        ]
        if provenance:
            cells.append(f"{row['date']}, {row['commit']}, {row['rounds']} rounds, load {row['load']:g}")
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def provenance(rows: list[Row]) -> str:
    """When and where the rows were measured, and which of them at another commit than the newest."""
    if not rows:
        return "Nothing has been measured yet."
    newest = max(rows, key=lambda row: row["date"])
    older = [row for row in rows if row["commit"] != newest["commit"]]
    machines = sorted({row["machine"] for row in rows})
    text = f"Measured on {'; '.join(machines)}; Assay {newest['version']}, newest rows at commit {newest['commit']}"
    if not older:
        return f"{text}, all of them."
    return f"{text}; {len(older)} of {len(rows)} rows were measured at another commit, which each of them names."


def against_before(kept: dict[str, Any]) -> list[str]:
    """The lines on our own times at an earlier commit, from what `before.py` has kept."""
    rows = sorted(kept["rows"], key=lambda row: row["seconds"] / row["earlier_seconds"])
    commits = " or ".join(dict.fromkeys([kept["commit"], *(row.get("commit", kept["commit"]) for row in rows)]))
    lines = [
        f"Ours alone, with the package of commit {kept['earlier']} and of commit {commits} in turns "
        f"({kept['date']}, load {kept['load']:g}). What the earlier commit did not have, or was called differently "
        f"there, is left out ({len(kept['left_out'])} problems).",
        "",
        "| work | size | earlier, s | now, s | now / earlier |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        ratio = row["seconds"] / row["earlier_seconds"]
        cells = [row["problem"], row["size"], number(row["earlier_seconds"]), number(row["seconds"]), f"{ratio:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def page(rows: list[Row]) -> str:
    """`docs/benchmarks.md`."""
    parts = [
        "# How fast",
        "",
        INTRODUCTION,
        "",
        provenance(rows),
        "",
        "![Ratios against the strongest peer of each problem](images/benchmarks.svg)",
        "",
        "## Where we are behind",
        "",
        *behind(rows),
        "",
        "## Growth",
        "",
        "Ours in green, peers in other colours, both axes logarithmic.",
        "",
        "![How time grows with size](images/growth.svg)",
        "",
        "| work | time grows as n to the power |",
        "| --- | --- |",
    ]
    titles = {row["problem"]: row["title"] for row in rows}
    for problem, lines in growth(rows).items():
        slopes = {name: exponent(points) for name, points in lines.items()}
        shown = ", ".join(f"{name} {slope:.2f}" for name, slope in slopes.items() if slope is not None)
        if shown:
            parts.append(f"| {titles[problem]} | {shown} |")
    parts += [
        "",
        "## All rows",
        "",
        table(rows, provenance=True),
        "",
        "## What bounds the work, and what was tried",
        "",
    ]
    seen = set()
    for row in rows:
        if row["problem"] not in seen and (row["limit"] or row["tried"]):
            seen.add(row["problem"])
            limit = f" Limit: {row['limit']}." if row["limit"] else ""
            tried = f" Tried: {row['tried']}" if row["tried"] else ""
            parts.append(f"- **{row['title']}**.{limit}{tried}")
    if BEFORE.exists():
        parts += ["", "## Against an earlier commit", "", *against_before(json.loads(BEFORE.read_text()))]
    return "\n".join(parts) + "\n"


def pages(rows: list[Row]) -> dict[Path, str]:
    """Every file that follows from the rows, with its text."""
    readme = ROOT / "README.md"
    before, rest = readme.read_text().split(MARKERS[0])
    after = rest.split(MARKERS[1])[1]
    best = strongest(rows)
    chosen = [row for row in best if row["headline"]]  # the other peers stand in docs/benchmarks.md
    block = (
        f"{provenance(rows)}\n\n![Ratios against the strongest peer](docs/images/benchmarks.svg)\n\n"
        f"{table(chosen, provenance=False)}\n\n"
        "All rows, with sizes, memory and growth: [docs/benchmarks.md](docs/benchmarks.md)."
    )
    images = ROOT / "docs" / "images"
    return {
        ROOT / "docs" / "benchmarks.md": page(rows),
        images / "benchmarks.svg": chart(best, "How many times faster than the strongest peer") + "\n",
        images / "growth.svg": growth_figure(rows) + "\n",
        readme: f"{before}{MARKERS[0]}\n{block}\n{MARKERS[1]}{after}",
    }


def write_pages(rows: list[Row]) -> None:
    """Renew every file that follows from the rows."""
    for path, text in pages(rows).items():
        path.write_text(text)


def main() -> int:
    """Renew the pages, or check them."""
    rows = json.loads((Path(__file__).parent / "results" / "latest.json").read_text())["rows"]
    if "--check" not in sys.argv:
        write_pages(rows)
        return 0
    stale = [path for path, text in pages(rows).items() if not path.exists() or path.read_text() != text]
    for path in stale:
        print(f"{path.relative_to(ROOT)} is not what the kept rows say; run python -m benchmarks.versus.pages")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
