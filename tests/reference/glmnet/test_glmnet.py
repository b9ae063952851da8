"""Penalised fits against R's glmnet, recorded with thresh=1e-20 (make_numbers.R, tables.py and README.md here).

glmnet minimises loss / W + lambda [alpha |b|_1 + (1 - alpha) / 2 |b|^2] with W the sum of the weights: half squares,
or the negative log likelihood. What it does before that, and the tests undo:

- `standardize=TRUE` divides each column by its standard deviation (weighted, 1/W) and reports coefficients of the
  columns as given;
- `family="gaussian"` divides y by its standard deviation s (1/W) too, which leaves the absolute penalty as it is and
  divides the squared one by s; `family=gaussian()` does not;
- `penalty.factor` is rescaled to sum to the number of columns, those with Inf counting 1;
- multinomial intercepts are centred.
"""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from assay.models.linear import (
    GLM,
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LogisticCV,
    LogisticRegression,
    enet_path,
    lasso_path,
    logistic_path,
)

HERE = Path(__file__).parent
STORED = json.loads((HERE / "numbers.json").read_text())
CASES = STORED["cases"]


def _tables():
    spec = importlib.util.spec_from_file_location("glmnet_tables", HERE / "tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tables = _tables()


def _name(case):
    flags = [flag for flag in ("standardize", "weighted", "offset", "positive", "as_object") if case[flag]]
    flags += ["factors"] if case["penalty_factor"] else []
    return "-".join([case["table"], case["family"], f"{case['alpha']:g}", *flags])


def _cases(*families, suits=lambda case: True):
    chosen = [case for case in CASES if case["family"] in families and suits(case)]
    return pytest.mark.parametrize("case", chosen, ids=_name)


def _unbounded(case):
    return not case["positive"] and np.inf not in (case["penalty_factor"] or [])


def _plain(case):
    return not case["offset"] and case["penalty_factor"] is None


class Problem:
    """A recorded case in our terms: the columns scaled as glmnet scales them, and penalties to match."""

    def __init__(self, case):
        self.X, self.y = tables.table(case["table"])
        if case["table"] == "printed" and case["family"] == "binomial":
            self.y = (self.y >= 50).astype(float)
        n_rows, n_columns = self.X.shape
        self.weights = tables.weights(n_rows) if case["weighted"] else np.ones(n_rows)
        self.offset = tables.offset(n_rows) if case["offset"] else None
        self.total = self.weights.sum()
        self.scale = self._spread(self.X) if case["standardize"] else np.ones(n_columns)
        self.X = self.X / self.scale
        self.squared = 1.0
        if case["family"] == "gaussian":
            self.y = self.y if self.offset is None else self.y - self.offset
            self.squared = 1.0 if case["as_object"] else 1.0 / float(self._spread(self.y))
        factors = np.ones(n_columns) if case["penalty_factor"] is None else np.array(case["penalty_factor"])
        self.factors = factors * n_columns / np.where(np.isinf(factors), 1.0, factors).sum()
        self.coef = np.array(case["beta"]) * self.scale
        self.intercept = np.array(case["a0"])
        absolute = np.array(case["lambda"]) * case["alpha"]
        self.alphas = absolute + np.array(case["lambda"]) * (1.0 - case["alpha"]) * self.squared
        self.l1_ratio = absolute[0] / self.alphas[0]

    def _spread(self, values):
        mean = np.average(values, axis=0, weights=self.weights)
        return np.sqrt(np.average((values - mean) ** 2, axis=0, weights=self.weights))

    def assert_equal_at(self, k, coef, intercept, accuracy=1e-7):
        """Coefficients of standardised columns and the intercept, relative to the largest; the same columns at zero."""
        reference = self.coef[..., k, :]
        size = np.abs(reference).max(initial=1e-3)
        np.testing.assert_allclose(coef / size, reference / size, atol=accuracy)
        np.testing.assert_array_equal(np.abs(coef) > accuracy * size, np.abs(reference) > accuracy * size)
        reference = self.intercept[k]
        np.testing.assert_allclose(intercept, reference, rtol=accuracy, atol=accuracy * max(1.0, size))


@_cases("gaussian")
def test_lasso_and_elastic_net_equal_glmnet(case):
    problem = Problem(case)
    options = {"positive": case["positive"], "penalty_weights": problem.factors, "tol": 1e-12, "max_iter": 100_000}
    for k, alpha in enumerate(problem.alphas):
        model = ElasticNet(alpha=alpha, l1_ratio=problem.l1_ratio, **options)
        model.fit(problem.X, problem.y, problem.weights)
        problem.assert_equal_at(k, model.coef_, model.intercept_)
        explained = 1 - np.average((problem.y - model.predict(problem.X)) ** 2, weights=problem.weights) / np.average(
            (problem.y - np.average(problem.y, weights=problem.weights)) ** 2, weights=problem.weights
        )
        assert explained == pytest.approx(case["dev_ratio"][k], abs=1e-9)
        if case["alpha"] == 1:
            lasso = Lasso(alpha=alpha, **options).fit(problem.X, problem.y, problem.weights)
            problem.assert_equal_at(k, lasso.coef_, lasso.intercept_)


@_cases("gaussian")
def test_whole_paths_equal_glmnet(case):
    problem = Problem(case)
    options = {"positive": case["positive"], "penalty_weights": problem.factors, "tol": 1e-14, "max_iter": 100_000}
    options |= {"alphas": problem.alphas, "sample_weight": problem.weights}
    path = enet_path(problem.X, problem.y, l1_ratio=problem.l1_ratio, **options)
    paths = [path, lasso_path(problem.X, problem.y, **options)] if case["alpha"] == 1 else [path]
    for found in paths:
        for k in range(len(problem.alphas)):
            problem.assert_equal_at(k, found.coef[k], found.intercept[k], 1e-6)


@_cases("gaussian", "binomial", "poisson", suits=_unbounded)
def test_generalised_linear_models_equal_glmnet(case):
    problem = Problem(case)
    family = {"binomial": "bernoulli"}.get(case["family"], case["family"])
    for k, alpha in enumerate(problem.alphas):
        model = GLM(family=family, alpha=alpha, l1_ratio=problem.l1_ratio, penalty_weights=problem.factors, tol=1e-11)
        offset = None if family == "gaussian" else problem.offset
        model.fit(problem.X, problem.y, sample_weight=problem.weights, offset=offset)
        problem.assert_equal_at(k, model.coef_, model.intercept_)
        assert 1 - model.deviance_ / model.null_deviance_ == pytest.approx(case["dev_ratio"][k], abs=1e-9)


@_cases("binomial", "multinomial", suits=_plain)
def test_logistic_regression_equals_glmnet(case):
    problem = Problem(case)
    options = {"penalty": "elasticnet", "l1_ratio": case["alpha"], "tol": 1e-11, "max_iter": 1000}
    Cs = 1.0 / (problem.total * problem.alphas)
    path = logistic_path(problem.X, problem.y, Cs=Cs, sample_weight=problem.weights, **options)
    np.testing.assert_allclose(path.Cs, Cs, rtol=1e-12)
    for k, C in enumerate(Cs):
        model = LogisticRegression(C=C, **options).fit(problem.X, problem.y, problem.weights)
        for coef, intercept in ((model.coef_, model.intercept_), (path.coefs[k], path.intercepts[k])):
            if coef.shape[0] == 1:
                problem.assert_equal_at(k, coef[0], intercept[0])
            else:
                problem.assert_equal_at(k, coef, intercept - intercept.mean())


def _folds(case):
    number = np.arange(tables.table(case["table"])[0].shape[0]) % case["folds"]
    return [(np.flatnonzero(number != k), np.flatnonzero(number == k)) for k in range(case["folds"])]


def _with_folds(*families):
    return _cases(*families, suits=lambda case: "folds" in case)


def _capped_log_loss(model, X, y, sample_weight=None):
    """cv.glmnet takes probabilities of two classes as at least 1e-5 and at most 1 - 1e-5."""
    floor = 1e-5 if model.classes_.shape[0] == 2 else 0.0
    shares = np.clip(model.predict_proba(X), floor, 1.0 - floor)
    return np.log(shares[np.arange(y.shape[0]), y.astype(int)]).mean()


@_with_folds("gaussian")
def test_cross_validated_squared_error_equals_cv_glmnet(case):
    problem = Problem(case)
    options = {"alphas": problem.alphas, "cv": _folds(case), "tol": 1e-12, "max_iter": 100_000}
    model = LassoCV(**options) if case["alpha"] == 1 else ElasticNetCV(l1_ratio=case["alpha"], **options)
    model.fit(problem.X, problem.y)
    sizes = [test.shape[0] for _, test in _folds(case)]
    np.testing.assert_allclose(np.average(model.mse_path_, axis=1, weights=sizes), case["cvm"], rtol=1e-7)
    chosen = int(np.argmin(case["cvm"]))
    assert model.alpha_ == problem.alphas[chosen]
    problem.assert_equal_at(chosen, model.coef_, model.intercept_)


@_with_folds("binomial", "multinomial")
def test_cross_validated_deviance_equals_cv_glmnet(case):
    problem = Problem(case)
    folds = _folds(case)
    (trained,) = {train.shape[0] for train, _ in folds}
    options = {"l1_ratio": case["alpha"], "Cs": 1.0 / (trained * problem.alphas), "scoring": _capped_log_loss}
    model = LogisticCV(penalty="elasticnet", cv=folds, tol=1e-11, **options).fit(problem.X, problem.y)
    np.testing.assert_allclose(-2.0 * model.scores_[:, 0].mean(axis=0), case["cvm"], rtol=1e-7)


@_with_folds("poisson")
def test_cross_validated_poisson_deviance_equals_cv_glmnet(case):
    problem = Problem(case)
    total = np.zeros(len(problem.alphas))
    for k, alpha in enumerate(problem.alphas):
        model = GLM(family="poisson", alpha=alpha, l1_ratio=problem.l1_ratio, tol=1e-11)
        for fitted, (_, test) in zip(model.fit_folds(problem.X, problem.y, _folds(case)), _folds(case), strict=True):
            mean, y = fitted.predict(problem.X[test]), problem.y[test]
            total[k] += 2.0 * np.sum(np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0) / mean), 0.0) - y + mean)
    np.testing.assert_allclose(total / problem.y.shape[0], case["cvm"], rtol=1e-7)
