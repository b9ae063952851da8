"""What learners choose for themselves inside the training rows of a fold: k, penalties, leaves, rounds."""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..base.errors import plain
from ..base.estimator import Estimator
from ..base.words import compact, count
from .plain_values import from_plain

Choice = int | float | str


def chosen_by(model: Any) -> dict[str, Choice]:
    """What a fitted model chose: that of Assay's estimators, or the best parameters of a search of scikit-learn.

    >>> from types import SimpleNamespace
    >>> chosen_by(SimpleNamespace(best_params_={"max_depth": np.int64(3), "criterion": "gini"}))
    {'max_depth': 3, 'criterion': 'gini'}
    """
    if isinstance(model, Estimator):
        return model.chosen()
    found = getattr(model, "best_params_", None)
    if not isinstance(found, Mapping):
        return {}
    return {plain(name, 60): _plain_value(value) for name, value in found.items()}


def chosen_setting(parameters: Mapping[str, Any]) -> dict[str, Choice]:
    """The parameters that a search chose, given as plain data, for telling.

    >>> chosen_setting({"alpha": 0.5, "max_depth": {"none": True}})
    {'alpha': 0.5, 'max_depth': 'None'}
    """
    return {plain(name, 60): _plain_value(from_plain(value)) for name, value in parameters.items()}


def _plain_value(value: Any) -> Choice:
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and np.isfinite(float(value)):
        return float(value)
    return plain(value, 60)


def summarise(chosen: Sequence[Mapping[str, Choice]]) -> list[dict[str, Any]]:
    """Each thing that was chosen: its value in every fold, the median and the ends (or the most frequent), in words.

    >>> [one["words"] for one in summarise([{"k": 9}, {"k": 17}, {"k": 11}])]
    ['k in 3 folds: 11 (9 to 17)']
    >>> [one["words"] for one in summarise([{"C": 0.1}, {"C": 0.1}])]
    ['C in 2 folds: 0.1 in all']
    >>> [one["words"] for one in summarise([{"criterion": "gini"}, {"criterion": "gini"}, {"criterion": "entropy"}])]
    ['criterion in 3 folds: gini (2), entropy (1)']
    """
    told = []
    for name in dict.fromkeys(name for one in chosen for name in one):
        values = [one.get(name) for one in chosen]
        known = [value for value in values if value is not None]
        row: dict[str, Any] = {"name": name, "values": values, "median": None, "low": None, "high": None}
        where = f"{name} in {count(len(known), 'fold')}"
        if any(isinstance(value, str) for value in known):
            often = Counter(_shown(value) for value in known).most_common(4)
            said = ", ".join(f"{value} ({times})" for value, times in often)
        else:
            ordered = sorted(float(value) for value in known)
            low, median, high = ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1]
            row |= {"median": median, "low": low, "high": high}
            all_of = _shown(median) + (" in all" if len(known) > 1 else "")
            said = all_of if low == high else f"{_shown(median)} ({_shown(low)} to {_shown(high)})"
        told.append(row | {"words": f"{where}: {said}"})
    return told


def _shown(value: Choice) -> str:
    """A value for reading: three digits are enough for a penalty."""
    return value if isinstance(value, str) else compact(float(f"{value:.3g}") if value != int(value) else value)
