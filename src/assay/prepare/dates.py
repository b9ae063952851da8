"""Dates as numbers: elapsed days, month, day of the week, and the hour where times are given."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator
from ..base.errors import DataError, plain
from ..data.table import plain_types, to_polars

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


class DateParts(TransformerMixin, Estimator):
    """Turns columns of dates into numbers.

    Each date gives its elapsed days since the first date of the training rows (with the time of day as a fraction),
    its month (1 to 12), its day of the week (1 is Monday) and its hour. Elapsed days always stand; the others only if
    they vary in the training rows. The year is left out because elapsed days carry it. A missing date is NaN.

    Attributes
    ----------
    origins_ : list, the first date of each column in ISO form, or None
    parts_ : list of the parts of each column

    Examples
    --------
    >>> import polars as pl
    >>> from datetime import datetime
    >>> frame = pl.DataFrame({"when": [datetime(2024, 1, 31), datetime(2024, 2, 1)]})
    >>> dates = DateParts().fit(frame)
    >>> dates.get_feature_names_out().tolist()
    ['when elapsed days', 'when month', 'when day of week']
    >>> dates.transform(frame)
    array([[0., 1., 3.],
           [1., 2., 4.]])
    """

    def fit(self, X: Any, y: Any = None) -> DateParts:
        """Find the first date and the varying parts of each column."""
        frame = self._dates(X)
        self.feature_names_in_ = np.array(frame.columns, dtype=object)
        self.n_features_in_ = frame.width
        origins = [origin_of(series) for series in frame.get_columns()]
        self.origins_ = [None if origin is None else origin.isoformat() for origin in origins]
        self.parts_ = [parts_of(series) for series in frame.get_columns()]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The parts as a float64 matrix."""
        check_is_fitted(self)
        frame = self._dates(X)
        if frame.columns != self.feature_names_in_.tolist():
            raise DataError(
                type(self).__name__,
                "X",
                f"must have the columns {plain(self.feature_names_in_.tolist(), 200)}",
                f"got {plain(frame.columns, 200)}",
            )
        columns: list[pl.Series] = []
        for series, origin, parts in zip(frame.get_columns(), self.origins_, self.parts_):
            columns += expand(series, None if origin is None else datetime.fromisoformat(origin), parts)
        return np.ascontiguousarray(pl.DataFrame(columns).to_numpy(order="c"))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names such as 'when month'."""
        check_is_fitted(self)
        names = [f"{name} {part}" for name, parts in zip(self.feature_names_in_, self.parts_) for part in parts]
        return np.array(names, dtype=object)

    def _dates(self, X: Any) -> pl.DataFrame:
        frame = plain_types(to_polars(X), {})
        for series in frame.get_columns():
            if not series.dtype.is_temporal():
                raise DataError(
                    type(self).__name__,
                    f"column '{plain(series.name)}'",
                    "holds no dates",
                    f"its type is {plain(series.dtype)}",
                    "leave it out",
                )
        return frame
