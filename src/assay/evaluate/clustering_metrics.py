"""Metrics of clusterings: agreement of two partitions, tightness of one, and how many clusters there are.

Metrics of agreement take two labellings of the same points and do not care what the labels are called; all are
functions of the table that counts the points of each pair of labels. Pairs of points are "together" in a partition if
they have the same label.

>>> truth, found = ["a", "a", "b", "b"], [1, 1, 0, 0]
>>> adjusted_rand(truth, found), purity(truth, found)
(1.0, 1.0)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _kernels
from ..base.columns import renumber
from ..base.errors import DataError, ParameterError
from ..base.randomness import Stream
from ..base.threads import thread_count
from ..numeric.moments import along_principal_axes
from .records import Grid, Record
from .result import number

Clustering = Callable[[np.ndarray, int], Any]


# -- agreement of two partitions ----------------------------------------------------------------------------
@dataclass(frozen=True)
class _Partitions:
    """How two partitions of n points meet: points per pair of labels (present ones), and per label of each."""

    both: np.ndarray
    row: np.ndarray
    column: np.ndarray
    sizes_true: np.ndarray
    sizes_found: np.ndarray
    n: int

    @property
    def pairs(self) -> tuple[float, float, float, float]:
        """Pairs of points together in both, in the first, in the second, and all pairs."""

        def choose_two(counts: np.ndarray) -> float:
            counts = counts.astype(np.float64)
            return float((counts * (counts - 1) / 2).sum())

        all_pairs = self.n * (self.n - 1) / 2
        return choose_two(self.both), choose_two(self.sizes_true), choose_two(self.sizes_found), all_pairs


def _codes(labels: Any, who: str, name: str) -> np.ndarray:
    values = np.asarray(labels)
    if values.ndim != 1:
        raise DataError(who, name, "must be one label per point", f"got an array of shape {values.shape}")
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise DataError(who, name, "must not hold NaN", way_out="give noise points a label of their own")
    if values.dtype.kind == "O":
        values = values.astype(str)
    if values.size and values.dtype.kind in "iu" and 0 <= int(values.max()) - int(values.min()) <= 4 * values.size:
        shifted = values.astype(np.int64) - int(values.min())
        return renumber(shifted, np.bincount(shifted) > 0).astype(np.int64)
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _partitions(labels_true: Any, labels: Any, who: str) -> _Partitions:
    true, found = _codes(labels_true, who, "labels_true"), _codes(labels, who, "labels")
    if true.size != found.size:
        raise DataError(who, "labels", f"must have one label for each of {true.size} points", f"got {found.size}")
    if true.size == 0:
        raise DataError(who, "labels", "must hold at least one point")
    width = int(found.max()) + 1
    cells = true * width + found
    if (int(true.max()) + 1) * width <= 16 * true.size + 1024:
        every = np.bincount(cells)
        present = np.flatnonzero(every)
        both = every[present]
    else:
        present, both = np.unique(cells, return_counts=True)
    return _Partitions(both, present // width, present % width, np.bincount(true), np.bincount(found), true.size)


def rand_index(labels_true: Any, labels: Any) -> float:
    """The share of pairs of points on which two partitions agree: together in both or apart in both.

    >>> round(rand_index([0, 0, 1, 1], [0, 0, 1, 2]), 3)
    0.833
    """
    both, first, second, every = _partitions(labels_true, labels, "rand_index").pairs
    return (every + 2 * both - first - second) / every if every else 1.0


def adjusted_rand(labels_true: Any, labels: Any) -> float:
    """The Rand index less what partitions with the same sizes reach by chance: 0 by chance, 1 if they are the same.

    >>> round(adjusted_rand([0, 0, 1, 1], [0, 0, 1, 2]), 3)
    0.571
    """
    both, first, second, every = _partitions(labels_true, labels, "adjusted_rand").pairs
    by_chance = first * second / every if every else 0.0
    best = (first + second) / 2
    return (both - by_chance) / (best - by_chance) if best != by_chance else 1.0


def mutual_information(labels_true: Any, labels: Any) -> float:
    """The mutual information of two partitions, in nats.

    >>> round(mutual_information([0, 0, 1, 1], [1, 1, 0, 0]), 4)
    0.6931
    """
    return _information(_partitions(labels_true, labels, "mutual_information"))


def _information(parts: _Partitions) -> float:
    share = parts.both / parts.n
    independent = parts.sizes_true[parts.row] * (parts.sizes_found[parts.column] / parts.n)
    return max(0.0, float(share @ np.log(parts.both / independent)))


def _entropy(sizes: np.ndarray) -> float:
    share = sizes / sizes.sum()
    return float(-(share @ np.log(share))) if sizes.size > 1 else 0.0


def adjusted_mutual_information(labels_true: Any, labels: Any, n_jobs: int | None = None) -> float:
    """Mutual information less what random partitions with the same sizes share, over its greatest possible value.

    (I - E[I]) / (mean of the two entropies - E[I]); Vinh, Epps and Bailey, JMLR 11 (2010). 0 by chance, 1 if the
    partitions are the same.

    >>> round(adjusted_mutual_information([0, 0, 1, 1], [0, 0, 1, 2]), 3)
    0.571
    """
    parts = _partitions(labels_true, labels, "adjusted_mutual_information")
    clusters = parts.sizes_true.size, parts.sizes_found.size
    if clusters == (1, 1) or clusters == (parts.n, parts.n):
        return 1.0
    sizes = [np.unique(s, return_counts=True) for s in (parts.sizes_true, parts.sizes_found)]
    a, a_times, b, b_times = (array.astype(np.int64) for pair in sizes for array in pair)
    expected = _kernels.expected_mutual_information(a, a_times, b, b_times, parts.n, thread_count(n_jobs))
    best = (_entropy(parts.sizes_true) + _entropy(parts.sizes_found)) / 2
    # Where nothing better than chance is possible, both differences are rounding.
    tiny = np.finfo(np.float64).eps
    below = best - expected
    below = min(below, -tiny) if below < 0 else max(below, tiny)
    return (_information(parts) - expected) / below


def purity(labels_true: Any, labels: Any) -> float:
    """The share of points that belong to the commonest true class of their cluster.

    It never falls when a cluster is cut in two; compare clusterings with the same number of clusters.

    >>> purity([0, 0, 1, 1], [0, 0, 0, 1])
    0.75
    """
    parts = _partitions(labels_true, labels, "purity")
    largest = np.zeros(parts.sizes_found.size, dtype=np.int64)
    np.maximum.at(largest, parts.column, parts.both)
    return float(largest.sum() / parts.n)


def pair_precision(labels_true: Any, labels: Any) -> float:
    """Of the pairs of points that a clustering puts together, the share that belongs together (1 if it has none).

    >>> round(pair_precision([0, 0, 1, 1], [0, 0, 0, 1]), 3)
    0.333
    """
    both, _, second, _ = _partitions(labels_true, labels, "pair_precision").pairs
    return both / second if second else 1.0


def pair_recall(labels_true: Any, labels: Any) -> float:
    """Of the pairs of points that belong together, the share that a clustering puts together (1 if there are none).

    >>> pair_recall([0, 0, 1, 1], [0, 0, 0, 1])
    0.5
    """
    both, first, _, _ = _partitions(labels_true, labels, "pair_recall").pairs
    return both / first if first else 1.0


def pair_f1(labels_true: Any, labels: Any) -> float:
    """The harmonic mean of pair precision and pair recall.

    >>> pair_f1([0, 0, 1, 1], [0, 0, 0, 1])
    0.4
    """
    both, first, second, _ = _partitions(labels_true, labels, "pair_f1").pairs
    return 2 * both / (first + second) if first + second else 1.0


PARTITION_METRICS: tuple[tuple[str, str, Callable[[Any, Any], float], tuple[float, float]], ...] = (
    ("rand_index", "Rand index", rand_index, (0.0, 1.0)),
    ("adjusted_rand", "adjusted Rand index", adjusted_rand, (-1.0, 1.0)),
    (
        "adjusted_mutual_information",
        "adjusted mutual information",
        adjusted_mutual_information,
        (-1.0, 1.0),
    ),
    ("purity", "purity", purity, (0.0, 1.0)),
    ("pair_precision", "pair precision", pair_precision, (0.0, 1.0)),
    ("pair_recall", "pair recall", pair_recall, (0.0, 1.0)),
    ("pair_f1", "pair F1", pair_f1, (0.0, 1.0)),
)


# -- tightness of one partition -----------------------------------------------------------------------------
def silhouette_samples(X: Any, labels: Any, n_jobs: int | None = None) -> np.ndarray:
    """The silhouette of each point: (b - a) / max(a, b) with Euclidean distances.

    a is the mean distance to the other points of its cluster, b the least mean distance to another cluster; 0 for a
    cluster of one point. Distances are summed as they are computed and never stored.

    >>> silhouette_samples([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]).round(3)
    array([0.905, 0.895, 0.895, 0.905])
    """
    points, codes = _points(X, labels, "silhouette_samples")
    sizes = np.bincount(codes)
    if not 2 <= sizes.size < points.shape[0]:
        raise DataError(
            "silhouette_samples",
            "labels",
            "must name at least 2 clusters and fewer than there are points",
            f"got {sizes.size} for {points.shape[0]} points",
        )
    order = np.argsort(codes, kind="stable")
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    if points.shape[0] < 4:
        return _tiny_silhouette(points, codes)
    values = _kernels.silhouette(np.ascontiguousarray(points[order].T), start, thread_count(n_jobs))
    result = np.empty(points.shape[0])
    result[order] = values
    return result


def _tiny_silhouette(points: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Three points in two clusters: a pair and a lone point."""
    distances = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    result = np.zeros(points.shape[0])
    for i, code in enumerate(codes):
        own = (codes == code) & (np.arange(codes.size) != i)
        if own.any():
            a, b = distances[i][own].mean(), distances[i][codes != code].mean()
            result[i] = (b - a) / max(a, b) if max(a, b) > 0 else 0.0
    return result


