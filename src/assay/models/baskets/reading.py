"""Baskets as they come: lists of items, a long table of basket and item, or a table of true and false."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from ... import _kernels
from ...base import DataError, plain
from ...base.columns import plain_label


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
        wrong = next(one for held in lists for one in held if not isinstance(one, Hashable))
        raise _no_label(who, wrong) from None


def _no_label(who: str, wrong: Any) -> DataError:
    return DataError(who, "an item", "must be text, a number or a date", f"got {plain(repr(wrong), 40)}")


def _kind(who: str, label: Any) -> int:
    """Numbers, then texts, then dates, moments, times of day and spans."""
    if isinstance(label, (int, float, Decimal)):
        return 0
    kinds = (str, datetime, date, time, timedelta)
    for number, kind in enumerate(kinds, 1):
        if isinstance(label, kind):
            return number
    raise _no_label(who, label)


def _in_order(who: str, found: list[Any]) -> tuple[list[Any], np.ndarray]:
    """Labels in order, numbers before texts before dates, and the place of each that was found; dates become texts."""
    held = [_plain_label(one) for one in found]
    kinds = [_kind(who, one) for one in held]
    wrong = [one for one in held if one != one]
    if wrong:
        raise _no_label(who, wrong[0])
    try:
        order = sorted(range(len(held)), key=lambda k: (kinds[k], held[k]))
    except TypeError:  # moments with and without a zone
        order = sorted(range(len(held)), key=lambda k: (kinds[k], str(held[k])))
    rank = np.empty(len(found), dtype=np.int32)
    rank[order] = np.arange(len(found), dtype=np.int32)
    labels = [held[k] if kinds[k] < 2 and not isinstance(held[k], Decimal) else str(held[k]) for k in order]
    return labels, rank


def _plain_label(one: Any) -> Any:
    if isinstance(one, (np.datetime64, np.timedelta64)):
        return str(one)  # item() would give nanoseconds as a number
    return plain_label(one)


def _long(who: str, X: Any, basket: str | None, item: str | None) -> Baskets:
    for role, name in (("the column of 'basket'", basket), ("the column of 'item'", item)):
        _require_column(who, X, role, name)
    owners, items = (_codes(who, X[name]) for name in (basket, item))
    return _packed(owners[0].astype(np.int64), len(owners[1]), items[0], items[1])


def _require_column(who: str, X: Any, what: str, name: Any) -> None:
    names = [str(held) for held in getattr(X, "columns", [])]
    if name is None or name not in names:
        raise DataError(
            who,
            what,
            "must be a column of the table",
            f"got {plain(repr(name), 40)}",
            f"the table has {', '.join(plain(n, 30) for n in names[:8]) or 'no columns'}",
        )


def columns_by_basket(who: str, X: Any, basket: str, names: list[str]) -> dict[str, list[Any]]:
    """The values of columns of a long table, one for each basket in the order of their labels.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"bill": [2, 1, 2], "shop": ["b", "a", "b"]})
    >>> columns_by_basket("fit", frame, "bill", ["shop"])
    {'shop': ['a', 'b']}
    """
    owners, labels = _codes(who, X[basket])
    firsts = np.empty(len(labels), dtype=np.int64)
    firsts[owners[::-1]] = np.arange(len(owners))[::-1]
    held: dict[str, list[Any]] = {}
    for name in names:
        _require_column(who, X, f"attribute '{plain(name, 40)}'", name)
        cells = _cells(X[name])
        codes = _kernels.number_items([[str(cell) for cell in cells]], False)[1]
        other = np.flatnonzero(codes != codes[firsts[owners]]) if len(codes) else codes
        if len(other):
            row, first = int(other[0]), int(firsts[owners[other[0]]])
            raise DataError(
                who,
                f"attribute '{plain(name, 40)}'",
                "must have one value in all rows of a basket",
                f"basket {plain(repr(labels[owners[row]]), 40)} has {plain(repr(cells[first]), 40)} and "
                f"{plain(repr(cells[row]), 40)}",
            )
        held[name] = [cells[row] for row in firsts.tolist()]
    return held


def _cells(column: Any) -> list[Any]:
    """The cells of a column; moments of NumPy as texts of the shortest form that holds them all."""
    held = np.asarray(column)
    if held.dtype.kind not in "Mm":
        return held.tolist()
    missing = np.isnat(held)
    shown = np.datetime_as_string(held, unit="auto") if held.dtype.kind == "M" else held.astype(str)
    return [None if gone else text for gone, text in zip(missing.tolist(), shown.tolist())]


def _codes(who: str, column: Any) -> tuple[np.ndarray, list[Any]]:
    """The place of each cell's label in order, and the labels."""
    _, ids, found = _numbered(who, [_cells(column)], False)
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
