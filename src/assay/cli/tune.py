"""`assay tune`: parameters chosen inside the training rows, judged on rows that the choice never saw."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

from .. import catalogue
from ..base.errors import UsageError, plain
from .compare import engine_options, file_word, limit_options, listed, load, models_of, run_plan
from .main import common_options, read_option
from .output import messages, place_for


@click.command()
@click.argument("data")
@click.option("--target", "-t", required=True, metavar="COL", help="Column to predict.")
@click.option("--models", "-m", multiple=True, required=True, metavar="[NAME=]ID[JSON]", help="Methods to tune.")
@click.option(
    "--space", "-s", multiple=True, metavar="PARAMETER=VALUES",
    help="e.g. n_neighbors=1..50:log, alpha=0.1..10, weights=uniform|distance; those of `assay methods` by default.",
)  # fmt: skip
@click.option("--method", type=click.Choice(["random", "grid", "one-factor", "optuna"]), default="random")
@click.option("--trials", default=20, show_default=True, type=click.IntRange(1), help="Settings tried in each fold.")
@click.option(
    "--levels", default=3, show_default=True, type=click.IntRange(2), help="Values of a range (grid, one-factor)."
)
@click.option("--inner", default=5, show_default=True, type=click.IntRange(2), help="Inner folds that score a setting.")
@click.option("--design", default="auto", show_default=True, help="auto, 3x10, 10-fold, RxK, 5x2 or holdout.")
@click.option("--group", metavar="COL", help="Column whose rows stay together, e.g. the patient.")
@click.option("--time", metavar="COL", help="Column that gives the order in time.")
@click.option("--drop", multiple=True, metavar="COL", help="Column that no learner may see.")
@click.option("--metric", multiple=True, metavar="NAME[,NAME...]", help="What to measure; the first decides.")
@click.option("--task", type=click.Choice(catalogue.PLANNED), help="Taken from the target by default.")
@click.option("--holdout", type=float, metavar="SHARE", help="Rows set aside for one look at the end.")
@read_option
@click.option("--role", "roles", multiple=True, metavar="COL=ROLE", help="e.g. zip=nominal, size=ordinal:S<M<L.")
@limit_options
@engine_options
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0, 2**32 - 1), help="Root of all chance.")
@click.option("--jobs", "-j", type=click.IntRange(1), help="Learners run side by side; all cores by default.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder; assay-run/<data>-<target>-tuned by default.")
@click.option("--fresh", is_flag=True, help="Forget the folds that an earlier run finished.")
@common_options
def tune(
    data: str, target: str, models: tuple[str, ...], out: Path | None, quiet: bool, as_json: bool, **options: Any
) -> int:
    """Tune learners on DATA: settings are chosen inside the training rows of each fold (nested), every trial is kept,
    and each tuned learner is compared with its settings as given.
    """
    from ..experiment import Plan, Tuned

    with messages(quiet) as tell:
        read = load(data, options.pop("roles"), options.pop("reading"))
        words = out or Path("assay-run") / f"{file_word(Path(read.name).stem)}-{file_word(target)}-tuned"
        space = dict(space_of(text) for text in options.pop("space")) or None
        how = {name: options.pop(name) for name in ("method", "trials", "levels")} | {"folds": options.pop("inner")}
        jobs, fresh = options.pop("jobs"), options.pop("fresh")
        who = {name: options.pop(name) for name in ("engine", "scheduler")}
        learners: list[Any] = []
        for one in models_of(models) or ():
            name, item = one if isinstance(one, tuple) and not isinstance(one[1], dict) else (None, one)
            tuned = Tuned(item, space, **how)
            learners += [one, (f"{name} tuned", tuned) if name else tuned]
        plan = Plan(
            read,
            target,
            learners=learners,
            groups=options.pop("group"),
            metrics=listed(options.pop("metric")),
            random_state=options.pop("seed"),
            **options,
        )
        return run_plan(plan, place_for(words), quiet=quiet, as_json=as_json, tell=tell, jobs=jobs, fresh=fresh, **who)


def space_of(text: str) -> tuple[str, Any]:
    """A parameter and its values as written on the command line.

    >>> space_of("n_neighbors=1..50:log")
    ('n_neighbors', {'low': 1, 'high': 50, 'log': True})
    >>> space_of("weights=uniform|distance"), space_of("max_depth=2|4|null")
    (('weights', ['uniform', 'distance']), ('max_depth', [2, 4, None]))
    """
    name, equals, written = text.partition("=")
    span = re.fullmatch(r"\s*([^|]+?)\.\.([^|]+?)(:log)?\s*", written)
    if not equals or not name.strip() or not written.strip():
        raise UsageError("--space", f"'{plain(text)}'", "must read PARAMETER=LOW..HIGH[:log] or PARAMETER=A|B|C")
    if span is None:
        return name.strip(), [_value(word) for word in written.split("|")]
    return name.strip(), {"low": _value(span[1]), "high": _value(span[2])} | ({"log": True} if span[3] else {})


def _value(word: str) -> Any:
    try:
        return json.loads(word)
    except ValueError:
        return word.strip()
