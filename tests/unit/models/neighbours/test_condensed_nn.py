"""Condensed nearest neighbours: consistent subsets in any order, ties, equal rows, the literal algorithm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris
from tests.helpers import examples

from assay.models.neighbours import CondensedNN, KNNClassifier


def harts_rule(X, y, order):
    """The algorithm as it is written down, one comparison at a time."""
    kept = []
    grew = True
    while grew:
        grew = False
        for row in order:
            if row in kept:
                continue
            found = sorted((((X[row] - X[k]) ** 2).sum(), k) for k in kept)
            if not found or y[found[0][1]] != y[row]:
                kept.append(row)
                grew = True
    return sorted(kept)


@pytest.mark.parametrize("seed", range(3))
def test_the_kept_rows_are_those_of_harts_rule(seed):
    X, y = load_iris(return_X_y=True)
    X, y = X[::2], y[::2]
    model = CondensedNN(random_state=seed).fit(X, y)
    order = model._stream().generator().permutation(len(y))
    assert model.kept_.tolist() == harts_rule(X, y, order)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_every_training_row_is_right_by_its_nearest_kept_row(metric):
    X, y = load_digits(return_X_y=True)
    model = CondensedNN(metric=metric, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0 and model.n_conflicts_ == 0
    assert len(model.kept_) < len(y) / 5
    plain = KNNClassifier(1, metric=metric).fit(X[model.kept_], y[model.kept_])
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(3, 60))
def test_only_rows_with_an_equal_row_of_another_class_may_be_wrong(seed, classes, n):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 4, size=(n, 2)).astype(float), rng.integers(0, classes, size=n)
    model = CondensedNN(random_state=seed).fit(X, y)
    wrong = model.predict(X) != y
    assert wrong.sum() == model.n_conflicts_
    for row in np.flatnonzero(wrong):
        assert (y[(X[row] == X).all(axis=1)] != y[row]).any()


def test_the_order_comes_from_the_seed_and_passes_are_traced():
    X, y = load_iris(return_X_y=True)
    one, same, other = (CondensedNN(random_state=s, trace=True).fit(X, y) for s in (0, 0, 1))
    np.testing.assert_array_equal(one.kept_, same.kept_)
    assert one.kept_.tolist() != other.kept_.tolist()
    assert [r["values"]["kept"] for r in one.trace_][-1] == len(one.kept_) and len(one.trace_) == one.n_passes_
    assert one.view().shares == pytest.approx((np.bincount(one.codes_) / len(one.codes_)).tolist())
