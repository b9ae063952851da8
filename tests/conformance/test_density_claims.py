"""Every claim of every density: log densities, an integral of one, samples; and faults that are caught."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import trapezoid

from assay.evaluate import held_out_log_likelihood

from .small_methods import SmallGaussian, entry_of
from .tables import claiming, named, quick

every_density = pytest.mark.parametrize(**named(claiming("density")))


def rows(n: int = 200, d: int = 2, seed: int = 0) -> np.ndarray:
    """Rows around 3, of spread 1."""
    return 3.0 + np.random.default_rng(seed).normal(size=(n, d))


@every_density
def test_log_densities_are_one_finite_number_for_each_training_row(entry):
    X = rows()
    model = quick(entry).fit(X)
    given = model.score_samples(X)
    assert given.shape == (len(X),) and given.dtype == np.float64 and np.isfinite(given).all()
    far = model.score_samples(X + 1e6)
    assert not np.isnan(far).any() and (far < given).all()


@every_density
def test_the_density_of_one_column_integrates_to_one_exactly_if_claimed(entry):
    """A density that is none, as that of the k nearest neighbours, says so by `_improper`."""
    X = rows(d=1)
    model = quick(entry).fit(X)
    grid = np.linspace(-60.0, 66.0, 400_001)
    total = trapezoid(np.exp(model.score_samples(grid[:, None])), grid)
    if getattr(entry.load(), "_improper", False):
        assert abs(total - 1) > 0.02
    else:
        assert total == pytest.approx(1.0, abs=5e-3)


@every_density
def test_score_is_the_mean_log_density(entry):
    X, held_out = rows(), rows(seed=1)
    model = quick(entry).fit(X)
    expected = float(np.mean(model.score_samples(held_out)))
    assert model.score(held_out) == pytest.approx(expected, rel=1e-12)
    assert held_out_log_likelihood(model, held_out) == pytest.approx(expected, rel=1e-12)


@every_density
def test_samples_look_like_the_rows_and_repeat_by_seed(entry):
    X = rows()
    model = quick(entry).fit(X)
    if not hasattr(model, "sample"):
        assert getattr(entry.load(), "_improper", False)
        return
    drawn = model.sample(2000, random_state=0)
    assert drawn.shape == (2000, X.shape[1]) and np.isfinite(drawn).all()
    np.testing.assert_array_equal(drawn, model.sample(2000, random_state=0))
    assert not np.array_equal(drawn, model.sample(2000, random_state=1))
    error = drawn.std(axis=0) * np.sqrt(1 / len(X) + 1 / len(drawn))
    assert (np.abs(drawn.mean(axis=0) - X.mean(axis=0)) < 5 * error).all()


class TwiceTheDensity(SmallGaussian):
    """Counts everything twice."""

    def score_samples(self, X):
        return super().score_samples(X) + np.log(2.0)


class SumInsteadOfMean(SmallGaussian):
    """Scores by the sum."""

    def score(self, X, y=None):
        return float(self.score_samples(X).sum())


class ForgetsTheMean(SmallGaussian):
    """Samples around zero."""

    def sample(self, n_samples=1, random_state=None):
        return super().sample(n_samples, random_state) - self.mean_


class Densities(SmallGaussian):
    """Forgets the logarithm far away."""

    def score_samples(self, X):
        return np.exp(super().score_samples(X)) - 1.0 * (np.asarray(X)[:, 0] > 1e5) * np.nan


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        (TwiceTheDensity, test_the_density_of_one_column_integrates_to_one_exactly_if_claimed),
        (SumInsteadOfMean, test_score_is_the_mean_log_density),
        (ForgetsTheMean, test_samples_look_like_the_rows_and_repeat_by_seed),
        (Densities, test_log_densities_are_one_finite_number_for_each_training_row),
    ],
)
def test_a_planted_fault_is_caught(fault, check):
    with pytest.raises(AssertionError):
        check(entry_of(fault, "density"))
