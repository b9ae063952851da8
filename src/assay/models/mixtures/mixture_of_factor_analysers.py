"""Mixtures of factor analysers: clusters whose columns vary along a few hidden factors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.cost import Cost
from ...base.errors import DataError
from ...base.parameters import Integer, Real, param
from ...base.randomness import Stream
from ...base.threads import one_blas_thread, thread_count
from ...base.usual_parameters import n_jobs_param, random_state_param, trace_param
from ...numeric.em import expectation_maximisation
from ...numeric.moments import deviation_or_one, weighted_mean
from ...numeric.solves import inverse_triangles
from ..clustering.k_means import starting_means
from .gaussian_components import PassBounds
from .gaussian_mixture import Mixture

# Two groups that k-means puts into one part do not come apart again, and its own criterion does not see it: the
# likeliest of a few starts after a few steps, on so many rows at most, is where EM begins (Biernacki et al., 2003).
_STARTS, _FIRST_STEPS, _FIRST_ROWS = 4, 5, 10_000
_BOUNDED = 128


@dataclass(frozen=True)
class Factors:
    """Weights (k), means (k, d), loadings (k, d, q) and noise variances (k, d); one step of EM."""

    weights: np.ndarray
    means: np.ndarray
    loadings: np.ndarray
    noise: np.ndarray

    def pass_over(
        self,
        rows: np.ndarray,
        weights: np.ndarray | None,
        want: tuple[bool, bool, bool],
        threads: int,
        bounds: PassBounds | None = None,
    ) -> tuple[Any, np.ndarray]:
        """Log likelihood, log densities, responsibilities and moments by the kernel, and the factors C.

        C C' = I + L' V^-1 L: by Woodbury only q x q matrices are inverted.
        """
        k, d, q = self.loadings.shape
        scaled = self.loadings / self.noise[:, :, None]
        inner = np.linalg.cholesky(np.eye(q) + np.swapaxes(self.loadings, 1, 2) @ scaled)
        logs = np.log(self.noise).sum(axis=1) + 2 * np.log(np.diagonal(inner, axis1=1, axis2=2)).sum(axis=1)
        constants = np.log(np.maximum(self.weights, 1e-300)) - 0.5 * (logs + d * np.log(2 * np.pi))
        products = np.linalg.solve(inner, np.swapaxes(scaled, 1, 2))
        whitening = np.concatenate([1.0 / np.sqrt(self.noise)[:, None, :], products], axis=1).reshape(k * (q + 1), d)
        known = None if bounds is None else self._moved(bounds)
        means = np.ascontiguousarray(self.means)
        return _kernels.gaussian_pass(
            rows, weights, constants, means, whitening, False, q, known, *want, threads
        ), inner

    def _moved(self, bounds: PassBounds) -> Any:
        """What the move of the components since the pass before costs the bounds."""
        d = self.means.shape[1]
        covariances = self.loadings @ np.swapaxes(self.loadings, 1, 2) + np.eye(d) * self.noise[:, None, :]
        factors = np.linalg.cholesky(covariances)
        whitening = inverse_triangles(factors)
        return bounds.moved_to(self.means, whitening, factors)

    def step(
        self, rows: np.ndarray, weights: np.ndarray | None, floor: np.ndarray, threads: int, bounds: list[PassBounds]
    ) -> tuple[Factors, float]:
        """One step: loadings and means together by regression of rows on [E z, 1], then the noise that is left; the
        last of `bounds`, if any, are those of this climb."""
        k, d, q = self.loadings.shape
        last = bounds[-1] if bounds else None
        (total, _, _, sums), inner = self.pass_over(rows, weights, (False, False, True), threads, last)
        sums = sums.reshape(k, q + 2, d + 1)
        counts, second = sums[:, q, d], sums[:, q + 1, :d]
        alive = counts > 1e-12 * counts.sum()
        mass = np.where(alive, counts, 1.0)[:, None, None]
        # E z = beta (x - m) with beta = C^-T R, so the sums with R (x - m) give those with E z.
        back = np.linalg.inv(inner)
        turned = np.swapaxes(back, 1, 2) @ sums[:, :q]
        cross = np.concatenate([turned[:, :, :d], sums[:, q : q + 1, :d]], axis=1)
        spread = np.swapaxes(back, 1, 2) @ back
        beta = spread @ np.swapaxes(self.loadings / self.noise[:, :, None], 1, 2)
        square = np.empty((k, q + 1, q + 1))
        square[:, :q, :q] = turned[:, :, :d] @ np.swapaxes(beta, 1, 2) + mass * spread
        square[:, q, :q] = square[:, :q, q] = turned[:, :, d]
        square[:, q, q] = mass[:, 0, 0]
        square[~alive] = np.eye(q + 1)
        both = np.linalg.solve(square, cross)
        left = (second - np.einsum("kij,kij->kj", both, cross)) / mass[:, 0]
        keep = alive[:, None]
        return Factors(
            counts / counts.sum(),
            self.means + np.where(keep, both[:, q], 0.0),
            np.where(keep[:, :, None], np.swapaxes(both[:, :q], 1, 2), self.loadings),
            np.where(keep, np.maximum(left, floor), self.noise),
        ), float(total)


class MixtureOfFactorAnalysers(Mixture):
    """A mixture of normal distributions with covariances W W' + diag(v): a few factors and noise of each column.

    Between diagonal and full covariances: q factors need d q numbers per component instead of d (d + 1) / 2, and
    every step costs at most n k d q by Woodbury's identity, in one pass. No step lowers the likelihood (Ghahramani &
    Hinton, 1997); no noise variance falls below `reg_covar` of its column's variance. Where `max_iter` ends the steps
    before `tol` does, warning W201 says so.

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
        """A hundred steps of n k d q multiply-adds at most."""
        work = float(n_rows) * n_features * self.n_components * (self.n_factors + 2)
        bytes_ = n_rows * (24.0 * n_features + 12.0 * self.n_components + 40.0)
        return Cost(seconds=100 * self.n_init * 3e-10 * work, bytes=bytes_)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MixtureOfFactorAnalysers:
        """Climb the likelihood; `y` is not used."""
        rows, weights = self._begin_weighted(X, sample_weight)
        if rows.shape[0] < self.n_components:
            rule = f"must have at least n_components={self.n_components} rows with weight"
            raise DataError(type(self).__name__, "X", rule, f"got n_samples={rows.shape[0]}")
        share = np.ones(rows.shape[0]) if weights is None else weights
        centre = weighted_mean(rows, weights)
        spread = deviation_or_one(np.sqrt(weighted_mean((rows - centre) ** 2, weights)), centre) ** 2
        floor, trace, threads = self.reg_covar * spread, self._new_trace(), thread_count(self.n_jobs)
        bounds: list[PassBounds] = []

        def start(stream: Stream) -> Factors:
            # Beyond so many columns the bounds' move costs more than it saves.
            bounds[:] = [PassBounds(rows.shape[0], self.n_components)] if rows.shape[1] <= _BOUNDED else []
            return self._likely_start(rows, share, spread, floor, stream)

        with one_blas_thread():
            run = expectation_maximisation(
                type(self).__name__,
                start,
                partial(Factors.step, rows=rows, weights=weights, floor=floor, threads=threads, bounds=bounds),
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

    def _likely_start(
        self, rows: np.ndarray, share: np.ndarray, spread: np.ndarray, floor: np.ndarray, stream: Stream
    ) -> Factors:
        """The likeliest of a few starts after a few steps, on a sample where rows are many."""
        if self.n_components == 1:
            return self._start(rows, share, spread, floor, stream)
        if rows.shape[0] > _FIRST_ROWS:
            some = np.sort(stream.generator().choice(rows.shape[0], _FIRST_ROWS, replace=False))
            rows, share = rows[some], share[some]
        threads = thread_count(self.n_jobs)
        return expectation_maximisation(
            type(self).__name__,
            lambda child: self._start(rows, share, spread, floor, child),
            partial(Factors.step, rows=rows, weights=share, floor=floor, threads=threads, bounds=[]),
            stream,
            restarts=_STARTS,
            max_iter=_FIRST_STEPS,
            tol=0.0,
            warns=False,
        ).parameters

    def _start(
        self, rows: np.ndarray, share: np.ndarray, spread: np.ndarray, floor: np.ndarray, stream: Stream
    ) -> Factors:
        """The leading axes of each cluster of k-means."""
        k, d = self.n_components, rows.shape[1]
        q = min(self.n_factors, max(d - 1, 1))
        labels = np.zeros(rows.shape[0], dtype=np.int64)
        if k > 1:
            model = starting_means(k, stream.generator(), self.n_jobs, 1)
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

    @one_blas_thread()
    def _log_parts(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        state = Factors(self.weights_, self.means_, self.loadings_, self.noise_variance_)
        (_, density, shares, _), _ = state.pass_over(rows, None, (True, True, False), thread_count(self.n_jobs))
        return density, shares

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
