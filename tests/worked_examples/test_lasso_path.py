"""The lasso path of the diabetes study (442 patients, 10 columns), which the paper on least angle regression follows.

Efron, Hastie, Johnstone & Tibshirani, Least angle regression, Annals of Statistics 32, 2004, section 1: variables enter
in the order 3, 9, 4, 7, 2, 10, 5, 8, 6, 1 (BMI, S5, BP, S3, SEX, S6, S1, S4, S2, AGE), and one of them, number 7,
leaves again before the end. The data are those of scikit-learn's `load_diabetes`; the knots come from its `lars_path`,
a homotopy that shares nothing with coordinate descent.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import lars_path

from assay.models.linear import Lasso, LeastSquares, lasso_path

PUBLISHED_ORDER = [3, 9, 4, 7, 2, 10, 5, 8, 6, 1]


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X, y - y.mean()


@pytest.fixture(scope="module")
def knots(diabetes):
    alphas, _, coefs = lars_path(*diabetes, method="lasso")
    return alphas, coefs.T


def test_columns_enter_in_the_published_order(diabetes):
    path = lasso_path(*diabetes, alphas=400, eps=1e-5, tol=1e-9, max_iter=100_000)
    first = [int(np.argmax(column != 0)) for column in path.coef.T]
    assert (1 + np.argsort(first, kind="stable")).tolist() == PUBLISHED_ORDER


def test_the_seventh_column_leaves_and_comes_back(diabetes):
    path = lasso_path(*diabetes, alphas=400, eps=1e-5, tol=1e-9, max_iter=100_000)
    inside = (path.coef != 0)[:, [number - 1 for number in range(1, 11)]]
    changes = np.abs(np.diff(inside.astype(int), axis=0)).sum(axis=0)
    assert changes.tolist() == [1, 1, 1, 1, 1, 1, 3, 1, 1, 1]


def test_single_fits_are_those_of_the_homotopy_at_its_knots_and_between(diabetes, knots):
    alphas, coefs = knots
    for k in range(1, len(alphas) - 1):
        np.testing.assert_allclose(Lasso(alpha=alphas[k]).fit(*diabetes).coef_, coefs[k], atol=1e-7)
        between = 0.5 * (alphas[k] + alphas[k + 1])
        halfway = 0.5 * (coefs[k] + coefs[k + 1])  # the path is linear between knots
        np.testing.assert_allclose(Lasso(alpha=between).fit(*diabetes).coef_, halfway, atol=1e-7)
    np.testing.assert_allclose(LeastSquares().fit(*diabetes).coef_, coefs[-1], rtol=1e-6)


def test_the_first_knot_is_the_smallest_penalty_without_coefficients(diabetes, knots):
    alphas, _ = knots
    path = lasso_path(*diabetes, alphas=3)
    assert path.alphas[0] == pytest.approx(alphas[0], rel=1e-12)
    assert not Lasso(alpha=alphas[0] * (1 + 1e-9)).fit(*diabetes).coef_.any()
    assert Lasso(alpha=alphas[0] * (1 - 1e-6)).fit(*diabetes).coef_.any()
