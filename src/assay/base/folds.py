"""Facts about folds that learners need before they share work between them."""

from __future__ import annotations

import numpy as np


def are_complementary(train: np.ndarray, test: np.ndarray, n_rows: int) -> bool:
    """Whether the two row lists split all rows between them, each row once.

    >>> are_complementary(np.array([0, 2]), np.array([1]), 3)
    True
    """
    if train.shape[0] + test.shape[0] != n_rows:
        return False
    seen = np.zeros(n_rows, dtype=bool)
    seen[train] = True
    seen[test] = True
    return bool(seen.all())
