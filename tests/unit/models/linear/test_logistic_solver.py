"""The Newton iteration by itself: bad starts, and standardisation that leaves the objective alone."""

from itertools import pairwise

import numpy as np
import pytest

from assay.base import Trace
from assay.models.linear import LogisticRegression, logistic_sample, logistic_solver
from assay.models.linear.logistic_solver import AbsoluteProblem, Problem, Task
from assay.numeric.newton import damped_newton


def solve(task, tol, max_iter, trace, start=None):
    problem = Problem(task, tol, trace)
    return problem.solution(damped_newton(problem, problem.start(start), max_iter, **problem.limits))


def make_task(classes, **changes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * [1.0, 100.0, 0.01] + [0.0, 50.0, -1.0]
    codes = rng.integers(0, classes, size=200).astype(np.int32)
    settings = {"rows": None, "weights": None, "C": 1.0, "fit_intercept": True, "reference": None, "threads": 1}
    return Task(X=X, codes=codes, n_classes=classes, **{**settings, **changes})


@pytest.mark.parametrize("classes", [2, 3])
def test_bad_start_is_repaired_by_halving_steps(monkeypatch, classes):
    task = make_task(classes)
    evaluated = []
    at = Problem.at
    monkeypatch.setattr(Problem, "at", lambda self, b: evaluated.append(at(self, b)) or evaluated[-1])
    outputs = 1 if classes == 2 else classes
    far = np.linspace(4.0, 8.0, 3 * outputs).reshape(outputs, 3) / task.X.std(axis=0)
    trace = Trace(on=True)
    from_far = solve(task, 1e-8, 100, trace, (far - far.mean(axis=0) * (outputs > 1), np.zeros(outputs)))
    assert len(evaluated) > from_far.n_iter, "no step was halved: the start is too good for this test"
    values = [record["values"]["objective"] for record in trace.records]
    assert all(after <= before for before, after in pairwise(values))
    from_zero = solve(task, 1e-8, 100, Trace(on=False))
    assert from_far.status == from_zero.status == "converged"
    np.testing.assert_allclose(from_far.coef, from_zero.coef, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_objective_is_that_of_the_raw_columns(fit_intercept):
    task = make_task(2, fit_intercept=fit_intercept, C=0.3)
    objective = Problem(task, 1e-8, Trace(on=False))
    coef, intercept = np.array([[0.5, -0.02, 30.0]]), np.array([0.7 if fit_intercept else 0.0])
    eta = task.X @ coef[0] + intercept[0]
    expected = np.sum(np.logaddexp(0, eta) - task.codes * eta) + (coef**2).sum() / (2 * 0.3)
    standard = objective.standard(coef, intercept)
    assert objective.at(standard).value == pytest.approx(expected, rel=1e-12)
    for back, given in zip(objective.raw(standard), (coef, intercept)):
        np.testing.assert_allclose(back, given, rtol=1e-12, atol=1e-12)


def test_rows_by_index_equal_a_copy_of_those_rows():
    task = make_task(3)
    rows = np.arange(199, 20, -2)
    by_index = solve(make_task(3, rows=rows), 1e-8, 100, Trace(on=False))
    copied = Task(**{**vars(task), "X": task.X[rows], "codes": task.codes[rows]})
    by_copy = solve(copied, 1e-8, 100, Trace(on=False))
    assert by_index.coef.tobytes() == by_copy.coef.tobytes()


@pytest.mark.parametrize(("classes", "l1_ratio"), [(2, 0.0), (2, 1.0), (3, 0.0), (3, 0.5)])
def test_many_rows_begin_at_a_sample_and_end_at_the_same_optimum(monkeypatch, classes, l1_ratio):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(33_000, 4)) * [1.0, 100.0, 0.01, 1.0]
    scores = (X / [1.0, 100.0, 0.01, 1.0]) @ rng.normal(size=(4, classes)) + rng.gumbel(size=(33_000, classes))
    y, weights = scores.argmax(axis=1), rng.integers(1, 4, size=33_000).astype(float)
    monkeypatch.setattr(logistic_sample, "LEAST_WORK", 0)
    passes = []
    sums = Problem.at
    monkeypatch.setattr(Problem, "at", lambda self, b: passes.append(self.task.codes.shape[0]) or sums(self, b))
    model = LogisticRegression(l1_ratio=l1_ratio, C=0.01).fit(X, y, weights)
    assert passes.count(33_000) <= 5 < len(passes), "no sample was fitted"
    monkeypatch.setattr(logistic_sample, "LEAST_WORK", 2**60)
    plain = LogisticRegression(l1_ratio=l1_ratio, C=0.01).fit(X, y, weights)
    spread = X.std(axis=0)
    np.testing.assert_allclose(model.coef_ * spread, plain.coef_ * spread, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, plain.intercept_, atol=1e-8)


def test_a_sample_without_enough_rows_of_a_class_is_left_out(monkeypatch):
    monkeypatch.setattr(logistic_sample, "LEAST_WORK", 0)
    X = np.random.default_rng(0).normal(size=(33_000, 2))
    y = np.zeros(33_000, dtype=int)
    y[::500] = 1
    seen = []
    sums = Problem.at
    monkeypatch.setattr(Problem, "at", lambda self, b: seen.append(self.task.codes.shape[0]) or sums(self, b))
    LogisticRegression().fit(X, y)
    assert set(seen) == {33_000}


@pytest.mark.parametrize("kind", [Problem, AbsoluteProblem])
def test_a_kept_hessian_leaves_the_optimum_alone(kind):
    task = make_task(2, l1_ratio=0.0 if kind is Problem else 0.5)
    ends = []
    for near in (0.0, kind.near):
        problem = kind(task, 1e-8, Trace(on=False))
        problem.near = near
        ends.append(problem.solution(damped_newton(problem, problem.start(None), 100, **problem.limits)))
        assert (problem.kept is None) == (near == 0.0)
    np.testing.assert_allclose(ends[1].coef, ends[0].coef, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("C", [0.01, 10.0])
def test_working_sets_of_a_narrow_table_end_where_newton_on_all_columns_does(classes, C, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 60)) * np.geomspace(0.1, 10, 60)
    y = np.digitize(
        X[:, :9] @ rng.normal(size=9) / X[:, :9].std() + rng.logistic(size=2000), [-1.0, 1.0][: classes - 1]
    )
    model = LogisticRegression(penalty="l1", C=C, trace=True)
    chosen = model.fit(X, y)
    values = [record["values"]["objective"] for record in chosen.trace_]
    assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(values))
    coef, intercept, used = chosen.coef_, chosen.intercept_, (chosen.coef_ != 0.0).any(axis=0)
    assert (used.sum() > 30) == (C == 10.0)
    monkeypatch.setattr(logistic_solver, "LEAST_TO_CHOOSE", 10**9)
    whole = model.fit(X, y)
    np.testing.assert_allclose(coef, whole.coef_, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(intercept, whole.intercept_, rtol=1e-6, atol=1e-7)
