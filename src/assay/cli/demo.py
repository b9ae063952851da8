"""`assay demo`: a whole comparison on a bundled table, from raw columns to the report."""

from __future__ import annotations

from pathlib import Path

import click

from .compare import compare_table
from .main import common_options
from .output import messages

DATASET, TARGET = "customers", "churned"


@click.command()
@click.option("--out", default="assay-demo", show_default=True, type=click.Path(path_type=Path), help="Folder.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0, 2**32 - 1), help="Root of all chance.")
@click.option("--jobs", "-j", type=click.IntRange(1), help="Learners run side by side; all cores by default.")
@common_options
def demo(out: Path, seed: int, jobs: int | None, quiet: bool, as_json: bool) -> int:
    """Compare every method on the bundled table of customers: who leaves?"""
    from ..data import load_dataset

    with messages(quiet) as tell:
        tell(f"assay: the bundled table '{DATASET}', target '{TARGET}'.")
        data = load_dataset(DATASET)
        return compare_table(data, TARGET, out, quiet=quiet, as_json=as_json, tell=tell, seed=seed, jobs=jobs)
