"""Sums over the rows of many folds in one call, against NumPy, for every number of columns that a vector may hold."""

from __future__ import annotations

import numpy as np
import pytest

from assay import _kernels
from assay.base.folds import row_lists

LISTS = [np.arange(7), np.arange(3, 1300, 2), np.array([5]), np.arange(600)[::-1].copy(), np.arange(1300)]


def table(columns):
    return 3.0 + np.random.default_rng(columns).normal(size=(1300, columns)) * np.linspace(1.0, 2.0, columns)


@pytest.mark.parametrize("columns", [*range(1, 18), 24, 31, 32, 33, 40])
def test_means_and_squares_of_listed_rows(columns):
    cells = table(columns + 1)
    mean, left, square = _kernels.fold_spreads(cells, columns, row_lists(LISTS), 2)
    for k, rows in enumerate(LISTS):
        part = cells[rows, :columns]
        np.testing.assert_allclose(mean[k], part.mean(axis=0), rtol=1e-14)
        np.testing.assert_allclose(square[k], ((part - mean[k]) ** 2).mean(axis=0), rtol=1e-12, atol=1e-28)
        np.testing.assert_allclose(left[k], (part - mean[k]).mean(axis=0), atol=1e-14)
        alone = _kernels.column_spread(np.ascontiguousarray(part.T), 1)
        assert [one.tobytes() for one in alone] == [one[k].tobytes() for one in (mean, left, square)]


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 16, 17, 24, 33])
def test_lines_through_the_means_of_folds(columns):
    cells, rng = table(columns), np.random.default_rng(0)
    means, slopes = rng.normal(size=(len(LISTS), columns + 1)), rng.normal(size=(len(LISTS), columns))
    found = _kernels.fold_lines(cells, row_lists(LISTS), means, slopes, 2)
    wanted = [m[-1] + (cells[rows] - m[:-1]) @ b for rows, m, b in zip(LISTS, means, slopes, strict=True)]
    np.testing.assert_allclose(found, np.concatenate(wanted), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("count", [4095, 4096, 4097, 9000])
def test_lines_of_more_rows_than_one_thread_takes_at_once(count):
    """Values of the other lists on either side stay what they are."""
    rng = np.random.default_rng(count)
    cells, rows = rng.normal(size=(9000, 3)), rng.permutation(9000)[:count]
    means, slopes = rng.normal(size=(3, 4)), rng.normal(size=(3, 3))
    lists = [np.arange(5), rows, np.arange(7)]
    wanted = [m[-1] + (cells[part] - m[:-1]) @ b for part, m, b in zip(lists, means, slopes, strict=True)]
    for threads in (1, 2):
        found = _kernels.fold_lines(cells, row_lists(lists), means, slopes, threads)
        np.testing.assert_allclose(found, np.concatenate(wanted), rtol=1e-12, atol=1e-12)


def test_two_lists_are_complementary_if_each_row_stands_once_in_one_of_them():
    def said(train, test, n_rows=6):
        lists = [row_lists([np.array(part, dtype=np.int64)]) for part in (train, test)]
        return int(_kernels.complementary(*lists, n_rows, 1)[0])

    assert said([0, 2, 3, 5], [1, 4]) == said([1, 4], [0, 2, 3, 5]) == 2, "ascending"
    assert said([0, 1, 2, 3, 4], [5]) == said([1, 2, 3, 4, 5], [0]) == 2
    assert said([3, 2, 0, 5], [1, 4]) == said([0, 2, 3, 5], [4, 1]) == 1, "in any order"
    assert said([0, 2, 3], [1, 4]) == 0, "one row in neither"
    assert said([0, 2, 3, 5], [1, 3]) == said([0, 2, 3, 4], [1, 4]) == 0, "one row in both"
    assert said([0, 2, 2, 5], [1, 4]) == said([0, 2, 3, 5, 5], [1, 4]) == 0, "one row twice"
