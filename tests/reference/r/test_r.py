"""Inference and best subsets against R (see README.md): lm, glm, MASS::glm.nb, nnet::multinom, leaps::regsubsets.

Where R's conventions differ the tests say so: weights there are precisions, so `lm` was given repeated rows; R counts
an estimated dispersion as a parameter in AIC and BIC, and takes deviance / n for it in the gamma likelihoods. Fisher
scoring with links that are not canonical ends in R with coefficients good to about 1e-7 of a standard error.
"""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from assay.models.linear import GLM, LeastSquares, LogisticRegression
from assay.prepare import BackwardSelector, ExhaustiveSelector, ForwardSelector

HERE = Path(__file__).parent
CASES = json.loads((HERE / "numbers.json").read_text())["cases"]


def _tables():
    spec = importlib.util.spec_from_file_location("glmnet_tables", HERE.parent / "glmnet" / "tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tables = _tables()


@pytest.mark.parametrize("name", ["lm", "lm repeated"])
def test_least_squares_equals_lm(name):
    told, (X, y) = CASES[name], tables.table("diabetes")
    weights = 1.0 + np.arange(y.shape[0]) % 3 if name == "lm repeated" else None
    model = LeastSquares().fit(X, y, weights)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), told["estimate"], rtol=1e-9)
    np.testing.assert_allclose(np.append(model.intercept_se_, model.coef_se_), told["error"], rtol=1e-9)
    rows = model.summary().rows
    np.testing.assert_allclose([row.t_value for row in rows], told["statistic"], rtol=1e-8)
    np.testing.assert_allclose([row.p_value for row in rows], told["p"], rtol=1e-7)
    np.testing.assert_allclose(model.confidence_intervals().ravel(), told["confint"], rtol=1e-7)
    assert (model.sigma_, model.r2_, model.adjusted_r2_, model.f_statistic_) == pytest.approx(
        (told["sigma"], told["r2"], told["adjusted_r2"], told["f"]), rel=1e-9
    )
    chosen = X[[0, 99, 441]]
    np.testing.assert_allclose(model.predict(chosen), told["fitted"], rtol=1e-9)
    for kind, key in (("mean", "confidence"), ("prediction", "prediction")):
        interval = model.predict_interval(chosen, level=0.9, kind=kind)
        np.testing.assert_allclose(interval, np.column_stack([told[f"{key}_low"], told[f"{key}_high"]]), rtol=1e-8)


# Name of the case: family and link, table, columns.
GENERAL = {
    "gaussian": ("gaussian", "identity", "diabetes", None),
    "gaussian log": ("gaussian", "log", "diabetes", None),
    "poisson": ("poisson", "log", "counts", None),
    "poisson offset": ("poisson", "log", "counts", None),
    "gamma log": ("gamma", "log", "diabetes", None),
    "gamma inverse": ("gamma", "inverse", "diabetes", [2, 3]),
    "inverse gaussian log": ("inverse_gaussian", "log", "diabetes", None),
    "bernoulli logit": ("bernoulli", "logit", "cancer", [0, 1, 4, 8]),
    "bernoulli probit": ("bernoulli", "probit", "cancer", [0, 1, 4, 8]),
    "bernoulli cloglog": ("bernoulli", "cloglog", "cancer", [0, 1, 4, 8]),
    "negative binomial theta 2": ("negative_binomial", "log", "counts", None),
}


