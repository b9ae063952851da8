"""Lloyd's steps on a table that is read in blocks, by the rules of the kernel `k_means`: one pass for each step.

A pass gives, for the centres before it, the label of every row and the sums and weights of each cluster; from these
follow the centres of the next pass. Labels are those of float64 distances, the smaller number among equals.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ... import _kernels
from ...base.batches import BatchedTable

_NONE = np.empty(0, dtype=np.int32)

End = tuple[float, int, bool, list[float]]
"""Inertia, steps, whether they converged, and the inertia before each step."""


def lloyd(
    table: BatchedTable, weights: np.ndarray | None, start: np.ndarray, max_iter: int, tol: float, threads: int
) -> tuple[np.ndarray, np.ndarray, End]:
    """Centres, labels and how the run ended, from one start."""
    mean, variance, _ = table.moments(weights, threads)
    limit, centres = tol * float(variance.mean()), start.copy()
    labels = np.full(table.shape[0], -1, dtype=np.int32)
    passes = table.passes(functools.partial(_sums, mean=mean, threads=threads), weights)
    inertias: list[float] = []
    converged = False
    for _ in range(max_iter):
        now, inertia, mass, count, sums = passes.sums(centres=centres)
        inertias.append(inertia)
        if np.array_equal(now, labels):
            return centres, labels, (inertia, len(inertias), True, inertias)
        labels = now
        _fill_empty(table, weights, centres, labels, mean, (mass, count, sums), threads)
        live = count > 0
        moved = centres.copy()
        moved[live] = mean + sums[live] / mass[live, None]
        shift, centres = float(((moved - centres) ** 2).sum()), moved
        if shift <= limit:
            converged = True
            break
    labels, inertia, *_ = passes.sums(centres=centres)
    return centres, labels, (inertia, len(inertias), converged, inertias)


def _sums(
    block: np.ndarray, weights: np.ndarray | None, centres: np.ndarray, mean: np.ndarray, threads: int
) -> tuple[Any, ...]:
    """Labels in a list, and inertia, weight, rows and sums about the mean of each cluster of these centres."""
    labels, squared = _kernels.nearest_centres(block, centres, threads)
    k = centres.shape[0]
    found = _kernels.class_moments(block, labels, k, mean, _NONE, _NONE, weights, None, threads)
    if weights is None:
        return [labels], float(squared.sum()), found["class_weight"], np.bincount(labels, minlength=k), found["sum"]
    count = np.bincount(labels[weights > 0], minlength=k)
    return [labels], float(weights @ squared), found["class_weight"], count, found["sum"]


def _fill_empty(
    table: BatchedTable,
    weights: np.ndarray | None,
    centres: np.ndarray,
    labels: np.ndarray,
    mean: np.ndarray,
    clusters: tuple[np.ndarray, np.ndarray, np.ndarray],
    threads: int,
) -> None:
    """Give each empty cluster the row farthest from its centre of a cluster with more than one row."""
    mass, count, sums = clusters
    empty = np.flatnonzero(count == 0)
    if not empty.size:
        return
    away = table.values(functools.partial(_squared, centres=centres, threads=threads))
    if weights is not None:
        away = np.where(weights > 0, away, 0.0)
    for j in empty.tolist():
        # The first among equals; only rows of clusters with more than one.
        candidates = np.where(count[labels] > 1, away, 0.0)
        row = int(np.argmax(candidates))
        if not candidates[row] > 0.0:
            return
        share = 1.0 if weights is None else float(weights[row])
        cells = table[np.array([row])][0] - mean
        for cluster, sign in ((int(labels[row]), -1.0), (j, 1.0)):
            sums[cluster] += sign * share * cells
            mass[cluster] += sign * share
            count[cluster] += int(sign)
        labels[row], away[row] = j, 0.0


def _squared(block: np.ndarray, centres: np.ndarray, threads: int) -> np.ndarray:
    return _kernels.nearest_centres(block, centres, threads)[1]
