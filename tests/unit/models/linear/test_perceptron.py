"""The perceptron: its theorem, its options, and agreement with scikit-learn step for step."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import Perceptron as Peer

from assay.base import AssayWarning
from assay.models.linear import Perceptron


def separable(n=300, p=4, margin=0.2, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=p)
    truth /= np.linalg.norm(truth)
    X = rng.normal(size=(n, p))
    X = X[np.abs(X @ truth) > margin]
    return X, np.where(X @ truth > 0, "yes", "no"), truth


def quiet(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssayWarning)
        return model.fit(X, y)


@pytest.mark.parametrize("seed", range(5))
def test_mistakes_stay_below_the_bound_of_the_convergence_theorem(seed):
    X, y, truth = separable(seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Perceptron(fit_intercept=False, max_iter=100_000, random_state=seed).fit(X, y)
    radius, margin = np.linalg.norm(X, axis=1).max(), np.abs(X @ truth).min()
    assert 0 < model.n_mistakes_ <= (radius / margin) ** 2
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_unshuffled_epochs_equal_scikit_learn(fit_intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = (X[:, 0] + 0.5 * rng.normal(size=200) > 0.3).astype(int)
    ours = quiet(Perceptron(shuffle=False, max_iter=7, fit_intercept=fit_intercept), X, y)
    peer = Peer(shuffle=False, max_iter=7, tol=None, fit_intercept=fit_intercept).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-9)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, rtol=1e-9)


def test_three_separable_classes_end_without_a_mistake():
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 6.0], [-6.0, -4.0], [6.0, -4.0]])
    codes = rng.integers(0, 3, 240)
    X = centres[codes] + rng.uniform(-1, 1, size=(240, 2))
    model = Perceptron(random_state=0, trace=True).fit(X, codes)
    assert model.score(X, codes) == 1.0 and model.trace_[-1]["values"]["mistakes"] == 0
    assert model.coef_.shape == (3, 2)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-9)


def test_average_is_the_mean_over_all_rows_seen():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    model = quiet(Perceptron(shuffle=False, average=True, max_iter=2), X, y)
    theta, total = np.zeros(3), np.zeros(3)
    for row, label in [*zip(X, y, strict=True)] * 2:
        z, sign = np.append(row, 1.0), 1 if label else -1
        if sign * (theta @ z) <= 0:
            theta = theta + sign * z
        total += theta
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), total / 80, rtol=1e-12)


def test_average_is_steadier_on_classes_that_overlap():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 3)) + 0.7 * codes[:, None]
    scores = {
        average: [
            quiet(Perceptron(average=average, max_iter=30, random_state=s), X, codes).score(X, codes) for s in range(8)
        ]
        for average in (True, False)
    }
    assert np.std(scores[True]) < np.std(scores[False]) and np.mean(scores[True]) > np.mean(scores[False])


def test_overlap_warns_and_patience_ends_earlier():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(100, 2)), rng.integers(0, 2, 100)
    with pytest.warns(AssayWarning, match="W201.*separable"):
        long = Perceptron(max_iter=200, n_iter_no_change=None, random_state=0).fit(X, y)
    short = quiet(Perceptron(max_iter=200, n_iter_no_change=3, random_state=0), X, y)
    assert long.n_iter_ == 200 and short.n_iter_ < 200


@pytest.mark.parametrize(("n_rows", "waits"), [(100, 82), (3000, 5)])
def test_by_default_a_small_table_gets_many_more_epochs_to_make_fewer_mistakes(n_rows, waits):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(n_rows, 2)), rng.integers(0, 2, n_rows)
    model = quiet(Perceptron(random_state=0, trace=True), X, y)
    mistakes = [record["values"]["mistakes"] for record in model.trace_]
    assert model.n_iter_ == 1 + int(np.argmin(mistakes)) + waits


def test_seed_and_shuffle_matter():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(100, 3)), rng.integers(0, 2, 100)
    fits = [quiet(Perceptron(max_iter=3, random_state=s), X, y).coef_ for s in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert (fits[0] != fits[2]).any()
    fixed = [quiet(Perceptron(max_iter=3, shuffle=False, random_state=s), X, y).coef_ for s in (0, 1)]
    np.testing.assert_array_equal(*fixed)


def test_there_are_no_probabilities():
    assert not hasattr(Perceptron(), "predict_proba") and not hasattr(Perceptron, "predict_proba")


def test_partial_fit_equals_the_epochs_of_fit():
    X, y, _ = separable(seed=7)
    whole = quiet(Perceptron(max_iter=3, random_state=0, average=True), X, y)
    parts = Perceptron(random_state=0, average=True)
    for _ in range(whole.n_iter_):
        parts.partial_fit(X, y, classes=["no", "yes"])
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    assert parts.n_mistakes_ == whole.n_mistakes_


@pytest.mark.parametrize("scale", [1e12, 1e-12])
def test_extreme_scales_keep_coefficients_finite(scale):
    X, y, _ = separable()
    model = quiet(Perceptron(max_iter=50, random_state=0), X * scale, y)
    assert np.isfinite(model.coef_).all()
