"""The naive estimator: how many rows lie in a box around the point."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base.cost import Cost
from ...base.errors import ParameterError, plain
from ...base.parameters import ArrayLike, Choice, Real, param
from ...base.randomness import Stream
from ...base.threads import thread_count
from ...base.unsupervised import DensityEstimator, check_count
from ...base.usual_parameters import n_jobs_param
from ...base.views import DensityCurves
from ...numeric.distances import get
from ...numeric.moments import deviation_or_one
from ...numeric.neighbours import NeighbourIndex
from .curves import column_curves


class NaiveDensity(DensityEstimator):
    """The weight of the rows in a box around x, |x_j - x_ij| <= h_j / 2 for all j, over all weight and its volume.

    It is a histogram whose cell is always centred at x, and a Parzen estimate with a kernel that is a box.

    Attributes
    ----------
    width_ : the side h_j of the box along each column
    rows_ : the training rows, in units of these sides
    weights_ : their weights, or None

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.density import NaiveDensity
    >>> np.exp(NaiveDensity(width=2.0).fit([[0.0], [1.0], [5.0], [6.0]]).score_samples([[0.5], [3.0]]))
    array([0.25, 0.  ])
    """

    width: Any = param(
        "scott",
        Real(0, None, "neither") | Choice("scott", "silverman") | ArrayLike(),
        "Side of the box: a number, one for each column, or the rule of Scott or Silverman for its deviation.",
    )
    n_jobs: int | None = n_jobs_param()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> NaiveDensity:
        """Choose the box and index the rows."""
        rows, self.weights_ = self._begin_weighted(X, sample_weight)
        self.width_ = self._widths(rows)
        index = NeighbourIndex(rows / self.width_, get("chebyshev"), threads=thread_count(self.n_jobs))
        self._searched, self.rows_ = index.state(), index.rows
        return self

    def _weight(self) -> float:
        return float(self.rows_.shape[0] if self.weights_ is None else self.weights_.sum())

    def _widths(self, rows: np.ndarray) -> np.ndarray:
        d = rows.shape[1]
        if isinstance(self.width, str):
            weight = float(rows.shape[0] if self.weights_ is None else self.weights_.sum())
            mean = np.average(rows, axis=0, weights=self.weights_)
            deviation = np.sqrt(np.average((rows - mean) ** 2, axis=0, weights=self.weights_))
            effective = weight if self.width == "scott" else weight * (d + 2.0) / 4.0
            wanted = np.sqrt(12.0) * deviation * effective ** (-1.0 / (d + 4.0))
            # A column of one value says nothing: any side that is not 0.
            return deviation_or_one(wanted, mean)
        try:
            given = np.array(np.broadcast_to(np.asarray(self.width, dtype=np.float64), (d,)))
        except (TypeError, ValueError):
            given = np.zeros(1)
        if not (np.isfinite(given).all() and (given > 0).all()):
            raise ParameterError(
                type(self).__name__,
                "parameter 'width'",
                f"must be a number > 0, or one for each of {d} columns",
                f"got {plain(repr(self.width))}",
            )
        return given

    def score_samples(self, X: Any) -> np.ndarray:
        """Log density of each row; minus infinity where the box is empty."""
        check_is_fitted(self)
        queries, threads = self._read(X, reset=False) / self.width_, thread_count(self.n_jobs)
        index = NeighbourIndex.of_state(self._searched, get("chebyshev"))
        if self.weights_ is None:
            weight = index.count(queries, 0.5, threads).astype(float)
        else:
            start, rows, _ = index.within(queries, 0.5, threads)
            sums = np.concatenate([[0.0], np.cumsum(self.weights_[rows])])
            weight = np.where(np.diff(start) > 0, np.diff(sums[start]), 0.0)
        with np.errstate(divide="ignore"):
            return np.log(weight) - np.log(self._weight()) - np.log(self.width_).sum()

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """New rows: a training row by its weight, and any place in the box around it."""
        check_is_fitted(self)
        count, rng = check_count(type(self).__name__, n_samples), Stream.of(random_state).generator()
        share = None if self.weights_ is None else self.weights_ / self.weights_.sum()
        chosen = self.rows_[rng.choice(self.rows_.shape[0], size=count, p=share)]
        return (chosen + rng.random(chosen.shape) - 0.5) * self.width_

    def view(self) -> DensityCurves:
        """The density of each column by itself."""
        check_is_fitted(self)
        width = self.width if isinstance(self.width, (str, float, int)) else "scott"
        return column_curves(self, self.rows_ * self.width_, self.weights_, width=width)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """The rows are copied and indexed."""
        cells = float(n_rows) * n_features
        return Cost(seconds=1e-5 + 2e-8 * cells, bytes=40.0 * cells)
