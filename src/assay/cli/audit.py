"""`assay audit`: findings about a table, each with the rows concerned and a remedy."""

from __future__ import annotations

from typing import Any

import click

from ..base.errors import plain
from .main import FINDINGS, OK, common_options
from .output import console, counted, messages, print_json, table

SCHEMA = "assay.audit/1"


@click.command()
@click.argument("data")
@click.option("--target", "-t", metavar="COL", help="Column to predict; finds leaks and imbalance.")
@click.option("--role", "roles", multiple=True, metavar="COL=ROLE", help="e.g. zip=nominal, size=ordinal:S<M<L.")
@common_options
def audit(data: str, target: str | None, roles: tuple[str, ...], quiet: bool, as_json: bool) -> int:
    """Look for trouble in DATA (a file, a pattern of files, a database URL or a bundled data set).

    Exit code 1 if a finding is severe.
    """
    from ..data import audit as audit_table
    from .compare import load

    with messages(quiet) as tell:
        read = load(data, roles)
        found = audit_table(read, target=target)
        findings = found.to_dict()["findings"]
        severe = sum(finding["severity"] == "high" for finding in findings)
        if as_json:
            print_json(_record(read, target, found))
        else:
            _show(read, findings)
        tell(f"assay: {counted(len(findings), 'finding')}, {severe} severe.")
    return FINDINGS if severe else OK


def _record(read: Any, target: str | None, found: Any) -> dict[str, Any]:
    from ..experiment.store import without_nan

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
    return without_nan({**head, **{k: v for k, v in found.to_dict().items() if k not in head}})


def _show(read: Any, findings: list[dict[str, Any]]) -> None:
    from rich.text import Text

    out = console()
    if not findings:
        out.print(
            Text(
                f"Nothing to report in {plain(read.name)}: {counted(read.n_rows, 'row')}, "
                f"{counted(len(read.columns), 'column')}."
            )
        )
        return
    order = {"high": 0, "medium": 1, "low": 2}
    rows = [
        [
            finding["severity"],
            f"{finding['code']} {finding['kind']}",
            ", ".join(plain(column, 40) for column in finding["columns"]),
            finding["rows"]["count"] if finding.get("rows") else "",
            f"{finding['evidence']} {finding['remedy']}",
        ]
        for finding in sorted(findings, key=lambda finding: order.get(finding["severity"], 3))
    ]
    columns = [("severity", "left"), ("finding", "left"), ("columns", "left"), ("rows", "right"), ("why", "left")]
    out.print(table(f"Findings in {read.name}", columns, rows))
