"""Fisher's discriminant: worked example, scikit-learn, and what holds at the optimum."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from assay.base import AssayError
from assay.prepare import LDAProjection

WINE = load_wine(return_X_y=True)


def test_worked_example():
    """001 sec. 2.2.5: direction (-3, 8), projections 5, 18, 23, 2."""
    X = np.array([[1.0, 1.0], [2.0, 3.0], [3.0, 4.0], [2.0, 1.0]])
    fisher = LDAProjection().fit(X, [0, 1, 1, 0])
    w = fisher.components_[0] / fisher.components_[0, 0] * -3
    np.testing.assert_allclose(w, [-3, 8], rtol=1e-12)
    np.testing.assert_allclose(X @ w, [5, 18, 23, 2], rtol=1e-12)


def test_projection_is_that_of_scikit_learn():
    ours, peer = LDAProjection().fit(*WINE), LinearDiscriminantAnalysis(solver="svd").fit(*WINE)
    # Versions of scikit-learn pool the variance over n or n - K, so that lengths differ; the next test settles ours.
    mine, theirs = (np.abs(model.transform(WINE[0])) for model in (ours, peer))
    unit = np.linalg.norm(theirs, axis=0) / np.linalg.norm(mine, axis=0)
    np.testing.assert_allclose(mine * unit, theirs, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(unit[0], unit[1])
    np.testing.assert_allclose(ours.explained_variance_ratio_, peer.explained_variance_ratio_, rtol=1e-8)
    np.testing.assert_allclose(ours.means_, peer.means_)


def test_the_pooled_variance_within_classes_is_one():
    X, y = WINE
    z = LDAProjection().fit(X, y).transform(X)
    within = sum(((z[y == k] - z[y == k].mean(axis=0)).T @ (z[y == k] - z[y == k].mean(axis=0))) for k in range(3))
    np.testing.assert_allclose(within / (len(y) - 3), np.eye(2), atol=1e-9)


def test_no_other_direction_separates_better():
    X, y = WINE[0][WINE[1] < 2], WINE[1][WINE[1] < 2]

    def ratio(w):
        a, b = X[y == 0] @ w, X[y == 1] @ w
        return (a.mean() - b.mean()) ** 2 / (a.var() * len(a) + b.var() * len(b))

    w = LDAProjection().fit(X, y).components_[0]
    rng = np.random.default_rng(0)
    assert all(ratio(w) >= ratio(w + 0.01 * np.abs(w) * rng.normal(size=w.shape)) for _ in range(50))


def test_singular_scatter_is_met_by_principal_components_first():
    X, y = load_digits(return_X_y=True)
    X, y = X[:60], y[:60]
    fisher = LDAProjection().fit(X, y)
    assert 0 < fisher.n_principal_ < 60 and fisher.components_.shape == (9, 64)
    assert "principal components" in fisher.explain()[0]
    twice = np.column_stack([WINE[0], WINE[0][:, 0]])
    a, b = LDAProjection().fit(twice, WINE[1]), LDAProjection().fit(*WINE)
    np.testing.assert_allclose(np.abs(a.transform(twice)), np.abs(b.transform(WINE[0])), rtol=1e-5, atol=1e-6)


def test_weights_are_repetition():
    X, y = WINE
    weights = np.random.default_rng(0).integers(0, 3, size=len(y))
    a = LDAProjection().fit(X, y, sample_weight=weights)
    b = LDAProjection().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(a.components_, b.components_, rtol=1e-7)


def test_refusals_and_the_number_of_directions():
    assert LDAProjection(n_components=1).fit(*WINE).transform(WINE[0]).shape[1] == 1
    with pytest.raises(AssayError, match="must be at most 2"):
        LDAProjection(n_components=3).fit(*WINE)
    with pytest.raises(AssayError, match="at least 2 classes"):
        LDAProjection().fit(WINE[0], np.zeros(len(WINE[0]), dtype=int))
    with pytest.raises(AssayError, match="must vary within"):
        LDAProjection().fit(np.array([[0.0], [0.0], [1.0], [1.0]]), [0, 0, 1, 1])


def test_labels_of_two_kinds_are_refused():
    with pytest.raises(AssayError, match="y must hold labels of one kind"):
        LDAProjection().fit(np.arange(8.0)[:, None], np.array(["a", 1] * 4, dtype=object))
