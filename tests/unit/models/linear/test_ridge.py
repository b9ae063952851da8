"""Ridge: against scikit-learn, optimality, path, leave-one-out, odd designs, fold sharing."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import Ridge as Peer
from sklearn.linear_model import RidgeCV

from assay.base import ParameterError
from assay.base.folds import FoldTransform, FoldTransforms, StandardisedFolds, predict_folds
from assay.models.linear import LeastSquares, Ridge, loo_path, ridge_path


def table(n=120, p=5, q=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.linspace(0.5, 3, p) + 2
    Y = X @ rng.normal(size=(p, q)) + rng.normal(size=(n, q))
    return X, Y[:, 0] if q == 1 else Y


@pytest.mark.parametrize("shape", [(120, 5), (10, 30)], ids=["tall", "wide"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
def test_coefficients_equal_scikit_learn(shape, intercept, weighted, alpha):
    X, y = table(*shape)
    weights = np.random.default_rng(1).uniform(0.2, 2, size=len(y)) if weighted else None
    model = Ridge(alpha=alpha, fit_intercept=intercept).fit(X, y, sample_weight=weights)
    peer = Peer(alpha=alpha, fit_intercept=intercept, solver="svd").fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("shape", [(120, 5), (10, 30)], ids=["tall", "wide"])
def test_several_targets_and_a_penalty_for_each(shape):
    X, Y = table(*shape, q=3)
    for alpha in (2.0, [0.1, 1.0, 10.0], [0.1, 0.1, 10.0]):
        model, peer = (
            Ridge(alpha=alpha).fit(X, Y),
            Peer(alpha=np.array(alpha) if isinstance(alpha, list) else alpha, solver="svd").fit(X, Y),
        )
        np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-7, atol=1e-8)
    with pytest.raises(ParameterError, match="one for each of 3 targets"):
        Ridge(alpha=[1.0, 2.0]).fit(X, Y)


def test_every_parameter_matters():
    X, y = table()
    assert np.abs(Ridge(alpha=1e4).fit(X, y).coef_).sum() < np.abs(Ridge().fit(X, y).coef_).sum()
    assert Ridge(fit_intercept=False).fit(X, y).intercept_ == 0.0 != Ridge().fit(X, y).intercept_


@pytest.mark.parametrize("shape", [(120, 5), (10, 30)], ids=["tall", "wide"])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_path_equals_one_fit_for_each_penalty(shape, intercept):
    X, Y = table(*shape, q=2)
    weights = np.random.default_rng(2).integers(1, 4, size=len(X)).astype(float)
    alphas = [1e-9, 0.1, 1.0, 50.0]
    path = ridge_path(X, Y, alphas, sample_weight=weights, fit_intercept=intercept)
    for k, alpha in enumerate(alphas):
        model = Ridge(alpha=alpha, fit_intercept=intercept).fit(X, Y, sample_weight=weights)
        np.testing.assert_allclose(path.coef[k], model.coef_, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(path.intercept[k], model.intercept_, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("shape", [(25, 4), (8, 20)], ids=["tall", "wide"])
@pytest.mark.parametrize("intercept", [True, False])
def test_leave_one_out_residuals_equal_refits_without_each_row(shape, intercept):
    X, y = table(*shape)
    weights = np.random.default_rng(3).uniform(0.5, 2, size=len(y))
    alphas = [0.01, 1.0, 10.0]
    loo = loo_path(X, y, alphas, sample_weight=weights, fit_intercept=intercept)
    for k, alpha in enumerate(alphas):
        for i in range(len(y)):
            others = np.arange(len(y)) != i
            model = Ridge(alpha=alpha, fit_intercept=intercept).fit(X[others], y[others], weights[others])
            np.testing.assert_allclose(loo.residuals[i, k], y[i] - model.predict(X[[i]])[0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(loo.mean_squared_error, np.average(loo.residuals**2, axis=0, weights=weights))


def test_the_best_penalty_by_leave_one_out_is_that_of_ridge_cv():
    X, y = table(60, 20)
    alphas = np.logspace(-3, 3, 13)
    peer = RidgeCV(alphas=alphas, store_cv_results=True).fit(X, y)
    loo = loo_path(X, y, alphas)
    assert loo.best_alpha == peer.alpha_
    np.testing.assert_allclose(loo.residuals**2, peer.cv_results_, rtol=1e-7)


def test_degrees_of_freedom_fall_from_the_rank_to_the_intercept():
    X, y = table()
    loo = loo_path(X, y, [0.0, 1.0, 1e12])
    np.testing.assert_allclose(loo.degrees_of_freedom[[0, 2]], [6.0, 1.0], atol=1e-6)
    plain = LeastSquares().fit(X, y)
    residual = plain.sigma_**2 * plain.df_residual_ / len(y)
    np.testing.assert_allclose(loo.gcv[0], residual / (1 - 6 / len(y)) ** 2, rtol=1e-10)


def test_without_penalty_and_with_more_columns_than_rows_leave_one_out_is_refused_as_infinite():
    X, y = table(6, 10)
    assert loo_path(X, y, [0.0, 1.0]).mean_squared_error[0] == np.inf


@pytest.mark.parametrize("alpha", [0.0, 1e-8, 1.0])
def test_odd_columns_leave_the_answer_right_and_finite(alpha):
    X, y = table()
    X = np.column_stack([X, X[:, 0], np.full(len(y), 0.1), 1e12 * X[:, 1], 1e-12 * X[:, 2]])
    model = Ridge(alpha=alpha).fit(X, y)
    assert np.isfinite(model.coef_).all() and abs(model.coef_[6]) < 1e-6
    residual = y - model.predict(X)
    gradient = -(X - X.mean(axis=0)).T @ residual + alpha * model.coef_
    scale = np.linalg.norm(X - X.mean(axis=0), axis=0) * np.linalg.norm(y) + 1e-3
    assert (np.abs(gradient) / scale < 1e-7).all()
    assert (Ridge(alpha=alpha).fit(X, np.zeros(len(y))).coef_ == 0).all()


def test_a_tiny_penalty_is_solved_to_the_digits_of_least_squares():
    x = np.linspace(0, 1, 50)
    X = np.column_stack([x**k for k in range(1, 9)])
    y = X @ np.arange(1.0, 9.0)
    np.testing.assert_allclose(Ridge(alpha=1e-25).fit(X, y).coef_, np.arange(1.0, 9.0), rtol=1e-5)


def test_without_penalty_copies_share_the_effect():
    X, y = table()
    model = Ridge(alpha=0.0).fit(np.column_stack([X, X[:, 0]]), y)
    np.testing.assert_allclose(model.coef_[0], model.coef_[5], rtol=1e-8)
    np.testing.assert_allclose(model.coef_[0] + model.coef_[5], LeastSquares().fit(X, y).coef_[0], rtol=1e-8)


def test_a_wide_table_of_many_columns_uses_the_panels_of_the_gram_matrix():
    X, y = table(700, 300)
    np.testing.assert_allclose(Ridge().fit(X, y).coef_, Peer(solver="svd").fit(X, y).coef_, rtol=1e-6, atol=1e-9)


def test_shared_folds_equal_separate_fits_also_when_rows_are_left_out_of_both():
    X, Y = table(200, 5, q=2)
    weights = np.random.default_rng(4).integers(0, 3, size=200).astype(float)
    rows = np.arange(200)
    folds = [(rows[50:], rows[:50]), (rows[:150], rows[150:]), (rows[:100], rows[150:]), (rows[:3], rows[3:])]
    for (train, _), model in zip(folds, Ridge().fit_folds(X, Y, folds, sample_weight=weights), strict=True):
        separate = Ridge().fit(X[train], Y[train], weights[train])
        np.testing.assert_allclose(model.coef_, separate.coef_, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(model.intercept_, separate.intercept_, rtol=1e-9)


def test_an_outlier_in_the_test_part_does_not_spoil_the_training_part():
    X, y = table(200)
    X[0, 0] = 1e13
    folds = [(np.arange(50, 200), np.arange(50))]
    model = next(iter(Ridge().fit_folds(X, y, folds)))
    np.testing.assert_allclose(model.coef_, Ridge().fit(X[50:], y[50:]).coef_, rtol=1e-10)


@pytest.mark.parametrize("alphas", [[-1.0], [np.nan], [[1.0, 2.0]]])
def test_bad_penalties_of_a_path_get_one_sentence(alphas):
    X, y = table()
    with pytest.raises(ParameterError, match="'alphas' must be a list of finite numbers"):
        ridge_path(X, y, alphas)


def _said(X, y, folds, transforms=None, **options):
    return list(predict_folds(Ridge(**options), X, y, folds, transforms))


@pytest.mark.parametrize("scaled", [False, True, "when asked"])
@pytest.mark.parametrize("alpha", [0.0, 1.0, 300.0])
def test_many_folds_say_what_their_models_say(alpha, scaled):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(230, 5)) * [1.0, 1e-3, 50.0, 1.0, 7.0] + [0.0, 4.0, 1e4, -2.0, 0.0]
    y = X @ [1.0, 300.0, 0.1, -2.0, 0.0] + rng.normal(size=230) + 1e3
    number = np.concatenate([rng.permutation(230) % 7, rng.permutation(230) % 7]).reshape(2, 230)
    folds = [(np.flatnonzero(one != k), np.flatnonzero(one == k)) for one in number for k in range(7)]
    transforms = None
    if scaled:
        places, none = np.arange(5), np.empty(0, dtype=np.int64)
        each = [FoldTransform(places, none, X[train].mean(axis=0), 1.0 / X[train].std(axis=0)) for train, _ in folds]
        transforms = FoldTransforms(tuple(each), each[0])
    if scaled == "when asked":
        transforms = StandardisedFolds(5, partial(pytest.fail, "the sums say what the deviations are"))
    said = _said(X, y, folds, transforms, alpha=alpha)
    for k, (train, test) in enumerate(folds):
        fit, asked = (X[train], X[test]) if transforms is None else (each[k].apply(X, train), each[k].apply(X, test))
        np.testing.assert_allclose(said[k], Ridge(alpha=alpha).fit(fit, y[train]).predict(asked), rtol=1e-9)
        alone = transforms.only(k) if scaled is True else transforms
        np.testing.assert_array_equal(said[k], _said(X, y, [folds[k]], alone, alpha=alpha, n_jobs=2)[0])


def test_a_column_that_a_fold_standardises_to_nothing_has_no_effect_there():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(size=(40, 2)), np.full(40, 0.1)])
    y, rows = X[:, 0] + rng.normal(size=40), np.arange(40)
    said = _said(X, y, [(rows[10:], rows[:10])], StandardisedFolds(3, pytest.fail), alpha=1.0)[0]
    two = (X[:, :2] - X[10:, :2].mean(axis=0)) / X[10:, :2].std(axis=0)
    np.testing.assert_allclose(said, Ridge().fit(two[10:], y[10:]).predict(two[:10]), rtol=1e-12)


def test_folds_leave_what_is_near_singular_or_no_complement_to_their_models():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[:, 2] = X[:, 0] + 1e-9 * rng.normal(size=60)
    y, rows = X[:, 0] + rng.normal(size=60), np.arange(60)
    halves = [(rows[30:], rows[:30]), (rows[:30], rows[30:])]
    assert _said(X, y, halves, alpha=0.0) == [None, None]
    assert all(answer is not None for answer in _said(X, y, halves, alpha=1.0))
    assert _said(X, y, [(rows[30:50], rows[:30]), (rows[29:], rows[:30])]) == [None, None]
    assert predict_folds(Ridge(), X, np.column_stack([y, y]), halves) is None
    assert predict_folds(Ridge(fit_intercept=False), X, y, halves) is None
