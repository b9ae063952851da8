"""How far two clusterings of the same rows agree: their table, the usual indices, and an interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.errors import DataError
from ..base.record import Grid, TableRecord
from ..base.words import clean, number
from .clustering_metrics import adjusted_mutual_information, adjusted_rand, pair_f1, purity
from .distributions import normal_quantile
from .result import Interval, interval_words


@dataclass(frozen=True)
class ClusterAgreement(TableRecord):
    """Rows counted by both labels, and what the indices of agreement say; `interval` is that of the adjusted Rand."""

    first: list[str]
    second: list[str]
    counts: list[list[int]]
    adjusted_rand: float
    interval: Interval
    adjusted_mutual_information: float
    purity: float
    pair_f1: float
    alpha: float
    sentence: str

    def grid(self) -> Grid:
        """The table of counts: a row for each label of the first, a column for each of the second."""
        rows = [[name, *map(str, line)] for name, line in zip(self.first, self.counts, strict=True)]
        return Grid(["", *self.second], rows, notes=(self.sentence,))


def cluster_agreement(labels: Any, other: Any, *, alpha: float = 0.05) -> ClusterAgreement:
    """Compare two clusterings of the same rows, or a clustering with known labels.

    The interval of the adjusted Rand index takes the rows for a sample: with cell shares p, row and column sums r and
    c, it is (A - RC) / ((R + C) / 2 - RC) for A = sum p^2, R = sum r^2, C = sum c^2, its variance that of the rows'
    derivatives over n (delta method). Both clusterings are taken as given: it says nothing of how they would change
    with other rows, which stability does.

    >>> found = cluster_agreement([0, 0, 0, 1, 1, 1, 2, 2], ["a", "a", "b", "b", "b", "b", "c", "c"])
    >>> found.counts, round(found.adjusted_rand, 3)
    ([[2, 1, 0], [0, 3, 0], [0, 0, 2]], 0.545)
    """
    first, second = np.asarray(labels), np.asarray(other)
    for name, values in (("labels", first), ("other", second)):
        if values.ndim != 1 or values.size == 0:
            raise DataError("cluster_agreement", name, "must be one label per row", f"got shape {values.shape}")
    if first.size != second.size:
        raise DataError("cluster_agreement", "other", f"must have {first.size} labels", f"got {second.size}")
    names_first, rows = np.unique(first.astype(str) if first.dtype.kind == "O" else first, return_inverse=True)
    names_second, columns = np.unique(second.astype(str) if second.dtype.kind == "O" else second, return_inverse=True)
    counts = np.zeros((names_first.size, names_second.size), dtype=np.int64)
    np.add.at(counts, (rows, columns), 1)
    found = adjusted_rand(rows, columns)
    half = normal_quantile(1 - alpha / 2) * _standard_error(counts / first.size, first.size)
    interval = (max(-1.0, found - half), min(1.0, found + half))
    said = f"adjusted Rand {number(found)} ({interval_words(interval)})"
    return ClusterAgreement(
        first=_shown(names_first),
        second=_shown(names_second),
        counts=counts.tolist(),
        adjusted_rand=found,
        interval=interval,
        adjusted_mutual_information=adjusted_mutual_information(columns, rows),
        purity=purity(columns, rows),
        pair_f1=pair_f1(columns, rows),
        alpha=alpha,
        sentence=f"{said}: 0 is what chance reaches, 1 the same partition.",
    )


def _shown(names: Sequence[Any] | np.ndarray) -> list[str]:
    return [clean(str(name), 40) for name in names]


def _standard_error(shares: np.ndarray, n: int) -> float:
    row, column = shares.sum(axis=1, keepdims=True), shares.sum(axis=0, keepdims=True)
    both, first, second = float((shares**2).sum()), float((row**2).sum()), float((column**2).sum())
    above, below = both - first * second, (first + second) / 2 - first * second
    if below <= 0:
        return 0.0
    of_above = 2 * shares - 2 * row * second - 2 * column * first
    of_below = row + column - 2 * row * second - 2 * column * first
    slope = (of_above * below - above * of_below) / below**2
    centred = slope - float((shares * slope).sum())
    return float(np.sqrt((shares * centred**2).sum() / n))
