"""Catalogue entries of the trees family."""

from __future__ import annotations

from ..entry import Entry

_CART = "Breiman, Friedman, Olshen & Stone, Classification and Regression Trees, 1984"

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="cart-classifier",
        title="Decision tree (CART)",
        class_path="assay.models.trees.CartClassifier",
        task="classify",
        native=("numeric", "nominal", "missing"),
        weights=True,
        probabilities=True,
        simplicity=4,
        fit_cost="n d log n",
        predict_cost="depth",
        explains="the tree, its rules, column importances",
        section="001 ch. 7",
        references=(_CART, "Coppersmith, Hong & Hosking, Data Mining and Knowledge Discovery 3, 1999"),
        summary="A binary tree of tests on one column each, by exact search for the largest decrease of impurity.",
        shares_folds=True,
        compared=True,
        preset=(("ccp_alpha", "cv"),),
        preset_words="pruned by cross-validation",
    ),
    Entry(
        id="cart-regressor",
        title="Regression tree (CART)",
        class_path="assay.models.trees.CartRegressor",
        task="regress",
        native=("numeric", "nominal", "missing"),
        weights=True,
        probabilities=False,
        simplicity=4,
        fit_cost="n d log n",
        predict_cost="depth",
        explains="the tree, its rules, column importances",
        section="001 ch. 7",
        references=(_CART, "Fisher, Journal of the American Statistical Association 53, 1958"),
        summary="A binary tree of tests on one column each, predicting the mean, median or midrange of its leaf.",
        multi_output=True,
        shares_folds=True,
        compared=True,
        preset=(("ccp_alpha", "cv"),),
        preset_words="pruned by cross-validation",
    ),
)
