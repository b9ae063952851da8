"""Gaussian mixtures: likelihoods of mclust and scikit-learn, four forms, missing cells, weights, sampling."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture as ScikitMixture

from assay.base import AssayError, AssayWarning
from assay.evaluate import adjusted_rand
from assay.models.clustering import KMeans
from assay.models.mixtures import GaussianMixture
from assay.models.mixtures.gaussian_components import FORMS, Gaussians, PassBounds, from_rows

MCLUST = json.loads((Path(__file__).parents[3] / "reference/mclust/iris_bic.json").read_text())
every_form = pytest.mark.parametrize("form", FORMS)


def mixture(n: int = 900, d: int = 3, k: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    owner = rng.integers(k, size=n)
    stretch = rng.normal(size=(k, d, d)) * 0.4 + np.eye(d)
    return (rng.normal(size=(k, d)) * 4)[owner] + np.einsum(
        "nij,nj->ni", stretch[owner], rng.normal(size=(n, d))
    ), owner


@every_form
def test_bic_of_iris_is_that_of_mclust_or_better(form):
    X = load_iris().data
    for k, recorded in enumerate(MCLUST["bic"][form], start=1):
        found = (
            GaussianMixture(k, covariance_type=form, random_state=0, n_init=3, tol=1e-8, max_iter=2000).fit(X).bic(X)
        )
        assert found <= recorded + 1e-3
        if k < 3:
            assert found == pytest.approx(recorded, abs=1e-3)


@every_form
def test_one_step_is_that_of_scikit_learn_from_the_same_start(form):
    X, _ = mixture(600)
    start = GaussianMixture(3, covariance_type=form, random_state=1, max_iter=1).fit(X)
    parts = Gaussians.family(form, X, None, 1e-6)
    parts = Gaussians(
        form, start.weights_, start.means_, start.covariances_, 1e-6, parts.deviation, parts.centre, parts.scatter
    )
    after, before = parts.step(X, None, 1)
    matrices = parts.matrices()
    joint = np.stack([multivariate_normal(m, c).logpdf(X) for m, c in zip(parts.means, matrices)], axis=1)
    joint += np.log(parts.weights)
    density = np.logaddexp.reduce(joint, axis=1)
    assert before == pytest.approx(density.sum(), rel=1e-12)
    shares = np.exp(joint - density[:, None])
    reference = ScikitMixture(3, covariance_type=form, reg_covar=0.0)
    reference._m_step(X, np.log(shares))
    np.testing.assert_allclose(after.weights, reference.weights_, rtol=1e-10)
    np.testing.assert_allclose(after.means, reference.means_, rtol=1e-9)
    np.testing.assert_allclose(after.covariances, reference.covariances_, rtol=1e-8, atol=1e-10)


@every_form
@pytest.mark.parametrize("missing", [False, True])
def test_the_log_likelihood_never_falls(form, missing):
    X, _ = mixture(150 if missing else 300, d=3, k=5, seed=3)
    if missing:
        X[np.random.default_rng(0).random(X.shape) < 0.15] = np.nan
    model = GaussianMixture(6, covariance_type=form, random_state=0, tol=0.0, max_iter=30, trace=True).fit(X)
    values = np.array([r["values"]["log_likelihood"] for r in model.trace_])
    assert len(values) > 10 and (np.diff(values) > -1e-9 * np.abs(values[:-1])).all()
    assert model.log_likelihood_ == pytest.approx(float(model.score_samples(X).sum()), rel=1e-10)


def test_a_component_on_one_row_is_held_by_the_floor():
    X = np.r_[np.random.default_rng(0).normal(size=(50, 2)), [[40.0, 40.0]]]
    model = GaussianMixture(2, random_state=0, reg_covar=1e-4, tol=1e-9, max_iter=500).fit(X)
    least = min(np.linalg.eigvalsh(c / np.outer(X.std(axis=0), X.std(axis=0)))[0] for c in model.covariances_)
    assert least >= 1e-4 * (1 - 1e-9)


@every_form
def test_k_means_is_the_limit_of_em_for_small_equal_variances(form):
    X, _ = mixture(400, d=2, k=3, seed=5)
    start = X[:3]
    lloyd = KMeans(3, init=start, max_iter=1, tol=0.0).fit(X)
    variance = 1e-6
    covariances = {
        "full": np.broadcast_to(variance * np.eye(2), (3, 2, 2)),
        "tied": variance * np.eye(2),
        "diag": np.full((3, 2), variance),
        "spherical": np.full(3, variance),
    }[form]
    family = Gaussians.family(form, X, None, 1e-12)
    parts = Gaussians(
        form, np.full(3, 1 / 3), start, covariances, 1e-12, family.deviation, family.centre, family.scatter
    )
    shares = parts.log_parts(X, 1)[1]
    assert np.isin(shares, (0.0, 1.0)).mean() > 0.99
    np.testing.assert_allclose(parts.step(X, None, 1)[0].means, lloyd.cluster_centers_, rtol=1e-6, atol=1e-7)


@every_form
def test_weights_equal_repetition(form):
    X, _ = mixture(200)
    counts = np.random.default_rng(1).integers(1, 4, size=200)
    start = {"random_state": 0, "covariance_type": form, "tol": 1e-10, "max_iter": 400}
    weighted = GaussianMixture(4, **start).fit(X, sample_weight=counts)
    repeated = GaussianMixture(4, **start).fit(np.repeat(X, counts, axis=0))
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_, rel=1e-7)


def test_units_of_columns_change_no_label():
    X, _ = mixture(300)
    units = np.array([1e-3, 1.0, 1e4])
    found = [GaussianMixture(4, random_state=0).fit(rows) for rows in (X, X * units)]
    np.testing.assert_array_equal(found[0].labels_, found[1].labels_)
    np.testing.assert_allclose(found[1].means_, found[0].means_ * units, rtol=1e-6)


def test_missing_cells_of_one_component_give_the_maximum_likelihood_of_the_pattern():
    """Two columns, the second missing for some rows: the factored likelihood has a closed form (Little & Rubin,
    7.2)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    X[120:, 1] = np.nan
    model = GaussianMixture(1, tol=1e-14, max_iter=5000).fit(X)
    known = X[:120]
    slope = np.cov(known.T, bias=True)[0, 1] / known[:, 0].var()
    mean = X[:, 0].mean()
    np.testing.assert_allclose(
        model.means_[0], [mean, known[:, 1].mean() + slope * (mean - known[:, 0].mean())], rtol=1e-5
    )
    rest = known[:, 1].var() - slope**2 * known[:, 0].var()
    wanted = X[:, 0].var() * np.array([[1.0, slope], [slope, slope**2]]) + np.diag([0.0, rest])
    np.testing.assert_allclose(model.covariances_[0], wanted, rtol=1e-4)


