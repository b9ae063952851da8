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
from .plan import Plan
from .plan_file import record_of
from .results import Results, versions
from .store import Store, digest
from .version import code_version


def now() -> str:
    """The time, to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def run_id(plan: Plan) -> str:
    """The name of a run: twelve digits that depend on the plan and the code version."""
    return digest(plan.fingerprint, code_version())[:12]


@contextlib.contextmanager
def register(plan: Plan, store: Store | None, keys: list[str]) -> Iterator[Callable[[Results], None]]:
    """Note in the store that a plan is run, and by the function given, what it found."""
    if store is None:
        yield lambda results: None
        return
    run = run_id(plan)
    known = store.runs()
    for code, text in remarks(plan, known):
        warnings.warn(AssayWarning(code, text), stacklevel=4)
    row = {
        "id": run,
        "plan": json.dumps(record_of(plan), ensure_ascii=False, allow_nan=False),
        "fingerprint": plan.fingerprint,
        "data": plan.table.fingerprint,
        "code": code_version(),
        "versions": json.dumps(versions()),
        "started": now(),
    }
    store.begin_run(row, keys)
    yield lambda results: store.finish_run(
        run, now(), json.dumps(results.to_dict(), ensure_ascii=False, allow_nan=False)
    )


def remarks(plan: Plan, known: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What a user should know of earlier runs in the store: other code, other data under the same name."""
    said: list[tuple[str, str]] = []
    others = [run for run in known if run["fingerprint"] == plan.fingerprint and run["code"] != code_version()]
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

    @property
    def state(self) -> str:
        """ "finished", or how far it got."""
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
    """The runs of a store, or of every store in a folder, in the order in which they began."""
    found: list[StoredRun] = []
    for path in stores_under(place):
        with Store(path, read_only=True) as store:
            for row in store.runs():
                with contextlib.suppress(ValueError):
                    told = store.results_of(row["id"]) if results else None
                    read = {"plan": json.loads(row["plan"]), "versions": json.loads(row["versions"])}
                    found.append(
                        StoredRun(**{**row, **read}, store=path, results=None if told is None else json.loads(told))
                    )
    return sorted(found, key=lambda run: (run.started, run.id))


def find_run(place: str | Path, name: str) -> StoredRun:
    """The run whose id begins with `name`; "last" is the one that began last."""
    known = stored_runs(place, results=True)
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
        return collect(plan, store, run.code)
