"""Finite spaces of Gymnasium: which number a state has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...base import DataError, plain

Parts = list[list[int]]
"""Of each number that a state consists of: how many values it has, and the least."""


def parts_of(space: Any) -> Parts | None:
    """The parts of a Discrete, MultiDiscrete or MultiBinary space, or of a Tuple or Dict of such; None of any other.

    >>> from assay.models.agents.tabular import Discrete
    >>> parts_of(Discrete(3))
    [[3, 0]]
    """
    inner = getattr(space, "spaces", None)
    if inner is not None:
        ordered = [inner[key] for key in sorted(inner)] if isinstance(inner, Mapping) else list(inner)
        held = [parts_of(part) for part in ordered]
        return None if any(part is None for part in held) else [one for part in held for one in part or []]
    several = getattr(space, "nvec", None)
    if several is not None:
        sizes = np.asarray(several).ravel().tolist()
        starts = np.broadcast_to(np.asarray(getattr(space, "start", 0)).ravel(), len(sizes)).tolist()
        return [[int(size), int(start)] for size, start in zip(sizes, starts)]
    n, shape = getattr(space, "n", None), getattr(space, "shape", None)
    if shape and n is not None:
        return [[2, 0]] * math.prod(shape)
    if not isinstance(n, (int, np.integer)) or n < 1:
        return None
    return [[int(n), int(getattr(space, "start", 0))]]


def count(parts: Parts) -> int:
    """How many states there are.

    >>> count([[32, 0], [11, 0], [2, 0]])
    704
    """
    return math.prod(size for size, _ in parts)


def state_number(who: str, parts: Parts, state: Any) -> int:
    """The number of a state: its parts as digits, the last one fastest.

    >>> state_number("fit", [[3, 0], [2, 1]], (2, 1)), state_number("fit", [[5, 0]], 4)
    (4, 4)
    """
    if len(parts) == 1 and type(state) is int:
        digits = [state]
    else:
        digits = _flat(state)
    number = 0
    if len(digits) != len(parts):
        raise DataError(who, "a state", f"must have {len(parts)} parts", f"got {plain(repr(state), 40)}")
    for (size, start), digit in zip(parts, digits):
        place = int(digit) - start
        if not 0 <= place < size:
            raise DataError(
                who, "a state", "must lie in the world's observation_space", f"got {plain(repr(state), 40)}"
            )
        number = number * size + place
    return number


def _flat(state: Any) -> list[Any]:
    if isinstance(state, Mapping):
        return [value for key in sorted(state) for value in _flat(state[key])]
    if isinstance(state, (tuple, list)):
        return [value for part in state for value in _flat(part)]
    return np.asarray(state).ravel().tolist()
