"""A tree in other forms: rules, SQL, JSON, a plain Python function, a drawing."""

from __future__ import annotations

import json
import keyword
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ...base.errors import ParameterError, plain
from ...data.columns import ColumnSchema
from ..rule_sets.conditions import Condition, merge_conditions
from ..rule_sets.linear import LinearCondition, LinearSum
from ..rule_sets.rule_set import Rule, RuleSet
from ._engine import Tree, node_sum
from .html import TreeText, row_path
from .svg import TreeView, tree_figure

_PRESENT = float(np.finfo(np.float64).max)


def branch_conditions(tree: Tree, node: int, schema: ColumnSchema) -> tuple[Condition | LinearCondition, ...]:
    """The test of an inner node as the conditions of its branches; together they hold for every cell.

    Missing cells, and categories that `fit` did not see, go to the side that the node has learned for them, from a
    multiway test to its heaviest branch: it is described by the categories that it does not take.
    """
    if tree.is_linear(node):
        one, end = node_sum(tree, node, schema), float(tree.threshold[node])
        return LinearCondition(one, high=end), LinearCondition(one, low=end)
    column = int(tree.feature[node])
    name = schema.names[column]
    if tree.is_multiway(node):
        child, labels = tree.branch_children(node), schema.categories[column]
        assert labels is not None
        return tuple(
            Condition.none_of(name, labels[child[:-1] != one], missing=True)
            if one == child[-1]
            else Condition.one_of(name, labels[child[:-1] == one])
            for one in tree.children(node)
        )
    missing_left = bool(tree.missing_go_to_left[node])
    if tree.category_offset[node] < 0:
        threshold = float(tree.threshold[node])
        cut = math.inf if threshold == _PRESENT else threshold
        return Condition.at_most(name, cut, missing_left), Condition.above(name, cut, not missing_left)
    categories = schema.categories[column]
    assert categories is not None
    left = tree.left_categories(node)
    if missing_left:
        others = categories[~left]
        return Condition.none_of(name, others, missing=True), Condition.one_of(name, others)
    return Condition.one_of(name, categories[left]), Condition.none_of(name, categories[left], missing=True)


def _literal(value: Any) -> str:
    return repr(value)


def _plain(conclusion: Any) -> Any:
    return conclusion.to_dict() if isinstance(conclusion, LinearSum) else conclusion


