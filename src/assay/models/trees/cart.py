"""CART: binary classification and regression trees."""

from __future__ import annotations

import copy
import math
import numbers
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.class_weight import class_weight_param, with_class_weights
from ...base.cost import Cost
from ...base.cv import Folds, make_folds
from ...base.errors import ParameterError
from ...base.estimator import Classifier, Fold, Regressor
from ...base.parameters import Choice, Integer, Nothing, Real, param
from ...base.threads import thread_count
from ...base.usual_parameters import categorical_features_param, n_jobs_param, random_state_param, trace_param
from ...data.coded import ChosenRows, CodedTable
from ._engine import CRITERIA, Tree
from ._fitted import TreeEstimator, row_count
from ._parameters import max_depth_param, min_samples_leaf_param, min_samples_split_param
from .importance import Importances, importance_of
from .leaves import CLASSES
from .pruning import PruningCurve, cross_validated_curve, node_costs, pessimistic_cut, reduced_error_cut


class _Cart(TreeEstimator):
    """Growing and pruning, for classes and numbers alike."""

    _learned = {
        "ccp_alpha_": "the price of a leaf that pruned the tree",
        "pruning_curve_": "with `ccp_alpha` chosen in cross-validation, the error along the pruning path",
    }
    _way_out = "take a sample of the rows or set max_depth"

    max_depth: int | None = max_depth_param()
    min_samples_split: int | float = min_samples_split_param(2)
    min_samples_leaf: int | float = min_samples_leaf_param(1)
    min_weight_fraction_leaf: float = param(0.0, Real(0, 0.5), "Share of the total weight that a leaf must hold.")
    max_features: int | float | str | None = param(
        None,
        Integer(1) | Real(0, 1, "right") | Choice("sqrt", "log2") | Nothing(),
        "Columns drawn at random as candidates at each node: a number, a share, 'sqrt', 'log2', or None for all.",
    )
    max_leaf_nodes: int | None = param(
        None, Integer(2) | Nothing(), "Leaves at most, the split with the largest decrease first; None for no limit."
    )
    min_impurity_decrease: float = param(
        0.0, Real(0), "Weighted decrease of impurity that a split must bring to be made."
    )
    ccp_alpha: float | str = param(
        0.0,
        Real(0) | Choice("cv", "cv_1se"),
        "Cost-complexity pruning: price of a leaf; 0 for no pruning; 'cv' for the price of least error in "
        "cross-validation, 'cv_1se' for the largest price within one standard error of that.",
    )
    cv: Any = param(
        5,
        Integer(2) | Folds(),
        "Folds that choose `ccp_alpha`: how many, in the order of the rows (a seed as `random_state` shuffles them "
        "first) and balanced over the classes; a splitter; or a list of pairs (training rows, test rows).",
    )
    categorical_features: Any = categorical_features_param()
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    criterion: str

    # -- growing -------------------------------------------------------------------------------------------------
    def _coded(self, cells: np.ndarray) -> CodedTable:
        once = not isinstance(self.ccp_alpha, str)
        return CodedTable.of(cells, self.schema_, thread_count(self.n_jobs), once=once)

    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Grow the tree, then prune it if `ccp_alpha` > 0."""
        cells, target, weights = self._begin(X, y, sample_weight)
        table = self._coded(cells)
        self._grow(
            table, np.arange(cells.shape[0], dtype=np.int32), target, weights, _kept(cells.shape[0], sample_weight)
        )
        return self

    def _target_arguments(self, target: np.ndarray, weights: np.ndarray | None) -> dict[str, Any]:
        raise NotImplementedError  # pragma: no cover

    def _grow(
        self,
        table: CodedTable,
        rows: np.ndarray,
        target: np.ndarray,
        weights: np.ndarray | None,
        kept: np.ndarray | None = None,
    ) -> None:
        """Grow, prune and keep the tree of these rows of the table.

        `kept` says which of the rows that the user gave these are, if those are not the rows of the table.
        """
        chosen = table.chosen(rows)
        missing_seen = chosen.missing_seen
        grown = self._grown(chosen, target, weights, self.trace)
        self._hold(Tree.of(grown, table.n_categories), missing_seen)
        self._record(grown)
        self.__dict__.pop("pruning_path_", None)
        self.ccp_alpha_ = 0.0 if isinstance(self.ccp_alpha, str) else float(self.ccp_alpha)
        if isinstance(self.ccp_alpha, str) and rows.shape[0] > 1:
            if kept is None:
                kept = np.zeros(table.cells.shape[0], dtype=bool)
                kept[rows] = True
            curve = self._validate_path(table, rows, target, weights, self._inner_folds(target, kept))
            self.ccp_alpha_, self.pruning_path_ = curve.ccp_alpha, dict(vars(curve))
        if self.ccp_alpha_ > 0:
            self.tree_ = self.tree_.pruned(self.ccp_alpha_)

    def _grown(
        self, chosen: ChosenRows, target: np.ndarray, weights: np.ndarray | None, trace: bool
    ) -> dict[str, np.ndarray]:
        return _kernels.grow_cart(**self._kernel_arguments(chosen, target, weights, trace))

    def _kernel_arguments(
        self, chosen: ChosenRows, target: np.ndarray, weights: np.ndarray | None, trace: bool
    ) -> dict[str, Any]:
        """What the kernel takes: the table, the target and the limits of growth in rows."""
        whole = weights is not None and bool((weights == np.floor(weights)).all())
        n_rows = float(weights.sum()) if whole and weights is not None else float(chosen.rows.shape[0])
        arguments = self._target_arguments(target, weights)
        total = float(chosen.rows.shape[0]) if arguments["weights"] is None else float(arguments["weights"].sum())
        return dict(
            repeats=weights if whole else None,
            criterion=CRITERIA[self.criterion],
            max_depth=-1 if self.max_depth is None else self.max_depth,
            min_split=max(2, row_count(self.min_samples_split, n_rows)),
            min_leaf=row_count(self.min_samples_leaf, n_rows),
            min_weight_leaf=self.min_weight_fraction_leaf * total,
            max_leaf_nodes=self.max_leaf_nodes or 0,
            min_decrease=self.min_impurity_decrease,
            max_features=self._columns_to_try(chosen.table.n_columns),
            key=self._stream().key if self._draws() else 0,
            trace=trace,
            threads=thread_count(self.n_jobs),
            **chosen.arguments(),
            **arguments,
        )

    def _draws(self) -> bool:
        return self.max_features is not None

    def _columns_to_try(self, n_columns: int) -> int:
        wanted = self.max_features
        if wanted is None:
            return 0
        if wanted == "sqrt":
            return max(1, int(math.sqrt(n_columns)))
        if wanted == "log2":
            return max(1, int(math.log2(n_columns)))
        if isinstance(wanted, numbers.Integral):
            return min(int(wanted), n_columns)
        return max(1, int(float(wanted) * n_columns))

    # -- pruning -------------------------------------------------------------------------------------------------
    @property
    def _loss_name(self) -> str:
        return "error"

    def _validate_path(
        self,
        table: CodedTable,
        rows: np.ndarray,
        target: np.ndarray,
        weights: np.ndarray | None,
        folds: list[Fold],
    ) -> PruningCurve:
        """The error along the pruning path; `self.tree_` is the unpruned tree of all rows."""
        cells, threads = table.cells_of(rows), thread_count(self.n_jobs)
        counted = self._leaves.loss_weights(self, target, weights)

        def part(train: np.ndarray) -> Tree:
            share = None if weights is None else weights[train]
            return Tree.of(self._grown(table.chosen(rows[train]), target[train], share, False), table.n_categories)

        def held_out(tree: Tree, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            leaves = tree.apply(cells[test], threads)
            loss = self._leaves.loss(self, tree, target[test])
            return node_costs(tree, leaves, loss, None if counted is None else counted[test])

        def total(test: np.ndarray) -> float:
            return float(test.shape[0]) if counted is None else float(counted[test].sum())

        rule = "1se" if self.ccp_alpha == "cv_1se" else "min"
        return cross_validated_curve(self.tree_, folds, part, held_out, total, rule, self._loss_name)

    def _inner_folds(self, target: np.ndarray, kept: np.ndarray) -> list[Fold]:
        return make_folds(
            type(self).__name__,
            self.cv,
            target,
            stratify=isinstance(self, Classifier),
            kept=None if hasattr(self.cv, "split") else kept,
            random_state=self.random_state,
        )

    @property
    def pruning_curve_(self) -> PruningCurve:
        """With `ccp_alpha` chosen in cross-validation: the error along the path, to print or to take as arrays."""
        if not hasattr(self, "pruning_path_"):
            raise AttributeError(
                f"{type(self).__name__}: pruning_curve_ exists after a fit with ccp_alpha='cv' or 'cv_1se'."
            )
        return PruningCurve(**self.pruning_path_)

    def chosen(self) -> dict[str, int | float | str]:
        """The price of a leaf and the leaves left, where cross-validation chose them.

        >>> from assay.models.trees import CartClassifier
        >>> CartClassifier(ccp_alpha="cv").fit([[float(i)] for i in range(40)], [0] * 20 + [1] * 20).chosen()["leaves"]
        2
        """
        check_is_fitted(self)
        if not isinstance(self.ccp_alpha, str):
            return {}
        return {"leaves": int(self.tree_.n_leaves), "ccp_alpha": float(self.ccp_alpha_)}

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """`ccp_alphas` at which pruning cuts the next link, and the total `impurities` of the leaves after each cut."""
        model: Any = clone(self).set_params(ccp_alpha=0.0)
        alphas, impurities, _ = model.fit(X, y, sample_weight=sample_weight).tree_.weakest_links()
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    def pruning_path_cv(
        self, X: Any, y: Any, sample_weight: Any = None, *, cv: Any = 5, rule: str = "min"
    ) -> PruningCurve:
        """The error of every pruned tree of the path in cross-validation, from one tree per fold.

        `rule` is "min" (least error) or "1se" (the smallest tree within one standard error of it). The model itself is
        not fitted; `set_params(ccp_alpha=curve.ccp_alpha)` takes the choice over (Breiman et al. 1984, ch. 3).

        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(300, 3))
        >>> y = (X[:, 0] > 0) ^ (rng.random(300) < 0.2)
        >>> curve = CartClassifier().pruning_path_cv(X, y, rule="1se")
        >>> print(curve.summary().splitlines()[-1])
        chosen by one standard error: ccp_alpha 0.0..., 2 leaves
        """
        if rule not in ("min", "1se"):
            raise ParameterError(type(self).__name__, "parameter 'rule'", "must be 'min' or '1se'", f"got {rule!r}")
        model: Any = clone(self).set_params(ccp_alpha="cv_1se" if rule == "1se" else "cv", cv=cv)
        return model.fit(X, y, sample_weight=sample_weight).pruning_curve_

    def prune_reduced_error(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """A pruned copy of this fitted model: the smallest subtree whose error on these rows is least.

        The rows should not be those of `fit`. From the leaves upwards, a node whose rows cost no more without the tree
        below it becomes a leaf; the error on these rows never rises. A row costs 1 if its class is missed (times
        `class_weight`), the squared error with `criterion="squared_error"`, and the absolute error with the others.

        >>> from assay.models.trees import CartClassifier
        >>> X, y = [[1.0], [2.0], [3.0], [4.0], [5.0]], [0, 0, 1, 0, 1]
        >>> model = CartClassifier().fit(X, y)
        >>> pruned = model.prune_reduced_error([[1.5], [3.9], [6.0]], [0, 1, 1])
        >>> model.get_n_leaves(), pruned.get_n_leaves()
        (4, 2)
        """
        return self._cut(reduced_error_cut(self, X, y, sample_weight))

    def _cut(self, leaf: np.ndarray) -> Any:
        """A copy of this model whose marked nodes are leaves."""
        pruned = copy.copy(self)
        pruned.tree_ = self.tree_.cut(leaf)
        return pruned

    def importance(
        self,
        X: Any,
        y: Any,
        *,
        scoring: Any = None,
        n_repeats: int = 10,
        sample_weight: Any = None,
        random_state: Any = None,
        level: float = 0.95,
    ) -> Importances:
        """Impurity importance beside permutation importance on these rows, which should not be those of `fit`.

        `scoring` is None (accuracy or R2), a scorer of scikit-learn or its name, or a metric of `assay.evaluate`. Each
        column is shuffled `n_repeats` times. A column that owes its impurity importance to the training rows alone is
        marked, with a warning of code W161.

        >>> from assay.models.trees import CartClassifier
        >>> X = np.random.default_rng(0).normal(size=(400, 2))
        >>> y = X[:, 0] > 0
        >>> model = CartClassifier().fit(X[:200], y[:200])
        >>> print(model.importance(X[200:], y[200:], random_state=0))
            impurity  permutation  95% low  95% high
        x0     1.000       0.4800   0.4570    0.5030
        x1     0.000       0.0000   0.0000    0.0000
        accuracy 0.9950 before permuting
        """
        return importance_of(
            self,
            X,
            y,
            scoring=scoring,
            n_repeats=n_repeats,
            sample_weight=sample_weight,
            random_state=random_state,
            level=level,
        )

    def _record(self, grown: dict[str, np.ndarray]) -> None:
        """The trace: for each node the best decrease of impurity that every column offered, before pruning."""
        trace = self._new_trace()
        if "gains" in grown:
            gains = grown["gains"]
            depths, words, names = self.tree_.depths(), self._words(), self.schema_.names
            for node in range(self.tree_.node_count):
                test = words[node][0] if self.tree_.feature[node] >= 0 else None
                offered = {names[j]: float(g) for j, g in enumerate(gains[node]) if not math.isnan(g)}
                self._record_node(trace, node, depths[node], test, gains=offered, **self._other_tests(grown, node))
        self._keep_trace(trace)

    def _other_tests(self, grown: dict[str, np.ndarray], node: int) -> dict[str, Any]:
        """What the trace says of tests of a node that are not on one column."""
        return {}

    # -- using -----------------------------------------------------------------------------------------------------
    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A pass over every cell per level; the depth grows with log n."""
        cells = float(n_rows) * n_features
        levels = math.log2(max(2, n_rows)) if self.max_depth is None else min(self.max_depth, 2 * math.log2(n_rows + 2))
        per_cell = _PER_CELL.get(self.criterion, 2e-8)
        trees = 1 + (int(self.cv) if isinstance(self.cv, numbers.Integral) else 5) * isinstance(self.ccp_alpha, str)
        seconds = (per_cell * levels * trees + 6e-8) * cells * n_outputs
        return Cost(seconds=seconds, bytes=8.0 * cells + 200.0 * n_rows)


