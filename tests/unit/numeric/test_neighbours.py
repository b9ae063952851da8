"""The neighbour index against plain sorting."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import nan_euclidean_distances

from assay import _kernels
from assay.numeric.distances import get
from assay.numeric.neighbours import NeighbourIndex, nearest_known


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


@pytest.mark.parametrize("values", ["distinct", "few", "two", "one", "sorted", "far"])
@pytest.mark.parametrize("columns", [1, 3, 9])
def test_a_tree_of_many_rows_has_the_neighbours_of_brute_force_with_any_threads(values, columns):
    rng = np.random.default_rng(columns)
    rows = {
        "distinct": rng.normal(size=(9000, columns)),
        "few": rng.integers(0, 12, size=(9000, columns)).astype(float),
        "two": (rng.random((9000, columns)) < 0.4).astype(float),
        "one": np.ones((9000, columns)),
        "sorted": np.sort(rng.normal(size=(9000, columns)), axis=0),
        "far": rng.standard_cauchy(size=(9000, columns)) ** 3,
    }[values]
    queries = rows[rng.permutation(9000)[:300]] + rng.choice([0.0, 0.3], size=(300, 1))
    wanted = NeighbourIndex(rows, get("euclidean"), algorithm="brute").nearest(queries, 5)
    trees = [NeighbourIndex(rows, get("euclidean"), algorithm="kd_tree", threads=threads) for threads in (1, 3)]
    for name, one in trees[0].state()["arrays"].items():
        np.testing.assert_array_equal(one, trees[1].state()["arrays"][name])
    for threads, tree in zip((1, 3), trees):
        found = tree.nearest(queries, 5, threads)
        np.testing.assert_array_equal(found[0], wanted[0])
        np.testing.assert_array_equal(found[1], wanted[1])


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


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "mixed", "hamming"])
@pytest.mark.parametrize("kind", ["normal", "ties", "offset", "one row"])
def test_rows_within_a_radius_are_those_of_the_full_list(metric, algorithm, kind):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(1 if kind == "one row" else 330, 3))
    if kind == "ties":
        rows = rng.integers(0, 3, size=(330, 3)).astype(float)
    elif kind == "offset":
        rows = 1e9 + 1e-3 * rows
    distance = get(metric)
    if algorithm == "kd_tree" and not distance.has_tree:
        algorithm = "auto"
    index = NeighbourIndex(rows, distance, algorithm=algorithm, threads=2)
    queries = np.vstack([rows[:30], rows[:5] + 1e-4, np.full((1, 3), 1e12)])
    found, distances = index.nearest(queries, rows.shape[0])
    for radius in (0.0, float(np.median(distances[:10])), 1e15):
        start, within, gaps = index.within(queries, radius, 2)
        np.testing.assert_array_equal(np.diff(start), index.count(queries, radius))
        for i in range(queries.shape[0]):
            inside = distances[i] <= radius
            order = np.argsort(found[i][inside])
            np.testing.assert_array_equal(within[start[i] : start[i + 1]], found[i][inside][order])
            np.testing.assert_array_equal(gaps[start[i] : start[i + 1]], distances[i][inside][order])


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
def test_distances_over_the_cells_that_both_rows_have(level):
    """Reference: scikit-learn's nan_euclidean_distances."""
    rng = np.random.default_rng(9)
    rows, queries = rng.normal(size=(61, 5)), rng.normal(size=(20, 5))
    rows[rng.random(rows.shape) < 0.4] = np.nan
    queries[rng.random(queries.shape) < 0.4] = np.nan
    queries = queries[~np.isnan(queries).all(axis=1)]
    best = _kernels.simd_level()
    try:
        _kernels.set_simd_level(level)
        found, distances = nearest_known(rows, queries, 61)
    finally:
        _kernels.set_simd_level(best)
    expected = np.nan_to_num(nan_euclidean_distances(queries, rows), nan=np.inf)
    np.testing.assert_allclose(distances, np.take_along_axis(expected, found, axis=1), rtol=1e-9)
    assert (distances[:, 1:] >= distances[:, :-1]).all()
