"""Catalogue entries of the bayes family."""

from __future__ import annotations

from ..entry import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="naive-bayes",
        title="Naive Bayes",
        class_path="assay.models.bayes.NaiveBayes",
        task="classify",
        native=("numeric", "nominal", "missing"),
        weights=True,
        probabilities=True,
        simplicity=2,
        fit_cost="n d",
        predict_cost="d classes",
        explains="class priors and one distribution per class and column",
        section="003; 004 ch. 4",
        references=(
            "Hastie, Tibshirani & Friedman, The Elements of Statistical Learning, 2nd ed., 2009, sec. 6.6.3",
            "Manning, Raghavan & Schütze, Introduction to Information Retrieval, 2008, ch. 13",
        ),
        summary="Bayes' rule with columns independent given the class, each with the distribution of its role.",
        incremental=True,
        shares_folds=True,
        compared=True,
    ),
)
