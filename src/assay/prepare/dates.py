"""Dates as numbers: elapsed days, month, day of the week, and the hour where times are given."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import polars as pl
from sklearn.utils.validation import check_is_fitted

from ..base import plain
from .blocks import BlockStep
from .step import CellCost, columns_param

DAY = 86_400_000_000
"""Microseconds of a day."""


def origin_of(series: pl.Series) -> datetime | None:
    """The earliest date, from which days are counted; None if every date is missing."""
    return series.min()  # type: ignore[return-value]


def parts_of(series: pl.Series) -> list[str]:
    """The parts that vary in a column of dates: elapsed days always, the others if they take two values."""
    present = series.drop_nulls()
    parts = ["elapsed days"]
    for part, numbers in (("month", present.dt.month()), ("day of week", present.dt.weekday())):
        if numbers.n_unique() > 1:
            parts.append(part)
    if present.dt.hour().n_unique() > 1:
        parts.append("hour")
    return parts


def expand(series: pl.Series, origin: datetime | None, parts: list[str]) -> list[pl.Series]:
    """One Float64 series per part; a missing date is missing in every part."""
    start = 0 if origin is None else pl.Series([origin], dtype=pl.Datetime("us")).to_physical()[0]
    columns = []
    for part in parts:
        if part == "elapsed days":
            numbers = (series.to_physical() - start).cast(pl.Float64) / DAY
        elif part == "month":
            numbers = series.dt.month().cast(pl.Float64)
        elif part == "day of week":
            numbers = series.dt.weekday().cast(pl.Float64)
        else:
            numbers = series.dt.hour().cast(pl.Float64)
        columns.append(numbers.alias(f"{series.name} {part}"))
    return columns


class DateParts(BlockStep):
    """Turns columns of dates into numbers; other columns pass through.

    Each date gives its elapsed days since the first date of the training rows (with the time of day as a fraction),
    its month (1 to 12), its day of the week (1 is Monday) and its hour. Elapsed days always stand; the others only if
    they vary in the training rows. The year is left out because elapsed days carry it. A missing date is missing in
    every part. The way back is by the elapsed days, to the microsecond within a few centuries.

    Attributes
    ----------
    origins_ : dict, the first date of each column in ISO form, or None
    parts_ : dict, the parts of each column

    Examples
    --------
    >>> import polars as pl
    >>> from datetime import datetime
    >>> from assay.prepare import DateParts
    >>> frame = pl.DataFrame({"when": [datetime(2024, 1, 31), datetime(2024, 2, 1)]})
    >>> dates = DateParts().fit(frame)
    >>> dates.get_feature_names_out().tolist()
    ['when elapsed days', 'when month', 'when day of week']
    >>> dates.transform(frame).rows()
    [(0.0, 1.0, 3.0), (1.0, 2.0, 4.0)]
    """

    columns: Any = columns_param("Columns of dates, by name or position; None for all.")

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        chosen = self._chosen(frame, lambda series: series.dtype.is_temporal(), "dates")
        origins = {name: origin_of(frame[name]) for name in chosen}
        self.origins_ = {name: None if origin is None else origin.isoformat() for name, origin in origins.items()}
        self.parts_ = {name: parts_of(frame[name]) for name in chosen}
        named = {name: [f"{name} {part}" for part in parts] for name, parts in self.parts_.items()}
        self._lay_out(frame.columns, named, "part")

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        frame = self._like_fit(frame, dict.fromkeys(self.parts_, "date"))
        return self._in_blocks(frame, frame.columns, self._parts)

    def _parts(self, frame: pl.DataFrame, name: str) -> list[pl.Series]:
        parts = expand(frame[name], self._origin(name), self.parts_[name])
        return [part.alias(label) for part, label in zip(parts, self.blocks_[name])]

    def _way_back(self, frame: pl.DataFrame, name: str) -> list[pl.Series]:
        """The dates, from the elapsed days."""
        origin = self._origin(name)
        start = 0 if origin is None else pl.Series([origin], dtype=pl.Datetime("us")).to_physical()[0]
        elapsed = (frame[self.blocks_[name][0]].cast(pl.Float64) * DAY).round().cast(pl.Int64) + start
        return [elapsed.cast(pl.Datetime("us")).alias(name)]

    def _origin(self, name: str) -> datetime | None:
        origin = self.origins_[name]
        return None if origin is None else datetime.fromisoformat(origin)

    def explain(self) -> list[str]:
        """What becomes of each date, in words."""
        check_is_fitted(self)
        return [f"{plain(name)}: the date becomes {', '.join(parts)}." for name, parts in self.parts_.items()]

    # Four parts per date.
    _cell_cost = CellCost(seconds=2e-8, start=1e-5, bytes=48.0)
