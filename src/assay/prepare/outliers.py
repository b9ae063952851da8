"""Outliers: cells or rows far from the rest, flagged, dropped from training, or drawn in."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from scipy.stats import chi2
from sklearn.utils.validation import check_is_fitted

from ..base import Choice, Cost, Integer, Nothing, ParameterError, Real, param, thread_count
from ..numeric.moments import ROUNDING, PrincipalAxes, deviation_or_one
from ..numeric.neighbours import NeighbourIndex, get
from .step import RowStep, columns_param, free_name, is_quantity, listed, matrix_of

THRESHOLDS = {"percentile": 0.01, "iqr": 1.5, "z": 3.0, "mahalanobis": 0.999}
"""What `threshold=None` means for each method; for "dbscan" it is found from the training rows."""


class Outliers(RowStep):
    """Finds outliers among columns of numbers by what the training rows say, and flags, drops or winsorises them.

    Cell by cell: "percentile" (outside the quantiles t and 1 - t), "iqr" (more than t quartile distances below the
    first or above the third quartile) and "z" (more than t standard deviations from the mean). Row by row:
    "mahalanobis" (the squared distance from the mean in the space of the principal components, each divided by its
    variance, is over the chi-square quantile t) and "dbscan" (noise: within t of no row that has `min_samples` rows
    within t, itself included, on standardised columns). A missing cell is no outlier; in distances between rows it
    counts as the mean.

    "flag" adds a column of 0 and 1. "drop" leaves the rows out of training, while rows that have to be predicted pass
    as they are. "winsorise" draws cells to the nearest bound, or a whole row towards the mean until its Mahalanobis
    distance is the threshold; DBSCAN has no bound to draw to.

    Attributes
    ----------
    judged_ : list of the columns that are looked at
    threshold_ : float, the threshold in use
    low_, high_ : ndarray, the bounds of each column (percentile, iqr, z)
    center_, scale_ : ndarray, mean and standard deviation of each column (mahalanobis, dbscan)
    components_, variances_ : ndarray, the principal components of the standardised columns, and their variances
    cut_ : float, the largest squared distance that is no outlier (mahalanobis)
    core_ : ndarray, the standardised core rows (dbscan)
    flagged_ : int, the number of training rows with an outlier

    Examples
    --------
    >>> import polars as pl
    >>> from assay.prepare import Outliers
    >>> table = pl.DataFrame({"pay": [20.0, 21.0, 22.0, 23.0, 24.0, 900.0]})
    >>> Outliers(method="iqr").fit_transform(table)["outlier"].to_list()
    [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    >>> Outliers(method="iqr", action="winsorise").fit_transform(table)["pay"].to_list()
    [20.0, 21.0, 22.0, 23.0, 24.0, 27.5]
    """

    _way_out = "take a sample of the rows, or a method that judges cell by cell"

    method: str = param(
        "iqr", Choice("percentile", "iqr", "z", "mahalanobis", "dbscan"), "What makes a cell or row an outlier."
    )
    action: str = param("flag", Choice("flag", "drop", "winsorise"), "What becomes of outliers.")
    threshold: float | None = param(
        None,
        Real(0, closed="neither") | Nothing(),
        "Share per tail (percentile, < 0.5), quartile distances, standard deviations, chi-square level (< 1) or radius;"
        " None for 0.01, 1.5, 3, 0.999, or a radius from the distances to the `min_samples`-th row (upper quartile plus"
        " twice the quartile distance of their logarithms).",
    )
    min_samples: int = param(5, Integer(1), 'Rows within the radius, itself included, of a core row ("dbscan").')
    columns: Any = columns_param()

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        limit = {"percentile": 0.5, "mahalanobis": 1.0}.get(self.method, np.inf)
        if self.threshold is not None and self.threshold >= limit:
            self._refuse("threshold", f"a number > 0 and < {limit:g} for '{self.method}'", f"{self.threshold:g}")
        if self.method == "dbscan" and self.action == "winsorise":
            self._refuse("action", "'flag' or 'drop' for 'dbscan', which has no bound to draw to", "'winsorise'")
        self.judged_ = self._chosen(frame, is_quantity, "numbers")
        cells = matrix_of(frame.select(self.judged_), frame.height)
        self.threshold_ = float(THRESHOLDS.get(self.method, 0.0) if self.threshold is None else self.threshold)
        if self.judged_ and self.method in ("mahalanobis", "dbscan"):
            self._learn_space(cells)
        elif self.judged_:
            self._learn_bounds(cells)
        self.names_out_ = list(frame.columns)
        if self.action == "flag":
            self.names_out_.append(free_name("outlier", self.names_out_))
        self.flagged_ = int(self._found(cells).sum())

    def _refuse(self, name: str, rule: str, came: str) -> None:
        raise ParameterError(type(self).__name__, f"parameter '{name}'", f"must be {rule}", f"got {came}")

    def _learn_bounds(self, cells: np.ndarray) -> None:
        cells = np.where(np.isnan(cells).all(axis=0), 0.0, cells)
        if self.method == "percentile":
            self.low_, self.high_ = np.nanquantile(cells, [self.threshold_, 1 - self.threshold_], axis=0)
        elif self.method == "iqr":
            first, third = np.nanquantile(cells, [0.25, 0.75], axis=0)
            room = self.threshold_ * (third - first)
            self.low_, self.high_ = first - room, third + room
        else:
            mean, deviation = np.nanmean(cells, axis=0), np.nanstd(cells, axis=0)
            # Rounding of the mean must not make outliers of a constant column.
            room = self.threshold_ * deviation + ROUNDING * np.abs(mean)
            self.low_, self.high_ = mean - room, mean + room

    def _learn_space(self, cells: np.ndarray) -> None:
        cells = np.where(np.isnan(cells).all(axis=0), 0.0, cells)
        self.center_, deviation = np.nanmean(cells, axis=0), np.nanstd(cells, axis=0)
        self.scale_ = deviation_or_one(deviation, self.center_)
        rows = self._standardised(cells)
        if self.method == "dbscan":
            self._learn_core(rows)
            return
        axes = PrincipalAxes.of(rows.T @ rows / max(rows.shape[0] - 1, 1), 1e-10)
        self.components_, self.variances_ = axes.directions, axes.variances
        self.cut_ = float(chi2.ppf(self.threshold_, self.variances_.size)) if self.variances_.size else 0.0

    def _learn_core(self, rows: np.ndarray) -> None:
        """Noise without lists of neighbours: core rows are found by counting, other rows by their nearest core row."""
        index, threads = NeighbourIndex(rows, get("euclidean")), thread_count(None)
        if self.threshold is None:
            gaps = index.nearest(rows, min(self.min_samples, rows.shape[0]), threads)[1][:, -1]
            logs = np.log(gaps[gaps > 0])
            first, third = np.quantile(logs, [0.25, 0.75]) if logs.size else (0.0, 0.0)
            self.threshold_ = float(np.exp(third + 2 * (third - first)))
        self.core_ = rows[index.count(rows, self.threshold_, threads) >= self.min_samples]

    def _standardised(self, cells: np.ndarray) -> np.ndarray:
        return np.nan_to_num((cells - self.center_) / self.scale_)

    def _squared(self, cells: np.ndarray) -> np.ndarray:
        """Squared Mahalanobis distances."""
        return PrincipalAxes(self.variances_, self.components_).squared_distances(self._standardised(cells))

    def _found(self, cells: np.ndarray) -> np.ndarray:
        if not self.judged_:
            return np.zeros(cells.shape[0], dtype=bool)
        if self.method == "mahalanobis":
            return self._squared(cells) > self.cut_ * (1 + 1e-12)
        if self.method == "dbscan":
            if not self.core_.shape[0]:
                return np.ones(cells.shape[0], dtype=bool)
            index = NeighbourIndex(self.core_, get("euclidean"))
            return index.nearest(self._standardised(cells), 1, thread_count(None))[1][:, 0] > self.threshold_
        return ((cells < self.low_) | (cells > self.high_)).any(axis=1)

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        if self.action == "drop" or (self.action == "winsorise" and not self.judged_):
            return self._like_fit(frame, dict.fromkeys(self.judged_, "number"))
        cells = self._matrix(frame, self.judged_)
        if self.action == "flag":
            return frame.with_columns(pl.Series(self.names_out_[-1], self._found(cells).astype(np.float64)))
        if self.method == "mahalanobis":
            squared = self._squared(cells)
            far = squared > self.cut_
            shrink = np.sqrt(np.divide(self.cut_, squared, out=np.ones_like(squared), where=far))
            cells = np.where(far[:, None], self.center_ + (cells - self.center_) * shrink[:, None], cells)
        else:
            cells = np.clip(cells, self.low_, self.high_)
        return frame.with_columns([pl.Series(n, cells[:, j], nan_to_null=True) for j, n in enumerate(self.judged_)])

    def _kept(self, frame: pl.DataFrame, y: np.ndarray | None) -> np.ndarray:
        if self.action != "drop":
            return np.arange(frame.height)
        return np.flatnonzero(~self._found(self._matrix(frame, self.judged_)))

    def explain(self) -> list[str]:
        """What counts as an outlier and what becomes of it, in words, with the number of training rows concerned."""
        check_is_fitted(self)
        if not self.judged_:
            return []
        t = f"{self.threshold_:.3g}"
        what = {
            "percentile": f"cells outside the quantiles {t} and {1 - self.threshold_:.3g} of the training rows",
            "iqr": f"cells more than {t} quartile distances outside the quartiles of the training rows",
            "z": f"cells more than {t} standard deviations from the mean of the training rows",
            "mahalanobis": f"rows whose Mahalanobis distance is over the chi-square quantile {t}",
            "dbscan": f"rows within {t} of no core row ({self.min_samples} rows around it), columns standardised,",
        }[self.method]
        fate = {
            "flag": "are marked by a column of 0 and 1",
            "drop": "are left out of training",
            "winsorise": "are drawn to the bound" if self.method != "mahalanobis" else "are drawn towards the mean",
        }[self.action]
        return [f"{listed(self.judged_)}: {what} {fate} ({self.flagged_} training rows)."]

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Quantiles sort; Mahalanobis forms one product; DBSCAN counts the rows around each row."""
        cells = float(n_rows) * n_features
        seconds = {"mahalanobis": cells * (2e-7 + 1e-9 * n_features), "dbscan": 8e-7 * cells * np.log2(n_rows + 2.0)}
        return Cost(seconds=seconds.get(self.method, 4e-8 * cells) + 1e-5, bytes=40.0 * cells)
