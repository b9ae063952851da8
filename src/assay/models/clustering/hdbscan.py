"""HDBSCAN: the clusters that live longest while the density rises."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base import Boolean, Choice, Clusterer, Cost, Integer, Nothing, n_jobs_param, param, thread_count
from ...numeric.distances import get
from ...numeric.neighbours import NeighbourIndex
from .hierarchical import MOST_BOXED
from .views import Clusters, clusters_view

_LISTED = 1 << 17


class HDBSCAN(Clusterer):
    """Hierarchical density-based clustering: DBSCAN for every radius, and the clusters that last longest.

    Single linkage on mutual reachability distances, max(d(x, y), core(x), core(y)), where core(x) is the distance to
    the
    `min_samples`-th nearest row, itself counted; the hierarchy is condensed to splits into parts of at least
    `min_cluster_size` rows. Mutual reachability has many equal distances, and so several minimum spanning trees, of
    which `merges_` lists one, by distance and then by row numbers. Merges of one distance are taken as one split into
    as many parts, so clusters, probabilities and stabilities are the same for every such tree and every order of the
    rows, and no cluster is born and dies at one distance. Clusters are numbered from the root down, by first row.

    Attributes
    ----------
    labels_ (-1 is noise), probabilities_, stabilities_, merges_

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.clustering import HDBSCAN
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 0.1, (30, 2)), rng.normal(2, 0.3, (30, 2)), [[9.0, -9.0]]])
    >>> model = HDBSCAN(min_cluster_size=10).fit(X)
    >>> np.unique(model.labels_), model.labels_[-1]
    (array([-1,  0,  1], dtype=int32), np.int32(-1))
    """

    _squares = True
    _first = "min_cluster_size"

    min_cluster_size: int = param(5, Integer(2), "Fewest rows of a cluster.")
    min_samples: int | None = param(
        None, Integer(1) | Nothing(), "Rows that make a row core; None for min_cluster_size."
    )
    metric: str = param("euclidean", Choice("euclidean", "manhattan", "chebyshev"), "Distance between rows.")
    cluster_selection_method: str = param(
        "eom", Choice("eom", "leaf"), "Clusters of the largest stability ('eom'), or those without clusters below."
    )
    allow_single_cluster: bool = param(False, Boolean(), "Whether all rows may be one cluster.")
    n_jobs: int | None = n_jobs_param()

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A tree for few columns; from nine columns on every pair of rows."""
        seen = min(float(n_rows), 200.0 * 2.0 ** min(n_features, 40))
        core = self.min_samples or self.min_cluster_size
        return Cost(seconds=4e-10 * n_rows * seen * n_features, bytes=n_rows * (24.0 * n_features + 16.0 * core + 150))

    def fit(self, X: Any, y: Any = None) -> HDBSCAN:
        """Build the hierarchy and choose its clusters; `y` is not used."""
        rows, _ = self._begin(X)
        n, threads = rows.shape[0], thread_count(self.n_jobs)
        if n == 1:
            self.labels_, self.probabilities_ = np.full(1, -1, dtype=np.int32), np.zeros(1)
            self.stabilities_, self.merges_ = np.empty(0), np.empty((0, 4))
            return self
        distance = get(self.metric)
        count = min(self.min_samples or self.min_cluster_size, n)
        core = _core_distances(NeighbourIndex(rows, distance, threads=threads), rows, count, threads)
        boxes = self.metric == "euclidean" and rows.shape[1] <= MOST_BOXED
        self.merges_ = _kernels.spanning_hierarchy(rows, core, distance.code, 2.0, boxes, threads)
        leaves = self.cluster_selection_method == "leaf"
        found = _kernels.hdbscan_labels(self.merges_, self.min_cluster_size, leaves, self.allow_single_cluster)
        self.labels_, self.probabilities_, self.stabilities_ = found
        return self

    def view(self) -> Clusters:
        """Sizes of the clusters, and how many rows are noise."""
        check_is_fitted(self)
        return clusters_view(self)


def _core_distances(index: NeighbourIndex, rows: np.ndarray, count: int, threads: int) -> np.ndarray:
    """The distance of each row to its `count`-th neighbour, some rows at a time: all the lists would be many tables."""
    step = max(1024, _LISTED // count)
    core = np.empty(rows.shape[0])
    for begin in range(0, rows.shape[0], step):
        core[begin : begin + step] = index.nearest(rows[begin : begin + step], count, threads)[1][:, -1]
    return core
