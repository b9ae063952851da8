"""The record of contributions: one row, one output, tables and drawings."""

from __future__ import annotations

import json

import numpy as np
import pytest

from assay.base.errors import DataError
from assay.explain import Explanation


def explanation(outputs=1):
    values = np.arange(12.0).reshape(2, 3, 2)[:, :, :outputs]
    return Explanation(
        method="TreeSHAP",
        values=values[:, :, 0] if outputs == 1 else values,
        base_values=np.array([1.0, 2.0][:outputs]),
        data=np.array([[0.5, np.nan, 1.0], [2.0, 3.0, -1.0]]),
        names=["age", "<b>", "job"],
        unit="log odds of yes",
        outputs=["no", "yes"][-outputs:],
        categories={2: ["cook", "smith"]},
    )


def test_predictions_are_base_plus_contributions():
    assert explanation().predictions.tolist() == [7.0, 25.0]
    assert explanation(2).predictions.tolist() == [[7.0, 11.0], [25.0, 29.0]]


def test_one_row_says_cells_and_contributions():
    text = explanation()[0].to_text()
    assert "missing" in text and "smith" in text and "0.500" in text
    assert "unknown" in explanation()[-1].to_text()
    with pytest.raises(DataError, match="row"):
        explanation()[2]


def test_one_output_by_name_or_number():
    both = explanation(2)
    assert np.array_equal(both.of("yes").values, both.values[:, :, 1])
    assert np.array_equal(both.of(0).values, both.values[:, :, 0])
    single = explanation()
    assert single.of("yes") is single
    with pytest.raises(DataError, match="output"):
        both.of("maybe")


def test_importance_is_the_mean_size():
    assert explanation().importance().tolist() == [3.0, 5.0, 7.0]
    assert explanation(2).importance().tolist() == [3.5, 5.5, 7.5]


@pytest.mark.parametrize("outputs", [1, 2])
def test_every_form_is_safe_and_complete(outputs):
    whole = explanation(outputs)
    for one in (whole, whole[0]):
        page = one.to_html()
        assert "&lt;b&gt;" in page and "<b>" not in page
        assert one.to_svg().startswith("<svg")
        assert json.dumps(one.to_dict())
        assert "log odds" in one.how_to_read
        assert "base value" in one.to_text()
