"""Descent on random tables: the objective never rises, the end has no slope, kernels agree with written-down sums."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import _kernels
from assay.base import AssayWarning
from assay.evaluate import pair_accuracy
from assay.models.linear import GradientDescentClassifier, GradientDescentRegressor, Perceptron
from tests.helpers import examples

SMOOTH = st.sampled_from(["log_loss", "squared_hinge", "modified_huber", "squared_error"])


def table(seed: int, n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) * np.exp(rng.normal(size=p)), rng.normal(size=n)


def quiet(model, *data, **extra):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssayWarning)
        return model.fit(*data, **extra)


@settings(max_examples=examples(40))
@given(
    st.integers(0, 10**6),
    st.integers(5, 60),
    st.integers(1, 6),
    SMOOTH,
    st.integers(2, 4),
    st.sampled_from(["l1", "l2", "elasticnet", None]),
)
def test_objective_never_rises_with_the_default_step(seed, n, p, loss, n_classes, penalty):
    X, _ = table(seed, n, p)
    codes = np.arange(n) % n_classes
    model = quiet(GradientDescentClassifier(loss=loss, penalty=penalty, alpha=0.05, max_iter=60, trace=True), X, codes)
    losses = np.array([record["values"]["loss"] for record in model.trace_])
    assert (np.diff(losses) <= 1e-12 * losses[:-1]).all()


@settings(max_examples=examples(30))
@given(st.integers(0, 10**6), st.integers(8, 60), st.integers(1, 4), st.sampled_from(["l1", "l2", "elasticnet"]))
def test_optimality_conditions_hold_at_the_end(seed, n, p, penalty):
    X, y = table(seed, n, p)
    X = X / X.std(axis=0)
    alpha, ratio = 0.1, {"l1": 1.0, "l2": 0.0, "elasticnet": 0.15}[penalty]
    model = quiet(GradientDescentRegressor(penalty=penalty, alpha=alpha, tol=1e-10, max_iter=50_000), X, y)
    residual = X @ model.coef_ + model.intercept_ - y
    slope = X.T @ residual / n + alpha * (1 - ratio) * model.coef_
    used = model.coef_ != 0
    assert abs(residual.mean()) < 1e-6
    assert np.abs(slope + alpha * ratio * np.sign(model.coef_))[used].max(initial=0.0) < 1e-6
    assert np.abs(slope)[~used].max(initial=0.0) <= alpha * ratio + 1e-6


@settings(max_examples=examples(30))
@given(st.integers(0, 10**6), st.integers(2, 40), st.sampled_from([None, 1, 7]))
def test_order_of_columns_does_not_matter(seed, n, batch_size):
    X, y = table(seed, n, 4)
    order = np.array([2, 0, 3, 1])
    options = {"batch_size": batch_size, "random_state": 3, "max_iter": 5, "tol": None}
    straight = quiet(GradientDescentRegressor(**options), X, y)
    turned = quiet(GradientDescentRegressor(**options), X[:, order], y)
    np.testing.assert_allclose(turned.coef_, straight.coef_[order], rtol=1e-3, atol=1e-5)


@settings(max_examples=examples(60))
@given(
    st.lists(
        st.tuples(st.integers(-4, 4), st.integers(0, 3), st.integers(0, 2), st.integers(1, 3)), min_size=1, max_size=25
    ),
    st.booleans(),
)
def test_ranking_sums_equal_those_of_all_pairs(rows, squared):
    rows = sorted(rows, key=lambda row: row[2])
    # Quarters: differences are exact, so that a pair at the margin is at the margin on every path.
    scores = np.array([row[0] / 4 for row in rows])
    levels, groups = np.array([row[1] for row in rows], dtype=np.int32), np.array([row[2] for row in rows])
    weights = np.array([float(row[3]) for row in rows])
    begin = np.append(np.flatnonzero(np.diff(groups, prepend=-1)), len(rows)).astype(np.int64)
    loss, gradient = _kernels.rank_loss(scores, levels, weights, begin, squared, 1)
    pairs = (groups[:, None] == groups) & (levels[:, None] > levels)
    gap = np.where(pairs, np.maximum(1 - scores[:, None] + scores, 0), 0)
    both = weights[:, None] * weights
    assert np.isclose(loss, (both * (0.5 * gap**2 if squared else gap)).sum())
    slope = both * (gap if squared else gap > 0)
    np.testing.assert_allclose(gradient, slope.sum(axis=0) - slope.sum(axis=1), atol=1e-9)
    if pairs.any():
        right = np.where(scores[:, None] > scores, 1.0, np.where(scores[:, None] == scores, 0.5, 0.0))
        expected = (both * right)[pairs].sum() / both[pairs].sum()
        assert np.isclose(pair_accuracy(levels, scores, groups=groups, sample_weight=weights), expected)


@settings(max_examples=examples(30))
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_the_perceptron_is_the_same_in_any_unit(seed, p):
    X, _ = table(seed, 30, p)
    codes = np.arange(30) % 3
    options = {"fit_intercept": False, "max_iter": 5, "random_state": 0}
    one = quiet(Perceptron(**options), X, codes)
    other = quiet(Perceptron(**options), 4.0 * X, codes)
    np.testing.assert_array_equal(4.0 * one.coef_, other.coef_)
