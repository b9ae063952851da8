"""Mixtures of factor analysers: Woodbury, one component as scikit-learn's factor analysis, likelihood never falls."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.decomposition import FactorAnalysis

from assay.base import AssayWarning
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


def plain_step(model: MixtureOfFactorAnalysers, X: np.ndarray, share: np.ndarray) -> dict[str, np.ndarray]:
    """One step of EM as Ghahramani & Hinton write it, with dense covariances."""
    parts = list(zip(model.weights_, model.means_, model.loadings_, model.noise_variance_))
    logs = np.stack(
        [np.log(w) + multivariate_normal(m, L @ L.T + np.diag(v)).logpdf(X) for w, m, L, v in parts], axis=1
    )
    shares = np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None]) * share[:, None]
    found: dict[str, list[np.ndarray]] = {"means_": [], "loadings_": [], "noise_variance_": []}
    for c, (_, m, L, v) in enumerate(parts):
        beta = L.T @ np.linalg.inv(L @ L.T + np.diag(v))
        hidden = np.c_[(X - m) @ beta.T, np.ones(len(X))]
        q = L.shape[1]
        square = (hidden * shares[:, [c]]).T @ hidden
        square[:q, :q] += shares[:, c].sum() * (np.eye(q) - beta @ L)
        both = np.linalg.solve(square, (hidden * shares[:, [c]]).T @ X).T
        found["loadings_"].append(both[:, :q])
        found["means_"].append(both[:, q])
        left = X.T @ (X * shares[:, [c]]) - both @ ((hidden * shares[:, [c]]).T @ X)
        found["noise_variance_"].append(np.diag(left) / shares[:, c].sum())
    return {"weights_": shares.sum(axis=0) / share.sum(), **{name: np.stack(part) for name, part in found.items()}}


@pytest.mark.parametrize("q", [1, 3, 9])
def test_a_step_of_the_kernel_is_that_of_the_definition(q):
    X, _ = rows(n=700, d=11, q=3, k=3, seed=2)
    share = np.random.default_rng(0).random(700) + 0.1
    before, after = (
        MixtureOfFactorAnalysers(3, n_factors=q, tol=0.0, max_iter=steps, random_state=0) for steps in (4, 5)
    )
    with pytest.warns(AssayWarning, match="W201.*MixtureOfFactorAnalysers: not converged after 4 steps"):
        before.fit(X, sample_weight=share)
    with pytest.warns(AssayWarning, match="W201"):
        after.fit(X, sample_weight=share)
    for name, value in plain_step(before, X, share).items():
        np.testing.assert_allclose(getattr(after, name), value, rtol=1e-7, atol=1e-9)


def test_threads_change_no_bit():
    X, _ = rows(n=3000)
    one, two = (MixtureOfFactorAnalysers(3, n_factors=2, random_state=0, n_jobs=jobs).fit(X) for jobs in (1, 2))
    for name in ("weights_", "means_", "loadings_", "noise_variance_", "log_likelihood_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_groups_that_one_start_joins_are_found_from_any_seed():
    """k-means of these eight groups joins two of them in about half of its runs, and more starts of it do not help."""
    rng = np.random.default_rng(0)
    k, d, q, n = 8, 30, 4, 2000
    owner, loadings = rng.integers(k, size=n), rng.normal(size=(k, d, q))
    X = 1.5 * rng.normal(size=(k, d))[owner] + np.einsum("nij,nj->ni", loadings[owner], rng.normal(size=(n, q)))
    X += (0.5 + rng.random((k, d)))[owner] * rng.normal(size=X.shape)
    models = [MixtureOfFactorAnalysers(k, n_factors=q, tol=1e-3, random_state=seed).fit(X) for seed in range(4)]
    ends = [model.log_likelihood_ / n for model in models]
    assert max(ends) - min(ends) < 0.2
    assert all(np.sort(np.bincount(m.labels_, minlength=k))[0] > 150 for m in models)
