"""Thermometer code counts the steps reached, and leads back."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assay.base import AssayError
from assay.prepare import OrdinalCode, Thermometer

ORDER = ["bachelors", "masters", "PhD"]
TABLE = pl.DataFrame({"degree": ["masters", None, "PhD", "bachelors"], "age": [30, 40, 50, 22]})


def test_the_sum_of_the_steps_is_the_rank():
    table = pl.DataFrame({"degree": np.random.default_rng(0).choice(ORDER, 40)})
    steps = Thermometer(orders={"degree": ORDER}).fit_transform(table)
    ranks = OrdinalCode(orders={"degree": ORDER}).fit_transform(table)["degree"]
    assert steps.sum_horizontal().to_list() == (ranks + 1).to_list()
    assert all((steps[:, j] >= steps[:, j + 1]).all() for j in range(2))


def test_names_missing_and_passing_columns():
    step = Thermometer(orders={"degree": ORDER}).fit(TABLE)
    out = step.transform(TABLE)
    assert out.columns == ["degree>=bachelors", "degree>=masters", "degree>=PhD", "age"]
    assert out.row(1) == (None, None, None, 40)
    assert step.explain() == [
        "degree: a column of 0 and 1 for each step reached of bachelors < masters < PhD; another label becomes missing."
    ]


@pytest.mark.parametrize("drop", [None, "first"])
def test_the_way_back(drop):
    step = Thermometer(orders={"degree": ORDER}, drop=drop).fit(TABLE)
    assert len(step.get_feature_names_out()) == (4 if drop is None else 3)
    assert step.inverse_transform(step.transform(TABLE)).equals(TABLE)
    frame = TABLE.to_pandas()
    back = Thermometer(orders={"degree": ORDER}, drop=drop).fit(frame)
    assert back.inverse_transform(back.transform(frame))["age"].tolist() == [30, 40, 50, 22]


def test_known_scales_are_found_and_others_pass():
    table = pl.DataFrame({"size": ["small", "large", "medium"], "name": ["q", "w", "e"]})
    step = Thermometer().fit(table)
    assert step.orders_ == {"size": ["small", "medium", "large"]} and "name" in step.transform(table).columns
    assert Thermometer(columns=["name"]).fit(table).orders_ == {}


def test_labels_outside_the_order_and_numbers():
    later = pl.DataFrame({"degree": ["diploma"], "age": [1]})
    assert Thermometer(orders={"degree": ORDER}).fit(TABLE).transform(later).row(0)[:3] == (None, None, None)
    with pytest.raises(AssayError, match="outside its order; got 'diploma'"):
        Thermometer(orders={"degree": ORDER}, handle_unknown="error").fit(TABLE).transform(later)
    stars = Thermometer(orders={0: [1, 2, 3]}).fit(np.array([[1.0], [3.0]]))
    np.testing.assert_array_equal(stars.transform(np.array([[2.0]])), [[1.0, 1.0, 0.0]])
    assert stars.inverse_transform(np.array([[1.0, 1.0, 0.0]])).tolist() == [[2.0]]


def test_a_single_step_left_out_leads_back_too():
    table = pl.DataFrame({"c": ["only"], "x": [1.0]})
    step = Thermometer(orders={"c": ["only"]}, drop="first").fit(table)
    assert step.transform(table).columns == ["x"] and step.inverse_transform(step.transform(table)).equals(table)
    with pytest.raises(AssayError, match="would lose every column"):
        Thermometer(orders={"c": ["only"]}, drop="first").fit(table.select("c"))
