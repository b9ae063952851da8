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
    ),
)
