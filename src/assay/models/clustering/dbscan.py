"""DBSCAN: clusters are dense regions; rows in thin regions are noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base import Choice, Clusterer, Cost, Integer, ParameterError, Real, n_jobs_param, param, thread_count
from ...base.chart import Chart, Line, Mark
from ...base.record import Grid, Record
from ...base.words import number
from ...numeric.distances import get
from ...numeric.neighbours import NeighbourIndex
from .views import Clusters, clusters_view


class DBSCAN(Clusterer):
    """Density-based clustering: core rows have `min_samples` rows (themselves among them) within `eps`.

    Core rows within `eps` of each other share a cluster; a row near a core row is a border row and takes the smallest
    label among the core rows near it; every other row is noise (-1). Clusters are numbered by their first core row. At
    most the short neighbour lists of rows that are not core are kept, never longer than the table, so memory grows with
    the rows alone. `eps="auto"` reads it off the k-distance curve.

    Attributes
    ----------
    labels_, core_sample_indices_, eps_

    Examples
    --------
    >>> from assay.models.clustering import DBSCAN
    >>> DBSCAN(eps=1.5, min_samples=2).fit([[1.0], [2.0], [3.0], [8.0], [9.0], [30.0]]).labels_
    array([ 0,  0,  0,  1,  1, -1], dtype=int32)
    """

    _squares = True

    eps: Any = param(
        0.5, Real(0, None, "neither") | Choice("auto"), "Largest distance of neighbours; 'auto' reads it off the data."
    )
    min_samples: int = param(5, Integer(1), "Weight of the rows within eps that makes a row core.")
    metric: str = param("euclidean", Choice("euclidean", "manhattan", "chebyshev"), "Distance between rows.")
    n_jobs: int | None = n_jobs_param()

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A tree for few columns; from ten columns on every pair of rows."""
        seen = min(float(n_rows), 100.0 * 2.0 ** min(n_features, 40))
        return Cost(seconds=2e-10 * n_rows * seen * n_features, bytes=n_rows * (24.0 * n_features + 60.0))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DBSCAN:
        """Find core rows and clusters; `y` is not used."""
        rows, weights = self._begin(X, sample_weight)
        threads = thread_count(self.n_jobs)
        distance = get(self.metric)
        auto = self.eps == "auto"
        self.eps_ = k_distances(rows, self.min_samples, metric=self.metric).eps if auto else float(self.eps)
        reach = distance.reduce_radius(self.eps_)
        labels, core = _kernels.dbscan(rows, weights, distance.code, reach, float(self.min_samples), threads)
        self.labels_ = labels
        self.core_sample_indices_ = np.flatnonzero(core)
        return self

    def chosen(self) -> dict[str, int | float | str]:
        """The radius, where it was read off the data."""
        return {"eps": self.eps_} if self.eps == "auto" else {}

    def view(self) -> Clusters:
        """Sizes of the clusters, and how many rows are noise."""
        check_is_fitted(self)
        return clusters_view(self)


@dataclass(frozen=True)
class KDistances(Record):
    """Distances of rows to their k-th nearest row, from the largest to the smallest, and where the curve turns up."""

    k: int
    distances: tuple[float, ...]
    eps: float
    sentence: str

    def chart(self) -> Chart:
        """The curve and eps."""
        ranks = np.linspace(0, len(self.distances) - 1, min(400, len(self.distances))).astype(int)
        line = Line(ranks.tolist(), [self.distances[r] for r in ranks])
        mark = Mark(y=self.eps, label=f"eps = {number(self.eps)}", token="warm")
        return Chart("k-distance curve", "rows, farthest first", f"distance to neighbour {self.k}", (line,), (mark,))

    def grid(self) -> Grid:
        """Some points of the curve."""
        return self.chart().grid(20)


def k_distances(X: Any, min_samples: int = 5, *, metric: str = "euclidean", n_jobs: int | None = None) -> KDistances:
    """The k-distance curve of DBSCAN, with k = min_samples - 1 other rows, and eps where it turns up to outliers.

    Rows in dense regions have alike distances; eps is the largest one that is no outlier: at most the upper quartile
    plus
    one and a half times the range between the quartiles, of logarithms.

    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 0.1, (50, 2)), rng.normal(3, 0.1, (50, 2)), [[9.0, 9.0]]])
    >>> 0.05 < k_distances(X, 4).eps < 0.5
    True
    """
    rows = np.ascontiguousarray(np.asarray(X, dtype=np.float64))
    if min_samples < 1 or rows.ndim != 2:
        raise ParameterError("k_distances", "parameter 'min_samples'", "must be an integer >= 1", f"got {min_samples}")
    k = min(max(min_samples - 1, 1), max(rows.shape[0] - 1, 1))
    if rows.shape[0] < 2:
        return KDistances(k, (0.0,), 1.0, "One row has no neighbours.")
    index = NeighbourIndex(rows, get(metric), threads=thread_count(n_jobs))
    curve = np.sort(index.nearest_to_itself(k, thread_count(n_jobs))[1][:, -1])[::-1]
    logs = np.log(curve[curve > 0])
    eps = 1.0
    if logs.size:
        low, high = np.quantile(logs, [0.25, 0.75])
        eps = float(np.exp(logs[logs <= high + 1.5 * (high - low) + 1e-12].max()))
    text = f"The curve of distances to neighbour {k} turns up at eps = {number(eps)}."
    return KDistances(k, tuple(curve.tolist()), eps, text)
