"""Model trees: regression trees with linear models in the leaves."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.cost import Cost
from ...base.estimator import Regressor
from ...base.parameters import Boolean, Choice, Real, param
from ...base.threads import thread_count
from ...base.usual_parameters import categorical_features_param, n_jobs_param, trace_param
from ...data.coded import ChosenRows, CodedTable
from ..rule_sets.linear import LinearSum
from ._engine import CRITERIA, Tree, tree_view
from ._fitted import TreeEstimator, row_count
from ._parameters import max_depth_param, min_samples_leaf_param, min_samples_split_param
from .svg import TreeView


class ModelTreeRegressor(TreeEstimator, Regressor):
    """A regression tree with a linear model in every leaf (M5), pruned and smoothed.

    A split is the one whose linear models on both sides are expected to err least on new rows, where that is less than
    the model of the node alone; the error expected is sqrt(RSS / n) (n + v) / (n - v) with v parameters. With
    `split="constant"`, and on fewer than 2.4 rows for each numeric column, the tree is grown by the decrease of
    variance instead, as in `CartRegressor` (M5 takes the standard deviation and WEKA's M5P the fifth root of the
    variance). Every node then gets a linear model on the numeric columns, or on those that are tested below it; columns
    leave a model while its expected error does not rise; and a subtree is replaced by the model of its node where that
    is expected to be no worse. Nominal columns stand in tests only. A missing cell counts in a model as the mean of the
    column among the training rows of the leaf. Smoothing mixes the model of a leaf with those on the way to the root,
    so that neighbouring leaves agree better; the result is again one linear model per leaf, which is what views and
    exports show.

    Attributes
    ----------
    tree_ : the nodes as arrays, in preorder; `tree_.value` holds means
    coefficients_ : for each node the weights of the columns `linear_columns_`, smoothed at leaves
    intercepts_ : for each node the intercept, smoothed at leaves
    fills_ : for each node what a missing cell counts as
    deviations_ : for each node the standard deviations of those columns
    linear_columns_ : the numbers of the numeric columns
    target_range_ : smallest and largest training target
    schema_ : names, nominal columns and categories
    missing_seen_ : for each column, whether training rows had missing cells
    trace_ : with `trace`, the model of each node before pruning, then what pruning cut

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.trees import ModelTreeRegressor
    >>> x = np.linspace(-1, 1, 101)[:, None]
    >>> y = np.where(x[:, 0] <= 0, 1 + 2 * x[:, 0], 3 - x[:, 0])
    >>> print(ModelTreeRegressor(smoothing=False).fit(x, y).to_text())
    x0 <= 0.01: 1 + 2 x0 (51 rows, 50% of all)
    x0 > 0.01: 3 - x0 (50 rows, 50% of all)
    """

    _way_out = "take a sample of the rows or raise min_samples_leaf"
    _squares = True

    split: str = param(
        "linear",
        Choice("linear", "constant"),
        "What a split is judged by: the error of linear models on both sides, or, as in M5, of constants.",
    )
    columns: str = param(
        "auto",
        Choice("auto", "tested", "all"),
        "Numeric columns that the model of a node may use: those tested below it in the tree grown to the end, all, or "
        "'auto': all where splits are judged by linear models.",
    )
    max_depth: int | None = max_depth_param()
    min_samples_split: int | float = min_samples_split_param(4)
    min_samples_leaf: int | float = min_samples_leaf_param(4)
    min_deviation: float = param(
        0.05,
        Real(0),
        "A node is not split if the standard deviation of its target is below this share of that of all rows.",
    )
    drop: bool = param(True, Boolean(), "Leave columns out of a model while its expected error does not rise.")
    prune: bool = param(True, Boolean(), "Replace subtrees by the model of their node where it is expected no worse.")
    smoothing: bool = param(True, Boolean(), "Mix the model of a leaf with the models of the nodes above it.")
    smoothing_rows: float = param(
        15.0, Real(0), "How many rows the model of a node above weighs, beside those of the node below, in smoothing."
    )
    clip: bool = param(False, Boolean(), "Keep predictions between the smallest and the largest training target.")
    categorical_features: Any = categorical_features_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    # -- growing -------------------------------------------------------------------------------------------------
    def _grow(self, table: CodedTable, rows: np.ndarray, target: np.ndarray, weights: np.ndarray | None) -> None:
        whole = weights is not None and bool((weights == np.floor(weights)).all())
        n_rows = float(weights.sum()) if whole and weights is not None else float(rows.shape[0])
        if weights is not None and not whole:
            weights = weights * (n_rows / weights.sum())
        chosen = table.chosen(rows)
        self.missing_seen_ = chosen.missing_seen
        self.linear_columns_ = np.flatnonzero(table.n_categories == 0).astype(np.int32)
        planes = self.split == "linear" and n_rows >= _kernels.least_rows_to_split(self.linear_columns_.shape[0])
        everywhere = planes if self.columns == "auto" else self.columns == "all"
        grow = self._grown_by_planes if planes else self._grown
        grown = grow(chosen, target, weights, n_rows, whole, everywhere)
        del chosen  # the sorted columns are used up
        grown = grown.cut(grown.impurity < self.min_deviation**2 * grown.impurity[0])
        self.target_range_ = (float(target.min()), float(target.max()))
        self._fit_models(grown, table.cells_of(rows), target, weights, everywhere)

    def _grown(
        self,
        chosen: ChosenRows,
        target: np.ndarray,
        weights: np.ndarray | None,
        n_rows: float,
        whole: bool,
        everywhere: bool,
    ) -> Tree:
        grown = _kernels.grow_cart(
            **chosen.arguments(),
            labels=None,
            n_classes=0,
            y=np.ascontiguousarray(target[:, None]),
            weights=weights,
            repeats=weights if whole else None,
            criterion=CRITERIA["squared_error"],
            max_depth=self._depth(everywhere),
            min_split=max(2, row_count(self.min_samples_split, n_rows)),
            min_leaf=row_count(self.min_samples_leaf, n_rows),
            min_weight_leaf=0.0,
            max_leaf_nodes=0,
            min_decrease=0.0,
            max_features=0,
            key=0,
            trace=False,
            threads=thread_count(self.n_jobs),
        )
        return Tree.of(grown, chosen.table.n_categories)

    def _grown_by_planes(
        self,
        chosen: ChosenRows,
        target: np.ndarray,
        weights: np.ndarray | None,
        n_rows: float,
        whole: bool,
        everywhere: bool,
    ) -> Tree:
        grown = _kernels.grow_by_planes(
            **chosen.arguments(),
            y=np.ascontiguousarray(target),
            weights=weights,
            repeats=weights if whole else None,
            max_depth=self._depth(everywhere),
            min_split=max(2, row_count(self.min_samples_split, n_rows)),
            min_leaf=row_count(self.min_samples_leaf, n_rows),
            threads=thread_count(self.n_jobs),
        )
        return Tree.of(grown, chosen.table.n_categories)

    def _depth(self, everywhere: bool) -> int:
        # Which columns are tested below a node is only known of a tree that goes on below `max_depth`.
        return self.max_depth if everywhere and self.max_depth is not None else -1

    def _fit_models(
        self, tree: Tree, cells: np.ndarray, target: np.ndarray, weights: np.ndarray | None, everywhere: bool
    ) -> None:
        threads = thread_count(self.n_jobs)
        leaves = tree.apply(cells, threads)
        order = np.argsort(leaves, kind="stable").astype(np.int32)
        before = np.concatenate([[0], np.cumsum(np.bincount(leaves, minlength=tree.node_count))]).astype(np.int64)
        after = np.arange(1, tree.node_count + 1)
        for node in np.flatnonzero(tree.feature >= 0)[::-1].tolist():
            after[node] = after[tree.children_right[node]]
        place = np.full(tree.n_categories.shape[0] + 1, -1, dtype=np.int32)
        place[self.linear_columns_] = np.arange(self.linear_columns_.shape[0], dtype=np.int32)
        deep = np.zeros(tree.node_count, dtype=bool) if self.max_depth is None else tree.depths() >= self.max_depth
        made = _kernels.fit_linear_nodes(
            tree.children_left,
            tree.children_right,
            before[:-1],
            before[after],
            place[tree.feature],
            deep.astype(np.uint8),
            np.ascontiguousarray(cells),
            self.linear_columns_,
            order,
            np.ascontiguousarray(target),
            weights,
            all_columns=everywhere,
            drop=self.drop,
            prune=self.prune,
            keep_all=bool(self.trace),
            threads=threads,
        )
        leaf = made.pop("leaf").astype(bool)
        self._record(tree, made, leaf)
        kept = _kept(tree, leaf)
        place = np.searchsorted(made["kept"], kept)
        self.tree_ = tree.cut(leaf)
        self.intercepts_, self.coefficients_ = made["intercept"][kept], made["coefficient"][place]
        self.fills_, self.deviations_ = made["mean"][place], made["deviation"][place]
        if self.smoothing:
            self._smooth()

    def _smooth(self) -> None:
        """The model m of each leaf becomes (n m + k p) / (n + k) with the model p of the node above, and so on up."""
        tree, parents = self.tree_, self.tree_.parents()
        leaves = np.flatnonzero(tree.feature < 0)
        intercept, coefficient = self.intercepts_[leaves], self.coefficients_[leaves]
        below, above, going = leaves.copy(), parents[leaves], np.arange(leaves.shape[0])
        while (going := going[above[going] >= 0]).shape[0]:
            rows = tree.weighted_n_node_samples[below[going]]
            share, node = rows / (rows + self.smoothing_rows), above[going]
            intercept[going] = share * intercept[going] + (1 - share) * self.intercepts_[node]
            coefficient[going] = share[:, None] * coefficient[going] + (1 - share[:, None]) * self.coefficients_[node]
            below[going], above[going] = node, parents[node]
        self.intercepts_[leaves], self.coefficients_[leaves] = intercept, coefficient

    def _record(self, tree: Tree, made: dict[str, np.ndarray], leaf: np.ndarray) -> None:
        trace = self._new_trace()
        if trace.on:
            depths, names = tree.depths(), [self.schema_.names[j] for j in self.linear_columns_.tolist()]
            for node in range(tree.node_count):
                weights = made["coefficient"][node]
                trace.record(
                    "model",
                    node=node,
                    depth=int(depths[node]),
                    rows=float(tree.weighted_n_node_samples[node]),
                    intercept=float(made["intercept"][node]),
                    weights={name: float(b) for name, b in zip(names, weights, strict=True) if b != 0},
                    residual_sum_of_squares=float(made["residual"][node]),
                    parameters=int(made["parameters"][node]),
                    leaf=bool(leaf[node]),
                )
            trace.record("pruning", leaves_before=tree.n_leaves, leaves=tree.cut(leaf).n_leaves)
        self._keep_trace(trace)

    # -- using -----------------------------------------------------------------------------------------------------
    def predict(self, X: Any) -> np.ndarray:
        """The value of the linear model of the leaf that each row reaches."""
        check_is_fitted(self)
        cells = np.ascontiguousarray(self._read(X, reset=False))
        threads = thread_count(self.n_jobs)
        leaves = self.tree_.apply(cells, threads)
        said = _kernels.linear_leaf_values(
            leaves, self.intercepts_, self.coefficients_, self.fills_, self.linear_columns_, cells, threads
        )
        return np.clip(said, *self.target_range_) if self.clip else said

    @property
    def feature_importances_(self) -> np.ndarray:
        """For each column, the variance that its tests and its terms in the leaves account for; sums to 1."""
        check_is_fitted(self)
        tree, leaf = self.tree_, self.tree_.feature < 0
        inner = np.flatnonzero(~leaf)
        mass = tree.weighted_n_node_samples * tree.impurity
        decrease = mass[inner] - mass[tree.children_left[inner]] - mass[tree.children_right[inner]]
        total = np.bincount(tree.feature[inner], weights=decrease, minlength=tree.n_categories.shape[0]) + 0.0
        spread = (self.coefficients_[leaf] * self.deviations_[leaf]) ** 2
        total[self.linear_columns_] += tree.weighted_n_node_samples[leaf] @ spread
        return total / total.sum() if total.sum() > 0 else total

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Growing a tree, and cross-products of the columns in its nodes and on both sides of its splits."""
        cells = float(n_rows) * n_features
        levels = math.log2(max(2, n_rows))
        seconds = (8e-9 * levels + 6e-8 + 4e-10 * n_features) * cells
        if self.split == "linear":
            seconds += (2e-7 + 1e-9 * min(n_rows, 8192) * min(n_features, 24) ** 2 / max(1, n_rows)) * cells
        return Cost(seconds=seconds, bytes=8.0 * cells + 100.0 * n_rows)

    # -- showing -----------------------------------------------------------------------------------------------------
    def _model(self, node: int) -> LinearSum:
        names = self.schema_.names
        terms = [
            (names[int(self.linear_columns_[k])], float(self.coefficients_[node, k]), float(self.fills_[node, k]))
            for k in np.flatnonzero(self.coefficients_[node]).tolist()
        ]
        model = LinearSum(float(self.intercepts_[node]), tuple(terms))
        return replace(model, low=self.target_range_[0], high=self.target_range_[1]) if self.clip else model

    def _conclusion(self, node: int) -> Any:
        return self._model(node) if self.tree_.feature[node] < 0 else float(self.tree_.value[node, 0])

    def _equations(self) -> dict[int, str]:
        return {node: self._model(node).to_text() for node in np.flatnonzero(self.tree_.feature < 0).tolist()}

    def _labels(self) -> list[str]:
        means, equations = self.tree_.value[:, 0].tolist(), self._equations()
        return [equations.get(node, f"{mean:.6g}") for node, mean in enumerate(means)]

    def _leaf_words(self, node: int) -> str:
        share = self.tree_.weighted_n_node_samples[node] / self.tree_.weighted_n_node_samples[0]
        return f"{self.tree_.n_node_samples[node]} rows, {share:.0%} of all"

    def view(self) -> TreeView:
        """The tree down to depth 5; leaves have the text of their model in `equation`."""
        check_is_fitted(self)
        means = [f"{mean:.6g}" for mean in self.tree_.value[:, 0].tolist()]
        return tree_view(self.tree_, self._words(), means, None, names=self.schema_.names, equations=self._equations())


def _kept(tree: Tree, leaf: np.ndarray) -> np.ndarray:
    """The nodes that `tree.cut(leaf)` keeps, in its order."""
    gone = np.zeros(tree.node_count, dtype=bool)
    for node, parent in enumerate(tree.parents().tolist()[1:], 1):
        gone[node] = gone[parent] or leaf[parent]
    return np.flatnonzero(~gone)
