"""One-class support vector machines: libsvm, the shares that nu bounds, weights, a given matrix."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import OneClassSVM as Peer

from assay.models.kernel_machines import OneClassSVM, kernel_choice


def rows(n=200, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3))


@pytest.mark.parametrize("nu", [0.05, 0.5, 0.83])
def test_decisions_are_those_of_libsvm(nu):
    X = rows()
    model = OneClassSVM(nu=nu, gamma=0.3).fit(X)
    peer = Peer(nu=nu, gamma=0.3, tol=1e-6).fit(X)
    np.testing.assert_allclose(model.score_samples(X), peer.score_samples(X), atol=2e-3)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=2e-3)


def test_a_share_of_one_is_the_parzen_window():
    X = rows(50)
    model = OneClassSVM(nu=1.0, gamma=0.3).fit(X)
    np.testing.assert_allclose(model.score_samples(X), model._kernel()(X).sum(axis=1), rtol=1e-10)


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.7])
def test_nu_is_between_the_share_outside_and_that_of_support_vectors(nu):
    X = rows()
    model = OneClassSVM(nu=nu).fit(X)
    assert model.outside_ <= nu + 1e-9 <= model.support_.size / 200 + 1e-6
    assert (model.predict(X) == -1).mean() <= nu + 1e-9
    assert model.dual_coef_.sum() == pytest.approx(nu * 200)


def test_the_conditions_of_optimality_hold():
    X = rows()
    model = OneClassSVM(nu=0.2).fit(X)
    alpha = np.zeros(200)
    alpha[model.support_] = model.dual_coef_
    decision = model.decision_function(X)
    assert (decision[alpha == 0] >= -1e-6).all() and (decision[alpha == 1] <= 1e-6).all()
    np.testing.assert_allclose(decision[(alpha > 0) & (alpha < 1)], 0.0, atol=1e-6)


def test_float32_rows_and_a_given_matrix_are_the_same_region(monkeypatch):
    X = rows()
    exact = OneClassSVM(nu=0.2, gamma=0.3).fit(X)
    gram = exact._kernel()(X)
    weights = (np.arange(200) % 5 > 0).astype(float)
    given = OneClassSVM(nu=0.2, kernel="precomputed").fit(gram, sample_weight=weights)
    part = OneClassSVM(nu=0.2, gamma=0.3).fit(X, sample_weight=weights)
    np.testing.assert_allclose(given.decision_function(gram), part.decision_function(X), atol=1e-6)
    monkeypatch.setattr(kernel_choice, "SMALL", 0)
    single = OneClassSVM(nu=0.2, gamma=0.3).fit(X)
    np.testing.assert_allclose(single.decision_function(X), exact.decision_function(X), atol=5e-3)
