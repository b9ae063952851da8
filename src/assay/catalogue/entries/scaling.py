"""Catalogue entries of scaling."""

from __future__ import annotations

from ..entry import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="scale",
        title="Scaling",
        class_path="assay.prepare.Scale",
        task="transform",
        native=("numeric", "nominal", "missing"),
        weights=False,
        probabilities=False,
        simplicity=1,
        fit_cost="n d",
        predict_cost="d",
        explains="what is subtracted from each column, and what it is divided by",
        section="002 ch. 2",
        references=("Hastie, Tibshirani & Friedman, The Elements of Statistical Learning, 2nd ed., 2009, sec. 14.5",),
        summary="Columns of numbers standardised, mapped to [0, 1], or centred at the median; the way back included.",
    ),
)
