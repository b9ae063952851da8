"""k-means: every row belongs to the nearest of k means."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from ... import _kernels
from ...base import (
    ArrayLike,
    AssayWarning,
    Choice,
    Clusterer,
    Cost,
    DataError,
    Integer,
    ParameterError,
    Real,
    Stream,
    Trace,
    check_weights,
    n_jobs_param,
    param,
    random_state_param,
    thread_count,
    trace_param,
)
from ...base.batches import BatchedTable
from ...base.cells import holds_no
from ...numeric.moments import PrincipalAxes, column_products, weighted_mean
from .k_means_batches import lloyd
from .views import Clusters, clusters_view

BATCH_SAMPLE = 2**17
"""Rows of a table in blocks from which the starts are drawn."""

STARTS = ("k-means++", "random", "random-partition", "principal-component", "mean-plus-noise")


class CentreClusterer(Clusterer):
    """Base of clusterings that are k centres: their number, their starts, what may come in."""

    _first = "n_clusters"
    _squares = True
    _warns = True
    _unsettled = "rows still changed their cluster); raise max_iter"

    n_clusters: int = param(8, Integer(1), "How many clusters.")

    def _require_rows(self, n_rows: int) -> None:
        if n_rows < self.n_clusters:
            raise DataError(
                type(self).__name__,
                "X",
                f"must have at least n_clusters={self.n_clusters} rows with weight (n_samples >= n_clusters)",
                f"got n_samples={n_rows}",
                "ask for fewer clusters",
            )

    def _given_centres(self, init: Any, n_features: int) -> np.ndarray:
        """Starting centres that the user gave, as a matrix of the right shape."""
        try:
            centres = np.array(init, dtype=np.float64, order="C")
        except (TypeError, ValueError):
            centres = np.empty(0)
        if centres.shape != (self.n_clusters, n_features) or not np.isfinite(centres).all():
            raise ParameterError(
                type(self).__name__,
                "parameter 'init'",
                f"must be a name or finite centres of shape {(self.n_clusters, n_features)}",
                f"got shape {centres.shape}"
                + ("" if np.isfinite(centres).all() else " with cells that are not finite"),
            )
        return centres

    def _far_rows(self, rows: np.ndarray, weights: np.ndarray | None, keys: list[int], threads: int) -> np.ndarray:
        """For each key the numbers of k rows far apart, by greedy k-means++."""
        k, trials = self.n_clusters, 2 + int(np.log(self.n_clusters))
        return np.stack([_kernels.plus_plus_starts(rows, weights, k, trials, key, 0, threads) for key in keys])

    def _best_restart(self, ends: list[Any], trace: Trace, what: str) -> int:
        """The restart with the least inertia, whose end is kept; what was recorded goes into the trace."""
        for r, end in enumerate(ends):
            for value in end[3]:
                trace.record(what, restart=r, inertia=float(value))
        best = min(range(len(ends)), key=lambda r: (ends[r][0], r))
        self.inertia_, self.n_iter_, self.converged_ = float(ends[best][0]), int(ends[best][1]), bool(ends[best][2])
        if not self.converged_ and self._warns:
            text = f"{type(self).__name__}: not converged after {self.n_iter_} steps ({self._unsettled}."
            warnings.warn(AssayWarning("W201", text), stacklevel=3)
        return best

    def _warn_of_few_rows(self) -> None:
        found = np.unique(self.labels_).shape[0]
        if found < self.n_clusters:
            text = (
                f"{type(self).__name__}: only {found} different rows were found for n_clusters={self.n_clusters}, so "
                "some clusters are empty; ask for fewer clusters."
            )
            warnings.warn(AssayWarning("W206", text), stacklevel=3)

    def view(self) -> Clusters:
        """Sizes and centres of the clusters."""
        check_is_fitted(self)
        return clusters_view(self)


class KMeans(CentreClusterer):
    """k-means (Lloyd): centres and labels that lower the sum of squared distances at every step.

    Labels are those of float64 distances, the smaller number among equals, whether `algorithm` uses bounds or not;
    most rows
    are settled by the triangle inequality or by a certified float32 screen. An empty cluster takes the row farthest
    from
    its centre. `inertia_` is the weighted sum of squared distances, and never rises from step to step; where `max_iter`
    ends the steps before `tol` does, warning W201 says so.

    Attributes
    ----------
    cluster_centers_, labels_, inertia_, n_iter_, converged_

    Examples
    --------
    >>> from assay.models.clustering import KMeans
    >>> X = [[1.0, 2.0], [1.0, 4.0], [1.0, 0.0], [10.0, 2.0], [10.0, 4.0], [10.0, 0.0]]
    >>> model = KMeans(2, random_state=0).fit(X)
    >>> model.cluster_centers_[model.predict([[0.0, 0.0], [12.0, 3.0]])]
    array([[ 1.,  2.],
           [10.,  2.]])
    >>> model.inertia_
    16.0
    """

    _by_batches = True
    _unsettled = "the centres still moved by more than tol); raise max_iter or tol"

    init: Any = param(
        "k-means++",
        Choice(*STARTS) | ArrayLike(),
        "Start: rows far apart (greedy k-means++), random rows, means of a random partition, means of equal parts "
        "along the "
        "first principal component, the mean plus noise, or given centres.",
    )
    n_init: Any = param(
        "auto",
        Integer(1) | Choice("auto"),
        "Restarts, of which the one with the least inertia is kept; 'auto' is 10 for starts that are all chance, else "
        "1.",
    )
    max_iter: int = param(300, Integer(1), "Most steps of each restart.")
    tol: float = param(1e-4, Real(0), "Stop when the centres' squared moves sum to this share of a column's variance.")
    algorithm: str = param("bounds", Choice("bounds", "lloyd"), "Skip rows by bounds or measure all; same labels.")
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Some fifty steps of n k d multiply-adds in float32; bounds and labels of each restart."""
        work = float(n_rows) * n_features * self.n_clusters
        restarts = self._restarts()
        return Cost(seconds=1e-10 * 50 * work * restarts, bytes=float(n_rows) * (4 * n_features + 16 + 12 * restarts))

    def estimate_predict_cost(self, n_rows: int, n_features: int, n_queries: int) -> Cost:
        """One multiply-add per centre and cell."""
        return Cost(seconds=1e-10 * n_queries * n_features * self.n_clusters, bytes=12.0 * n_queries)

    def _restarts(self) -> int:
        if not isinstance(self.init, str) or self.init == "principal-component":
            return 1
        if self.n_init != "auto":
            return int(self.n_init)
        return 1 if self.init == "k-means++" else 10

    def _read(self, X: Any, *, reset: bool) -> np.ndarray:
        """X as a matrix of float64, or of float32 where it comes as such."""
        if type(X) is np.ndarray and X.dtype == np.float32 and X.ndim == 2:
            if X.size and self._knows_columns(X, X.shape[1], reset=reset) and holds_no(X, missing=True):
                return np.ascontiguousarray(X)
            return validate_data(self, X, reset=reset, dtype=np.float32, order="C")
        return super()._read(X, reset=reset)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Find centres and labels; `y` is not used."""
        rows, weights = self._begin(X, sample_weight)
        self._require_rows(rows.shape[0] if weights is None else int(np.count_nonzero(weights)))
        threads, trace, restarts = thread_count(self.n_jobs), self._new_trace(), self._restarts()
        stream = self._stream()
        known, of_known = rows, weights
        if isinstance(rows, BatchedTable):
            # The centres start from rows that fit in memory.
            chosen = np.arange(0, rows.shape[0], max(1, rows.shape[0] // BATCH_SAMPLE))
            known, of_known = rows[chosen], None if weights is None else weights[chosen]
        starts = np.stack([self._start(known, of_known, stream.child(r), threads) for r in range(restarts)])
        if isinstance(rows, BatchedTable):
            runs = [lloyd(rows, weights, start, self.max_iter, self.tol, threads) for start in starts]
            centres, labels, ends = (np.stack(part) if k < 2 else list(part) for k, part in enumerate(zip(*runs)))
        else:
            settings = (self.max_iter, self.tol, self.algorithm == "bounds", trace.on, threads)
            centres, labels, ends = _kernels.k_means(rows, weights, starts, *settings)
        best = self._best_restart(ends, trace, "k-means")
        self.cluster_centers_ = centres.reshape(starts.shape)[best].copy()
        self.labels_ = labels[best].copy()
        self._mass_ = np.bincount(self.labels_, weights, minlength=self.n_clusters).astype(np.float64)
        self._keep_trace(trace)
        self._warn_of_few_rows()
        return self

    def _start(self, rows: np.ndarray, weights: np.ndarray | None, stream: Stream, threads: int) -> np.ndarray:
        """Centres from which one restart begins."""
        k = self.n_clusters
        if not isinstance(self.init, str):
            return self._given_centres(self.init, rows.shape[1])
        if self.init == "k-means++":
            return rows[self._far_rows(rows, weights, [stream.key], threads)[0]].astype(np.float64)
        rng = stream.generator()
        if self.init == "random":
            share = None if weights is None else weights / weights.sum()
            return rows[rng.choice(rows.shape[0], k, replace=False, p=share)].astype(np.float64)
        if self.init == "random-partition":
            return means_of_groups(rows, rng.permutation(np.arange(rows.shape[0]) % k), weights, k)
        if self.init == "principal-component":
            return means_of_groups(rows, _parts_along_axis(rows, weights, k), weights, k)
        centre = weighted_mean(rows, weights)
        spread = np.sqrt(weighted_mean((rows - centre) ** 2, weights))
        return centre + 0.1 * spread * rng.normal(size=(k, rows.shape[1]))

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Take more rows: each goes to its nearest centre, which moves to the mean of all rows it was ever given."""
        self._check_parameters()
        first = not hasattr(self, "cluster_centers_")
        rows = self._read(X, reset=first)
        weights = check_weights(type(self).__name__, sample_weight, rows.shape[0])
        threads = thread_count(self.n_jobs)
        if first:
            self._require_rows(rows.shape[0])
            self.cluster_centers_ = self._start(rows, weights, self._stream().child(0), threads)
            self._mass_ = np.zeros(self.n_clusters)
            self.n_iter_ = 0
        labels, _ = _kernels.nearest_centres(rows, self.cluster_centers_, threads)
        mass = np.bincount(labels, weights, minlength=self.n_clusters)
        self._mass_ = self._mass_ + mass
        came = mass > 0
        means = means_of_groups(rows, labels, weights, self.n_clusters)
        step = (mass[came] / self._mass_[came])[:, None]
        centres = self.cluster_centers_.copy()
        centres[came] += step * (means[came] - centres[came])
        self.cluster_centers_ = centres
        self.labels_, squared = _kernels.nearest_centres(rows, centres, threads)
        self.inertia_ = float(squared.sum() if weights is None else weights @ squared)
        self.n_iter_ += 1
        self.converged_ = False
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The number of the nearest centre of each row; the smaller one among equals."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        return _kernels.nearest_centres(rows, self.cluster_centers_, thread_count(self.n_jobs))[0]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the sum of squared distances of the rows to their nearest centres."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        weights = check_weights(type(self).__name__, sample_weight, rows.shape[0])
        squared = _kernels.nearest_centres(rows, self.cluster_centers_, thread_count(self.n_jobs))[1]
        return -float(squared.sum() if weights is None else weights @ squared)


