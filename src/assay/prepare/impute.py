"""The numeric block: medians for missing cells, with indicators, and standardised columns.

Inside, the table lies by column (one contiguous row of memory per column), which is how it comes from a frame and how
means and deviations are found fastest; what comes out is a C-ordered matrix of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _kernels
from ..numeric.moments import inverse_deviation


@dataclass(frozen=True)
class NumericBlock:
    """What the training rows say about the numeric columns.

    A missing cell becomes the median of the training rows (0 if all are missing there), and a column with missing
    cells in the training rows gets an indicator; a column that is complete there has its mean in store for later rows,
    without an indicator. Standardising subtracts the mean and divides by the standard deviation of the completed
    training rows; a constant column becomes 0.
    """

    fillings: np.ndarray | None
    indicated: np.ndarray
    mean: np.ndarray | None
    inverse_deviation: np.ndarray | None

    @classmethod
    def fit(
        cls, columns: np.ndarray, holes: bool, *, impute: bool, standardise: bool
    ) -> tuple[NumericBlock, np.ndarray]:
        """Learn from the training rows; returns the block and those rows as `apply` would give them.

        `columns` has shape (columns, rows) and is changed in place; `holes` says whether it has NaN at all.
        """
        block, missing = cls.learn(columns, holes, impute=impute, standardise=standardise)
        if block.inverse_deviation is not None:
            np.multiply(columns, block.inverse_deviation[:, None], out=columns)
        return block, block._rows(columns, missing)

    @classmethod
    def learn(
        cls, columns: np.ndarray, holes: bool, *, impute: bool, standardise: bool
    ) -> tuple[NumericBlock, np.ndarray | None]:
        """As `fit`, with the mask of the missing cells in place of the rows; the columns stay filled and centred."""
        missing = np.isnan(columns) if holes else None
        indicated = np.empty(0, dtype=np.int64)
        if missing is not None and impute:
            indicated = np.flatnonzero(missing.any(axis=1))
        fillings = _fillings(columns, indicated) if impute else None
        if missing is not None and fillings is not None:
            _fill(columns, missing, fillings)
        mean = inverse = None
        if standardise and holes and not impute:
            mean = _mean_of_present(columns)
            np.subtract(columns, mean[:, None], out=columns)
            inverse = _inverse_deviation_of_present(columns, mean)
        elif standardise:
            mean, inverse = spread_of(*_kernels.column_spread(columns, 1))
            np.subtract(columns, mean[:, None], out=columns)
        return cls(fillings, indicated, mean, inverse), missing

    @classmethod
    def learn_folds(
        cls, rows: np.ndarray, width: int, trains: list[np.ndarray], threads: int, *, impute: bool, standardise: bool
    ) -> list[NumericBlock]:
        """What `learn` finds in each list of rows of a table whose first `width` columns are complete numbers."""
        means, left, squares = _kernels.fold_spreads(rows, width, trains, threads)
        _, inverses = spread_of(means, left, squares)
        return [
            cls(
                mean if impute else None,
                np.empty(0, dtype=np.int64),
                mean if standardise else None,
                inverse if standardise else None,
            )
            for mean, inverse in zip(means, inverses, strict=True)
        ]

    def apply(self, columns: np.ndarray, holes: bool) -> np.ndarray:
        """Complete and standardise other rows, with the indicators behind."""
        missing = np.isnan(columns) if holes else None
        if missing is not None and self.fillings is not None:
            _fill(columns, missing, self.fillings)
        if self.mean is not None and self.inverse_deviation is not None:
            np.subtract(columns, self.mean[:, None], out=columns)
            np.multiply(columns, self.inverse_deviation[:, None], out=columns)
        return self._rows(columns, missing)

    def _rows(self, columns: np.ndarray, missing: np.ndarray | None) -> np.ndarray:
        if not self.indicated.size:
            return np.ascontiguousarray(columns.T)
        rows = np.zeros((columns.shape[1], columns.shape[0] + self.indicated.size))
        rows[:, : columns.shape[0]] = columns.T
        if missing is not None:
            rows[:, columns.shape[0] :] = missing[self.indicated].T
        return rows


def _fillings(columns: np.ndarray, holed: np.ndarray) -> np.ndarray:
    """The median of each column with missing cells; of the complete ones the mean, which is found in one pass."""
    fillings = _kernels.column_spread(columns, 1)[0]
    for j in holed:
        present = columns[j][~np.isnan(columns[j])]
        fillings[j] = np.median(present) if present.size else 0.0
    return fillings


def _fill(columns: np.ndarray, missing: np.ndarray, fillings: np.ndarray) -> None:
    for j in np.flatnonzero(missing.any(axis=1)):
        columns[j, missing[j]] = fillings[j]


def _mean_of_present(columns: np.ndarray) -> np.ndarray:
    return np.nansum(columns, axis=1) / np.maximum((~np.isnan(columns)).sum(axis=1), 1)


def _inverse_deviation_of_present(centred: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """One over the standard deviation of centred columns, 0 for a constant column; NaN cells are left out."""
    present, count = np.nan_to_num(centred), np.maximum((~np.isnan(centred)).sum(axis=1), 1)
    return spread_of(mean, present.sum(axis=1) / count, np.einsum("ij,ij->i", present, present) / count)[1]


def spread_of(mean: np.ndarray, left: np.ndarray, square: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean and one over the standard deviation, 0 for a constant column, by the mean of the squares about it.

    What the rounding of the mean `left` in the centred cells is taken out of the variance.

    >>> spread_of(np.array([2.0]), np.array([0.0]), np.array([4.0]))
    (array([2.]), array([0.5]))
    """
    return mean, inverse_deviation(np.sqrt(np.maximum(square - left**2, 0.0)), mean)
