"""`assay cluster`: clusters of a table by several methods, how many, how stable, and what tells them apart."""

from __future__ import annotations

from pathlib import Path

import click

from ..base.errors import plain
from .main import OK, common_options, read_option
from .output import console, give_report, messages, table

SCHEMA = "assay.cluster/1"


@click.command()
@click.argument("data")
@click.option("--k", type=int, default=None, help="Number of clusters; asked of four criteria if not given.")
@click.option("--method", "methods", multiple=True, metavar="ID", help="Methods to try, the first is profiled.")
@click.option("--drop", "dropped", multiple=True, metavar="COL", help="Columns to leave out.")
@click.option("--against", metavar="COL", help="A column of known labels: left out, then compared with the clusters.")
@read_option
@click.option("--role", "roles", multiple=True, metavar="COL=ROLE", help="e.g. zip=nominal, size=ordinal:S<M<L.")
@click.option("--html", "page", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write a page.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of every random choice.")
@common_options
def cluster(
    data: str,
    k: int | None,
    methods: tuple[str, ...],
    dropped: tuple[str, ...],
    against: str | None,
    reading: tuple[str, ...],
    roles: tuple[str, ...],
    page: Path | None,
    seed: int,
    quiet: bool,
    as_json: bool,
) -> int:
    """Cluster the rows of DATA (a file or the name of a bundled data set)."""
    from ..experiment import METHODS, cluster_table
    from .compare import load

    with messages(quiet) as tell:
        read = load(data, roles, reading)
        report = cluster_table(read, k, methods=methods or METHODS, drop=dropped, against=against, random_state=seed)
        if give_report(report, SCHEMA, page, as_json, tell):
            return OK
        out = console()
        if report.findings:
            grid = report.finding_grid()
            out.print(table("What the audit found", [(head, "left") for head in grid.heads], grid.rows))
        if report.choice is not None:
            grid = report.choice.grid()
            out.print(table("How many clusters", [(head, "right") for head in grid.heads], grid.rows))
        grids = [
            ("Methods side by side", report.grid()),
            ("What tells the clusters apart", report.profile_grid()),
            ("Agreement of the methods (adjusted Rand)", report.agreement_grid()),
        ]
        if against is not None:
            grids.append((f"Agreement with {plain(against, 40)}", report.external_grid()))
        for title, grid in grids:
            sides = [(head, "left" if j == 0 or head == "what it is" else "right") for j, head in enumerate(grid.heads)]
            out.print(table(title, sides, grid.rows))
        tell(f"assay: {plain(report.sentence, 600)}")
    return OK
