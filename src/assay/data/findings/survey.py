"""One look at every column that all checks share: sorted numbers, counted labels, and small codes for cross tables.

A numeric column is sorted once; its distinct count, quantiles, histogram, fences and clusters all come from that order.
A column of labels is counted once. Every column that can stand in a cross table gets codes 0 ... `bins` - 1 (bins of
about equal frequency, or the most frequent labels and the rest), with `MISSING` for empty cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, TypeVar

import numpy as np
import polars as pl
from threadpoolctl import ThreadpoolController

from ... import _kernels
from ...base.threads import thread_count
from ..map_columns import LONG
from ..parse import Coded
from ..roles import Role
from ..table import Table

MISSING = 255
MOST_BINS = 50
_BY_COUNT = ["count", "label"]
T = TypeVar("T")
PROBABILITIES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Threads of the linear algebra under threads of our own would only wait for each other."""
    return _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> ThreadpoolController:
    # Looking for the libraries takes some milliseconds, and an audit asks often.
    return ThreadpoolController()


@dataclass
class Column:
    """What the checks need to know about one column."""

    series: pl.Series
    role: Role
    coded: Coded | None = None
    known_distinct: int | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return self.series.name

    @cached_property
    def missing(self) -> int:
        """Cells without a value."""
        return self.series.null_count()

    @cached_property
    def present(self) -> pl.Series:
        """The cells with a value."""
        return self.series if self.missing == 0 else self.series.drop_nulls()

    @property
    def is_number(self) -> bool:
        """Holds numbers (whatever they mean)."""
        return self.series.dtype.is_numeric()

    @property
    def is_text(self) -> bool:
        """Holds text."""
        return self.series.dtype == pl.String

    @cached_property
    def numbers(self) -> np.ndarray:
        """Every cell as a number (dates as microseconds, truth values as 0 and 1), NaN where it is missing."""
        return _as_numbers(self.series)

    def part(self, begin: int, end: int, *, logs: bool = False) -> np.ndarray:
        """`numbers` of some rows, or their logarithms, without those of the others."""
        if "numbers" in vars(self):
            values = self.numbers[begin:end]
        else:
            values = _as_numbers(self.series.slice(begin, end - begin))
        return np.log(values) if logs else values

    @cached_property
    def sorted(self) -> np.ndarray:
        """The present ones of `numbers` in ascending order."""
        return _kernels.sort_numbers(self.numbers)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest of the present `numbers`."""
        return float(self.sorted[0]), float(self.sorted[-1])

    def release(self) -> None:
        """Let go of all that is as long as the table; it is made again if somebody asks for it."""
        for name in ("present", "numbers", "sorted"):
            vars(self).pop(name, None)

    @cached_property
    def distinct(self) -> int:
        """Different present values."""
        if self.known_distinct is not None:
            return self.known_distinct
        if self.is_text:
            return self.tally.height
        values = self.sorted
        return int(np.count_nonzero(values[1:] != values[:-1])) + 1 if values.size else 0

    @cached_property
    def tally(self) -> pl.DataFrame:
        """Labels ("label") with how often they occur ("count"), in no order."""
        if self.coded is not None:
            codes = self.coded.codes.drop_nulls().to_numpy()
            counts = np.bincount(codes, minlength=self.coded.labels.len()).astype(np.uint32)
            return pl.DataFrame([self.coded.labels.alias("label"), pl.Series("count", counts)])
        if self.series.dtype.is_integer():
            # As text a cell takes more than as a number, and counting it more time.
            return self.present.rename("label").value_counts(name="count").with_columns(pl.col("label").cast(pl.String))
        labels = self.present.cast(pl.String).rename("label")
        # Names of rows need no counting, and counting them would cost more than all the rest.
        if self.role.role == "id" and (self.known_distinct or labels.n_unique()) == labels.len():
            return pl.DataFrame([labels, pl.repeat(1, labels.len(), dtype=pl.UInt32, eager=True).alias("count")])
        return labels.value_counts(name="count")

    @cached_property
    def counts(self) -> pl.DataFrame:
        """The tally with the most frequent labels first, ties by label."""
        return self.tally.sort(_BY_COUNT, descending=[True, False])

    @cached_property
    def leading(self) -> pl.Series:
        """The first 200 labels of `counts`, without putting all of them in order."""
        return self.tally.lazy().sort(_BY_COUNT, descending=[True, False]).head(200).collect()["label"]

    def quantile(self, probability: float | tuple[float, ...]) -> np.ndarray:
        """Quantiles of the present numbers (linear between neighbours)."""
        return quantiles(self.sorted, probability)

    @cached_property
    def moments(self) -> tuple[float, float]:
        """Mean and standard deviation (divisor n - 1) of the present numbers."""
        values = self.sorted
        if values.size == 0:
            return float("nan"), float("nan")
        centre, squares, _ = self.central_sums
        return centre, float(np.sqrt(squares / (values.size - 1))) if values.size > 1 else 0.0

    @cached_property
    def central_sums(self) -> tuple[float, float, float]:
        """Mean of the present numbers, and their sums of squares and cubes around it."""
        return _kernels.moments(self.sorted)


def _as_numbers(series: pl.Series) -> np.ndarray:
    if series.dtype == pl.Boolean:
        series = series.cast(pl.UInt8)
    physical = series.to_physical().rechunk()
    if physical.dtype.is_integer() and not physical.null_count():
        # NumPy's memory goes back at once; what Polars made in a thread stays with it.
        return physical.to_numpy().astype(np.float64)
    return physical.cast(pl.Float64).to_numpy()


@dataclass
class Survey:
    """The columns of a table and their codes; everything is computed when a check first asks for it."""

    table: Table
    columns: dict[str, Column] = field(default_factory=dict)
    _codes: dict[str, tuple[np.ndarray, int]] = field(default_factory=dict)
    _totals: dict[str, np.ndarray] = field(default_factory=dict)
    scales: dict[str, tuple[float, float, bool]] = field(default_factory=dict)
    cuts: dict[str, str] = field(default_factory=dict)
    summaries: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, *, wait: bool = False) -> Survey:
        """The survey of a table; long ones are sorted, counted and coded by several threads at once.

        `wait` leaves that to the caller, who does more with each column at that time.
        """
        survey = cls(
            table,
            {
                s.name: Column(s, table.roles[s.name], table.coded.get(s.name), table.distinct.get(s.name))
                for s in table.frame.get_columns()
            },
        )
        if table.n_rows >= LONG and not wait:
            survey.each(survey.prepare)
        return survey

    def each(
        self, function: Callable[[Column], T], columns: Iterable[Column] | None = None, *, at_once: int | None = None
    ) -> list[T]:
        """What a function makes of each column, in their order; several at a time where the table is long.

        What is as long as the table goes when a column of a long table is done: all of it together would be several
        times the table. `at_once` is the most columns at a time, where a function needs much memory.
        """
        listed = list(self.columns.values() if columns is None else columns)

        def quiet(column: Column) -> T:
            # A thread of the pool does not inherit what the caller has said about overflow.
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                made = function(column)
            if self.n_rows >= LONG:
                column.release()
            return made

        threads = min(thread_count(None), at_once or len(listed))
        if threads <= 1 or len(listed) < 2 or self.n_rows < LONG:
            made = [quiet(column) for column in listed]
        else:
            with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
                made = list(pool.map(quiet, listed))
        self.trim()
        return made

    def prepare(self, column: Column) -> None:
        """Count or sort a column, and find its codes."""
        if column.missing < self.n_rows and column.distinct:
            if not column.is_text:
                _ = column.ends
            if column.role.role not in ("id", "text"):
                if not column.is_text:
                    _ = column.moments
                self.codes(column.name)

    def settle(self) -> None:
        """Let go of all that is as long as the table but the codes of labels, a byte a cell, which a page asks for."""
        for column in self.columns.values():
            column.release()
            if self.n_rows >= LONG and not column.is_text and column.role.role not in ("nominal", "binary", "ordinal"):
                self._codes.pop(column.name, None)
        self.trim()

    def trim(self) -> None:
        """Give back what the columns of a long table have left behind."""
        if self.n_rows >= LONG:
            _kernels.trim_memory()

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return self.table.n_rows

    @cached_property
    def n_bins(self) -> int:
        """How many bins numbers are cut into: about twenty rows each, 5 to 50 in all."""
        return int(min(MOST_BINS, max(5, self.n_rows // 20)))

    def codes(self, name: str) -> tuple[np.ndarray, int]:
        """Codes of a column (uint8, `MISSING` for empty cells) and how many there are; see the module's text."""
        if name not in self._codes:
            self._codes[name] = self._code(self.columns[name])
        return self._codes[name]

    def totals(self, name: str) -> np.ndarray:
        """How many rows hold each code."""
        if name not in self._totals:
            codes, n_codes = self.codes(name)
            self._totals[name] = _kernels.code_counts(codes)[:n_codes].astype(np.float64)
        return self._totals[name]

    def cross(self, name: str, other: np.ndarray, n_other: int) -> np.ndarray:
        """Counts of code x other code (uint8), over the rows where neither is `MISSING`."""
        codes, n_codes = self.codes(name)
        return _kernels.cross_counts(codes, other, n_codes, n_other)

    def _code(self, column: Column) -> tuple[np.ndarray, int]:
        if column.is_text:
            listed = column.leading.head(MOST_BINS - 1)
            return label_codes(column.series, listed) if column.coded is None else known_codes(column.coded, listed)
        if column.series.dtype == pl.Boolean:
            return column.series.cast(pl.UInt8).fill_null(MISSING).to_numpy(), 2
        if column.sorted.size == 0:
            return np.full(self.n_rows, MISSING, dtype=np.uint8), 1
        return number_codes(column, bin_edges(column, self.n_bins))


