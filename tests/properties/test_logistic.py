"""Optimality and invariances of logistic regression on drawn tables."""

import itertools
import warnings

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.base import AssayWarning
from assay.models.linear import LogisticRegression
from tests.helpers import examples

tables = st.tuples(
    st.integers(0, 2**32 - 1), st.integers(5, 120), st.integers(1, 9), st.integers(2, 5), st.floats(1e-3, 1e3)
)


def draw(seed, n, p, classes):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-3, 4, size=p) + rng.normal(size=p)
    y = rng.integers(0, classes, size=n)
    y[:classes] = np.arange(classes)
    return X, y, rng.uniform(0.1, 2.0, size=n)


@settings(max_examples=examples(60))
@given(tables)
def test_gradient_is_zero_at_the_solution(table):
    seed, n, p, classes, C = table
    X, y, weights = draw(seed, n, p, classes)
    model = LogisticRegression(C=C).fit(X, y, sample_weight=weights)
    residual = weights[:, None] * (model.predict_proba(X) - np.eye(classes)[y])
    residual = residual[:, 1:] if classes == 2 else residual
    scale = np.abs(X).max(axis=0) * weights.sum()
    assert np.abs((residual.T @ X + model.coef_ / C) / scale).max() < 1e-7
    assert np.abs(residual.sum(axis=0)).max() < 1e-7 * weights.sum()


@settings(max_examples=examples(30))
@given(tables)
def test_order_of_rows_and_columns_does_not_matter(table):
    seed, n, p, classes, C = table
    X, y, weights = draw(seed, n, p, classes)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(n), rng.permutation(p)
    one = LogisticRegression(C=C).fit(X, y, sample_weight=weights)
    other = LogisticRegression(C=C).fit(X[rows][:, columns], y[rows], sample_weight=weights[rows])
    np.testing.assert_allclose(other.decision_function(X[:, columns]), one.decision_function(X), rtol=1e-6, atol=1e-6)


@settings(max_examples=examples(30))
@given(tables)
def test_objective_never_rises_whatever_the_table(table):
    seed, n, p, classes, C = table
    X, y, _ = draw(seed, n, p, classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssayWarning)
        model = LogisticRegression(C=C * 1e3, trace=True, fit_intercept=bool(seed % 2)).fit(X, y)
    values = [record["values"]["objective"] for record in model.trace_]
    assert all(after <= before for before, after in itertools.pairwise(values))
    assert np.isfinite(model.coef_).all()
