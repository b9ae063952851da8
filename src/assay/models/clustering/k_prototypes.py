"""k-prototypes: k-means for tables with numeric and nominal columns, and missing cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import (
    Choice,
    Cost,
    Integer,
    Real,
    categorical_features_param,
    param,
    random_state_param,
    trace_param,
)
from ...data.columns import MixedInput
from ...numeric.moments import deviation_or_one
from .k_means import CentreClusterer


class KPrototypes(MixedInput, CentreClusterer):
    """k-prototypes (Huang, 1998): means of numeric columns, modes of nominal ones.

    The distance is the sum of squared differences in standard deviations plus `gamma` for each nominal cell that
    differs;
    a missing cell adds nothing and counts in no mean or mode. `gamma="auto"` is 1: the mean squared distance of a
    number from its mean, in standard deviations.

    {parameters}

    Attributes
    ----------
    cluster_centers_ (numbers, and codes of categories), labels_, inertia_, n_iter_, converged_, gamma_

    Examples
    --------
    >>> import pandas as pd
    >>> from assay.models.clustering import KPrototypes
    >>> table = pd.DataFrame({"size": [1.0, 1.1, 9.0, 9.1], "colour": ["red", "red", "blue", None]})
    >>> KPrototypes(2, random_state=0).fit(table).labels_
    array([0, 0, 1, 1])
    """

    n_init: int = param(5, Integer(1), "Restarts, of which the one with the least inertia is kept.")
    max_iter: int = param(100, Integer(1), "Most steps of each restart.")
    gamma: Any = param("auto", Real(0) | Choice("auto"), "Weight of a nominal cell that differs.")
    categorical_features: Any = categorical_features_param()
    random_state: Any = random_state_param()
    trace: bool = trace_param()

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Some twenty steps of n k d differences."""
        work = float(n_rows) * n_features * self.n_clusters * self.n_init * 20
        return Cost(seconds=3e-9 * work, bytes=n_rows * (40.0 * n_features + 8.0 * self.n_clusters))

    def fit(self, X: Any, y: Any = None) -> KPrototypes:
        """Find prototypes and labels; `y` is not used."""
        rows, _ = self._begin(X)
        self._require_rows(rows.shape[0])
        nominal = np.asarray(self.schema_.nominal, dtype=bool)
        self._spread_ = _deviations(rows, nominal)
        self.gamma_ = 1.0 if self.gamma == "auto" else float(self.gamma)
        scaled, trace, stream = rows / self._spread_, self._new_trace(), self._stream()
        best, share, ends = np.inf, np.ones(rows.shape[0]), []
        for restart in range(self.n_init):
            centres = self._start(scaled, nominal, stream.child(restart).generator())
            labels, step, settled = np.full(rows.shape[0], -1), 0, False
            for _ in range(self.max_iter):
                step += 1
                away = _mixed_distances(scaled, centres, nominal, self.gamma_)
                following = np.argmin(away, axis=1)
                near = away[np.arange(len(following)), following]
                following = fill_empty(following, near, share, self.n_clusters)
                trace.record("k-prototypes", restart=restart, inertia=float(near.sum()))
                settled = bool((following == labels).all())
                if settled:
                    break
                labels = following
                centres = _prototypes(scaled, labels, nominal, centres)
            ends.append((float(near.sum()), step, settled, ()))
            if ends[-1][0] < best:
                best = ends[-1][0]
                self.cluster_centers_ = np.where(np.isnan(centres), 0.0, centres * self._spread_)
                self.labels_ = labels
                self._known_ = ~np.isnan(centres)
        self._best_restart(ends, trace, "k-prototypes")
        self._keep_trace(trace)
        return self

    def _start(self, scaled: np.ndarray, nominal: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Rows far apart: each next one drawn by its distance to the nearest so far."""
        chosen = [int(rng.integers(scaled.shape[0]))]
        near = _mixed_distances(scaled, scaled[chosen], nominal, self.gamma_)[:, 0]
        while len(chosen) < self.n_clusters:
            total = near.sum()
            share = near / total if total > 0 else None
            chosen.append(int(rng.choice(scaled.shape[0], p=share)))
            near = np.minimum(near, _mixed_distances(scaled, scaled[chosen[-1:]], nominal, self.gamma_)[:, 0])
        return scaled[chosen].copy()

    def predict(self, X: Any) -> np.ndarray:
        """The number of the nearest prototype of each row; the smaller one among equals."""
        check_is_fitted(self)
        rows = self._read(X, reset=False) / self._spread_
        centres = np.where(self._known_, self.cluster_centers_ / self._spread_, np.nan)
        nominal = np.asarray(self.schema_.nominal, dtype=bool)
        return np.argmin(_mixed_distances(rows, centres, nominal, self.gamma_), axis=1)


def _deviations(rows: np.ndarray, nominal: np.ndarray) -> np.ndarray:
    """Standard deviations of numeric columns; 1 for nominal and constant ones."""
    known = ~np.isnan(rows)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, rows, 0.0).sum(axis=0) / count
    spread = np.sqrt((np.where(known, rows - mean, 0.0) ** 2).sum(axis=0) / count)
    return np.where(nominal, 1.0, deviation_or_one(spread, mean))


def _mixed_distances(rows: np.ndarray, centres: np.ndarray, nominal: np.ndarray, gamma: float) -> np.ndarray:
    away = np.empty((rows.shape[0], centres.shape[0]))
    for c, centre in enumerate(centres):
        gaps = rows - centre
        terms = np.where(nominal, gamma * (gaps != 0), gaps * gaps)
        away[:, c] = np.where(np.isnan(gaps), 0.0, terms).sum(axis=1)
    return away


def _prototypes(rows: np.ndarray, labels: np.ndarray, nominal: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Means of numbers and modes of categories (the smallest code among equals); a column without known cells stays."""
    centres = before.copy()
    for c in range(before.shape[0]):
        own = rows[labels == c]
        for j in range(rows.shape[1]):
            cells = own[~np.isnan(own[:, j]), j]
            if cells.size:
                values, counts = np.unique(cells, return_counts=True) if nominal[j] else (cells, cells)
                centres[c, j] = values[np.argmax(counts)] if nominal[j] else cells.mean()
    return centres


def fill_empty(labels: np.ndarray, away: np.ndarray, share: np.ndarray, k: int) -> np.ndarray:
    """Each empty cluster takes the row farthest from its centre of a cluster with more than one row.

    >>> fill_empty(np.array([0, 0, 0]), np.array([0.0, 5.0, 1.0]), np.ones(3), 2)
    array([0, 1, 0])
    """
    counts = np.bincount(labels[share > 0], minlength=k)
    if counts.all():
        return labels
    labels, left = labels.copy(), np.where(share > 0, away, 0.0)
    for empty in np.flatnonzero(counts == 0):
        left[counts[labels] <= 1] = 0.0
        row = int(np.argmax(left))
        if left[row] <= 0.0:
            break
        counts[labels[row]] -= 1
        labels[row], left[row] = empty, 0.0
        counts[empty] = 1
    return labels
