"""RIPPER: rules grown, pruned and optimised class by class."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _kernels
from ...base.cost import Cost
from ...base.parameters import Boolean, Integer, Real, param
from ...base.threads import thread_count
from ._learning import CanonicalTable, RuleSearch


class Ripper(RuleSearch):
    """Learns a short ordered list of rules, rare classes first and the most frequent one as the default.

    For each class in turn, a rule is grown on part of the rows by the test that brings most information about the
    class, then cut back on the rest; rules are added while that shortens the description of the data. In optimisation
    passes each rule is set against a replacement and a revision. A test is `<=` or `>` for numeric columns, `=` for
    nominal ones, or "is missing"; other tests fail on missing cells. The result depends neither on the
    order of rows nor on whether a row is repeated or weighted.

    Examples
    --------
    >>> from assay.models.rules import Ripper
    >>> X = [[age, age % 5] for age in range(40)]
    >>> model = Ripper(random_state=0).fit(X, ["old" if age >= 27 else "young" for age in range(40)])
    >>> print(model.to_text())
    IF x0 > 26 THEN old (13 of 13)
    OTHERWISE young (27 of 27)
    """

    _learned = {
        "trace_": "with `trace`, every rule added, deleted, replaced or revised, and the bits of description after it"
    }

    optimisation_passes: int = param(2, Integer(0), "Passes in which each rule competes with two others.")
    prune: bool = param(True, Boolean(), "Cut rules back on rows held out from growing; else grow on all rows.")
    min_samples_rule: float = param(
        2, Real(0), "Weight of rows of its class that a rule must keep covering while it grows."
    )
    check_error: bool = param(True, Boolean(), "Stop at a rule that is wrong on half of the rows it takes, or more.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Ripper:
        """Learn the rules of each class but the most frequent."""
        cells, codes, weights = self._begin(X, y, sample_weight)
        threads = thread_count(self.n_jobs)
        table = CanonicalTable(cells, codes, weights, self.schema_, threads)
        grown = _kernels.ripper(
            **table.arguments(self.classes_.shape[0]),
            folds=self.folds,
            min_positive=float(self.min_samples_rule),
            optimisations=self.optimisation_passes,
            max_conditions=self.max_conditions or 0,
            prune=self.prune,
            check_error=self.check_error,
            key=self._stream().key,
            threads=threads,
        )
        self._keep_rules(table.rules(grown, self.classes_.tolist()), cells, codes, weights)
        self._record(grown, "bits")
        return self

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A search over the rows left for every rule grown; the number of rules grows slowly with the rows."""
        cells = float(n_rows) * n_features
        grown = (1 + 2 * self.optimisation_passes) * np.log2(n_rows + 2.0)
        return Cost(seconds=1e-8 * cells * grown, bytes=24.0 * cells + 64.0 * n_rows)
