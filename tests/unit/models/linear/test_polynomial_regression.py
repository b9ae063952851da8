"""Polynomial regression: agreement with expanded least squares, conditioning, choice of degree."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from sklearn.preprocessing import PolynomialFeatures

from assay.base import AssayWarning, CostError
from assay.models.linear import PolynomialRegression, polynomial_regression
from assay.numeric.monomials import count_monomials, monomial_powers


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 3, size=(200, 3))
    return X, 1 + X[:, 0] - 2 * X[:, 1] * X[:, 2] + 0.5 * X[:, 0] ** 3 + 0.1 * rng.normal(size=200)


@pytest.mark.parametrize("interaction_only", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_coefficients_equal_least_squares_on_the_expanded_columns(table, interaction_only, fit_intercept):
    X, y = table
    model = PolynomialRegression(degree=3, interaction_only=interaction_only, fit_intercept=fit_intercept).fit(X, y)
    expand = PolynomialFeatures(3, interaction_only=interaction_only, include_bias=False).fit(X)
    np.testing.assert_array_equal(model.powers_, expand.powers_)
    peer = LinearRegression(fit_intercept=fit_intercept).fit(expand.transform(X), y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-9)
    np.testing.assert_allclose(model.predict(X), peer.predict(expand.transform(X)), atol=1e-9)
    assert model.get_monomial_names() == expand.get_feature_names_out(["x0", "x1", "x2"]).tolist()


def test_far_from_zero_and_of_high_degree_the_curve_is_still_found():
    x = np.linspace(1000.0, 1001.0, 60)
    z = x - 1000.5
    y = 3 + z - 4 * z**5
    model = PolynomialRegression(degree=6).fit(x[:, None], y)
    np.testing.assert_allclose(model.predict(x[:, None]), y, atol=1e-10)
    raw = LinearRegression().fit(np.column_stack([x**k for k in range(1, 7)]), y)
    assert np.abs(raw.predict(np.column_stack([x**k for k in range(1, 7)])) - y).max() > 1e-3


@pytest.mark.parametrize("scale", [1e12, 1e-12, 1e60])
def test_units_do_not_matter(table, scale):
    X, y = table
    model, scaled = PolynomialRegression(degree=2).fit(X, y), PolynomialRegression(degree=2).fit(X * scale, y)
    np.testing.assert_allclose(scaled.predict(X * scale), model.predict(X), rtol=1e-9, atol=1e-9)
    assert np.isfinite(scaled.coef_).all()


@pytest.mark.parametrize("criterion", ["aic", "bic", "validation"])
def test_criteria_find_the_degree_of_the_curve(criterion):
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, size=(150, 1))
    y = x[:, 0] ** 3 - x[:, 0] + 0.3 * rng.normal(size=150)
    model = PolynomialRegression(degree=7, criterion=criterion, random_state=0).fit(x, y)
    assert 3 <= model.degree_ <= (3 if criterion == "bic" else 5)
    assert model.criterion_values_.shape == (7,)
    assert model.degree_ == 1 + model.criterion_values_.argmin()
    np.testing.assert_allclose(
        model.coef_, PolynomialRegression(degree=model.degree_).fit(x, y).coef_, rtol=1e-10, atol=1e-12
    )


def test_aic_is_that_of_a_gaussian_model():
    """n log(RSS / n) + 2 (parameters + 1), the additive constant left out."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40, 1))
    y = x[:, 0] + rng.normal(size=40)
    model = PolynomialRegression(degree=2, criterion="aic").fit(x, y)
    for degree in (1, 2):
        residual = y - np.polyval(np.polyfit(x[:, 0], y, degree), x[:, 0])
        assert model.criterion_values_[degree - 1] == pytest.approx(
            40 * np.log(residual @ residual / 40) + 2 * (degree + 2)
        )


def test_seed_matters_for_validation_alone():
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, size=(30, 1))
    y = x[:, 0] ** 2 + 0.3 * rng.normal(size=30)
    values = [
        PolynomialRegression(degree=3, criterion="validation", random_state=s).fit(x, y).criterion_values_
        for s in (0, 0, 1)
    ]
    np.testing.assert_array_equal(values[0], values[1])
    assert (values[0] != values[2]).any()