def quantiles(values: np.ndarray, probability: float | tuple[float, ...]) -> np.ndarray:
    """Quantiles of numbers in ascending order (linear between neighbours)."""
    at = np.asarray(probability) * (values.size - 1)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, values.size - 1)
    return values[low] + (at - low) * (values[high] - values[low])


def bin_edges(column: Column, bins: int) -> np.ndarray:
    """Inner edges of bins with about equal frequency; few different values get a bin each."""
    values = column.sorted
    if column.distinct <= bins:
        return values[1:][values[1:] != values[:-1]]
    at = (np.arange(1, bins) * values.size) // bins
    return np.unique(values[at])


def number_codes(column: Column, edges: np.ndarray) -> tuple[np.ndarray, int]:
    """Bin numbers of a numeric or date column (bin k holds edges[k-1] <= value < edges[k])."""
    return _kernels.bin_codes(column.numbers, edges), edges.size + 1


def known_codes(coded: Coded, labels: pl.Series) -> tuple[np.ndarray, int]:
    """What `label_codes` gives, from codes that are there already."""
    if labels.len() == 0:
        return np.full(coded.codes.len(), MISSING, dtype=np.uint8), 1
    place = {label: k for k, label in enumerate(labels.to_list())}
    moved = np.array([place.get(label, len(place)) for label in coded.labels.to_list()] + [MISSING], dtype=np.uint8)
    return moved[coded.codes.fill_null(coded.labels.len()).to_numpy()], len(place) + 1


def label_codes(series: pl.Series, labels: pl.Series) -> tuple[np.ndarray, int]:
    """Positions of labels in a list; the others get one code after the last."""
    listed = labels.to_list()
    if not listed:
        return np.full(series.len(), MISSING, dtype=np.uint8), 1
    codes = series.cast(pl.Enum(listed), strict=False).to_physical()
    marked = codes.fill_null(len(listed)).to_numpy().astype(np.uint8)
    if series.null_count():
        marked[series.is_null().to_numpy()] = MISSING
    return marked, len(listed) + 1
