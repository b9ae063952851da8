"""Moments: the axes of a covariance whiten it, and constant columns are told from varying ones."""

from __future__ import annotations

import numpy as np
import pytest

from assay import _kernels
from assay.numeric.moments import (
    PrincipalAxes,
    column_products,
    deviation_or_one,
    inverse_deviation,
    varies,
    weighted_mean,
)


def test_whitened_rows_have_the_identity_as_covariance():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 4)) @ rng.normal(size=(4, 4)) + 7.0
    centred = rows - rows.mean(axis=0)
    axes = PrincipalAxes.of(np.cov(rows, rowvar=False), 1e-12)
    np.testing.assert_allclose(np.cov(centred @ axes.whitening, rowvar=False), np.eye(4), atol=1e-9)
    inverse = np.linalg.inv(np.cov(rows, rowvar=False))
    expected = np.einsum("ij,jk,ik->i", centred, inverse, centred)
    np.testing.assert_allclose(axes.squared_distances(centred), expected, rtol=1e-9)


def test_directions_without_spread_are_left_out():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(50, 2)) @ np.array([[1.0, 2.0, 3.0], [0.0, 1.0, -1.0]])
    assert PrincipalAxes.of(np.cov(rows, rowvar=False), 1e-10).variances.shape == (2,)
    assert PrincipalAxes.of(np.zeros((3, 3)), 1e-10).directions.shape == (3, 0)


@pytest.mark.parametrize("value", [0.1, 1e9 + 0.1, -3e-7, 1e150])
def test_a_constant_column_does_not_vary_although_its_mean_is_rounded(value):
    column = np.full((977, 1), value)
    mean, deviation = column.mean(axis=0), column.std(axis=0)
    assert not varies(deviation, mean).any()
    assert inverse_deviation(deviation, mean)[0] == 0.0 and deviation_or_one(deviation, mean)[0] == 1.0


def test_a_column_that_varies_little_around_a_large_centre_varies():
    column = 1e6 + 1e-4 * np.arange(10.0)[:, None]
    assert varies(column.std(axis=0), column.mean(axis=0)).all()


def test_weights_equal_repetition_in_the_mean():
    rows = np.array([[1.0, 2.0], [4.0, -1.0]])
    np.testing.assert_allclose(weighted_mean(rows, np.array([3.0, 1.0])), weighted_mean(rows[[0, 0, 0, 1]], None))


def test_products_of_shifted_columns_are_those_of_numpy():
    rng = np.random.default_rng(2)
    rows, shift = rng.normal(size=(33, 3)), np.array([1.0, -2.0, 0.5])
    extended = np.column_stack([rows - shift, np.ones(33)])
    np.testing.assert_allclose(column_products(rows, shift, threads=2), extended.T @ extended, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (40, 5), (9000, 3)])
def test_moments_by_class_of_whole_numbers_are_exact(n, d, missing, weighted):
    """Counts, sums and squares around a shift, cell by cell where some are missing, and tallies of categories."""
    rng = np.random.default_rng(n)
    X = rng.integers(-5, 6, size=(n, d)).astype(float)
    X[:, -1] = rng.integers(-1, 4, size=n)  # categories 0, 1, 2 of the last column; -1 and 3 are none of them
    if missing:
        X[rng.random((n, d)) < 0.2] = np.nan
    codes, w = rng.integers(0, 3, size=n).astype(np.int32), rng.integers(0, 4, size=n).astype(float)
    shift = rng.integers(-2, 3, size=d).astype(float)
    nominal, sizes = np.array([d - 1], dtype=np.int32), np.array([3], dtype=np.int32)
    for rows in (None, np.flatnonzero(np.arange(n) % 3 != 1)):
        used = np.arange(n) if rows is None else rows
        found = _kernels.class_moments(X, codes, 3, shift, nominal, sizes, w if weighted else None, rows, 2)
        for k in range(3):
            mine = used[codes[used] == k]
            weights = (w if weighted else np.ones(n))[mine, None]
            present, gaps = ~np.isnan(X[mine]), np.nan_to_num(X[mine] - shift)
            np.testing.assert_array_equal(found["class_weight"][k], weights.sum())
            np.testing.assert_array_equal(found["count"][k], (weights * present).sum(axis=0))
            np.testing.assert_array_equal(found["sum"][k], (weights * gaps).sum(axis=0))
            np.testing.assert_array_equal(found["square"][k], (weights * gaps**2).sum(axis=0))
            tally = [weights[X[mine, -1] == category].sum() for category in range(3)]
            np.testing.assert_array_equal(found["tally"][k], tally)
