"""Parameters as plain data and back, for plans that are kept in files.

Numbers, text, true and false, lists and tables of these stand for themselves. What JSON or TOML cannot say is a table
of one marked key: `{"none": true}`, `{"number": "inf"}`, `{"tuple": [...]}`, `{"array": [...], "dtype": "float64"}`,
and an estimator is `{"class": "sklearn.tree.DecisionTreeClassifier", "parameters": {...}}`.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..base.errors import UsageError, plain

_MARKS = ("none", "number", "tuple", "array", "class")


class NotPlain(Exception):
    """A value that only Python can say; the text says which."""


def to_plain(value: Any, left_out: Callable[[str], bool] = lambda name: False, path: str = "") -> Any:
    """A value as plain data; `left_out` says which parameters of estimators (by their full name) are not kept.

    >>> to_plain({"alphas": (0.1, float("inf")), "depth": None})
    {'alphas': {'tuple': [0.1, {'number': 'inf'}]}, 'depth': {'none': True}}
    """
    if value is None:
        return {"none": True}
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        return number if math.isfinite(number) else {"number": str(number)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
        return {"array": [to_plain(item) for item in value.tolist()], "dtype": str(value.dtype)}
    if isinstance(value, tuple):
        return {"tuple": [to_plain(item, left_out, path) for item in value]}
    if isinstance(value, list):
        return [to_plain(item, left_out, path) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        if any(mark in value for mark in _MARKS):
            raise NotPlain(f"a table with the key '{next(mark for mark in _MARKS if mark in value)}'")
        return {key: to_plain(item, left_out, path) for key, item in value.items()}
    if hasattr(value, "get_params") and not isinstance(value, type):
        return estimator_to_plain(value, left_out, path)
    raise NotPlain(plain(repr(value), 60))


def estimator_to_plain(estimator: Any, left_out: Callable[[str], bool], path: str = "") -> dict[str, Any]:
    """An estimator as its class and the parameters that differ from the defaults."""
    from .learners import changed_parameters, import_path, importable

    cls = type(estimator)
    if not importable(cls):
        raise NotPlain(f"the class {cls.__module__}.{cls.__qualname__}")
    changed = changed_parameters(estimator, keep_seeds=True)
    kept = {}
    for name, value in changed.items():
        if left_out(f"{path}{name}"):
            continue
        parts = _are_parts(value)
        kept[name] = _parts_to_plain(value, left_out, path) if parts else to_plain(value, left_out, f"{path}{name}__")
    found = {"class": import_path(cls)}
    return found | ({"parameters": kept} if kept else {})


def _are_parts(value: Any) -> bool:
    """Whether these are the named parts of an estimator, as the steps of a pipeline."""
    return isinstance(value, list) and all(
        isinstance(item, tuple) and len(item) > 1 and isinstance(item[0], str) for item in value
    )


def _parts_to_plain(parts: list[tuple[Any, ...]], left_out: Callable[[str], bool], path: str) -> list[Any]:
    """Named parts, whose parameters are called by the name of the part and not of the list."""
    return [{"tuple": [to_plain(item, left_out, f"{path}{part[0]}__") for item in part]} for part in parts]


def from_plain(value: Any) -> Any:
    """What `to_plain` took.

    >>> from_plain({"alphas": {"tuple": [0.1, {"number": "inf"}]}, "depth": {"none": True}})
    {'alphas': (0.1, inf), 'depth': None}
    """
    if isinstance(value, list):
        return [from_plain(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    if value.keys() == {"none"}:
        return None
    if value.keys() == {"number"}:
        try:
            return float(value["number"])
        except (TypeError, ValueError):
            raise _wrong("a number", "must be one, such as 'inf'", value["number"]) from None
    if value.keys() == {"tuple"}:
        if not isinstance(value["tuple"], list):
            raise _wrong("a tuple", "must be a list", value["tuple"])
        return tuple(from_plain(item) for item in value["tuple"])
    if value.keys() == {"array", "dtype"}:
        if not isinstance(value["dtype"], str) or value["dtype"].lstrip("<>=|")[:1] not in tuple("biufU"):
            raise UsageError("plan", "an array", "must hold numbers or text", f"got dtype {plain(value['dtype'])}")
        try:
            return np.array(from_plain(value["array"]), dtype=value["dtype"])
        except (TypeError, ValueError):
            raise _wrong("an array", f"must hold what its dtype {plain(value['dtype'])} says", value["array"]) from None
    if "class" in value and value.keys() <= {"class", "parameters"}:
        from .learners import by_path

        given = value.get("parameters", {})
        if not isinstance(given, Mapping):
            raise _wrong(
                f"'parameters' of class '{plain(value['class'])}'", "must be a table of names and values", given
            )
        return by_path(str(value["class"]), {str(k): from_plain(v) for k, v in given.items()})
    return {str(key): from_plain(item) for key, item in value.items()}


def _wrong(subject: str, rule: str, value: Any) -> UsageError:
    return UsageError("plan", subject, rule, f"got {plain(repr(value))}")
