"""Pessimistic pruning: a subtree goes where a leaf is expected to make no more errors on new rows.

The errors expected of a leaf are the upper end of a one-sided binomial interval around its training errors, at a
confidence that says how far the training rows are trusted: the smaller, the more is cut (Quinlan 1993, ch. 4).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincinv

from ._engine import Tree


def pessimistic_errors(rows: Any, errors: Any, confidence_factor: float = 0.25) -> np.ndarray:
    """Errors expected among new rows where `errors` of `rows` training rows are wrong.

    rows * U, where U is the share of errors at which `errors` or fewer have probability `confidence_factor`. Rows and
    errors may be fractions.

    >>> pessimistic_errors([6, 9, 1, 16], [0, 0, 0, 1], 0.25).round(3).tolist()
    [1.238, 1.285, 0.75, 2.554]
    """
    weight = np.atleast_1d(np.asarray(rows, dtype=np.float64))
    wrong = np.atleast_1d(np.asarray(errors, dtype=np.float64))
    right = weight - wrong
    some = right > 1e-12 * weight
    upper = betaincinv(wrong + 1, np.where(some, right, 1.0), 1 - confidence_factor)
    return np.where(some, weight * upper, weight)


def pessimistic_leaves(tree: Tree, confidence_factor: float = 0.25, slack: float = 0.1) -> np.ndarray:
    """Which nodes of a classification tree to cut (see `Tree.cut`), from the leaves up.

    A node becomes a leaf if the errors expected of it are at most those of its subtree plus `slack`; C4.5 allows a
    tenth of an error for a simpler tree. With `slack` 0 the errors expected of the whole tree never rise.

    >>> from assay.models.trees import C45Classifier
    >>> days = [["dry"], ["dry"], ["dry"], ["wet"], ["wet"], ["wet"]]
    >>> grown = C45Classifier(prune=False).fit(days, ["go", "go", "go", "go", "go", "stay"]).tree_
    >>> grown.n_leaves, grown.cut(pessimistic_leaves(grown)).n_leaves
    (2, 1)
    """
    weight = tree.weighted_n_node_samples
    expected = pessimistic_errors(weight, weight * (1 - tree.value.max(axis=1)), confidence_factor)
    parents = tree.parents().tolist()
    below = np.zeros(tree.node_count)
    cut = np.zeros(tree.node_count, dtype=bool)
    # Children come after their parents, so that a node is met when all below it is decided.
    for node in range(tree.node_count - 1, -1, -1):
        best = float(expected[node])
        if tree.feature[node] >= 0:
            cut[node] = best <= below[node] + slack
            best = best if cut[node] else float(below[node])
        if node:
            below[parents[node]] += best
    return cut
