"""Monomials: scikit-learn's order, products of powers, NaN beyond the range, any place to start."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import PolynomialFeatures

from assay import _kernels
from assay.numeric.monomials import count_monomials, monomial_cells, monomial_names, monomial_powers


@pytest.mark.parametrize("n_features", [1, 2, 5])
@pytest.mark.parametrize("degree", [1, 2, 3, 6])
@pytest.mark.parametrize("interaction_only", [False, True])
def test_powers_cells_and_names_are_those_of_scikit_learn(n_features, degree, interaction_only):
    X = np.random.default_rng(0).normal(size=(7, n_features))
    peer = PolynomialFeatures(degree, interaction_only=interaction_only, include_bias=False).fit(X)
    powers = monomial_powers(n_features, degree, interaction_only)
    np.testing.assert_array_equal(powers, peer.powers_)
    assert monomial_names([f"x{j}" for j in range(n_features)], powers) == peer.get_feature_names_out().tolist()
    assert count_monomials(n_features, degree, interaction_only) == len(powers)
    made = monomial_cells(X, powers, ones=True)
    np.testing.assert_array_equal(made[:, 0], 1.0)
    np.testing.assert_allclose(made[:, 1:], peer.transform(X), rtol=1e-13)


def test_no_columns_make_no_monomials():
    powers = monomial_powers(0, 3)
    assert powers.shape == (0, 0)
    assert monomial_cells(np.empty((4, 0)), powers, ones=True).tolist() == [[1.0]] * 4


def test_cells_beyond_the_range_are_missing_only_when_asked():
    X = np.array([[1e200, 2.0], [np.nan, 3.0], [0.0, 1.0]])
    powers = monomial_powers(2, 2)
    assert np.isinf(monomial_cells(X, powers)[0, 2])
    made = monomial_cells(X, powers, finite=True)
    np.testing.assert_array_equal(np.isnan(made), np.array([[0, 0, 1, 0, 0], [1, 0, 1, 1, 0], [0] * 5], dtype=bool))


def test_bits_depend_neither_on_threads_nor_on_the_instruction_set():
    X = np.random.default_rng(1).normal(size=(20_000, 10))
    powers = monomial_powers(10, 2)
    made = monomial_cells(X, powers, threads=1)
    np.testing.assert_array_equal(monomial_cells(X, powers, threads=2), made)
    level = _kernels.simd_level()
    try:
        _kernels.set_simd_level("baseline")
        np.testing.assert_array_equal(monomial_cells(X, powers), made)
    finally:
        _kernels.set_simd_level(level)


@pytest.mark.parametrize("runs", [[[0, 0, 2]], [[-1, 1, 2]], [[-1, 0, -1]], [[-1, 0, 1]], [[-2, 0, 2]]])
def test_runs_that_lead_outside_are_refused(runs):
    with pytest.raises(ValueError, match="monomials"):
        _kernels.monomials(np.ones((3, 2)), np.array(runs), False, False, np.empty((3, 2)), 1)
