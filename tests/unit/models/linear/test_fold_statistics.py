"""Statistics of folds, and of folds within folds, against those read from the rows themselves."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, ShuffleSplit

from assay.base import Estimator
from assay.models.linear import ElasticNetCV, LassoCV, LogisticCV, RidgeCV
from assay.models.linear import fold_statistics as shared
from assay.models.linear.fold_statistics import ChosenRows, ChunkedGram, FoldStatistics


def table(n=400, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 10 * rng.normal(size=p)
    return X, X @ rng.normal(size=p) + rng.normal(size=n), rng.integers(0, 3, size=n).astype(float)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_subset_from_blocks_is_the_subset_read_row_by_row(share, weighted):
    X, y, weights = table()
    chunks = ChunkedGram.of(X, y[:, None], weights if weighted else None, fit_intercept=True, threads=1)
    assert len(chunks.chunks) > 8
    chosen = np.flatnonzero(np.random.default_rng(1).random(400) < share)
    np.testing.assert_allclose(chunks.subset(chosen).sums, chunks._read(chosen).sums, rtol=1e-10, atol=1e-8)


def test_blocks_subtract_only_where_digits_are_left():
    X, y, _ = table()
    chosen = np.arange(0, 400, 2)
    X[1::2, 0] = 1e9  # all variation of a column is in the rows left out
    chunks = ChunkedGram.of(X, y[:, None], None, fit_intercept=True, threads=1)
    np.testing.assert_array_equal(
        chunks.subset(np.sort(np.append(chosen, [1, 3, 5]))).sums,
        chunks.subset(np.append(chosen, [5, 3, 1])).sums,
    )
    inside = np.sort(np.append(chosen, np.arange(1, 400, 40)))
    np.testing.assert_allclose(
        chunks.subset(inside).centred().gram[1:, 1:], chunks._read(inside).centred().gram[1:, 1:], rtol=1e-9
    )


def test_blocks_are_few_where_memory_is_short_and_none_where_rows_are(monkeypatch):
    assert ChunkedGram.pays(10_000, 20) and not ChunkedGram.pays(100, 20)
    monkeypatch.setattr(shared, "CHUNK_BYTES", 8.0 * 22**2 * 7)
    assert not ChunkedGram.pays(10_000, 20)


def test_folds_within_chosen_rows_are_those_of_a_table_of_these_rows():
    X, y, weights = table()
    used = np.flatnonzero(np.random.default_rng(2).random(400) < 0.8)
    inner = list(KFold(3).split(used))
    chunks = ChunkedGram.of(X, y[:, None], weights + 1, fit_intercept=True, threads=1)
    found = chunks.folds(used, inner)
    separate = FoldStatistics.of(X[used], y[used], (weights + 1)[used], inner, fit_intercept=True, threads=1)
    for of in (lambda s: s.whole, *(lambda s, k=k: s.train(k) for k in range(3))):
        ours, theirs = of(found), of(separate)
        np.testing.assert_allclose(ours.centred().gram, theirs.centred().gram, rtol=1e-10, atol=1e-9)
    assert chunks.folds(np.append(used, used[0]), inner) is None  # a row twice
    assert chunks.folds(used, inner[:2]) is None  # rows in no test part


def test_chosen_rows_read_like_an_array():
    X, _, _ = table(10, 2)
    chosen = ChosenRows(X, np.array([7, 1, 3]))
    assert chosen.shape == (3, 2)
    np.testing.assert_array_equal(chosen[[0, 2]], X[[7, 3]])
    np.testing.assert_array_equal(chosen[:], X[[7, 1, 3]])


MODELS = [
    LassoCV(alphas=15, tol=1e-10),
    ElasticNetCV(alphas=10, l1_ratio=[0.3, 0.9], cv=ShuffleSplit(3, random_state=0), tol=1e-10),
    LassoCV(alphas=10, penalty_weights="adaptive", tol=1e-10),
    RidgeCV(cv=4),
    RidgeCV(),
    RidgeCV(criterion="gcv", fit_intercept=False),
]


@pytest.mark.parametrize("model", MODELS, ids=["lasso", "splitter", "adaptive", "folds", "loo", "gcv"])
@pytest.mark.parametrize("case", ["plain", "weighted", "copies", "bootstrap", "far from zero"])
def test_shared_folds_choose_as_separate_fits_do(model, case):
    X, y, weights = table()
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    given = weights if case == "weighted" else None
    if case == "copies":
        X, y = np.repeat(X[:200], 2, axis=0), np.repeat(y[:200], 2)
    if case == "bootstrap":
        folds = [(np.random.default_rng(k).integers(0, 400, 300), np.arange(20)) for k in range(2)]
    if case == "far from zero" and model.fit_intercept:
        X = X + 1e7
    together = list(model.fit_folds(X, y, folds, given))
    for ours, theirs in zip(together, Estimator.fit_folds(model, X, y, folds, given), strict=True):
        assert ours.alpha_ == pytest.approx(theirs.alpha_, rel=1e-9)
        np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-6)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)
    alone = next(iter(clone(model).fit_folds(X, y, [folds[1]], given)))
    np.testing.assert_array_equal(alone.coef_, together[1].coef_)


@pytest.mark.parametrize("options", [{}, {"refit": False}, {"penalty": "l1"}, {"penalty": None}])
def test_logistic_paths_started_elsewhere_end_where_separate_ones_do(options):
    X, y, weights = table(240, 3)
    X, labels = X - X.mean(axis=0), np.digitize(y - y.mean(), [-2.0, 2.0])
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    folds.append((np.flatnonzero(labels < 2), np.arange(9)))  # a class is missing here
    model = LogisticCV(cv=3, Cs=[0.01, 1.0], **options)
    together = list(model.fit_folds(X, labels, folds, weights))
    for ours, theirs in zip(together, Estimator.fit_folds(model, X, labels, folds, weights), strict=True):
        assert (ours.C_, ours.classes_.tolist()) == (theirs.C_, theirs.classes_.tolist())
        np.testing.assert_allclose(ours.scores_, theirs.scores_, rtol=1e-6)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)
    alone = next(iter(model.fit_folds(X, labels, [folds[1]], weights)))
    np.testing.assert_array_equal(alone.coef_, together[1].coef_)
