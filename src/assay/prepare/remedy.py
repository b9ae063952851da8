"""From a remedy, as an audit suggests it, to the step that carries it out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import catalogue
from ..base.errors import ParameterError, UsageError, plain


def step_for(remedy: Any) -> Any:
    """The unfitted step of a remedy: a dict with `step` (a catalogue id), and optionally `columns` and `parameters`.

    A finding of an audit is taken by its remedy. Only steps of the catalogue can be named; nothing else is loaded.

    >>> step_for({"step": "scale", "columns": ["age"], "parameters": {"method": "robust"}})
    Scale(columns=['age'], method='robust')
    """
    remedy = getattr(remedy, "remedy", remedy)
    if not isinstance(remedy, Mapping) or not isinstance(remedy.get("step"), str):
        words = remedy.get("words") if isinstance(remedy, Mapping) else None
        raise UsageError(
            "step_for",
            "the remedy",
            "has no step that could be built",
            way_out=plain(words, 200) if words else "decide by hand",
        )
    entry = catalogue.get(remedy["step"])
    if entry.task != "transform":
        raise UsageError("step_for", f"method '{entry.id}'", f"is a method to {entry.task}, not a preparation step")
    cls: Any = entry.load()
    parameters = dict(remedy.get("parameters") or {})
    if remedy.get("columns") and "columns" in cls.__parameters__:
        parameters.setdefault("columns", list(remedy["columns"]))
    try:
        return cls(**parameters)
    except TypeError as error:
        raise ParameterError(str(error)) from None
