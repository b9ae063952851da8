"""Scatter of the rows of each class around its mean: products of columns, which parts add to and subtract from.

>>> rows, codes = np.array([[0.0], [2.0], [5.0]]), np.array([0, 0, 1], dtype=np.int32)
>>> found = ClassScatter.of(rows, codes, 2, None, kind="full")
>>> found.means().ravel(), found.scatter().ravel()
(array([1., 5.]), array([2., 0.]))
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import _kernels
from ..base.batches import BatchedTable
from ..base.folds import FoldTransform
from .class_moments import LEAST_SHARE, ClassStatistics

_NONE = np.empty(0, dtype=np.int32)
_SAMPLE = 256


@dataclass(frozen=True)
class ClassScatter:
    """Sums over the rows of each class of w, of w z and of products of w z, with z = x - shift of the class.

    `products` is (classes, d, d); of kind "pooled" their sum, (1, d, d); of kind "diagonal" squares, (classes, d).
    """

    class_weight: np.ndarray
    sum: np.ndarray
    products: np.ndarray
    shift: np.ndarray
    kind: str

    @classmethod
    def of(
        cls,
        values: np.ndarray,
        codes: np.ndarray,
        n_classes: int,
        weights: np.ndarray | None,
        *,
        kind: str,
        threads: int = 1,
        shift: np.ndarray | None = None,
        rows: np.ndarray | None = None,
    ) -> ClassScatter:
        """The sums of all rows, or of the listed ones; the shift comes from the rows unless given."""
        if isinstance(values, BatchedTable) and kind != "diagonal":
            return cls._of_batches(values, codes, n_classes, weights, kind, threads)
        chosen = _centres(values, _samples(codes, n_classes, rows)) if shift is None else shift
        found = cls._around(chosen, values, codes, weights, rows, kind, threads)
        if shift is None and found._shift_is_far():
            found = cls._around(found.means(), values, codes, weights, rows, kind, threads)
        return found

    @classmethod
    def _of_batches(
        cls, table: BatchedTable, codes: np.ndarray, n_classes: int, weights: np.ndarray | None, kind: str, threads: int
    ) -> ClassScatter:
        """The sums of a table that is read in blocks, around a few rows of each class."""
        shift = np.zeros((n_classes, table.shape[1]))
        for k in range(n_classes):
            mine = np.flatnonzero(codes == k)
            shift[k] = _centre(table[mine[:: max(1, mine.size // _SAMPLE)]])
        for _ in range(2):
            sums = functools.partial(_of_block, kind=kind, threads=threads, shift=np.ascontiguousarray(shift))
            weight, first, products = table.total(sums, codes, weights)
            found = cls(weight, first, products, shift, kind)
            if not found._shift_is_far():
                break
            shift = found.means()
        return found

    @classmethod
    def _around(
        cls,
        shift: np.ndarray,
        values: np.ndarray,
        codes: np.ndarray,
        weights: np.ndarray | None,
        rows: np.ndarray | None,
        kind: str,
        threads: int,
    ) -> ClassScatter:
        classes = shift.shape[0]
        if kind == "diagonal":
            common = np.ascontiguousarray(shift.mean(axis=0))
            sums = ClassStatistics.of(
                values, codes, classes, weights, nominal=_NONE, sizes=_NONE, shift=common, threads=threads, rows=rows
            )
            return cls(sums.class_weight, sums.sum, sums.square, np.tile(common, (classes, 1)), kind)
        listed = None if rows is None else np.ascontiguousarray(rows, dtype=np.int64)
        shift = np.ascontiguousarray(shift)
        grams = _kernels.class_grams(values, codes, classes, shift, weights, listed, threads)
        return cls(*_parts_of(grams, kind), shift, kind)

    @classmethod
    def of_folds(
        cls,
        values: np.ndarray,
        codes: np.ndarray,
        lists: list[np.ndarray],
        *,
        shift: np.ndarray,
        kind: str,
        threads: int,
    ) -> ClassScatter:
        """The sums of the rows of each list around one shift, along a first axis; no weights.

        `means`, `scatter`, `squares`, `minus` and `holds_digits_of` take them as they take those of one set of rows.
        """
        classes, d = shift.shape
        if kind == "diagonal":
            common = np.ascontiguousarray(shift[0])
            sums = ClassStatistics.of_folds(values, codes, classes, lists, shift=common, threads=threads)
            return cls(sums.class_weight, sums.sum, sums.square, shift, kind)
        grams = _kernels.fold_grams(values, codes, classes, np.ascontiguousarray(shift), lists, threads)
        grams = grams.reshape(len(lists), classes, d + 1, d + 1)
        products = grams[..., :-1, :-1].sum(axis=1, keepdims=True) if kind == "pooled" else grams[..., :-1, :-1]
        return cls(grams[..., -1, -1], grams[..., -1, :-1], products, shift, kind)

    def _shift_is_far(self) -> bool:
        """Whether some class mean lies many standard deviations from the shift, so that centring would cancel."""
        weight = self._weight()
        offset = self.sum / weight
        raw = self.squares()
        spread = np.sqrt(np.maximum(raw / weight - offset**2, 0.0)) if self.kind == "full" else None
        if spread is None:
            pooled = np.maximum(raw.sum(axis=0) - (self.sum * offset).sum(axis=0), 0.0) / self.class_weight.sum()
            spread = np.broadcast_to(np.sqrt(pooled), offset.shape)
        far = (np.abs(offset) > 100 * spread) & (np.abs(offset) > 1e-10 * np.abs(self.shift))
        return bool(far.any()) and self.kind != "diagonal"

    def _weight(self) -> np.ndarray:
        return np.maximum(self.class_weight, 1e-300)[..., None]

    def squares(self) -> np.ndarray:
        """The sums of squares of z: (classes, d), or (1, d) if pooled."""
        return self.products if self.kind == "diagonal" else np.diagonal(self.products, axis1=-2, axis2=-1)

    def means(self) -> np.ndarray:
        """The mean of each class, (classes, d)."""
        return self.shift + self.sum / self._weight()

    def scatter(self) -> np.ndarray:
        """The products of rows less the mean of their class, in the shape of `products`."""
        offset = self.sum / self._weight()
        if self.kind == "diagonal":
            return np.maximum(self.products - self.sum * offset, 0.0)
        if self.kind == "pooled":
            return self.products - (np.swapaxes(self.sum, -1, -2) @ offset)[..., None, :, :]
        return self.products - self.sum[..., :, None] * offset[..., None, :]

    def minus(self, other: ClassScatter) -> ClassScatter:
        """The sums of the rows that are here and not in `other` (same shift and kind)."""
        names = ("class_weight", "sum", "products")
        return replace(self, **{name: getattr(self, name) - getattr(other, name) for name in names})

    def of_classes(self, present: np.ndarray) -> ClassScatter:
        """Only the classes where `present` is true; the others must be empty."""
        products = self.products if self.kind == "pooled" else self.products[present]
        return ClassScatter(self.class_weight[present], self.sum[present], products, self.shift[present], self.kind)

    def through(self, transform: FoldTransform | None) -> ClassScatter:
        """The sums of the same rows, their columns as a fold's preparation gives them.

        The shift moves with the columns, so that the constant of the map drops out of the sums.
        """
        if transform is None:
            return self
        if self.kind == "diagonal":
            products = transform.combine_squares(self.products, self.sum, self.shift, self.class_weight)
        else:
            products = np.array([transform.combine(transform.combine(one).T) for one in self.products])
        shift = transform.place(self.shift)
        return replace(self, sum=transform.combine(self.sum), products=products, shift=shift)

    def through_scales(self, folds: Sequence[FoldTransform]) -> ClassScatter:
        """The sums of each fold, their columns moved and scaled as the preparation of that fold does it."""
        if any(fold.mean is None or fold.inverse is None for fold in folds):
            return self
        mean, inverse = np.array([fold.mean for fold in folds]), np.array([fold.inverse for fold in folds])
        across = inverse[:, None, :]
        if self.kind == "diagonal":
            products = self.products * across * across
        else:
            products = self.products * inverse[:, None, :, None] * inverse[:, None, None, :]
        shift = (self.shift - mean[:, None, :]) * across
        return replace(self, sum=self.sum * across, products=products, shift=shift)

    def holds_digits_of(self, whole: ClassScatter) -> Any:
        """Whether these differences (of each fold) from `whole` are still accurate in every class and column."""
        left = self.scatter()
        left = left if self.kind == "diagonal" else np.diagonal(left, axis1=-2, axis2=-1)
        enough = (left >= LEAST_SHARE * whole.squares()).all(axis=(-2, -1))
        return (self.class_weight > 0).all(axis=-1) & enough


def _of_block(
    block: np.ndarray, codes: np.ndarray, weights: np.ndarray | None, shift: np.ndarray, kind: str, threads: int
) -> tuple[np.ndarray, ...]:
    """The sums of one block of rows."""
    return _parts_of(_kernels.class_grams(block, codes, shift.shape[0], shift, weights, None, threads), kind)


def _parts_of(grams: np.ndarray, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weight, sums and products of each class from the sums of w z z' with z = [x - shift, 1], one below the other."""
    size = grams.shape[1]
    by_class = grams.reshape(-1, size, size)
    products = by_class[:, :-1, :-1].sum(axis=0)[None] if kind == "pooled" else by_class[:, :-1, :-1].copy()
    return by_class[:, -1, -1].copy(), by_class[:, -1, :-1].copy(), products


