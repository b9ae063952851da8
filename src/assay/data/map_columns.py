"""One function over the columns of a table, several columns at a time where the table is long."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import polars as pl

from ..base.threads import thread_count

LONG = 50_000
"""Rows below which threads cost more than they save."""

T = TypeVar("T")


def pick(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """The columns of these names, which are names: Polars' own `select` takes "*" or "^a.*$" for a pattern.

    >>> import polars as pl
    >>> pick(pl.DataFrame({"a": [1], "*": [2]}), ["*"]).columns
    ['*']
    """
    return pl.DataFrame([frame.get_column(name) for name in names])


def without(frame: pl.DataFrame, names: Collection[str]) -> pl.DataFrame:
    """The columns of all other names.

    >>> import polars as pl
    >>> without(pl.DataFrame({"a": [1], "*": [2]}), ["*"]).columns
    ['a']
    """
    return pick(frame, [name for name in frame.columns if name not in names]) if names else frame


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
