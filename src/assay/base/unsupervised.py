"""Bases of methods that learn from rows alone: clusterings and densities."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClusterMixin, DensityMixin, OutlierMixin

from .batches import BatchedTable
from .errors import ParameterError, plain
from .estimator import Estimator, check_weights
from .parameters import Integer


class Unsupervised(Estimator):
    """Base of methods without a target."""

    def _begin(self, X: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray | None]:
        """Validated (X, weights or None) for a fit, with every row kept; parameters and cost are checked too."""
        self._check_parameters()
        rows: Any = self._read_batches(X) if isinstance(X, BatchedTable) else self._read(X, reset=True)
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


class Detector(OutlierMixin, Unsupervised):
    """Base of detectors of rows unlike the others: `predict` gives 1 inside and -1 outside, by the sign of
    `decision_function`, which is `score_samples` less `offset_`."""


class DensityEstimator(DensityMixin, Unsupervised):
    """Base of densities: `score_samples` gives log densities of rows, `sample` draws new ones."""

    def score_samples(self, X: Any) -> np.ndarray:
        raise NotImplementedError  # pragma: no cover

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log density of the rows: the held-out log-likelihood per row."""
        return float(self.score_samples(X).mean())

    def anomaly_score(self, X: Any) -> np.ndarray:
        """How strange each row is: minus its log density."""
        return -self.score_samples(X)

    def anomaly_threshold(self, X: Any, share: float = 0.01) -> float:
        """The anomaly score that at most this share of the rows of X exceeds; rows above it are called anomalies.

        Take rows that were not fitted: a fitted row is never strange to itself.
        """
        if not 0 <= share <= 1:
            raise ParameterError(
                type(self).__name__, "parameter 'share'", "must be between 0 and 1", f"got {plain(repr(share))}"
            )
        return float(np.quantile(self.anomaly_score(X), 1.0 - share, method="higher"))

    def is_anomaly(self, X: Any, threshold: float) -> np.ndarray:
        """Whether the anomaly score of each row is above the threshold (see `anomaly_threshold`)."""
        return self.anomaly_score(X) > threshold


def check_count(who: str, n_samples: Any, name: str = "n_samples") -> int:
    """The number of rows to draw (or of what `name` says), refused in one sentence unless it is a whole number >= 1.

    >>> check_count("sample", 3)
    3
    """
    if not Integer(1).accepts(n_samples):
        raise ParameterError(who, name, "must be an integer >= 1", f"got {plain(repr(n_samples))}")
    return int(n_samples)
