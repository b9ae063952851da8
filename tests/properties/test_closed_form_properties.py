"""Laws of the closed-form models on tables that Hypothesis makes."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.models.bayes import NaiveBayes
from assay.models.linear import LeastSquares, Ridge
from tests.helpers import examples

cells = st.integers(-1000, 1000).map(lambda v: v / 8)


@st.composite
def regression_tables(draw):
    n, p = draw(st.integers(2, 25)), draw(st.integers(1, 6))
    X = draw(arrays(np.float64, (n, p), elements=cells))
    y = draw(arrays(np.float64, n, elements=cells))
    weights = draw(arrays(np.float64, n, elements=st.integers(1, 3).map(float)))
    return X, y, weights


@settings(max_examples=examples(60))
@given(regression_tables(), st.sampled_from([1e-3, 0.5, 1.0, 100.0]), st.booleans())
def test_the_gradient_of_ridge_is_zero_at_its_solution(table, alpha, intercept):
    X, y, w = table
    model = Ridge(alpha=alpha, fit_intercept=intercept).fit(X, y, sample_weight=w)
    residual = w * (y - model.predict(X))
    scale = 1 + np.linalg.norm(X) * np.linalg.norm(w * y)
    assert np.abs(X.T @ residual - alpha * model.coef_).max() <= 1e-8 * scale
    if intercept:
        assert abs(residual.sum()) <= 1e-8 * scale


@settings(max_examples=examples(60))
@given(regression_tables(), st.booleans())
def test_residuals_of_least_squares_are_orthogonal_to_every_column(table, intercept):
    X, y, w = table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LeastSquares(fit_intercept=intercept).fit(X, y, sample_weight=w)
    assert np.isfinite(model.coef_).all() and not np.isnan(model.coef_se_).any() and 0 <= model.f_p_value_ <= 1
    residual = w * (y - model.predict(X))
    largest = np.abs(X).sum() * np.abs(model.coef_).sum() + np.abs(y).sum() + 1
    assert np.abs(X.T @ residual).max() <= 1e-10 * largest * (1 + np.linalg.norm(X))


@settings(max_examples=examples(40))
@given(regression_tables(), st.permutations(range(6)))
def test_the_order_of_rows_and_columns_does_not_matter_to_ridge(table, order):
    X, y, w = table
    columns = [j for j in order if j < X.shape[1]]
    rows = np.argsort(y, kind="stable")[::-1]
    plain = Ridge().fit(X, y, sample_weight=w)
    shuffled = Ridge().fit(X[rows][:, columns], y[rows], sample_weight=w[rows])
    np.testing.assert_allclose(shuffled.coef_, plain.coef_[columns], rtol=1e-7, atol=1e-8)


@st.composite
def class_tables(draw):
    n, p = draw(st.integers(4, 30)), draw(st.integers(1, 4))
    X = draw(arrays(np.float64, (n, p), elements=st.one_of(cells, st.just(np.nan), st.sampled_from([0.0, 1.0]))))
    y = draw(arrays(np.int64, n, elements=st.integers(0, 2)))
    return X, y


@settings(max_examples=examples(60))
@given(class_tables(), st.integers(1, 3))
def test_naive_bayes_gives_probabilities_and_parts_add_up_to_the_whole(table, parts):
    X, y = table
    model = NaiveBayes().fit(X, y)
    p = model.predict_proba(X)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[np.argmax(model.predict_joint_log_proba(X), axis=1)])
    grown = NaiveBayes()
    for rows in np.array_split(np.arange(len(y)), parts):
        if len(rows):
            grown.partial_fit(X[rows], y[rows], classes=np.unique(y))
    assert grown.distributions_ == model.distributions_
    np.testing.assert_allclose(grown.theta_, model.theta_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(grown.class_prior_, model.class_prior_)
