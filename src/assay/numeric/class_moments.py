"""Class-wise sufficient statistics: counts, sums, squares and tallies, which parts add to and subtract from."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from .. import _kernels
from ..base.batches import BatchedTable

# A class must keep this share of a column's squares for a difference of sums to hold its digits.
LEAST_SHARE = 1e-5


@dataclass(frozen=True)
class ClassStatistics:
    """Sums over the rows of each class, skipping missing cells; squares and sums are of x - shift.

    `tally` holds the categories of the nominal columns side by side, `sizes[k]` of them for the k-th.
    """

    class_weight: np.ndarray
    count: np.ndarray
    sum: np.ndarray
    square: np.ndarray
    tally: np.ndarray
    shift: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(
        cls,
        values: Any,
        codes: np.ndarray,
        n_classes: int,
        weights: np.ndarray | None,
        *,
        nominal: np.ndarray,
        sizes: np.ndarray,
        shift: np.ndarray,
        threads: int,
        rows: np.ndarray | None = None,
    ) -> ClassStatistics:
        """The statistics of all rows, or of the listed ones; of a sparse table by its cells, with shift zero."""
        if isinstance(values, BatchedTable):
            sums = functools.partial(
                _of_block, n_classes=n_classes, nominal=nominal, sizes=sizes, shift=shift, threads=threads
            )
            class_weight, count, total, square, tally = values.total(sums, codes, weights)
            return cls(class_weight, count, total, square, tally, shift, sizes)
        if issparse(values):
            found = _of_cells(values, codes, n_classes, weights, rows)
            return cls(**found, shift=np.zeros(values.shape[1]), sizes=sizes)
        indices = None if rows is None else np.ascontiguousarray(rows, dtype=np.int64)
        found = _kernels.class_moments(values, codes, n_classes, shift, nominal, sizes, weights, indices, threads)
        return cls(**found, shift=shift, sizes=sizes)

    @classmethod
    def of_folds(
        cls,
        values: np.ndarray,
        codes: np.ndarray,
        n_classes: int,
        lists: list[np.ndarray],
        *,
        shift: np.ndarray,
        threads: int,
    ) -> ClassStatistics:
        """The statistics of the rows of each list, along a first axis; columns of numbers, no weights."""
        found = _kernels.fold_moments(values, codes, n_classes, shift, lists, threads)
        shape = (len(lists), n_classes, values.shape[1])
        sums = {name: found[name].reshape(shape) for name in ("count", "sum", "square")}
        none = np.zeros((len(lists), n_classes, 0))
        return cls(found["class_weight"], **sums, tally=none, shift=shift, sizes=np.empty(0, dtype=np.int32))

    def plus(self, other: ClassStatistics) -> ClassStatistics:
        """The statistics of both sets of rows (same shift and categories)."""
        return self._combined(other, 1.0)

    def minus(self, other: ClassStatistics) -> ClassStatistics:
        """The statistics of the rows that are here and not in `other` (same shift and categories)."""
        return self._combined(other, -1.0)

    def _combined(self, other: ClassStatistics, sign: float) -> ClassStatistics:
        names = ("class_weight", "count", "sum", "square", "tally")
        return replace(self, **{name: getattr(self, name) + sign * getattr(other, name) for name in names})

    def centred_squares(self) -> np.ndarray:
        """Sum of w (x - class mean)^2 per class and column."""
        mean = np.divide(self.sum, self.count, out=np.zeros_like(self.sum), where=self.count > 0)
        return np.maximum(self.square - mean * self.sum, 0.0)

    def holds_digits_of(self, whole: ClassStatistics, numeric: np.ndarray) -> Any:
        """Whether these differences from `whole` (of each fold, if stacked) are still accurate in every class and
        numeric column."""
        left, total = self.centred_squares()[..., numeric], whole.square[:, numeric]
        return (left >= LEAST_SHARE * total).all(axis=(-2, -1))

    def of_classes(self, present: np.ndarray) -> ClassStatistics:
        """Only the classes where `present` is true."""
        names = ("class_weight", "count", "sum", "square", "tally")
        return replace(self, **{name: getattr(self, name)[present] for name in names})

    def of_categories(self, present: list[np.ndarray]) -> ClassStatistics:
        """Only the categories where the mask of each nominal column is true."""
        if not present:
            return self
        sizes = np.array([mask.sum() for mask in present], dtype=np.int32)
        return replace(self, tally=np.ascontiguousarray(self.tally[:, np.concatenate(present)]), sizes=sizes)

    def column_tallies(self) -> list[np.ndarray]:
        """The tally of each nominal column, (n_classes, n_categories)."""
        return np.split(self.tally, np.cumsum(self.sizes)[:-1], axis=1) if self.sizes.shape[0] else []


def _of_block(
    block: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray | None,
    *,
    n_classes: int,
    nominal: np.ndarray,
    sizes: np.ndarray,
    shift: np.ndarray,
    threads: int,
) -> tuple[np.ndarray, ...]:
    """The sums of one block of rows."""
    found = _kernels.class_moments(block, codes, n_classes, shift, nominal, sizes, weights, None, threads)
    return tuple(found[name] for name in ("class_weight", "count", "sum", "square", "tally"))


def _of_cells(
    table: Any, codes: np.ndarray, n_classes: int, weights: np.ndarray | None, rows: np.ndarray | None
) -> dict[str, np.ndarray]:
    """Sums over the rows of a sparse table, whose cells are all known, about zero."""
    taken = np.arange(table.shape[0]) if rows is None else np.asarray(rows)
    weight = np.ones(taken.shape[0]) if weights is None else weights[taken]
    # In the order of the rows, so that a sum does not depend on which other classes there are.
    flags = csr_array((weight, (codes[taken], taken)), shape=(n_classes, table.shape[0]))
    size = np.bincount(codes[taken], weights=weight, minlength=n_classes)
    return {
        "class_weight": size,
        "count": np.repeat(size[:, None], table.shape[1], axis=1),
        "sum": np.asarray((flags @ table).toarray()),
        "square": np.asarray((flags @ table.multiply(table)).toarray()),
        "tally": np.zeros((n_classes, 0)),
    }


def central_values(values: Any, zero_one: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """A value near the mean of each column from about a thousand rows; zero for columns of 0 and 1."""
    if issparse(values):
        return np.zeros(values.shape[1])
    step = max(1, (values if rows is None else rows).shape[0] // 1024)
    sample = values[::step] if rows is None else values[rows[::step]]
    present = ~np.isnan(sample)
    counts = present.sum(axis=0)
    filled = np.where(present, sample, 0.0)
    mean = filled.sum(axis=0) / np.maximum(counts, 1)
    first = filled[np.argmax(present, axis=0), np.arange(values.shape[1])]
    constant = (np.where(present, sample, first) == first).all(axis=0)
    return np.where(zero_one, 0.0, np.where(constant, first, mean))


def holds_zero_one(values: Any, rows: np.ndarray | None = None) -> np.ndarray:
    """For each column, whether every present cell (of the listed rows) is 0 or 1."""
    if isinstance(values, BatchedTable):
        return values.facts.zero_one.copy()
    if issparse(values):
        cells = values if rows is None else values[rows]
        answer = np.ones(values.shape[1], dtype=bool)
        answer[cells.indices[(cells.data != 0) & (cells.data != 1)]] = False
        return answer
    head = values[:64] if rows is None else values[rows[:64]]
    likely = np.isin(head, (0.0, 1.0)) | np.isnan(head)
    answer = likely.all(axis=0)
    for j in np.flatnonzero(answer):
        column = values[:, j] if rows is None else values[rows, j]
        answer[j] = bool(((column == 0) | (column == 1) | np.isnan(column)).all())
    return answer
