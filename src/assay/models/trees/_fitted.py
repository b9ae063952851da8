"""What fitted trees share whatever their branches: fold sharing, leaves, depth, importances, text and view."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator, Fold, Trace, check_weights, thread_count
from ...base.folds import Transforms
from ...data.coded import CodedTable
from ...data.columns import ColumnSchema, MixedInput
from ..rule_sets.rule_set import RuleSet
from ._engine import DEEPEST_SHOWN, Tree, condition_words, tree_view
from .export import TreeExports
from .html import one_row, tree_html
from .leaves import NUMBERS
from .svg import TreeView


def row_count(wanted: int | float, n_rows: float) -> float:
    """A number of rows from a number or a share of all rows."""
    return float(wanted) if isinstance(wanted, numbers.Integral) else float(math.ceil(float(wanted) * n_rows))


class TreeEstimator(MixedInput, Estimator):
    """The base of all tree learners: fold sharing, use and showing.

    A fitted tree is a `Tree` in `tree_`, with `schema_` and `missing_seen_`; `_leaves` knows what leaves hold, and
    `TreeExports` turns it all into other forms.
    """

    _learned = {
        "tree_": "the nodes as arrays, in preorder",
        "feature_importances_": "weighted decrease of impurity by each column, summing to 1",
        "schema_": "names, nominal columns and categories",
        "missing_seen_": "for each column, whether training rows had missing cells",
    }
    _leaves = NUMBERS

    def _hold(self, tree: Tree, missing_seen: np.ndarray) -> None:
        """Keep a grown tree."""
        self.tree_ = tree
        self.missing_seen_ = missing_seen

    def _record_node(self, trace: Trace, node: int, depth: int, test: Any, **more: Any) -> None:
        """An event of the trace: what every tree says of a node that splits by `test` or is a leaf, and `more`."""
        trace.record(
            "split" if self.tree_.feature[node] >= 0 else "leaf",
            node=node,
            depth=int(depth),
            rows=float(self.tree_.weighted_n_node_samples[node]),
            impurity=float(self.tree_.impurity[node]),
            test=test,
            **more,
        )

    def _threads(self) -> int:
        return thread_count(getattr(self, "n_jobs", None))

    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Grow the tree, and do what the method does after that: prune it, or fit models in its leaves."""
        cells, target, weights = self._begin(X, y, sample_weight)
        table = CodedTable.of(cells, self.schema_, self._threads(), once=True)
        self._grow(table, np.arange(cells.shape[0], dtype=np.int32), target, weights)
        return self

    def _grow(self, table: CodedTable, rows: np.ndarray, target: np.ndarray, weights: np.ndarray | None) -> None:
        """Grow, prune and keep the tree of these rows of the table."""
        raise NotImplementedError  # pragma: no cover

    def _fit_fold(
        self, table: CodedTable, schema: ColumnSchema, train: np.ndarray, target: np.ndarray, weights: np.ndarray | None
    ) -> None:
        """Fit on rows `train` of a shared table as if nothing else had been seen."""
        counted = train if weights is None else train[weights[train] > 0]
        target = self._leaves.part(self, counted, target)
        table, self.schema_ = table.restricted(train, schema)
        part = None if weights is None else check_weights(type(self).__name__, weights[train], train.shape[0])
        if part is not None and not part.all():
            train, part = train[part > 0], part[part > 0]
        self._grow(table, train, target[train], part)

    def fit_folds(
        self, X: Any, y: Any, folds: Iterable[Fold], sample_weight: Any = None, transforms: Transforms = None
    ) -> Iterator[Any]:
        """Yield one fitted clone per fold; the columns are coded once for all folds."""
        if transforms is not None:
            yield from super().fit_folds(X, y, folds, sample_weight, transforms)
            return
        n_rows, fit = self._sharing(X, y)
        weights = check_weights(type(self).__name__, sample_weight, n_rows)
        for train, _ in folds:
            yield fit(np.arange(n_rows)[np.asarray(train)], weights)

    def weighted_fits(self, X: Any, y: Any) -> Callable[..., Any]:
        """A function of sample weights and parameters that gives a fitted clone; the columns are coded once."""
        _, fit = self._sharing(X, y)
        return lambda weights, **parameters: fit(np.flatnonzero(weights), weights, **parameters)

    def _sharing(self, X: Any, y: Any) -> tuple[int, Callable[..., Any]]:
        """The number of rows, and a function that fits a clone to some of them, all on one coding of the columns."""
        whole: Any = clone(self)
        cells, target, _ = whole._begin(X, y)
        table = CodedTable.of(cells, whole.schema_, self._threads())

        def fit(rows: np.ndarray, weights: np.ndarray | None, **parameters: Any) -> Any:
            model: Any = clone(self)
            model.set_params(**parameters)
            for name in ("n_features_in_", "feature_names_in_", "classes_"):
                if hasattr(whole, name):
                    setattr(model, name, getattr(whole, name))
            model._fit_fold(table, whole.schema_, rows, target, weights)
            return model

        return cells.shape[0], fit

    # -- using -----------------------------------------------------------------------------------------------------
    def apply(self, X: Any) -> np.ndarray:
        """The number of the leaf that each row reaches."""
        check_is_fitted(self)
        return self.tree_.apply(self._read(X, reset=False), self._threads())

    def get_depth(self) -> int:
        """The depth of the deepest leaf."""
        check_is_fitted(self)
        return int(self.tree_.depths().max())

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> np.ndarray:
        """For each column, the weighted decrease of impurity that its tests brought; sums to 1."""
        check_is_fitted(self)
        return self.tree_.importances()

    # -- showing -----------------------------------------------------------------------------------------------------
    def _labels(self) -> list[str]:
        """What each node would predict, as text."""
        return self._leaves.labels(self)

    def _leaf_words(self, node: int) -> str:
        return self._leaves.words(self.tree_, node)

    def _conclusion(self, node: int) -> Any:
        """What a leaf predicts, as a plain value."""
        return self._leaves.conclusion(self, node)

    def _equations(self) -> dict[int, str]:
        """The linear models of leaves that have one, as text."""
        return {}

    def _words(self, deepest: int | None = None) -> dict[int, tuple[str, ...]]:
        """The tests of the inner nodes, down to a depth."""
        seen = self.missing_seen_
        return {node: condition_words(self.tree_, node, self.schema_, seen) for node in self._inner(deepest)}

    def _inner(self, deepest: int | None) -> list[int]:
        wanted = self.tree_.feature >= 0
        if deepest is not None:
            wanted &= self.tree_.depths() <= deepest
        return np.flatnonzero(wanted).tolist()

    def to_text(self) -> str:
        """The tree as indented text, one test or leaf per line."""
        check_is_fitted(self)
        words, labels, lines = self._words(), self._labels(), []
        stack = [(0, 0, "")]
        while stack:
            node, depth, condition = stack.pop()
            inner = node in words
            if condition:
                tail = "" if inner else f": {labels[node]} ({self._leaf_words(node)})"
                lines.append(f"{'|   ' * (depth - 1)}{condition}{tail}")
            elif not inner:
                lines.append(f"{labels[node]} ({self._leaf_words(node)})")
            if inner:
                below = list(zip(self.tree_.children(node), words[node], strict=True))
                stack += [(child, depth + 1, words_of) for child, words_of in reversed(below)]
        return "\n".join(lines)

    def view(self) -> TreeView:
        """The tree down to depth 5."""
        check_is_fitted(self)
        classes = getattr(self, "classes_", None)
        listed = None if classes is None else classes.tolist()
        words = self._words(DEEPEST_SHOWN)
        return tree_view(self.tree_, words, self._labels(), listed, names=self.schema_.names)

    # -- other forms -------------------------------------------------------------------------------------------------
    def _exports(self) -> TreeExports:
        check_is_fitted(self)
        classes = getattr(self, "classes_", None)
        return TreeExports(
            self.tree_,
            self.schema_,
            self.missing_seen_,
            None if classes is None else classes.tolist(),
            self._conclusion,
            self._equations(),
            self._words,
            self._labels,
        )

    def to_rules(self) -> RuleSet:
        """One rule per leaf, from left to right, with its rows; the rules predict what the tree predicts."""
        return self.leaf_rules()

    def leaf_rules(self) -> RuleSet:
        """One rule per leaf, from left to right, with its rows; every row goes one way at each test."""
        return self._exports().leaf_rules()

    def to_sql(self, table: str | Sequence[str] | None = None, prediction: str = "prediction") -> str:
        """The tree as SQL: a CASE with one line per leaf (see `RuleSet.to_sql`)."""
        return self.to_rules().to_sql(table, prediction)

    def to_json(self) -> str:
        """The tree as JSON: columns, classes, and nodes with test, children, rows, impurity, value and prediction.

        A numeric test sends cells <= `at_most` to `left`, a nominal test the categories listed in `in`; `missing` names
        the side of missing cells and of categories never seen. A test with a branch per category has `branches`, each
        with the child `to` and the categories in `in`; `missing` is its heaviest child. The prediction of a leaf with
        a linear model has an `intercept` and `terms`: weights of columns, and the values of `missing` cells. A linear
        test has such `terms` in place of a column, and sends sums <= `at_most` to `left`.
        """
        return self._exports().to_json()

    def to_python(self, name: str = "predict") -> str:
        """Source text of a function of one row, a mapping from column names to cells; it needs nothing but Python.

        A missing cell is None or NaN. The text is not executed here.
        """
        return self._exports().to_python(name)

    def to_svg(self, max_depth: int = 4, title: str = "The tree", row: Any = None) -> str:
        """The tree drawn from left to right, as SVG text; with `row` (see `to_html`) its path stands out."""
        exports = self._exports()
        cells = None if row is None else one_row(self, row, self.schema_)
        return exports.to_svg(self.view(), max_depth, title, cells)

    def to_html(self, row: Any = None, *, title: str = "The tree", max_nodes: int = 3000) -> str:
        """The tree as one HTML page that needs nothing else: nodes fold and unfold and show their rows and class mix.

        `row` (a mapping from column names to cells, a sequence of cells, or a table of one row) unfolds and marks the
        path of that row. At most `max_nodes` nodes are shown, the deepest left out first.

        >>> from assay.models.trees import CartClassifier
        >>> model = CartClassifier().fit([[1.0], [2.0]], ["low", "high"])
        >>> model.to_html(row=[1.2]).count("<details")
        1
        """
        exports = self._exports()
        cells = None if row is None else one_row(self, row, self.schema_)
        return tree_html(exports.text(), cells, title, max_nodes)

    def _repr_html_(self) -> str:
        if not hasattr(self, "tree_"):
            return str(super()._repr_html_())
        return tree_html(self._exports().text(), title=type(self).__name__, max_nodes=300, page=False)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
