"""Properties of subset selection on any small table."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.prepare import BackwardSelector, ExhaustiveSelector, ForwardSelector
from assay.prepare.subset_scores import GramParts, subset_errors
from tests.helpers import examples

cells = st.integers(-4, 4)


@st.composite
def tables(draw, most=6):
    p = draw(st.integers(1, most))
    n = draw(st.integers(p + 3, 20))
    X = draw(arrays(np.int64, (n, p), elements=cells)).astype(float)
    y = draw(arrays(np.int64, n, elements=cells)).astype(float)
    X[:, 0] += np.arange(n)
    return X, y


def rss(X, y, columns):
    design = np.column_stack([np.ones(len(y)), X[:, list(columns)]])
    left, singular, _ = np.linalg.svd(design, full_matrices=False)
    basis = left[:, singular > 1e-9 * singular[0]]
    rest = y - basis @ (basis.T @ y)
    return float(rest @ rest)


@settings(max_examples=examples(60))
@given(tables())
def test_leaps_and_bounds_finds_the_least_error_of_every_size(data):
    X, y = data
    model = ExhaustiveSelector().fit(X, y)
    for size, subset in zip(model.path_["sizes"], model.path_["subsets"], strict=True):
        least = min(rss(X, y, c) for c in itertools.combinations(range(X.shape[1]), size))
        assert rss(X, y, subset) <= least + 1e-7 * (1 + y @ y)
        assert np.linalg.matrix_rank(X[:, subset] - X[:, subset].mean(axis=0)) == size


@settings(max_examples=examples(60))
@given(tables(), st.booleans(), st.sampled_from(["cv", "aic", "bic"]))
def test_scores_of_the_path_equal_a_fit_from_nothing(data, floating, criterion):
    X, y = data
    for cls in (ForwardSelector, BackwardSelector):
        model = cls(n_features_to_select="best", criterion=criterion, floating=floating, cv=3).fit(X, y)
        assert 1 <= model.support_.sum() <= X.shape[1]
        for i, subset in enumerate(model.path_["subsets"]):
            np.testing.assert_allclose(model.scores_["rss"][i], rss(X, y, subset), atol=1e-7 * (1 + y @ y))
            assert np.isfinite(model.scores_["criterion"][i])


@settings(max_examples=examples(60))
@given(tables())
def test_best_subset_is_never_worse_than_a_stepwise_one(data):
    X, y = data
    best = ExhaustiveSelector().fit(X, y)
    known = dict(zip(best.path_["sizes"].tolist(), best.scores_["rss"], strict=True))
    for cls in (ForwardSelector, BackwardSelector):
        path = cls(n_features_to_select="best", criterion="bic").fit(X, y)
        for size, error in zip(path.path_["sizes"].tolist(), path.scores_["rss"], strict=True):
            if size in known:
                assert known[size] <= error + 1e-7 * (1 + y @ y)


@settings(max_examples=examples(40))
@given(tables(), st.randoms(use_true_random=False))
def test_order_of_entry_does_not_change_the_error(data, random):
    X, y = data
    parts = GramParts.of(X, y, None, None, fit_intercept=True, threads=1)
    columns = list(range(X.shape[1]))
    first, rank = subset_errors(parts.whole, None, None, columns)
    random.shuffle(columns)
    second, other = subset_errors(parts.whole, None, None, columns)
    np.testing.assert_allclose(first, second, atol=1e-8)
    assert rank == other


def test_twelve_columns_against_all_4095_subsets():
    for seed, correlation in ((0, 0.0), (1, 0.9), (2, 3.0)):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 12)) + correlation * rng.normal(size=(40, 1))
        y = X[:, :6] @ rng.normal(size=6) + 2 * rng.normal(size=40)
        X, y = X - X.mean(axis=0), y - y.mean()
        gram, cross = X.T @ X, X.T @ y
        least = np.full(13, np.inf)
        for size in range(1, 13):
            for c in map(list, itertools.combinations(range(12), size)):
                least[size] = min(least[size], y @ y - cross[c] @ np.linalg.solve(gram[np.ix_(c, c)], cross[c]))
        model = ExhaustiveSelector().fit(X, y)
        np.testing.assert_allclose(model.scores_["rss"], least[1:], rtol=1e-9)
        np.testing.assert_allclose([rss(X, y, c) for c in model.path_["subsets"]], least[1:], rtol=1e-9)
