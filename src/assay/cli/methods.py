"""`assay methods`: the catalogue, searched without loading any learner."""

from __future__ import annotations

import click

from .. import catalogue
from ..base.words import count
from .main import OK, common_options, say
from .output import console, print_json, table


@click.command()
@click.argument("text", default="")
@click.option("--task", type=click.Choice(list(catalogue.TASKS)), help="What the method does.")
@click.option("--native", multiple=True, type=click.Choice(catalogue.INPUTS), help="Input taken as it is; repeatable.")
@click.option("--weights", is_flag=True, help="Only methods that take sample weights.")
@click.option("--probabilities", is_flag=True, help="Only methods that give probabilities.")
@common_options
def methods(
    text: str,
    task: str | None,
    native: tuple[str, ...],
    weights: bool,
    probabilities: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """List the methods whose id, title or summary holds TEXT."""
    found = catalogue.search(
        text, task=task, native=native, weights=True if weights else None, probabilities=True if probabilities else None
    )
    if as_json:
        print_json([{"schema": "assay.method/1", **entry.to_dict()} for entry in found])
        return OK
    if not found:
        say("assay: no method is like that; 'assay methods' alone lists them all.")
        return OK
    rows = [
        [entry.id, entry.class_path.rpartition(".")[2], entry.task, ", ".join(entry.native), entry.title, entry.summary]
        for entry in found
    ]
    columns = [(name, "left") for name in ("id", "class", "task", "takes", "title", "summary")]
    console().print(table(count(len(found), "method"), columns, rows))
    return OK
