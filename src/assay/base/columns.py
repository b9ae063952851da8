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


def column_name(names: Any, column: int) -> str:
    """The name of one column by the names that a fit knows, if it knows any: x0, x1, ... else.

    >>> column_name(None, 2), column_name(["age", "size"], 1)
    ('x2', 'size')
    """
    return f"x{column}" if names is None or column >= len(names) else str(names[column])


def plain_label(label: Any) -> Any:
    """A label as a plain Python value.

    >>> plain_label(np.int64(3)), plain_label("red")
    (3, 'red')
    """
    return label.item() if isinstance(label, np.generic) else label


def class_places(classes: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The place of each label among the sorted classes, and whether it is one of them (where not, the place is any).

    >>> class_places(np.array(["a", "c"]), np.array(["c", "b", "a"]))
    (array([1, 1, 0]), array([ True, False,  True]))
    """
    places = np.minimum(np.searchsorted(classes, labels), classes.shape[0] - 1)
    return places, np.asarray(classes[places] == labels)


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
