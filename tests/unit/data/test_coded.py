"""Sorted columns: 4 bytes a cell, used up by one tree or shared by many, the same for any choice of rows."""

import numpy as np
import pytest

from assay.data.coded import CodedTable
from assay.data.columns import ColumnSchema
from assay.models.trees import C45Classifier, CartClassifier

FRESH, MISSING = 1 << 31, 1 << 30


@pytest.fixture(scope="module")
def cells() -> np.ndarray:
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(size=300).round(1), rng.integers(0, 4, size=300).astype(float)])
    table[rng.random(table.shape) < 0.1] = np.nan
    return table


def schema(cells: np.ndarray) -> ColumnSchema:
    return ColumnSchema(("x", "c"), np.array([False, True]), (None, np.array(["a", "b", "c", "d"])))


def test_the_order_takes_four_bytes_a_cell_and_says_where_values_change(cells):
    order = CodedTable.of(cells, schema(cells), threads=1).order()
    assert order.nbytes == 4 * cells.size
    for j in range(cells.shape[1]):
        rows, values = order[j] & (MISSING - 1), cells[order[j] & (MISSING - 1), j]
        assert sorted(rows.tolist()) == list(range(cells.shape[0]))
        assert ((order[j] & MISSING != 0) == np.isnan(values)).all()
        present = values[~np.isnan(values)]
        assert (np.diff(present) >= 0).all()
        changes = order[j, 1 : present.shape[0]] & FRESH != 0
        assert (changes == (np.diff(present) > 0)).all()


@pytest.mark.parametrize("n_rows", [1, 2, 255, 5000, 70_000])
def test_values_that_differ_in_their_last_bits_alone_are_told_apart(n_rows):
    rng = np.random.default_rng(n_rows)
    tenths, last_bits = rng.integers(-9, 10, n_rows) / 10, 1 + rng.integers(0, 40, n_rows) * 2.0**-50
    whole = np.where(rng.random(n_rows) < 0.1, np.nan, rng.integers(-3, 4, n_rows).astype(float))
    table = np.column_stack([tenths, last_bits, whole])
    plain = ColumnSchema(("x", "y", "z"), np.zeros(3, dtype=bool), (None, None, None))
    order = CodedTable.of(table, plain, threads=2).order()
    for j in range(3):
        rows = order[j] & (MISSING - 1)
        np.testing.assert_array_equal(rows, np.argsort(table[:, j], kind="stable"))
        values = table[rows, j]
        present = values[~np.isnan(values)]
        np.testing.assert_array_equal(order[j, 1 : present.shape[0]] & FRESH != 0, np.diff(present) > 0)


def test_a_table_for_one_tree_gives_its_order_away_and_can_make_it_again(cells):
    table = CodedTable.of(cells, schema(cells), threads=1, once=True)
    order, rows = table.order(), np.arange(cells.shape[0])
    first = table.chosen(rows)
    assert first.order is order
    again = table.chosen(rows)
    assert again.order is not order
    assert (again.order == order).all()


def test_a_shared_table_keeps_its_order(cells):
    table = CodedTable.of(cells, schema(cells), threads=1)
    kept = table.order().copy()
    chosen = table.chosen(np.arange(cells.shape[0]))
    chosen.order[:] = 0
    assert (table.order() == kept).all()


def test_missing_cells_are_seen_among_the_chosen_rows_only(cells):
    table = CodedTable.of(cells, schema(cells), threads=1)
    complete = np.flatnonzero(~np.isnan(cells).any(axis=1))
    assert not table.chosen(complete).missing_seen.any()
    assert table.chosen(np.arange(cells.shape[0])).missing_seen.all()


def test_restricted_tables_rename_the_categories_that_are_left(cells):
    rows = np.flatnonzero(cells[:, 1] != 1)
    table, left = CodedTable.of(cells, schema(cells), threads=1).restricted(rows, schema(cells))
    assert left.categories[1].tolist() == ["a", "c", "d"]
    old = cells[rows, 1]
    expected = np.where(old >= 2, old - 1, old)
    np.testing.assert_array_equal(table.column(1, rows), expected)
    np.testing.assert_array_equal(table.cells_of(rows)[:, 1], expected)


@pytest.mark.parametrize("learner", [CartClassifier(), C45Classifier()])
def test_folds_that_lose_a_category_grow_the_trees_of_separate_fits(cells, learner):
    labels = [None if np.isnan(c) else "abcd"[int(c)] for c in cells[:, 1]]
    X = np.array([[None if np.isnan(v) else v, c] for v, c in zip(cells[:, 0], labels, strict=True)], dtype=object)
    y = (np.nan_to_num(cells[:, 0]) > 0) ^ (np.nan_to_num(cells[:, 1]) == 2)
    train = np.flatnonzero(cells[:, 1] != 1)
    shared = next(iter(learner.fit_folds(X, y, [(train, train)])))
    alone = type(learner)().fit(X[train], y[train])
    assert shared.to_text() == alone.to_text()
    test = X[:50]
    np.testing.assert_array_equal(shared.predict(test), alone.predict(test))
