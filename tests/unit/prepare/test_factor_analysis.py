"""Factor analysis is maximum likelihood, whatever the units of the columns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_wine
from sklearn.decomposition import FactorAnalysis as Peer

from assay.base import AssayWarning
from assay.prepare import FactorAnalysis

X = load_wine().data


def covariance(model: FactorAnalysis) -> np.ndarray:
    return model.components_.T @ model.components_ + np.diag(model.noise_variance_)


@pytest.mark.parametrize("rotation", [None, "varimax", "quartimax"])
def test_log_likelihood_is_that_of_the_model_and_at_least_that_of_scikit_learn(rotation):
    """scikit-learn 1.6 and later, on standardised columns with a tight tolerance; in raw units it stops far below."""
    ours = FactorAnalysis(n_components=3, rotation=rotation).fit(X)
    told = multivariate_normal(ours.mean_, covariance(ours)).logpdf(X).sum()
    assert ours.log_likelihood_[-1] == pytest.approx(told, abs=1e-6)
    deviation = X.std(axis=0)
    peer = Peer(n_components=3, tol=1e-8, max_iter=5000, svd_method="lapack").fit(X / deviation)
    assert told == pytest.approx(peer.loglike_[-1] - len(X) * np.log(deviation).sum(), abs=1e-3)


def test_scaling_a_column_scales_its_loadings_and_changes_nothing_else():
    units = 10.0 ** np.random.default_rng(3).integers(-6, 7, X.shape[1])
    plain, scaled = FactorAnalysis(n_components=3).fit(X), FactorAnalysis(n_components=3).fit(X * units)
    np.testing.assert_allclose(scaled.components_, plain.components_ * units, rtol=1e-5, atol=1e-7 * units.max())
    np.testing.assert_allclose(scaled.transform(X * units), plain.transform(X), atol=1e-6)


def test_log_likelihood_never_falls():
    path = FactorAnalysis(n_components=3).fit(X).log_likelihood_
    assert path.size > 3 and (np.diff(path) > -1e-9).all()


@pytest.mark.parametrize(
    ("rotation", "criterion"),
    [
        ("varimax", lambda s: (s / s.sum(axis=0)).var(axis=1).sum()),
        ("quartimax", lambda s: (s**2).sum()),
    ],
)
def test_rotations_keep_the_model_and_raise_their_criterion_to_a_maximum(rotation, criterion):
    bare = FactorAnalysis(n_components=3).fit(X)
    turned = FactorAnalysis(n_components=3, rotation=rotation).fit(X)
    np.testing.assert_allclose(covariance(turned), covariance(bare), rtol=1e-9)
    squares = [(model.components_ / X.std(axis=0)) ** 2 for model in (bare, turned)]
    assert criterion(squares[1]) > criterion(squares[0]) + 1e-3
    best = turned.components_ / X.std(axis=0)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        for angle in (-1e-3, 1e-3):
            other = best.copy()
            other[i] = np.cos(angle) * best[i] - np.sin(angle) * best[j]
            other[j] = np.sin(angle) * best[i] + np.cos(angle) * best[j]
            assert criterion(other**2) < criterion(best**2)


def test_factors_that_made_the_rows_are_found():
    loadings = np.array([[1.0, 0.8, 0.6, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.9, 0.7, 0.5]])
    rng = np.random.default_rng(4)
    factors = rng.normal(size=(20_000, 2))
    rows = factors @ loadings + 0.5 * rng.normal(size=(20_000, 6))
    found = FactorAnalysis(n_components=2, rotation="varimax").fit(rows)
    np.testing.assert_allclose(np.abs(found.components_), loadings, atol=0.05)
    np.testing.assert_allclose(found.noise_variance_, 0.25, atol=0.02)


def test_more_columns_than_rows_and_constant_columns():
    wide = np.column_stack([np.random.default_rng(5).normal(size=(12, 30)), np.full(12, 7.0)])
    found = FactorAnalysis(n_components=2).fit(wide)
    assert np.isfinite(found.transform(wide + 1)).all()
    assert found.noise_variance_[-1] == 0 and not found.components_[:, -1].any()
    told = multivariate_normal(found.mean_[:-1], covariance(found)[:-1, :-1]).logpdf(wide[:, :-1]).sum()
    assert found.log_likelihood_[-1] == pytest.approx(told, abs=1e-6)


def test_columns_that_never_vary_have_no_factor():
    found = FactorAnalysis(n_components=1, rotation="varimax").fit(np.ones((5, 2)))
    assert not found.components_.any() and not found.transform(np.ones((2, 2))).any()
    assert found.explain() == ["1 factor explains 0.0% of the variance of a column on average."]


def test_a_stop_before_the_end_is_said():
    with pytest.warns(AssayWarning, match="not converged after 2 iterations"):
        FactorAnalysis(n_components=3, max_iter=2, tol=1e-12).fit(X)
    assert "3 factors explain" in FactorAnalysis(n_components=3).fit(X).explain()[0]
    assert "1 factor explains" in FactorAnalysis(n_components=1).fit(X).explain()[0]


def test_a_loose_tolerance_stops_earlier():
    assert FactorAnalysis(n_components=3, tol=1.0).fit(X).n_iter_ < FactorAnalysis(n_components=3).fit(X).n_iter_
