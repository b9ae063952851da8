"""What tree learners share: the coded table, the arrays of a tree, pruning, and the words for its tests."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from ... import _kernels
from ...base.errors import DataError, ParameterError, plain
from ...data.coded import CodedTable
from ...data.columns import ColumnSchema
from ..rule_sets.linear import LinearSum
from .sound import check_arrays, check_children, refuse
from .svg import TreeView

CRITERIA = {
    "gini": 0,
    "entropy": 1,
    "log_loss": 1,
    "misclassification": 2,
    "squared_error": 3,
    "absolute_error": 4,
    "worst_case": 5,
}
"""Split criteria by name, and the number under which the kernel knows them."""

_LISTED = 6

DEEPEST_SHOWN = 5
"""The depth at which the drawing of a tree is cut."""


@dataclass(frozen=True)
class Tree:
    """A tree as arrays over its nodes in preorder: the first child of an inner node follows it.

    `feature` is -1 at leaves. A numeric test sends cells <= `threshold` to the left; a binary nominal test sends the
    categories whose bit is set in the words of `category_words` that start at `category_offset`. A multiway test has
    `branch_offset` >= 0: the child of category c of K is `branches[branch_offset + c]`, that of a category never seen
    `branches[branch_offset + K]`, its heaviest child; its `children_left` and `children_right` are -1. A linear test
    has `linear` >= 0, its row in `linear_weight` and `linear_fill`: rows whose sum of weights times cells of
    `linear_columns` is <= `threshold` go to the left, missing cells counting as the fill; `feature` is its leading
    column, and `linear_share` are the shares of the columns in it. `children` and `cut` are the ways to walk and to
    prune a tree of any kind.
    """

    feature: np.ndarray
    threshold: np.ndarray
    children_left: np.ndarray
    children_right: np.ndarray
    missing_go_to_left: np.ndarray
    category_offset: np.ndarray
    category_words: np.ndarray
    value: np.ndarray
    impurity: np.ndarray
    n_node_samples: np.ndarray
    weighted_n_node_samples: np.ndarray
    n_categories: np.ndarray
    branch_offset: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    branches: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    linear: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    linear_weight: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    linear_fill: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    linear_share: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    linear_columns: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int32))

    @classmethod
    def of(cls, grown: dict[str, np.ndarray], n_categories: np.ndarray) -> Tree:
        """From the arrays of a kernel that grows trees."""
        if "branch" in grown:
            none = np.full(grown["feature"].shape[0], -1, dtype=np.int64)
            grown = {**grown, "categories": none, "words": np.empty(0, dtype=np.uint64)}
        more = {"branch_offset": grown["branch"], "branches": grown["branches"]} if "branch" in grown else {}
        if "linear" in grown:
            more = {name: grown[name] for name in ("linear", "linear_weight", "linear_fill", "linear_share")}
            more["linear_columns"] = np.flatnonzero(n_categories == 0).astype(np.int32)
        return cls(
            feature=grown["feature"],
            threshold=grown["threshold"],
            children_left=grown["left"],
            children_right=grown["right"],
            missing_go_to_left=grown["missing_left"],
            category_offset=grown["categories"],
            category_words=grown["words"],
            value=grown["value"],
            impurity=grown["impurity"],
            n_node_samples=grown["rows"].astype(np.int64),
            weighted_n_node_samples=grown["weight"],
            n_categories=n_categories,
            **more,
        )

    def _loaded(self) -> None:
        """Refuse arrays that are no tree, before a kernel walks them."""
        who = type(self).__name__
        check_arrays(who, self)
        inner = np.flatnonzero(self.feature >= 0)
        if self.has_multiway:
            if self.branch_offset.shape[0] != self.node_count:
                refuse(who, "must have one 'branch_offset' for each node")
            multiway = inner[self.branch_offset[inner] >= 0]
            inner = inner[self.branch_offset[inner] < 0]
            ends = self.branch_offset[multiway] + self.n_categories[self.feature[multiway]] + 1
            if (ends > self.branches.shape[0]).any():
                refuse(who, "must have a branch for each category")
            sides = [self.branch_children(node) for node in multiway.tolist()]
        else:
            multiway, sides = inner[:0], []
        if self.has_linear:
            width = self.linear_columns.shape[0]
            shapes = {part.shape for part in (self.linear_weight, self.linear_fill, self.linear_share)}
            if len(shapes) > 1 or self.linear_weight.shape[1] != width or self.linear.shape[0] != self.node_count:
                refuse(who, "must have one weight, fill and share for each linear test and column")
            if (self.linear >= self.linear_weight.shape[0]).any() or (self.linear < -1).any():
                refuse(who, "must have the weights of its linear tests")
            if ((self.linear_columns < 0) | (self.linear_columns >= self.n_categories.shape[0])).any():
                refuse(who, "must have linear tests on its columns")
        children = np.concatenate([self.children_left[inner], self.children_right[inner], *sides])
        lengths = [side.shape[0] for side in sides]
        check_children(who, children, np.concatenate([inner, inner, np.repeat(multiway, lengths)]), self.node_count)

    @property
    def node_count(self) -> int:
        """Nodes, leaves included."""
        return int(self.feature.shape[0])

    @property
    def n_leaves(self) -> int:
        """Leaves."""
        return int((self.feature < 0).sum())

    @property
    def has_multiway(self) -> bool:
        """Whether some test has a branch per category."""
        return bool(self.branches.shape[0])

    @property
    def has_linear(self) -> bool:
        """Whether some test is on a linear sum of columns."""
        return bool(self.linear_weight.shape[0])

    def is_linear(self, node: int) -> bool:
        """Whether the test of a node is on a linear sum of columns."""
        return self.has_linear and bool(self.linear[node] >= 0)

    def columns_of(self, node: int) -> list[int]:
        """The columns that the test of an inner node reads."""
        if self.is_linear(node):
            return self.linear_columns[self.linear_weight[self.linear[node]] != 0].tolist()
        return [int(self.feature[node])]

    def tests_column(self, column: int) -> np.ndarray:
        """Which nodes read this column in their test."""
        tests = self.feature == column
        place = np.flatnonzero(self.linear_columns == column) if self.has_linear else np.empty(0)
        if place.shape[0]:
            tests = np.where(self.linear >= 0, self.linear_weight[self.linear, int(place[0])] != 0, tests)
        return tests

    def is_multiway(self, node: int) -> bool:
        """Whether the test of a node has a branch per category."""
        return self.has_multiway and bool(self.branch_offset[node] >= 0)

    def branch_children(self, node: int) -> np.ndarray:
        """For a multiway test, the child of each category, then the heaviest child."""
        first = int(self.branch_offset[node])
        return self.branches[first : first + int(self.n_categories[self.feature[node]]) + 1]

    def parents(self) -> np.ndarray:
        """The parent of each node, -1 for the root."""
        parent = np.full(self.node_count, -1)
        inner = np.flatnonzero((self.feature >= 0) & (self.children_left >= 0))
        parent[self.children_left[inner]] = inner
        parent[self.children_right[inner]] = inner
        for node in np.flatnonzero((self.feature >= 0) & (self.children_left < 0)).tolist():
            parent[self.branch_children(node)] = node
        return parent

    def depths(self) -> np.ndarray:
        """The depth of each node; the root has depth 0."""
        depth = np.zeros(self.node_count, dtype=np.int64)
        if self.has_multiway:
            for node, parent in enumerate(self.parents().tolist()[1:], 1):
                depth[node] = depth[parent] + 1
            return depth
        level = np.array([0])
        while True:
            level = level[self.feature[level] >= 0]
            if level.size == 0:
                return depth
            below = depth[level] + 1
            depth[self.children_left[level]] = below
            depth[self.children_right[level]] = below
            level = np.concatenate([self.children_left[level], self.children_right[level]])

    def apply(self, cells: np.ndarray, threads: int) -> np.ndarray:
        """The leaf that each row reaches; from a multiway test, missing and unknown cells go to the heaviest child."""
        if self.has_multiway:
            return _kernels.apply_multiway(
                **self._multiway_arrays(), cells=np.ascontiguousarray(cells), threads=threads
            )
        arrays = (
            self.feature,
            self.children_left,
            self.children_right,
            self.threshold,
            self.category_offset,
            self.category_words,
            self.missing_go_to_left,
            self.n_categories,
        )
        if self.has_linear:
            tests = (self.linear, self.linear_weight, self.linear_fill, self.linear_columns)
            return _kernels.apply_oblique(*arrays, *tests, np.ascontiguousarray(cells), threads)
        return _kernels.apply_tree(*arrays, np.ascontiguousarray(cells), threads)

    def _multiway_arrays(self) -> dict[str, Any]:
        return {
            "feature": self.feature,
            "left": self.children_left,
            "right": self.children_right,
            "threshold": self.threshold,
            "branch": self.branch_offset,
            "branches": self.branches,
            "missing_left": self.missing_go_to_left,
            "n_categories": self.n_categories,
        }

    def fractional_shares(self, cells: np.ndarray, threads: int) -> np.ndarray:
        """Class shares of each row's leaf, or where a tested cell is missing or unknown the mean over the branches.

        The branches weigh as their training rows did. For trees of the kernel `grow_multiway`.
        """
        return _kernels.multiway_shares(
            **self._multiway_arrays(),
            weight=self.weighted_n_node_samples,
            value=np.ascontiguousarray(self.value),
            cells=np.ascontiguousarray(cells),
            threads=threads,
        )

    def importances(self) -> np.ndarray:
        """Total decrease of weighted impurity by the tests on each column, normalised to sum 1.

        What a linear test brings is divided among its columns by their share in its sum.
        """
        inner = self.feature >= 0
        mass = self.weighted_n_node_samples * self.impurity
        if self.has_multiway:
            decrease = (mass - np.bincount(self.parents()[1:], weights=mass[1:], minlength=self.node_count))[inner]
        else:
            decrease = mass[inner] - mass[self.children_left[inner]] - mass[self.children_right[inner]]
        linear = self.linear[inner] if self.has_linear else np.full(decrease.shape[0], -1)
        alone = np.where(linear < 0, decrease, 0.0)
        total = np.bincount(self.feature[inner], weights=alone, minlength=self.n_categories.shape[0])
        if self.has_linear:
            total = total.astype(np.float64)
            total[self.linear_columns] += decrease[linear >= 0] @ self.linear_share[linear[linear >= 0]]
        return total / total.sum() if total.sum() > 0 else total

    def risks(self) -> np.ndarray:
        """Share of the weight times impurity, for each node."""
        return self.weighted_n_node_samples / self.weighted_n_node_samples[0] * self.impurity

    def weakest_links(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Effective alphas, total impurities of the leaves, and the alpha from which each node is a leaf."""
        return _kernels.weakest_links(self.parents().astype(np.int32), self.risks())

    def pruned(self, alpha: float) -> Tree:
        """The smallest subtree that minimises risk + alpha * leaves."""
        return self.cut(self.weakest_links()[2] <= alpha)

    def children(self, node: int) -> list[int]:
        """The children of a node in the order of its branches; none for a leaf."""
        if self.feature[node] < 0:
            return []
        if self.is_multiway(node):
            return np.unique(self.branch_children(node)).tolist()
        return [int(self.children_left[node]), int(self.children_right[node])]

    def cut(self, leaf: np.ndarray) -> Tree:
        """The tree whose nodes marked in `leaf` have become leaves; what was below them is gone."""
        keep, stack = [], [0]
        while stack:
            node = stack.pop()
            keep.append(node)
            if not leaf[node]:
                stack += self.children(node)[::-1]
        kept = np.array(keep)
        number = np.full(self.node_count + 1, -1, dtype=np.int32)
        number[kept] = np.arange(kept.shape[0], dtype=np.int32)
        cut = leaf[kept].astype(bool) | (self.feature[kept] < 0)
        rows = {"linear_weight", "linear_fill", "linear_share"}
        whole = {"category_words", "n_categories", "branches", "linear_columns", *rows}
        whole |= {name for name in ("branch_offset", "linear") if not getattr(self, name).shape[0]}
        arrays = {f.name: getattr(self, f.name)[kept] for f in fields(self) if f.name not in whole}
        arrays["feature"] = np.where(cut, -1, arrays["feature"]).astype(np.int32)
        arrays["category_offset"] = np.where(cut, -1, arrays["category_offset"])
        arrays["threshold"] = np.where(cut, 0.0, arrays["threshold"])
        arrays["missing_go_to_left"] = np.where(cut, 0, arrays["missing_go_to_left"]).astype(np.uint8)
        for side in ("children_left", "children_right"):
            arrays[side] = np.where(cut, -1, number[arrays[side]]).astype(np.int32)
        if self.linear.shape[0]:
            held = np.where(cut, -1, arrays["linear"])
            used = held >= 0
            arrays |= {name: getattr(self, name)[held[used]] for name in rows}
            arrays["linear"] = np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
        if self.branch_offset.shape[0]:
            tests = np.flatnonzero(~cut & (arrays["branch_offset"] >= 0))
            parts = [number[self.branch_children(node)] for node in kept[tests].tolist()]
            arrays["branch_offset"] = np.full(kept.shape[0], -1, dtype=np.int64)
            arrays["branch_offset"][tests] = np.cumsum([0, *(part.shape[0] for part in parts)])[:-1]
            arrays["branches"] = np.concatenate([np.empty(0, dtype=np.int32), *parts])
        return replace(self, **arrays)

    def left_categories(self, node: int) -> np.ndarray:
        """For a nominal test, which categories go to the left."""
        count = int(self.n_categories[self.feature[node]])
        first = int(self.category_offset[node])
        words = self.category_words[first : first + (count + 63) // 64]
        codes = np.arange(count)
        return (words[codes // 64] >> (codes % 64).astype(np.uint64) & np.uint64(1)).astype(bool)


def node_sum(tree: Tree, node: int, schema: ColumnSchema) -> LinearSum:
    """The sum that a linear test compares with its threshold."""
    weight, fill = tree.linear_weight[tree.linear[node]], tree.linear_fill[tree.linear[node]]
    terms = [
        (schema.names[int(tree.linear_columns[k])], float(weight[k]), float(fill[k]))
        for k in np.flatnonzero(weight).tolist()
    ]
    return LinearSum(0.0, tuple(terms))


def grow_second_order(
    table: CodedTable,
    rows: np.ndarray,
    gradients: np.ndarray,
    hessians: np.ndarray,
    *,
    max_depth: int | None = None,
    max_leaf_nodes: int | None = None,
    min_samples_leaf: float = 1,
    min_child_weight: float = 0.0,
    l2: float = 0.0,
    l1: float = 0.0,
    min_gain: float = 0.0,
    threads: int = 1,
) -> Tree:
    """A tree for one step of boosting, from the gradient and the hessian (>= 0) of the loss at each of `rows`.

    With G and H their sums over the rows of a node and T(G) = sign(G) max(|G| - l1, 0), its `value` -T(G) / (H + l2)
    lowers the loss most, to second order, and changes it by -T(G)^2 / (2 (H + l2)). The gain of a split is what it
    lowers that by; a split is made if its gain is positive and at least `min_gain` and both parts have H >=
    `min_child_weight`. In the tree, `weighted_n_node_samples` is H, and `impurity` times H the change of the loss.
    Missing cells go to the better side, and nominal columns are split into the best two sets of categories (see the
    kernel). The tree has the same bits for every order of the rows and any number of threads (Chen & Guestrin 2016).

    >>> import numpy as np
    >>> from assay.data.columns import ColumnSchema
    >>> schema = ColumnSchema(("x",), np.array([False]), (None,))
    >>> table = CodedTable.of(np.array([[1.0], [2.0], [3.0], [4.0]]), schema, threads=1)
    >>> tree = grow_second_order(table, np.arange(4), np.array([1.0, 1.0, -3.0, -3.0]), np.ones(4), max_depth=1, l2=1.0)
    >>> tree.threshold.tolist()[0], tree.value.ravel().round(3).tolist()
    (2.5, [0.8, -0.667, 2.0])
    """
    first = np.ascontiguousarray(gradients, dtype=np.float64)
    second = np.ascontiguousarray(hessians, dtype=np.float64)
    for name, numbers, fine in (
        ("gradients", first, np.isfinite(first)),
        ("hessians", second, np.isfinite(second) & (second >= 0)),
    ):
        if numbers.shape != rows.shape or not fine.all():
            least = ", at least 0," if name == "hessians" else ""
            came = f"got shape {numbers.shape} for {rows.shape[0]} rows"
            if numbers.shape == rows.shape:
                came = f"got {numbers[~fine][0]}"
            raise DataError("grow_second_order", name, f"must be one finite number{least} per row", came)
    for name, penalty in (("l2", l2), ("l1", l1), ("min_gain", min_gain), ("min_child_weight", min_child_weight)):
        if not 0 <= penalty < np.inf:
            raise ParameterError("grow_second_order", f"parameter {name!r}", "must be at least 0", f"got {penalty!r}")
    grown = _kernels.grow_second_order(
        **table.chosen(rows).arguments(),
        gradients=first,
        hessians=second,
        max_depth=-1 if max_depth is None else max_depth,
        min_leaf=min_samples_leaf,
        min_child_weight=min_child_weight,
        max_leaf_nodes=max_leaf_nodes or 0,
        min_gain=min_gain,
        l2=l2,
        l1=l1,
        trace=False,
        threads=threads,
    )
    return Tree.of(grown, table.n_categories)


def condition_words(tree: Tree, node: int, schema: ColumnSchema, missing_seen: np.ndarray) -> tuple[str, ...]:
    """The test of an inner node in words: what sends a row to each of its children."""
    if tree.is_linear(node):
        total, end = node_sum(tree, node, schema).to_text(), float(tree.threshold[node])
        return f"{total} <= {end:.6g}", f"{total} > {end:.6g}"
    column = int(tree.feature[node])
    name = plain(schema.names[column])
    if tree.is_multiway(node):
        child, labels = tree.branch_children(node), schema.categories[column]
        assert labels is not None
        words = [_one_of(name, labels[child[:-1] == one]) for one in tree.children(node)]
        if missing_seen[column]:
            heaviest = tree.children(node).index(int(child[-1]))
            words[heaviest] = f"{words[heaviest]} or missing"
        return tuple(words)
    if tree.category_offset[node] >= 0:
        left = tree.left_categories(node)
        categories = schema.categories[column]
        assert categories is not None
        both = [_one_of(name, categories[left]), _one_of(name, categories[~left])]
    else:
        threshold = float(tree.threshold[node])
        if threshold == np.finfo(np.float64).max:
            return f"{name} is present", f"{name} is missing"
        both = [f"{name} <= {threshold:.6g}", f"{name} > {threshold:.6g}"]
    if missing_seen[column]:
        side = 0 if tree.missing_go_to_left[node] else 1
        both[side] = f"{both[side]} or missing" if both[side] else f"{name} is missing"
    return both[0], both[1]


def _one_of(name: str, categories: np.ndarray) -> str:
    listed = [plain(c, 40) for c in categories[:_LISTED].tolist()]
    if not listed:
        return ""
    if categories.shape[0] == 1:
        return f"{name} = {listed[0]}"
    rest = categories.shape[0] - len(listed)
    return f"{name} in {{{', '.join(listed)}{f', and {rest} more' if rest else ''}}}"


def node_test(tree: Tree, node: int, words: dict[int, tuple[str, ...]], names: tuple[str, ...]) -> str:
    """The test of an inner node: its column if it has a branch per category, else what sends a row to the left."""
    return plain(names[int(tree.feature[node])]) if tree.is_multiway(node) else words[node][0]


def tree_view(
    tree: Tree,
    words: dict[int, tuple[str, ...]],
    labels: list[str],
    classes: list[Any] | None,
    deepest: int = DEEPEST_SHOWN,
    names: tuple[str, ...] = (),
    equations: dict[int, str] | None = None,
) -> TreeView:
    """The tree as a picture, down to depth `deepest`; `equations` are those of leaves with a model."""
    nodes: list[dict[str, Any]] = []
    stack = [(0, -1, 0, "")]
    while stack:
        node, parent, depth, condition = stack.pop()
        number = len(nodes)
        if parent >= 0:
            nodes[parent]["children"].append(number)
        inner = tree.feature[node] >= 0
        record: dict[str, Any] = {
            "id": number,
            "parent": parent,
            "depth": depth,
            "condition": condition,
            "test": node_test(tree, node, words, names) if inner else None,
            "rows": float(tree.weighted_n_node_samples[node]),
            "impurity": float(tree.impurity[node]),
            "value": tree.value[node].tolist(),
            "prediction": labels[node],
            "children": [],
        }
        nodes.append(record)
        if equations and node in equations:
            record["equation"] = equations[node]
        if inner and depth == deepest:
            record["cut"] = True
        elif inner:
            below = list(zip(tree.children(node), words[node], strict=True))
            stack += [(child, number, depth + 1, condition) for child, condition in reversed(below)]
    leaves = int(np.count_nonzero(tree.feature < 0))
    return TreeView(classes=classes, nodes=nodes, n_nodes=tree.node_count, n_leaves=leaves)
