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
