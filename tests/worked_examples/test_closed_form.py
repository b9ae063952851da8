"""Worked examples with known answers for naive Bayes and least squares."""

from __future__ import annotations

import numpy as np
import pytest

from assay.models.bayes import NaiveBayes
from assay.models.linear import LeastSquares, Ridge

# The golf table: outlook, temperature, humidity, windy, play.
GOLF = [
    "sunny hot high no no", "sunny hot high yes no", "overcast hot high no yes", "rainy mild high no yes",
    "rainy cool normal no yes", "rainy cool normal yes no", "overcast cool normal yes yes", "sunny mild high no no",
    "sunny cool normal no yes", "rainy mild normal no yes", "sunny mild normal yes yes", "overcast mild high yes yes",
    "overcast hot normal no yes", "rainy mild high yes no",
]  # fmt: skip


def golf():
    cells = np.array([line.split() for line in GOLF], dtype=object)
    return cells[:, :4], cells[:, 4].astype(str)


def test_003_laplace_with_alpha_one_counts_each_category_once_more():
    X, y = golf()
    model = NaiveBayes(alpha=1.0).fit(X, y)
    outlook = np.exp(model.category_log_prob_[0])  # categories: overcast, rainy, sunny
    np.testing.assert_allclose(outlook[0], [1 / 8, 3 / 8, 4 / 8])
    np.testing.assert_allclose(outlook[1], [5 / 12, 4 / 12, 3 / 12])


def test_golf_without_smoothing_a_sunny_cool_humid_windy_day_has_probability_one_fifth_of_play():
    X, y = golf()
    model = NaiveBayes(alpha=0.0).fit(X, y)
    day = np.array([["sunny", "cool", "high", "yes"]], dtype=object)
    yes, no = 9 / 14 * (2 / 9) * (3 / 9) * (3 / 9) * (3 / 9), 5 / 14 * (3 / 5) * (1 / 5) * (4 / 5) * (3 / 5)
    np.testing.assert_allclose(model.predict_proba(day)[0], [no / (yes + no), yes / (yes + no)], rtol=1e-12)
    assert model.predict_proba(day)[0, 1] == pytest.approx(0.205, abs=5e-4)
    never = np.array([["overcast", "cool", "high", "yes"]], dtype=object)
    assert 0 < model.predict_proba(never)[0, 0] < 1e-6  # epsilon, not zero


def test_003_a_class_with_zero_variance_does_not_break_gaussian_naive_bayes():
    X = np.array([[1.0], [1.0], [1.0], [2.0], [3.0], [4.0]])
    y = np.array(["same", "same", "same", "spread", "spread", "spread"])
    model = NaiveBayes().fit(X, y)
    assert np.isfinite(model.var_).all() and (model.var_ > 0).all()
    assert np.isfinite(model.predict_proba([[1.0], [2.5], [-50.0]])).all()
    assert model.predict([[1.0], [2.5]]).tolist() == ["same", "spread"]


def test_000_least_squares_solves_the_normal_equations_with_x_transposed():
    X, y = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]]), np.array([1.0, 2.0, 2.0])
    model = LeastSquares(fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, np.linalg.solve(X.T @ X, X.T @ y), rtol=1e-13)
    np.testing.assert_allclose(model.coef_, [2 / 3, 1 / 2], rtol=1e-14)


def test_000_ridge_shrinks_but_does_not_select():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = X @ np.array([1.0, 0.5, 0.0]) + rng.normal(size=50)
    norms = [np.linalg.norm(Ridge(alpha=a).fit(X, y).coef_) for a in (0.0, 1.0, 10.0, 1000.0)]
    assert norms == sorted(norms, reverse=True)
    assert (Ridge(alpha=1000.0).fit(X, y).coef_ != 0).all()
