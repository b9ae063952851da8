"""Shapley values of trees and of sums of trees, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _kernels
from ..base.cost import Cost, check_cost
from ..base.errors import DataError
from ..base.threads import thread_count
from .explanation import Explanation
from .tree_models import TreeModel, tree_model


def tree_shap(
    model: Any, X: Any, background: Any = None, *, interactions: bool = False, n_jobs: int | None = None
) -> Explanation:
    """What each column contributes to the output of a tree or an ensemble of trees, row by row.

    Contributions are Shapley values: with the base value they sum to the model's output. Without `background` an
    unknown cell sends a row to both children of a test, by their share of the training rows (path-dependent); with
    `background`, a table of rows, it is replaced by the cells of those rows (interventional), and the base value is
    the mean output of the background.

    Classifiers are explained on log odds (scores of the classes, if more than two), forests and single trees of classes
    on the probabilities that they average; for two classes the second is explained. Losses with a logarithmic link are
    explained on the logarithm of the mean. `unit` of the result says which.

    Models of Assay: `cart-*`, `c45`, `id3`, forests, extra trees, boosting, AdaBoost. Of scikit-learn: trees, forests,
    gradient boosting. XGBoost and LightGBM: boosters and their scikit-learn wrappers.

    Parameters
    ----------
    model : fitted model
    X : table of rows to explain
    background : table of rows that stand for unknown cells, or None
    interactions : also give the interaction values of all pairs of columns
    n_jobs : threads; never changes the result

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.trees import CartRegressor
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> model = CartRegressor().fit(X, [0.0, 0.0, 0.0, 80.0])
    >>> explanation = tree_shap(model, [[1.0, 1.0]])
    >>> explanation.values, explanation.base_values
    (array([[30., 30.]]), array([20.]))
    """
    trees = tree_model(model)
    cells = trees.cells(X, "X")
    rows = None if background is None else trees.cells(background, "background")
    if rows is not None and rows.shape[0] == 0:
        raise DataError("tree_shap", "background", "must have at least one row")
    n_rows, n_columns = cells.shape
    _check_size(trees, n_rows, n_columns, interactions)
    forest = trees.forest
    found = _kernels.tree_shap(
        **forest.arrays(),
        cover=np.ascontiguousarray(trees.cover, dtype=np.float64),
        cells=cells,
        background=rows,
        outputs=trees.outputs,
        interactions=bool(interactions),
        threads=thread_count(n_jobs),
    )
    if found["too_long"]:
        raise DataError(
            "tree_shap",
            "background",
            "must be None for trees that test more than 64 columns on a path",
            way_out="leave it out, or fit shallower trees",
        )
    base = found["base"]
    if rows is not None:
        base = forest.sums(rows, trees.outputs, thread_count(n_jobs)).mean(axis=0)
    # The kernel's numbers, column after column, seen row by row: a copy would be as large as the table.
    shape = (trees.outputs, n_columns, n_rows)
    values = found["values"]
    values *= trees.scale
    values, joint = values.reshape(shape).transpose(2, 1, 0), None
    if interactions:
        joint = found["interactions"]
        joint *= trees.scale
        joint = joint.reshape(trees.outputs, n_columns, *shape[1:]).transpose(3, 1, 2, 0)
    if trees.outputs == 1:
        values, joint = values[..., 0], None if joint is None else joint[..., 0]
    way = "path-dependent TreeSHAP" if rows is None else f"TreeSHAP against {rows.shape[0]:,} background rows"
    return Explanation(
        method=way,
        values=values,
        base_values=base * trees.scale + trees.base,
        data=cells,
        names=trees.names,
        unit=trees.unit,
        outputs=trees.output_names,
        categories=trees.categories,
        interactions=joint,
    )


def _check_size(trees: TreeModel, n_rows: int, n_columns: int, interactions: bool) -> None:
    """Refuse work that memory cannot hold or that would take hours."""
    leaves = float((trees.forest.feature < 0).sum())
    width = trees.forest.value.shape[1]
    tests = 8.0 * (4.0 if interactions else 1.0)
    numbers = float(n_rows) * n_columns * (trees.outputs * (1.0 + (n_columns if interactions else 0.0)) + 1.5)
    cost = Cost(seconds=2e-9 * n_rows * leaves * tests * width + 1e-5 * leaves, bytes=8.0 * numbers)
    check_cost(
        "tree_shap", cost, "explain a sample of the rows" + (" or leave out interactions" if interactions else "")
    )
