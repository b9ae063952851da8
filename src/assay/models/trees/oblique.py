"""Oblique trees: classification trees with linear tests on several columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _kernels
from ...base import Choice, Cost, Integer, Real, param
from ...data.coded import ChosenRows
from ..rule_sets.linear import LinearSum
from .cart import CartClassifier

DIRECTIONS = {"lda": 0, "logistic": 1, "coordinate": 2}
"""Ways to find a linear test, and the number under which the kernel knows them."""


class ObliqueTreeClassifier(CartClassifier):
    """A binary classification tree whose tests may be linear in several numeric columns.

    At each node the best test on one column is found as in `CartClassifier`. Against it stand linear tests, weights
    times cells <= threshold, on directions found by linear discriminant analysis, logistic regression or a search over
    one coefficient at a time; each is also tried after a few steps towards the boundary, and its threshold is found
    exactly. A linear test is taken only if it decreases impurity more. With more than two classes the directions
    separate two groups of them. Columns are standardised inside; weights are in the units of the columns, 1 for the
    leading one. A missing cell counts in a sum as the mean of the column in the node. Nominal columns stand in tests of
    their own.

    Examples
    --------
    >>> from assay.models.trees import ObliqueTreeClassifier
    >>> X = [[1, 2], [2, 4], [5, 6], [7, 8], [2, 1], [4, 3], [6, 4], [9, 8]]
    >>> model = ObliqueTreeClassifier().fit(X, ["above"] * 4 + ["below"] * 4)
    >>> model.get_depth(), model.predict([[3, 4], [4, 3]]).tolist()
    (1, ['above', 'below'])
    """

    _learned = {
        "tree_": "the nodes as arrays, in preorder; `tree_.linear` says which have a linear test",
        "trace_": "with `trace`, for each node before pruning the gain of every column and of every linear test tried",
    }

    direction: str = param(
        "lda",
        Choice(*DIRECTIONS),
        "How directions are found: 'lda' (Fisher's), 'logistic' (regression) or 'coordinate' (one coefficient at a "
        "time, from the best column and from random starts).",
    )
    n_restarts: int = param(5, Integer(0), "Random starts at each node, for direction 'coordinate'.")
    rows_per_column: float = param(
        1.5, Real(0), "A node needs this many rows for each of its numeric columns to have a linear test."
    )

    def _draws(self) -> bool:
        return super()._draws() or (self.direction == "coordinate" and self.n_restarts > 0)

    def _grown(
        self, chosen: ChosenRows, target: np.ndarray, weights: np.ndarray | None, trace: bool
    ) -> dict[str, np.ndarray]:
        arguments = self._kernel_arguments(chosen, target, weights, trace)
        del arguments["y"]
        return _kernels.grow_oblique(
            **arguments,
            columns=np.flatnonzero(chosen.table.n_categories == 0).astype(np.int32),
            direction=DIRECTIONS[self.direction],
            restarts=self.n_restarts,
            rows_per_column=self.rows_per_column,
        )

    def _other_tests(self, grown: dict[str, np.ndarray], node: int) -> dict[str, Any]:
        """Every linear test that was tried, with its gain, in the order of trial."""
        tests = []
        for gain, threshold, *weights in grown["tried"][grown["tried_node"] == node].tolist():
            names = [self.schema_.names[j] for j in np.flatnonzero(self.tree_.n_categories == 0).tolist()]
            terms = tuple((name, weight, 0.0) for name, weight in zip(names, weights, strict=True) if weight)
            test = f"{LinearSum(0.0, terms).to_text()} <= {threshold:.6g}"
            same = self.tree_.is_linear(node) and bool(
                (self.tree_.linear_weight[self.tree_.linear[node]] == weights).all()
            )
            tests.append({"test": test, "gain": gain, "taken": same and threshold == float(self.tree_.threshold[node])})
        return {"linear_tests": tests}

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Growing a tree by columns, and for each level the directions: products of columns, or passes over them."""
        base = super().estimate_cost(n_rows, n_features, n_outputs)
        cells = float(n_rows) * n_features
        per_cell = 2e-8 + 6e-9 * n_features
        if self.direction == "coordinate":
            per_cell += 8e-8 * (1 + self.n_restarts)
        levels = 8.0 if self.max_depth is None else min(float(self.max_depth), 8.0)
        return Cost(seconds=base.seconds + per_cell * levels * cells, bytes=base.bytes + 8.0 * cells)
