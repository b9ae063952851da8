"""Columns chosen one by one, by how much each says about the target."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
import scipy.special
from sklearn.utils.validation import check_is_fitted

from ..base import AssayWarning, Choice, Cost, DataError, Integer, Nothing, Real, param, plain
from ..base.columns import column_names
from .encode import as_text
from .stability import StableSelection, holds_numbers
from .step import TableStep, is_number, matrix_of, refuse_missing

MEASURES = ("pearson", "f", "chi-square", "mutual-information", "gain-ratio", "total-variation")


@dataclass(frozen=True)
class _Target:
    """The target: class codes with their number, and numbers where it is one."""

    codes: np.ndarray
    n_classes: int
    values: np.ndarray | None

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many rows each class has."""
        return np.bincount(self.codes)

    @cached_property
    def centred(self) -> np.ndarray:
        """The numbers about their mean."""
        if self.values is None or not self.values.size:
            return np.empty(0)
        return self.values - self.values.mean()

    def of(self, rows: np.ndarray) -> _Target:
        """The target of some of the rows."""
        if self.values is None:
            return _Target(self.codes[rows], self.n_classes, None)
        return _Target(self.codes[:0], 0, self.values[rows])


class SelectFilter(StableSelection, TableStep):
    """Keeps the columns that say most about the target, each judged by itself.

    =================== ===============================================================================================
    measure             a column of numbers x, or of labels; the target y
    =================== ===============================================================================================
    pearson             |correlation| of two columns of numbers; else the correlation ratio of numbers in groups, or
                        Cramer's V of two columns of labels: all from 0 to 1
    f                   F of the regression on x, or of the analysis of variance (not for labels against classes)
    chi-square          chi-square of the table of x (in intervals) against y
    mutual-information  bits that x (in intervals) says about y, corrected for chance (Miller and Madow)
    gain-ratio          C4.5's: gain over split information, at the best threshold of a column of numbers
    total-variation     largest total variation distance between the densities of x in two classes
    =================== ===============================================================================================

    Intervals hold equal numbers of training rows; a target of numbers is cut the same way where classes are needed. A
    missing cell counts as a label of its own in tables and is left out otherwise. P-values are those of the usual test
    of independence; `alpha` bounds them after Holm's correction for the number of columns.

    Attributes
    ----------
    scores_ : array, the measure of each column
    p_values_ : array, the p-value of each column (NaN for total variation and gain ratio)
    support_ : boolean array, which columns are kept

    Examples
    --------
    >>> from assay.data import load_dataset
    >>> from assay.prepare import SelectFilter
    >>> table = load_dataset("weather")
    >>> step = SelectFilter(measure="gain-ratio", k=1).fit(table.frame.drop("play"), table.frame["play"].to_list())
    >>> step.get_feature_names_out().tolist(), round(float(step.scores_.max()), 3)
    (['outlook'], 0.156)
    """

    _requires_y = True
    # A column that has no value of the measure has no score.
    _open_state = ("scores_", "p_values_")

    _floats_stay = True

    measure: str = param("mutual-information", Choice(*MEASURES), "The measure, see above.")
    k: int | float | None = param(
        10, Integer(1) | Real(0, 1, "neither") | Nothing(), "Columns to keep at most, as a number or a share of all."
    )
    alpha: float | None = param(None, Real(0, 1, "neither") | Nothing(), "Largest p-value after Holm's correction.")
    threshold: float | None = param(None, Real() | Nothing(), "Least score of a column that is kept.")
    n_bins: int = param(10, Integer(2), "Intervals of a column of numbers, where tables are made.")
    target: str = param(
        "auto",
        Choice("auto", "classes", "numbers"),
        "What y holds; 'auto' takes fractions, or more than 20 different numbers, as numbers.",
    )

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        columns = frame.get_columns()
        numeric = [j for j, series in enumerate(columns) if is_number(series)]
        cells = dict(zip(numeric, np.ascontiguousarray(matrix_of(frame[:, numeric], frame.height).T)))
        self._learn_columns([cells.get(j, series) for j, series in enumerate(columns)], y)

    def _learn_columns(self, columns: Iterable[np.ndarray | pl.Series], y: np.ndarray | None) -> None:
        """Columns of numbers are arrays, those of labels are series."""
        assert y is not None
        target = self._read_target(y)
        judged = np.array([self._judge(column, target) for column in columns])
        self.scores_, self.p_values_ = np.ascontiguousarray(judged.T)
        self.support_ = self._choose()
        self.names_out_ = [name for name, kept in zip(self.names_in_, self.support_) if kept]

    def _by_cells(self) -> bool:
        return True

    def _learn_cells(self, cells: np.ndarray, y: np.ndarray | None) -> None:
        self._learn_columns(np.ascontiguousarray(cells.T), y)

    def _apply_cells(self, cells: np.ndarray) -> np.ndarray:
        return cells[:, self.support_]

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.select(self.names_out_)

    def get_support(self, indices: bool = False) -> np.ndarray:
        """Which columns are kept, as a mask or as positions."""
        check_is_fitted(self)
        return np.flatnonzero(self.support_) if indices else self.support_

    def _get_support_mask(self) -> np.ndarray:
        return self.get_support()

    # -- the measures ----------------------------------------------------------------------------------------------
    def _read_target(self, y: np.ndarray) -> _Target:
        flat = y.ravel() if y.ndim == 2 and y.shape[1] == 1 else y
        if flat.ndim != 1:
            raise DataError("SelectFilter", "y", "must be one column", f"got shape {y.shape}")
        if flat.dtype.kind == "f" and not np.isfinite(flat).all():
            raise DataError(
                "SelectFilter",
                "y",
                "must be finite (Input y contains NaN or infinity)",
                way_out="drop those rows first",
            )
        if flat.dtype.kind == "O":
            refuse_missing("SelectFilter", flat)
        numbers = self.target == "numbers" or (self.target == "auto" and holds_numbers(flat))
        if not numbers:
            codes = np.unique(flat.astype(str) if flat.dtype.kind == "O" else flat, return_inverse=True)[1]
            return _Target(codes, int(codes.max()) + 1, None)
        values = flat.astype(np.float64)
        if self.measure in ("pearson", "f"):  # which make no tables
            return _Target(np.empty(0, dtype=np.int64), 0, values)
        codes = _binned(values, self.n_bins)
        return _Target(codes, int(codes.max()) + 1, values)

    def _judge(self, column: np.ndarray | pl.Series, target: _Target) -> tuple[float, float]:
        if self.measure in ("pearson", "f"):
            return self._linear(column, target)
        if self.measure == "gain-ratio":
            if isinstance(column, np.ndarray):
                return _best_gain_ratio(column, target), np.nan
            return _gain_ratio(_table(_labels(column), target.codes, target.n_classes)), np.nan
        rows = _binned(column, self.n_bins) if isinstance(column, np.ndarray) else _labels(column)
        codes, n_classes = target.codes, target.n_classes
        if self.measure == "total-variation":
            if target.values is not None:
                codes, n_classes = _binned(target.values, 2), 2
            return _total_variation(_table(rows, codes, n_classes)), np.nan
        counts = _table(rows, codes, n_classes)
        if self.measure == "chi-square":
            return _chi_square(counts)
        return _mutual_information(counts)

    def _linear(self, column: np.ndarray | pl.Series, target: _Target) -> tuple[float, float]:
        """Correlation, correlation ratio or Cramer's V with its p-value, or the F of the first two."""
        if not isinstance(column, np.ndarray):
            groups = _labels(column)
            if target.values is not None:
                share, f, p = _variance_ratio(target.centred, groups, np.bincount(groups))
                return (np.sqrt(share), p) if self.measure == "pearson" else (f, p)
            if self.measure == "f":
                raise DataError(
                    "SelectFilter",
                    f"column '{plain(column.name)}'",
                    "holds labels, for which F against classes does not exist",
                    way_out="use measure='chi-square' or 'mutual-information'",
                )
            counts = _table(groups, target.codes, target.n_classes)
            statistic, p = _chi_square(counts)
            least = min(int((counts.sum(axis=1) > 0).sum()), int((counts.sum(axis=0) > 0).sum())) - 1
            return (np.sqrt(statistic / (counts.sum() * least)) if least > 0 else 0.0), p
        middle = float(np.add.reduce(column)) / column.shape[0]
        if middle != middle:  # some cell is missing
            present = ~np.isnan(column)
            column, target = np.compress(present, column), target.of(present)
            middle = float(column.mean()) if column.shape[0] else 0.0
        if target.values is None:
            share, f, p = _variance_ratio(column - middle, target.codes, target.sizes)
        else:
            share, f, p = _regression_ratio(column - middle, target.centred)
        return (np.sqrt(share), p) if self.measure == "pearson" else (f, p)

    # -- the choice ----------------------------------------------------------------------------------------------
    def _choose(self) -> np.ndarray:
        scores = np.where(np.isnan(self.scores_), -np.inf, self.scores_)
        d = scores.shape[0]
        if self.measure == "chi-square":
            # Tables of different shape are compared by their p-values.
            order = np.lexsort((np.arange(d), -scores, np.nan_to_num(self.p_values_, nan=1.0)))
        else:
            order = np.lexsort((np.arange(d), -scores))
        most = d if self.k is None else self.k if isinstance(self.k, int) else max(1, int(self.k * d))
        kept = np.zeros(d, dtype=bool)
        kept[order[:most]] = True
        if self.threshold is not None:
            kept &= scores >= self.threshold
        if self.alpha is not None:
            if np.isnan(self.p_values_).all():
                raise DataError(
                    "SelectFilter", "parameter 'alpha'", f"has no meaning for '{self.measure}', which has no p-value"
                )
            kept &= _holm(np.nan_to_num(self.p_values_, nan=1.0)) <= self.alpha
        if not kept.any():
            text = "SelectFilter: no column passes; the best one is kept. Loosen alpha or threshold."
            warnings.warn(AssayWarning("W153", text), stacklevel=5)
            kept[order[0]] = True
        return kept

    def summary(self) -> str:
        """The columns with their scores and p-values, best first; kept ones are marked."""
        check_is_fitted(self)
        names = column_names(self)
        lines = [f"   {self.measure:>18}   p-value  column"]
        for j in np.argsort(-np.nan_to_num(self.scores_, nan=-np.inf), kind="stable"):
            p = "" if np.isnan(self.p_values_[j]) else f"{self.p_values_[j]:.2g}"
            mark = "*" if self.support_[j] else " "
            lines.append(f"{mark}  {self.scores_[j]:18.6g}  {p:>8}  {plain(names[j], 60)}")
        return "\n".join(lines)

    def explain(self) -> list[str]:
        """Which columns are kept, in words."""
        check_is_fitted(self)
        kept = ", ".join(plain(name) for name in self.names_out_[:20]) + (", ..." if len(self.names_out_) > 20 else "")
        return [f"{len(self.names_out_)} of {self.n_features_in_} columns are kept by {self.measure}: {kept}."]

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A pass over each column, with a sort where intervals or thresholds are needed."""
        cells = float(n_rows) * n_features
        return Cost(seconds=(1e-8 if self.measure in ("pearson", "f") else 2.5e-7) * cells + 1e-5, bytes=16.0 * cells)


def _labels(series: pl.Series) -> np.ndarray:
    """Codes of the labels, with one more for missing cells; dates are cut by day."""
    codes = as_text(series).cast(pl.Categorical).to_physical().cast(pl.Int64)
    beyond = codes.len() and codes.null_count() < codes.len() and codes.drop_nulls().to_numpy().max() + 1
    return codes.fill_null(int(beyond)).to_numpy()


def _binned(values: np.ndarray, n_bins: int) -> np.ndarray:
    """Codes of intervals with equal numbers of rows, with one more for missing cells."""
    gone = np.isnan(values)
    holed = bool(gone.any())
    present = values[~gone] if holed else values
    if present.size == 0:
        return np.zeros(values.shape[0], dtype=np.int64)
    distinct = np.unique(present[: 4 * n_bins + 1])
    if distinct.size <= 2 * n_bins:
        distinct = np.unique(present)
    if distinct.size <= n_bins:
        cuts = distinct[1:]
    else:
        cuts = np.unique(np.quantile(present, np.arange(1, n_bins) / n_bins))
    codes = np.zeros(values.shape[0], dtype=np.int64)
    if cuts.size < 12:  # so many comparisons take less than a search for each cell
        for cut in cuts:
            codes += values >= cut
    else:
        codes = np.searchsorted(cuts, values, side="right")
    return np.where(gone, cuts.size + 1, codes) if holed else codes


def _table(rows: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Counts (labels, classes) without empty labels."""
    counts = np.bincount(rows * n_classes + codes, minlength=(int(rows.max()) + 1) * n_classes)
    counts = counts.reshape(-1, n_classes).astype(np.float64)
    return counts[counts.sum(axis=1) > 0]


