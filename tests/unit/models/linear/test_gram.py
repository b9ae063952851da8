"""Sufficient statistics of linear models against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from assay import _kernels
from assay.base.folds import are_complementary
from assay.models.linear.gram import GramStatistics, complement


def table(n=500, p=4, q=2, offset=0.0):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, p)) + offset, rng.normal(size=(n, q)), rng.integers(1, 4, size=n).astype(float)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("weighted", [False, True])
def test_centred_moments_equal_two_pass_sums_even_far_from_zero(offset, weighted):
    X, Y, w = table(offset=offset)
    weights = w if weighted else np.ones(len(w))
    found = GramStatistics.of(X, Y, w if weighted else None, fit_intercept=True, threads=1).centred()
    Xc = X - np.average(X, axis=0, weights=weights)
    Yc = Y - np.average(Y, axis=0, weights=weights)
    np.testing.assert_allclose(
        found.gram, Xc.T @ (weights[:, None] * Xc), rtol=1e-6 if offset else 1e-11, atol=1e-4 if offset else 1e-11
    )
    np.testing.assert_allclose(found.cross, Xc.T @ (weights[:, None] * Yc), atol=1e-4 if offset else 1e-10)
    assert found.weight == weights.sum()


def test_a_shift_far_from_the_mean_is_noticed_and_mended():
    X, Y, _ = table(n=4096)
    X[1:] += 1e9  # every sampled row but the first is typical; an outlier must not spoil the shift
    X[0] = 0
    found = GramStatistics.of(X, Y, None, fit_intercept=True, threads=1).centred()
    Xc = X - X.mean(axis=0)
    np.testing.assert_allclose(np.diag(found.gram), (Xc**2).sum(axis=0), rtol=1e-9)


def test_the_complement_equals_the_sums_of_the_other_rows():
    X, Y, w = table()
    test, train = np.arange(0, 500, 5), np.setdiff1d(np.arange(500), np.arange(0, 500, 5))
    whole = GramStatistics.of(X, Y, w, fit_intercept=True, threads=2)
    part = GramStatistics.of(X, Y, w, fit_intercept=True, threads=2, shift=whole.shift, subset=test)
    rest = complement(whole, part)
    direct = GramStatistics.of(X, Y, w, fit_intercept=True, threads=1, shift=whole.shift, subset=train)
    np.testing.assert_allclose(rest.sums, direct.sums, rtol=1e-12, atol=1e-10)


def test_the_complement_is_refused_when_the_test_rows_held_nearly_all_variation():
    X, Y, _ = table()
    X[0] = 1e9
    whole = GramStatistics.of(X, Y, None, fit_intercept=True, threads=1)
    part = GramStatistics.of(X, Y, None, fit_intercept=True, threads=1, shift=whole.shift, subset=np.array([0]))
    assert complement(whole, part) is None


def test_complementary_means_every_row_once():
    assert are_complementary(np.array([0, 2]), np.array([1]), 3)
    assert not are_complementary(np.array([0, 0]), np.array([1]), 3)
    assert not are_complementary(np.array([0]), np.array([1]), 3)


def test_instruction_sets_agree():
    X, Y, w = table(p=30)
    best, found = _kernels.simd_level(), []
    try:
        for level in ("baseline", "avx2", "avx512"):
            _kernels.set_simd_level(level)
            found.append(_kernels.weighted_gram(X, Y, np.zeros(32), w, None, 1))
    finally:
        _kernels.set_simd_level(best)
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-12, atol=1e-11)


def test_row_numbers_outside_the_table_are_refused():
    X, Y, _ = table()
    with pytest.raises(ValueError, match="indices into the table"):
        _kernels.weighted_gram(X, Y, np.zeros(6), None, np.array([500]), 1)
