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


def whole_numbers(n, p, q=0, classes=1):
    """Cells, weights and shifts whose sums of products are exact in any order."""
    rng = np.random.default_rng(n + p)
    X, Y = (rng.integers(-4, 5, size=(n, width)).astype(float) for width in (p, q))
    return X, Y, rng.integers(0, 4, size=n).astype(float), rng.integers(-2, 3, size=(classes, p + q)).astype(float)


@pytest.mark.parametrize("simd", ["baseline", "avx2", "avx512"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("n", "p", "q"), [(1, 1, 1), (127, 6, 1), (128, 7, 8), (129, 14, 1), (300, 16, 0), (140, 31, 2), (9001, 2, 1)]
)
def test_products_of_whole_numbers_are_exact_at_every_edge_of_a_block(n, p, q, weighted, simd):
    """Panels of 16 columns in halves of 8, blocks of 128 rows, chunks of 4096."""
    X, Y, w, (shift,) = whole_numbers(n, p, q)
    Z = np.column_stack([X - shift[:p], Y - shift[p:], np.ones(n)])
    some = np.flatnonzero(np.arange(n) % 3 != 1)
    best = _kernels.simd_level()
    try:
        _kernels.set_simd_level(simd)
        for rows in (None, some):
            part = slice(None) if rows is None else rows
            found = _kernels.weighted_gram(X, Y, shift, w if weighted else None, rows, 2)
            expected = Z[part].T @ ((w if weighted else np.ones(n))[part, None] * Z[part])
            np.testing.assert_array_equal(found, expected)
    finally:
        _kernels.set_simd_level(best)


@pytest.mark.parametrize("weighted", [False, True])
def test_products_of_wide_tables_are_exact(weighted):
    """Beyond 768 columns the threads share tiles of one matrix, not rows."""
    X, Y, w, (shift,) = whole_numbers(150, 775, 1)
    Z = np.column_stack([X - shift[:775], Y - shift[775:], np.ones(150)])
    found = _kernels.weighted_gram(X, Y, shift, w if weighted else None, None, 2)
    np.testing.assert_array_equal(found, Z.T @ (w[:, None] * Z if weighted else Z))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("n", "p", "classes"), [(700, 3, 2), (300, 15, 3), (800, 24, 2), (300, 40, 2), (500, 33, 30), (17000, 1, 2)]
)
def test_products_by_class_are_those_of_its_rows(n, p, classes, weighted):
    """Thirty classes of 33 columns are beyond the second cache and are taken one after the other."""
    X, _, w, shift = whole_numbers(n, p, classes=classes)
    codes = np.random.default_rng(n).integers(0, classes, size=n).astype(np.int32)
    for rows in (None, np.flatnonzero(np.arange(n) % 4 != 2)):
        used = np.arange(n) if rows is None else rows
        found = _kernels.class_grams(X, codes, classes, shift, w if weighted else None, rows, 2)
        for k in range(classes):
            mine = used[codes[used] == k]
            Z = np.column_stack([X[mine] - shift[k], np.ones(mine.size)])
            expected = Z.T @ (w[mine, None] * Z if weighted else Z)
            np.testing.assert_array_equal(found.reshape(classes, p + 1, p + 1)[k], expected)


@pytest.mark.parametrize(("d", "count"), [(1, 1), (7, 4), (8, 5), (19, 6)])
def test_quadratic_forms_are_exact(d, count):
    rng = np.random.default_rng(d)
    half = rng.integers(-3, 4, size=(d, d)).astype(float)
    combinations = rng.integers(-2, 3, size=(count, d)).astype(float)
    found = _kernels.quadratic_forms(half + half.T, combinations, 1)
    np.testing.assert_array_equal(found, np.einsum("ki,ij,kj->k", combinations, half + half.T, combinations))
    np.testing.assert_array_equal(_kernels.quadratic_forms(half + half.T, np.eye(d), 1), 2 * np.diag(half))
