"""Mixtures of named distributions: normal + exponential, counts, latent classes, missing cells, likelihoods."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from assay.base import AssayError, AssayWarning
from assay.evaluate import adjusted_rand
from assay.models.mixtures import GaussianMixture, MixtureModel
from assay.models.mixtures.distributions import DISTRIBUTIONS

SCIPY = {
    "normal": lambda x, g: stats.norm(g["mean"], np.sqrt(g["variance"])).logpdf(x),
    "log-normal": lambda x, g: stats.lognorm(np.sqrt(g["variance"]), scale=np.exp(g["mean"])).logpdf(x),
    "exponential": lambda x, g: stats.expon(scale=1 / g["rate"]).logpdf(x),
    "poisson": lambda x, g: stats.poisson(g["rate"]).logpmf(x),
    "geometric": lambda x, g: stats.geom(g["chance"], loc=-1).logpmf(x),
    "bernoulli": lambda x, g: stats.bernoulli(g["chance"]).logpmf(x),
}


@pytest.mark.parametrize("name", SCIPY)
def test_densities_are_those_of_scipy_and_fits_maximise_them(name):
    rng = np.random.default_rng(0)
    made = {
        "bernoulli": (rng.random(200) < 0.3) * 1.0,
        "poisson": rng.poisson(3, 200) * 1.0,
        "geometric": np.floor(rng.exponential(2, 200)),
        "log-normal": rng.lognormal(0.5, 0.4, 200),
    }
    x = made.get(name, rng.exponential(2, 200))
    kind, weights = DISTRIBUTIONS[name](0), rng.uniform(0.5, 2.0, size=200)
    kind.learn(x, 1e-6)
    best = kind.maximise(x, weights)
    np.testing.assert_allclose(kind.log_density(x, best), SCIPY[name](x, best), rtol=1e-9, atol=1e-9)
    top = weights @ kind.log_density(x, best)
    for key, value in best.items():
        for factor in (0.97, 1.03):
            assert weights @ kind.log_density(x, {**best, key: value * factor}) < top
    drawn = kind.draw(np.random.default_rng(1), 20_000, best)
    assert drawn.mean() == pytest.approx(np.average(x, weights=weights), rel=0.15)


def test_a_normal_beside_an_exponential():
    rng = np.random.default_rng(1)
    owner = np.repeat([0, 1], [600, 400])
    X = np.r_[rng.exponential(1.0, 600), rng.normal(8.0, 0.8, 400)][:, None]
    model = MixtureModel(2, distributions=["exponential", "normal"], random_state=0, trace=True).fit(X)
    assert model.parameters_[0][0]["rate"] == pytest.approx(1.0, abs=0.1)
    assert model.parameters_[1][0]["mean"] == pytest.approx(8.0, abs=0.1)
    np.testing.assert_allclose(model.weights_, [0.6, 0.4], atol=0.03)
    assert adjusted_rand(owner, model.labels_) > 0.97
    for restart in range(5):
        values = [r["values"]["log_likelihood"] for r in model.trace_ if r["values"]["restart"] == restart]
        assert (np.diff(values) > -1e-8).all()


def test_normals_alone_are_a_diagonal_gaussian_mixture():
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.normal(m, 1.0, (150, 2)) for m in (0, 6)])
    ours = MixtureModel(2, random_state=0, tol=1e-10).fit(X)
    other = GaussianMixture(2, covariance_type="diag", random_state=0, tol=1e-10, max_iter=1000).fit(X)
    assert ours.log_likelihood_ == pytest.approx(other.log_likelihood_, rel=1e-8)
    assert ours.bic(X) == pytest.approx(other.bic(X), rel=1e-8)


def test_latent_classes_of_a_mixed_table_with_missing_cells():
    rng = np.random.default_rng(3)
    owner = rng.integers(2, size=400)
    frame = pd.DataFrame(
        {
            "colour": np.where(rng.random(400) < np.where(owner, 0.9, 0.1), "red", "blue"),
            "shape": np.where(rng.random(400) < np.where(owner, 0.85, 0.1), "round", "flat"),
            "calls": rng.poisson(np.where(owner, 9, 2)).astype(float),
            "size": rng.normal(np.where(owner, 3, 0), 1.0),
        }
    )
    frame.loc[::7, "colour"] = None
    frame.loc[::11, "size"] = np.nan
    model = MixtureModel(2, distributions={"calls": "poisson"}, random_state=0).fit(frame)
    assert adjusted_rand(owner, model.labels_) > 0.85
    rates = sorted(part[2]["rate"] for part in model.parameters_)
    np.testing.assert_allclose(rates, [2, 9], rtol=0.15)
    assert model.sample(10, random_state=0).shape == (10, 4)


def test_values_that_a_distribution_cannot_have_are_refused():
    with pytest.raises(AssayError, match="column 'x0' must hold whole numbers >= 0 for the poisson distribution"):
        MixtureModel(1, distributions="poisson").fit([[0.5], [1.0]])
    with pytest.raises(AssayError, match="parameter 'distributions' must be names among"):
        MixtureModel(2, distributions=["normal"]).fit([[0.5], [1.0]])


def test_steps_that_run_out_are_told_with_the_way_out():
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.warns(AssayWarning, match=r"W201.*MixtureModel: not converged after 2 steps .*raise max_iter or tol"):
        model = MixtureModel(2, max_iter=2, tol=0.0, random_state=0).fit(X)
    assert not model.converged_
