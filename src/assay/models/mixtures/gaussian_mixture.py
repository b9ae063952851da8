"""Mixtures of normal distributions by expectation-maximisation."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import (
    ArrayLike,
    Choice,
    Cost,
    DataError,
    DensityEstimator,
    Integer,
    Nothing,
    ParameterError,
    Real,
    Stream,
    n_jobs_param,
    param,
    random_state_param,
    thread_count,
    trace_param,
)
from ...base.threads import one_blas_thread
from ...numeric.em import expectation_maximisation
from ..clustering.k_means import starting_means
from ..clustering.views import Clusters, clusters_view
from .gaussian_components import FORMS, Gaussians, PassBounds, from_labels, from_rows, with_given
from .incomplete_rows import IncompleteRows


class Mixture(DensityEstimator):
    """Base of mixtures: soft and hard labels, criteria, from log densities of rows by component."""

    n_components: int = param(1, Integer(1), "How many components.")

    def _log_parts(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log density and responsibilities of each row."""
        raise NotImplementedError  # pragma: no cover

    def _n_parameters(self) -> int:
        raise NotImplementedError  # pragma: no cover

    def score_samples(self, X: Any) -> np.ndarray:
        """The log density of each row."""
        check_is_fitted(self)
        return self._log_parts(self._read(X, reset=False))[0]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The responsibilities: how likely each component made each row."""
        check_is_fitted(self)
        return self._log_parts(self._read(X, reset=False))[1]

    def predict(self, X: Any) -> np.ndarray:
        """The component with the largest responsibility; the first among equals."""
        check_is_fitted(self)
        return np.argmax(self._log_parts(self._read(X, reset=False))[1], axis=1)

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and give the labels of the training rows."""
        return self.fit(X).labels_

    def aic(self, X: Any) -> float:
        """Akaike's criterion on the rows, 2 parameters - 2 log likelihood; less is better."""
        return 2.0 * self._n_parameters() - 2.0 * float(self.score_samples(X).sum())

    def bic(self, X: Any) -> float:
        """Schwarz's criterion on the rows, log(n) parameters - 2 log likelihood; less is better."""
        logs = self.score_samples(X)
        return float(np.log(logs.shape[0]) * self._n_parameters() - 2.0 * logs.sum())

    def icl(self, X: Any) -> float:
        """BIC plus twice the entropy of the responsibilities: components that overlap cost (Biernacki et al., 2000)."""
        shares = self.predict_proba(X)
        entropy = -float(np.sum(shares * np.log(np.maximum(shares, 1e-300))))
        return self.bic(X) + 2.0 * entropy

    def view(self) -> Clusters:
        """Sizes and means of the components."""
        check_is_fitted(self)
        return clusters_view(self)