_PER_CELL = {"absolute_error": 1.2e-7, "entropy": 1.5e-8, "log_loss": 1.5e-8, "gini": 1e-8}
"""Seconds of a cell per level; regression trees grow deeper, and have more to prune."""


class CartClassifier(_Cart, Classifier):
    """A binary classification tree, grown by exact search for the split that decreases impurity most.

    Numeric columns are cut midway between neighbouring values, nominal columns into two sets of categories, and
    missing cells are tried on both sides. A tree grown to the end fits the training rows exactly where they allow it;
    stop it early or prune it to predict well.

    Examples
    --------
    >>> from assay.models.trees import CartClassifier
    >>> X = [["sunny", 30], ["sunny", 20], ["rain", 18], ["rain", 25]]
    >>> model = CartClassifier().fit(X, ["no", "no", "yes", "yes"])
    >>> print(model.to_text())
    x0 = sunny: no (2 rows, 100%)
    x0 = rain: yes (2 rows, 100%)
    >>> model.predict([["rain", None]])
    array(['yes'], dtype='<U3')
    """

    criterion: str = param(
        "gini",
        Choice("gini", "entropy", "log_loss", "misclassification"),
        "Impurity to decrease; 'entropy' and 'log_loss' are the same, in bits.",
    )
    class_weight: Any = class_weight_param()

    _leaves = CLASSES

    def _target_arguments(self, target: np.ndarray, weights: np.ndarray | None) -> dict[str, Any]:
        weights = with_class_weights(type(self).__name__, self.class_weight, self.classes_, target, weights)
        return {"labels": target, "n_classes": self.classes_.shape[0], "y": None, "weights": weights}

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of the leaf that each row reaches; the first in `classes_` wins a tie."""
        leaves = self.apply(X)
        return self.classes_[self.tree_.value.argmax(axis=1)][leaves]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The class shares of the leaf that each row reaches."""
        leaves = self.apply(X)
        return self.tree_.value[leaves]

    def prune_pessimistic(self, confidence_factor: float = 0.25) -> Any:
        """A pruned copy of this fitted model, from its training rows alone (see `pessimistic_leaves`).

        >>> from assay.models.trees import CartClassifier
        >>> model = CartClassifier().fit([[1.0], [2.0], [3.0], [4.0], [5.0]], [0, 0, 1, 0, 0])
        >>> model.get_n_leaves(), model.prune_pessimistic().get_n_leaves()
        (3, 1)
        """
        return self._cut(pessimistic_cut(self, confidence_factor))


