"""Agreement of two clusterings: table, indices, and an interval that covers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.base import DataError
from assay.evaluate import adjusted_rand, cluster_agreement


def test_the_table_and_the_indices_are_those_of_the_labels():
    found = cluster_agreement(["x", "x", "y", "y", "y"], [1, 1, 1, 2, 2])
    assert (found.first, found.second, found.counts) == (["x", "y"], ["1", "2"], [[2, 0], [1, 2]])
    assert found.adjusted_rand == adjusted_rand([1, 1, 1, 2, 2], ["x", "x", "y", "y", "y"])
    assert found.purity == pytest.approx(0.8) and "adjusted Rand" in found.sentence
    assert found.grid().rows[1] == ["y", "1", "2"]


def test_equal_partitions_agree_in_full_without_doubt():
    found = cluster_agreement([0, 0, 1, 1, 2, 2], list("bbccaa"))
    assert found.adjusted_rand == 1 and found.interval == (1.0, 1.0)
    assert cluster_agreement([1, 1, 1], [2, 2, 2]).interval == (1.0, 1.0)


def test_the_interval_covers_the_index_of_many_rows():
    """Rows drawn from fixed shares of label pairs; the truth is the index of the shares."""
    rng = np.random.default_rng(0)
    shares = np.array([[0.3, 0.05, 0.02], [0.06, 0.2, 0.04], [0.01, 0.07, 0.25]])
    row, column = shares.sum(axis=1), shares.sum(axis=0)
    both, first, second = (shares**2).sum(), (row**2).sum(), (column**2).sum()
    truth = (both - first * second) / ((first + second) / 2 - first * second)
    hits = 0
    for _ in range(400):
        cells = rng.choice(9, size=200, p=shares.ravel())
        low, high = cluster_agreement(cells // 3, cells % 3).interval
        hits += low <= truth <= high
    assert 0.92 <= hits / 400 <= 0.98


@pytest.mark.parametrize("other", [[1, 2], [[1], [2], [3]], []])
def test_labels_that_do_not_pair_are_refused(other):
    with pytest.raises(DataError, match="cluster_agreement"):
        cluster_agreement([1, 2, 3], other)


def _index(shares):
    row, column = shares.sum(axis=1), shares.sum(axis=0)
    chance = (row**2).sum() * (column**2).sum()
    return ((shares**2).sum() - chance) / (((row**2).sum() + (column**2).sum()) / 2 - chance)


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_the_width_is_that_of_the_infinitesimal_jackknife(alpha):
    """Each row's influence by moving a little weight to its cell, on a table with unequal margins."""
    counts = np.array([[30, 5, 2], [6, 20, 4], [1, 17, 55]])
    cells = np.repeat(np.arange(9), counts.ravel())
    shares, n, step = counts / counts.sum(), counts.sum(), 1e-6
    influence = np.empty(9)
    for cell in range(9):
        there = np.zeros((3, 3))
        there.ravel()[cell] = 1
        influence[cell] = (
            (_index(shares + step * (there - shares)) - _index(shares - step * (there - shares))) / 2 / step
        )
    error = np.sqrt((shares.ravel() * influence**2).sum() / n)
    found = cluster_agreement(cells // 3, cells % 3, alpha=alpha)
    half = stats.norm.ppf(1 - alpha / 2) * error
    assert found.interval == pytest.approx((found.adjusted_rand - half, found.adjusted_rand + half), rel=1e-5)


def test_the_interval_stays_where_the_index_can_be():
    """Few rows: the normal interval would pass 1 on one side, and -1 on the other."""
    high = cluster_agreement([0, 0, 0, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1, 1], alpha=0.001)
    assert high.interval[1] == 1.0 and high.interval[0] > -1
    assert cluster_agreement([0, 0, 0, 1, 1, 1, 1], [0, 1, 1, 0, 0, 0, 1], alpha=1e-12).interval == (-1.0, 1.0)


def test_one_row_agrees_with_itself_and_none_is_refused():
    assert cluster_agreement([3], ["a"]).counts == [[1]]
    with pytest.raises(DataError, match="one label per row"):
        cluster_agreement([], [])


def test_labels_stand_in_their_own_order_and_may_be_of_several_kinds():
    """Numbers by size, and not as words; what is no number, as words."""
    kinds = np.array([1, "a", None, "a"], dtype=object)
    found = cluster_agreement([10, 9, 10, 100], kinds)
    assert found.first == ["9", "10", "100"] and found.second == ["1", "None", "a"]
    assert found.counts == [[0, 0, 1], [1, 1, 0], [0, 0, 1]]
    turned = cluster_agreement(kinds, [10, 9, 10, 100])
    assert turned.second == found.first and turned.counts == np.transpose(found.counts).tolist()
    assert turned.adjusted_rand == found.adjusted_rand
