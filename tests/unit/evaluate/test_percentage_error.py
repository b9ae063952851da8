"""The percentage error, and what a true value of 0 does to it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_percentage_error

from assay.base import DataError, ParameterError
from assay.evaluate import get_metric, mape

TRUTH, PREDICTED = np.array([1.0, -4.0, 5.0, 0.0]), np.array([2.0, -3.0, 5.0, 1.0])


def test_in_percent_and_as_scikit_learn_without_zeros():
    for at_zero in ("skip", "raise", "infinite", "tiny"):
        assert mape(TRUTH[:3], PREDICTED[:3], at_zero) == pytest.approx(
            100 * mean_absolute_percentage_error(TRUTH[:3], PREDICTED[:3])
        )


def test_each_way_with_zero():
    assert mape(TRUTH, PREDICTED) == pytest.approx(125 / 3)
    assert mape(TRUTH, PREDICTED, "infinite") == np.inf
    assert mape(TRUTH, [2.0, -3.0, 5.0, 0.0], "infinite") == pytest.approx(125 / 4)
    assert mape(TRUTH, PREDICTED, "tiny") == pytest.approx(100 * mean_absolute_percentage_error(TRUTH, PREDICTED))
    with pytest.raises(DataError, match="1 zeros"):
        mape(TRUTH, PREDICTED, "raise")
    assert np.isnan(mape([0.0, 0.0], [1.0, 2.0]))


def test_the_table_of_metrics_has_the_form_that_skips():
    assert get_metric("mape_percent").score(TRUTH, PREDICTED) == pytest.approx(mape(TRUTH, PREDICTED))
    assert np.isnan(get_metric("mape_percent").score([0.0], [1.0]))


def test_mistakes_get_one_sentence():
    with pytest.raises(ParameterError, match="'at_zero'"):
        mape(TRUTH, PREDICTED, "drop")
    with pytest.raises(DataError, match="same length"):
        mape(TRUTH, [1.0])
