"""`assay runs`: what stores know of the runs that were made: list, show, compare, export, open, prune."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from ..base.errors import DataError, UsageError, plain
from ..base.words import count
from .main import FINDINGS, OK, common_options
from .output import console, messages, place_for, print_json, prints_aside, table

place_option = click.option(
    "--in", "place", default="assay-run", show_default=True, metavar="PLACE",
    help="A store, the folder of a run, or a folder of such folders.",
)  # fmt: skip


def words_argument(metavar: str) -> Callable[[Any], Any]:
    """The plain words of a command: runs, and a place among them, which `--in` names as well."""
    return click.argument("words", nargs=-1, metavar=metavar)


def _runs_and_place(command: str, words: Sequence[str], place: str, least: int, most: int) -> tuple[list[str], str]:
    """The runs among the words, `last` where one may be left out, and the place: the word that is a file or folder."""
    places = [word for word in words if most == 0 or Path(word).exists() or "/" in word]
    names = [word for word in words if word not in places]
    if len(places) > 1 or len(names) > most or len(names) < least:
        takes = {0: "no run", 1: "one run", 2: "two runs"}.get(most, "runs")
        got = f"got {count(len(names), 'run')} and {count(len(places), 'place')}"
        raise UsageError("runs", f"'{command}'", f"takes {takes} and at most one place", got, "see --help")
    if most == 1 and not names:
        names = ["last"]
    where = places[0] if places else place
    if not Path(where).exists():
        raise DataError("runs", f"'{plain(where, 200)}'", "does not exist", way_out="name the folder of a run")
    return names, where


@click.group()
def runs() -> None:
    """List, show, compare, export, open and prune the runs that stores hold.

    RUN is the beginning of a run's id, or the word last; PLACE a store, the folder of a run, or a folder of such
    folders.
    """


@runs.command("list")
@words_argument("[PLACE]")
@place_option
@common_options
def list_runs(words: tuple[str, ...], place: str, quiet: bool, as_json: bool) -> int:
    """List the runs in the order in which they were begun, or asked for again.

    The exit code is 3 if one of them is damaged.
    """
    from ..experiment import stored_runs

    with messages(quiet) as tell:
        _, place = _runs_and_place("list", words, place, 0, 0)
        found = stored_runs(place, results=True)
        damaged = [run for run in found if run.damage]
        code = DataError.exit_code if damaged else OK
        if as_json:
            print_json({"schema": "assay.runs/1", "runs": [_row(run) for run in found]})
            return code
        if not found:
            tell(f"assay: {plain(place, 200)} holds no run.")
            return OK
        rows = [
            [row["id"], row["started"], row["data"], row["target"], row["learners"], row["design"], row["state"],
             row["best"], "" if row["same_code"] else "other code"]
            if not run.damage
            else [row["id"], row["started"], "", "", "", "", row["state"], "", ""]
            for run, row in ((run, _row(run)) for run in found)
        ]  # fmt: skip
        heads = ("id", "began", "data", "target", "learners", "design", "state", "best", "code")
        console().print(table(count(len(found), "run"), [(head, "left") for head in heads], rows))
        for run in damaged:
            tell(f"assay: {run.damage}.")
    return code


@runs.command("show")
@words_argument("[RUN] [PLACE]")
@place_option
@common_options
def show_run(words: tuple[str, ...], place: str, quiet: bool, as_json: bool) -> int:
    """Show the plan and the results of RUN."""
    from ..experiment import find_run
    from ..experiment.plan_file import toml_text
    from .compare import show_results

    with messages(quiet) as tell:
        (run,), place = _runs_and_place("show", words, place, 0, 1)
        found = find_run(place, run)
        if as_json:
            print_json({"schema": "assay.run/1", **_row(found), "plan": found.plan, "results": found.results})
            return OK
        tell(f"assay: run {found.id} of {found.started}, {found.state}, in {plain(found.store, 200)}.")
        if not found.same_code:
            tell("assay: it was made by other code than this.")
        click.echo(toml_text(found.plan))
        if found.results is not None:
            show_results(found.results, found.store.parent / "report.html")
    return OK


@runs.command("compare")
@words_argument("RUN RUN [PLACE]")
@place_option
@common_options
def compare_runs(words: tuple[str, ...], place: str, quiet: bool, as_json: bool) -> int:
    """Say what differs between two runs: plan, data, code, and the scores of learners that are in both."""
    from ..experiment import find_run
    from ..experiment.runs import differences

    with messages(quiet):
        (first, second), place = _runs_and_place("compare", words, place, 2, 2)
        told = differences(find_run(place, first), find_run(place, second))
        if as_json:
            print_json({"schema": "assay.runs.compare/1", **told})
            return OK
        out = console()
        for text in told["words"]:
            out.print(text)
        rows = [
            [row["title"], *("" if v is None else f"{v:.4f}" for v in (row["first"], row["second"], row["difference"]))]
            for row in told["learners"]
        ]
        heads = [("learner", "left"), *((name, "right") for name in (told["first"], told["second"], "difference"))]
        out.print(table(f"{told['metric']}", heads, rows))
    return OK


@runs.command("export")
@words_argument("[RUN] [PLACE]")
@click.option("--to", required=True, type=click.Path(path_type=Path), metavar="FOLDER", help="Where the files go.")
@place_option
@common_options
def export_run(words: tuple[str, ...], to: Path, place: str, quiet: bool, as_json: bool) -> int:
    """Write scores, predictions, trials and the ledger of RUN as Parquet files; needs the data of the plan."""
    from ..experiment import find_run
    from ..experiment.runs import export

    with messages(quiet) as tell:
        (run,), place = _runs_and_place("export", words, place, 0, 1)
        written = export(find_run(place, run), place_for(to))
        if as_json:
            print_json({"schema": "assay.runs.export/1", "files": [str(path) for path in written]})
            return OK
        for path in written:
            tell(f"assay: {plain(path, 300)}")
    return OK


@runs.command("open")
@words_argument("[RUN] [PLACE]")
@click.option("--learner", metavar="ID", help="Another learner than the recommended one.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@place_option
@common_options
def open_run(words: tuple[str, ...], learner: str | None, yes: bool, place: str, quiet: bool, as_json: bool) -> int:
    """Open the rows that RUN set aside (--holdout) and score its recommended learner on them. This works once."""
    from ..experiment import Store, find_run, load_results
    from ..experiment.final_look import open_holdout

    with messages(quiet) as tell:
        (run,), place = _runs_and_place("open", words, place, 0, 1)
        found = find_run(place, run)
        results = load_results(found)
        of = found.plan["data"]
        rows = f"rows that run {found.id} set aside of {plain(of['source'], 200)}, target '{plain(of['target'])}'"
        if not yes and not as_json:
            click.confirm(f"The {rows}, can be opened once. Open them now?", abort=True, err=True)
        else:
            tell(f"assay: opening the {rows}.")
        with Store(found.store) as store, prints_aside():
            look = open_holdout(results, store, learner)
        if look.again:
            tell(f"assay: they were opened on {look.opened}; this is what was found then.")
        if as_json:
            print_json({"schema": "assay.holdout/1", **look.to_dict()})
        else:
            click.echo(look.sentence)
    return OK


@runs.command("prune")
@words_argument("[RUN]... [PLACE]")
@click.option("--other-code", is_flag=True, help="Every run that other code made.")
@click.option("--unfinished", is_flag=True, help="Every run that was not finished.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and keep it.")
@place_option
@common_options
def prune_runs(
    words: tuple[str, ...], other_code: bool, unfinished: bool, dry_run: bool, place: str, quiet: bool, as_json: bool
) -> int:
    """Remove runs, and the units of work that no other run needs."""
    from ..experiment import Store, stored_runs
    from ..experiment.runs import named_run

    with messages(quiet) as tell:
        # Any number of runs, and so never the last one because none is named.
        names, place = _runs_and_place("prune", words, place, 0, len(words) + 2)
        if not (names or other_code or unfinished):
            raise UsageError("runs", "prune", "must be told which runs", way_out="name them, or say --other-code")
        known = stored_runs(place)
        chosen = {named_run(place, known, name).id for name in names}
        chosen |= {run.id for run in known if other_code and not run.same_code and not run.damage}
        chosen |= {run.id for run in known if unfinished and run.finished is None and not run.damage}
        gone = 0
        for path in {run.store for run in known if run.id in chosen} if not dry_run else ():
            with Store(path) as store:
                gone += store.forget([run.id for run in known if run.id in chosen and run.store == path])
        if as_json:
            print_json({"schema": "assay.runs.prune/1", "runs": sorted(chosen), "units": gone, "kept": dry_run})
            return OK
        verb = "would go" if dry_run else "is gone" if len(chosen) == 1 else "are gone"
        units = "" if dry_run else f", with {count(gone, 'unit')} of work"
        tell(f"assay: {count(len(chosen), 'run')} {verb}{units}.")
        for name in sorted(chosen):
            click.echo(name)
    return OK


@runs.command("check")
@words_argument("[PLACE]")
@place_option
@common_options
def check_stores(words: tuple[str, ...], place: str, quiet: bool, as_json: bool) -> int:
    """Check that the stores are sound: their files, their units of work and the texts of their runs.

    The exit code is 1 if something is damaged.
    """
    from ..experiment.runs import check_store, stores_under

    with messages(quiet):
        _, place = _runs_and_place("check", words, place, 0, 0)
        told: dict[str, list[str]] = {}
        for path in stores_under(place):
            try:
                told[str(path)] = check_store(path)
            except DataError as error:
                told[str(path)] = [str(error)]
        if as_json:
            stores = {name: "; ".join(said) or "ok" for name, said in told.items()}
            print_json({"schema": "assay.runs.check/1", "stores": stores})
        else:
            for name, said in told.items():
                for text in said or ["ok"]:
                    click.echo(f"{plain(name, 300)}: {plain(text, 1000)}")
    return FINDINGS if any(told.values()) else OK


def _row(run: Any) -> dict[str, Any]:
    """A run in a few words."""
    plan, results = run.plan, run.results or {}
    recommended = results.get("recommendation") or {}
    return {
        "id": run.id,
        "started": run.started,
        "finished": run.finished,
        "state": run.state,
        "damage": run.damage or None,
        "data": plan.get("data", {}).get("source"),
        "target": plan.get("data", {}).get("target"),
        "learners": len(plan["learners"]) if plan else None,
        "design": plan.get("design", {}).get("name"),
        "best": recommended.get("title", ""),
        "fingerprint": run.fingerprint,
        "code": run.code[:12],
        "same_code": run.same_code,
        "store": str(run.store),
    }
