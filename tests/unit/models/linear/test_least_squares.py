"""Least squares: inference against statsmodels, odd designs, fold sharing."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from sklearn.linear_model import LinearRegression
from statsmodels.stats.outliers_influence import variance_inflation_factor

from assay.base import AssayWarning, DataError, ParameterError
from assay.models.linear import LeastSquares, Ridge
from assay.models.linear.least_squares import FITTED, INFERRED


def table(n=200, p=4, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.array([1, 10, 0.1, 3])[:p] + 5
    return X, 2 + X @ np.array([1.0, -0.5, 3.0, 0.0])[:p] + noise * rng.normal(size=n)


def check_against(model, peer, X, intercept):
    """Estimates, errors, tests, intervals of a statsmodels result (statsmodels 0.14 or later)."""
    estimates = np.append(model.intercept_, model.coef_) if intercept else model.coef_
    errors = np.append(model.intercept_se_, model.coef_se_) if intercept else model.coef_se_
    t_values = np.append(model.intercept_t_value_, model.t_values_) if intercept else model.t_values_
    p_values = np.append(model.intercept_p_value_, model.p_values_) if intercept else model.p_values_
    np.testing.assert_allclose(estimates, peer.params, rtol=1e-9)
    np.testing.assert_allclose(errors, peer.bse, rtol=1e-9)
    np.testing.assert_allclose(t_values, peer.tvalues, rtol=1e-8)
    np.testing.assert_allclose(p_values, peer.pvalues, rtol=1e-6, atol=1e-300)
    np.testing.assert_allclose(model.confidence_intervals(0.9), peer.conf_int(0.1), rtol=1e-8)
    np.testing.assert_allclose(model.sigma_, np.sqrt(peer.scale), rtol=1e-10)
    np.testing.assert_allclose(
        [model.r2_, model.adjusted_r2_, model.f_statistic_], [peer.rsquared, peer.rsquared_adj, peer.fvalue], rtol=1e-9
    )
    np.testing.assert_allclose(model.f_p_value_, peer.f_pvalue, rtol=1e-6, atol=1e-300)
    new = X[:7] * 1.1
    design = sm.add_constant(new, has_constant="add") if intercept else new
    frame = peer.get_prediction(design).summary_frame(alpha=0.2)
    for kind, columns in {
        "mean": ["mean_ci_lower", "mean_ci_upper"],
        "prediction": ["obs_ci_lower", "obs_ci_upper"],
    }.items():
        np.testing.assert_allclose(model.predict_interval(new, 0.8, kind=kind), frame[columns], rtol=1e-8)


@pytest.mark.parametrize("method", ["auto", "qr", "gram"])
@pytest.mark.parametrize("intercept", [True, False])
def test_inference_equals_statsmodels_ols(method, intercept):
    X, y = table()
    model = LeastSquares(fit_intercept=intercept, method=method).fit(X, y)
    peer = sm.OLS(y, sm.add_constant(X) if intercept else X).fit()
    check_against(model, peer, X, intercept)


@pytest.mark.parametrize("method", ["auto", "gram"])
def test_weights_equal_repetition_in_estimates_and_in_inference(method):
    X, y = table()
    weights = np.random.default_rng(1).integers(0, 4, size=len(y))
    weighted = LeastSquares(method=method).fit(X, y, sample_weight=weights)
    peer = sm.OLS(np.repeat(y, weights), sm.add_constant(np.repeat(X, weights, axis=0))).fit()
    check_against(weighted, peer, X, True)


def test_weighted_estimates_equal_statsmodels_wls():
    X, y = table()
    weights = np.random.default_rng(2).uniform(0.1, 3.0, size=len(y))
    model = LeastSquares().fit(X, y, sample_weight=weights)
    peer = sm.WLS(y, sm.add_constant(X), weights=weights).fit()
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), peer.params, rtol=1e-10)
    # WLS counts rows, repetition counts weights: the errors differ by the degrees of freedom alone.
    ratio = np.sqrt(peer.df_resid / model.df_residual_)
    np.testing.assert_allclose(np.append(model.intercept_se_, model.coef_se_), peer.bse * ratio, rtol=1e-9)


def test_solvers_agree_on_large_problems_and_say_which_they_are():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30_000, 10)) + 100
    y = X @ rng.normal(size=10) + rng.normal(size=30_000)
    weights = rng.integers(1, 4, size=30_000).astype(float)
    models = {m: LeastSquares(method=m).fit(X, y, sample_weight=weights) for m in ("auto", "qr", "gram")}
    assert [models[m].solver_ for m in ("auto", "qr", "gram")] == ["gram", "qr", "gram"]
    assert LeastSquares().fit(X[:100], y[:100]).solver_ == "exact"
    for name in ("coef_", "intercept_", "coef_se_", "intercept_se_", "sigma_", "r2_", "condition_number_"):
        np.testing.assert_allclose(getattr(models["qr"], name), getattr(models["gram"], name), rtol=1e-9)


@pytest.mark.parametrize("noise", [1e-6, 1.0])
def test_one_step_of_refinement_keeps_the_gram_solution_as_good_as_qr(noise):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(20_000, 9))
    X[:, 8] = X[:, 7] + 1e-3 * X[:, 8]
    y = X @ np.ones(9) + noise * rng.normal(size=20_000)
    gram, qr = LeastSquares(method="gram").fit(X, y), LeastSquares(method="qr").fit(X, y)
    assert gram.solver_ == "gram"
    np.testing.assert_allclose(gram.coef_, qr.coef_, rtol=1e-10)
    np.testing.assert_allclose([gram.sigma_, *gram.coef_se_], [qr.sigma_, *qr.coef_se_], rtol=1e-8)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("shape", [(50, 3), (30_000, 9), (3, 5)])
def test_a_missing_or_infinite_cell_is_refused_whichever_solver_reads_it(bad, shape):
    X = np.random.default_rng(9).normal(size=shape)
    X[-1, -1] = bad
    for model in (LeastSquares(), LeastSquares(method="gram"), LeastSquares(method="qr"), Ridge()):
        with pytest.raises(ValueError, match="Input X contains (NaN|infinity)"):
            model.fit(X, X[:, 0])


def test_large_ill_conditioned_problems_get_extended_precision():
    x = np.linspace(0, 1, 20_000)
    X = np.column_stack([x**k for k in range(1, 11)])
    beta = np.arange(1.0, 11.0)
    model = LeastSquares().fit(X, X @ beta + 1)
    assert model.solver_ == "exact" and model.condition_number_ > 1e6
    np.testing.assert_allclose(model.coef_, beta, rtol=1e-4)


@pytest.mark.parametrize("method", ["auto", "qr", "gram"])
def test_a_collinear_column_is_named_in_a_coded_warning(method):
    X, y = table(p=2)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "sum": X[:, 0] + X[:, 1], "one": 0.1})
    with pytest.warns(AssayWarning, match=r"\[W101\].*'sum', 'one'") as caught:
        model = LeastSquares(method=method).fit(frame, y)
    assert caught[0].message.code == "W101"
    plain = LeastSquares().fit(frame[["a", "b"]], y)
    np.testing.assert_allclose(model.coef_, np.append(plain.coef_, [0, 0]), rtol=1e-9)
    np.testing.assert_allclose(model.coef_se_, np.append(plain.coef_se_, [np.inf, np.inf]), rtol=1e-8)
    np.testing.assert_allclose(model.predict(frame), plain.predict(frame[["a", "b"]]), rtol=1e-9)
    assert model.rank_ == 3 and model.df_residual_ == plain.df_residual_ and model.p_values_[2] == 1.0
    assert not np.isnan(model.confidence_intervals()).any()


def test_more_columns_than_rows_interpolates_with_finite_coefficients():
    X, y = np.random.default_rng(4).normal(size=(6, 20)), np.arange(6.0)
    with pytest.warns(AssayWarning, match="and 10 more"):
        model = LeastSquares().fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-10)
    assert np.isfinite(model.coef_).all() and model.sigma_ == np.inf and (model.p_values_ == 1).all()
    assert not np.isnan(model.predict_interval(X)).any()


@pytest.mark.parametrize("scale", [1e12, 1e-12, 1e200, 1e-200])
def test_scale_of_a_column_does_not_cost_digits(scale):
    X, y = table()
    plain = LeastSquares().fit(X, y)
    X[:, 1] *= scale
    model = LeastSquares().fit(X, y)
    np.testing.assert_allclose(model.coef_ * np.array([1, scale, 1, 1]), plain.coef_, rtol=1e-11)
    np.testing.assert_allclose(model.t_values_, plain.t_values_, rtol=1e-10)


def test_all_zero_target_gives_zeros_and_no_nan():
    X, _ = table()
    model = LeastSquares().fit(X, np.zeros(len(X)))
    assert (model.coef_ == 0).all() and model.intercept_ == 0 and model.sigma_ == 0 and model.r2_ == 1.0
    values = [model.t_values_, model.p_values_, [model.f_statistic_, model.f_p_value_, model.adjusted_r2_]]
    assert np.isfinite(np.concatenate(values)).all()


def test_ninety_percent_intervals_cover_ninety_percent():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(25, 2))
    truth, covered, new, rounds = np.array([1.0, 2.0, -1.0]), np.zeros(3), 0, 600
    for _ in range(rounds):
        y = truth[0] + X @ truth[1:] + rng.normal(size=25)
        model = LeastSquares().fit(X, y)
        low, high = model.confidence_intervals(0.9).T
        covered += (low <= truth) & (truth <= high)
        low, high = model.predict_interval(X[:1], 0.9, kind="prediction")[0]
        new += low <= truth[0] + X[0] @ truth[1:] + rng.normal() <= high
    margin = 3.5 * np.sqrt(0.9 * 0.1 / rounds)
    np.testing.assert_allclose(np.append(covered, new) / rounds, 0.9, atol=margin)


@pytest.mark.parametrize("weighted", [False, True])
def test_shared_folds_equal_separate_fits_with_their_inference(weighted):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(30_000, 9)) * 10 + 50
    y = X @ rng.normal(size=9) + 20 * rng.normal(size=30_000)
    weights = rng.integers(0, 3, size=30_000).astype(float) if weighted else None
    order = rng.permutation(30_000)
    folds = [(np.setdiff1d(order, part), part) for part in np.array_split(order, 3)]
    for (train, _), model in zip(folds, LeastSquares().fit_folds(X, y, folds, sample_weight=weights), strict=True):
        assert model.solver_ == "gram"
        separate = LeastSquares().fit(X[train], y[train], None if weights is None else weights[train])
        for name in ("coef_", "coef_se_", "p_values_", "intercept_", "intercept_se_", "sigma_", "r2_", "df_residual_"):
            np.testing.assert_allclose(getattr(model, name), getattr(separate, name), rtol=1e-8, atol=1e-12)


def test_a_fold_whose_training_part_is_constant_in_a_column_equals_its_separate_fit():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(9_000, 12))
    X[:, 3] = 0.0
    X[:3000, 3] = rng.normal(size=3000)
    y = X.sum(axis=1) + rng.normal(size=9_000)
    folds = [(np.arange(3000, 9000), np.arange(3000))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssayWarning)
        shared = next(iter(LeastSquares(method="gram").fit_folds(X, y, folds)))
        separate = LeastSquares(method="gram").fit(X[3000:], y[3000:])
    assert shared.coef_[3] == separate.coef_[3] == 0.0
    np.testing.assert_allclose(shared.coef_, separate.coef_, rtol=1e-9)


def test_every_parameter_matters():
    X, y = table()
    assert LeastSquares(fit_intercept=False).fit(X, y).intercept_ == 0.0
    assert LeastSquares().fit(X, y).intercept_ != 0.0
    assert LeastSquares(method="gram").fit(X, y).solver_ != LeastSquares(method="auto").fit(X, y).solver_


def test_summary_prints_and_escapes_names():
    X, y = table(p=2)
    model = LeastSquares().fit(pd.DataFrame(X, columns=["<b>size</b>", "b\x1b[31m"]), y)
    text, page = str(model.summary()), model.summary()._repr_html_()
    assert "(intercept)" in text and "R2 = " in text and "\x1b" not in text + page
    assert "<b>" not in page and "&lt;b&gt;size" in page
    assert model.summary(0.5).to_dict()["coefficients"][0]["estimate"] == model.intercept_
    assert model.view()["names"] == ["<b>size</b>", "b\x1b[31m"]


@pytest.mark.parametrize(
    "call", [lambda m, X: m.predict_interval(X, kind="both"), lambda m, X: m.confidence_intervals(1)]
)
def test_bad_interval_requests_get_one_sentence(call):
    X, y = table()
    with pytest.raises(ParameterError, match=r"^LeastSquares: parameter '(kind|level)' must be"):
        call(LeastSquares().fit(X, y), X)


@pytest.mark.parametrize("method", ["auto", "qr", "gram"])
@pytest.mark.parametrize("intercept", [True, False])
def test_variance_inflation_equals_statsmodels(method, intercept):
    """statsmodels 0.14 or later: `variance_inflation_factor`; without a constant its formula, around zero."""
    X, y = table(p=3)
    X = np.column_stack([X, X[:, 0] - X[:, 1] + 0.1 * np.random.default_rng(1).normal(size=200)])
    design = sm.add_constant(X)
    expected = [1 / (1 - sm.OLS(X[:, j], np.delete(X, j, 1)).fit().rsquared) for j in range(4)]
    if intercept:
        expected = [variance_inflation_factor(design, j) for j in range(1, 5)]
    model = LeastSquares(method=method, fit_intercept=intercept).fit(X, y)
    np.testing.assert_allclose(model.vif_, expected, rtol=1e-8)
    alone = LeastSquares(method=method, fit_intercept=intercept).fit(X[:, :1], y)
    np.testing.assert_allclose(alone.vif_, [1.0], rtol=1e-12)


def test_variance_inflation_is_infinite_exactly_for_columns_of_an_exact_combination():
    X, y = table(p=3)
    X = np.column_stack([X, X[:, 0] + 2 * X[:, 1], np.full(200, 7.0)])
    with pytest.warns(AssayWarning, match="W101"):
        model = LeastSquares().fit(X, y)
    assert np.isinf(model.vif_).tolist() == [True, True, False, True, True]
    with pytest.warns(AssayWarning, match="W101"):
        model = LeastSquares().fit(np.ones((4, 1)), y[:4])
    assert model.vif_.tolist() == [np.inf]
    with pytest.warns(AssayWarning, match="W101"):
        model = LeastSquares().fit(np.random.default_rng(0).normal(size=(5, 9)), y[:5])
    assert not np.isnan(model.vif_).any()


def test_summary_has_a_column_of_variance_inflation():
    X, y = table(p=2)
    summary = LeastSquares().fit(X, y).summary()
    lines = str(summary).splitlines()
    assert lines[0].split()[-1] == "VIF" and "<th>VIF</th>" in summary._repr_html_()
    vif = [row["vif"] for row in summary.to_dict()["coefficients"]]
    assert vif[0] is None and lines[2].split()[-1] == f"{vif[1]:.3g}"


@pytest.mark.parametrize("method", ["auto", "qr", "gram"])
@pytest.mark.parametrize("weighted", [False, True])
def test_several_targets_are_fitted_as_each_alone(method, weighted):
    X, y = table()
    rng = np.random.default_rng(4)
    Y = np.column_stack([y, rng.normal(size=200), X @ [1.0, 2.0, 3.0, 4.0] + 1e-4 * rng.normal(size=200)])
    weights = rng.integers(0, 3, size=200).astype(float) if weighted else None
    model = LeastSquares(method=method).fit(X, Y, weights)
    assert model.coef_.shape == (3, 4) and model.intercept_.shape == model.sigma_.shape == (3,)
    intervals, text = model.predict_interval(X[:5], kind="prediction"), str(model.summary())
    assert model.summary()._repr_html_().count("<table>") == len(model.summary()) == 3
    for k in range(3):
        one = LeastSquares(method=method).fit(X, Y[:, k], weights)
        for name in (*FITTED, *INFERRED):
            np.testing.assert_allclose(getattr(model, name)[k], getattr(one, name), rtol=1e-7)
        np.testing.assert_allclose(model.vif_, one.vif_, rtol=1e-7)
        np.testing.assert_allclose(model.predict(X)[:, k], one.predict(X), rtol=1e-7)
        np.testing.assert_allclose(model.confidence_intervals()[k], one.confidence_intervals(), rtol=1e-7)
        np.testing.assert_allclose(intervals[:, k], one.predict_interval(X[:5], kind="prediction"), rtol=1e-7)
        assert f"target {k}" in text
        assert model.summary().to_dict()["targets"][k]["r2"] == model.r2_[k] == model.summary()[k].r2


def test_folds_of_several_targets_equal_separate_fits():
    X, y = table(n=90_000 // 16)
    X = np.hstack([X, np.random.default_rng(5).normal(size=(X.shape[0], 16))])
    Y = np.column_stack([y, y**2])
    folds = [(np.arange(1000, len(y)), np.arange(1000)), (np.arange(3000), np.arange(3000, len(y)))]
    for (train, _), model in zip(folds, LeastSquares().fit_folds(X, Y, folds), strict=True):
        separate = LeastSquares().fit(X[train], Y[train])
        assert model.solver_ == "gram"
        for name in (*FITTED, *INFERRED, "vif_"):
            np.testing.assert_allclose(getattr(model, name), getattr(separate, name), rtol=1e-7, atol=1e-12)


def test_two_dimensional_targets_keep_the_shapes_of_scikit_learn():
    X, y = table()
    ours, theirs = LeastSquares().fit(X, y[:, None]), LinearRegression().fit(X, y[:, None])
    assert (ours.coef_.shape, ours.intercept_.shape) == (theirs.coef_.shape, theirs.intercept_.shape)
    assert ours.predict(X).shape == theirs.predict(X).shape
    assert ours.view()["values"] == ours.coef_.tolist()


@pytest.mark.parametrize("factor", [1e-310, 5e-324])
def test_columns_too_small_for_their_coefficients_are_refused_in_a_sentence(factor, capfd):
    rng = np.random.default_rng(0)
    X = np.sign(rng.normal(size=(30, 2))) * factor if factor < 1e-320 else rng.normal(size=(30, 2)) * factor
    with pytest.raises(DataError, match="column 'x0' must not be so small beside y"):
        LeastSquares().fit(X, rng.normal(size=30))
    assert capfd.readouterr() == ("", "")


def test_what_is_said_of_the_errors_is_worked_out_when_asked_and_afresh_after_another_fit():
    X, y = table(n=4000)
    model = LeastSquares().fit(X, y)
    assert not hasattr(LeastSquares(), "coef_se_")
    assert "coef_se_" not in vars(model) and "coef_" in vars(model)
    before = model.coef_se_
    assert {"coef_se_", "vif_", "condition_number_"} <= set(vars(model))
    copied = pickle.loads(pickle.dumps(LeastSquares().fit(X, y)))
    np.testing.assert_array_equal(copied.coef_se_, before)
    model.fit(X, 3.0 * y)
    np.testing.assert_allclose(model.coef_se_, 3.0 * before, rtol=1e-9)
    np.testing.assert_array_equal(model.p_values_, LeastSquares().fit(X, 3.0 * y).p_values_)
    with pytest.raises(AttributeError, match="no attribute 'coef_se_'"):
        _ = LeastSquares().coef_se_
