"""`assay rules`: rules between the items of baskets, with their measures and tests, and a page."""

from __future__ import annotations

from pathlib import Path

import click

from ..base.errors import plain
from .main import OK, common_options, read_option
from .output import console, give_report, messages, table

SCHEMA = "assay.rules/1"


@click.command()
@click.argument("data")
@click.option(
    "--basket", metavar="COL", help="Column that names the basket of a row; none for a table of true and false."
)
@click.option("--item", metavar="COL", help="Column that names the item of a row.")
@click.option(
    "--attribute", "attributes", multiple=True, metavar="COL", help="Columns about the basket, as conditions."
)
@click.option("--support", type=float, default=0.01, show_default=True, help="Least share of baskets.")
@click.option("--confidence", type=float, default=0.5, show_default=True, help="Least confidence.")
@click.option("--lift", type=float, default=1.0, show_default=True, help="Least lift.")
@click.option("--length", type=int, default=5, show_default=True, help="Most items of a rule; 0 for any number.")
@click.option("--p-value", "p_value", type=float, default=0.05, show_default=True, help="Largest corrected p-value.")
@click.option("--all", "every", is_flag=True, help="Keep rules with a shorter one of no less confidence, too.")
@click.option("--top", type=int, default=20, show_default=True, help="Rules to print.")
@click.option("--html", "page", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write a page.")
@read_option
@common_options
def rules(
    data: str,
    basket: str | None,
    item: str | None,
    attributes: tuple[str, ...],
    support: float,
    confidence: float,
    lift: float,
    length: int,
    p_value: float,
    every: bool,
    top: int,
    page: Path | None,
    reading: tuple[str, ...],
    quiet: bool,
    as_json: bool,
) -> int:
    """Find rules between items in DATA: a long table of basket and item, or a table of true and false."""
    from ..experiment import rules_table
    from .compare import load

    with messages(quiet) as tell:
        report = rules_table(
            load(data, (), reading),
            basket,
            item,
            attributes=attributes,
            min_support=support,
            min_confidence=confidence,
            min_lift=lift,
            max_length=length or None,
            max_p_value=p_value,
            prune_redundant=not every,
        )
        if give_report(report, SCHEMA, page, as_json, tell):
            return OK
        grid = report.grid(max(top, 0))
        sides = [(head, "left" if j < 2 else "right") for j, head in enumerate(grid.heads)]
        if grid.rows:
            console().print(table("Rules", sides, grid.rows))
        tell(f"assay: {plain(report.sentence, 600)}")
    return OK
