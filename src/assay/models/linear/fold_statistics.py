"""Sufficient statistics of the parts of cross-validation: of all rows, and of every training and test part.

`FoldStatistics` reads the table once where the test parts cover it once. `ChunkedGram` serves folds within folds: it
holds the statistics of fixed blocks of rows, from which those of any subset follow by reading only the rows that
are missing from a block mostly in the subset, or present from one mostly outside it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ... import _kernels
from ...base.folds import Fold, FoldTransform, are_complementary
from .gram import Centred, GramStatistics, Rows, complement, leaves_enough
from .sparse import SparseTable
from .standardised import Some
from .tables import table_of

# Blocks of rows whose statistics are kept, and the most memory they may take together.
MOST_CHUNKS = 32
LEAST_CHUNKS = 8
CHUNK_BYTES = 2.0**28


@dataclass(frozen=True)
class ChosenRows:
    """Some rows of a table by position, copied only where they are asked for, as a fold's preparation gives them."""

    table: np.ndarray | SparseTable
    chosen: np.ndarray
    through: FoldTransform | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """As of the array of these rows."""
        return self.chosen.shape[0], self.table.shape[1] if self.through is None else self.through.width

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, tuple):  # rows and columns, as np.ix_ gives them
            return self[rows[0].ravel()][:, rows[1].ravel()]
        found = self.table[self.chosen[rows]]
        return found if self.through is None else self.through.apply(np.asarray(found))


