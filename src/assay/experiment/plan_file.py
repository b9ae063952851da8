"""Plans in files: what was decided, as TOML or JSON that a person can read, change and run again.

    schema = "assay.plan/1"
    metrics = ["accuracy", "log_loss"]

    [data]
    source = "customers.csv"
    target = "churned"

    [design]
    name = "3x10"
    seed = 0

    [[learners]]
    method = "naive-bayes"

    [[learners]]
    name = "boosted"
    class = "xgboost.XGBClassifier"
    parameters = { max_depth = 4 }

Only `data.source` and `data.target` must be there; the rest is as if it had not been given to `Plan`. A plan names
classes, which are imported when it is read: run plans of people whose programs you would run.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import catalogue
from ..base.errors import AssayError, DataError, UsageError, plain
from ..base.files import write_whole
from ..data import DATASETS, Table, load_dataset, read_table
from ..data.roles import nearest
from .learners import Learner, import_path, settle_learners
from .plain_values import NotPlain, estimator_to_plain, from_plain
from .search import Tuned
from .space import Space

SCHEMA = "assay.plan/1"

_KEYS = {
    "": ("schema", "metrics", "data", "design", "learners", "prepare", "test", "limits", "only_python"),
    "data": ("source", "target", "task", "groups", "time", "drop", "roles", "read", "fingerprint", "holdout"),
    "design": ("name", "seed"),
    "learners": ("method", "class", "name", "title", "parameters", "search"),
    "prepare": ("step", "class", "parameters"),
    "test": ("alpha", "margin", "pairs", "race"),
    "limits": ("budget", "seconds", "memory"),
}

_SHAPES: tuple[tuple[str, tuple[type, ...], str], ...] = (
    ("metrics", (str, list), "must be a list of names"),
    ("data.drop", (str, list), "must be a list of names of columns"),
    ("data.roles", (Mapping,), "must be a table of columns and their roles"),
    ("data.read", (Mapping,), "must be a table of options and their values"),
)
"""What kind of value stands under some keys, and the rule in words."""

_SAID = {
    "random_state": "design.seed",
    "design": "design.name",
    "time_limit": "limits.seconds",
    "memory_limit": "limits.memory",
    "budget": "limits.budget",
    **{name: f"data.{name}" for name in ("target", "task", "groups", "time", "drop", "holdout")},
    **{name: f"test.{name}" for name in ("alpha", "margin", "pairs", "race")},
}
"""Where a plan file says what a parameter of `Plan` is."""


# -- writing -----------------------------------------------------------------------------------------------------------
def record_of(plan: Any) -> dict[str, Any]:
    """A plan as plain data; `only_python` lists the parts of it that cannot be said so.

    >>> from assay.data import load_dataset
    >>> from assay.experiment import Plan
    >>> record_of(Plan(load_dataset("iris"), "species", learners=["zero-r"], design="5-fold"))["design"]
    {'name': '5-fold', 'seed': 0}
    """
    missing: list[str] = []
    table = plan.table
    source = table.name if table.name in DATASETS else table.source
    if not source:
        missing.append("the table, which is not a file")
    for name in ("groups", "time"):
        given = getattr(plan, name)
        if given is not None and given not in table.columns:
            missing.append(f"{name}, which is an array")
    kind = plan.design.kind
    if kind in ("splitter", "bootstrap", "leave-p-out") or (kind == "time" and plan.time is None):
        missing.append(f"the design '{plan.design.name}'")
    declared = {
        name: {"role": role.role, "order": [str(level) for level in role.order]} if role.order else role.role
        for name, role in table.roles.items()
        if role.reason.startswith("declared")
    }
    data = {
        "source": source or table.name,
        "fingerprint": table.fingerprint,
        "target": plan.target.name,
        "task": plan.task,
        "groups": plan.groups,
        "time": plan.time,
        "drop": list(plan.drop) or None,
        "holdout": plan.holdout,
        "read": dict(table.options) or None,
        "roles": declared or None,
    }
    record = {
        "schema": SCHEMA,
        "metrics": list(plan.metrics),
        "data": _given(data),
        "design": {"name": "auto" if kind == "time" else plan.design.name, "seed": plan.random_state},
        "test": _given({"alpha": plan.alpha, "margin": plan.margin, "pairs": plan.pairs, "race": plan.race or None}),
        "limits": _given({"budget": plan.budget, "seconds": plan.time_limit, "memory": plan.memory_limit}) or None,
        "learners": [_learner_record(learner, plan, missing) for learner in plan.learners],
        "prepare": [_step_record(step, missing) for step in plan.prepare] or None,
        "only_python": missing or None,
    }
    return _given(record)


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _learner_record(learner: Learner, plan: Any, missing: list[str]) -> dict[str, Any]:
    record: dict[str, Any] = {"name": learner.name} if learner.name else {}
    try:
        # Seeds that the plan gives are left out: those of each fold, and those of fits without chance.
        draws = getattr(learner.estimator, "_draws", lambda: True)()
        given = {*learner.open_seeds, *(() if draws else ("random_state",))}
        said = estimator_to_plain(learner.estimator, lambda name: name in given or _threads(name))
    except NotPlain as error:
        missing.append(f"learner '{learner.id}': {error}")
        return record | {"class": learner.identity["class"], "title": learner.title}
    if learner.native:
        record["method"] = learner.entry.id
        said.pop("class")
    record |= said
    if learner.search is not None:
        record["search"] = learner.search.to_dict()
    again = settle_learners([_learner(record)], plan.task, plan.random_state)[0]
    return record | ({"title": learner.title} if again.title != learner.title else {})


def _threads(name: str) -> bool:
    return name.rpartition("__")[2] == "n_jobs"


def _step_record(step: Any, missing: list[str]) -> dict[str, Any]:
    entry = catalogue.of_class(type(step))
    try:
        said = estimator_to_plain(step, lambda name: _threads(name) or name == "random_state")
    except NotPlain as error:
        missing.append(f"step {type(step).__name__}: {error}")
        return {"class": import_path(type(step))}
    if entry is not None:
        said.pop("class")
        said = {"step": entry.id, **said}
    return said


def write_plan(plan: Any, path: str | os.PathLike[str]) -> Path:
    """Write a plan as JSON where the file's name ends in .json, else as TOML."""
    record, place = record_of(plan), Path(path)
    if place.suffix.lower() == ".json":
        return write_whole("plan", place, json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    return write_whole("plan", place, toml_text(record))


def toml_text(record: Mapping[str, Any]) -> str:
    """Plain data as TOML: single values first, then tables, lists of tables as `[[name]]`.

    >>> print(toml_text({"a": 1, "b": {"c": "x"}, "d": [{"e": [1.5, True]}]}), end="")
    a = 1
    <BLANKLINE>
    [b]
    c = "x"
    <BLANKLINE>
    [[d]]
    e = [1.5, true]
    """
    plain_part = {k: v for k, v in record.items() if not isinstance(v, Mapping) and not _list_of_tables(v)}
    lines = [f"{_toml_key(name)} = {_toml(value)}" for name, value in plain_part.items()]
    for name, value in record.items():
        if name in plain_part:
            continue
        for head, part in [(f"[{name}]", value)] if isinstance(value, Mapping) else [(f"[[{name}]]", v) for v in value]:
            lines += ["", head, *(f"{_toml_key(key)} = {_toml(item)}" for key, item in part.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _list_of_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_toml_key(key)} = {_toml(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, str):
        return _toml_string(value)
    if isinstance(value, float):
        text = repr(value)
        return text if re.search(r"[.en]", text) else f"{text}.0"
    return json.dumps(value)


def _toml_string(text: str) -> str:
    # JSON's escapes are TOML's; DEL is the one character that JSON lets through and TOML does not.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml_string(name)


# -- reading -----------------------------------------------------------------------------------------------------------
def read_record(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The plain data of a plan file, its keys checked."""
    place = Path(path)
    subject = f"file '{plain(place, 200)}'"
    try:
        text = place.read_text("utf-8-sig")
        if place.suffix.lower() == ".json":
            record = json.loads(text, object_pairs_hook=_once_each)
        else:
            record = tomllib.loads(text)
    except OSError as error:
        raise DataError("plan", subject, f"cannot be read ({error.strerror or error})") from None
    except ValueError as error:
        raise UsageError("plan", subject, f"is not TOML or JSON ({plain(error, 120)})") from None
    except RecursionError:
        raise UsageError("plan", subject, _TOO_DEEP) from None
    check_record(record, place)
    return record


_DEEPEST = 100
_TOO_DEEP = f"must not hold lists and tables more than {_DEEPEST} deep in each other"


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A table of JSON, whose keys may stand once (TOML's own rule)."""
    table = dict(pairs)
    if len(table) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in table if names.count(name) > 1)
        raise UsageError("plan", f"key '{plain(twice)}'", "is given twice in one table", way_out="keep one of the two")
    return table


def _depth(value: Any) -> int:
    """How deep lists and tables lie in each other, at most one more than is allowed."""
    deep, layer = 0, [value]
    while layer and deep <= _DEEPEST:
        tables = [item for item in layer if isinstance(item, (list, Mapping))]
        layer = [one for item in tables for one in (item.values() if isinstance(item, Mapping) else item)]
        deep += bool(tables)
    return deep


def check_record(record: Any, place: object = "plan") -> None:
    """Refuse what is no plan, naming the key that is wrong."""

    def refuse(subject: str, rule: str, way_out: str = "") -> UsageError:
        return UsageError("plan", f"{subject} in '{plain(place, 200)}'", rule, way_out=way_out)

    if not isinstance(record, Mapping):
        raise refuse("the whole", "must be a table of keys and values")
    if _depth(record) > _DEEPEST:
        raise refuse("the whole", _TOO_DEEP)
    if record.get("schema", SCHEMA) != SCHEMA:
        raise refuse("'schema'", f"must be {SCHEMA}", f"got {plain(record['schema'])}, of another version of Assay")
    parts: list[tuple[str, Any]] = [("", record)]
    for name, value in record.items():
        if name in ("learners", "prepare"):
            if not isinstance(value, list):
                raise refuse(f"'{name}'", "must be a list of tables, each under [[" + name + "]]")
            parts += [(name, item) for item in value]
        elif name in _KEYS:
            parts.append((name, value))
    for name, value in parts:
        if not isinstance(value, Mapping):
            raise refuse(f"'{name}'", "must be a table")
        for key in value:
            if key not in _KEYS[name]:
                raise refuse(
                    f"key '{plain(f'{name}.{key}' if name else key)}'",
                    "is not known",
                    nearest(key, _KEYS[name], "the keys are"),
                )
        own = {"learners": "method", "prepare": "step"}.get(name)
        if own is not None:
            _check_part(name, value, own, refuse)
    data = record.get("data")
    if not isinstance(data, Mapping) or not all(isinstance(data.get(key), str) for key in ("source", "target")):
        raise refuse("'data'", "must say where the table is (source) and what to predict (target)")
    for name, kind, rule in _SHAPES:
        part, _, key = name.rpartition(".")
        value = record.get(part, {}).get(key) if part else record.get(key)
        listed = value if isinstance(value, list) else []
        if value is not None and not (isinstance(value, kind) and all(isinstance(item, str) for item in listed)):
            raise refuse(f"'{name}'", rule, f"got {_shown(value)}")
    if record.get("only_python"):
        raise refuse(
            "this plan", f"has parts that only Python can say: {plain('; '.join(map(str, record['only_python'])), 300)}"
        )


def _shown(value: Any) -> str:
    return plain(json.dumps(value, ensure_ascii=False, default=str))


def _check_part(name: str, part: Mapping[str, Any], own: str, refuse: Callable[..., UsageError]) -> None:
    """Refuse a learner or a step of the preparation that says two things, or parameters that have no names."""
    if own in part and "class" in part:
        raise refuse(
            f"'{name}'",
            f"must have '{own}' or 'class' and not both",
            f"got {own} '{plain(part[own])}' and class '{plain(part['class'])}'; remove one of them",
        )
    if not isinstance(part.get("parameters", {}), Mapping):
        raise refuse(
            f"'{name}.parameters'",
            "must be a table of names and values",
            f"got {_shown(part['parameters'])}",
        )


def plan_of(record: Mapping[str, Any], table: Any = None, *, home: Path | None = None, any_data: bool = False) -> Any:
    """The plan that a record describes, on its own data or on the given table.

    `home` is where relative paths of data begin where the working folder has no such file. A table that is not the one
    the plan was made for, by its fingerprint, is refused unless `any_data`.
    """
    check_record(record)
    data = record["data"]
    if table is None:
        table = load_table(data, home)
    known = data.get("fingerprint")
    if known is not None and table.fingerprint != known and not any_data:
        raise DataError(
            "plan",
            f"data '{plain(data['source'], 200)}'",
            "is not the table that this plan was made for",
            f"its fingerprint is {table.fingerprint[:12]} and was {plain(known, 12)}",
            "bring the old file back, or run it on the new one with --new-data",
        )
    try:
        return _plan(record, table)
    except AssayError as error:
        told = re.sub(r"^Plan: parameter '(\w+)'", lambda met: f"plan: key '{_SAID.get(met[1], met[1])}'", str(error))
        raise type(error)(told) from None


def _plan(record: Mapping[str, Any], table: Table) -> Any:
    """The plan of a record on a table."""
    from .plan import Plan

    data, test, limits = record["data"], record.get("test", {}), record.get("limits", {})
    design = record.get("design", {})
    seed = design.get("seed", 0)
    return Plan(
        table,
        data["target"],
        learners=[_learner(item, data.get("task"), seed) for item in record.get("learners", [])] or None,
        design=design.get("name", "auto"),
        metrics=record.get("metrics"),
        random_state=seed,
        task=data.get("task"),
        alpha=test.get("alpha", 0.05),
        prepare=[_step(item) for item in record.get("prepare", [])],
        groups=data.get("groups"),
        time=data.get("time"),
        margin=test.get("margin"),
        budget=limits.get("budget"),
        pairs=test.get("pairs", "best"),
        drop=data.get("drop", ()),
        holdout=data.get("holdout"),
        race=test.get("race", False),
        time_limit=limits.get("seconds"),
        memory_limit=limits.get("memory"),
    )


def load_table(data: Mapping[str, Any], home: Path | None = None) -> Table:
    """The table of a plan's data: a bundled one, a file (beside the plan, where it is not here) or a database."""
    source = data["source"]
    if source in DATASETS and not Path(source).exists():
        table = load_dataset(source)
    else:
        if home is not None and not Path(source).exists() and (home / source).exists():
            source = str(home / source)
        table = read_table(source, **_read_options(data.get("read") or {}))
    roles = {
        name: (role["role"], role["order"]) if isinstance(role, Mapping) else role
        for name, role in (data.get("roles") or {}).items()
    }
    return table.with_roles(roles) if roles else table


def _read_options(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Options of `read_table`, their names and kinds checked: all are text but `header`, which is true or false."""
    known = [one.name for one in inspect.signature(read_table).parameters.values() if one.kind is one.KEYWORD_ONLY]
    for name, value in given.items():
        subject, kind = f"key 'data.read.{plain(name)}'", bool if name == "header" else str
        if name not in known:
            raise UsageError("plan", subject, "is not known", way_out=nearest(name, known, "the options are"))
        if value is not None and not isinstance(value, kind):
            rule = "must be true or false" if kind is bool else "must be text"
            raise UsageError("plan", subject, rule, f"got {_shown(value)}")
    return given


def _learner(record: Mapping[str, Any], task: str | None = None, seed: int = 0) -> Any:
    parameters = {name: from_plain(value) for name, value in record.get("parameters", {}).items()}
    what = record.get("method", record.get("class"))
    if not isinstance(what, str):
        raise UsageError("plan", "a learner", "must have a method of the catalogue or a class to import")
    learner: Any = (what, parameters) if parameters else what
    if "search" in record:
        learner = _tuned(learner, record["search"])
    if "title" in record and task:
        learner = replace(settle_learners([learner], task, seed)[0], title=str(record["title"]))
    return (str(record["name"]), learner) if record.get("name") else learner


def _tuned(learner: Any, said: Any) -> Tuned:
    known = ("method", "folds", "trials", "levels", "space")
    if not isinstance(said, Mapping) or not set(said) <= set(known):
        raise UsageError("plan", "the search of a learner", f"may have {', '.join(known)} alone")
    rest = {name: value for name, value in said.items() if name != "space"}
    return Tuned(learner, None if "space" not in said else Space.from_plain(said["space"]), **rest)


def _step(record: Mapping[str, Any]) -> Any:
    parameters = {name: from_plain(value) for name, value in record.get("parameters", {}).items()}
    if "step" in record:
        return (str(record["step"]), parameters)
    return from_plain({"class": record.get("class", ""), "parameters": record.get("parameters", {})})
