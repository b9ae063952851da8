"""Linear solves against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from assay.numeric.solves import cholesky, inverse_triangles, lifted_solve, ridge_coefficients, ridge_of_products


@pytest.mark.parametrize("shape", [(30, 4), (4, 30), (5, 5)])
def test_ridge_has_a_zero_gradient_whichever_gram_matrix_is_smaller(shape):
    rng = np.random.default_rng(0)
    rows, targets = rng.normal(size=shape), rng.normal(size=(shape[0], 2))
    found = ridge_coefficients(rows, targets, 0.7)
    np.testing.assert_allclose(rows.T @ (rows @ found - targets) + 0.7 * found, 0.0, atol=1e-10)


def test_a_matrix_that_is_not_positive_definite_has_no_cholesky_factor():
    assert cholesky(np.array([[1.0, 2.0], [2.0, 1.0]])) is None
    assert cholesky(np.array([[np.nan]])) is None
    factor = cholesky(np.array([[4.0, 1.0], [1.0, 9.0]]))
    np.testing.assert_allclose(factor.solve(np.eye(2)), np.linalg.inv([[4.0, 1.0], [1.0, 9.0]]))


def test_ridge_of_products_penalises_each_column_by_its_own_number():
    rng = np.random.default_rng(1)
    rows, target, penalty = rng.normal(size=(20, 3)), rng.normal(size=20), np.array([0.0, 0.5, 40.0])
    found = ridge_of_products(rows.T @ rows, rows.T @ target, penalty)
    np.testing.assert_allclose(rows.T @ (rows @ found - target) + penalty * found, 0.0, atol=1e-10)
    twice = ridge_of_products(np.ones((2, 2)), np.array([1.0, 1.0]), 0.0)
    np.testing.assert_allclose(twice, [0.5, 0.5], err_msg="the shortest of many solutions")
    with pytest.raises(np.linalg.LinAlgError, match="range of float64"):
        ridge_of_products(np.array([[np.inf]]), np.array([1.0]), 1.0)


def test_a_singular_system_is_lifted_and_a_hopeless_one_gives_zeros():
    rng = np.random.default_rng(2)
    half = rng.normal(size=(4, 4))
    matrix, right = half @ half.T * np.outer([1.0, 1e3, 1e-3, 1.0], [1.0, 1e3, 1e-3, 1.0]), rng.normal(size=(4, 2))
    np.testing.assert_allclose(lifted_solve(matrix.copy(), right), np.linalg.solve(matrix, right), rtol=1e-8)
    low = half[:, :2] @ half[:, :2].T
    inside = low @ rng.normal(size=4)
    np.testing.assert_allclose(low @ lifted_solve(low.copy(), inside), inside, rtol=1e-6)
    assert (lifted_solve(np.array([[1.0, 1e9], [1e9, 1.0]]), np.ones(2)) == 0.0).all()


def test_a_factor_in_the_place_of_its_matrix_is_the_same_and_ends_as_the_diagonal_of_the_inverse():
    A = np.random.default_rng(2).normal(size=(30, 6)) * [1, 10, 100, 1, 1, 1e-3]
    gram = A.T @ A
    before = gram.copy()
    kept, spent = cholesky(gram), cholesky(gram.copy(), overwrite=True)
    assert (gram == before).all() and (kept.factor == spent.factor).all()
    assert kept.reciprocal_condition == spent.reciprocal_condition
    np.testing.assert_allclose(spent.turned_to_inverse_diagonal(), np.linalg.inv(gram).diagonal(), rtol=1e-9)


@pytest.mark.parametrize("cell", [np.nan, np.inf, -np.inf])
def test_a_matrix_with_a_cell_that_is_no_number_has_no_factor(cell):
    for row, column in ((0, 0), (1, 0)):
        gram = 4.0 * np.eye(3)
        gram[row, column] = gram[column, row] = cell
        assert cholesky(gram) is None


def test_inverses_of_triangles_multiply_to_one_and_a_singular_one_is_refused():
    rng = np.random.default_rng(0)
    triangles = np.tril(rng.normal(size=(4, 6, 6))) + 3.0 * np.eye(6)
    np.testing.assert_allclose(
        inverse_triangles(triangles) @ triangles, np.broadcast_to(np.eye(6), (4, 6, 6)), atol=1e-13
    )
    triangles[2, 5, 5] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="triangle 2"):
        inverse_triangles(triangles)
