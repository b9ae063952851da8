"""The command line that makes a plan again."""

from __future__ import annotations

import json
import shlex
from typing import Any

from .. import catalogue
from ..base.errors import plain
from ..data import DATASETS
from .plan import Plan, describe_value


def command_of(plan: Plan) -> str:
    """The command line that runs a plan, or the plan where only Python can say it."""
    table = plan.table
    steps = [_step_word(step) for step in plan.prepare]
    units = [plan.groups, plan.time]
    arrays = any(unit is not None and unit not in table.columns for unit in units)
    drawn = plan.design.kind in ("splitter", "bootstrap", "leave-p-out") or (
        plan.design.kind == "time" and plan.time is None
    )
    if any(learner.search is not None for learner in plan.learners):
        return "assay run plan.toml"  # which lies beside the results
    if None in steps or arrays or drawn or any(learner.word is None for learner in plan.learners):
        return repr(plan)
    data = table.name if table.name in DATASETS else table.source or table.name
    words = ["assay", "compare", data, "--target", plan.target.name]
    for learner in plan.learners:
        words += ["--models", str(learner.word)]
    words += ["--design", "auto" if plan.design.kind == "time" else plan.design.name]
    words += ["--metric", ",".join(plan.metrics), "--task", plan.task, "--seed", str(plan.random_state)]
    words += ["--alpha", f"{plan.alpha:g}"] if plan.alpha != 0.05 else []
    words += ["--margin", f"{plan.margin:g}"] if plan.margin is not None else []
    words += ["--pairs", plan.pairs] if plan.pairs != "best" else []
    words += ["--race"] if plan.race else []
    words += ["--holdout", f"{plan.holdout:g}"] if plan.holdout is not None else []
    words += ["--group", plan.groups] if plan.groups is not None else []
    words += ["--time", plan.time] if plan.time is not None else []
    for column in plan.drop:
        words += ["--drop", column]
    for step in steps:
        words += ["--prepare", str(step)]
    for name, role in table.roles.items():
        if role.reason.startswith("declared"):
            order = ":" + "<".join(map(str, role.order)) if role.order else ""
            words += ["--role", f"{name}={role.role}{order}"]
    return " ".join(shlex.quote(plain(word, 1000)) for word in words)


def _step_word(step: Any) -> str | None:
    """A preparation step as `assay compare --prepare` takes it; None for one that is not in the catalogue."""
    entry = catalogue.of_class(type(step))
    if entry is None:
        return None
    defaults = type(step)().get_params(deep=False)
    changed = {name: describe_value(v) for name, v in step.get_params(deep=False).items()}
    changed = {name: v for name, v in changed.items() if v != describe_value(defaults[name]) and name != "random_state"}
    return f"{entry.id}={json.dumps(changed)}" if changed else entry.id