def _entropy(counts: np.ndarray) -> np.ndarray:
    """Bits, along the last axis."""
    total = counts.sum(axis=-1, keepdims=True)
    share = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    return -np.sum(share * np.log2(np.where(share > 0, share, 1.0)), axis=-1)


def _chi_square(counts: np.ndarray) -> tuple[float, float]:
    counts = counts[:, counts.sum(axis=0) > 0]
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    if freedom == 0:
        return 0.0, 1.0
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / counts.sum()
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return statistic, float(scipy.special.chdtrc(freedom, statistic))


def _mutual_information(counts: np.ndarray) -> tuple[float, float]:
    """Miller and Madow's correction takes out what chance alone would give; the p-value is that of the G test."""
    counts = counts[:, counts.sum(axis=0) > 0]
    n = counts.sum()
    plug_in = float(_entropy(counts.sum(axis=0)) + _entropy(counts.sum(axis=1)) - _entropy(counts.ravel()))
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    if freedom == 0:
        return 0.0, 1.0
    cells = int((counts > 0).sum()) - counts.shape[0] - counts.shape[1] + 1
    p = float(scipy.special.chdtrc(freedom, max(2 * n * np.log(2) * plug_in, 0.0)))
    return max(plug_in - cells / (2 * n * np.log(2)), 0.0), p


