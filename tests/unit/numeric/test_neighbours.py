"""The neighbour index against plain sorting."""

from __future__ import annotations

import numpy as np
import pytest

from assay.numeric.distances import get
from assay.numeric.neighbours import NeighbourIndex


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_nearest_to_itself_leaves_each_row_out(algorithm, metric):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, size=(90, 2)).astype(float)
    index = NeighbourIndex(rows, get(metric), algorithm=algorithm)
    found, distances = index.nearest_to_itself(6)
    order = {"euclidean": 2, "manhattan": 1, "chebyshev": np.inf}[metric]
    full = np.linalg.norm(rows[:, None] - rows[None], ord=order, axis=2)
    np.fill_diagonal(full, np.inf)
    np.testing.assert_allclose(distances, np.sort(full, axis=1)[:, :6])
    assert (found != np.arange(90)[:, None]).all()


def test_the_index_keeps_its_own_rows():
    rows = np.arange(10.0)[:, None]
    index = NeighbourIndex(rows, get("euclidean"))
    rows[:] = 0.0
    np.testing.assert_array_equal(index.nearest(np.array([[7.2]]), 2)[0], [[7, 8]])
