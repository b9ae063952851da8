"""Catalogue entries of trees with linear tests."""

from __future__ import annotations

from ..entry import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="oblique-tree",
        title="Oblique decision tree",
        class_path="assay.models.trees.ObliqueTreeClassifier",
        task="classify",
        native=("numeric", "nominal", "missing"),
        weights=True,
        probabilities=True,
        simplicity=5,
        fit_cost="(n d log n + n d^2) depth",
        predict_cost="depth d",
        explains="the tree with its linear tests, its rules, column importances",
        section="001 ch. 7",
        references=(
            "Murthy, Kasif & Salzberg, A System for Induction of Oblique Decision Trees, JAIR 2, 1994",
            "Loh & Vanichsetakul, Tree-Structured Classification via Generalized Discriminant Analysis, JASA 83, 1988",
            "Breiman, Friedman, Olshen & Stone, Classification and Regression Trees, 1984, sec. 5.2",
        ),
        summary="A binary tree whose tests may be linear in several columns, found by LDA, logistic or search.",
        shares_folds=True,
    ),
)