class CartRegressor(_Cart, Regressor):
    """A binary regression tree, grown by exact search for the split that decreases impurity most.

    Numeric columns are cut midway between neighbouring values, nominal columns into two sets of categories, and
    missing cells are tried on both sides. A leaf predicts the mean, the median or the midrange of its rows, whichever
    belongs to the criterion. The target may have several columns with squared error.

    Examples
    --------
    >>> from assay.models.trees import CartRegressor
    >>> model = CartRegressor(max_depth=1).fit([[1], [2], [3], [4]], [1.0, 1.0, 5.0, 7.0])
    >>> print(model.to_text())
    x0 <= 2.5: 1 (2 rows, 50% of all)
    x0 > 2.5: 6 (2 rows, 50% of all)
    """

    _learned = {"n_outputs_": "columns of the target"}
    _multi_output = True

    criterion: str = param(
        "squared_error",
        Choice("squared_error", "absolute_error", "worst_case"),
        "Impurity to decrease: variance, mean deviation from the median, or largest deviation from the midrange.",
    )

    def _target_arguments(self, target: np.ndarray, weights: np.ndarray | None) -> dict[str, Any]:
        columns = np.ascontiguousarray(target.reshape(target.shape[0], -1))
        self.n_outputs_ = columns.shape[1]
        if self.n_outputs_ > 1 and self.criterion != "squared_error":
            raise ParameterError(
                type(self).__name__,
                "parameter 'criterion'",
                "must be 'squared_error' for a target of several columns",
                f"got {self.criterion!r}",
                "fit one model per column",
            )
        return {"labels": None, "n_classes": 0, "y": columns, "weights": weights}

    @property
    def _loss_name(self) -> str:
        return "squared error" if self.criterion == "squared_error" else "absolute error"

    def predict(self, X: Any) -> np.ndarray:
        """The value of the leaf that each row reaches."""
        leaves = self.apply(X)
        values = self.tree_.value[leaves]
        return values[:, 0] if self.n_outputs_ == 1 else values


def _kept(n_rows: int, sample_weight: Any) -> np.ndarray:
    """Which of the rows given to `fit` have positive weight."""
    weights = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
    return np.ones(n_rows, dtype=bool) if weights.ndim == 0 else weights > 0
