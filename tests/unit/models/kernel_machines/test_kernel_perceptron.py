"""The kernel perceptron: the linear one in another space, its bound on mistakes, options, warnings."""

from __future__ import annotations

import numpy as np
import pytest

from assay.models.kernel_machines import KernelPerceptron, kernel_choice
from assay.models.linear import Perceptron
from assay.numeric import kernels


def clouds(n=120, classes=2, gap=6.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(n, 2)) + gap * np.array([[0.0, 0.0], [1.0, 0.5], [0.0, 1.0]])[y], y


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_linear_kernel_makes_the_mistakes_of_the_perceptron(average, classes):
    X, y = clouds(classes=classes)
    # The constant of the perceptron moves with every mistake, as that of the kernel machine does.
    model = KernelPerceptron(kernel="linear", shuffle=False, average=average, n_iter_no_change=None).fit(X, y)
    plain = Perceptron(shuffle=False, average=average, n_iter_no_change=None).fit(X, y)
    assert model.n_mistakes_ == plain.n_mistakes_ and model.n_iter_ == plain.n_iter_
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-9)


def test_mistakes_are_within_the_bound_of_the_margin():
    X, y = clouds()
    model = KernelPerceptron(kernel=kernels.Gaussian(0.5), n_iter_no_change=None, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    gram = kernels.Gaussian(0.5)(X) + 1.0
    sign = np.where(y == 1, 1.0, -1.0)
    from assay.models.kernel_machines import SVMClassifier

    hard = SVMClassifier(kernel="precomputed", C=np.inf).fit(gram, y)
    # Through the origin of the space with the constant: a margin that this machine has, perhaps not the widest.
    beta = np.zeros(len(y))
    beta[hard.support_] = hard.dual_coef_[0]
    reach = (sign * (gram @ beta)).min() / np.sqrt(beta @ gram @ beta)
    if reach > 0:
        assert model.n_mistakes_ <= gram.diagonal().max() / reach**2
    assert model.n_mistakes_ < len(y)


def test_float32_rows_separate_what_the_matrix_separates(monkeypatch):
    X, y = clouds(classes=3)
    exact = KernelPerceptron(gamma=0.5, shuffle=False).fit(X, y)
    monkeypatch.setattr(kernel_choice, "SMALL", 0)
    single = KernelPerceptron(gamma=0.5, shuffle=False).fit(X, y)
    assert single.n_mistakes_ == exact.n_mistakes_
    np.testing.assert_allclose(single.decision_function(X), exact.decision_function(X), atol=1e-4)
    gram = exact._kernel()(X)
    given = KernelPerceptron(kernel="precomputed", shuffle=False).fit(gram, y)
    np.testing.assert_allclose(given.decision_function(gram), exact.decision_function(X), atol=1e-9)


def test_rows_that_cannot_be_separated_are_warned_of():
    X, y = clouds(gap=0.5)
    with pytest.warns(UserWarning, match="the kernel may not separate the classes"):
        model = KernelPerceptron(kernel="linear", max_iter=5, random_state=0).fit(X, y)
    assert model.n_iter_ == 5
    with pytest.warns(UserWarning, match="still"):
        early = KernelPerceptron(kernel="linear", max_iter=1000, n_iter_no_change=3, random_state=0).fit(X, y)
    assert early.n_iter_ < 1000


def test_the_trace_counts_mistakes():
    X, y = clouds()
    model = KernelPerceptron(trace=True, random_state=0).fit(X, y)
    assert sum(record["values"]["mistakes"] for record in model.trace_) == model.n_mistakes_
