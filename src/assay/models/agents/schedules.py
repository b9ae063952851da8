"""Numbers that change from episode to episode: learning rates, chances of exploring, temperatures."""

from __future__ import annotations

import numpy as np

DECAYS = ("linear", "exponential", "inverse")


def schedule(start: float, end: float | None, n: int, over: int | None, decay: str) -> np.ndarray:
    """A number for each of n episodes: from `start` to `end` in the first `over` of them, and `end` from there.

    >>> schedule(1.0, 0.0, 5, 3, "linear").tolist()
    [1.0, 0.5, 0.0, 0.0, 0.0]
    >>> schedule(1.0, 0.25, 3, None, "exponential").tolist(), schedule(1.0, 0.5, 3, None, "inverse").round(3).tolist()
    ([1.0, 0.5, 0.25], [1.0, 0.667, 0.5])
    """
    if end is None or end == start:
        return np.full(n, float(start))
    share = np.minimum(np.arange(n) / max((over or n) - 1, 1), 1.0)
    if decay == "linear":
        return start + (end - start) * share
    if decay == "exponential":
        return start * (end / start) ** share
    return start / (1.0 + (start / end - 1.0) * share)
