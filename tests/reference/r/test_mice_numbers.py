"""Pooling and imputation agree with mice 3.15 in R 4.2 (facts with their script beside this file)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from assay.data import load_dataset
from assay.models.linear import LeastSquares, LogisticRegression
from assay.prepare import ImputeMultiple, pool
from assay.prepare.pooling import _pool_coefficients

FACTS = Path(__file__).parent
POOL = json.loads((FACTS / "mice_pool.json").read_text())
DRAWS = json.loads((FACTS / "mice_draws.json").read_text())
IRIS = load_dataset("iris").frame
ROW = np.arange(IRIS.height)
HOLED = ROW % 5 == 0
OURS = {
    "estimate": "estimate",
    "within": "within",
    "between": "between",
    "total": "total",
    "df": "df",
    "riv": "increase",
    "fmi": "missing_information",
    "std_error": "standard_error",
    "statistic": "statistic",
    "p_value": "p_value",
    "low": "low",
    "high": "high",
}


def completed(m: int) -> pl.DataFrame:
    width = np.where(HOLED, 3 + 0.4 * np.sin((m + 1) * (ROW + 1)), IRIS["sepal_width"].to_numpy())
    return IRIS.with_columns(pl.Series("sepal_width", width))


def fits(kind: str) -> tuple[list[Any], int]:
    """Our models of the four completed tables, and the rows less the coefficients."""
    tables = [completed(m) for m in range(4)]
    if kind == "lm":
        columns, target = ["sepal_length", "sepal_width", "petal_length"], "petal_width"
        models = [LeastSquares().fit(t.select(columns), t[target].to_numpy()) for t in tables]
    else:
        columns = ["sepal_length", "sepal_width"]
        y = (IRIS["species"] == "versicolor").to_numpy().astype(int)
        models = [LogisticRegression(penalty=None, tol=1e-12).fit(t.select(columns), y) for t in tables]
    return models, IRIS.height - 1 - len(columns)


@pytest.mark.parametrize("kind", ["lm", "glm"])
def test_models_of_completed_tables_pool_to_the_numbers_of_mice(kind):
    models, freedom = fits(kind)
    pooled = _pool_coefficients(models, IRIS.height)
    assert set(POOL[kind]["dfcom"]) == {freedom} and POOL[kind]["terms"][1:] == pooled.names[1:]
    for theirs, ours in OURS.items():
        # A p-value far out in the tail repeats the last digits of its t many times over.
        least = 1e-9 if theirs == "p_value" else 1e-14
        np.testing.assert_allclose(getattr(pooled, ours), POOL[kind][theirs], rtol=1e-8, atol=least, err_msg=theirs)


def test_one_number_pools_to_pool_scalar():
    pooled = pool([10.0, 12.0, 11.0, 9.5], [4.0, 3.5, 4.2, 3.9], 37)
    names = {"qbar": "estimate", "ubar": "within", "b": "between", "t": "total", "r": "increase"}
    for theirs, ours in {**names, "df": "df", "fmi": "missing_information"}.items():
        assert getattr(pooled, ours) == pytest.approx(POOL["scalar"][theirs][0], rel=1e-12)


@pytest.mark.parametrize(("kind", "tables"), [("lm", 4), ("glm", 2)])
def test_the_joint_test_is_d1(kind, tables):
    """Four tables take the degrees of freedom for k (m - 1) > 4, two those for fewer."""
    models, freedom = fits(kind)
    estimates = [np.ravel(model.coef_)[:2] for model in models[:tables]]
    if kind == "glm":
        covariances = [model.covariance_.reshape(3, 3)[1:, 1:] for model in models[:tables]]
    else:
        covariances = []
        for m, model in enumerate(models):
            table = completed(m).select("sepal_length", "sepal_width", "petal_length")
            rows = table.to_numpy()
            centred = rows - rows.mean(axis=0)
            error = ((IRIS["petal_width"].to_numpy() - model.predict(table)) ** 2).sum() / freedom
            covariances.append(error * np.linalg.inv(centred.T @ centred)[:2, :2])
    np.testing.assert_allclose(pool(estimates, covariances, freedom).wald(), POOL[f"d1_{kind}"], rtol=1e-7)


@pytest.mark.parametrize(("theirs", "method"), [("norm", "norm"), ("pmm", "pmm"), ("logreg", "logistic")])
def test_draws_have_the_means_and_variances_of_those_of_mice(theirs, method):
    """Means within five standard errors, variances within 5 sqrt(kurtosis / draws), on both sides of the comparison."""
    if method == "logistic":
        label = (IRIS["species"] == "versicolor").cast(pl.String)
        frame = IRIS.select("sepal_length", "sepal_width").with_columns(label.set(pl.Series(HOLED), None).alias("kind"))
    else:
        frame = IRIS.drop("species").with_columns(IRIS["sepal_width"].set(pl.Series(HOLED), None))
    draws = 3000
    drawn = ImputeMultiple(n_imputations=draws, max_iter=1, method=method, random_state=1).fit(frame).imputed_
    mean, variance = np.array(DRAWS[theirs]["mean"]), np.array(DRAWS[theirs]["variance"])
    error = np.sqrt(variance * (1 / draws + 1 / DRAWS["draws"]))
    assert np.abs(drawn.mean(axis=0) - mean).max() < 5 * error.max()
    assert (np.abs(drawn.mean(axis=0) - mean) < 5 * np.maximum(error, 1e-3)).all()
    if method != "logistic":
        assert np.abs(np.log(drawn.var(axis=0) / variance)).max() < 5 * np.sqrt(5 * (1 / draws + 1 / DRAWS["draws"]))
        assert np.abs(np.log(drawn.var(axis=0) / variance)).mean() < 0.05
    # The mean of a table varies by the draw of the parameters, which single cells hardly show.
    ratio = drawn.mean(axis=1).var() / DRAWS[theirs]["mean_of_table_variance"][0]
    assert abs(np.log(ratio)) < 5 * np.sqrt(2 * (1 / draws + 1 / DRAWS["draws"]))
