"""Bases of methods that learn from rows alone: clusterings and densities."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClusterMixin, DensityMixin

from .estimator import Estimator, check_weights


class Unsupervised(Estimator):
    """Base of methods without a target."""

    def _begin(self, X: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray | None]:
        """Validated (X, weights or None) for a fit, with every row kept; parameters and cost are checked too."""
        self._check_parameters()
        rows = self._read(X, reset=True)
        weights = check_weights(type(self).__name__, sample_weight, rows.shape[0])
        self._check_table_cost(rows)
        return rows, weights

    def _begin_weighted(self, X: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray | None]:
        """What `_begin` gives, without the rows of weight zero."""
        rows, weights = self._begin(X, sample_weight)
        if weights is not None and not weights.all():
            rows, weights = rows[weights > 0], weights[weights > 0]
        return rows, weights


class Clusterer(ClusterMixin, Unsupervised):
    """Base of clusterings: `fit` sets `labels_`, one whole number per row from 0 on, -1 for noise."""


class DensityEstimator(DensityMixin, Unsupervised):
    """Base of densities: `score_samples` gives log densities of rows, `sample` draws new ones."""

    def score_samples(self, X: Any) -> np.ndarray:
        raise NotImplementedError  # pragma: no cover

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log density of the rows: the held-out log-likelihood per row."""
        return float(self.score_samples(X).mean())
