"""A mixture of factor analysers: 100k rows of 30 columns, 8 components of 4 factors, 30 steps of EM."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows

K, Q, D, STEPS, FRESH = 8, 4, 30, 30, 5_000
Mixture = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Weights, means and covariances."""


def make(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    owner = rng.integers(K, size=rows + FRESH)
    loadings, hidden = rng.normal(size=(K, D, Q)), rng.normal(size=(owner.size, Q))
    X = 1.5 * rng.normal(size=(K, D))[owner] + np.einsum("nij,nj->ni", loadings[owner], hidden)
    X += (0.5 + rng.random((K, D)))[owner] * rng.normal(size=X.shape)
    return {"X": X[:rows], "fresh": X[rows:]}


def with_noise(loadings: np.ndarray, noise: np.ndarray) -> np.ndarray:
    return loadings @ np.swapaxes(loadings, 1, 2) + np.eye(noise.shape[1]) * noise[:, None, :]


def ours(data: dict[str, Any]) -> Mixture:
    import warnings

    from assay.models.mixtures import MixtureOfFactorAnalysers

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MixtureOfFactorAnalysers(K, n_factors=Q, max_iter=STEPS, tol=0.0, random_state=0).fit(data["X"])
    return model.weights_, model.means_, with_noise(model.loadings_, model.noise_variance_)


def numpy_steps(data: dict[str, Any]) -> Mixture:
    """Ghahramani & Hinton's steps in NumPy by Woodbury's identity, products by BLAS on all cores; k-means starts it."""
    from scipy.special import logsumexp
    from sklearn.cluster import KMeans

    X = data["X"]
    n, d = X.shape
    labels = KMeans(K, n_init=3, max_iter=50, random_state=0).fit(X).labels_
    weights, means = np.bincount(labels) / n, np.stack([X[labels == c].mean(axis=0) for c in range(K)])
    loadings, noise = np.empty((K, d, Q)), np.empty((K, d))
    for c in range(K):
        covariance = np.cov(X[labels == c].T)
        values, vectors = np.linalg.eigh(covariance)
        loadings[c] = vectors[:, -Q:] * np.sqrt(np.maximum(values[-Q:] - values[:-Q].mean(), 1e-9))
        noise[c] = np.maximum(np.diag(covariance) - (loadings[c] ** 2).sum(axis=1), 0.05 * np.diag(covariance))
    for _ in range(STEPS):
        logs, betas, spreads = np.empty((n, K)), [], []
        for c in range(K):
            scaled = loadings[c] / noise[c][:, None]
            inner = np.eye(Q) + loadings[c].T @ scaled
            spreads.append(np.linalg.inv(inner))
            betas.append(spreads[c] @ scaled.T)
            gaps = X - means[c]
            hidden = gaps @ betas[c].T
            quadratic = (gaps**2) @ (1.0 / noise[c]) - np.einsum("ij,ij->i", hidden @ inner, hidden)
            determinant = np.log(noise[c]).sum() + np.linalg.slogdet(inner)[1]
            logs[:, c] = np.log(weights[c]) - 0.5 * (quadratic + determinant + d * np.log(2 * np.pi))
        density = logsumexp(logs, axis=1)
        shares = np.exp(logs - density[:, None])
        for c in range(K):
            gaps, count = X - means[c], shares[:, c].sum()
            hidden = np.concatenate([gaps @ betas[c].T, np.ones((n, 1))], axis=1)
            weighted = hidden * shares[:, c : c + 1]
            cross, square = gaps.T @ weighted, hidden.T @ weighted
            square[:Q, :Q] += count * spreads[c]
            both = np.linalg.solve(square, cross.T).T
            noise[c] = np.maximum((shares[:, c] @ gaps**2 - np.einsum("ij,ij->i", both, cross)) / count, 1e-6)
            loadings[c], means[c] = both[:, :Q], means[c] + both[:, Q]
        weights = shares.sum(axis=0) / n
    return weights, means, with_noise(loadings, noise)


def full_covariances(data: dict[str, Any]) -> Mixture:
    import warnings

    from sklearn.mixture import GaussianMixture

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GaussianMixture(K, max_iter=STEPS, tol=0.0, random_state=0).fit(data["X"])
    return model.weights_, model.means_, model.covariances_


def likelihood(data: dict[str, Any], found: Mixture) -> float:
    """Mean log density of rows that no contender has seen: covariances with more parameters gain nothing by them."""
    from scipy.special import logsumexp
    from scipy.stats import multivariate_normal

    logs = [np.log(w) + multivariate_normal(m, c).logpdf(data["fresh"]) for w, m, c in zip(*found)]
    return float(logsumexp(logs, axis=0).mean())


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="mixture-of-factor-analysers",
        title="mixture of factor analysers, 8 x 4 factors, 30 steps",
        make=make,
        sizes=by_rows("{n} x 30, k=8, q=4", 5_000, 20_000, 100_000),
        ours=Contender("assay", "assay", ours),
        peers=(
            Contender("NumPy, by Woodbury", "numpy", numpy_steps, aim=3.0),
            Contender("scikit-learn, full covariances", "scikit-learn", full_covariances, aim=3.0),
        ),
        quality=likelihood,
        gate=0.1,
        quality_name="log likelihood of a fresh row",
        limit="n k d (q + 1) multiply-adds for densities that no bound settles, n d (2 q + 2) for moments",
        tried="No package on PyPI fits this model (EMMIXmfa is R's), so its steps in NumPy are the yardstick; full "
        "covariances, which have more parameters, stand beside it. scikit-learn's FactorAnalysis has one component.",
    ),
)
