"""Catalogue entries of the rules family."""

from __future__ import annotations

from ..entry import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="rules-from-tree",
        title="Rules from a tree",
        class_path="assay.models.rules.RulesFromTree",
        task="classify",
        native=("numeric", "nominal", "missing"),
        weights=True,
        probabilities=True,
        simplicity=4,
        fit_cost="n d log n + n leaves",
        predict_cost="rules",
        explains="IF-THEN rules with support and confidence",
        section="001 ch. 7",
        references=("Quinlan, C4.5: Programs for Machine Learning, 1993, ch. 5",),
        summary="One rule per leaf of a tree, each generalised on its own, then the shortest set of them.",
    ),
    Entry(
        id="sequential-covering",
        title="Sequential covering (CN2, PRISM)",
        class_path="assay.models.rules.SequentialCovering",
        task="classify",
        native=("numeric", "nominal", "missing"),
        weights=True,
        probabilities=True,
        simplicity=4,
        fit_cost="n d rules",
        predict_cost="rules",
        explains="IF-THEN rules with support and confidence",
        section="001 ch. 8",
        references=(
            "Clark & Niblett, The CN2 induction algorithm, Machine Learning 3, 1989",
            "Clark & Boswell, Rule induction with CN2: some recent improvements, EWSL 1991",
            "Cendrowska, PRISM: an algorithm for inducing modular rules, Int. J. Man-Machine Studies 27, 1987",
        ),
        summary="One rule after the other by greedy or beam search, as a decision list or as rules that vote.",
    ),
    Entry(
        id="ripper",
        title="RIPPER",
        class_path="assay.models.rules.Ripper",
        task="classify",
        native=("numeric", "nominal", "missing"),
        weights=True,
        probabilities=True,
        simplicity=4,
        fit_cost="n d rules",
        predict_cost="rules",
        explains="IF-THEN rules with support and confidence",
        section="001 ch. 8",
        references=(
            "Cohen, Fast effective rule induction, ICML 1995",
            "Quinlan & Cameron-Jones, FOIL: a midterm report, ECML 1993",
            "Quinlan, MDL and categorical theories (continued), ICML 1995",
        ),
        summary="A short decision list: rules grown, pruned on held-out rows and optimised by description length.",
    ),
)
