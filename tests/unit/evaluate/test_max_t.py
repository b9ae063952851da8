"""The largest t over all pairs: Tukey's range, Student's t, and what correlation changes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.evaluate import max_t
from assay.evaluate.max_t import MaxT


@pytest.mark.parametrize("learners", [3, 6, 12])
def test_independent_estimates_have_tukeys_range(learners):
    found = MaxT(np.eye(learners), df=9)
    assert found.critical(0.05) == pytest.approx(stats.studentized_range.ppf(0.95, learners, 9) / np.sqrt(2), rel=0.015)
    assert found.p_value(found.critical(0.05)) == pytest.approx(0.05, abs=0.002)


def test_two_estimates_have_students_t_whatever_their_correlation():
    for covariance in (np.eye(2), np.array([[1.0, 0.9], [0.9, 2.0]])):
        found = MaxT(covariance, df=9)
        assert found.critical(0.05) == pytest.approx(stats.t.ppf(0.975, 9))
        assert found.p_value(1.7) == pytest.approx(2 * stats.t.sf(1.7, 9))


def test_copies_of_a_learner_cost_nothing():
    twice = np.kron(np.eye(2), np.ones((3, 3)))
    assert MaxT(twice, df=9).critical(0.05) == pytest.approx(MaxT(np.eye(2), df=9).critical(0.05), rel=0.02)


def test_p_values_fall_with_the_statistic_and_lie_between_one_pair_and_all():
    found = MaxT(np.eye(5), df=9)
    p = [found.p_value(t) for t in (0.0, 1.0, 2.0, 4.0, 8.0)]
    assert p == sorted(p, reverse=True)
    for t in (1.0, 2.0, 4.0, 8.0):
        single = 2 * stats.t.sf(t, 9)
        assert single <= found.p_value(t) <= min(1.0, 10 * single) + 1e-12


@pytest.mark.parametrize("shared", [0.3, 0.8])
def test_what_all_estimates_share_cancels_in_their_differences(shared):
    """Equal correlations leave the studentised range as it is, at any scale of the scores."""
    covariance = 7.0 * (shared + (1 - shared) * np.eye(6))
    found = MaxT(covariance, df=9)
    assert found.critical(0.05) == pytest.approx(stats.studentized_range.ppf(0.95, 6, 9) / np.sqrt(2), rel=0.015)
    for t in (1.5, 2.5, 3.5):
        assert found.p_value(-t) == pytest.approx(stats.studentized_range.sf(t * np.sqrt(2), 6, 9), abs=0.01)


def test_many_degrees_of_freedom_are_the_normal_range():
    found = MaxT(np.eye(4), df=np.inf)
    assert found.critical(0.05) == pytest.approx(stats.studentized_range.ppf(0.95, 4, np.inf) / np.sqrt(2), rel=0.015)


def test_the_p_value_of_no_difference_is_1_and_of_an_endless_one_0():
    for learners in (2, 3, 6):
        found = MaxT(np.eye(learners), df=9)
        assert found.p_value(0.0) == 1.0 and found.p_value(np.inf) == found.p_value(-np.inf) == 0.0
    assert [MaxT(np.eye(k), df=9).pairs for k in (2, 3, 4, 6)] == [1, 3, 6, 15]


def test_no_limit_is_stricter_than_bonferronis_nor_wider_than_that_of_one_pair():
    """Draws say little of the far tail, where Bonferroni's limit is nearly exact: some of theirs lie beyond it."""
    reached = 0
    for size, df in ((3, 9), (3, 4), (4, 9), (3, np.inf), (5, 30)):
        found = MaxT(np.eye(size), df)
        for alpha in (0.3, 0.05, 1e-3, 5e-4, 2e-4, 1e-4):
            one, all_pairs = (stats.t.isf(alpha / 2 / pairs, df) for pairs in (1, found.pairs))
            limit = found.critical(alpha)
            assert one <= limit <= all_pairs * (1 + 1e-9)
            reached += limit == pytest.approx(all_pairs, rel=1e-9)
    assert reached > 0


def test_a_statistic_beyond_all_draws_counts_as_one_of_them():
    """Copies of two learners: the correction for 2,145 pairs would ask for far more."""
    found = MaxT(np.kron(np.eye(2), np.ones((33, 33))), df=9)
    t = stats.t.isf(1e-6 / 2, 9)
    assert found.p_value(t) == pytest.approx(1 / (max_t._DRAWS + 1), rel=1e-9)
    assert found.p_value(stats.t.isf(1e-9 / 2, 9)) == pytest.approx(2145e-9, rel=1e-4)
    assert MaxT(np.eye(3), df=9).p_value(1e-9) == pytest.approx(1.0, abs=1e-6)
