"""Tables as cells and back: every kind comes back as it was."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix

from assay.base.errors import DataError
from assay.data.cell_table import CellTable


def test_a_polars_frame_comes_back_whole():
    frame = pl.DataFrame(
        {
            "a": [1, 2, None],
            "b": ["x", None, "y"],
            "c": [True, False, True],
            "d": [datetime.date(2020, 1, day) for day in (1, 2, 1)],
            "e": [1.5, float("nan"), 2.0],
            "f": [1, 2, 3],
        }
    )
    table = CellTable.of("test", frame)
    back = table.rebuild(table.cells)
    assert back.drop("a").equals(frame.drop("a"), null_equal=True) and back["a"].to_list() == [1.0, 2.0, None]
    assert table.rebuild(table.cells[[2, 2]])["b"].to_list() == ["y", "y"]
    assert table.word(1, table.cells[1, 1]) == "missing" and table.word(0, 1.0) == "1.000"
    assert (
        table.ordered == {3}
        and table.rebuild(table.cells + [0, 0, 0, 0.3, 0, 0])["d"].to_list() == frame["d"].to_list()
    )
    assert table.value(3, 0.0) == datetime.date(2020, 1, 1) and table.value(4, float("nan")) is None


def test_pandas_keeps_categories_and_two_tables_share_places():
    frame = pd.DataFrame({"s": pd.Categorical(["u", "v", "u"]), "n": [1, 2, 3], "t": ["p", None, "q"]})
    table = CellTable.of("test", frame, frame.iloc[1:2])
    first, second = table.parts
    assert np.array_equal(first[1], second[0])
    back = table.rebuild(second)
    assert isinstance(back["s"].dtype, pd.CategoricalDtype) and back["n"].dtype == "int64" and back["s"][0] == "v"


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.uint8, bool])
def test_arrays_come_back_in_their_type(kind):
    array = np.array([[1, 0], [0, 1]], dtype=kind)
    table = CellTable.of("test", array)
    assert table.rebuild(table.cells).dtype == kind and np.array_equal(table.rebuild(table.cells), array)


def test_mixed_lists_and_numbers_beyond_exact_floats():
    table = CellTable.of("test", [["a", 1.0], ["b", None]])
    assert table.rebuild(table.cells)[0].tolist() == ["a", 1.0] and np.isnan(table.cells[1, 1])
    large = np.array([[2**60 + 1], [2**60]])
    assert np.array_equal(CellTable.of("test", large).rebuild(CellTable.of("test", large).cells), large)
    assert CellTable.of("test", np.array([["x", "y"]])).rebuild(np.zeros((1, 2))).dtype.kind == "U"


def test_columns_are_found_by_name_or_number():
    table = CellTable.of("test", pl.DataFrame({"age": [1.0], "size": [2.0]}))
    assert table.columns("test", ["size", 0]) == [1, 0] and table.columns("test", "age") == [0]
    with pytest.raises(DataError, match="choose from age, size"):
        table.column("test", "weight")
    with pytest.raises(DataError, match="not in the table"):
        table.column("test", 2)


def test_what_cannot_be_read_is_refused_by_a_sentence():
    with pytest.raises(DataError, match="dense"):
        CellTable.of("test", csr_matrix(np.eye(2)))
    with pytest.raises(DataError, match="rows and columns"):
        CellTable.of("test", [1.0, 2.0])
    with pytest.raises(DataError, match="same columns"):
        CellTable.of("test", np.ones((2, 2)), np.ones((2, 3)))
    with pytest.raises(DataError, match="at least one row"):
        CellTable.of("test", np.ones((0, 2)))
    with pytest.raises(DataError, match="every table"):
        CellTable.of("test", pl.DataFrame({"a": [1]}), pl.DataFrame({"b": [1]}))
    with pytest.raises(DataError, match="one kind"):
        CellTable.of("test", pl.DataFrame({"a": [1]}), np.ones((1, 1)))
    with pytest.raises(DataError, match="numbers, text"):
        CellTable.of("test", pl.DataFrame({"a": [[1], [2]]}))