def _gain_ratio(counts: np.ndarray) -> float:
    n, sizes = counts.sum(), counts.sum(axis=1)
    gain = float(_entropy(counts.sum(axis=0)) - (sizes * _entropy(counts)).sum() / n)
    split = float(_entropy(sizes))
    return gain / split if split > 0 else 0.0


def _best_gain_ratio(cells: np.ndarray, target: _Target) -> float:
    """The gain ratio at the threshold of the largest gain; rows with a missing cell lower the gain by their share."""
    present = ~np.isnan(cells)
    values, codes = cells[present], target.codes[present]
    if values.size < 2:
        return 0.0
    distinct, place = np.unique(values, return_inverse=True)
    if distinct.size < 2:
        return 0.0
    k = target.n_classes
    counts = np.bincount(place * k + codes, minlength=distinct.size * k).reshape(-1, k)
    left = np.cumsum(counts, axis=0)[:-1].astype(np.float64)
    whole = counts.sum(axis=0).astype(np.float64)
    right, n = whole - left, float(values.size)
    n1, n2 = left.sum(axis=1), right.sum(axis=1)
    gains = _entropy(whole) - (n1 * _entropy(left) + n2 * _entropy(right)) / n
    best = int(np.argmax(gains))
    split = float(_entropy(np.array([n1[best], n2[best]])))
    return float(gains[best]) * n / cells.size / split


