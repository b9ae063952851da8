"""Linear solves against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from assay.numeric.solves import cholesky, ridge_coefficients


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
