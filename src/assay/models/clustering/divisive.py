"""Divisive hierarchical clustering: all rows are one cluster, which is split step by step."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _kernels
from ...base import Choice, Cost, Integer, Stream, n_jobs_param, param, random_state_param, thread_count
from ...base.columns import renumber_by_first
from ...numeric.distances import get
from .k_means import CentreClusterer, KMeans, means_of_groups


class Divisive(CentreClusterer):
    """Splits the widest cluster in two until there are `n_clusters`.

    `method="2-means"` splits the cluster with the largest sum of squared distances by k-means (bisecting k-means);
    `method="diana"` splits the cluster with the largest diameter: the row farthest from the others on average starts a
    splinter group, and rows that are nearer to it than to those that stay follow (Kaufman & Rousseeuw, 1990, ch. 6).

    Attributes
    ----------
    labels_, cluster_centers_, splits_ (the cluster split at each step)

    Examples
    --------
    >>> from assay.models.clustering import Divisive
    >>> Divisive(3, random_state=0).fit([[0.0], [0.1], [5.0], [5.2], [9.0], [9.1]]).labels_
    array([0, 0, 1, 1, 2, 2], dtype=int32)
    """

    _way_out = "use method='2-means', which needs no distance matrix"

    method: str = param("2-means", Choice("2-means", "diana"), "How a cluster is split.")
    n_init: int = param(3, Integer(1), "Restarts of each split by 2-means.")
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A few passes for each level of splits; all pairs of rows for DIANA."""
        if self.method == "diana":
            return Cost(seconds=1e-8 * float(n_rows) ** 2, bytes=8.0 * float(n_rows) ** 2)
        return Cost(seconds=2e-8 * n_rows * n_features * self.n_clusters, bytes=n_rows * (16.0 * n_features + 60.0))

    def fit(self, X: Any, y: Any = None) -> Divisive:
        """Split the rows; `y` is not used."""
        rows, _ = self._begin(X)
        self._require_rows(rows.shape[0])
        threads, stream = thread_count(self.n_jobs), self._stream()
        square = None
        if self.method == "diana":
            square = _kernels.distance_square(rows, get("euclidean").code, 2.0, False, threads)
        labels = np.zeros(rows.shape[0], dtype=np.int64)
        widths = [self._width(rows, square, np.arange(rows.shape[0]))]
        self.splits_ = []
        for step in range(1, self.n_clusters):
            widest = int(np.argmax(widths))
            if widths[widest] <= 0.0:
                break
            members = np.flatnonzero(labels == widest)
            away = self._split(rows, square, members, stream.child(step))
            labels[members[away]] = step
            widths[widest] = self._width(rows, square, members[~away])
            widths.append(self._width(rows, square, members[away]))
            self.splits_.append(widest)
        self.labels_ = renumber_by_first(labels)
        self.cluster_centers_ = means_of_groups(rows, self.labels_, None, int(self.labels_.max()) + 1)
        return self

    @staticmethod
    def _width(rows: np.ndarray, square: np.ndarray | None, members: np.ndarray) -> float:
        if square is not None:
            return float(square[np.ix_(members, members)].max())
        own = rows[members]
        return float(((own - own.mean(axis=0)) ** 2).sum()) if (own != own[0]).any() else 0.0

    def _split(self, rows: np.ndarray, square: np.ndarray | None, members: np.ndarray, stream: Stream) -> np.ndarray:
        """Which members leave."""
        if square is None:
            model = KMeans(2, n_init=self.n_init, random_state=stream.generator(), n_jobs=self.n_jobs)
            return model.fit(rows[members]).labels_ == 1
        inner = square[np.ix_(members, members)]
        m = members.shape[0]
        away = np.zeros(m, dtype=bool)
        to_stay, to_away = inner.sum(axis=1), np.zeros(m)
        while (~away).sum() > 1:
            stay = int((~away).sum())
            gain = to_stay / (stay - 1) - (to_away / max(m - stay, 1))
            gain[away] = -np.inf
            leaves = int(np.argmax(gain))
            if away.any() and gain[leaves] <= 0.0:
                break
            away[leaves] = True
            to_stay -= inner[:, leaves]
            to_away += inner[:, leaves]
        return away
