"""`assay report`: the report of a finished run again, as a page, as Markdown or as a model card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ..base.errors import DataError, plain
from .main import OK, common_options
from .output import console, messages, place_for, print_json, write_text

FORMATS = {"html": "report.html", "md": "report.md", "card": "model-card.md"}


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    default="html",
    show_default=True,
    help="A page, the same as Markdown, or a model card.",
)
@click.option("--out", type=click.Path(path_type=Path), help="File; report.html, report.md or model-card.md in RUN.")
@common_options
def report(run: Path, form: str, out: Path | None, quiet: bool, as_json: bool) -> int:
    """Write the report of RUN, the folder of a comparison (or its results.json), again; nothing is fitted."""
    from rich.text import Text

    from ..report import render_markdown, render_model_card, render_report

    with messages(quiet):
        folder, results = read_results(run)
        made = {"html": render_report, "md": render_markdown, "card": render_model_card}[form](results)
        path = place_for(out) if out else folder / FORMATS[form]
        write_text(path, made)
        if as_json:
            print_json({"schema": "assay.report/1", "format": form, "path": str(path), "characters": len(made)})
        else:
            console().print(Text(f"Report: {plain(path, 1000)}"), soft_wrap=True)
        return OK


def read_results(run: Path) -> tuple[Path, dict[str, Any]]:
    """The results of a run's folder, or of a results.json."""
    path = run / "results.json" if run.is_dir() else run
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        way_out = "name the folder of an `assay compare`, or its results.json"
        raise DataError("report", plain(path, 200), "cannot be read as results", plain(error, 150), way_out) from None
    if not isinstance(found, dict):
        raise DataError("report", plain(path, 200), "must hold the results of a comparison")
    return path.parent, found