def silhouette(X: Any, labels: Any, n_jobs: int | None = None) -> float:
    """The mean silhouette of all points: near 1 for tight clusters far apart, below 0 for points in wrong clusters.

    >>> round(silhouette([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]), 3)
    0.9
    """
    return float(silhouette_samples(X, labels, n_jobs).mean())


def inertia(X: Any, labels: Any, centres: Any = None) -> float:
    """The sum of squared distances of the points to the centre of their cluster (its mean, if not given).

    `centres` has one row for each distinct label, in sorted order.

    >>> inertia([[0.0], [2.0], [10.0]], [0, 0, 1])
    2.0
    """
    points, codes = _points(X, labels, "inertia")
    sizes = np.bincount(codes)
    if centres is None:
        means = np.stack([np.bincount(codes, weights=column) for column in points.T], axis=1) / sizes[:, None]
    else:
        means = np.asarray(centres, dtype=np.float64)
        if means.shape != (sizes.size, points.shape[1]):
            raise DataError(
                "inertia", "centres", f"must have shape {(sizes.size, points.shape[1])}", f"got {means.shape}"
            )
    return float(((points - means[codes]) ** 2).sum())


def _points(X: Any, labels: Any, who: str) -> tuple[np.ndarray, np.ndarray]:
    points = _matrix(X, who)
    codes = _codes(labels, who, "labels")
    if codes.size != points.shape[0]:
        raise DataError(who, "labels", f"must have one label for each of {points.shape[0]} points", f"got {codes.size}")
    return points, codes


