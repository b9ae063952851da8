"""`assay predict`: a model package and a table of any size, predictions out, problems told by row."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ..base.errors import DataError, UsageError, plain
from ..base.words import count
from .compare import readings
from .main import OK, SOME_FAILED, common_options, read_option
from .output import messages, place_for, print_json


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data")
@click.option("--out", "-o", type=click.Path(path_type=Path), help="CSV, TSV, NDJSON, Parquet or Arrow, by its ending.")
@click.option("--probabilities", "-p", is_flag=True, help="The probability of each class too.")
@click.option("--interval", type=float, metavar="LEVEL", help="Interval or set of classes of this level, e.g. 0.9.")
@click.option("--keep", "-k", multiple=True, metavar="COL", help="Column of the table to write beside the predictions.")
@click.option(
    "--explain", type=click.IntRange(0), default=0, metavar="N", help="The N columns that mattered most, by row."
)
@click.option(
    "--errors", type=click.Path(path_type=Path), help="Where rows with problems go; OUT.errors.csv by default."
)
@read_option
@common_options
def predict(model: Path, data: str, out: Path | None, quiet: bool, as_json: bool, **options: Any) -> int:
    """Predict every row of DATA with the MODEL of a package, whatever its size.

    A row that cannot be read is listed with row, column and reason, and no other row is lost by it; the exit code is
    then 5. Without --out the predictions go to stdout as CSV.
    """
    from ..data import FrameWriter
    from ..deploy import Predictor, open_package

    with messages(quiet) as tell:
        package = open_package(model)
        predictor = Predictor(
            package,
            probabilities=options["probabilities"],
            interval=options["interval"],
            explain=options["explain"],
        )
        tell(f"assay: {plain(package.title)} predicts '{plain(predictor.target)}'.")
        if (promise := predictor.promise()) is not None:
            tell(f"assay: {_words(promise)}")
        place = None if out is None else place_for(out)
        _require_apart(data, place, options["errors"])
        sink = None if as_json and place is None else FrameWriter(place)
        if sink is None:
            summary = predictor.run(data, lambda _: None, reading=readings(options["reading"]))
        else:
            with sink:
                summary = predictor.run(data, sink.write, keep=options["keep"], reading=readings(options["reading"]))
        _tell_problems(summary, options["errors"] or _beside(place), tell)
        if as_json:
            print_json(summary.to_dict() | {"out": None if place is None else str(place)})
        elif place is not None:
            tell(f"assay: {count(summary.predicted, 'prediction')} in {plain(place, 200)}.")
    if summary.stopped:
        raise DataError(summary.stopped)
    return SOME_FAILED if summary.n_problems else OK


def _require_apart(data: str, *places: Path | None) -> None:
    """Refuse to write over the rows that are read."""
    for place in places:
        if place is not None and place.exists() and Path(data).exists() and place.samefile(data):
            raise UsageError("predict", plain(place, 200), "is the table itself", way_out="write to another file")


def _beside(place: Path | None) -> Path | None:
    return None if place is None else place.with_name(f"{place.stem}.errors.csv")


def _words(promise: dict[str, Any]) -> str:
    seen = promise["coverage_seen"]
    said = f"intervals of level {promise['level']:g} from the errors of {promise['rows']:,} rows the model had not seen"
    if seen is None:
        return f"{said}."
    return f"{said}; at level {seen['level']:g} they held for {seen['share']:.1%} of rows that had no part in them."


def _tell_problems(summary: Any, place: Path | None, tell: Any) -> None:
    from ..data import FrameWriter
    from ..data.frames import frame_of

    if not summary.n_problems:
        return
    left_out = summary.rows - summary.predicted
    for problem in summary.problems[:5]:
        tell(f"assay: {plain(problem, 300)}.")
    more = "" if summary.n_problems <= 5 else f", of which {summary.n_problems - 5} are not shown"
    where = ""
    if place is not None:
        with FrameWriter(place_for(place)) as writer:
            names = ("row", "column", "reason", "cell")
            writer.write(frame_of({name: [getattr(p, name) for p in summary.problems] for name in names}))
        where = f"; they are listed in {plain(place, 200)}"
    tell(f"assay: {count(left_out, 'row')} left out for {count(summary.n_problems, 'problem')}{more}{where}.")
    sys.stderr.flush()
