"""`assay audit`: findings about a table, each with the rows concerned and a remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..base.errors import UsageError, plain
from ..base.words import count
from .main import FINDINGS, OK, common_options, read_option
from .output import console, messages, print_json, table, write_text

SCHEMA = "assay.audit/1"
LEVELS = ("high", "medium", "low")


@click.command()
@click.argument("data")
@click.option("--target", "-t", metavar="COL", help="Column to predict; finds leaks and imbalance.")
@click.option("--against", metavar="OTHER", help="Another table: overlap, drift, and what would break a merge.")
@click.option("--on", "keys", multiple=True, metavar="COL", help="Key to merge the two tables on; may be repeated.")
@read_option
@click.option("--role", "roles", multiple=True, metavar="COL=ROLE", help="e.g. zip=nominal, size=ordinal:S<M<L.")
@click.option("--rule", "rules", multiple=True, metavar="COL=RULE", help="e.g. age=0..120, share=..1, sex=f|m.")
@click.option("--fail-on", type=click.Choice([*LEVELS, "never"]), default="high", show_default=True,
              help="Exit with 1 if a finding is at least this severe.")  # fmt: skip
@click.option("--html", "page", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write a page with the findings and pictures of the columns.")  # fmt: skip
@common_options
def audit(
    data: str,
    target: str | None,
    against: str | None,
    keys: tuple[str, ...],
    reading: tuple[str, ...],
    roles: tuple[str, ...],
    rules: tuple[str, ...],
    fail_on: str,
    page: Path | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Look for trouble in DATA (a file, a pattern of files, a database URL or a bundled data set).

    The exit code is 1 if a finding is severe (see --fail-on), so a pipeline can stop on bad data.
    """
    from dataclasses import replace

    from ..data import audit as audit_table
    from ..data import merge_check
    from .compare import load

    if keys and against is None:
        raise UsageError("assay audit", "option '--on'", "needs a second table", way_out="name it with --against")
    with messages(quiet) as tell:
        read = load(data, roles, reading)
        given = dict(map(_rule, rules))
        merged = None
        other = None if against is None else load(against, roles, reading)
        # Tables that are to be joined are of two kinds; only those of one kind are compared with one another.
        found = audit_table(read, target=target, rules=given, against=None if keys else other)
        if other is not None:
            merged = merge_check(read, other, on=list(keys) or None)
            # Columns of one side are what a join is for; what else differs, the comparison has found already.
            known = ("M001",) if keys else ("M001", "M003", "M006")
            added = [f for f in merged.findings if f.code not in known]
            together = sorted([*found.findings, *added], key=lambda f: LEVELS.index(f.severity))
            found = replace(found, findings=together)
        if page is not None:
            write_text(page, found.to_html())
            tell(f"assay: the page is {plain(page, 1000)}.")
        findings = found.to_dict()["findings"]
        severe = sum(finding["severity"] == "high" for finding in findings)
        if as_json:
            print_json(_record(read, target, found, other, merged))
        else:
            _show(read, findings)
        tell(f"assay: {count(len(findings), 'finding')}, {severe} severe.")
        failing = [] if fail_on == "never" else found.at_least(fail_on)
    return FINDINGS if failing else OK


def _rule(text: str) -> tuple[str, dict[str, Any]]:
    """A rule from the command line: `age=0..120`, `share=..1`, `sex=f|m`."""
    name, sign, rule = text.partition("=")
    if sign and ".." in rule:
        low, _, high = rule.partition("..")
        try:
            limits = {key: float(end) for key, end in (("min", low), ("max", high)) if end.strip()}
        except ValueError:
            limits = {}
        if limits:
            return name, limits
    elif sign and rule:
        return name, {"allowed": rule.split("|")}
    raise UsageError(
        "assay audit",
        f"rule '{plain(text, 60)}'",
        "is not understood",
        way_out="write age=0..120, share=..1 or sex=f|m",
    )


def _record(read: Any, target: str | None, found: Any, other: Any, merged: Any) -> dict[str, Any]:
    from ..base.record import jsonable

    head = {
        "schema": SCHEMA,
        "data": {
            "name": read.name,
            "source": read.source,
            "rows": read.n_rows,
            "columns": len(read.columns),
            "fingerprint": read.fingerprint,
            "target": target,
        },
    }
    if other is not None:
        head["against"] = {"source": other.source or other.name, "on": list(merged.on), "rows_after": merged.rows_after}
    return jsonable({**head, **{k: v for k, v in found.to_dict().items() if k not in head}})


def _show(read: Any, findings: list[dict[str, Any]]) -> None:
    from rich.text import Text

    out = console()
    if not findings:
        out.print(
            Text(
                f"Nothing to report in {plain(read.name)}: {count(read.n_rows, 'row')}, "
                f"{count(len(read.columns), 'column')}."
            )
        )
        return
    rows = [
        [
            finding["severity"],
            f"{finding['code']} {finding['kind']}",
            ", ".join(plain(column, 40) for column in finding["columns"][:4])
            + (f" and {len(finding['columns']) - 4} more" if len(finding["columns"]) > 4 else ""),
            finding["rows"]["count"] or "",
            f"{finding['evidence']}; {finding['remedy']['words']}",
        ]
        for finding in sorted(findings, key=lambda finding: LEVELS.index(finding["severity"]))
    ]
    columns = [("severity", "left"), ("finding", "left"), ("columns", "left"), ("rows", "right"), ("why", "left")]
    out.print(table(f"Findings in {read.name}", columns, rows))
