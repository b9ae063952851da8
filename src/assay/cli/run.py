"""`assay run`: a plan of a file, from data to report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .compare import engine_options, run_plan
from .main import common_options
from .output import messages, place_for


@click.command()
@click.argument("plan", type=click.Path(path_type=Path))
@click.option("--new-data", is_flag=True, help="Run it although the data have changed since the plan was made.")
@click.option("--data", metavar="DATA", help="Another table than the one that the plan names; implies --new-data.")
@click.option("--jobs", "-j", type=click.IntRange(1), help="Learners run side by side; all cores by default.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder; that of the plan by default.")
@engine_options
@click.option("--fresh", is_flag=True, help="Forget the folds that an earlier run finished.")
@common_options
def run(
    plan: Path,
    new_data: bool,
    data: str | None,
    jobs: int | None,
    out: Path | None,
    fresh: bool,
    quiet: bool,
    as_json: bool,
    **how: Any,
) -> int:
    """Run PLAN, a file of TOML or JSON such as the plan.toml that `assay compare` leaves beside its results.

    Writes plan.toml, store.sqlite, results.json and report.html; the same command goes on where an earlier one stopped.
    """
    from ..experiment import Plan
    from .compare import load

    with messages(quiet) as tell:
        table = None if data is None else load(data)
        read = Plan.load(plan, table, any_data=new_data or data is not None)
        folder = place_for(out) if out else plan.parent / plan.stem if plan.name != "plan.toml" else plan.parent
        return run_plan(read, folder, quiet=quiet, as_json=as_json, tell=tell, jobs=jobs, fresh=fresh, **how)
