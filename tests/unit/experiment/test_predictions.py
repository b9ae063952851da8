"""Claims about out-of-fold predictions as arrays."""

from __future__ import annotations

import numpy as np
import pytest

from assay.experiment import FoldPredictions

SHARES = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])


@pytest.mark.parametrize(
    ("predictions", "names"),
    [
        (FoldPredictions(np.array([1, 0]), SHARES), {"probabilities"}),
        (FoldPredictions(np.array([2, 0]), SHARES), {"probabilities", "codes"}),
        (FoldPredictions(np.array([2, 0])), {"codes"}),
    ],
)
def test_codes_are_kept_only_where_they_do_not_follow_from_the_probabilities(predictions, names):
    arrays = predictions.arrays()
    assert set(arrays) == names
    again = FoldPredictions.read(arrays, 2, 3)
    assert np.array_equal(again.predicted, predictions.predicted) and again.predicted.dtype == np.int64
    assert (again.probabilities is None) == (predictions.probabilities is None)


def test_numbers_come_back_as_they_were():
    values = np.array([0.1, np.nan, -np.inf])
    again = FoldPredictions.read(FoldPredictions(values).arrays(), 3, None)
    assert again.predicted.tobytes() == values.tobytes()


@pytest.mark.parametrize(
    ("arrays", "n_classes"),
    [
        (None, 3),
        ({}, 3),
        ({"values": np.zeros(2)}, 3),
        ({"codes": np.array([0, 3], dtype=np.uint8)}, 3),
        ({"codes": np.array([0, -1])}, 3),
        ({"codes": np.zeros(3, dtype=np.uint8)}, 3),
        ({"codes": np.zeros(2)}, 3),
        ({"probabilities": SHARES, "else": SHARES}, 3),
        ({"probabilities": SHARES}, 2),
        ({"codes": np.zeros(2, dtype=np.uint8)}, None),
        ({"values": np.zeros(2, dtype=np.int64)}, None),
    ],
)
def test_arrays_of_another_kind_shape_or_range_are_not_predictions(arrays, n_classes):
    assert FoldPredictions.read(arrays, 2, n_classes) is None
