"""`assay describe`: every column of a table in numbers, and how strongly pairs of columns go together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..base.errors import plain
from ..base.words import count
from .main import OK, common_options, read_option
from .output import console, messages, print_json, table, write_text

SCHEMA = "assay.describe/1"
STRONGEST = 10


@click.command()
@click.argument("data")
@read_option
@click.option("--role", "roles", multiple=True, metavar="COL=ROLE", help="e.g. zip=nominal, size=ordinal:S<M<L.")
@click.option("--html", "page", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write a page with a picture of every column.")  # fmt: skip
@common_options
def describe(
    data: str, reading: tuple[str, ...], roles: tuple[str, ...], page: Path | None, quiet: bool, as_json: bool
) -> int:
    """Describe DATA (a file or the name of a bundled data set): columns, distributions, associations."""
    from ..data import describe as describe_table
    from .compare import load

    with messages(quiet) as tell:
        read = load(data, roles, reading)
        found = describe_table(read)
        if page is not None:
            write_text(page, found.to_html())
            tell(f"assay: the page is {plain(page, 1000)}.")
        if as_json:
            source = {"name": read.name, "source": read.source, "fingerprint": read.fingerprint}
            print_json({"schema": SCHEMA, "data": source, **found.to_dict()})
        else:
            _show(found)
        tell(f"assay: {count(found.n_rows, 'row')}, {count(len(found.columns), 'column')}.")
    return OK


def _show(found: Any) -> None:
    from rich.text import Text

    out = console()
    lines = str(found).splitlines()
    for line in lines:
        out.print(Text(plain(line, 400)), soft_wrap=True)
    names, strength = found.associations["names"], found.associations["strength"]
    pairs = sorted(
        (
            (abs(v), names[j], names[i], v)
            for i, row in enumerate(strength)
            for j, v in enumerate(row[:i])
            if v is not None
        ),
        reverse=True,
    )[:STRONGEST]
    if pairs:
        columns = [("column", "left"), ("column", "left"), ("strength", "right")]
        out.print(
            table(
                "The strongest pairs",
                columns,
                [[plain(a, 40), plain(b, 40), f"{value:.3f}"] for _, a, b, value in pairs],
            )
        )