def _matrix(X: Any, who: str) -> np.ndarray:
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or points.size == 0:
        raise DataError(who, "X", "must be a table of points and features", f"got an array of shape {points.shape}")
    if not np.isfinite(points).all():
        raise DataError(who, "X", "must hold finite numbers", "got NaN or infinite values", "impute or drop them first")
    return points


# -- how many clusters --------------------------------------------------------------------------------------
@dataclass(frozen=True)
class ClusterCount(Record):
    """A choice of the number of clusters: `best`, and the `columns` of numbers per K that led to it."""

    name: str
    best: int
    k: tuple[int, ...]
    columns: dict[str, tuple[float, ...]]
    sentence: str

    def grid(self) -> Grid:
        """The numbers of each K."""
        rows = [[str(k), *(number(column[i]) for column in self.columns.values())] for i, k in enumerate(self.k)]
        return Grid(["K", *self.columns], rows, caption=self.name, left=0)


def _counts_of_clusters(k: Iterable[int], n: int, who: str, least: int) -> tuple[int, ...]:
    values = tuple(int(v) for v in k)
    if len(values) < least or any(v < 1 or v > n for v in values) or list(values) != sorted(set(values)):
        raise ParameterError(
            who, "parameter 'k'", f"must hold at least {least} rising numbers between 1 and {n}", f"got {values}"
        )
    return values


