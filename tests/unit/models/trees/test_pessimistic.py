"""Pessimistic pruning: the limit of the errors, and which nodes it cuts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, norm

from assay.models.trees import C45Classifier, CartClassifier, pessimistic_errors, pessimistic_leaves
from assay.models.trees.pessimistic import idle_leaves


@pytest.mark.parametrize("rows", [1, 6, 40.5])
@pytest.mark.parametrize("confidence", [0.01, 0.25, 0.5])
def test_no_error_has_the_probability_of_the_confidence_factor(rows, confidence):
    share = pessimistic_errors(rows, 0, confidence)[0] / rows
    assert (1 - share) ** rows == pytest.approx(confidence)


@pytest.mark.parametrize(("rows", "errors"), [(16, 1), (40, 7), (9.5, 2.25), (500, 499)])
@pytest.mark.parametrize("confidence", [0.01, 0.25, 0.5])
def test_from_one_error_on_the_errors_lie_a_normal_deviate_below_the_limit(rows, errors, confidence):
    """The score interval: (errors + 1/2) / rows is z standard deviations below the share, by SciPy's normal; and the
    limit is within two errors of the exact one, by SciPy's beta distribution."""
    limit = pessimistic_errors(rows, errors, confidence)[0]
    share, z = limit / rows, norm.isf(confidence)
    assert (errors + 0.5) / rows + z * (share * (1 - share) / rows) ** 0.5 == pytest.approx(share)
    assert limit == pytest.approx(rows * beta.ppf(1 - confidence, errors + 1, rows - errors), abs=2)


def test_less_than_one_error_is_on_the_line_between_none_and_one():
    none, part, one = (pessimistic_errors(12, errors)[0] for errors in (0, 0.3, 1))
    assert part == pytest.approx(0.7 * none + 0.3 * one)


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


def test_idle_subtrees_are_cut_and_others_kept():
    """Both ends of the second column say 0 where the first is 0; where it is 1 they differ."""
    X = np.array([[0.0, 0.0]] * 10 + [[0.0, 1.0]] * 10 + [[1.0, 0.0]] * 10 + [[1.0, 1.0]] * 10)
    y = np.array([0] * 10 + [0] * 8 + [1] * 2 + [1] * 10 + [0] * 10)
    tree = CartClassifier().fit(X, y).tree_
    kept = tree.cut(idle_leaves(tree))
    wrong = kept.weighted_n_node_samples * (1 - kept.value.max(axis=1))
    assert (tree.n_leaves, kept.n_leaves, wrong[kept.feature < 0].sum()) == (4, 3, pytest.approx(2))
