"""Properties of CART that hold for every table."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.models.trees import CartClassifier, CartRegressor
from tests.helpers import examples

tables = st.integers(1, 40).flatmap(
    lambda n: st.tuples(
        arrays(np.float64, (n, 3), elements=st.sampled_from([0.0, 1.0, 2.5, -3.0, 1e9, np.nan])),
        arrays(np.int64, n, elements=st.integers(0, 3)),
    )
)


@settings(max_examples=examples(60))
@given(tables, st.sampled_from(["gini", "entropy", "misclassification"]))
def test_full_tree_gives_every_group_of_equal_rows_its_own_shares(table, criterion):
    X, y = table
    model = CartClassifier(criterion=criterion).fit(X, y)
    shares = model.predict_proba(X)
    keys = np.nan_to_num(X, nan=-77.0)
    for i in range(len(y)):
        same = (keys == keys[i]).all(axis=1)
        expected = [(y[same] == c).mean() for c in model.classes_]
        np.testing.assert_allclose(shares[i], expected)


@settings(max_examples=examples(60))
@given(tables, st.sampled_from(["squared_error", "absolute_error", "worst_case"]))
def test_impurity_never_grows_and_rows_add_up(table, criterion):
    X, y = table
    tree = CartRegressor(criterion=criterion).fit(X, y.astype(float)).tree_
    inner = tree.feature >= 0
    left, right = tree.children_left[inner], tree.children_right[inner]
    w, mass = tree.weighted_n_node_samples, tree.weighted_n_node_samples * tree.impurity
    np.testing.assert_allclose(w[left] + w[right], w[inner])
    assert (mass[left] + mass[right] <= mass[inner] + 1e-9).all()
    np.testing.assert_array_equal(left, np.flatnonzero(inner) + 1)


@settings(max_examples=examples(40))
@given(tables)
def test_leaf_counts_are_the_rows_that_reach_the_leaf(table):
    X, y = table
    model = CartClassifier(max_depth=3).fit(X, y)
    reached = np.bincount(model.apply(X), minlength=model.tree_.node_count)
    leaves = model.tree_.feature < 0
    np.testing.assert_array_equal(reached[leaves], model.tree_.n_node_samples[leaves])


@settings(max_examples=examples(40))
@given(tables)
def test_monotone_change_of_a_column_keeps_the_partition(table):
    X, y = table
    a, b = CartClassifier().fit(X, y), CartClassifier().fit(np.cbrt(X), y)
    np.testing.assert_array_equal(a.apply(X), b.apply(np.cbrt(X)))


@settings(max_examples=examples(40))
@given(tables)
def test_pruning_alphas_rise_and_leaves_fall(table):
    X, y = table
    path = CartRegressor().cost_complexity_pruning_path(X, y.astype(float))
    assert (np.diff(path.ccp_alphas) >= -1e-9).all() and (np.diff(path.impurities) >= -1e-9).all()
