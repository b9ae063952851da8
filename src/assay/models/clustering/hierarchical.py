"""Agglomerative hierarchical clustering: the nearest clusters are joined, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.columns import renumber_by_first
from ...base.cost import Cost
from ...base.errors import DataError, ParameterError
from ...base.parameters import Choice, Integer, Nothing, Real, param
from ...base.threads import thread_count
from ...base.unsupervised import Clusterer
from ...base.usual_parameters import n_jobs_param
from ...numeric.distances import get
from .views import Dendrogram

LINKAGES = ("ward", "single", "complete", "average", "weighted", "centroid", "median")
_CODES = {"complete": 0, "average": 1, "weighted": 2, "centroid": 3, "median": 4, "single": 5}
# Of rows these make a line of distances when it is first looked at; at most half of the square is ever kept.
_CHAINED = ("complete", "average", "weighted")
# Up to so many columns the boxes of a tree find spanning trees faster than a sweep over all rows.
MOST_BOXED = 8
# Up to so many rows the sweep is faster all the same.
_SWEPT = 1024


def cut_merges(merges: np.ndarray, n_clusters: int | None = None, height: float | None = None) -> np.ndarray:
    """Labels after the first merges: until `n_clusters` are left, or all of those at most as high as `height`.

    Clusters are numbered by their first row. With inversions the merges at most as high as `height` are those before
    the
    first one that is higher.

    >>> merges = np.array([[0.0, 1.0, 1.0, 2.0], [2.0, 3.0, 5.0, 3.0]])
    >>> cut_merges(merges, n_clusters=2), cut_merges(merges, height=9.0)
    (array([0, 0, 1], dtype=int32), array([0, 0, 0], dtype=int32))
    """
    n = merges.shape[0] + 1
    if height is not None:
        above = np.flatnonzero(merges[:, 2] > height)
        taken = int(above[0]) if above.size else n - 1
    else:
        taken = n - int(n_clusters or 1)
    # Each cluster belongs to the one it went into, and that to the one it went into, ... in doubling strides.
    owner = np.arange(2 * n - 1)
    owner[merges[:taken, :2].astype(np.int64)] = (n + np.arange(taken))[:, None]
    while not np.array_equal(higher := owner[owner], owner):
        owner = higher
    return renumber_by_first(owner[:n])


class Hierarchical(Clusterer):
    """Joins the two nearest clusters until one is left; cut by number or by height.

    Single linkage comes from a minimum spanning tree and Ward's from the clusters' means, both without a distance
    matrix; the others need n x n distances, which `fit` says before it starts (complete, average and weighted
    linkage at most half of them, and a fifth on most tables). Of equally near clusters the one with the smaller
    number is joined first.

    Attributes
    ----------
    labels_, merges_ (rows of two clusters, height, size, as in SciPy), heights_

    Examples
    --------
    >>> from assay.models.clustering import Hierarchical
    >>> model = Hierarchical(2, linkage="average").fit([[0.0], [1.0], [5.0], [7.0]])
    >>> model.labels_, model.merges_[:, 2]
    (array([0, 0, 1, 1], dtype=int32), array([1. , 2. , 5.5]))
    """

    _first = "n_clusters"
    _squares = True
    _way_out = "use linkage='ward' or 'single', which need no distance matrix, or k-means"

    n_clusters: int | None = param(2, Integer(1) | Nothing(), "Clusters to cut into; None to cut by height.")
    linkage: str = param("ward", Choice(*LINKAGES), "Distance between clusters.")
    metric: str = param(
        "euclidean",
        Choice("euclidean", "manhattan", "chebyshev", "minkowski", "cosine", "mahalanobis", "precomputed"),
        "Distance between rows; 'precomputed' if X holds the distances.",
    )
    p: float = param(2.0, Real(1), "Power of the Minkowski distance.")
    distance_threshold: float | None = param(None, Real(0) | Nothing(), "Height to cut at, if n_clusters is None.")
    n_jobs: int | None = n_jobs_param()

    def _needs_square(self) -> bool:
        return self.metric == "precomputed" or self.linkage not in ("single", "ward")

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """All pairs of rows in time; in memory, too, unless linkage is single or Ward's."""
        pairs = float(n_rows) ** 2
        few = self.linkage == "single" and n_features <= MOST_BOXED
        work = n_rows * 2e-6 if few else pairs * (2e-10 * n_features + 2e-9)
        if not self._needs_square():
            return Cost(seconds=work, bytes=n_rows * (24.0 * n_features + 100.0))
        halved = self.metric != "precomputed" and self.linkage in _CHAINED
        return Cost(
            seconds=work, bytes=(4.0 if halved else 8.0) * pairs + (8.0 * n_rows * n_features if halved else 0.0)
        )

    def _check_choices(self) -> None:
        who = type(self).__name__
        euclidean = self.metric == "euclidean" or (self.metric == "minkowski" and self.p == 2.0)
        if self.linkage == "ward" and not euclidean:
            raise ParameterError(
                who,
                "parameter 'linkage'",
                "'ward' needs metric='euclidean'",
                f"got metric='{self.metric}'",
                "use linkage='average' or 'complete'",
            )
        if (self.n_clusters is None) == (self.distance_threshold is None):
            raise ParameterError(
                who,
                "parameter 'n_clusters'",
                "must be given, or be None with a distance_threshold",
                f"got {self.n_clusters} with distance_threshold={self.distance_threshold}",
            )

    def fit(self, X: Any, y: Any = None) -> Hierarchical:
        """Join the rows; `y` is not used."""
        self._check_parameters()
        self._check_choices()
        rows, _ = self._begin(X)
        n = rows.shape[0]
        if self.n_clusters is not None and self.n_clusters > n:
            raise DataError(
                type(self).__name__,
                "X",
                f"must have at least n_clusters={self.n_clusters} rows",
                f"got n_samples={n}",
                "ask for fewer clusters",
            )
        self.merges_ = self._merges(rows, thread_count(self.n_jobs)) if n > 1 else np.empty((0, 4))
        self.heights_ = self.merges_[:, 2].copy()
        self.labels_ = cut_merges(self.merges_, self.n_clusters, self.distance_threshold)
        return self

    def _merges(self, rows: np.ndarray, threads: int) -> np.ndarray:
        if self.metric == "precomputed":
            square = self._given_distances(rows)
            squared = self.linkage in ("centroid", "median")
            return _kernels.matrix_linkage(square**2 if squared else square, _CODES[self.linkage])
        distance = get(self.metric, self.p)
        placed = np.ascontiguousarray(distance.place(rows, distance.learn(rows, np.zeros(rows.shape[1], dtype=bool))))
        if self.linkage == "ward":
            return _kernels.ward_linkage(placed, threads)
        if self.linkage == "single":
            boxes = (
                distance.code == get("euclidean").code and placed.shape[1] <= MOST_BOXED and placed.shape[0] > _SWEPT
            )
            return _kernels.spanning_hierarchy(placed, None, distance.code, self.p, boxes, threads)
        if self.linkage in _CHAINED:
            return _kernels.rows_linkage(placed, distance.code, self.p, _CODES[self.linkage], threads)
        square = _kernels.distance_square(placed, distance.code, self.p, True, threads)
        return _kernels.matrix_linkage(square, _CODES[self.linkage])

    def _given_distances(self, rows: np.ndarray) -> np.ndarray:
        wrong = rows.shape[0] != rows.shape[1] or (rows < 0).any() or np.diag(rows).any()
        if wrong or not np.allclose(rows, rows.T, rtol=1e-10, atol=0.0):
            raise DataError(
                type(self).__name__,
                "X",
                "must be a square of distances, symmetric with a diagonal of zeros, for metric='precomputed'",
                f"got shape {rows.shape}",
                "see scipy.spatial.distance.squareform",
            )
        return np.array((rows + rows.T) / 2)

    def cut(self, n_clusters: int | None = None, height: float | None = None) -> np.ndarray:
        """Labels of another cut through the same hierarchy, by number of clusters or by height."""
        check_is_fitted(self)
        n = self.merges_.shape[0] + 1
        if (n_clusters is None) == (height is None) or (n_clusters is not None and not 1 <= n_clusters <= n):
            raise ParameterError(
                f"{type(self).__name__}.cut", "one of 'n_clusters' and 'height'", f"must be given (1 to {n} clusters)"
            )
        return cut_merges(self.merges_, n_clusters, height)

    def view(self) -> Dendrogram:
        """The dendrogram."""
        check_is_fitted(self)
        return Dendrogram(merges=self.merges_.tolist(), linkage=self.linkage, clusters=int(self.labels_.max()) + 1)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags
