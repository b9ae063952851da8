"""Runs in a store: who asked for which units, with which code and data, and what came of it."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..base.errors import AssayWarning, DataError, plain
from ..base.words import listing
from ..data import DATASETS
from .ledger import Looks, held_digest, looks_of, settings_of
from .plan import Plan
from .plan_file import record_of, write_plan
from .result_frames import predictions_frame, scores_frame, trials_frame
from .results import Results, versions
from .soundness import damaged_texts
from .store import Store, StoreDamage, digest
from .version import code_version


def now() -> str:
    """The time, to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def run_id(plan: Plan, code: str = "") -> str:
    """The name of a run: twelve digits that depend on the plan and the code version."""
    return digest(plan.fingerprint, code or code_version())[:12]


@dataclass(frozen=True)
class Registered:
    """A run that a store knows of: how often its rows have been looked at, and what notes its end."""

    looks: Looks
    finish: Callable[[Results], None]


@contextlib.contextmanager
def register(plan: Plan, store: Store | None, keys: list[str]) -> Iterator[Registered]:
    """Note in the store that a plan is run, and by `finish` what it found."""
    if store is None:
        yield Registered(looks_of(plan, []), lambda results: None)
        return
    run = run_id(plan)
    known = [one for one in store.runs() if not damaged_texts(one)]  # this one is written anew
    for code, text in remarks(plan, known):
        warnings.warn(AssayWarning(code, text), stacklevel=4)
    made = next((one["plan"] for one in known if one["id"] == run and _is_there(_source(one))), None)
    row = {
        "id": run,
        # Asked for again on a copy of its table, a run keeps the name of the table that it was made with.
        "plan": made or json.dumps(record_of(plan), ensure_ascii=False, allow_nan=False),
        "fingerprint": plan.fingerprint,
        "data": plan.table.fingerprint,
        "code": code_version(),
        "versions": json.dumps(versions()),
        "started": now(),
    }
    store.begin_run(row, keys)
    settings = json.dumps(settings_of(plan))
    data = plan.table.rows_fingerprint
    store.look(plan.fingerprint, data, plan.target.name, settings, row["started"], held_digest(plan))
    yield Registered(
        looks_of(plan, _until(store.looks(), plan.fingerprint)),
        lambda results: store.finish_run(
            run, now(), json.dumps(results.to_dict(), ensure_ascii=False, allow_nan=False)
        ),
    )


def _until(looks: list[dict[str, str]], plan: str) -> list[dict[str, str]]:
    """The looks up to the first one of this plan: what it can be told does not change when others follow."""
    places = [number for number, look in enumerate(looks) if look["plan"] == plan]
    return looks[: places[0] + 1] if places else looks