class GaussianMixture(Mixture):
    """A mixture of normal distributions: full, tied, diagonal or spherical covariances.

    Every step raises the likelihood: the maximisation step is exact under the constraint that no direction has less
    than
    `reg_covar` of the columns' variance (which keeps a component from collapsing on a row), rather than a ridge that is
    added afterwards. The fit does not depend on the units of the columns. Missing cells are taken as missing at random:
    the expectation step fills them by their conditional distribution given the known cells of their row.

    Attributes
    ----------
    weights_, means_, covariances_, labels_, log_likelihood_, n_iter_, converged_

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.mixtures import GaussianMixture
    >>> X = [[1.0], [1.2], [0.8], [5.0], [5.2], [4.8]]
    >>> model = GaussianMixture(2, random_state=0).fit(X)
    >>> np.sort(model.means_.ravel()).round(3), model.weights_.round(2)
    (array([1., 5.]), array([0.5, 0.5]))
    """

    _first = "n_components"
    _allow_nan = True
    _squares = True
    _way_out = "use covariance_type='diag', or take a sample of the rows"

    covariance_type: str = param(
        "full", Choice(*FORMS), "Covariances: one matrix each, one for all, one variance per column, one variance each."
    )
    init_params: str = param("k-means", Choice("k-means", "random"), "Start from labels of k-means or random rows.")
    n_init: int = param(1, Integer(1), "Restarts, of which the likeliest is kept.")
    max_iter: int = param(100, Integer(1), "Most steps of each restart.")
    tol: float = param(1e-3, Real(0), "Stop when a step gains less log likelihood per row.")
    weights_init: Any = param(None, Nothing() | ArrayLike(), "Weights to start from instead, one for each component.")
    means_init: Any = param(None, Nothing() | ArrayLike(), "Means to start from instead, n_components x columns.")
    precisions_init: Any = param(
        None, Nothing() | ArrayLike(), "Inverse covariances to start from instead, in the shape of covariances_."
    )
    reg_covar: float = param(
        1e-6, Real(0, 1, "neither"), "Least variance along any direction, as a share of the columns' variances."
    )
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Thirty steps of n k d^2 multiply-adds (n k d without full covariances)."""
        squares = n_features if self.covariance_type in ("full", "tied") else 1
        work = float(n_rows) * n_features * self.n_components * squares * self.n_init
        bytes_ = n_rows * (16.0 * n_features + 4.0 * self.n_components + 40.0)
        return Cost(seconds=30 * 2e-10 * work + 1e-8 * n_rows, bytes=bytes_)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> GaussianMixture:
        """Climb the likelihood; `y` is not used."""
        rows, weights = self._begin_weighted(X, sample_weight)
        if rows.shape[0] < self.n_components:
            raise DataError(
                type(self).__name__,
                "X",
                f"must have at least n_components={self.n_components} rows with weight",
                f"got n_samples={rows.shape[0]}",
                "ask for fewer components",
            )
        threads, trace = thread_count(self.n_jobs), self._new_trace()
        incomplete = IncompleteRows(rows) if np.isnan(rows).any() else None
        filled = rows if incomplete is None else incomplete.with_means()
        total = float(rows.shape[0] if weights is None else weights.sum())
        with one_blas_thread():
            family = Gaussians.family(self.covariance_type, filled, weights, self.reg_covar)
            bounds: PassBounds | None = None

            def start(stream: Stream) -> Gaussians:
                nonlocal bounds
                parts, labels = self._start(family, filled, weights, stream)
                bounds = (
                    PassBounds(rows.shape[0], self.n_components, labels) if self.covariance_type == "full" else None
                )
                return parts

            def step(parts: Gaussians) -> tuple[Gaussians, float]:
                if incomplete is not None:
                    return incomplete.step(parts, weights)
                return parts.step(rows, weights, threads, bounds)

            run = expectation_maximisation(
                type(self).__name__,
                start,
                step,
                self._stream(),
                restarts=self.n_init,
                max_iter=self.max_iter,
                tol=self.tol,
                scale=total,
                trace=trace,
            )
            found = run.parameters
            self.weights_, self.means_, self.covariances_ = found.weights, found.means, found.covariances
            self.log_likelihood_ = float(run.log_likelihood[-1])
            self.lower_bound_ = self.log_likelihood_ / total
            self.n_iter_, self.converged_ = run.n_iter, bool(run.converged)
            self.labels_ = np.argmax(self._log_parts(self._read(X, reset=False))[1], axis=1)
        self._keep_trace(trace)
        return self

    def _start(
        self, family: Gaussians, rows: np.ndarray, weights: np.ndarray | None, stream: Stream
    ) -> tuple[Gaussians, np.ndarray | None]:
        """Components from which one restart begins, and the labels they were made of, if any."""
        k, given = self.n_components, self._given(rows.shape[1])
        if k == 1:
            labels = np.zeros(rows.shape[0], dtype=np.int64)
            return with_given(from_labels(family, rows, labels, weights, 1), *given), None
        rng = stream.generator()
        if self.init_params == "random" or all(part is not None for part in given):
            return with_given(from_rows(family, rows, weights, k, rng), *given), None
        scaled = rows / family.deviation
        labels = starting_means(k, rng, self.n_jobs).fit(scaled, None, weights).labels_
        return with_given(from_labels(family, rows, labels, weights, k), *given), labels

    def _given(self, d: int) -> list[np.ndarray | None]:
        """Weights, means and precisions that the user starts from, checked."""
        k, form = self.n_components, self.covariance_type
        shapes = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}
        found: list[np.ndarray | None] = []
        for name, shape in (("weights_init", (k,)), ("means_init", (k, d)), ("precisions_init", shapes[form])):
            value, rule = getattr(self, name), f"must be finite numbers of shape {shape}"
            if value is None:
                found.append(None)
                continue
            try:
                array = np.asarray(value, dtype=np.float64)
                good = array.shape == shape and bool(np.isfinite(array).all())
            except (TypeError, ValueError):
                array, good = np.empty(0), False
            if good and name == "weights_init":
                good, rule = bool((array >= 0).all() and array.sum() > 0), "must be weights of at least 0, not all 0"
            if good and name == "precisions_init":
                matrices = array if form in ("full", "tied") else array[..., None, None]
                good, rule = bool((np.linalg.eigvalsh(matrices) > 0).all()), "must be positive definite"
            if not good:
                raise ParameterError(
                    type(self).__name__, f"parameter '{name}'", rule, f"got an array of shape {array.shape}"
                )
            found.append(array)
        return found

    def _components(self) -> Gaussians:
        return Gaussians(self.covariance_type, self.weights_, self.means_, self.covariances_)

    @one_blas_thread()
    def _log_parts(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if np.isnan(rows).any():
            return IncompleteRows(rows).log_parts(self._components())
        return self._components().log_parts(rows, thread_count(self.n_jobs))

    def _n_parameters(self) -> int:
        k, d = self.means_.shape
        cells = {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": k * d, "spherical": k}
        return k * d + k - 1 + cells[self.covariance_type]

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw rows from the mixture."""
        check_is_fitted(self)
        rng = Stream.of(random_state).generator()
        owner = rng.choice(self.weights_.shape[0], size=n_samples, p=self.weights_)
        noise = rng.normal(size=(n_samples, self.means_.shape[1]))
        factors = np.linalg.cholesky(self._components().matrices())
        return self.means_[owner] + np.einsum("nij,nj->ni", factors[owner], noise)
