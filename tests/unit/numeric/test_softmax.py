"""Softmax regression on soft targets: optimality and ascent."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from assay import _kernels
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


@pytest.mark.parametrize("classes", [3, 4, 7])
def test_softmax_of_rows_side_by_side_keeps_its_digits_at_any_score(classes):
    """Scores as cells of the table: ties, scores beyond the range of exp, and a class that is almost sure."""
    rng = np.random.default_rng(classes)
    scores = rng.normal(size=(75, classes))
    scores[::5] *= 800.0
    scores[1] = 0.0
    scores[2] = [900.0, *[-900.0] * (classes - 1)]
    scores[3] = [*[0.0] * (classes - 1), 40.0]
    scores[4] = [5.0, 5.0, *[5.0] * (classes - 2)]
    codes = rng.integers(0, classes, 75).astype(np.int32)
    codes[[2, 3]] = 0, classes - 1
    weights = rng.integers(1, 4, 75).astype(float)
    for row in range(-1, 75):
        rows = np.arange(75) if row < 0 else np.array([row])
        passes = _kernels.LogisticPasses(
            scores, rows, codes, weights, np.zeros(classes), np.ones(classes), False, classes
        )
        loss, _, gradient, _, shares = passes.sums(np.eye(classes), False, True, 1)
        expected = special.softmax(scores[rows], axis=1)
        apart = scores[rows] - scores[rows, codes[rows]][:, None]
        assert loss == pytest.approx(weights[rows] @ special.logsumexp(apart, axis=1), rel=1e-13)
        np.testing.assert_allclose(shares[:, :classes], expected, rtol=1e-12, atol=1e-300)
        own = np.eye(classes, dtype=bool)[codes[rows]]
        missed = np.where(own, 0.0, expected).sum(axis=1)
        residual = weights[rows, None] * np.where(own, -missed[:, None], expected)
        np.testing.assert_allclose(gradient, residual.T @ scores[rows], rtol=1e-11, atol=1e-300 if row >= 0 else 1e-9)
