"""Catalogue entries of discretising."""

from __future__ import annotations

from ..entry import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="discretise",
        title="Discretising",
        class_path="assay.prepare.Discretise",
        task="transform",
        native=("numeric", "nominal", "missing"),
        weights=False,
        probabilities=False,
        simplicity=1,
        fit_cost="n d log n",
        predict_cost="d log b for b intervals",
        explains="the cuts of each column",
        section="001 ch. 2",
        references=(
            "Fayyad & Irani, Multi-interval discretization of continuous-valued attributes, IJCAI 1993",
            "Dougherty, Kohavi & Sahami, Supervised and unsupervised discretization of continuous features, ICML 1995",
        ),
        summary="Numbers as intervals: equal width, equal frequency, k-means, or by entropy and description length.",
    ),
)
