"""Catalogue entries of trees with linear models in the leaves."""

from __future__ import annotations

from ..entry import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="model-tree",
        title="Model tree (M5)",
        class_path="assay.models.trees.ModelTreeRegressor",
        task="regress",
        native=("numeric", "nominal", "missing"),
        weights=True,
        probabilities=False,
        simplicity=5,
        fit_cost="n d log n + n d^2",
        predict_cost="depth + d",
        explains="the tree, the linear model of each leaf, its rules, column importances",
        section="001 ch. 7",
        references=(
            "Quinlan, Learning with Continuous Classes, Australian Joint Conference on AI, 1992",
            "Wang & Witten, Inducing Model Trees for Continuous Classes, ECML 1997",
        ),
        summary="A regression tree with a linear model in every leaf, pruned by expected error and smoothed.",
        shares_folds=True,
    ),
)
