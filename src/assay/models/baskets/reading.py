"""Baskets as they come: lists of items, a long table of basket and item, or a table of true and false."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base import DataError, plain


@dataclass(frozen=True)
class Baskets:
    """Each basket's items as ascending ids, one after the other; `labels` are the items in order."""

    offsets: np.ndarray
    ids: np.ndarray
    labels: list[Any]

    @property
    def n_baskets(self) -> int:
        """How many baskets there are."""
        return len(self.offsets) - 1


def read_baskets(who: str, X: Any, basket: str | None = None, item: str | None = None) -> Baskets:
    """Baskets from a long table if `basket` and `item` name its columns, else from lists or a boolean table.

    >>> read_baskets("fit", [["tea", "milk", "tea"], []]).labels
    ['milk', 'tea']
    >>> read_baskets("fit", np.array([[True, False], [True, True]])).offsets
    array([0, 1, 3])
    """
    if basket is not None or item is not None:
        return _long(who, X, basket, item)
    if hasattr(X, "columns") or (isinstance(X, np.ndarray) and X.ndim == 2):
        return _boolean(who, X)
    if isinstance(X, (str, bytes)) or not isinstance(X, Iterable):
        raise DataError(who, "the baskets", "must be lists of items", f"got {plain(repr(X), 40)}")
    owners: list[int] = []
    items: list[Any] = []
    count = 0
    for number, held in enumerate(X):
        if isinstance(held, (str, bytes)) or not isinstance(held, Iterable):
            raise DataError(who, f"basket {number}", "must be a list of items", f"got {plain(repr(held), 40)}")
        count = number + 1
        for one in held:
            owners.append(number)
            items.append(one.item() if isinstance(one, np.generic) else one)
    return _packed(who, np.array(owners, dtype=np.int64), items, count)


def _long(who: str, X: Any, basket: str | None, item: str | None) -> Baskets:
    names = [str(name) for name in getattr(X, "columns", [])]
    for role, name in (("basket", basket), ("item", item)):
        if name is None or name not in names:
            raise DataError(
                who,
                f"the column of '{role}'",
                "must be a column of the table",
                f"got {plain(repr(name), 40)}",
                f"the table has {', '.join(plain(n, 30) for n in names[:8]) or 'no columns'}",
            )
    numbers, owners = np.unique(np.asarray(X[basket]), return_inverse=True)
    return _packed(who, owners.astype(np.int64), np.asarray(X[item]).tolist(), len(numbers))


def _boolean(who: str, X: Any) -> Baskets:
    cells = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
    if cells.dtype == object and all(isinstance(v, (bool, np.bool_)) for v in cells.ravel()[:1000].tolist()):
        cells = cells.astype(bool)
    if cells.dtype.kind not in "biuf" or not np.isin(cells, (0, 1)).all():
        raise DataError(
            who,
            "a table of baskets",
            "must hold true and false (or 1 and 0) alone",
            "got other cells",
            "name the columns of basket and item if it is a long table",
        )
    names = getattr(X, "columns", None)
    labels = [f"x{j}" for j in range(cells.shape[1])] if names is None else [str(name) for name in names]
    order = np.argsort(labels, kind="stable")
    owners, ids = np.nonzero(cells[:, order])
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=cells.shape[0]))]).astype(np.int64)
    return Baskets(offsets, ids.astype(np.int32), [labels[j] for j in order])


def _packed(who: str, owners: np.ndarray, items: list[Any], n_baskets: int) -> Baskets:
    """Baskets without repetitions, items in the order of their labels."""
    if n_baskets == 0:
        raise DataError(who, "the baskets", "must be at least one", "got none")
    wrong = next(((one,) for one in items if not isinstance(one, (str, int, float)) or one != one), None)
    if wrong is not None:
        raise DataError(who, "an item", "must be text or a number", f"got {plain(repr(wrong[0]), 40)}")
    labels = sorted(set(items), key=lambda label: (isinstance(label, str), label))
    code = {label: number for number, label in enumerate(labels)}
    ids = np.fromiter((code[one] for one in items), dtype=np.int64, count=len(items))
    cells = np.unique(owners * max(len(labels), 1) + ids)
    owners, ids = np.divmod(cells, max(len(labels), 1))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=n_baskets))]).astype(np.int64)
    return Baskets(offsets, ids.astype(np.int32), labels)
