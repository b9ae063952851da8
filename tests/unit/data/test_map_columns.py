"""One function over the columns: the order and the results do not depend on threads."""

import polars as pl
import pytest

from assay.data import map_columns as module
from assay.data.map_columns import map_columns


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("rows", [4, module.LONG])
def test_results_come_in_the_order_of_the_columns(monkeypatch, threads, rows):
    monkeypatch.setattr(module, "thread_count", lambda n_jobs: threads)
    columns = [pl.Series(f"c{k}", [k] * rows) for k in range(9)]
    assert map_columns(lambda series: (series.name, series.sum()), columns) == [(f"c{k}", k * rows) for k in range(9)]


def test_an_error_in_a_thread_reaches_the_caller(monkeypatch):
    monkeypatch.setattr(module, "thread_count", lambda n_jobs: 2)

    def fail(series):
        raise ValueError(series.name)

    with pytest.raises(ValueError, match="a"):
        map_columns(fail, [pl.Series("a", [0] * module.LONG), pl.Series("b", [0] * module.LONG)])


def test_no_columns_give_nothing():
    assert map_columns(len, []) == []
