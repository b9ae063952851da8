"""The final hold-out: rows that nothing of a comparison sees, and one look at them at the very end."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from ..base.errors import ParameterError, plain
from ..base.randomness import Stream

_CHILD = 0x401D
"""The stream of the draw, apart from those of the folds."""


def draw_held(
    share: Any, classes: np.ndarray | None, groups: np.ndarray | None, times: np.ndarray | None, rows: int, seed: int
) -> np.ndarray:
    """Marks the rows to set aside: each class in its share, whole groups, or the latest rows in time.

    >>> draw_held(0.5, np.array(["a", "a", "b", "b"]), None, None, 4, seed=0).sum()
    np.int64(2)
    >>> draw_held(0.25, None, None, np.array([3, 1, 4, 2]), 4, seed=0)
    array([False, False,  True, False])
    """
    if not isinstance(share, numbers.Real) or isinstance(share, bool) or not 0 < float(share) <= 0.5:
        raise ParameterError(
            "Plan", "parameter 'holdout'", "must be a share of the rows > 0 and <= 0.5", f"got {plain(repr(share))}"
        )
    wanted = max(1, round(float(share) * rows))
    held = np.zeros(rows, dtype=bool)
    if times is not None:
        held[:] = times > np.sort(times)[rows - wanted - 1]
        return held
    draw = Stream.of(seed).child(_CHILD).generator()
    if groups is not None:
        for group in draw.permutation(np.unique(groups)):
            members = groups == group
            if held.sum() >= wanted or (held | members).all():
                break
            held |= members
        return held
    for label in [None] if classes is None else np.unique(classes):
        members = np.arange(rows) if classes is None else np.flatnonzero(classes == label)
        held[draw.permutation(members)[: round(float(share) * members.shape[0])]] = True
    return held
