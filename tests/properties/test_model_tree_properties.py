"""Properties of model trees on random tables."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.models.trees import ModelTreeRegressor
from tests.helpers import examples


@st.composite
def tables(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(1, 60)), draw(st.integers(1, 5))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d)
    if draw(st.booleans()):
        X = X.round(1)
    if draw(st.booleans()):
        X[rng.random(X.shape) < 0.2] = np.nan
    y = np.nan_to_num(X) @ rng.normal(size=d) + rng.normal(size=n) * draw(st.sampled_from([0.0, 1.0]))
    return X, y


@settings(max_examples=examples(60))
@given(tables(), st.sampled_from(["tested", "all"]), st.booleans(), st.booleans())
def test_every_form_gives_the_same_finite_numbers(table, columns, smoothing, drop):
    X, y = table
    model = ModelTreeRegressor(columns=columns, smoothing=smoothing, drop=drop).fit(X, y)
    said = model.predict(X)
    assert np.isfinite(said).all()
    np.testing.assert_array_equal(model.to_rules().predict(X), said)


@settings(max_examples=examples(40))
@given(tables())
def test_without_dropping_a_deeper_tree_never_fits_the_training_rows_worse(table):
    X, y = table
    if np.isnan(X).any():
        X = np.nan_to_num(X)
    errors = []
    for depth in (1, 2, 3):
        model = ModelTreeRegressor(
            columns="all", max_depth=depth, smoothing=False, drop=False, prune=False, min_deviation=0.0
        )
        errors.append(((model.fit(X, y).predict(X) - y) ** 2).sum())
    slack = 1e-7 * ((y - y.mean()) ** 2).sum() + 1e-12
    assert errors[1] <= errors[0] + slack and errors[2] <= errors[1] + slack


@settings(max_examples=examples(40))
@given(tables(), st.integers(0, 1000))
def test_a_change_of_units_changes_nothing(table, seed):
    X, y = table
    factor = 2.0 ** np.random.default_rng(seed).integers(-5, 6, X.shape[1])
    one, other = ModelTreeRegressor().fit(X, y), ModelTreeRegressor().fit(X * factor, 4 * y)
    np.testing.assert_allclose(other.predict(X * factor), 4 * one.predict(X), rtol=1e-6, atol=1e-6)