def elbow(X: Any, cluster: Clustering, k: Iterable[int] = range(1, 11)) -> ClusterCount:
    """D(K), the inertia of the clustering into K clusters, and the K at its sharpest bend.

    `cluster(X, K)` returns one label per point. The bend is the K that lies farthest below the straight line from
    the first to the last point of the curve ln D(K) against ln K (a power law has no bend there).

    >>> from sklearn.cluster import KMeans
    >>> rng = np.random.default_rng(0)
    >>> blobs = np.concatenate([rng.normal(m, 0.1, (30, 2)) for m in (0, 3, 6)])
    >>> elbow(blobs, lambda X, k: KMeans(k, n_init=5, random_state=0).fit_predict(X), range(1, 7)).best
    3
    """
    points = _matrix(X, "elbow")
    ks = _counts_of_clusters(k, points.shape[0], "elbow", 3)
    values = np.array([inertia(points, cluster(points, each)) for each in ks])
    tiny = np.finfo(np.float64).tiny
    across, down = np.log(ks), np.log(np.maximum(values, max(tiny, 1e-12 * values.max())))
    line = np.interp(across, across[[0, -1]], down[[0, -1]])
    best = ks[int(np.argmax(line - down))]
    return ClusterCount(
        "elbow",
        best,
        ks,
        {"D(K)": tuple(values.tolist())},
        f"The sum of squared distances D(K) bends most at K = {best}.",
    )


def gap_statistic(
    X: Any,
    cluster: Clustering,
    k: Iterable[int] = range(1, 11),
    *,
    n_references: int = 20,
    rule: str = "largest",
    random_state: Any = None,
) -> ClusterCount:
    """The gap statistic: how much smaller ln D(K) is than on points without clusters, and the K it picks.

    References are uniform in the box of the data along its principal axes; s(K) is their standard deviation times
    sqrt(1 + 1 / n_references) (Tibshirani, Walther and Hastie, JRSS B 63, 2001). `cluster(X, K)` returns one label per
    point. `rule` "largest" picks the least K whose gap is within one s of the largest gap; "first" is the authors' own,
    the least K with gap(K) >= gap(K + 1) - s(K + 1), which stops at 1 where splitting three clusters into two gains
    nothing.

    >>> from sklearn.cluster import KMeans
    >>> rng = np.random.default_rng(0)
    >>> blobs = np.concatenate([rng.normal(m, 0.1, (30, 2)) for m in ((0, 0), (3, 0), (0, 3))])
    >>> kmeans = lambda X, k: KMeans(k, n_init=5, random_state=0).fit_predict(X)
    >>> gap_statistic(blobs, kmeans, range(1, 6), n_references=5, random_state=0).best
    3
    """
    points = _matrix(X, "gap_statistic")
    ks = _counts_of_clusters(k, points.shape[0], "gap_statistic", 2)
    if n_references < 2:
        raise ParameterError("gap_statistic", "parameter 'n_references'", "must be at least 2", f"got {n_references}")
    if rule not in ("largest", "first"):
        raise ParameterError("gap_statistic", "parameter 'rule'", "must be 'largest' or 'first'", f"got {rule!r}")
    tiny = np.finfo(np.float64).tiny

    def log_inertias(data: np.ndarray) -> list[float]:
        return [float(np.log(max(inertia(data, cluster(data, each)), tiny))) for each in ks]

    centre, axes, rotated = along_principal_axes(points)
    low, high = rotated.min(axis=0), rotated.max(axis=0)
    stream = Stream.of(random_state)
    references = np.array(
        [
            log_inertias(stream.child(b).generator().uniform(low, high, rotated.shape) @ axes + centre)
            for b in range(n_references)
        ]
    )
    gap = references.mean(axis=0) - np.array(log_inertias(points))
    spread = references.std(axis=0) * np.sqrt(1 + 1 / n_references)
    top = int(np.argmax(gap))
    if rule == "largest":
        enough = np.flatnonzero(gap >= gap[top] - spread[top])
    else:
        enough = np.append(np.flatnonzero(gap[:-1] >= gap[1:] - spread[1:]), top)
    best = ks[int(enough[0])]
    found = "; the gap still rises at the largest K tried" if best == ks[-1] else ""
    return ClusterCount(
        "gap statistic",
        best,
        ks,
        {"gap": tuple(gap.tolist()), "s": tuple(spread.tolist())},
        f"The gap statistic picks K = {best}{found}.",
    )
