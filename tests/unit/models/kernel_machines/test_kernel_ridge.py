"""Kernel ridge: ridge regression with the linear kernel, leave-one-out by refitting, weights, several targets."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge as Peer
from sklearn.model_selection import KFold

from assay.base import AssayError, CostError, DataError, config
from assay.models.kernel_machines import KernelRidge, ridge_folds
from assay.models.linear import Ridge, RidgeCV


def waves(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 3.0 + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_linear_kernel_is_ridge_regression(fit_intercept, weighted):
    X, y = waves()
    weights = np.random.default_rng(1).random(60) if weighted else None
    new = np.random.default_rng(2).normal(size=(7, 3))
    for alpha in (1e-3, 1.0, 100.0):
        model = KernelRidge(kernel="linear", alpha=alpha, fit_intercept=fit_intercept).fit(X, y, weights)
        ridge = Ridge(alpha=alpha, fit_intercept=fit_intercept).fit(X, y, weights)
        np.testing.assert_allclose(model.predict(new), ridge.predict(new), rtol=1e-8, atol=1e-9)


def test_penalties_and_errors_are_those_of_ridge_by_leave_one_out():
    X, y = waves()
    alphas = [0.01, 1.0, 100.0]
    model = KernelRidge(kernel="linear", alpha=alphas).fit(X, y)
    ridge = RidgeCV(alphas=alphas).fit(X, y)
    np.testing.assert_allclose(model.loo_mse_, ridge.mse_path_, rtol=1e-8)
    assert model.alpha_ == ridge.alpha_ and model.chosen() == {"alpha": model.alpha_}


def test_predictions_without_a_constant_are_those_of_scikit_learn():
    X, y = waves()
    model = KernelRidge(gamma=0.3, alpha=0.1, fit_intercept=False).fit(X, y)
    peer = Peer(kernel="rbf", gamma=0.3, alpha=0.1).fit(X, y)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-9)
    np.testing.assert_allclose(model.dual_coef_, peer.dual_coef_, rtol=1e-7, atol=1e-9)


def test_leave_one_out_is_the_fit_without_the_row():
    X, y = waves(25)
    model = KernelRidge(gamma=0.3, alpha=0.2).fit(X, y)
    for i in range(25):
        rest = np.arange(25) != i
        said = KernelRidge(gamma=0.3, alpha=0.2).fit(X[rest], y[rest]).predict(X[i : i + 1])[0]
        assert model.loo_predictions_[i] == pytest.approx(said, abs=1e-8)
    assert model.loo_mse_[0] == pytest.approx(np.mean((y - model.loo_predictions_) ** 2))
    assert 1.0 < model.effective_parameters_ < 25.0


def test_a_weight_of_two_is_a_row_twice_in_leave_one_out_too():
    X, y = waves(20)
    weights = np.arange(20) % 3 + 1
    owner = np.repeat(np.arange(20), weights)
    one = KernelRidge(gamma=0.3, alpha=[0.1, 1.0]).fit(X, y, weights)
    other = KernelRidge(gamma=0.3, alpha=[0.1, 1.0]).fit(X[owner], y[owner])
    np.testing.assert_allclose(one.loo_mse_, other.loo_mse_, rtol=1e-8)
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-8)


def test_several_targets_and_a_given_matrix():
    X, y = waves()
    both = KernelRidge(gamma=0.3).fit(X, np.column_stack([y, -2 * y]))
    one = KernelRidge(gamma=0.3).fit(X, y)
    np.testing.assert_allclose(both.predict(X), np.column_stack([one.predict(X), -2 * one.predict(X)]), rtol=1e-9)
    gram = one._kernel()(X)
    weights = (np.arange(60) % 4 > 0).astype(float)
    given = KernelRidge(kernel="precomputed").fit(gram, y, weights)
    np.testing.assert_allclose(given.predict(gram), KernelRidge(gamma=0.3).fit(X, y, weights).predict(X), rtol=1e-8)


def test_bad_penalties_and_large_tables_are_refused():
    X, y = waves()
    for bad in ([], [0.0, 1.0], ["a"]):
        with pytest.raises(AssayError, match="parameter 'alpha' must be a number > 0 or hold such"):
            KernelRidge(alpha=bad).fit(X, y)
    with config.use(max_seconds=1e-6), pytest.raises(CostError, match="n_landmarks"):
        KernelRidge().fit(X, y)


@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"kernel": "linear"}, {"kernel": "precomputed"}])
@pytest.mark.parametrize("weighted", [True, False])
def test_folds_come_from_one_decomposition_and_equal_separate_fits(options, weighted, monkeypatch):
    X, y = waves(90)
    X, targets = np.delete(X, 5, axis=0), np.column_stack([y, y**2])[np.arange(90) != 5]
    if options.get("kernel") == "precomputed":
        X = X @ X.T + np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(axis=2))
    weights = np.random.default_rng(3).integers(0, 3, size=89).astype(float) if weighted else None
    learner = KernelRidge(**{"gamma": 0.3, "alpha": [0.01, 0.3, 10.0], **options})
    folds = list(KFold(7, shuffle=True, random_state=0).split(X))
    made, of = [], ridge_folds.Decomposition.of
    monkeypatch.setattr(ridge_folds.Decomposition, "of", lambda *given: made.append(1) or of(*given))
    models = list(learner.fit_folds(X, targets, folds, weights))
    assert len(made) == 1
    for (train, test), model in zip(folds, models, strict=True):
        part = np.ix_(train, train) if learner._precomputed else train
        alone = clone(learner).fit(X[part], targets[train], None if weights is None else weights[train])
        new = X[np.ix_(test, train)] if learner._precomputed else X[test]
        np.testing.assert_allclose(model.predict(new), alone.predict(new), rtol=1e-8, atol=1e-8)
        for name in ("dual_coef_", "intercept_", "loo_mse_", "loo_predictions_", "effective_parameters_"):
            np.testing.assert_allclose(getattr(model, name), getattr(alone, name), rtol=1e-7, atol=1e-8, err_msg=name)
        assert model.alpha_ == alone.alpha_


@pytest.mark.parametrize(
    ("options", "decompositions"),
    [
        ({"alpha": [0.5, 1.0]}, 3),
        ({"gamma": 0.3, "alpha": [1e-10, 1.0]}, 4),
        ({"kernel": "mahalanobis", "gamma": 0.3, "alpha": [0.5, 1.0]}, 3),
        ({}, 0),
    ],
)
def test_folds_that_share_less_equal_separate_fits_too(options, decompositions, monkeypatch):
    """gamma from the rows of the fold, a penalty too small for the digits of the difference, a covariance."""
    X, y = waves(60)
    folds = list(KFold(3).split(X))
    made, of = [], ridge_folds.Decomposition.of
    monkeypatch.setattr(ridge_folds.Decomposition, "of", lambda *given: made.append(1) or of(*given))
    models = list(KernelRidge(**options).fit_folds(X, y, folds))
    assert len(made) == decompositions
    for (train, test), model in zip(folds, models, strict=True):
        alone = KernelRidge(**options).fit(X[train], y[train])
        np.testing.assert_allclose(model.predict(X[test]), alone.predict(X[test]), rtol=1e-8)
        assert model.gamma_ == alone.gamma_


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
def test_the_fit_of_one_penalty_is_that_of_a_list(alpha, intercept):
    """By a Cholesky factor, and by a decomposition."""
    X, y = waves(80)
    weights = np.random.default_rng(4).integers(0, 4, 80) * 1.5
    targets = np.column_stack([y, y**2 + 5.0])
    one, several = (
        KernelRidge(alpha=given, fit_intercept=intercept).fit(X, targets, weights) for given in (alpha, [alpha, 1e6])
    )
    assert several.alpha_ == alpha
    for name in ("dual_coef_", "intercept_", "loo_predictions_", "effective_parameters_"):
        np.testing.assert_allclose(getattr(one, name), getattr(several, name), rtol=1e-8, atol=1e-9, err_msg=name)
    assert one.loo_mse_[0] == pytest.approx(several.loo_mse_[0], rel=1e-8)


def test_folds_of_rows_that_do_not_vary_keep_their_digits():
    y = np.arange(40) % 2.0
    folds = list(KFold(4).split(y))
    learner = KernelRidge(gamma=0.5, alpha=[1e-12, 1.0])
    for (train, test), model in zip(folds, learner.fit_folds(np.ones((40, 2)), y, folds), strict=True):
        alone = clone(learner).fit(np.ones((len(train), 2)), y[train])
        np.testing.assert_allclose(model.predict(np.ones((len(test), 2))), alone.predict(np.ones((len(test), 2))))


def test_a_kernel_that_is_none_on_these_rows_is_refused():
    X = np.random.default_rng(1).normal(size=(60, 4))
    with pytest.raises(DataError, match="smallest eigenvalue"):
        KernelRidge(kernel="sigmoid", gamma=0.3, fit_intercept=False).fit(X, np.sin(X[:, 0]))


def test_large_cells_far_from_zero_keep_ridge_regression():
    rng = np.random.default_rng(0)
    X = rng.lognormal(10.5, 0.5, (80, 1))
    y = 1e-5 * X[:, 0] + rng.normal(size=80)
    kernel, plain = KernelRidge(kernel="linear", alpha=1.0).fit(X, y), Ridge(alpha=1.0).fit(X, y)
    np.testing.assert_allclose(kernel.predict(X), plain.predict(X), rtol=1e-3)


@pytest.mark.parametrize("intercept", [True, False])
def test_errors_of_a_single_penalty_are_worked_out_when_asked_for(intercept):
    """Those of the rows and the settings of the fit, once; a package has them, and a second fit forgets them."""
    X, y = waves(60)
    weights = np.random.default_rng(2).integers(1, 4, 60) * 1.0
    given, target = X.copy(), y.copy()
    model = KernelRidge(alpha=0.3, fit_intercept=intercept).fit(given, target, weights)
    given[:], target[:] = 0.0, 0.0
    model.set_params(fit_intercept=not intercept, kernel="linear")
    assert "loo_mse_" not in vars(model) and "_unasked" in vars(model)
    other = KernelRidge(alpha=[0.3, 1e6], fit_intercept=intercept).fit(X, y, weights)
    assert model.effective_parameters_ == pytest.approx(other.effective_parameters_, rel=1e-8)
    np.testing.assert_allclose(model.loo_predictions_, other.loo_predictions_, rtol=1e-8)
    assert "loo_mse_" in vars(model) and "_unasked" not in vars(model)
    said = model.loo_predictions_
    model.set_params(fit_intercept=intercept, kernel="gaussian").fit(X, 2.0 * y, weights)
    assert "loo_mse_" not in vars(model)
    np.testing.assert_allclose(model.loo_predictions_, 2.0 * said, rtol=1e-8)
    assert {"loo_mse_", "loo_predictions_", "effective_parameters_"} <= set(model._saved())


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_a_polynomial_kernel_of_one_penalty_is_factorised(degree, monkeypatch):
    """With a constant that is not negative it has no negative eigenvalue; another goes by a decomposition."""
    X, y = waves(80)
    options = {"kernel": "polynomial", "degree": degree, "gamma": 0.05}
    several = KernelRidge(alpha=[0.1, 1e6], **options).fit(X, y)
    made, of = [], ridge_folds.Decomposition.of
    monkeypatch.setattr(ridge_folds.Decomposition, "of", lambda *given: made.append(1) or of(*given))
    one = KernelRidge(alpha=0.1, **options).fit(X, y)
    assert not made and several.alpha_ == 0.1
    np.testing.assert_allclose(one.predict(X), several.predict(X), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(one.loo_predictions_, several.loo_predictions_, rtol=1e-6, atol=1e-8)
    assert KernelRidge(alpha=0.1, **{**options, "degree": 1, "coef0": -0.1}).fit(X - X.mean(), y) and made == [1]
