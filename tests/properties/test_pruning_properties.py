"""Pruning, against every tree that pruning can make."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.models.trees import CartClassifier, CartRegressor
from tests.helpers import examples


def noisy(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + 0.8 * rng.normal(size=n) > 0).astype(int), X[:, 0] ** 2 + 0.5 * rng.normal(size=n)


def pruned_trees(tree):
    """Every tree that cutting can make, as masks of leaves; exponential, for small trees."""

    def below(node):
        alone = [frozenset([node])]
        parts = [below(child) for child in tree.children(node)]
        return alone if not parts else alone + [frozenset().union(*some) for some in itertools.product(*parts)]

    for leaves in below(0):
        yield np.isin(np.arange(tree.node_count), list(leaves))


@settings(max_examples=examples(40))
@given(st.integers(0, 10_000), st.sampled_from(["class", "squared_error", "absolute_error"]), st.booleans())
def test_reduced_error_tree_is_the_smallest_of_the_best_of_all_pruned_trees(seed, kind, weighted):
    X, y, z = noisy(60, seed)
    weights = np.random.default_rng(seed).integers(1, 4, 30) if weighted else None
    if kind == "class":
        model, target = CartClassifier(max_leaf_nodes=8).fit(X[:30], y[:30]), y[30:]
    else:
        model, target = CartRegressor(max_leaf_nodes=8, criterion=kind).fit(X[:30], z[:30]), z[30:]
    power = {"class": 0, "squared_error": 2, "absolute_error": 1}[kind]

    def cost(one):
        miss = np.abs(one.predict(X[30:]) - target)
        miss = (miss > 0).astype(float) if power == 0 else miss**power
        return float(np.dot(miss, np.ones(30) if weights is None else weights))

    pruned = model.prune_reduced_error(X[30:], target, sample_weight=weights)
    best = min(
        (round(cost(model._cut(leaf)), 9), model._cut(leaf).get_n_leaves()) for leaf in pruned_trees(model.tree_)
    )
    assert (round(cost(pruned), 9), pruned.get_n_leaves()) == best
    assert cost(pruned) <= cost(model) + 1e-9


@settings(max_examples=examples(30))
@given(st.integers(0, 10_000), st.floats(1e-4, 0.3))
def test_pruned_tree_is_the_smallest_of_least_cost_of_all_pruned_trees(seed, alpha):
    X, y, _ = noisy(40, seed)
    model = CartClassifier(max_leaf_nodes=8).fit(X, y)
    tree, risks = model.tree_, model.tree_.risks()
    found = CartClassifier(max_leaf_nodes=8, ccp_alpha=alpha).fit(X, y)
    every = [(round(float(risks[leaf].sum() + alpha * leaf.sum()), 10), int(leaf.sum())) for leaf in pruned_trees(tree)]
    kept = found.tree_.risks()[found.tree_.feature < 0]
    assert (round(float(kept.sum() + alpha * len(kept)), 10), len(kept)) == min(every)