@pytest.mark.parametrize("name", list(GENERAL))
def test_generalised_linear_models_equal_glm(name):
    told, (family, link, table, columns) = CASES[name], GENERAL[name]
    X, y = tables.table(table)
    X = X if columns is None else X[:, columns]
    offset = tables.offset(y.shape[0]) if name == "poisson offset" else None
    model = GLM(family=family, link=link, theta=2.0 if "theta" in name else None, tol=1e-11).fit(X, y, offset=offset)
    off = (np.append(model.intercept_, model.coef_) - told["estimate"]) / np.array(told["error"])
    np.testing.assert_allclose(off, 0.0, atol=5e-7)
    np.testing.assert_allclose(np.append(model.intercept_se_, model.coef_se_), told["error"], rtol=1e-6)
    rows = model.summary().rows
    np.testing.assert_allclose([row.t_value for row in rows], told["statistic"], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose([row.p_value for row in rows], told["p"], rtol=1e-4)
    assert model.deviance_ == pytest.approx(told["deviance"], rel=1e-9)
    assert model.null_deviance_ == pytest.approx(told["null_deviance"], rel=1e-9)
    assert model.df_residual_ == told["df_residual"]
    if "theta" not in name:
        assert model.dispersion_ == pytest.approx(told["dispersion"], rel=1e-6)
    assert model.log_likelihood_ == pytest.approx(told["log_likelihood"], rel=1e-9)
    assert model.aic_ == pytest.approx(told["aic"], rel=1e-9)
    assert model.bic_ == pytest.approx(told["bic"], rel=1e-9)


def test_the_negative_binomial_with_theta_unknown_equals_glm_nb():
    told, (X, y) = CASES["glm.nb"], tables.table("diabetes")
    model = GLM(family="negative_binomial", tol=1e-11).fit(X, np.floor(y**2 / 3000))
    assert model.theta_ == pytest.approx(told["theta"], rel=1e-7)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), told["estimate"], rtol=1e-6)
    np.testing.assert_allclose(np.append(model.intercept_se_, model.coef_se_), told["error"], rtol=1e-6)
    np.testing.assert_allclose(np.append(model.intercept_p_value_, model.p_values_), told["p"], rtol=1e-5)
    for name in ("deviance", "null_deviance", "log_likelihood", "aic", "bic"):
        assert getattr(model, f"{name}_") == pytest.approx(told[name], rel=1e-8), name


def test_softmax_with_a_reference_class_equals_multinom():
    told, (X, y) = CASES["multinom"], tables.table("diabetes")
    X = ((X - X.mean(axis=0)) / X.std(axis=0, ddof=1))[:, [2, 3, 8]]
    model = LogisticRegression(penalty=None, reference_class=0).fit(X, np.digitize(y, [100, 200], right=True))
    estimates = np.column_stack([model.intercept_, model.coef_])[1:]
    errors = np.column_stack([model.intercept_se_, model.coef_se_])[1:]
    np.testing.assert_allclose(estimates.ravel(), told["estimate"], atol=1e-5)
    np.testing.assert_allclose(errors.ravel(), told["error"], rtol=1e-5)
    assert (model.deviance_, model.aic_) == pytest.approx((told["deviance"], told["aic"]), rel=1e-9)


@pytest.mark.parametrize("method", ["exhaustive", "forward", "backward"])
@pytest.mark.parametrize("table", ["diabetes", "wine"])
def test_subsets_of_every_size_equal_those_of_regsubsets(table, method):
    told, (X, y) = CASES[f"regsubsets {table} {method}"], tables.table(table)
    kind = {"exhaustive": ExhaustiveSelector, "forward": ForwardSelector, "backward": BackwardSelector}[method]
    wanted = {"forward": X.shape[1], "backward": 1}.get(method, "auto")
    model = kind(criterion="bic", n_features_to_select=wanted).fit(X, y)
    sizes = np.asarray(model.path_["sizes"])
    places = [int(np.flatnonzero(sizes == size)[0]) for size in range(1, X.shape[1] + 1)]
    np.testing.assert_allclose(model.scores_["rss"][places], told["rss"], rtol=1e-9)
    np.testing.assert_allclose(model.scores_["adjusted_r2"][places], told["adjusted_r2"], rtol=1e-9)
    assert [sorted(int(j) for j in model.path_["subsets"][k]) for k in places] == told["columns"]
    bic = model.scores_["bic"][places]
    np.testing.assert_allclose(bic - bic[0], np.array(told["bic"]) - told["bic"][0], rtol=1e-9)
