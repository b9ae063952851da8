"""Catalogue entries of generalised linear models."""

from __future__ import annotations

from ..entry import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="glm",
        title="Generalised linear model",
        class_path="assay.models.linear.GLM",
        task="regress",
        native=("numeric", "nominal", "sparse"),
        weights=True,
        probabilities=False,
        simplicity=3,
        fit_cost="n d^2 + d^3 per Newton step; a nominal column counts as one",
        predict_cost="d",
        explains="coefficients with standard errors and tests",
        section="000 4.2-4.3; 001",
        references=(
            "McCullagh & Nelder, Generalized Linear Models, 2nd ed., 1989",
            "Nelder & Wedderburn, Generalized linear models, J. Royal Statistical Society A 135, 1972",
            "Lee, Sun & Saunders, Proximal Newton-type methods, SIAM J. Optimization 24, 2014",
        ),
        summary="Counts, amounts, rates and shares: a linear predictor behind a link, with the family's own deviance.",
        shares_folds=True,
    ),
    Entry(
        id="logistic-cv",
        title="Logistic regression, penalty by cross-validation",
        class_path="assay.models.linear.LogisticCV",
        task="classify",
        native=("numeric", "sparse"),
        weights=True,
        probabilities=True,
        simplicity=3,
        fit_cost="folds times penalties times that of logistic, less the warm starts",
        predict_cost="d K",
        explains="coefficients",
        section="000 4.2-4.3; 002",
        references=(
            "Friedman, Hastie & Tibshirani, Regularization paths by coordinate descent, J. Stat. Software 33, 2010",
        ),
        summary="Logistic regression that tries a path of penalties on folds and keeps the best.",
        scales=True,
        shares_folds=True,
    ),
)
