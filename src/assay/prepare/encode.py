"""Labels as numbers: indicators of categories, and ranks of ordinal labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

MISSING_LABEL = "(missing)"
RARE_LABEL = "(rare)"
_MANY = 1000
_FEW = 500
"""Cells that a dictionary codes before the threads of Polars are awake."""


def as_text(series: pl.Series) -> pl.Series:
    """A column of labels as text; whole numbers without a decimal point.

    >>> import polars as pl
    >>> as_text(pl.Series([1.0, 2.5, None])).to_list()
    ['1', '2.5', None]
    """
    if series.dtype.is_float():
        cells = series.to_numpy()  # NaN for null
        if not ((cells == np.floor(cells)) & (np.abs(cells) < 2**53) | np.isnan(cells)).all():
            texts = [None if v is None else str(int(v)) if v == int(v) else repr(v) for v in series.to_list()]
            return pl.Series(series.name, texts, dtype=pl.String)
        series = series.cast(pl.Int64)
    return series.cast(pl.String)


def text_counts(series: pl.Series) -> dict[str, int]:
    """The labels of a column of text and how often each is there; missing is no label.

    >>> import polars as pl
    >>> sorted(text_counts(pl.Series(["b", "a", None, "b"])).items())
    [('a', 1), ('b', 2)]
    """
    counts = dict(series.alias("label").value_counts().rows())
    counts.pop(None, None)
    return counts


def text_codes(series: pl.Series, labels: Sequence[str]) -> np.ndarray:
    """The place of each cell of a column of text among labels; -1 for any other and for missing.

    >>> import polars as pl
    >>> text_codes(pl.Series(["b", None, "a", "?"]), ["a", "b"]).tolist()
    [1, -1, 0, -1]
    """
    if series.len() <= _FEW:
        place = dict(zip(labels, range(len(labels))))
        return np.array([place.get(text, -1) for text in series.to_list()], dtype=np.int64)
    found = series.cast(pl.Enum(list(labels)), strict=False).to_physical().to_numpy()  # with NaN if any is missing
    return np.where(np.isnan(found), -1, found).astype(np.int64) if found.dtype.kind == "f" else found.astype(np.int64)


def counted_labels(cells: np.ndarray) -> tuple[dict[str, int], bool]:
    """The numbers of a sorted column as labels, written as `as_text` does, how often each is there, and whether cells
    are missing.

    >>> counted_labels(np.array([1.0, 1.0, 2.5, np.nan]))
    ({'1': 2, '2.5': 1}, True)
    """
    present = cells[: np.searchsorted(cells, np.nan)]
    starts = np.flatnonzero(np.concatenate([[True], present[1:] != present[:-1]])) if present.size else present[:0]
    values = present[starts.astype(np.int64)].tolist()
    counts = np.diff(starts, append=present.size).astype(np.int64).tolist()
    labels = (str(int(value)) if value == int(value) else repr(value) for value in values)
    return dict(zip(labels, counts)), present.size < cells.size


def label_places(labels: Sequence[str], cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The place of each cell among labels that `counted_labels` wrote, and which cells are none of them (their place is
    the number of labels).

    >>> places, unseen = label_places(["10", "2.5"], np.array([2.5, np.nan, 10.0]))
    >>> places.tolist(), unseen.tolist()
    ([1, 2, 0], [False, True, False])
    """
    numbers = np.array([*map(float, labels), np.inf])  # cells are finite or missing
    order = np.argsort(numbers)
    numbers = numbers[order]
    low, high = numbers[0], numbers[-2] if len(labels) else np.inf
    if cells.size > _MANY and high - low < _MANY and (numbers[:-1] == np.floor(numbers[:-1])).all():
        # Whole numbers near each other are looked up where a search would take as many steps as there are bits.
        table = np.full(int(high - low) + 1, len(labels))
        table[(numbers[:-1] - low).astype(np.int64)] = np.arange(len(labels))
        at = table[(np.fmin(np.fmax(cells, low), high) - low).astype(np.int64)]
    else:
        at = np.minimum(np.searchsorted(numbers, cells), len(labels))  # NaN stands behind infinity
    unseen = numbers[at] != cells
    at[unseen] = len(labels)
    return order[at], unseen


