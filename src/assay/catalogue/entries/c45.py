"""Catalogue entries of trees with a branch per category."""

from __future__ import annotations

from ..entry import Entry

_C45 = "Quinlan, C4.5: Programs for Machine Learning, 1993"

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="c45",
        title="Decision tree (C4.5)",
        class_path="assay.models.trees.C45Classifier",
        task="classify",
        native=("numeric", "nominal", "missing"),
        weights=True,
        probabilities=True,
        simplicity=4,
        fit_cost="n d log n",
        predict_cost="depth",
        explains="the tree, its rules, column importances",
        section="001 ch. 7",
        references=(_C45, "Quinlan, Journal of Artificial Intelligence Research 4, 1996"),
        summary="A tree with a branch per category by gain ratio, fractional rows where cells are missing, pruned.",
        shares_folds=True,
    ),
    Entry(
        id="id3",
        title="Decision tree (ID3)",
        class_path="assay.models.trees.ID3Classifier",
        task="classify",
        native=("numeric", "nominal", "missing"),
        weights=True,
        probabilities=True,
        simplicity=4,
        fit_cost="n d log n",
        predict_cost="depth",
        explains="the tree, its rules, column importances",
        section="001 ch. 7",
        references=("Quinlan, Machine Learning 1, 1986", _C45),
        summary="A tree with a branch per category by information gain, grown to the end.",
        shares_folds=True,
    ),
)
