"""Catalogue entries of the linear family."""

from __future__ import annotations

from ..entry import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="logistic",
        title="Logistic regression",
        class_path="assay.models.linear.LogisticRegression",
        task="classify",
        native=("numeric",),
        weights=True,
        probabilities=True,
        simplicity=3,
        fit_cost="n d^2 (K^2 for K > 2 classes) per Newton step",
        predict_cost="d K",
        explains="coefficients",
        section="000 4.2-4.3",
        references=(
            "Hastie, Tibshirani & Friedman, The Elements of Statistical Learning, 2nd ed., 2009, section 4.4",
            "Nocedal & Wright, Numerical Optimization, 2nd ed., 2006, ch. 3 and 7",
        ),
        summary="Linear log odds for two classes, softmax for more; maximum likelihood with an L2 penalty or none.",
        shares_folds=True,
        scales=True,
    ),
)
