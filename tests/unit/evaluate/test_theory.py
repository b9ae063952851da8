"""Bounds of learning theory: the printed formulas, their inverses, and what they promise, checked by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.base import ParameterError
from assay.evaluate import (
    growth_bound,
    hoeffding_bound,
    hoeffding_epsilon,
    hoeffding_sample_size,
    pac_delta,
    pac_epsilon,
    pac_sample_size,
    support_vector_bound,
    vc_dimension,
)
from assay.evaluate.theory import _log_growth

CLASSES = [
    ("rectangle", {}),
    ("rectangle", {"n_features": 5}),
    ("interval", {}),
    ("finite", {"n_hypotheses": 973}),
    ("finite", {"n_hypotheses": 973, "agnostic": True}),
    ("vc", {"dimension": 4}),
    ("vc", {"dimension": 4, "agnostic": True}),
]


@pytest.mark.parametrize(
    ("name", "parameters", "dimension"),
    [
        ("ray", {}, 1),
        ("interval", {}, 2),
        ("union of intervals", {"n_intervals": 3}, 6),
        ("rectangle", {}, 4),
        ("box", {"n_features": 7}, 14),
        ("half-space", {"n_features": 3}, 4),
        ("half-space through the origin", {"n_features": 3}, 3),
        ("circle", {}, 3),
        ("ball", {"n_features": 5}, 6),
        ("polynomial", {"n_features": 2, "degree": 2}, 6),
        ("decision stump", {}, 2),
        ("decision stump", {"n_features": 2}, 3),
        ("decision stump", {"n_features": 3}, 4),
        ("convex polygon", {}, math.inf),
        ("convex polygon", {"n_sides": 3}, 7),
        ("finite", {"n_hypotheses": 1024}, 10),
        ("finite", {"n_hypotheses": 1023}, 9),
        ("sine", {}, math.inf),
        ("nearest neighbour", {}, math.inf),
    ],
)
def test_vc_dimensions_are_those_of_the_textbooks(name, parameters, dimension):
    assert vc_dimension(name, **parameters) == dimension


def test_polynomials_of_degree_one_are_half_spaces():
    for d in range(1, 6):
        assert vc_dimension("polynomial", n_features=d, degree=1) == vc_dimension("half-space", n_features=d)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: vc_dimension("halfspce"), "did you mean"),
        (lambda: vc_dimension("interval", n_features=2), "does not apply"),
        (lambda: vc_dimension("rectangle", n_features=0), "integer >= 1"),
        (lambda: vc_dimension("finite"), "is needed"),
        (lambda: vc_dimension("convex polygon", n_sides=2), "integer >= 3"),
        (lambda: pac_sample_size("rectangle", epsilon=0, delta=0.1), "between 0 and 1"),
        (lambda: pac_sample_size("rectangle", epsilon=0.1, delta=1), "between 0 and 1"),
        (lambda: pac_sample_size("rectangle", epsilon=0.1, delta=0.1, agnostic=True), "dimension=2"),
        (lambda: pac_sample_size("finite", epsilon=0.1, delta=0.1), "is needed"),
        (lambda: pac_sample_size("finite", n_hypotheses=0, epsilon=0.1, delta=0.1), "at least 1"),
        (lambda: pac_sample_size("vc", n_hypotheses=3, dimension=2, epsilon=0.1, delta=0.1), "does not apply"),
        (lambda: pac_sample_size("vc", dimension=math.inf, epsilon=0.1, delta=0.1), "must be finite"),
        (lambda: pac_epsilon("rectangle", n=0, delta=0.1), "integer >= 1"),
        (lambda: pac_delta("rectangle", n=10, epsilon=2), "between 0 and 1"),
        (lambda: hoeffding_bound(10, -0.1), "positive"),
        (lambda: hoeffding_sample_size(0.1, 0.1, lower=1, upper=0), "in order"),
        (lambda: hoeffding_epsilon(10, 0.1, n_hypotheses=0), "integer >= 1"),
        (lambda: support_vector_bound(5, 3), "at most n = 3"),
        (lambda: growth_bound(-1, 2), "integer >= 0"),
    ],
)
def test_bad_input_gets_one_sentence(call, words):
    with pytest.raises(ParameterError, match=words):
        call()


def test_mitchells_examples_of_finite_classes():
    """Mitchell, Machine Learning (1997), section 7.3: conjunctions of up to 10 literals, and the 973 of EnjoySport."""
    assert pac_sample_size("finite", n_hypotheses=3**10, epsilon=0.1, delta=0.05) == 140
    assert pac_sample_size("finite", n_hypotheses=973, epsilon=0.1, delta=0.05) == math.ceil(
        (math.log(973) + math.log(20)) / 0.1
    )
    assert pac_sample_size("finite", n_hypotheses=973, epsilon=0.1, delta=0.05, agnostic=True) == math.ceil(
        (math.log(973) + math.log(20)) / 0.02
    )


def test_the_bound_of_blumer_and_others():
    """(4 log2(2 / delta) + 8 VC log2(13 / epsilon)) / epsilon, as in Mitchell (7.7)."""
    want = math.ceil((4 * math.log2(2 / 0.05) + 8 * 3 * math.log2(13 / 0.1)) / 0.1)
    assert pac_sample_size("vc", dimension=3, epsilon=0.1, delta=0.05) == want


@pytest.mark.parametrize(("name", "parameters"), CLASSES)
@pytest.mark.parametrize("exact", [False, True])
def test_the_three_directions_agree(name, parameters, exact):
    n = pac_sample_size(name, epsilon=0.05, delta=0.02, exact=exact, **parameters)
    if name in ("rectangle", "interval") and not exact:
        # The whole part of the closed form, which satisfies the inequality behind it but not the closed form itself.
        assert pac_delta(name, n=n, epsilon=0.05, exact=True, **parameters) <= 0.02
        n += 1
    assert pac_delta(name, n=n, epsilon=0.05, exact=exact, **parameters) <= 0.02
    assert pac_epsilon(name, n=n, delta=0.02, exact=exact, **parameters) <= 0.05 + 1e-12
    assert pac_delta(name, n=n - 1, epsilon=0.05, exact=exact, **parameters) > 0.02
    assert pac_epsilon(name, n=n - 1, delta=0.02, exact=exact, **parameters) > 0.05


@pytest.mark.parametrize(("name", "parameters"), CLASSES)
def test_the_closed_form_never_asks_for_fewer_rows_than_the_inequality_behind_it(name, parameters):
    for epsilon in (0.5, 0.1, 0.01):
        for delta in (0.9, 0.1, 1e-6):
            closed = pac_sample_size(name, epsilon=epsilon, delta=delta, **parameters)
            assert closed >= pac_sample_size(name, epsilon=epsilon, delta=delta, exact=True, **parameters)


def test_too_few_rows_guarantee_nothing():
    assert pac_epsilon("vc", n=3, dimension=50, delta=0.05) == 1.0
    assert pac_delta("vc", n=3, dimension=50, epsilon=0.1) == 1.0


def test_the_tightest_rectangle_errs_less_than_promised():
    """Fresh data, 400 times: the promise is broken in no more than delta of them."""
    epsilon, delta = 0.1, 0.1
    n = pac_sample_size("rectangle", epsilon=epsilon, delta=delta, exact=True)
    rng = np.random.default_rng(0)
    broken = 0
    for _ in range(400):
        points = rng.uniform(size=(n, 2))
        # The concept is the unit square itself, so the error is the area outside the tightest box.
        broken += 1 - np.prod(np.ptp(points, axis=0)) > epsilon
    assert broken / 400 <= delta


def test_hoeffding_covers_the_binomial():
    rng = np.random.default_rng(1)
    n = hoeffding_sample_size(0.1, 0.05)
    means = rng.binomial(n, 0.5, size=4000) / n
    assert np.mean(np.abs(means - 0.5) >= 0.1) <= 0.05
    assert hoeffding_bound(n, 0.1) <= 0.05 < hoeffding_bound(n - 1, 0.1)
    assert hoeffding_epsilon(n, 0.05) <= 0.1 < hoeffding_epsilon(n - 1, 0.05)


def test_hoeffding_in_other_units_one_sided_and_over_many_hypotheses():
    assert hoeffding_bound(100, 1.0, lower=0, upper=10) == pytest.approx(hoeffding_bound(100, 0.1))
    assert hoeffding_bound(100, 0.2, two_sided=False) == pytest.approx(hoeffding_bound(100, 0.2) / 2)
    assert hoeffding_bound(1000, 0.1, n_hypotheses=50) == pytest.approx(50 * hoeffding_bound(1000, 0.1))
    assert hoeffding_bound(1, 0.01) == 1.0
    assert hoeffding_sample_size(0.1, 0.05, n_hypotheses=10) > hoeffding_sample_size(0.1, 0.05)


def test_sauers_bound_is_all_labellings_up_to_the_dimension_and_fewer_beyond():
    for dimension in range(1, 5):
        for n in range(1, 10):
            bound = growth_bound(n, dimension)
            assert (bound == 2**n) == (n <= dimension)


def test_support_vectors_bound_the_leave_one_out_error():
    """Vapnik's bound against leave-one-out errors counted with scikit-learn's SVC."""
    from sklearn.model_selection import LeaveOneOut, cross_val_score
    from sklearn.svm import SVC

    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 2)) + 1.5 * y[:, None]
    machine = SVC(kernel="linear", C=1.0).fit(X, y)
    error = 1 - cross_val_score(machine, X, y, cv=LeaveOneOut()).mean()
    assert 0 < error <= support_vector_bound(int(machine.n_support_.sum()), 40)


def _close(risk):
    assert risk > 0
    return pytest.approx(risk, rel=1e-9, abs=0)  # risks are far below the usual absolute tolerance


@pytest.mark.parametrize("dimension", [1, 4, 9])
def test_the_growth_bounds_are_the_printed_ones_in_whole_numbers(dimension):
    """4 Pi(2 N) exp(-N epsilon^2 / 8) of Vapnik and Chervonenkis; 2 Pi(2 N) 2^(-epsilon N / 2) of Blumer and others."""
    n, epsilon = 20_000, 0.25
    growth = growth_bound(2 * n, dimension)
    agnostic = 4 * growth * math.exp(-n * epsilon**2 / 8)
    assert pac_delta("vc", n=n, epsilon=epsilon, dimension=dimension, agnostic=True) == _close(agnostic)
    n = 1500
    without_error = 2 * growth_bound(2 * n, dimension) * 2 ** (-epsilon * n / 2)
    assert pac_delta("vc", n=n, epsilon=epsilon, dimension=dimension, exact=True) == _close(without_error)


def test_the_risk_of_a_finite_class_and_of_rectangles_is_the_union_bound():
    assert pac_delta("finite", n=40, epsilon=0.3, n_hypotheses=50, exact=True) == pytest.approx(50 * 0.7**40)
    assert pac_delta("finite", n=40, epsilon=0.3, n_hypotheses=50) == pytest.approx(50 * math.exp(-12))
    assert pac_delta("finite", n=90, epsilon=0.3, n_hypotheses=50, agnostic=True) == pytest.approx(50 * math.exp(-16.2))
    assert pac_delta("rectangle", n=90, epsilon=0.3, n_features=3, exact=True) == pytest.approx(6 * 0.95**90)
    assert pac_delta("interval", n=90, epsilon=0.3) == pytest.approx(2 * math.exp(-13.5))
    # One hypothesis, and one row.
    assert pac_sample_size("finite", n_hypotheses=1, epsilon=0.5, delta=0.6) == 2
    assert pac_delta("finite", n=1, epsilon=0.5, n_hypotheses=1, exact=True) == pytest.approx(0.5)


def test_the_ends_of_what_can_be_asked():
    assert growth_bound(0, 0) == 1 == growth_bound(5, 0) and growth_bound(1, 7) == 2
    assert support_vector_bound(3, 3) == 1.0 and support_vector_bound(0, 1) == 0.0
    assert vc_dimension("finite", n_hypotheses=1) == 0 and vc_dimension("half-space", n_features=1.0) == 2
    assert [vc_dimension("stump", n_features=d) for d in (4, 5, 9, 10, 17, 18)] == [4, 5, 5, 6, 6, 7]
    for bad in (True, 2.5, "3"):
        with pytest.raises(ParameterError, match="integer >= 1"):
            vc_dimension("ball", n_features=bad)
    for lower, upper in ((0.0, math.inf), (-math.inf, 0.0), (1.0, 1.0)):
        with pytest.raises(ParameterError, match="in order"):
            hoeffding_bound(5, 0.1, lower=lower, upper=upper)
    with pytest.raises(ParameterError, match="positive"):
        hoeffding_bound(5, math.inf)


@pytest.mark.parametrize("epsilon", [0.0, -0.1, math.inf, math.nan])
def test_a_precision_must_be_a_positive_number(epsilon):
    with pytest.raises(ParameterError, match="must be a positive number"):
        hoeffding_bound(10, epsilon)
    with pytest.raises(ParameterError, match="must be a positive number"):
        hoeffding_sample_size(epsilon, 0.05)


@pytest.mark.parametrize(("lower", "upper"), [(-1.0, 1.0), (3.0, 5.0), (-8.0, -6.0)])
def test_only_the_width_of_the_range_counts(lower, upper):
    ends = {"lower": lower, "upper": upper}
    assert hoeffding_bound(100, 0.2, **ends) == pytest.approx(hoeffding_bound(100, 0.1))
    assert hoeffding_epsilon(100, 0.05, **ends) == pytest.approx(2 * hoeffding_epsilon(100, 0.05))
    assert hoeffding_sample_size(0.2, 0.05, **ends) == hoeffding_sample_size(0.1, 0.05)


def test_the_logarithm_of_sauers_bound_is_that_of_the_whole_number():
    for n in range(12):
        for dimension in range(7):
            assert _log_growth(n, dimension) == pytest.approx(math.log(growth_bound(n, dimension)), abs=1e-12)
