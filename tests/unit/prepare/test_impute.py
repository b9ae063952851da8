"""The numeric block agrees with scikit-learn's imputer and scaler."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from assay.prepare.impute import NumericBlock


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 5.0, -3.0, 1e6]
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 2] = np.where(np.isnan(X[:, 2]), 0.0, X[:, 2])
    return X


def by_column(X):
    return np.ascontiguousarray(X.T)


@pytest.mark.parametrize("standardise", [False, True])
def test_medians_indicators_and_scaling_are_those_of_scikit_learn(table, standardise):
    """scikit-learn's SimpleImputer(median, add_indicator) and StandardScaler are the reference."""
    block, rows = NumericBlock.fit(by_column(table), True, impute=True, standardise=standardise)
    expected = SimpleImputer(strategy="median", add_indicator=True).fit_transform(table)
    if standardise:
        expected[:, :4] = StandardScaler().fit_transform(expected[:, :4])
    np.testing.assert_allclose(rows, expected, atol=1e-9)
    np.testing.assert_array_equal(block.apply(by_column(table), True), rows)


def test_missing_cells_left_alone_do_not_disturb_the_scale(table):
    """StandardScaler leaves NaN out in the same way."""
    _, rows = NumericBlock.fit(by_column(table), True, impute=False, standardise=True)
    np.testing.assert_allclose(rows, StandardScaler().fit_transform(table), atol=1e-9)


def test_rows_without_holes_still_get_their_indicators(table):
    block, _ = NumericBlock.fit(by_column(table), True, impute=True, standardise=False)
    rows = block.apply(np.ones((4, 2)), False)
    assert rows.shape == (2, 7) and not rows[:, 4:].any()


def test_new_holes_in_a_complete_column_take_its_mean(table):
    block, _ = NumericBlock.fit(by_column(table), True, impute=True, standardise=False)
    rows = block.apply(np.full((4, 1), np.nan), True)
    np.testing.assert_allclose(rows[0, 2], table[:, 2].mean())


def test_a_block_without_columns_is_a_matrix_without_columns():
    _, rows = NumericBlock.fit(np.empty((0, 5)), False, impute=True, standardise=True)
    assert rows.shape == (5, 0)
