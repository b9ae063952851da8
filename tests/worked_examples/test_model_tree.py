"""The model tree on six rows, worked by hand."""

from __future__ import annotations

import numpy as np

from assay.models.trees import ModelTreeRegressor

X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
Y = np.array([0.0, 2.0, 4.0, 30.0, 29.0, 28.0])
GROWN = {"min_samples_leaf": 3, "columns": "all", "drop": False}


def test_two_lines_are_found_on_both_sides_of_the_gap():
    model = ModelTreeRegressor(smoothing=False, **GROWN).fit(X, Y)
    assert model.to_text() == "x0 <= 6: 2 x0 (3 rows, 50% of all)\nx0 > 6: 40 - x0 (3 rows, 50% of all)"


def test_the_root_line_by_hand():
    """Means 6 and 15.5; sum of products 407, of squares of x 154: slope 407/154."""
    model = ModelTreeRegressor(trace=True, **GROWN).fit(X, Y)
    root = model.trace_[0]["values"]
    x, y = X[:, 0] - 6, Y - 15.5
    slope = (x * y).sum() / (x * x).sum()
    assert (x * x).sum() == 154 and (x * y).sum() == 407
    np.testing.assert_allclose([root["weights"]["x0"], root["intercept"]], [slope, 15.5 - 6 * slope])
    np.testing.assert_allclose(root["residual_sum_of_squares"], (y * y).sum() - 407**2 / 154)
    assert root["parameters"] == 2


def test_smoothing_mixes_three_rows_of_the_leaf_with_fifteen_of_the_root():
    """(n p + k q) / (n + k) with n = 3, k = 15: at x = 1 the left line says 2, the root 15.5 - 5 * 407/154."""
    model = ModelTreeRegressor(**GROWN).fit(X, Y)
    root = 15.5 - 5 * 407 / 154
    np.testing.assert_allclose(model.predict([[1.0]]), (3 * 2 + 15 * root) / 18)


def test_a_subtree_goes_where_its_parameters_cost_more_than_they_bring():
    """One line through all rows: RSS 0 with 2 parameters against 5 of the split."""
    assert ModelTreeRegressor(**GROWN).fit(X, 3 * X[:, 0]).get_n_leaves() == 1
