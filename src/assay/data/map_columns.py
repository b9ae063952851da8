"""One function over the columns of a table, several columns at a time where the table is long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import polars as pl

from ..base.threads import thread_count

LONG = 50_000
"""Rows below which threads cost more than they save."""

T = TypeVar("T")


def map_columns(function: Callable[[pl.Series], T], columns: Sequence[pl.Series]) -> list[T]:
    """What `function` makes of each column, in their order, whatever the number of threads.

    >>> import polars as pl
    >>> map_columns(pl.Series.sum, [pl.Series([1, 2]), pl.Series([3, 4])])
    [3, 7]
    """
    threads = thread_count(None)
    if threads == 1 or len(columns) < 2 or columns[0].len() < LONG:
        return [function(column) for column in columns]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, columns))
