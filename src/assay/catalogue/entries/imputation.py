"""Catalogue entries of multiple imputation."""

from __future__ import annotations

from ..entry import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="impute-multiple",
        title="Multiple imputation",
        class_path="assay.prepare.ImputeMultiple",
        task="transform",
        native=("numeric", "nominal", "missing"),
        weights=False,
        probabilities=False,
        simplicity=4,
        fit_cost="m sweeps (missing cells) d^2",
        predict_cost="m sweeps (missing cells) d",
        explains="the model that fills each column; paths of the chains and R-hat",
        section="002 ch. 2",
        references=(
            "van Buuren & Groothuis-Oudshoorn, mice: multivariate imputation by chained equations in R, Journal of "
            "Statistical Software 45(3), 2011",
            "Rubin, Multiple Imputation for Nonresponse in Surveys, 1987",
        ),
        summary="Missing cells drawn several times given the rest of the row (chained equations); answers are pooled.",
    ),
)
