"""Properties of C4.5 and ID3 on any mixed table with missing cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.models.trees import C45Classifier, ID3Classifier, pessimistic_errors, pessimistic_leaves
from tests.helpers import examples

LEARNERS = st.sampled_from(
    [
        C45Classifier(),
        C45Classifier(prune=False, min_samples_leaf=1),
        C45Classifier(criterion="gini", large_branches=False),
        C45Classifier(subtree_raising=True, large_branches=False, min_samples_leaf=1),
        ID3Classifier(),
    ]
)


@st.composite
def tables(draw):
    n = draw(st.integers(4, 40))
    number = st.one_of(st.none(), st.integers(0, 6).map(float))
    label = st.one_of(st.none(), st.sampled_from(["a", "b", "c", "d"]))
    frame = pd.DataFrame(
        {
            "x": pd.Series(draw(st.lists(number, min_size=n, max_size=n)), dtype=float),
            "u": pd.Series(draw(st.lists(label, min_size=n, max_size=n)), dtype=object),
            "v": pd.Series(draw(st.lists(label, min_size=n, max_size=n)), dtype=object),
        }
    )
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    return frame, y


def fitted(model, X, y, **arguments):
    nominal = ["u", "v"]
    return type(model)(**{**model.get_params(), "categorical_features": nominal}).fit(X, y, **arguments)


@settings(max_examples=examples(40))
@given(tables(), LEARNERS, st.integers(0, 2**16))
def test_weights_equal_repetition(table, model, seed):
    X, y = table
    weights = np.random.default_rng(seed).integers(1, 4, len(y))
    weighted = fitted(model, X, y, sample_weight=weights)
    repeated = fitted(model, X.iloc[np.repeat(np.arange(len(y)), weights)], np.repeat(y, weights))
    np.testing.assert_array_equal(weighted.tree_.feature, repeated.tree_.feature)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


@settings(max_examples=examples(40))
@given(tables(), LEARNERS, st.integers(0, 2**16))
def test_order_of_rows_changes_nothing(table, model, seed):
    X, y = table
    order = np.random.default_rng(seed).permutation(len(y))
    one, two = fitted(model, X, y), fitted(model, X.iloc[order], y[order])
    for name in ("feature", "threshold", "value", "weighted_n_node_samples", "branches"):
        np.testing.assert_array_equal(getattr(one.tree_, name), getattr(two.tree_, name))


@settings(max_examples=examples(40))
@given(tables(), LEARNERS)
def test_children_share_out_the_weight_and_the_classes_of_their_parent(table, model):
    tree = fitted(model, *table).tree_
    counts = tree.value * tree.weighted_n_node_samples[:, None]
    for node in np.flatnonzero(tree.feature >= 0):
        np.testing.assert_allclose(counts[tree.children(node)].sum(axis=0), counts[node], atol=1e-9)


@settings(max_examples=examples(40))
@given(tables(), LEARNERS)
def test_probabilities_are_probabilities(table, model):
    X, y = table
    shares = fitted(model, X, y).predict_proba(X)
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


@settings(max_examples=examples(40))
@given(tables(), st.sampled_from([0.05, 0.25, 0.5]))
def test_pruning_never_raises_the_pessimistic_errors(table, confidence):
    tree = fitted(C45Classifier(prune=False, min_samples_leaf=1), *table).tree_

    def expected(one):
        leaf = one.feature < 0
        weight = one.weighted_n_node_samples[leaf]
        return pessimistic_errors(weight, weight * (1 - one.value[leaf].max(axis=1)), confidence).sum()

    pruned = tree.cut(pessimistic_leaves(tree, confidence, slack=0.0))
    assert expected(pruned) <= expected(tree) + 1e-9
    assert pruned.n_leaves <= tree.n_leaves


@settings(max_examples=examples(100))
@given(st.floats(0.5, 1e4), st.floats(0, 1), st.sampled_from([0.01, 0.25, 0.5]))
def test_pessimistic_errors_lie_between_the_errors_and_the_rows_and_fall_with_confidence(rows, share, confidence):
    found = pessimistic_errors(rows, rows * share, confidence)[0]
    assert rows * share <= found * (1 + 1e-9) or confidence == 0.5
    assert found <= rows * (1 + 1e-12)
    assert found <= pessimistic_errors(rows, rows * share, confidence / 2)[0] + 1e-9 * rows
