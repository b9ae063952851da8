"""The rows that a kernel machine is fitted to, and their kernel: a Gram matrix, or compiled rows made when needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..linear.tables import first_copies
from .fast_form import FastForm


@dataclass(frozen=True)
class Training:
    """Distinct rows with the sums of their weights; `place` is the number of each in the table that was given."""

    rows: Any
    target: np.ndarray
    weights: np.ndarray
    place: np.ndarray

    @classmethod
    def of(cls, rows: Any, target: np.ndarray, weights: np.ndarray | None, place: np.ndarray, merge: bool) -> Training:
        """With `merge` equal rows with equal targets become one row, in the order in which they first came.

        >>> rows, target = np.array([[1.0], [2.0], [1.0]]), np.array([0, 1, 0])
        >>> Training.of(rows, target, None, np.arange(3), merge=True).weights
        array([2., 1.])
        """
        share = np.ones(rows.shape[0]) if weights is None else weights
        if merge:
            first = first_copies(rows, target)
            own = np.flatnonzero(first == np.arange(rows.shape[0]))
            if own.shape[0] < rows.shape[0]:
                share = np.bincount(first, share, minlength=rows.shape[0])[own]
                rows, target, place = rows[own], target[own], place[own]
        return cls(rows, target, share, place)

    @property
    def n(self) -> int:
        """How many rows there are."""
        return int(self.rows.shape[0])


@dataclass
class KernelSource:
    """The kernel of rows, of which a machine uses all or some: from a matrix if there is one, else in compiled rows.

    With `among` the matrix or the rows are those of a larger table, and these are the numbers of the rows in it.
    Compiled rows are made of `placed`, in float32 if `single`.
    """

    rows: np.ndarray
    gram: np.ndarray | None
    among: np.ndarray | None = None
    form: FastForm | None = None
    placed: np.ndarray | None = None
    single: bool = False
    _all: Any = None

    def of(self, chosen: np.ndarray | None) -> tuple[Any, np.ndarray]:
        """What the solver reads, and where in it the chosen rows (None for all) are."""
        if self.among is not None:
            place = self.among if chosen is None else self.among[chosen]
            return self._whole(), place
        if chosen is None:
            return self._whole(), np.arange(self.rows.shape[0])
        place = np.arange(chosen.shape[0])
        if self.gram is not None:
            return self.gram[chosen[:, None], chosen], place
        assert self.form is not None and self.placed is not None
        return self.form.rows(np.ascontiguousarray(self.placed[chosen]), self.single), place

    def _whole(self) -> Any:
        if self.gram is not None:
            return self.gram
        if self._all is None:
            assert self.form is not None and self.placed is not None
            self._all = self.form.rows(self.placed, self.single)
        return self._all


def kept_places(sample_weight: Any, n_rows: int) -> np.ndarray:
    """The numbers of the rows that have weight, of which there are n_rows.

    >>> kept_places([1.0, 0.0, 2.0], 2)
    array([0, 2])
    """
    if sample_weight is None or np.ndim(sample_weight) == 0:
        return np.arange(n_rows)
    return np.flatnonzero(np.asarray(sample_weight, dtype=np.float64) > 0)
