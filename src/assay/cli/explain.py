"""`assay explain`: what a model goes by, or why it says what it says of one row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..base.errors import AssayError, DataError, UsageError, plain
from .main import OK, common_options, read_option
from .output import console, messages, place_for, print_json, prints_aside, table, write_text

MOST_ROWS = 2000


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data")
@click.option("--row", type=click.IntRange(1), metavar="N", help="Explain this row (1 is the first) and not the model.")
@click.option("--target", "-t", metavar="COL", help="Column that the model predicts; known to the model by default.")
@click.option("--wanted", metavar="CLASS|LOW:HIGH", help="With --row: what the model should say instead.")
@click.option("--keep", multiple=True, metavar="COL", help="With --row: column that must stay as it is.")
@click.option(
    "--columns", multiple=True, metavar="COL", help="Columns whose curves are drawn; the first four by default."
)
@click.option("--metric", help="What importance is measured by; the usual one by default.")
@click.option("--out", type=click.Path(path_type=Path), help="Also write an HTML page.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0, 2**32 - 1), help="Root of all chance.")
@read_option
@common_options
def explain(
    model: Path, data: str, row: int | None, out: Path | None, quiet: bool, as_json: bool, **options: Any
) -> int:
    """Explain MODEL (a package, or the folder of a comparison) on DATA.

    Without --row: importances side by side, curves of the first columns, a small tree that imitates the model. With
    --row: contributions of the columns, the smallest changes that turn the decision, and the nearest rows of DATA.
    """
    from .compare import load

    with messages(quiet) as tell:
        read = load(data, (), options.pop("reading"))
        fitted, known = load_model(model, read)
        target = options.pop("target") or known
        if row is not None and row > read.frame.height:
            raise UsageError("explain", "--row", f"must lie in 1..{read.frame.height}", f"got {row}")
        frame, y, place = split_target(fitted, read, target, row)
        if place is None:
            found = _whole(fitted, frame, y, read, tell, **options)
        else:
            found = _one_row(fitted, frame, y, place, read, **options)
        if out is not None:
            write_text(place_for(out), _page(found))
        if as_json:
            print_json({"schema": "assay.explain/1"} | {name: one.to_dict() for name, one in found.items()})
        else:
            _show(found, out)
        return OK


def load_model(path: Path, read: Any) -> tuple[Any, str | None]:
    """The model of a package, or the recommended learner of a run's folder fitted on all its rows; and its target."""
    if path.is_dir():
        inside = sorted(path.glob("*.assay"))
        if not inside:
            return _of_run(path)
        path = inside[0]
    from ..deploy import open_package

    package = open_package(path)
    target = (package.manifest.get("facts") or {}).get("target") or package.facts.get("target")
    return package.model, None if target is None else str(target)


def _of_run(folder: Path) -> tuple[Any, str | None]:
    from ..experiment import Plan, Store, run

    if not (folder / "plan.toml").exists():
        way_out = "name a package (*.assay), or the folder of an `assay compare`"
        raise DataError("explain", plain(folder, 200), "holds neither a package nor a plan.toml", way_out=way_out)
    plan = Plan.load(folder / "plan.toml")
    with Store(folder / "store.sqlite") as store, prints_aside():
        return run(plan, store, views=False).best_model(), plan.target.name


def split_target(model: Any, read: Any, target: str | None, row: int | None = None) -> tuple[Any, Any, int | None]:
    """The columns that the model reads, the target if the table has it, and the place of the row (counted from 1) that
    is asked about. Rows without a target are left out, unless one of them is asked about: then no target is used."""
    frame = read.frame
    columns = getattr(model, "columns", None) or getattr(model, "feature_names_in_", None)
    y = None
    if target is not None and target in frame.columns:
        y = frame[target]
        frame = frame.drop(target)
    if columns is not None:
        missing = [name for name in columns if name not in frame.columns]
        if missing:
            raise DataError("explain", f"column '{plain(missing[0])}'", "is needed by the model", "the table lacks it")
        frame = frame.select([str(name) for name in columns])
    place = None if row is None else row - 1
    if y is not None and y.null_count():
        kept = y.is_not_null()
        if place is not None and not kept[place]:
            y = None
        else:
            place = None if place is None else int(kept[:place].sum())
            frame, y = frame.filter(kept), y.filter(kept)
    if frame.shape[0] == 0:
        raise DataError("explain", "the table", "must have at least one row")
    return frame, None if y is None else _labels(model, y), place


def _labels(model: Any, y: Any) -> Any:
    """Targets in the kind of the model's classes."""
    import numpy as np

    classes = getattr(model, "classes_", None)
    if classes is not None and np.asarray(classes).dtype.kind in "US":
        return np.array([str(value).lower() if isinstance(value, bool) else str(value) for value in y.to_list()])
    return np.asarray(y.to_list())


