"""Optimality and invariances of generalised linear models on drawn tables."""

import itertools
import warnings

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.base import AssayWarning
from assay.models.linear import GLM
from tests.helpers import examples

tables = st.tuples(
    st.integers(0, 2**32 - 1),
    st.integers(8, 120),
    st.integers(1, 8),
    st.sampled_from(["gaussian", "bernoulli", "poisson", "gamma", "inverse_gaussian", "tweedie", "negative_binomial"]),
    st.floats(1e-4, 1e2),
)
# Derivative of the mean over the variance, under the default links.
RATIO = {
    "gaussian": np.ones_like,
    "bernoulli": np.ones_like,
    "poisson": np.ones_like,
    "gamma": lambda mean: 1 / mean,
    "inverse_gaussian": lambda mean: mean**-2,
    "tweedie": lambda mean: mean**-0.5,
    "negative_binomial": lambda mean: 1 / (1 + mean / 2.0),
}


def draw(seed, n, p, family):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-3, 4, size=p)
    y = rng.gamma(1.0, 2.0, size=n) + 0.01
    if family == "bernoulli":
        y = (y > 1.5).astype(float)
        y[:2] = 0.0, 1.0
    elif family in ("poisson", "negative_binomial"):
        y = np.floor(y) + (np.arange(n) == 0)
    elif family == "gaussian":
        y = rng.normal(size=n) * 10.0 ** rng.integers(-6, 7)
    return X, y, rng.uniform(0.1, 2.0, size=n)


def fit(family, **options):
    return GLM(family=family, theta=2.0 if family == "negative_binomial" else None, **options)


@settings(max_examples=examples(60))
@given(tables)
def test_gradient_of_the_penalised_objective_is_zero(table):
    seed, n, p, family, alpha = table
    X, y, weights = draw(seed, n, p, family)
    model = fit(family, alpha=alpha).fit(X, y, sample_weight=weights)
    mean = model.predict(X)
    share = weights / weights.sum()
    score = share * (mean - y) * RATIO[family](mean)
    size = np.abs(score).sum() + 1e-12
    slope = X.T @ score + alpha * model.coef_
    assert np.abs(slope / (np.abs(X).max(axis=0) * size)).max() < 1e-6
    assert abs(score.sum()) < 1e-6 * size


@settings(max_examples=examples(40))
@given(tables, st.floats(0.1, 1.0))
def test_subgradient_of_the_absolute_penalty_holds_zero(table, share):
    seed, n, p, family, alpha = table
    X, y, _ = draw(seed, n, p, family)
    scale = np.abs(X).max(axis=0)
    model = fit(family, alpha=alpha, l1_ratio=share, max_iter=300).fit(X, y)
    mean = model.predict(X)
    score = (mean - y) * RATIO[family](mean) / n
    slope = X.T @ score + alpha * (1 - share) * model.coef_
    room = 1e-6 * scale * np.abs(score).sum() + 1e-12
    zero = model.coef_ == 0
    assert (np.abs(slope[zero]) <= alpha * share + room[zero]).all()
    assert (np.abs(slope + alpha * share * np.sign(model.coef_))[~zero] <= room[~zero]).all()


@settings(max_examples=examples(40))
@given(tables)
def test_objective_never_rises_whatever_the_table(table):
    seed, n, p, family, alpha = table
    X, y, _ = draw(seed, n, p, family)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssayWarning)
        model = fit(family, alpha=alpha * (seed % 2), trace=True, l1_ratio=0.5 * (seed % 3 == 0)).fit(X, y)
    values = [record["values"]["objective"] for record in model.trace_]
    assert all(after <= before for before, after in itertools.pairwise(values))
    assert np.isfinite(model.coef_).all() and np.isfinite(model.intercept_)


@settings(max_examples=examples(30))
@given(tables)
def test_order_of_rows_and_columns_does_not_matter(table):
    seed, n, p, family, alpha = table
    X, y, _ = draw(seed, n, p, family)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(n), rng.permutation(p)
    one, other = fit(family, alpha=alpha).fit(X, y), fit(family, alpha=alpha).fit(X[rows][:, columns], y[rows])
    spread = np.ptp(one.predict_linear(X)) + 1e-6 * np.abs(one.predict_linear(X)).max()
    np.testing.assert_allclose(
        other.predict_linear(X[:, columns]), one.predict_linear(X), rtol=1e-6, atol=1e-6 * spread + 1e-12
    )
