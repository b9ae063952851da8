"""Scaling: columns of numbers on one footing."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from sklearn.utils.validation import check_is_fitted

from ..base import Choice, Cost, param, plain
from ..numeric.moments import varies
from .step import TableStep, columns_param, is_number, matrix_of


class Scale(TableStep):
    """Shifts and stretches columns of numbers; other columns pass through, and missing cells stay missing.

    With `method="standard"` a column gets mean 0 and standard deviation 1, with "min-max" the range 0 to 1, with
    "robust" median 0 and quartile distance 1, all of the training rows. A column that does not vary there is only
    shifted. Rows outside the training range are not clipped.

    Attributes
    ----------
    scaled_ : list of the columns that are scaled
    center_, scale_ : what is subtracted from each of them, and what it is then divided by

    Examples
    --------
    >>> import polars as pl
    >>> from assay.prepare import Scale
    >>> people = pl.DataFrame({"height": [63.0, 67.0, 70.0], "name": ["A", "B", "C"]})
    >>> step = Scale(method="min-max").fit(people)
    >>> step.transform(people)["height"].round(3).to_list()
    [0.0, 0.571, 1.0]
    >>> step.inverse_transform(step.transform(people)).equals(people)
    True
    """

    _floats_stay = True

    method: str = param(
        "standard",
        Choice("standard", "min-max", "robust"),
        "Mean and standard deviation, minimum and range, or median and quartile distance.",
    )
    columns: Any = columns_param()

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        self.scaled_ = self._chosen(frame, is_number, "numbers")
        self.names_out_ = list(frame.columns)
        self._measure(matrix_of(frame.select(self.scaled_)))

    def _by_cells(self) -> bool:
        return self.columns is None

    def _learn_cells(self, cells: np.ndarray, y: np.ndarray | None) -> None:
        self.scaled_, self.names_out_ = list(self.names_in_), list(self.names_in_)
        self._measure(cells)

    def _apply_cells(self, cells: np.ndarray) -> np.ndarray:
        return (cells - self.center_) / self.scale_

    def _measure(self, cells: np.ndarray) -> None:
        """Centre and scale of the columns, NaN left out; a column of nothing else is one of zeros."""
        if cells.shape[1] == 0:
            self.center_, self.scale_ = np.empty(0), np.empty(0)
            return
        if self.method == "min-max":
            low, high = (np.nan_to_num(ends) for ends in (np.fmin.reduce(cells), np.fmax.reduce(cells)))
            exponents = np.frexp(np.maximum(np.abs(low), np.abs(high)))[1]
            self._keep(np.ldexp(low, -exponents), np.ldexp(high, -exponents) - np.ldexp(low, -exponents), exponents)
            return
        with np.errstate(over="ignore"):
            holes = not np.isfinite(cells.sum()) and bool(np.isnan(cells).any())
        if holes:
            cells = np.where(np.isnan(cells).all(axis=0), 0.0, cells)
        # By powers of two, which is exact: squares and ranges of the largest and smallest numbers are numbers too.
        exponents = np.frexp(np.fmax.reduce(np.abs(cells), axis=0, initial=0.0))[1]
        cells = np.ldexp(cells, -exponents)
        if self.method == "standard" and not holes:
            center = cells.mean(axis=0)
            spread = np.sqrt(np.square(cells - center).mean(axis=0))
            spread[~varies(spread, center)] = 0.0
        elif self.method == "standard":
            center, spread = np.nanmean(cells, axis=0), np.nanstd(cells, axis=0)
            spread[~varies(spread, center)] = 0.0
        else:
            low, center, high = np.nanquantile(cells, [0.25, 0.5, 0.75], axis=0)
            spread = high - low
        self._keep(center, spread, exponents)

    def _keep(self, center: np.ndarray, spread: np.ndarray, exponents: np.ndarray) -> None:
        """What was measured in units of these powers of two."""
        self.center_ = np.ldexp(center, exponents)
        self.scale_ = np.where(spread > 0, np.ldexp(spread, exponents), 1.0)

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        return self._with(frame, (self._matrix(frame, self.scaled_) - self.center_) / self.scale_)

    def inverse_transform(self, X: Any) -> Any:
        """The columns as they were before scaling."""
        check_is_fitted(self)
        cells = self._matrix_in(X, reset=False) if getattr(self, "_of_cells", False) else None
        back = None if cells is None else self._matrix_out(cells * self.scale_ + self.center_, X, "names_in_")
        if back is not None:
            return back
        frame = self._open(X, reset=False)
        return self._close(self._with(frame, self._matrix(frame, self.scaled_) * self.scale_ + self.center_), X)

    def _with(self, frame: pl.DataFrame, cells: np.ndarray) -> pl.DataFrame:
        scaled = [pl.Series(name, cells[:, j], nan_to_null=True) for j, name in enumerate(self.scaled_)]
        return frame.with_columns(scaled)

    def explain(self) -> list[str]:
        """What becomes of the columns, in words."""
        check_is_fitted(self)
        words = {
            "standard": "standardised by the mean and standard deviation of the training rows",
            "min-max": "mapped so that the training rows range from 0 to 1",
            "robust": "centred at the median and divided by the quartile distance of the training rows",
        }[self.method]
        return [f"{', '.join(plain(name) for name in self.scaled_)}: {words}."] if self.scaled_ else []

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Two passes over the numbers, and three copies of them."""
        cells = float(n_rows) * n_features
        return Cost(seconds=(4e-8 if self.method == "robust" else 6e-9) * cells + 1e-5, bytes=24.0 * cells)
