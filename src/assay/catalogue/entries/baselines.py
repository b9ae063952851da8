"""Catalogue entries of the baselines family."""

from __future__ import annotations

from ..entry import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="zero-r",
        title="ZeroR",
        class_path="assay.models.baselines.ZeroRClassifier",
        task="classify",
        native=("numeric", "nominal", "missing", "sparse"),
        weights=True,
        probabilities=True,
        simplicity=1,
        fit_cost="n",
        predict_cost="1",
        explains="class shares",
        section="001 ch. 8",
        references=("Witten, Frank & Hall, Data Mining, 3rd ed., 2011, ch. 11",),
        summary="Predicts the most frequent class, whatever the row: the score any model must beat.",
        compared=True,
    ),
    Entry(
        id="zero-r-regressor",
        title="ZeroR for regression",
        class_path="assay.models.baselines.ZeroRRegressor",
        task="regress",
        native=("numeric", "nominal", "missing", "sparse"),
        weights=True,
        probabilities=False,
        simplicity=1,
        fit_cost="n",
        predict_cost="1",
        explains="the mean or median",
        section="001 ch. 8",
        references=("Witten, Frank & Hall, Data Mining, 3rd ed., 2011, ch. 11",),
        summary="Predicts the mean (or median) of the target, whatever the row: the score any model must beat.",
        compared=True,
    ),
    Entry(
        id="one-r",
        title="OneR",
        class_path="assay.models.baselines.OneRClassifier",
        task="classify",
        native=("numeric", "nominal", "missing"),
        weights=True,
        probabilities=True,
        simplicity=2,
        fit_cost="n d log n",
        predict_cost="log n",
        explains="a rule on one column",
        section="001 ch. 8",
        references=(
            "Holte, Very simple classification rules perform well on most commonly used datasets, "
            "Machine Learning 11, 1993",
        ),
        summary="The best rule that looks at one column; numeric columns are cut into intervals inside.",
        compared=True,
    ),
)
