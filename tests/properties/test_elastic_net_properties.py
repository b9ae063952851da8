"""Optimality of lasso and elastic net on any small table: Karush-Kuhn-Tucker conditions at the solution."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.models.linear import ElasticNet, enet_path
from assay.models.linear import elastic_net_solver as solver
from tests.helpers import examples


@st.composite
def problems(draw):
    seed = draw(st.integers(0, 10_000))
    n, p = draw(st.integers(2, 40)), draw(st.integers(1, 50))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.exp(rng.normal(size=p)) + rng.normal(size=p)
    if p > 2 and draw(st.booleans()):
        X[:, 1] = X[:, 0]
    y = X @ np.where(rng.random(p) < 0.3, rng.normal(size=p), 0) + rng.normal(size=n)
    weights = rng.integers(0, 3, size=n).astype(float) if draw(st.booleans()) else np.ones(n)
    weights[0] = 1.0
    return X, y, weights


@settings(max_examples=examples(150))
@given(
    problems(),
    st.sampled_from([1.0, 0.5, 0.05]),
    st.floats(1e-3, 1.0),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_optimality_conditions_hold_at_the_solution(problem, l1_ratio, share, positive, intercept, columns):
    X, y, weights = problem
    total = weights.sum()
    x_mean, y_mean = (weights @ X / total, weights @ y / total) if intercept else (0.0, 0.0)
    centred, right = X - x_mean, y - y_mean
    cross = centred.T @ (weights * right) / total
    scale = np.abs(cross).max()
    if scale < 1e-9:
        return
    alpha = share * scale / l1_ratio
    limits = solver.ALWAYS_MOMENTS, solver.MOST_MOMENTS
    try:
        if columns:
            solver.ALWAYS_MOMENTS = solver.MOST_MOMENTS = 0
        model = ElasticNet(alpha=alpha, l1_ratio=l1_ratio, positive=positive, fit_intercept=intercept, max_iter=50_000)
        b = model.fit(X, y, weights).coef_
    finally:
        solver.ALWAYS_MOMENTS, solver.MOST_MOMENTS = limits
    gradient = centred.T @ (weights * (right - centred @ b)) / total - alpha * (1 - l1_ratio) * b
    l1 = alpha * l1_ratio
    # Copies of a column make the active block singular, so the last step is a sweep there, not a solve.
    tight = 1e-8 * scale if np.linalg.matrix_rank(X) == min(X.shape) else 2e-2 * scale
    assert (np.abs(gradient - l1 * np.sign(b))[b != 0] <= tight).all()
    assert ((gradient if positive else np.abs(gradient)) <= l1 + tight).all()
    assert not positive or (b >= 0).all()


@settings(max_examples=examples(40))
@given(problems(), st.booleans())
def test_gap_bounds_the_distance_to_the_minimum(problem, positive):
    X, y, weights = problem
    if np.ptp(y[weights > 0]) == 0:
        return
    loose = enet_path(X, y, l1_ratio=0.8, alphas=5, tol=1e-2, sample_weight=weights, positive=positive)
    tight = enet_path(X, y, l1_ratio=0.8, alphas=5, tol=1e-11, sample_weight=weights, positive=positive, max_iter=10**5)

    def objective(path):
        residual = y[:, None] - X @ path.coef.T - path.intercept
        loss = weights @ residual**2 / (2 * weights.sum())
        size = 0.8 * np.abs(path.coef).sum(axis=1) + 0.1 * (path.coef**2).sum(axis=1)
        return loss + path.alphas * size

    excess = objective(loose) - objective(tight)
    assert (excess <= loose.dual_gaps + 1e-9 * y.var()).all()
