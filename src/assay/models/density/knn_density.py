"""The k nearest neighbours as a density: how far one must go to meet k rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base.cost import Cost
from ...base.errors import DataError
from ...base.parameters import Choice, Integer, param
from ...base.threads import thread_count
from ...base.unsupervised import DensityEstimator
from ...base.usual_parameters import n_jobs_param
from ...base.views import DensityCurves
from ...numeric.distances import Euclidean
from ...numeric.neighbours import NeighbourIndex
from .curves import column_curves
from .kernel_tree import Placement, build, log_ball, log_constant, log_sums
from .parzen_density import metric_param


class KNNDensity(DensityEstimator):
    """The density of k rows in the ball that holds them: p(x) = k / (n V_d r_k(x)^d), r_k the distance of the k-th row.

    Smoothed by a kernel it is p(x) = sum_i K((x - x_i) / r_k(x)) / (n r_k(x)^d): Parzen's estimate with a bandwidth
    that fits itself to the place. Neither integrates to one (far away the first falls as 1 / r^d), so there is no
    `sample`. Where k rows are equal to x, r_k counts as a millionth of its median over the training rows.

    Attributes
    ----------
    n_neighbors_ : how many neighbours are taken
    rows_ : the training rows, as the metric places them
    least_radius_ : the smallest radius that counts

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.density import KNNDensity
    >>> model = KNNDensity(n_neighbors=2).fit([[0.0], [1.0], [4.0]])
    >>> np.exp(model.score_samples([[0.5]])).round(4)
    array([0.6667])
    """

    _squares = True
    _improper = True
    _first = "n_neighbors"

    n_neighbors: int | str = param("sqrt", Integer(1) | Choice("sqrt"), "How many neighbours; 'sqrt' for root n.")
    kernel: str = param(
        "none", Choice("none", "gaussian", "epanechnikov"), "Kernel of the smoothed estimate; 'none' counts neighbours."
    )
    metric: str = metric_param()
    n_jobs: int | None = n_jobs_param()

    def fit(self, X: Any, y: Any = None) -> KNNDensity:
        """Place and index the rows."""
        rows, _ = self._begin(X)
        placement = Placement.of(type(self).__name__, rows, None, self.metric, way_out="give rows that differ")
        self._placement = placement.arrays
        n, threads = rows.shape[0], thread_count(self.n_jobs)
        self.n_neighbors_ = (
            max(1, round(float(np.sqrt(n)))) if isinstance(self.n_neighbors, str) else int(self.n_neighbors)
        )
        if self.n_neighbors_ > n:
            raise DataError(
                type(self).__name__,
                f"n_neighbors={self.n_neighbors_}",
                "needs at least that many training rows",
                f"got n_samples={n}",
                "choose fewer neighbours or give more rows",
            )
        index = NeighbourIndex(placement.place(rows), Euclidean(), threads=threads, copy=True)
        self._searched, self.rows_ = index.state(), index.rows
        self._tree = build(self.rows_, threads) if self.kernel != "none" else None
        judges = np.ascontiguousarray(self.rows_[:: max(1, n // 1000)])
        usual = float(np.median(index.nearest(judges, self.n_neighbors_, threads)[1][:, -1]))
        self.least_radius_ = 1e-6 * (usual if usual > 0 else placement.spread)
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """Log density of each row."""
        check_is_fitted(self)
        placement, threads, d = Placement(self._placement), thread_count(self.n_jobs), self.n_features_in_
        queries = placement.place(self._read(X, reset=False))
        index = NeighbourIndex.of_state(self._searched, Euclidean())
        distances = index.nearest(queries, self.n_neighbors_, threads)[1]
        radius = np.maximum(distances[:, -1], self.least_radius_)
        scale = np.log(self.rows_.shape[0]) + d * np.log(radius) - placement.log_volume
        if self.kernel == "none":
            return np.log(self.n_neighbors_) - log_ball(d) - scale
        sums = log_sums(self._tree or {}, self.kernel, None, queries, radius, threads=threads)
        return sums - log_constant(self.kernel, d) - scale

    def view(self) -> DensityCurves:
        """The density of each column by itself."""
        check_is_fitted(self)
        rows = Placement(self._placement).unplace(self.rows_) + self._placement.get("mean", 0.0)
        return column_curves(self, rows, None, n_neighbors="sqrt")

    def chosen(self) -> dict[str, int | float | str]:
        """The number of neighbours, where it followed from the number of rows."""
        check_is_fitted(self)
        return {"k": self.n_neighbors_} if isinstance(self.n_neighbors, str) else {}

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """The rows are copied and indexed."""
        cells = float(n_rows) * n_features
        return Cost(seconds=1e-5 + 3e-8 * cells + 3e-10 * cells * n_features, bytes=60.0 * cells)
