"""Neighbours for many training parts from one search, although each part measures distance in its own way.

Folds whose preparation is fitted on the training rows compare rows by (x_j - q_j) * factor_j with factors of their own,
and fill missing cells by values of their own. All of these metrics have a common lower bound: the smallest factor of
each column over the folds, with one filling. `SharedNeighbours` searches once in that common metric, for more
neighbours than needed; in a fold it measures the candidates anew, exactly as the fold's own index would, and keeps the
k nearest. Let D be the common distance of the last candidate of a query. A row that is no candidate has a common
distance >= D, so in the fold it is no nearer than

    ratio * D - slack,

where ratio is the least quotient of the fold's factors by the common ones, and slack bounds what another filling can
move (triangle inequality). If the k-th candidate is nearer than that, the list is proved complete; otherwise that
query is searched in full: in the fold's own index or, where there is none, by longer lists of candidates. The
neighbours are those of separate searches, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.folds import Fold, FoldTransform, row_lists
from .neighbours import NeighbourIndex

# Covers the rounding of both distances, relative to the largest cell of either placement.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Bound:
    """A fold's distances are at least `ratio` times the common ones less `slack` (a number, or one per query), and
    about `stretch` times at most."""

    ratio: float = 1.0
    slack: np.ndarray | float = 0.0
    stretch: float = 1.0
    exact: bool = False
    """Whether both distances are the same numbers, so that candidates keep their order, ties included."""


def common_transform(folds: Sequence[FoldTransform]) -> FoldTransform:
    """A view of the shared matrix in which no distance is longer than in any fold, apart from the fillings.

    Columns that some fold lacks, or marks as missing in another way, are left out.

    >>> column, none = np.array([0]), np.empty(0, dtype=np.int64)
    >>> folds = [FoldTransform(column, none, np.zeros(1), np.array([f])) for f in (2.0, 3.0)]
    >>> common_transform(folds).inverse
    array([2.])
    """
    if _numbers_alone(folds):
        first = folds[0]
        mean, inverse = _scales(folds)
        none = np.zeros(first.width)
        return FoldTransform(
            first.source, first.picked, mean.mean(axis=0), inverse.min(axis=0), np.full(first.width, -1), none, none
        )
    kept = [_kept_columns(fold) for fold in folds]
    source = sorted(set.intersection(*[set(columns) for columns in kept]))
    picked = sorted(set.intersection(*[set(fold.picked.tolist()) for fold in folds]))
    facts = np.array([[columns[key] for key in source] for columns in kept]).reshape(len(folds), len(source), 4)
    mean, inverse, fill, held = facts.transpose(2, 0, 1)
    return FoldTransform(
        source=np.array([column for column, _ in source], dtype=np.int64),
        picked=np.array(picked, dtype=np.int64),
        mean=mean.mean(axis=0),
        inverse=inverse.min(axis=0),
        mask=np.array([mask for _, mask in source], dtype=np.int64),
        held=held[0],
        fill=(fill.min(axis=0) + fill.max(axis=0)) / 2,
    )


def _numbers_alone(folds: Sequence[FoldTransform]) -> bool:
    """Whether every fold scales the same columns of numbers, and no cell is missing."""
    source = folds[0].source
    if source.shape[0] == 0 or (np.diff(source) <= 0).any():
        return False
    return all(
        fold.picked.shape[0] == 0
        and (fold.mask is None or not fold.fills)
        and fold.mean is not None
        and fold.inverse is not None
        and (fold.source is source or np.array_equal(fold.source, source))
        for fold in folds
    )


def _scales(folds: Sequence[FoldTransform]) -> tuple[np.ndarray, np.ndarray]:
    """Means and factors of folds that have them, a row each."""
    means = [fold.mean for fold in folds if fold.mean is not None]
    factors = [fold.inverse for fold in folds if fold.inverse is not None]
    return np.array(means), np.array(factors)


def _kept_columns(fold: FoldTransform) -> dict[tuple[int, int], tuple[float, float, float, float]]:
    """Mean, factor, filling and stand-in of each column of numbers, by its place and that of its mask."""
    size = fold.source.shape[0]
    mean = np.zeros(size) if fold.mean is None else fold.mean
    inverse = np.ones(size) if fold.inverse is None else fold.inverse
    mask = np.full(size, -1) if fold.mask is None else fold.mask
    fill = np.zeros(size) if fold.fill is None else fold.fill
    held = np.zeros(size) if fold.held is None else fold.held
    facts = zip(mean.tolist(), inverse.tolist(), fill.tolist(), held.tolist(), strict=True)
    return dict(zip(zip(fold.source.tolist(), mask.tolist(), strict=True), facts, strict=True))


def bound_of(fold: FoldTransform, common: FoldTransform) -> Bound:
    """How the distances of a fold lie above those of the `common_transform` of all folds.

    >>> columns, none = np.arange(2), np.empty(0, dtype=np.int64)
    >>> fold, common = (FoldTransform(columns, none, np.zeros(2), np.array(f)) for f in ([2.0, 3.0], [1.0, 2.0]))
    >>> bound_of(fold, common).ratio
    1.5
    """
    facts, common_facts = _kept_columns(fold), _kept_columns(common)
    ratios = [facts[key][1] / theirs[1] for key, theirs in common_facts.items() if theirs[1] > 0]
    ratios += [1.0] if common.picked.size else []
    slack = sum(abs(facts[key][2] - theirs[2]) * facts[key][1] for key, theirs in common_facts.items() if key[1] >= 0)
    return Bound(min(ratios, default=0.0), slack, max(ratios, default=1.0))


def bounds_of(folds: Sequence[FoldTransform], common: FoldTransform) -> list[Bound]:
    """`bound_of` for each of some folds.

    >>> columns, none = np.arange(2), np.empty(0, dtype=np.int64)
    >>> fold, common = (FoldTransform(columns, none, np.zeros(2), np.array(f)) for f in ([2.0, 3.0], [1.0, 2.0]))
    >>> bounds_of([fold], common)[0] == bound_of(fold, common)
    True
    """
    if not folds or not _numbers_alone([*folds, common]):
        return [bound_of(fold, common) for fold in folds]
    least = common.inverse
    assert least is not None
    ratios = _scales(folds)[1][:, least > 0] / least[least > 0]
    if ratios.shape[1] == 0:
        return [Bound(0.0, 0, 1.0)] * len(folds)
    return [Bound(low, 0, high) for low, high in zip(ratios.min(axis=1).tolist(), ratios.max(axis=1).tolist())]


class SharedNeighbours:
    """The `length` nearest of all rows of `index` for the rows `tested`, from which training parts take theirs."""

    def __init__(self, index: NeighbourIndex, tested: np.ndarray, length: int, threads: int = 1):
        n_rows = index.rows.shape[0]
        self.index = index
        self.rows, self.distances, self.reach = self._lists(tested, length, threads)
        self.place = np.full(n_rows, -1)
        self.place[tested] = np.arange(tested.shape[0])
        self.largest = _largest(index.rows)
        self._extremes: np.ndarray | None = None
        self.searched = 0
        """How many queries the certificate left to a full search, so far."""

    def _lists(self, rows: np.ndarray, length: int, threads: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Candidates of these rows, their common distances, and how near any other row may be."""
        n_rows = self.index.rows.shape[0]
        length = min(length, n_rows)
        found, distances = self.index.nearest(self.index.rows[rows], length, threads, placed=True)
        return found, distances, distances[:, -1] if length < n_rows else np.full(rows.shape[0], np.inf)

    def nearest_in_folds(
        self,
        X: np.ndarray,
        folds: Sequence[Fold],
        transforms: Sequence[FoldTransform] | None,
        k: int,
        bounds: Sequence[Bound],
        threads: int = 1,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest training rows of the test rows of each fold, one fold below the other: their numbers in X and
        their distances.

        Transforms must scale the columns and leave their places; each fold must have at least k training rows, in
        ascending order. The index of the training rows would give the same rows and distances, and is not needed.
        """
        trains, tests = (row_lists(fold[side] for fold in folds) for side in (0, 1))
        ends, mean, factor = self._ends(X)[None], None, None
        if transforms is not None and all(one.mean is not None and one.inverse is not None for one in transforms):
            mean, factor = np.array([one.mean for one in transforms]), np.array([one.inverse for one in transforms])
            ends = (ends - mean[:, None, :]) * factor[:, None, :]
        ratio = np.array([bound.ratio for bound in bounds])
        largest = np.abs(ends).max(axis=(1, 2), initial=0.0) + ratio * self.largest
        slack = _ROUNDING * X.shape[1] * largest + np.array([bound.slack for bound in bounds])
        ratio = ratio * (1 - _ROUNDING)
        rows, distances, found = self.index.nearest_in_folds(
            X,
            trains,
            tests,
            self.rows,
            self.distances,
            k,
            threads,
            mean=mean,
            factor=factor,
            ratio=ratio,
            slack=slack,
            place=self.place,
        )
        sizes = [test.shape[0] for test in tests]
        place = self.place[np.concatenate(tests)]
        exact = np.repeat([bound.exact for bound in bounds], sizes)
        proved = _proved(distances, self.reach[place], np.repeat(ratio, sizes), np.repeat(slack, sizes))
        open_ = (found < k) | ~(exact | proved)
        ends_of = np.cumsum([0, *sizes])
        again = self._again(np.concatenate(tests)[open_], threads)
        for fold in np.unique(np.searchsorted(ends_of, np.flatnonzero(open_), side="right") - 1):
            part = slice(ends_of[fold], ends_of[fold + 1])
            asked = np.flatnonzero(open_[part])
            scaling = {} if mean is None or factor is None else {"mean": mean[fold], "factor": factor[fold]}
            chosen = np.take(X, tests[fold][asked], axis=0)
            queries = chosen if not scaling else (chosen - scaling["mean"]) * scaling["factor"]
            kept = np.zeros(X.shape[0], dtype=np.uint8)
            kept[trains[fold]] = 1
            rows[part][asked], distances[part][asked] = self._longer(
                again,
                X,
                queries,
                tests[fold][asked],
                kept,
                k,
                bounds[fold].exact,
                ratio[fold],
                slack[fold],
                scaling,
                threads,
            )
        return rows, distances

    def _again(self, rows: np.ndarray, threads: int) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """The rows that some fold asks for again, ascending, and their lists of twice the length."""
        known = np.unique(rows)
        return known, self._lists(known, 2 * self.rows.shape[1], threads)

    def _longer(
        self,
        again: tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]],
        X: np.ndarray,
        queries: np.ndarray,
        test: np.ndarray,
        kept: np.ndarray,
        k: int,
        exact: bool,
        ratio: float,
        slack: float,
        scaling: dict[str, np.ndarray],
        threads: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest of the rows that are kept, by lists of candidates that grow until the certificate holds."""
        rows, distances = np.empty((test.shape[0], k), dtype=np.int64), np.empty((test.shape[0], k))
        asked, length = np.arange(test.shape[0]), self.rows.shape[1]
        while True:
            self.searched += asked.shape[0]
            length *= 2
            if length == 2 * self.rows.shape[1]:
                at = np.searchsorted(again[0], test[asked])
                lists, bounds, reach = (part[at] for part in again[1])
            else:
                lists, bounds, reach = self._lists(test[asked], length, threads)
            rows[asked], distances[asked], found = self.index.nearest_of(
                queries[asked],
                lists,
                bounds,
                ratio,
                np.full(asked.shape[0], slack),
                k,
                threads,
                X,
                kept=kept,
                **scaling,
            )
            open_ = (found < k) if exact else (found < k) | ~_proved(distances[asked], reach, ratio, slack)
            if not open_.any() or lists.shape[1] == X.shape[0]:
                return rows, distances
            asked = asked[open_]

    def _ends(self, X: np.ndarray) -> np.ndarray:
        """The least and the greatest cell of each column."""
        if self._extremes is None:
            self._extremes = np.vstack([X.min(axis=0), X.max(axis=0)])
        return self._extremes

    def nearest_in(
        self,
        part: NeighbourIndex,
        train: np.ndarray,
        test: np.ndarray,
        queries: np.ndarray,
        k: int,
        bound: Bound,
        threads: int = 1,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Row numbers and distances that `part.nearest(queries, k)` would give.

        `part` is the index of the rows `train`, in that order, and `queries` are the rows `test`, both as the fold
        has prepared them.
        """
        lists = self.place[test]
        position = np.full(self.place.shape[0], -1)
        position[train] = np.arange(train.shape[0])
        placed = part.place(queries)
        largest = max(_largest(placed), _largest(part.rows)) + bound.ratio * self.largest
        slack = np.full(test.shape[0], _ROUNDING * placed.shape[1] * largest) + bound.slack
        ratio = bound.ratio * (1 - _ROUNDING)
        rows, distances, found = part.nearest_of(
            placed, position[self.rows[lists]], self.distances[lists], ratio, slack, k, threads
        )
        if bound.exact and (np.diff(train) > 0).all():
            open_ = found < k
        else:
            open_ = (found < k) | ~_proved(distances, self.reach[lists], ratio, slack)
        if open_.any():
            self.searched += int(open_.sum())
            rows[open_], distances[open_] = part.nearest(placed[open_], k, threads, placed=True)
        return rows, distances


def _proved(distances: np.ndarray, reach: np.ndarray, ratio: Any, slack: Any) -> np.ndarray:
    """Whether the last of the distances of each query is below what any row that is no candidate can have."""
    with np.errstate(invalid="ignore"):
        return distances[:, -1] < np.where(reach < np.inf, ratio * reach - slack, np.inf)


def _largest(rows: np.ndarray) -> float:
    return float(np.nanmax(np.abs(rows), initial=0.0))
