"""Catalogue entries of constructed columns."""

from __future__ import annotations

from ..entry import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="polynomial",
        title="Polynomial and basis functions",
        class_path="assay.prepare.Polynomial",
        task="transform",
        native=("numeric", "nominal", "missing"),
        weights=False,
        probabilities=False,
        simplicity=1,
        fit_cost="d^k for degree k",
        predict_cost="d^k",
        explains="the exponents of every monomial",
        section="002 ch. 2",
        references=("Hastie, Tibshirani & Friedman, The Elements of Statistical Learning, 2nd ed., 2009, ch. 5",),
        summary="All monomials up to a degree, basis functions of each column, and combinations of each two.",
    ),
    Entry(
        id="formula",
        title="Formulas by name",
        class_path="assay.prepare.Formula",
        task="transform",
        native=("numeric", "nominal", "missing"),
        weights=False,
        probabilities=False,
        simplicity=1,
        fit_cost="length of the formulas",
        predict_cost="length of the formulas",
        explains="the formulas as written",
        section="002 ch. 2",
        references=("Aho, Lam, Sethi & Ullman, Compilers, 2nd ed., 2006, sec. 4.4 (recursive descent)",),
        summary="New columns by formulas in a small safe language: roi = (gain - cost) / cost.",
    ),
)