def _samples(codes: np.ndarray, n_classes: int, rows: np.ndarray | None) -> list[np.ndarray]:
    """Some rows of each class, from all over the table."""
    n = codes.shape[0] if rows is None else rows.shape[0]
    taken = np.arange(0, n, max(1, n // (8 * _SAMPLE * n_classes)))
    taken = taken if rows is None else np.asarray(rows)[taken]
    found = _members(codes, n_classes, taken)
    if any(not mine.size for mine in found):
        found = _members(codes, n_classes, rows)
    return found


def _members(codes: np.ndarray, n_classes: int, rows: np.ndarray | None) -> list[np.ndarray]:
    """The rows of each class, in their order."""
    mine = codes if rows is None else codes[rows]
    # NumPy sorts 16 bits by counting.
    order = np.argsort(mine.astype(np.int16) if n_classes < 2**15 else mine, kind="stable")
    listed = order if rows is None else np.asarray(rows)[order]
    return np.split(
        np.ascontiguousarray(listed, dtype=np.int64), np.cumsum(np.bincount(mine, minlength=n_classes))[:-1]
    )


def _centres(values: np.ndarray, members: list[np.ndarray]) -> np.ndarray:
    """A value near the mean of each column in each class; exactly the value of a constant column."""
    centres = np.zeros((len(members), values.shape[1]))
    for k, mine in enumerate(members):
        if mine.size:
            centres[k] = _centre(values[mine[:: max(1, mine.size // _SAMPLE)]])
    return centres


def _centre(sample: np.ndarray) -> np.ndarray:
    """The mean of some rows; exactly the value of a constant column."""
    return np.where((sample == sample[0]).all(axis=0), sample[0], sample.mean(axis=0))
