"""The pairs that a ranking learns from, given or implied by grades in groups: their loss, curvature and listing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np

from ... import _kernels
from ...base import DataError

Listing = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Row that comes first, row that comes after, share of the total weight."""


class Pairs(Protocol):
    """Pairs of rows with weights whose sum is `total`; scores are one per row."""

    total: float

    @property
    def loss(self) -> Callable[..., tuple[float, np.ndarray]]:
        """Of (scores, squared=...): the sum of half the squared hinge or of the hinge, and its gradient."""
        ...  # pragma: no cover

    @property
    def curve(self) -> Callable[..., np.ndarray]:
        """Of (scores, direction=...): the second derivative of the sum of half the squared hinge times a direction."""
        ...  # pragma: no cover

    def between(self, scores: np.ndarray, low: float, high: float, limit: int) -> Listing | None:
        """The pairs whose scores differ by at least low and at most high; None if there are more than `limit`."""
        ...  # pragma: no cover


class ListedPairs:
    """Pairs written down, with shares of weight that sum to 1."""

    total = 1.0

    def __init__(self, pairs: np.ndarray, share: np.ndarray):
        self.first, self.second, self.share = pairs[:, 0], pairs[:, 1], share

    def loss(self, scores: np.ndarray, squared: bool) -> tuple[float, np.ndarray]:
        gap = np.maximum(1.0 - scores[self.first] + scores[self.second], 0.0)
        slope = self.share * (gap if squared else gap > 0)
        return float(self.share @ (0.5 * gap**2 if squared else gap)), -self._spread(slope, scores.shape[0])

    def curve(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        open_pairs = scores[self.first] - scores[self.second] < 1.0
        product = self.share * open_pairs * (direction[self.first] - direction[self.second])
        return self._spread(product, scores.shape[0])

    def _spread(self, of_pairs: np.ndarray, n_rows: int) -> np.ndarray:
        return np.bincount(self.first, of_pairs, minlength=n_rows) - np.bincount(
            self.second, of_pairs, minlength=n_rows
        )

    def between(self, scores: np.ndarray, low: float, high: float, limit: int) -> Listing | None:
        margin = scores[self.first] - scores[self.second]
        found = np.flatnonzero((margin >= low) & (margin <= high) & (self.share > 0))
        if found.shape[0] > limit:
            return None
        return self.first[found], self.second[found], self.share[found]


class GroupPairs:
    """All pairs of rows of one group with different grades, never written down; rows are put in the order of groups."""

    def __init__(
        self, who: str, grades: np.ndarray, groups: Any, weights: np.ndarray | None, kept: np.ndarray, threads: int
    ):
        codes = np.zeros(grades.shape[0], dtype=np.int64)
        if groups is not None:
            require_length(who, "groups", np.asarray(groups), grades.shape[0])
            codes = np.unique(np.asarray(groups), return_inverse=True)[1]
        self.order = kept[np.argsort(codes[kept], kind="stable")]
        self.codes = codes[self.order]
        _, counts = np.unique(self.codes, return_counts=True)
        self.begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.levels = np.unique(grades[self.order], return_inverse=True)[1].astype(np.int32)
        self.weights = np.zeros(0) if weights is None else weights[self.order]
        self.threads = threads
        self.total = self.count(np.zeros(self.order.shape[0]))[2]
        groups = {"levels": self.levels, "weights": self.weights, "group_begin": self.begin, "threads": threads}
        self.loss = partial(_kernels.rank_loss, **groups)
        self.curve = partial(_kernels.rank_curvature_product, **groups)

    def count(self, scores: np.ndarray) -> tuple[float, float, float]:
        """Weight of the pairs in order, tied, and of all."""
        return _kernels.count_pairs(scores, self.levels, self.weights, self.begin, self.threads)

    def between(self, scores: np.ndarray, low: float, high: float, limit: int) -> Listing | None:
        if self.begin.shape[0] == 2:  # of one group the order of the scores tells the places
            in_order = np.argsort(scores, kind="stable")
            rising = scores[in_order]
            begin, end = rising.searchsorted(scores - high, "left"), rising.searchsorted(scores - low, "right")
        else:
            in_order = np.lexsort((scores, self.codes))
            begin, end = self._places(scores, scores - high, 0), self._places(scores, scores - low, 2)
        counts = np.maximum(end - begin, 0)
        if counts.sum() > 50 * limit:
            return None
        first = np.repeat(np.arange(scores.shape[0]), counts)
        within = np.arange(first.shape[0]) - np.repeat(np.cumsum(counts) - counts, counts)
        second = in_order[begin[first] + within]
        ordered = self.levels[first] > self.levels[second]
        first, second = first[ordered], second[ordered]
        if first.shape[0] > limit:
            return None
        share = self.weights[first] * self.weights[second] if self.weights.size else np.ones(first.shape[0])
        return first, second, share / self.total

    def _places(self, scores: np.ndarray, wanted: np.ndarray, side: int) -> np.ndarray:
        """Where the wanted value of each row falls among its group's sorted scores; equal ones follow if side is 0."""
        size = scores.shape[0]
        kinds = np.repeat([1, side], size)
        merged = np.lexsort((kinds, np.concatenate([scores, wanted]), np.tile(self.codes, 2)))
        before = np.cumsum(merged < size)
        places = np.empty(size, dtype=np.int64)
        places[merged[merged >= size] - size] = before[merged >= size]
        return places


def require_length(who: str, name: str, values: np.ndarray, n_rows: int) -> None:
    """Refuse a vector that does not have one value per row."""
    if values.ndim != 1 or values.shape[0] != n_rows:
        raise DataError(
            who,
            name,
            f"must have one value for each of {n_rows} rows",
            f"Found input variables with inconsistent numbers of samples: shape {values.shape}",
        )
