"""The neighbour index against plain sorting."""

from __future__ import annotations

import numpy as np
import pytest

from assay import _kernels
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


@pytest.mark.parametrize("width", [5, 30])
def test_the_mixed_tree_on_many_rows_at_every_instruction_set(width):
    rng = np.random.default_rng(width)
    X = rng.normal(size=(3000, width))
    X[:, width // 2 :] = rng.integers(0, 4, size=(3000, width - width // 2))
    X[rng.random(X.shape) < 0.02] = np.nan
    nominal = np.arange(width) >= width // 2
    queries = X[::60] + np.where(nominal, 0.0, 0.01)
    expected = NeighbourIndex(X, get("mixed"), nominal=nominal, algorithm="brute").nearest(queries, 12)
    best = _kernels.simd_level()
    try:
        for level in ("baseline", "avx2", "avx512"):
            _kernels.set_simd_level(level)
            tree = NeighbourIndex(X, get("mixed"), nominal=nominal, algorithm="kd_tree", threads=2)
            for threads in (1, 2):
                found = tree.nearest(queries, 12, threads)
                np.testing.assert_array_equal(found[0], expected[0])
                np.testing.assert_array_equal(found[1], expected[1])
    finally:
        _kernels.set_simd_level(best)


def test_a_tree_from_outside_is_checked_before_use():
    rows = np.random.default_rng(0).random((900, 3))
    index = NeighbourIndex(rows, get("mixed"), algorithm="kd_tree")
    assert index.kind == "mixed tree"
    for name, spoil in {
        "right": lambda a: a + 10_000,
        "panel": lambda a: a - 5,
        "order": lambda a: a + 900,
        "byte_block": lambda a: a + 10**6,
    }.items():
        arrays = {**index._arrays, name: spoil(index._arrays[name])}
        with pytest.raises(ValueError, match="the links of the tree must lead to its nodes and rows"):
            _kernels.mixed_tree_nearest(**arrays, queries=rows[:2], k=1, threads=1)
    with pytest.raises(ValueError, match="nodes must have the columns of queries"):
        _kernels.mixed_tree_nearest(**index._arrays, queries=rows[:2, :2].copy(), k=1, threads=1)
