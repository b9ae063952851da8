"""Penalties of lasso and elastic net chosen by cross-validation.

Reference: scikit-learn's `LassoCV` and `ElasticNetCV` with a tight tolerance; same folds, grid and objective.
"""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn import linear_model as reference
from sklearn.model_selection import KFold, ShuffleSplit

from assay.base import AssayWarning, DataError, ParameterError
from assay.models.linear import ElasticNetCV, Lasso, LassoCV, enet_path
from assay.models.linear import elastic_net_solver as solver

TIGHT = {"tol": 1e-14, "max_iter": 100_000}


@pytest.fixture(params=["moments", "columns"])
def route(request, monkeypatch):
    """Small tables by their moments, and by their columns as wide ones are."""
    if request.param == "columns":
        monkeypatch.setattr(solver, "ALWAYS_MOMENTS", 0)
        monkeypatch.setattr(solver, "MOST_MOMENTS", 0)
    return request.param


def table(n=60, p=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(n, 1)) + rng.normal(size=p)
    return X, X[:, :3] @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=n) + 4


@pytest.mark.parametrize("shape", [(100, 12), (40, 70)])
def test_path_and_choice_are_those_of_scikit_learn(route, shape):
    X, y = table(*shape)
    ours = LassoCV(alphas=30, tol=1e-9).fit(X, y)
    theirs = reference.LassoCV(alphas=30, **TIGHT).fit(X, y)
    np.testing.assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-9)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-3)
    assert ours.alpha_ == pytest.approx(theirs.alpha_, rel=1e-9)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)


@pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9),
    reason="before 1.9 scikit-learn began the grid of non-negative fits at the largest |X'y| of either sign",
)
def test_elastic_net_chooses_share_and_penalty_like_scikit_learn(route):
    X, y = table(80, 15)
    ours = ElasticNetCV(l1_ratio=[0.2, 0.7, 1.0], alphas=20, cv=4, positive=True, tol=1e-9).fit(X, y)
    theirs = reference.ElasticNetCV(l1_ratio=[0.2, 0.7, 1.0], alphas=20, cv=4, positive=True, **TIGHT).fit(X, y)
    assert (ours.l1_ratio_, ours.alpha_) == (theirs.l1_ratio_, pytest.approx(theirs.alpha_, rel=1e-9))
    assert ours.mse_path_.shape == theirs.mse_path_.shape == (3, 20, 4)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-3)
    single = ElasticNetCV(l1_ratio=0.7, alphas=20, cv=4, positive=True, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(single.mse_path_, ours.mse_path_[1], rtol=1e-12)
    assert single.alphas_.shape == (20,) and ours.alphas_.shape == (3, 20)


def test_both_routes_give_the_same_errors(monkeypatch):
    X, y = table(50, 30)
    weights = np.random.default_rng(4).integers(0, 4, size=50).astype(float)
    first = LassoCV(tol=1e-9, alphas=15).fit(X, y, weights)
    monkeypatch.setattr(solver, "ALWAYS_MOMENTS", 0)
    monkeypatch.setattr(solver, "MOST_MOMENTS", 0)
    second = LassoCV(tol=1e-9, alphas=15).fit(X, y, weights)
    np.testing.assert_allclose(first.mse_path_, second.mse_path_, rtol=1e-3)
    np.testing.assert_allclose(first.coef_, second.coef_, atol=1e-8)


def test_fit_is_the_lasso_of_the_chosen_penalty(route):
    X, y = table(60, 40)
    model = LassoCV(cv=3).fit(X, y)
    np.testing.assert_allclose(model.coef_, Lasso(alpha=model.alpha_).fit(X, y).coef_, atol=1e-9)
    assert model.dual_gap_ >= 0 and model.n_iter_ >= 1


def test_one_standard_error_is_sparser_and_within_the_error():
    X, y = table(80, 40)
    best, sparse = LassoCV().fit(X, y), LassoCV(one_standard_error=True).fit(X, y)
    assert sparse.alpha_ > best.alpha_ and (sparse.coef_ != 0).sum() <= (best.coef_ != 0).sum()
    mean = best.mse_path_.mean(axis=1)
    spread = best.mse_path_[mean.argmin()].std(ddof=1) / np.sqrt(5)
    allowed = best.alphas_[mean <= mean.min() + spread]
    assert sparse.alpha_ == allowed.max()


def test_folds_may_be_a_number_a_splitter_or_pairs():
    X, y = table()
    number = LassoCV(cv=4, alphas=10).fit(X, y)
    splitter = LassoCV(cv=KFold(4), alphas=10).fit(X, y)
    pairs = LassoCV(cv=list(KFold(4).split(X)), alphas=10).fit(X, y)
    np.testing.assert_array_equal(number.mse_path_, splitter.mse_path_)
    np.testing.assert_array_equal(number.mse_path_, pairs.mse_path_)
    shuffled = LassoCV(cv=ShuffleSplit(3, random_state=0), alphas=10).fit(X, y)
    assert shuffled.mse_path_.shape == (10, 3) and not np.allclose(shuffled.mse_path_, number.mse_path_[:, :3])
    for bad in ([([0], [])], [[1, 2, 3]], [([0, 999], [1])]):
        with pytest.raises(ParameterError, match="cv"):
            LassoCV(cv=bad).fit(X, y)


def test_weights_equal_repetition_with_folds_of_equal_rows(route):
    X, y = table(50, 8)
    weights = np.random.default_rng(5).integers(0, 4, size=50)
    weighted = LassoCV(alphas=20, tol=1e-11).fit(X, y, weights)
    repeated = LassoCV(alphas=20, tol=1e-11).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.mse_path_, repeated.mse_path_, rtol=1e-5)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)


