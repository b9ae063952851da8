"""Whatever the rows: every search gives the neighbours of the definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.models.neighbours import KNNRegressor
from assay.numeric.distances import get
from assay.numeric.neighbours import NeighbourIndex
from tests.helpers import examples

coarse = st.integers(-3, 3).map(float)
wild = st.one_of(
    st.floats(-1e9, 1e9, allow_nan=False, width=64).map(lambda x: x if abs(x) > 1e-100 else 0.0),
    coarse,
    st.sampled_from([1e-12, 1.0, 1.0 + 2**-52, 1e8, 1e8 + 1e-7]),
)


@st.composite
def tables(draw, cells):
    n_rows, n_features = draw(st.integers(1, 60)), draw(st.integers(1, 5))
    X = draw(arrays(np.float64, (n_rows, n_features), elements=cells))
    queries = draw(arrays(np.float64, (draw(st.integers(1, 6)), n_features), elements=cells))
    return X, np.vstack([queries, X[:2]]), draw(st.integers(1, n_rows))


def search(X, queries, k, **parameters):
    model = KNNRegressor(n_neighbors=k, **parameters).fit(X, np.zeros(X.shape[0]))
    return model.kneighbors(queries)


@settings(max_examples=examples(80))
@given(tables(coarse))
def test_integer_grids_give_the_exact_order_for_every_search(table):
    X, queries, k = table
    gaps = np.abs(queries[:, None, :] - X[None])
    full = {"euclidean": (gaps**2).sum(axis=2), "manhattan": gaps.sum(axis=2), "chebyshev": gaps.max(axis=2)}
    for metric, distances in full.items():
        expected = np.argsort(distances, axis=1, kind="stable")[:, :k]
        for algorithm in ("brute", "kd_tree"):
            np.testing.assert_array_equal(search(X, queries, k, metric=metric, algorithm=algorithm)[1], expected)


@settings(max_examples=examples(80))
@given(tables(wild))
def test_tree_and_brute_force_agree_bit_for_bit_on_wild_numbers(table):
    X, queries, k = table
    for metric, p in (("euclidean", 2.0), ("manhattan", 2.0), ("chebyshev", 2.0), ("minkowski", 1.5)):
        brute = search(X, queries, k, metric=metric, p=p, algorithm="brute")
        tree = search(X, queries, k, metric=metric, p=p, algorithm="kd_tree")
        np.testing.assert_array_equal(brute[0], tree[0])
        np.testing.assert_array_equal(brute[1], tree[1])


@settings(max_examples=examples(100))
@given(tables(wild))
def test_distances_are_those_of_the_definition_and_no_row_left_out_is_nearer(table):
    X, queries, k = table
    distances, rows = search(X, queries, k, algorithm="brute")
    full = np.sqrt(((queries[:, None, :] - X[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(distances, np.take_along_axis(full, rows, axis=1), rtol=1e-13)
    np.testing.assert_allclose(distances, np.sort(full, axis=1)[:, :k], rtol=1e-13)


@settings(max_examples=examples(60))
@given(tables(coarse), st.permutations(range(5)))
def test_the_order_of_columns_changes_nothing(table, order):
    X, queries, k = table
    columns = [j for j in order if j < X.shape[1]]
    np.testing.assert_array_equal(search(X, queries, k)[1], search(X[:, columns], queries[:, columns], k)[1])


@st.composite
def mixed_tables(draw):
    """Few different numbers and codes, many missing cells, equal rows: each branch of the tree, each kind of tie."""
    n_rows, numbers, labels = draw(st.integers(1, 700)), draw(st.integers(0, 4)), draw(st.integers(0, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns = []
    for _ in range(max(numbers, 1 - labels)):
        kind = draw(st.sampled_from(["normal", "few", "skewed", "constant"]))
        cells = {
            "normal": rng.normal(size=n_rows),
            "few": rng.integers(0, 3, size=n_rows).astype(float),
            "skewed": np.exp(6 * rng.normal(size=n_rows)),
            "constant": np.full(n_rows, 0.1),
        }[kind]
        columns.append(cells)
    n_numbers = len(columns)
    for _ in range(labels):
        columns.append(rng.integers(0, draw(st.sampled_from([1, 2, 7, 400])), size=n_rows).astype(float))
    X = np.column_stack(columns)
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.05, 0.6]))] = np.nan
    if draw(st.booleans()):
        X = X[rng.integers(0, min(n_rows, 9), size=n_rows)]
    nominal = np.arange(X.shape[1]) >= n_numbers
    queries = X[rng.integers(0, n_rows, size=8)]
    queries[4:, nominal] = rng.integers(-1, 500, size=(4, int(nominal.sum())))
    queries[2:6, ~nominal] += 0.3
    return X, nominal, queries, draw(st.integers(1, min(n_rows, 40)))


@settings(max_examples=examples(150))
@given(mixed_tables())
def test_the_mixed_tree_gives_the_rows_and_distances_of_brute_force(case):
    X, nominal, queries, k = case
    tree = NeighbourIndex(X, get("mixed"), nominal=nominal, algorithm="kd_tree")
    brute = NeighbourIndex(X, get("mixed"), nominal=nominal, algorithm="brute")
    found, distances = tree.nearest(queries, k)
    expected, expected_distances = brute.nearest(queries, k)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(distances, expected_distances)
    radius = float(np.median(distances))
    np.testing.assert_array_equal(tree.count(queries, radius), brute.count(queries, radius))
