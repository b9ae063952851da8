"""Make the generated pages: one page per method and the index, all from the catalogue.

`python docs/build.py` writes them; `--check` only says whether they are current.
"""

from __future__ import annotations

import argparse
import inspect
import re
from pathlib import Path
from typing import Any

from assay import catalogue
from assay.catalogue import Entry

DOCS = Path(__file__).parent


def method_page(entry: Entry) -> str:
    """The page of one method, from its entry and its class."""
    cls: Any = entry.load()
    module = entry.class_path.rpartition(".")[0]
    text = inspect.cleandoc(cls.__doc__ or "")
    opening = re.split(r"\n\s*Parameters\n-+", text)[0].strip()
    facts = [
        ("id", f"`{entry.id}`"),
        ("class", f"`from {module} import {cls.__name__}`"),
        ("task", entry.task),
        ("takes natively", ", ".join(entry.native)),
        ("sample weights", _yes(entry.weights)),
        ("probabilities", _yes(entry.probabilities)),
        ("several outputs", _yes(entry.multi_output)),
        ("incremental (`partial_fit`)", _yes(entry.incremental)),
        ("tables larger than memory (`fit_batches`)", _yes(entry.out_of_core)),
        ("shares work across folds", _yes(entry.shares_folds)),
        ("wants standardised columns", _yes(entry.scales)),
        ("explains itself by", entry.explains),
        ("cost of fit", f"O({entry.fit_cost})"),
        ("cost of predict, a row", f"O({entry.predict_cost})"),
        ("course", entry.section),
    ]
    lines = [f"# {entry.title}", "", entry.summary, "", "| | |", "| --- | --- |"]
    lines += [f"| {name} | {value} |" for name, value in facts]
    lines += ["", opening, "", "## Parameters", ""]
    if cls.__parameters__:
        lines += ["| name | default | allowed | meaning |", "| --- | --- | --- | --- |"]
        lines += [
            f"| `{p.name}` | `{p.default!r}` | {_cell(p.kind.describe())} | {_cell(p.meaning)} |"
            for p in cls.__parameters__.values()
        ]
    else:
        lines.append("None.")
    example = _section(text, "Examples")
    if example:
        lines += ["", "## Example", "", "```python", example, "```"]
    attributes = _section(text, "Attributes")
    if attributes:
        lines += ["", "## What it learned", "", "```text", attributes, "```"]
    lines += ["", "## References", "", *[f"- {reference}" for reference in entry.references], ""]
    return "\n".join(lines)


def index_page() -> str:
    """The list of all methods."""
    lines = [
        "# Methods",
        "",
        "Made from the catalogue; `assay methods` prints the same list.",
        "",
        "| id | task | takes natively | in a sentence |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| [{entry.id}]({entry.id}.md) | {entry.task} | {', '.join(entry.native)} | {_cell(entry.summary)} |"
        for entry in catalogue.entries()
    ]
    return "\n".join([*lines, ""])


def _section(text: str, title: str) -> str:
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[^\n]*\n-{{3,}}\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return found.group(1).strip() if found else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _yes(claim: bool) -> str:
    return "yes" if claim else "no"


def pages() -> dict[Path, str]:
    """Every generated page by path."""
    made = {DOCS / "methods" / f"{entry.id}.md": method_page(entry) for entry in catalogue.entries()}
    return {**made, DOCS / "methods" / "index.md": index_page()}


def main() -> int:
    """Write or check the pages; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the pages are current")
    check = parser.parse_args().check
    wanted = pages()
    stale = [p for p, text in wanted.items() if not p.exists() or p.read_text() != text]
    extra = [p for p in (DOCS / "methods").glob("*.md") if p not in wanted]
    if check:
        for path in [*stale, *extra]:
            print(f"not current: {path.relative_to(DOCS.parent)}; run `make docs`")
        return 1 if stale or extra else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[path])
    for path in extra:
        path.unlink()
    print(f"{len(wanted)} pages in {DOCS / 'methods'}, {len(stale)} written, {len(extra)} removed")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