def remarks(plan: Plan, known: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What a user should know of earlier runs in the store: other code, other data under the same name."""
    said: list[tuple[str, str]] = []
    # A run of this very id was made by this code, whatever the store says of it.
    same = [run for run in known if run["fingerprint"] == plan.fingerprint and run["id"] != run_id(plan)]
    others = [run for run in same if run["code"] != code_version()]
    if others:
        last = others[-1]
        said.append(
            (
                "W403",
                f"run: the store holds this plan as run by other code on {last['started'][:10]} (run {last['id']}); "
                f"its {last['done']} units stay there, none is mixed in, and everything is run again.",
            )
        )
    source = plan.table.source or plan.table.name
    changed = [run for run in known if run["data"] != plan.table.fingerprint and _source(run) == source]
    if changed and not any(run["data"] == plan.table.fingerprint for run in known):
        last = changed[-1]
        said.append(
            (
                "W404",
                f"run: '{plain(source, 100)}' has changed since run {last['id']} of {last['started'][:10]} ("
                f"fingerprint {plan.table.fingerprint[:8]}, was {last['data'][:8]}); what was stored for the old "
                "data is kept and none of it is mixed in.",
            )
        )
    return said


def _source(run: dict[str, Any]) -> str | None:
    try:
        return str(json.loads(run["plan"])["data"]["source"])
    except (ValueError, KeyError, TypeError):
        return None


def _is_there(source: str | None) -> bool:
    return source is not None and (source in DATASETS or Path(source).exists())


@dataclass(frozen=True)
class StoredRun:
    """A run as a store tells it."""

    id: str
    store: Path
    plan: dict[str, Any]
    fingerprint: str
    data: str
    code: str
    versions: dict[str, str]
    started: str
    finished: str | None
    units: int
    done: int
    results: dict[str, Any] | None = field(default=None, repr=False)
    damage: str = ""
    """What of it cannot be read, and what to do, in a sentence; what cannot be read is empty here."""

    @property
    def state(self) -> str:
        """ "finished", "damaged", or how far it got."""
        if self.damage:
            return "damaged"
        return "finished" if self.finished else f"{self.done} of {self.units} units"

    @property
    def same_code(self) -> bool:
        """Whether the code that is running now made it."""
        return self.code == code_version()


def stores_under(place: str | Path) -> list[Path]:
    """The store files of a place: the file itself, that of a folder, or those one folder below it."""
    path = Path(place)
    if path.is_file():
        return [path]
    if (path / "store.sqlite").is_file():
        return [path / "store.sqlite"]
    return sorted(path.glob("*/store.sqlite"))


def stored_runs(place: str | Path, *, results: bool = False) -> list[StoredRun]:
    """The runs of a store, or of every store in a folder, in the order in which they began last."""
    found: list[StoredRun] = []
    for path in stores_under(place):
        with Store(path, read_only=True) as store:
            for row in store.runs():
                found.append(_stored(path, row, store.results_of(row["id"]) if results else None, results))
    return sorted(found, key=lambda run: run.started)  # those of one second in the order of their store


def _stored(path: Path, row: dict[str, Any], told: str | None, asked: bool) -> StoredRun:
    """A run from its row and, where they were asked for, its results; of damaged texts nothing is believed."""
    if asked and told is None and row["finished"]:
        told = ""
    bad = damaged_texts(row, told)
    read = {
        "plan": {} if "plan" in bad else json.loads(row["plan"]),
        "versions": {} if "versions" in bad else json.loads(row["versions"]),
        "results": None if told is None or "results" in bad else json.loads(told),
    }
    again = "run its comparison again, which writes all of it anew, or "
    damage = (
        f"run {plain(row['id'])} in '{plain(path, 200)}' is damaged: its {listing(bad)} cannot be read; "
        f"{again if row['code'] == code_version() else 'it was made by other code than this: '}"
        f"remove it with `assay runs prune {plain(row['id'])}`"
    )
    return StoredRun(**{**row, **read}, store=path, damage=damage if bad else "")


def check_store(path: str | Path) -> list[str]:
    """What is damaged in a store, and what to do about it, in sentences; nothing if it is sound.

    Units of work are compared with their digests, and the texts of runs, which have none, are read back.
    """
    with Store(path, read_only=True) as store:
        said = store.damage()
    try:
        said += [run.damage for run in stored_runs(path, results=True) if run.damage]
    except StoreDamage as error:
        said += [] if said else [str(error)]
    return said


def find_run(place: str | Path, name: str) -> StoredRun:
    """The run whose id begins with `name`; "last" is the one that was begun, or asked for again, last. A run that is
    damaged is refused."""
    run = named_run(place, stored_runs(place, results=True), name)
    if run.damage:
        raise DataError(f"runs: {run.damage}.")
    return run


def named_run(place: str | Path, known: list[StoredRun], name: str) -> StoredRun:
    """The one of these runs that has this name, damaged or not."""
    if not known:
        raise DataError("runs", f"'{plain(place, 200)}'", "holds no run", way_out="name the folder of one, with --in")
    chosen = known[-1:] if name == "last" else [run for run in known if run.id.startswith(name)]
    if len(chosen) != 1:
        raise DataError(
            "runs",
            f"run '{plain(name)}'",
            "is not in the store" if not chosen else f"could be any of {len(chosen)} runs",
            way_out="choose from " + ", ".join(run.id for run in (chosen or known)[-6:]),
        )
    return chosen[0]


def load_results(run: StoredRun, table: Any = None) -> Results:
    """The results of a stored run, built from its units without a fit and without writing anything.

    The table is read again from where the plan says, or given; another one than that of the run is refused.
    """
    from .plan_file import plan_of
    from .run import collect

    plan = plan_of(run.plan, table, home=run.store.parent)
    with Store(run.store, read_only=True) as store:
        return collect(plan, store, run.code, looks_of(plan, _until(store.looks(), plan.fingerprint)))


def differences(first: StoredRun, second: StoredRun) -> dict[str, Any]:
    """What two runs differ in: keys of their plans, data, code; and the mean scores of the learners in both."""
    said = [
        f"{name} was {plain(old, 80)} in {first.id} and is {plain(new, 80)} in {second.id}"
        for name, old, new in _changed(first.plan, second.plan)
    ]
    if first.code != second.code:
        said.append(f"the code differs: {first.code[:12]} in {first.id}, {second.code[:12]} in {second.id}")
    said += [f"{run.id} is not finished: {run.state}" for run in (first, second) if run.results is None]
    told = [run.results or {} for run in (first, second)]
    metrics = [one.get("metric", {}).get("name", "") for one in told]
    rows = [{row["id"]: row for row in one.get("learners", [])} for one in told]
    both = []
    for name, row in rows[0].items():
        other = rows[1].get(name)
        # The same metric is measured in both where it decides in one of them and is told in the other.
        means = [None if r is None else r["metrics"].get(metrics[0]) for r in (row, other)]
        old, new = means
        gap = None if old is None or new is None else new - old
        both.append({"id": name, "title": row["title"], "first": means[0], "second": means[1], "difference": gap})
    both += [
        {"id": name, "title": row["title"], "first": None, "second": row["metrics"].get(metrics[0]), "difference": None}
        for name, row in rows[1].items()
        if name not in rows[0]
    ]
    return {
        "first": first.id,
        "second": second.id,
        "metric": metrics[0],
        "words": said or ["the plans, the data and the code are the same"],
        "learners": both,
    }


def _changed(first: Any, second: Any, name: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The keys in which two plans differ, with both values."""
    if isinstance(first, dict) and isinstance(second, dict):
        for key in dict.fromkeys([*first, *second]):
            yield from _changed(first.get(key), second.get(key), f"{name}.{key}" if name else key)
    elif first != second:
        yield name, first, second


def export(run: StoredRun, folder: str | Path, table: Any = None) -> list[Path]:
    """Write a run as Parquet files (scores, predictions, trials, ledger) and its plan as TOML; needs its data."""
    results = load_results(run, table)
    place = Path(folder)
    frames = {
        "scores": scores_frame(results),
        "predictions": predictions_frame(results),
        "trials": trials_frame(results),
        "ledger": results.ledger().to_frame(),
    }
    written = [write_plan(results.plan, place / "plan.toml")]
    for name, frame in frames.items():
        if frame is not None and frame.height:
            path = place / f"{name}.parquet"
            try:
                frame.write_parquet(path)
            except OSError as error:
                raise DataError(
                    "runs", f"file '{plain(path, 200)}'", f"cannot be written ({error.strerror or error})"
                ) from None
            written.append(path)
    return written
