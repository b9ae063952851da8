"""Linear machines of columns far from zero, of large cells and of high prices; warnings of machines that stall."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

from assay.base import AssayWarning, DataError
from assay.models.kernel_machines import SVMClassifier, SVMRegressor
from assay.models.kernel_machines.linear_machine import LEVEL_STEPS, LinearMachine, LinearProblem
from assay.numeric.newton import damped_newton


def lines(n=200, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    noisy = X[:, 0] + rng.normal(size=n)
    return X, noisy > 0, noisy


def solve_linear(problem, tol, start=None):
    machine = LinearMachine(problem, tol, start)
    for level in machine.levels():
        level.end = damped_newton(level, level.point, LEVEL_STEPS, line=level.line)
    return machine.found


def primal(model, X, y):
    """The objective at the coefficients that were found."""
    f = X @ model.coef_.ravel() + float(np.ravel(model.intercept_)[0])
    if isinstance(model, SVMClassifier):
        slack = np.maximum(0.0, 1.0 - np.where(y, 1.0, -1.0) * f)
    else:
        slack = np.maximum(0.0, np.abs(y - f) - model.epsilon)
    return 0.5 * float(model.coef_.ravel() @ model.coef_.ravel()) + model.C * slack.sum()


@pytest.fixture
def strict():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("kind", [SVMClassifier, SVMRegressor])
@pytest.mark.parametrize(
    ("scale", "C"), [(1e6, 1.0), (1e3, 1e5), (1e3, 1e6), (1.0, 1e12), (1e9, 1.0), (1e40, 1.0), (1e-3, 1e9)]
)
def test_large_cells_and_prices_have_the_machine_without_penalty(strict, kind, scale, C):
    X, label, number = lines()
    y = label if kind is SVMClassifier else number
    model = kind(kernel="linear", C=C).fit(X * scale, y)
    # From here on the penalty changes nothing that can be seen: the losses alone decide.
    known = kind(kernel="linear", C=1e5).fit(X, y)
    assert model.coef_ * scale == pytest.approx(known.coef_, abs=2e-4)
    found, bound = primal(model, X * scale, y), float(np.ravel(model.objective_)[0])
    assert bound <= found * (1 + 1e-12) and found - bound <= 1e-5 * found
    assert np.ravel(model.violation_)[0] <= model.tol * 2


@pytest.mark.parametrize("scale", [3e5, 1e6, 3e6, 1e7])
def test_no_scale_is_refused(strict, scale):
    X, label, _ = lines(80, 2)
    model = SVMClassifier(kernel="linear").fit(X * scale, label)
    assert model.objective_[0] == pytest.approx(
        SVMClassifier(kernel="linear").fit(X * 1e4, label).objective_[0], rel=1e-5
    )
    assert model.margin_[0] == pytest.approx(2.0 / np.linalg.norm(model.coef_))


def test_only_what_is_out_of_range_is_refused():
    X, label, _ = lines(80, 2)
    with pytest.raises(DataError, match="squares in float64"):
        SVMClassifier(kernel="linear").fit(X * 1e160, label)


@pytest.mark.parametrize("offset", [1e4, 1e8, 1e9])
@pytest.mark.parametrize("n", [80, 2500])
@pytest.mark.parametrize("kind", [SVMClassifier, SVMRegressor])
def test_columns_far_from_zero_move_nothing_but_the_constant(strict, kind, n, offset):
    X, label, number = lines(n, 2)
    X = np.round(X * 2**10) / 2**10  # so that the moved cells are exact
    y = label if kind is SVMClassifier else number
    here, there = kind(kernel="linear").fit(X, y), kind(kernel="linear").fit(X + offset, y)
    assert there.coef_ == pytest.approx(here.coef_, abs=1e-4)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-5)
    assert there.score(X + offset, y) == pytest.approx(here.score(X, y), abs=0.02 if n == 80 else 0.002)


def test_a_hard_margin_and_a_list_of_prices_far_from_zero(strict):
    X, y = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 1.0], [4.0, 2.0]]), [0, 0, 1, 1]
    here = SVMClassifier(kernel="linear", C=np.inf).fit(X, y)
    there = SVMClassifier(kernel="linear", C=np.inf).fit(X + 1e8, y)
    assert there.coef_ == pytest.approx(here.coef_, abs=1e-9) and there.margin_ == pytest.approx(here.margin_)
    X, label, _ = lines(80, 2)
    several = {"kernel": "linear", "C": [0.1, 1.0, 10.0], "cv": 3}
    here, there = SVMClassifier(**several).fit(X, label), SVMClassifier(**several).fit(X + 1e8, label)
    assert there.C_ == here.C_ and there.scores_ == pytest.approx(here.scores_)
    assert np.ptp(SVMClassifier(**several).fit(X * 1e6, label).scores_, axis=1).max() < 0.05


def test_sparse_rows_with_a_column_far_from_zero_are_the_dense_ones(strict):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2500, 12)) * (rng.random(size=(2500, 12)) < 0.1)
    X[:, 0] = rng.normal(size=2500) + 1e8
    y = X[:, 0] - 1e8 + 3 * X[:, 1] + rng.normal(size=2500)
    dense = SVMRegressor(kernel="linear").fit(X, y)
    sparse = SVMRegressor(kernel="linear").fit(csr_array(X), y)
    assert sparse.coef_ == pytest.approx(dense.coef_, abs=1e-3) and dense.coef_[0] == pytest.approx(1.0, abs=0.1)
    assert sparse.objective_ == pytest.approx(dense.objective_, rel=1e-5)


def test_one_column_of_incomes_takes_few_steps(strict):
    rng = np.random.default_rng(1)
    X = rng.lognormal(10.5, 0.5, size=(100, 1))
    y = np.log(X[:, 0]) + rng.normal(size=100)
    model = SVMRegressor(kernel="linear").fit(X, y)
    assert model.n_iter_ < 200 and primal(model, X, y) == pytest.approx(model.objective_, rel=1e-5)


def test_dependent_columns_take_the_step_from_the_rows():
    X, label, _ = lines(60, 3)
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(60)]) * 1e7
    problem = LinearProblem(X, np.where(label, 1.0, -1.0), np.ones(60), None, 1)
    found = solve_linear(problem, 1e-6)
    assert found.converged and found.dual <= found.primal <= found.dual * (1 + 1e-5)
    again = solve_linear(problem, 1e-6, (found.coef, found.intercept))
    assert again.converged and again.primal == pytest.approx(found.primal, rel=1e-6)


def test_a_machine_that_ends_above_tol_warns():
    rng = np.random.default_rng(53)
    base = rng.normal(size=(10, 1))
    X = np.round(base @ np.ones((1, 3)) + 1e-8 * rng.normal(size=(10, 3)), 2)
    y = rng.integers(0, 2, 10)
    model = SVMClassifier(kernel="gaussian", tol=1.0, C=1.0, cache_bytes=1.0)
    with pytest.warns(AssayWarning, match="W201"):
        model.fit(X, y, sample_weight=np.full(10, 1e8))
    assert model.violation_[0] > 1.0
