"""Results as frames: the one place where numbers of other rooms become a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl


def frame_of(columns: Mapping[str, Sequence[Any]]) -> pl.DataFrame:
    """A Polars frame of plain columns; None is missing. `.to_pandas()` makes a pandas frame of it.

    >>> frame_of({"learner": ["OneR", "CART"], "mean": [0.7, None]}).shape
    (2, 2)
    """
    return pl.DataFrame(dict(columns), strict=False)


_TYPES: dict[str, Any] = {"number": pl.Float64, "boolean": pl.Boolean, "date": pl.Datetime("us")}


def typed_frame(columns: Mapping[str, Sequence[Any]], kinds: Mapping[str, str]) -> pl.DataFrame:
    """Cells of known kinds as a frame: "number", "whole" (floats where one is not whole), "boolean", "date", or text.

    >>> typed_frame({"k": [1, None], "w": ["x", "y"]}, {"k": "whole", "w": "label"}).dtypes
    [Int64, String]
    """
    made = []
    for name, cells in columns.items():
        kind = _TYPES.get(kinds[name], pl.String)
        if kinds[name] == "whole":
            broken = any(type(cell) is float and not cell.is_integer() for cell in cells)
            kind = pl.Float64 if broken or any(cell is not None and abs(cell) > 2**53 for cell in cells) else pl.Int64
        made.append(pl.Series(name, cells, dtype=kind, strict=False))
    return pl.DataFrame(made)
