"""Worked examples about data."""

from __future__ import annotations

import polars as pl
import pytest

from assay.data import Table, audit, correlations, describe, load_dataset


@pytest.fixture
def curves():
    x = pl.Series("x", range(1, 8), dtype=pl.Float64)
    return pl.DataFrame({"x": x, "exponential": x.exp(), "square": x**2})


@pytest.mark.parametrize(
    ("a", "b", "correlation"),
    [("x", "exponential", 0.810), ("x", "square", 0.977), ("exponential", "square", 0.904)],
)
def test_correlations_of_a_line_an_exponential_and_a_square(curves, a, b, correlation):
    """001, 2.1.1: x = 1..7, e^x and x^2 (the text prints .801 where the value is .810)."""
    assert round(curves.select(pl.corr(a, b)).item(), 3) == correlation
    assert round(describe(curves).association(a, b), 3) == correlation
    names = curves.columns
    assert correlations(curves)[names.index(a), names.index(b)].round(3) == correlation


def test_a_monotone_transform_is_no_copy_of_the_target(curves):
    """001, 2.1.1 again: high correlation alone is no leak; only a linear copy is."""
    long = pl.concat([curves] * 5)
    table = Table.from_frame(long.with_columns((3 * pl.col("x") - 1).alias("copy")))
    leaks = [f.columns for f in audit(table, target="x").findings if f.code == "A006"]
    assert leaks == [["copy"]]


def test_the_golf_table_has_fourteen_days_and_nine_games():
    """The golf/weather table of Quinlan 1986."""
    frame = load_dataset("weather").frame
    assert frame.height == 14 and (frame["play"] == "yes").sum() == 9


def test_ranks_see_that_the_curves_rise_together(curves):
    """001, 2.1.1: all three rise, so every rank correlation is one."""
    assert (correlations(curves, "spearman").round(12) == 1).all()
