"""Text 002: L = (b1 - 1)^2 + (b2 - 2)^2 - b1 b2; steps .3, .01 and .68."""

from __future__ import annotations

import numpy as np
import pytest

from assay.models.linear import descend, stable_step


def slope(b):
    return np.array([2 * (b[0] - 1) - b[1], 2 * (b[1] - 2) - b[0]])


def test_step_three_tenths_converges_to_the_minimum():
    path = descend(slope, [0.0, 0.0], 0.3)
    assert path.converged and path.n_iter < 100
    np.testing.assert_allclose(path.minimum, [8 / 3, 10 / 3], atol=1e-7)


def test_step_one_hundredth_is_slow():
    quick, slow = (descend(slope, [0.0, 0.0], step) for step in (0.3, 0.01))
    assert slow.converged and slow.n_iter > 20 * quick.n_iter


def test_step_68_hundredths_bounces_and_diverges_since_the_limit_is_two_thirds():
    assert descend(slope, [0.0, 0.0], 0.68).diverged
    largest = np.linalg.eigvalsh(np.array([[2.0, -1.0], [-1.0, 2.0]]))[-1]
    assert stable_step(largest) == pytest.approx(2 / 3)
    assert descend(slope, [0.0, 0.0], 0.66, max_iter=100_000).converged
