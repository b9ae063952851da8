"""Trees of any model in one form: the flat `Forest`, the cover of its nodes, and how rows are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _kernels
from ..base.columns import column_names
from ..base.errors import DataError, ParameterError, plain
from ..models.ensembles import AdaBoostClassifier, Forest
from ..models.ensembles.boosting import Boosting
from ..models.ensembles.random_forest import TreeEnsemble
from ..models.trees import C45Classifier, CartClassifier, CartRegressor, ID3Classifier, ObliqueTreeClassifier

WHO = "tree_shap"
KNOWN = (
    "trees (cart, c45, id3), forests, extra trees, boosting and AdaBoost of Assay; trees, forests and boosting of "
    "scikit-learn, XGBoost and LightGBM"
)


@dataclass(frozen=True)
class TreeModel:
    """A model as a sum of trees: output k of a row is `base[k]` + `scale` x the sum of the leaves of its trees.

    `cover` is the weight of the training rows in each node; `read` turns a table into cells for the trees.
    """

    forest: Forest
    cover: np.ndarray
    base: np.ndarray
    outputs: int
    unit: str
    read: Callable[[Any], np.ndarray]
    names: list[str]
    output_names: list[Any] = field(default_factory=list)
    categories: dict[int, list[Any]] = field(default_factory=dict)
    scale: float = 1.0
    missing: bool = True

    def cells(self, X: Any, what: str) -> np.ndarray:
        """A table as cells, checked against what the trees can read."""
        found = np.ascontiguousarray(self.read(X), dtype=np.float64)
        if found.ndim != 2 or found.shape[1] != len(self.names):
            raise DataError(WHO, what, f"must be a table of {len(self.names)} columns", f"got shape {found.shape}")
        nominal = self.forest.n_categories > 0
        if not self.missing and (np.isnan(found).any() or (found[:, nominal] < 0).any()):
            raise DataError(
                WHO,
                what,
                "must have no missing or unknown cells for trees that split such rows into fractions",
                way_out="fill them, or take cart-classifier",
            )
        return found


@dataclass
class Grower:
    """Builds a `Forest` tree by tree from arrays in any order of nodes; children are renumbered in preorder."""

    n_columns: int
    width: int = 1
    parts: list[dict[str, np.ndarray]] = field(default_factory=list)
    sets: list[tuple[int, int, frozenset[int]]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)

    def add(
        self,
        *,
        feature: Any,
        left: Any,
        right: Any,
        threshold: Any,
        value: Any,
        cover: Any,
        missing_left: Any,
        sets: dict[int, frozenset[int]] | None = None,
    ) -> None:
        """One tree; a node is a leaf where `left` is negative. `sets` are the categories that go left at a node."""
        order = _kernels.preorder(np.ascontiguousarray(left, np.int32), np.ascontiguousarray(right, np.int32))
        self.parts.append(
            {
                "order": order,
                "feature": np.asarray(feature),
                "left": np.asarray(left),
                "right": np.asarray(right),
                "threshold": np.asarray(threshold),
                "missing": np.asarray(missing_left),
                "value": np.asarray(value),
                "cover": np.asarray(cover),
            }
        )
        start = sum(self.counts)
        if sets:
            place = np.full(np.shape(left)[0], -1)
            place[order] = np.arange(order.shape[0])
            for node, kept in sets.items():
                self.sets.append((start + int(place[node]), int(np.asarray(feature)[node]), kept))
        self.counts.append(len(order))

    def forest(self, known: dict[int, int] | None = None) -> tuple[Forest, np.ndarray]:
        """The trees, and the cover of their nodes; what was added is given up.

        `known` counts the categories of nominal columns, where that is known.
        """
        nodes = sum(self.counts)
        sizes = np.zeros(self.n_columns, dtype=np.int32)
        for column, count in (known or {}).items():
            sizes[column] = count
        for _, column, kept in self.sets:
            sizes[column] = max(sizes[column], max(kept, default=0) + 1)
        offset = np.full(nodes, -1, dtype=np.int64)
        words: list[np.ndarray] = []
        begin = 0
        for node, column, kept in self.sets:
            flags = np.zeros(64 * ((int(sizes[column]) + 63) // 64), dtype=bool)
            flags[list(kept)] = True
            words.append(np.packbits(flags, bitorder="little").view("<u8").astype(np.uint64))
            offset[node] = begin
            begin += words[-1].shape[0]
        made = Forest(
            offsets=np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64),
            **self._nodes(nodes),
            category_offset=offset,
            category_words=np.concatenate(words) if words else np.empty(0, dtype=np.uint64),
            gain=np.zeros(nodes),
            n_categories=sizes,
        )
        return made, made.weight

    def _nodes(self, count: int) -> dict[str, np.ndarray]:
        """The arrays over all nodes, filled tree by tree."""
        feature, left, right = np.full((3, count), -1, dtype=np.int32)
        threshold, cover = np.zeros((2, count))
        missing = np.zeros(count, dtype=np.uint8)
        first = self.parts[0] if self.parts else {"value": np.zeros((0, self.width)), "left": np.zeros(0)}
        value = np.empty((count, first["value"].size // max(1, first["left"].shape[0])))
        end = 0
        while self.parts:
            part = self.parts.pop(0)
            order = part["order"]
            begin, end = end, end + order.shape[0]
            place = np.full(part["left"].shape[0], -1, dtype=np.int32)
            place[order] = np.arange(order.shape[0])
            inner = np.flatnonzero(part["left"][order] >= 0)
            nodes, to = order[inner], begin + inner
            feature[to], threshold[to], missing[to] = (
                part["feature"][nodes],
                part["threshold"][nodes],
                part["missing"][nodes],
            )
            left[to], right[to] = place[part["left"][nodes]], place[part["right"][nodes]]
            value[begin:end] = part["value"].reshape(place.shape[0], -1)[order]
            cover[begin:end] = part["cover"][order]
        return {
            "feature": feature,
            "children_left": left,
            "children_right": right,
            "threshold": threshold,
            "missing_go_to_left": missing,
            "value": value,
            "n_node_samples": cover,
            "weight": cover,
        }


def tree_model(model: Any) -> TreeModel:
    """The trees of a fitted model; refuses what is none by a sentence."""
    check_fitted = hasattr(model, "fit") and hasattr(model, "get_params")
    if check_fitted:
        check_is_fitted(model)
    if isinstance(model, Boosting):
        return _boosted(model)
    if isinstance(model, TreeEnsemble):
        return _averaged(model)
    if isinstance(model, AdaBoostClassifier):
        return _adaboost(model)
    if isinstance(model, (CartClassifier, CartRegressor, C45Classifier, ID3Classifier)):
        return _one_tree(model)
    home = type(model).__module__.split(".")[0]
    if home in ("sklearn", "xgboost", "lightgbm"):
        from . import foreign_trees

        found = getattr(foreign_trees, f"of_{home}")(model)
        if found is not None:
            return found
    raise ParameterError(
        WHO,
        "model",
        f"must be made of trees with one column a test: {KNOWN}",
        f"got {plain(type(model).__name__)}",
        "give the last step of a pipeline and the table that it sees" if hasattr(model, "steps") else "",
    )


def _common(model: Any) -> dict[str, Any]:
    schema = model.schema_
    listed = {j: known.tolist() for j, known in enumerate(schema.categories) if known is not None}
    return {
        "read": lambda X: model._read(X, reset=False),
        "names": column_names(model),
        "categories": listed,
    }


def _boosted(model: Any) -> TreeModel:
    classes = getattr(model, "classes_", None)
    link = model._link_name()
    if classes is None:
        units = {"log": "logarithm of the mean", "identity": "the target's own unit", "score": "score of the ranking"}
        unit = units[link]
        names: list[Any] = []
    elif model.n_outputs_ == 1:
        unit, names = f"log odds of {classes[-1]}", [classes[-1]]
    else:
        unit, names = "scores of the classes, log probabilities up to a constant", classes.tolist()
    return TreeModel(
        forest=model.forest_,
        cover=model.forest_.n_node_samples,
        base=np.asarray(model.base_score_, dtype=np.float64),
        outputs=int(model.n_outputs_),
        unit=unit,
        output_names=names,
        **_common(model),
    )


def second_class(forest: Forest) -> Forest:
    """The forest with the values of the second of two classes alone."""
    from dataclasses import replace

    return replace(forest, value=np.ascontiguousarray(forest.value[:, 1:2]))


def class_outputs(forest: Forest, classes: Any) -> dict[str, Any]:
    """What is explained of class shares: the second of two classes, or all."""
    listed = np.asarray(classes).tolist()
    if len(listed) == 2:
        return {
            "forest": second_class(forest),
            "outputs": 1,
            "unit": f"probability of {listed[1]}",
            "output_names": [listed[1]],
        }
    return {"forest": forest, "outputs": len(listed), "unit": "probabilities of the classes", "output_names": listed}


def number_outputs(forest: Forest) -> dict[str, Any]:
    """What is explained of means: every column of the target."""
    width = int(forest.value.shape[1])
    names = [f"target {k + 1}" for k in range(width)] if width > 1 else []
    return {"forest": forest, "outputs": width, "unit": "the target's own unit", "output_names": names}


def _averaged(model: Any) -> TreeModel:
    classes = getattr(model, "classes_", None)
    said = number_outputs(model.forest_) if classes is None else class_outputs(model.forest_, classes)
    return TreeModel(
        cover=model.forest_.weight,
        base=np.zeros(said["outputs"]),
        scale=1.0 / model.forest_.n_trees,
        **said,
        **_common(model),
    )


def _adaboost(model: Any) -> TreeModel:
    if not hasattr(model, "forest_"):
        raise ParameterError(WHO, "model", "must boost trees of its own", "got AdaBoost around another estimator")
    classes = model.classes_.tolist()
    width = max(1, int(model.forest_.value.shape[1]))
    two = width == 1
    return TreeModel(
        forest=model.forest_,
        cover=model.forest_.n_node_samples,
        base=np.zeros(width),
        outputs=width,
        unit=f"log odds of {classes[-1]}" if two else "votes of the classes, log probabilities up to a constant",
        output_names=[classes[-1]] if two else classes,
        **_common(model),
    )


def _one_tree(model: Any) -> TreeModel:
    tree = model.tree_
    if isinstance(model, ObliqueTreeClassifier) or tree.has_linear:
        raise ParameterError(WHO, "model", "must test one column at a time", f"got {type(model).__name__}")
    grower = Grower(len(model.schema_.names), tree.value.shape[1])
    if tree.has_multiway:
        _add_multiway(grower, tree)
    else:
        nominal = np.flatnonzero((tree.feature >= 0) & (tree.category_offset >= 0))
        grower.add(
            feature=tree.feature,
            left=tree.children_left,
            right=tree.children_right,
            threshold=tree.threshold,
            value=tree.value,
            cover=tree.weighted_n_node_samples,
            missing_left=tree.missing_go_to_left,
            sets={int(node): frozenset(_bits(tree, int(node))) for node in nominal},
        )
    forest, cover = grower.forest()
    # Categories that no test sends left are known too.
    forest = _with_categories(forest, model.schema_.n_categories)
    classes = getattr(model, "classes_", None)
    said = number_outputs(forest) if classes is None else class_outputs(forest, classes)
    fractional = isinstance(model, (C45Classifier, ID3Classifier))
    return TreeModel(cover=cover, base=np.zeros(said["outputs"]), missing=not fractional, **said, **_common(model))


def _bits(tree: Any, node: int) -> list[int]:
    first, count = int(tree.category_offset[node]), int(tree.n_categories[tree.feature[node]])
    words = tree.category_words[first : first + (count + 63) // 64]
    return [c for c in range(count) if int(words[c // 64]) >> (c % 64) & 1]


def _with_categories(forest: Forest, n_categories: np.ndarray) -> Forest:
    """The same trees with sets of categories as wide as the columns have them."""
    from dataclasses import replace

    nodes = np.flatnonzero(forest.category_offset >= 0)
    words: list[np.ndarray] = []
    offset = forest.category_offset.copy()
    for node in nodes.tolist():
        own = np.zeros((int(n_categories[forest.feature[node]]) + 63) // 64, dtype=np.uint64)
        for category in forest.categories_left(node):
            own[category // 64] |= np.uint64(1) << np.uint64(category % 64)
        offset[node] = sum(one.shape[0] for one in words)
        words.append(own)
    joined = np.concatenate(words) if words else forest.category_words
    return replace(
        forest, category_offset=offset, category_words=joined, n_categories=np.asarray(n_categories, dtype=np.int32)
    )


def _add_multiway(grower: Grower, tree: Any) -> None:
    """A test with a branch per category becomes tests in a row, one category set against the rest."""
    nodes: list[dict[str, Any]] = []
    sets: dict[int, frozenset[int]] = {}

    def new(node: int) -> int:
        nodes.append({"feature": -1, "left": -1, "right": -1, "threshold": 0.0, "missing": 0})
        nodes[-1] |= {"value": tree.value[node], "cover": float(tree.weighted_n_node_samples[node])}
        return len(nodes) - 1

    stack = [(0, new(0))]
    while stack:
        node, place = stack.pop()
        if tree.feature[node] < 0:
            continue
        column = int(tree.feature[node])
        nodes[place]["feature"] = column
        if tree.branch_offset[node] < 0:
            left, right = int(tree.children_left[node]), int(tree.children_right[node])
            nodes[place] |= {"threshold": float(tree.threshold[node]), "left": new(left), "right": new(right)}
            stack += [(left, nodes[place]["left"]), (right, nodes[place]["right"])]
            continue
        first = int(tree.branch_offset[node])
        child_of = tree.branches[first : first + int(tree.n_categories[column])].tolist()
        children = list(dict.fromkeys(child_of))
        for k, child in enumerate(children[:-1]):
            kept = frozenset(c for c, one in enumerate(child_of) if one == child)
            sets[place] = kept
            last = k == len(children) - 2
            rest = new(children[-1] if last else node)
            nodes[place] |= {"feature": column, "left": new(child), "right": rest}
            if last:
                stack.append((children[-1], rest))
            else:
                nodes[rest]["cover"] = nodes[place]["cover"] - float(tree.weighted_n_node_samples[child])
            stack.append((child, nodes[place]["left"]))
            place = rest
    grower.add(
        feature=[one["feature"] for one in nodes],
        left=[one["left"] for one in nodes],
        right=[one["right"] for one in nodes],
        threshold=[one["threshold"] for one in nodes],
        value=np.stack([one["value"] for one in nodes]),
        cover=[one["cover"] for one in nodes],
        missing_left=[one["missing"] for one in nodes],
        sets=sets,
    )
