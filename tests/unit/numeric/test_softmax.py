"""Softmax regression on soft targets: optimality and ascent."""

from __future__ import annotations

import numpy as np

from assay.numeric.softmax import fit_softmax, log_softmax, ridge, softmax, with_ones


def test_the_gradient_vanishes_at_the_end_and_steps_only_climb():
    rng = np.random.default_rng(0)
    Z, shares, weights = with_ones(rng.normal(size=(80, 3))), rng.dirichlet(np.ones(4), 80), rng.random(80)

    def gain(B):
        return float((weights[:, None] * shares * log_softmax(Z @ B)).sum()) - ridge(B, 0.3)

    B, before = np.zeros((4, 4)), -np.inf
    for _ in range(30):
        B = fit_softmax(Z, shares, weights, 0.3, B, 1)
        assert gain(B) >= before
        before = gain(B)
    gradient = Z.T @ (weights[:, None] * (shares - softmax(Z @ B)))
    gradient[1:] -= 0.3 * B[1:]
    np.testing.assert_allclose(gradient, 0.0, atol=1e-7)


def test_shares_need_not_sum_to_one():
    rng = np.random.default_rng(1)
    Z, shares = with_ones(rng.normal(size=(40, 2))), rng.random((40, 3))
    total = shares.sum(axis=1)
    one = fit_softmax(Z, shares, np.ones(40), 0.1, np.zeros((3, 3)), 50)
    two = fit_softmax(Z, shares / total[:, None], total, 0.1, np.zeros((3, 3)), 50)
    np.testing.assert_allclose(softmax(Z @ one), softmax(Z @ two), atol=1e-8)
