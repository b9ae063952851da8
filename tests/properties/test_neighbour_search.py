"""Whatever the rows: every search gives the neighbours of the definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.models.neighbours import KNNRegressor

coarse = st.integers(-3, 3).map(float)
wild = st.one_of(
    st.floats(-1e9, 1e9, allow_nan=False, width=64),
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


@settings(max_examples=80)
@given(tables(coarse))
def test_integer_grids_give_the_exact_order_for_every_search(table):
    X, queries, k = table
    gaps = np.abs(queries[:, None, :] - X[None])
    full = {"euclidean": (gaps**2).sum(axis=2), "manhattan": gaps.sum(axis=2), "chebyshev": gaps.max(axis=2)}
    for metric, distances in full.items():
        expected = np.argsort(distances, axis=1, kind="stable")[:, :k]
        for algorithm in ("brute", "kd_tree"):
            np.testing.assert_array_equal(search(X, queries, k, metric=metric, algorithm=algorithm)[1], expected)


@settings(max_examples=80)
@given(tables(wild))
def test_tree_and_brute_force_agree_bit_for_bit_on_wild_numbers(table):
    X, queries, k = table
    for metric, p in (("euclidean", 2.0), ("manhattan", 2.0), ("chebyshev", 2.0), ("minkowski", 1.5)):
        brute = search(X, queries, k, metric=metric, p=p, algorithm="brute")
        tree = search(X, queries, k, metric=metric, p=p, algorithm="kd_tree")
        np.testing.assert_array_equal(brute[0], tree[0])
        np.testing.assert_array_equal(brute[1], tree[1])


@settings(max_examples=100)
@given(tables(wild))
def test_distances_are_those_of_the_definition_and_no_row_left_out_is_nearer(table):
    X, queries, k = table
    distances, rows = search(X, queries, k, algorithm="brute")
    full = np.sqrt(((queries[:, None, :] - X[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(distances, np.take_along_axis(full, rows, axis=1), rtol=1e-13)
    np.testing.assert_allclose(distances, np.sort(full, axis=1)[:, :k], rtol=1e-13)


@settings(max_examples=60)
@given(tables(coarse), st.permutations(range(5)))
def test_the_order_of_columns_changes_nothing(table, order):
    X, queries, k = table
    columns = [j for j in order if j < X.shape[1]]
    np.testing.assert_array_equal(search(X, queries, k)[1], search(X[:, columns], queries[:, columns], k)[1])
