"""Pessimistic pruning: a subtree goes where a leaf is expected to make no more errors on new rows.

The errors expected of a leaf are the upper end of a one-sided binomial interval around its training errors, at a
confidence that says how far the training rows are trusted: the smaller, the more is cut (Quinlan 1993, ch. 4).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from ._engine import Tree


def pessimistic_errors(rows: Any, errors: Any, confidence_factor: float = 0.25) -> np.ndarray:
    """Errors expected among new rows where `errors` of `rows` training rows are wrong.

    rows * U, where U is the share of errors at which `errors` or fewer have probability `confidence_factor`, computed
    as C4.5 and J48 do: exactly without errors, by the score interval with continuity correction from one error on, and
    on the line between the two for less than one. Rows and errors may be fractions.

    >>> pessimistic_errors([6, 9, 1, 16], [0, 0, 0, 1], 0.25).round(3).tolist()
    [1.238, 1.285, 0.75, 2.476]
    """
    weight = np.atleast_1d(np.asarray(rows, dtype=np.float64))
    wrong = np.atleast_1d(np.asarray(errors, dtype=np.float64))
    z, held = float(ndtri(1 - confidence_factor)), np.where(weight > 0, weight, 1.0)
    none = weight * -np.expm1(np.log(confidence_factor) / held)
    whole = np.minimum(np.maximum(wrong, 1.0), weight)
    share = np.minimum((whole + 0.5) / held, 1.0)
    spread = z * np.sqrt(share * (1 - share) / held + (z / held) ** 2 / 4)
    some = weight * (share + z * z / held / 2 + spread) / (1 + z * z / held)
    some = np.where(whole + 0.5 >= weight, weight, some)
    return np.minimum(none + np.minimum(wrong, 1.0) * (some - none), weight)


def idle_leaves(tree: Tree, slack: float = 1e-3) -> np.ndarray:
    """Which nodes of a classification tree to cut because the tree below them gets no more training rows right.

    C4.5 and J48 do so while they grow, whether they prune or not (Quinlan 1993, ch. 2).

    >>> from assay.models.trees import C45Classifier
    >>> X, y = [["dry"], ["dry"], ["dry"], ["wet"], ["wet"], ["wet"]], ["go", "go", "go", "go", "go", "stay"]
    >>> grown = C45Classifier(prune=False, collapse=False).fit(X, y).tree_
    >>> grown.n_leaves, grown.cut(idle_leaves(grown)).n_leaves
    (2, 1)
    """
    wrong = tree.weighted_n_node_samples * (1 - tree.value.max(axis=1))
    return _cut_upwards(tree, wrong, slack)


def pessimistic_leaves(tree: Tree, confidence_factor: float = 0.25, slack: float = 0.1) -> np.ndarray:
    """Which nodes of a classification tree to cut (see `Tree.cut`), from the leaves up.

    A node becomes a leaf if the errors expected of it are at most those of its subtree plus `slack`; C4.5 allows a
    tenth of an error for a simpler tree. With `slack` 0 the errors expected of the whole tree never rise.

    >>> from assay.models.trees import C45Classifier
    >>> days = [["dry"], ["dry"], ["dry"], ["wet"], ["wet"], ["wet"]]
    >>> grown = C45Classifier(prune=False, collapse=False).fit(days, ["go", "go", "go", "go", "go", "stay"]).tree_
    >>> grown.n_leaves, grown.cut(pessimistic_leaves(grown)).n_leaves
    (2, 1)
    """
    weight = tree.weighted_n_node_samples
    expected = pessimistic_errors(weight, weight * (1 - tree.value.max(axis=1)), confidence_factor)
    return _cut_upwards(tree, expected, slack)


def _cut_upwards(tree: Tree, costs: np.ndarray, slack: float) -> np.ndarray:
    """From the leaves up, the nodes that cost at most what is left below them does, plus `slack`."""
    parents = tree.parents().tolist()
    below = np.zeros(tree.node_count)
    cut = np.zeros(tree.node_count, dtype=bool)
    # Children come after their parents, so that a node is met when all below it is decided.
    for node in range(tree.node_count - 1, -1, -1):
        best = float(costs[node])
        if tree.feature[node] >= 0:
            cut[node] = best <= below[node] + slack
            best = best if cut[node] else float(below[node])
        if node:
            below[parents[node]] += best
    return cut