def from_text(series: pl.Series, kind: str) -> pl.Series:
    """The way back from `as_text`, for a column of this kind (see `kind_of`).

    >>> import polars as pl
    >>> from_text(pl.Series(["true", None]), "boolean").to_list()
    [True, None]
    """
    if kind == "boolean":
        return series == "true"
    return series.cast(pl.Float64, strict=False) if kind == "number" else series


@dataclass(frozen=True)
class Indicators:
    """One-hot code of one column: a column of 0/1 per category.

    Of two categories only the second has a column; with `drop_first` the first of more has none either. Missing is a
    category of its own if the training rows hold it. Over `most` categories, the rarest share one column. A category
    that the training rows do not hold is all zeros.

    >>> import polars as pl
    >>> code = Indicators.fit(pl.Series("plan", ["a", "b", "c", None]), most=100, drop_first=False)
    >>> code.names
    ['plan=a', 'plan=b', 'plan=c', 'plan=(missing)']
    """

    name: str
    categories: tuple[str, ...]
    """Categories with a column of their own, in order."""
    others: frozenset[str]
    """Rare categories, which share a column."""
    missing: bool
    baseline: str | None
    """The first category, if it has no column."""

    @classmethod
    def fit(cls, series: pl.Series, most: int, drop_first: bool) -> Indicators:
        """Learn the categories of a text column."""
        counts = text_counts(series)
        labels, others = sorted(counts), []
        if len(labels) > most:
            ranked = sorted(labels, key=lambda label: -counts[label])
            labels, others = sorted(ranked[:most]), ranked[most:]
        baseline = labels.pop(0) if len(labels) > 1 and (drop_first or len(labels) == 2) else None
        return cls(series.name, tuple(labels), frozenset(others), series.null_count() > 0, baseline)

    @property
    def names(self) -> list[str]:
        """Names of the columns, such as 'region=north'."""
        extra = ([RARE_LABEL] if self.others else []) + ([MISSING_LABEL] if self.missing else [])
        return [f"{self.name}={label}" for label in [*self.categories, *extra]]

    def write(self, series: pl.Series, out: np.ndarray) -> None:
        """Set the ones in a block of zeros with one column per name."""
        if self.categories:
            found = text_codes(series, self.categories)
            rows = np.flatnonzero(found >= 0)
            out[rows, found[rows]] = 1.0
        if self.others:
            out[series.is_in(list(self.others)).fill_null(False).to_numpy(), len(self.categories)] = 1.0
        if self.missing:
            out[series.is_null().to_numpy(), out.shape[1] - 1] = 1.0

    def explain(self, unseen: str = "") -> str:
        """What becomes of the column, in words; `unseen` says what becomes of an unseen category, if not the usual."""
        count = len(self.categories)
        if self.baseline is not None and count == 1 and not self.others:
            words = f"1 for '{self.categories[0]}' and 0 for '{self.baseline}'"
        else:
            words = f"one-hot: {count} {'column' if count == 1 else 'columns'} of 0 and 1"
            words += "" if self.baseline is None else f" (all 0 for '{self.baseline}')"
        if self.others:
            words += f", {len(self.others)} rare categories share one more"
        if self.missing:
            words += ", missing is a category of its own"
        usual = "is all zeros" if self.baseline is None else f"counts as '{self.baseline}'"
        return f"{words}; an unseen category {unseen or usual}"


def ranks(series: pl.Series, order: Sequence[Any]) -> pl.Series:
    """Ordinal labels as 0, 1, ... in their order; a label outside the order is missing.

    >>> import polars as pl
    >>> ranks(pl.Series(["high", "low", "?"]), ("low", "medium", "high")).to_list()
    [2.0, 0.0, None]
    """
    labels = [str(label) for label in order]
    text = as_text(series) if series.dtype != pl.String else series
    if series.dtype != pl.String:
        labels = as_text(pl.Series(list(order), strict=False)).to_list()
    codes = text_codes(text, labels)
    return pl.Series(series.name, np.where(codes < 0, np.nan, codes), nan_to_null=True)