@dataclass(frozen=True)
class FoldStatistics:
    """Gram statistics of all rows, and of the training and test part of each fold.

    `read` has a training part that was read by itself; where it is None the part is all rows less the test part, a
    difference that is made when it is asked for.
    """

    whole: GramStatistics
    read: list[GramStatistics | None]
    test: list[GramStatistics]
    threads: int = 1

    def train(self, fold: int) -> GramStatistics:
        """The statistics of the training part of a fold."""
        read = self.read[fold]
        return self.whole.minus(self.test[fold]) if read is None else read

    def averaged(self, fold: int | None = None) -> Centred:
        """Averaged moments around the mean of the training part of a fold, or of all rows."""
        if fold is None:
            return self.whole.centred(averaged=True)
        read = self.read[fold]
        if read is None:
            return self.whole.centred(self.test[fold], averaged=True)
        return read.centred(averaged=True)

    @classmethod
    def of(
        cls,
        rows: np.ndarray | SparseTable,
        target: np.ndarray,
        weights: np.ndarray | None,
        folds: Sequence[Fold],
        *,
        fit_intercept: bool,
        threads: int,
    ) -> FoldStatistics:
        """One read where the test parts cover the table once; training parts by subtraction where that is safe."""
        targets = target[:, None]
        part = functools.partial(
            GramStatistics.of, rows, targets, weights, fit_intercept=fit_intercept, threads=threads
        )
        shift = table_of(rows).centring(targets, fit_intercept)()
        once = _cover_once(folds, rows.shape[0])
        for _ in range(2):
            test = [part(shift=shift, subset=rows_out) for _, rows_out in folds]
            whole = _total(test) if once else part(shift=shift)
            sums = whole.sums
            if not (fit_intercept and np.isfinite(sums[-1]).all() and whole._shift_is_far()):
                break
            shift = whole.nearer_shift(rows)
        read = [
            None if _is_rest(whole, left_out, fold, rows.shape[0]) else part(shift=shift, subset=fold[0])
            for fold, left_out in zip(folds, test, strict=True)
        ]
        return cls(whole, read, test, threads)

    def through(self, transform: FoldTransform | None) -> FoldStatistics:
        """The same parts, their columns as a preparation gives them that was fitted on all of these rows."""
        if transform is None:
            return self
        test = [part.through(transform) for part in self.test]
        read = [self.train(fold).through(transform) for fold in range(len(test))]
        return FoldStatistics(self.whole.through(transform), [*read], test, self.threads)

    def test_errors(self, fold: int, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Mean squared error on the test rows of a fold for each row of `coef`."""
        part = self.test[fold]
        offset = intercept - part.shift[-1] + coef @ part.shift[:-1]
        combination = np.column_stack([-coef, np.ones(coef.shape[0]), -offset])
        squares = _kernels.quadratic_forms(part.sums, np.ascontiguousarray(combination), self.threads)
        return np.maximum(squares, 0.0) / part.sums[-1, -1]

    def errors_hold(self, fold: int, errors: np.ndarray) -> bool:
        """Whether errors from the moments keep enough digits: they are small differences where the fit is perfect."""
        part = self.test[fold]
        return bool(errors.min() > 1e-9 * part.sums[-2, -2] / part.sums[-1, -1])


@dataclass(frozen=True)
class ChunkedGram:
    """Statistics of equal blocks of consecutive rows, for the statistics of subsets of the table."""

    rows: np.ndarray | SparseTable
    targets: np.ndarray
    weights: np.ndarray | None
    bounds: np.ndarray
    chunks: list[GramStatistics]
    threads: int

    @staticmethod
    def pays(n_rows: int, n_columns: int) -> bool:
        """Whether there is room for enough blocks, each of many more rows than its matrix has."""
        return _chunk_count(n_rows, n_columns) >= LEAST_CHUNKS

    @staticmethod
    def pays_for(rows: np.ndarray | SparseTable) -> bool:
        """As `pays`; the pairs of cells in the rows of a sparse table must also be more than its blocks have cells."""
        pairs = float(table_of(rows).cells.size) ** 2
        return pairs >= LEAST_CHUNKS * rows.shape[0] * rows.shape[1] ** 2 and ChunkedGram.pays(*rows.shape)

    @classmethod
    def of(cls, rows: Rows, targets: np.ndarray, weights: Some, *, fit_intercept: bool, threads: int) -> ChunkedGram:
        """The blocks of a table; they depend on its size alone, not on any folds."""
        count = _chunk_count(*rows.shape)
        bounds = np.linspace(0, rows.shape[0], count + 1).astype(np.int64)
        shift = table_of(rows).centring(targets, fit_intercept)()
        for _ in range(2):
            chunks = [
                GramStatistics.of(
                    rows[a:b],
                    targets[a:b],
                    None if weights is None else weights[a:b],
                    fit_intercept=fit_intercept,
                    threads=threads,
                    shift=shift,
                )
                for a, b in pairwise(bounds)
            ]
            whole = _total(chunks)
            if not (fit_intercept and np.isfinite(whole.sums[-1]).all() and whole._shift_is_far()):
                break
            shift = whole.nearer_shift(rows)
        return cls(rows, targets, weights, bounds, chunks, threads)

    def subset(self, chosen: np.ndarray) -> GramStatistics:
        """Statistics of some rows, each at most once."""
        inside = np.zeros(self.rows.shape[0], dtype=bool)
        inside[chosen] = True
        sizes = np.diff(self.bounds)
        counts = np.add.reduceat(inside, self.bounds[:-1], dtype=np.int64)
        whole = 2 * counts > sizes
        mostly = np.repeat(whole, sizes)
        base = [chunk for chunk, taken in zip(self.chunks, whole, strict=True) if taken]
        extra, missing = np.flatnonzero(inside & ~mostly), np.flatnonzero(~inside & mostly)
        if not base:
            return self._read(extra)
        found = _total(base)
        if missing.size:
            rest = complement(found, self._read(missing))
            if rest is None or not np.isfinite(rest.sums).all():
                return self._read(np.sort(chosen))
            found = rest
        return _total([found, self._read(extra)]) if extra.size else found

    def folds(self, used: np.ndarray, folds: Sequence[Fold]) -> FoldStatistics | None:
        """Statistics of folds within the rows `used` (positions there), or None where they must be read apart."""
        if np.bincount(used).max() > 1 or not _cover_once(folds, used.shape[0]):
            return None
        test = [self.subset(used[rows_out]) for _, rows_out in folds]
        whole = _total(test)
        if whole.fit_intercept and whole._shift_is_far():
            return None
        read = [
            None if _is_rest(whole, left_out, fold, used.shape[0]) else self._read(used[fold[0]])
            for fold, left_out in zip(folds, test, strict=True)
        ]
        return FoldStatistics(whole, read, test, self.threads)

    def _read(self, subset: np.ndarray) -> GramStatistics:
        return GramStatistics.of(
            self.rows,
            self.targets,
            self.weights,
            fit_intercept=self.chunks[0].fit_intercept,
            threads=self.threads,
            shift=self.chunks[0].shift,
            subset=subset,
        )


def _chunk_count(n_rows: int, n_columns: int) -> int:
    width = n_columns + 2.0
    return int(min(MOST_CHUNKS, CHUNK_BYTES / (8 * width**2), n_rows / width))


def _total(parts: Sequence[GramStatistics]) -> GramStatistics:
    first = parts[0]
    sums = first.sums.copy()
    for part in parts[1:]:
        sums += part.sums
    return GramStatistics(sums, first.shift, first.n_targets, first.fit_intercept)


def _is_rest(whole: GramStatistics, left_out: GramStatistics, fold: Fold, n_rows: int) -> bool:
    """Whether the training part is all rows less those left out, and the difference of their sums can be trusted."""
    return are_complementary(fold[0], fold[1], n_rows) and leaves_enough(whole, left_out)


def _cover_once(folds: Sequence[Fold], n_rows: int) -> bool:
    """Whether every row is in exactly one test part."""
    covered = np.sort(np.concatenate([fold[1] for fold in folds]))
    return covered.shape[0] == n_rows and bool((covered == np.arange(n_rows)).all())
