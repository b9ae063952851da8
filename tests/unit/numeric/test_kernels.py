"""Kernel functions: Gram matrices against scikit-learn, sums and products, the check of a matrix."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, polynomial_kernel, rbf_kernel, sigmoid_kernel

from assay.base import DataError, ParameterError
from assay.numeric.kernels import (
    Distance,
    Function,
    Gaussian,
    Laplacian,
    Linear,
    Mahalanobis,
    Polynomial,
    Precomputed,
    Sigmoid,
    check_gram,
)

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(70, 3)), RNG.normal(size=(45, 3))

PEERS = {
    "linear": (Linear(), linear_kernel(X, Y)),
    "polynomial": (Polynomial(2, 0.3, 1.5), polynomial_kernel(X, Y, degree=2, gamma=0.3, coef0=1.5)),
    "gaussian": (Gaussian(0.7), rbf_kernel(X, Y, gamma=0.7)),
    "laplacian": (Laplacian(0.4), laplacian_kernel(X, Y, gamma=0.4)),
    "sigmoid": (Sigmoid(0.2, -0.1), sigmoid_kernel(X, Y, gamma=0.2, coef0=-0.1)),
}


@pytest.mark.parametrize("name", PEERS)
def test_gram_matrices_agree_with_scikit_learn(name):
    kernel, expected = PEERS[name]
    np.testing.assert_allclose(kernel(X, Y), expected, rtol=1e-12, atol=1e-15)
    gram = kernel(X)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(gram), rtol=1e-13)


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Laplacian(0.4)])
@pytest.mark.parametrize("n_rows", [1, 15, 16, 17, 70])
def test_a_table_with_itself_has_the_bits_of_all_pairs(kernel, n_rows):
    rows = X[:n_rows].copy()
    found = kernel(rows)  # half of the pairs are measured
    assert np.array_equal(found, kernel(rows, rows.copy()))
    assert np.array_equal(found, found.T)
    assert np.array_equal(kernel.distances(rows), kernel.distances(rows).T)


def test_the_mahalanobis_kernel_is_the_gaussian_of_whitened_rows():
    covariance = np.cov(X, rowvar=False)
    inverse = np.linalg.inv(covariance)
    gaps = X[:, None] - Y[None]
    expected = np.exp(-0.5 * np.einsum("ijk,kl,ijl->ij", gaps, inverse, gaps))
    np.testing.assert_allclose(Mahalanobis(covariance)(X, Y), expected, rtol=1e-10)


def test_kernels_add_and_multiply():
    kernel = 2.0 * Linear() + Gaussian(0.5) * Polynomial(2) + 1
    expected = 2.0 * Linear()(X, Y) + Gaussian(0.5)(X, Y) * Polynomial(2)(X, Y) + 1.0
    np.testing.assert_allclose(kernel(X, Y), expected, rtol=1e-14)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(kernel(X)), rtol=1e-12)
    check_gram("sum", kernel(X))
    with pytest.raises(ParameterError, match="can be multiplied with a kernel or a number >= 0"):
        Linear() * -1.0


def test_distance_based_user_and_precomputed_kernels():
    np.testing.assert_allclose(Distance("euclidean", 0.3)(X, Y), np.exp(-0.3 * np.linalg.norm(X[:, None] - Y, axis=2)))
    np.testing.assert_allclose(Function(lambda a, b: a @ b.T)(X, Y), X @ Y.T)
    np.testing.assert_allclose(Function(lambda a, b: a @ b, by_row=True)(X, Y), X @ Y.T)
    np.testing.assert_array_equal(Precomputed()(X), X)
    with pytest.raises(DataError, match=r"must give a matrix of shape \(70, 45\)"):
        Function(lambda a, b: a)(X, Y)
    with pytest.raises(ParameterError, match="must not learn from rows"):
        Distance("mixed")
    with pytest.raises(DataError, match="must have two dimensions"):
        Linear()(X[0])


def test_near_rows_far_from_the_origin_keep_their_digits():
    """The expansion |x|^2 - 2 x'y + |y|^2 loses them all here."""
    far = 1e8 + np.array([[0.0], [0.5], [1.0]])
    np.testing.assert_allclose(Gaussian(1.0)(far)[0], np.exp([-0.0, -0.25, -1.0]), rtol=1e-12)


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Laplacian(0.8)])
def test_parzen_sums_are_the_rows_of_the_gram_matrix_added_up(kernel):
    weights = RNG.random(45)
    np.testing.assert_allclose(kernel.sums(X, Y), kernel(X, Y).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(kernel.sums(X, Y, weights), kernel(X, Y) @ weights, rtol=1e-12)


def test_a_matrix_that_is_no_gram_matrix_is_refused_with_the_eigenvalue():
    with pytest.raises(DataError, match="its smallest eigenvalue is -1"):
        check_gram("svm", np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(DataError, match=r"must be symmetric; cells \(0, 1\) and \(1, 0\) differ by 1"):
        check_gram("svm", np.array([[1.0, 2.0], [1.0, 1.0]]))
    with pytest.raises(DataError, match="must be square and finite"):
        check_gram("svm", np.zeros((2, 3)))
    with pytest.raises(DataError, match="smallest eigenvalue"):
        check_gram("svm", Sigmoid(5.0, -3.0)(X))
    check_gram("svm", Gaussian(0.01)(np.repeat(X, 2, axis=0)))
