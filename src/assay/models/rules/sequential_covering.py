"""Sequential covering: one rule after the other, each the best that beam search finds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import chdtri

from ... import _kernels
from ...base.cost import Cost
from ...base.parameters import Boolean, Choice, Integer, Nothing, Real, param
from ...base.threads import thread_count
from ._learning import CanonicalTable, RuleSearch

QUALITIES = {"foil": 0, "laplace": 1, "precision": 2, "wracc": 3}
"""Qualities of a rule by name, and the number under which the kernel knows them."""


class SequentialCovering(RuleSearch):
    """Learns rules one at a time: find the best rule for a class, set aside what it covers, look for the next.

    Ordered rules are a decision list, rare classes first and the most frequent one as the default. Unordered rules are
    found for every class against all others, as CN2 does, and vote with their class counts. The search adds one test
    at a time and keeps the `beam_width` best rules of each length; a column offers its best test of each kind (`<=`,
    `>`, `=`, "is missing"). The result depends neither on the order of rows nor on whether a row is repeated or
    weighted.

    Examples
    --------
    >>> from assay.models.rules import SequentialCovering
    >>> X = [["sunny", 30], ["sunny", 20], ["rain", 18], ["rain", 25], ["rain", 24]]
    >>> model = SequentialCovering(prune=False, quality="laplace").fit(X, ["no", "no", "yes", "yes", "yes"])
    >>> print(model.to_text())
    IF x0 = sunny THEN no (2 of 2)
    OTHERWISE yes (3 of 3)
    """

    _learned = {"trace_": "with `trace`, every rule added, with its quality where it was grown"}

    quality: str = param(
        "foil",
        Choice("foil", "laplace", "precision", "wracc"),
        "What the search maximises: information gain times rows (FOIL), Laplace's or the plain share of rows that are "
        "right, or weighted relative accuracy.",
    )
    beam_width: int = param(1, Integer(1), "Rules kept at each length of the search; CN2 takes 5.")
    ordered: bool = param(True, Boolean(), "Decision list in which the first match decides; else rules that vote.")
    prune: bool = param(True, Boolean(), "Cut each rule back on rows held out from its search.")
    min_samples_rule: float = param(
        1, Real(0), "Weight of rows of its class that a rule must keep covering while it grows."
    )
    max_rules: int | None = param(None, Integer(1) | Nothing(), "Rules per class at most; None for no limit.")
    max_p_value: float = param(
        1.0, Real(0, 1, "right"), "Likelihood ratio test of a rule against chance: p-value at most; 1 for no test."
    )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SequentialCovering:
        """Learn the rules class by class."""
        cells, codes, weights = self._begin(X, y, sample_weight)
        threads = thread_count(self.n_jobs)
        table = CanonicalTable(cells, codes, weights, self.schema_, threads)
        grown = _kernels.sequential_covering(
            **table.arguments(self.classes_.shape[0]),
            quality=QUALITIES[self.quality],
            beam_width=self.beam_width,
            ordered=self.ordered,
            prune=self.prune,
            folds=self.folds,
            min_positive=float(self.min_samples_rule),
            max_conditions=self.max_conditions or 0,
            max_rules=self.max_rules or 0,
            significance=float(chdtri(1, self.max_p_value)),
            key=self._stream().key if self.prune else 0,
            threads=threads,
        )
        semantics = "ordered" if self.ordered else "vote"
        self._keep_rules(table.rules(grown, self.classes_.tolist()), cells, codes, weights, semantics)
        self._record(grown, "quality")
        return self

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A search over the rows left for every rule and every rule of the beam; rules grow in number with the rows."""
        cells = float(n_rows) * n_features
        rules = 2 * float(np.sqrt(n_rows))
        return Cost(seconds=1e-8 * cells * self.beam_width * rules, bytes=24.0 * cells + 64.0 * n_rows)
