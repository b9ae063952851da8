"""From a finding of an audit to the step that remedies it."""

from __future__ import annotations

from typing import Any

from .. import catalogue
from ..base import UsageError, plain
from ..base.errors import ParameterError


def step_for(finding: Any) -> Any:
    """The preparation step that a remedy names, ready to fit.

    A remedy is a dict with "step" (an id of the catalogue), "columns" and "parameters"; an audit's finding has one
    under `remedy`. Only steps of the catalogue are built, from declared parameters: nothing in the dict is executed.

    >>> from assay.prepare import step_for
    >>> step_for({"step": "impute-simple", "columns": ["age"], "parameters": {"strategy": "median"}})
    ImputeSimple(columns=['age'], strategy='median')
    """
    remedy = _remedy(finding)
    if remedy.get("step") is None:
        raise UsageError(
            "step_for",
            "the remedy",
            "names no step of preparation",
            plain(remedy.get("words", ""), 200),
            "do it by hand",
        )
    entry = catalogue.get(str(remedy["step"]), task="transform")
    if entry.task != "transform":
        raise UsageError("step_for", f"method '{plain(entry.id)}'", "is no step of preparation", f"it can {entry.task}")
    cls: Any = entry.load()
    given = remedy.get("parameters") or {}
    if not isinstance(given, dict):
        raise UsageError("step_for", "'parameters' of the remedy", "must be a dict", f"got {plain(repr(given))}")
    for name in given:
        if name not in cls.__parameters__:
            raise ParameterError(
                "step_for",
                f"parameter '{plain(name)}'",
                f"is none of {cls.__name__}",
                way_out=f"it has {', '.join(cls.__parameters__) or 'none'}",
            )
    parameters = dict(given)
    columns = remedy.get("columns")
    for name in ("columns", "keys"):
        if columns and name in cls.__parameters__ and name not in parameters:
            parameters[name] = list(columns)
            break
    step = cls(**parameters)
    step._check_parameters()
    return step


def _remedy(finding: Any) -> dict[str, Any]:
    found = getattr(finding, "remedy", finding)
    if isinstance(found, dict) and isinstance(found.get("remedy"), dict):
        found = found["remedy"]
    if not isinstance(found, dict):
        raise UsageError(
            "step_for",
            "the finding",
            "must be a dict with 'step', 'columns' and 'parameters', or have one as its remedy",
            f"got {plain(repr(finding))}",
        )
    return found
