"""Tables in blocks: sums in a fixed order, rows by number, what is known of the columns."""

from __future__ import annotations

import numpy as np
import pytest

from assay.base.batches import BatchedTable, ColumnFacts, joined_facts
from assay.base.errors import UsageError
from assay.models.linear import Ridge

RNG = np.random.default_rng(0)
CELLS = RNG.normal(size=(50, 3))


class Held:
    """A part in memory, in blocks of some rows."""

    def __init__(self, cells: np.ndarray, size: int = 7) -> None:
        self.cells, self.size, self.n_rows = cells, size, cells.shape[0]

    def blocks(self):
        for begin in range(0, self.n_rows, self.size):
            yield self.cells[begin : begin + self.size].copy()

    def rows(self, chosen):
        return self.cells[chosen]


def table(cells: np.ndarray = CELLS) -> BatchedTable:
    facts = joined_facts([ColumnFacts.of(cells[:20], 0), ColumnFacts.of(cells[20:], 20)])
    return BatchedTable([Held(cells[:20]), Held(cells[20:])], ("a", "b", "c"), (None,) * 3, facts)


def test_sums_see_every_row_once_with_its_values():
    values = RNG.normal(size=50)
    found = table().total(lambda block, v: block.T @ v, values)
    np.testing.assert_allclose(found, CELLS.T @ values, rtol=1e-12)


def test_values_come_in_the_order_of_the_rows():
    np.testing.assert_array_equal(table() @ np.array([1.0, 0.0, 0.0]), CELLS[:, 0])


def test_rows_by_slice_and_number():
    np.testing.assert_array_equal(table()[15:25], CELLS[15:25])
    np.testing.assert_array_equal(table()[np.array([40, 3, 19])], CELLS[[40, 3, 19]])
    np.testing.assert_array_equal(table().sample(10), CELLS[::5])


def test_columns_and_factors_are_those_of_the_blocks():
    some = table().columns(np.array([2, 0])) * np.array([10.0, -1.0])
    assert some.names == ("c", "a")
    np.testing.assert_array_equal(some[:], CELLS[:, [2, 0]] * [10.0, -1.0])
    np.testing.assert_array_equal(some.facts.high, [10 * CELLS[:, 2].max(), -CELLS[:, 0].min()])


@pytest.mark.parametrize("weights", [None, np.arange(50.0)], ids=["alone", "weighted"])
def test_moments_of_blocks_are_those_of_all_rows(weights):
    mean, variance, total = table(CELLS + 1e6).moments(weights, 1)
    np.testing.assert_allclose(mean, np.average(CELLS, axis=0, weights=weights) + 1e6, rtol=1e-14)
    wanted = np.average((CELLS - np.average(CELLS, axis=0, weights=weights)) ** 2, axis=0, weights=weights)
    np.testing.assert_allclose(variance, wanted, rtol=1e-8)
    assert total == (50 if weights is None else weights.sum())


def test_facts_of_columns_name_the_first_odd_row():
    cells = np.array([[0.0, 1.0, 5.0], [1.0, np.nan, 6.0], [1.0, 0.0, np.inf], [0.0, np.nan, 7.0]])
    facts = joined_facts([ColumnFacts.of(cells[:2], 0), ColumnFacts.of(cells[2:], 0).moved(2)])
    assert facts.missing.tolist() == [0, 2, 0] and facts.infinite.tolist() == [0, 0, 1]
    assert facts.first_odd[1:].tolist() == [1, 2]
    assert facts.zero_one.tolist() == [True, True, False]
    assert facts.low.tolist() == [0.0, 0.0, 5.0] and facts.high[:2].tolist() == [1.0, 1.0]


def test_what_is_no_table_in_blocks_is_refused():
    with pytest.raises(UsageError, match=r"Ridge: fit_batches takes a table with its target as assay.data.Batches"):
        Ridge().fit_batches(CELLS)
