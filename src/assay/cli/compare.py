"""`assay compare`: from a table to a comparison that can be defended, its report and its numbers."""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path
from typing import Any

import click

from .. import catalogue
from ..base.errors import DataError, UsageError, plain
from ..base.words import count
from .main import FINDINGS, OK, SOME_FAILED, common_options, read_option
from .output import console, json_text, messages, place_for, print_json, prints_aside, progress_bar, table, write_text


def default_jobs() -> int:
    """The cores this process may use."""
    with contextlib.suppress(AttributeError):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def limit_options(command: Any) -> Any:
    """--time-limit and --memory-limit of one fit."""
    for option in (
        click.option("--memory-limit", metavar="SIZE", help="Memory one fit may take, e.g. 2GB; then it is stopped."),
        click.option(
            "--time-limit", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
            help="Time one fit may take; a learner that goes over it is stopped, the others go on.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def engine_options(command: Any) -> Any:
    """--engine and --scheduler: who does the work."""
    for option in (
        click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler, e.g. tcp://host:8786; default: one here."),
        click.option(
            "--engine", type=click.Choice(["threads", "processes", "dask"]), default="threads", show_default=True,
            help="Who does the work; the results are the same.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


@click.command()
@click.argument("data")
@click.option("--target", "-t", required=True, metavar="COL", help="Column to predict.")
@click.option(
    "--models",
    "-m",
    multiple=True,
    metavar="[NAME=]ID[JSON]",
    help='Methods to compare, e.g. knn25=knn-classifier{"n_neighbors":25} or xgboost.XGBClassifier.',
)
@click.option("--design", default="auto", show_default=True, help="auto, 3x10, 10-fold, RxK, 5x2 or holdout.")
@click.option("--group", metavar="COL", help="Column whose rows stay together, e.g. the patient.")
@click.option("--time", metavar="COL", help="Column that gives the order in time; models are tested on later rows.")
@click.option("--drop", multiple=True, metavar="COL", help="Column that no learner may see; so does --role COL=ignore.")
@click.option("--margin", type=click.FloatRange(0), help="Difference that does not matter; 0.01, or 2 % of an error.")
@click.option(
    "--budget",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Time of one core that all fits may take.",
)
@click.option("--pairs", type=click.Choice(["best", "all"]), default="best", help="Against the best, or every pair.")
@click.option("--duplicates", type=click.Choice(["error", "rename"]), help="Two columns of one name.")
@click.option("--encoding", help="Encoding of a text file, where it is not found out.")
@click.option("--metric", multiple=True, metavar="NAME[,NAME...]", help="What to measure; the first decides.")
@click.option("--task", type=click.Choice(catalogue.PLANNED), help="Taken from the target by default.")
@read_option
@click.option("--role", "roles", multiple=True, metavar="COL=ROLE", help="e.g. zip=nominal, size=ordinal:S<M<L.")
@click.option(
    "--prepare", "-p", multiple=True, metavar="ID[=JSON]", help='Step before learning, e.g. outliers={"action":"drop"}.'
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0, 2**32 - 1), help="Root of all chance.")
@click.option("--jobs", "-j", type=click.IntRange(1), help="Learners run side by side; all cores by default.")
@click.option("--alpha", default=0.05, show_default=True, type=float, help="Level of the tests.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder; assay-run/<data>-<target> by default.")
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Package of the answer, fitted on all rows: best.assay.",
)
@click.option(
    "--tune",
    type=click.Choice(["random", "grid", "one-factor", "optuna"]),
    is_flag=False,
    flag_value="random",
    help="Choose parameters inside the training rows, in the spaces of `assay methods`; random if no method is named.",
)
@click.option("--trials", type=click.IntRange(1), help="Settings that --tune random or optuna tries in each fold; 20.")
@click.option("--race", is_flag=True, help="Stop a learner between repetitions once it is shown to be worse.")
@click.option(
    "--holdout", type=float, metavar="SHARE", help="Rows set aside for one look at the end (assay runs open)."
)
@limit_options
@engine_options
@click.option("--fresh", is_flag=True, help="Forget the folds that an earlier run finished.")
@common_options
def compare(data: str, target: str, out: Path | None, quiet: bool, as_json: bool, **options: Any) -> int:
    """Compare learners on DATA (a file, a pattern of files, a database URL or a bundled data set).

    Writes plan.toml (for `assay run`), store.sqlite, results.json and report.html; the same command goes on where an
    earlier one stopped.
    """
    with messages(quiet) as tell:
        given = {name: options.pop(name) for name in ("encoding", "duplicates")}
        given = {name: value for name, value in given.items() if value}
        roles = options.pop("roles")
        ignored = tuple(text.removesuffix("=ignore") for text in roles if text.endswith("=ignore"))
        options["drop"] = (*options["drop"], *ignored)
        roles = tuple(text for text in roles if not text.endswith("=ignore"))
        _check_roles(roles)
        read = load(data, roles, options.pop("reading"), **given)
        folder = place_for(out) if out else Path("assay-run") / f"{file_word(Path(read.name).stem)}-{file_word(target)}"
        return compare_table(read, target, folder, quiet=quiet, as_json=as_json, tell=tell, **options)


def compare_table(
    data: Any,
    target: str,
    folder: Path,
    *,
    quiet: bool,
    as_json: bool,
    tell: Any,
    models: tuple[str, ...] = (),
    group: str | None = None,
    metric: tuple[str, ...] = (),
    prepare: tuple[str, ...] = (),
    seed: int = 0,
    jobs: int | None = None,
    fresh: bool = False,
    save: Path | None = None,
    tune: str | None = None,
    trials: int | None = None,
    engine: str = "threads",
    scheduler: str | None = None,
    **choices: Any,
) -> int:
    """Run a comparison into a folder and show it; the exit code says whether every learner worked.

    `choices` are options that have the name and the form of those of `Plan`.
    """
    from ..experiment import Plan

    plan = Plan(
        data,
        target,
        learners=models_of(models),
        groups=group,
        metrics=listed(metric),
        prepare=[_step(text) for text in prepare],
        random_state=seed,
        tune=None if tune is None else {"method": tune} | ({"trials": trials} if trials else {}),
        **choices,
    )
    how = {"engine": engine, "scheduler": scheduler}
    return run_plan(plan, folder, quiet=quiet, as_json=as_json, tell=tell, jobs=jobs, fresh=fresh, save=save, **how)


def run_plan(
    plan: Any,
    folder: Path,
    *,
    quiet: bool,
    as_json: bool,
    tell: Any,
    jobs: int | None = None,
    fresh: bool = False,
    save: Path | None = None,
    **how: Any,
) -> int:
    """Run a plan into a folder, where the plan, the store, results.json and report.html lie then, and show it."""
    from ..experiment import Store, explain_results, run
    from ..report import write_report

    _tell_plan(plan, tell)
    _tell_findings(plan, tell)
    _tell_replaced(plan, folder, tell)
    store_path = folder / "store.sqlite"
    if fresh:
        _forget(store_path, tell)
    plan.save(place_for(folder) / "plan.toml")
    with Store(store_path) as store:
        with progress_bar(quiet) as show, prints_aside():
            results = run(plan, store, n_jobs=jobs or default_jobs(), progress=show, **how)
        _tell_done(results, store_path, tell)
        with prints_aside():
            record = results.to_dict() | {"explanation": explain_results(results, store)}
    write_text(folder / "results.json", json_text(record))
    report = write_report(record, folder / "report.html", results.timings)
    if as_json:
        print_json(record)
    else:
        show_results(record, report)
    if save is not None and not results.not_yet:
        with prints_aside():
            model = results.best_model()
        model.save(place_for(save))
        tell(f"assay: {plain(model.learner.title)}, fitted on all rows, is saved as {plain(save, 200)}.")
    if results.not_yet:
        if save is not None:
            tell(f"assay: {plain(save, 200)} is not written, since there is no answer yet.")
        return FINDINGS
    return SOME_FAILED if results.failed else OK


def models_of(texts: tuple[str, ...]) -> list[Any] | None:
    """Learners as written: ids with commas between, NAME=ID, ID{"parameter": value}, package.Class."""
    found: list[Any] = []
    for text in texts:
        for word in _outside_braces(text):
            head, brace, tail = word.partition("{")
            name, equals, what = head.rpartition("=")
            parameters: dict[str, Any] = {}
            if brace:
                try:
                    parameters = json.loads(brace + tail)
                except ValueError as error:
                    raise UsageError(
                        "--models", f"learner '{plain(head)}'", "must have its parameters as JSON", plain(error, 100)
                    ) from None
            learner: Any = (what.strip(), parameters) if parameters else what.strip()
            found.append((name.strip(), learner) if equals else learner)
    return found or None


def _outside_braces(text: str) -> list[str]:
    """The parts between commas that are not inside braces.

    >>> _outside_braces('a,b{"k": 1, "j": 2},c')
    ['a', 'b{"k": 1, "j": 2}', 'c']
    """
    parts, depth = [""], 0
    for character in text:
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _step(text: str) -> tuple[str, dict[str, Any]]:
    """A step as written on the command line: its id, or id={"parameter": value}."""
    name, equals, written = text.partition("=")
    if not equals:
        return name, {}
    try:
        parameters = json.loads(written)
    except ValueError as error:
        raise UsageError(
            "--prepare", f"step '{plain(name)}'", "must have its parameters as JSON", plain(error, 100)
        ) from None
    if not isinstance(parameters, dict):
        raise UsageError("--prepare", f"step '{plain(name)}'", 'must have parameters like {"method": "robust"}')
    return name, parameters


def load(data: str, roles: tuple[str, ...] = (), reading: tuple[str, ...] = (), **given: Any) -> Any:
    """The table behind a path, a pattern, a database URL or the name of a bundled data set, with the user's roles."""
    from ..data import DATASETS, load_dataset, read_table

    bundled = data in DATASETS and not Path(data).exists()
    read = load_dataset(data) if bundled else read_table(data, **{**given, **readings(reading)})
    chosen = dict(_role(text) for text in roles)
    return read.with_roles(chosen) if chosen else read


def show_results(record: dict[str, Any], report: Path) -> None:
    """The comparison on stdout: what the audit objects, a table, the test in words, the recommendation, the report."""
    from rich.text import Text

    out, metric = console(), record["metric"]
    if record.get("not_yet"):
        out.print(Text(f"Not yet: {plain(record['not_yet'], 2000)}", style="bold"))
    for text in record.get("cautions") or []:
        out.print(Text(f"Caution: {plain(text, 1000)}"))
    comparison, recommendation = record["comparison"], record["recommendation"]
    lettered = bool(comparison) and comparison.get("comparisons") == "all"
    rows = []
    for row in sorted(record["learners"], key=lambda row: _rank(row, metric["greater_is_better"])):
        if row["error"] is not None or row["mean"] is None:
            said = "stopped" if row.get("race") else "failed" if row["error"] else "no score"
            rows.append([row["title"], said, "", "", "worse" if row.get("race") else ""])
            continue
        last = row["group"] if lettered else row["verdict"]
        rows.append([row["title"], f"{row['mean']:.4f}", _span(row["interval"]), _difference(row), last or ""])
    level = f"{100 * (1 - _alpha(record)):g} % interval"
    heading = f"{metric['title']} on {record['data']['name']}, target {record['data']['target']}"
    columns = [
        ("learner", "left"),
        (metric["name"], "right"),
        (level, "right"),
        ("difference", "right"),
        ("group" if lettered else "verdict", "left"),
    ]
    out.print(table(heading, columns, rows))
    if metric.get("reason"):
        out.print(Text(f"{plain(metric['reason'], 400)[:1].upper()}{plain(metric['reason'], 400)[1:]}."))
    if comparison and comparison.get("sentence") and not record.get("not_yet"):
        out.print(Text(plain(comparison["sentence"], 3000)))
    if (record.get("ledger") or {}).get("plans", 1) > 1:
        out.print(Text(f"Ledger: {plain(record['ledger']['words'], 1000)}"))
    for row in record["learners"]:
        if row.get("search"):
            out.print(Text(f"{plain(row['title'])}: {plain(row['search']['words'], 1000)}"))
    if recommendation:
        out.print(Text(f"Recommendation: {plain(recommendation['reason'], 1000)}"))
    out.print(Text(f"Report: {plain(report, 1000)}"), soft_wrap=True)


def _span(interval: Any) -> str:
    low, high = interval or (None, None)
    return "" if low is None or high is None else f"{low:.4f} to {high:.4f}"


def _difference(row: dict[str, Any]) -> str:
    """The difference from the best with its simultaneous interval."""
    if row.get("difference") is None:
        return ""
    low, high = row["difference_interval"]
    return f"{_signed(row['difference'])} ({_signed(low)} to {_signed(high)})"


def _signed(value: float) -> str:
    """Four decimals with a sign, and none before a zero.

    >>> _signed(0.01234), _signed(-0.00001)
    ('+0.0123', '0.0000')
    """
    text = f"{value:+.4f}"
    return text[1:] if float(text) == 0 else text


def _tell_plan(plan: Any, tell: Any) -> None:
    from ..data.roles import lost_cells

    rows, columns = plan.features.frame.shape
    tell(
        f"assay: {count(rows, 'row')}, {count(columns, 'column')}, target '{plain(plan.target.name)}' "
        f"to {plan.task}: {count(len(plan.learners), 'learner')}, {plan.design.describe()}."
    )
    if plan.n_classes is None and plan.whole_numbers_repeat:
        tell(
            f"assay: '{plain(plan.target.name)}' holds few whole numbers that repeat; if they are "
            "codes of classes, say --task classify."
        )
    elif (plan.n_classes or 0) > 1000:
        tell(f"assay: '{plain(plan.target.name)}' has {plan.n_classes:,} classes, which takes long.")
    if plan.time in plan.table.columns and plan.table.roles[plan.time].role == "ordinal":
        order = " < ".join(plain(label, 30) for label in plan.table.roles[plan.time].order)
        tell(f"assay: rows are in time as column '{plain(plan.time)}' says: {plain(order, 400)}.")
    if plan.time in plan.columns:
        tell(
            f"assay: column '{plain(plan.time)}' gives the order in time and stays a feature; "
            f"--drop {plain(plan.time)} sets it aside."
        )
    if plan.choice is not None:
        tell(f"assay: {plan.choice.words()}.")
        if longest := plan.choice.longest([learner.title for learner in plan.learners]):
            tell(f"assay: {longest}.")
    for title in plan.over_budget:
        tell(f"assay: {plain(title)} is left out, because it would take half of the budget or more.")
    if plan.metric_reason:
        tell(f"assay: {plan.metric_reason}.")
    without = plan.table.n_rows - rows - len(plan.held)
    if len(plan.held):
        tell(f"assay: {count(len(plan.held), 'row')} set aside for one look at the end: assay runs open.")
    if without:
        lost = lost_cells(plan.table.notes.get(plan.target.name, {}))
        tell(f"assay: {count(without, 'row')} without a target left out{f'; of their cells {lost}' if lost else ''}.")
    for column in plan.features.set_aside:
        tell(
            f"assay: column '{plain(column['column'])}' is set aside: {plain(column['reason'], 200)}.".replace(
                "..", "."
            )
        )


def _tell_done(results: Any, store_path: Path, tell: Any) -> None:
    """What was found instead of being run, who failed and who left the race."""
    if results.reused:
        were = "was" if results.reused == 1 else "were"
        units = f"{count(results.reused, 'unit')} of work {were}"
        tell(f"assay: {units} found in {plain(store_path, 200)} and not run again.")
    for failure in results.failed:
        tell(f"assay: {failure.error}")
    for one in results.learners:
        if one.stopped is not None:
            tell(f"assay: {one.stopped.words(one.title, results.plan.design.repetitions)}")


def _tell_replaced(plan: Any, folder: Path, tell: Any) -> None:
    """What the folder holds of another comparison: its report stays until this run is finished, and goes then."""
    from ..experiment.results import command_of

    try:
        held = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        command, fingerprint = str(held["command"]), held["data"]["fingerprint"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if (command, fingerprint) != (command_of(plan), plan.table.fingerprint):
        of = "with other options" if fingerprint == plan.table.fingerprint else "of other data"
        tell(
            f"assay: {plain(folder, 200)} holds a comparison {of} ({plain(command, 300)}); its results.json and "
            "report.html stay until this run is finished and are then replaced; --out keeps both."
        )


def _tell_findings(plan: Any, tell: Any) -> None:
    """The grave findings of the audit, before anything runs."""
    for finding in plan.findings:
        if finding["severity"] == "high" or plan.about_target(finding):
            columns = ", ".join(f"'{plain(name, 30)}'" for name in finding["columns"][:3])
            where = f" ({columns})" if columns else ""
            tell(f"assay: {finding['code']} {plain(finding['kind'])}{where}: {plain(finding['evidence'], 300)}.")


def _rank(row: dict[str, Any], greater_is_better: bool) -> tuple[bool, float]:
    mean = row["mean"]
    return (mean is None, 0.0 if mean is None else (-mean if greater_is_better else mean))


def _alpha(record: dict[str, Any]) -> float:
    return float((record["comparison"] or {}).get("alpha") or 0.05)


def listed(texts: tuple[str, ...]) -> list[str] | None:
    """Words that may be given with commas between."""
    words = [word.strip() for text in texts for word in text.split(",")]
    return [word for word in words if word] or None


def readings(texts: tuple[str, ...]) -> dict[str, Any]:
    """What the options --read say, as parameters."""
    return dict(map(_reading, texts))


def _reading(text: str) -> tuple[str, Any]:
    """How to read, as written on the command line: `encoding=cp1252`, `header=no`."""
    name, equals, value = text.partition("=")
    known = ("delimiter", "encoding", "header", "duplicates", "sheet", "table", "query")
    if not equals or name not in known:
        raise UsageError(
            "assay", f"option --read '{plain(name)}'", f"must read HOW=VALUE with HOW one of {', '.join(known)}"
        )
    if name != "header":
        return name, value.replace("\\t", "\t") if name == "delimiter" else value
    if value.lower() not in ("yes", "no", "true", "false"):
        raise UsageError("assay", "option --read 'header'", "must be header=yes or header=no", f"got '{plain(value)}'")
    return name, value.lower() in ("yes", "true")


def _role(text: str) -> tuple[str, Any]:
    column, equals, role = text.rpartition("=")
    if not equals or not column or not role:
        raise UsageError("assay", f"option --role '{plain(text)}'", "must read COL=ROLE, for example zip=nominal")
    kind, colon, order = role.partition(":")
    if not colon:
        return column, role
    if kind != "ordinal":
        raise UsageError("assay", f"option --role '{plain(text)}'", "can give an order only to the role ordinal")
    return column, ("ordinal", [level.strip() for level in re.split("[<,]", order)])


def _check_roles(texts: tuple[str, ...]) -> None:
    """Refuse a role that is none, naming `ignore` too, which here leaves a column out."""
    from ..data import ROLES

    for column, role in map(_role, texts):
        if isinstance(role, str) and role not in ROLES:
            raise UsageError(
                "assay",
                f"option --role '{plain(column)}'",
                f"must be one of {', '.join(ROLES)} or ignore",
                f"got '{plain(role)}'",
            )


def file_word(text: str) -> str:
    """A text as part of a file's name."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-.") or "table"


def _forget(store_path: Path, tell: Any) -> None:
    """Forget the runs and folds of a store, not what was looked at; a damaged file is kept under another name."""
    from ..experiment import Store
    from ..experiment.store import StoreDamage

    aside = store_path
    if store_path.is_file():
        try:
            with Store(store_path) as store:
                store.forget(run["id"] for run in store.runs())
            return
        except StoreDamage as error:
            tell(str(error))
        number = 1
        while aside.exists():
            aside, number = store_path.with_name(f"store-damaged-{number}.sqlite"), number + 1
    for suffix in ("-wal", "-shm", ""):
        try:
            if aside == store_path:
                Path(f"{store_path}{suffix}").unlink(missing_ok=True)
            elif Path(f"{store_path}{suffix}").exists():
                Path(f"{store_path}{suffix}").rename(f"{aside}{suffix}")
        except OSError as error:
            raise DataError(
                "assay",
                f"file '{plain(store_path, 200)}'",
                f"cannot be moved ({error.strerror or error})",
                way_out="choose another folder with --out",
            ) from None
    if aside != store_path:
        tell(
            f"assay: it is kept as {plain(aside, 200)}; the new store does not know which rows were looked at or "
            "opened before."
        )