def test_missing_cells_still_find_the_clusters():
    X, owner = mixture(800, d=4, k=3, seed=2)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    assert adjusted_rand(owner, GaussianMixture(3, random_state=0, n_init=3).fit(X).labels_) > 0.85


@every_form
def test_samples_have_the_moments_of_the_mixture(form):
    X, _ = mixture(500)
    model = GaussianMixture(3, covariance_type=form, random_state=0).fit(X)
    drawn = model.sample(40_000, random_state=1)
    np.testing.assert_allclose(drawn.mean(axis=0), model.weights_ @ model.means_, atol=0.15)
    assert model.score(drawn) > model.score(drawn[:, ::-1])


def test_criteria_count_parameters():
    X, _ = mixture(300)
    model = GaussianMixture(2, random_state=0).fit(X)
    logs, n = model.score_samples(X).sum(), len(X)
    assert model.aic(X) == pytest.approx(2 * 19 - 2 * logs)
    assert model.bic(X) == pytest.approx(19 * np.log(n) - 2 * logs)
    assert model.icl(X) >= model.bic(X)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_random_starts_and_too_few_rows():
    X, owner = mixture(400, seed=7)
    found = GaussianMixture(4, init_params="random", n_init=8, random_state=0, max_iter=300).fit(X)
    assert adjusted_rand(owner, found.labels_) > 0.8
    with pytest.raises(AssayError, match="at least n_components=4 rows"):
        GaussianMixture(4).fit(X[:3])


@pytest.mark.parametrize("spread", [0.3, 4.0])
def test_bounds_that_live_on_between_passes_change_no_digit_beyond_rounding(spread):
    rng = np.random.default_rng(5)
    k, d, n = 6, 5, 1500
    X = (rng.normal(size=(k, d)) * spread)[rng.integers(k, size=n)] + rng.normal(size=(n, d)) * rng.uniform(0.3, 2, d)
    plain = from_rows(Gaussians.family("full", X, None, 1e-6), X, None, k, rng)
    bounded, bounds = plain, PassBounds(n, k)
    for _ in range(25):
        plain, before = plain.step(X, None, 1)
        bounded, same = bounded.step(X, None, 2, bounds)
        assert same == pytest.approx(before, rel=1e-11)
    np.testing.assert_allclose(bounded.covariances, plain.covariances, rtol=1e-6, atol=1e-9)
    # A bound is at most the distance it bounds.
    whitening, _ = bounded.whitening()
    bounded.step(X, None, 1, bounds)
    np.testing.assert_array_equal(bounds.owners, bounded.log_parts(X, 1)[1].argmax(axis=1))
    distance = np.linalg.norm(np.einsum("kij,nkj->nki", whitening, X[:, None] - bounded.means), axis=2)
    lower = bounds._lower.reshape(-1, k, 512).swapaxes(1, 2).reshape(-1, k)[:n]
    assert (lower <= distance * (1 + 1e-12)).all() and (lower > 0).mean() > 0.9


@every_form
def test_given_starts_are_those_of_scikit_learn(form):
    X, _ = mixture(600)
    guess = GaussianMixture(3, covariance_type=form, random_state=1, max_iter=1).fit(X)
    inverse = np.linalg.inv(guess.covariances_) if form in ("full", "tied") else 1 / guess.covariances_
    start = {"weights_init": guess.weights_, "means_init": guess.means_, "precisions_init": inverse}
    ours = GaussianMixture(3, covariance_type=form, max_iter=5, tol=0.0, **start).fit(X)
    with pytest.warns(Warning, match="converge"):
        theirs = ScikitMixture(3, covariance_type=form, max_iter=5, tol=0.0, reg_covar=0.0, **start).fit(X)
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-7)
    np.testing.assert_allclose(ours.covariances_, theirs.covariances_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "wrong",
    [
        {"means_init": np.zeros((2, 3))},
        {"weights_init": [1.0, -1.0, 1.0]},
        {"weights_init": ["a", "b", "c"]},
        {"precisions_init": -np.stack([np.eye(3)] * 3)},
    ],
)
def test_a_start_that_cannot_be_is_refused(wrong):
    with pytest.raises(AssayError, match=f"'{next(iter(wrong))}' must be"):
        GaussianMixture(3, **wrong).fit(mixture(60)[0])


def test_steps_that_do_not_end_are_said():
    X, _ = mixture(300)
    with pytest.warns(AssayWarning, match="W201.*GaussianMixture: not converged after 1 steps") as said:
        assert not GaussianMixture(4, max_iter=1, random_state=0).fit(X).converged_
    assert len(said) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", AssayWarning)
        assert GaussianMixture(4, random_state=0).fit(X).converged_