def _whole(
    model: Any,
    frame: Any,
    y: Any,
    read: Any,
    tell: Any,
    *,
    metric: str | None,
    columns: tuple[str, ...],
    seed: int,
    **of_rows: Any,
) -> dict[str, Any]:
    from ..base.folds import take_rows
    from ..base.randomness import Stream
    from ..explain import importances, partial_dependence, shap_values, surrogate

    if any(of_rows.values()):
        raise UsageError("explain", "--wanted and --keep", "go with --row N", way_out="name a row")
    if frame.shape[0] > MOST_ROWS:
        import numpy as np

        tell(f"assay: {MOST_ROWS:,} of {frame.shape[0]:,} rows are drawn for the explanation.")
        drawn = np.sort(Stream.of(seed).generator().choice(frame.shape[0], MOST_ROWS, replace=False))
        frame, y = take_rows(frame, drawn), None if y is None else y[drawn]
    found: dict[str, Any] = {}
    if y is not None:
        found["importances"] = importances(model, frame, y, metric=metric, random_state=seed)
        found["permutation"] = found["importances"].explanations["permutation"]
        first = found["permutation"]
    else:
        tell("assay: the table has no target: columns are judged by their Shapley values alone; --target names it.")
        first = found["contributions"] = shap_values(model, frame[:200])
    order = [first.names[j] for j in (-first.importance()).argsort(kind="stable")[:4]]
    for number, name in enumerate(columns or order):
        found[f"curve {number + 1}"] = partial_dependence(model, frame, name)
    try:
        readable = [name for name in frame.columns if read.roles[name].role not in ("datetime", "text", "id")]
        found["imitation"] = surrogate(model, frame, columns=readable, random_state=seed)
    except (AssayError, TypeError, ValueError) as error:
        tell(f"assay: no imitation by a tree: {plain(error, 300)}")
    return found


def _one_row(
    model: Any,
    frame: Any,
    y: Any,
    row: int,
    read: Any,
    *,
    seed: int,
    wanted: str | None,
    keep: tuple[str, ...],
    **of_models: Any,
) -> dict[str, Any]:
    from ..explain import counterfactuals, nearest_examples, shap_values

    found: dict[str, Any] = {}
    background = frame[:: max(1, frame.shape[0] // 100)][:100]
    found["contributions"] = shap_values(model, frame[row : row + 1], background, random_state=seed)
    classes = getattr(model, "classes_", None)
    if classes is not None or wanted is not None:
        roles = {name: role.role for name, role in read.roles.items()}
        goal = _goal(wanted, classes)
        found["counterfactuals"] = counterfactuals(
            model, row, frame, wanted=goal, immutable=list(keep), roles=roles, n_alternatives=3
        )
    found["nearest"] = nearest_examples(row, frame, y) if frame.shape[0] > 1 else None
    return {name: one for name, one in found.items() if one is not None}


def _goal(text: str | None, classes: Any) -> Any:
    """What is wanted as written: a class, or LOW:HIGH with either end open."""
    if text is None:
        return None
    if classes is not None:
        known = {str(one): one for one in list(classes)}
        return known.get(text, text)
    low, colon, high = text.partition(":")
    try:
        return (float(low) if low else None, float(high) if high else None) if colon else (float(text), None)
    except ValueError:
        raise UsageError(
            "explain", "--wanted", "must read LOW:HIGH for a model of numbers", f"got {plain(text)}"
        ) from None


def _show(found: dict[str, Any], out: Path | None) -> None:
    from rich.text import Text

    screen = console()
    for name, one in found.items():
        grid = one.grid()
        if name.startswith("curve") or name == "permutation":
            continue
        sides = ["left" if k < grid.left else "right" for k in range(len(grid.heads))]
        screen.print(table(name, list(zip(grid.heads, sides)), grid.rows))
        for note in dict.fromkeys([*grid.notes, one.how_to_read]):
            screen.print(Text(plain(note, 1000)))
    curves = [one for name, one in found.items() if name.startswith("curve")]
    if curves:
        rows = [[one.names[0], one.grid().rows[0][0], one.grid().rows[-1][0], f"{one.span:.4g}"] for one in curves]
        heads = [("column", "left"), ("from", "right"), ("to", "right"), ("the mean output moves by", "right")]
        screen.print(table("curves (partial dependence)", heads, rows))
    if out is not None:
        screen.print(Text(f"Page: {plain(out, 1000)}"), soft_wrap=True)


def _page(found: dict[str, Any]) -> str:
    """One page with every drawing and table; it loads nothing and runs nothing."""
    from ..report.page import simple_page

    return simple_page("Explanation", [(name, one.to_html()) for name, one in found.items()])