def _total_variation(counts: np.ndarray) -> float:
    density = counts / np.maximum(counts.sum(axis=0), 1)
    live = counts.sum(axis=0) > 0
    density = density[:, live]
    if density.shape[1] < 2:
        return 0.0
    apart = np.abs(density[:, :, None] - density[:, None, :]).sum(axis=0)
    return 0.5 * float(apart.max())


def _variance_ratio(centred: np.ndarray, groups: np.ndarray, sizes: np.ndarray) -> tuple[float, float, float]:
    """Share of the variance of numbers about their mean between groups of these sizes, F and its p-value."""
    if centred.size == 0:
        return 0.0, 0.0, 1.0
    sums, k = np.bincount(groups, weights=centred), int(np.count_nonzero(sizes))
    if k < sizes.shape[0]:
        sums, sizes = sums[sizes > 0], sizes[sizes > 0]
    between = float((sums**2 / sizes).sum())
    whole = float(centred @ centred)
    return _f_of(min(between / whole, 1.0) if whole > 1e-300 else 0.0, k - 1, centred.size - k)


def _regression_ratio(a: np.ndarray, b: np.ndarray) -> tuple[float, float, float]:
    """Squared correlation of two columns about their means, F and its p-value."""
    if a.size < 3:
        return 0.0, 0.0, 1.0
    size = math.sqrt(a @ a) * math.sqrt(b @ b)
    r = float(a @ b) / size if size > 1e-300 else 0.0
    return _f_of(min(r * r, 1.0), 1, a.size - 2)


def _f_of(share: float, above: int, below: int) -> tuple[float, float, float]:
    if above < 1 or below < 1:
        return share, 0.0, 1.0
    f = share / above / max((1 - share) / below, 1e-300)
    return share, f, float(scipy.special.fdtrc(above, below, f))


def _holm(p_values: np.ndarray) -> np.ndarray:
    """P-values after Holm's correction."""
    order = np.argsort(p_values, kind="stable")
    m = p_values.shape[0]
    adjusted = np.maximum.accumulate(p_values[order] * (m - np.arange(m)))
    out = np.empty(m)
    out[order] = np.minimum(adjusted, 1.0)
    return out
