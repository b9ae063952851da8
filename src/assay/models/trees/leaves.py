"""What the leaves of a tree hold, classes or numbers, and what follows for folds, words and losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from ...base import class_factors
from ...base.columns import renumber
from ...base.errors import DataError, plain
from ._engine import Tree
from .pruning import Loss, absolute_loss, class_loss, squared_loss


class NumberLeaves:
    """Leaves of a regression tree; the model has `n_outputs_` and a `criterion`."""

    def part(self, model: Any, counted: np.ndarray, target: np.ndarray) -> np.ndarray:
        """The target for a fit on rows `counted` alone."""
        return target

    def labels(self, model: Any) -> list[str]:
        """What each node would predict, as text."""
        return [", ".join(f"{v:.6g}" for v in value) for value in model.tree_.value]

    def words(self, tree: Tree, node: int) -> str:
        """How many rows a leaf holds."""
        share = tree.weighted_n_node_samples[node] / tree.weighted_n_node_samples[0]
        return f"{tree.n_node_samples[node]} rows, {share:.0%} of all"

    def conclusion(self, model: Any, node: int) -> Any:
        """What a leaf predicts, as a plain value."""
        value = model.tree_.value[node]
        return float(value[0]) if value.shape[0] == 1 else tuple(value.tolist())

    def loss(self, model: Any, tree: Tree, target: np.ndarray) -> Loss:
        """What a row costs at a node, for targets as `held_out` reads them."""
        return squared_loss(tree, target) if model.criterion == "squared_error" else absolute_loss(tree, target)

    def held_out(self, model: Any, y: Any) -> np.ndarray:
        """The target of rows that the tree was not grown on."""
        target = np.asarray(y, dtype=np.float64)
        if target.reshape(target.shape[0], -1).shape[1] != model.n_outputs_ or not np.isfinite(target).all():
            raise DataError(
                type(model).__name__,
                "y",
                f"must hold {model.n_outputs_} finite numbers per row",
                f"got shape {target.shape}",
            )
        return target

    def loss_weights(self, model: Any, target: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        """What the loss of each row weighs."""
        return weights


class ClassLeaves(NumberLeaves):
    """Leaves of a classification tree; the model has `classes_` and `class_weight`."""

    def part(self, model: Any, counted: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Class numbers among the classes of the counted rows, which become those of the model."""
        present = np.bincount(target[counted], minlength=model.classes_.shape[0]) > 0
        model.classes_ = model.classes_[present]
        return renumber(target, present)

    def labels(self, model: Any) -> list[str]:
        """The likeliest class of each node."""
        labels = [plain(c) for c in model.classes_.tolist()]
        return [labels[k] for k in model.tree_.value.argmax(axis=1).tolist()]

    def words(self, tree: Tree, node: int) -> str:
        """How many rows a leaf holds, and the share of its class."""
        return f"{tree.n_node_samples[node]} rows, {tree.value[node].max():.0%}"

    def conclusion(self, model: Any, node: int) -> Any:
        """The class that a leaf predicts."""
        return model.classes_.tolist()[int(np.argmax(model.tree_.value[node]))]

    def loss(self, model: Any, tree: Tree, target: np.ndarray) -> Loss:
        """1 for a row whose class is missed."""
        return class_loss(tree, target)

    def held_out(self, model: Any, y: Any) -> np.ndarray:
        """Codes of the classes, -1 for a class that `fit` did not see."""
        labels = column_or_1d(y)
        known = {label: code for code, label in enumerate(model.classes_.tolist())}
        return np.array([known.get(label, -1) for label in labels.tolist()], dtype=np.int32)

    def loss_weights(self, model: Any, target: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        """The weights of the rows times those of their classes."""
        known = target >= 0
        part = None if weights is None else weights[known]
        factors = class_factors(type(model).__name__, model.class_weight, model.classes_, target[known], part)
        if factors is None:
            return weights
        return np.where(known, factors[target], 1.0) * (1.0 if weights is None else weights)


NUMBERS, CLASSES = NumberLeaves(), ClassLeaves()
