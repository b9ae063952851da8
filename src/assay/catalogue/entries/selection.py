"""Catalogue entries of column selection."""

from __future__ import annotations

from ..entry import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="select-forward",
        title="Forward selection",
        class_path="assay.prepare.ForwardSelector",
        task="transform",
        native=("numeric",),
        weights=True,
        probabilities=False,
        simplicity=2,
        fit_cost="n d^2 + K d s^2 for s of d columns and K folds",
        predict_cost="s",
        explains="the chosen columns in order of entry, with the criterion of every size",
        section="000 ch. 3",
        references=(
            "Miller, Subset Selection in Regression, 2nd ed., 2002",
            "Goodnight, A tutorial on the SWEEP operator, The American Statistician 33, 1979",
            "Pudil, Novovičová & Kittler, Floating search methods in feature selection, Pattern Recogn. Lett. 15, 1994",
        ),
        summary="Columns for a linear model, taken in one by one; every candidate scored from one Gram sweep.",
    ),
    Entry(
        id="select-backward",
        title="Backward elimination",
        class_path="assay.prepare.BackwardSelector",
        task="transform",
        native=("numeric",),
        weights=True,
        probabilities=False,
        simplicity=2,
        fit_cost="n d^2 + K d^3 for K folds",
        predict_cost="s",
        explains="the columns in order of removal, with the criterion of every size",
        section="000 ch. 3",
        references=(
            "Miller, Subset Selection in Regression, 2nd ed., 2002",
            "Pudil, Novovičová & Kittler, Floating search methods in feature selection, Pattern Recogn. Lett. 15, 1994",
        ),
        summary="Columns for a linear model, taken out one by one; every removal scored from one inverse.",
    ),
    Entry(
        id="select-exhaustive",
        title="Best subset",
        class_path="assay.prepare.ExhaustiveSelector",
        task="transform",
        native=("numeric",),
        weights=True,
        probabilities=False,
        simplicity=3,
        fit_cost="n d^2 + nodes d^3, at worst 2^d nodes",
        predict_cost="s",
        explains="the best subset of every size, with its criterion",
        section="000 ch. 3",
        references=(
            "Furnival & Wilson, Regressions by leaps and bounds, Technometrics 16, 1974",
            "Gatu & Kontoghiorghes, Branch-and-bound algorithms for computing the best-subset regression models, "
            "J. Comput. Graph. Stat. 15, 2006",
        ),
        summary="The best columns for a linear model among all subsets of each size, exactly, by leaps and bounds.",
    ),
)
