"""Powers of two change no digit: columns times 2^k give coefficients times 2^-k, however large k is.

Methods with a penalty or a step of fixed size are not among these: their answer depends on the unit, as it should.
"""

from __future__ import annotations

import numpy as np
import pytest

from assay.models.linear import GLM, LeastSquares, LogisticRegression, PolynomialRegression
from assay.models.trees import CartClassifier, CartRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3)) + 0.3
SIGNAL = X @ [1.0, -2.0, 0.5]
NUMBERS = SIGNAL + rng.normal(size=120)
CLASSES = (SIGNAL + rng.normal(size=120) > 0).astype(int)
COUNTS = rng.poisson(np.exp(0.3 * SIGNAL)).astype(float)
AMOUNTS = np.exp(0.3 * SIGNAL) * rng.gamma(2.0, size=120)

LINEAR = {
    "least squares": (LeastSquares(), NUMBERS),
    "logistic": (LogisticRegression(penalty=None), CLASSES),
    "gaussian": (GLM(), NUMBERS),
    "poisson": (GLM(family="poisson"), COUNTS),
    "gamma": (GLM(family="gamma"), AMOUNTS),
    "without intercept": (GLM(family="poisson", fit_intercept=False), COUNTS),
}
OTHERS = {
    "polynomial": (PolynomialRegression(degree=2), NUMBERS),
    "CART classifier": (CartClassifier(max_depth=4), CLASSES),
    "CART regressor": (CartRegressor(max_depth=4), NUMBERS),
}


@pytest.mark.parametrize("power", [-600, -300, 300, 600])
@pytest.mark.parametrize("name", LINEAR)
def test_coefficients_and_their_errors_follow_the_unit_of_the_columns(name, power):
    model, y = LINEAR[name]
    plain = type(model)(**model.get_params()).fit(X, y)
    scaled = type(model)(**model.get_params()).fit(np.ldexp(X, power), y)
    np.testing.assert_allclose(np.ldexp(scaled.coef_, power), plain.coef_, rtol=1e-7)
    np.testing.assert_allclose(scaled.intercept_, plain.intercept_, rtol=1e-7)
    np.testing.assert_allclose(scaled.predict(np.ldexp(X, power)), plain.predict(X), rtol=1e-7)
    if hasattr(plain, "coef_se_"):
        np.testing.assert_allclose(np.ldexp(scaled.coef_se_, power), plain.coef_se_, rtol=1e-6)
        np.testing.assert_allclose(scaled.p_values_, plain.p_values_, rtol=1e-5)


@pytest.mark.parametrize("power", [-600, 600])
@pytest.mark.parametrize("name", OTHERS)
def test_predictions_do_not_depend_on_the_unit_of_the_columns(name, power):
    model, y = OTHERS[name]
    plain = type(model)(**model.get_params()).fit(X, y)
    scaled = type(model)(**model.get_params()).fit(np.ldexp(X, power), y)
    np.testing.assert_allclose(scaled.predict(np.ldexp(X, power)), plain.predict(X), rtol=1e-9)
