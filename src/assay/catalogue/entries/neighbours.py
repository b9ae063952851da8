"""Catalogue entries of the neighbours family."""

from __future__ import annotations

from ..entry import Entry

_REFERENCES = (
    "Cover & Hart, Nearest neighbor pattern classification, IEEE Trans. Information Theory 13, 1967",
    "Gower, A general coefficient of similarity and some of its properties, Biometrics 27, 1971",
)

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="knn-classifier",
        title="k nearest neighbours",
        class_path="assay.models.neighbours.KNNClassifier",
        task="classify",
        native=("numeric", "nominal", "missing"),
        weights=False,
        probabilities=True,
        simplicity=3,
        fit_cost="n d",
        predict_cost="n d; log n for few columns",
        explains="the neighbours that voted",
        section="001 2.1",
        references=_REFERENCES,
        summary="Lets the k most similar training rows vote; exact neighbours, ten distances, four vote rules.",
        shares_folds=True,
        scales=True,
        compared=True,
        preset=(("n_neighbors", "loo"),),
        preset_words="with k by leave-one-out",
    ),
    Entry(
        id="knn-regressor",
        title="k nearest neighbours for regression",
        class_path="assay.models.neighbours.KNNRegressor",
        task="regress",
        native=("numeric", "nominal", "missing"),
        weights=False,
        probabilities=False,
        simplicity=3,
        fit_cost="n d",
        predict_cost="n d; log n for few columns",
        explains="the neighbours that were averaged",
        section="001 2.1",
        references=_REFERENCES,
        summary="Averages the target of the k most similar training rows; exact neighbours, ten distances.",
        multi_output=True,
        shares_folds=True,
        scales=True,
        compared=True,
        preset=(("n_neighbors", "loo"),),
        preset_words="with k by leave-one-out",
    ),
)