@dataclass(frozen=True)
class TreeExports:
    """A fitted tree as rules, SQL, JSON, Python, picture and page.

    `conclusion` gives what a leaf predicts, as a plain value; `equations` are the linear models of leaves that have
    one, as text; `words` are the tests of the inner nodes, `labels` what each node would predict.
    """

    tree: Tree
    schema: ColumnSchema
    missing_seen: np.ndarray
    classes: list[Any] | None
    conclusion: Callable[[int], Any]
    equations: dict[int, str]
    words: Callable[[], dict[int, tuple[str, ...]]]
    labels: Callable[[], list[str]]

    def node_counts(self, node: int) -> tuple[float, ...]:
        """The weight of each class in a node."""
        return tuple((self.tree.value[node] * self.tree.weighted_n_node_samples[node]).tolist())

    def leaf_rules(self) -> RuleSet:
        """One rule per leaf, from left to right, with its rows; every row goes one way at each test."""
        tree, classes = self.tree, self.classes
        rules: list[Rule] = []
        stack: list[tuple[int, tuple[Condition | LinearCondition, ...]]] = [(0, ())]
        while stack:
            node, conditions = stack.pop()
            if tree.feature[node] >= 0:
                below = zip(tree.children(node), branch_conditions(tree, node, self.schema), strict=True)
                stack += [(child, merge_conditions((*conditions, one))) for child, one in below][::-1]
                continue
            counts = () if classes is None else self.node_counts(node)
            rules.append(Rule(conditions, self.conclusion(node), counts, float(tree.weighted_n_node_samples[node])))
        return self.rule_set(rules)

    def rule_set(self, rules: list[Rule]) -> RuleSet:
        """Rules of this tree with its columns, classes and rows."""
        tree, classes = self.tree, self.classes
        total = (float(tree.weighted_n_node_samples[0]),) if classes is None else self.node_counts(0)
        may_miss = tuple(name for name, seen in zip(self.schema.names, self.missing_seen, strict=True) if seen)
        labels = None if classes is None else tuple(classes)
        return RuleSet(
            tuple(rules), self.conclusion(0), self.schema, labels, total=total, smoothing=0.0, missing_seen=may_miss
        )

    def to_json(self) -> str:
        """The tree as JSON, in the form that `TreeEstimator.to_json` tells."""
        tree, nodes = self.tree, []
        for node in range(tree.node_count):
            record: dict[str, Any] = {
                "id": node,
                "rows": float(tree.weighted_n_node_samples[node]),
                "impurity": float(tree.impurity[node]),
                "value": tree.value[node].tolist(),
                "prediction": _plain(self.conclusion(node)),
            }
            column = int(tree.feature[node])
            if tree.is_linear(node):
                record["terms"] = node_sum(tree, node, self.schema).to_dict()["terms"]
                record["at_most"] = float(tree.threshold[node])
                record["left"] = int(tree.children_left[node])
                record["right"] = int(tree.children_right[node])
            elif column >= 0:
                record["column"] = self.schema.names[column]
                categories = self.schema.categories[column]
                if tree.is_multiway(node) and categories is not None:
                    child = tree.branch_children(node)
                    record["branches"] = [
                        {"to": one, "in": categories[child[:-1] == one].tolist()} for one in tree.children(node)
                    ]
                    record["missing"] = int(child[-1])
                    nodes.append(record)
                    continue
                if tree.category_offset[node] >= 0 and categories is not None:
                    record["in"] = categories[tree.left_categories(node)].tolist()
                else:
                    record["at_most"] = float(tree.threshold[node])
                record["missing"] = "left" if tree.missing_go_to_left[node] else "right"
                record["left"] = int(tree.children_left[node])
                record["right"] = int(tree.children_right[node])
            nodes.append(record)
        columns = [
            {"name": name} if found is None else {"name": name, "categories": found.tolist()}
            for name, found in zip(self.schema.names, self.schema.categories, strict=True)
        ]
        document = {"format": "assay-tree", "version": 1, "columns": columns, "nodes": nodes}
        document["classes"] = self.classes
        return json.dumps(document, allow_nan=False)

    def to_python(self, name: str = "predict") -> str:
        """Source text of a function of one row, a mapping from column names to cells; it needs nothing but Python.

        A missing cell is None or NaN. The text is not executed here.
        """
        if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
            raise ParameterError(
                "to_python",
                "parameter 'name'",
                "must be a Python identifier that is no keyword",
                f"got {plain(repr(name))}",
            )
        tree = self.tree
        lines = [f"def {name}(row):"]
        for j in self._columns_used():
            lines.append(f"    x{j} = row[{_literal(self.schema.names[j])}]")
            lines.append(f"    absent{j} = x{j} is None or x{j} != x{j}")
        # The branch with most leaves is not nested, so that indentation grows with the logarithm of the leaves.
        leaves = np.ones(tree.node_count, dtype=np.int64)
        for node in range(tree.node_count - 1, -1, -1):
            if tree.feature[node] >= 0:
                leaves[node] = leaves[tree.children(node)].sum()
        stack = [(0, 1, "")]
        while stack:
            node, depth, test = stack.pop()
            if test:
                lines.append(f"{'    ' * (depth - 1)}if {test}:")
            if tree.feature[node] < 0:
                lines.append(f"{'    ' * depth}return {self._python_value(self.conclusion(node))}")
                continue
            below = list(zip(tree.children(node), branch_conditions(tree, node, self.schema), strict=True))
            after = max(below, key=lambda branch: (leaves[branch[0]], branch[0]))[0]
            stack.append((after, depth, ""))
            for child, condition in reversed(below):
                if child != after:
                    stack.append((child, depth + 1, self._python_test(condition, int(tree.feature[node]))))
        return "\n".join(lines) + "\n"

    def _columns_used(self) -> list[int]:
        """The columns that a test or the model of a leaf reads."""
        tree, names = self.tree, self.schema.names
        used = {j for j in range(len(names)) if tree.tests_column(j).any()}
        for leaf in self.equations:
            used |= {names.index(name) for name in self.conclusion(leaf).columns}
        return sorted(used)

    def _python_test(self, condition: Condition | LinearCondition, column: int) -> str:
        if not isinstance(condition, LinearCondition):
            return _python_test(condition, column)
        words = self._python_value(condition.sum)
        return f"{words} <= {condition.high!r}" if math.isinf(condition.low) else f"{words} > {condition.low!r}"

    def _python_value(self, conclusion: Any) -> str:
        if not isinstance(conclusion, LinearSum):
            return _literal(conclusion)

        def cell(name: str, fill: float) -> str:
            j = self.schema.names.index(name)
            return f"({fill!r} if absent{j} else x{j})"

        return conclusion.to_python(cell)

    def to_svg(self, view: TreeView, max_depth: int, title: str, cells: np.ndarray | None) -> str:
        """The tree drawn from left to right; with the cells of a row its path stands out."""
        branches: list[int] = []
        if cells is not None:
            branches = [self.tree.children(node).index(child) for node, child in pairwise(row_path(self.tree, cells))]
        return tree_figure(
            view.to_dict(), max_depth=max_depth, title=title, branches=branches, marked=cells is not None
        )

    def text(self) -> TreeText:
        """The tree with its words."""
        return TreeText(self.tree, self.schema, self.words(), self.labels(), self.classes, self.equations)


def _python_test(condition: Condition, column: int) -> str:
    cell, absent = f"x{column}", f"absent{column}"
    if condition.on_presence:
        return absent if condition.missing else f"not {absent}" if condition.excluded else "False"
    if condition.categories is None:
        test = f"{cell} <= {condition.high!r}" if math.isinf(condition.low) else f"{cell} > {condition.low!r}"
    else:
        listed = ", ".join(map(_literal, condition.categories))
        test = f"{cell} {'not in' if condition.excluded else 'in'} ({listed},)"
    return f"{absent} or {test}" if condition.missing else f"not {absent} and {test}"
