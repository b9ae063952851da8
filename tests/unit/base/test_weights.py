"""Weights in a common unit: ratios stay exact, and no row loses its weight."""

from __future__ import annotations

import numpy as np
import pytest

from assay.base.weights import count_rows, in_units


@pytest.mark.parametrize("power", [-1000, -64, -1, 0, 1, 64, 1000])
def test_the_largest_lies_between_one_and_two_and_ratios_are_exact(power):
    weights = np.array([1.25, 1.0, 0.0, 0.3])
    scaled, factor = in_units(np.ldexp(weights, power))
    assert 1.0 <= scaled.max() < 2.0
    np.testing.assert_array_equal(scaled, weights)
    assert factor == 2.0**-power


def test_no_row_loses_its_weight():
    scaled, _ = in_units(np.array([1e300, 1e-300, 0.0]))
    assert (scaled > 0).tolist() == [True, True, False]


def test_whole_numbers_count_rows_up_to_a_limit():
    assert count_rows(np.array([2.0, 0.0]), 2.0)
    assert not count_rows(np.array([2.0, 1.0]), 2.0)
    assert not count_rows(np.array([0.5]), 2.0)
