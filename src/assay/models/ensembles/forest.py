"""Many trees in one set of arrays: sums of their leaves, leaves of rows, importances, plain data."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ... import _kernels
from ...data.columns import ColumnSchema
from ..trees.sound import check_arrays, refuse


@dataclass(frozen=True)
class Forest:
    """Trees as arrays over all their nodes.

    The nodes of tree t are `offsets[t]` to `offsets[t + 1]`, in preorder; children are counted from the first node of
    their tree. `feature` is -1 at leaves. A numeric test sends cells <= `threshold` to the left, a nominal test the
    categories whose bit is set in the words of `category_words` from `category_offset` on; missing cells and unknown
    categories go left where `missing_go_to_left` is 1. `value` has one row per node, `gain` is what a test brought.
    """

    offsets: np.ndarray
    feature: np.ndarray
    children_left: np.ndarray
    children_right: np.ndarray
    threshold: np.ndarray
    category_offset: np.ndarray
    category_words: np.ndarray
    missing_go_to_left: np.ndarray
    value: np.ndarray
    n_node_samples: np.ndarray
    weight: np.ndarray
    gain: np.ndarray
    n_categories: np.ndarray

    @classmethod
    def of(cls, grown: dict[str, np.ndarray], n_categories: np.ndarray) -> Forest:
        """From the arrays of a kernel that grows forests."""
        return cls(**grown, n_categories=n_categories)

    @classmethod
    def joined(cls, first: Forest, second: Forest) -> Forest:
        """The trees of both, one after the other."""
        parts = {
            f.name: np.concatenate([getattr(first, f.name), getattr(second, f.name)])
            for f in fields(cls)
            if f.name not in ("offsets", "n_categories", "category_offset")
        }
        moved = np.where(second.category_offset < 0, -1, second.category_offset + first.category_words.shape[0])
        parts["category_offset"] = np.concatenate([first.category_offset, moved])
        parts["offsets"] = np.concatenate([first.offsets, second.offsets[1:] + first.node_count])
        return cls(**parts, n_categories=first.n_categories)

    def _loaded(self) -> None:
        """Refuse arrays that are no trees, before a kernel walks them."""
        who = type(self).__name__
        if self.feature.shape[0] or self.offsets.shape[0] != 1:
            check_arrays(who, self)
        sizes = np.diff(self.offsets)
        if (
            self.offsets.shape[0] < 1
            or self.offsets[0] != 0
            or self.offsets[-1] != self.node_count
            or (sizes < 1).any()
        ):
            refuse(who, "must have trees one after the other")
        first = np.repeat(self.offsets[:-1], sizes)
        inner = np.flatnonzero(self.feature >= 0)
        children = np.concatenate([self.children_left[inner], self.children_right[inner]]).astype(np.int64)
        limit = np.repeat(sizes, sizes)[np.concatenate([inner, inner])]
        if children.size and ((children < 1) | (children >= limit)).any():
            refuse(who, "must have children inside their tree")
        places = children + first[np.concatenate([inner, inner])]
        if (places <= np.concatenate([inner, inner])).any():
            refuse(who, "must have children that come after their parent")
        reached = np.bincount(places, minlength=self.node_count)
        reached[self.offsets[:-1]] += 1
        if (reached != 1).any():
            refuse(who, "must reach each of its nodes once")

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return int(self.offsets.shape[0]) - 1

    @property
    def node_count(self) -> int:
        """Nodes of all trees, leaves included."""
        return int(self.feature.shape[0])

    def arrays(self) -> dict[str, Any]:
        """The arrays that kernels read, by the names of their arguments."""
        return {
            "offsets": self.offsets,
            "feature": self.feature,
            "left": self.children_left,
            "right": self.children_right,
            "threshold": self.threshold,
            "categories": self.category_offset,
            "words": self.category_words,
            "missing_left": self.missing_go_to_left,
            "value": self.value,
            "n_categories": self.n_categories,
        }

    def sums(
        self, cells: np.ndarray, outputs: int, threads: int, first: int = 0, last: int | None = None
    ) -> np.ndarray:
        """For each row the sums of the values of its leaves over trees `first` to `last`, added in their order.

        Tree t adds to the outputs from `t % (outputs / width) * width` on, where `width` is that of `value`.
        """
        end = self.n_trees if last is None else last
        return _kernels.forest_sums(
            **self.arrays(),
            cells=np.ascontiguousarray(cells),
            first=first,
            last=end,
            outputs=outputs,
            threads=threads,
        )

    def leaves(self, cells: np.ndarray, threads: int) -> np.ndarray:
        """The leaf that each row reaches in each tree, counted from the first node of the tree."""
        return _kernels.forest_leaves(**self.arrays(), cells=np.ascontiguousarray(cells), threads=threads)

    def importances(self) -> np.ndarray:
        """The total gain of the tests on each column, summing to 1 (or all 0 if there are no tests)."""
        inner = self.feature >= 0
        total = np.bincount(self.feature[inner], weights=self.gain[inner], minlength=self.n_categories.shape[0])
        return total / total.sum() if total.sum() > 0 else total

    def tree(self, number: int) -> dict[str, np.ndarray]:
        """The arrays of one tree by node; words of categories are kept whole."""
        part = slice(int(self.offsets[number]), int(self.offsets[number + 1]))
        whole = {"offsets", "category_words", "n_categories"}
        return {f.name: getattr(self, f.name)[part] for f in fields(self) if f.name not in whole}

    def categories_left(self, node: int) -> list[int]:
        """The categories that a nominal test sends to the left; `node` counts over all trees."""
        first, column = int(self.category_offset[node]), int(self.feature[node])
        count = int(self.n_categories[column])
        words = self.category_words[first : first + (count + 63) // 64]
        return [c for c in range(count) if int(words[c // 64]) >> (c % 64) & 1]

    def to_dict(self, schema: ColumnSchema) -> list[dict[str, Any]]:
        """The trees as nested plain data with the names of columns and categories.

        An inner node has `column`, `at_most` (numeric) or `one_of` (nominal), `missing` ("left" or "right"), `left`
        and `right`; a leaf has `value`.
        """
        return [self._node(schema, int(first)) for first in self.offsets[:-1]]

    def _node(self, schema: ColumnSchema, first: int) -> dict[str, Any]:
        # Children come after their parents: built from the last node back, nothing recurses.
        end = int(self.offsets[np.searchsorted(self.offsets, first, side="right")])
        made: list[dict[str, Any]] = [{} for _ in range(end - first)]
        for place in reversed(range(end - first)):
            node = first + place
            column = int(self.feature[node])
            if column < 0:
                value = self.value[node].tolist()
                made[place] = {"value": value[0] if len(value) == 1 else value}
                continue
            test: dict[str, Any] = {"column": schema.names[column]}
            categories = schema.categories[column]
            if self.category_offset[node] >= 0 and categories is not None:
                test["one_of"] = [categories[c].item() for c in self.categories_left(node)]
            else:
                test["at_most"] = float(self.threshold[node])
            test["missing"] = "left" if self.missing_go_to_left[node] else "right"
            test["left"] = made[int(self.children_left[node])]
            test["right"] = made[int(self.children_right[node])]
            made[place] = test
        return made[0]
