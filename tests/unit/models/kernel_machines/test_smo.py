"""The dual solver: shrinking ends where the whole problem ends, on every route."""

from __future__ import annotations

import numpy as np
import pytest

from assay import _kernels
from assay.models.kernel_machines import OneClassSVM, SVMClassifier, SVMRegressor, smo
from assay.numeric.kernels import Gaussian

GAMMA, HELD_OUT = 0.2, 50


def noisy(n, seed=0):
    """Classes that overlap, so that most alphas end at a bound."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where((np.sin(2 * X[:, 0]) + X[:, 1] > 0) ^ (rng.random(n) < 0.25), 1.0, -1.0)
    return X, y


def duals(X, y, price, shrinking, kind, cache_bytes):
    """The last rows have no variable: only their f is wanted."""
    n = len(y) - HELD_OUT
    kernel = _kernels.KernelRows(X, 3, GAMMA, 0.0, 0, kind != "exact rows")
    if kind not in ("rows", "exact rows"):
        kernel = Gaussian(GAMMA)(X) if kind == "float64" else kernel.gram(1)
    row = np.arange(n, dtype=np.int32)
    if price > 0:
        bound = y[:n] * price
        given = row, y[:n], np.minimum(bound, 0.0), np.maximum(bound, 0.0)
    else:  # regression, two variables a row
        target, nothing = X[:n, 0] ** 2 + 0.3 * y[:n], np.zeros(n)
        given = (
            np.concatenate([row, row]),
            np.concatenate([target - 0.1, target + 0.1]),
            np.concatenate([nothing, nothing + price]),
            np.concatenate([nothing - price, nothing]),
        )
    return smo.Dual(kernel, *given, cache_bytes, shrinking)


@pytest.mark.parametrize("price", [3.0, -3.0], ids=["classes", "numbers"])
@pytest.mark.parametrize(
    ("kind", "block", "cache_bytes"),
    [
        ("float64", 2048, 1e9),
        ("float64", 32, 1e9),
        ("float32", 32, 1e9),
        ("rows", 32, 1e9),
        ("rows", 32, 2e4),
        ("exact rows", 2048, 1e9),
        ("exact rows", 32, 2e4),
    ],
)
def test_shrinking_ends_where_the_whole_problem_ends(price, kind, block, cache_bytes, monkeypatch):
    monkeypatch.setattr(smo, "_SMALL_BLOCK", block)
    monkeypatch.setattr(smo, "_BLOCK", block)
    X, y = noisy(450)
    whole = duals(X, y, price, False, kind, cache_bytes).solve(1e-4, None, 1)
    dual = duals(X, y, price, True, kind, cache_bytes)
    found = dual.solve(1e-4, None, 1)
    assert found.shrunk > 0 and whole.shrunk == 0
    assert found.status == "converged" and found.objective == pytest.approx(whole.objective, rel=1e-6)
    # The conditions of optimality, for all variables and from the definition.
    weights = np.bincount(dual.row, found.beta, minlength=len(y))
    f = Gaussian(GAMMA)(X) @ weights
    np.testing.assert_allclose(found.f, f, atol=2e-4)
    e = dual.target - f[dual.row]
    assert e[found.beta < dual.high].max() - e[found.beta > dual.low].min() <= 5e-4
    assert abs(found.beta.sum()) < 1e-9
    # Rows without a variable have the values of the whole problem too.
    np.testing.assert_allclose(found.f[-HELD_OUT:], whole.f[-HELD_OUT:], atol=5e-3)
    again = duals(X, y, price, True, kind, cache_bytes).solve(1e-4, None, 3)
    assert (again.beta == found.beta).all() and (again.f == found.f).all()


def test_steps_run_out_within_a_shrunk_problem_too():
    X, y = noisy(450)
    found = duals(X, y, 30.0, True, "float64", 1e9).solve(1e-4, 1600, 1)
    assert found.shrunk > 0 and found.status == "max_iter" and found.n_iter == 1600
    weights = np.bincount(np.arange(400), found.beta, minlength=450)
    np.testing.assert_allclose(found.f, Gaussian(GAMMA)(X) @ weights, atol=1e-9)


@pytest.mark.parametrize("price", [3.0, 1e3])
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_what_float32_left_to_do_is_done_in_float64(price, tol):
    X, y = noisy(800)
    model = SVMClassifier(C=price, gamma=GAMMA, tol=tol).fit(X, y)
    beta = np.zeros(800)
    beta[model.support_] = model.dual_coef_[0]
    f = Gaussian(GAMMA)(X) @ beta
    e, bound = y - f, y * price
    e_up, e_down = e[beta < np.maximum(bound, 0.0)], e[beta > np.minimum(bound, 0.0)]
    assert e_up.max() - e_down.min() <= tol + 1e-10
    np.testing.assert_allclose(model.decision_function(X), f + model.intercept_, atol=1e-9)


@pytest.mark.parametrize("learner", [SVMClassifier(C=3.0), SVMRegressor(C=3.0), OneClassSVM(nu=0.4)])
def test_machines_do_not_depend_on_shrinking(learner):
    X, y = noisy(300)
    said = [learner.set_params(shrinking=on).fit(X, y).predict(X[:50]) for on in (False, True)]
    np.testing.assert_allclose(said[0], said[1], atol=1e-6)
