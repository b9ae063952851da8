"""ID3 and C4.5: classification trees with a branch per category."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.class_weight import class_weight_param, with_class_weights
from ...base.cost import Cost
from ...base.errors import DataError, ParameterError, plain
from ...base.estimator import Classifier
from ...base.parameters import Boolean, Choice, Real, param
from ...base.threads import thread_count
from ...base.usual_parameters import categorical_features_param, n_jobs_param, trace_param
from ...data.coded import CodedTable
from ..rule_sets.conditions import Condition, merge_conditions
from ..rule_sets.rule_set import Rule, RuleSet
from ._engine import Tree, condition_words, node_test
from ._fitted import TreeEstimator, row_count
from ._parameters import SCALED_WEIGHTS, max_depth_param, min_samples_leaf_param, min_samples_split_param
from .leaves import CLASSES
from .pessimistic import idle_leaves, pessimistic_leaves
from .raising import raised

MOST_RULES = 20_000
"""Rules at most that `to_rules` of a multiway tree makes."""


class _Multiway(TreeEstimator, Classifier):
    """Growing with a branch per category and fractional rows, prediction, trace."""

    _learned = {"trace_": "with `trace`, the split table of each node, then what pruning cut"}
    _way_out = "take a sample of the rows or set max_depth"
    _leaves = CLASSES

    max_depth: int | None = max_depth_param()
    min_samples_split: int | float = min_samples_split_param(2, SCALED_WEIGHTS)
    min_samples_leaf: int | float = min_samples_leaf_param(1, "at least two branches of a test")
    min_impurity_decrease: float = param(
        0.0, Real(0), "Gain times the share of rows in the node that a split must bring to be made."
    )
    class_weight: Any = class_weight_param()
    categorical_features: Any = categorical_features_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    # -- growing -------------------------------------------------------------------------------------------------
    def _kernel_options(self) -> dict[str, Any]:
        raise NotImplementedError  # pragma: no cover

    def _grow(self, table: CodedTable, rows: np.ndarray, target: np.ndarray, weights: np.ndarray | None) -> None:
        n_rows, weights = self._row_weights(rows.shape[0], target, weights)
        chosen = table.chosen(rows)
        missing_seen = chosen.missing_seen
        grown = _kernels.grow_multiway(
            **chosen.arguments(),
            labels=target,
            n_classes=self.classes_.shape[0],
            weights=weights,
            max_depth=-1 if self.max_depth is None else self.max_depth,
            min_split=max(2, row_count(self.min_samples_split, n_rows)),
            min_leaf=row_count(self.min_samples_leaf, n_rows),
            min_decrease=self.min_impurity_decrease,
            trace=self.trace,
            threads=thread_count(self.n_jobs),
            **self._kernel_options(),
        )
        self._hold(Tree.of(grown, table.n_categories), missing_seen)
        self._place_cuts(table, rows)
        trace = self._new_trace()
        self._record(trace, grown.get("table"))
        self._cut_back(trace, table, rows, target, weights)
        self._keep_trace(trace)

    def _row_weights(
        self, n_rows: int, target: np.ndarray, weights: np.ndarray | None
    ) -> tuple[float, np.ndarray | None]:
        """How many rows there are, and what each weighs in rows: whole weights are repetitions, others are scaled."""
        whole = weights is not None and bool((weights == np.floor(weights)).all())
        counted = float(weights.sum()) if whole and weights is not None else float(n_rows)
        weights = with_class_weights(type(self).__name__, self.class_weight, self.classes_, target, weights)
        if weights is None:
            return counted, None
        if (weights == np.floor(weights)).all():
            return float(weights.sum()), weights
        return counted, weights * (counted / weights.sum())

    def _place_cuts(self, table: CodedTable, rows: np.ndarray) -> None:
        """Move the cuts of the grown tree, where the method has a say in that."""

    def _cut_back(
        self, trace: Any, table: CodedTable, rows: np.ndarray, target: np.ndarray, weights: np.ndarray | None
    ) -> None:
        """Prune the grown tree, where the method does."""

    def _record(self, trace: Any, splits: np.ndarray | None) -> None:
        """For each node the split table: every column that offered a test, with its scores."""
        if splits is None:
            return
        depths, words, names = self.tree_.depths(), self._words(), self.schema_.names
        scores = splits.reshape(self.tree_.node_count, -1, 4)
        for node in range(self.tree_.node_count):
            inner = self.tree_.feature[node] >= 0
            candidates = {
                names[j]: {
                    "gain": float(gain),
                    "split_information": float(information),
                    "gain_ratio": float(ratio),
                    "threshold": None if math.isnan(threshold) else float(threshold),
                }
                for j, (gain, information, ratio, threshold) in enumerate(scores[node])
                if not math.isnan(gain)
            }
            test = node_test(self.tree_, node, words, names) if inner else None
            self._record_node(trace, node, depths[node], test, candidates=candidates)

    # -- using -----------------------------------------------------------------------------------------------------
    def predict_proba(self, X: Any) -> np.ndarray:
        """The class shares of the leaf; where a tested cell is missing or unknown, the mean over the branches."""
        check_is_fitted(self)
        return self.tree_.fractional_shares(self._read(X, reset=False), thread_count(self.n_jobs))

    def to_rules(self, missing: str = "all_branches") -> RuleSet:
        """The tree as rules that predict what it predicts, missing and unknown cells included.

        One rule per leaf for rows whose tested cells are known, then one for each combination of unknown cells and
        other tests that lead to a prediction of its own. With `missing="heaviest_branch"` there is one rule per leaf,
        and a row goes down the heaviest branch at an unknown cell, which `predict` does not do. A tree that would need
        more than 20,000 rules is refused.
        """
        check_is_fitted(self)
        if missing not in ("all_branches", "heaviest_branch"):
            raise ParameterError(
                type(self).__name__,
                "parameter 'missing'",
                "must be 'all_branches' or 'heaviest_branch'",
                f"got {plain(repr(missing))}",
            )
        if missing == "heaviest_branch":
            return self.leaf_rules()
        known: list[Rule] = []
        unknown: list[Rule] = []
        # A state is the nodes that a row has reached, each with its share of the row.
        stack: list[tuple[list[tuple[int, float]], tuple[Condition, ...], bool]] = [([(0, 1.0)], (), False)]
        while stack:
            state, conditions, parted = stack.pop()
            place = next((i for i, (node, _) in enumerate(state) if self.tree_.feature[node] >= 0), None)
            if place is None:
                (unknown if parted else known).append(self._rule_of(state, conditions))
                if len(known) + len(unknown) > MOST_RULES:
                    raise DataError(
                        type(self).__name__,
                        "to_rules",
                        f"needs more than {MOST_RULES:,} rules for rows with unknown cells",
                        way_out="prune the tree or take missing='heaviest_branch'",
                    )
                continue
            for condition, nodes, apart in reversed(self._ways(*state[place])):
                merged = merge_conditions((*conditions, condition))
                if not any(one.impossible for one in merged):
                    stack.append(([*state[:place], *nodes, *state[place + 1 :]], merged, parted or apart))
        return self._exports().rule_set(known + unknown)

    def _ways(self, node: int, weight: float) -> list[tuple[Condition, list[tuple[int, float]], bool]]:
        """The outcomes of a test: a condition on its cell, the nodes reached, and whether the row was divided."""
        tree, column = self.tree_, int(self.tree_.feature[node])
        name, labels = self.schema_.names[column], self.schema_.categories[column]
        ways: list[tuple[Condition, list[tuple[int, float]], bool]]
        if tree.is_multiway(node):
            assert labels is not None
            child = tree.branch_children(node)[:-1]
            below = np.unique(child).tolist()
            ways = [(Condition.one_of(name, labels[child == one]), [(one, weight)], False) for one in below]
            lost = Condition.none_of(name, labels, missing=True)
        else:
            below = [int(tree.children_left[node]), int(tree.children_right[node])]
            cut = float(tree.threshold[node])
            ends = (Condition.at_most(name, cut), Condition.above(name, cut))
            ways = [(end, [(one, weight)], False) for end, one in zip(ends, below, strict=True)]
            lost = Condition.is_missing(name)
        heavy = [one for one in below if tree.weighted_n_node_samples[one] > 0]
        total = 0.0
        for one in heavy:
            total += float(tree.weighted_n_node_samples[one])
        shares = [(one, weight * float(tree.weighted_n_node_samples[one]) / total) for one in heavy]
        return [*ways, (lost, shares, True)]

    def _rule_of(self, state: list[tuple[int, float]], conditions: tuple[Condition, ...]) -> Rule:
        tree, shares, rows = self.tree_, np.zeros(self.classes_.shape[0]), 0.0
        for node, weight in state:
            shares = shares + weight * tree.value[node]
            rows += weight * float(tree.weighted_n_node_samples[node])
        shares = shares / shares.sum()
        conclusion = self.classes_.tolist()[int(np.argmax(shares))]
        # A leaf that no row reached still predicts: its shares stand for one row.
        return Rule(conditions, conclusion, tuple((shares * (rows if rows > 0 else 1.0)).tolist()), rows)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A pass over every cell per level; the depth grows with log n."""
        cells = float(n_rows) * n_features
        levels = math.log2(max(2, n_rows)) if self.max_depth is None else min(self.max_depth, 2 * math.log2(n_rows + 2))
        return Cost(seconds=(1.5e-8 * levels + 6e-8) * cells * n_outputs, bytes=12.0 * cells + 200.0 * n_rows)

    # -- showing -----------------------------------------------------------------------------------------------------
    def _words(self, deepest: int | None = None) -> dict[int, tuple[str, ...]]:
        # Missing cells go down every branch, so no branch names them.
        none = np.zeros(len(self.schema_.names), dtype=bool)
        return {node: condition_words(self.tree_, node, self.schema_, none) for node in self._inner(deepest)}

    def _leaf_words(self, node: int) -> str:
        rows = round(float(self.tree_.weighted_n_node_samples[node]), 2)
        return f"{rows:g} rows, {self.tree_.value[node].max():.0%}"


