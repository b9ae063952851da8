"""Parameters that trees of every kind have: how deep they go and how many rows a node holds."""

from __future__ import annotations

from typing import Any

from ...base.parameters import Integer, Nothing, Real, param

WHOLE_WEIGHTS = "A row of whole-number weight w counts as w rows; if some weight is not whole, every row counts as one."
SCALED_WEIGHTS = "Rows count by their weight; weights that are not whole are scaled to the number of rows first."


def max_depth_param() -> Any:
    """How deep a tree may grow."""
    return param(None, Integer(1) | Nothing(), "Deepest level of a leaf; None for no limit.")


def min_samples_split_param(default: int, counted: str = WHOLE_WEIGHTS) -> Any:
    """How many rows a node needs to be split, and how weighted rows count."""
    text = f"Rows that a node must hold to be split, or a share of all rows. {counted}"
    return param(default, Integer(2) | Real(0, 1, "right"), text)


def min_samples_leaf_param(default: int, what: str = "a leaf") -> Any:
    """How many rows a leaf, or what stands for it, must hold."""
    text = f"Rows that {what} must hold, or a share of all rows; counted as above."
    return param(default, Integer(1) | Real(0, 1, "neither"), text)
