"""Pessimistic pruning: the binomial limit, and which nodes it cuts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from assay.models.trees import C45Classifier, CartClassifier, pessimistic_errors, pessimistic_leaves


@pytest.mark.parametrize(("rows", "errors"), [(1, 0), (6, 0), (16, 1), (40, 7), (500, 499)])
@pytest.mark.parametrize("confidence", [0.01, 0.25, 0.5])
def test_as_few_errors_have_the_probability_of_the_confidence_factor(rows, errors, confidence):
    """SciPy's binomial distribution at the share that the limit names."""
    share = pessimistic_errors(rows, errors, confidence)[0] / rows
    assert binom.cdf(errors, rows, share) == pytest.approx(confidence)


def test_leaf_that_is_always_wrong_expects_all_rows_and_an_empty_leaf_none():
    assert pessimistic_errors([3, 0], [3, 0]).tolist() == [3, 0]


def test_subtree_that_removes_no_error_is_cut_and_one_that_removes_all_is_kept():
    X = np.array([[0.0, 0.0]] * 10 + [[0.0, 1.0]] * 10 + [[1.0, 0.0]] * 20)
    y = np.array([0] * 10 + [0] * 9 + [1] + [2] * 20)
    tree = CartClassifier().fit(X, y).tree_
    assert tree.n_leaves == 3
    cut = pessimistic_leaves(tree)
    assert cut.tolist() == [bool(n == tree.children_left[0]) for n in range(tree.node_count)]


def test_smaller_confidence_cuts_more():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    tree = C45Classifier(prune=False).fit(X, y).tree_
    sizes = [tree.cut(pessimistic_leaves(tree, c)).n_leaves for c in (0.001, 0.1, 0.5)]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]


def test_slack_cuts_more():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    tree = CartClassifier().fit(X, y).tree_
    assert tree.cut(pessimistic_leaves(tree, slack=5.0)).n_leaves < tree.cut(pessimistic_leaves(tree, slack=0)).n_leaves
