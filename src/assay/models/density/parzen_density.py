"""Parzen's estimator: a kernel around every row."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base.cost import Cost
from ...base.parameters import Boolean, Choice, Real, param
from ...base.randomness import Stream
from ...base.threads import thread_count
from ...base.unsupervised import DensityEstimator, check_count
from ...base.usual_parameters import n_jobs_param
from ...base.views import DensityCurves
from .curves import column_curves
from .grid import DensityGrid, binned_density
from .kernel_tree import KERNELS, Placement, build, deviation_of, draw, log_constant, log_sums

# Rows on which leave-one-out compares bandwidths, and the bandwidths tried, in units of Silverman's.
_JUDGES = 2000
_TRIED = np.geomspace(0.05, 8.0, 18)


def metric_param() -> Any:
    """Declare `metric` with the wording of the radial densities."""
    return param(
        "euclidean",
        Choice("euclidean", "mahalanobis"),
        "Distance: as columns are, or in units of their covariance.",
    )


class ParzenDensity(DensityEstimator):
    """The mean of a kernel around every training row: p(x) = sum_i w_i K((x - x_i) / h) / (h^d sum_i w_i).

    Sums are exact to rounding, or within the relative error `rtol`, by a tree whose nodes are taken whole where that
    changes nothing; see `on_grid` for many points in few columns. Kernels are radial: exp(-r^2/2), 1 - r^2 or 1 for
    r <= 1, made to integrate to one. With the metric "mahalanobis" and Scott's rule it is SciPy's `gaussian_kde`.

    Attributes
    ----------
    bandwidth_ : the bandwidth h, in the units of the metric
    rows_ : the training rows, as the metric places them
    weights_ : their weights, or None

    Examples
    --------
    >>> from assay.models.density import ParzenDensity
    >>> model = ParzenDensity(bandwidth=1.0).fit([[0.0], [2.0]])
    >>> model.score_samples([[1.0]]).round(4)
    array([-1.4189])
    >>> model.sample(2, random_state=0).shape
    (2, 1)
    """

    _squares = True

    kernel: str = param("gaussian", Choice(*KERNELS), "Shape of the kernel.")
    bandwidth: float | str = param(
        "scott",
        Real(0, None, "neither") | Choice("scott", "silverman", "loo"),
        "Width h: a number (in units of the metric), the rules of Scott or Silverman for the deviation of the kernel, "
        "or the one with the largest likelihood of each row under the others ('loo').",
    )
    metric: str = metric_param()
    tree: bool = param(
        True,
        Boolean(),
        "Whether `fit` builds the tree that `score_samples` needs; without it each call builds its own, and `on_grid` "
        "and `sample` need none.",
    )
    rtol: float = param(0.0, Real(0, 0.1), "Relative error allowed in a Gaussian sum, for speed; 0 for exact sums.")
    n_jobs: int | None = n_jobs_param()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ParzenDensity:
        """Place the rows and choose the bandwidth."""
        rows, self.weights_ = self._begin_weighted(X, sample_weight)
        placement = Placement.of(
            type(self).__name__, rows, self.weights_, self.metric, needed=isinstance(self.bandwidth, str)
        )
        self._placement = placement.arrays
        self.rows_ = placement.place(rows).copy()
        self._tree = build(self.rows_, thread_count(self.n_jobs)) if self.tree or self.bandwidth == "loo" else None
        self.bandwidth_ = self._choose(placement)
        return self

    def _choose(self, placement: Placement) -> float:
        if not isinstance(self.bandwidth, str):
            return float(self.bandwidth)
        d = self.n_features_in_
        weight = self._weight()
        effective = weight if self.bandwidth == "scott" else weight * (d + 2.0) / 4.0
        width = placement.spread * effective ** (-1.0 / (d + 4.0)) / deviation_of(self.kernel, d)
        return width if self.bandwidth != "loo" else self._likeliest(width)

    def _nodes(self) -> dict[str, np.ndarray]:
        return build(self.rows_, thread_count(self.n_jobs)) if self._tree is None else self._tree

    def _weight(self) -> float:
        return float(self.rows_.shape[0] if self.weights_ is None else self.weights_.sum())

    def leave_one_out(self, bandwidth: float | None = None, rows: np.ndarray | None = None) -> np.ndarray:
        """Log density of each training row (or of those listed by number) under the other rows.

        >>> from assay.models.density import ParzenDensity
        >>> model = ParzenDensity(bandwidth=1.0).fit([[0.0], [2.0]])
        >>> model.leave_one_out().round(4)
        array([-2.9189, -2.9189])
        """
        check_is_fitted(self)
        own = np.arange(self.rows_.shape[0]) if rows is None else np.asarray(rows, dtype=np.int64)
        width = self.bandwidth_ if bandwidth is None else float(bandwidth)
        sums = log_sums(
            self._nodes(),
            self.kernel,
            self.weights_,
            np.ascontiguousarray(self.rows_[own]),
            width,
            rtol=self.rtol,
            left_out=own,
            threads=thread_count(self.n_jobs),
        )
        return sums - self._log_total(width, self._weight() - 1.0)

    def _likeliest(self, width: float) -> float:
        """The bandwidth under which the rows are likeliest, each under the others; refined between two tried ones."""
        judges = np.arange(0, self.rows_.shape[0], max(1, self.rows_.shape[0] // _JUDGES))
        said = np.ones(judges.shape[0]) if self.weights_ is None else self.weights_[judges]
        if self._weight() <= 1.0:
            return width

        def likelihood(h: float) -> float:
            return float(said @ np.maximum(self.leave_one_out(h, judges), -1e6))

        tried = width * _TRIED
        scores = [likelihood(h) for h in tried]
        best = int(np.argmax(scores))
        low, high = np.log(tried[max(best - 1, 0)]), np.log(tried[min(best + 1, len(tried) - 1)])
        golden = 0.5 * (np.sqrt(5.0) - 1.0)
        for _ in range(16):
            a, b = high - golden * (high - low), low + golden * (high - low)
            if likelihood(float(np.exp(a))) >= likelihood(float(np.exp(b))):
                high = b
            else:
                low = a
        return float(np.exp(0.5 * (low + high)))

    def _log_total(self, width: float, weight: float) -> float:
        """Log of what a sum of kernels is divided by."""
        d = self.n_features_in_
        with np.errstate(divide="ignore"):
            return (
                float(np.log(max(weight, 0.0)))
                + log_constant(self.kernel, d)
                + d * float(np.log(width))
                - Placement(self._placement).log_volume
            )

    def score_samples(self, X: Any) -> np.ndarray:
        """Log density of each row; minus infinity where no kernel reaches."""
        check_is_fitted(self)
        queries = Placement(self._placement).place(self._read(X, reset=False))
        sums = log_sums(
            self._nodes(),
            self.kernel,
            self.weights_,
            queries,
            self.bandwidth_,
            rtol=self.rtol,
            threads=thread_count(self.n_jobs),
        )
        sums -= self._log_total(self.bandwidth_, self._weight())
        return sums

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """New rows: a training row by its weight, plus a step drawn from the kernel."""
        check_is_fitted(self)
        count, rng = check_count(type(self).__name__, n_samples), Stream.of(random_state).generator()
        share = None if self.weights_ is None else self.weights_ / self.weights_.sum()
        chosen = rng.choice(self.rows_.shape[0], size=count, p=share)
        placement = Placement(self._placement)
        steps = self.bandwidth_ * draw(self.kernel, count, self.n_features_in_, rng)
        centre = self._placement.get("mean", 0.0)
        return placement.unplace(self.rows_[chosen] + steps) + centre

    def on_grid(self, sizes: Any = None, low: Any = None, high: Any = None) -> DensityGrid:
        """The density at the points of a grid by linear binning and a Fourier transform, with a bound on its error.

        For the Gaussian kernel in one to three columns. `sizes` are the points along each axis, and the grid goes from
        `low` to `high` (four bandwidths beyond the rows unless given).

        >>> from assay.models.density import ParzenDensity
        >>> grid = ParzenDensity(bandwidth=1.0).fit([[0.0], [2.0]]).on_grid(1025)
        >>> grid.values.shape, bool(grid.error_bound < 1e-5)
        ((1025,), True)
        """
        check_is_fitted(self)
        return binned_density(self, Placement(self._placement), sizes, low, high)

    def view(self) -> DensityCurves:
        """The density of each column by itself."""
        check_is_fitted(self)
        placement = Placement(self._placement)
        rows = placement.unplace(self.rows_) + self._placement.get("mean", 0.0)
        return column_curves(self, rows, self.weights_, bandwidth=self.bandwidth)

    def chosen(self) -> dict[str, int | float | str]:
        """The bandwidth, where a rule chose it."""
        check_is_fitted(self)
        return {"bandwidth": self.bandwidth_} if isinstance(self.bandwidth, str) else {}

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """The rows are copied into a tree; leave-one-out compares some of them with all, many times."""
        n, d = float(n_rows), float(n_features)
        compared = 50 * min(n, _JUDGES) * n * (1e-9 + 2e-10 * d) if self.bandwidth == "loo" else 0.0
        return Cost(seconds=1e-5 + 2e-8 * n * d + 3e-10 * n * d * d + compared, bytes=32.0 * n * d)

    def estimate_predict_cost(self, n_rows: int, n_features: int, n_queries: int) -> Cost:
        """Every query meets every row, at most."""
        return Cost(seconds=(1e-9 + 2e-10 * n_features) * n_rows * n_queries, bytes=16.0 * n_queries * n_features)
