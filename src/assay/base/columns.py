"""Names of columns and numbers of classes: what every fitted model carries along."""

from __future__ import annotations

from typing import Any

import numpy as np


def column_names(model: Any, n_columns: int | None = None) -> list[str]:
    """The names of the columns a model was fitted on; x0, x1, ... where they had none.

    >>> from types import SimpleNamespace
    >>> column_names(SimpleNamespace(feature_names_in_=["age", "size"])), column_names(SimpleNamespace(), 2)
    (['age', 'size'], ['x0', 'x1'])
    """
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return [str(name) for name in names]
    return [f"x{j}" for j in range(model.n_features_in_ if n_columns is None else n_columns)]


def renumber(codes: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Codes among the classes that are present, in order; a code of an absent class becomes that of its predecessor.

    >>> renumber(np.array([0, 2, 3]), np.array([True, False, True, True]))
    array([0, 1, 2], dtype=int32)
    """
    return np.maximum(np.cumsum(present, dtype=np.int32) - np.int32(1), np.int32(0))[codes]


def renumber_by_first(labels: np.ndarray) -> np.ndarray:
    """The same partition with labels 0, 1, ... in the order of their first rows.

    >>> renumber_by_first(np.array([7, 7, 2, 7, 5]))
    array([0, 0, 1, 0, 2], dtype=int32)
    """
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    place = np.empty(first.shape[0], dtype=np.int32)
    place[np.argsort(first)] = np.arange(first.shape[0], dtype=np.int32)
    return place[codes.ravel()]
