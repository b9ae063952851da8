"""Properties of oblique trees on random tables."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.models.trees import CartClassifier, ObliqueTreeClassifier
from tests.helpers import examples

directions = st.sampled_from(["lda", "logistic", "coordinate"])


@st.composite
def tables(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, k = draw(st.integers(1, 80)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d)
    if draw(st.booleans()):
        X = X.round(0)
    if draw(st.booleans()):
        X[rng.random(X.shape) < 0.2] = np.nan
    return X, rng.integers(0, k, n)


def training_impurity(model) -> float:
    tree = model.tree_
    return float(tree.risks()[tree.feature < 0].sum())


@settings(max_examples=examples(60))
@given(tables(), directions)
def test_training_impurity_never_rises_with_depth(table, direction):
    X, y = table
    found = [
        training_impurity(ObliqueTreeClassifier(direction=direction, max_depth=depth, random_state=0).fit(X, y))
        for depth in (1, 2, 3, None)
    ]
    assert all(later <= earlier + 1e-12 for earlier, later in pairwise(found))


@settings(max_examples=examples(60))
@given(tables(), directions, st.sampled_from(["gini", "entropy", "misclassification"]))
def test_a_node_is_never_worse_than_the_best_test_on_one_column(table, direction, criterion):
    X, y = table
    options = {"criterion": criterion, "max_depth": 1}
    linear = ObliqueTreeClassifier(direction=direction, random_state=0, **options).fit(X, y)
    assert training_impurity(linear) <= training_impurity(CartClassifier(**options).fit(X, y)) + 1e-12


@settings(max_examples=examples(60))
@given(tables(), directions)
def test_the_rows_of_a_node_go_where_the_node_says(table, direction):
    X, y = table
    model = ObliqueTreeClassifier(direction=direction, random_state=0).fit(X, y)
    counted = np.bincount(model.apply(X), minlength=model.tree_.node_count)
    leaves = model.tree_.feature < 0
    np.testing.assert_array_equal(counted[leaves], model.tree_.n_node_samples[leaves])
    np.testing.assert_array_equal(model.to_rules().predict(X), model.predict(X))
