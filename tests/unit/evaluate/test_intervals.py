"""Intervals of a mean score."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from assay.base import DataError, ParameterError
from assay.evaluate import corrected_interval
from assay.evaluate.intervals import ScoreScale, honest_df, score_interval

SCORES = np.array([0.71, 0.74, 0.69, 0.75, 0.72])


def test_the_interval_is_the_formula():
    low, high = corrected_interval(SCORES, n_train=80, n_test=20, alpha=0.1)
    half = stats.t.ppf(0.95, 4) * SCORES.std(ddof=1) * np.sqrt(1 / 5 + 20 / 80)
    assert (low, high) == pytest.approx((SCORES.mean() - half, SCORES.mean() + half))


def test_without_test_rows_it_is_the_plain_t_interval():
    plain = stats.t.interval(0.95, 4, SCORES.mean(), stats.sem(SCORES))
    assert corrected_interval(SCORES, n_train=1, n_test=0) == pytest.approx(plain)


def test_bounds_cut_and_constant_scores_have_no_width():
    low, high = corrected_interval([0.9, 1.0], n_train=1, n_test=1, bounds=(0.0, 1.0))
    assert 0 < low < 0.01 and 0.99 < high < 1
    assert corrected_interval([0.1 + 0.2, 0.3, 0.3], n_train=1, n_test=1) == pytest.approx((0.3, 0.3), abs=1e-15)


def test_mistakes():
    with pytest.raises(DataError, match="at least 2"):
        corrected_interval([0.5], n_train=1, n_test=1)
    with pytest.raises(ParameterError, match="alpha"):
        corrected_interval(SCORES, n_train=1, n_test=1, alpha=0)


BOUNDS = [(0.0, 1.0), (-1.0, 3.0), (0.0, np.inf), (-np.inf, 2.0), (-np.inf, np.inf)]


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("score", [0.2, 0.9])
def test_the_scale_goes_forth_and_back_and_its_slope_is_its_derivative(bounds, score):
    scale, step = ScoreScale(bounds), 1e-6
    assert scale.inside(score) and scale.back(scale.to(score)) == pytest.approx(score, rel=1e-12)
    secant = (scale.to(score + step) - scale.to(score - step)) / (2 * step)
    assert scale.slope(score) == pytest.approx(secant, rel=1e-6)


def test_between_0_and_1_the_scale_is_the_logit_and_above_0_the_logarithm():
    assert ScoreScale((0.0, 1.0)).to(0.2) == pytest.approx(special.logit(0.2))
    assert ScoreScale((0.0, 1.0)).back(1.5) == pytest.approx(special.expit(1.5))
    assert ScoreScale((0.0, np.inf)).to(0.2) == pytest.approx(np.log(0.2))


@pytest.mark.parametrize("bounds", BOUNDS[:4])
def test_at_a_bound_the_interval_ends_there(bounds):
    for end, sign in zip(bounds, (1.0, -1.0)):
        if np.isfinite(end):
            assert score_interval(end, 0.1, 2.0, bounds) == pytest.approx(tuple(sorted((end, end + sign * 0.2))))


def test_of_a_mean_without_error_the_interval_is_the_mean():
    assert score_interval(0.25, 0.0, 2.0, (0.0, 1.0)) == (0.25, 0.25)


def test_degrees_of_freedom_are_the_folds_less_one_for_any_number_of_repetitions():
    for folds in (4, 5, 10):
        assert {honest_df(folds * times, 1 / (folds - 1)) for times in (1, 2, 10)} == {folds - 1}
    # Dietterich's 5x2 statistic has 5; no count of scores has more than scores - 1, and none fewer than 1.
    assert [honest_df(count, 1.0) for count in (10, 3, 2)] == [5, 2, 1]
    assert [honest_df(30, ratio) for ratio in (0.4, 0.0)] == [2, 29]


def test_scores_that_differ_by_more_than_rounding_have_a_width():
    for size in (1e-100, 1.0, 1e100):
        low, high = corrected_interval(np.array([1.0, 1.0 + 1e-10]) * size, n_train=1, n_test=1)
        assert low < high
    assert corrected_interval([0.0, 0.0], n_train=1, n_test=1) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("bounds", "ends"), [((0.0, np.inf), (0.0, np.inf)), ((-np.inf, 1.0), (-np.inf, 1.0)), ((0.0, 1.0), (0.0, 1.0))]
)
def test_an_interval_wider_than_all_numbers_ends_at_the_bounds_without_a_warning(bounds, ends):
    with np.errstate(all="raise", under="ignore"):
        assert score_interval(0.5, 1e6, 2.0, bounds) == ends
