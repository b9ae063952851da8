"""Rows like this one."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assay.base.errors import DataError, ParameterError
from assay.explain import nearest_examples
from tests.unit.explain.models import mixed_table


def test_a_row_is_nearest_to_itself_and_left_out_by_its_number():
    frame, y = mixed_table(50)
    assert nearest_examples(frame[7:8], frame, y, n_neighbors=1).rows == [7]
    found = nearest_examples(7, frame, y, n_neighbors=3)
    assert 7 not in found.rows and found.distances == sorted(found.distances) and len(found.targets) == 3
    assert "this" in found.to_text() and "<table>" in found.to_html() and found.to_svg().startswith("<svg")


def test_distances_are_gowers():
    table = [[0.0, "a"], [10.0, "a"], [5.0, "b"]]
    found = nearest_examples([[0.0, "a"]], table, n_neighbors=3)
    assert found.rows == [0, 1, 2] and found.distances == [0.0, 0.5, 0.75]
    gaps = pl.DataFrame({"x": [None, 1.0, 3.0]})
    assert nearest_examples(0, gaps, n_neighbors=2).distances == [1.0, 1.0]
    huge = nearest_examples([[1e308]], [[-1e308], [1e308]], n_neighbors=2)
    assert huge.rows == [1, 0] and np.isfinite(huge.distances).all()


def test_bad_questions():
    with pytest.raises(ParameterError, match="n_neighbors"):
        nearest_examples(0, [[1.0]], n_neighbors=0)
    with pytest.raises(DataError, match="row"):
        nearest_examples(1, [[1.0]])
    with pytest.raises(DataError, match="one value"):
        nearest_examples(0, [[1.0], [2.0]], [1.0])
