"""Every claim of every detector of rows unlike the others; and faults that are caught."""

from __future__ import annotations

import numpy as np
import pytest

from assay.base import Unsupervised
from assay.base.parameters import Real, param

from .small_methods import entry_of
from .tables import claiming, named, quick

every_detector = pytest.mark.parametrize(**named(claiming("detector")))


def rows(n: int = 200, seed: int = 0) -> np.ndarray:
    """Rows around 3, of spread 1."""
    return 3.0 + np.random.default_rng(seed).normal(size=(n, 2))


@every_detector
def test_scores_are_finite_and_fall_away_from_the_rows(entry):
    X = rows()
    model = quick(entry).fit(X)
    scores = model.score_samples(X)
    assert scores.shape == (200,) and scores.dtype == np.float64 and np.isfinite(scores).all()
    assert model.score_samples([[3.0, 3.0]])[0] > model.score_samples([[30.0, 3.0]])[0]


@every_detector
def test_labels_are_one_inside_and_minus_one_outside(entry):
    X = rows()
    model = quick(entry)
    labels = model.fit_predict(X)
    assert set(np.unique(labels)) <= {-1, 1}
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_allclose(model.decision_function(X), model.score_samples(X) - model.offset_, atol=1e-12)
    assert (model.predict(X + 100.0) == -1).all()
    assert (model.decision_function(X)[labels == -1] < 0).all()


@every_detector
def test_the_order_of_rows_does_not_matter(entry):
    X = rows(seed=2)
    order = np.random.default_rng(3).permutation(len(X))
    one, other = quick(entry).fit(X), quick(entry).fit(X[order])
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-6)


@every_detector
def test_scale_of_a_column_matters_exactly_if_claimed(entry):
    X = rows()
    units = np.array([1000.0, 0.01])
    plain, scaled = quick(entry).fit(X), quick(entry).fit(X * units)
    same = np.allclose(plain.score_samples(X), scaled.score_samples(X * units), rtol=1e-5, atol=1e-6)
    assert same != entry.scales


class AllInside(Unsupervised):
    """Says that every row is like the others."""

    share: float = param(0.5, Real(0, 1), "Not used.")

    def fit(self, X, y=None):
        self._begin(X)
        self.offset_ = 0.0
        return self

    def score_samples(self, X):
        return np.ones(len(X))

    def decision_function(self, X):
        return self.score_samples(X)

    def predict(self, X):
        return np.ones(len(X), dtype=int)

    def fit_predict(self, X):
        return self.fit(X).predict(X)


@pytest.mark.parametrize(
    "check",
    [test_scores_are_finite_and_fall_away_from_the_rows, test_labels_are_one_inside_and_minus_one_outside],
)
def test_a_planted_fault_is_caught(check):
    with pytest.raises(AssertionError):
        check(entry_of(AllInside, "detect"))
