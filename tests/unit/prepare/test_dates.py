"""Dates become few numbers, counted from the first training date."""

from __future__ import annotations

from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from assay.base import DataError
from assay.prepare import DateParts

DAYS = [date(2023, 12, 31), date(2024, 2, 29), None]


def test_parts_are_those_of_the_calendar():
    dates = DateParts().fit(pl.DataFrame({"d": DAYS}))
    assert dates.get_feature_names_out().tolist() == ["d elapsed days", "d month", "d day of week"]
    np.testing.assert_array_equal(dates.transform(pl.DataFrame({"d": DAYS})), [[0, 12, 7], [60, 2, 4], [np.nan] * 3])


def test_hours_count_only_where_times_are_given():
    frame = pl.DataFrame({"t": [datetime(2024, 1, 1, 6), datetime(2024, 1, 1, 18)]})
    dates = DateParts().fit(frame)
    assert dates.get_feature_names_out().tolist() == ["t elapsed days", "t hour"]
    np.testing.assert_array_equal(dates.transform(frame), [[0.0, 6.0], [0.5, 18.0]])


def test_days_are_counted_from_the_training_rows():
    dates = DateParts().fit(pl.DataFrame({"d": [date(2024, 1, 10), date(2024, 2, 10)]}))
    assert dates.transform(pl.DataFrame({"d": [date(2024, 1, 5)]}))[0, 0] == -5.0


def test_pandas_dates_are_the_same_dates():
    polars = pl.DataFrame({"d": [datetime(2024, 1, 1), datetime(2024, 5, 5)]})
    pandas = pd.DataFrame({"d": pd.to_datetime(["2024-01-01", "2024-05-05"])})
    np.testing.assert_array_equal(DateParts().fit(polars).transform(pandas), DateParts().fit_transform(polars))


def test_several_columns_keep_their_order_and_names():
    frame = pl.DataFrame({"a": DAYS[:2], "b": DAYS[1::-1]})
    dates = DateParts().fit(frame)
    assert dates.transform(frame).shape == (2, 6)
    with pytest.raises(ValueError, match="feature names should match"):
        dates.transform(frame.select("b", "a"))


def test_other_columns_pass_through_in_their_place():
    frame = pl.DataFrame({"n": [1, 2, 3], "d": DAYS, "t": ["a", "b", "c"]})
    dates = DateParts().fit(frame)
    assert dates.transform(frame).columns == ["n", "d elapsed days", "d month", "d day of week", "t"]
    assert dates.explain() == ["d: the date becomes elapsed days, month, day of week."]
    with pytest.raises(DataError, match="column 'n' must hold dates"):
        DateParts(columns=["n"]).fit(frame)
    with pytest.raises(DataError, match="column 'd' was a date in fit"):
        dates.transform(frame.with_columns(pl.lit("soon").alias("d")))
    with pytest.raises(NotFittedError):
        DateParts().transform(frame)


def test_columns_choose_among_dates():
    frame = pl.DataFrame({"a": DAYS, "b": DAYS})
    assert DateParts(columns=["b"]).fit_transform(frame).columns[0] == "a"


def test_the_way_back():
    moments = [datetime(2024, 1, 1, 6, 30, 15, 123456), None, datetime(1999, 12, 31, 23, 59, 59, 999999)]
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0], "t": moments})
    dates = DateParts().fit(frame)
    assert dates.inverse_transform(dates.transform(frame)).equals(frame)
    empty = pl.DataFrame({"t": pl.Series([None], dtype=pl.Datetime("us"))})
    assert DateParts().fit(empty).inverse_transform(DateParts().fit_transform(empty))["t"].to_list() == [None]
