"""Baskets as they come: lists of items, a long table of basket and item, or a table of true and false."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import _kernels
from ...base import DataError, plain


@dataclass(frozen=True)
class Baskets:
    """Each basket's items as different ids, one after the other; `labels` are the items in order."""

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
    return _lists(who, X if isinstance(X, list) else list(X))


def _lists(who: str, X: list[Any]) -> Baskets:
    if not set(map(type, X)) <= {list, tuple}:
        for number, held in enumerate(X):
            if isinstance(held, (str, bytes)) or not isinstance(held, Iterable):
                raise DataError(who, f"basket {number}", "must be a list of items", f"got {plain(repr(held), 40)}")
        X = [held if type(held) in (list, tuple) else list(held) for held in X]
    if not X:
        raise DataError(who, "the baskets", "must be at least one", "got none")
    offsets, ids, found = _numbered(who, X, True)
    labels, rank = _in_order(who, found)
    return Baskets(offsets, rank[ids] if len(ids) else ids, labels)


def _numbered(who: str, lists: list[Any], distinct: bool) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    try:
        return _kernels.number_items(lists, distinct)
    except TypeError:
        wrong = next(one for held in lists for one in held if not isinstance(one, (str, int, float, np.generic)))
        raise DataError(who, "an item", "must be text or a number", f"got {plain(repr(wrong), 40)}") from None


def _in_order(who: str, found: list[Any]) -> tuple[list[Any], np.ndarray]:
    """Labels in order, numbers before texts, and the place of each that was found."""
    plain_labels = [one.item() if isinstance(one, np.generic) else one for one in found]
    wrong = [one for one in plain_labels if not isinstance(one, (str, int, float)) or one != one]
    if wrong:
        raise DataError(who, "an item", "must be text or a number", f"got {plain(repr(wrong[0]), 40)}")
    order = sorted(range(len(found)), key=lambda k: (isinstance(plain_labels[k], str), plain_labels[k]))
    rank = np.empty(len(found), dtype=np.int32)
    rank[order] = np.arange(len(found), dtype=np.int32)
    return [plain_labels[k] for k in order], rank


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
    owners, items = (_codes(who, X[name]) for name in (basket, item))
    return _packed(owners[0].astype(np.int64), len(owners[1]), items[0], items[1])


def _codes(who: str, column: Any) -> tuple[np.ndarray, list[Any]]:
    """The place of each cell's label in order, and the labels."""
    _, ids, found = _numbered(who, [np.asarray(column).tolist()], False)
    labels, rank = _in_order(who, found)
    return rank[ids] if len(ids) else ids, labels


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


def _packed(owners: np.ndarray, n_baskets: int, ids: np.ndarray, labels: list[Any]) -> Baskets:
    """Baskets without repetitions from pairs of basket and item."""
    cells = np.unique(owners * max(len(labels), 1) + ids)
    owners, held = np.divmod(cells, max(len(labels), 1))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=n_baskets))]).astype(np.int64)
    return Baskets(offsets, held.astype(np.int32), labels)
