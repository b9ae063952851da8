"""Text 004: bias and variance of ridge regression in closed form, against the decomposition by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from assay.evaluate import bias_variance

RNG = np.random.default_rng(4)
X = RNG.normal(size=(30, 4)) * [1.0, 1.0, 0.3, 0.3]
BETA = np.array([1.0, -2.0, 3.0, 0.5])
SIGMA = 0.7


def closed_form(strength: float, rows: np.ndarray) -> tuple[float, float]:
    """Mean over rows of (x . bias)^2 and x^T Var x: bias = -l (X^T X + l I)^-1 b, Var = s^2 V P V^T."""
    d, V = np.linalg.eigh(X.T @ X)
    bias = -strength * V @ ((V.T @ BETA) / (d + strength))
    variance = SIGMA**2 * V @ np.diag(d / (d + strength) ** 2) @ V.T
    return float(np.mean((rows @ bias) ** 2)), float(np.mean(np.einsum("ij,jk,ik->i", rows, variance, rows)))


@pytest.mark.parametrize("strength", [0.01, 1.0, 10.0])
def test_004_bias_and_variance_of_ridge(strength):
    def draw(generator):
        return X, X @ BETA + SIGMA * generator.normal(size=30)

    rows = RNG.normal(size=(25, 4))
    parts = bias_variance(
        Ridge(alpha=strength, fit_intercept=False),
        None,
        None,
        rows,
        rows @ BETA,
        noise=SIGMA**2,
        noisy_test=False,
        method="simulate",
        generator=draw,
        n_replicates=2000,
        random_state=0,
    )
    squared_bias, variance = closed_form(strength, rows)
    # The mean of M predictions still varies: its variance / M is part of the simulated squared bias.
    assert parts.bias == pytest.approx(squared_bias + variance / 2000, rel=0.03, abs=0.003)
    assert parts.variance == pytest.approx(variance, rel=0.06)
    assert parts.total == pytest.approx(parts.bias + parts.variance + SIGMA**2, rel=1e-12)


def test_004_limits_of_ridge():
    """No penalty: no bias. An endless penalty: no variance, and the bias is -beta."""
    rows = RNG.normal(size=(25, 4))
    assert closed_form(0.0, rows)[0] == pytest.approx(0)
    squared_bias, variance = closed_form(1e9, rows)
    assert variance == pytest.approx(0, abs=1e-6) and squared_bias == pytest.approx(np.mean((rows @ BETA) ** 2))
