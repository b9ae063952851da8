"""Ordinal columns as ranks: the lowest value is 0, the highest 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.columns import plain_label
from ...base.errors import DataError, ParameterError, plain


def ordinal_columns(owner: Any, orders: dict[Any, Any]) -> np.ndarray:
    """A mask of the columns that have an order."""
    mask = np.zeros(owner.n_features_in_, dtype=bool)
    mask[[_place(owner, column) for column in orders]] = True
    return mask


def _place(owner: Any, column: Any) -> int:
    names = owner.schema_.names
    place = names.index(column) if isinstance(column, str) and column in names else column
    if not isinstance(place, (int, np.integer)) or isinstance(place, bool) or not 0 <= place < len(names):
        raise ParameterError(
            type(owner).__name__,
            "parameter 'ordinal_features'",
            "must name columns of X",
            f"got {plain(repr(column))}",
            f"X has {len(names)} columns",
        )
    return int(place)


def as_ranks(owner: Any, values: np.ndarray, orders: dict[Any, Any], *, reset: bool) -> np.ndarray:
    """The encoded table with ordinal cells as ranks in [0, 1]; a value without rank is refused in fit, else missing."""
    values = values.copy()
    for column, given in orders.items():
        j, order = _place(owner, column), list(given) if isinstance(given, (list, tuple, np.ndarray)) else []
        if len(order) < 2 or len(set(order)) != len(order):
            raise ParameterError(
                type(owner).__name__,
                "parameter 'ordinal_features'",
                f"must list two or more different values of column {plain(repr(column))}, lowest first",
                f"got {plain(repr(given))}",
            )
        ranks = {value: rank / (len(order) - 1) for rank, value in enumerate(order)}
        categories = owner.schema_.categories[j]
        seen = np.unique(values[~np.isnan(values[:, j]), j])
        known = seen if categories is None else [categories[int(code)] if code >= 0 else None for code in seen]
        cells = np.full(values.shape[0], np.nan)
        for code, value in zip(seen, known):
            plain_value = plain_label(value)
            if plain_value in ranks:
                cells[values[:, j] == code] = ranks[plain_value]
            elif reset:
                raise DataError(
                    type(owner).__name__,
                    f"column '{plain(owner.schema_.names[j])}'",
                    f"holds {plain(repr(plain_value))}, which is not in its order",
                    way_out="add it to ordinal_features",
                )
        values[:, j] = cells
    return values
