"""The order in time that a column or an array gives: dates and numbers by themselves, labels by an order that is known.

Text is never sorted by its letters: October would come before September, and models would be trained on rows after
those that they are tested on.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from ..base.errors import DataError, plain
from .parse import parse_columns
from .roles import Role

_PERIODS = (
    re.compile(r"(?P<part>\d{1,2})[/.-](?P<year>\d{4})"),
    re.compile(r"(?P<year>\d{4})[/.-](?P<part>\d{1,2})"),
    re.compile(r"(?P<year>\d{4})[ /-]?[Qq](?P<part>[1-4])"),
    re.compile(r"[Qq](?P<part>[1-4])[ /-](?P<year>\d{4})"),
    re.compile(r"(?P<year>\d{4})[ /-]?[Ww](?P<part>\d{1,2})"),
)
"""Months, quarters and weeks of a year, as people write them."""


def time_order(values: np.ndarray, role: Role | None, name: str | None) -> np.ndarray:
    """Values that sort in the order of time, of the cells of the column `name` or of an array (None)."""
    if role is not None and role.role == "ordinal" and role.order:
        places = {label: place for place, label in enumerate(role.order)}
        return np.array([places[value] for value in values.tolist()], dtype=np.int64)
    if values.dtype.kind not in "OUS":
        return values
    cells = values.tolist()
    if not any(isinstance(cell, (str, bytes)) for cell in cells):
        return np.unique(values, return_inverse=True)[1]
    text = [cell if isinstance(cell, str) else str(cell) for cell in cells]
    parsed = parse_columns(pl.DataFrame({"time": text}), decimal_comma=False)[0]["time"]
    if parsed.null_count() == 0 and parsed.dtype != pl.String:
        return parsed.to_numpy()
    found = _periods(text)
    if found is not None:
        return found
    labels = list(dict.fromkeys(text))
    order = "" if name is None else f", or, if its labels have an order, give it: {{'{plain(name)}': {_ORDINAL}}}"
    raise DataError(
        "Plan",
        "parameter 'time'" if name is None else f"column '{plain(name)}'",
        "gives no order in time, since its cells are neither dates nor numbers",
        f"got {', '.join(repr(plain(label, 30)) for label in labels[:3])}",
        f"give a column of dates or numbers{order}",
    )


_ORDINAL = "('ordinal', ['low', ..., 'high'])"


def _periods(text: list[str]) -> np.ndarray | None:
    """Year and part of the year as one number each; None where some cell is written another way.

    >>> _periods(["1/2020", "12/2019"]).tolist(), _periods(["13/2020", "12/2019"])
    ([202001, 201912], None)
    """
    for form in _PERIODS:
        met = [form.fullmatch(cell.strip()) for cell in text]
        if all(met):
            parts = np.array([[int(one["year"]), int(one["part"])] for one in met if one is not None], dtype=np.int64)
            most = 53 if "Ww" in form.pattern else 12
            return parts @ [100, 1] if ((parts[:, 1] >= 1) & (parts[:, 1] <= most)).all() else None
    return None
