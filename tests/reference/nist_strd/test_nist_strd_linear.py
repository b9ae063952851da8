"""Least squares on NIST's certified sets, to the digits that float64 columns can hold (see README.md)."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from assay.models.linear import LeastSquares, PolynomialRegression

SETS = {
    name: given
    for name, given in json.loads((Path(__file__).parent / "strd_linear.json").read_text()).items()
    if isinstance(given, dict)
}


def digits(found, certified) -> float:
    """Log relative error of the worst value (absolute where the certified value is zero), at most 15."""
    found, certified = np.atleast_1d(found), np.atleast_1d(certified)
    error = np.abs(found - certified) / np.where(certified == 0, 1.0, np.abs(certified))
    return float(min(15.0, -np.log10(np.maximum(error.max(), 1e-300))))


def numbers(texts) -> np.ndarray:
    return np.array(texts, dtype=object).astype(str).astype(np.float64)


def load(name: str) -> tuple[np.ndarray, np.ndarray, bool, dict]:
    given = SETS[name]
    x, y = numbers(given["x"]), numbers(given["y"])
    degree = re.search(r"degree (\d+)", given["model"])
    intercept = "intercept" in given["model"] or "b0" in given["model"]
    if degree:
        x = np.column_stack([x**power for power in range(1, int(degree[1]) + 1)])
    x = x.reshape(y.shape[0], -1) if x.ndim == 1 or x.shape[0] == y.shape[0] else x.T
    return x, y, intercept, given


@pytest.mark.parametrize("name", SETS)
def test_coefficients_reach_the_float64_ceiling_of_the_set(name):
    X, y, intercept, given = load(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LeastSquares(fit_intercept=intercept).fit(X, y)
    certified = {key: numbers(value) for key, value in given["certified"].items()}
    coefficients = np.append(model.intercept_, model.coef_) if intercept else model.coef_
    errors = np.append(model.intercept_se_, model.coef_se_) if intercept else model.coef_se_
    ceiling = given["float64_ceiling_LRE"]
    assert digits(coefficients, certified["beta"]) >= ceiling - 0.3
    assert digits(errors, certified["se"]) >= min(ceiling, 14.0) - 0.3
    assert digits(model.sigma_, certified["resid_sd"]) >= min(ceiling, 14.0) - 0.3
    assert digits(model.r2_, certified["r2"]) >= min(ceiling, 14.0) - 0.3


def test_all_eleven_sets_are_here():
    assert len(SETS) == 11


@pytest.mark.parametrize("name", ["norris", "longley", "wampler3"])
def test_weights_as_repetition_keep_the_certified_digits(name):
    X, y, intercept, _ = load(name)
    once = LeastSquares(fit_intercept=intercept).fit(X, y)
    twice = LeastSquares(fit_intercept=intercept).fit(X, y, sample_weight=np.full(len(y), 2.0))
    assert digits(twice.coef_, once.coef_) >= 14
    assert digits(twice.sigma_**2 * twice.df_residual_, 2 * once.sigma_**2 * once.df_residual_) >= 13.5


DEGREES = {
    name: int(given["model"].split("degree ")[1].split()[0].strip(",.;"))
    for name, given in SETS.items()
    if "degree" in given["model"]
}


@pytest.mark.parametrize("name", DEGREES)
def test_coefficients_of_raw_powers_reach_thirteen_digits_by_scaled_monomials(name):
    x, y = numbers(SETS[name]["x"]), numbers(SETS[name]["y"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PolynomialRegression(degree=DEGREES[name]).fit(x.reshape(-1, 1), y)
    certified = {key: numbers(value) for key, value in SETS[name]["certified"].items()}
    assert digits(np.append(model.intercept_, model.coef_), certified["beta"]) >= 13.0
    assert digits(model.sigma_, certified["resid_sd"]) >= 13.0
    assert digits(model.r2_, certified["r2"]) >= 13.0


def test_filip_gains_six_digits_over_powers_rounded_to_float64():
    x, y = numbers(SETS["filip"]["x"]), numbers(SETS["filip"]["y"])
    model = PolynomialRegression(degree=10).fit(x.reshape(-1, 1), y)
    found = digits(np.append(model.intercept_, model.coef_), numbers(SETS["filip"]["certified"]["beta"]))
    assert found >= SETS["filip"]["float64_ceiling_LRE"] + 6
