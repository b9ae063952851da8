"""Subtree raising: a test goes, and the tree below its heaviest branch takes its place.

Pessimistic pruning (see `pessimistic_leaves`) can only end a tree earlier. Raising can also take a test out of the
middle of it: all rows of the node are sent through the tree below the branch that holds most of them, and if the errors
expected of it are then at most those of the node's own tree, it moves up (Quinlan 1993, ch. 4).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...data.coded import CodedTable
from ._engine import Tree
from .pessimistic import pessimistic_errors

_TEST = (
    "feature",
    "threshold",
    "children_left",
    "children_right",
    "missing_go_to_left",
    "category_offset",
    "branch_offset",
)
_PER_NODE = (*_TEST, "value", "impurity", "n_node_samples", "weighted_n_node_samples")
_CHANGING = (*_PER_NODE, "branches")
_TOLERANCE = 1e-9  # weights this close are equal, as in the kernel

Part = tuple[np.ndarray, np.ndarray]
"""Places among the training rows, and the weight of each."""


def raised(
    tree: Tree,
    table: CodedTable,
    rows: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    confidence_factor: float = 0.25,
    slack: float = 0.1,
    gini: bool = False,
) -> tuple[Tree, int]:
    """A tree of the kernel `grow_multiway`, pruned and raised from the leaves up, and how many subtrees were raised.

    The tree has grown on these rows of the table, with these class codes and weights. A node becomes a leaf if the
    errors expected of it are at most those of its tree and of its heaviest branch, each plus `slack`; else the heaviest
    branch moves up if the errors expected of it, for all rows of the node, are at most those of the tree plus `slack`.
    Then the moved tree is pruned again. With `slack` 0 the errors expected of the whole tree never rise. Memory is that
    of the rows at every node.

    >>> import numpy as np
    >>> from assay.data.columns import ColumnSchema
    >>> from assay.models.trees import C45Classifier
    >>> X = np.array([[k % 2, k] for k in range(24)], dtype=float)
    >>> y = (X[:, 1] > 11).astype(np.int32)
    >>> model = C45Classifier(prune=False).fit(X, y)
    >>> table = CodedTable.of(X, model.schema_, threads=1)
    >>> tree, count = raised(model.tree_, table, np.arange(24), y)
    >>> tree.n_leaves, count
    (2, 0)
    """
    work = _Raising(tree, table, rows, labels, weights, confidence_factor, slack, gini)
    for node in range(tree.node_count - 1, -1, -1):
        work.decide(node)
    return work.finished(), work.count


class _Raising:
    """The tree while it changes, with the rows at each node. Nodes keep their numbers; tests are copied upwards."""

    def __init__(
        self,
        tree: Tree,
        table: CodedTable,
        rows: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None,
        confidence_factor: float,
        slack: float,
        gini: bool,
    ) -> None:
        self.tree = replace(tree, **{name: getattr(tree, name).copy() for name in _CHANGING})
        self.table, self.rows, self.labels = table, rows, labels
        self.confidence_factor, self.slack, self.gini = confidence_factor, slack, gini
        self.leaf = tree.feature < 0
        self.count = 0
        weight = np.ones(rows.shape[0]) if weights is None else weights
        # Sums of weights on this grid are exact in any order.
        self.grid = 2.0 ** (np.ceil(np.log2(weight.sum())) - 51)
        self.parts: list[Part] = [(np.empty(0, dtype=np.int64), np.empty(0))] * tree.node_count
        self.parts[0] = (np.arange(rows.shape[0]), self._snapped(weight))
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            for child, part in self._send(node, self.parts[node]):
                self.parts[child] = part
        mass = tree.weighted_n_node_samples
        self.as_leaf = pessimistic_errors(mass, mass * (1 - tree.value.max(axis=1)), confidence_factor)
        self.expected = self.as_leaf.copy()

    def _snapped(self, weight: np.ndarray) -> np.ndarray:
        return np.round(weight / self.grid) * self.grid

    def _send(self, node: int, part: Part) -> list[tuple[int, Part]]:
        """Each child of a node with its part; a row whose cell is missing goes to all, by their share of the others."""
        tree, (places, weight) = self.tree, part
        column, children = int(tree.feature[node]), tree.children(node)
        cells = self.table.column(column, self.rows[places])
        known = ~np.isnan(cells)
        if tree.is_multiway(node):
            branch_of = np.searchsorted(children, tree.branch_children(node)[:-1])
            branch = branch_of[cells[known].astype(np.int64)]
        else:
            branch = (cells[known] > tree.threshold[node]).astype(np.int64)
        seen, seen_weight = places[known], weight[known]
        absent, absent_weight = places[~known], weight[~known]
        total = seen_weight.sum()
        parts = []
        for number, child in enumerate(children):
            here = branch == number
            one, mass = seen[here], seen_weight[here]
            if absent.shape[0] and total > 0:
                share = self._snapped(absent_weight * (mass.sum() / total))
                one, mass = np.concatenate([one, absent[share > 0]]), np.concatenate([mass, share[share > 0]])
            parts.append((child, (one, mass)))
        return parts

    def _open_branches(self, node: int, part: Part) -> None:
        """Give categories that share an empty leaf below a test leaves of their own, if these rows have them."""
        tree = self.tree
        if not tree.is_multiway(node):
            return
        branch = tree.branch_children(node)
        cells = self.table.column(int(tree.feature[node]), self.rows[part[0]])
        codes = np.unique(cells[~np.isnan(cells)].astype(np.int64))
        width = np.bincount(branch[:-1], minlength=tree.node_count)[branch[codes]]
        shared = codes[(width > 1) & self.leaf[branch[codes]]]
        if shared.shape[0] == 0:
            return
        count, last = shared.shape[0], branch[shared]
        grown = {
            name: np.concatenate([array, array[last]])
            for name in _PER_NODE
            if (array := getattr(tree, name)).shape[0] == tree.node_count
        }
        branch[shared] = np.arange(tree.node_count, tree.node_count + count)
        self.leaf, self.as_leaf = np.append(self.leaf, self.leaf[last]), np.append(self.as_leaf, self.as_leaf[last])
        self.expected = np.append(self.expected, self.expected[last])
        self.parts += [(np.empty(0, dtype=np.int64), np.empty(0))] * count
        self.tree = replace(tree, **grown)

    def finished(self) -> Tree:
        """The tree; leaves that no row reached share one node of their test again."""
        tree = self.tree
        for node in np.flatnonzero(~self.leaf).tolist():
            if tree.is_multiway(node):
                branch = tree.branch_children(node)
                empty = self.leaf[branch] & (tree.weighted_n_node_samples[branch] == 0)
                branch[empty] = branch[empty].min(initial=tree.node_count)
        return tree.cut(self.leaf)

    def _counts(self, part: Part) -> np.ndarray:
        return np.bincount(self.labels[part[0]], weights=part[1], minlength=self.tree.value.shape[1])

    def _errors_through(self, node: int, part: Part) -> float:
        """The errors expected below a node if it held these rows."""
        found, stack = [], [(node, part)]
        while stack:
            at, here = stack.pop()
            if self.leaf[at]:
                found.append(self._counts(here))
            else:
                self._open_branches(at, here)
                stack += self._send(at, here)
        counts = np.array(found)
        weight = counts.sum(axis=1)
        return float(pessimistic_errors(weight, weight - counts.max(axis=1), self.confidence_factor).sum())

    def decide(self, node: int) -> None:
        """Prune or raise at a node whose children are decided, and keep the errors then expected of it."""
        while not self.leaf[node]:
            children = self.tree.children(node)
            leaf, below = float(self.as_leaf[node]), float(self.expected[children].sum())
            heaviest = self._heaviest(children)
            branch = leaf if self.leaf[heaviest] else self._errors_through(heaviest, self.parts[node])
            if leaf <= below + self.slack and leaf <= branch + self.slack:
                self.leaf[node] = True
            elif branch <= below + self.slack:
                self._raise(node, heaviest)
            else:
                self.expected[node] = below
                return
        self.expected[node] = self.as_leaf[node]

    def _heaviest(self, children: list[int]) -> int:
        weight = self.tree.weighted_n_node_samples[children]
        return children[int(np.flatnonzero(weight >= weight.max() - _TOLERANCE)[0])]

    def _raise(self, node: int, child: int) -> None:
        """Put the test and the branches of a child in the place of its parent's, and decide anew below."""
        for name in _TEST:
            array = getattr(self.tree, name)
            if array.shape[0]:
                array[node] = array[child]
        self.count += 1
        below, stack = [], [node]
        while stack:
            at = stack.pop()
            if self.leaf[at]:
                continue
            for one, part in self._send(at, self.parts[at]):
                self._hold(one, part, at)
                below.append(one)
                stack.append(one)
            self._lean(at)
        for one in sorted(below, reverse=True):
            self.decide(one)

    def _hold(self, node: int, part: Part, parent: int) -> None:
        """Give a node other rows; without any it predicts as its parent."""
        tree, counts = self.tree, self._counts(part)
        weight = counts.sum()
        self.parts[node] = part
        tree.n_node_samples[node] = part[0].shape[0]
        tree.weighted_n_node_samples[node] = weight
        self.as_leaf[node] = pessimistic_errors(weight, weight - counts.max(), self.confidence_factor)[0]
        if weight > 0:
            shares = counts / weight
            tree.value[node] = shares
            present = shares[shares > 0]
            impurity = 1 - (shares**2).sum() if self.gini else -(present * np.log2(present)).sum()
            tree.impurity[node] = impurity if present.shape[0] > 1 else 0.0
        else:
            tree.value[node], tree.impurity[node] = tree.value[parent], tree.impurity[parent]

    def _lean(self, node: int) -> None:
        """Say which child of a test is the heaviest, where its children have other rows now."""
        tree, children = self.tree, self.tree.children(node)
        heaviest = self._heaviest(children)
        if tree.is_multiway(node):
            tree.branch_children(node)[-1] = heaviest
        else:
            tree.missing_go_to_left[node] = heaviest == children[0]
