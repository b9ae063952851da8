"""What fitted trees share whatever their branches: fold sharing, leaves, depth, importances, text and view."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ...base import Fold, check_weights, class_factors, plain, thread_count
from ...base.folds import FoldTransforms
from ...data.coded import CodedTable
from ...data.columns import ColumnSchema
from ._engine import DEEPEST_SHOWN, Tree, condition_words, tree_view
from .svg import TreeView


def row_count(wanted: int | float, n_rows: float) -> float:
    """A number of rows from a number or a share of all rows."""
    return float(wanted) if isinstance(wanted, numbers.Integral) else float(math.ceil(float(wanted) * n_rows))


class FittedTree:
    """Mixin for estimators that keep a `Tree` in `tree_`, with `schema_` and `missing_seen_`."""

    tree_: Tree
    schema_: ColumnSchema
    missing_seen_: np.ndarray
    n_jobs: int | None

    def _grow(self, table: CodedTable, rows: np.ndarray, target: np.ndarray, weights: np.ndarray | None) -> None:
        """Grow, prune and keep the tree of these rows of the table."""
        raise NotImplementedError  # pragma: no cover

    def _fit_fold(
        self, table: CodedTable, schema: ColumnSchema, train: np.ndarray, target: np.ndarray, weights: np.ndarray | None
    ) -> None:
        """Fit on rows `train` of a shared table as if nothing else had been seen."""
        table, self.schema_ = table.restricted(train, schema)
        part = None if weights is None else check_weights(type(self).__name__, weights[train], train.shape[0])
        if part is not None and not part.all():
            train, part = train[part > 0], part[part > 0]
        self._grow(table, train, target[train], part)

    def fit_folds(
        self,
        X: Any,
        y: Any,
        folds: Iterable[Fold],
        sample_weight: Any = None,
        transforms: FoldTransforms | None = None,
    ) -> Iterator[Any]:
        """Yield one fitted clone per fold; the columns are coded once for all folds."""
        if transforms is not None:
            yield from super().fit_folds(X, y, folds, sample_weight, transforms)  # type: ignore[misc]
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
        table = CodedTable.of(cells, whole.schema_, thread_count(self.n_jobs))

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
    def _read(self, X: Any, *, reset: bool) -> np.ndarray:
        return super()._read(X, reset=reset)  # type: ignore[misc]

    def apply(self, X: Any) -> np.ndarray:
        """The number of the leaf that each row reaches."""
        check_is_fitted(self)
        return self.tree_.apply(self._read(X, reset=False), thread_count(self.n_jobs))

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
        raise NotImplementedError  # pragma: no cover

    def _leaf_words(self, node: int) -> str:
        raise NotImplementedError  # pragma: no cover

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


class ClassTree(FittedTree):
    """Mixin for trees that classify."""

    classes_: np.ndarray
    class_weight: Any

    def _fit_fold(
        self, table: CodedTable, schema: ColumnSchema, train: np.ndarray, target: np.ndarray, weights: np.ndarray | None
    ) -> None:
        counted = train if weights is None else train[weights[train] > 0]
        present = np.bincount(target[counted], minlength=self.classes_.shape[0]) > 0
        self.classes_ = self.classes_[present]
        super()._fit_fold(table, schema, train, (np.cumsum(present) - 1).astype(np.int32)[target], weights)

    def _class_factors(self, target: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        return class_factors(type(self).__name__, self.class_weight, self.classes_, target, weights)

    def _labels(self) -> list[str]:
        labels = [plain(c) for c in self.classes_.tolist()]
        return [labels[k] for k in self.tree_.value.argmax(axis=1).tolist()]

    def _leaf_words(self, node: int) -> str:
        return f"{self.tree_.n_node_samples[node]} rows, {self.tree_.value[node].max():.0%}"
