"""Catalogue entries of the linear family."""

from __future__ import annotations

from ..entry import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="least-squares",
        title="Least squares",
        class_path="assay.models.linear.LeastSquares",
        task="regress",
        native=("numeric",),
        weights=True,
        probabilities=False,
        simplicity=2,
        fit_cost="n d^2 + d^3",
        predict_cost="n d",
        explains="coefficients with standard errors, tests and intervals",
        section="000 ch. 3; 001 ch. 4",
        references=(
            "Björck, Numerical Methods for Least Squares Problems, SIAM, 1996",
            "Draper & Smith, Applied Regression Analysis, 3rd ed., 1998",
        ),
        summary="Linear regression with standard errors, tests and intervals, to the last digit the data hold.",
        shares_folds=True,
    ),
    Entry(
        id="ridge",
        title="Ridge regression",
        class_path="assay.models.linear.Ridge",
        task="regress",
        native=("numeric",),
        weights=True,
        probabilities=False,
        simplicity=2,
        fit_cost="n d^2 + d^3",
        predict_cost="n d",
        explains="coefficients",
        section="000 ch. 3; 002",
        references=("Hoerl & Kennard, Ridge regression, Technometrics 12, 1970",),
        summary="Linear regression with a squared penalty that keeps coefficients small; in closed form.",
        multi_output=True,
        shares_folds=True,
        scales=True,
    ),
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
