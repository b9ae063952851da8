"""What must hold of the arrays of a tree before any kernel walks it: lengths, columns, children, thresholds.

The arrays of a fitted tree always pass; those of a file need not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import DataError

_KINDS: dict[str, str] = {
    "feature": "int32",
    "children_left": "int32",
    "children_right": "int32",
    "threshold": "float64",
    "category_offset": "int64",
    "category_words": "uint64",
    "missing_go_to_left": "uint8",
    "value": "float64",
    "n_categories": "int32",
    "offsets": "int64",
    "branch_offset": "int64",
    "branches": "int32",
    "linear": "int32",
    "linear_columns": "int32",
}
_BY_NODE = ("children_left", "children_right", "threshold", "category_offset", "missing_go_to_left", "value")


def refuse(who: str, rule: str) -> None:
    """The sentence about a tree that is none."""
    raise DataError(who, "the tree", rule, way_out="get the package again or save the model again")


def check_arrays(who: str, tree: Any) -> None:
    """Refuse arrays of another type or another length than a tree has, or trees that name no column of theirs."""
    for name, kind in _KINDS.items():
        array = getattr(tree, name, None)
        if array is None:
            continue
        if not isinstance(array, np.ndarray) or array.dtype != np.dtype(kind):
            refuse(who, f"must have '{name}' as an array of {kind}")
        if array.ndim != (2 if name == "value" else 1) or not array.flags.c_contiguous:
            refuse(who, f"must have '{name}' in rows")
    nodes = tree.feature.shape[0]
    for name in _BY_NODE:
        if getattr(tree, name).shape[0] != nodes:
            refuse(who, f"must have one '{name}' for each of its {nodes} nodes")
    if nodes == 0 or (tree.n_categories < 0).any():
        refuse(who, "must have nodes and columns")
    inner = tree.feature >= 0
    if (tree.feature < -1).any() or (tree.feature[inner] >= tree.n_categories.shape[0]).any():
        refuse(who, f"must test columns 0 to {tree.n_categories.shape[0] - 1}")
    if np.isnan(tree.threshold[inner]).any() or not np.isfinite(tree.value).all():
        refuse(who, "must have numbers as thresholds and values")
    words = np.where(inner, (tree.n_categories[np.where(inner, tree.feature, 0)] + 63) // 64, 0)
    named = inner & (tree.category_offset >= 0)
    if (tree.category_offset < -1).any() or (
        tree.category_offset[named] + words[named] > tree.category_words.size
    ).any():
        refuse(who, "must have the categories of its tests")


def check_children(who: str, children: np.ndarray, parents: np.ndarray, n_nodes: int) -> None:
    """Refuse children that are no nodes, come before their parent, or have two parents; every node must be reached.

    >>> check_children("CART", np.array([1, 2]), np.array([0, 0]), 3)
    """
    if children.size and (children.min() < 1 or children.max() >= n_nodes):
        refuse(who, f"must have children among its nodes 1 to {n_nodes - 1}")
    if (children <= parents).any():
        refuse(who, "must have children that come after their parent")
    pairs = np.unique(np.stack([children, parents]), axis=1)
    if pairs.shape[1] != n_nodes - 1 or np.unique(pairs[0]).shape[0] != n_nodes - 1:
        refuse(who, "must reach each of its nodes once")
