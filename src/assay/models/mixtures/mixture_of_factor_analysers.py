"""Mixtures of factor analysers: clusters whose columns vary along a few hidden factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import Cost, DataError, Integer, Real, Stream, n_jobs_param, param, random_state_param, trace_param
from ...base.threads import one_blas_thread
from ...numeric.em import expectation_maximisation
from ...numeric.moments import deviation_or_one, weighted_mean
from ..clustering.k_means import starting_means
from .gaussian_mixture import Mixture


@dataclass(frozen=True)
class Factors:
    """Weights (k), means (k, d), loadings (k, d, q) and noise variances (k, d)."""

    weights: np.ndarray
    means: np.ndarray
    loadings: np.ndarray
    noise: np.ndarray

    def posterior(self, c: int) -> tuple[np.ndarray, np.ndarray, float]:
        """beta with E[z | x] = beta (x - mean), the covariance of z given x, and log det of the covariance of x.

        By Woodbury: only q x q matrices are inverted.
        """
        scaled = self.loadings[c] / self.noise[c][:, None]
        inner = np.eye(self.loadings.shape[2]) + self.loadings[c].T @ scaled
        spread = np.linalg.inv(inner)
        logs = float(np.log(self.noise[c]).sum() + np.linalg.slogdet(inner)[1])
        return spread @ scaled.T, (spread + spread.T) / 2, logs

    def log_joint(self, rows: np.ndarray) -> np.ndarray:
        """log p_c + log density of each row under each component."""
        k, d = self.means.shape
        logs = np.empty((rows.shape[0], k))
        for c in range(k):
            beta, _, determinant = self.posterior(c)
            gaps = rows - self.means[c]
            scaled = gaps / self.noise[c]
            quadratic = np.einsum("ij,ij->i", gaps, scaled)
            quadratic -= np.einsum("ij,ij->i", gaps @ beta.T, scaled @ self.loadings[c])
            logs[:, c] = np.log(max(self.weights[c], 1e-300)) - 0.5 * (
                np.maximum(quadratic, 0.0) + determinant + d * np.log(2 * np.pi)
            )
        return logs


class MixtureOfFactorAnalysers(Mixture):
    """A mixture of normal distributions with covariances W W' + diag(v): a few factors and noise of each column.

    Between diagonal and full covariances: q factors need d q numbers per component instead of d (d + 1) / 2, and
    every step
    costs n k d q by Woodbury's identity. No step lowers the likelihood (Ghahramani & Hinton, 1997); no noise
    variance falls
    below `reg_covar` of its column's variance.

    {parameters}

    Attributes
    ----------
    weights_, means_, loadings_, noise_variance_, labels_, log_likelihood_, n_iter_, converged_

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.mixtures import MixtureOfFactorAnalysers
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 1)) @ [[3.0, 2.0, 1.0]] + rng.normal(size=(300, 3))
    >>> model = MixtureOfFactorAnalysers(1, n_factors=1).fit(X)
    >>> np.abs(model.loadings_[0, :, 0]).round()
    array([3., 2., 1.])
    """

    _first = "n_components"
    _squares = True

    n_factors: int = param(1, Integer(1), "Hidden factors of each component; at most one less than columns are used.")
    n_init: int = param(1, Integer(1), "Restarts, of which the likeliest is kept.")
    max_iter: int = param(200, Integer(1), "Most steps of each restart.")
    tol: float = param(1e-4, Real(0), "Stop when a step gains less log likelihood per row.")
    reg_covar: float = param(1e-6, Real(0, 1, "neither"), "Least noise variance, as a share of the column's variance.")
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A hundred steps of n k d q multiply-adds."""
        work = float(n_rows) * n_features * self.n_components * (self.n_factors + 2)
        return Cost(seconds=100 * self.n_init * 2e-9 * work, bytes=40.0 * n_rows * n_features)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MixtureOfFactorAnalysers:
        """Climb the likelihood; `y` is not used."""
        rows, weights = self._begin_weighted(X, sample_weight)
        if rows.shape[0] < self.n_components:
            rule = f"must have at least n_components={self.n_components} rows with weight"
            raise DataError(type(self).__name__, "X", rule, f"got n_samples={rows.shape[0]}")
        share = np.ones(rows.shape[0]) if weights is None else weights
        centre = weighted_mean(rows, weights)
        spread = deviation_or_one(np.sqrt(weighted_mean((rows - centre) ** 2, weights)), centre) ** 2
        floor, trace = self.reg_covar * spread, self._new_trace()
        with one_blas_thread():
            run = expectation_maximisation(
                type(self).__name__,
                lambda stream: self._start(rows, share, spread, floor, stream),
                lambda state: _step(state, rows, share, floor),
                self._stream(),
                restarts=self.n_init,
                max_iter=self.max_iter,
                tol=self.tol,
                scale=float(share.sum()),
                trace=trace,
            )
            found = run.parameters
            self.weights_, self.means_ = found.weights, found.means
            self.loadings_, self.noise_variance_ = found.loadings, found.noise
            self.log_likelihood_, self.n_iter_ = float(run.log_likelihood[-1]), run.n_iter
            self.converged_ = bool(run.converged)
            self.labels_ = np.argmax(self._log_parts(self._read(X, reset=False))[1], axis=1)
        self._keep_trace(trace)
        return self

    def _start(
        self, rows: np.ndarray, share: np.ndarray, spread: np.ndarray, floor: np.ndarray, stream: Stream
    ) -> Factors:
        """The leading axes of each cluster of k-means."""
        k, d = self.n_components, rows.shape[1]
        q = min(self.n_factors, max(d - 1, 1))
        labels = np.zeros(rows.shape[0], dtype=np.int64)
        if k > 1:
            model = starting_means(k, stream.generator(), self.n_jobs)
            labels = model.fit(rows / np.sqrt(spread), None, share).labels_
        means, loadings, noise = np.empty((k, d)), np.empty((k, d, q)), np.empty((k, d))
        mass = np.bincount(labels, share, minlength=k)
        for c in range(k):
            own = (labels == c) & (share > 0)
            means[c] = np.average(rows[own], axis=0, weights=share[own]) if own.any() else rows.mean(axis=0)
            gaps = rows[own] - means[c]
            covariance = gaps.T @ (gaps * share[own][:, None]) / max(mass[c], 1e-300) + 0.01 * np.diag(spread)
            values, vectors = np.linalg.eigh(covariance)
            rest = float(values[: d - q].mean()) if d > q else 0.5 * float(values[0])
            loadings[c] = vectors[:, ::-1][:, :q] * np.sqrt(np.maximum(values[::-1][:q] - rest, 1e-12))
            noise[c] = np.maximum(
                np.diag(covariance) - (loadings[c] ** 2).sum(axis=1), np.maximum(floor, 0.05 * spread)
            )
        return Factors(mass / mass.sum(), means, loadings, noise)

    def _log_parts(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logs = Factors(self.weights_, self.means_, self.loadings_, self.noise_variance_).log_joint(rows)
        density = np.logaddexp.reduce(logs, axis=1)
        return density, np.exp(logs - density[:, None])

    def _n_parameters(self) -> int:
        k, d, q = self.loadings_.shape
        return k * (2 * d + d * q - q * (q - 1) // 2) + k - 1

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw rows from the mixture."""
        check_is_fitted(self)
        rng = Stream.of(random_state).generator()
        _, d, q = self.loadings_.shape
        owner = rng.choice(self.weights_.shape[0], size=n_samples, p=self.weights_ / self.weights_.sum())
        hidden, noise = rng.normal(size=(n_samples, q)), rng.normal(size=(n_samples, d))
        made = self.means_[owner] + np.einsum("nij,nj->ni", self.loadings_[owner], hidden)
        return made + noise * np.sqrt(self.noise_variance_[owner])


def _step(state: Factors, rows: np.ndarray, share: np.ndarray, floor: np.ndarray) -> tuple[Factors, float]:
    """One step: loadings and means together by regression of rows on [E z, 1], then the noise that is left."""
    logs = state.log_joint(rows)
    density = np.logaddexp.reduce(logs, axis=1)
    shares = np.exp(logs - density[:, None]) * share[:, None]
    counts = shares.sum(axis=0)
    k, _, q = state.loadings.shape
    means, loadings, noise = state.means.copy(), state.loadings.copy(), state.noise.copy()
    for c in range(k):
        if counts[c] <= 1e-12 * counts.sum():
            continue
        beta, spread, _ = state.posterior(c)
        gaps = rows - state.means[c]
        hidden = np.concatenate([gaps @ beta.T, np.ones((rows.shape[0], 1))], axis=1)
        weighted = hidden * shares[:, c : c + 1]
        cross, square = gaps.T @ weighted, hidden.T @ weighted
        square[:q, :q] += counts[c] * spread
        both = np.linalg.solve(square, cross.T).T
        loadings[c], means[c] = both[:, :q], state.means[c] + both[:, q]
        left = (shares[:, c] @ (gaps**2) - np.einsum("ij,ij->i", both, cross)) / counts[c]
        noise[c] = np.maximum(left, floor)
    return Factors(counts / counts.sum(), means, loadings, noise), float(share @ density)
