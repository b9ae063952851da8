"""Mixtures of factor analysers: Woodbury, one component as scikit-learn's factor analysis, likelihood never falls."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.decomposition import FactorAnalysis

from assay.evaluate import adjusted_rand
from assay.models.mixtures import GaussianMixture, MixtureOfFactorAnalysers


def rows(n: int = 400, d: int = 8, q: int = 2, k: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    owner = rng.integers(k, size=n)
    loadings = 1.5 * rng.normal(size=(k, d, q))
    made = 5.0 * rng.normal(size=(k, d))[owner] + np.einsum("nij,nj->ni", loadings[owner], rng.normal(size=(n, q)))
    return made + 0.5 * rng.normal(size=(n, d)), owner


def test_densities_are_those_of_the_full_covariance():
    X, _ = rows()
    model = MixtureOfFactorAnalysers(3, n_factors=2, random_state=0).fit(X)
    logs = [
        np.log(w) + multivariate_normal(m, L @ L.T + np.diag(v)).logpdf(X)
        for w, m, L, v in zip(model.weights_, model.means_, model.loadings_, model.noise_variance_)
    ]
    np.testing.assert_allclose(model.score_samples(X), np.logaddexp.reduce(logs, axis=0), rtol=1e-9)


def test_one_component_is_factor_analysis():
    X, _ = rows(k=1)
    ours = MixtureOfFactorAnalysers(1, n_factors=2, tol=1e-10, max_iter=5000).fit(X)
    theirs = FactorAnalysis(2, tol=1e-10, max_iter=5000, svd_method="lapack").fit(X)
    assert ours.score(X) == pytest.approx(theirs.score(X), abs=1e-4)
    covariance = ours.loadings_[0] @ ours.loadings_[0].T + np.diag(ours.noise_variance_[0])
    np.testing.assert_allclose(covariance, theirs.get_covariance(), rtol=0.02, atol=0.02)


def test_the_log_likelihood_never_falls_and_clusters_are_found():
    X, owner = rows()
    model = MixtureOfFactorAnalysers(3, n_factors=2, random_state=0, tol=0.0, max_iter=60, trace=True).fit(X)
    values = np.array([r["values"]["log_likelihood"] for r in model.trace_])
    assert (np.diff(values) > -1e-9 * np.abs(values[:-1])).all()
    assert adjusted_rand(owner, model.labels_) > 0.95


def test_it_stands_between_diagonal_and_full_covariances():
    X, _ = rows(seed=4)
    found = MixtureOfFactorAnalysers(3, n_factors=2, random_state=0, tol=1e-6, max_iter=1000).fit(X)
    full = GaussianMixture(3, random_state=0, tol=1e-6, max_iter=1000).fit(X)
    diagonal = GaussianMixture(3, covariance_type="diag", random_state=0, tol=1e-6, max_iter=1000).fit(X)
    assert diagonal.log_likelihood_ < found.log_likelihood_ < full.log_likelihood_ + 1e-6
    assert found.bic(X) < min(full.bic(X), diagonal.bic(X))
    drawn = found.sample(20_000, random_state=0)
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.6)
