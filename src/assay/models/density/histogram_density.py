"""The histogram: rows counted in cells of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base.columns import column_names
from ...base.cost import Cost
from ...base.errors import DataError, ParameterError, plain
from ...base.parameters import ArrayLike, Choice, Nothing, Real, param
from ...base.randomness import Stream
from ...base.unsupervised import DensityEstimator, check_count
from ...base.views import DensityCurves
from ...numeric.moments import deviation_or_one

_MOST_CELLS = 2.0**53


class HistogramDensity(DensityEstimator):
    """Counts rows in cells of equal size: p(x) = (weight in the cell of x) / (weight of all rows x volume of a cell).

    A cell of column j is [origin_j + k width_j, origin_j + (k + 1) width_j). Only cells that hold rows are kept, so
    many columns cost no memory; but few new rows then fall into them, and a row in an empty cell has no density (log
    density minus infinity) unless `alpha` is given.

    Attributes
    ----------
    origin_, width_ : where the cells of each column start, and their width
    cells_ : array (occupied cells, columns) of whole numbers, in lexicographic order
    counts_ : the weight of the rows in each of them
    first_, last_ : the lowest and highest cell of each column

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.density import HistogramDensity
    >>> model = HistogramDensity(width=2.0, origin=0.0).fit([[0.5], [1.0], [1.5], [3.0]])
    >>> np.exp(model.score_samples([[1.9], [2.0], [9.0]]))
    array([0.375, 0.125, 0.   ])
    """

    width: Any = param(
        "scott",
        Real(0, None, "neither") | Choice("scott", "freedman-diaconis", "sturges") | ArrayLike(),
        "Width of the cells: a number, one for each column, or a rule for the number of rows and their spread.",
    )
    origin: Any = param(
        None,
        Real() | ArrayLike() | Nothing(),
        "Where cells start: a number or one per column; None for the least value.",
    )
    alpha: float = param(
        0.0, Real(0), "Weight added to every cell between the lowest and the highest cell of each column."
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> HistogramDensity:
        """Choose the cells and count the rows in them."""
        rows, weights = self._begin_weighted(X, sample_weight)
        self.width_ = self._widths(rows, weights)
        self.origin_ = rows.min(axis=0) if self.origin is None else self._given("origin", self.origin)
        cells = self._cells_of(rows)
        self.cells_, inverse = np.unique(cells, axis=0, return_inverse=True)
        self.counts_ = np.bincount(inverse.ravel(), weights=weights, minlength=self.cells_.shape[0]).astype(float)
        self.first_, self.last_ = self.cells_.min(axis=0), self.cells_.max(axis=0)
        return self

    def _given(self, name: str, given: Any) -> np.ndarray:
        try:
            values = np.broadcast_to(np.asarray(given, dtype=np.float64), (self.n_features_in_,))
        except (TypeError, ValueError):
            values = np.full(1, np.nan)
        if not np.isfinite(values).all() or (name == "width" and not (values > 0).all()):
            raise ParameterError(
                type(self).__name__,
                f"parameter '{name}'",
                f"must be a number{' > 0' if name == 'width' else ''}, or one for each of the columns",
                f"got {plain(repr(given))}",
            )
        return np.array(values)

    def _widths(self, rows: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        if not isinstance(self.width, str):
            return self._given("width", self.width)
        d = rows.shape[1]
        weight = float(rows.shape[0] if weights is None else weights.sum())
        mean = np.average(rows, axis=0, weights=weights)
        deviation = np.sqrt(np.average((rows - mean) ** 2, axis=0, weights=weights))
        shrink = weight ** (-1.0 / (2.0 + d))
        wanted = 3.49 * deviation * shrink
        if self.width == "sturges":
            wanted = np.ptp(rows, axis=0) / (np.log2(max(weight, 1.0)) + 1.0)
        elif self.width == "freedman-diaconis":
            # The quantile of repeated rows is that of weighted ones.
            method: Any = "inverted_cdf"
            low, high = (np.quantile(rows, q, axis=0, weights=weights, method=method) for q in (0.25, 0.75))
            wanted = np.where(high > low, 2.0 * (high - low) * shrink, wanted)
        # A column of one value is one cell.
        return deviation_or_one(wanted, mean)

    def _cells_of(self, rows: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            cells = np.floor((rows - self.origin_) / self.width_)
        if not (np.abs(cells) < _MOST_CELLS).all():
            column = int(np.argmax((~(np.abs(cells) < _MOST_CELLS)).any(axis=0)))
            raise DataError(
                type(self).__name__,
                f"column '{plain(column_names(self)[column])}'",
                "must not be wider than 2**53 cells",
                way_out="choose a larger width",
            )
        return cells.astype(np.int64)

    def score_samples(self, X: Any) -> np.ndarray:
        """Log density of each row; minus infinity in an empty cell."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        beyond = np.abs((rows - self.origin_) / self.width_) >= _MOST_CELLS
        cells = self._cells_of(np.where(beyond, self.origin_, rows))
        place = _find(self.cells_, cells)
        weight = np.where(place >= 0, self.counts_[place], 0.0)
        inside = ((cells >= self.first_) & (cells <= self.last_) & ~beyond).all(axis=1)
        weight = np.where(inside, weight + self.alpha, 0.0)
        with np.errstate(divide="ignore"):
            return np.log(weight) - np.log(self._total()) - np.log(self.width_).sum()

    def _box(self) -> float:
        """How many cells lie between the lowest and the highest of each column."""
        return float(np.prod((self.last_ - self.first_ + 1).astype(float)))

    def _total(self) -> float:
        return float(self.counts_.sum()) + self.alpha * self._box()

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """New rows: a cell by its weight, and any place in it."""
        check_is_fitted(self)
        count, rng = check_count(type(self).__name__, n_samples), Stream.of(random_state).generator()
        chosen = self.cells_[rng.choice(self.counts_.shape[0], size=count, p=self.counts_ / self.counts_.sum())]
        anywhere = rng.integers(self.first_, self.last_ + 1, size=(count, self.n_features_in_))
        by_alpha = rng.random(count) < self.alpha * self._box() / self._total()
        cells = np.where(by_alpha[:, None], anywhere, chosen)
        return self.origin_ + (cells + rng.random(cells.shape)) * self.width_

    def view(self) -> DensityCurves:
        """The histogram of each column by itself."""
        check_is_fitted(self)
        names, points, values = column_names(self)[:6], [], []
        for j in range(len(names)):
            first, last = int(self.first_[j]), int(self.last_[j])
            if last - first > 2000:  # a picture has no room for more
                used, place = np.unique(self.cells_[:, j], return_inverse=True)
            else:
                used, place = np.arange(first, last + 1), self.cells_[:, j] - first
            weight = np.bincount(place.ravel(), weights=self.counts_, minlength=used.shape[0])
            left = self.origin_[j] + used * self.width_[j]
            height = weight / (self.counts_.sum() * self.width_[j])
            points.append(np.stack([left, left + self.width_[j]], axis=1).ravel().tolist())
            values.append(np.repeat(height, 2).tolist())
        return DensityCurves(names=names, points=points, values=values, columns=int(self.n_features_in_))

    def chosen(self) -> dict[str, int | float | str]:
        """The widths, where a rule chose them."""
        check_is_fitted(self)
        if not isinstance(self.width, str):
            return {}
        return {f"width of {name}": float(w) for name, w in zip(column_names(self)[:6], self.width_)}

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """One pass, and a sort of the cells."""
        n, d = float(n_rows), float(n_features)
        return Cost(seconds=1e-5 + 1e-7 * n * d, bytes=40.0 * n * d)


def _find(known: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The place of each wanted row among known ones, -1 where it is not; column by column, pairs become numbers."""
    code_known, code = np.zeros(known.shape[0], dtype=np.int64), np.zeros(wanted.shape[0], dtype=np.int64)
    missing = np.zeros(wanted.shape[0], dtype=bool)
    for j in range(known.shape[1]):
        levels = np.unique(known[:, j])
        level = np.minimum(np.searchsorted(levels, wanted[:, j]), levels.shape[0] - 1)
        missing |= levels[level] != wanted[:, j]
        pair_known = code_known * levels.shape[0] + np.searchsorted(levels, known[:, j])
        pair = code * levels.shape[0] + level
        pairs = np.unique(pair_known)
        code_known = np.searchsorted(pairs, pair_known)
        code = np.minimum(np.searchsorted(pairs, pair), pairs.shape[0] - 1)
        missing |= pairs[code] != pair
    place = np.empty(known.shape[0], dtype=np.int64)
    place[code_known] = np.arange(known.shape[0])
    return np.where(missing, -1, place[code])