def test_monomials_that_rows_cannot_tell_apart_are_named():
    X = np.array([[0.0], [1.0], [0.0], [1.0], [1.0]])
    with pytest.warns(AssayWarning, match=r"W101.*'x0\^2'"):
        model = PolynomialRegression(degree=2).fit(X, [1.0, 2.0, 1.0, 2.0, 2.0])
    np.testing.assert_allclose(model.predict(X), [1, 2, 1, 2, 2], atol=1e-12)
    assert np.isfinite(model.coef_).all()


@pytest.mark.filterwarnings("ignore::assay.base.AssayWarning")
def test_more_monomials_than_rows_and_constant_targets_stay_finite(table):
    X, y = table
    few = PolynomialRegression(degree=4).fit(X[:10], y[:10])
    assert np.isfinite(few.coef_).all() and np.isfinite(few.predict(X)).all()
    flat = PolynomialRegression(degree=2, criterion="bic").fit(X, np.zeros(len(y)))
    assert not flat.coef_.any() and flat.degree_ == 1


def test_weights_equal_repetition(table):
    X, y = table
    weights = np.random.default_rng(4).integers(0, 3, len(y))
    weighted = PolynomialRegression(criterion="aic", degree=3).fit(X, y, sample_weight=weights)
    repeated = PolynomialRegression(criterion="aic", degree=3).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-8, atol=1e-10)
    assert weighted.degree_ == repeated.degree_ and weighted.sigma_ == pytest.approx(repeated.sigma_)


@pytest.mark.parametrize("criterion", [None, "aic"])
def test_folds_equal_separate_fits(table, criterion):
    X, y = table
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    model = PolynomialRegression(degree=3, criterion=criterion)
    for (train, test), part in zip(folds, model.fit_folds(X, y, folds), strict=True):
        alone = PolynomialRegression(degree=3, criterion=criterion).fit(X[train], y[train])
        np.testing.assert_allclose(part.predict(X[test]), alone.predict(X[test]), rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(part.coef_, alone.coef_, rtol=1e-6, atol=1e-8)


def test_a_degree_out_of_reach_is_refused_before_it_starts(table):
    X, y = table
    with pytest.raises(CostError, match="lower the degree"):
        PolynomialRegression(degree=500).fit(X, y)


def test_monomials_are_counted_without_being_made():
    for p, degree, only in [(3, 4, False), (5, 3, True), (2, 6, True)]:
        assert count_monomials(p, degree, only) == len(monomial_powers(p, degree, only))


def test_blocks_of_rows_change_no_bit(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 3))
    y = X[:, 0] ** 2 + rng.normal(size=50)
    whole = PolynomialRegression(degree=3).fit(X, y)
    monkeypatch.setattr("assay.models.linear.polynomial_regression._BLOCK", 7)
    parts = PolynomialRegression(degree=3).fit(X, y)
    np.testing.assert_array_equal(whole.coef_, parts.coef_)
    np.testing.assert_array_equal(whole.predict(X), parts.predict(X))


@pytest.mark.parametrize("weighted", [False, True])
def test_monomials_summed_some_rows_at_a_time_give_the_fit_on_their_table(weighted, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(40_003, 3)) + 5.0
    y = X[:, 0] * X[:, 1] - X[:, 2] ** 3 + rng.normal(size=X.shape[0])
    weights = rng.integers(0, 3, size=X.shape[0]).astype(float) if weighted else None
    summed = PolynomialRegression(degree=3).fit(X, y, weights)
    np.testing.assert_array_equal(PolynomialRegression(degree=3, n_jobs=1).fit(X, y, weights).coef_, summed.coef_)
    monkeypatch.setattr(polynomial_regression, "_MANY", 10**9)
    table = PolynomialRegression(degree=3).fit(X, y, weights)
    np.testing.assert_allclose(summed.scaled_coef_, table.scaled_coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose([summed.sigma_, summed.r2_], [table.sigma_, table.r2_], rtol=1e-10)


def test_ends_of_columns_whatever_the_number_of_rows():
    rng = np.random.default_rng(1)
    for n in (1, 15, 16, 33, 100):
        X = rng.normal(size=(n, 3))
        np.testing.assert_array_equal(polynomial_regression._ends(X, np.minimum), X.min(axis=0))
        np.testing.assert_array_equal(polynomial_regression._ends(X, np.maximum), X.max(axis=0))