def starting_means(n_clusters: int, random_state: Any, n_jobs: int | None, n_init: Any = "auto") -> KMeans:
    """k-means from which another method starts: fifty steps, and no warning where more were left to do.

    >>> starting_means(2, 0, 1).fit([[0.0], [1.0], [9.0]]).labels_.tolist().count(0) in (1, 2)
    True
    """
    model = KMeans(n_clusters, random_state=random_state, n_jobs=n_jobs, max_iter=50, n_init=n_init)
    model._warns = False
    return model


def means_of_groups(rows: np.ndarray, labels: np.ndarray, weights: np.ndarray | None, k: int) -> np.ndarray:
    """The weighted mean of the rows of each label 0..k-1; zeros for a label without weight.

    >>> means_of_groups(np.array([[0.0], [2.0], [5.0]]), np.array([0, 0, 1]), None, 2)
    array([[1.],
           [5.]])
    """
    mass = np.bincount(labels, weights, minlength=k).astype(np.float64)
    share = np.ones(rows.shape[0]) if weights is None else weights
    sums = np.stack([np.bincount(labels, share * column, minlength=k) for column in rows.T], axis=1)
    return sums / np.where(mass > 0, mass, 1.0)[:, None]


def _parts_along_axis(rows: np.ndarray, weights: np.ndarray | None, k: int) -> np.ndarray:
    """Labels of k parts of equal weight along the first principal component."""
    plain = np.ascontiguousarray(rows, dtype=np.float64)
    centre = weighted_mean(plain, weights)
    if weights is None:
        products = column_products(plain, centre)[:-1, :-1]
    else:
        products = (plain - centre).T @ ((plain - centre) * weights[:, None])
    axes = PrincipalAxes.of(products, 0.0)
    place = (plain - centre) @ axes.directions[:, 0] if axes.variances.size else np.zeros(rows.shape[0])
    order = np.argsort(place, kind="stable")
    share = np.ones(rows.shape[0]) if weights is None else weights
    before = np.cumsum(share[order]) - share[order] / 2
    labels = np.empty(rows.shape[0], dtype=np.int64)
    labels[order] = np.minimum((k * before / share.sum()).astype(np.int64), k - 1)
    return labels
