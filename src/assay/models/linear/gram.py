"""Sufficient statistics of linear models: one shifted Gram matrix, which parts add to and subtract from.

`GramStatistics` wraps the kernel `weighted_gram`; `complement` turns the statistics of all rows and of the test rows
into those of the training rows, and says when that subtraction would lose digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import _kernels
from ...base.folds import FoldTransform
from .sparse import SparseTable
from .standardised import Some
from .tables import table_of

Rows = np.ndarray | SparseTable

# The training part must keep this share of each column's variation, or its own rows are read instead: the rounding
# error of a difference is relative to the larger term.
LEAST_SHARE = 1e-4


@dataclass(frozen=True)
class Centred:
    """Moments around the mean (or around zero, without intercept), summed over weighted rows or averaged over them."""

    weight: float
    x_mean: np.ndarray
    y_mean: np.ndarray
    gram: np.ndarray
    cross: np.ndarray
    y_squares: np.ndarray


@dataclass(frozen=True)
class GramStatistics:
    """Sum of w z z' over rows, with z = [x - shift, y - shift, 1]."""

    sums: np.ndarray
    shift: np.ndarray
    n_targets: int
    fit_intercept: bool

    @classmethod
    def of(
        cls,
        rows: Rows,
        targets: np.ndarray,
        weights: Some,
        *,
        fit_intercept: bool,
        threads: int,
        shift: Some = None,
        subset: Some = None,
    ) -> GramStatistics:
        """The statistics of all rows, or of `subset`; the shift comes from the data unless given."""
        table = table_of(rows)
        around = table.centring(targets, fit_intercept)() if shift is None else shift
        indices = None if subset is None else np.ascontiguousarray(subset, dtype=np.int64)
        sums_around = table.gram_sums(targets, weights, indices)
        found = cls(sums_around(shift=around, threads=threads), around, targets.shape[1], fit_intercept)
        if shift is None and fit_intercept and found._shift_is_far():
            around = found.nearer_shift(rows)
            found = cls(sums_around(shift=around, threads=threads), around, targets.shape[1], fit_intercept)
        return found

    @classmethod
    def of_sums(
        cls, sums: np.ndarray, shift: np.ndarray, n_targets: int, *, fit_intercept: bool
    ) -> GramStatistics | None:
        """The statistics of sums that were made elsewhere; None if they are not finite or the shift was far."""
        found = cls(sums, shift, n_targets, fit_intercept)
        if not _kernels.all_finite(sums) or (fit_intercept and found._shift_is_far()):
            return None
        return found

    def _shift_is_far(self) -> bool:
        """Whether some column mean lies many standard deviations from the shift, so that centring would cancel."""
        return bool(_kernels.far_columns(self.sums, self.shift).any())

    def nearer_shift(self, rows: np.ndarray | SparseTable) -> np.ndarray:
        """The means; of a sparse table only those of columns far from the shift, which are almost full."""
        offset = self.sums[-1, :-1] / self.sums[-1, -1]
        return self.shift + table_of(rows).nearer(offset, _kernels.far_columns(self.sums, self.shift))

    def minus(self, other: GramStatistics) -> GramStatistics:
        """The statistics of the rows that are here and not in `other` (same shift)."""
        return GramStatistics(self.sums - other.sums, self.shift, self.n_targets, self.fit_intercept)

    def through(self, transform: FoldTransform | None) -> GramStatistics:
        """The statistics of the same rows, their columns as a fold's preparation gives them."""
        if transform is None:
            return self
        p = self.shift.shape[0] - self.n_targets
        # Around a shift that moves with the columns the constant of the map drops out; around zero it stays.
        offset = np.zeros(transform.width) if self.fit_intercept else transform.offset
        half = transform.combine(self.sums[:, :p]) + self.sums[:, -1:] * offset
        half = np.concatenate([half, self.sums[:, p:]], axis=1)
        above = transform.combine(half[:p].T).T + offset[:, None] * half[-1:]
        shift = np.zeros(transform.width)
        if self.fit_intercept:
            shift = transform.place(self.shift[None, :p])[0]
        return GramStatistics(
            np.concatenate([above, half[p:]]), np.append(shift, self.shift[p:]), self.n_targets, self.fit_intercept
        )

    def centred(self, less: GramStatistics | None = None, *, averaged: bool = False) -> Centred:
        """Moments around the mean if there is an intercept, else around zero, in one new matrix.

        With `less`, of the rows that are not in it; `averaged` divides them by the weight.
        """
        of_less = None if less is None else less.sums
        return Centred(
            *_kernels.centred_moments(self.sums, of_less, self.shift, self.n_targets, self.fit_intercept, averaged)
        )

    def variation(self, less: GramStatistics | None = None) -> np.ndarray:
        """Squares of each column and target around the mean if there is an intercept, else around zero.

        With `less`, of the rows that are not in it.
        """
        squares, last = self.sums.diagonal()[:-1].copy(), self.sums[-1]
        if less is not None:
            squares, last = squares - less.sums.diagonal()[:-1], last - less.sums[-1]
        if self.fit_intercept:
            squares -= last[:-1] * (last[:-1] / float(last[-1]))
        return squares


class FiniteByGram:
    """Mixin for learners that read the rows once: `fit` looks for NaN and infinity in the sums, not in the cells.

    The learner calls `_require_finite` when its Gram matrix is not finite, or before any other use of the rows.
    """

    def _read(self, X: Any, *, reset: bool) -> np.ndarray:
        if not reset:
            return super()._read(X, reset=reset)  # type: ignore[misc]
        return self._numbers_of(X, reset=True, ensure_all_finite=False)  # type: ignore[attr-defined]

    def _require_finite(self, rows: Any) -> None:
        """Refuse a missing or infinite cell."""
        table_of(rows).require_finite(type(self).__name__, getattr(self, "feature_names_in_", None))


def complement(
    whole: GramStatistics, part: GramStatistics, through: FoldTransform | None = None
) -> GramStatistics | None:
    """`whole` without `part`, seen through a fold, or None where the difference would lose too many digits."""
    if through is None:
        return whole.minus(part) if leaves_enough(whole, part) else None
    rest = whole.minus(part).through(through)
    if not rest.sums[-1, -1] > 0:
        return None
    return rest if bool((rest.variation() >= LEAST_SHARE * whole.through(through).variation()).all()) else None


def leaves_enough(whole: GramStatistics, part: GramStatistics) -> bool:
    """Whether `whole` without `part` keeps enough digits."""
    if not whole.sums[-1, -1] - part.sums[-1, -1] > 0:
        return False
    return bool((whole.variation(less=part) >= LEAST_SHARE * whole.variation()).all())
