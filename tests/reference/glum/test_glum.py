"""Coefficients of generalised linear models against those of glum (see README.md beside this file)."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from assay.models.linear import GLM

HERE = Path(__file__).parent
STORED = json.loads((HERE / "glum.json").read_text())
NAMES = {"normal": "gaussian", "binomial": "bernoulli", "inverse.gaussian": "inverse_gaussian"}


def _maker():
    spec = importlib.util.spec_from_file_location("glum_make", HERE / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("case", STORED["cases"], ids=lambda c: f"{c['family']}-{c['alpha']}-{c['l1_ratio']}")
def test_coefficients_equal_those_of_glum(case):
    X, y, weights, offset = _maker().table(case["family"])
    name = case["family"].split(" ")[0]
    family = NAMES.get(name, name.replace(".", "_"))
    theta = 2.0 if family == "negative_binomial" else None
    model = GLM(family=family, theta=theta, alpha=case["alpha"], l1_ratio=case["l1_ratio"], tol=1e-10)
    model.fit(X, y, sample_weight=weights, offset=offset)
    np.testing.assert_allclose(model.coef_, case["coef"], atol=2e-6)
    np.testing.assert_allclose(model.intercept_, case["intercept"], atol=2e-6)
    np.testing.assert_array_equal(model.coef_ == 0, np.array(case["coef"]) == 0)