def test_few_distinct_rows_make_few_folds():
    X, y = np.repeat(np.arange(3.0), 4)[:, None], np.repeat([0.0, 1.0, 5.0], 4)
    with pytest.warns(AssayWarning, match="W122"):
        assert LassoCV(alphas=5).fit(X, y).mse_path_.shape == (5, 3)
    with pytest.raises(DataError, match="distinct"):
        LassoCV().fit(np.zeros((6, 2)), np.ones(6))


def test_adaptive_weights_are_learned_inside_each_fold(route):
    X, y = table(90, 10)
    model = LassoCV(penalty_weights="adaptive", alphas=10, cv=3, tol=1e-9).fit(X, y)
    train, test = next(iter(KFold(3).split(X)))
    for k in (0, 5, 9):
        alone = Lasso(alpha=model.alphas_[k], penalty_weights="adaptive").fit(X[train], y[train])
        assert model.mse_path_[k, 0] == pytest.approx(np.mean((y[test] - alone.predict(X[test])) ** 2), rel=1e-3)


def test_eps_alphas_and_intercept_matter():
    X, y = table()
    model = LassoCV(eps=0.1, alphas=6).fit(X, y)
    assert model.alphas_.shape == (6,) and model.alphas_[-1] == pytest.approx(0.1 * model.alphas_[0])
    assert LassoCV(alphas=[0.5, 0.1]).fit(X, y).alphas_.tolist() == [0.5, 0.1]
    assert LassoCV(fit_intercept=False).fit(X, y).intercept_ == 0
    with pytest.raises(ParameterError, match="l1_ratio"):
        ElasticNetCV(l1_ratio=[0.5, 2.0]).fit(X, y)
    with pytest.warns(AssayWarning, match="W121"):
        LassoCV(tol=1e-13, max_iter=1).fit(X, y)


@pytest.mark.filterwarnings("ignore::assay.base.AssayWarning")
def test_a_perfect_fit_keeps_its_digits():
    X, _ = table(100, 4)
    y = 1e6 + X @ [1.0, 2.0, 0.0, -1.0]
    model = LassoCV(alphas=[1e-10], tol=1e-13, max_iter=10_000).fit(X, y)
    assert 0 < model.mse_path_.max() < 1e-6


def test_cost_grows_with_folds_and_penalties():
    assert LassoCV(alphas=200).estimate_cost(1000, 500).seconds > LassoCV(alphas=10).estimate_cost(1000, 500).seconds
    assert LassoCV(cv=10).estimate_cost(500, 20_000).bytes > LassoCV(cv=3).estimate_cost(500, 20_000).bytes


def test_a_loose_path_keeps_its_promise_though_sweeps_are_in_single_precision(route):
    X, y = table(60, 90)
    loose = enet_path(X, y, l1_ratio=1.0, alphas=40, tol=1e-5)
    centred, target = X - X.mean(axis=0), y - y.mean()

    def objective(coef, alpha):
        return ((target - centred @ coef) ** 2).mean() / 2 + alpha * np.abs(coef).sum()

    tight = enet_path(X, y, l1_ratio=1.0, alphas=loose.alphas, tol=1e-12, max_iter=100_000)
    for alpha, ours, best in zip(loose.alphas, loose.coef, tight.coef, strict=True):
        assert objective(ours, alpha) - objective(best, alpha) <= 1.001e-5 * (target**2).mean()


def test_folds_have_the_same_bits_however_many_are_solved_at_once():
    X, y = table(n=120, p=60)
    alone, together = (LassoCV(n_jobs=jobs, alphas=20).fit(X, y) for jobs in (1, 5))
    np.testing.assert_array_equal(alone.mse_path_, together.mse_path_)
    np.testing.assert_array_equal(alone.coef_, together.coef_)


def test_matrices_of_training_parts_are_not_all_held_at_once():
    X, y = table(n=300, p=200)
    LassoCV(cv=3, alphas=5).fit(X[:, :5], y)
    tracemalloc.start()
    LassoCV(cv=20, alphas=5, n_jobs=1).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * 8 * 200**2  # of 20 parts; those of the test rows are the kernel's own and not counted here


def test_wide_sparse_rows_end_at_the_optimum_of_the_chosen_penalty():
    rng = np.random.default_rng(0)
    X = sparse.random(300, 2500, density=0.02, format="csr", random_state=rng, data_rvs=rng.standard_normal)
    y = X @ np.where(np.arange(2500) < 20, 3.0, 0.0) + 0.1 * rng.normal(size=300)
    chosen = LassoCV(cv=3, alphas=12, eps=0.02).fit(X, y)
    alone = Lasso(alpha=chosen.alpha_).fit(X, y)
    np.testing.assert_allclose(chosen.coef_, alone.coef_, rtol=1e-6, atol=1e-9)
    # What led there was the path of all rows, not the columns that any fold used.
    assert chosen.n_iter_ < alone.n_iter_