class ID3Classifier(_Multiway):
    """ID3: a tree with a branch per category, grown by information gain to the end.

    At each node the column of largest information gain is tested; a nominal column gets a branch for every category and
    is used at most once on a path. Nothing is pruned. Numeric columns, which ID3 did not have, are cut in two midway
    between neighbouring values, and missing cells are treated as in C4.5 (see `C45Classifier`).

    Examples
    --------
    >>> from assay.data import load_dataset
    >>> from assay.models.trees import ID3Classifier
    >>> weather = load_dataset("weather").frame
    >>> model = ID3Classifier().fit(weather.drop("play"), weather["play"])
    >>> print(model.to_text())
    outlook = overcast: yes (4 rows, 100%)
    outlook = rainy
    |   windy = False: yes (3 rows, 100%)
    |   windy = True: no (2 rows, 100%)
    outlook = sunny
    |   humidity = high: no (3 rows, 100%)
    |   humidity = normal: yes (2 rows, 100%)
    """

    def _kernel_options(self) -> dict[str, Any]:
        return {
            "gini": False,
            "by_ratio": False,
            "threshold_cost": False,
            "large_branches": False,
            "positive_gain": False,
        }


class C45Classifier(_Multiway):
    """C4.5: a tree with a branch per category, chosen by gain ratio, with fractional rows and pessimistic pruning.

    Of the columns whose information gain is at least average, the one of largest gain ratio is tested. A nominal column
    gets a branch for every category (those that no row of the node has share an empty leaf, which predicts as the node
    would); a numeric column is cut in two. A row whose tested cell is missing goes down every branch, with the share of
    its weight that the branch has among the other rows; a prediction is then the mean over the branches, and so it is
    for a category that `fit` did not see; rules and SQL say the same. `apply`, JSON and the Python function take one
    way for such a row: the heaviest branch. For rows without such cells they all predict the same. With
    `subtree_raising` and `threshold="observed"` the tree is that of WEKA's J48, but for values within 1e-5 of each
    other, which J48 takes as equal.

    Examples
    --------
    >>> from assay.data import load_dataset
    >>> from assay.models.trees import C45Classifier
    >>> iris = load_dataset("iris").frame
    >>> print(C45Classifier().fit(iris.drop("species"), iris["species"]).to_text())
    petal_width <= 0.8: setosa (50 rows, 100%)
    petal_width > 0.8
    |   petal_width <= 1.75
    |   |   petal_length <= 4.95: versicolor (48 rows, 98%)
    |   |   petal_length > 4.95
    |   |   |   petal_width <= 1.55: virginica (3 rows, 100%)
    |   |   |   petal_width > 1.55: versicolor (3 rows, 67%)
    |   petal_width > 1.75: virginica (46 rows, 98%)
    """

    criterion: str = param(
        "gain_ratio",
        Choice("gain_ratio", "entropy", "gini"),
        "How tests are compared: gain ratio among gains at least average, information gain, or Gini decrease.",
    )
    min_samples_leaf: int | float = min_samples_leaf_param(2, "at least two branches of a test")
    large_branches: bool = param(
        True,
        Boolean(),
        "Both sides of a numeric test must also hold a tenth of the rows per class, up to 25, as in C4.5.",
    )
    threshold_cost: bool = param(
        True,
        Boolean(),
        "Lower the gain of a numeric test by log2(thresholds tried) / rows, as C4.5 release 8 does; not with 'gini'.",
    )
    threshold: str = param(
        "midpoint",
        Choice("midpoint", "observed"),
        "Where a numeric column is cut: midway, or at the largest training value not above that, as C4.5 prints it.",
    )
    collapse: bool = param(
        True, Boolean(), "Replace subtrees by leaves where they get no more training rows right, pruned or not."
    )
    prune: bool = param(True, Boolean(), "Replace subtrees by leaves where the pessimistic error does not rise.")
    confidence_factor: float = param(
        0.25, Real(0, 0.5, "right"), "Level of the upper limit of a leaf's error; smaller prunes more."
    )
    subtree_raising: bool = param(
        False,
        Boolean(),
        "With `prune`, also let the tree below the heaviest branch take the place of a test where the pessimistic "
        "error does not rise, as C4.5 and J48 do; slower.",
    )

    def _kernel_options(self) -> dict[str, Any]:
        return {
            "gini": self.criterion == "gini",
            "by_ratio": self.criterion == "gain_ratio",
            "threshold_cost": self.threshold_cost,
            "large_branches": self.large_branches,
            "positive_gain": True,
        }

    def _cut_back(
        self, trace: Any, table: CodedTable, rows: np.ndarray, target: np.ndarray, weights: np.ndarray | None
    ) -> None:
        grown, count = self.tree_, 0
        if self.collapse:
            self.tree_ = grown.cut(idle_leaves(grown))
        if self.prune:
            if self.subtree_raising:
                self.tree_, count = raised(
                    self.tree_,
                    table,
                    rows,
                    target,
                    weights,
                    confidence_factor=self.confidence_factor,
                    gini=self.criterion == "gini",
                )
            else:
                self.tree_ = self.tree_.cut(pessimistic_leaves(self.tree_, self.confidence_factor))
        if self.collapse or self.prune:
            trace.record(
                "pruning",
                leaves_before=grown.n_leaves,
                leaves=self.tree_.n_leaves,
                nodes_before=grown.node_count,
                nodes=self.tree_.node_count,
                raised=count,
            )

    def _place_cuts(self, table: CodedTable, rows: np.ndarray) -> None:
        """With observed thresholds, each cut at the largest training value not above it; no row changes sides."""
        if self.threshold != "observed":
            return
        tree = self.tree_
        numeric = (tree.feature >= 0) & (tree.children_left >= 0)
        for j in np.unique(tree.feature[numeric]).tolist():
            column = table.column(j, rows)
            here = numeric & (tree.feature == j)
            tree.threshold[here] = observed_cuts(np.unique(column[~np.isnan(column)]), tree.threshold[here])


def observed_cuts(values: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """For each cut the largest of the sorted values not above it, where a value a rounding error above is not above.

    >>> observed_cuts(np.array([0.56, 0.561, 0.562]), np.array([(0.56 + 0.562) / 2, 0.5615])).tolist()
    [0.561, 0.561]
    """
    place = np.searchsorted(values, cuts, side="right") - 1
    following = values[np.minimum(place + 1, values.shape[0] - 1)]
    grain = np.spacing(np.abs(cuts))
    return np.where((following - cuts <= 2 * grain) & (cuts - values[place] > 8 * grain), following, values[place])
