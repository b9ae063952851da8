"""Units to draw from: weights mean repetition, and the order of the rows does not matter."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from assay.models.ensembles.units import MOST_UNITS, Units, content_order, contents, first_copies


def test_units_of_weights_are_those_of_repeated_rows_in_any_order():
    rng = np.random.default_rng(0)
    column, weights = rng.integers(0, 30, 20).astype(float), rng.integers(1, 4, 20).astype(float)
    owner = rng.permutation(np.repeat(np.arange(20), weights.astype(int)))
    one = Units.of([column], weights, 20)
    two = Units.of([column[owner]], None, len(owner))
    np.testing.assert_array_equal(column[one.owner], column[owner][two.owner])
    drawn = rng.integers(0, one.count, one.count)
    totals = [np.bincount(c.astype(int), u.weights(drawn), 30) for c, u in ((column, one), (column[owner], two))]
    np.testing.assert_array_equal(*totals)


def test_weights_that_are_not_whole_or_too_many_are_carried():
    for weights in (np.array([0.5, 2.0]), np.array([MOST_UNITS, 1.0])):
        units = Units.of([np.array([1.0, 0.0])], weights, 2)
        assert units.count == 2
        np.testing.assert_array_equal(units.weights(np.array([0, 0])), [0.0, 2 * weights[1]])


def test_missing_cells_are_equal_to_each_other():
    columns = [np.array([1.0, 1.0, 1.0]), np.array([np.nan, 2.0, np.nan])]
    np.testing.assert_array_equal(first_copies(columns, 3), [0, 1, 0])


def test_order_does_not_depend_on_the_unit_of_a_column():
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(size=(50, 3)), 1)
    np.testing.assert_array_equal(content_order(X.T, 50), content_order((X * [1000.0, 0.01, 7.0]).T, 50))


def test_sparse_rows_and_foreign_cells_have_an_order_too():
    X, y = np.random.default_rng(2).integers(0, 2, (30, 5)).astype(float), np.zeros(30)
    order = np.random.default_rng(3).permutation(30)
    one, two = (X[o][content_order(contents("demo", csr_matrix(X[o]), y, None), 30)] for o in (np.arange(30), order))
    np.testing.assert_array_equal(one, two)
    dates = np.array([["2024-01-01"], ["2024-01-02"]], dtype="datetime64[D]").astype(object)
    np.testing.assert_array_equal(content_order(contents("demo", dates, y[:2], None), 2), [0, 1])
